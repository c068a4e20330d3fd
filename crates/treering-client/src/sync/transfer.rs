//! Copies the lines that one log lacks from another.

use super::log::{Log, PIECE};
use super::plan::Plan;
use super::point::{PointSide, SyncPoint, WithheldRecord};
use super::title;
use super::{Conflict, ConflictReason};
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use treering::internal::records::{LineContent, LogFormat};
use treering::storage::{Appended, End, Journal, JournalError};
use treering::store::Store;
use treering::{CreateOptions, EntryId, Error, NewEntry, Result, Session, SessionId};

/// The maximum number of times that another writer may append first.
const ROUNDS: usize = 20;

/// The result of synchronizing a session in one direction.
#[derive(Debug, Default)]
pub(super) struct TransferResult {
    pub is_created: bool,
    /// Whether the session was removed from the target, and must not be created again.
    pub is_removed: bool,
    /// The number of bytes that were appended.
    pub bytes: u64,
    pub is_merged: bool,
    pub is_retitled: bool,
    pub conflict: Option<ConflictReason>,
    /// The number of records that have another content in the target, if that is expected.
    pub older: usize,
    /// The point up to which both logs now agree.
    pub point: Option<SyncPoint>,
    /// The lengths of both logs.
    pub lengths: Option<(u64, u64)>,
    /// The hash of the title that both logs now have.
    pub title: Option<String>,
    /// Whether the target has records that the source lacks.
    pub target_is_ahead: bool,
}

/// The synchronization of a session from a log to a store.
#[derive(Debug)]
pub(super) struct Transfer<'a> {
    pub id: &'a SessionId,
    pub source: &'a Log,
    pub to: &'a Arc<dyn Store>,
    /// The point that was recorded last.
    pub recorded: Option<SyncPoint>,
    /// The hash of the title that both logs had at that point.
    pub title: Option<&'a str>,
    /// Whether records with the same id count as equal.
    pub is_lenient: bool,
    /// Whether the session is created if the target does not have it.
    pub may_create: bool,
}

/// The reason why a round was interrupted.
enum RoundError {
    /// Another writer has appended first.
    Moved,
    Failed(Error),
}

impl From<io::Error> for RoundError {
    fn from(error: io::Error) -> Self {
        RoundError::Failed(Error::Storage(error))
    }
}

impl From<Error> for RoundError {
    fn from(error: Error) -> Self {
        RoundError::Failed(error)
    }
}

impl From<JournalError> for RoundError {
    fn from(error: JournalError) -> Self {
        match error {
            JournalError::Moved(_) => RoundError::Moved,
            JournalError::Io(error) => error.into(),
            other => io::Error::other(other).into(),
        }
    }
}

