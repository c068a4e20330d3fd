//! Appends of several writers in one write, each with an outcome of its own.

use super::batch::Batch;
use super::options::LeafMoves;
use super::state::{Backing, State, storage};
use crate::context::level_at;
use crate::entry::{Kind, NewEntry};
use crate::error::{Error, Result};
use crate::id::EntryId;
use crate::log::{Checkpoint, JournalError};
use crate::migrate;
use crate::position::Position;
use crate::snapshot::Snapshot;
use crate::tree::NONE;
use std::ops::Range;
use std::sync::Arc;

/// The largest capacity of a buffer that is kept for the next append.
const MAX_SCRATCH: usize = 64 * 1024;

/// The writer's expectation about the leaf of the log.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Expect<'a> {
    /// The writer expects nothing: the entries are appended to the session's own leaf, and become a
    /// branch if others have appended.
    Nothing,
    /// The writer expects nothing: the entries are appended to the leaf of the log.
    LogLeaf,
    /// The writer expects this position to be the session's own leaf, and appends to it.
    OwnLeaf(&'a Position),
    /// The writer expects this position to be the leaf of the log.
    Leaf(&'a Position),
    /// The writer expects a position to be the leaf of the log, and decides which leaves move.
    Branch(&'a LeafMoves),
}

impl Expect<'_> {
    /// Returns whether the writer appends to the log's leaf, not to its own, so that a refusal must
    /// take all entries in the log into account.
    fn follows_log(self) -> bool {
        matches!(self, Expect::LogLeaf | Expect::Leaf(_))
    }
}

/// Entries of one writer, which are appended all or not at all.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Group<'a> {
    pub entries: &'a [NewEntry],
    pub expect: Expect<'a>,
}

impl Group<'_> {
    pub(crate) fn names_session(&self) -> bool {
        self.entries.iter().any(|entry| entry.kind() == Kind::SessionInfo)
    }
}

/// An append of [`Session::append_each`](crate::Session::append_each): the entries of one writer,
/// and the leaf that it expects.
#[derive(Debug, Clone, Copy)]
pub struct Append<'a> {
    entries: &'a [NewEntry],
    expected: Option<&'a Position>,
}

impl<'a> Append<'a> {
    /// Creates an append of entries, in order, to the active leaf of the log.
    pub fn new(entries: &'a [NewEntry]) -> Self {
        Append { entries, expected: None }
    }

    /// Requires this position to be the active leaf of the log. Otherwise the append is refused
    /// with [`Error::LeafMoved`](crate::Error::LeafMoved).
    pub fn expecting(self, leaf: &'a Position) -> Self {
        Append { expected: Some(leaf), ..self }
    }

    pub(crate) fn group(&self) -> Group<'a> {
        Group { entries: self.entries, expect: self.expected.map_or(Expect::LogLeaf, Expect::Leaf) }
    }
}

/// The result of an append.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct AppendedEntries {
    /// The ids of the new entries, in order.
    pub ids: Vec<EntryId>,
    /// The leaf of the log after the append.
    pub leaf: Option<EntryId>,
    /// The length of the log after the append, in bytes.
    pub length: u64,
}

/// The result of a write.
pub(crate) struct WriteResult {
    /// The outcome of each group of entries.
    pub groups: Vec<Result<AppendedEntries>>,
    /// The range of the new entries in the log; `None` if all groups were refused.
    pub span: Option<Range<u64>>,
    /// The session's leaf before the write.
    pub leaf: Option<EntryId>,
}

/// The outcome of a group before the write: the ends of its ids and of its bytes in the batch, and
/// the leaf after it.
type AppendedGroup = Result<(usize, usize, Option<EntryId>)>;

