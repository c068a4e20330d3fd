//! Writes to a session: appends, and the operations that are appends. A thread that waits for the
//! disk does not hold the session's lock.

use super::Session;
use super::append::{Append, AppendedEntries, Expect, Group, WriteResult};
use super::commit::{Flusher, PendingAppend, Truncated};
use super::options::{Durability, LeafMoves};
use super::state::Backing;
use crate::dialect::raw;
use crate::entry::NewEntry;
use crate::error::{Error, Result};
use crate::id::EntryId;
use crate::log::Journal;
use crate::migrate::{self, Upgrade};
use crate::position::Position;
use std::sync::Arc;
use std::time::Duration;

impl Session {
    /// Appends an entry to the leaf. The entry becomes the new leaf. Returns its id.
    ///
    /// # Errors
    ///
    /// Fails with [`Error::UnknownEntry`] if the entry names a parent or a target that does not
    /// exist, with [`Error::DuplicateEntry`] if it has the id of another entry, if the session
    /// [cannot be written](Session::check_writable), and if writing fails. Nothing has changed
    /// then, except after [`Error::NotDurable`].
    pub fn append(&self, entry: impl Into<NewEntry>) -> Result<EntryId> {
        let mut ids = self.append_all(&[entry.into()])?;
        ids.pop().ok_or_else(|| Error::InvalidEntry("nothing to append".into()))
    }

    /// Appends entries in order, in one write: all of them or none.
    ///
    /// # Errors
    ///
    /// As [`append`](Session::append).
    pub fn append_all(&self, entries: &[NewEntry]) -> Result<Vec<EntryId>> {
        self.write(entries, Expect::Nothing)
    }

    /// Appends entries in one write to the active leaf of the log, even if other writers moved it.
    /// This session's leaf moves to the last of them.
    ///
    /// This is for programs that write on behalf of others and have no leaf of their own, such as a
    /// server.
    ///
    /// # Errors
    ///
    /// As [`append`](Session::append).
    ///
    /// ```
    /// use std::sync::Arc;
    /// use treering::storage::MemoryJournal;
    /// use treering::{CreateOptions, Message, Session};
    /// let journal = Arc::new(MemoryJournal::default());
    /// let open = || Session::in_journal(journal.clone(), "/project", CreateOptions::new());
    /// let one = open()?;
    /// one.append(Message::user("first"))?;
    /// let other = open()?;
    /// one.append(Message::user("second"))?;
    /// other.append_following(&[Message::user("third").into()])?;
    /// assert_eq!(other.context()?.messages.len(), 3);
    /// # Ok::<(), treering::Error>(())
    /// ```
    pub fn append_following(&self, entries: &[NewEntry]) -> Result<Vec<EntryId>> {
        self.write(entries, Expect::LogLeaf)
    }

    /// Appends a record in the format of the session's agent, byte for byte. Returns its id.
    ///
    /// `record` is one JSON object. The session adds the id, the parent (the leaf) and the time, if
    /// the record does not have them, with the keys and in the form that the agent uses. The entry
    /// is then read like every record of that agent.
    ///
    /// # Errors
    ///
    /// Fails with [`Error::InvalidEntry`] if the record would not be read as an entry, would be read
    /// as damaged, or is not UTF-8; with [`Error::DuplicateEntry`] if another entry has its id; with
    /// [`Error::UnknownEntry`] if its parent or target does not exist.
    ///
    /// ```
    /// use treering::session::NewSession;
    /// use treering::{Dialect, Session};
    /// let new = NewSession::new().dialect(Dialect::Chimera);
    /// let session = Session::in_memory_with("/project", new)?;
    /// let record = r#"{"type":"message","message":{"role":"user","content":"hello"},"mood":"good"}"#;
    /// let id = session.append_record(record)?;
    /// assert_eq!(session.context()?.messages.len(), 1);
    /// assert_eq!(session.leaf(), Some(id));
    /// assert!(session.append_record(r#"{"type":"header","version":1}"#).is_err());
    /// # Ok::<(), treering::Error>(())
    /// ```
    pub fn append_record(&self, record: impl AsRef<[u8]>) -> Result<EntryId> {
        let mut ids = self.append_records(&[record])?;
        ids.pop().ok_or_else(|| Error::InvalidEntry("nothing to append".into()))
    }

