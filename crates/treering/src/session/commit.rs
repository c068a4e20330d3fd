//! Making appends durable: one sync for all who wait (group commit), or one soon (batched).

use crate::error::{Error, Result};
use crate::log::Journal;
use std::io;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// Which appends are on disk. Appends are numbered; a ticket is such a number.
#[derive(Debug, Default)]
pub(crate) struct GroupCommit {
    state: Mutex<Progress>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Progress {
    /// The newest append, and how long the log was after it.
    written: (u64, u64),
    /// The newest append known to be on disk, likewise.
    synced: (u64, u64),
    syncing: bool,
    /// Appends whose sync failed: after one and up to another ticket.
    failed: Vec<(u64, u64, Failure)>,
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
    pub(crate) fn new(length: u64) -> Self {
        let progress = Progress { written: (0, length), synced: (0, length), ..Progress::default() };
        GroupCommit { state: Mutex::new(progress), changed: Condvar::new() }
    }

    fn progress(&self) -> MutexGuard<'_, Progress> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Numbers an append after which the log has `length` bytes.
    pub(crate) fn written(&self, length: u64) -> u64 {
        let mut progress = self.progress();
        progress.written = (progress.written.0 + 1, length);
        progress.written.0
    }

    /// Returns once the append is on disk. Whoever finds no sync under way does one for everybody.
    /// When it fails, `take_back` is asked to shorten the log to what is safe.
    pub(crate) fn wait(
        &self,
        ticket: u64,
        journal: &dyn Journal,
        take_back: impl FnOnce(u64) -> bool,
    ) -> Result<()> {
        let mut progress = self.progress();
        let target = loop {
            let failed = progress.failed.iter().find(|(from, to, _)| ticket > *from && ticket <= *to);
            if let Some((_, _, failure)) = failed {
                return Err(failure.error());
            }
            if progress.synced.0 >= ticket {
                return Ok(());
            }
            if !progress.syncing {
                progress.syncing = true;
                break progress.written;
            }
            progress = self.changed.wait(progress).unwrap_or_else(PoisonError::into_inner);
        };
        let safe = progress.synced;
        drop(progress);
        let result = journal.sync();
        // Outside the lock: it needs the session's, which others hold while they number appends.
        let taken_back = result.is_err() && take_back(safe.1);
        let mut progress = self.progress();
        progress.syncing = false;
        let outcome = match result {
            Ok(()) => {
                progress.synced = target;
                Ok(())
            }
            Err(error) => {
                let failure = Failure { kind: error.kind(), taken_back };
                let last = progress.written.0;
                progress.failed.push((safe.0, last, failure));
                progress.synced.0 = last;
                progress.written.1 = if taken_back { safe.1 } else { progress.written.1 };
                Err(failure.error())
            }
        };
        drop(progress);
        self.changed.notify_all();
        outcome
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
                let deadline = std::time::Instant::now() + delay;
                let over = loop {
                    let left = deadline.saturating_duration_since(std::time::Instant::now());
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
        failure.map_or(Ok(()), |error| Err(Error::NotDurable(error)))
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
