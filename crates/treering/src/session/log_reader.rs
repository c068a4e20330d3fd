//! Reads entries in the order of the log, with their positions, for followers of a session.

use crate::entry::Entry;
use crate::error::{Error, Result};
use crate::load::{LoadError, Loaded};
use crate::log::{Appended, End, Journal, JournalError, scan};
use crate::snapshot::{Bodies, Snapshot};
use crate::tree::{Node, Row};
use std::cmp::Ordering;
use std::fmt;
use std::io;
use std::path::Path;
use std::str::FromStr;
use std::sync::Arc;

/// A position in a log, after an entry: the end of the entry's line, and the number of the entry on
/// the line, if the line has several.
///
/// As text it is `OFFSET` or `OFFSET.NUMBER`.
///
/// ```
/// use treering::session::LogPosition;
/// let position: LogPosition = "812.2".parse()?;
/// assert_eq!((position.offset, position.number), (812, Some(2)));
/// assert!(position < LogPosition::from(812));
/// assert_eq!(position.to_string(), "812.2");
/// # Ok::<(), treering::session::InvalidLogPosition>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct LogPosition {
    /// The offset after the line, including its newline.
    pub offset: u64,
    /// The number of the entry on the line, counted from 1; `None` for the whole line.
    pub number: Option<u32>,
}

impl From<u64> for LogPosition {
    fn from(offset: u64) -> Self {
        LogPosition { offset, number: None }
    }
}

impl Ord for LogPosition {
    fn cmp(&self, other: &Self) -> Ordering {
        let key = |position: &LogPosition| (position.offset, position.number.unwrap_or(u32::MAX));
        key(self).cmp(&key(other))
    }
}

impl PartialOrd for LogPosition {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl fmt::Display for LogPosition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.number {
            Some(number) => write!(f, "{}.{number}", self.offset),
            None => write!(f, "{}", self.offset),
        }
    }
}

/// A text that is not a position in a log.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a position in a log: OFFSET or OFFSET.NUMBER")]
pub struct InvalidLogPosition(String);

impl FromStr for LogPosition {
    type Err = InvalidLogPosition;

    fn from_str(text: &str) -> std::result::Result<Self, InvalidLogPosition> {
        let invalid = || InvalidLogPosition(text.chars().take(64).collect());
        let is_number = |part: &str| {
            (1..=18).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_digit())
        };
        let (offset, number) = match text.split_once('.') {
            Some((offset, number)) => (offset, Some(number)),
            None => (text, None),
        };
        if !is_number(offset) || number.is_some_and(|number| !is_number(number)) {
            return Err(invalid());
        }
        let number = number.map(|number| number.parse::<u32>().map_err(|_| invalid()));
        let offset = offset.parse().map_err(|_| invalid())?;
        Ok(LogPosition { offset, number: number.transpose()? })
    }
}

/// An entry and its position in the log.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct LoggedEntry {
    /// The position after the entry.
    pub position: LogPosition,
    /// The entry. If a later line has the same id, this is still the entry of its own line.
    pub entry: Entry,
}

/// Entries of a log, returned by a `LogReader`.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct LoggedEntries {
    /// The entries, in the order of the log.
    pub entries: Vec<LoggedEntry>,
    /// The offset up to which lines were read, and from which the next read continues.
    pub end: u64,
    /// The length of the log when it was read.
    pub length: u64,
}

/// A reader of the entries of a log, in order and from any position on, which can continue when the
/// log has grown.
///
/// A log in treering's own format is read from the position on, whatever its size. Entries of other
/// dialects may depend on earlier lines, so the whole log is read once.
///
/// ```
/// use std::sync::Arc;
/// use treering::session::LogReader;
/// use treering::storage::MemoryJournal;
/// use treering::{CreateOptions, Message, Session};
/// let journal = Arc::new(MemoryJournal::default());
/// let session = Session::in_journal(journal.clone(), "/project", CreateOptions::new())?;
/// let first = session.append(Message::user("one"))?;
/// let mut reader = LogReader::new(journal);
/// let read = reader.after(0.into(), 1 << 20)?;
/// assert_eq!(read.entries[0].entry.id(), &first);
///
/// let second = session.append(Message::user("two"))?;
/// let read = reader.after(read.entries[0].position, 1 << 20)?;
/// assert_eq!(read.entries[0].entry.id(), &second);
/// # Ok::<(), treering::Error>(())
/// ```
#[derive(Debug)]
pub struct LogReader {
    journal: Arc<dyn Journal>,
    state: ReaderState,
}

