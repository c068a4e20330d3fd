//! Sessions: the public operations to append, branch, label, fork and read.
//!
//! A session may be used from many threads. Its lock is held while a line is written, but not while
//! it becomes durable.

mod append;
mod batch;
mod commit;
pub(crate) mod copy;
mod create;
mod filtered;
mod listen;
pub(crate) mod location;
mod log_reader;
pub(crate) mod options;
mod part;
pub(crate) mod publish;
mod reader;
mod relocate;
mod retry;
pub(crate) mod state;
mod tail;
mod write;

pub use crate::position::Resolved;
pub use append::{Append, AppendedEntries};
pub use listen::{Change, ListenerId, Writer};
pub use log_reader::{InvalidLogPosition, LogPosition, LogReader, LoggedEntries, LoggedEntry};
pub use options::{CreateOptions, Creation, Durability, LeafMoves, NewSession, OpenOptions};
pub use part::Part;
pub use reader::{Entries, Reader};
pub use relocate::relocate;
pub(crate) use state::storage;
pub use tail::SessionTail;

use crate::context::{Context, ContextEntries, Projection};
use crate::dialect::{AgentContext, Dialect};
use crate::entry::{Entry, Kind, Role};
use crate::error::{Error, Result};
use crate::findings::Finding;
use crate::header::Header;
use crate::id::{EntryId, SessionId};
use crate::position::Position;
use crate::snapshot::{RecordsOnPath, Snapshot};
use crate::tree::{Row, Tree};
use commit::{Flusher, GroupCommit};
use listen::Listeners;
use state::{Backing, State};
use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

/// An open session.
///
/// ```
/// use treering::{Message, Session};
/// # let dir = tempfile::tempdir()?;
/// let path = dir.path().join("first.jsonl");
/// let session = Session::create_at(&path, "/project", Default::default())?;
/// let question = session.append(Message::user("Tea or coffee?"))?;
/// session.append(Message::assistant("acme", "m", "Tea."))?;
/// session.branch(&question)?; // go back …
/// session.append(Message::assistant("acme", "m", "Coffee!"))?; // … and differ
/// drop(session);
///
/// let session = Session::open(&path)?;
/// let context = session.context()?;
/// assert_eq!(context.messages.len(), 2); // the question, and "Coffee!"
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Limitations
///
/// A session has its own leaf, which appends of other processes do not move. Use
/// [`refresh`](Session::refresh) and [`follow`](Session::follow) for that.
pub struct Session {
    state: Mutex<State>,
    creation: Creation,
    durability: Durability,
    commit: GroupCommit,
    flusher: OnceLock<Flusher>,
    listeners: Listeners,
}

impl std::fmt::Debug for Session {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Session").field("id", &self.id()).field("path", &self.path()).finish()
    }
}

impl Session {
    pub(crate) fn new(state: State, creation: Creation, durability: Durability) -> Self {
        let (state, commit) = (Mutex::new(state), GroupCommit::default());
        let (flusher, listeners) = (OnceLock::new(), Listeners::default());
        Session { state, creation, durability, commit, flusher, listeners }
    }

    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn view(&self) -> Snapshot {
        self.state().view()
    }

    /// Returns a snapshot, and the row of a position in it; `None` is before the first entry.
    pub(crate) fn view_at(&self, position: &Position) -> Result<(Snapshot, Option<Row>)> {
        let state = self.state();
        Ok((state.view(), state.row(position)?))
    }

    /// Returns a snapshot, and the rows of two positions in it.
    pub(crate) fn view_at_both(
        &self,
        a: &Position,
        b: &Position,
    ) -> Result<(Snapshot, [Option<Row>; 2])> {
        let state = self.state();
        Ok((state.view(), [state.row(a)?, state.row(b)?]))
    }

    /// Returns a snapshot, and the row of the leaf.
    pub(crate) fn view_and_leaf(&self) -> Result<(Snapshot, Option<Row>)> {
        self.view_at(&Position::Leaf)
    }

    /// Returns the entry at a position; `None` is before the first entry.
    pub(crate) fn entry_at(&self, position: &Position) -> Result<Option<EntryId>> {
        self.state().entry_at(position)
    }

    /// Returns ids that no entry has.
    pub(crate) fn fresh_ids(&self, count: usize) -> Vec<EntryId> {
        self.state().fresh_ids(count)
    }

