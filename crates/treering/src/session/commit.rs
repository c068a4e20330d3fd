//! Makes appends durable: with one sync for all waiting threads (group commit), or with one shortly
//! after (batched).

use crate::error::{Error, Result};
use crate::id::EntryId;
use crate::log::Journal;
use std::collections::VecDeque;
use std::io;
use std::ops::Range;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Tracks which appends are on disk. Appends are numbered; such a number is called a ticket.
#[derive(Debug, Default)]
pub(crate) struct GroupCommit {
    state: Mutex<SyncState>,
    /// Signaled when the outcome of some appends is known.
    changed: Condvar,
    /// Signaled when as many appends have come as a thread waits for.
    arrived: Condvar,
}

#[derive(Debug, Default)]
struct SyncState {
    /// The ticket of the newest append.
    written: u64,
    /// The ticket of the newest append whose outcome is known.
    settled: u64,
    /// The appends whose outcome is unknown, oldest first.
    waiting: VecDeque<PendingAppend>,
    syncing: bool,
    /// The number of appends that the thread which is about to sync waits for, if any.
    gathering: Option<u64>,
    /// The number of threads that wait for an append, including the one that syncs.
    inside: u64,
    /// The number of threads that waited when the last sync ended, and the duration of that sync.
    last: (u64, Duration),
    /// Appends whose sync failed: those after one ticket and up to another.
    failed: Vec<(u64, u64, SyncFailure)>,
}

/// An append that is not known to be on disk.
#[derive(Debug, Clone)]
pub(crate) struct PendingAppend {
    /// The range of the append in the log.
    pub span: Range<u64>,
    /// The leaf before the append.
    pub leaf: Option<EntryId>,
}

/// A failed sync, shared by all threads that waited for it.
#[derive(Debug, Clone)]
struct SyncFailure {
    cause: Arc<io::Error>,
    truncated: bool,
}

impl SyncFailure {
    fn error(&self) -> Error {
        let cause = match self.cause.raw_os_error() {
            Some(code) => io::Error::from_raw_os_error(code),
            None => io::Error::new(self.cause.kind(), self.cause.to_string()),
        };
        match self.truncated {
            true => Error::Storage(cause),
            false => Error::NotDurable(cause),
        }
    }
}

impl GroupCommit {
    fn progress(&self) -> MutexGuard<'_, SyncState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Assigns a ticket to an append. Called under the session's lock, so tickets are in log order.
    pub(crate) fn written(&self, append: PendingAppend) -> u64 {
        let mut progress = self.progress();
        progress.written += 1;
        progress.waiting.push_back(append);
        let waiting = progress.written - progress.settled;
        if progress.gathering.is_some_and(|members| waiting >= members) {
            self.arrived.notify_one();
        }
        progress.written
    }

    /// Returns the ticket of the newest append.
    pub(crate) fn last_ticket(&self) -> u64 {
        self.progress().written
    }

    /// Returns the end of a log of this length that can be removed: appends of this session, with
    /// no appends of others in between or after them. Also returns the ticket before the first of
    /// them. Called under the session's lock.
    pub(crate) fn own_end(&self, length: u64) -> Option<(u64, PendingAppend)> {
        let progress = self.progress();
        if progress.waiting.back().is_none_or(|last| last.span.end != length) {
            return None;
        }
        let mut first: Option<&PendingAppend> = None;
        let mut ticket = progress.written;
        for append in progress.waiting.iter().rev() {
            if first.is_some_and(|first| append.span.end != first.span.start) {
                break;
            }
            first = Some(append);
            ticket -= 1;
        }
        first.map(|first| (ticket, first.clone()))
    }

