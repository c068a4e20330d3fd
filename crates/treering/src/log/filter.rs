//! Reads a log through a filter, which every line passes first.
//!
//! The filtered lines are written to a file without a name, so that the result can be read at
//! random like any other log, needs no memory, and is removed with the process. The number and the
//! order of lines, and the newline at the end, are those of the source, and lines of fixed length
//! keep their length.

use super::journal::Journal;
use super::scan::{self, Bytes, Needle};
use super::scratch::Scratch;
use std::borrow::Cow;
use std::fmt;
use std::io::{self, Write};

/// Changes the lines that are read from a log, such as a redaction.
///
/// ```
/// use std::borrow::Cow;
/// use treering::{Message, Session, CreateOptions};
/// use treering::session::Creation;
/// use treering::storage::LineFilter;
///
/// #[derive(Debug)]
/// struct Louder;
///
/// impl LineFilter for Louder {
///     fn line<'a>(&self, line: &'a [u8]) -> Cow<'a, [u8]> {
///         String::from_utf8_lossy(line).replace("hello", "HELLO").into_bytes().into()
///     }
/// }
/// # let dir = tempfile::tempdir()?;
/// # let path = dir.path().join("a.jsonl");
/// # let options = CreateOptions::new().creation(Creation::AtOnce);
/// let session = Session::create_at(&path, "/project", options)?;
/// let id = session.append(Message::user("hello"))?;
///
/// let louder = Session::open_filtered(&path, &Louder)?;
/// assert_eq!(louder.entry(&id)?.message().unwrap().text(), "HELLO");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait LineFilter: Send + Sync + fmt::Debug {
    /// Inspects every line before the first one is filtered, in any order and from several threads.
    /// Returns whether the line is marked: lines that are not marked are passed to
    /// [`unmarked_line`](Self::unmarked_line) instead of [`line`](Self::line).
    fn inspect(&self, line: &[u8]) -> bool {
        let _ = line;
        true
    }

    /// Returns the filtered line. Neither line has a newline.
    fn line<'a>(&self, line: &'a [u8]) -> Cow<'a, [u8]>;

    /// Returns the filtered line for a line for which [`inspect`](Self::inspect) returned `false`, so
    /// that a filter need not analyze it again.
    fn unmarked_line<'a>(&self, line: &'a [u8]) -> Cow<'a, [u8]> {
        self.line(line)
    }
}

/// Takes a line and its filtered form of another length. Returns the filtered form with the length
/// of the line, or `None` if the length does not matter.
pub(crate) type RestoreLength = fn(&[u8], &[u8]) -> Option<Vec<u8>>;

/// Returns the first `length` bytes of a log, filtered. Every line is passed to `filter` twice:
/// once to inspect it, once to filter it. Bytes that are appended meanwhile are not included.
///
/// `refit` restores the length of lines that programs overwrite in place.
pub(crate) fn filtered(
    source: &dyn Journal,
    length: u64,
    filter: &dyn LineFilter,
    refit: RestoreLength,
) -> io::Result<Scratch> {
    let marks = mark_lines(source, filter, length)?;
    let (mut number, mut seen) = (0, Checksum::default());
    let mut out = Scratch::writer()?;
    each_line(source, 0, length, |line, at, is_terminated| {
        let filtered = match marks.get(number) {
            true => filter.line(line),
            false => filter.unmarked_line(line),
        };
        number += 1;
        seen.add(line, at);
        out.write_all(&settled(line, filtered, refit))?;
        if is_terminated { out.write_all(b"\n") } else { Ok(()) }
    })?;
    // If a program rewrote the file in the meantime, the marks would belong to other lines.
    if seen != marks.seen {
        return Err(io::Error::other("the file was rewritten while it was read; try again"));
    }
    Ok(Scratch::of(out)?.read_only())
}

/// Logs of this size and more are inspected by two threads.
const LARGE: u64 = 16 * 1024 * 1024;

/// Passes every line to the filter for inspection.
fn mark_lines(source: &dyn Journal, filter: &dyn LineFilter, length: u64) -> io::Result<LineMarks> {
    let part = |from: u64, to: u64| {
        let mut marks = LineMarks::default();
        each_line(source, from, to, |line, at, _| {
            marks.push(filter.inspect(line));
            marks.seen.add(line, at);
            Ok(())
        })?;
        Ok::<_, io::Error>(marks)
    };
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let middle = match length >= LARGE && cores > 1 {
        true => line_start(source, length / 2, length)?,
        false => length,
    };
    std::thread::scope(|scope| {
        let rest = (middle < length).then(|| scope.spawn(|| part(middle, length)));
        let mut marks = part(0, middle)?;
        if let Some(rest) = rest {
            let failed = |_| io::Error::other("a thread that inspected lines panicked");
            marks.append(rest.join().map_err(failed)??);
        }
        Ok(marks)
    })
}

