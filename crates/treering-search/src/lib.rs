//! Search over the sessions of all agents, including abandoned and compacted entries.
//!
//! [`search`] searches files for a [`Query`] in two steps. The raw bytes of a file show quickly,
//! and without missing a match, whether it can match (`fragment`, `scan`). Files that can are
//! opened with the library and searched exactly (`exact`), so that the sessions of all agents are
//! searched in the same way. An entry matches if it matches the whole query by itself. The branch
//! state of an entry ([`BranchState`]) is computed only for sessions with hits.

mod exact;
mod file_filter;
mod filter;
mod fragment;
mod listed;
mod query;
mod scan;
mod search;
mod session;
mod snippet;
mod state;
mod term;

pub use exact::Part;
pub use filter::{Since, agent};
pub use listed::Rank;
pub use query::{Query, QueryError};
pub use search::{Found, Options, Sort, Summary, search, search_session, search_store};
pub use session::{Hit, SessionHits};
pub use snippet::Snippet;
pub use state::BranchState;
pub use term::Case;
