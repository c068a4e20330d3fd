//! Listeners, which are called after every change of a session.
//!
//! Changes wait in a queue, in the order of the log, and are delivered by one thread at a time, with
//! no lock held. A listener may therefore use the session, and append to it: its own changes are
//! delivered after the current one by the same loop, so calls are never nested.
//!
//! A change gets its place in the queue while the session is locked. An append that still has to
//! become durable keeps its place, and the changes after it wait.

use super::Session;
use crate::id::EntryId;
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The writer of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Writer {
    /// This [`Session`], on any thread.
    This,
    /// Another process, or another `Session` on the same file.
    Other,
}

/// A change of a session: entries that were appended.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Change {
    /// The writer of the entries.
    pub writer: Writer,
    /// The entries, in file order.
    pub entries: Vec<EntryId>,
}

/// Names a listener of a session, to [remove](Session::remove_listener) it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ListenerId(u64);

type Listener = Arc<dyn Fn(&Change) + Send + Sync>;

/// The listeners of a session, and the changes that were not delivered yet.
#[derive(Default)]
pub(super) struct Listeners(Mutex<DeliveryQueue>);

#[derive(Default)]
struct DeliveryQueue {
    listeners: Vec<(ListenerId, Listener)>,
    /// The number of listeners that were added so far.
    added: u64,
    changes: VecDeque<QueuedChange>,
    /// The number of the first change in the queue.
    first: u64,
    /// Whether a thread is delivering changes.
    is_busy: bool,
}

/// A change in the queue.
enum QueuedChange {
    /// The outcome of the append is not known yet.
    Pending,
    /// The entries to deliver; none if the append failed.
    Settled(Change),
}

impl Listeners {
    fn queue(&self) -> MutexGuard<'_, DeliveryQueue> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds entries of other writers to the queue. Called under the session's lock.
    pub(super) fn add_foreign(&self, entries: Vec<EntryId>) {
        if entries.is_empty() {
            return;
        }
        let mut queue = self.queue();
        if !queue.listeners.is_empty() {
            let change = Change { writer: Writer::Other, entries };
            queue.changes.push_back(QueuedChange::Settled(change));
        }
    }

    /// Reserves the next place in the queue for an append of this session; `None` if there are no
    /// listeners. Called under the session's lock.
    pub(super) fn reserve(&self) -> Option<Reserved<'_>> {
        let mut queue = self.queue();
        if queue.listeners.is_empty() {
            return None;
        }
        let number = queue.first + queue.changes.len() as u64;
        queue.changes.push_back(QueuedChange::Pending);
        Some(Reserved { listeners: self, number, entries: Vec::new() })
    }

    /// Delivers the changes at the front of the queue that are settled, unless another thread is
    /// doing so, which then comes to them. No lock of the session may be held.
    pub(super) fn deliver(&self) {
        let mut queue = self.queue();
        if queue.is_busy {
            return;
        }
        queue.is_busy = true;
        while let Some(change) = queue.next() {
            if change.entries.is_empty() {
                continue;
            }
            let listeners = queue.listeners.clone();
            drop(queue);
            for (id, listener) in &listeners {
                // The change is already made, so a listener that panics must not make its caller
                // fail.
                if catch_unwind(AssertUnwindSafe(|| listener(&change))).is_err() {
                    self.queue().remove(*id);
                }
            }
            queue = self.queue();
        }
        queue.is_busy = false;
    }
}

impl DeliveryQueue {
    /// Takes the first change, if it is settled.
    fn next(&mut self) -> Option<Change> {
        match self.changes.pop_front()? {
            QueuedChange::Settled(change) => {
                self.first += 1;
                Some(change)
            }
            QueuedChange::Pending => {
                self.changes.push_front(QueuedChange::Pending);
                None
            }
        }
    }

    fn remove(&mut self, id: ListenerId) -> bool {
        let before = self.listeners.len();
        self.listeners.retain(|(other, _)| *other != id);
        self.listeners.len() < before
    }
}

/// A place in the queue for an append whose outcome is not known yet. Without entries, nothing is
/// delivered for it.
pub(super) struct Reserved<'a> {
    listeners: &'a Listeners,
    number: u64,
    entries: Vec<EntryId>,
}

impl Reserved<'_> {
    /// Settles the append: its entries are in the log.
    pub(super) fn settle(mut self, entries: Vec<EntryId>) {
        self.entries = entries;
    }
}

impl Drop for Reserved<'_> {
    fn drop(&mut self) {
        let change = Change { writer: Writer::This, entries: std::mem::take(&mut self.entries) };
        let mut queue = self.listeners.queue();
        let at = usize::try_from(self.number - queue.first).unwrap_or(usize::MAX);
        if let Some(queued) = queue.changes.get_mut(at) {
            *queued = QueuedChange::Settled(change);
        }
    }
}

/// Listening.
impl Session {
    /// Calls `listener` after every change of the session: after its own appends, once they are as
    /// durable as the options require, and after reading entries of other writers, by
    /// [`refresh`](Session::refresh) or before an append.
    ///
    /// Changes are delivered one after the other, in the order of the log, on the thread of one of
    /// the writers, with no lock held. A listener may use the session; its own changes are delivered
    /// after the current one. Other threads do not wait for a running listener. A listener that
    /// panics is not called again.
    ///
    /// The listener is called until it is [removed](Session::remove_listener) or the session is
    /// dropped.
    ///
    /// ```
    /// use std::sync::mpsc;
    /// use treering::session::Writer;
    /// use treering::{Message, Session};
    /// let session = Session::in_memory("/project");
    /// let (sender, changes) = mpsc::channel();
    /// session.on_change(move |change| drop(sender.send(change.clone())));
    /// let id = session.append(Message::user("hello"))?;
    /// let change = changes.recv().unwrap();
    /// assert_eq!((change.writer, change.entries), (Writer::This, vec![id]));
    /// # Ok::<(), treering::Error>(())
    /// ```
    pub fn on_change(&self, listener: impl Fn(&Change) + Send + Sync + 'static) -> ListenerId {
        let mut queue = self.listeners.queue();
        queue.added += 1;
        let id = ListenerId(queue.added);
        queue.listeners.push((id, Arc::new(listener)));
        id
    }

    /// Removes a listener, which then gets no further changes. Returns false if it was removed
    /// before. A call that is already running on another thread is not interrupted.
    ///
    /// ```
    /// use treering::{Message, Session};
    /// let session = Session::in_memory("/project");
    /// let listener = session.on_change(|change| println!("{} new", change.entries.len()));
    /// assert!(session.remove_listener(listener));
    /// assert!(!session.remove_listener(listener));
    /// ```
    pub fn remove_listener(&self, listener: ListenerId) -> bool {
        self.listeners.queue().remove(listener)
    }
}
