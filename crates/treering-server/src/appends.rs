//! Groups appends that wait for each other: appends that arrive while another one is in progress
//! are carried out by one write, and therefore one commit of the store.

use crate::call::Call;
use crate::idempotency::{self, Members, Repeated};
use crate::metrics::Metrics;
use crate::node::Node;
use crate::open_sessions::Slot;
use crate::problem::{Code, Problem};
use crate::types::Appended;
use std::collections::VecDeque;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::oneshot;
use treering::session::{Append, AppendedEntries};
use treering::{EntryId, Error, NewEntry, Position, Session};

/// The maximum number of appends, and of bytes of bodies, in one write. A store may have to divide
/// a larger one.
const MAX_APPENDS: usize = 256;
const MAX_BYTES: usize = 512 * 1024;

/// Entries to be appended.
#[derive(Debug)]
pub(crate) struct NewEntries {
    pub(crate) entries: Vec<NewEntry>,
    /// The ids that the client chose, or that are derived from its key.
    pub(crate) ids: Vec<Option<EntryId>>,
    pub(crate) sent: Vec<Members>,
    /// The id that another entry after these would have; `None` if there is no key.
    pub(crate) next_id: Option<EntryId>,
    pub(crate) expected: Option<Position>,
    /// The size of the body.
    pub(crate) bytes: usize,
}

/// The queue of appends to a session, in the order of arrival.
#[derive(Debug, Default)]
pub(crate) struct AppendQueue(Mutex<QueuedAppends>);

#[derive(Debug, Default)]
struct QueuedAppends {
    appends: VecDeque<QueuedAppend>,
    /// The number of the next append.
    next: u64,
}

#[derive(Debug)]
struct QueuedAppend {
    number: u64,
    new: NewEntries,
    done: oneshot::Sender<AppendResult>,
}

type AppendResult = Result<Appended, Problem>;

impl AppendQueue {
    fn waiting(&self) -> MutexGuard<'_, QueuedAppends> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn push(&self, new: NewEntries, metrics: &Metrics) -> (u64, oneshot::Receiver<AppendResult>) {
        let (done, result) = oneshot::channel();
        metrics.queued.fetch_add(1, Ordering::Relaxed);
        let mut waiting = self.waiting();
        let number = waiting.next;
        waiting.next += 1;
        waiting.appends.push_back(QueuedAppend { number, new, done });
        (number, result)
    }

    /// Removes the oldest appends from the queue, as many as fit into one write.
    fn take(&self, metrics: &Metrics) -> Vec<QueuedAppend> {
        let mut waiting = self.waiting();
        let (mut count, mut bytes) = (0, 0);
        for append in waiting.appends.iter().take(MAX_APPENDS) {
            bytes += append.new.bytes;
            if count > 0 && bytes > MAX_BYTES {
                break;
            }
            count += 1;
        }
        metrics.queued.fetch_sub(count as i64, Ordering::Relaxed);
        waiting.appends.drain(..count).collect()
    }

    fn remove(&self, number: u64, metrics: &Metrics) {
        let mut waiting = self.waiting();
        // The numbers are in the order of the queue.
        if let Ok(at) = waiting.appends.binary_search_by_key(&number, |append| append.number) {
            waiting.appends.remove(at);
            metrics.queued.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

/// Removes an append that was not begun from the queue when its caller is gone.
struct Withdrawal<'a> {
    slot: &'a Slot,
    number: u64,
    metrics: &'a Metrics,
}

impl Drop for Withdrawal<'_> {
    fn drop(&mut self) {
        self.slot.appends.remove(self.number, self.metrics);
    }
}

