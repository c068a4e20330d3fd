//! Metadata of the request behind a record that treering's shape has no place for: how the
//! provider names the response, and whether the agent knew what it cost. Entries always have a cost,
//! because other agents add costs up without checking; a zero may mean that the cost is unknown.

/// A request, as a record knows it.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct RequestMetadata {
    /// The name of the response. Records that share it are parts of it, or copies.
    pub response: Option<Vec<u8>>,
    pub price: Price,
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
