//! Builds the tree from the heads of entries: maps ids to rows, resolves parents, and decides about
//! duplicates, cycles and orphans.
//!
//! Rules (docs/format.md): the last line of an id wins; a parent that is missing, the entry itself,
//! or part of a cycle makes its entry a root. In a cycle, the entry that is first in the file becomes
//! the root.
//!
//! In a healthy log all links lead to earlier rows, and rows are inserted one by one. If there is
//! any other link, [`Tree::settle`] goes through the whole tree again.

use super::node::Node;
use super::row::{NONE, Row};
use super::{Label, Slot, Tree};
use crate::entry::head::{Head, Marks, Name};
use crate::entry::{Kind, Role};
use crate::json;
use hashbrown::hash_table::Entry;

/// A new row of the tree.
pub(crate) struct NewRow<'a> {
    pub head: Head<'a>,
    pub offset: u64,
    pub len: u64,
    /// The entry's bytes, if it is complete and they were read; only small entries need them.
    pub body: Option<&'a [u8]>,
    pub damaged: bool,
    /// The id for an entry without one, derived from its line number.
    pub derived_id: Option<&'a str>,
}

/// Whether the tree is consistent after inserting a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Insert {
    InOrder,
    /// The row is a duplicate, or has a link that does not lead to an earlier row: `Tree::settle`
    /// must be called.
    Unsettled,
}

impl Tree {
    /// Adds a row. After a batch in which any was [`Insert::Unsettled`], call [`Tree::settle`].
    pub(crate) fn insert(&mut self, new: NewRow<'_>) -> Insert {
        self.children.take();
        let row = self.next_row();
        if row.next() >= NONE {
            return Insert::InOrder; // Four billion entries: beyond what one file can be.
        }
        let Head { kind, role, ref id, ref parent, time, .. } = new.head;
        let mut node = Node::new(new.offset, new.len, kind, role);
        node.time = time.unwrap_or(Node::NO_TIME);
        let name = match (id, new.derived_id) {
            (Some(name), _) => {
                node.flags |= if name.is_number { Node::NUMBER } else { 0 };
                &*name.text
            }
            (None, derived) => {
                node.flags |= Node::DERIVED;
                derived.unwrap_or_default()
            }
        };
        if new.damaged {
            node.flags |= Node::DAMAGED;
        }
        (node.id_start, node.id_len) = self.ids.add(name);

        let mut taken = Insert::InOrder;
        if let Some(parent) = parent {
            node.parent = self.parent_row(&parent.text, row);
            if node.parent == NONE {
                node.flags |= Node::LOST_PARENT;
                self.orphans.push((row, parent.text.as_ref().into()));
                self.missed.insert(parent.text.as_ref().into());
                taken = Insert::Unsettled;
            }
        }
        node.inherit(row, self.nodes.get(node.parent.index()).copied());
        self.nodes.push(node);
        if self.insert_id(row, name) {
            taken = Insert::Unsettled;
        }
        if let Some(body) = new.body {
            self.take_fact(kind, row, body);
        }
        if self.is_missed(name) {
            taken = Insert::Unsettled;
        }
        taken
    }

    /// Returns the row of a parent's id; usually it is the row just before.
    fn parent_row(&self, id: &str, row: Row) -> Row {
        match row.previous() {
            Some(previous) if self.id_bytes(previous) == id.as_bytes() => previous,
            _ => self.row(id).unwrap_or(NONE),
        }
    }

    /// Maps the id to `row`. Returns true if it was mapped to another row before.
    fn insert_id(&mut self, row: Row, id: &str) -> bool {
        let hash = self.hash(id);
        let Tree { nodes, ids, rows, .. } = self;
        let is_it =
            |slot: &Slot| slot.hash == hash && ids.bytes(&nodes[slot.row.index()]) == id.as_bytes();
        match rows.entry(Slot::spread(hash), is_it, |slot| Slot::spread(slot.hash)) {
            Entry::Occupied(mut slot) => {
                let old = std::mem::replace(&mut slot.get_mut().row, row);
                nodes[old.index()].flags |= Node::SHADOWED;
                self.shadowed += 1;
                true
            }
            Entry::Vacant(place) => {
                place.insert(Slot { hash, row });
                false
            }
        }
    }

    /// Records labels, names and leaves while reading: the last one in the file counts.
    fn take_fact(&mut self, kind: Kind, row: Row, body: &[u8]) {
        match kind {
            Kind::Label => {
                let Some(target) = json::get(body, "targetId").and_then(fact_id) else { return };
                let label = json::get(body, "label");
                match label.and_then(|literal| Some((literal, json::string(literal)?))) {
                    Some((literal, text)) if !text.is_empty() => {
                        let (text, literal) = (text.as_ref().into(), literal.into());
                        self.labels.insert(target, Label { row, text, literal });
                    }
                    _ => drop(self.labels.remove(&target)),
                }
            }
            Kind::Leaf => match json::get(body, "targetId") {
                Some(b"null") => drop(self.leaf_targets.insert(row, None)),
                Some(raw) => drop(self.leaf_targets.insert(row, fact_id(raw))),
                None => {}
            },
            Kind::SessionInfo => {
                let name = json::get(body, "name").and_then(json::string);
                self.set_name(name.as_deref());
                self.names.push((row, self.name.clone()));
            }
            _ => {}
        }
    }

