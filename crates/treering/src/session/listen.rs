//! Listeners, which are called after every change of a session.
//!
//! Changes wait in a queue and are delivered by one thread at a time, with no lock held. A listener
//! may therefore use the session, and append to it: its own changes are delivered after the current
//! one by the same loop, so calls are never nested.

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

type Listener = Arc<dyn Fn(&Change) + Send + Sync>;

/// The listeners of a session, and the changes that were not delivered yet.
#[derive(Default)]
pub(super) struct Listeners(Mutex<DeliveryQueue>);

#[derive(Default)]
struct DeliveryQueue {
    listeners: Vec<Listener>,
    changes: VecDeque<Change>,
    /// Whether a thread is delivering changes.
    is_busy: bool,
}

impl Listeners {
    fn queue(&self) -> MutexGuard<'_, DeliveryQueue> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(&self, listener: Listener) {
        self.queue().listeners.push(listener);
    }

    /// Delivers entries to all listeners, if there are any. No lock of the session may be held.
    pub(super) fn tell(&self, writer: Writer, entries: Vec<EntryId>) {
        if entries.is_empty() {
            return;
        }
        let mut queue = self.queue();
        if queue.listeners.is_empty() {
            return;
        }
        queue.changes.push_back(Change { writer, entries });
        if queue.is_busy {
            return; // The thread that hands out changes, perhaps this one, comes to it.
        }
        queue.is_busy = true;
        while let Some(change) = queue.changes.pop_front() {
            let listeners = queue.listeners.clone();
            drop(queue);
            for listener in &listeners {
                // The change is already made, so a listener that panics must not make its caller
                // fail.
                if catch_unwind(AssertUnwindSafe(|| listener(&change))).is_err() {
                    self.queue().listeners.retain(|other| !Arc::ptr_eq(other, listener));
                }
            }
            queue = self.queue();
        }
        queue.is_busy = false;
    }
}

/// Listening.
impl Session {
    /// Calls `listener` after every change of the session: after its own appends, once they are as
    /// durable as the options require, and after reading entries of other writers, by
    /// [`refresh`](Session::refresh) or before an append.
    ///
    /// Changes are delivered one after the other, on the thread of one of the writers, with no lock
    /// held. A listener may use the session; its own changes are delivered after the current one.
    /// Other threads do not wait for a running listener. A listener that panics is not called
    /// again.
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
    pub fn on_change(&self, listener: impl Fn(&Change) + Send + Sync + 'static) {
        self.listeners.add(Arc::new(listener));
    }
}