impl State {
    /// Reads the entries of other writers, then appends the entries of all groups that are not
    /// refused in one write. If this fails, nothing was written. The entries of other writers that
    /// were read are added to `foreign` in any case.
    pub(crate) fn append(
        &mut self,
        groups: &[Group<'_>],
        foreign: &mut Vec<EntryId>,
    ) -> Result<WriteResult> {
        let mut has_looked = false;
        // Every round reads an append of another writer; the limit ends a race that would never
        // end.
        for _ in 0..10_000 {
            self.check_writable()?;
            if migrate::is_due(&self.loaded) {
                self.upgrade(foreign)?;
                continue;
            }
            let (batch, added) = self.add_groups(groups)?;
            // A refusal is final only after all entries in the log were read.
            let is_doubtful = |(group, added): (&Group<'_>, &AppendedGroup)| {
                let is_about_entries =
                    matches!(added, Err(Error::UnknownEntry(_) | Error::LeafMoved { .. }));
                is_about_entries && group.expect.follows_log()
            };
            if !has_looked && groups.iter().zip(&added).any(is_doubtful) {
                has_looked = true;
                foreign.extend(self.catch_up()?);
                continue;
            }
            let leaf = self.leaf.clone();
            let checkpoint = self.checkpoint(&batch, groups);
            if batch.ids.is_empty() {
                let groups = finished(added, &batch, self.loaded.seen);
                return Ok(WriteResult { groups, span: None, leaf });
            }
            let accepted = groups.iter().zip(&added).filter(|(_, added)| added.is_ok());
            let accepted = accepted.flat_map(|(group, _)| group.entries);
            let is_file_due = self.is_file_due(accepted.clone());
            let stored = self.store(&batch.bytes, checkpoint, is_file_due, foreign)?;
            let Some(start) = stored else { continue };
            let span = start..start + batch.bytes.len() as u64;
            foreign.extend(self.take_in(accepted, &batch, start)?);
            if let [Group { entries, expect: Expect::Branch(moves) }] = groups {
                self.leaf = moves.own_leaf(&leaf, entries, &batch.ids);
            }
            let groups = finished(added, &batch, start);
            if batch.bytes.capacity() <= MAX_SCRATCH {
                self.scratch = batch.bytes;
            }
            return Ok(WriteResult { groups, span: Some(span), leaf });
        }
        Err(Error::Locked(0))
    }

    /// Returns the lines of all groups that are not refused, and the outcome of each group.
    fn add_groups(&mut self, groups: &[Group<'_>]) -> Result<(Batch, Vec<AppendedGroup>)> {
        let leaf = match groups {
            [Group { expect: Expect::Nothing | Expect::OwnLeaf(_), .. }] => self.leaf.clone(),
            _ => self.log_leaf()?,
        };
        let count = groups.iter().map(|group| group.entries.len()).sum();
        let mut batch = self.batch(count, leaf);
        let added = groups.iter().map(|group| {
            let mark = batch.mark();
            match self.add_group(group, &mut batch) {
                Ok(()) => Ok((batch.ids.len(), batch.bytes.len(), batch.leaf.clone())),
                Err(error) => {
                    batch.reset(mark);
                    Err(error)
                }
            }
        });
        let added = added.collect();
        Ok((batch, added))
    }

    fn add_group(&mut self, group: &Group<'_>, batch: &mut Batch) -> Result<()> {
        if let Expect::OwnLeaf(expected)
        | Expect::Leaf(expected)
        | Expect::Branch(LeafMoves { expected, .. }) = group.expect
        {
            let expected = self.named(expected);
            if expected != batch.leaf.as_ref() {
                let (expected, actual) = (expected.cloned(), batch.leaf.clone());
                return Err(Error::LeafMoved { expected, actual });
            }
        }
        if group.names_session() {
            self.check_nameable()?;
        }
        self.add(group.entries, batch)
    }

    /// Returns the checkpoint to store with a batch, if the storage keeps checkpoints.
    fn checkpoint(&mut self, batch: &Batch, groups: &[Group<'_>]) -> Option<Checkpoint> {
        let tree = &self.loaded.tree;
        // There is no checkpoint if the batch may change the path of existing entries: a torn line
        // may become another entry once it is terminated, and an entry may already be named as a
        // parent by others.
        if !self.journal.keeps_checkpoints()
            || self.loaded.is_torn()
            || batch.ids.iter().any(|id| tree.is_missed(id.as_str()))
        {
            return None;
        }
        let entry = batch.first_parent()?;
        let row = tree.row(entry.as_str())?;
        let thinking = tree.node(row).thinking;
        if self.loaded.level.as_ref().is_none_or(|(known, _)| *known != thinking) {
            let view = Snapshot::new(&self.loaded, Arc::clone(&self.journal), false);
            self.loaded.level = Some((thinking, level_at(&view, row).ok()?));
        }
        let level = self.loaded.level.as_ref().and_then(|(_, level)| level.as_deref());
        let compacts = |entry: &NewEntry| matches!(entry.kind(), Kind::Compaction | Kind::Reset);
        let is_whole = tree.node(row).compaction == NONE
            && !groups.iter().flat_map(|group| group.entries).any(compacts);
        let checkpoint = Checkpoint::new(self.loaded.seen, entry.as_str(), level).whole(is_whole);
        Some(checkpoint).filter(Checkpoint::is_short)
    }

    /// Writes bytes at the end of the log and returns their position. If another program has appended first, reads
    /// its entries, writes nothing, and returns `None`.
    fn store(
        &mut self,
        bytes: &[u8],
        checkpoint: Option<Checkpoint>,
        is_file_due: bool,
        foreign: &mut Vec<EntryId>,
    ) -> Result<Option<u64>> {
        if is_file_due {
            let length = self.loaded.seen;
            self.create_file(bytes)?;
            return Ok(Some(length));
        }
        match self.journal.append_with(&self.loaded.end, bytes, checkpoint.as_ref()) {
            Ok(appended) => return Ok(Some(appended.start)),
            Err(JournalError::Moved(_)) => foreign.extend(self.catch_up()?),
            // Only a file can exist again under the same name.
            Err(JournalError::Gone) if matches!(self.backing, Backing::File { .. }) => {
                foreign.extend(self.reopen()?);
            }
            Err(error) => return Err(storage(error, &self.place())),
        }
        Ok(None)
    }
}

/// Returns the outcome of each group of a batch that was written at `start`.
fn finished(added: Vec<AppendedGroup>, batch: &Batch, start: u64) -> Vec<Result<AppendedEntries>> {
    let mut before = 0;
    let finish = |added: AppendedGroup| {
        let (ids_end, bytes_end, leaf) = added?;
        let ids = batch.ids[before..ids_end].to_vec();
        before = ids_end;
        Ok(AppendedEntries { ids, leaf, length: start + bytes_end as u64 })
    };
    added.into_iter().map(finish).collect()
}
