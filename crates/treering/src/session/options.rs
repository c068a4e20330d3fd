//! The options of sessions.

use crate::dialect::Dialect;
use crate::entry::{Kind, NewEntry};
use crate::id::{EntryId, SessionId};
use crate::position::Position;
use std::path::PathBuf;
use std::time::Duration;

/// When a new session's file comes into being. Until then everything is in memory, so that opening
/// and closing an agent leaves nothing behind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Creation {
    /// With the first user or assistant message.
    #[default]
    FirstMessage,
    /// With the first assistant message.
    FirstAssistantMessage,
    /// With the session itself.
    AtOnce,
}

/// The guarantee of an append when it returns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Durability {
    /// The entry is in the file: it survives the process, not a power failure.
    #[default]
    None,
    /// As `None`, and within this time it is on disk as well; also at
    /// [`sync`](crate::Session::sync) and when the session is dropped.
    Batched(Duration),
    /// The entry is on disk. Appends that wait at the same time share one sync.
    Each,
}

impl Durability {
    /// [`Durability::Batched`] with the usual delay of 100 ms.
    pub const BATCHED: Durability = Durability::Batched(Duration::from_millis(100));
}

/// The effect of an append on the leaves; see
/// [`append_to_branch`](crate::Session::append_to_branch).
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct LeafMoves {
    /// Where the file's leaf must be.
    pub expected: Position,
    /// Whether the file's leaf moves to the last of the new entries. Otherwise it stays.
    pub file: bool,
    /// Where the session's own leaf must be to move to the last of the new entries. It stays if it
    /// is elsewhere, or if this is `None`.
    pub own: Option<Position>,
}

impl LeafMoves {
    /// Moves no leaf; the file's must be at `expected`.
    pub fn none(expected: impl Into<Position>) -> Self {
        LeafMoves { expected: expected.into(), file: false, own: None }
    }

    /// Moves the file's leaf to the last of the new entries.
    #[must_use]
    pub fn of_file(self) -> Self {
        LeafMoves { file: true, ..self }
    }

    /// Moves the session's own leaf to the last of the new entries, if it is at `position`.
    #[must_use]
    pub fn of_session_at(self, position: impl Into<Position>) -> Self {
        LeafMoves { own: Some(position.into()), ..self }
    }

    /// Returns the session's own leaf after the append, given the one before it.
    pub(crate) fn own_leaf(
        &self,
        before: &Option<EntryId>,
        entries: &[NewEntry],
        ids: &[EntryId],
    ) -> Option<EntryId> {
        let moves = match &self.own {
            None => false,
            Some(Position::Leaf) => true,
            Some(Position::Start) => before.is_none(),
            Some(Position::Entry(id)) => before.as_ref() == Some(id),
        };
        let mut written = entries.iter().zip(ids).rev();
        let last = written.find(|(entry, _)| entry.kind() != Kind::Leaf).map(|(_, id)| id);
        if moves { last.or(before.as_ref()).cloned() } else { before.clone() }
    }
}

/// Choices for creating or opening a session. All have defaults.
///
/// ```
/// use treering::{SessionId, SessionOptions};
/// use treering::session::{Creation, Durability};
/// let options = SessionOptions {
///     id: Some(SessionId::new("nightly-build")?),
///     creation: Creation::AtOnce,
///     durability: Durability::Each,
///     ..SessionOptions::default()
/// };
/// # Ok::<(), treering::Error>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct SessionOptions {
    /// The new session's id; a UUID if `None`.
    pub id: Option<SessionId>,
    /// The new session's directory, instead of the project's own.
    pub dir: Option<PathBuf>,
    /// When the new session's file is created.
    pub creation: Creation,
    /// The durability of appends.
    pub durability: Durability,
    /// The dialect of a new session.
    pub dialect: Dialect,
    /// The session that a new one comes from: its file.
    pub parent_session: Option<PathBuf>,
}
