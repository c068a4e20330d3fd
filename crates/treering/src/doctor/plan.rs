//! Plans a repair: everything is decided once, before anything is written.
//!
//! Whole entries stay. An entry whose parent is gone, or whose parents lead in a circle, is linked
//! to the nearest earlier entry in the file that is not below it; without one it becomes a root. A
//! damaged entry goes, and what hung on it hangs on its parent. Of several lines with one id the
//! last keeps it, as reading has it; the others get ids of their own, unless they are copies.

use super::is_header_misplaced;
use super::nearest::{RowRuns, Tops};
use super::survey;
use crate::entry::head;
use crate::error::{Error, Result};
use crate::id::{EntryId, IdMaker};
use crate::json;
use crate::load::Loaded;
use crate::log::Journal;
use crate::migrate;
use crate::snapshot::{Bodies, Snapshot};
use crate::tree::{NONE, Node, Row, Shape};
use std::collections::{HashMap, HashSet};

/// The edits that make a repaired log of a log, by row and line.
#[derive(Debug, Default)]
pub(super) struct RepairEdits {
    /// The rows that stay.
    pub keep: Vec<bool>,
    /// Every row's parent in the repaired log.
    pub parents: Vec<Row>,
    /// Rows whose parent has to be written, in file order.
    pub relinked: Vec<Row>,
    /// New ids for rows that lost theirs to a later one.
    pub renamed: HashMap<Row, EntryId>,
    /// Rows that get the id they are shown under.
    pub named: Vec<Row>,
    /// Copies of later lines, which go.
    pub copies: usize,
    /// Lines that held several records, or records and fragments.
    pub split: usize,
    /// The lines of what cannot be an entry.
    pub rejected: Vec<u64>,
    pub moves_header: bool,
    /// The header gets the id that the session is known by.
    pub names_header: bool,
    /// The repaired log is of the current version.
    pub upgrades: bool,
}

impl RepairEdits {
    pub(super) fn make(journal: &dyn Journal, view: &Snapshot, loaded: &Loaded) -> Result<Self> {
        let rows = loaded.tree.row_count();
        let mut plan = RepairEdits { keep: vec![false; rows], ..RepairEdits::default() };
        plan.moves_header = is_header_misplaced(loaded);
        let header = loaded.header.as_ref().filter(|_| !loaded.header_span.is_empty());
        plan.names_header = header.is_some_and(|header| header.own_id().is_empty());
        plan.look_at_lines(journal, loaded)?;
        if is_mere_list(loaded) {
            return Ok(plan);
        }
        plan.settle_duplicates(view, loaded)?;
        plan.named = loaded
            .tree
            .rows()
            .filter(|&row| plan.keep[row.index()] && loaded.tree.node(row).has(Node::DERIVED))
            .filter(|_| loaded.shape != Some(Shape::Chain))
            .collect();
        plan.settle_parents(view, loaded)?;
        plan.upgrades = !plan.is_empty() && migrate::is_due(loaded);
        Ok(plan)
    }

    /// Returns whether there is nothing to repair.
    pub(super) fn is_empty(&self) -> bool {
        self.relinked.is_empty()
            && self.renamed.is_empty()
            && self.named.is_empty()
            && self.copies == 0
            && self.split == 0
            && self.rejected.is_empty()
            && !self.moves_header
            && !self.names_header
    }

    fn look_at_lines(&mut self, journal: &dyn Journal, loaded: &Loaded) -> Result<()> {
        let looked = survey::lines(journal, loaded, |line| {
            self.split += usize::from(line.parts.len() > 1);
            for part in line.parts {
                match part.what.row() {
                    Some(row) if part.what.is_sound() => self.keep[row.index()] = true,
                    _ => {}
                }
                if !part.what.is_sound() {
                    self.rejected.push(line.number);
                }
            }
            Ok(())
        });
        looked.map_err(Error::Storage)
    }

