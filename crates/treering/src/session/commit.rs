//! Making appends durable: one sync for all who wait (group commit), or one soon (batched).

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

/// Which appends are on disk. Appends are numbered; a ticket is such a number.
#[derive(Debug, Default)]
pub(crate) struct GroupCommit {
    state: Mutex<Progress>,
    /// The fate of some appends became known.
    changed: Condvar,
    /// An append came while somebody gathers.
    arrived: Condvar,
}

#[derive(Debug, Default)]
struct Progress {
    /// The newest append.
    written: u64,
    /// The newest append of which the fate is known.
    settled: u64,
    /// The appends in between, oldest first.
    waiting: VecDeque<Append>,
    syncing: bool,
    /// Whoever is about to sync waits for more appends to come.
    gathering: bool,
    /// How many appends the last sync was for, and how long it took.
    last: (u64, Duration),
    /// Appends whose sync failed: after one ticket and up to another.
    failed: Vec<(u64, u64, Failure)>,
}

/// An append that is not known to be on disk.
#[derive(Debug, Clone)]
pub(crate) struct Append {
    /// Where in the log it is.
    pub span: Range<u64>,
    /// The leaf before it.
    pub leaf: Option<EntryId>,
}

#[derive(Debug, Clone, Copy)]
struct Failure {
    kind: io::ErrorKind,
    taken_back: bool,
}

impl Failure {
    fn error(self) -> Error {
        match self.taken_back {
            true => Error::Storage(self.kind.into()),
            false => Error::NotDurable(self.kind.into()),
        }
    }
}

impl GroupCommit {
    fn progress(&self) -> MutexGuard<'_, Progress> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Numbers an append. Called under the session's lock, so numbers are in log order.
    pub(crate) fn written(&self, append: Append) -> u64 {
        let mut progress = self.progress();
        progress.written += 1;
        progress.waiting.push_back(append);
        if progress.gathering {
            self.arrived.notify_one();
        }
        progress.written
    }

    /// The number of the newest append.
    pub(crate) fn last_ticket(&self) -> u64 {
        self.progress().written
    }

    /// The end of the log that can be taken back: our own appends, with nobody else's in between.
    /// From which ticket on, and what that part begins with. Called under the session's lock.
    pub(crate) fn own_end(&self) -> Option<(u64, Append)> {
        let progress = self.progress();
        let mut first: Option<&Append> = None;
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

    /// Returns once the append is on disk. Whoever finds no sync under way does one for everybody.
    /// When it fails, `take_back` is asked to shorten the log.
    pub(crate) fn wait(
        &self,
        ticket: u64,
        journal: &dyn Journal,
        take_back: impl FnOnce() -> TakenBack,
    ) -> Result<()> {
        let mut progress = self.progress();
        let target = loop {
            let failed =
                progress.failed.iter().find(|(from, to, _)| ticket > *from && ticket <= *to);
            if let Some((_, _, failure)) = failed {
                return Err(failure.error());
            }
            if progress.settled >= ticket {
                return Ok(());
            }
            if !progress.syncing {
                progress.syncing = true;
                progress = self.gather(progress);
                break progress.written;
            }
            progress = self.changed.wait(progress).unwrap_or_else(PoisonError::into_inner);
        };
        let group = target - progress.settled;
        drop(progress);
        let start = Instant::now();
        let result = journal.sync();
        let took = start.elapsed();
        // Outside the lock: it needs the session's, which others hold while they number appends.
        let failed = result.as_ref().err().map(|error| (error.kind(), take_back()));
        let mut progress = self.progress();
        progress.syncing = false;
        progress.last = (group, took);
        match failed {
            None => progress.settle(target),
            Some((kind, TakenBack { after, upto })) => {
                let settled = progress.settled;
                let fate = |taken_back| Failure { kind, taken_back };
                progress.failed.push((settled, after.max(settled), fate(false)));
                progress.failed.push((after.max(settled), upto, fate(true)));
                progress.settle(upto);
            }
        }
        drop(progress);
        self.changed.notify_all();
        let progress = self.progress();
        let failed = progress.failed.iter().find(|(from, to, _)| ticket > *from && ticket <= *to);
        failed.map_or(Ok(()), |(_, _, failure)| Err(failure.error()))
    }
}

impl GroupCommit {
    /// Waits until as many appends have come as the last sync was for: those who waited for it have
    /// just been woken and are about to append again. Not for long, and not if nobody else did.
    fn gather<'a>(&'a self, mut progress: MutexGuard<'a, Progress>) -> MutexGuard<'a, Progress> {
        let (group, took) = progress.last;
        let deadline = Instant::now() + (took / 2).min(PATIENCE);
        progress.gathering = true;
        while progress.written - progress.settled < group {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            let waited = self.arrived.wait_timeout(progress, left);
            progress = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        progress.gathering = false;
        progress
    }
}

/// The longest that a sync is put off for others to join.
const PATIENCE: Duration = Duration::from_millis(1);

/// Which appends were removed from the log after a failed sync: those after one ticket and up to
/// another. If none could be, the two are the same.
pub(crate) struct TakenBack {
    pub after: u64,
    pub upto: u64,
}

impl Progress {
    fn settle(&mut self, upto: u64) {
        while self.settled < upto {
            self.settled += 1;
            self.waiting.pop_front();
        }
    }
}

/// Syncs soon after an append, in the background.
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
            // The thread only ends when this sender does.
            let _ = appended.send(Arc::clone(journal));
        }
    }

    /// Fails if a sync in the background did, once.
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
