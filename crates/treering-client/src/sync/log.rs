//! Reads a log for synchronization: complete lines, samples, pieces.

use sha2::{Digest, Sha256};
use std::io::{self, Read};
use std::ops::Range;
use std::sync::Arc;
use treering::internal::hex;
use treering::internal::records::TitleLine;
use treering::storage::Journal;

/// The number of bytes before a position that identify it.
const SAMPLE: u64 = 4096;

/// The number of bytes at the start of a line that are compared as well.
const LINE_SAMPLE: u64 = 512;

/// The size of one read.
const CHUNK: usize = 256 * 1024;

/// The approximate maximum size of one append. A longer line is appended as a whole.
pub(super) const PIECE: usize = 4 * 1024 * 1024;

/// A log with the length that it had when it was opened.
#[derive(Debug, Clone)]
pub(super) struct Log {
    pub journal: Arc<dyn Journal>,
    pub length: u64,
    /// The length of all complete lines.
    pub whole: u64,
    /// The length of the title line that is overwritten in place; 0 if there is none.
    pub title: u64,
}

impl Log {
    pub(super) fn read(journal: Arc<dyn Journal>) -> io::Result<Log> {
        let length = journal.len()?;
        let mut log = Log { journal, length, whole: 0, title: 0 };
        log.whole = log.line_start(length)?;
        let start = log.bytes(0..log.whole.min(TitleLine::MAX_LEN as u64))?;
        log.title = TitleLine::find(&start).map_or(0, |title| title.len as u64);
        Ok(log)
    }

    /// Reads bytes, which must exist.
    pub(super) fn bytes(&self, range: Range<u64>) -> io::Result<Vec<u8>> {
        let count = usize::try_from(range.end.saturating_sub(range.start));
        let mut bytes = vec![0; count.map_err(io::Error::other)?];
        let mut filled = 0;
        while filled < bytes.len() {
            let at = range.start + filled as u64;
            match self.journal.read_at(at, &mut bytes[filled..])? {
                0 => return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the log was cut")),
                count => filled += count,
            }
        }
        Ok(bytes)
    }

    /// Returns the start of the line with the byte before `at`, or `at` if that byte is a newline.
    pub(super) fn line_start(&self, at: u64) -> io::Result<u64> {
        let mut end = at;
        while end > 0 {
            let start = end.saturating_sub(CHUNK as u64 / 4);
            if let Some(newline) = memchr::memrchr(b'\n', &self.bytes(start..end)?) {
                return Ok(start + newline as u64 + 1);
            }
            end = start;
        }
        Ok(0)
    }

    /// Returns the bytes that identify a position: those before it, and the start of the line that
    /// they end, which has the id of its record. The title line is excluded.
    fn sample_bytes(&self, at: u64) -> io::Result<Vec<u8>> {
        if at <= self.title {
            return Ok(Vec::new());
        }
        let mut bytes = self.bytes(at.saturating_sub(SAMPLE).max(self.title)..at)?;
        let line = self.line_start(at - 1)?.max(self.title);
        bytes.extend(self.bytes(line..at.min(line + LINE_SAMPLE))?);
        Ok(bytes)
    }

    /// Returns a hash of the bytes that identify a position.
    pub(super) fn sample(&self, at: u64) -> io::Result<String> {
        Ok(hex(&Sha256::digest(self.sample_bytes(at)?)[..8]))
    }

    /// Returns whether a position is the same in both logs.
    pub(super) fn agrees(&self, other: &Log, at: u64) -> io::Result<bool> {
        Ok(self.sample_bytes(at)? == other.sample_bytes(at)?)
    }

