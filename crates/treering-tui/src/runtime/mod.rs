//! The only part of the crate that owns anything: the terminal, threads, sessions.
//!
//! `guard` borrows the terminal, `listen` hears what happens at it, `desk` shows one screen after the
//! other. Each screen has an office that does what the screen wants done: `tree`.

mod desk;
mod guard;
mod listen;
mod tree;

pub use desk::{Desk, Office, Post};
pub use guard::Guard;
pub use tree::{Outcome, select};
