//! The parts of treering's bindings that are the same in every language.
//!
//! A binding turns calls of its language into calls of the library, and results into values of its language. In between
//! stand two types: [`Data`], the plain form of every report, and [`Failure`], the plain form of every error, with a
//! stable code. `reports` makes `Data` of the library's types ([`ToData`]); `operations` holds the calls that need
//! more than one function of the library (searches, exports, redaction, usage); `stores` opens stores by address.
//! [`LazySession`] is an open session that is read whole only when something needs it.

mod data;
mod failure;
mod lazy;
mod operations;
mod reports;
mod stores;

pub use data::{Data, Naming, ToData};
pub use failure::{Category, Failure};
pub use lazy::LazySession;
pub use operations::{
    ExportFormat, RedactOptions, SearchOptions, UsageOptions, dialect, export, export_to_file,
    redact, redact_text, search_directories, search_session, search_store, usage_report,
};
pub use stores::{OpenStoreError, StoreOptions, local_store, open_store};
