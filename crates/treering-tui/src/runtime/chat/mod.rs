//! The chat's office: it talks to the model, does what commands say, and notices what is written.
//!
//! `setup` is what the chat is given, `clerk` does what the screen wants done, `commands` what its
//! commands say, `lists` what they show; `teller` tells the screen what is in the session.

mod clerk;
mod commands;
mod lists;
mod places;
mod setup;
mod teller;

#[cfg(test)]
mod tests;

pub use setup::{ChatSetup, Choose};

use super::desk::{Desk, Post};
use super::keeper::Keeper;
use crate::chat::{Left, State, Unsent};
use clerk::Clerk;
use std::io;
use std::sync::Arc;
use tokio::runtime::Handle;
use treering_agent::AgentSession;

/// How a chat was left, and what was written but not sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// Where to.
    pub left: Left,
    /// The text in the editor and the drafts beside it.
    pub unsent: Unsent,
}

/// Shows the conversation of an agent's session until somebody leaves it. `unsent` is what
/// was written before and is still to be sent; `keeper` is told what changes about it. Whatever was going on when the chat is left has ended when this returns, an answer
/// written down as far as it came. `runtime` needs its timer and its input and output.
pub fn chat(
    desk: &mut Desk,
    runtime: &Handle,
    agent: &Arc<AgentSession>,
    setup: &ChatSetup,
    unsent: Unsent,
    keeper: &Keeper,
) -> io::Result<Outcome> {
    let post = Post::default();
    let state = State::new("", setup.no_model())
        .with_looks(setup.theme, setup.bindings.clone())
        .with_double_escape(setup.double_escape)
        .with_unsent(unsent);
    let mut clerk = Clerk::new(runtime, agent, setup, post.events.clone());
    clerk.keeper = keeper.handle();
    let outcome = desk.run(state, &mut clerk, &post);
    // However it ended: nothing is left behind.
    clerk.close();
    outcome
}