    pub(crate) fn set_name(&mut self, name: Option<&str>) {
        self.name = name.map(str::trim).filter(|name| !name.is_empty()).map(Into::into);
    }

    /// Makes this the active leaf, regardless of the last entry.
    pub(crate) fn choose_leaf(&mut self, leaf: Option<Row>) {
        self.chosen_leaf = Some(leaf);
    }

    /// Applies the rules for duplicates, cycles and links to later rows, in linear time. Called
    /// once, after a log was read from its start, because the original links are lost.
    pub(crate) fn settle(&mut self) {
        self.children.take();
        self.plain = false;
        for (row, wanted) in std::mem::take(&mut self.orphans) {
            match self.row(&wanted) {
                Some(parent) if parent != row => {
                    let node = &mut self.nodes[row.index()];
                    node.parent = parent;
                    node.flags &= !Node::LOST_PARENT;
                }
                _ => self.orphans.push((row, wanted)),
            }
        }
        self.missed = self.orphans.iter().map(|(_, wanted)| wanted.clone()).collect();
        self.follow_duplicates();
        self.break_cycles();
        self.inherit_all();
    }

    /// Sets the parent of a row, or makes it a root. Call [`Tree::relinked`] afterwards.
    pub(crate) fn relink(&mut self, row: Row, parent: Row) {
        self.nodes[row.index()].parent = parent;
    }

    /// Must be called after links were changed: makes sure that every walk ends.
    pub(crate) fn relinked(&mut self) {
        self.children.take();
        self.plain = false;
        self.break_cycles();
        self.inherit_all();
    }

    /// Moves the children of a shadowed row to the row that has its id now.
    fn follow_duplicates(&mut self) {
        for row in self.rows() {
            let parent = self.node(row).parent;
            if parent == NONE || !self.node(parent).has(Node::SHADOWED) {
                continue;
            }
            let id: Box<str> = self.id_text(parent).into();
            let winner = self.row(&id).unwrap_or(NONE);
            let node = &mut self.nodes[row.index()];
            if winner == row {
                node.parent = NONE;
                node.flags |= Node::LOST_PARENT;
            } else {
                node.parent = winner;
            }
        }
    }

    /// Makes the first row of every cycle a root.
    fn break_cycles(&mut self) {
        // The start of the walk on which each row was seen.
        let mut seen = vec![NONE; self.nodes.len()];
        for start in self.rows() {
            let mut row = start;
            while row != NONE && seen[row.index()] == NONE {
                seen[row.index()] = start;
                row = self.nodes[row.index()].parent;
            }
            if row == NONE || seen[row.index()] != start {
                continue;
            }
            let mut first = row;
            let mut at = self.nodes[row.index()].parent;
            while at != row {
                first = first.min(at);
                at = self.nodes[at.index()].parent;
            }
            let node = &mut self.nodes[first.index()];
            node.parent = NONE;
            node.flags |= Node::LOST_PARENT;
        }
    }

    /// Recomputes the inherited settings, parents before children.
    fn inherit_all(&mut self) {
        let mut done = vec![false; self.nodes.len()];
        let mut chain = Vec::new();
        for start in self.rows() {
            let mut row = start;
            while row != NONE && !done[row.index()] {
                chain.push(row);
                row = self.nodes[row.index()].parent;
            }
            while let Some(row) = chain.pop() {
                let parent = self.nodes.get(self.node(row).parent.index()).copied();
                self.nodes[row.index()].inherit(row, parent);
                done[row.index()] = true;
            }
        }
    }
}

/// Returns the id that a label or `leaf` entry names.
fn fact_id(literal: &[u8]) -> Option<Box<str>> {
    let name = json::string(literal).or_else(|| std::str::from_utf8(literal).ok().map(Into::into));
    name.filter(|name| !name.is_empty()).map(|name| name.as_ref().into())
}

/// Returns the head of an entry that treering itself wrote.
pub(crate) fn own_head<'a>(
    kind: Kind,
    role: Option<Role>,
    id: &'a str,
    parent: Option<&'a str>,
    time: Option<i64>,
) -> Head<'a> {
    let name = |text: &'a str| Name { text: text.into(), is_number: false };
    let (id, parent) = (Some(name(id)), parent.map(name));
    Head { kind, role, id, parent, time, marks: Marks::default() }
}
