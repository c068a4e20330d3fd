//! Replaces the session by another one: a new session, an existing one, or a fork.

use super::busy::{Guard, Operation};
use super::{AgentSession, find, read_blocking};
use crate::OwnFuture;
use crate::error::AgentError;
use crate::hooks::{
    BeforeFork, BeforeSwitch, Fork, ForkPosition, HookOutcome, Shutdown, StartReason, Switch,
    SwitchReason,
};
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError};
use tokio_util::sync::CancellationToken;
use treering::entry::Body;
use treering::store::Store;
use treering::{Catalog, CreateOptions, EntryId, ForkOptions, Role, Session, SessionId};

/// The outcome of replacing the session.
#[derive(Debug, Clone)]
pub enum Replaced {
    /// A handler canceled the change.
    Canceled {
        /// The name that the handler was registered with.
        hook: Arc<str>,
    },
    /// The user aborted the change.
    Aborted,
    /// The other session is now the active one.
    Done,
}

/// The outcome of a fork.
#[derive(Debug, Clone)]
pub enum Forked {
    /// A handler canceled the fork.
    Canceled {
        /// The name that the handler was registered with.
        hook: Arc<str>,
    },
    /// The user aborted the fork.
    Aborted,
    /// The fork is now the active session.
    Done {
        /// The file of the fork; `None` in memory.
        file: Option<PathBuf>,
        /// The text of the message before which the session was forked, for the editor.
        editor_text: Option<String>,
    },
}

impl AgentSession {
    /// Creates a new session for the same project, which becomes the active one.
    ///
    /// ```
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// use treering::{Message, Session};
    /// use treering_agent::{AgentSession, CancellationToken, Replaced};
    /// let agent = AgentSession::new(Session::in_memory("/project"));
    /// agent.session().append(Message::user("hello"))?;
    /// let replaced = agent.new_session(&CancellationToken::new()).await?;
    /// assert!(matches!(replaced, Replaced::Done));
    /// assert!(agent.session().tree().is_empty());
    /// # Ok::<(), treering_agent::AgentError>(())
    /// # }).unwrap();
    /// ```
    pub async fn new_session(&self, cancel: &CancellationToken) -> Result<Replaced, AgentError> {
        let guard = self.busy.begin(Operation::Switch, cancel)?;
        let before = BeforeSwitch { reason: SwitchReason::New, target: None };
        let place = self.place_of_new_sessions();
        let done = self.replace(&guard, before, Box::new(move |old| place.begin(old, None))).await;
        drop(guard);
        self.act().await;
        done
    }

    /// Opens a session file, which becomes the active session.
    pub async fn resume(
        &self,
        file: impl AsRef<Path>,
        cancel: &CancellationToken,
    ) -> Result<Replaced, AgentError> {
        let guard = self.busy.begin(Operation::Switch, cancel)?;
        let file = file.as_ref().to_owned();
        let before = BeforeSwitch { reason: SwitchReason::Resume, target: Some(file.clone()) };
        let open = move |old: &Session| Session::open_with(&file, old.open_options());
        let done = self.replace(&guard, before, Box::new(open)).await;
        drop(guard);
        self.act().await;
        done
    }

    /// Opens a session of the [store](AgentSession::with_store), which becomes the active session.
    ///
    /// # Errors
    ///
    /// Fails with [`UnknownSession`](treering::Error::UnknownSession) if the store has no session
    /// with this id, or there is no store.
    pub async fn resume_stored(
        &self,
        id: &SessionId,
        cancel: &CancellationToken,
    ) -> Result<Replaced, AgentError> {
        let guard = self.busy.begin(Operation::Switch, cancel)?;
        let before = BeforeSwitch { reason: SwitchReason::Resume, target: None };
        let (store, id) = (self.store.clone(), id.clone());
        let open = move |old: &Session| match store {
            Some(store) => Session::open_in(&store, &id, old.open_options()),
            None => Err(treering::Error::UnknownSession(id)),
        };
        let done = self.replace(&guard, before, Box::new(open)).await;
        drop(guard);
        self.act().await;
        done
    }

