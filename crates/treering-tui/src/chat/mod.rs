//! The chat: a conversation with a model, on any branch of a session.
//!
//! `editor` is what is being written, `drafts` what was put aside unsent, `history` what was sent, `commands` and `complete` what can be typed
//! besides. `transcript` is what was said, as far as the screen needs it; `block` makes its lines.
//! `pastes` are long texts that the editor shows as markers, `selector` is a list of messages to fork from.
//! `state` holds it together, `update` changes it, `send` is what Enter does, `view` draws it; `help`
//! is the list of commands and keys.

mod action;
mod areas;
mod block;
mod commands;
mod complete;
mod drafts;
mod editor;
mod help;
mod history;
mod pastes;
mod selector;
mod send;
mod state;
mod transcript;
mod update;
mod view;

#[cfg(test)]
mod tests;

pub use action::Action;
pub use block::{Arrival, Folding, block, is_shown};
pub use commands::{Command, Mistake, Summary, Typed};
pub use complete::Names;
pub use drafts::{Drafts, Unsent};
pub use editor::Editor;
pub use history::History;
pub use state::{DoubleEscape, State, Status};
pub use transcript::Block;
pub use update::{Effect, Event, Left, Piece, update};
pub use view::draw;
