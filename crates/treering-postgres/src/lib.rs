//! Sessions in PostgreSQL.
//!
//! [`PostgresStore`] is a [`Store`](treering::store::Store): sessions are created, opened, listed and followed
//! in it as in a directory, and any number of programs on any number of machines share them.
//!
//! - **Appends happen once.** An append is one statement that changes the length of a log only if
//!   it is the expected one. After a lost response the store checks whether the bytes are there, so
//!   a retry never writes them twice, and it acknowledges nothing that a synchronous standby has
//!   not confirmed.
//! - **Every call has a deadline.** A database that is restarted, stopped or out of connections is
//!   an error for which [`Error::is_retryable`](treering::Error::is_retryable) is true, and a call
//!   never hangs.
//! - **Spaces are separated** by a condition of every statement and by row-level security.
//!
//! All state is in the database, so a backup of the database is complete. Addresses are those of
//! `libpq`, with several hosts:
//! `postgres://user@host1:port,host2:port/db?target_session_attrs=read-write`. Connections are
//! encrypted by rustls: `sslmode=prefer`, the default, without verification of the server;
//! `sslmode=require` and `verify-full` with it, by the certificates of the system or those in the
//! file `sslrootcert`. A proxy that distributes the statements of one connection to several servers
//! or sessions (pgbouncer in transaction mode) does not work, because prepared statements and the
//! space belong to a connection.

mod address;
mod appends;
mod cache;
mod check;
mod connection;
mod facts;
mod failure;
mod journal;
mod pool;
mod rows;
mod schema;
mod socket;
mod sql;
mod store;
mod tls;
mod tokens;

/// Parts for benchmarks, which are not part of the stable interface.
#[doc(hidden)]
pub mod internal {
    pub use crate::connection::RawClient;
}

pub use check::{Check, Level};
pub use store::{Migration, PostgresOptions, PostgresStore, Statistics};
pub use tokens::Token;
pub use treering::store::Scope;
