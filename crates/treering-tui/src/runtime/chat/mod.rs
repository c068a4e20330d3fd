//! The runtime of the chat: it sends messages to the model, runs commands, and follows the session.
//!
//! `setup` holds the settings, `controller` carries out effects, `commands` runs commands, `lists`
//! makes their pages, `targets` resolves entries; `session_watcher` sends the content of the
//! session to the screen.

mod commands;
mod controller;
mod lists;
mod session_watcher;
mod setup;
mod targets;

#[cfg(test)]
mod tests;

pub use setup::{ChatSetup, ModelResolver};

use super::draft_store::DraftStore;
use super::runner::{EventChannel, Runner};
use crate::chat::{ChatState, ExitReason, UnsentText};
use controller::ChatController;
use std::io;
use std::sync::Arc;
use tokio::runtime::Handle;
use treering_agent::AgentSession;

/// The outcome of a chat.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChatOutcome {
    /// The reason for leaving.
    pub left: ExitReason,
    /// The unsent text.
    pub unsent: UnsentText,
}

/// Shows the chat of a session until the user leaves it. `unsent` is text of an earlier chat;
/// `draft_store` stores its changes. When this function returns, a running task has ended and a
/// partial answer is recorded. `runtime` needs tokio's time and I/O drivers.
pub fn chat(
    runner: &mut Runner,
    runtime: &Handle,
    agent: &Arc<AgentSession>,
    setup: &ChatSetup,
    unsent: UnsentText,
    draft_store: &DraftStore,
) -> io::Result<ChatOutcome> {
    let channel = EventChannel::default();
    let state = ChatState::new("", setup.no_model())
        .with_theme(setup.theme, setup.bindings.clone())
        .with_double_escape(setup.double_escape)
        .with_unsent(unsent);
    let mut controller = ChatController::new(runtime, agent, setup, channel.events.clone());
    controller.draft_store = draft_store.handle();
    let outcome = runner.run(state, &mut controller, &channel);
    // A running task is ended in every case.
    controller.close();
    outcome
}
