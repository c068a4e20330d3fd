//! The summarizers against a scripted server on loopback, and against real processes; the session of
//! an agent with a scripted summarizer and scripted handlers.
//!
//! No test waits for time to pass: the clock stands still and moves only when a test moves it.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "helpers of tests")]

mod actions;
mod answers;
mod cancel;
mod chat;
#[cfg(unix)]
mod command;
mod compact;
mod compact_hooks;
mod compact_races;
mod example;
mod failures;
mod fold;
mod keys;
mod late;
mod lifecycle;
mod merge;
mod navigate;
mod navigate_hooks;
mod navigate_stop;
mod retries;
mod seeds;
#[cfg(unix)]
mod shell;
mod story;
mod support;
mod talk;
mod thinking;
mod turn;
mod turn_continue;
mod turn_ends;
mod turn_interruptions;
mod turn_wire;
