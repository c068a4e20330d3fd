//! The client against a scripted server.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "how a test fails")]

mod histories;
mod http;
mod responder;
mod server;
mod sync;
mod unreliable;
