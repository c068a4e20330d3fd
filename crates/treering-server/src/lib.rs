//! Agent sessions over HTTP: any [`Store`](treering::store::Store) behind a documented API.
//!
//! A [`Server`] serves the stores of its [`Spaces`] to clients that have one of its [`Tokens`]. It
//! has no persistent state of its own: any number of servers may serve one store, and any of them
//! can be killed at any time. `GET /openapi.json` describes the API; docs/server.md explains it.
//!
//! ```no_run
//! use std::sync::Arc;
//! use treering::store::MemoryStore;
//! use treering_server::{MemoryTokens, Server, SingleSpace, new_token};
//! # async fn run() -> std::io::Result<()> {
//! let spaces = SingleSpace::new("main", Arc::new(MemoryStore::new()));
//! let tokens = MemoryTokens::admin(&new_token()?, "main");
//! let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
//! let server = Server::new(Arc::new(spaces), Arc::new(tokens));
//! server.serve(listener, std::future::pending()).await
//! # }
//! ```
//!
//! A request goes through `connection` (limits of bytes and time), `router` (names, origins,
//! tokens, parameters), and the code of its operation in `handlers`. `api` is the table of all
//! operations, from which the router and the document are made. `open_sessions` keeps indexes of
//! sessions and queues their writers, `appends` joins waiting appends into one write, `feed` sends
//! appended entries to followers, `chat` runs turns with a model, `work` runs the synchronous
//! library on a bounded number of threads. `page` has the operations of the web page, over the same
//! sessions, with the same tokens. `mcp` has the operation of the Model Context Protocol.

mod api;
mod appends;
mod auth;
mod call;
mod chat;
mod connection;
mod entry_json;
mod feed;
mod gzip;
mod handlers;
mod idempotency;
mod limits;
mod mcp;
mod metrics;
mod node;
mod open_sessions;
mod openapi;
mod operation;
mod page;
mod problem;
mod rate;
mod router;
mod schema;
mod server;
mod spaces;
mod streaming;
mod tokens;
mod types;
mod work;

pub use limits::Limits;
pub use server::Server;
pub use spaces::{SingleSpace, Spaces};
pub use tokens::{Grant, MemoryTokens, TokenHash, Tokens, new_token};
pub use treering::store::Scope;
