//! Sessions on a treering server, and the synchronization of two stores.
//!
//! [`HttpStore`] is a [`Store`](treering::store::Store) over the HTTP API of `treering serve`:
//! sessions are created, opened, forked and listed in it as in a directory, and an append happens
//! exactly once even if its response is lost. [`Events`] follows a session or a store. [`sync`]
//! copies the sessions of one store to another, in one direction or both; it uses only the
//! interface of stores, so that it works between directories, databases and servers.
//!
//! The crate is synchronous. Every call ends within a deadline. It reads no environment, except
//! with [`HttpOptions::proxy_from_env`].

mod http;
pub mod sync;

pub use http::{Event, EventKind, Events, HttpOptions, HttpStore, InvalidAddress, StopHandle};
