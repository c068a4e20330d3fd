//! [`AgentSession`]: a session as an agent uses it.
//!
//! It owns the active session, the settings, the summarizer and the handlers, and lets one
//! operation run at a time (`busy`). `navigate` moves the leaf, `compact` compacts, `lifecycle`
//! replaces the session by another, `merge` merges branches, and `ask` requests summaries for all
//! of them. `turn` runs a turn with a model and its tools, `shell` runs a command of the user.
//! `late_entry` writes entries of operations during which the leaf may have moved.
//!
//! Every operation has the same steps: read (on a separate thread, because files can be large), ask
//! the handlers, ask the summarizer, and then write everything in one append. Until that append
//! nothing has changed, so an operation can be canceled, or its future dropped, at any time.

mod actions;
mod ask;
mod busy;
mod compact;
mod late_entry;
mod lifecycle;
mod merge;
mod navigate;
mod shell;
mod turn;

pub use actions::SessionActions;
pub use busy::{Operation, Turn};
pub use compact::{CompactOptions, Compacted, Compaction};
pub use lifecycle::{Forked, Replaced};
pub use merge::{MergeOptions, MergeOutcome, MergedBranch};
pub use navigate::{Moved, NavigateOptions, Navigation};
pub use shell::{OnOutput, ShellContext, ShellRun};
pub use turn::{TurnEnd, TurnReport, TurnSettings};

use crate::OwnFuture;
use crate::error::AgentError;
use crate::hooks::{Event, HookRunner, Hooks, InfoChanged, Start, StartReason, StreamDelta};
use crate::summarizer::{ModelError, Summarizer};
use crate::tool::AgentTool;
use busy::{Guard, OperationLock};
use late_entry::LateEntryKind;
use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, PoisonError, RwLock};
use tokio::sync::broadcast;
use tokio_util::sync::CancellationToken;
use treering::compaction::CompactionSettings;
use treering::context::Model;
use treering::store::Store;
use treering::{Context, EntryId, NewEntry, Session};

/// Settings of an agent's sessions.
///
/// ```
/// use treering::compaction::CompactionSettings;
/// use treering_agent::{AgentSettings, TurnSettings};
/// let settings = AgentSettings::new()
///     .context_window(100_000)
///     .compaction(CompactionSettings::new().reserve_tokens(8_000))
///     .turn(TurnSettings::new().system_prompt("You are terse.").retries(2));
/// assert_eq!(settings.window_of(None), 100_000);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct AgentSettings {
    /// The settings of compactions: the threshold, and how much they keep.
    pub compaction: CompactionSettings,
    /// The part of the summarizer's window that a branch summary must leave free, in tokens.
    pub branch_reserve_tokens: u64,
    /// The window of models that [`context_windows`](AgentSettings::context_windows) does not name, in
    /// tokens. A turn uses the [window of its model](crate::ChatModel::context_window) instead.
    pub context_window: u64,
    /// The windows of particular models, by `provider/model`, in tokens. They count for turns as well.
    pub context_windows: BTreeMap<String, u64>,
    /// The root directory of the agent's own sessions, with a directory for each project. Forks of
    /// sessions that treering cannot write are stored there; without it, they fail.
    pub sessions_root: Option<PathBuf>,
    /// The settings of turns with a model.
    pub turn: TurnSettings,
}

impl AgentSettings {
    /// Returns the defaults.
    pub fn new() -> Self {
        AgentSettings::default()
    }

    /// Sets the settings of compactions.
    #[must_use]
    pub fn compaction(self, compaction: CompactionSettings) -> Self {
        AgentSettings { compaction, ..self }
    }

    /// Sets the part of the summarizer's window that a branch summary must leave free, in tokens.
    #[must_use]
    pub fn branch_reserve_tokens(self, branch_reserve_tokens: u64) -> Self {
        AgentSettings { branch_reserve_tokens, ..self }
    }

    /// Sets the window of models that are not named, in tokens. A turn uses the window of its model.
    #[must_use]
    pub fn context_window(self, context_window: u64) -> Self {
        AgentSettings { context_window, ..self }
    }

    /// Sets the window of one model, named `provider/model`, in tokens.
    #[must_use]
    pub fn context_window_of(mut self, name: impl Into<String>, window: u64) -> Self {
        self.context_windows.insert(name.into(), window);
        self
    }

