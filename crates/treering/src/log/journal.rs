//! The interface between sessions and their storage.

use super::checkpoint::Checkpoint;
use std::io;
use std::ops::Range;
use std::sync::Arc;

/// The size of the pieces in which [`Journal::stream`] reads by default, in bytes.
const STREAMED: usize = 128 * 1024;

/// An append-only sequence of bytes, shared by any number of readers and writers.
///
/// Implementations promise three things, and `treering_testkit::story` checks them:
/// 1. bytes below [`len`](Journal::len) never change;
/// 2. an append is all or nothing: after an error, none of its bytes will ever be read as part of
///    the log, or the remaining bytes end without a newline and the next reader sees a torn line;
/// 3. an append happens only at the end that the writer knows, so that no writer appends without
///    having seen everything before it.
///
/// Offsets are plain `u64`: a storage that is not a file numbers its bytes as if it were one.
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

    /// Returns whether the journal is empty.
    fn is_empty(&self) -> io::Result<bool> {
        Ok(self.len()? == 0)
    }

    /// Returns whether the journal may have grown since its length was asked for last.
    ///
    /// A remote journal that is notified of changes answers without a request, so that following it
    /// costs nothing while there are no changes. Other journals return true.
    fn has_news(&self) -> bool {
        true
    }

    /// Reads bytes at `offset` into `buffer` and returns how many; 0 at the end.
    ///
    /// A remote journal may assume that the length is the one that [`len`](Journal::len) returned
    /// last, so that reading to the end needs no request. A reader that wants to see the appends of
    /// others calls `len` first.
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize>;

    /// Announces that all of these bytes will be read in order, so that a remote journal can
    /// request more of them at once.
    fn will_read(&self, range: Range<u64>) {
        let _ = range;
    }

    /// Reads a range in order and calls `each` with every piece as it arrives. A remote journal receives the next
    /// pieces while `each` runs.
    ///
    /// `each` must not use the journal, which may hold its only connection until the range is read.
    ///
    /// # Errors
    ///
    /// Fails with [`io::ErrorKind::UnexpectedEof`] if the journal is shorter than the range, or was replaced since its
    /// length was read. A remote journal does not retry after a lost connection, because `each` was already called; a
    /// caller that can start over does so with [`read_at`](Journal::read_at).
    fn stream(&self, range: Range<u64>, each: &mut dyn FnMut(&[u8])) -> io::Result<()> {
        let mut buffer = vec![0; STREAMED];
        let mut at = range.start;
        while at < range.end {
            let want = usize::try_from(range.end - at).map_or(STREAMED, |left| left.min(STREAMED));
            match self.read_at(at, &mut buffer[..want])? {
                0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                count => {
                    each(&buffer[..count]);
                    at += count as u64;
                }
            }
        }
        Ok(())
    }

    /// Returns the whole content, if the journal has it in memory for its lifetime and never grows,
    /// so that it need not be copied.
    fn as_slice(&self) -> Option<&[u8]> {
        None
    }

    /// Appends complete lines, if the journal ends with `end`.
    fn append(&self, end: &End, lines: &[u8]) -> Result<Appended, JournalError>;

    /// Returns whether the journal stores [checkpoints](Checkpoint). If not, none need be made.
    fn keeps_checkpoints(&self) -> bool {
        false
    }

    /// Appends as [`append`](Journal::append) does, and stores the checkpoint until the next
    /// append.
    fn append_with(
        &self,
        end: &End,
        lines: &[u8],
        checkpoint: Option<&Checkpoint>,
    ) -> Result<Appended, JournalError> {
        let _ = checkpoint;
        self.append(end, lines)
    }

    /// Returns the checkpoint of the last append to a journal of this length, if it has one. The
    /// length is the one that [`len`](Journal::len) returned last.
    fn checkpoint(&self, length: u64) -> Option<Checkpoint> {
        let _ = length;
        None
    }

    /// Makes everything appended so far survive a power failure.
    fn sync(&self) -> io::Result<()>;

    /// Removes the end of the log, from `length` on, if the journal's length is still `expected`,
    /// so that no other append follows. Used after a failed [`sync`](Journal::sync).
    fn truncate_if(&self, expected: u64, length: u64) -> io::Result<bool>;

    /// Replaces the first bytes by as many others, if they equal `expected`. Returns whether they
    /// did.
    ///
    /// This is the one exception to the first promise, for dialects that keep the title of a
    /// session in a line of fixed length at its start. A storage that cannot do this returns false.
    fn replace_start(&self, expected: &[u8], bytes: &[u8]) -> Result<bool, JournalError> {
        let _ = (expected, bytes);
        Ok(false)
    }
}