    /// Appends [records](Session::append_record) in order, in one write: all of them or none.
    ///
    /// # Errors
    ///
    /// As [`append_record`](Session::append_record).
    pub fn append_records(&self, records: &[impl AsRef<[u8]>]) -> Result<Vec<EntryId>> {
        let dialect = self.dialect();
        let entries = records.iter().map(|record| raw::entry(dialect, record.as_ref()));
        let entries: Vec<NewEntry> = entries.collect::<Result<_>>()?;
        self.write(&entries, Expect::Nothing)
    }

    /// Appends entries to `leaf` in one write, if that is still the active leaf of the file.
    ///
    /// # Errors
    ///
    /// Fails with [`Error::LeafMoved`] if the file has another active leaf.
    ///
    /// ```
    /// use treering::{Error, Message, Session};
    /// let session = Session::in_memory("/project");
    /// let first = session.append(Message::user("one"))?;
    /// session.append(Message::user("two"))?;
    /// let late = session.append_expecting(&first, &[Message::user("three").into()]);
    /// assert!(matches!(late, Err(Error::LeafMoved { .. })));
    /// # Ok::<(), treering::Error>(())
    /// ```
    pub fn append_expecting(
        &self,
        leaf: impl Into<Position>,
        entries: &[NewEntry],
    ) -> Result<Vec<EntryId>> {
        // The entries of others must be read before the first attempt, not after it.
        self.refresh()?;
        self.write(entries, Expect::Leaf(&leaf.into()))
    }

    /// Appends entries in one write to a branch that may have been abandoned meanwhile, and moves
    /// only the leaves that `moves` names. The first entry is attached to its own
    /// [parent](NewEntry::with_parent), or to the active leaf of the file if it has none.
    ///
    /// This is for results of long operations, such as the answer of a model: the answer belongs to
    /// the branch it was requested for, but a leaf that was moved to another branch in the meantime
    /// must stay there.
    ///
    /// # Errors
    ///
    /// Fails with [`Error::LeafMoved`] if the file's leaf is not the expected one.
    ///
    /// ```
    /// use treering::{Message, Session};
    /// use treering::session::LeafMoves;
    /// let session = Session::in_memory("/project");
    /// let question = session.append(Message::user("Name a color."))?;
    /// let other = session.append(Message::user("Never mind."))?;
    /// let late = Message::assistant("acme", "m", "Red.").into_entry().with_parent(&question);
    /// session.append_to_branch(&[late], &LeafMoves::none(&other))?;
    /// assert_eq!(session.leaf(), Some(other));
    /// # Ok::<(), treering::Error>(())
    /// ```
    pub fn append_to_branch(
        &self,
        entries: &[NewEntry],
        moves: &LeafMoves,
    ) -> Result<Vec<EntryId>> {
        self.refresh()?;
        let mut all = entries.to_vec();
        if !moves.file && !all.is_empty() {
            all.push(NewEntry::leaf(self.state().named(&moves.expected)));
        }
        let mut ids = self.write(&all, Expect::Branch(moves))?;
        ids.truncate(entries.len());
        Ok(ids)
    }

