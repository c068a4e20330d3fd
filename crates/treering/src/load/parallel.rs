//! Scans the second half of a large log on another core.
//!
//! In some dialects the head of a record is spread over the whole record, so that reading heads
//! takes most of the time. Another core does this for the second half of the log, while the first
//! half is inserted into the tree. For each line it keeps a few numbers and the ids.

use super::{LoadError, is_fact};
use crate::dialect::{Codec, QuickRead};
use crate::entry::head::{self, Marks, Name};
use crate::entry::{Kind, Role};
use crate::log::Journal;
use crate::log::scan::{self, Bytes, Needle, Threads};
use std::borrow::Cow;
use std::io;

/// The least size of a log for which a second thread is started: starting one takes as long as
/// reading a hundredth of this.
const LARGE: u64 = 4 * 1024 * 1024;

/// Returns the start of the second half, and the threads that read each half; `None` if the log is
/// not divided.
pub(super) fn middle(
    codec: &dyn Codec,
    journal: &dyn Journal,
    from: u64,
    to: u64,
) -> io::Result<Option<(u64, Threads)>> {
    if codec.facts().heads_first || to.saturating_sub(from) < LARGE {
        return Ok(None);
    }
    let threads = match std::thread::available_parallelism().map_or(1, |count| count.get()) {
        1 => return Ok(None),
        2 | 3 => Threads::One,
        _ => Threads::ReadAhead,
    };
    let half = from + (to - from) / 2;
    // Most lines are short; after a long one the halves would be too unequal.
    for size in [32 * 1024, 1024 * 1024] {
        let mut bytes = vec![0; size];
        let got = scan::read_full(journal, half, &mut bytes)?;
        if let Some(at) = memchr::memchr(b'\n', &bytes[..got]) {
            let middle = half + at as u64 + 1;
            return Ok((middle < to).then_some((middle, threads)));
        }
    }
    Ok(None)
}

/// The entries found on a range of lines.
#[derive(Debug)]
pub(super) struct ScannedLines {
    lines: Vec<PackedLine>,
    /// All ids, concatenated.
    ids: String,
    /// The id of the last entry.
    last: IdSpan,
}

/// An entry found on a line.
#[derive(Debug)]
struct PackedLine {
    offset: u64,
    len: u64,
    terminated: bool,
    what: PackedHead,
}

#[derive(Debug)]
enum PackedHead {
    Entry {
        kind: Kind,
        role: Option<Role>,
        time: Option<i64>,
        marks: Marks,
        id: IdSpan,
        parent: IdSpan,
    },
    Side,
    Unclear,
}

/// The position of an id in the concatenated ids, if there is an id.
#[derive(Debug, Clone, Copy)]
struct IdSpan {
    start: u32,
    len: u16,
    exists: bool,
    is_number: bool,
}

impl IdSpan {
    const NONE: IdSpan = IdSpan { start: 0, len: 0, exists: false, is_number: false };
}

/// A scanned line.
pub(super) struct ScannedLine<'a> {
    pub offset: u64,
    pub len: u64,
    pub terminated: bool,
    pub head: ScannedHead<'a>,
}

pub(super) enum ScannedHead<'a> {
    Entry(head::Head<'a>),
    /// A record that is not an entry, and needs no further reading.
    Side,
    /// A line that must be read again.
    Unclear,
}

impl ScannedLines {
    pub(super) fn read(
        codec: &dyn Codec,
        journal: &dyn Journal,
        from: u64,
        to: u64,
        parent_key: &Needle,
        threads: Threads,
    ) -> Result<Self, LoadError> {
        let mut seen = ScannedLines { lines: Vec::new(), ids: String::new(), last: IdSpan::NONE };
        scan::lines_on(threads, journal, from, to, parent_key, |line| {
            let what = match line.bytes {
                Bytes::Whole(bytes) if line.terminated => seen.pack_head(codec, bytes, parent_key),
                _ => PackedHead::Unclear,
            };
            let (offset, len, terminated) = (line.offset, line.len, line.terminated);
            seen.lines.push(PackedLine { offset, len, terminated, what });
            Ok::<(), LoadError>(())
        })?;
        Ok(seen)
    }

    fn pack_head(&mut self, codec: &dyn Codec, bytes: &[u8], parent_key: &Needle) -> PackedHead {
        match codec.quick_read(bytes) {
            QuickRead::Entry(head, used)
                if !is_fact(head.kind) && parent_key.find(&bytes[used..]).is_none() =>
            {
                let head::Head { kind, role, time, marks, .. } = head;
                let parent = self.keep(head.parent.as_ref());
                match (self.keep_own(head.id.as_ref()), parent) {
                    (Some(id), Some(parent)) => {
                        PackedHead::Entry { kind, role, time, marks, id, parent }
                    }
                    _ => PackedHead::Unclear,
                }
            }
            QuickRead::Side if !codec.side_matters(bytes) => PackedHead::Side,
            _ => PackedHead::Unclear,
        }
    }

