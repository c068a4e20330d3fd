//! Reads server-sent events: the entries of a session as they are written.

use super::nodes::{Method, Nodes, Request};
use super::problem::Problem;
use super::wire;
use std::io::{BufRead, BufReader, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use treering::store::Mark;
use treering::{Error, SessionId};

/// The longest time without data from a server, which sends comments in between.
const READ_TIMEOUT: Duration = Duration::from_secs(60);

/// The maximum size of a line of an event.
const MAX_LINE: u64 = 256 * 1024 * 1024;

/// A change of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Event {
    /// The position after the event, from which reading can continue; `None` in the middle of a
    /// group.
    pub id: Option<String>,
    /// The kind of the event.
    pub kind: EventKind,
    /// The data as JSON: an entry, or the session and its length.
    pub data: String,
}

/// The kind of an [`Event`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum EventKind {
    /// An entry was written.
    Entry,
    /// An entry that moves the leaf was written.
    Leaf,
    /// A session was created or has grown.
    Changed,
    /// The session was removed.
    Removed,
}

/// An iterator over the events of a session, or of all sessions of a store, which waits for the
/// next event.
///
/// When a node fails, reading continues at another one after the last returned event: no event is
/// lost or repeated. After an error that [may be temporary](treering::Error::is_retryable), the
/// next call tries again.
#[derive(Debug)]
pub struct Events {
    nodes: Arc<Nodes>,
    path: String,
    /// The log whose length is the first position, if none is known.
    log: Option<String>,
    last: Option<String>,
    stream: Option<Stream>,
    is_over: bool,
    stop: StopHandle,
}

/// Ends [`Events`] from another thread, when the server next sends data.
#[derive(Debug, Clone, Default)]
pub struct StopHandle(Arc<AtomicBool>);

impl StopHandle {
    /// Ends the iterator.
    pub fn stop(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    fn is_stopped(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

impl Events {
    pub(super) fn of_session(nodes: &Arc<Nodes>, id: &SessionId, after: Option<&str>) -> Self {
        let path = format!("{}/events", wire::session_path(id));
        let log = format!("{}/log", wire::session_path(id));
        Events::new(nodes, path, Some(log), after)
    }

    pub(super) fn of_store(nodes: &Arc<Nodes>, after: Option<&Mark>) -> Self {
        Events::new(nodes, "/v1/events".to_owned(), None, after.map(Mark::as_str))
    }

    fn new(nodes: &Arc<Nodes>, path: String, log: Option<String>, after: Option<&str>) -> Self {
        let (nodes, last) = (Arc::clone(nodes), after.map(str::to_owned));
        let (stream, is_over, stop) = (None, false, StopHandle::default());
        Events { nodes, path, log, last, stream, is_over, stop }
    }

    /// Returns a handle that ends the iterator.
    pub fn stop_handle(&self) -> StopHandle {
        self.stop.clone()
    }

    /// Returns the id of the last event that had one, from which reading can continue.
    pub fn last_id(&self) -> Option<&str> {
        self.last.as_deref()
    }

    /// Returns the next event of the open stream; `None` if the stream ended.
    fn read(&mut self) -> Option<Event> {
        let stream = self.stream.as_mut()?;
        loop {
            if self.stop.is_stopped() {
                return None;
            }
            let (fields, is_comment) = stream.next_fields()?;
            if is_comment {
                continue;
            }
            let id = fields.id.clone();
            if let Some(event) = fields.event() {
                return Some(event);
            }
            // This is the start of the stream, from which it continues if it ends before its first
            // event.
            self.last = id.or(self.last.take());
        }
    }

    /// Opens the stream after the last event, retrying until the deadline.
    fn connect(&mut self) -> Result<(), Problem> {
        // "From now on" must be the same position after a reconnection.
        if self.last.is_none()
            && let Some(log) = &self.log
        {
            let answer = self.nodes.call(&Request::new(Method::Head, log.clone()))?;
            self.last = answer.length.map(|length| length.to_string());
        }
        let mut request = Request::new(Method::Get, self.path.clone());
        request.headers.push(("accept", "text/event-stream".to_owned()));
        if let Some(last) = &self.last {
            request.headers.push(("last-event-id", last.clone()));
        }
        let mut attempts = self.nodes.attempts(0);
        loop {
            match self.nodes.stream(&request, READ_TIMEOUT) {
                Ok(body) => {
                    self.stream = Some(Stream { lines: BufReader::new(Box::new(body)) });
                    return Ok(());
                }
                Err(problem) if self.stop.is_stopped() => return Err(problem),
                Err(problem) => attempts.wait(problem)?,
            }
        }
    }
}

/// A thread that reads events, and records whether there were any.
#[derive(Debug)]
pub(super) struct Follower {
    state: Arc<EventState>,
    stop: StopHandle,
}

#[derive(Debug, Default)]
struct EventState {
    has_news: AtomicBool,
    is_connected: AtomicBool,
}

impl Follower {
    /// Starts to follow. Until the thread is connected, and if it cannot be started, `has_news` is
    /// true.
    pub(super) fn start(events: Events) -> Self {
        let (state, stop) = (Arc::<EventState>::default(), events.stop_handle());
        let thread_state = Arc::clone(&state);
        let thread = std::thread::Builder::new().name("treering-events".to_owned());
        let _ = thread.spawn(move || events.follow(&thread_state));
        Follower { state, stop }
    }

    pub(super) fn has_news(&self) -> bool {
        let EventState { has_news, is_connected } = &*self.state;
        !is_connected.load(Ordering::SeqCst) || has_news.load(Ordering::SeqCst)
    }

    /// Marks the start of a read by the caller: later events are news.
    pub(super) fn clear_news(&self) {
        self.state.has_news.store(false, Ordering::SeqCst);
    }

    /// Marks that the read failed, so that the news stay.
    pub(super) fn keep_news(&self) {
        self.state.has_news.store(true, Ordering::SeqCst);
    }
}

impl Drop for Follower {
    fn drop(&mut self) {
        self.stop.stop();
    }
}

impl Events {
    /// Reads events until it is stopped, or until there can be no more.
    fn follow(mut self, state: &EventState) {
        while !self.stop.is_stopped() {
            if self.stream.is_none() {
                match self.connect() {
                    // Events before the connection were not received.
                    Ok(()) => {
                        state.has_news.store(true, Ordering::SeqCst);
                        state.is_connected.store(true, Ordering::SeqCst);
                    }
                    Err(problem) => {
                        if !problem.into_error().is_retryable() {
                            return;
                        }
                    }
                }
                continue;
            }
            match self.read() {
                Some(event) => {
                    state.has_news.store(true, Ordering::SeqCst);
                    self.last = event.id.or(self.last.take());
                    if event.kind == EventKind::Removed && self.log.is_some() {
                        break;
                    }
                }
                None => {
                    self.stream = None;
                    state.is_connected.store(false, Ordering::SeqCst);
                }
            }
        }
        state.is_connected.store(false, Ordering::SeqCst);
    }
}

impl Iterator for Events {
    type Item = Result<Event, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        while !self.is_over && !self.stop.is_stopped() {
            if let Some(event) = self.read() {
                if let Some(id) = &event.id {
                    self.last = Some(id.clone());
                }
                // A removed session has no further events.
                self.is_over = event.kind == EventKind::Removed && self.log.is_some();
                return Some(Ok(event));
            }
            self.stream = None;
            if self.stop.is_stopped() {
                break;
            }
            if let Err(problem) = self.connect() {
                let error = problem.into_error();
                self.is_over = !error.is_retryable();
                return Some(Err(error));
            }
        }
        None
    }
}

/// An open stream of events.
struct Stream {
    lines: BufReader<Box<dyn Read + Send + Sync>>,
}

impl std::fmt::Debug for Stream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Stream")
    }
}

