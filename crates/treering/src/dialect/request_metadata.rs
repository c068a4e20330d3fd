//! Metadata of the request behind a record that treering's shape has no place for: how the
//! provider names the response, and whether the agent knew what it cost. Entries always have a cost,
//! because other agents add costs up without checking; a zero may mean that the cost is unknown.

/// A request, as a record knows it.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct RequestMetadata {
    /// The name of the response. Records that share it are parts of it, or copies.
    pub response: Option<Vec<u8>>,
    pub price: Price,
    /// The part of the tokens written to a cache that the cache keeps for an hour.
    pub hour_cache_write: u64,
    /// Whether the request ran in a mode that is faster and has a price of its own.
    pub is_fast: bool,
    /// The counts of an answer, where the record states them in a way that needs no decoding.
    pub answer: Option<AnswerCounts>,
}

impl RequestMetadata {
    /// Returns the metadata of a request whose agent knows no prices.
    pub(crate) fn without_price() -> Self {
        RequestMetadata { price: Price::Unsaid, ..RequestMetadata::default() }
    }
}

/// The tokens and the model of an answer, as its record states them. They are those of the decoded entry.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct AnswerCounts {
    /// Input, output, read from a cache, written to a cache.
    pub tokens: [u64; 4],
    /// The model, as `provider/model`.
    pub model: Option<String>,
}

/// The field that holds the cost of a request.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) enum Price {
    /// In the entry, if anywhere.
    #[default]
    InEntry,
    /// Only in the record.
    Dollars(f64),
    /// Nowhere, whatever the entry says.
    Unsaid,
}
