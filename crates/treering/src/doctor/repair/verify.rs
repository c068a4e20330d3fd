//! Verifies a repaired session: reads it again and compares it with the original.

use super::{REPAIRED, Repair, RepairPlan};
use crate::doctor::findings;
use crate::doctor::history::{self, Reachability};
use crate::doctor::plan::is_mere_list;
use crate::doctor::survey::PartKind;
use crate::doctor::write;
use crate::error::{Error, Result};
use crate::id::EntryId;
use crate::load::Loaded;
use crate::log::{FileJournal, Journal};
use crate::snapshot::{Bodies, Snapshot};
use crate::tree::NONE;
use std::path::Path;
use std::sync::Arc;

/// The reason why a verification failed.
enum VerifyError {
    Entry(EntryId),
    Other(Error),
}

impl From<Error> for VerifyError {
    fn from(error: Error) -> Self {
        VerifyError::Other(error)
    }
}

impl RepairPlan {
    /// Reads the repaired session again: it must have everything that could be read before, and
    /// none of the problems that the repair removes.
    pub(super) fn prove(
        &self,
        temporary: &Path,
        own: &[EntryId],
        repair: &mut Repair,
    ) -> Result<()> {
        let failed = |reason: String| Error::NotRepaired { path: self.path.to_owned(), reason };
        let journal: Arc<dyn Journal> = Arc::new(FileJournal::open(temporary)?);
        let loaded = Loaded::read(&*journal).map_err(|error| error.at(Some(temporary)))?;
        let loaded = loaded.at(&self.path);
        let view = Snapshot::new(&loaded, Arc::clone(&journal), false);
        self.prove_entries(&view, own.len()).map_err(|error| match error {
            VerifyError::Entry(id) => failed(format!("entry {id} would not be the same")),
            VerifyError::Other(error) => error,
        })?;
        repair.remaining = findings(&journal, &loaded)?;
        let left = repair.remaining.iter().find(|finding| REPAIRED.contains(&finding.code()));
        if let Some(finding) = left {
            return Err(failed(format!("it would still have: {finding}")));
        }
        repair.after = Reachability::of(&view, |_| true)?;
        // The entries of the repair itself are not part of the history.
        repair.after.entries -= own.len().min(repair.after.entries);
        repair.after.reachable -= own.len().min(repair.after.reachable);
        repair.contexts_gained = history::contexts_gained(self.view.tree(), view.tree(), own);
        Ok(())
    }

    /// Compares the entries that stay with those of the new session.
    fn prove_entries(&self, new: &Snapshot, own: usize) -> std::result::Result<(), VerifyError> {
        let (old_tree, new_tree) = (self.view.tree(), new.tree());
        let is_header = |offset: u64, loaded: &Loaded| {
            offset == loaded.header_span.start && !loaded.header_span.is_empty()
        };
        let is_list = is_mere_list(&self.loaded);
        let is_linked = self.loaded.codec().linker().is_some();
        let mut new_rows = new_tree.rows().take(new_tree.row_count().saturating_sub(own));
        let mut header_passed = !self.edits.moves_header;
        let (mut old_bodies, mut new_bodies) = (Bodies::default(), Bodies::default());
        for row in old_tree.rows().filter(|&row| self.edits.keep[row.index()]) {
            if self.edits.moves_header && is_header(old_tree.node(row).offset, &self.loaded) {
                continue;
            }
            let missing = || VerifyError::Entry(self.final_id(row));
            let mut new_row = new_rows.next().ok_or_else(missing)?;
            if !header_passed {
                header_passed = true;
                if self.loaded.facts().roots_below_header {
                    new_row = new_rows.next().ok_or_else(missing)?;
                }
            }
            let record = old_bodies.record(&self.view, row)?.ok_or_else(missing)?;
            let what = match is_header(old_tree.node(row).offset, &self.loaded) {
                true => PartKind::Header(Some(row)),
                false => PartKind::Entry(row),
            };
            let expected = write::edited(&self.loaded, &self.edits, what, record);
            if new_bodies.record(new, new_row)? != Some(&*expected) {
                return Err(missing());
            }
            if is_list {
                continue;
            }
            let parent = new_tree.node(new_row).parent;
            let parent = (parent != NONE).then(|| new_tree.id(parent));
            let planned = self.edits.parents[row.index()];
            let planned = (planned != NONE).then(|| self.final_id(planned));
            if new_tree.id(new_row) != self.final_id(row) || !is_linked && parent != planned {
                return Err(missing());
            }
        }
        match new_rows.next() {
            Some(more) => Err(VerifyError::Entry(new_tree.id(more))),
            None => Ok(()),
        }
    }
}
