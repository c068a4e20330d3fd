//! Builds the lines that are written together, and inserts them into the tree afterwards.

use super::state::State;
use crate::dialect::facts::{LeafParent, NameRule};
use crate::dialect::{Stamp, raw};
use crate::entry::head::MAX_ID;
use crate::entry::{Kind, NewEntry, Parent, Record};
use crate::error::{Error, Result};
use crate::id::EntryId;
use crate::json;
use crate::load::is_fact;
use crate::tree::{Insert, NewRow, Shape, own_head};
use std::borrow::Cow;
use std::collections::HashSet;
use std::ops::Range;
use std::sync::Arc;

/// Lines that are written together.
#[derive(Default)]
pub(super) struct Batch {
    pub bytes: Vec<u8>,
    pub ids: Vec<EntryId>,
    /// The same ids as a set; empty if there is only one.
    taken: HashSet<EntryId>,
    is_single: bool,
    lines: Vec<BatchLine>,
    /// The leaf after all entries of the batch.
    pub leaf: Option<EntryId>,
}

/// An entry of a batch: its range in the bytes, and what the tree needs.
struct BatchLine {
    span: Range<usize>,
    time: Option<i64>,
    parent: Option<EntryId>,
}

/// A state of a batch that it can be reset to.
pub(super) struct Mark {
    bytes: usize,
    entries: usize,
    leaf: Option<EntryId>,
}

impl Batch {
    pub(super) fn mark(&self) -> Mark {
        Mark { bytes: self.bytes.len(), entries: self.ids.len(), leaf: self.leaf.clone() }
    }

    /// Returns the parent of the first entry.
    pub(super) fn first_parent(&self) -> Option<&EntryId> {
        self.lines.first()?.parent.as_ref()
    }

    /// Removes everything that was added after `mark`.
    pub(super) fn reset(&mut self, mark: Mark) {
        for id in self.ids.drain(mark.entries..) {
            self.taken.remove(&id);
        }
        self.lines.truncate(mark.entries);
        self.bytes.truncate(mark.bytes);
        self.leaf = mark.leaf;
    }
}

impl State {
    /// Returns a batch without entries that begins with the lines which must precede the first
    /// entry. At most `count` entries will be added.
    pub(super) fn batch(&mut self, count: usize, leaf: Option<EntryId>) -> Batch {
        let mut bytes = std::mem::take(&mut self.scratch);
        bytes.clear();
        let mut batch = Batch { bytes, leaf, is_single: count <= 1, ..Batch::default() };
        if self.loaded.is_torn() {
            batch.bytes.push(b'\n');
        }
        if self.unwritten_header
            && let Some(header) = &self.loaded.header
        {
            batch.bytes.extend_from_slice(header.raw());
            batch.bytes.push(b'\n');
        }
        batch
    }

    /// Adds the lines of entries, and decides their ids and parents. After a failure the batch may
    /// have some of them.
    pub(super) fn add(&mut self, entries: &[NewEntry], batch: &mut Batch) -> Result<()> {
        let (tree, facts) = (&self.loaded.tree, self.loaded.facts());
        let now = crate::time::now();
        for entry in entries {
            let id = match &entry.id {
                Some(id) if tree.contains(id.as_str()) || batch.taken.contains(id) => {
                    return Err(Error::DuplicateEntry(id.to_string()));
                }
                Some(id) if !(1..=MAX_ID).contains(&id.as_str().len()) => {
                    return Err(Error::InvalidEntry("an id has 1 to 512 bytes".into()));
                }
                Some(id) => id.clone(),
                None => facts.make_id(&mut self.ids, |id| {
                    tree.contains(id) || tree.is_missed(id) || batch.taken.contains(id)
                }),
            };
            let known = |id: &EntryId| match tree.contains(id.as_str()) || batch.taken.contains(id)
            {
                true => Ok(Some(id.clone())),
                false => Err(Error::UnknownEntry(id.to_string())),
            };
            if let Some(target) = entry.target() {
                known(&target)?;
            }
            let parent = match &entry.parent {
                _ if entry.kind() == Kind::Leaf
                    && facts.leaf_parent == LeafParent::PreviousLeaf =>
                {
                    batch.leaf.clone()
                }
                Parent::Leaf if entry.kind() == Kind::Leaf => entry.target(),
                Parent::Leaf => batch.leaf.clone(),
                Parent::Root => None,
                Parent::Entry(id) => known(id)?,
            };
            let is_stated = entry.record.is_some() && entry.parent != Parent::Leaf;
            let parent = match entry.kind() {
                // The position before the first entry is also before the header.
                Kind::Leaf => parent,
                _ if is_stated => parent,
                _ => parent.or_else(|| self.loaded.root_parent()),
            };
            let start = batch.bytes.len();
            let usual = entry.record.as_ref().and_then(|record| record.usual);
            let time = match &entry.timestamp {
                Some(own) => crate::entry::head::timestamp(own),
                None => usual.or(Some(now)),
            };
            // Only treering's own format can hold a time that is invalid.
            let time = if facts.is_own_format { time } else { time.or(Some(now)) };
            match (&entry.record, facts.is_own_format) {
                (Some(record), _) => {
                    let millis = time.unwrap_or(now);
                    let line = self.raw_line(record, &id, parent.as_ref(), millis)?;
                    batch.bytes.extend_from_slice(&line);
                    batch.bytes.push(b'\n');
                }
                // Times and numeric ids are written as the caller or the file has them.
                (None, true) => {
                    let literal = match &parent {
                        None => b"null".to_vec(),
                        Some(id) => tree
                            .row(id.as_str())
                            .map_or_else(|| json::quoted(id.as_str()), |row| tree.id_literal(row)),
                    };
                    let stamp = match &entry.timestamp {
                        Some(own) => Cow::Borrowed(own),
                        None => Cow::Owned(json::quoted(&crate::time::format(now))),
                    };
                    entry.write_line(&mut batch.bytes, id.as_str(), &literal, &stamp);
                }
                (None, false) => {
                    let parent = parent.as_ref().map(EntryId::as_str);
                    let left = batch.leaf.as_ref().map(EntryId::as_str);
                    let millis = time.unwrap_or(now);
                    let stamp = Stamp { id: id.as_str(), parent, millis, left };
                    let line = self.loaded.codec().encode(&entry.settled(id.as_str()), &stamp);
                    let line = line.ok_or(Error::ReadOnlyDialect(self.loaded.dialect))?;
                    batch.bytes.extend_from_slice(&line);
                    batch.bytes.push(b'\n');
                }
            }
            batch.leaf = match entry.kind() {
                Kind::Leaf => entry.target(),
                _ => Some(id.clone()),
            };
            batch.lines.push(BatchLine { span: start..batch.bytes.len() - 1, time, parent });
            if !batch.is_single {
                batch.taken.insert(id.clone());
            }
            batch.ids.push(id);
        }
        Ok(())
    }