    /// Stores an id; `None` if the ids take too much room.
    fn keep(&mut self, name: Option<&Name<'_>>) -> Option<IdSpan> {
        let Some(name) = name else {
            return Some(IdSpan::NONE);
        };
        // An entry's parent is nearly always the entry before it, whose id is already stored.
        let last = self.last;
        if self.name(last).as_ref() == Some(name) {
            return Some(last);
        }
        let start = u32::try_from(self.ids.len()).ok()?;
        let len = u16::try_from(name.text.len()).ok()?;
        self.ids.push_str(&name.text);
        Some(IdSpan { start, len, exists: true, is_number: name.is_number })
    }

    /// Stores the id of an entry.
    fn keep_own(&mut self, name: Option<&Name<'_>>) -> Option<IdSpan> {
        self.last = self.keep(name)?;
        Some(self.last)
    }

    fn name(&self, id: IdSpan) -> Option<Name<'_>> {
        let start = id.start as usize;
        let text = self.ids.get(start..start + usize::from(id.len))?;
        id.exists.then_some(Name { text: Cow::Borrowed(text), is_number: id.is_number })
    }

    pub(super) fn lines(&self) -> impl Iterator<Item = ScannedLine<'_>> {
        self.lines.iter().map(|line| ScannedLine {
            offset: line.offset,
            len: line.len,
            terminated: line.terminated,
            head: match &line.what {
                PackedHead::Side => ScannedHead::Side,
                PackedHead::Unclear => ScannedHead::Unclear,
                &PackedHead::Entry { kind, role, time, marks, id, parent } => {
                    let (id, parent) = (self.name(id), self.name(parent));
                    ScannedHead::Entry(head::Head { kind, role, id, parent, time, marks })
                }
            },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::Loaded;
    use super::*;
    use crate::dialect::Dialect;
    use crate::log::MemoryJournal;
    use crate::tree::{Insert, Row};

    /// Returns lines of every sort: entries, side records, damage, glue, a torn end.
    fn log(dialect: Dialect) -> String {
        let mut log = String::new();
        for n in 0..60_u32 {
            let parent =
                n.checked_sub(1 + n % 3).map_or("null".into(), |n| format!("\"{n:012x}\""));
            log += &match dialect {
                Dialect::ClaudeCode => format!(
                    r#"{{"parentUuid":{parent},"isSidechain":{},"cwd":"/p","sessionId":"s","type":"user","message":{{"role":"user","content":"{n} \"x\" \\"}},"uuid":"{n:012x}","timestamp":"2026-01-05T09:00:20.226Z"}}"#,
                    n % 7 == 0
                ),
                _ => format!(
                    r#"{{"type": "message", "id": "{n:012x}", "parent_id": {parent}, "timestamp": 1773219600.{n}, "message": {{"role": "user", "content": "{n}"}}}}"#
                ),
            };
            log += match n % 11 {
                3 => "\n{\"type\":\"custom-title\",\"customTitle\":\"t\",\"sessionId\":\"s\"}\n",
                5 => "\n{broken\n",
                7 => "",
                _ => "\n",
            };
        }
        log + "{\"type\": \"message\", \"id\": \"torn"
    }

    #[test]
    fn a_half_that_was_scanned_ahead_becomes_the_same_rows() {
        for dialect in [Dialect::ClaudeCode, Dialect::Chimera] {
            let log = log(dialect);
            let journal = MemoryJournal::new(log.clone().into_bytes());
            let whole = Loaded::read(&journal).unwrap_or_else(|error| panic!("{error:?}"));
            assert_eq!(whole.dialect, dialect);
            let ends = log.match_indices('\n').map(|(at, _)| at as u64 + 1);
            for middle in ends.filter(|end| *end < log.len() as u64) {
                let mut halves = Loaded::new(dialect);
                let (mut taken, to) = (Insert::InOrder, log.len() as u64);
                halves.read_lines(&journal, middle, Threads::One, &mut taken).unwrap();
                let key = dialect.facts().parent_key();
                let (codec, threads) = (dialect.codec(), Threads::One);
                let seen = ScannedLines::read(codec, &journal, middle, to, &key, threads).unwrap();
                halves.insert_scanned(&journal, &seen, &mut taken).unwrap();
                let rows = |loaded: &Loaded| -> Vec<(u64, u64, String, Option<Role>)> {
                    let tree = &loaded.tree;
                    let row = |row: Row| {
                        let node = tree.node(row);
                        (node.offset, node.len, tree.id_text(row).to_owned(), node.role())
                    };
                    tree.rows().map(row).collect()
                };
                assert_eq!(rows(&halves), rows(&whole), "{dialect}, halves at {middle}");
                assert_eq!((halves.complete, halves.lines), (whole.complete, whole.lines));
                assert_eq!(halves.findings, whole.findings);
            }
        }
    }
}
