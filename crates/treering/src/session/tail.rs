//! Opens a session by reading its end, and reads the rest when it is needed.

use super::Session;
use super::options::{CreateOptions, OpenOptions};
use super::state::{Backing, State};
use crate::context::{ContextEntries, Projection, TailContext, tail};
use crate::dialect::Dialect;
use crate::error::{Error, Result};
use crate::header::Header;
use crate::id::EntryId;
use crate::load::Loaded;
use crate::log::{FileJournal, Journal};
use crate::snapshot::Snapshot;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A session file of which only the header and the end were read: enough for the context at its leaf, in a time that
/// does not depend on the size of the file.
///
/// [`whole`](SessionTail::whole) opens the session as it was when its end was read.
///
/// ```
/// use treering::session::SessionTail;
/// use treering::{Message, NewEntry, OpenOptions, Session};
/// # let dir = tempfile::tempdir()?;
/// let path = dir.path().join("long.jsonl");
/// let session = Session::create_at(&path, "/project", Default::default())?;
/// let mut last = session.append(Message::user("hello"))?;
/// for _ in 0..20 {
///     last = session.append(Message::assistant("acme", "m", "lorem ipsum ".repeat(10_000)))?;
/// }
/// session.append(NewEntry::compaction("it was long", Some(&last), 500_000))?;
///
/// let tail = SessionTail::open(&path, OpenOptions::new())?.expect("the end says enough");
/// assert_eq!(tail.leaf(), session.leaf());
/// assert_eq!(tail.context_entries(&last)?.map(|context| context.entries.len()), None);
/// let leaf = tail.leaf().expect("there are entries");
/// assert_eq!(tail.context_entries(&leaf)?.map(|context| context.entries.len()), Some(2));
/// assert_eq!(tail.whole()?.tree().len(), 22);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct SessionTail {
    path: PathBuf,
    file: Arc<FileJournal>,
    journal: Arc<dyn Journal>,
    /// The length of the file when it was opened. Later appends of others are not visible.
    length: u64,
    loaded: Loaded,
    leaf: Option<EntryId>,
    options: OpenOptions,
}

impl SessionTail {
    /// Reads the header and the end of a session file. Returns `None` if they are not enough to
    /// know the leaf and the entries that count there, as in short files, in files of older versions and in
    /// those of some agents. The session must then be [opened](Session::open_with) as a whole.
    ///
    /// # Errors
    ///
    /// Fails as [`Session::open_with`] does.
    pub fn open(path: impl AsRef<Path>, options: OpenOptions) -> Result<Option<Self>> {
        let path = path.as_ref();
        let file = Arc::new(FileJournal::open(path)?);
        let journal = Arc::clone(&file) as Arc<dyn Journal>;
        let length = journal.len().map_err(Error::io(path, "read"))?;
        // If the end is not enough, the time for reading it is lost. The limit keeps that below a sixth of the time
        // for reading the whole file.
        let found = tail::first_known(&journal, path, length, length / 8, |loaded| {
            if !loaded.facts().subagents_of(path).is_empty() {
                return Ok(None);
            }
            let view = Snapshot::new(&loaded, Arc::clone(&journal), true);
            let Some(leaf) = view.file_leaf_if_known()? else { return Ok(None) };
            let leaf_id = leaf.map(|row| view.tree().id(row));
            Ok(tail::is_known_at(&view, leaf)?.then_some((loaded, leaf_id)))
        })?;
        Ok(found.map(|(loaded, leaf)| {
            let path = path.to_owned();
            SessionTail { path, file, journal, length, loaded, leaf, options }
        }))
    }

    /// Reads the end of an existing session file as [`Session::open_or_create`] opens it.
    ///
    /// # Errors
    ///
    /// As [`Session::open_or_create`], and if there is no file.
    pub fn open_existing(path: impl AsRef<Path>, options: &CreateOptions) -> Result<Option<Self>> {
        let tail = SessionTail::open(path, options.to_open())?;
        if let Some(tail) = &tail {
            options.session.check_same(&tail.header().id, tail.dialect())?;
        }
        Ok(tail)
    }