    /// Returns once the append is on disk. The first waiting thread that finds no sync in progress
    /// does one for all of them. If the sync fails, `truncate_failed` is called to shorten the log.
    pub(crate) fn wait(
        &self,
        ticket: u64,
        journal: &dyn Journal,
        truncate_failed: impl FnOnce() -> Truncated,
    ) -> Result<()> {
        let mut progress = self.progress();
        progress.inside += 1;
        let target = loop {
            if progress.settled >= ticket {
                progress.inside -= 1;
                return progress.outcome(ticket);
            }
            if !progress.syncing {
                progress.syncing = true;
                progress = self.gather(progress);
                break progress.written;
            }
            progress = self.changed.wait(progress).unwrap_or_else(PoisonError::into_inner);
        };
        drop(progress);
        let start = Instant::now();
        let result = journal.sync();
        let took = start.elapsed();
        // This needs the session's lock, which others hold while they get tickets, so it must not
        // happen under this one.
        let failed = result.err().map(|error| (Arc::new(error), truncate_failed()));
        let mut progress = self.progress();
        progress.syncing = false;
        progress.last = (progress.inside, took);
        progress.inside -= 1;
        match failed {
            None => progress.settle(target),
            Some((cause, Truncated { after, upto })) => {
                let settled = progress.settled;
                let fate = |truncated| SyncFailure { cause: Arc::clone(&cause), truncated };
                progress.failed.push((settled, after.max(settled), fate(false)));
                progress.failed.push((after.max(settled), upto, fate(true)));
                progress.settle(upto);
            }
        }
        let outcome = progress.outcome(ticket);
        drop(progress);
        self.changed.notify_all();
        outcome
    }
}

impl GroupCommit {
    /// Waits until there are as many appends as threads that waited when the last sync ended. Some
    /// of those were woken and are about to append again; with a sync for the others alone, the
    /// threads would form two groups that take turns. The wait is short, and there is none for a
    /// single thread.
    fn gather<'a>(&'a self, mut progress: MutexGuard<'a, SyncState>) -> MutexGuard<'a, SyncState> {
        let (members, took) = progress.last;
        let deadline = Instant::now() + took.min(MAX_WAIT);
        progress.gathering = Some(members);
        while progress.written - progress.settled < members {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            let waited = self.arrived.wait_timeout(progress, left);
            progress = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        progress.gathering = None;
        progress
    }
}

/// The longest time that a sync waits for other threads to join.
const MAX_WAIT: Duration = Duration::from_millis(1);

/// The appends that were removed from the log after a failed sync: those after one ticket and up to
/// another. If none could be removed, both tickets are equal.
pub(crate) struct Truncated {
    pub after: u64,
    pub upto: u64,
}

impl SyncState {
    /// Returns the outcome of an append, which must be known.
    fn outcome(&self, ticket: u64) -> Result<()> {
        let failed = self.failed.iter().find(|(from, to, _)| ticket > *from && ticket <= *to);
        failed.map_or(Ok(()), |(_, _, failure)| Err(failure.error()))
    }

    fn settle(&mut self, upto: u64) {
        while self.settled < upto {
            self.settled += 1;
            self.waiting.pop_front();
        }
    }
}

/// Syncs in the background shortly after an append.
#[derive(Debug)]
pub(crate) struct Flusher {
    appended: Option<Sender<Arc<dyn Journal>>>,
    thread: Option<JoinHandle<()>>,
    failure: Arc<Mutex<Option<io::Error>>>,
}

impl Flusher {
    pub(crate) fn start(delay: Duration) -> io::Result<Self> {
        let (appended, notices) = mpsc::channel::<Arc<dyn Journal>>();
        let failure = Arc::new(Mutex::new(None));
        let failed = Arc::clone(&failure);
        let flush = move || {
            while let Ok(mut journal) = notices.recv() {
                let deadline = Instant::now() + delay;
                let over = loop {
                    let left = deadline.saturating_duration_since(Instant::now());
                    match notices.recv_timeout(left) {
                        Ok(newer) => journal = newer,
                        Err(RecvTimeoutError::Timeout) => break false,
                        Err(RecvTimeoutError::Disconnected) => break true,
                    }
                };
                if let Err(error) = journal.sync() {
                    *failed.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
                }
                if over {
                    return;
                }
            }
        };
        let thread = std::thread::Builder::new().name("treering-sync".into()).spawn(flush)?;
        Ok(Flusher { appended: Some(appended), thread: Some(thread), failure })
    }

    /// Asks for a sync within the delay.
    pub(crate) fn appended(&self, journal: &Arc<dyn Journal>) {
        if let Some(appended) = &self.appended {
            // The thread ends only after this sender is dropped.
            let _ = appended.send(Arc::clone(journal));
        }
    }

    /// Fails once if a sync in the background failed.
    pub(crate) fn check(&self) -> Result<()> {
        let failure = self.failure.lock().unwrap_or_else(PoisonError::into_inner).take();
        failure.map_or(Ok(()), |error| Err(Error::EarlierSyncFailed(error)))
    }
}

impl Drop for Flusher {
    fn drop(&mut self) {
        self.appended.take();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
