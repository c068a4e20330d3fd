//! Sends the content of the session to the screen: path, size, completions, earlier messages.
//!
//! A thread polls the leaf several times a second and the file less often. Polling is cheap while
//! nothing changes.

use super::setup::Models;
use super::targets::BranchNumbers;
use crate::Notice;
use crate::chat::{ChatEvent, CompletionSources, Status, is_shown};
use crate::runtime::background::background;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use treering::{EntryId, Role, Session};
use treering_agent::{AgentSession, AgentSettings, ChatModel};
use treering_display::number::cost;
use treering_display::preview_line::{Calls, PreviewLine};
use treering_display::text::safe_line;

/// The poll interval of the leaf; the file is polled every n-th time.
const POLL_INTERVAL: Duration = Duration::from_millis(100);
const POLLS_PER_FILE_CHECK: u64 = 5;
/// The number of earlier messages that ↑ reaches, and of entries offered for completion.
const HISTORY: usize = 200;
const OFFERED: usize = 20;

/// The content that the screen received last.
#[derive(Debug, Default)]
struct LastSent {
    session: String,
    leaf: Option<EntryId>,
    labels: HashMap<EntryId, String>,
    once: bool,
}

#[derive(Debug, Clone)]
pub(super) struct SessionWatcher {
    pub agent: Arc<AgentSession>,
    pub models: Models,
    pub numbers: BranchNumbers,
    events: Sender<ChatEvent>,
    sent: Arc<Mutex<LastSent>>,
    /// The number of the latest status; older ones are not sent.
    status: Arc<AtomicU64>,
}

impl SessionWatcher {
    pub(super) fn new(agent: Arc<AgentSession>, models: Models, events: Sender<ChatEvent>) -> Self {
        SessionWatcher {
            agent,
            models,
            numbers: BranchNumbers::default(),
            events,
            sent: Arc::default(),
            status: Arc::default(),
        }
    }

    /// Sends an event to the screen. A failure means that the screen is gone.
    pub(super) fn send(&self, event: ChatEvent) {
        let _ = self.events.send(event);
    }

    /// Sends the parts that have changed since the last call.
    pub(super) fn check(&self) {
        let mut sent = self.sent.lock().unwrap_or_else(PoisonError::into_inner);
        let session = self.agent.session();
        let (id, leaf) = (session.id().to_string(), session.leaf());
        let is_new = !sent.once || sent.session != id;
        if !is_new && sent.leaf == leaf {
            return;
        }
        let tree = session.tree();
        let path = leaf.as_ref().and_then(|leaf| tree.path(leaf.as_str()).ok());
        let mut entries = path.unwrap_or_default();
        entries.retain(|entry| tree.kind(entry.as_str()).is_ok_and(is_shown));
        let labels: HashMap<EntryId, String> =
            tree.labels().into_iter().map(|(id, label, _)| (id, label.to_owned())).collect();
        let changed = labels.iter().filter(|(id, label)| sent.labels.get(*id) != Some(*label));
        let cleared = sent.labels.keys().filter(|id| !labels.contains_key(*id));
        let changed: Vec<EntryId> = changed.map(|(id, _)| id).chain(cleared).cloned().collect();
        if is_new {
            self.send(ChatEvent::History(user_messages(&session, &entries)));
            self.numbers.forget();
        }
        self.send(ChatEvent::Completions(self.names(&session, &entries)));
        self.send(ChatEvent::Entries(entries, changed));
        *sent = LastSent { session: id, leaf, labels, once: true };
        drop(sent);
        self.send_status();
    }

    /// Computes the status in the background and sends it.
    pub(super) fn send_status(&self) {
        let number = self.status.fetch_add(1, Ordering::Relaxed) + 1;
        let watcher = self.clone();
        background(move || {
            let session = watcher.agent.session();
            let status = status(&session, watcher.models.current(), &watcher.agent.settings());
            if watcher.status.load(Ordering::Relaxed) == number {
                watcher.send(ChatEvent::Status(status));
            }
        });
    }

    /// Returns the values of arguments for completion.
    fn names(&self, session: &Session, entries: &[EntryId]) -> CompletionSources {
        let tree = session.tree();
        let mut places = self.numbers.names();
        for (id, label, _) in tree.labels().into_iter().rev().take(OFFERED) {
            let is_word = !label.is_empty() && !label.contains(char::is_whitespace);
            let place = if is_word { label.to_owned() } else { id.to_string() };
            places.push((place, format!("[{label}]")));
        }
        let is_user = |id: &&EntryId| matches!(tree.role(id.as_str()), Ok(Some(Role::User)));
        let mut reader = session.reader();
        for id in entries.iter().rev().filter(is_user).take(OFFERED) {
            if let Ok(entry) = reader.entry(id.as_str()) {
                let preview_line = PreviewLine::read(&entry, &mut Calls::default());
                places.push((id.to_string(), preview_line.text));
            }
        }
        let models = self.models.current().map(|model| full_name(&*model));
        CompletionSources { places, models: models.into_iter().collect() }
    }

