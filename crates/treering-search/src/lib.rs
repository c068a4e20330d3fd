//! Search over agents' sessions: every branch, also what was abandoned or compacted away.
//!
//! [`Query`] is what to search for, [`search`] takes files and hands out what is found in them. Two
//! steps: the raw bytes of a file tell quickly, and without ever missing anything, whether it can hold
//! what is searched for (`fragment`, `scan`); what can is opened with the library and looked at
//! exactly (`exact`), so that all agents' sessions are searched alike. An entry is found if it holds
//! everything: a query never adds up over several. Where an entry stands ([`BranchState`]) is asked only
//! of sessions in which something was found.

mod exact;
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
mod touched;

pub use exact::Part;
pub use filter::{Since, agent};
pub use listed::Rank;
pub use query::{Query, QueryError};
pub use search::{Found, Options, Sort, Summary, search, search_session, search_store};
pub use session::{Hit, SessionHits};
pub use snippet::Snippet;
pub use state::BranchState;
pub use term::Case;
