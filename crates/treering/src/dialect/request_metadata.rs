//! Metadata of a record's request that treering's format cannot hold: the id of the response, and
//! whether the cost is known. Entries always have a cost, because other agents add costs up without
//! checking whether they exist; a zero may mean that the cost is unknown.

/// The metadata of a request, as a record states it.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct RequestMetadata {
    /// The id of the response. Records that share it are pieces or copies of the same response.
    pub response: Option<Vec<u8>>,
    pub price: Price,
    /// The part of the tokens written to a cache that the cache keeps for an hour.
    pub hour_cache_write: u64,
    /// Whether the request ran in a faster mode with a price of its own.
    pub is_fast: bool,
    /// The counts of an answer, if the record states them in a form that needs no decoding.
    pub answer: Option<AnswerCounts>,
}

impl RequestMetadata {
    /// Returns the metadata of a request whose agent records no prices.
    pub(crate) fn without_price() -> Self {
        RequestMetadata { price: Price::Unstated, ..RequestMetadata::default() }
    }
}

/// The tokens and the model of an answer, as its record states them. They equal those of the
/// decoded entry.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct AnswerCounts {
    /// Tokens: input, output, read from a cache, written to a cache.
    pub tokens: [u64; 4],
    /// The model, as `provider/model`.
    pub model: Option<String>,
}

/// The source of a request's cost.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) enum Price {
    /// The cost is in the entry, if it is known.
    #[default]
    InEntry,
    /// The cost is only in the record.
    Dollars(f64),
    /// The cost is unknown, whatever the entry states.
    Unstated,
}
