//! Splits bytes into lines, in one pass and bounded memory.
//!
//! The buffer is page-aligned, and reads always go to the same aligned position: copying out of the
//! page cache is more than twice as fast that way. The rest of an unfinished line is moved in front
//! of that position, so that lines are contiguous. A line that does not fit is not kept: only its
//! beginning is passed on, together with the one fact that needs the rest: whether a [`Needle`]
//! occurs in it more than once.

use super::journal::Journal;
use memchr::memmem;
use std::cell::Cell;
use std::io;
use std::sync::mpsc;

pub(super) const PAGE: usize = 4096;

/// Returns the offset of the first whole page in some memory.
pub(super) fn page_start(bytes: &[u8]) -> usize {
    let aligned = bytes.as_ptr().align_offset(PAGE);
    // `align_offset` may not return an offset; alignment only affects speed.
    if aligned < PAGE { aligned } else { 0 }
}

/// The size of one read: small enough for a second-level cache.
const CHUNK: usize = 256 * 1024;

/// Logs of this size and more are read ahead by a second thread.
const MIN_PARALLEL_SIZE: u64 = 16 * 1024 * 1024;

/// The number of chunks that the second thread may be ahead: enough that neither waits for the
/// other often.
const MAX_CHUNKS_AHEAD: usize = 8;

/// A line of the log, without its newline.
#[derive(Debug)]
pub(crate) struct Line<'a> {
    pub offset: u64,
    pub len: u64,
    pub terminated: bool,
    pub bytes: Bytes<'a>,
}

#[derive(Debug)]
pub(crate) enum Bytes<'a> {
    Whole(&'a [u8]),
    /// The beginning of a line that is too long for the buffer, and whether the needle occurs in it
    /// more than once.
    Long {
        start: &'a [u8],
        repeats_needle: bool,
    },
}

/// A sequence of bytes that is counted in lines too long for the buffer, such as the key of a
/// member.
#[derive(Debug, Clone)]
pub(crate) struct Needle(memmem::Finder<'static>);

impl Needle {
    /// Returns the needle for the key of a JSON member, including the quotes.
    pub(crate) fn key(name: &str) -> Self {
        Needle(memmem::Finder::new(format!("\"{name}\"").as_bytes()).into_owned())
    }

    /// Returns the position of the first occurrence of the needle in `bytes`.
    #[inline]
    pub(crate) fn find(&self, bytes: &[u8]) -> Option<usize> {
        self.0.find(bytes)
    }

    /// Returns the overlap of consecutive buffers that keeps an occurrence from being missed between
    /// them.
    fn overlap(&self) -> usize {
        self.0.needle().len() - 1
    }
}

/// A buffer for an aligned chunk, with the same room in front of it for an unfinished line.
struct Buffer {
    bytes: Vec<u8>,
    /// The offset of the chunk in the buffer.
    chunk: usize,
    /// The number of bytes that were read.
    len: usize,
}

impl Buffer {
    fn new() -> Self {
        let bytes = vec![0; 2 * CHUNK + PAGE];
        let chunk = CHUNK + page_start(&bytes);
        Buffer { bytes, chunk, len: 0 }
    }
}

thread_local! {
    /// The buffer of the previous log, so that reading thousands of small logs does not spend its
    /// time on clearing new ones.
    static SPARE: Cell<Option<Buffer>> = const { Cell::new(None) };
}

/// Reads a journal chunk by chunk. Reads end on chunk boundaries of the log, so that whole pages
/// are copied.
struct Chunks<'a> {
    journal: &'a dyn Journal,
    at: u64,
    to: u64,
}

