//! The feed of one session, and its followers.

use super::{MAX_POLL, SpaceFeed};
use crate::entry_json::entry_json;
use crate::node::{Follower, Node, Phase};
use crate::problem::{Code, Problem};
use bytes::{Bytes, BytesMut};
use futures_util::Stream;
use std::collections::VecDeque;
use std::convert::Infallible;
use std::pin::Pin;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::watch;
use treering::internal::records::TitleLine;
use treering::session::{LogPosition, LogReader, LoggedEntries};
use treering::storage::Journal;
use treering::{Error, Kind, SessionId};

/// The number of bytes of a log that are read at a time.
const WINDOW: u64 = 256 * 1024;

/// The number of bytes of events that are sent at a time.
const CHUNK: usize = 64 * 1024;

/// The feed of a session.
#[derive(Debug)]
pub(crate) struct Feed {
    id: SessionId,
    journal: Arc<dyn Journal>,
    reader: Mutex<LogReader>,
    ring: Mutex<Ring>,
    /// The title line, which is overwritten in place, as it was last read; empty if there is none.
    title: Mutex<Vec<u8>>,
    /// Notifies followers whenever the ring changes.
    news: watch::Sender<()>,
}

/// The latest events of a session.
#[derive(Debug, Default)]
struct Ring {
    events: VecDeque<EncodedEvent>,
    bytes: u64,
    /// The offset after which all events of later lines are in the ring; `None` until the first
    /// follower registers.
    start: Option<u64>,
    /// The end of the lines that were read.
    end: u64,
    /// The number of times that the title has changed in place.
    titles: u64,
    is_removed: bool,
}

/// An event in the form in which it is sent.
#[derive(Debug, Clone)]
struct EncodedEvent {
    position: LogPosition,
    text: Bytes,
}

/// The events after a position.
struct NewEvents {
    events: Vec<EncodedEvent>,
    /// The end of the lines that were read.
    end: u64,
    /// The length of the log when it was read.
    length: u64,
}

/// The next step of a follower.
enum FollowerStep {
    /// Send these events.
    Send(Vec<EncodedEvent>),
    /// Read the log, because the ring does not go back far enough.
    Read,
    /// Wait for the next change.
    Wait,
    /// Report that the session was removed, and end.
    Removed,
}

impl Feed {
    fn new(id: SessionId, journal: Arc<dyn Journal>) -> Self {
        let reader = Mutex::new(LogReader::new(Arc::clone(&journal)));
        let (ring, title) = (Mutex::default(), Mutex::default());
        Feed { id, journal, reader, ring, title, news: watch::Sender::new(()) }
    }

    pub(crate) fn id(&self) -> &SessionId {
        &self.id
    }

    fn ring(&self) -> MutexGuard<'_, Ring> {
        self.ring.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn title(&self) -> MutexGuard<'_, Vec<u8>> {
        self.title.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads the title line; empty if there is none.
    fn read_title(&self) -> Result<Vec<u8>, Error> {
        let mut bytes = vec![0; TitleLine::MAX_LEN];
        let mut filled = 0;
        while let Some(rest) = bytes.get_mut(filled..).filter(|rest| !rest.is_empty()) {
            match self.journal.read_at(filled as u64, rest).map_err(Error::Storage)? {
                0 => break,
                count => filled += count,
            }
        }
        bytes.truncate(filled);
        bytes.truncate(TitleLine::find(&bytes).map_or(0, |title| title.len));
        Ok(bytes)
    }

    /// Returns whether the title has changed in place.
    fn is_retitled(&self) -> Result<bool, Error> {
        // Requesting the length makes a remote journal discard its cached title.
        self.journal.len().map_err(Error::Storage)?;
        let now = self.read_title()?;
        let mut known = self.title();
        let is_changed = *known != now;
        *known = now;
        Ok(is_changed)
    }

    fn read_after(&self, position: LogPosition) -> Result<NewEvents, Error> {
        let mut reader = self.reader.lock().unwrap_or_else(PoisonError::into_inner);
        let LoggedEntries { entries, end, length, .. } = reader.after(position, WINDOW)?;
        let events = entries.iter().map(|logged| {
            let name = if logged.entry.kind() == Kind::Leaf { "leaf" } else { "entry" };
            let mut text = BytesMut::new();
            let head = format!("id: {}\nevent: {name}\ndata: ", logged.position);
            text.extend_from_slice(head.as_bytes());
            text.extend_from_slice(&entry_json(&logged.entry));
            text.extend_from_slice(b"\n\n");
            EncodedEvent { position: logged.position, text: text.freeze() }
        });
        Ok(NewEvents { events: events.collect(), end, length })
    }

