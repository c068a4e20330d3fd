//! The server over loopback connections, in this process.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail like tests")]

mod calls;
mod document;
mod events;
mod harness;
mod idempotency;
mod refusals;
mod shutdown;