    /// Polls until the returned sender is dropped.
    pub(super) fn follow(&self) -> Sender<()> {
        let (stop, stopped) = channel();
        let watcher = self.clone();
        background(move || {
            for count in 1.. {
                if stopped.recv_timeout(POLL_INTERVAL) != Err(RecvTimeoutError::Timeout) {
                    return;
                }
                if count % POLLS_PER_FILE_CHECK == 0 {
                    watcher.poll_file();
                }
                watcher.check();
            }
        });
        stop
    }

    /// Reads entries of other processes. If they continue from our leaf, the leaf follows;
    /// otherwise it stays.
    pub(super) fn poll_file(&self) {
        let session = self.agent.session();
        if !session.has_news() {
            return;
        }
        let new = match session.refresh() {
            Ok(new) => new,
            Err(error) => return self.send(ChatEvent::Notice(Notice::failure(error.to_string()))),
        };
        if new.is_empty() || self.agent.running().is_some() {
            return;
        }
        let (tree, leaf) = (session.tree(), session.leaf());
        let goes_on = match (&leaf, tree.file_leaf()) {
            (Some(leaf), Some(end)) => tree.is_ancestor(leaf.as_str(), end.as_str()),
            (None, Some(_)) => Ok(tree.len() == new.len()),
            (_, None) => Ok(false),
        };
        if goes_on.unwrap_or(false) {
            // A failure appears at the next poll.
            let _ = session.follow();
        }
    }
}

/// Returns `provider/model`.
pub(super) fn full_name(model: &dyn ChatModel) -> String {
    format!("{}/{}", model.provider(), model.model())
}

/// Returns the size of the context window, from the settings or from the model.
pub(super) fn window(model: Option<&dyn ChatModel>, settings: &AgentSettings) -> u64 {
    let own = model.and_then(|model| settings.context_windows.get(&full_name(model)).copied());
    own.or(model.map(|model| model.context_window())).unwrap_or(settings.context_window)
}

fn status(
    session: &Session,
    model: Option<Arc<dyn ChatModel>>,
    settings: &AgentSettings,
) -> Status {
    let usage = session.leaf().and_then(|leaf| session.branch_usage(leaf.as_str()).ok());
    let thinking = session.projection().map(|projection| projection.thinking_level.clone());
    Status {
        name: session.name().unwrap_or_else(|| session.id().to_string().chars().take(8).collect()),
        model: model.as_deref().map(full_name),
        thinking: thinking.unwrap_or_default(),
        tokens: session.context_tokens().ok().map(|size| size.tokens),
        window: window(model.as_deref(), settings),
        cost: usage.map(|usage| cost(&usage)).unwrap_or_default(),
        read_only: read_only(session),
    }
}

/// Returns the reason why a session is read-only, if it is.
pub(super) fn read_only(session: &Session) -> Option<String> {
    let dialect = session.dialect();
    let is_packed =
        session.path().is_some_and(|path| path.extension().is_some_and(|end| end == "zst"));
    match () {
        () if !dialect.is_writable() => Some(format!("{dialect} sessions are never changed")),
        () if is_packed => Some("this session is archived".to_owned()),
        () => None,
    }
}

/// Returns the user's messages on a path, oldest first.
fn user_messages(session: &Session, entries: &[EntryId]) -> Vec<String> {
    let tree = session.tree();
    let is_user = |id: &&EntryId| matches!(tree.role(id.as_str()), Ok(Some(Role::User)));
    let mut reader = session.reader();
    let texts = entries.iter().rev().filter(is_user).take(HISTORY).filter_map(|id| {
        let text = reader.entry(id.as_str()).ok()?.message()?.text();
        Some(text).filter(|text| !text.trim().is_empty() && text.len() <= 64 * 1024)
    });
    let mut texts: Vec<String> = texts.collect();
    texts.reverse();
    texts
}

/// Returns a short form of an id.
pub(super) fn short(id: &EntryId) -> String {
    let id = id.as_str();
    let is_long = id.chars().count() > 16;
    safe_line(&id.chars().take(if is_long { 8 } else { 64 }).collect::<String>())
}
