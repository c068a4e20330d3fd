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
mod completion;
mod drafts;
mod editor;
mod help;
mod input_history;
mod message_selector;
mod pastes;
mod send;
mod state;
mod transcript;
mod update;
mod view;

#[cfg(test)]
mod tests;

pub use action::ChatAction;
pub use block::{Folding, StreamKind, block, is_shown};
pub use commands::{ChatCommand, CommandError, ParsedInput, SummaryChoice};
pub use completion::CompletionSources;
pub use drafts::{Drafts, UnsentText};
pub use editor::Editor;
pub use input_history::InputHistory;
pub use state::{ChatState, DoubleEscape, Status};
pub use transcript::TranscriptBlock;
pub use update::{ChatEffect, ChatEvent, ExitReason, StreamChunk, update};
pub use view::draw;