impl Transfer<'_> {
    /// Copies everything that the target lacks.
    pub(super) fn run(&self) -> Result<TransferResult> {
        if self.source.whole == 0 {
            return Ok(TransferResult::default());
        }
        let mut bytes = 0;
        for _ in 0..ROUNDS {
            let opened = match self.to.open(self.id) {
                Err(Error::UnknownSession(_)) if !self.may_create => {
                    return Ok(TransferResult { is_removed: true, ..TransferResult::default() });
                }
                Err(Error::UnknownSession(_)) => None,
                opened => Some(opened?),
            };
            let round = match opened {
                None => self.create(),
                Some(journal) => self.bring_to(&journal, &mut bytes),
            };
            match round {
                Ok(carried) => return Ok(carried),
                Err(RoundError::Moved | RoundError::Failed(Error::SessionExists(_))) => {}
                Err(RoundError::Failed(error)) => return Err(error),
            }
        }
        let what = format!("other programs write to {} all the time; try again", self.id);
        Err(Error::Storage(io::Error::new(io::ErrorKind::ResourceBusy, what)))
    }

    /// Creates the session in the target.
    fn create(&self) -> Result<TransferResult, RoundError> {
        let source = self.source;
        // A file appears complete or not at all. In other stores, a large session is created with
        // its first lines, so that an interrupted transfer can continue.
        let is_file = matches!(self.to.new_file(self.id, Path::new(""), 0), Ok(Some(_)));
        let mut first = source.whole;
        if !is_file && first > PIECE as u64 {
            first = source.line_start(PIECE as u64)?;
            if first == 0 {
                first = source.whole;
            }
        }
        let journal = self.to.create(self.id, &mut source.reader(0..first))?;
        let mut length = first;
        let rest = first..source.whole;
        source.pieces(std::slice::from_ref(&rest), |piece| {
            journal.append(&End::from(length), piece)?;
            length += piece.len() as u64;
            Ok::<(), RoundError>(())
        })?;
        journal.sync()?;
        let target = Log::read(journal)?;
        Ok(TransferResult {
            is_created: true,
            bytes: length,
            point: point_if_equal(source, &target)?,
            lengths: Some((source.length, target.length)),
            title: title::hash(source)?,
            ..TransferResult::default()
        })
    }

    /// Appends the lines that the target lacks.
    fn bring_to(
        &self,
        journal: &Arc<dyn Journal>,
        bytes: &mut u64,
    ) -> Result<TransferResult, RoundError> {
        let (source, target) = (self.source, Log::read(Arc::clone(journal))?);
        let point = self.point(&target)?;
        let format = LogFormat::of(&*target.journal)?;
        let plan = match target.whole == point.target.at && point.source.withheld.is_empty() {
            true => Plan::copy(point.source.at..source.whole),
            false => Plan::compare(source, &target, &point, &format)?,
        };
        let mut carried =
            TransferResult { target_is_ahead: plan.target_is_ahead, ..TransferResult::default() };
        if plan.collision_count > 0 && !self.is_lenient {
            carried.conflict = Some(ConflictReason::SameIds(plan.collisions));
            return Ok(carried);
        }
        carried.older = plan.collision_count;
        if plan.is_parted && !plan.send.is_empty() && !format.is_mergeable() {
            carried.conflict = Some(ConflictReason::Format(format.dialect()));
            return Ok(carried);
        }
        let mut length = target.length;
        if !plan.send.is_empty() {
            let is_torn = target.length > target.whole;
            let keeper = match plan.is_parted {
                true => Some(LeafKeeper::new(journal, length)?),
                false => None,
            };
            carried.is_merged = plan.is_parted;
            let mut fence: &[u8] = if is_torn { b"\n" } else { b"" };
            source.pieces(&plan.send, |piece| {
                let lines = [std::mem::take(&mut fence), piece].concat();
                let lines = match &keeper {
                    Some(keeper) => keeper.with_leaf(lines)?,
                    None => lines,
                };
                journal.append(&End::from(length), &lines)?;
                length += lines.len() as u64;
                *bytes += lines.len() as u64;
                if let Some(keeper) = &keeper {
                    keeper.appended(length);
                }
                Ok::<(), RoundError>(())
            })?;
            journal.sync()?;
        }
        carried.bytes = std::mem::take(bytes);
        let titles = title::carry(source, &target, self.title)?;
        (carried.is_retitled, carried.title) = (titles.is_replaced, titles.hash);
        let after = Log::read(Arc::clone(journal))?;
        carried.lengths = Some((source.length, after.length));
        // Lines that others wrote meanwhile were not compared.
        if after.length == length && !plan.target_is_ahead && carried.older == 0 {
            let mut target_withheld = plan.target_withheld;
            if plan.is_parted {
                let mut kept = kept_leaves(&after, &format, target.whole)?;
                kept.retain(|record| !plan.sent_kept.contains(&record.id));
                target_withheld.extend(kept);
            }
            carried.point = Some(SyncPoint {
                source: PointSide::new(source, source.whole, plan.source_withheld)?,
                target: PointSide::new(&after, after.whole, target_withheld)?,
            });
        }
        Ok(carried)
    }

    /// Returns the last common point: the recorded one if it is still valid, else one that is
    /// searched for.
    fn point(&self, target: &Log) -> io::Result<SyncPoint> {
        match &self.recorded {
            Some(point) if point.is_in(self.source, target)? => Ok(point.clone()),
            _ => SyncPoint::find(self.source, target),
        }
    }
}

