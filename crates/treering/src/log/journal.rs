//! The interface between sessions and their storage.

use super::checkpoint::Checkpoint;
use std::io;
use std::ops::Range;
use std::sync::Arc;

/// An append-only string of bytes, shared by any number of readers and writers.
///
/// Implementations promise three things, and `treering_testkit::story` checks them:
/// 1. bytes below [`len`](Journal::len) never change;
/// 2. an append is all or nothing: after an error, none of its bytes will ever be read as part of
///    the log, or what is left of them ends without a newline and the next reader sees a torn line;
/// 3. an append happens only at the end the writer knows, so that no writer appends without having seen
///    what came before.
///
/// Offsets are plain `u64`: a store that is not a file numbers its bytes as if it were one.
///
/// ```
/// use treering::storage::{End, Journal, JournalError, MemoryJournal};
/// let journal = MemoryJournal::new(b"one\n".to_vec());
/// let appended = journal.append(&End::from(4), b"two\n")?;
/// assert_eq!((appended.start, journal.len()?), (4, 8));
/// // Another writer was faster: nothing is written.
/// assert!(matches!(journal.append(&End::from(4), b"three\n"), Err(JournalError::Moved(_))));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait Journal: Send + Sync + std::fmt::Debug {
    /// Returns the length in bytes.
    fn len(&self) -> io::Result<u64>;

    /// Returns whether there is nothing.
    fn is_empty(&self) -> io::Result<bool> {
        Ok(self.len()? == 0)
    }

    /// Returns whether the journal may have grown since its length was asked for last.
    ///
    /// A remote journal that is told of changes answers without a request, so that following it costs
    /// nothing while nothing happens. Any other returns true.
    fn has_news(&self) -> bool {
        true
    }

    /// Reads at `offset` into `buffer`, as much as there is; 0 at the end.
    ///
    /// A remote journal may take the end to be where it was when [`len`](Journal::len) was called last, so
    /// that reading to the end needs no request. A reader that looks for what others appended calls `len` first.
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize>;

    /// Announces that all of these bytes will be read, from the first to the last. A remote journal asks for
    /// more of them at once.
    fn will_read(&self, range: Range<u64>) {
        let _ = range;
    }

    /// Returns everything, if the journal has it in memory for as long as it lives and nothing is
    /// ever added: then it need not be copied to be looked at.
    fn as_slice(&self) -> Option<&[u8]> {
        None
    }

    /// Appends whole lines, if the journal ends with `end`.
    fn append(&self, end: &End, lines: &[u8]) -> Result<Appended, JournalError>;

    /// Returns whether the journal keeps [checkpoints](Checkpoint): where it does not, none need be made.
    fn keeps_checkpoints(&self) -> bool {
        false
    }

    /// Appends as [`append`](Journal::append) does, and keeps the checkpoint until the next append.
    fn append_with(
        &self,
        end: &End,
        lines: &[u8],
        checkpoint: Option<&Checkpoint>,
    ) -> Result<Appended, JournalError> {
        let _ = checkpoint;
        self.append(end, lines)
    }

    /// Returns the checkpoint of the last append of a journal of this length, if it was made with one. The
    /// length is what [`len`](Journal::len) returned last.
    fn checkpoint(&self, length: u64) -> Option<Checkpoint> {
        let _ = length;
        None
    }

    /// Makes everything appended so far survive a power failure.
    fn sync(&self) -> io::Result<()>;

    /// Takes back the end of the log, from `length` on, if the journal's length is still `expected`
    /// (so no other append follows it). Used after a failed [`sync`](Journal::sync).
    fn truncate_if(&self, expected: u64, length: u64) -> io::Result<bool>;

    /// Replaces the first bytes by as many others, if they are `expected`. Returns whether they were.
    ///
    /// This is the one exception to the first promise, for dialects that keep the title of a session in
    /// a line of fixed length at its start. A storage that cannot do it returns false.
    fn replace_start(&self, expected: &[u8], bytes: &[u8]) -> Result<bool, JournalError> {
        let _ = (expected, bytes);
        Ok(false)
    }
}

/// Creates the journal of a session that has none yet.
pub(crate) trait CreateJournal: Send + Sync + std::fmt::Debug {
    /// Creates the journal with everything that `start` reads, or not at all.
    fn create(&self, start: &mut dyn io::Read) -> crate::Result<Arc<dyn Journal>>;

    /// Returns the name of the journal for messages.
    fn name(&self) -> String;
}

