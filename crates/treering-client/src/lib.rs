//! Sessions on a treering server, and the synchronization of two stores.
//!
//! [`HttpStore`] is a [`Store`](treering::store::Store) over the HTTP API of `treering serve`: sessions are
//! created, opened, forked and listed in it as in a directory, and appends that lose their answer happen
//! once. [`Events`] follows a session or a store. [`sync`] brings the sessions of one store to another, in
//! one direction or both; it knows stores and nothing else, so that it works between directories,
//! databases and servers alike.
//!
//! The crate is synchronous. Every call ends within a deadline. It reads no environment, unless it is told
//! to ([`HttpOptions::proxy_from_env`]).

mod http;
pub mod sync;

pub use http::{Event, EventKind, Events, HttpOptions, HttpStore, InvalidAddress, StopHandle};