/// Returns the start of the first line after `at`, or `length` if that is far away.
fn line_start(source: &dyn Journal, at: u64, length: u64) -> io::Result<u64> {
    let mut bytes = vec![0; 1024 * 1024];
    let got = scan::read_full(source, at, &mut bytes)?;
    let newline = memchr::memchr(b'\n', bytes.get(..got).unwrap_or_default());
    Ok(newline.map_or(length, |newline| at + newline as u64 + 1).min(length))
}

/// The result of the first pass: one bit for each line, and a checksum of all lines.
#[derive(Debug, Default)]
struct LineMarks {
    bits: Vec<u64>,
    count: usize,
    seen: Checksum,
}

impl LineMarks {
    fn push(&mut self, is_marked: bool) {
        if self.count.is_multiple_of(64) {
            self.bits.push(0);
        }
        if let Some(bits) = self.bits.last_mut() {
            *bits |= u64::from(is_marked) << (self.count % 64);
        }
        self.count += 1;
    }

    /// Returns whether a line is marked. Lines that were not inspected are marked.
    fn get(&self, number: usize) -> bool {
        number >= self.count
            || self.bits.get(number / 64).is_none_or(|bits| bits >> (number % 64) & 1 != 0)
    }

    /// Adds the marks of the lines that follow.
    fn append(&mut self, rest: LineMarks) {
        (0..rest.count).for_each(|number| self.push(rest.get(number)));
        self.seen.0 = self.seen.0.wrapping_add(rest.seen.0);
    }
}

/// A checksum that shows whether two passes saw the same lines, in any order.
#[derive(Debug, Default, PartialEq, Eq)]
struct Checksum(u64);

impl Checksum {
    /// Adds the line at an offset.
    fn add(&mut self, line: &[u8], offset: u64) {
        const FACTOR: u64 = 0x9E37_79B9_7F4A_7C15;
        let mix = |sum: u64, word: u64| (sum.rotate_left(23) ^ word).wrapping_mul(FACTOR);
        let word = |bytes: &[u8; 8]| u64::from_le_bytes(*bytes);
        // Four independent sums can be computed in parallel.
        let mut lanes = [offset, 1, 2, 3];
        let (words, rest) = line.as_chunks::<8>();
        let (blocks, words) = words.as_chunks::<4>();
        for block in blocks {
            for (lane, bytes) in lanes.iter_mut().zip(block) {
                *lane = mix(*lane, word(bytes));
            }
        }
        let mut sum = lanes.into_iter().fold(line.len() as u64, mix);
        sum = words.iter().fold(sum, |sum, bytes| mix(sum, word(bytes)));
        sum = rest.iter().fold(sum, |sum, byte| mix(sum, u64::from(*byte)));
        self.0 = self.0.wrapping_add(sum);
    }
}

/// Calls `each` for every line from `from` to `to`, with its offset and whether a newline ends it.
fn each_line(
    source: &dyn Journal,
    from: u64,
    to: u64,
    mut each: impl FnMut(&[u8], u64, bool) -> io::Result<()>,
) -> io::Result<()> {
    // Long lines are read again as a whole, so any needle will do.
    let needle = Needle::key("");
    scan::lines(source, from, to, &needle, |line| match line.bytes {
        Bytes::Whole(bytes) => each(bytes, line.offset, line.terminated),
        Bytes::Long { .. } => {
            let mut bytes = vec![0; usize::try_from(line.len).map_err(io::Error::other)?];
            let got = scan::read_full(source, line.offset, &mut bytes)?;
            bytes.truncate(got);
            each(&bytes, line.offset, line.terminated)
        }
    })
}

/// Returns a filtered line that is still one line, and has the same length as before if it must.
fn settled<'a>(before: &[u8], after: Cow<'a, [u8]>, refit: RestoreLength) -> Cow<'a, [u8]> {
    let Cow::Owned(mut line) = after else { return after };
    if line.len() != before.len()
        && let Some(refitted) = refit(before, &line)
    {
        return Cow::Owned(refitted);
    }
    if memchr::memchr(b'\n', &line).is_some() {
        line.retain(|byte| *byte != b'\n');
    }
    Cow::Owned(line)
}