    /// Returns the dialect of the session file.
    pub fn dialect(&self) -> Dialect {
        self.loaded.dialect
    }

    /// Returns the length of the log when its end was read, in bytes.
    pub fn log_length(&self) -> u64 {
        self.loaded.seen
    }

    /// Returns the session's header.
    pub fn header(&self) -> Header {
        self.loaded.header.clone().unwrap_or_else(Header::unknown)
    }

    /// Returns the path of the session's file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the active leaf of the file; `None` before the first entry.
    pub fn leaf(&self) -> Option<EntryId> {
        self.leaf.clone()
    }

    /// Returns the last entry in the file, whether or not it is the leaf.
    pub fn last_entry(&self) -> Option<EntryId> {
        self.loaded.tree.ids().next_back()
    }

    /// Returns the entries of the context at an entry; `None` if they depend on a part of the file
    /// that was not read, or if the entry is in that part.
    pub fn context_entries(&self, at: impl AsRef<str>) -> Result<Option<ContextEntries>> {
        let view = Snapshot::new(&self.loaded, Arc::clone(&self.journal), true);
        match view.tree().row(at.as_ref()) {
            Some(row) => ContextEntries::read(&view, Some(row)),
            None => Ok(None),
        }
    }

    /// Returns the context at the leaf. Returns `None` if the file has changed since its end was read, and the context
    /// now depends on a part that was not read.
    ///
    /// ```
    /// use treering::session::SessionTail;
    /// use treering::{Message, NewEntry, OpenOptions, Session};
    /// # let dir = tempfile::tempdir()?;
    /// # let path = dir.path().join("long.jsonl");
    /// # let session = Session::create_at(&path, "/project", Default::default())?;
    /// # let mut last = session.append(Message::user("hello"))?;
    /// # for _ in 0..20 {
    /// #     last = session.append(Message::assistant("acme", "m", "lorem ipsum ".repeat(10_000)))?;
    /// # }
    /// # session.append(NewEntry::compaction("it was long", Some(&last), 500_000))?;
    /// let tail = SessionTail::open(&path, OpenOptions::new())?.expect("the end says enough");
    /// let context = tail.context()?.expect("nothing was changed");
    /// assert_eq!(context.messages, session.context()?.messages);
    /// assert_eq!(context.thinking_level.known(), None, "it may have been set at the start");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn context(&self) -> Result<Option<TailContext>> {
        let view = Snapshot::new(&self.loaded, Arc::clone(&self.journal), true);
        let leaf = match &self.leaf {
            None => None,
            Some(leaf) => match view.tree().row(leaf.as_str()) {
                None => return Ok(None),
                row => row,
            },
        };
        Projection::plan_tail(view, leaf)?.map(|projection| projection.read()).transpose()
    }

    /// Opens the session in the state in which its end was read: with the same leaf, and without
    /// later entries of others, which [`Session::refresh`] reads. If the file was rewritten since,
    /// its current content is read.
    ///
    /// # Errors
    ///
    /// Fails as [`Session::open_with`] does, and with [`Error::Replaced`] if the file now has
    /// another session.
    pub fn whole(&self) -> Result<Session> {
        let backing = Backing::File { path: self.path.clone(), file: Arc::clone(&self.file) };
        let journal = Arc::clone(&self.journal);
        let is_same = self.journal.len().map_err(Error::io(&self.path, "read"))? >= self.length
            && self
                .loaded
                .end
                .is_in(|offset, buffer| self.journal.read_at(offset, buffer))
                .map_err(Error::io(&self.path, "read"))?;
        let state = if is_same {
            let loaded = Loaded::read_to(&*journal, self.length)
                .map_err(|error| error.at(Some(&self.path)))?
                .at(&self.path);
            State::with_header(backing, journal, loaded, self.header())?
        } else {
            let mut state = State::of(backing, journal, self.loaded.clone());
            state.leaf = self.leaf.clone();
            state.reload()?;
            state
        };
        Ok(Session::new(state, self.options.creation, self.options.durability))
    }
}
