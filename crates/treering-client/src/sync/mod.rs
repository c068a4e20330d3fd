//! Synchronizes two stores in one direction or in both.
//!
//! A session has the same id in both stores, and its logs only grow. If one of them is the
//! beginning of the other, the rest is appended. If both have grown, the records that a log lacks
//! are appended unchanged, if the format allows it: they name their parents, so that both histories
//! become branches of one session, and the leaf of the log that receives them does not move. If the
//! format does not allow it, a conflict is reported. Nothing is overwritten, and nothing is
//! removed.
//!
//! Only lines that the other side lacks are sent, in pieces of complete lines. An interrupted
//! transfer continues where it stopped, because the target shows how far it got. A record in a file
//! saves most of the comparisons the next time; see [`Syncer::with_record`].
//!
//! ```
//! use std::sync::Arc;
//! use treering::store::{MemoryStore, Store};
//! use treering::{CreateOptions, Message, Session};
//! use treering_client::sync::{Direction, Syncer};
//! let (local, remote): (Arc<dyn Store>, Arc<dyn Store>) =
//!     (Arc::new(MemoryStore::new()), Arc::new(MemoryStore::new()));
//! let session = Session::create_in(&local, "/project", CreateOptions::new())?;
//! session.append(Message::user("hello"))?;
//!
//! let syncer = Syncer::new(local, Arc::clone(&remote));
//! let report = syncer.all(Direction::Push, |_| {})?;
//! assert_eq!(report.created, 1);
//! assert!(remote.open(&session.id()).is_ok());
//! assert_eq!(syncer.all(Direction::Push, |_| {})?.unchanged, 1);
//! # Ok::<(), treering::Error>(())
//! ```

mod log;
mod plan;
mod point;
mod record;
mod report;
mod title;
mod transfer;

pub use report::{Conflict, ConflictReason, Failed, Outcome, Progress, Report};

use log::Log;
use point::SyncPoint;
use record::{Filtered, RecordedState, SyncRecord};
use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::io;
use std::path::Path;
use std::sync::Arc;
use transfer::{Transfer, TransferResult};
use treering::store::{ListQuery, Mark, Store};
use treering::{CreateOptions, Error, Result, Session, SessionId};

/// The direction of a synchronization.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// Copies from the local store to the remote one.
    Push,
    /// Copies from the remote store to the local one.
    Pull,
    /// Copies in both directions, one after the other.
    Both,
}

impl Direction {
    fn pushes(self) -> bool {
        self != Direction::Pull
    }

    fn pulls(self) -> bool {
        self != Direction::Push
    }
}

/// Returns a session read through a filter.
type Filter = Box<dyn Fn(&Session) -> Result<Session> + Send + Sync>;

/// A synchronization of the sessions of two stores.
pub struct Syncer {
    local: Arc<dyn Store>,
    remote: Arc<dyn Store>,
    record: SyncRecord,
    filter: Option<Filter>,
}

impl fmt::Debug for Syncer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = f.debug_struct("Syncer");
        debug.field("local", &self.local).field("remote", &self.remote).finish_non_exhaustive()
    }
}

/// The marks up to which the changes of both stores are known.
#[derive(Debug, Default)]
pub struct Follower {
    local: Option<Mark>,
    remote: Option<Mark>,
}

/// A session to synchronize.
#[derive(Debug)]
struct Candidate {
    id: SessionId,
    /// The size of the session in the list of the local store.
    listed: Option<u64>,
    /// The length of the remote log.
    remote: Option<u64>,
    /// Whether the caller named the session.
    is_named: bool,
}

impl Candidate {
    fn named(id: &SessionId) -> Self {
        Candidate { id: id.clone(), listed: None, remote: None, is_named: true }
    }
}

impl Syncer {
    /// Creates a syncer that remembers in memory what it has synchronized.
    pub fn new(local: Arc<dyn Store>, remote: Arc<dyn Store>) -> Self {
        Syncer { local, remote, record: SyncRecord::default(), filter: None }
    }

