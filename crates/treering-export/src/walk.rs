//! Lists the entries of a part of a session.

use crate::Result;
use std::sync::Arc;
use treering::session::Part;
use treering::tree::TreeItem;
use treering::{EntryId, Position, Session, Tree};
use treering_display::tree::DisplayOrder;

/// The entries to export.
#[derive(Debug)]
pub(crate) struct ExportWalk {
    pub tree: Arc<Tree>,
    scope: WalkScope,
    /// The path to the active leaf, or to the end of the exported branch.
    pub active: Vec<EntryId>,
}

#[derive(Debug)]
enum WalkScope {
    All,
    /// The entries of a path, each at its own depth.
    Path(Vec<EntryId>),
    /// An entry with all its descendants, and its depth.
    Below(EntryId, usize),
}

/// An entry of the walk.
#[derive(Debug)]
pub(crate) struct WalkItem<'a> {
    pub entry: TreeItem<'a>,
    /// The index of its parent in the walk, if the parent is exported as well.
    pub parent: Option<usize>,
    /// Whether the entry is on the path to the leaf.
    pub is_active: bool,
    /// Whether the entry begins a side branch. Only [`ExportWalk::display_items`] sets it.
    pub is_side: bool,
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

    /// Returns the entries in the order in which trees are shown: side branches come between an entry and
    /// its continuation.
    pub(crate) fn display_items(&self) -> impl Iterator<Item = WalkItem<'_>> {
        let mut items: Vec<Option<WalkItem<'_>>> = self.items().map(Some).collect();
        let known = |item: &Option<WalkItem<'_>>| item.as_ref().and_then(|item| item.parent);
        let parents: Vec<u32> =
            items.iter().map(|item| known(item).map_or(u32::MAX, |parent| parent as u32)).collect();
        let is_active = |item: &Option<WalkItem<'_>>| item.as_ref().is_some_and(|i| i.is_active);
        let active: Vec<u32> =
            (0..).zip(&items).filter(|(_, item)| is_active(item)).map(|(at, _)| at).collect();
        let DisplayOrder { order, is_side } = DisplayOrder::new(&parents, &active);
        let mut positions = vec![0; order.len()];
        for (position, &at) in order.iter().enumerate() {
            if let Some(slot) = positions.get_mut(at as usize) {
                *slot = position;
            }
        }
        order.into_iter().filter_map(move |at| {
            let item = items.get_mut(at as usize)?.take()?;
            let parent = item.parent.and_then(|parent| positions.get(parent).copied());
            let is_side = is_side.get(at as usize).copied().unwrap_or_default();
            Some(WalkItem { parent, is_side, ..item })
        })
    }

    /// Returns the entries in the order of the tree: parents before children, children oldest first.
    pub(crate) fn items(&self) -> impl Iterator<Item = WalkItem<'_>> {
        // The index in the walk of the latest entry at each depth.
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
            place.map(|_| WalkItem { entry, parent, is_active, is_side: false })
        })
    }
}

/// Returns whether an entry is on a path. The entry of a path at a given depth is known, so no set
/// is needed.
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
        assert!(ExportWalk::new(&session, &Part::Branch("unknown".into())).is_err());
        // The active continuation comes after the side branch, and entries still follow their parents.
        let walk = ExportWalk::new(&session, &Part::All).unwrap();
        let shown: Vec<_> = walk.display_items().map(|item| (item.parent, item.is_side)).collect();
        assert_eq!(
            shown,
            [(None, false), (Some(0), true), (Some(1), true), (Some(1), false), (Some(0), false)]
        );
    }
}