    /// Calls `each` for every complete line of a range, without its newline, with its offset.
    pub(super) fn lines<E: From<io::Error>>(
        &self,
        range: Range<u64>,
        mut each: impl FnMut(u64, &[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut reader = self.reader(range.clone());
        let (mut pending, mut offset) = (Vec::new(), range.start);
        loop {
            let searched = pending.len();
            if (&mut reader).take(CHUNK as u64).read_to_end(&mut pending)? == 0 {
                return Ok(());
            }
            let (mut start, mut from) = (0, searched);
            while let Some(newline) = memchr::memchr(b'\n', &pending[from..]) {
                let end = from + newline;
                each(offset, &pending[start..end])?;
                offset += (end + 1 - start) as u64;
                (start, from) = (end + 1, end + 1);
            }
            pending.drain(..start);
        }
    }

    /// Calls `each` with pieces of complete lines.
    pub(super) fn pieces<E: From<io::Error>>(
        &self,
        ranges: &[Range<u64>],
        mut each: impl FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut piece = Vec::new();
        for range in ranges {
            let mut reader = self.reader(range.clone());
            while (&mut reader).take(CHUNK as u64).read_to_end(&mut piece)? > 0 {
                if piece.len() < PIECE {
                    continue;
                }
                if let Some(newline) = memchr::memrchr(b'\n', &piece) {
                    each(&piece[..=newline])?;
                    piece.drain(..=newline);
                }
            }
        }
        if piece.is_empty() { Ok(()) } else { each(&piece) }
    }

    pub(super) fn reader(&self, range: Range<u64>) -> impl Read + '_ {
        LogReader { journal: &*self.journal, range }
    }

    /// Returns a hash of all bytes up to a position, except the title line.
    pub(super) fn hash(&self, to: u64) -> io::Result<String> {
        let mut hasher = Sha256::new();
        let mut reader = self.reader(self.title.min(to)..to);
        let mut buffer = vec![0; CHUNK];
        loop {
            match reader.read(&mut buffer)? {
                0 => return Ok(hex(&hasher.finalize()[..16])),
                count => hasher.update(&buffer[..count]),
            }
        }
    }

    /// Returns the number of complete lines up to a position.
    pub(super) fn count_lines(&self, to: u64) -> io::Result<u64> {
        let mut count = 0;
        self.lines(0..to, |_, _| {
            count += 1;
            Ok::<(), io::Error>(())
        })?;
        Ok(count)
    }

    /// Returns the start of the line with this number, counted from 0; `None` if there are fewer
    /// lines.
    pub(super) fn offset_of_line(&self, number: u64) -> io::Result<Option<u64>> {
        let (mut count, mut found) = (0, None);
        self.lines(0..self.whole, |offset, line| {
            count += 1;
            if count == number {
                found = Some(offset + line.len() as u64 + 1);
            }
            Ok::<(), io::Error>(())
        })?;
        Ok(if number == 0 { Some(0) } else { found })
    }
}

/// Reads a range of a journal.
struct LogReader<'a> {
    journal: &'a dyn Journal,
    range: Range<u64>,
}

impl Read for LogReader<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let left = self.range.end.saturating_sub(self.range.start);
        let count = usize::try_from(left).map_or(buffer.len(), |left| left.min(buffer.len()));
        if count == 0 {
            return Ok(0);
        }
        match self.journal.read_at(self.range.start, &mut buffer[..count])? {
            0 => Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the log was cut")),
            got => {
                self.range.start += got as u64;
                Ok(got)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use treering::storage::MemoryJournal;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]

        #[test]
        fn lines_and_pieces_are_all_of_the_log(
            lengths in prop::collection::vec(0_usize..600_000, 0..20), torn in 0_usize..3
        ) {
            let mut bytes = Vec::new();
            for length in &lengths {
                bytes.resize(bytes.len() + length, b'x');
                bytes.push(b'\n');
            }
            let whole = bytes.len();
            bytes.resize(whole + torn, b'y');
            let log = Log::read(Arc::new(MemoryJournal::new(bytes.clone()))).unwrap();
            prop_assert_eq!(log.whole, whole as u64);
            let mut seen = Vec::new();
            log.lines(0..log.whole, |offset, line| {
                assert_eq!(&bytes[offset as usize..offset as usize + line.len()], line);
                seen.push(line.len());
                Ok::<(), io::Error>(())
            }).unwrap();
            prop_assert_eq!(seen, lengths.clone());
            let mut all = Vec::new();
            let whole_log = 0..log.whole;
            log.pieces(std::slice::from_ref(&whole_log), |piece| {
                assert_eq!(piece.last(), Some(&b'\n'));
                all.extend_from_slice(piece);
                Ok::<(), io::Error>(())
            }).unwrap();
            prop_assert!(all == bytes[..whole]);
            prop_assert_eq!(log.count_lines(log.whole).unwrap(), lengths.len() as u64);
            let last = log.offset_of_line(lengths.len() as u64).unwrap();
            prop_assert_eq!(last, Some(whole as u64));
        }
    }
}