    /// Stores in a file of this directory what was synchronized: ids, lengths and hashes. The file
    /// can be deleted at any time: the next synchronization then compares more, and sends the same.
    #[must_use]
    pub fn with_record(self, directory: impl AsRef<Path>) -> Self {
        let (local, remote) = (self.local.location(), self.remote.location());
        // A filtered copy differs from the session itself, so it needs a record of its own.
        let remote = if self.filter.is_some() { format!("{remote}\nfiltered") } else { remote };
        let record = SyncRecord::open(directory.as_ref(), &local, &remote);
        Syncer { record, ..self }
    }

    /// Pushes sessions through a filter, such as a redaction. Must be called before
    /// [`with_record`](Syncer::with_record).
    ///
    /// The whole session is filtered every time, and the lines that are new since the last push are
    /// sent. Lines that were sent before are not changed: [`Report::older`] names the sessions in
    /// which the filter would now change some of them.
    #[must_use]
    pub fn with_filter(
        self,
        filter: impl Fn(&Session) -> Result<Session> + Send + Sync + 'static,
    ) -> Self {
        Syncer { filter: Some(Box::new(filter)), ..self }
    }

    /// Synchronizes all sessions of the source, or of both stores.
    ///
    /// A session that was synchronized before and is missing in the target was removed
    /// intentionally: it is listed in [`Report::removed`] and not created again.
    ///
    /// # Errors
    ///
    /// Fails if one of the stores cannot be listed. A failure of one session is part of the report.
    pub fn all(&self, direction: Direction, progress: impl FnMut(&Progress)) -> Result<Report> {
        let mut report = Report::default();
        let remote = listed(&*self.remote, &mut report.skipped)?;
        let local = listed(&*self.local, &mut report.skipped)?;
        let mut ids = BTreeSet::new();
        if direction.pulls() {
            ids.extend(remote.keys().cloned());
        }
        if direction.pushes() {
            ids.extend(local.keys().cloned());
        }
        let candidates = ids.into_iter().map(|id| {
            let (listed, remote) = (local.get(&id).copied(), remote.get(&id).copied());
            Candidate { id, listed, remote, is_named: false }
        });
        self.run(candidates.collect(), direction, report, progress)
    }

    /// Synchronizes some sessions.
    pub fn sessions(
        &self,
        ids: &[SessionId],
        direction: Direction,
        progress: impl FnMut(&Progress),
    ) -> Result<Report> {
        let candidates = ids.iter().map(Candidate::named).collect();
        self.run(candidates, direction, Report::default(), progress)
    }

    /// Synchronizes the sessions that changed in one of the stores since the last call. The first
    /// call only records the current state.
    ///
    /// # Errors
    ///
    /// Fails if one of the stores cannot be reached; the next call catches up.
    pub fn follow(
        &self,
        follower: &mut Follower,
        direction: Direction,
        progress: impl FnMut(&Progress),
    ) -> Result<Report> {
        let local = self.local.changes(follower.local.as_ref())?;
        let remote = self.remote.changes(follower.remote.as_ref())?;
        let mut changed = BTreeSet::new();
        // Most changes of one side were made by this syncer.
        for change in local.sessions.iter().filter(|_| direction.pushes()) {
            let is_known = |recorded: RecordedState| {
                recorded.is_settled.0 && Some(recorded.lengths.0) == change.length
            };
            if change.length.is_some() && !self.record.get(&change.id).is_some_and(is_known) {
                changed.insert(&change.id);
            }
        }
        for change in remote.sessions.iter().filter(|_| direction.pulls()) {
            let is_known = |recorded: RecordedState| {
                recorded.is_settled.1 && Some(recorded.lengths.1) == change.length
            };
            if change.length.is_some() && !self.record.get(&change.id).is_some_and(is_known) {
                changed.insert(&change.id);
            }
        }
        let candidates = changed.into_iter();
        let candidates = candidates.map(|id| Candidate { is_named: false, ..Candidate::named(id) });
        let report = self.run(candidates.collect(), direction, Report::default(), progress)?;
        // Sessions that failed are tried again.
        if report.failed.is_empty() {
            (follower.local, follower.remote) = (Some(local.mark), Some(remote.mark));
        }
        Ok(report)
    }

