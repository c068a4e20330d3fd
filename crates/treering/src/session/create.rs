//! Creates and opens sessions: in files, in memory, in any journal.

use super::Session;
use super::options::{CreateOptions, Creation, Durability, NewSession, OpenOptions};
use super::state::{Backing, OpenedSession, State, Target, storage};
use crate::dialect::Dialect;
use crate::error::{Error, Result};
use crate::fs;
use crate::header::Header;
use crate::id::SessionId;
use crate::load::Loaded;
use crate::log::{Journal, MemoryJournal};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Opening and creating.
impl Session {
    /// Creates a session that exists only in memory.
    pub fn in_memory(cwd: impl AsRef<Path>) -> Session {
        let header = Header::new(&SessionId::generate(), cwd.as_ref(), None);
        let memory = Arc::new(MemoryJournal::new([header.raw(), b"\n"].concat()));
        let loaded = Loaded::of_header(header);
        let state = State::of(Backing::memory(), memory, loaded);
        Session::new(state, Creation::default(), Durability::None)
    }

    /// Creates a session in memory with the id, parent and dialect of `new`.
    ///
    /// # Errors
    ///
    /// Fails with [`Error::InvalidOption`] if `new` sets something that the dialect cannot store,
    /// and with [`Error::ReadOnlyDialect`] if treering cannot write sessions of the dialect.
    pub fn in_memory_with(cwd: impl AsRef<Path>, new: NewSession) -> Result<Session> {
        let memory = Arc::new(MemoryJournal::new(new.start(cwd.as_ref(), crate::time::now())?));
        let loaded = Loaded::read(&*memory).map_err(|error| error.at(None))?;
        let loaded = loaded.of_dialect(new.dialect.unwrap_or_default());
        let state = State::of(Backing::memory(), memory, loaded);
        Ok(Session::new(state, Creation::default(), Durability::None))
    }

    /// Opens the session in a journal, or begins one in a journal that is empty.
    ///
    /// The header of a new session is written at once with [`Creation::AtOnce`] and in dialects
    /// other than pi's; otherwise it is written with the first entry. If the journal has a session,
    /// the project, the parent, the system prompt, the choice of a header and the creation rule are
    /// not used.
    ///
    /// # Errors
    ///
    /// Fails with [`Error::InvalidOption`] if the journal has a session with another id or dialect
    /// than the options.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use treering::storage::MemoryJournal;
    /// use treering::{CreateOptions, Message, Session};
    /// let journal = Arc::new(MemoryJournal::default());
    /// let session = Session::in_journal(journal.clone(), "/project", CreateOptions::new())?;
    /// session.append(Message::user("hello"))?;
    /// let again = Session::in_journal(journal, "/project", CreateOptions::new())?;
    /// assert_eq!(again.id(), session.id());
    /// # Ok::<(), treering::Error>(())
    /// ```
    pub fn in_journal(
        journal: Arc<dyn Journal>,
        cwd: impl AsRef<Path>,
        options: CreateOptions,
    ) -> Result<Session> {
        Session::in_named_journal(journal, "(journal)".into(), cwd.as_ref(), options)
    }

    /// Opens or begins a session as [`in_journal`](Session::in_journal) does, with the name of the
    /// journal for messages.
    pub(crate) fn in_named_journal(
        journal: Arc<dyn Journal>,
        name: PathBuf,
        cwd: &Path,
        options: CreateOptions,
    ) -> Result<Session> {
        let loaded = Loaded::read(&*journal).map_err(|error| error.at(Some(&name)))?;
        let backing = Backing::Elsewhere { name: name.clone() };
        let state = continued(backing, journal, loaded, (&name, cwd), &options)?;
        Ok(Session::new(state, options.creation, options.durability))
    }

