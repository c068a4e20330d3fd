//! Plans a repair: everything is decided once, before anything is written.
//!
//! Complete entries stay. An entry whose parent is gone, or whose parents lead in a cycle, is
//! linked to the nearest earlier entry in the file that is not below it, or becomes a root if there
//! is none. A damaged entry is removed, and its children get its parent. Of several lines with the
//! same id, the last one keeps the id, as in reading; the others get new ids, unless they are
//! copies.

use super::is_header_misplaced;
use super::nearest::{RowRuns, TopAncestors};
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

/// The edits that turn a log into a repaired log, by row and line.
#[derive(Debug, Default)]
pub(super) struct RepairEdits {
    /// Whether each row stays.
    pub keep: Vec<bool>,
    /// Every row's parent in the repaired log.
    pub parents: Vec<Row>,
    /// Rows whose parent has to be written to the repaired log, in file order.
    pub relinked: Vec<Row>,
    /// New ids of rows whose id a later row has as well.
    pub renamed: HashMap<Row, EntryId>,
    /// Rows without an id, which get the id that they are shown under.
    pub named: Vec<Row>,
    /// The number of lines that are removed because they are copies of later lines.
    pub copies: usize,
    /// The number of lines that held several records, or records and fragments.
    pub split: usize,
    /// The lines of pieces that cannot be entries.
    pub rejected: Vec<u64>,
    pub moves_header: bool,
    /// Whether the header gets the id that the session is known by.
    pub names_header: bool,
    /// Whether the repaired log is upgraded to the current version.
    pub upgrades: bool,
}

impl RepairEdits {
    pub(super) fn make(journal: &dyn Journal, view: &Snapshot, loaded: &Loaded) -> Result<Self> {
        let rows = loaded.tree.row_count();
        let mut plan = RepairEdits { keep: vec![false; rows], ..RepairEdits::default() };
        plan.moves_header = is_header_misplaced(loaded);
        let header = loaded.header.as_ref().filter(|_| !loaded.header_span.is_empty());
        plan.names_header = header.is_some_and(|header| header.own_id().is_empty());
        plan.plan_lines(journal, loaded)?;
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

    fn plan_lines(&mut self, journal: &dyn Journal, loaded: &Loaded) -> Result<()> {
        let surveyed = survey::lines(journal, loaded, |line| {
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
        surveyed.map_err(Error::Storage)
    }

    /// Lets the last complete line with an id keep it, and removes or renames the others.
    fn settle_duplicates(&mut self, view: &Snapshot, loaded: &Loaded) -> Result<()> {
        let tree = view.tree();
        if tree.shadowed() == 0 {
            return Ok(());
        }
        let session = loaded.header.as_ref().map_or("", |header| header.id.as_str());
        // For each id, the line that keeps it, and the line with this id that was handled last,
        // which is the next one in the file.
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
                // The later lines are damaged: this is the last one that can be read.
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
        let mut links = ParentLinks::new(self, view, loaded)?;
        links.break_cycles();
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

/// Returns whether the records of a log name no parents, so that a repair adds none.
pub(super) fn is_mere_list(loaded: &Loaded) -> bool {
    loaded.shape == Some(Shape::Chain) && !migrate::is_due(loaded)
}

/// Returns a row's record without surrounding white space.
fn record(view: &Snapshot, row: Row) -> Result<Vec<u8>> {
    let bytes = view.bytes(row).map_err(Error::Storage)?;
    Ok(bytes.trim_ascii().to_vec())
}

/// The parents of the rows that stay.
struct ParentLinks<'a> {
    plan: &'a RepairEdits,
    view: &'a Snapshot,
    parents: Vec<Row>,
    /// Whether the parent differs from the one in the file.
    changed: Vec<bool>,
    /// Whether the row needs a new parent.
    lost: Vec<bool>,
}

struct NewParents {
    parents: Vec<Row>,
    changed: Vec<bool>,
}

impl<'a> ParentLinks<'a> {
    fn new(plan: &'a RepairEdits, view: &'a Snapshot, loaded: &Loaded) -> Result<Self> {
        let tree = view.tree();
        let rows = tree.row_count();
        let (parents, changed) = (vec![NONE; rows], vec![false; rows]);
        let mut links = ParentLinks { plan, view, parents, changed, lost: vec![false; rows] };
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

    /// Returns the rows that have their id again, because the later lines with that id are removed.
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

    /// Returns the complete line with the id of a damaged row, if it has the same parent: the
    /// damaged line was an attempt to write it again. With any other line, the children would lose
    /// their ancestors.
    fn same_elsewhere(&self, gone: Row, owners: &HashMap<&str, Row>) -> Option<Row> {
        let tree = self.view.tree();
        let owner = *owners.get(tree.id_text(gone))?;
        let place = |row: Row| (tree.node(row).parent, tree.node(row).has(Node::LOST_PARENT));
        (place(owner) == place(gone)).then_some(owner)
    }

    /// Returns the new parent of the children of a removed row; `None` if it is unknown.
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

    /// Marks the first row of every cycle as lost. Ids that now belong to other rows may have closed
    /// cycles that the tree did not have.
    fn break_cycles(&mut self) {
        // The start of the walk on which each row was seen.
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

    /// Links every lost row to the nearest earlier row that is not below it, in nearly linear time.
    fn relink_lost(mut self) -> NewParents {
        let tree = self.view.tree();
        let kind = |row: Row| usize::from(tree.node(row).has(Node::SIDECHAIN));
        let mut tops = TopAncestors::new(self.parents.clone());
        // The conversations of subagents and the main conversation stay separate.
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
        NewParents { parents: self.parents, changed: self.changed }
    }
}

/// Returns the parent that a record itself names, in dialects where links do not follow from it
/// alone, and whether that parent is missing.
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
