//! The session argument of a command: a file, or a session of a store.

use crate::error::Failure;
use crate::progress;
use crate::text::{safe_line, shell_word};
use clap::builder::{MapValueParser, PathBufValueParser, TypedValueParser, ValueParserFactory};
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use treering::context::Projection;
use treering::store::Store;
use treering::{OpenOptions, Session, SessionId};
use treering_agent::AgentSession;
use treering_redact::Redactor;

/// A session that a command is about, as it was typed until it is located.
///
/// It derefs to the path of its file, or to its id in the store, for messages.
#[derive(Debug, Clone)]
pub(crate) struct SessionArg {
    path: PathBuf,
    stored: Option<StoreSession>,
}

/// A session of a store.
#[derive(Debug, Clone)]
struct StoreSession {
    store: Arc<dyn Store>,
    id: SessionId,
}

impl SessionArg {
    /// Returns the argument as it was typed.
    pub(crate) fn typed(&mut self) -> &mut PathBuf {
        &mut self.path
    }

    /// Sets the session of a store that the argument names.
    pub(crate) fn set_stored(&mut self, store: Arc<dyn Store>, id: SessionId) {
        self.path = PathBuf::from(id.as_str());
        self.stored = Some(StoreSession { store, id });
    }

    /// Returns the store and the id, if it is a session of a store.
    pub(crate) fn store(&self) -> Option<(&Arc<dyn Store>, &SessionId)> {
        self.stored.as_ref().map(|stored| (&stored.store, &stored.id))
    }

    /// Opens the session.
    pub(crate) fn open(&self) -> Result<Session, treering::Error> {
        self.open_with(OpenOptions::new())
    }

    /// Opens the session with options.
    pub(crate) fn open_with(&self, options: OpenOptions) -> Result<Session, treering::Error> {
        let name = self.path.file_name().unwrap_or(self.path.as_os_str());
        progress::set_activity(&format!("reading {}", safe_line(&name.to_string_lossy())));
        match &self.stored {
            Some(StoreSession { store, id }) => Session::open_in(store, id, options),
            None => Session::open_with(&self.path, options),
        }
    }

    /// Opens the session, without its secrets if there is a redactor.
    pub(crate) fn open_redacted(&self, redactor: Option<&Redactor>) -> Result<Session, Failure> {
        match redactor {
            Some(redactor) => Ok(redactor.session(&self.open()?)?),
            None => Ok(self.open()?),
        }
    }

    /// Sets the store for new sessions and forks of an agent to that of the session.
    pub(crate) fn agent(&self, agent: AgentSession) -> AgentSession {
        match &self.stored {
            Some(StoreSession { store, .. }) => agent.with_store(Arc::clone(store)),
            None => agent,
        }
    }

    /// Returns the context at the active leaf, from the end of the log.
    pub(crate) fn active_projection(&self) -> Result<Projection, Failure> {
        Ok(match &self.stored {
            Some(StoreSession { store, id }) => match store.file(id)? {
                Some(file) => treering::active_projection(file)?,
                None => treering::active_projection_of(store.open(id)?)?,
            },
            None => treering::active_projection(&self.path)?,
        })
    }

    /// Returns the file.
    ///
    /// # Errors
    ///
    /// Fails for a session of a store, and names the command that copies it to a file.
    pub(crate) fn file(&self) -> Result<&Path, Failure> {
        match &self.stored {
            None => Ok(&self.path),
            Some(StoreSession { store, id }) => Err(needs_file(&store.location(), id.as_str())),
        }
    }
}

/// Returns the failure of a command that works only on files but was given a session of a store.
pub(crate) fn needs_file(location: &str, id: &str) -> Failure {
    let what = format!("this command works on files, and {id} is in the store {location}");
    let (id, location) = (shell_word(Path::new(id)), shell_word(Path::new(location)));
    let hint = format!("`treering pull {id} --store {location}` copies it to a file");
    Failure::with_hint(what, hint)
}

impl Deref for SessionArg {
    type Target = Path;

    fn deref(&self) -> &Path {
        &self.path
    }
}

impl From<PathBuf> for SessionArg {
    fn from(path: PathBuf) -> Self {
        SessionArg { path, stored: None }
    }
}

impl ValueParserFactory for SessionArg {
    type Parser = MapValueParser<PathBufValueParser, fn(PathBuf) -> SessionArg>;

    fn value_parser() -> Self::Parser {
        PathBufValueParser::new().map(SessionArg::from)
    }
}