    fn run(
        &self,
        candidates: Vec<Candidate>,
        direction: Direction,
        mut report: Report,
        mut progress: impl FnMut(&Progress),
    ) -> Result<Report> {
        let total = candidates.len();
        for (done, candidate) in candidates.into_iter().enumerate() {
            let id = &candidate.id;
            let bytes = report.sent + report.received;
            progress(&Progress { done, total, id: id.clone(), bytes });
            report.sessions += 1;
            if self.is_settled(&candidate, direction) {
                report.unchanged += 1;
                continue;
            }
            match self.one(&candidate, direction) {
                Ok(outcome) => report.add(id, outcome),
                Err(error) => {
                    // A store that does not answer would not answer for the next session either.
                    let is_over = error.is_retryable() || is_refusal(&error);
                    report.failed.push(Failed { id: id.clone(), error });
                    if is_over {
                        report.left = total - done - 1;
                        break;
                    }
                }
            }
        }
        Ok(report)
    }

    /// Synchronizes one session.
    ///
    /// # Errors
    ///
    /// Fails if a store fails, and with [`Error::UnknownSession`] if no source has the session.
    pub fn session(&self, id: &SessionId, direction: Direction) -> Result<Outcome> {
        self.one(&Candidate::named(id), direction)
    }

    fn one(&self, candidate: &Candidate, direction: Direction) -> Result<Outcome> {
        let id = &candidate.id;
        let mut outcome = Outcome::default();
        let mut found = false;
        for is_push in [true, false] {
            if !(if is_push { direction.pushes() } else { direction.pulls() }) {
                continue;
            }
            let (from, to) = match is_push {
                true => (&self.local, &self.remote),
                false => (&self.remote, &self.local),
            };
            let journal = match from.open(id) {
                Err(Error::UnknownSession(_)) => continue,
                journal => journal?,
            };
            found = true;
            let source = Log::read(journal).map_err(Error::Storage)?;
            let carried = self.carry(candidate, &source, to, is_push)?;
            outcome.add(id, carried, is_push);
        }
        match found {
            true => Ok(outcome),
            false => Err(Error::UnknownSession(id.clone())),
        }
    }

    /// Synchronizes a session in one direction and records the result.
    fn carry(
        &self,
        candidate: &Candidate,
        log: &Log,
        to: &Arc<dyn Store>,
        is_push: bool,
    ) -> Result<TransferResult> {
        let id = &candidate.id;
        let recorded = self.record.get(id);
        let oriented = |point: SyncPoint| if is_push { point } else { point.flipped() };
        let filtered = match &self.filter {
            Some(filter) if is_push => Some(filtered(log, filter)?),
            _ => None,
        };
        let source = filtered.as_ref().unwrap_or(log);
        let mut is_older = false;
        let mut point = recorded.as_ref().and_then(|recorded| recorded.point.clone()).map(oriented);
        if let Some(known) = recorded.as_ref().and_then(|recorded| recorded.filtered.as_ref()) {
            (point, is_older) = moved(point, known, source).map_err(Error::Storage)?;
        }
        let carry = Transfer {
            id,
            source,
            to,
            recorded: point,
            title: recorded.as_ref().and_then(|recorded| recorded.title.as_deref()),
            is_lenient: self.filter.is_some(),
            // A session that was synchronized before and is missing was removed intentionally.
            may_create: candidate.is_named || recorded.is_none(),
        };
        let mut carried = carry.run()?;
        carried.older = carried.older.max(usize::from(is_older));
        if let Some(lengths) = &mut carried.lengths
            && filtered.is_some()
        {
            lengths.0 = log.length;
        }
        self.remember(candidate, source, recorded, &carried, is_push)?;
        Ok(carried)
    }