    /// Returns a snapshot, and the row of the header if it is a node of the tree.
    pub(crate) fn view_and_header(&self) -> (Snapshot, Option<Row>) {
        let state = self.state();
        (state.view(), state.loaded.header_row())
    }
}

/// About the session.
impl Session {
    /// Returns the session's id, as in its file.
    pub fn id(&self) -> SessionId {
        self.state().header().id.clone()
    }

    /// Returns the session's header.
    pub fn header(&self) -> Header {
        self.state().header().clone()
    }

    /// Returns the dialect of the session file.
    pub fn dialect(&self) -> Dialect {
        self.state().loaded.dialect
    }

    /// Returns the project directory that the session belongs to.
    pub fn cwd(&self) -> String {
        self.header().cwd
    }

    /// Returns the session's file, or the file that it will have; `None` for sessions that are not
    /// in a file.
    pub fn path(&self) -> Option<PathBuf> {
        self.state().path().map(Path::to_owned)
    }

    /// Fails if entries cannot be appended: the file has a newer version, or belongs to an agent
    /// whose files treering only reads.
    ///
    /// # Errors
    ///
    /// Fails with [`Error::ReadOnly`] or [`Error::ReadOnlyDialect`].
    pub fn check_writable(&self) -> Result<()> {
        self.state().check_writable()
    }

    /// Returns whether the session's file exists: false until it is [created](Creation), and for
    /// sessions that are not in a file.
    pub fn is_written(&self) -> bool {
        matches!(self.state().backing, Backing::File { .. })
    }

    /// Returns the session's name, if it has one.
    pub fn name(&self) -> Option<String> {
        self.tree().name().map(str::to_owned)
    }

    /// Returns the findings made while reading the file, by line. The bodies of entries were not
    /// checked: see [`all_findings`](Session::all_findings).
    ///
    /// # Errors
    ///
    /// Fails if the file cannot be read.
    pub fn findings(&self) -> Result<Vec<Finding>> {
        let state = self.state();
        state.loaded.findings(&*state.journal, Vec::new()).map_err(Error::Storage)
    }
}

/// Reading.
impl Session {
    /// Returns a snapshot of the tree, which later appends do not change.
    pub fn tree(&self) -> Arc<Tree> {
        Arc::clone(&self.state().loaded.tree)
    }

    /// Returns the entry that the next append continues; `None` if that is before the first entry.
    pub fn leaf(&self) -> Option<EntryId> {
        self.state().leaf.clone()
    }

    /// Returns the entry that a user means by `text`: the one with this id, or the only one whose
    /// id begins with it. All other methods take complete ids.
    pub fn resolve(&self, text: &str) -> Resolved {
        self.tree().resolve(text)
    }

    /// Returns an entry. Images that are stored outside the file are references in it: see
    /// [`Reader::with_images`].
    ///
    /// # Errors
    ///
    /// Fails with [`Error::UnknownEntry`] if there is no entry with exactly this id.
    pub fn entry(&self, id: impl AsRef<str>) -> Result<Entry> {
        let view = self.view();
        let row = view.tree().find_row(id.as_ref())?;
        view.entry(row)
    }

    /// Returns a reader of the entries in the session's current state, which is faster than
    /// [`entry`](Session::entry) for many entries.
    pub fn reader(&self) -> Reader {
        Reader::new(self.view())
    }

    /// Returns the entries from the root to a position as an iterator, which reads each of them on
    /// demand.
    ///
    /// # Errors
    ///
    /// Fails with [`Error::UnknownEntry`] if the session does not have the entry.
    ///
    /// ```
    /// use treering::{Message, Position, Session};
    /// let session = Session::in_memory("/project");
    /// let first = session.append(Message::user("one"))?;
    /// session.append(Message::user("two"))?;
    /// assert_eq!(session.path_to(Position::Leaf)?.count(), 2);
    /// assert_eq!(session.path_to(&first)?.count(), 1);
    /// # Ok::<(), treering::Error>(())
    /// ```
    pub fn path_to(&self, position: impl Into<Position>) -> Result<Entries> {
        let (view, row) = self.view_at(&position.into())?;
        let rows = row.map(|row| view.tree().path_rows(row)).unwrap_or_default();
        Ok(Entries::new(view, rows))
    }