    /// Of the whole lines with one id, the last keeps it.
    fn settle_duplicates(&mut self, view: &Snapshot, loaded: &Loaded) -> Result<()> {
        let tree = view.tree();
        if tree.shadowed() == 0 {
            return Ok(());
        }
        let session = loaded.header.as_ref().map_or("", |header| header.id.as_str());
        // By id: the line that keeps it, and the next one of those before it.
        let mut kept: HashMap<EntryId, (Row, Row)> = HashMap::new();
        let mut made: HashSet<EntryId> = HashSet::new();
        let is_shadowed = |&row: &Row| tree.node(row).has(Node::SHADOWED);
        for row in tree.rows().rev().filter(is_shadowed) {
            if !self.keep[row.index()] {
                continue;
            }
            let id = tree.id(row);
            let winner = tree.row(id.as_str()).filter(|&winner| self.keep[winner.index()]);
            let known = kept.get(&id).copied().or(winner.map(|winner| (winner, winner)));
            let Some((owner, next)) = known else {
                // Later lines were damaged: this one is the last that can be read.
                kept.insert(id, (row, row));
                continue;
            };
            let bytes = record(view, row)?;
            if bytes == record(view, next)? || bytes == record(view, owner)? {
                self.keep[row.index()] = false;
                self.copies += 1;
                continue;
            }
            let mut ids = IdMaker::seeded(session, tree.node(row).offset);
            let is_taken = |id: &str| tree.contains(id) || tree.is_missed(id) || made.contains(id);
            let fresh = loaded.facts().make_id(&mut ids, is_taken);
            made.insert(fresh.clone());
            self.renamed.insert(row, fresh);
            kept.insert(id, (owner, row));
        }
        Ok(())
    }

    fn settle_parents(&mut self, view: &Snapshot, loaded: &Loaded) -> Result<()> {
        let tree = view.tree();
        let mut links = Links::new(self, view, loaded)?;
        links.break_rings();
        let parents = links.relink_lost();
        self.relinked = tree
            .rows()
            .filter(|&row| self.keep[row.index()])
            .filter(|&row| parents.changed[row.index()])
            .collect();
        self.parents = parents.parents;
        Ok(())
    }
}

/// Returns whether the records of a log do not name their parents, and do not get to.
pub(super) fn is_mere_list(loaded: &Loaded) -> bool {
    loaded.shape == Some(Shape::Chain) && !migrate::is_due(loaded)
}

/// Returns a row's record without the blanks around it.
fn record(view: &Snapshot, row: Row) -> Result<Vec<u8>> {
    let bytes = view.bytes(row).map_err(Error::Storage)?;
    Ok(bytes.trim_ascii().to_vec())
}

/// The parents of the rows that stay.
struct Links<'a> {
    plan: &'a RepairEdits,
    view: &'a Snapshot,
    parents: Vec<Row>,
    /// Whether the parent is another than the file says.
    changed: Vec<bool>,
    /// Rows that must be linked anew.
    lost: Vec<bool>,
}

struct Linked {
    parents: Vec<Row>,
    changed: Vec<bool>,
}

impl<'a> Links<'a> {
    fn new(plan: &'a RepairEdits, view: &'a Snapshot, loaded: &Loaded) -> Result<Self> {
        let tree = view.tree();
        let rows = tree.row_count();
        let (parents, changed) = (vec![NONE; rows], vec![false; rows]);
        let mut links = Links { plan, view, parents, changed, lost: vec![false; rows] };
        let owners = links.owners();
        let header = loaded.root_parent().and_then(|id| tree.row(id.as_str())).unwrap_or(NONE);
        // The rows that replace removed ones; `None` if the replacement is lost as well.
        let mut stand_ins: HashMap<Row, Option<Row>> = HashMap::new();
        let mut bodies = Bodies::default();
        let is_linked = loaded.codec().linker().is_some();
        for row in tree.rows().filter(|&row| plan.keep[row.index()]) {
            let (parent, is_lost) = match is_linked {
                true => named_parent(view, &mut bodies, loaded, row)?,
                false => (tree.node(row).parent, tree.node(row).has(Node::LOST_PARENT)),
            };
            if is_lost {
                links.lost[row.index()] = true;
                continue;
            }
            if parent == NONE || plan.keep[parent.index()] {
                links.parents[row.index()] = parent;
                continue;
            }
            if let Some(owner) = links.same_elsewhere(parent, &owners) {
                links.parents[row.index()] = owner; // The id is right: nothing to write.
                continue;
            }
            match links.stand_in(parent, header, &owners, &mut stand_ins) {
                Some(parent) => links.parents[row.index()] = parent,
                None => links.lost[row.index()] = true,
            }
            links.changed[row.index()] = true;
        }
        Ok(links)
    }