    fn remember(
        &self,
        candidate: &Candidate,
        source: &Log,
        before: Option<RecordedState>,
        carried: &TransferResult,
        is_push: bool,
    ) -> Result<()> {
        let Some(lengths) = carried.lengths else { return Ok(()) };
        let id = &candidate.id;
        let mut recorded = before.unwrap_or_else(|| RecordedState::new(id));
        let lengths = if is_push { lengths } else { (lengths.1, lengths.0) };
        if recorded.lengths != lengths {
            (recorded.lengths, recorded.is_settled) = (lengths, (false, false));
        }
        let (settled, other) = match is_push {
            true => (&mut recorded.is_settled.0, &mut recorded.is_settled.1),
            false => (&mut recorded.is_settled.1, &mut recorded.is_settled.0),
        };
        *settled = true;
        *other |= !carried.target_is_ahead && carried.title.is_some() == (source.title > 0);
        if let Some(point) = &carried.point {
            if self.filter.is_some() {
                let at = point.source.at;
                let lines = source.count_lines(at).map_err(Error::Storage)?;
                let hash = source.hash(at).map_err(Error::Storage)?;
                recorded.filtered = Some(Filtered { lines, hash });
            }
            let point = point.clone();
            recorded.point = Some(if is_push { point } else { point.flipped() });
        }
        // The log had the length in the list, or was longer.
        recorded.listed = candidate.listed;
        if carried.title.is_some() {
            recorded.title.clone_from(&carried.title);
        }
        self.record.set(id, recorded);
        Ok(())
    }

    /// Returns whether, according to the lists, nothing has changed since there was nothing to do.
    fn is_settled(&self, candidate: &Candidate, direction: Direction) -> bool {
        let Some(recorded) = self.record.get(&candidate.id) else { return false };
        let is_settled = (!direction.pushes() || recorded.is_settled.0)
            && (!direction.pulls() || recorded.is_settled.1);
        is_settled
            // A title is replaced without a change of the length.
            && recorded.title.is_none()
            && candidate.remote == Some(recorded.lengths.1)
            && candidate.listed.is_some()
            && candidate.listed == recorded.listed
    }
}

/// Returns all sessions of a store with their sizes.
fn listed(store: &dyn Store, skipped: &mut usize) -> Result<HashMap<SessionId, u64>> {
    let mut query = ListQuery::new().limit(ListQuery::MAX_LIMIT);
    let mut sessions = HashMap::new();
    loop {
        let page = store.list(&query)?;
        for session in page.sessions {
            match SessionId::new(session.id.as_str()) {
                Ok(id) => {
                    sessions.insert(id, session.size);
                }
                Err(_) => *skipped += 1,
            }
        }
        match page.next {
            Some(next) => query = query.after(next),
            None => return Ok(sessions),
        }
    }
}

/// Returns whether the server refuses the token.
fn is_refusal(error: &Error) -> bool {
    matches!(error, Error::Storage(error) if error.kind() == io::ErrorKind::PermissionDenied)
}

/// Returns a log read through a filter.
fn filtered(log: &Log, filter: &Filter) -> Result<Log> {
    let session = Session::in_journal(Arc::clone(&log.journal), "", CreateOptions::new())?;
    let filtered = filter(&session)?;
    Log::read(treering::internal::journal_of(&filtered)).map_err(Error::Storage)
}

/// Returns the recorded point in the lines that the filter now returns, and whether the filter
/// changed lines before it.
fn moved(
    point: Option<SyncPoint>,
    known: &Filtered,
    source: &Log,
) -> io::Result<(Option<SyncPoint>, bool)> {
    let Some(mut point) = point else { return Ok((None, false)) };
    if point.source.at <= source.whole && source.hash(point.source.at)? == known.hash {
        return Ok((Some(point), false));
    }
    let Some(at) = source.offset_of_line(known.lines)? else { return Ok((None, true)) };
    point.source.at = at;
    point.source.sample = source.sample(at)?;
    Ok((Some(point), true))
}
