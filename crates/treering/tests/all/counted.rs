//! A journal in memory that counts how much of it is read.

use std::io;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use treering::storage::{Appended, Checkpoint, End, Journal, JournalError, MemoryJournal};

/// A [`MemoryJournal`] that counts reads and the bytes they give.
#[derive(Debug, Default)]
pub(crate) struct CountedJournal {
    memory: MemoryJournal,
    reads: AtomicUsize,
    bytes_read: AtomicU64,
}

impl CountedJournal {
    pub(crate) fn new(bytes: Vec<u8>) -> Self {
        CountedJournal { memory: MemoryJournal::new(bytes), ..CountedJournal::default() }
    }

    pub(crate) fn contents(&self) -> Vec<u8> {
        self.memory.contents()
    }

    /// Returns the number of reads.
    pub(crate) fn reads(&self) -> usize {
        self.reads.load(Ordering::Relaxed)
    }

    /// Returns the number of bytes that were read since the last call.
    pub(crate) fn take_bytes_read(&self) -> u64 {
        self.bytes_read.swap(0, Ordering::Relaxed)
    }
}

impl Journal for CountedJournal {
    fn len(&self) -> io::Result<u64> {
        self.memory.len()
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.memory.read_at(offset, buffer)?;
        self.reads.fetch_add(1, Ordering::Relaxed);
        self.bytes_read.fetch_add(count as u64, Ordering::Relaxed);
        Ok(count)
    }

    fn append(&self, end: &End, lines: &[u8]) -> Result<Appended, JournalError> {
        self.memory.append(end, lines)
    }

    fn keeps_checkpoints(&self) -> bool {
        true
    }

    fn append_with(
        &self,
        end: &End,
        lines: &[u8],
        checkpoint: Option<&Checkpoint>,
    ) -> Result<Appended, JournalError> {
        self.memory.append_with(end, lines, checkpoint)
    }

    fn checkpoint(&self, length: u64) -> Option<Checkpoint> {
        self.memory.checkpoint(length)
    }

    fn sync(&self) -> io::Result<()> {
        self.memory.sync()
    }

    fn truncate_if(&self, expected: u64, length: u64) -> io::Result<bool> {
        self.memory.truncate_if(expected, length)
    }
}
