//! A journal that fails on demand.
//!
//! [`Faulty`] wraps another journal and lets operations succeed or fail according to its plan. A failed
//! append leaves what real storage leaves: nothing, the first bytes, or all bytes without an
//! acknowledgment.

use crate::rng::Rng;
use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use treering::storage::{Appended, End, Journal, JournalError, MemoryJournal};

/// The outcome of one append.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AppendFault {
    /// It works.
    Works,
    /// It fails before any byte.
    Nothing,
    /// It fails after this many bytes (at most all but the last), which stay.
    Short(usize),
    /// It fails after the last byte: everything is there, but the writer gets an error.
    Everything,
}

/// The outcome of one sync.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SyncFault {
    /// It works.
    Works,
    /// It fails.
    Fails,
}

/// Time that a delayed sync waits for appends.
const MAX_DELAY: Duration = Duration::from_secs(20);

/// Rates of failures in a random plan.
#[derive(Debug, Clone, Copy)]
pub struct Rates {
    /// Of appends.
    pub append: f64,
    /// Of syncs.
    pub sync: f64,
}

#[derive(Debug, Default)]
struct Plan {
    appends: VecDeque<AppendFault>,
    syncs: VecDeque<SyncFault>,
    /// The random plan, for calls after the end of the scripts.
    lot: Option<(Rng, Rates)>,
    counts: Counts,
    /// Length of the prefix that survives a crash.
    durable: u64,
    /// Syncs wait until this many appends were made.
    hold: u64,
}

/// Numbers of calls to a journal.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Appends that succeeded.
    pub appends: u64,
    /// Appends that failed.
    pub failed_appends: u64,
    /// Syncs that succeeded.
    pub syncs: u64,
    /// Syncs that failed.
    pub failed_syncs: u64,
    /// Times that bytes at the end of the log were removed.
    pub taken_back: u64,
}

/// A [`Journal`] that wraps another and fails as planned. Without a plan it never fails.
///
/// ```
/// use treering::{Message, Session};
/// use treering_testkit::faulty::{AppendFault, Faulty};
/// let journal = Faulty::in_memory();
/// let session = Session::in_journal(journal.clone(), "/project", Default::default())?;
/// session.append(Message::user("kept"))?;
/// journal.script_appends([AppendFault::Short(10)]);
/// assert!(session.append(Message::user("lost")).is_err());
/// assert!(session.append(Message::user("kept too")).is_ok());
/// # Ok::<(), treering::Error>(())
/// ```
#[derive(Debug)]
pub struct Faulty {
    inner: Arc<dyn Journal>,
    plan: Mutex<Plan>,
    appended: Condvar,
}

impl Faulty {
    /// Returns a journal in memory without planned failures.
    pub fn in_memory() -> Arc<Self> {
        Faulty::over(Arc::new(MemoryJournal::default()))
    }

    /// Returns a journal in memory that holds `bytes`, all of them durable.
    pub fn holding(bytes: &[u8]) -> Arc<Self> {
        Faulty::over(Arc::new(MemoryJournal::new(bytes.to_vec())))
    }

    /// Wraps another journal, whose bytes so far are durable.
    pub fn over(inner: Arc<dyn Journal>) -> Arc<Self> {
        let plan = Plan { durable: inner.len().unwrap_or(0), ..Plan::default() };
        Arc::new(Faulty { inner, plan: Mutex::new(plan), appended: Condvar::new() })
    }

    fn plan(&self) -> MutexGuard<'_, Plan> {
        self.plan.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sets what happens to the next appends, one by one.
    pub fn script_appends(&self, faults: impl IntoIterator<Item = AppendFault>) {
        self.plan().appends.extend(faults);
    }

    /// Sets what happens to the next syncs, one by one.
    pub fn script_syncs(&self, faults: impl IntoIterator<Item = SyncFault>) {
        self.plan().syncs.extend(faults);
    }

    /// Plans random faults from a seed.
    pub fn draw(&self, seed: u64, rates: Rates) {
        self.plan().lot = Some((Rng::new(seed), rates));
    }

    /// Removes all planned faults.
    pub fn heal(&self) {
        let mut plan = self.plan();
        plan.appends.clear();
        plan.syncs.clear();
        plan.lot = None;
        plan.hold = 0;
        drop(plan);
        self.appended.notify_all();
    }

    /// Makes syncs wait until `count` appends were made in all, so that the waiting appends are known.
    pub fn hold_syncs_until(&self, count: u64) {
        self.plan().hold = count;
    }