    /// Copies a branch to a new session, which becomes the active one. The branch ends
    /// [`Before`](ForkPosition::Before) a user message, whose text is returned, or
    /// [`At`](ForkPosition::At) any entry, which is included.
    ///
    /// ```
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// use treering::{Message, Session};
    /// use treering_agent::{AgentSession, CancellationToken, ForkPosition, Forked};
    /// let agent = AgentSession::new(Session::in_memory("/project"));
    /// let hello = agent.session().append(Message::user("hello"))?;
    /// let forked = agent.fork(&hello, ForkPosition::Before, &CancellationToken::new()).await?;
    /// assert!(matches!(forked, Forked::Done { .. }));
    /// # Ok::<(), treering_agent::AgentError>(())
    /// # }).unwrap();
    /// ```
    pub async fn fork(
        &self,
        entry: impl AsRef<str>,
        position: ForkPosition,
        cancel: &CancellationToken,
    ) -> Result<Forked, AgentError> {
        let done = self.fork_now(entry.as_ref(), position, cancel).await;
        self.act().await;
        done
    }

    fn fork_now<'a>(
        &'a self,
        entry: &'a str,
        position: ForkPosition,
        cancel: &'a CancellationToken,
    ) -> OwnFuture<'a, Result<Forked, AgentError>> {
        Box::pin(async move {
            let guard = self.busy.begin(Operation::Fork, cancel)?;
            let old = self.session();
            let entry = find(&old, entry)?;
            let (leaf, editor_text) = fork_leaf(&old, &entry, position)?;
            let in_place = old.path().is_none() && self.store.is_none();
            match self
                .hooks
                .session_before_fork(BeforeFork { entry, position, in_place }, &guard.cancel)
                .await
            {
                HookOutcome::Aborted => return Ok(Forked::Aborted),
                HookOutcome::Canceled { hook } => return Ok(Forked::Canceled { hook }),
                HookOutcome::Proceed(_) => {}
            }
            let place = self.place_of_new_sessions();
            let new = read_blocking(&old, move |old| match leaf {
                Some(leaf) => place.fork(old, &leaf),
                None => place.begin_as_fork(old),
            });
            let new = new.await?;
            let file = new.path();
            self.put_in_place(new, &guard).await;
            let event = Fork { previous: old.path(), session: self.session().id(), in_place };
            self.hooks.session_fork(event, Some(&guard.cancel)).await;
            self.started(StartReason::Fork, Some(&guard.cancel)).await;
            Ok(Forked::Done { file, editor_text })
        })
    }

    /// Copies the branch up to the leaf to a new session, which becomes the active one.
    pub async fn clone_session(&self, cancel: &CancellationToken) -> Result<Forked, AgentError> {
        match self.session().leaf() {
            Some(leaf) => self.fork(leaf, ForkPosition::At, cancel).await,
            None => {
                Err(treering::Error::UnknownEntry("the leaf of an empty session".into()).into())
            }
        }
    }

    /// Calls the handlers of `session_shutdown`. The session can still be read.
    pub async fn shutdown(&self) {
        self.shut_down(None).await;
    }

    async fn shut_down(&self, abort: Option<&CancellationToken>) {
        self.hooks.session_shutdown(Shutdown { session: self.session().id() }, abort).await;
    }

    fn replace<'a>(
        &'a self,
        guard: &'a Guard<'a>,
        before: BeforeSwitch,
        make: MakeSession,
    ) -> OwnFuture<'a, Result<Replaced, AgentError>> {
        Box::pin(async move {
            let reason = before.reason;
            match self.hooks.session_before_switch(before, &guard.cancel).await {
                HookOutcome::Aborted => return Ok(Replaced::Aborted),
                HookOutcome::Canceled { hook } => return Ok(Replaced::Canceled { hook }),
                HookOutcome::Proceed(_) => {}
            }
            let old = self.session();
            let new = tokio::select! {
                biased;
                () = guard.cancel.cancelled() => return Ok(Replaced::Aborted),
                new = read_blocking(&old, make) => new?,
            };
            self.put_in_place(new, guard).await;
            let event = Switch { reason, previous: old.path(), session: self.session().id() };
            self.hooks.session_switch(event, Some(&guard.cancel)).await;
            let started = match reason {
                SwitchReason::New => StartReason::New,
                SwitchReason::Resume => StartReason::Resume,
            };
            self.started(started, Some(&guard.cancel)).await;
            Ok(Replaced::Done)
        })
    }

    /// Replaces the session, after calling the handlers for its end. Nothing can fail after this
    /// point.
    async fn put_in_place(&self, new: Session, guard: &Guard<'_>) {
        self.shut_down(Some(&guard.cancel)).await;
        *self.session.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(new);
    }
}

