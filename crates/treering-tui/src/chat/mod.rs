//! The chat: a conversation with a model on any branch of a session.
//!
//! `editor` edits the text, `drafts` holds unsent texts, `input_history` the sent ones, `pastes`
//! the long texts that the editor shows as markers. `commands` parses input, `completion` completes
//! it, `help` lists commands and keys. `transcript` holds the visible part of the conversation and
//! `block` renders its entries; `message_selector` is a list of messages to fork from. `state`
//! holds the state, `update` changes it, `send` handles Enter, `view` draws it.

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
