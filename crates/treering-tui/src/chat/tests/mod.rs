//! Tests of the chat as a whole: tables of keys, the editor against a simple implementation,
//! screens.

mod commands;
mod editor;
mod keys;
mod screens;
mod transcript;

use super::{ChatEvent, ChatState, Status, block, is_shown, update};
use treering::Session;
use treering_display::preview_line::Calls;

/// A chat with a model and without messages.
pub(super) fn empty() -> ChatState {
    let status = Status {
        name: "demo".into(),
        model: Some("acme/m1".into()),
        thinking: "off".into(),
        tokens: Some(1234),
        window: 10_000,
        cost: "$0.02".into(),
        read_only: None,
    };
    update(ChatState::new("", "Set **TREERING_MODEL**."), ChatEvent::Status(status)).0
}

/// Prepares a state for drawing as the runtime does, and returns the number of rendered blocks.
pub(super) fn prepare(mut state: ChatState, session: &Session) -> (ChatState, usize) {
    let mut made = 0;
    loop {
        state.settle();
        if state.wanted().is_empty() {
            return (state, made);
        }
        let shape = state.block_shape();
        let mut calls = Calls::default();
        let tree = session.tree();
        let blocks = state.wanted().iter().map(|id| {
            let entry = session.entry(id.as_str()).unwrap();
            let label = tree.label(id.as_str());
            (id.clone(), block(&entry, label, &mut calls, shape.1, shape.0))
        });
        let blocks: Vec<_> = blocks.collect();
        made += blocks.len();
        (state, _) = update(state, ChatEvent::Blocks(shape, blocks));
    }
}

/// The state after the session's path was reported.
pub(super) fn with_path(state: ChatState, session: &Session) -> ChatState {
    let tree = session.tree();
    let leaf = session.leaf().unwrap();
    let mut path = tree.path(leaf.as_str()).unwrap();
    path.retain(|id| is_shown(tree.kind(id.as_str()).unwrap()));
    update(state, ChatEvent::Entries(path, Vec::new())).0
}
