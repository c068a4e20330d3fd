//! Lists the entries of a part of a session in the order of the tree: parents before children.

use crate::Result;
use std::sync::Arc;
use treering::session::Part;
use treering::tree::TreeItem;
use treering::{EntryId, Position, Session, Tree};

/// The entries to export.
#[derive(Debug)]
pub(crate) struct ExportWalk {
    pub tree: Arc<Tree>,
    scope: WalkScope,
    /// The path to the end of what is exported: the active leaf if that is among it.
    pub active: Vec<EntryId>,
}

#[derive(Debug)]
enum WalkScope {
    All,
    /// The entries of a path, each at its own depth.
    Path(Vec<EntryId>),
    /// An entry and how deep it stands.
    Below(EntryId, usize),
}

/// An entry of the walk.
#[derive(Debug)]
pub(crate) struct WalkItem<'a> {
    pub entry: TreeItem<'a>,
    /// The place of its parent in the walk, if that is exported, too.
    pub parent: Option<usize>,
    /// On the path to the leaf.
    pub is_active: bool,
}

impl ExportWalk {
    pub(crate) fn new(session: &Session, part: &Part) -> Result<Self> {
        let tree = session.tree();
        let path = |id: &EntryId| tree.path(id.as_str());
        let leaf = session.leaf();
        let (scope, active) = match part {
            Part::Branch(position) => {
                let end = match position {
                    Position::Leaf => leaf.as_ref(),
                    Position::Entry(id) => Some(id),
                    Position::Start => None,
                };
                let path = end.map(path).transpose()?.unwrap_or_default();
                (WalkScope::Path(path.clone()), path)
            }
            Part::Subtree(id) => {
                let id = tree.find(id)?;
                let depth = tree.depth(id.as_str())?;
                let active = leaf.as_ref().map(path).transpose()?.unwrap_or_default();
                (WalkScope::Below(id, depth), active)
            }
            _ => (WalkScope::All, leaf.as_ref().map(path).transpose()?.unwrap_or_default()),
        };
        Ok(ExportWalk { tree, scope, active })
    }

    pub(crate) fn items(&self) -> impl Iterator<Item = WalkItem<'_>> {
        // The place in the walk of the latest entry at each depth.
        let mut above: Vec<Option<usize>> = Vec::new();
        let mut inside = false;
        let mut count = 0;
        self.tree.walk().filter_map(move |entry| {
            let is_in = match &self.scope {
                WalkScope::All => true,
                WalkScope::Path(path) => is_on(path, &entry),
                WalkScope::Below(top, depth) => {
                    inside = entry.id == top.as_str() || (inside && entry.depth > *depth);
                    inside
                }
            };
            let place = is_in.then_some(count);
            count += usize::from(is_in);
            above.truncate(entry.depth);
            let parent = above.last().copied().flatten();
            above.push(place);
            let is_active = is_on(&self.active, &entry);
            place.map(|_| WalkItem { entry, parent, is_active })
        })
    }
}

/// Returns whether an entry is on a path: it stands there at its own depth, and no set is needed.
fn is_on(path: &[EntryId], entry: &TreeItem<'_>) -> bool {
    path.get(entry.depth).is_some_and(|id| id.as_str() == entry.id)
}

#[cfg(test)]
mod tests {
    use super::*;
    use treering::Message;

    fn walked(session: &Session, part: Part) -> Vec<(String, Option<usize>, bool)> {
        let walk = ExportWalk::new(session, &part).unwrap();
        let text = |id: &str| session.entry(id).unwrap().message().map(|m| m.text());
        walk.items()
            .filter_map(|item| Some((text(item.entry.id)?, item.parent, item.is_active)))
            .collect()
    }

    #[test]
    fn a_selection_is_a_part_of_the_tree() {
        let session = Session::in_memory("/p");
        let a = session.append(Message::user("a")).unwrap();
        let b = session.append(Message::user("b")).unwrap();
        session.append(Message::user("c")).unwrap();
        session.branch_in_memory(b.as_str()).unwrap();
        session.append(Message::user("d")).unwrap();
        session.branch_in_memory(a.as_str()).unwrap();
        session.append(Message::user("e")).unwrap();
        let of = |text: &str, parent, active| (text.to_owned(), parent, active);
        let all = [
            of("a", None, true),
            of("b", Some(0), false),
            of("c", Some(1), false),
            of("d", Some(1), false),
            of("e", Some(0), true),
        ];
        assert_eq!(walked(&session, Part::All), all);
        let branch = [of("a", None, true), of("b", Some(0), true)];
        assert_eq!(walked(&session, Part::Branch(b.clone().into())), branch);
        let below = [of("b", None, false), of("c", Some(0), false), of("d", Some(0), false)];
        assert_eq!(walked(&session, Part::Subtree(b.clone())), below);
        assert!(ExportWalk::new(&session, &Part::Branch("nobody".into())).is_err());
    }
}
