//! Renders batches on all cores, and returns them in the order of the walk.
//!
//! The caller's thread cuts the walk into batches, sends them to the threads, and receives the
//! oldest batch; a thread takes the oldest batch that is not begun. The batch that the caller waits
//! for is therefore always being rendered, and the amount of unfinished work is bounded, in bytes.
//! If the caller stops because of an error, the channels close and the threads stop as well.
//!
//! A rendered batch is returned to its thread to be reused, because memory that one thread
//! allocates and another frees makes the threads wait for each other in the allocator.

use super::batch::{Batch, Visit};
use crate::Result;
use crate::walk::WalkItem;
use std::collections::VecDeque;
use std::sync::mpsc::{self, Receiver, SyncSender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use treering::session::Reader;

/// The limits of the work.
#[derive(Debug, Clone, Copy)]
pub(crate) struct WorkLimits {
    /// The number of threads that render batches; with fewer than two, the caller's thread renders.
    pub threads: usize,
    /// The number of entries, and of their bytes, with which a batch is full.
    pub entries: usize,
    pub bytes: u64,
    /// The maximum number of bytes of entries in progress, unless a single batch has more.
    pub ahead: u64,
}

impl WorkLimits {
    /// The maximum number of threads: more would wait for the thread that writes.
    const MAX_THREADS: usize = 8;

    /// Returns limits with as many threads as the machine has cores, and batches large enough to be
    /// worth waking them.
    pub(crate) fn for_this_machine() -> Self {
        let threads = thread::available_parallelism().map_or(1, usize::from).min(Self::MAX_THREADS);
        WorkLimits { threads, entries: 1024, bytes: 768 * 1024, ahead: 8 * 1024 * 1024 }
    }
}

/// A batch that is being rendered.
struct PendingBatch<'a> {
    items: Vec<WalkItem<'a>>,
    bytes: u64,
    made: Receiver<FinishedBatch>,
}

/// A finished batch, and the index of the thread that rendered it.
type FinishedBatch = (usize, treering::Result<Batch>);

/// A batch to render.
struct BatchJob<'a> {
    ids: Vec<&'a str>,
    bytes: u64,
    made: SyncSender<FinishedBatch>,
}

/// Renders batches of `items` and passes them to `take`, in order. Ends with the first error of
/// reading or of `take`.
pub(crate) fn each<'a>(
    reader: &Reader,
    items: impl Iterator<Item = WalkItem<'a>>,
    limits: WorkLimits,
    visit: Visit<'_>,
    mut take: impl FnMut(&[WalkItem<'a>], &Batch) -> Result<()>,
) -> Result<()> {
    let mut cuts = BatchCutter { items, limits };
    let Some(first) = cuts.next() else { return Ok(()) };
    let Some(second) = cuts.next() else {
        // A single batch is not worth a thread.
        let ids: Vec<&str> = first.0.iter().map(|item| item.entry.id).collect();
        return take(&first.0, &Batch::default().make(&mut reader.clone(), &ids, visit)?);
    };
    let mut cuts = [first, second].into_iter().chain(std::iter::from_fn(move || cuts.next()));
    thread::scope(|scope| {
        let (give, jobs) = mpsc::channel::<BatchJob<'a>>();
        let jobs = Arc::new(Mutex::new(jobs));
        let mut waiting: VecDeque<PendingBatch<'a>> = VecDeque::new();
        let mut under_way = 0;
        // The channels on which batches return, by thread.
        let mut back: Vec<mpsc::Sender<Batch>> = Vec::new();
        let mut own = reader.clone();
        loop {
            while waiting.is_empty() || under_way < limits.ahead {
                let Some((items, bytes)) = cuts.next() else { break };
                let ids: Vec<&str> = items.iter().map(|item| item.entry.id).collect();
                if back.len() < limits.threads && limits.threads > 1 {
                    let (jobs, fresh) = (Arc::clone(&jobs), reader.clone());
                    let (give_back, used) = mpsc::channel();
                    let worker = BatchWorker { number: back.len(), fresh, used, visit };
                    let spawned =
                        thread::Builder::new().spawn_scoped(scope, move || worker.work(&jobs));
                    back.extend(spawned.is_ok().then_some(give_back));
                }
                if back.is_empty() {
                    take(&items, &Batch::default().make(&mut own, &ids, visit)?)?;
                    continue;
                }
                let (sender, made) = mpsc::sync_channel(1);
                // This cannot fail, because the receiver exists.
                let _ = give.send(BatchJob { ids, bytes, made: sender });
                waiting.push_back(PendingBatch { items, bytes, made });
                under_way += bytes;
            }
            let Some(PendingBatch { items, bytes, made }) = waiting.pop_front() else {
                return Ok(());
            };
            under_way -= bytes;
            // A thread that ends without a result has panicked, and the scope panics with it.
            let Ok((thread, batch)) = made.recv() else { return Ok(()) };
            let batch = batch?;
            take(&items, &batch)?;
            if let Some(back) = back.get(thread).filter(|_| !batch.is_large()) {
                // A thread that has ended does not need the batch.
                let _ = back.send(batch);
            }
        }
    })
}

/// A thread that renders batches.
struct BatchWorker<'v> {
    number: usize,
    visit: Visit<'v>,
    /// The reader of the thread.
    fresh: Reader,
    /// Finished batches that can be reused.
    used: Receiver<Batch>,
}

impl BatchWorker<'_> {
    /// Renders batches until there are no more, or the receiver is gone.
    fn work(self, jobs: &Mutex<Receiver<BatchJob<'_>>>) {
        /// The size of an entry after which a reader's buffers are dropped.
        const LARGE: u64 = 1024 * 1024;
        let mut reader = self.fresh.clone();
        loop {
            let next = jobs.lock().unwrap_or_else(PoisonError::into_inner).recv();
            let Ok(BatchJob { ids, bytes, made }) = next else { return };
            let batch = self.used.try_recv().unwrap_or_default();
            let batch = batch.make(&mut reader, &ids, self.visit);
            if made.send((self.number, batch)).is_err() {
                return;
            }
            if bytes > LARGE {
                reader = self.fresh.clone();
            }
        }
    }
}

/// Divides the walk into batches.
struct BatchCutter<I> {
    items: I,
    limits: WorkLimits,
}

impl<'a, I: Iterator<Item = WalkItem<'a>>> BatchCutter<I> {
    /// Returns the next entries, and their number of bytes.
    fn next(&mut self) -> Option<(Vec<WalkItem<'a>>, u64)> {
        let (mut items, mut bytes) = (Vec::new(), 0);
        while items.len() < self.limits.entries && bytes < self.limits.bytes {
            let Some(item) = self.items.next() else { break };
            bytes += item.entry.bytes;
            items.push(item);
        }
        (!items.is_empty()).then_some((items, bytes))
    }
}

#[cfg(test)]
mod tests;
