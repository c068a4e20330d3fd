//! Resolves the names of entries: an id or its prefix, a label, the number of a branch.

use super::session_watcher::short;
use std::sync::{Arc, Mutex, PoisonError};
use treering::session::Resolved;
use treering::{EntryId, Session};

/// The branches that were listed last. Their numbers start at 1.
#[derive(Debug, Clone, Default)]
pub(super) struct BranchNumbers(Arc<Mutex<Vec<EntryId>>>);

impl BranchNumbers {
    pub(super) fn set(&self, leaves: Vec<EntryId>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = leaves;
    }

    pub(super) fn forget(&self) {
        self.set(Vec::new());
    }

    fn get(&self, number: usize) -> Option<EntryId> {
        let leaves = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        number.checked_sub(1).and_then(|at| leaves.get(at).cloned())
    }

    /// Returns the numbers with their descriptions.
    pub(super) fn names(&self) -> Vec<(String, String)> {
        let leaves = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let name = |(at, leaf): (usize, &EntryId)| {
            ((at + 1).to_string(), format!("the branch of {}", short(leaf)))
        };
        leaves.iter().enumerate().take(9).map(name).collect()
    }
}

/// Returns the entry with a name. Complete ids come first, then numbers of branches, labels and
/// prefixes of ids.
pub(super) fn find(
    session: &Session,
    numbers: &BranchNumbers,
    place: &str,
) -> Result<EntryId, treering::Error> {
    let tree = session.tree();
    if tree.contains(place) {
        return Ok(place.into());
    }
    if let Some(leaf) = place.parse().ok().and_then(|number| numbers.get(number)) {
        return Ok(leaf);
    }
    let labels = tree.labels();
    let named = |label: &str| label == place || label.eq_ignore_ascii_case(place);
    if let Some((id, ..)) = labels.iter().rev().find(|(_, label, _)| named(label)) {
        return Ok(id.clone());
    }
    match tree.resolve(place) {
        Resolved::Unknown => {
            // Another process may have written the entry just now.
            session.refresh()?;
            session.resolve(place).found(place)
        }
        resolved => resolved.found(place),
    }
}
