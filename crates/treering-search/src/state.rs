//! The branch state of an entry: whether the model still sees it, and if not, why.

use std::collections::{HashMap, HashSet};
use treering::context::Projection;
use treering::{EntryId, Kind, Result, Session};

/// The branch state of an entry, at the session's active leaf.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum BranchState {
    /// The entry is on the active path, and was not compacted away.
    Active,
    /// The entry is on the active path, but a compaction or a reset replaced it.
    Compacted,
    /// The entry is on the active path, but a context edit removed or replaced its contribution.
    Edited,
    /// The entry is on another branch, which ends at this leaf.
    Abandoned(EntryId),
    /// The entry is in the conversation of a subagent.
    Sidechain,
}

impl BranchState {
    /// Returns the name of the state in reports.
    pub fn name(&self) -> &'static str {
        match self {
            BranchState::Active => "active",
            BranchState::Compacted => "compacted",
            BranchState::Edited => "edited",
            BranchState::Abandoned(_) => "abandoned",
            BranchState::Sidechain => "sidechain",
        }
    }
}

/// The states of a session's entries.
#[derive(Debug)]
pub(crate) struct States {
    path: HashSet<EntryId>,
    selected: HashSet<EntryId>,
    projection: Projection,
    /// For entries off the path: the leaf of the latest branch through them; `None` in sidechains.
    /// Built on first use.
    ends: Option<HashMap<EntryId, Option<EntryId>>>,
}

impl States {
    pub(crate) fn of(session: &Session) -> Result<Self> {
        let projection = session.projection()?;
        let path = match session.leaf() {
            Some(leaf) => session.tree().path(leaf.as_str())?.into_iter().collect(),
            None => HashSet::new(),
        };
        let selected = projection.selected().collect();
        Ok(States { path, selected, projection, ends: None })
    }

    pub(crate) fn state(&mut self, session: &Session, id: &EntryId) -> BranchState {
        if self.path.contains(id) {
            return match self.selected.contains(id) {
                false => BranchState::Compacted,
                true if self.projection.is_edited(id.as_str()) => BranchState::Edited,
                true => BranchState::Active,
            };
        }
        let ends = self.ends.get_or_insert_with(|| ends(session));
        match ends.get(id) {
            Some(Some(leaf)) => BranchState::Abandoned(leaf.clone()),
            Some(None) => BranchState::Sidechain,
            None => BranchState::Abandoned(id.clone()),
        }
    }
}

/// Returns the end of the latest branch through every entry. In a walk, children come after their
/// parents and the latest child comes last, so that a backward pass knows every end before it is
/// needed.
fn ends(session: &Session) -> HashMap<EntryId, Option<EntryId>> {
    let tree = session.tree();
    let items: Vec<_> = tree.walk().collect();
    let mut ends: HashMap<&str, &str> = HashMap::new();
    for item in items.iter().rev() {
        let end = ends.get(item.id).copied().unwrap_or(item.id);
        ends.insert(item.id, end);
        // Bookkeeping entries without children are not branches.
        let is_bookkeeping = matches!(item.kind, Kind::Leaf | Kind::Label) && item.children == 0;
        if let Some(parent) = item.parent.filter(|_| !is_bookkeeping) {
            ends.entry(parent).or_insert(end);
        }
    }
    let end = |id: &str| ends.get(id).map(|end| EntryId::from(*end));
    items
        .iter()
        .map(|item| (EntryId::from(item.id), end(item.id).filter(|_| !item.sidechain)))
        .collect()
}