    /// Opens the session in a journal, with the name of the journal for messages.
    pub(crate) fn open_named_journal(
        journal: Arc<dyn Journal>,
        name: PathBuf,
        options: OpenOptions,
    ) -> Result<Session> {
        let loaded = Loaded::read(&*journal).map_err(|error| error.at(Some(&name)))?;
        if loaded.header.is_none() {
            let reason = "it is empty".to_owned();
            return Err(Error::NotASession { path: name, reason });
        }
        let header = Header::unknown();
        let state = State::with_header(Backing::Elsewhere { name }, journal, loaded, header)?;
        Ok(Session::new(state, options.creation, options.durability))
    }

    /// Creates a session that will be stored at `path`, which must not exist. `cwd` is the directory
    /// of the project, which is stored as it is given and should be absolute.
    ///
    /// # Errors
    ///
    /// Fails with [`Error::AlreadyExists`] if the file exists, and with [`Error::InvalidOption`] if
    /// the options set something that the dialect cannot store.
    pub fn create_at(
        path: impl AsRef<Path>,
        cwd: impl AsRef<Path>,
        options: CreateOptions,
    ) -> Result<Session> {
        Session::create_with(path.as_ref(), cwd.as_ref(), options, crate::time::now())
    }

    /// Creates a session as [`create_at`](Session::create_at) does, with the time of creation in
    /// Unix milliseconds.
    pub(crate) fn create_with(
        path: &Path,
        cwd: &Path,
        options: CreateOptions,
        created: i64,
    ) -> Result<Session> {
        if fs::exists(path) {
            return Err(Error::AlreadyExists(path.to_owned()));
        }
        Session::create_pending(Target::File(path.to_owned()), cwd, options, created)
    }

    /// Creates a session that will be stored in `target`.
    pub(crate) fn create_pending(
        target: Target,
        cwd: &Path,
        options: CreateOptions,
        created: i64,
    ) -> Result<Session> {
        let CreateOptions { session, creation, durability } = options;
        let memory = Arc::new(MemoryJournal::new(session.start(cwd, created)?));
        let loaded = Loaded::read(&*memory).map_err(|error| error.at(target.file()))?;
        let loaded = loaded.of_dialect(session.dialect.unwrap_or_default());
        let journal = Arc::clone(&memory) as Arc<dyn Journal>;
        let backing = Backing::Pending { target, creation, memory };
        let mut state = State::of(backing, journal, loaded);
        if creation == Creation::AtOnce {
            state.create_file(b"")?;
        }
        Ok(Session::new(state, creation, durability))
    }

    /// Opens an existing session file. Opening only reads the file; an upgrade or a repair of its
    /// end waits for the first append.
    ///
    /// # Errors
    ///
    /// Fails with [`Error::NotASession`] if the file has content but is not a session, and if it
    /// cannot be read.
    pub fn open(path: impl AsRef<Path>) -> Result<Session> {
        Session::open_with(path, OpenOptions::default())
    }

    /// Opens a session file as [`open`](Session::open) does, with options. An empty file becomes a
    /// session whose header is written with the first entry.
    ///
    /// # Errors
    ///
    /// As [`open`](Session::open).
    pub fn open_with(path: impl AsRef<Path>, options: OpenOptions) -> Result<Session> {
        let path = path.as_ref();
        let OpenedSession { file, journal, joined, loaded } = OpenedSession::at(path)?;
        let cwd = path.parent().unwrap_or(Path::new(""));
        let header = Header::new(&SessionId::generate(), cwd, None);
        let backing = Backing::File { path: path.to_owned(), file };
        let mut state = State::with_header(backing, journal, loaded, header)?;
        state.joined = joined;
        Ok(Session::new(state, options.creation, options.durability))
    }

    /// Opens a session file, or begins a session with the options in a file that is empty.
    fn open_or_begin(path: &Path, cwd: &Path, options: &CreateOptions) -> Result<Session> {
        let OpenedSession { file, journal, joined, loaded } = OpenedSession::at(path)?;
        let backing = Backing::File { path: path.to_owned(), file };
        let mut state = continued(backing, journal, loaded, (path, cwd), options)?;
        state.joined = joined;
        Ok(Session::new(state, options.creation, options.durability))
    }

