//! The only part of the crate that owns anything: the terminal, threads, sessions.
//!
//! `guard` borrows the terminal, `listen` hears what happens at it, `paint` writes frames to it, `desk`
//! shows one screen after the other. Each screen has an office that does what the screen wants done: `tree`,
//! `picker`, `chat`; `app` is all of them as one program. `clipboard` copies, `keeper` keeps unsent text
//! on disk. A `visit` is a session that is open, whichever screen shows it.

mod app;
mod chat;
mod clipboard;
mod desk;
mod guard;
mod keeper;
mod listen;
mod paint;
pub mod picker;
mod tree;
mod visit;

pub use app::{End, First, Sessions, Setup, run};
pub use chat::{ChatSetup, Choose, Outcome as ChatOutcome, chat};
pub use desk::{Desk, Office, Post};
pub use guard::Guard;
pub use keeper::Keeper;
pub use tree::{Outcome as TreeOutcome, TreeSetup, select};
pub use visit::{Trail, Visit};