/// Returns the `leaf` entries after a position that were written to preserve the leaf of the log.
fn kept_leaves(log: &Log, format: &LogFormat, from: u64) -> io::Result<Vec<WithheldRecord>> {
    let mut kept = Vec::new();
    log.lines(from..log.whole, |at, line| {
        if let LineContent::Entry(record) = format.line(line)
            && record.is_kept_leaf
        {
            kept.push(WithheldRecord { at, len: line.len() as u64 + 1, id: record.id });
        }
        Ok::<(), io::Error>(())
    })?;
    Ok(kept)
}

/// Returns the point at the end of two equal logs, unless one of them has grown.
fn point_if_equal(source: &Log, target: &Log) -> io::Result<Option<SyncPoint>> {
    if source.whole != target.length {
        return Ok(None);
    }
    let at = source.whole;
    let half = |log| PointSide::new(log, at, Vec::new());
    Ok(Some(SyncPoint { source: half(source)?, target: half(target)? }))
}

/// Preserves the leaf of a log while lines of another copy are added.
#[derive(Debug)]
struct LeafKeeper {
    overlay: Arc<Overlay>,
    session: Session,
    leaf: Option<EntryId>,
}

impl LeafKeeper {
    fn new(journal: &Arc<dyn Journal>, length: u64) -> Result<Self> {
        let pending = Pending { length, bytes: Vec::new() };
        let overlay =
            Arc::new(Overlay { journal: Arc::clone(journal), pending: Mutex::new(pending) });
        let session = Session::in_journal(
            Arc::clone(&overlay) as Arc<dyn Journal>,
            "",
            CreateOptions::new(),
        )?;
        let leaf = session.leaf();
        Ok(LeafKeeper { overlay, session, leaf })
    }

    /// Returns lines followed by a `leaf` entry, if the leaf would move otherwise.
    fn with_leaf(&self, lines: Vec<u8>) -> Result<Vec<u8>> {
        self.overlay.pending().bytes.extend_from_slice(&lines);
        self.session.refresh()?;
        if self.session.follow()? != self.leaf {
            self.session.append(NewEntry::kept_leaf(self.leaf.as_ref()))?;
        }
        Ok(self.overlay.pending().bytes.clone())
    }

    /// Removes lines that are now in the log.
    fn appended(&self, length: u64) {
        *self.overlay.pending() = Pending { length, bytes: Vec::new() };
    }
}

/// A log followed by bytes that are not written yet.
#[derive(Debug)]
struct Overlay {
    journal: Arc<dyn Journal>,
    pending: Mutex<Pending>,
}

#[derive(Debug)]
struct Pending {
    /// The length of the underlying log.
    length: u64,
    bytes: Vec<u8>,
}

impl Overlay {
    fn pending(&self) -> MutexGuard<'_, Pending> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Journal for Overlay {
    fn len(&self) -> io::Result<u64> {
        let pending = self.pending();
        Ok(pending.length + pending.bytes.len() as u64)
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let pending = self.pending();
        if offset < pending.length {
            let left = usize::try_from(pending.length - offset).unwrap_or(usize::MAX);
            let count = buffer.len().min(left);
            return self.journal.read_at(offset, &mut buffer[..count]);
        }
        let start = usize::try_from(offset - pending.length).unwrap_or(usize::MAX);
        let bytes = pending.bytes.get(start..).unwrap_or_default();
        let count = bytes.len().min(buffer.len());
        buffer[..count].copy_from_slice(&bytes[..count]);
        Ok(count)
    }

    fn append(&self, end: &End, lines: &[u8]) -> Result<Appended, JournalError> {
        let mut pending = self.pending();
        let start = pending.length + pending.bytes.len() as u64;
        if end.length() != start {
            return Err(JournalError::Moved(start));
        }
        pending.bytes.extend_from_slice(lines);
        Ok(Appended { start })
    }

    fn sync(&self) -> io::Result<()> {
        Ok(())
    }

    fn truncate_if(&self, _: u64, _: u64) -> io::Result<bool> {
        Ok(false)
    }
}

impl Conflict {
    pub(super) fn new(id: &SessionId, reason: ConflictReason) -> Self {
        Conflict { id: id.clone(), reason }
    }
}
