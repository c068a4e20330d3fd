//! What a caller may choose about a session.

use crate::dialect::Dialect;
use crate::id::SessionId;
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

/// What an append promises when it returns.
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

/// Choices for creating or opening a session. All have defaults.
///
/// ```
/// use treering::{Creation, Durability, SessionId, SessionOptions};
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
    /// What appends promise.
    pub durability: Durability,
    /// Whose way of writing a new session is in.
    pub dialect: Dialect,
    /// The session that a new one comes from: its file.
    pub parent_session: Option<PathBuf>,
}
