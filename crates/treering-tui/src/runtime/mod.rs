//! The runtime: the part of the crate that owns the terminal, threads and sessions.
//!
//! `terminal_guard` acquires and restores the terminal, `terminal_listener` reads its events,
//! `frame_writer` writes frames, `runner` shows one screen at a time. `tree`, `picker` and `chat`
//! carry out the effects of their screens; `app` combines them. `clipboard` copies, `draft_store`
//! stores unsent text, `background` starts threads, `open_session` is the session that all screens
//! share.

mod app;
mod background;
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
