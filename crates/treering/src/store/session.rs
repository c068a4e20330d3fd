//! Creates, opens and forks sessions in stores.

use super::Store;
use crate::error::{Error, Result};
use crate::fork::ForkOptions;
use crate::id::SessionId;
use crate::log::{CreateJournal, Journal};
use crate::position::Position;
use crate::session::state::Target;
use crate::session::{CreateOptions, OpenOptions, Session};
use crate::time;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Sessions in stores.
impl Session {
    /// Creates a session in a store. It is stored with its first message, unless the options say
    /// otherwise.
    ///
    /// # Errors
    ///
    /// Storing the session fails with [`Error::SessionExists`] if the store has a session with this
    /// id. Fails with [`Error::InvalidOption`] for a session without a header, which has no id.
    pub fn create_in(
        store: &Arc<dyn Store>,
        cwd: impl AsRef<Path>,
        mut options: CreateOptions,
    ) -> Result<Session> {
        if options.session.is_headerless {
            let why = "a session in a store needs a header, which holds its id";
            return Err(Error::InvalidOption(why.to_owned()));
        }
        let id = options.session.id.clone().unwrap_or_else(SessionId::generate).checked()?;
        options.session.id = Some(id.clone());
        let (cwd, created) = (cwd.as_ref(), time::now());
        if let Some(path) = store.new_file(&id, cwd, created)? {
            return Session::create_with(&path, cwd, options, created);
        }
        let target = Target::Journal(InStore::new(store, &id));
        Session::create_pending(target, cwd, options, created)
    }

    /// Opens a session of a store.
    ///
    /// # Errors
    ///
    /// Fails with [`Error::UnknownSession`] if the store has no session with this id.
    pub fn open_in(
        store: &Arc<dyn Store>,
        id: &SessionId,
        options: OpenOptions,
    ) -> Result<Session> {
        if let Some(path) = store.file(id)? {
            return Session::open_with(path, options);
        }
        let (journal, name) = (store.open(id)?, InStore::new(store, id).name());
        Session::open_named_journal(journal, name.into(), options)
    }

    /// Creates a session in a store from the path to a position, as [`fork`](Session::fork) does in
    /// a directory.
    ///
    /// # Errors
    ///
    /// Fails with [`Error::InvalidOption`] if the options name a directory or a root, and as
    /// [`fork`](Session::fork) does.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use treering::store::{ListQuery, MemoryStore, Store};
    /// use treering::{ForkOptions, Message, Position, Session};
    /// let session = Session::in_memory("/project");
    /// session.append(Message::user("hello"))?;
    /// let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
    /// let fork = session.fork_into(&store, Position::Leaf, ForkOptions::default())?;
    /// assert_eq!(store.list(&ListQuery::new())?.sessions[0].id, fork.id());
    /// # Ok::<(), treering::Error>(())
    /// ```
    pub fn fork_into(
        &self,
        store: &Arc<dyn Store>,
        position: impl Into<Position>,
        mut options: ForkOptions,
    ) -> Result<Session> {
        if options.dir.is_some() || options.root.is_some() {
            let why = "the store decides where the fork is stored";
            return Err(Error::InvalidOption(why.to_owned()));
        }
        let id = options.id.clone().unwrap_or_else(SessionId::generate).checked()?;
        let cwd = options.cwd.clone().unwrap_or_else(|| PathBuf::from(self.cwd()));
        options.id = Some(id.clone());
        if let Some(path) = store.new_file(&id, &cwd, time::now())? {
            options.dir = path.parent().map(Path::to_owned);
            return self.fork(position, options);
        }
        self.fork_into_journal(&position.into(), options, InStore::new(store, &id))
    }
}

/// The target of a session in a store.
#[derive(Debug)]
struct InStore {
    store: Arc<dyn Store>,
    id: SessionId,
}

impl InStore {
    fn new(store: &Arc<dyn Store>, id: &SessionId) -> Arc<InStore> {
        Arc::new(InStore { store: Arc::clone(store), id: id.clone() })
    }
}

impl CreateJournal for InStore {
    fn create(&self, start: &mut dyn Read) -> Result<Arc<dyn Journal>> {
        self.store.create(&self.id, start)
    }

    fn name(&self) -> String {
        format!("{} of {}", self.id, self.store.location())
    }
}