/// The end of a journal as a writer knows it: the length, and the start of the last line.
///
/// The length alone does not tell: an append that was taken back and made again may be just as long. Entries
/// have their ids at the start of their lines.
///
/// ```
/// use treering::storage::{End, Journal, MemoryJournal};
/// let journal = MemoryJournal::default();
/// journal.append(&End::from(0), b"one\n")?;
/// assert!(journal.append(&End::from(0), b"two\n").is_err());
/// assert!(journal.append(&End::from(4), b"two\n").is_ok());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct End {
    length: u64,
    /// The position where the last line begins, and its first bytes.
    offset: u64,
    start: Vec<u8>,
    /// Whether the writer wrote the last line itself. Then no other writer takes it back.
    is_own: bool,
}

/// The number of bytes of the last line that are compared.
const SAMPLE: usize = 256;

/// The end of a journal of this length, of which nothing else is known.
impl From<u64> for End {
    fn from(length: u64) -> Self {
        End { length, ..End::default() }
    }
}

impl End {
    /// Returns the length of the journal.
    pub fn length(&self) -> u64 {
        self.length
    }

    /// Returns the end of a journal of this length, whose last line begins at `offset` with `start`. At
    /// most 256 bytes of the line are kept.
    ///
    /// ```
    /// use treering::storage::{End, Journal, MemoryJournal};
    /// let journal = MemoryJournal::new(b"one\ntwo\n".to_vec());
    /// assert!(journal.append(&End::new(8, 4, b"six"), b"more\n").is_err());
    /// assert!(journal.append(&End::new(8, 4, b"two"), b"more\n").is_ok());
    /// ```
    pub fn new(length: u64, offset: u64, start: &[u8]) -> Self {
        let start = start[..start.len().min(SAMPLE)].to_vec();
        End { length, offset, start, is_own: false }
    }

    /// Returns where the last line begins, and its first bytes; `None` if only the length is known.
    pub fn last_line(&self) -> Option<(u64, &[u8])> {
        Some((self.offset, &*self.start)).filter(|(_, start)| !start.is_empty())
    }

    pub(crate) fn is_own(&self) -> bool {
        self.is_own
    }

    /// Returns whether the journal still has these bytes where they were seen. It may be longer.
    pub fn is_in(
        &self,
        mut read_at: impl FnMut(u64, &mut [u8]) -> io::Result<usize>,
    ) -> io::Result<bool> {
        let mut buffer = [0; SAMPLE];
        let Some(buffer) = buffer.get_mut(..self.start.len()) else { return Ok(false) };
        let got = read_sample(self.offset, buffer, &mut read_at)?;
        Ok(got == buffer.len() && *buffer == *self.start)
    }

    /// Moves to the end of `line`, which the writer has just appended at `offset`.
    pub(crate) fn set(&mut self, offset: u64, line: &[u8]) {
        (self.length, self.offset, self.is_own) = (offset + line.len() as u64, offset, true);
        self.start.clear();
        self.start.extend_from_slice(&line[..line.len().min(SAMPLE)]);
    }

    /// Reads the end of what a journal has up to `length`, the last line of which begins at `offset`.
    pub(crate) fn read(journal: &dyn Journal, offset: u64, length: u64) -> io::Result<Self> {
        let sampled = length.saturating_sub(offset).min(SAMPLE as u64);
        let mut start = vec![0; sampled as usize];
        let mut read_at = |offset, buffer: &mut [u8]| journal.read_at(offset, buffer);
        let got = read_sample(offset, &mut start, &mut read_at)?;
        start.truncate(got);
        Ok(End { length, offset, start, is_own: false })
    }
}

/// Reads until the buffer is full, or there is no more.
fn read_sample(
    offset: u64,
    buffer: &mut [u8],
    read_at: &mut impl FnMut(u64, &mut [u8]) -> io::Result<usize>,
) -> io::Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match read_at(offset + filled as u64, &mut buffer[filled..])? {
            0 => break,
            count => filled += count,
        }
    }
    Ok(filled)
}

/// The position of appended bytes. Usually at the expected length; later if a writer that takes no
/// lock slipped in between.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Appended {
    /// The offset of the first appended byte.
    pub start: u64,
}

/// The reason why an append did not happen.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum JournalError {
    /// The journal does not end as the writer thought: read on, then try again. Its length is given.
    #[error("the journal has moved to {0} bytes")]
    Moved(u64),
    /// The journal was deleted or replaced by another.
    #[error("the journal is gone")]
    Gone,
    /// Another process holds the lock and does not let go.
    #[error("locked by another process")]
    Locked,
    /// The storage failed; none of the bytes count.
    #[error(transparent)]
    Io(#[from] io::Error),
}