    /// Appends the entries of several writers in one write, and returns the outcome of each. This
    /// is for programs that write on behalf of others, such as a server, which then need only one
    /// commit for all of them.
    ///
    /// The appends are carried out one after the other, as by
    /// [`append_following`](Session::append_following) or
    /// [`append_expecting`](Session::append_expecting). The entries of one append are written
    /// together or not at all, and a refusal of one append does not affect the others. A failure of
    /// the storage affects all of them.
    ///
    /// # Errors
    ///
    /// Fails if the session cannot be written, and if writing fails. The refusal of one append is
    /// in the result.
    ///
    /// ```
    /// use treering::session::Append;
    /// use treering::{Error, Message, Position, Session};
    /// let session = Session::in_memory("/project");
    /// let entries = ["one", "two", "three"].map(|text| [Message::user(text).into()]);
    /// let appends = [
    ///     Append::new(&entries[0]),
    ///     Append::new(&entries[1]).expecting(&Position::Start), // the first entry is already there
    ///     Append::new(&entries[2]),
    /// ];
    /// let done = session.append_each(&appends)?;
    /// assert!(done[0].is_ok() && matches!(done[1], Err(Error::LeafMoved { .. })) && done[2].is_ok());
    /// assert_eq!(session.context()?.messages.len(), 2);
    /// # Ok::<(), treering::Error>(())
    /// ```
    pub fn append_each(&self, appends: &[Append<'_>]) -> Result<Vec<Result<AppendedEntries>>> {
        let groups: Vec<Group<'_>> = appends.iter().map(Append::group).collect();
        self.write_groups(&groups)
    }

    /// Appends the entries of a plan in one write, if the session's leaf is still the one that the plan
    /// was made for.
    pub(crate) fn append_planned(
        &self,
        leaf: Option<&EntryId>,
        entries: &[NewEntry],
    ) -> Result<Vec<EntryId>> {
        self.write(entries, Expect::OwnLeaf(&Position::from(leaf)))
    }

    fn write(&self, entries: &[NewEntry], expect: Expect<'_>) -> Result<Vec<EntryId>> {
        if entries.is_empty() {
            return Ok(Vec::new());
        }
        let done = self.write_groups(&[Group { entries, expect }])?.pop();
        done.map_or(Ok(Vec::new()), |done| Ok(done?.ids))
    }

    fn write_groups(&self, groups: &[Group<'_>]) -> Result<Vec<Result<AppendedEntries>>> {
        if let Some(flusher) = self.flusher.get() {
            flusher.check()?;
        }
        let done = self.write_and_settle(groups);
        self.listeners.deliver();
        done
    }

    /// Writes groups of entries and waits until they are as durable as the options require. The
    /// changes are in the queue of the listeners afterwards.
    fn write_and_settle(&self, groups: &[Group<'_>]) -> Result<Vec<Result<AppendedEntries>>> {
        let (mut state, mut foreign) = (self.state(), Vec::new());
        let written = state.append(groups, &mut foreign);
        self.listeners.add_foreign(foreign);
        let WriteResult { groups: mut done, span, leaf } = written?;
        let Some(span) = span else { return Ok(done) };
        let ids: Vec<EntryId> = done.iter().flatten().flat_map(|done| &done.ids).cloned().collect();
        for (group, done) in groups.iter().zip(&mut done) {
            if done.is_ok()
                && group.names_session()
                && let Err(error) = state.retitle()
            {
                *done = Err(error);
            }
        }
        let journal = Arc::clone(&state.journal);
        let is_stored = !matches!(state.backing, Backing::Pending { .. });
        let must_wait = is_stored && self.durability == Durability::Each;
        let ticket = must_wait.then(|| self.commit.written(PendingAppend { span, leaf }));
        let reserved = self.listeners.reserve();
        drop(state);
        let durable = match (ticket, self.durability) {
            (Some(ticket), _) => self.commit.wait(ticket, &*journal, || self.truncate_failed()),
            (None, Durability::Batched(delay)) if is_stored => self.flush_soon(delay, &journal),
            _ => Ok(()),
        };
        // Entries that may not be on disk are in the log nevertheless.
        if let (Some(reserved), Ok(()) | Err(Error::NotDurable(_))) = (reserved, &durable) {
            reserved.settle(ids);
        }
        durable.map(|()| done)
    }

    fn flush_soon(&self, delay: Duration, journal: &Arc<dyn Journal>) -> Result<()> {
        let flusher = match self.flusher.get() {
            Some(flusher) => flusher,
            None => {
                let flusher = Flusher::start(delay).map_err(Error::NotDurable)?;
                self.flusher.get_or_init(|| flusher)
            }
        };
        flusher.appended(journal);
        Ok(())
    }

    /// Removes the appends that may not be on disk after a failed sync, unless another writer has
    /// appended since.
    fn truncate_failed(&self) -> Truncated {
        let mut state = self.state();
        // Appends get their numbers under the session's lock, so no other append is affected.
        let upto = self.commit.last_ticket();
        let Some((after, first)) = self.commit.own_end(state.loaded.seen) else {
            return Truncated { after: upto, upto };
        };
        let done = state.journal.truncate_if(state.loaded.seen, first.span.start);
        if !done.unwrap_or(false) || state.reload().is_err() {
            return Truncated { after: upto, upto };
        }
        state.leaf = first.leaf;
        Truncated { after, upto }
    }

    /// Makes everything appended so far survive a power failure.
    ///
    /// # Errors
    ///
    /// Fails with [`Error::NotDurable`] if the system cannot confirm that, and with
    /// [`Error::EarlierSyncFailed`] if an earlier sync in the background failed.
    pub fn sync(&self) -> Result<()> {
        if let Some(flusher) = self.flusher.get() {
            flusher.check()?;
        }
        let journal = Arc::clone(&self.state().journal);
        journal.sync().map_err(Error::NotDurable)
    }

    /// Moves the leaf to a position: the next append is a child of that entry, or a new root at
    /// [`Position::Start`]. The move survives a restart. Returns the new leaf.
    ///
    /// ```
    /// use treering::{Message, Position, Session};
    /// let session = Session::in_memory("/project");
    /// let first = session.append(Message::user("one"))?;
    /// session.append(Message::user("two"))?;
    /// assert_eq!(session.branch(&first)?, Some(first));
    /// assert_eq!(session.branch(Position::Start)?, None);
    /// # Ok::<(), treering::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Fails with [`Error::UnknownEntry`] if there is no such entry.
    pub fn branch(&self, position: impl Into<Position>) -> Result<Option<EntryId>> {
        let target = self.entry_at(&position.into())?;
        // Another writer may have moved the file's leaf, which an append would find out.
        if self.is_at(&target)? {
            self.refresh()?;
        }
        if !self.is_at(&target)? {
            self.append_all(&[NewEntry::leaf(target.as_ref())])?;
        }
        Ok(target)
    }

    /// Returns whether an entry is both the session's own leaf and that of the file, as far as this
    /// session has read it.
    fn is_at(&self, target: &Option<EntryId>) -> Result<bool> {
        let state = self.state();
        Ok(state.leaf == *target && state.file_leaf()? == *target)
    }

    /// Moves this session's leaf without recording the move, so that neither other readers nor a
    /// restart see it.
    ///
    /// # Errors
    ///
    /// Fails with [`Error::UnknownEntry`] if there is no such entry.
    pub fn branch_in_memory(&self, position: impl Into<Position>) -> Result<()> {
        let mut state = self.state();
        state.leaf = state.entry_at(&position.into())?;
        Ok(())
    }

    /// Moves the leaf to a position and appends a summary of the abandoned branch there. `extend`
    /// may add details and other fields to the summary's entry.
    ///
    /// # Errors
    ///
    /// Fails with [`Error::UnknownEntry`] if there is no such entry, with the error of `extend`,
    /// and as [`append`](Session::append) does.
    ///
    /// ```
    /// use treering::{Message, NewEntry, Session};
    /// let session = Session::in_memory("/project");
    /// let question = session.append(Message::user("Why does the upload fail?"))?;
    /// session.append(Message::assistant("acme", "m", "It may be the network."))?;
    /// let extend = |entry: NewEntry| entry.with_details(r#"{"readFiles":["net.rs"]}"#);
    /// let summary = session.branch_with_summary(&question, "It is not the network.", extend)?;
    /// assert_eq!(session.tree().path(&summary)?, [question, summary]);
    /// # Ok::<(), treering::Error>(())
    /// ```
    pub fn branch_with_summary(
        &self,
        position: impl Into<Position>,
        summary: &str,
        extend: impl FnOnce(NewEntry) -> Result<NewEntry>,
    ) -> Result<EntryId> {
        let target = self.state().entry_at(&position.into())?;
        let left = self.leaf();
        let entry = NewEntry::branch_summary(left.as_ref(), summary).with_parent(target);
        self.append(extend(entry)?)
    }

    /// Returns an id that no entry has, for [`NewEntry::with_id`], so that entries that are written
    /// together can refer to each other.
    ///
    /// ```
    /// use treering::{Message, NewEntry, Session};
    /// let session = Session::in_memory("/project");
    /// let id = session.new_id();
    /// let label = NewEntry::label(&id, Some("start"));
    /// session.append_all(&[Message::user("hello").into_entry().with_id(&id), label])?;
    /// assert_eq!(session.tree().label(&id), Some("start"));
    /// # Ok::<(), treering::Error>(())
    /// ```
    pub fn new_id(&self) -> EntryId {
        self.state().new_id()
    }

    /// Labels an entry; `None` or an empty text removes the label.
    ///
    /// # Errors
    ///
    /// Fails with [`Error::UnknownEntry`] if there is no entry with exactly this id.
    pub fn label(&self, id: impl AsRef<str>, label: Option<&str>) -> Result<EntryId> {
        let target = self.tree().find(id)?;
        self.append(NewEntry::label(&target, label.filter(|label| !label.is_empty())))
    }

    /// Upgrades a file of an older version, as the first append would: the new file is written
    /// beside the old one, then replaces it. Returns `None` if there is nothing to upgrade.
    ///
    /// # Errors
    ///
    /// Fails with [`Error::CannotUpgrade`] if the session is of an older version and not in a file,
    /// and if writing the new file fails.
    ///
    /// ```
    /// # let dir = tempfile::tempdir()?;
    /// # let path = dir.path().join("old.jsonl");
    /// # std::fs::write(&path, "{\"type\":\"session\",\"version\":2,\"id\":\"s\",\"cwd\":\"/p\"}\n")?;
    /// let session = treering::Session::open(&path)?;
    /// let upgrade = session.upgrade()?.unwrap();
    /// assert_eq!((upgrade.from, upgrade.to), (2, 3));
    /// assert!(upgrade.backup.unwrap().exists());
    /// assert_eq!(session.upgrade()?, None);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn upgrade(&self) -> Result<Option<Upgrade>> {
        let (mut state, mut foreign) = (self.state(), Vec::new());
        let upgraded = state.upgrade(&mut foreign);
        self.listeners.add_foreign(foreign);
        drop(state);
        self.listeners.deliver();
        upgraded
    }

    /// Plans [`upgrade`](Session::upgrade) and changes nothing: returns what it will report, without a
    /// backup.
    ///
    /// # Errors
    ///
    /// Fails if the file cannot be read.
    pub fn plan_upgrade(&self) -> Result<Option<Upgrade>> {
        let state = self.state();
        migrate::planned_upgrade(&state.view(), &state.loaded)
    }

    /// Sets the name of the session; an empty name removes it.
    ///
    /// # Errors
    ///
    /// Fails with [`Error::NotNameable`] if the name is in a line of the file that cannot be
    /// overwritten, and as [`append`](Session::append) does.
    pub fn set_name(&self, name: &str) -> Result<EntryId> {
        self.append(NewEntry::session_info(name))
    }
}
