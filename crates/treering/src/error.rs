//! The errors of the library, by cause. Each names the file, line or id it is about; wording it for
//! users, with a hint, is up to the program that embeds the library.

use crate::dialect::name::Dialect;
use crate::id::{EntryId, InvalidSessionId, SessionId};
use std::io;
use std::path::{Path, PathBuf};

/// The result of a treering operation.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The reason why an operation failed. Nothing was changed unless the variant says so.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An operation of the operating system failed.
    #[error("cannot {action} {}: {source}", path.display())]
    Io {
        /// The file or directory.
        path: PathBuf,
        /// The action that failed.
        action: &'static str,
        /// The error of the operating system.
        source: io::Error,
    },
    /// The storage behind a session failed.
    #[error("storage failed: {0}")]
    Storage(#[source] io::Error),
    /// The store has no session with this id.
    #[error("there is no session {0} in the store")]
    UnknownSession(SessionId),
    /// The store already has a session with this id. Nothing was changed.
    #[error("session {0} already exists in the store")]
    SessionExists(SessionId),
    /// The file has content, but is not a session.
    #[error("{}: not a session: {reason}", path.display())]
    NotASession {
        /// The file.
        path: PathBuf,
        /// The reason.
        reason: String,
    },
    /// The session has a version that this release can read but must not write.
    #[error(
        "the session has version {version}, and this release writes only up to version {supported}: it is read-only"
    )]
    ReadOnly {
        /// The version in the header.
        version: u64,
        /// The version that this release writes.
        supported: u64,
    },
    /// The session belongs to an agent whose files treering reads but never writes.
    #[error("treering does not write sessions of {0}")]
    ReadOnlyDialect(Dialect),
    /// A fork in another dialect is not written to the directory of its source, and no other
    /// directory was named.
    #[error(
        "a fork of a {from} session as a {to} session cannot be written to {from}'s own directory: name another one"
    )]
    NoForkDirectory {
        /// The dialect of the source.
        from: Dialect,
        /// The dialect of the fork.
        to: Dialect,
    },
    /// A fork, a conversion or a filtered session was read again and differs from its source.
    /// Nothing was written.
    #[error("the result differs from its source when it is read back: {0}")]
    Unfaithful(String),
    /// The session has an older version, and its storage is not a file, which could be upgraded.
    #[error("session has version {0} and is stored where it cannot be upgraded: it is read-only")]
    CannotUpgrade(u64),
    /// The session has no such entry.
    #[error("no entry {0:?}")]
    UnknownEntry(String),
    /// More than one entry id starts with this prefix.
    #[error("{prefix:?} is ambiguous: {}", candidates.join(", "))]
    AmbiguousEntry {
        /// The prefix that was asked for.
        prefix: String,
        /// Some of the ids that start with the prefix.
        candidates: Vec<String>,
    },
    /// The session already has an entry with this id.
    #[error("entry {0:?} already exists")]
    DuplicateEntry(String),
    /// The entry is not on the path that the operation needs it on.
    #[error("{entry} is not on the path to {}", name(leaf))]
    NotOnPath {
        /// The entry.
        entry: EntryId,
        /// The entry at which the path ends.
        leaf: Option<EntryId>,
    },
    /// The contribution of an entry to the context cannot be changed in this way.
    #[error("{entry} cannot be edited in this context: {reason}")]
    NotEditable {
        /// The entry.
        entry: EntryId,
        /// The reason.
        reason: &'static str,
    },
    /// The entry is not part of a conversation, so it cannot be copied to another branch.
    #[error("{entry} cannot be picked: {reason}")]
    NotPickable {
        /// The entry.
        entry: EntryId,
        /// The reason.
        reason: &'static str,
    },
    /// The session id cannot be part of a file name.
    #[error("{}", InvalidSessionId(.0.clone()))]
    InvalidSessionId(String),
    /// The options contradict each other, or do not fit the session. Nothing was changed.
    #[error("invalid options: {0}")]
    InvalidOption(String),
    /// The entry cannot be written.
    #[error("invalid entry: {0}")]
    InvalidEntry(String),
    /// The leaf is not the expected one, because entries were appended or the leaf was moved. Nothing
    /// was written. A plan should be made again.
    #[error("the leaf has moved: expected {}, found {}", name(expected), name(actual))]
    LeafMoved {
        /// The leaf that the caller expected.
        expected: Option<EntryId>,
        /// The leaf that was found.
        actual: Option<EntryId>,
    },
    /// The session's file was deleted while it was open. Nothing was written.
    #[error("{}: the session's file was deleted", .0.display())]
    Deleted(PathBuf),
    /// A file has changed since the operation on it was planned. Nothing was written.
    #[error("{}: the file has changed since the repair was planned; plan it again", .0.display())]
    OutdatedPlan(PathBuf),
    /// The session's file was replaced by another session while it was open. Nothing was written.
    #[error("{}: the file holds another session now: {:?} instead of {:?}", path.display(), found.as_str(), expected.as_str())]
    Replaced {
        /// The file.
        path: PathBuf,
        /// The id of the session that is open.
        expected: SessionId,
        /// The id of the session that the file holds.
        found: SessionId,
    },
    /// The session cannot be renamed, because its title line does not have the form and length in
    /// which it can be overwritten.
    #[error(
        "{}: the session cannot be renamed: its title line does not have the fixed length that is overwritten in place",
        .0.display()
    )]
    NotNameable(PathBuf),
    /// The new session's file already exists: another process created it.
    #[error("{}: the file already exists", .0.display())]
    AlreadyExists(PathBuf),
    /// The result of a repair failed its verification. Nothing was changed.
    #[error("{}: cannot be repaired: {reason}", path.display())]
    NotRepaired {
        /// The file.
        path: PathBuf,
        /// The reason.
        reason: String,
    },
    /// Another process holds the file's lock and does not release it.
    #[error("the session is locked by another process (waited {0} s)")]
    Locked(u64),
    /// Syncing earlier entries to disk in the background failed. This operation was not carried
    /// out; the next one will be.
    #[error("entries written earlier are not known to be on disk: {0}")]
    EarlierSyncFailed(#[source] io::Error),
    /// The entries were written, but the system could not confirm that they are on disk.
    #[error("written, but not known to be on disk: {0}")]
    NotDurable(#[source] io::Error),
}

impl From<InvalidSessionId> for Error {
    fn from(error: InvalidSessionId) -> Self {
        Error::InvalidSessionId(error.0)
    }
}

fn name(id: &Option<EntryId>) -> &str {
    id.as_ref().map_or("the start", EntryId::as_str)
}

impl Error {
    /// Returns whether the same call may succeed later, because the storage could not be reached or
    /// did not answer in time.
    ///
    /// ```
    /// use std::io;
    /// use treering::Error;
    /// assert!(Error::Storage(io::ErrorKind::TimedOut.into()).is_retryable());
    /// assert!(!Error::UnknownEntry("1f3a9c0e".into()).is_retryable());
    /// ```
    pub fn is_retryable(&self) -> bool {
        use io::ErrorKind as Kind;
        match self {
            Error::Io { source, .. }
            | Error::Storage(source)
            | Error::EarlierSyncFailed(source)
            | Error::NotDurable(source) => matches!(
                source.kind(),
                Kind::TimedOut
                    | Kind::ConnectionRefused
                    | Kind::ConnectionReset
                    | Kind::ConnectionAborted
                    | Kind::BrokenPipe
                    | Kind::NotConnected
                    | Kind::HostUnreachable
                    | Kind::NetworkUnreachable
                    | Kind::NetworkDown
                    | Kind::Interrupted
                    | Kind::WouldBlock
                    | Kind::ResourceBusy
            ),
            Error::Locked(_) => true,
            _ => false,
        }
    }

    /// Attaches a path and an action to an I/O error.
    pub(crate) fn io(path: &Path, action: &'static str) -> impl FnOnce(io::Error) -> Error {
        let path = path.to_owned();
        move |source| Error::Io { path, action, source }
    }

    /// Attaches a path and an action to an I/O error, as [`io`](Error::io) does, for a file that
    /// may already exist.
    pub(crate) fn creating(path: &Path, action: &'static str) -> impl FnOnce(io::Error) -> Error {
        let path = path.to_owned();
        move |source| match source.kind() {
            io::ErrorKind::AlreadyExists => Error::AlreadyExists(path),
            _ => Error::Io { path, action, source },
        }
    }
}
