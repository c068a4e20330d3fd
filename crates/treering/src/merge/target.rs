//! The path that copies are appended to: its entries, and its end.

use super::{Origin, pairs};
use crate::context::contributes;
use crate::entry::Role;
use crate::error::Result;
use crate::id::EntryId;
use crate::snapshot::{Bodies, Snapshot};
use crate::tree::{Node, Row};
use std::collections::{HashMap, HashSet};

/// The path that copies are appended to.
pub(super) struct Target {
    pub(super) view: Snapshot,
    /// The id of the target session.
    pub(super) session: String,
    leaf: Option<Row>,
    /// The origins of the entries on the path, with their rows.
    pub(super) has: HashMap<Origin, Row>,
    /// The last message of the path apart from tool results, and the calls whose results follow it.
    pub(super) end: Option<(Row, HashSet<String>)>,
}

impl Target {
    pub(super) fn new(view: Snapshot, session: String, leaf: Option<Row>) -> Result<Self> {
        let tree = view.tree();
        let rows = leaf.map(|leaf| tree.path_rows(leaf)).unwrap_or_default();
        let (mut has, mut end, mut bodies) = (HashMap::new(), None, Bodies::default());
        for &row in rows.iter().filter(|row| contributes(tree, **row)) {
            has.insert(Origin::here(tree.id_text(row)), row);
            if let Some(body) = bodies.any(&view, row)?
                && let Some(origin) = Origin::read(&body, &session)
            {
                has.insert(origin, row);
            }
            match (tree.node(row).role(), &mut end) {
                (Some(Role::ToolResult), Some((_, answered))) => {
                    let uses = pairs::uses(&view, &mut bodies, row)?;
                    let calls = uses.into_iter().map(|(_, call)| call);
                    HashSet::extend(answered, calls);
                }
                (Some(Role::ToolResult), None) => {}
                (Some(Role::Assistant), _) if tree.node(row).has(Node::CONTINUED) => {}
                _ => end = Some((row, HashSet::new())),
            }
        }
        Ok(Target { view, session, leaf, has, end })
    }

    pub(super) fn leaf(&self) -> Option<EntryId> {
        self.leaf.map(|leaf| self.view.tree().id(leaf))
    }
}
