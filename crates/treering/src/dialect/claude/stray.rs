//! Finds results that would be read as part of another branch.
//!
//! In Claude Code, each tool result is a child of its own call, so that results beside the path are
//! part of the conversation: reading inserts them into the path where they branched off. If the
//! user moved the leaf to before a result, the result is on a branch of its own. If it were
//! written, reading would insert it into the path again, so it has to be left out.

use std::collections::HashSet;

/// The facts about an entry that are needed to find stray results.
#[derive(Debug)]
pub(super) struct StrayCandidate {
    pub id: String,
    pub parent: Option<String>,
    pub is_active: bool,
    pub is_message: bool,
    pub is_result: bool,
    /// Whether its record has no parent, so that the path above it ends.
    pub is_boundary: bool,
}

/// Returns the results that are children of the active path and have no message below them.
pub(super) fn results(entries: &[StrayCandidate]) -> HashSet<String> {
    let mut continued: HashSet<&str> = HashSet::new();
    for entry in entries.iter().rev().filter(|entry| !entry.is_boundary) {
        let is_other_message = entry.is_message && !entry.is_result;
        if is_other_message || continued.contains(entry.id.as_str()) {
            continued.extend(entry.parent.as_deref());
        }
    }
    // The entries on the active path, and those beside it that are results or have no message.
    let mut near: HashSet<&str> = HashSet::new();
    let mut strays = HashSet::new();
    for entry in entries {
        let hangs_near = entry.parent.as_deref().is_some_and(|parent| near.contains(parent));
        let is_other_message = entry.is_boundary || entry.is_message && !entry.is_result;
        if entry.is_active || hangs_near && !is_other_message {
            near.insert(&entry.id);
        }
        let is_beside = !entry.is_active && hangs_near && entry.is_result;
        if is_beside && !continued.contains(entry.id.as_str()) {
            strays.insert(entry.id.clone());
        }
    }
    strays
}
