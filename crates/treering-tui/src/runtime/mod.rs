//! The only part of the crate that owns anything: the terminal, threads, sessions.
//!
//! `guard` borrows the terminal, `listen` hears what happens at it, `paint` writes frames to it, `runner`
//! shows one screen after the other. Each screen has an handler that does what the screen wants done: `tree`,
//! `picker`, `chat`; `app` is all of them as one program. `clipboard` copies, `draft_store` keeps unsent text
//! on disk. A `open_session` is a session that is open, whichever screen shows it.

mod app;
mod chat;
mod clipboard;
mod draft_store;
mod frame_writer;
mod open_session;
pub mod picker;
mod runner;
mod terminal_guard;
mod terminal_listener;
mod tree;

pub use app::{AppExit, AppSetup, SessionSource, StartScreen, run};
pub use chat::{ChatOutcome, ChatSetup, ModelResolver, chat};
pub use draft_store::DraftStore;
pub use open_session::{LeafHistory, OpenSession};
pub use runner::{EffectHandler, EventChannel, Runner};
pub use terminal_guard::TerminalGuard;
pub use tree::{TreeOutcome, TreeSetup, select};
