//! Options for creating and opening sessions.

use crate::dialect::facts::HeaderPlace;
use crate::dialect::{Dialect, NewHeader};
use crate::entry::{Kind, NewEntry, Role};
use crate::error::{Error, Result};
use crate::header::Header;
use crate::id::{EntryId, SessionId};
use crate::json;
use crate::position::Position;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The rule for when a new session's file is created. Until then everything is in memory, so that
/// opening and closing an agent leaves nothing behind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Creation {
    /// The file is created with the first user or assistant message.
    #[default]
    FirstMessage,
    /// The file is created with the first assistant message.
    FirstAssistantMessage,
    /// The file is created with the session itself.
    AtOnce,
}

impl Creation {
    /// Returns whether a session with a message of this role must have a file.
    pub(crate) fn is_due_with(self, role: Option<Role>) -> bool {
        match self {
            Creation::FirstMessage => matches!(role, Some(Role::User | Role::Assistant)),
            Creation::FirstAssistantMessage => role == Some(Role::Assistant),
            Creation::AtOnce => true,
        }
    }
}

/// The guarantee that an append gives when it returns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Durability {
    /// The entry is in the file: it survives the end of the process, but not a power failure.
    #[default]
    None,
    /// The entry is in the file, and is on disk within this time, after
    /// [`sync`](crate::Session::sync), and after the session is dropped.
    Batched(Duration),
    /// The entry is on disk. Concurrent appends share one sync.
    Each,
}

impl Durability {
    /// [`Durability::Batched`] with the usual delay of 100 ms.
    pub const BATCHED: Durability = Durability::Batched(Duration::from_millis(100));
}

/// The leaves that an append moves; see [`append_to_branch`](crate::Session::append_to_branch).
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct LeafMoves {
    /// The position that must be the active leaf of the file.
    pub expected: Position,
    /// Whether the file's leaf moves to the last of the new entries. Otherwise it stays.
    pub file: bool,
    /// The position at which the session's own leaf must be to move to the last of the new entries.
    /// The leaf does not move if it is at another position, or if this is `None`.
    pub own: Option<Position>,
}

impl LeafMoves {
    /// Moves no leaf. The active leaf of the file must be `expected`.
    pub fn none(expected: impl Into<Position>) -> Self {
        LeafMoves { expected: expected.into(), file: false, own: None }
    }

    /// Moves the active leaf of the file to the last of the new entries.
    #[must_use]
    pub fn moving_file_leaf(self) -> Self {
        LeafMoves { file: true, ..self }
    }

    /// Moves the session's own leaf to the last of the new entries, if it is at `position`.
    #[must_use]
    pub fn moving_session_leaf_at(self, position: impl Into<Position>) -> Self {
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

/// The fields of a new session's header. All have defaults.
///
/// ```
/// use treering::session::NewSession;
/// use treering::{Dialect, Session, SessionId};
/// let new = NewSession::new().id(SessionId::new("nightly-build")?).dialect(Dialect::Chimera);
/// let session = Session::in_memory_with("/project", new)?;
/// assert_eq!(session.id(), "nightly-build");
/// assert_eq!(session.dialect(), Dialect::Chimera);
/// # Ok::<(), treering::Error>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct NewSession {
    /// The session's id; a UUID if `None`.
    pub id: Option<SessionId>,
    /// The file of the session that this one was forked from.
    pub parent_session: Option<PathBuf>,
    /// The dialect of the session; pi's if `None`.
    pub dialect: Option<Dialect>,
    /// The system prompt, for dialects whose header has one (Chimera).
    pub system_prompt: Option<String>,
    /// Whether the session has no header, for dialects in which the header is optional (Chimera).
    /// The session then has no id, no project and no parent in its file.
    pub is_headerless: bool,
}

impl NewSession {
    /// Returns the defaults.
    pub fn new() -> Self {
        NewSession::default()
    }

    /// Sets the id.
    #[must_use]
    pub fn id(self, id: SessionId) -> Self {
        NewSession { id: Some(id), ..self }
    }

