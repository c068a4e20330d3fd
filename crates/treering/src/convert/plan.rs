//! Which entry of the source stands where in the result.

use crate::dialect::{Codec, Dialect};
use crate::entry::{Kind, NewEntry, Role};
use crate::error::Result;
use crate::json;
use crate::snapshot::{Bodies, Snapshot};
use crate::tree::{NONE, Node, Tree};
use std::collections::{HashMap, HashSet};

/// Why a row is not written as an entry of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Dropped {
    /// The header: the target has its own.
    Header,
    Damaged,
    /// A part of the message of another row.
    Joined(u32),
}

/// The rows to write, and what stands for those that are not.
#[derive(Debug)]
pub(super) struct Plan {
    pub rows: Vec<u32>,
    dropped: HashMap<u32, Dropped>,
    /// The further parts of a message.
    parts: HashMap<u32, Vec<u32>>,
    /// How many messages follow a row's own.
    more: HashMap<u32, usize>,
    /// Whether entries after a `leaf` entry hang on what it points to.
    skips_leaves: bool,
}

impl Plan {
    pub(super) fn new(
        view: &Snapshot,
        rows: Vec<u32>,
        header: Option<u32>,
        target: Dialect,
    ) -> Result<Self> {
        let tree = view.tree();
        let mut plan = Plan {
            rows,
            dropped: HashMap::new(),
            parts: HashMap::new(),
            more: HashMap::new(),
            skips_leaves: target.codec().leaf_hangs_on_the_left(),
        };
        plan.dropped.extend(header.map(|row| (row, Dropped::Header)));
        let mut bodies = Bodies::default();
        for &row in &plan.rows {
            let node = tree.node(row);
            if node.has(Node::CONTINUED)
                && let Some(first) = first_part(tree, row)
            {
                plan.parts.entry(first).or_default().push(row);
                plan.dropped.insert(row, Dropped::Joined(first));
                continue;
            }
            match bodies.record(view, row)? {
                None => drop(plan.dropped.insert(row, Dropped::Damaged)),
                Some(record) if node.kind() == Kind::Message => {
                    let more = more(view.codec(), record);
                    if more > 0 {
                        plan.more.insert(row, more);
                    }
                }
                Some(_) => {}
            }
        }
        Ok(plan)
    }

    pub(super) fn dropped(&self, row: u32) -> Option<Dropped> {
        self.dropped.get(&row).copied()
    }

    pub(super) fn parts(&self, row: u32) -> &[u32] {
        self.parts.get(&row).map_or(&[], Vec::as_slice)
    }

    /// Whether no message on the path to a row has parts elsewhere.
    pub(super) fn has_whole_messages(&self, tree: &Tree, row: u32) -> bool {
        if self.parts.is_empty() {
            return true;
        }
        let path: HashSet<u32> = tree.ancestors(row).collect();
        path.iter().all(|row| self.parts(*row).iter().all(|part| path.contains(part)))
    }

    /// The id of the last entry that a row is written as: what its children hang on.
    pub(super) fn end(&self, tree: &Tree, row: u32) -> String {
        match self.more.get(&row) {
            Some(&more) => extra_id(tree.id_text(row), more),
            None => tree.id_text(row).to_owned(),
        }
    }

    /// What the children of a row hang on: the nearest row at or above it that is written.
    pub(super) fn stand_in(&self, tree: &Tree, row: u32) -> Option<String> {
        let mut at = row;
        // Every step goes up, or from a leaf entry to its target: the number of rows bounds them.
        for _ in 0..=tree.nodes.len() {
            if at == NONE {
                return None;
            }
            at = match self.dropped.get(&at) {
                Some(Dropped::Joined(first)) if !tree.ancestors(at).any(|up| up == *first) => {
                    *first
                }
                Some(_) => tree.node(at).parent,
                None if self.skips_leaves && tree.node(at).kind() == Kind::Leaf => {
                    tree.leaf_target(at).unwrap_or(NONE)
                }
                None => return Some(self.end(tree, at)),
            };
        }
        None
    }

    /// The id that takes the place of one that another entry names.
    pub(super) fn reference(&self, tree: &Tree, id: &str) -> String {
        let row = tree.row(id);
        match row.and_then(|row| self.dropped.get(&row)) {
            Some(Dropped::Joined(first)) => tree.id_text(*first).to_owned(),
            Some(Dropped::Header | Dropped::Damaged) => {
                let next = row.and_then(|row| self.next_below(tree, row));
                next.map_or(id.to_owned(), |row| tree.id_text(row).to_owned())
            }
            None => id.to_owned(),
        }
    }

    /// The first row in the file that is below a row and written.
    fn next_below(&self, tree: &Tree, row: u32) -> Option<u32> {
        let is_written = |at: &u32| !self.dropped.contains_key(at);
        let children = tree.children_index().of(row).iter().copied();
        children.filter(is_written).min()
    }
}

/// The part with which the message of a row begins.
fn first_part(tree: &Tree, row: u32) -> Option<u32> {
    let is_first = |&row: &u32| {
        tree.node(row).role() == Some(Role::Assistant) && !tree.node(row).has(Node::CONTINUED)
    };
    tree.ancestors(row).skip(1).find(is_first)
}

/// How many messages there are in a record besides its first.
fn more(codec: &dyn Codec, record: &[u8]) -> usize {
    if codec.is_native(Kind::Message) { 0 } else { codec.decode(record).more.len() }
}

/// The id of the `number`-th further entry that one is written as, counted from 1.
pub(super) fn extra_id(id: &str, number: usize) -> String {
    format!("{id}.{number}")
}

/// Fields with the ids in them replaced where they must be.
pub(super) fn with_references(plan: &Plan, tree: &Tree, mut entry: NewEntry) -> NewEntry {
    if matches!(entry.kind(), Kind::Message | Kind::Custom | Kind::Other) {
        return entry;
    }
    let mut object = entry.fields_object();
    let mut changed = false;
    for key in ["targetId", "firstKeptEntryId", "fromId"] {
        let Some(literal) = json::get(&object, key) else { continue };
        let id = match json::string(literal) {
            Some(id) => id.into_owned(),
            // Ids that were numbers are texts from here on.
            None => String::from_utf8_lossy(literal).into_owned(),
        };
        if id.is_empty() || !tree.contains(&id) {
            continue;
        }
        let quoted = json::quoted(&plan.reference(tree, &id));
        if quoted != literal {
            object = json::with_member(&object, key, &quoted);
            changed = true;
        }
    }
    if changed {
        entry.fields = [b",", &object[1..object.len() - 1]].concat();
    }
    entry
}
