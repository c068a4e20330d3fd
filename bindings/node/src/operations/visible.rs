//! The parents of entries when the records of leaf moves are hidden.
//!
//! An entry that names such a record as its parent becomes a child of the nearest ancestor that is not hidden;
//! without one it is a root. Ancestors are those of the library's tree, in which cycles of parents are cut. An entry at
//! which a cycle was cut is therefore a root as well, and never its own ancestor.

use std::collections::HashMap;
use treering::entry::Entry;
use treering::{EntryId, Kind, Tree};

/// Finds the parents of entries that name hidden records as their parents.
pub(super) struct VisibleParents<'a> {
    /// The tree of a whole session.
    tree: Option<&'a Tree>,
    /// The nearest entry above each hidden record that was walked, so that a long chain of them is walked once.
    above: HashMap<EntryId, Option<EntryId>>,
}

impl<'a> VisibleParents<'a> {
    /// Creates the finder for entries of a whole session.
    pub(super) fn of_tree(tree: &'a Tree) -> Self {
        VisibleParents { tree: Some(tree), above: HashMap::new() }
    }

    /// Creates the finder for entries of a part of a session, of which `moves` lists the hidden records that are
    /// parents, each with the nearest entry above it. Such a part has no entry at which a cycle was cut.
    pub(super) fn of_part(moves: &[(EntryId, Option<EntryId>)]) -> Self {
        VisibleParents { tree: None, above: moves.iter().cloned().collect() }
    }

    /// Returns the parent of an entry that names a hidden record as its parent; the outer `None` for every other entry.
    pub(super) fn of(&mut self, entry: &Entry) -> Option<Option<EntryId>> {
        let Some(tree) = self.tree else { return self.above.get(entry.parent()?).cloned() };
        let is_move = |id: &str| matches!(tree.kind(id), Ok(Kind::Leaf));
        let Some(parent) = entry.parent() else {
            // A root may name a parent nevertheless: one that is missing, or one that a cycle leads through.
            return entry.text("parentId").is_some_and(|named| is_move(&named)).then_some(None);
        };
        if !is_move(parent.as_str()) {
            return None;
        }
        let (mut walked, mut next) = (Vec::new(), Some(parent.clone()));
        while let Some(id) = next.take_if(|id| is_move(id.as_str())) {
            if let Some(known) = self.above.get(&id) {
                next = known.clone();
                break;
            }
            next = tree.parent(&id).ok().flatten();
            walked.push(id);
        }
        self.above.extend(walked.into_iter().map(|id| (id, next.clone())));
        Some(next)
    }
}