    /// Returns all entries in file order as an iterator, which reads each of them on demand.
    pub fn entries(&self) -> Entries {
        let view = self.view();
        let rows: Vec<Row> = view.tree().live().collect();
        Entries::new(view, rows)
    }

    /// Returns the entries after one, in file order, as an iterator, which reads each of them on
    /// demand: for lists that are shown in pages.
    ///
    /// ```
    /// use treering::{Message, Session};
    /// let session = Session::in_memory("/project");
    /// let first = session.append(Message::user("one"))?;
    /// session.append(Message::user("two"))?;
    /// assert_eq!(session.entries_after(&first)?.count(), 1);
    /// # Ok::<(), treering::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Fails with [`Error::UnknownEntry`] if there is no entry with exactly this id.
    pub fn entries_after(&self, id: impl AsRef<str>) -> Result<Entries> {
        let view = self.view();
        let after = view.tree().find_row(id.as_ref())?;
        let rows: Vec<Row> = view.tree().live_from(after.next()).collect();
        Ok(Entries::new(view, rows))
    }

    /// Returns the length of the log in bytes, as far as this session has read or written it.
    pub fn log_length(&self) -> u64 {
        self.state().loaded.seen
    }

    /// Returns the entries, in file order, for which `wanted` returns true. `wanted` gets the type,
    /// the role and the record's bytes as in the file. No other entry is decoded.
    ///
    /// ```
    /// use treering::{Message, Role, Session};
    /// let session = Session::in_memory("/project");
    /// session.append(Message::user("one"))?;
    /// session.append(Message::assistant("acme", "m", "two"))?;
    /// let spoken = |_, role, record: &[u8]| role == Some(Role::User) && record.ends_with(b"}");
    /// assert_eq!(session.entries_where(spoken).count(), 1);
    /// # Ok::<(), treering::Error>(())
    /// ```
    pub fn entries_where(
        &self,
        wanted: impl FnMut(Kind, Option<Role>, &[u8]) -> bool,
    ) -> impl Iterator<Item = Result<Entry>> {
        self.view().entries_where(wanted)
    }

    /// Returns the context at the leaf, which is what the model sees. Equals
    /// [`context_at`](Session::context_at) with [`Position::Leaf`].
    ///
    /// # Errors
    ///
    /// Fails if the file cannot be read.
    pub fn context(&self) -> Result<Context> {
        self.context_at(Position::Leaf)
    }

    /// Returns the context at a position.
    ///
    /// # Errors
    ///
    /// Fails with [`Error::UnknownEntry`] if the session does not have the entry, and if the file
    /// cannot be read.
    pub fn context_at(&self, position: impl Into<Position>) -> Result<Context> {
        Context::collect(self.projection_at(position)?)
    }

    /// Returns the context that the agent that wrote the session would send to its model at the
    /// leaf, in the agent's own format. Returns `None` if that equals
    /// [`context`](Session::context), as for pi.
    ///
    /// # Errors
    ///
    /// Fails if the file cannot be read.
    pub fn agent_context(&self) -> Result<Option<AgentContext>> {
        self.agent_context_at(Position::Leaf)
    }

    /// Returns the agent's own context at a position, as [`agent_context`](Session::agent_context)
    /// does at the leaf.
    ///
    /// # Errors
    ///
    /// Fails with [`Error::UnknownEntry`] if the session does not have the entry, and if the file
    /// cannot be read.
    ///
    /// ```
    /// use treering::session::NewSession;
    /// use treering::{Dialect, Message, Position, Session};
    /// let new = NewSession::new().dialect(Dialect::Chimera);
    /// let session = Session::in_memory_with("/project", new)?;
    /// session.append(Message::user("hello"))?;
    /// let context = session.agent_context_at(Position::Leaf)?.unwrap();
    /// assert!(String::from_utf8_lossy(&context.to_json()).contains("hello"));
    /// # Ok::<(), treering::Error>(())
    /// ```
    pub fn agent_context_at(&self, position: impl Into<Position>) -> Result<Option<AgentContext>> {
        let (view, row) = self.view_at(&position.into())?;
        let rows = row.map(|row| view.tree().path_rows(row)).unwrap_or_default();
        let mut context = view.codec().agent_context(&mut RecordsOnPath::new(&view, rows))?;
        for message in context.iter_mut().flat_map(|context| &mut context.messages) {
            *message = view.with_blobs(Cow::Owned(std::mem::take(message))).into_owned();
        }
        Ok(context)
    }

