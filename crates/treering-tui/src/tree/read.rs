//! Reads the preview lines of a session. This is the only part of the tree selector that reads
//! anything; the runtime calls it, update and view do not.

use super::event::TreeEvent;
use super::state::TreeState;
use super::update::update;
use std::collections::HashSet;
use std::ops::ControlFlow;
use treering::{Role, Session};
use treering_display::preview_line::{Calls, PreviewLine};
use treering_display::tree::Outline;

/// The number of preview lines per batch.
const BATCH: usize = 4096;
/// The number of calls that are remembered for their results.
const CALLS: usize = 8192;
/// The number of entries above a result among which its call is searched.
const CALL_WITHIN: usize = 64;

/// Reads the preview lines of all entries in file order, which is the fastest, and passes them on
/// in batches until `give` breaks. Entries that cannot be read are left out.
pub fn read_all(
    session: &Session,
    outline: &Outline,
    mut give: impl FnMut(Vec<(u32, PreviewLine)>) -> ControlFlow<()>,
) {
    // The nodes are sorted by their ids. A hash table would take several times as much memory.
    let mut nodes: Vec<u32> = (0..outline.len() as u32).collect();
    nodes.sort_unstable_by_key(|node| outline.id(*node));
    let mut calls = Calls::last(CALLS);
    let mut batch = Vec::new();
    for entry in session.entries().filter_map(Result::ok) {
        let preview_line = PreviewLine::read(&entry, &mut calls);
        let place = nodes.binary_search_by_key(&entry.id().as_str(), |node| outline.id(*node));
        if let Some(node) = place.ok().and_then(|place| nodes.get(place)) {
            batch.push((*node, preview_line));
        }
        if batch.len() >= BATCH && give(std::mem::take(&mut batch)).is_break() {
            return;
        }
    }
    // This is the last batch.
    let _ = give(batch);
}

/// Reads the preview lines of some entries: the visible ones, before the others are known.
pub fn read_some(session: &Session, outline: &Outline, nodes: &[u32]) -> Vec<(u32, PreviewLine)> {
    let mut reader = session.reader();
    let mut calls = Calls::default();
    let mut asked = HashSet::new();
    let mut preview_lines = Vec::with_capacity(nodes.len());
    for &node in nodes {
        let caller = caller(outline, node).filter(|caller| asked.insert(*caller));
        if let Some(entry) = caller.and_then(|caller| reader.entry(outline.id(caller)).ok()) {
            PreviewLine::read(&entry, &mut calls);
        }
        if let Ok(entry) = reader.entry(outline.id(node)) {
            preview_lines.push((node, PreviewLine::read(&entry, &mut calls)));
        }
    }
    preview_lines
}

/// Reads the preview lines of the visible entries. A read entry may turn out to be hidden, and
/// another takes its place, so a few rounds may be needed.
pub fn load_visible_previews(session: &Session, mut state: TreeState) -> TreeState {
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

/// Returns the answer with the call that a result answers.
fn caller(outline: &Outline, node: u32) -> Option<u32> {
    let role = |node: u32| outline.nodes().get(node as usize).and_then(|node| node.role);
    if role(node) != Some(Role::ToolResult) {
        return None;
    }
    let ancestors = std::iter::successors(outline.parent(node), |&above| outline.parent(above));
    ancestors.take(CALL_WITHIN).find(|&above| role(above) == Some(Role::Assistant))
}