/// Creates the journal of a session that has none yet.
pub(crate) trait CreateJournal: Send + Sync + std::fmt::Debug {
    /// Creates the journal with all bytes that `start` reads, or not at all.
    fn create(&self, start: &mut dyn io::Read) -> crate::Result<Arc<dyn Journal>>;

    /// Returns the name of the journal for messages.
    fn name(&self) -> String;
}

/// The end of a journal as a writer knows it: the length, and the start of the last line.
///
/// The length alone is not enough: an append that was removed may be followed by another of the
/// same length. The start of the last line distinguishes them, because it has the entry's id.
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
    /// The offset and the first bytes of the last line.
    offset: u64,
    start: Vec<u8>,
    /// Whether the writer itself wrote the last line. No other writer removes it then.
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

    /// Returns the offset and the first bytes of the last line; `None` if only the length is known.
    pub fn last_line(&self) -> Option<(u64, &[u8])> {
        Some((self.offset, &*self.start)).filter(|(_, start)| !start.is_empty())
    }

    pub(crate) fn is_own(&self) -> bool {
        self.is_own
    }

    /// Returns whether the journal still has these bytes at the same offset. It may be longer.
    pub fn is_in(
        &self,
        mut read_at: impl FnMut(u64, &mut [u8]) -> io::Result<usize>,
    ) -> io::Result<bool> {
        let mut buffer = [0; SAMPLE];
        let Some(buffer) = buffer.get_mut(..self.start.len()) else { return Ok(false) };
        let got = read_sample(self.offset, buffer, &mut read_at)?;
        Ok(got == buffer.len() && *buffer == *self.start)
    }

    /// Moves the end after `line`, which the writer has just appended at `offset`.
    pub(crate) fn set(&mut self, offset: u64, line: &[u8]) {
        (self.length, self.offset, self.is_own) = (offset + line.len() as u64, offset, true);
        self.start.clear();
        self.start.extend_from_slice(&line[..line.len().min(SAMPLE)]);
    }

    /// Reads the end of the first `length` bytes of a journal, whose last line begins at `offset`.
    pub(crate) fn read(journal: &dyn Journal, offset: u64, length: u64) -> io::Result<Self> {
        let sampled = length.saturating_sub(offset).min(SAMPLE as u64);
        let mut start = vec![0; sampled as usize];
        let mut read_at = |offset, buffer: &mut [u8]| journal.read_at(offset, buffer);
        let got = read_sample(offset, &mut start, &mut read_at)?;
        start.truncate(got);
        Ok(End { length, offset, start, is_own: false })
    }
}

/// Reads until the buffer is full or the journal ends.
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

/// The position of appended bytes: usually the expected length, or a later offset if a writer that
/// takes no lock appended first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Appended {
    /// The offset of the first appended byte.
    pub start: u64,
}

/// The reason why an append failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum JournalError {
    /// The journal does not end as the writer expected: read the new entries, then try again. The
    /// value is the length of the journal.
    #[error("the journal has moved to {0} bytes")]
    Moved(u64),
    /// The journal was deleted or replaced by another.
    #[error("the journal is gone")]
    Gone,
    /// Another process holds the lock and does not release it.
    #[error("locked by another process")]
    Locked,
    /// The storage failed; none of the bytes count.
    #[error(transparent)]
    Io(#[from] io::Error),
}