/// Creates the session that replaces another one.
type MakeSession = Box<dyn FnOnce(&Session) -> Result<Session, treering::Error> + Send>;

/// The location of new sessions and forks.
struct NewSessionPlace {
    store: Option<Arc<dyn Store>>,
    root: Option<PathBuf>,
}

impl AgentSession {
    fn place_of_new_sessions(&self) -> NewSessionPlace {
        let (store, root) = (self.store.clone(), self.settings().sessions_root.clone());
        NewSessionPlace { store, root }
    }
}

impl NewSessionPlace {
    /// Creates a session for the project of `old`: in the store, if there is one; in memory if
    /// `old` is in memory; in the same directory if treering can write its dialect, else below the
    /// root.
    fn begin(self, old: &Session, parent: Option<PathBuf>) -> Result<Session, treering::Error> {
        let mut options = old.create_options();
        options.session.parent_session = parent;
        if let Some(store) = &self.store {
            return Session::create_in(store, old.cwd(), options);
        }
        let Some(beside) = old.path().and_then(|path| path.parent().map(Path::to_owned)) else {
            return Session::in_memory_with(old.cwd(), options.session);
        };
        let (from, to) = (old.dialect(), options.session.dialect.unwrap_or_default());
        let dir = match self.root {
            _ if from == to => beside,
            Some(root) => Catalog::new(root).dir_for(old.cwd()),
            None => return Err(treering::Error::NoForkDirectory { from, to }),
        };
        Catalog::flat(dir).create(old.cwd(), options)
    }

    /// Creates a fork without entries, which names the session that it was forked from as other
    /// forks do.
    fn begin_as_fork(self, old: &Session) -> Result<Session, treering::Error> {
        let id = self.store.is_some().then(|| PathBuf::from(old.id().as_str()));
        self.begin(old, old.path().or(id))
    }

    /// Copies the path to an entry of `old` to a new session.
    fn fork(self, old: &Session, leaf: &EntryId) -> Result<Session, treering::Error> {
        let CreateOptions { creation, durability, .. } = old.create_options();
        let mut options = ForkOptions::new().creation(creation).durability(durability);
        match &self.store {
            Some(store) => old.fork_into(store, leaf, options),
            None => {
                options.root = self.root;
                old.fork(leaf, options)
            }
        }
    }
}

/// Returns the last entry that a fork keeps, if any, and the text for the editor.
fn fork_leaf(
    session: &Session,
    entry: &EntryId,
    position: ForkPosition,
) -> Result<(Option<EntryId>, Option<String>), AgentError> {
    if position == ForkPosition::At {
        return Ok((Some(entry.clone()), None));
    }
    let read = session.entry(entry.as_str())?;
    match read.body() {
        Body::Message(message) if message.role() == Role::User => {
            Ok((read.parent().cloned(), Some(message.text())))
        }
        _ => Err(AgentError::NotAUserMessage(entry.clone())),
    }
}