#[derive(Debug)]
enum ReaderState {
    /// Nothing was read yet.
    New,
    /// The header of a log whose lines can be read without those before them.
    Header(Box<Loaded>),
    /// The whole log, as far as it was read.
    Whole(Box<Loaded>),
}

impl LogReader {
    /// Creates a reader. Nothing is read yet.
    pub fn new(journal: Arc<dyn Journal>) -> Self {
        LogReader { journal, state: ReaderState::New }
    }

    /// Returns the entries after a position: about as many as are in `max_bytes` of the log, and
    /// always whole lines. An incomplete last line is left for a later call.
    ///
    /// # Errors
    ///
    /// Fails with [`Error::Storage`] if the log cannot be read, and with [`Error::NotASession`] if
    /// it is not the log of a session.
    pub fn after(&mut self, position: LogPosition, max_bytes: u64) -> Result<LoggedEntries> {
        // A journal may hide bytes that were appended since its length was requested last.
        let length = self.journal.len().map_err(Error::Storage)?;
        let lines = Lines::read(&self.journal, position, max_bytes).map_err(Error::Storage)?;
        if lines.bytes.is_empty() {
            return Ok(LoggedEntries { entries: Vec::new(), end: lines.start, length });
        }
        let overlay = Arc::new(Overlay { lines, rest: Arc::clone(&self.journal) });
        let view = self.view(&overlay)?;
        let (lines, tree) = (&overlay.lines, view.tree());
        let mut bodies = Bodies::default();
        let mut entries: Vec<LoggedEntry> = Vec::new();
        // The index of the first entry of the current line, and the end of the line.
        let (mut first, mut line_end) = (0, 0);
        let rows = Row::range(tree.row_from(lines.start)..tree.next_row());
        for row in rows.take_while(|row| tree.node(*row).offset < lines.end()) {
            let node = tree.node(row);
            let end = lines.end_of_line(node.offset + node.len);
            if end != line_end {
                number(&mut entries[first..]);
                (first, line_end) = (entries.len(), end);
            }
            let entry = bodies.entry(&view, row)?;
            entries.push(LoggedEntry { position: end.into(), entry });
        }
        number(&mut entries[first..]);
        entries.retain(|logged| logged.position > position);
        Ok(LoggedEntries { entries, end: lines.end(), length: length.max(lines.end()) })
    }

    /// Returns a snapshot with at least the rows of some lines.
    fn view(&mut self, overlay: &Arc<Overlay>) -> Result<Snapshot> {
        let failed = |error: LoadError| error.at(Some(Path::new("(journal)")));
        let journal = || Arc::clone(overlay) as Arc<dyn Journal>;
        if matches!(self.state, ReaderState::New) {
            let length = overlay.len().map_err(Error::Storage)?;
            let header = Loaded::read_header(&**overlay, length).map_err(failed)?;
            if let Some(header) = header.filter(Loaded::is_suffix_readable) {
                self.state = ReaderState::Header(Box::new(header));
            }
        }
        if let ReaderState::Header(header) = &self.state {
            let (start, end) = (overlay.lines.start, overlay.lines.end());
            let part = Loaded::clone(header).read_suffix(&**overlay, start, end).map_err(failed)?;
            // An id that is derived from its line number needs the lines before it.
            if !part.tree.nodes().any(|node| node.has(Node::DERIVED)) {
                return Ok(Snapshot::new(&part, journal(), true));
            }
        }
        let is_read = match &mut self.state {
            ReaderState::Whole(loaded) => loaded.refresh(&*self.journal).map_err(failed)?.is_some(),
            _ => false,
        };
        if !is_read {
            let loaded = Loaded::read(&*self.journal).map_err(failed)?;
            self.state = ReaderState::Whole(Box::new(loaded));
        }
        match &self.state {
            ReaderState::Whole(loaded) => Ok(Snapshot::new(loaded, journal(), false)),
            _ => Err(Error::Storage(io::ErrorKind::UnexpectedEof.into())),
        }
    }
}

