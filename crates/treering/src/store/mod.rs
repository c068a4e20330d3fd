//! Stores: collections of sessions, independent of the kind of storage.
//!
//! A [`Journal`] is the log of one session, a [`Store`] is many of them: a directory
//! ([`Catalog`](crate::Catalog)), memory ([`MemoryStore`]), a database or a server (other crates). Sessions are created, opened
//! and forked in any of them, and no other code knows which one it is.

mod directory;
mod memory;
mod page;
mod scope;
mod session;

pub use memory::MemoryStore;
pub use page::{Cursor, ListQuery, Page};
pub use scope::Scope;

use crate::error::Result;
use crate::id::SessionId;
use crate::log::Journal;
use std::fmt;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A collection of sessions that any number of programs may share.
///
/// `treering_testkit::story::store` checks what implementations promise:
/// 1. a session that is created appears with all of its start, or not at all;
/// 2. two sessions never have the same id;
/// 3. all journals of a session, in all programs, are one log with the promises of [`Journal`];
/// 4. no change is missing from [`changes`](Store::changes), except for a removal that the storage does
///    not record.
///
/// A storage that cannot be reached within its deadline is an error for which
/// [`is_retryable`](crate::Error::is_retryable) holds.
///
/// ```
/// use std::sync::Arc;
/// use treering::store::{ListQuery, MemoryStore, Store};
/// use treering::{CreateOptions, Message, OpenOptions, Session};
/// let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
/// let session = Session::create_in(&store, "/project", CreateOptions::new())?;
/// session.append(Message::user("hello"))?;
///
/// let listed = store.list(&ListQuery::new())?.sessions;
/// assert_eq!(listed[0].first_message, "hello");
/// let again = Session::open_in(&store, &session.id(), OpenOptions::new())?;
/// assert_eq!(again.context()?.messages.len(), 1);
/// # Ok::<(), treering::Error>(())
/// ```
pub trait Store: Send + Sync + fmt::Debug {
    /// Returns the name of the store for messages, without passwords and tokens.
    fn location(&self) -> String;

    /// Creates a session whose log begins with all bytes of `start`.
    ///
    /// # Errors
    ///
    /// Fails with [`Error::SessionExists`](crate::Error::SessionExists) if the store already has a
    /// session with this id.
    fn create(&self, id: &SessionId, start: &mut dyn Read) -> Result<Arc<dyn Journal>>;

    /// Opens the log of a session.
    ///
    /// # Errors
    ///
    /// Fails with [`Error::UnknownSession`](crate::Error::UnknownSession) if the store has no
    /// session with this id.
    fn open(&self, id: &SessionId) -> Result<Arc<dyn Journal>>;

    /// Returns a page of sessions, newest first.
    fn list(&self, query: &ListQuery) -> Result<Page>;

    /// Removes a session.
    ///
    /// # Errors
    ///
    /// Fails with [`Error::UnknownSession`](crate::Error::UnknownSession) if the store has no
    /// session with this id.
    fn remove(&self, id: &SessionId) -> Result<()>;

    /// Returns the sessions that were created, appended to or removed after `mark`, and the current
    /// mark. Without a mark, no sessions are returned.
    ///
    /// A session may be returned again although it did not change. For a mark that this store did
    /// not create, or created before it was restarted or restored, all sessions may be returned.
    fn changes(&self, mark: Option<&Mark>) -> Result<Changes>;

    /// Returns whether there may be changes since the last call of [`changes`](Store::changes).
    ///
    /// A remote store that is notified of changes answers without a request. Other stores return
    /// true.
    fn has_news(&self) -> bool {
        true
    }

    /// Returns the file of a session, if the sessions of the store are files.
    ///
    /// For a session in a file, opening uses the file's lock, upgrades it if necessary, and finds
    /// its images.
    fn file(&self, id: &SessionId) -> Result<Option<PathBuf>> {
        let _ = id;
        Ok(None)
    }

    /// Returns the file that a new session of a project will have, if the sessions of the store are
    /// files. The time of creation is in Unix milliseconds.
    fn new_file(&self, id: &SessionId, cwd: &Path, created: i64) -> Result<Option<PathBuf>> {
        let _ = (id, cwd, created);
        Ok(None)
    }
}

/// A point in the history of a store, as text.
///
/// ```
/// use treering::store::{MemoryStore, Store};
/// let store = MemoryStore::new();
/// let mark = store.changes(None)?.mark;
/// assert!(store.changes(Some(&mark))?.sessions.is_empty());
/// # Ok::<(), treering::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Mark(String);

impl Mark {
    /// Creates the mark with this text.
    pub fn new(text: impl Into<String>) -> Self {
        Mark(text.into())
    }

    /// Creates a mark for a store that numbers its changes. `instance` names the scope in which the
    /// numbers are valid, for example one run of a program.
    ///
    /// ```
    /// use treering::store::Mark;
    /// let mark = Mark::numbered("run-1", 12);
    /// assert_eq!(mark.number_in("run-1"), Some(12));
    /// assert_eq!(mark.number_in("run-2"), None);
    /// ```
    pub fn numbered(instance: &str, number: u64) -> Self {
        Mark(format!("{instance}:{number}"))
    }

    /// Returns the number of a mark of this instance; `None` if the mark belongs to another
    /// instance, so that everything may have changed since.
    pub fn number_in(&self, instance: &str) -> Option<u64> {
        self.0.strip_prefix(instance)?.strip_prefix(':')?.parse().ok()
    }

    /// Returns the mark as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Mark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The sessions of a store that changed; see [`Store::changes`].
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Changes {
    /// The changed sessions, each once.
    pub sessions: Vec<ChangedSession>,
    /// The mark up to which the changes are known.
    pub mark: Mark,
}

impl Changes {
    /// Creates the changes up to `mark`.
    pub fn new(sessions: Vec<ChangedSession>, mark: Mark) -> Self {
        Changes { sessions, mark }
    }
}

/// A session that changed.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ChangedSession {
    /// The id of the session.
    pub id: SessionId,
    /// The length of the log in bytes; `None` if the session was removed.
    pub length: Option<u64>,
}

impl ChangedSession {
    /// Creates the change of a session to a log of `length` bytes, or its removal if that is
    /// `None`.
    pub fn new(id: SessionId, length: Option<u64>) -> Self {
        ChangedSession { id, length }
    }
}
