//! Reads preview_lines of a session. The only part of the tree selector that reads anything: runtimes call
//! it, update and view do not.

use super::event::TreeEvent;
use super::outline::Outline;
use super::preview_line::PreviewLine;
use super::state::TreeState;
use super::update::update;
use std::collections::HashSet;
use std::ops::ControlFlow;
use treering::{Role, Session};
use treering_export::Calls;

/// The number of summary lines that are handed over at a time.
const BATCH: usize = 4096;
/// The number of calls that are remembered for their results: others come long before.
const CALLS: usize = 8192;
/// The call that a result answers is looked for so far above it.
const CALL_WITHIN: usize = 64;

/// Reads the preview_lines of all entries in the order of the file, which is the fastest, and hands them
/// over in batches until `give` has enough. Entries that cannot be read are left out.
pub fn read_all(
    session: &Session,
    outline: &Outline,
    mut give: impl FnMut(Vec<(u32, PreviewLine)>) -> ControlFlow<()>,
) {
    // By their ids: a table of them would take several times as much memory.
    let mut nodes: Vec<u32> = (0..outline.len() as u32).collect();
    nodes.sort_unstable_by_key(|node| outline.id(*node));
    let mut calls = Calls::last(CALLS);
    let mut batch = Vec::new();
    for entry in session.entries().filter_map(Result::ok) {
        let preview_line = PreviewLine::of(&entry, &mut calls);
        let place = nodes.binary_search_by_key(&entry.id().as_str(), |node| outline.id(*node));
        if let Some(node) = place.ok().and_then(|place| nodes.get(place)) {
            batch.push((*node, preview_line));
        }
        if batch.len() >= BATCH && give(std::mem::take(&mut batch)).is_break() {
            return;
        }
    }
    // Nothing comes after this, whether or not it was enough.
    let _ = give(batch);
}

/// Reads the preview_lines of some entries: those on the screen, before all the others are known.
pub fn read_some(session: &Session, outline: &Outline, nodes: &[u32]) -> Vec<(u32, PreviewLine)> {
    let mut reader = session.reader();
    let mut calls = Calls::default();
    let mut asked = HashSet::new();
    let mut preview_lines = Vec::with_capacity(nodes.len());
    for &node in nodes {
        let caller = caller(outline, node).filter(|caller| asked.insert(*caller));
        if let Some(entry) = caller.and_then(|caller| reader.entry(outline.id(caller)).ok()) {
            PreviewLine::of(&entry, &mut calls);
        }
        if let Ok(entry) = reader.entry(outline.id(node)) {
            preview_lines.push((node, PreviewLine::of(&entry, &mut calls)));
        }
    }
    preview_lines
}

/// Sees to it that the preview_lines of what is on the screen are known. What is read may turn out not to be
/// seen, and other entries take its place: a few rounds are enough for all but the oddest.
pub fn know_screen(session: &Session, mut state: TreeState) -> TreeState {
    const ROUNDS: usize = 8;
    for _ in 0..ROUNDS {
        let unknown = state.unknown_on_screen();
        if unknown.is_empty() {
            break;
        }
        let preview_lines = read_some(session, state.outline(), &unknown);
        let generation = state.generation();
        (state, _) = update(state, TreeEvent::PreviewLines(generation, preview_lines));
    }
    state
}

/// Returns the answer whose call a result answers.
fn caller(outline: &Outline, node: u32) -> Option<u32> {
    let role = |node: u32| outline.nodes().get(node as usize).and_then(|node| node.role);
    if role(node) != Some(Role::ToolResult) {
        return None;
    }
    let ancestors = std::iter::successors(outline.parent(node), |&above| outline.parent(above));
    ancestors.take(CALL_WITHIN).find(|&above| role(above) == Some(Role::Assistant))
}