/// Numbers the entries of a line, if there are several.
fn number(line: &mut [LoggedEntry]) {
    if line.len() > 1 {
        for (logged, number) in line.iter_mut().zip(1..) {
            logged.position.number = Some(number);
        }
    }
}

/// Complete lines of a log.
#[derive(Debug)]
struct Lines {
    start: u64,
    bytes: Vec<u8>,
}

/// The number of bytes in which a log is read backwards.
const STEP: u64 = 16 * 1024;

impl Lines {
    /// Reads the lines with entries after `position`.
    fn read(journal: &Arc<dyn Journal>, position: LogPosition, max_bytes: u64) -> io::Result<Self> {
        // The earlier entries of a line with several entries are read again.
        let inside = match position.number {
            Some(_) => position.offset.saturating_sub(1),
            None => position.offset,
        };
        let mut start = line_start(&**journal, inside)?;
        let mut bytes = Vec::new();
        let mut want = max_bytes.max(STEP);
        loop {
            let filled = bytes.len();
            bytes.resize(filled + usize::try_from(want).map_err(io::Error::other)?, 0);
            let got = scan::read_full(&**journal, start + filled as u64, &mut bytes[filled..])?;
            bytes.truncate(filled + got);
            if let Some(last) = memchr::memrchr(b'\n', &bytes) {
                bytes.truncate(last + 1);
                return Ok(Lines { start, bytes });
            }
            if (got as u64) < want {
                // The only line is incomplete.
                bytes.clear();
                start = start.min(inside);
                return Ok(Lines { start, bytes });
            }
            want = want.saturating_mul(2);
        }
    }

    fn end(&self) -> u64 {
        self.start + self.bytes.len() as u64
    }

    /// Returns the end of the line that contains the byte before `offset`.
    fn end_of_line(&self, offset: u64) -> u64 {
        let from = usize::try_from(offset.saturating_sub(self.start)).unwrap_or(usize::MAX);
        let rest = self.bytes.get(from..).unwrap_or_default();
        let after = memchr::memchr(b'\n', rest).map_or(rest.len(), |newline| newline + 1);
        offset + after as u64
    }
}

/// Returns the start of the line that contains the byte at `offset`.
fn line_start(journal: &dyn Journal, offset: u64) -> io::Result<u64> {
    let mut end = offset;
    let mut bytes = Vec::new();
    // The byte before is nearly always a newline.
    let mut step = 1;
    while end > 0 {
        let start = end.saturating_sub(step);
        bytes.resize((end - start) as usize, 0);
        let got = scan::read_full(journal, start, &mut bytes)?;
        if let Some(at) = memchr::memrchr(b'\n', &bytes[..got]) {
            return Ok(start + at as u64 + 1);
        }
        (end, step) = (start, STEP);
    }
    Ok(0)
}

/// A journal of which some lines are in memory. Nothing can be appended to it.
#[derive(Debug)]
struct Overlay {
    lines: Lines,
    rest: Arc<dyn Journal>,
}

impl Journal for Overlay {
    fn len(&self) -> io::Result<u64> {
        Ok(self.lines.end())
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let Some(from) = offset.checked_sub(self.lines.start) else {
            let before = usize::try_from(self.lines.start - offset).unwrap_or(usize::MAX);
            let wanted = buffer.len().min(before);
            return self.rest.read_at(offset, &mut buffer[..wanted]);
        };
        let from = usize::try_from(from).map_err(io::Error::other)?;
        let rest = self.lines.bytes.get(from..).unwrap_or_default();
        let count = rest.len().min(buffer.len());
        buffer[..count].copy_from_slice(&rest[..count]);
        Ok(count)
    }

    fn append(&self, _: &End, _: &[u8]) -> std::result::Result<Appended, JournalError> {
        Err(JournalError::Io(io::ErrorKind::Unsupported.into()))
    }

    fn sync(&self) -> io::Result<()> {
        Ok(())
    }

    fn truncate_if(&self, _: u64, _: u64) -> io::Result<bool> {
        Ok(false)
    }
}