    /// Sets the file of the session that this one was forked from.
    #[must_use]
    pub fn parent_session(self, file: impl Into<PathBuf>) -> Self {
        NewSession { parent_session: Some(file.into()), ..self }
    }

    /// Sets the dialect.
    #[must_use]
    pub fn dialect(self, dialect: Dialect) -> Self {
        NewSession { dialect: Some(dialect), ..self }
    }

    /// Sets the system prompt in the header.
    ///
    /// Creating the session fails if the dialect's header has no system prompt.
    #[must_use]
    pub fn system_prompt(self, prompt: impl Into<String>) -> Self {
        NewSession { system_prompt: Some(prompt.into()), ..self }
    }

    /// Leaves out the header.
    ///
    /// Creating the session fails if its dialect requires a header.
    #[must_use]
    pub fn without_header(self) -> Self {
        NewSession { is_headerless: true, ..self }
    }

    /// Returns the first lines of the session; empty if it has no header.
    pub(crate) fn start(&self, cwd: &Path, created: i64) -> Result<Vec<u8>> {
        let dialect = self.dialect.unwrap_or_default();
        let refused = |why: String| Err(Error::InvalidOption(why));
        if self.is_headerless {
            if dialect.facts().header != HeaderPlace::Optional {
                return refused(format!("a session of {dialect} needs a header"));
            }
            if self.id.is_some() || self.parent_session.is_some() || self.system_prompt.is_some() {
                let why = "an id, a parent session and a system prompt need a header";
                return refused(why.to_owned());
            }
            return Ok(Vec::new());
        }
        let id = match self.id.clone() {
            Some(id) => id.checked()?,
            None => SessionId::generate(),
        };
        let (cwd, parent) = (cwd.to_string_lossy(), self.parent_session.as_deref());
        let parent_session = parent.map(Path::to_string_lossy);
        let parent_session = parent_session.as_deref();
        let about = NewHeader { id: id.as_str(), cwd: &cwd, parent_session, created };
        let start = dialect.first_lines(&about)?;
        let Some(prompt) = &self.system_prompt else { return Ok(start) };
        match with_system_prompt(&start, &json::quoted(prompt)) {
            Some(start) => Ok(start),
            None => refused(format!("the header of a {dialect} session has no system prompt")),
        }
    }

    /// Returns the fields that another session has like one with this header.
    pub(crate) fn like(header: &Header, dialect: Dialect) -> Self {
        let dialect = Some(dialect).filter(|dialect| dialect.is_writable());
        let new = NewSession { dialect, ..NewSession::new() };
        let prompt = header.get(SYSTEM_PROMPT).and_then(json::string);
        match prompt.filter(|prompt| !prompt.is_empty()) {
            Some(prompt) if new.has_place_for_system_prompt() => new.system_prompt(prompt),
            _ => new,
        }
    }

    /// Returns whether the header of the session can have a system prompt.
    fn has_place_for_system_prompt(&self) -> bool {
        self.start(Path::new(""), 0)
            .is_ok_and(|start| with_system_prompt(&start, b"\"\"").is_some())
    }