    /// Prepares the ring for the first follower. Returns the length of the log.
    fn begin(&self) -> Result<u64, Error> {
        let length = self.journal.len().map_err(Error::Storage)?;
        if self.ring().start.is_some() {
            return Ok(length);
        }
        // An incomplete last line is read once it is complete.
        let NewEvents { events, end, .. } = self.read_after(length.into())?;
        *self.title() = self.read_title()?;
        let mut ring = self.ring();
        if ring.start.is_none() {
            ring.start = Some(if events.is_empty() { end } else { length });
            ring.end = end;
            ring.bytes = events.iter().map(|event| event.text.len() as u64).sum();
            ring.events.extend(events);
        }
        Ok(length)
    }

    /// Reads appended lines, once for all followers. Returns false if it has to be tried again.
    pub(super) async fn advance(
        self: &Arc<Self>,
        node: &Arc<Node>,
        length: Option<u64>,
        max_bytes: u64,
    ) -> bool {
        let Some(length) = length else {
            self.ring().is_removed = true;
            self.news.send_replace(());
            return true;
        };
        loop {
            let end = {
                let ring = self.ring();
                // A follower is about to register, and may have read the log before this change.
                if ring.start.is_none() {
                    return false;
                }
                if ring.end >= length {
                    break;
                }
                ring.end
            };
            node.metrics.feed_reads.fetch_add(1, Ordering::Relaxed);
            let feed = Arc::clone(self);
            match node.work.run(move || feed.read_after(end.into())).await {
                Ok(Ok(new)) if new.end > end => {
                    self.ring().push(new.events, new.end, max_bytes);
                    self.news.send_replace(());
                }
                // Either the last line is incomplete, and its end will be another change, or the
                // log is not yet that long where it was read.
                Ok(Ok(new)) => return new.length >= length,
                Ok(Err(_)) | Err(_) => return false,
            }
        }
        // A change without growth may be a change of the title.
        if self.title().is_empty() {
            return true;
        }
        let feed = Arc::clone(self);
        match node.work.run(move || feed.is_retitled()).await {
            Ok(Ok(is_retitled)) => {
                if is_retitled {
                    self.ring().titles += 1;
                    self.news.send_replace(());
                }
                true
            }
            Ok(Err(_)) | Err(_) => false,
        }
    }
}

impl Ring {
    fn push(&mut self, events: Vec<EncodedEvent>, end: u64, max_bytes: u64) {
        for event in events {
            self.bytes += event.text.len() as u64;
            self.events.push_back(event);
        }
        self.end = end;
        while self.bytes > max_bytes {
            // The events of a line are removed together.
            let Some(first) = self.events.front().map(|event| event.position.offset) else { break };
            while let Some(event) = self.events.front()
                && event.position.offset == first
            {
                self.bytes -= event.text.len() as u64;
                self.events.pop_front();
            }
            self.start = Some(first);
        }
    }

    fn next(&self, position: LogPosition) -> FollowerStep {
        if self.is_removed {
            return FollowerStep::Removed;
        }
        let start = self.start.unwrap_or(u64::MAX);
        let is_here =
            position.offset > start || (position.offset == start && position.number.is_none());
        if !is_here {
            return FollowerStep::Read;
        }
        let from = self.events.partition_point(|event| event.position <= position);
        let mut bytes = 0;
        let mut events = Vec::new();
        for event in self.events.range(from..) {
            if bytes > 0 && bytes + event.text.len() > CHUNK {
                break;
            }
            bytes += event.text.len();
            events.push(event.clone());
        }
        if events.is_empty() { FollowerStep::Wait } else { FollowerStep::Send(events) }
    }
}

/// A follower of a session: a position in its log.
pub(crate) struct SessionFollower {
    node: Arc<Node>,
    feed: Arc<Feed>,
    news: watch::Receiver<()>,
    position: LogPosition,
    /// The number of changes of the title that were sent.
    titles: u64,
    state: FollowerState,
    heartbeat: tokio::time::Interval,
    stopping: Pin<Box<dyn Future<Output = ()> + Send>>,
    _registration: Registration,
    _follower: Follower,
}

#[derive(Debug, PartialEq, Eq)]
enum FollowerState {
    New,
    Following,
    Done,
}

/// The registration of a follower of a feed, until it is dropped.
struct Registration {
    space: Arc<SpaceFeed>,
    id: SessionId,
}

impl Drop for Registration {
    fn drop(&mut self) {
        let mut sessions = self.space.sessions();
        if let Some((_, followers)) = sessions.get_mut(&self.id) {
            *followers -= 1;
            if *followers == 0 {
                sessions.remove(&self.id);
            }
        }
    }
}