    /// Opens the session at `path`, or creates it if there is no file. In an empty file, a session is
    /// begun as [`in_journal`](Session::in_journal) begins one.
    ///
    /// The option [`durability`](CreateOptions::durability) applies in both cases. If the session
    /// exists, it must have the id and the dialect of the options, where they are set; the parent,
    /// the system prompt, the choice of a header and the creation rule apply only to a new session.
    ///
    /// # Errors
    ///
    /// Fails with [`Error::InvalidOption`] if the file has a session with another id or dialect
    /// than the options.
    ///
    /// ```
    /// use treering::{CreateOptions, Message, Session};
    /// # let dir = tempfile::tempdir()?;
    /// let path = dir.path().join("chat.jsonl");
    /// for expected in [0, 1] {
    ///     let session = Session::open_or_create(&path, "/project", CreateOptions::new())?;
    ///     assert_eq!(session.context()?.messages.len(), expected);
    ///     session.append(Message::user("hello"))?;
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn open_or_create(
        path: impl AsRef<Path>,
        cwd: impl AsRef<Path>,
        options: CreateOptions,
    ) -> Result<Session> {
        let (path, cwd) = (path.as_ref(), cwd.as_ref());
        let is_missing = |error: &Error| matches!(error, Error::Io { source, .. } if source.kind() == io::ErrorKind::NotFound);
        match Session::open_or_begin(path, cwd, &options) {
            Err(error) if is_missing(&error) => {
                match Session::create_at(path, cwd, options.clone()) {
                    // Another process has created the file in the meantime.
                    Err(Error::AlreadyExists(_)) => Session::open_or_begin(path, cwd, &options),
                    created => created,
                }
            }
            opened => opened,
        }
    }

    /// Returns the options for creating another session like this one: its creation rule, its
    /// durability, the system prompt in its header, and its dialect, or pi's if treering cannot write
    /// its dialect.
    ///
    /// ```
    /// use treering::session::Durability;
    /// use treering::{CreateOptions, Session};
    /// # let dir = tempfile::tempdir()?;
    /// let options = CreateOptions::new().durability(Durability::Each);
    /// let first = Session::create_at(dir.path().join("1.jsonl"), "/project", options)?;
    /// assert_eq!(first.create_options().durability, Durability::Each);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn create_options(&self) -> CreateOptions {
        let session = NewSession::like(&self.header(), self.dialect());
        CreateOptions { session, creation: self.creation, durability: self.durability }
    }

    /// Returns the options for opening another session instead of this one: its durability, and the
    /// creation rule for sessions that are begun from it.
    pub fn open_options(&self) -> OpenOptions {
        OpenOptions { durability: self.durability, creation: self.creation }
    }
}

/// Returns the state of the session in a journal, which must be the one that the options describe,
/// or of a session that begins in an empty journal. `place` is the name of the journal and the
/// directory of the project.
fn continued(
    backing: Backing,
    journal: Arc<dyn Journal>,
    mut loaded: Loaded,
    (name, cwd): (&Path, &Path),
    options: &CreateOptions,
) -> Result<State> {
    let (new, created) = (&options.session, crate::time::now());
    let dialect = new.dialect.unwrap_or_default();
    if let Some(header) = &loaded.header {
        new.check_same(&header.id, loaded.dialect)?;
        return State::with_header(backing, journal, loaded, Header::unknown());
    }
    let start = new.start(cwd, created)?;
    if !new.is_headerless && (options.creation == Creation::AtOnce || dialect != Dialect::default())
    {
        journal.append(&loaded.end, &start).map_err(|error| storage(error, name))?;
        loaded = Loaded::read(&*journal).map_err(|error| error.at(Some(name)))?;
    }
    loaded = loaded.of_dialect(dialect);
    if let Backing::File { path, .. } = &backing {
        loaded = loaded.at(path);
    }
    if new.is_headerless {
        return Ok(State::of(backing, journal, loaded));
    }
    let id = new.id.clone().unwrap_or_else(SessionId::generate);
    let parent = new.parent_session.as_deref().map(Path::to_string_lossy);
    let header = Header::new(&id, cwd, parent.as_deref());
    State::with_header(backing, journal, loaded, header)
}