    /// Sets the root directory of the agent's own sessions.
    #[must_use]
    pub fn sessions_root(self, sessions_root: impl Into<PathBuf>) -> Self {
        AgentSettings { sessions_root: Some(sessions_root.into()), ..self }
    }

    /// Sets the settings of turns with a model.
    #[must_use]
    pub fn turn(self, turn: TurnSettings) -> Self {
        AgentSettings { turn, ..self }
    }
}

impl Default for AgentSettings {
    fn default() -> Self {
        AgentSettings {
            compaction: CompactionSettings::default(),
            branch_reserve_tokens: 16_384,
            context_window: 200_000,
            context_windows: BTreeMap::new(),
            sessions_root: None,
            turn: TurnSettings::default(),
        }
    }
}

impl AgentSettings {
    /// Returns the window of a model, in tokens.
    pub fn window_of(&self, model: Option<&Model>) -> u64 {
        let own = model.and_then(Model::full_name).and_then(|name| self.context_windows.get(&name));
        own.copied().unwrap_or(self.context_window)
    }
}

/// A session as an agent uses it: turns with tools, navigation, compaction, merges and forks, with
/// handlers of extensions.
///
/// ```
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
/// use std::sync::Arc;
/// use treering::{Message, Session};
/// use treering_agent::{AgentSession, Extractive, NavigateOptions, Navigation};
/// let session = Session::in_memory("/project");
/// let agent = AgentSession::new(session).with_summarizer(Arc::new(Extractive::default()));
/// agent.session().append(Message::user("Name a color."))?;
/// let answer = agent.session().append(Message::assistant("acme", "m", "Red."))?;
/// let other = agent.session().append(Message::user("Another one!"))?;
///
/// // Going to a message of the user puts its text back into the editor.
/// let Navigation::Moved(moved) = agent.navigate(&other, Default::default()).await? else {
///     # return Ok(());
///     unreachable!()
/// };
/// assert_eq!(moved.editor_text.as_deref(), Some("Another one!"));
/// assert_eq!(agent.session().leaf(), Some(answer));
/// # Ok::<(), treering_agent::AgentError>(())
/// # }).unwrap();
/// ```
#[derive(Debug)]
pub struct AgentSession {
    session: RwLock<Arc<Session>>,
    /// The store of new sessions and forks; `None` if they are files.
    store: Option<Arc<dyn Store>>,
    settings: RwLock<Arc<AgentSettings>>,
    summarizer: RwLock<Option<Arc<dyn Summarizer>>>,
    tools: RwLock<Tools>,
    hooks: HookRunner,
    actions: SessionActions,
    busy: OperationLock,
}

/// The tools that a model may call.
#[derive(Default)]
struct Tools(Vec<Arc<dyn AgentTool>>);

impl fmt::Debug for Tools {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.0.iter().map(|tool| tool.name())).finish()
    }
}

/// Setup.
impl AgentSession {
    /// Creates a session with default settings, no summarizer and no handlers.
    pub fn new(session: Session) -> Self {
        AgentSession {
            session: RwLock::new(Arc::new(session)),
            store: None,
            settings: RwLock::default(),
            summarizer: RwLock::default(),
            tools: RwLock::default(),
            hooks: HookRunner::default(),
            actions: SessionActions::default(),
            busy: OperationLock::default(),
        }
    }

    /// Sets the store for new sessions and forks, which is usually the store of the session itself.
    ///
    /// ```
    /// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
    /// use std::sync::Arc;
    /// use treering::store::{ListQuery, MemoryStore, Store};
    /// use treering::{CreateOptions, Message, Session};
    /// use treering_agent::{AgentSession, CancellationToken};
    /// let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
    /// let session = Session::create_in(&store, "/project", CreateOptions::new())?;
    /// let agent = AgentSession::new(session).with_store(Arc::clone(&store));
    /// for _ in 0..2 {
    ///     agent.session().append(Message::user("hello"))?;
    ///     agent.new_session(&CancellationToken::new()).await?;
    /// }
    /// assert_eq!(store.list(&ListQuery::new())?.sessions.len(), 2);
    /// # Ok::<(), treering_agent::AgentError>(())
    /// # }).unwrap();
    /// ```
    #[must_use]
    pub fn with_store(self, store: Arc<dyn Store>) -> Self {
        AgentSession { store: Some(store), ..self }
    }

    /// Returns the store of new sessions and forks, if they are not files.
    pub fn store(&self) -> Option<&Arc<dyn Store>> {
        self.store.as_ref()
    }

