//! The server over loopback connections, in this process.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "helpers of tests fail like tests, and say what is skipped"
)]

mod appends;
mod calls;
mod context_edits;
mod corpus;
mod document;
mod events;
mod harness;
mod idempotency;
mod lagging;
mod mcp;
mod page;
mod refusals;
mod secrets;
mod shutdown;
mod tls;
mod turns;
