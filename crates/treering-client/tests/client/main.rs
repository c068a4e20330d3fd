//! The client against a scripted server.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "how a test fails, and says what is skipped"
)]

mod corpus;
mod histories;
mod http;
mod responder;
mod server;
mod sync;
mod tls;
mod unreliable;
