//! From bytes to lines, forwards, in one pass and bounded memory.
//!
//! The buffer is page-aligned and reads always go to the same aligned place: copying out of the
//! page cache is more than twice as fast that way. What is left of an unfinished line is moved in
//! front of that place, so that lines are contiguous. A line that does not fit is not kept: only its
//! beginning is handed out, with the answer to the one question that needs the rest (see
//! [`crate::entry::head`]).

use super::journal::Journal;
use crate::entry::head::{PARENT_KEY_OVERLAP, find_parent_key};
use std::io;

const PAGE: usize = 4096;

/// How much is read at a time. Fits a second-level cache together with what precedes it.
const CHUNK: usize = 256 * 1024;

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
    /// The beginning of a line too long to hold, and whether a second `"parentId"` is in it.
    Long { start: &'a [u8], another_parent: bool },
}

/// Room for one aligned chunk with as much again on either side of it.
pub(crate) struct Buffer {
    bytes: Vec<u8>,
    /// Where the aligned chunk begins.
    pub chunk: usize,
}

impl Buffer {
    pub(crate) fn new() -> Self {
        let bytes = vec![0; 3 * CHUNK + PAGE];
        let aligned = bytes.as_ptr().align_offset(PAGE);
        // `align_offset` may decline to answer; alignment is only a matter of speed.
        let chunk = CHUNK + if aligned < PAGE { aligned } else { 0 };
        Buffer { bytes, chunk }
    }

    pub(crate) fn bytes(&mut self) -> &mut [u8] {
        &mut self.bytes
    }
}

/// Calls `each` for every line from `from` (the start of a line) to `to`.
pub(crate) fn lines<E: From<io::Error>>(
    journal: &dyn Journal,
    from: u64,
    to: u64,
    mut each: impl FnMut(Line<'_>) -> Result<(), E>,
) -> Result<(), E> {
    let mut buffer = Buffer::new();
    let chunk = buffer.chunk;
    let bytes = buffer.bytes();
    // Unread bytes are bytes[start..end]; bytes[start] stands at `offset` in the log.
    let (mut start, mut end) = (chunk, chunk);
    let mut offset = from;
    loop {
        let position = offset + (end - start) as u64;
        // Reads end on chunk boundaries of the log, so that pages are copied whole.
        let until = (position / CHUNK as u64 + 1) * CHUNK as u64;
        let want = (until.min(to) - position.min(to)) as usize;
        let carried = end - start;
        bytes.copy_within(start..end, chunk - carried);
        start = chunk - carried;
        let got = read_full(journal, position, &mut bytes[chunk..chunk + want])?;
        end = chunk + got;

        let mut searched = chunk;
        while let Some(newline) = memchr::memchr(b'\n', &bytes[searched..end]) {
            let stop = searched + newline;
            let line = &bytes[start..stop];
            let len = line.len() as u64;
            each(Line { offset, len, terminated: true, bytes: Bytes::Whole(line) })?;
            offset += len + 1;
            start = stop + 1;
            searched = start;
        }
        let finished = got < want || position + got as u64 >= to;
        if finished {
            if start < end {
                let line = &bytes[start..end];
                let len = line.len() as u64;
                each(Line { offset, len, terminated: false, bytes: Bytes::Whole(line) })?;
            }
            return Ok(());
        }
        if end - start >= CHUNK {
            let rest = skim(journal, &bytes[start..end], position + got as u64, to)?;
            let len = (end - start) as u64 + rest.len;
            let start_of_line = Bytes::Long {
                start: &bytes[start..end],
                another_parent: rest.another_parent,
            };
            each(Line { offset, len, terminated: rest.terminated, bytes: start_of_line })?;
            offset += len + u64::from(rest.terminated);
            (start, end) = (chunk, chunk);
            if !rest.terminated {
                return Ok(());
            }
        }
    }
}

/// What the rest of a long line holds.
struct Rest {
    len: u64,
    terminated: bool,
    another_parent: bool,
}

/// Reads on from `position` to the end of the line that begins with `start`.
fn skim(journal: &dyn Journal, start: &[u8], position: u64, to: u64) -> io::Result<Rest> {
    let mut chunk = vec![0; CHUNK];
    let overlap = PARENT_KEY_OVERLAP;
    let first = find_parent_key(start).map(|at| at + 1);
    let mut keys = u32::from(first.is_some());
    keys += u32::from(first.is_some_and(|after| find_parent_key(&start[after..]).is_some()));
    chunk[..overlap].copy_from_slice(&start[start.len() - overlap..]);
    let mut len = 0;
    loop {
        let want = (CHUNK - overlap).min((to - position - len) as usize);
        let got = read_full(journal, position + len, &mut chunk[overlap..overlap + want])?;
        let newline = memchr::memchr(b'\n', &chunk[overlap..overlap + got]);
        let used = newline.unwrap_or(got);
        let mut searched = 0;
        while keys < 2
            && let Some(at) = find_parent_key(&chunk[searched..overlap + used])
        {
            keys += 1;
            searched += at + 1;
        }
        len += used as u64;
        if newline.is_some() || got < want || got == 0 {
            return Ok(Rest { len, terminated: newline.is_some(), another_parent: keys > 1 });
        }
        chunk.copy_within(got..overlap + got, 0);
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
    use crate::log::MemoryJournal;
    use proptest::prelude::*;

    type Seen = (u64, u64, bool, Option<bool>);

    fn read(bytes: &[u8], from: u64) -> Vec<Seen> {
        let journal = MemoryJournal::new(bytes.to_vec());
        let mut seen = Vec::new();
        lines::<io::Error>(&journal, from, bytes.len() as u64, |line| {
            let long = match line.bytes {
                Bytes::Whole(whole) => {
                    let start = line.offset as usize;
                    assert_eq!(whole, &bytes[start..start + line.len as usize]);
                    None
                }
                Bytes::Long { start, another_parent } => {
                    let offset = line.offset as usize;
                    assert_eq!(start, &bytes[offset..offset + start.len()]);
                    Some(another_parent)
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
