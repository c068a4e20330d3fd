//! Parses a whole log while it arrives, and keeps its bytes in memory.
//!
//! A context without a compaction needs every line of the log twice: to build the tree, and to read the message. Logs in
//! a database are parsed here while the database still sends rows, so that both work at the same time.

use super::{LoadError, Loaded};
use crate::dialect::detect_start;
use crate::log::scan::{Bytes, Line};
use crate::log::{End, InMemoryFile, Journal};
use crate::tree::Insert;
use std::io;

/// The most bytes of a log that are kept in memory.
pub(crate) const MAX_STREAMED: u64 = 8 * 1024 * 1024;

/// Called with the state after a line and its bytes.
type OnLine<'a> = &'a mut dyn FnMut(&Loaded, &[u8]);

/// A log of which the first bytes have arrived.
struct PartialLog<'a> {
    journal: &'a dyn Journal,
    each: OnLine<'a>,
    length: usize,
    bytes: Vec<u8>,
    /// The position up to which newlines were searched for.
    searched: usize,
    loaded: Option<Loaded>,
    taken: Insert,
}

impl Loaded {
    /// Reads the first `length` bytes of a journal, as [`read_to`](Loaded::read_to) does, in one pass, and returns
    /// the bytes as well. Calls `each` after every terminated line, while the rest of the log arrives.
    pub(crate) fn stream(
        journal: &dyn Journal,
        length: u64,
        each: OnLine<'_>,
    ) -> Result<(Self, InMemoryFile), LoadError> {
        let length = usize::try_from(length).map_err(io::Error::other)?;
        let bytes = InMemoryFile::spare(length);
        let (loaded, taken) = (None, Insert::InOrder);
        let mut arriving = PartialLog { journal, each, length, bytes, searched: 0, loaded, taken };
        let mut result = Ok(());
        journal.stream(0..length as u64, &mut |piece| {
            if result.is_ok() {
                result = arriving.take(piece);
            }
        })?;
        result?;
        arriving.finish()
    }
}

impl PartialLog<'_> {
    /// Adds the next bytes, and all lines that end in them.
    fn take(&mut self, piece: &[u8]) -> Result<(), LoadError> {
        self.bytes.extend_from_slice(piece);
        let Some(loaded) = &mut self.loaded else {
            let dialect = detect_start(&self.bytes, self.bytes.len() >= self.length);
            let Some(dialect) = dialect else { return Ok(()) };
            let mut loaded = Loaded::from_start(dialect);
            loaded.reserve(self.length as u64);
            self.loaded = Some(loaded);
            return self.take(&[]);
        };
        while let Some(at) = memchr::memchr(b'\n', &self.bytes[self.searched..]) {
            let (start, end) = (loaded.complete as usize, self.searched + at);
            let (offset, len) = (start as u64, (end - start) as u64);
            let bytes = Bytes::Whole(&self.bytes[start..end]);
            let line = Line { offset, len, terminated: true, bytes };
            loaded.next_line(self.journal, line, &mut self.taken)?;
            (self.each)(loaded, &self.bytes[start..end]);
            self.searched = end + 1;
        }
        self.searched = self.bytes.len();
        Ok(())
    }

    fn finish(self) -> Result<(Loaded, InMemoryFile), LoadError> {
        let PartialLog { journal, length, bytes, loaded, mut taken, .. } = self;
        let loaded = loaded.filter(|_| bytes.len() == length);
        let mut loaded = loaded.ok_or(io::Error::from(io::ErrorKind::UnexpectedEof))?;
        let start = loaded.complete as usize;
        if start < length {
            let (offset, len) = (start as u64, (length - start) as u64);
            let line =
                Line { offset, len, terminated: false, bytes: Bytes::Whole(&bytes[start..]) };
            loaded.next_line(journal, line, &mut taken)?;
        }
        let last = loaded.last_line;
        loaded.end = End::new(loaded.seen, last, &bytes[last as usize..]);
        let loaded = loaded.finished(taken, length as u64)?;
        Ok((loaded, InMemoryFile::of(bytes)))
    }
}