/// The fields of an event.
#[derive(Debug, Default)]
struct EventFields {
    id: Option<String>,
    event: String,
    data: Vec<String>,
}

impl EventFields {
    fn is_empty(&self) -> bool {
        self.id.is_none() && self.event.is_empty() && self.data.is_empty()
    }

    /// Returns the event; `None` if this release does not know its kind.
    fn event(self) -> Option<Event> {
        let kind = match &*self.event {
            "entry" => EventKind::Entry,
            "leaf" => EventKind::Leaf,
            "changed" => EventKind::Changed,
            "removed" => EventKind::Removed,
            _ => return None,
        };
        Some(Event { id: self.id, kind, data: self.data.join("\n") })
    }
}

impl Stream {
    /// Reads the fields of the next event, or a comment; `None` if the stream ended. An incomplete
    /// event is ignored.
    fn next_fields(&mut self) -> Option<(EventFields, bool)> {
        let mut fields = EventFields::default();
        let mut line = String::new();
        loop {
            line.clear();
            let got = (&mut self.lines).take(MAX_LINE).read_line(&mut line).ok()?;
            if got == 0 || !line.ends_with('\n') {
                return None;
            }
            let text = line.trim_end_matches(['\n', '\r']);
            if text.is_empty() {
                if !fields.is_empty() {
                    return Some((fields, false));
                }
                continue;
            }
            let (name, value) = text.split_once(':').unwrap_or((text, ""));
            let value = value.strip_prefix(' ').unwrap_or(value);
            match name {
                // A comment shows that the server is alive.
                "" if fields.is_empty() => return Some((fields, true)),
                "id" => fields.id = Some(value.to_owned()),
                "event" => fields.event = value.to_owned(),
                "data" => fields.data.push(value.to_owned()),
                _ => {}
            }
        }
    }
}
