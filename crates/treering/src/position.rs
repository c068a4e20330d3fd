//! Positions in a session, and the resolution of texts that users type for entries.

use crate::error::{Error, Result};
use crate::id::EntryId;

/// A position in a session, as all operations on a position take it.
///
/// An [`EntryId`], by value or by reference, converts to the position of that entry. An `Option` of
/// an id, as [`Session::leaf`](crate::Session::leaf) and [`Tree::parent`](crate::Tree::parent)
/// return it, converts to the position of the entry, or before the first entry if it is `None`.
///
/// ```
/// use treering::{Message, Position, Session};
/// let session = Session::in_memory("/project");
/// let question = session.append(Message::user("Tea or coffee?"))?;
/// session.append(Message::assistant("acme", "m", "Tea."))?;
///
/// assert_eq!(session.context_at(Position::Leaf)?.messages.len(), 2);
/// assert_eq!(session.context_at(&question)?.messages.len(), 1);
/// assert_eq!(session.context_at(Position::Start)?.messages.len(), 0);
/// # Ok::<(), treering::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub enum Position {
    /// The active leaf of the session at the time of the call.
    #[default]
    Leaf,
    /// The position of an entry.
    Entry(EntryId),
    /// The position before the first entry, which is the parent of a root.
    Start,
}

impl From<EntryId> for Position {
    fn from(id: EntryId) -> Self {
        Position::Entry(id)
    }
}

impl From<&EntryId> for Position {
    fn from(id: &EntryId) -> Self {
        Position::Entry(id.clone())
    }
}

impl From<&str> for Position {
    fn from(id: &str) -> Self {
        Position::Entry(EntryId::from(id))
    }
}

impl From<&String> for Position {
    fn from(id: &String) -> Self {
        Position::Entry(EntryId::from(id))
    }
}

impl From<&Position> for Position {
    fn from(position: &Position) -> Self {
        position.clone()
    }
}

impl<T: Into<EntryId>> From<Option<T>> for Position {
    fn from(id: Option<T>) -> Self {
        id.map_or(Position::Start, |id| Position::Entry(id.into()))
    }
}

/// The entry that a text refers to: the result of [`Session::resolve`](crate::Session::resolve).
///
/// ```
/// use treering::{Message, Session};
/// use treering::session::Resolved;
/// let session = Session::in_memory("/project");
/// let id = session.append(Message::user("hello"))?;
/// let typed: String = id.to_string().chars().take(3).collect();
///
/// assert_eq!(session.resolve(&typed), Resolved::Found(id));
/// assert_eq!(session.resolve("nothing"), Resolved::Unknown);
/// # Ok::<(), treering::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Resolved {
    /// The text is the id of this entry, or the beginning of this id only.
    Found(EntryId),
    /// Several ids begin with the text. At most ten are listed.
    Ambiguous(Vec<EntryId>),
    /// No id begins with the text.
    Unknown,
}

impl Resolved {
    /// Returns the entry. `text` is the text that was resolved, for the error.
    ///
    /// # Errors
    ///
    /// Fails with [`Error::AmbiguousEntry`] or [`Error::UnknownEntry`] if the text does not refer
    /// to exactly one entry.
    pub fn found(self, text: &str) -> Result<EntryId> {
        match self {
            Resolved::Found(id) => Ok(id),
            Resolved::Ambiguous(candidates) => {
                let candidates = candidates.iter().map(EntryId::to_string).collect();
                Err(Error::AmbiguousEntry { prefix: text.to_owned(), candidates })
            }
            Resolved::Unknown => Err(Error::UnknownEntry(text.to_owned())),
        }
    }
}