    /// Returns the context at the leaf, message by message, for contexts too large for memory.
    ///
    /// # Errors
    ///
    /// Fails if the file cannot be read.
    pub fn projection(&self) -> Result<Projection> {
        self.projection_at(Position::Leaf)
    }

    /// Returns the context at a position, message by message.
    ///
    /// # Errors
    ///
    /// Fails with [`Error::UnknownEntry`] if the session does not have the entry, and if the file
    /// cannot be read.
    pub fn projection_at(&self, position: impl Into<Position>) -> Result<Projection> {
        let (view, row) = self.view_at(&position.into())?;
        view.projection(row)
    }
}

/// Reading whole entries of a context.
impl Session {
    /// Returns the entries that a context is made of, for programs that build the messages
    /// themselves.
    ///
    /// # Errors
    ///
    /// Fails with [`Error::UnknownEntry`] if the session does not have the entry, and if the file
    /// cannot be read.
    ///
    /// ```
    /// use treering::{Message, Position, Session};
    /// let session = Session::in_memory("/project");
    /// let question = session.append(Message::user("hello"))?;
    /// let context = session.context_entries_at(Position::Leaf)?;
    /// assert_eq!(context.entries[0].id(), &question);
    /// assert_eq!(context.thinking_level.as_deref(), Some("off"));
    /// # Ok::<(), treering::Error>(())
    /// ```
    pub fn context_entries_at(&self, position: impl Into<Position>) -> Result<ContextEntries> {
        let (view, row) = self.view_at(&position.into())?;
        // Only a view of a part of a log can be incomplete.
        let incomplete = || Error::Storage(std::io::ErrorKind::UnexpectedEof.into());
        ContextEntries::read(&view, row)?.ok_or_else(incomplete)
    }
}

/// Other writers.
impl Session {
    /// Returns whether other processes may have appended entries, which
    /// [`refresh`](Session::refresh) reads. Sessions on a server are notified of changes and answer
    /// without a request; for others this is always true.
    pub fn has_news(&self) -> bool {
        let journal = Arc::clone(&self.state().journal);
        journal.has_news()
    }

    /// Reads the entries that other processes appended, and returns their ids. The leaf does not
    /// move.
    ///
    /// # Errors
    ///
    /// Fails with [`Error::Deleted`] or [`Error::Replaced`] if the file is no longer that of the
    /// session, and if it cannot be read.
    pub fn refresh(&self) -> Result<Vec<EntryId>> {
        let mut state = self.state();
        let foreign = state.refresh()?;
        self.listeners.add_foreign(foreign.clone());
        drop(state);
        self.listeners.deliver();
        Ok(foreign)
    }

    /// Moves this session's leaf to the active leaf of the file, as far as this session has
    /// [read it](Session::refresh). Returns the new leaf.
    ///
    /// ```
    /// use treering::{Message, Session};
    /// # let dir = tempfile::tempdir()?;
    /// let path = dir.path().join("chat.jsonl");
    /// let session = Session::create_at(&path, "/project", Default::default())?;
    /// let question = session.append(Message::user("Tea or coffee?"))?;
    /// let other = Session::open(&path)?; // in another process, for example
    /// let answer = other.append(Message::assistant("acme", "m", "Tea."))?;
    ///
    /// assert_eq!(session.refresh()?, [answer.clone()]);
    /// assert_eq!(session.leaf(), Some(question));
    /// assert_eq!(session.follow()?, Some(answer));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Fails if the file cannot be read.
    pub fn follow(&self) -> Result<Option<EntryId>> {
        let mut state = self.state();
        state.leaf = state.file_leaf()?;
        Ok(state.leaf.clone())
    }

    /// Writes the whole session to its path again, after its file was deleted.
    ///
    /// # Errors
    ///
    /// Fails with [`Error::AlreadyExists`] if there is a file at the path again, and if it cannot be
    /// written.
    pub fn recreate(&self) -> Result<()> {
        self.state().recreate()
    }
}
