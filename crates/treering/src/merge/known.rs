//! Collects the entries that a branch has: those on its path, those merged into it, and those
//! copied to it.
//!
//! Merges turn the tree into a graph: an entry that records a merge also leads to the leaf that was
//! merged. A branch has everything that can be reached from its leaf. Each entry is visited once,
//! so that merges in both directions, and records that form a cycle, cause no endless loop.

use super::{Origin, merged_from};
use crate::context::contributes;
use crate::entry::Kind;
use crate::error::Result;
use crate::snapshot::{Bodies, Snapshot};
use crate::tree::Row;
use std::collections::HashSet;

pub(super) struct KnownEntries<'a> {
    view: &'a Snapshot,
    /// The id of the session.
    session: &'a str,
    /// Whether each row was reached.
    reached: Vec<bool>,
    /// The originals of copies.
    origins: HashSet<Origin>,
}

impl<'a> KnownEntries<'a> {
    pub(super) fn at(view: &'a Snapshot, session: &'a str, leaf: Option<Row>) -> Result<Self> {
        let reached = vec![false; view.tree().row_count()];
        let mut known = KnownEntries { view, session, reached, origins: HashSet::new() };
        let mut bodies = Bodies::default();
        let mut ends: Vec<Row> = leaf.into_iter().collect();
        while let Some(end) = ends.pop() {
            let mut rows: Vec<Row> =
                view.tree().ancestors(end).take_while(|&row| !known.has_reached(row)).collect();
            rows.reverse(); // Files are read forwards.
            for row in rows {
                known.reached[row.index()] = true;
                let about = EntryReferences::read(view, session, &mut bodies, row)?;
                known.origins.extend(about.origin);
                ends.extend(about.merged);
            }
        }
        Ok(known)
    }

    /// Returns whether a row is on the path, or on the path of a merged branch.
    pub(super) fn has_reached(&self, row: Row) -> bool {
        self.reached.get(row.index()).is_some_and(|reached| *reached)
    }

    /// Returns whether the branch already has the content of an entry: the entry itself, its
    /// original or a copy of it, or the branch that was merged at it.
    pub(super) fn has(&self, bodies: &mut Bodies, row: Row) -> Result<bool> {
        if self.has_reached(row) {
            return Ok(true);
        }
        let tree = self.view.tree();
        let about = EntryReferences::read(self.view, self.session, bodies, row)?;
        if about.merged.is_some_and(|merged| self.has_reached(merged)) {
            return Ok(true);
        }
        let origin = about.origin.unwrap_or_else(|| Origin::here(tree.id_text(row)));
        let is_here = origin.session.is_none()
            && tree.row(origin.entry.as_str()).is_some_and(|row| self.has_reached(row));
        Ok(is_here || self.origins.contains(&origin))
    }
}

/// The references of an entry to others.
#[derive(Default)]
struct EntryReferences {
    origin: Option<Origin>,
    merged: Option<Row>,
}

impl EntryReferences {
    fn read(view: &Snapshot, session: &str, bodies: &mut Bodies, row: Row) -> Result<Self> {
        let (tree, kind) = (view.tree(), view.tree().node(row).kind());
        if !contributes(tree, row) && kind != Kind::Custom {
            return Ok(EntryReferences::default());
        }
        let Some(body) = bodies.any(view, row)? else { return Ok(EntryReferences::default()) };
        let origin = Origin::read(&body, session);
        // A merge that was recorded in another session does not count here.
        let is_ours = origin.as_ref().is_none_or(|origin| origin.session.is_none());
        let merged = merged_from(kind, &body).filter(|_| is_ours);
        let merged = merged.and_then(|leaf| tree.row(&leaf));
        Ok(EntryReferences { origin, merged })
    }
}
