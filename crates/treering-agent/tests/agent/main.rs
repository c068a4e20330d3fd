//! The summarizers against a scripted server on loopback, and against real processes.
//!
//! No test waits for time to pass: the clock stands still and moves only when a test moves it.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "helpers of tests")]

mod answers;
mod cancel;
#[cfg(unix)]
mod command;
mod failures;
mod retries;
mod support;
