//! Feeds of the entries that are appended to sessions, which are read once for all followers.
//!
//! One task polls a store for changes while there are followers. The latest events of each followed
//! session are in a ring that its followers share. A follower has no buffer of its own, only a
//! position. If a follower is slow and its events are no longer in the ring, it reads them from the
//! log, so that memory does not depend on the number or the speed of followers.

mod all;
mod session;

use all::AllChanges;
use session::Feed;

use crate::node::{Node, Phase};
use crate::problem::Problem;
use futures_util::StreamExt;
use std::collections::HashMap;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::Notify;
use treering::SessionId;
use treering::store::{ChangedSession, Mark, Store};

/// The shortest time between two polls. Appends on this node cause additional polls.
const MIN_POLL: Duration = Duration::from_millis(10);

/// The longest time between two polls of a store that fails.
const MAX_POLL: Duration = Duration::from_secs(1);

/// The number of logs that are read concurrently after a poll.
const READS: usize = 16;

/// The followed spaces of a node.
#[derive(Debug, Default)]
pub(crate) struct Feeds(Mutex<HashMap<String, Arc<SpaceFeed>>>);

/// The followed sessions of a space.
#[derive(Debug)]
pub(crate) struct SpaceFeed {
    store: Arc<dyn Store>,
    /// The feeds, each with the number of its followers.
    sessions: Mutex<HashMap<SessionId, (Arc<Feed>, usize)>>,
    all: AllChanges,
    /// The sessions whose feeds may be out of date, with the lengths of their logs; `None` for a
    /// removed one.
    due: Mutex<HashMap<SessionId, Option<u64>>>,
    /// Whether the polling task is running.
    is_polled: tokio::sync::Mutex<bool>,
    wake: Notify,
}

impl Feeds {
    fn spaces(&self) -> MutexGuard<'_, HashMap<String, Arc<SpaceFeed>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the feed of a space.
    pub(crate) fn space(&self, name: &str, store: Arc<dyn Store>) -> Arc<SpaceFeed> {
        let mut spaces = self.spaces();
        let space = spaces.entry(name.to_owned()).or_insert_with(|| {
            Arc::new(SpaceFeed {
                store,
                sessions: Mutex::default(),
                all: AllChanges::default(),
                due: Mutex::default(),
                is_polled: tokio::sync::Mutex::new(false),
                wake: Notify::new(),
            })
        });
        Arc::clone(space)
    }

    /// Polls a space soon, because something was written to it.
    pub(crate) fn wake(&self, space: &str) {
        if let Some(space) = self.spaces().get(space) {
            space.wake.notify_one();
        }
    }

    /// Returns the number of followed sessions.
    pub(crate) fn count(&self) -> u64 {
        self.spaces().values().map(|space| space.sessions().len() as u64).sum()
    }
}

impl SpaceFeed {
    fn sessions(&self) -> MutexGuard<'_, HashMap<SessionId, (Arc<Feed>, usize)>> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn due(&self) -> MutexGuard<'_, HashMap<SessionId, Option<u64>>> {
        self.due.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Updates a feed to this length soon.
    fn catch_up(&self, id: SessionId, length: u64) {
        self.due().entry(id).or_insert(Some(length));
        self.wake.notify_one();
    }

    fn is_followed(&self) -> bool {
        !self.sessions().is_empty() || self.all.is_followed()
    }

    /// Starts to poll, unless polling is already running. Appends after this returns will be
    /// noticed.
    async fn ensure_polled(self: &Arc<Self>, node: &Arc<Node>) -> Result<(), Problem> {
        let mut is_polled = self.is_polled.lock().await;
        if *is_polled {
            return Ok(());
        }
        let store = Arc::clone(&self.store);
        let mark = node.work.run(move || store.changes(None)).await??.mark;
        self.all.restart(&mark);
        let (space, node) = (Arc::clone(self), Arc::clone(node));
        tokio::spawn(async move { space.poll(&node, mark).await });
        *is_polled = true;
        Ok(())
    }

    async fn poll(self: Arc<Self>, node: &Arc<Node>, mut mark: Mark) {
        let mut interval = node.limits.poll;
        let stopping = node.reached(Phase::Stopping);
        tokio::pin!(stopping);
        loop {
            tokio::select! {
                () = tokio::time::sleep(interval) => {}
                () = self.wake.notified() => tokio::time::sleep(MIN_POLL.min(interval)).await,
                () = &mut stopping => return,
            }
            if self.stop_if_idle().await {
                return;
            }
            node.metrics.polls.fetch_add(1, Ordering::Relaxed);
            let (store, since) = (Arc::clone(&self.store), mark.clone());
            match node.work.run(move || store.changes(Some(&since))).await {
                Ok(Ok(changes)) => {
                    interval = node.limits.poll;
                    self.all.add(&changes);
                    mark = changes.mark;
                    let changed = changes.sessions.into_iter();
                    self.due()
                        .extend(changed.map(|ChangedSession { id, length, .. }| (id, length)));
                }
                Ok(Err(_)) | Err(_) => {
                    node.metrics.failed_polls.fetch_add(1, Ordering::Relaxed);
                    interval = (interval * 2).clamp(MIN_POLL, MAX_POLL);
                }
            }
            self.advance(node).await;
        }
    }

    /// Updates the changed feeds. Those that fail are tried again.
    async fn advance(&self, node: &Arc<Node>) {
        let due = std::mem::take(&mut *self.due());
        let feeds: Vec<(Arc<Feed>, Option<u64>)> = {
            let sessions = self.sessions();
            let feed = |id| sessions.get(id).map(|(feed, _)| Arc::clone(feed));
            due.iter().filter_map(|(id, length)| Some((feed(id)?, *length))).collect()
        };
        let ring =
            node.limits.event_memory / (feeds.len().max(self.sessions().len()) as u64).max(1);
        let done = futures_util::stream::iter(feeds).map(|(feed, length)| async move {
            let is_done = feed.advance(node, length, ring).await;
            (!is_done).then(|| (feed.id().clone(), length))
        });
        let failed: Vec<_> = done.buffer_unordered(READS).collect().await;
        let mut due = self.due();
        for (id, length) in failed.into_iter().flatten() {
            due.entry(id).or_insert(length);
        }
    }

    /// Ends polling if there are no followers. New followers start it again.
    async fn stop_if_idle(&self) -> bool {
        if self.is_followed() {
            return false;
        }
        let mut is_polled = self.is_polled.lock().await;
        if self.is_followed() {
            return false;
        }
        *is_polled = false;
        true
    }
}