impl Call {
    /// Appends entries to the session of the path, together with those of other waiting calls.
    pub(crate) async fn append(&self, new: NewEntries) -> Result<Appended, Problem> {
        let id = self.session_id()?;
        let slot = self.slot(&id)?;
        let metrics = &self.node.metrics;
        let (number, mut result) = slot.appends.push(new, metrics);
        let withdrawal = Withdrawal { slot: &slot, number, metrics };
        let done = loop {
            // The caller whose turn it is writes for all waiting ones.
            let turn = tokio::select! {
                biased;
                done = &mut result => break done,
                turn = Arc::clone(&slot.queue).lock_owned() => turn,
            };
            let (slot, node, space) =
                (Arc::clone(&slot), Arc::clone(&self.node), self.space().to_owned());
            let written = self.node.work.run_here(move || {
                write(&slot, &node);
                drop((turn, slot));
                node.feeds.wake(&space);
                node.sessions.trim();
            });
            written.await?;
        };
        drop(withdrawal);
        // The sender is dropped without use only if the write panicked.
        let failed = |_| Problem::new(Code::Internal, "the request failed unexpectedly");
        let done = done.map_err(failed).and_then(|done| done);
        self.forget_unknown(&id, &done);
        done
    }
}

/// Carries out the oldest appends of the queue, and passes the results to their callers.
fn write(slot: &Slot, node: &Node) {
    let queued = slot.appends.take(&node.metrics);
    if queued.is_empty() {
        return;
    }
    node.metrics.writes.fetch_add(1, Ordering::Relaxed);
    let written = slot.run(&node.metrics, &mut |session, _| {
        let appends = queued.iter().map(|queued| {
            let append = Append::new(&queued.new.entries);
            queued.new.expected.as_ref().map_or(append, |leaf| append.expecting(leaf))
        });
        let done = session.append_each(&appends.collect::<Vec<_>>())?;
        let done = done.into_iter().zip(&queued);
        Ok(done.map(|(done, queued)| respond(session, node, &queued.new, done)).collect::<Vec<_>>())
    });
    // The caller may be gone.
    match written {
        Ok(written) => queued.into_iter().zip(written).for_each(|(queued, done)| {
            let _ = queued.done.send(done);
        }),
        Err(problem) => queued.into_iter().for_each(|queued| {
            let _ = queued.done.send(Err(problem.clone()));
        }),
    }
}

/// Returns the response to an append. An append that was carried out before gets the same response
/// again.
fn respond(
    session: &Session,
    node: &Node,
    new: &NewEntries,
    done: treering::Result<AppendedEntries>,
) -> Result<Appended, Problem> {
    let names = |ids: &[EntryId]| ids.iter().map(EntryId::to_string).collect();
    let error = match done {
        Ok(AppendedEntries { ids, leaf, length, .. }) => {
            node.metrics.entries.fetch_add(ids.len() as u64, Ordering::Relaxed);
            let leaf = leaf.map(|leaf| leaf.to_string());
            return Ok(Appended { ids: names(&ids), leaf, length });
        }
        Err(error) => error,
    };
    if matches!(error, Error::DuplicateEntry(_) | Error::LeafMoved { .. }) {
        match idempotency::compare(session, &new.ids, &new.sent, new.next_id.as_ref())? {
            Some(Repeated::Same) => {
                // An earlier attempt may have failed because it was not durable yet.
                session.sync()?;
                node.metrics.replays.fetch_add(1, Ordering::Relaxed);
                let leaf = session.follow()?.map(|leaf| leaf.to_string());
                let ids: Vec<EntryId> = new.ids.iter().flatten().cloned().collect();
                return Ok(Appended { ids: names(&ids), leaf, length: session.log_length() });
            }
            Some(Repeated::Other) if new.next_id.is_some() => {
                let detail = "the key was used with other entries before";
                return Err(Problem::new(Code::IdempotencyKeyReused, detail));
            }
            _ => {}
        }
    }
    Err(match error {
        // The entry is named in the body, not in the path.
        Error::UnknownEntry(_) => Problem::new(Code::InvalidEntry, error.to_string()),
        error => error.into(),
    })
}