impl SpaceFeed {
    /// Follows a session from a position on, or from the end of its log.
    pub(crate) async fn follow(
        self: &Arc<Self>,
        node: &Arc<Node>,
        id: SessionId,
        position: Option<LogPosition>,
    ) -> Result<SessionFollower, Problem> {
        let follower = node.follower()?;
        let known = self.sessions().get(&id).map(|(feed, _)| Arc::clone(feed));
        let feed = match known.filter(|feed| !feed.ring().is_removed) {
            Some(feed) => feed,
            None => {
                let (store, session) = (Arc::clone(&self.store), id.clone());
                let journal = node.work.run(move || store.open(&session)).await??;
                Arc::new(Feed::new(id.clone(), journal))
            }
        };
        let (feed, registration) = self.register(id, feed);
        self.ensure_polled(node).await?;
        let beginning = Arc::clone(&feed);
        let length = node.work.run(move || beginning.begin()).await??;
        // Before this follower registered, the last other one may have gone, and polling may have
        // ended with it.
        self.catch_up(feed.id().clone(), length);
        let position = position.unwrap_or_else(|| length.into());
        if position.offset > length {
            let detail = format!("the log is {length} bytes long and has no event {position}");
            return Err(Problem::new(Code::Moved, detail).with("length", length));
        }
        let period = node.limits.heartbeat;
        let start = tokio::time::Instant::now() + period;
        let titles = feed.ring().titles;
        Ok(SessionFollower {
            news: feed.news.subscribe(),
            feed,
            position,
            titles,
            state: FollowerState::New,
            heartbeat: tokio::time::interval_at(start, period),
            stopping: Box::pin(node.reached(Phase::Stopping)),
            node: Arc::clone(node),
            _registration: registration,
            _follower: follower,
        })
    }

    /// Adds a follower. If the session already has a feed with followers, that one is used.
    fn register(self: &Arc<Self>, id: SessionId, feed: Arc<Feed>) -> (Arc<Feed>, Registration) {
        let mut sessions = self.sessions();
        let (known, followers) = sessions.entry(id.clone()).or_insert_with(|| (feed.clone(), 0));
        if known.ring().is_removed {
            *known = feed;
        }
        *followers += 1;
        (Arc::clone(known), Registration { space: Arc::clone(self), id })
    }
}

impl SessionFollower {
    /// Returns the events as a stream of text, which ends when the session is removed or the server
    /// ends.
    pub(crate) fn into_stream(self) -> impl Stream<Item = Result<Bytes, Infallible>> + Send {
        futures_util::stream::unfold(self, |mut follower| async move {
            let bytes = follower.next().await?;
            Some((Ok(bytes), follower))
        })
    }

    async fn next(&mut self) -> Option<Bytes> {
        match self.state {
            FollowerState::New => {
                self.state = FollowerState::Following;
                // A client that is disconnected before the first event continues here.
                return Some(format!("retry: 1000\nid: {}\n\n", self.position).into());
            }
            FollowerState::Following => {}
            FollowerState::Done => return None,
        }
        loop {
            if self.node.phase() >= Phase::Stopping {
                return None;
            }
            self.news.mark_unchanged();
            let mut is_failed = false;
            let (next, titles) = {
                let ring = self.feed.ring();
                (ring.next(self.position), ring.titles)
            };
            if titles != self.titles && !matches!(next, FollowerStep::Removed) {
                self.titles = titles;
                self.heartbeat.reset();
                let id = self.feed.id();
                return Some(format!("event: title\ndata: {{\"session\":\"{id}\"}}\n\n").into());
            }
            match next {
                FollowerStep::Send(events) => return Some(self.send(&events)),
                FollowerStep::Removed => {
                    self.state = FollowerState::Done;
                    let id = self.feed.id();
                    let text = format!("event: removed\ndata: {{\"session\":\"{id}\"}}\n\n");
                    return Some(text.into());
                }
                FollowerStep::Read => {
                    let (feed, position) = (Arc::clone(&self.feed), self.position);
                    match self.node.work.run(move || feed.read_after(position)).await {
                        Ok(Ok(new)) if !new.events.is_empty() => {
                            return Some(self.send(&new.events));
                        }
                        Ok(Ok(new)) if new.end > self.position.offset => {
                            self.position = new.end.into();
                            continue;
                        }
                        // The rest of the log is an incomplete line.
                        Ok(Ok(_)) => {}
                        Ok(Err(_)) | Err(_) => is_failed = true,
                    }
                }
                FollowerStep::Wait => {}
            }
            tokio::select! {
                changed = self.news.changed() => changed.ok()?,
                () = tokio::time::sleep(MAX_POLL), if is_failed => {}
                _ = self.heartbeat.tick() => return Some(Bytes::from_static(b": \n\n")),
                () = &mut self.stopping => return None,
            }
        }
    }

    fn send(&mut self, events: &[EncodedEvent]) -> Bytes {
        self.node.metrics.events.fetch_add(events.len() as u64, Ordering::Relaxed);
        self.heartbeat.reset();
        if let Some(last) = events.last() {
            self.position = last.position;
        }
        if let [event] = events {
            return event.text.clone();
        }
        let mut text = BytesMut::with_capacity(events.iter().map(|event| event.text.len()).sum());
        events.iter().for_each(|event| text.extend_from_slice(&event.text));
        text.freeze()
    }
}
