//! The write-ahead log: pages that were written but not yet moved to the database file.
//!
//! A log is a header and frames, each of which is a page with its number. Every frame has the salts
//! of the header and a checksum of everything before it; frames of an older log, which a newer one
//! overwrites from its start, have other salts. A transaction ends with a frame that states the
//! size of the database.

use super::pages::read_full;
use super::u32_at;
use crate::fs::{self, Access, File};
use std::collections::HashMap;
use std::io;
use std::path::Path;

const HEADER: usize = 32;
const FRAME_HEADER: usize = 24;

/// The first bytes of a log, except the last bit, which says whether its checksums are of
/// big-endian words.
const MAGIC: u32 = 0x377F_0682;

/// The write-ahead log of a database.
#[derive(Debug)]
pub(super) struct Wal {
    file: File,
    header: [u8; HEADER],
    /// The position of the newest version of each page in the log.
    frames: HashMap<u32, u64>,
    /// The end of the last complete transaction.
    end: u64,
    /// The number of pages of the database after that transaction.
    page_count: u32,
}

impl Wal {
    /// Opens a log; `None` if there is no log with a complete transaction.
    pub(super) fn open(path: &Path, page_size: usize) -> io::Result<Option<Self>> {
        let file = match fs::open(path, Access::Read) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            file => file?,
        };
        let mut header = [0; HEADER];
        if read_full(&file, 0, &mut header)? < HEADER {
            return Ok(None);
        }
        let magic = u32_at(&header, 0)?;
        let is_big_endian = magic & 1 == 1;
        let mut sum = Checksum { is_big_endian, sums: (0, 0) };
        sum.add(&header[..24]);
        let has_size = u32_at(&header, 8)? as usize == page_size;
        if magic & !1 != MAGIC || !has_size || !sum.is_at(&header, 24)? {
            return Ok(None);
        }
        let mut wal = Wal { file, header, frames: HashMap::new(), end: 0, page_count: 0 };
        wal.read_frames(sum, page_size)?;
        Ok(Some(wal).filter(|wal| wal.end > 0))
    }

    fn read_frames(&mut self, mut sum: Checksum, page_size: usize) -> io::Result<()> {
        let mut frame = vec![0; FRAME_HEADER + page_size];
        let mut at = HEADER as u64;
        // The frames of a transaction that is not complete.
        let mut pending = Vec::new();
        loop {
            if read_full(&self.file, at, &mut frame)? < frame.len() {
                return Ok(());
            }
            let (number, count) = (u32_at(&frame, 0)?, u32_at(&frame, 4)?);
            sum.add(&frame[..8]);
            sum.add(&frame[FRAME_HEADER..]);
            if number == 0 || frame[8..16] != self.header[16..24] || !sum.is_at(&frame, 16)? {
                return Ok(());
            }
            pending.push((number, at + FRAME_HEADER as u64));
            at += frame.len() as u64;
            if count > 0 {
                self.frames.extend(pending.drain(..));
                (self.end, self.page_count) = (at, count);
            }
        }
    }

    pub(super) fn file(&self) -> &File {
        &self.file
    }

    /// Returns the number of pages of the database.
    pub(super) fn page_count(&self) -> u32 {
        self.page_count
    }

    /// Returns the number of pages that are in the log.
    pub(super) fn frame_count(&self) -> u32 {
        u32::try_from(self.frames.len()).unwrap_or(u32::MAX)
    }

    /// Returns the position of a page in the log.
    pub(super) fn page(&self, number: u32) -> Option<u64> {
        self.frames.get(&number).copied()
    }

    /// Returns whether the other log is a later state of this one, so that its frames are still
    /// there.
    pub(super) fn is_same_log(&self, other: &Wal) -> bool {
        self.header == other.header && self.end <= other.end
    }

    /// Returns whether the other log has no more transactions.
    pub(super) fn has_same_end(&self, other: &Wal) -> bool {
        self.end == other.end
    }
}

/// The checksum of a log: two sums over its words that depend on each other.
#[derive(Debug, Clone, Copy)]
pub(super) struct Checksum {
    pub is_big_endian: bool,
    pub sums: (u32, u32),
}

impl Checksum {
    /// Adds bytes. Their number must be a multiple of eight.
    pub(super) fn add(&mut self, bytes: &[u8]) {
        let word = |bytes: [u8; 4]| match self.is_big_endian {
            true => u32::from_be_bytes(bytes),
            false => u32::from_le_bytes(bytes),
        };
        let (mut first, mut second) = self.sums;
        for [a, b, c, d, e, f, g, h] in bytes.as_chunks::<8>().0 {
            first = first.wrapping_add(word([*a, *b, *c, *d])).wrapping_add(second);
            second = second.wrapping_add(word([*e, *f, *g, *h])).wrapping_add(first);
        }
        self.sums = (first, second);
    }

    /// Returns whether the checksum is at a position.
    fn is_at(&self, bytes: &[u8], at: usize) -> io::Result<bool> {
        Ok(self.sums == (u32_at(bytes, at)?, u32_at(bytes, at + 4)?))
    }
}