    /// Sets the settings.
    pub fn with_settings(self, settings: AgentSettings) -> Self {
        self.set_settings(settings);
        self
    }

    /// Sets the summarizer.
    pub fn with_summarizer(self, summarizer: Arc<dyn Summarizer>) -> Self {
        self.set_summarizer(Some(summarizer));
        self
    }

    /// Adds handlers, as [`add_hooks`](AgentSession::add_hooks) does.
    pub fn with_hooks(self, name: impl Into<Arc<str>>, hooks: Arc<dyn Hooks>) -> Self {
        self.add_hooks(name, hooks);
        self
    }

    /// Adds handlers, which are called after those added before. `name` identifies them in reports.
    ///
    /// Handlers can be added at any time. They stay when another session replaces this one.
    pub fn add_hooks(&self, name: impl Into<Arc<str>>, hooks: Arc<dyn Hooks>) {
        self.hooks.register(name, hooks);
    }

    /// Adds a tool, as [`add_tool`](AgentSession::add_tool) does.
    pub fn with_tool(self, tool: impl AgentTool + 'static) -> Self {
        self.add_tool(Arc::new(tool));
        self
    }

    /// Adds a tool that models may call from the next turn on. A tool of the same name is replaced.
    ///
    /// Tools stay when another session replaces this one.
    pub fn add_tool(&self, tool: Arc<dyn AgentTool>) {
        let mut tools = self.tools.write().unwrap_or_else(PoisonError::into_inner);
        tools.0.retain(|other| other.name() != tool.name());
        tools.0.push(tool);
    }

    /// Removes a tool. Returns whether it existed.
    pub fn remove_tool(&self, name: &str) -> bool {
        let mut tools = self.tools.write().unwrap_or_else(PoisonError::into_inner);
        let before = tools.0.len();
        tools.0.retain(|tool| tool.name() != name);
        tools.0.len() < before
    }

    /// Returns the tools that models may call.
    pub fn tools(&self) -> Vec<Arc<dyn AgentTool>> {
        self.tools.read().unwrap_or_else(PoisonError::into_inner).0.clone()
    }

    /// Replaces the settings.
    pub fn set_settings(&self, settings: AgentSettings) {
        *self.settings.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(settings);
    }

    /// Replaces the summarizer; `None` removes it.
    pub fn set_summarizer(&self, summarizer: Option<Arc<dyn Summarizer>>) {
        *self.summarizer.write().unwrap_or_else(PoisonError::into_inner) = summarizer;
    }

    /// Returns a receiver of all events from now on.
    ///
    /// ```
    /// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
    /// use treering::Session;
    /// use treering_agent::{AgentSession, Event};
    /// let agent = AgentSession::new(Session::in_memory("/project"));
    /// let mut events = agent.subscribe();
    /// agent.set_name("Colors").await?;
    /// let Event::SessionInfoChanged(changed) = events.recv().await.unwrap() else { panic!() };
    /// assert_eq!(changed.name.as_deref(), Some("Colors"));
    /// # Ok::<(), treering_agent::AgentError>(())
    /// # }).unwrap();
    /// ```
    pub fn subscribe(&self) -> broadcast::Receiver<Event> {
        self.hooks.subscribe()
    }

    /// Returns a receiver of the text that models stream from now on, in a separate channel, so
    /// that a slow reader of text misses no event.
    ///
    /// ```
    /// use treering::Session;
    /// use treering_agent::{AgentSession, StreamDelta};
    /// let agent = AgentSession::new(Session::in_memory("/project"));
    /// let mut deltas = agent.subscribe_deltas();
    /// // In a user interface: for each of them until the channel closes.
    /// if let Ok(StreamDelta::AnswerText(text)) = deltas.try_recv() {
    ///     print!("{text}");
    /// }
    /// ```
    pub fn subscribe_deltas(&self) -> broadcast::Receiver<StreamDelta> {
        self.hooks.subscribe_deltas()
    }

    /// Calls the handlers for the start of the agent with this session.
    pub async fn start(&self) {
        self.started(StartReason::Startup, None).await;
        self.act().await;
    }

    fn started<'a>(
        &'a self,
        reason: StartReason,
        abort: Option<&'a CancellationToken>,
    ) -> OwnFuture<'a, ()> {
        Box::pin(async move {
            let session = self.session();
            let (id, file) = (session.id(), session.path());
            self.hooks.session_start(Start { reason, session: id, file }, abort).await;
        })
    }
}

