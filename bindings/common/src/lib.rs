//! Shared by the bindings of treering for other languages: what is the same in each of them.

mod stores;

pub use stores::{OpenStoreError, StoreOptions, open_store};
