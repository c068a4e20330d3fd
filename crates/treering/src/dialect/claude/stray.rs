//! Results that would be read as part of another branch.
//!
//! Claude Code hangs each result of a tool on its own call, so that results beside the conversation
//! are part of it: reading puts them into the path where they branched off. A session in which
//! the user went back to before a result has such a result on a branch of its own. If it were
//! written, it would come back: it has to be left out.

use std::collections::HashSet;

/// The facts about an entry that the search for stray results needs.
#[derive(Debug)]
pub(super) struct StrayCandidate {
    pub id: String,
    pub parent: Option<String>,
    pub is_active: bool,
    pub is_said: bool,
    pub is_result: bool,
    /// Its record hangs on nothing: what is above it does not go on.
    pub is_boundary: bool,
}

/// Returns the results that hang on the active path, with nothing said below them.
pub(super) fn results(entries: &[StrayCandidate]) -> HashSet<String> {
    let mut goes_on: HashSet<&str> = HashSet::new();
    for entry in entries.iter().rev().filter(|entry| !entry.is_boundary) {
        let says_more = entry.is_said && !entry.is_result;
        if says_more || goes_on.contains(entry.id.as_str()) {
            goes_on.extend(entry.parent.as_deref());
        }
    }
    // Entries on the active path, and beside it all that is a result or says nothing.
    let mut near: HashSet<&str> = HashSet::new();
    let mut strays = HashSet::new();
    for entry in entries {
        let hangs_near = entry.parent.as_deref().is_some_and(|parent| near.contains(parent));
        let says_more = entry.is_boundary || entry.is_said && !entry.is_result;
        if entry.is_active || hangs_near && !says_more {
            near.insert(&entry.id);
        }
        let is_beside = !entry.is_active && hangs_near && entry.is_result;
        if is_beside && !goes_on.contains(entry.id.as_str()) {
            strays.insert(entry.id.clone());
        }
    }
    strays
}
