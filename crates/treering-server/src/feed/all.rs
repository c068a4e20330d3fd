//! Changes of all sessions of a space, and their followers.

use super::SpaceFeed;
use crate::node::{Follower, Node, Phase};
use crate::problem::Problem;
use bytes::Bytes;
use futures_util::Stream;
use std::collections::VecDeque;
use std::convert::Infallible;
use std::fmt::Write;
use std::pin::Pin;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::watch;
use treering::store::{Changes, Mark};

/// The number of polls whose changes are kept. A slower follower asks the store itself.
const KEPT: usize = 256;

/// The latest changes of a space.
#[derive(Debug, Default)]
pub(crate) struct AllChanges {
    kept: Mutex<RecentChanges>,
    news: watch::Sender<()>,
}

#[derive(Debug, Default)]
struct RecentChanges {
    /// The changes of polls, as text; polls without changes are left out.
    polls: VecDeque<Bytes>,
    /// The number of the first of these polls.
    first: u64,
    /// The mark of the last poll.
    mark: String,
    followers: usize,
}

impl AllChanges {
    fn kept(&self) -> MutexGuard<'_, RecentChanges> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn is_followed(&self) -> bool {
        self.kept().followers > 0
    }

    /// Restarts at a mark, after a time without polls.
    pub(super) fn restart(&self, mark: &Mark) {
        let mut kept = self.kept();
        // Earlier followers have missed changes and must ask the store.
        kept.first += kept.polls.len() as u64 + 1;
        kept.polls.clear();
        kept.mark = one_line(mark.as_str());
    }

    /// Adds the changes of a poll.
    pub(super) fn add(&self, changes: &Changes) {
        let mut kept = self.kept();
        kept.mark = one_line(changes.mark.as_str());
        if changes.sessions.is_empty() {
            return;
        }
        let text = changes_text(changes, &kept.mark);
        kept.polls.push_back(text);
        if kept.polls.len() > KEPT {
            kept.polls.pop_front();
            kept.first += 1;
        }
        drop(kept);
        self.news.send_replace(());
    }
}

/// Returns changes as events. Only the last one has the mark, so that a client that is disconnected
/// before it gets all of them again.
fn changes_text(changes: &Changes, mark: &str) -> Bytes {
    let mut text = String::new();
    for (at, changed) in changes.sessions.iter().enumerate() {
        if at + 1 == changes.sessions.len() {
            let _ = writeln!(text, "id: {mark}");
        }
        let id = serde_json::Value::from(changed.id.as_str());
        let _ = match changed.length {
            Some(length) => {
                write!(text, "event: changed\ndata: {{\"session\":{id},\"length\":{length}}}\n\n")
            }
            None => write!(text, "event: removed\ndata: {{\"session\":{id}}}\n\n"),
        };
    }
    text.into()
}

/// Returns a mark on one line, as events require.
fn one_line(mark: &str) -> String {
    mark.replace(['\r', '\n', '\0'], " ")
}

/// A follower of all sessions of a space.
pub(crate) struct AllFollower {
    node: Arc<Node>,
    space: Arc<SpaceFeed>,
    news: watch::Receiver<()>,
    /// The number of the next poll.
    next: u64,
    /// The mark of a client that reconnects.
    resume: Option<Mark>,
    is_new: bool,
    heartbeat: tokio::time::Interval,
    stopping: Pin<Box<dyn Future<Output = ()> + Send>>,
    _registration: AllRegistration,
    _follower: Follower,
}

/// The registration of a follower of a space, until it is dropped.
struct AllRegistration(Arc<SpaceFeed>);

impl Drop for AllRegistration {
    fn drop(&mut self) {
        self.0.all.kept().followers -= 1;
    }
}

impl SpaceFeed {
    /// Follows all sessions of the space from a mark on, or from now on.
    pub(crate) async fn follow_all(
        self: &Arc<Self>,
        node: &Arc<Node>,
        resume: Option<Mark>,
    ) -> Result<AllFollower, Problem> {
        let follower = node.follower()?;
        self.all.kept().followers += 1;
        let registration = AllRegistration(Arc::clone(self));
        self.ensure_polled(node).await?;
        let period = node.limits.heartbeat;
        let start = tokio::time::Instant::now() + period;
        let next = {
            let kept = self.all.kept();
            kept.first + kept.polls.len() as u64
        };
        Ok(AllFollower {
            news: self.all.news.subscribe(),
            space: Arc::clone(self),
            next,
            resume,
            is_new: true,
            heartbeat: tokio::time::interval_at(start, period),
            stopping: Box::pin(node.reached(Phase::Stopping)),
            node: Arc::clone(node),
            _registration: registration,
            _follower: follower,
        })
    }
}

impl AllFollower {
    /// Returns the changes as a stream of text, which ends when the server ends.
    pub(crate) fn into_stream(self) -> impl Stream<Item = Result<Bytes, Infallible>> + Send {
        futures_util::stream::unfold(self, |mut follower| async move {
            let bytes = follower.next().await?;
            Some((Ok(bytes), follower))
        })
    }

    async fn next(&mut self) -> Option<Bytes> {
        loop {
            if self.node.phase() >= Phase::Stopping {
                return None;
            }
            if let Some(mark) = self.resume.clone() {
                match self.ask(mark).await {
                    Some(text) => {
                        self.is_new = false;
                        self.resume = None;
                        return Some(self.send(text));
                    }
                    // The store failed: the client will reconnect with the same mark.
                    None => return None,
                }
            }
            self.news.mark_unchanged();
            let (text, mark) = {
                let kept = self.space.all.kept();
                if self.next < kept.first {
                    // The client is too slow and the changes are no longer kept: it will reconnect.
                    return None;
                }
                let text = kept.polls.get((self.next - kept.first) as usize).cloned();
                (text, kept.mark.clone())
            };
            if self.is_new {
                self.is_new = false;
                return Some(format!("retry: 1000\nid: {mark}\n\n").into());
            }
            if let Some(text) = text {
                self.next += 1;
                return Some(self.send(text));
            }
            tokio::select! {
                changed = self.news.changed() => changed.ok()?,
                _ = self.heartbeat.tick() => return Some(Bytes::from_static(b": \n\n")),
                () = &mut self.stopping => return None,
            }
        }
    }

    /// Asks the store for all changes since a mark. They include those up to the poll from which
    /// following continues, because that poll was earlier.
    async fn ask(&mut self, mark: Mark) -> Option<Bytes> {
        let now = {
            let kept = self.space.all.kept();
            self.next = kept.first + kept.polls.len() as u64;
            kept.mark.clone()
        };
        let store = Arc::clone(&self.space.store);
        let changes = self.node.work.run(move || store.changes(Some(&mark))).await.ok()?.ok()?;
        let mut text = format!("retry: 1000\nid: {now}\n\n");
        if !changes.sessions.is_empty() {
            text = String::from_utf8_lossy(&changes_text(&changes, &now)).into_owned();
        }
        Some(text.into())
    }

    fn send(&mut self, text: Bytes) -> Bytes {
        self.node.metrics.events.fetch_add(1, Ordering::Relaxed);
        self.heartbeat.reset();
        text
    }
}