    /// Returns the line of an entry that is a record in the session's own format.
    fn raw_line<'a>(
        &self,
        record: &'a Record,
        id: &EntryId,
        parent: Option<&EntryId>,
        millis: i64,
    ) -> Result<Cow<'a, [u8]>> {
        let Record { dialect, bytes, usual } = record;
        if *dialect != self.loaded.dialect {
            return Err(Error::InvalidEntry("the session now has another dialect".into()));
        }
        match usual {
            Some(_) => Ok(Cow::Borrowed(bytes)),
            None => raw::placed(*dialect, bytes, id, parent, millis).map(Cow::Owned),
        }
    }

    /// Adds rows for the entries that were written at `start`. Returns the ids of other writers'
    /// entries that were read.
    pub(super) fn take_in<'a>(
        &mut self,
        entries: impl Iterator<Item = &'a NewEntry> + Clone,
        batch: &Batch,
        start: u64,
    ) -> Result<Vec<EntryId>> {
        let fenced = self.loaded.is_torn();
        let mut records = entries.clone().filter_map(|entry| entry.record.as_ref());
        let is_read = !self.unwritten_header && self.loaded.is_usual();
        let is_usual = |record: &Record| is_read && record.usual.is_some();
        let must_read = !records.all(is_usual);
        if start != self.loaded.seen || fenced || must_read {
            // The log must be read again: a writer that takes no lock has appended first, the
            // unterminated last line got its newline and may be another entry now, or a record may
            // have more in it than its head.
            let mut others = if fenced { self.reload()? } else { self.catch_up()? };
            others.retain(|id| !batch.ids.contains(id));
            self.leaf = batch.leaf.clone();
            return Ok(others);
        }
        self.loaded.appended(start, &batch.bytes);
        self.loaded.shape.get_or_insert(Shape::Tree);
        self.unwritten_header = false;
        let facts = self.loaded.facts();
        let tree = Arc::make_mut(&mut self.loaded.tree);
        let mut settled = true;
        for (at, entry) in entries.clone().enumerate() {
            let BatchLine { span, time, parent } = &batch.lines[at];
            let parent = parent.as_ref().map(EntryId::as_str);
            let id = batch.ids[at].as_str();
            // Only the bodies of small entries are needed.
            let native =
                (!facts.is_own_format && is_fact(entry.kind())).then(|| entry.fields_object());
            let taken = tree.insert(NewRow {
                head: own_head(entry.kind(), entry.role, id, parent, *time),
                offset: start + span.start as u64,
                len: span.len() as u64,
                body: native.as_deref().or(Some(&batch.bytes[span.clone()])),
                damaged: false,
                derived_id: None,
            });
            settled &= taken == Insert::InOrder;
        }
        self.leaf = batch.leaf.clone();
        if !settled {
            self.reload()?;
        } else if facts.name_rule != NameRule::LastGiven && entries.clone().any(may_rename) {
            self.loaded.take_title();
        }
        Ok(Vec::new())
    }
}

/// Returns whether an entry may change the session's name, in dialects that take it from the path.
fn may_rename(entry: &NewEntry) -> bool {
    entry.parent != Parent::Leaf || matches!(entry.kind(), Kind::Leaf | Kind::SessionInfo)
}