impl Chunks<'_> {
    /// Fills the buffer with the next chunk; the buffer is empty at the end.
    fn read(&mut self, buffer: &mut Buffer) -> io::Result<()> {
        let until = (self.at / CHUNK as u64 + 1) * CHUNK as u64;
        let want = until.min(self.to).saturating_sub(self.at) as usize;
        let place = &mut buffer.bytes[buffer.chunk..buffer.chunk + want];
        buffer.len = read_full(self.journal, self.at, place)?;
        self.at += buffer.len as u64;
        if buffer.len < want {
            self.to = self.at;
        }
        Ok(())
    }
}

/// The threads that read a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Threads {
    /// A second thread reads ahead in a large log.
    ReadAhead,
    /// The calling thread does everything, because the other cores are busy with other parts of the
    /// log.
    One,
}

/// Calls `each` for every line from `from` (the start of a line) to `to`.
pub(crate) fn lines<E: From<io::Error>>(
    journal: &dyn Journal,
    from: u64,
    to: u64,
    needle: &Needle,
    each: impl FnMut(Line<'_>) -> Result<(), E>,
) -> Result<(), E> {
    lines_on(Threads::ReadAhead, journal, from, to, needle, each)
}

/// Does the same as `lines` on these threads.
pub(crate) fn lines_on<E: From<io::Error>>(
    threads: Threads,
    journal: &dyn Journal,
    from: u64,
    to: u64,
    needle: &Needle,
    each: impl FnMut(Line<'_>) -> Result<(), E>,
) -> Result<(), E> {
    if let Some(held) = journal.as_slice() {
        return split_held(held, from, to, each);
    }
    let mut chunks = Chunks { journal, at: from, to };
    if threads == Threads::One || to.saturating_sub(from) < MIN_PARALLEL_SIZE {
        return split(from, needle, each, |used| {
            let mut buffer = used.or_else(|| SPARE.take()).unwrap_or_else(Buffer::new);
            chunks.read(&mut buffer).map(|()| buffer)
        });
    }
    // Copying from the page cache is a third of the work, which another core does meanwhile.
    std::thread::scope(|scope| {
        let (give_back, returned) = mpsc::channel::<Buffer>();
        let (fill, filled) = mpsc::sync_channel::<io::Result<Buffer>>(MAX_CHUNKS_AHEAD);
        scope.spawn(move || {
            for spare in 0.. {
                let next =
                    if spare < MAX_CHUNKS_AHEAD + 2 { Ok(Buffer::new()) } else { returned.recv() };
                let Ok(mut buffer) = next else { return };
                let result = chunks.read(&mut buffer).map(|()| buffer);
                let over = result.as_ref().map_or(true, |buffer| buffer.len == 0);
                if fill.send(result).is_err() || over {
                    return;
                }
            }
        });
        split(from, needle, each, |used| {
            if let Some(used) = used {
                // The receiver is gone once everything was read.
                let _ = give_back.send(used);
            }
            filled.recv().unwrap_or_else(|_| Err(io::ErrorKind::UnexpectedEof.into()))
        })
    })
}

/// Splits a log that is in memory into lines.
fn split_held<E>(
    held: &[u8],
    from: u64,
    to: u64,
    mut each: impl FnMut(Line<'_>) -> Result<(), E>,
) -> Result<(), E> {
    let place = |offset: u64| usize::try_from(offset).map_or(held.len(), |at| at.min(held.len()));
    let mut rest = held.get(place(from)..place(to)).unwrap_or_default();
    let mut offset = from;
    while !rest.is_empty() {
        let newline = memchr::memchr(b'\n', rest);
        let (line, after) = rest.split_at(newline.unwrap_or(rest.len()));
        let (len, terminated) = (line.len() as u64, newline.is_some());
        each(Line { offset, len, terminated, bytes: Bytes::Whole(line) })?;
        offset += len + u64::from(terminated);
        rest = after.get(1..).unwrap_or_default();
    }
    Ok(())
}

/// Splits chunks into lines. `next` takes a used buffer and returns a filled one.
fn split<E: From<io::Error>>(
    from: u64,
    needle: &Needle,
    mut each: impl FnMut(Line<'_>) -> Result<(), E>,
    mut next: impl FnMut(Option<Buffer>) -> io::Result<Buffer>,
) -> Result<(), E> {
    let mut unfinished = Unfinished::default();
    let mut offset = from;
    let mut used = None;
    loop {
        let mut buffer = next(used.take())?;
        if buffer.len == 0 {
            SPARE.set(Some(buffer));
            return match unfinished.len {
                0 => Ok(()),
                len => each(Line { offset, len, terminated: false, bytes: unfinished.bytes() }),
            };
        }
        let (mut start, end) = (buffer.chunk, buffer.chunk + buffer.len);
        let mut searched = start;
        if unfinished.is_long() {
            let newline = memchr::memchr(b'\n', &buffer.bytes[start..end]);
            let stop = newline.map_or(end, |at| start + at);
            unfinished.skim(&buffer.bytes[start..stop], needle);
            if newline.is_some() {
                let len = unfinished.len;
                each(Line { offset, len, terminated: true, bytes: unfinished.bytes() })?;
                offset += len + 1;
                unfinished = Unfinished::default();
            }
            (start, searched) = ((stop + 1).min(end), (stop + 1).min(end));
        } else {
            start -= unfinished.start.len();
            buffer.bytes[start..buffer.chunk].copy_from_slice(&unfinished.start);
            unfinished = Unfinished::default();
        }
        if !unfinished.is_long() {
            while let Some(newline) = memchr::memchr(b'\n', &buffer.bytes[searched..end]) {
                let line = &buffer.bytes[start..searched + newline];
                let len = line.len() as u64;
                each(Line { offset, len, terminated: true, bytes: Bytes::Whole(line) })?;
                offset += len + 1;
                searched += newline + 1;
                start = searched;
            }
            unfinished = Unfinished::new(&buffer.bytes[start..end], needle);
        }
        used = Some(buffer);
    }
}

/// The beginning of a line whose end was not read yet.
#[derive(Default)]
struct Unfinished {
    start: Vec<u8>,
    len: u64,
    /// For long lines only: the number of occurrences of the needle, counted up to two, and the
    /// last bytes.
    needles: u32,
    last: Vec<u8>,
}

impl Unfinished {
    fn new(start: &[u8], needle: &Needle) -> Self {
        let (len, start) = (start.len() as u64, start.to_vec());
        let mut unfinished = Unfinished { start, len, ..Unfinished::default() };
        if unfinished.is_long() {
            let start = std::mem::take(&mut unfinished.start);
            unfinished.count_needles(&start, needle);
            unfinished.start = start;
        }
        unfinished
    }

    /// Returns whether the line is too long for the buffer.
    fn is_long(&self) -> bool {
        self.start.len() >= CHUNK
    }

    /// Counts the needle in more bytes of a long line, which are not kept.
    fn skim(&mut self, bytes: &[u8], needle: &Needle) {
        self.len += bytes.len() as u64;
        // The needle may cross the boundary.
        let mut seam = std::mem::take(&mut self.last);
        seam.extend_from_slice(&bytes[..bytes.len().min(needle.overlap())]);
        self.needles += u32::from(needle.find(&seam).is_some());
        self.last = seam;
        self.count_needles(bytes, needle);
    }

    fn count_needles(&mut self, bytes: &[u8], needle: &Needle) {
        let mut searched = 0;
        while self.needles < 2
            && let Some(at) = needle.find(&bytes[searched..])
        {
            self.needles += 1;
            searched += at + 1;
        }
        let mut last = std::mem::take(&mut self.last);
        let overlap = needle.overlap();
        last.extend_from_slice(&bytes[bytes.len().saturating_sub(overlap)..]);
        last.drain(..last.len().saturating_sub(overlap));
        self.last = last;
    }

    fn bytes(&self) -> Bytes<'_> {
        match self.is_long() {
            true => Bytes::Long { start: &self.start, repeats_needle: self.needles > 1 },
            false => Bytes::Whole(&self.start),
        }
    }
}

/// Reads until `buffer` is full or the journal ends.
pub(crate) fn read_full(
    journal: &dyn Journal,
    offset: u64,
    buffer: &mut [u8],
) -> io::Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match journal.read_at(offset + filled as u64, &mut buffer[filled..])? {
            0 => break,
            count => filled += count,
        }
    }
    Ok(filled)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::{InMemoryFile, MemoryJournal};
    use proptest::prelude::*;

    type Seen = (u64, u64, bool, Option<bool>);

    /// Returns the lines, which must be the same when the log is held in memory, but for long ones.
    fn read(bytes: &[u8], from: u64) -> Vec<Seen> {
        let seen = read_from(&MemoryJournal::new(bytes.to_vec()), bytes, from);
        let held = read_from(&InMemoryFile::of(bytes.to_vec()), bytes, from);
        let without_long = |seen: &Seen| (seen.0, seen.1, seen.2, None);
        assert_eq!(held, seen.iter().map(without_long).collect::<Vec<_>>());
        seen
    }

    fn read_from(journal: &dyn Journal, bytes: &[u8], from: u64) -> Vec<Seen> {
        let mut seen = Vec::new();
        let key = Needle::key("parentId");
        lines::<io::Error>(journal, from, bytes.len() as u64, &key, |line| {
            let long = match line.bytes {
                Bytes::Whole(whole) => {
                    let start = line.offset as usize;
                    assert_eq!(whole, &bytes[start..start + line.len as usize]);
                    None
                }
                Bytes::Long { start, repeats_needle } => {
                    let offset = line.offset as usize;
                    assert_eq!(start, &bytes[offset..offset + start.len()]);
                    Some(repeats_needle)
                }
            };
            seen.push((line.offset, line.len, line.terminated, long));
            Ok(())
        })
        .unwrap();
        seen
    }

    #[test]
    fn splits_at_newlines_only() {
        assert_eq!(read(b"", 0), []);
        assert_eq!(read(b"\n", 0), [(0, 0, true, None)]);
        assert_eq!(read(b"a\r\nb\xE2\x80\xA8c", 0), [(0, 2, true, None), (3, 5, false, None)]);
        assert_eq!(read(b"abc\nd\n", 4), [(4, 1, true, None)]);
    }

    #[test]
    fn long_lines_are_not_held_and_a_second_key_is_found_anywhere() {
        let length = 3 * CHUNK;
        for place in (CHUNK - 40..CHUNK + 40).chain([100, 2 * CHUNK - 5, length - 10]) {
            let mut line = vec![b'x'; length];
            line[..10].copy_from_slice(b"\"parentId\"");
            let offset = length as u64 + 1;
            let mut twice = line.clone();
            twice[place..place + 10].copy_from_slice(b"\"parentId\"");
            let text = [&line[..], b"\n", &twice, b"\nend"].concat();
            assert_eq!(
                read(&text, 0),
                [
                    (0, length as u64, true, Some(false)),
                    (offset, length as u64, true, Some(true)),
                    (2 * offset, 3, false, None)
                ],
                "key at {place}"
            );
        }
    }

    proptest! {
        #[test]
        fn finds_the_lines_that_split_finds(
            lengths in prop::collection::vec(0_usize..400_000, 0..6), terminated: bool
        ) {
            let mut text = Vec::new();
            for length in &lengths {
                text.extend(std::iter::repeat_n(b'x', *length));
                text.push(b'\n');
            }
            if !terminated {
                text.pop();
            }
            let seen: Vec<u64> = read(&text, 0).iter().map(|line| line.1).collect();
            let mut expected: Vec<u64> = text.split(|&b| b == b'\n').map(|l| l.len() as u64).collect();
            if expected.last() == Some(&0) {
                expected.pop();
            }
            prop_assert_eq!(seen, expected);
        }
    }
}