/// Access to the session.
impl AgentSession {
    /// Returns the active session, to read from it, and to append to it during a turn.
    pub fn session(&self) -> Arc<Session> {
        Arc::clone(&self.session.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Returns the settings.
    pub fn settings(&self) -> Arc<AgentSettings> {
        Arc::clone(&self.settings.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn summarizer(&self) -> Result<Arc<dyn Summarizer>, ModelError> {
        let summarizer = self.summarizer.read().unwrap_or_else(PoisonError::into_inner);
        summarizer.clone().ok_or(ModelError::NotConfigured)
    }

    /// Returns the context at the leaf.
    pub fn context(&self) -> Result<Context, AgentError> {
        Ok(self.session().context()?)
    }

    /// Returns the operation that is running, if any.
    pub fn running(&self) -> Option<Operation> {
        self.busy.running()
    }
}

/// Turns, names, labels.
impl AgentSession {
    /// Begins a turn of the model. Until it is dropped, operations that would change the leaf or
    /// the session fail.
    ///
    /// ```
    /// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
    /// use treering::Session;
    /// use treering_agent::{AgentError, AgentSession, NavigateOptions};
    /// let agent = AgentSession::new(Session::in_memory("/project"));
    /// let turn = agent.begin_turn()?;
    /// let refused = agent.navigate("1f3a9c0e", NavigateOptions::new()).await;
    /// assert!(matches!(refused, Err(AgentError::Busy { .. })));
    /// drop(turn);
    /// # Ok::<(), treering_agent::AgentError>(())
    /// # }).unwrap();
    /// ```
    pub fn begin_turn(&self) -> Result<Turn<'_>, AgentError> {
        Ok(Turn(self.busy.begin(Operation::Turn, &CancellationToken::new())?))
    }

    /// Aborts the operation that is running, and returns which one it was.
    pub fn abort(&self) -> Option<Operation> {
        self.busy.stop()
    }

    /// Sets the name of the session; an empty name removes it.
    ///
    /// The entry is written on the branch of this session's leaf. It does not change which branch of
    /// the file is active.
    pub async fn set_name(&self, name: &str) -> Result<(), AgentError> {
        let session = self.session();
        let entry = NewEntry::session_info(name);
        LateEntryKind::Reply.attach(&session, session.leaf().as_ref(), &entry)?;
        self.hooks.session_info_changed(InfoChanged { name: session.name() }, None).await;
        self.act().await;
        Ok(())
    }

    /// Labels an entry; `None` or an empty label removes the label.
    ///
    /// The entry is written on the branch of this session's leaf. It does not change which branch of
    /// the file is active.
    pub fn label(
        &self,
        entry: impl AsRef<str>,
        label: Option<&str>,
    ) -> Result<EntryId, AgentError> {
        let session = self.session();
        let entry = find(&session, entry.as_ref())?;
        let entry = NewEntry::label(&entry, label.filter(|label| !label.is_empty()));
        Ok(LateEntryKind::Reply.attach(&session, session.leaf().as_ref(), &entry)?.id)
    }

    /// Begins an operation that will write to the session. Fails at once if the session cannot be
    /// written, so that no request to a model is wasted.
    fn begin(
        &self,
        operation: Operation,
        cancel: &CancellationToken,
    ) -> Result<(Guard<'_>, Arc<Session>), AgentError> {
        let guard = self.busy.begin(operation, cancel)?;
        let session = self.session();
        session.check_writable()?;
        Ok((guard, session))
    }
}

/// Returns the id of an entry, even if another process has just written it.
fn find(session: &Session, id: &str) -> Result<EntryId, treering::Error> {
    match session.tree().find(id) {
        Err(treering::Error::UnknownEntry(_)) => {
            session.refresh()?;
            session.tree().find(id)
        }
        found => found,
    }
}

/// Reads a session on a thread that may block.
async fn read_blocking<T: Send + 'static>(
    session: &Arc<Session>,
    work: impl FnOnce(&Session) -> Result<T, treering::Error> + Send + 'static,
) -> Result<T, AgentError> {
    let session = Arc::clone(session);
    match tokio::task::spawn_blocking(move || work(&session)).await {
        Ok(done) => Ok(done?),
        Err(died) => Err(AgentError::Internal(died.to_string())),
    }
}