    /// Returns the numbers of calls so far.
    pub fn counts(&self) -> Counts {
        self.plan().counts
    }

    /// Returns everything in the log.
    pub fn contents(&self) -> Vec<u8> {
        let length = self.inner.len().expect("the inner journal does not fail");
        let mut bytes = vec![0; length as usize];
        let mut filled = 0;
        while filled < bytes.len() {
            let got = self.inner.read_at(filled as u64, &mut bytes[filled..]);
            match got.expect("the inner journal does not fail") {
                0 => break,
                count => filled += count,
            }
        }
        bytes.truncate(filled);
        bytes
    }

    /// Returns the length of the prefix that is on disk.
    pub fn durable(&self) -> u64 {
        self.plan().durable
    }

    /// Simulates a power failure: synced bytes stay, and a random beginning of the others. The session on
    /// this journal cannot be used afterwards.
    pub fn crash(&self, rng: &mut Rng) {
        let durable = self.plan().durable;
        let length = self.inner.len().expect("the inner journal does not fail");
        let kept = rng.range(durable, length + 1).min(length);
        let cut = self.inner.truncate_if(length, kept);
        assert!(
            cut.expect("the inner journal does not fail"),
            "another writer is active during a crash"
        );
    }
}

impl Plan {
    fn next_append(&mut self, length: usize) -> AppendFault {
        if let Some(fault) = self.appends.pop_front() {
            return fault;
        }
        let Some((rng, rates)) = &mut self.lot else { return AppendFault::Works };
        match rng.chance(rates.append) {
            false => AppendFault::Works,
            true => match rng.below(4) {
                0 => AppendFault::Nothing,
                1 => AppendFault::Everything,
                _ => AppendFault::Short(rng.index(length)),
            },
        }
    }

    fn next_sync(&mut self) -> SyncFault {
        if let Some(fault) = self.syncs.pop_front() {
            return fault;
        }
        let Some((rng, rates)) = &mut self.lot else { return SyncFault::Works };
        if rng.chance(rates.sync) { SyncFault::Fails } else { SyncFault::Works }
    }
}

fn failure(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::StorageFull, what.to_owned())
}

impl Journal for Faulty {
    fn len(&self) -> io::Result<u64> {
        self.inner.len()
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        self.inner.read_at(offset, buffer)
    }

    fn append(&self, end: &End, lines: &[u8]) -> Result<Appended, JournalError> {
        let mut plan = self.plan();
        let read_at = |offset, buffer: &mut [u8]| self.inner.read_at(offset, buffer);
        let expected = end.length();
        if self.inner.len()? != expected || !end.is_in(read_at)? {
            return self.inner.append(end, lines); // Moved: not an attempt that could fail.
        }
        let fault = plan.next_append(lines.len());
        let reaches = match fault {
            AppendFault::Works | AppendFault::Everything => lines.len(),
            AppendFault::Short(count) => count.min(lines.len().saturating_sub(1)),
            AppendFault::Nothing => 0,
        };
        let appended = match reaches {
            0 => Appended { start: expected },
            count => self.inner.append(end, &lines[..count])?,
        };
        if fault != AppendFault::Works {
            plan.counts.failed_appends += 1;
            return Err(failure("the disk is full").into());
        }
        plan.counts.appends += 1;
        self.appended.notify_all();
        Ok(appended)
    }

    fn sync(&self) -> io::Result<()> {
        let mut plan = self.plan();
        while plan.counts.appends < plan.hold {
            let waited = self.appended.wait_timeout(plan, MAX_DELAY);
            let (again, timeout) = waited.unwrap_or_else(PoisonError::into_inner);
            plan = again;
            if timeout.timed_out() {
                break; // The appends do not arrive: the test must fail instead of hanging.
            }
        }
        match plan.next_sync() {
            SyncFault::Works => {
                let length = self.inner.len()?;
                self.inner.sync()?;
                plan.durable = length;
                plan.counts.syncs += 1;
                Ok(())
            }
            SyncFault::Fails => {
                plan.counts.failed_syncs += 1;
                Err(failure("the disk did not answer"))
            }
        }
    }

    fn truncate_if(&self, expected: u64, length: u64) -> io::Result<bool> {
        let mut plan = self.plan();
        let done = self.inner.truncate_if(expected, length)?;
        plan.counts.taken_back += u64::from(done);
        plan.durable = plan.durable.min(self.inner.len()?);
        Ok(done)
    }

    fn replace_start(&self, expected: &[u8], bytes: &[u8]) -> Result<bool, JournalError> {
        self.inner.replace_start(expected, bytes)
    }
}