    /// Rows that have an id again because the later lines with it go.
    fn owners(&self) -> HashMap<&'a str, Row> {
        let tree = self.view.tree();
        let has_own = |&row: &Row| {
            self.plan.keep[row.index()]
                && tree.node(row).has(Node::SHADOWED)
                && !self.plan.renamed.contains_key(&row)
        };
        let rows = tree.rows().filter(has_own);
        rows.map(|row| (self.view.tree().id_text(row), row)).collect()
    }

    /// Returns the whole line of a damaged row's id, if it hangs on the same parent: the damaged one was an
    /// attempt to write it again. Any other would cost the children what was above them.
    fn same_elsewhere(&self, gone: Row, owners: &HashMap<&str, Row>) -> Option<Row> {
        let tree = self.view.tree();
        let owner = *owners.get(tree.id_text(gone))?;
        let place = |row: Row| (tree.node(row).parent, tree.node(row).has(Node::LOST_PARENT));
        (place(owner) == place(gone)).then_some(owner)
    }

    /// Returns the new parent of a removed row's child; `None` if it is not known.
    fn stand_in(
        &self,
        gone: Row,
        header: Row,
        owners: &HashMap<&str, Row>,
        known: &mut HashMap<Row, Option<Row>>,
    ) -> Option<Row> {
        let tree = self.view.tree();
        let mut way = Vec::new();
        let mut row = gone;
        let found = loop {
            if let Some(found) = known.get(&row) {
                break *found;
            }
            way.push(row);
            if tree.node(row).has(Node::LOST_PARENT) {
                break None;
            }
            row = tree.node(row).parent;
            if row == NONE {
                break Some(header);
            }
            if self.plan.keep[row.index()] {
                break Some(row);
            }
            if let Some(owner) = self.same_elsewhere(row, owners) {
                break Some(owner);
            }
        };
        known.extend(way.into_iter().map(|row| (row, found)));
        found
    }

    /// Makes the first row of every ring one that must be linked anew. Ids that changed hands may
    /// have closed rings that the tree had not.
    fn break_rings(&mut self) {
        // The start of the walk on which a row was seen.
        let mut seen = vec![NONE; self.parents.len()];
        for start in self.view.tree().rows() {
            let mut row = start;
            while row != NONE && seen[row.index()] == NONE {
                seen[row.index()] = start;
                row = self.parents[row.index()];
            }
            if row == NONE || seen[row.index()] != start {
                continue;
            }
            let (mut first, mut at) = (row, self.parents[row.index()]);
            while at != row {
                first = first.min(at);
                at = self.parents[at.index()];
            }
            self.parents[first.index()] = NONE;
            self.lost[first.index()] = true;
        }
    }

    /// Links what is lost to the nearest earlier row that is not below it, in nearly linear time.
    fn relink_lost(mut self) -> Linked {
        let tree = self.view.tree();
        let kind = |row: Row| usize::from(tree.node(row).has(Node::SIDECHAIN));
        let mut tops = Tops::new(self.parents.clone());
        // Conversations of subagents and the main one stay apart.
        let mut lines = [RowRuns::default(), RowRuns::default()];
        for row in tree.rows().filter(|&row| self.plan.keep[row.index()]) {
            if self.lost[row.index()] {
                let parent = lines[kind(row)].nearest(row, &mut tops);
                self.parents[row.index()] = parent;
                self.changed[row.index()] = true;
                tops.link(row, parent);
            }
            lines[kind(row)].push(row);
        }
        Linked { parents: self.parents, changed: self.changed }
    }
}

/// Returns the parent that a record itself names, where reading links records otherwise; and whether it is
/// missing.
fn named_parent(
    view: &Snapshot,
    bodies: &mut Bodies,
    loaded: &Loaded,
    row: Row,
) -> Result<(Row, bool)> {
    let record = bodies.record(view, row)?.unwrap_or_default();
    let literal = json::get(record, loaded.facts().keys.parent);
    let Some(name) = literal.and_then(head::name) else { return Ok((NONE, false)) };
    Ok(match view.tree().row(&name.text) {
        Some(parent) if parent != row => (parent, false),
        _ => (NONE, true),
    })
}
