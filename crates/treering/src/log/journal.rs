//! The storage seam.

use std::io;

/// An append-only string of bytes, shared by any number of readers and writers.
///
/// Implementations promise three things, and `treering_testkit::story` checks them:
/// 1. bytes below [`len`](Journal::len) never change;
/// 2. an append is all or nothing: after an error, none of its bytes will ever be read as part of
///    the log, or what is left of them ends without a newline and the next reader sees a torn line;
/// 3. an append happens only at the length the writer knows, so nobody appends without having seen
///    what came before.
///
/// Offsets are plain `u64`: a store that is not a file numbers its bytes as if it were one.
pub trait Journal: Send + Sync + std::fmt::Debug {
    /// How many bytes there are.
    fn len(&self) -> io::Result<u64>;

    /// Whether there is nothing.
    fn is_empty(&self) -> io::Result<bool> {
        Ok(self.len()? == 0)
    }

    /// Reads at `offset` into `buffer`, as much as there is; 0 at the end.
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize>;

    /// Everything, if the journal has it in memory for as long as it lives and nothing is ever added:
    /// then it need not be copied to be looked at.
    fn held(&self) -> Option<&[u8]> {
        None
    }

    /// Appends whole lines, if the journal's length is `expected`.
    fn append(&self, expected: u64, lines: &[u8]) -> Result<Appended, JournalError>;

    /// Makes everything appended so far survive a power failure.
    fn sync(&self) -> io::Result<()>;

    /// Takes back the end of the log, from `length` on, if the journal's length is still `expected`
    /// (so nobody has built on it). Used after a failed [`sync`](Journal::sync).
    fn take_back(&self, expected: u64, length: u64) -> io::Result<bool>;
}

/// Where appended bytes landed. Usually at the expected length; later if a writer that takes no
/// lock slipped in between.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Appended {
    /// The offset of the first appended byte.
    pub start: u64,
}

/// Why an append did not happen.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum JournalError {
    /// The journal is not as long as the writer thought: read on, then try again.
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