    /// Fails if an existing session does not have the id and the dialect that are set here.
    pub(crate) fn check_same(&self, id: &SessionId, dialect: Dialect) -> Result<()> {
        if let Some(expected) = self.id.as_ref().filter(|expected| *expected != id) {
            let (id, expected) = (id.as_str(), expected.as_str());
            let why = format!("the session exists and its id is {id:?}, not {expected:?}");
            return Err(Error::InvalidOption(why));
        }
        if let Some(expected) = self.dialect.filter(|expected| *expected != dialect) {
            let why = format!("the session exists and is one of {dialect}, not of {expected}");
            return Err(Error::InvalidOption(why));
        }
        Ok(())
    }
}

/// The member of a header that holds a system prompt.
pub(crate) const SYSTEM_PROMPT: &str = "system_prompt";

/// Returns the first lines of a session with a system prompt, a JSON string, in the header; `None` if
/// the header has no such member.
pub(super) fn with_system_prompt(start: &[u8], prompt: &[u8]) -> Option<Vec<u8>> {
    let header = start.trim_ascii_end();
    json::get(header, SYSTEM_PROMPT)?;
    Some([&*json::with_member(header, SYSTEM_PROMPT, prompt), b"\n"].concat())
}

/// Options for creating a session in a file or a journal. All have defaults.
///
/// ```
/// use treering::session::{Creation, Durability};
/// use treering::{CreateOptions, SessionId};
/// let options = CreateOptions::new()
///     .id(SessionId::new("nightly-build")?)
///     .creation(Creation::AtOnce)
///     .durability(Durability::Each);
/// assert_eq!(options.creation, Creation::AtOnce);
/// # Ok::<(), treering::Error>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct CreateOptions {
    /// The fields of the session's header.
    pub session: NewSession,
    /// The rule for when the session's file is created.
    pub creation: Creation,
    /// The durability of appends.
    pub durability: Durability,
}

impl CreateOptions {
    /// Returns the defaults.
    pub fn new() -> Self {
        CreateOptions::default()
    }

    /// Sets all fields of the session's header, and replaces those that were set before.
    #[must_use]
    pub fn session(self, session: NewSession) -> Self {
        CreateOptions { session, ..self }
    }

    /// Sets the id.
    #[must_use]
    pub fn id(self, id: SessionId) -> Self {
        CreateOptions { session: self.session.id(id), ..self }
    }

    /// Sets the file of the session that the new one was forked from.
    #[must_use]
    pub fn parent_session(self, file: impl Into<PathBuf>) -> Self {
        CreateOptions { session: self.session.parent_session(file), ..self }
    }

    /// Sets the dialect.
    #[must_use]
    pub fn dialect(self, dialect: Dialect) -> Self {
        CreateOptions { session: self.session.dialect(dialect), ..self }
    }

    /// Sets the system prompt in the header, as [`NewSession::system_prompt`] does.
    #[must_use]
    pub fn system_prompt(self, prompt: impl Into<String>) -> Self {
        CreateOptions { session: self.session.system_prompt(prompt), ..self }
    }

    /// Leaves out the header, as [`NewSession::without_header`] does.
    #[must_use]
    pub fn without_header(self) -> Self {
        CreateOptions { session: self.session.without_header(), ..self }
    }

    /// Sets when the file is created.
    #[must_use]
    pub fn creation(self, creation: Creation) -> Self {
        CreateOptions { creation, ..self }
    }

    /// Sets the durability of appends.
    #[must_use]
    pub fn durability(self, durability: Durability) -> Self {
        CreateOptions { durability, ..self }
    }

    /// Returns the options that apply to an existing session.
    pub(crate) fn to_open(&self) -> OpenOptions {
        OpenOptions { durability: self.durability, creation: self.creation }
    }
}

/// Options for opening a session. All have defaults.
///
/// ```
/// use treering::session::Durability;
/// use treering::{CreateOptions, Message, OpenOptions, Session};
/// # let dir = tempfile::tempdir()?;
/// let path = dir.path().join("s.jsonl");
/// Session::create_at(&path, "/project", CreateOptions::new())?.append(Message::user("hi"))?;
/// let session = Session::open_with(&path, OpenOptions::new().durability(Durability::Each))?;
/// session.append(Message::user("on disk when this returns"))?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct OpenOptions {
    /// The durability of appends.
    pub durability: Durability,
    /// The creation rule for sessions that are begun from this one.
    pub(crate) creation: Creation,
}

impl OpenOptions {
    /// Returns the defaults.
    pub fn new() -> Self {
        OpenOptions::default()
    }

    /// Sets the durability of appends.
    #[must_use]
    pub fn durability(self, durability: Durability) -> Self {
        OpenOptions { durability, ..self }
    }
}
