//! The chat's handler: it talks to the model, does what commands say, and notices what is written.
//!
//! `setup` is what the chat is given, `controller` does what the screen wants done, `commands` what its
//! commands say, `lists` what they show; `watcher` tells the screen what is in the session.

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

/// How a chat was left, and what was written but not sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChatOutcome {
    /// Where to.
    pub left: ExitReason,
    /// The text in the editor and the drafts beside it.
    pub unsent: UnsentText,
}

/// Shows the conversation of an agent's session until somebody leaves it. `unsent` is what
/// was written before and is still to be sent; `draft_store` is told what changes about it. Whatever was going on when the chat is left has ended when this returns, an answer
/// written down as far as it came. `runtime` needs its timer and its input and output.
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
        .with_looks(setup.theme, setup.bindings.clone())
        .with_double_escape(setup.double_escape)
        .with_unsent(unsent);
    let mut controller = ChatController::new(runtime, agent, setup, channel.events.clone());
    controller.draft_store = draft_store.handle();
    let outcome = runner.run(state, &mut controller, &channel);
    // However it ended: nothing is left behind.
    controller.close();
    outcome
}
