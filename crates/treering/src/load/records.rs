//! Reads the records of a log one line at a time, for programs that synchronize lines between
//! copies of a session.

use super::{LoadError, Loaded};
use crate::dialect::facts::TitleSlot;
use crate::dialect::split::{Segment, SegmentKind, split};
use crate::dialect::{Codec, Dialect};
use crate::entry::head::Head;
use crate::entry::{KEPT_LEAF, Kind};
use crate::header::VERSION;
use crate::json;
use crate::log::Journal;
use crate::tree::Shape;
use std::io;

/// The format of a log, detected from its first lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogFormat {
    dialect: Dialect,
    is_mergeable: bool,
}

/// A record that has an id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// The id of the entry.
    pub id: String,
    /// The id of the entry's parent.
    pub parent: Option<String>,
    /// Whether the record is a `leaf` entry that was written by
    /// [`NewEntry::kept_leaf`](crate::NewEntry::kept_leaf).
    pub is_kept_leaf: bool,
}

/// The content of a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LineContent {
    /// The header of the session.
    Header,
    /// An entry with an id.
    Entry(Record),
    /// Any other content.
    Other,
}

impl LogFormat {
    /// Reads the format of a log.
    pub fn of(journal: &dyn Journal) -> io::Result<LogFormat> {
        let length = journal.len()?;
        let loaded = match Loaded::read_header(journal, length) {
            Ok(loaded) => loaded,
            Err(LoadError::Io(error)) => return Err(error),
            Err(LoadError::NoHeader(_)) => None,
        };
        let dialect = match &loaded {
            Some(loaded) => loaded.dialect,
            None => crate::dialect::detect(journal, length)?,
        };
        let is_mergeable = loaded.is_some_and(|loaded| {
            let facts = loaded.facts();
            let is_current = loaded.header.as_ref().is_some_and(|header| {
                let is_old = facts.has_own_header && header.declared < VERSION;
                !is_old && dialect.check_writable(header).is_ok()
            });
            is_current
                && !facts.is_chain()
                && loaded.shape != Some(Shape::Chain)
                && loaded.codec().linker().is_none()
        });
        Ok(LogFormat { dialect, is_mergeable })
    }

    /// Returns the dialect.
    pub fn dialect(&self) -> Dialect {
        self.dialect
    }

    /// Returns whether lines of another copy of the session can be appended: every record has an id
    /// and names its parent, and treering can write such files.
    pub fn is_mergeable(&self) -> bool {
        self.is_mergeable
    }

    /// Returns the content of a line, which has no newline.
    pub fn line(&self, line: &[u8]) -> LineContent {
        let codec = self.dialect.codec();
        let masked = self.dialect.facts().json.masked(line);
        let line = &*masked;
        let mut content = LineContent::Other;
        let mut count = 0;
        split(line, codec, |Segment { span, what }| {
            count += 1;
            content = match what {
                SegmentKind::Header | SegmentKind::HeaderNode(_) => LineContent::Header,
                SegmentKind::Entry(head) => {
                    record(codec, line.get(span).unwrap_or_default(), &head)
                }
                SegmentKind::Side | SegmentKind::DamagedEntry(_) | SegmentKind::Damaged => {
                    LineContent::Other
                }
            };
        });
        // Several records on one line are damage, and are compared as bytes.
        if count == 1 { content } else { LineContent::Other }
    }
}

fn record(codec: &dyn Codec, record: &[u8], head: &Head<'_>) -> LineContent {
    let Some(id) = &head.id else { return LineContent::Other };
    let is_kept_leaf = head.kind == Kind::Leaf && {
        let entry = codec.decode(record).entry;
        json::get(&entry.fields_object(), KEPT_LEAF).is_some()
    };
    let (id, parent) =
        (id.text.to_string(), head.parent.as_ref().map(|name| name.text.to_string()));
    LineContent::Entry(Record { id, parent, is_kept_leaf })
}

/// A first line of fixed length that holds the name of a session and is overwritten in place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TitleLine {
    /// The length in bytes, newline included.
    pub len: usize,
    /// The time at which the title was set, in Unix milliseconds, if it can be read.
    pub updated: Option<i64>,
}

impl TitleLine {
    /// The number of bytes that [`find`](TitleLine::find) needs.
    pub const MAX_LEN: usize = TitleSlot::MAX_LEN;

    /// Returns the title line at the start of a log.
    pub fn find(start: &[u8]) -> Option<TitleLine> {
        Dialect::ALL.into_iter().filter_map(|dialect| dialect.facts().title_slot).find_map(|slot| {
            let line = start.get(..slot.len).filter(|line| (slot.is_slot)(line))?;
            Some(TitleLine { len: slot.len, updated: (slot.updated)(line) })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::NewSession;
    use crate::{Message, NewEntry, Session};
    use std::sync::Arc;

    fn lines(session: &Session) -> (Arc<dyn Journal>, Vec<Vec<u8>>) {
        let journal = session.view().shared_journal();
        let mut bytes = vec![0; journal.len().unwrap() as usize];
        journal.read_at(0, &mut bytes).unwrap();
        let lines = bytes.split_inclusive(|byte| *byte == b'\n').map(|line| line.trim_ascii_end());
        (journal, lines.map(<[u8]>::to_vec).collect())
    }

    #[test]
    fn records_of_every_dialect_name_themselves_and_their_parents() {
        for dialect in Dialect::ALL.into_iter().filter(|dialect| dialect.is_writable()) {
            let new = NewSession { dialect: Some(dialect), ..NewSession::new() };
            let session = Session::in_memory_with("/project", new).unwrap();
            let first = session.append(Message::user("one")).unwrap();
            let second = session.append(Message::assistant("acme", "m", "two")).unwrap();
            let kept = session.append(NewEntry::kept_leaf(Some(&first))).unwrap();
            let moved = session.append(NewEntry::leaf(Some(&second))).unwrap();
            let (journal, lines) = lines(&session);
            let format = LogFormat::of(&*journal).unwrap();
            assert!(format.is_mergeable(), "{dialect}");
            let mut seen = Vec::new();
            let mut headers = 0;
            for line in lines {
                match format.line(&line) {
                    LineContent::Entry(record) => seen.push(record),
                    LineContent::Header => headers += 1,
                    LineContent::Other => {}
                }
            }
            assert_eq!(headers, 1, "{dialect}");
            let ids: Vec<_> =
                seen.iter().map(|record| (&*record.id, record.is_kept_leaf)).collect();
            let expected = [(&first, false), (&second, false), (&kept, true), (&moved, false)]
                .map(|(id, is_kept)| (id.as_str(), is_kept));
            assert_eq!(ids, expected, "{dialect}");
            assert_eq!(seen[1].parent.as_deref(), Some(first.as_str()), "{dialect}");
            assert_eq!(session.leaf(), Some(second), "{dialect}");
        }
    }

    /// Python writes numbers that are not finite as words that are no JSON.
    #[test]
    fn lines_with_numbers_that_are_not_finite_name_themselves() {
        for dialect in [Dialect::Chimera, Dialect::Operator, Dialect::Tau] {
            let new = NewSession { dialect: Some(dialect), ..NewSession::new() };
            let session = Session::in_memory_with("/project", new).unwrap();
            let first = session.append(Message::user("one")).unwrap();
            let second = session.append(Message::user("two")).unwrap();
            let (journal, lines) = lines(&session);
            let format = LogFormat::of(&*journal).unwrap();
            let line = String::from_utf8(lines.last().unwrap().clone()).unwrap();
            let end = line.rfind('}').unwrap();
            for word in ["NaN", "Infinity", "-Infinity"] {
                let line = format!("{}, \"score\": {word}}}", &line[..end]);
                let LineContent::Entry(record) = format.line(line.as_bytes()) else {
                    panic!("{dialect}: {line}");
                };
                assert_eq!(record.id, second.as_str(), "{dialect}");
                assert_eq!(record.parent.as_deref(), Some(first.as_str()), "{dialect}");
            }
        }
    }

    #[test]
    fn logs_without_ids_are_not_mergeable() {
        for start in [
            "{\"type\":\"session\",\"version\":2,\"id\":\"s\",\"cwd\":\"/p\"}\n",
            "{\"type\":\"session_meta\",\"payload\":{\"id\":\"s\",\"cwd\":\"/p\"}}\n",
            "no session\n",
        ] {
            let journal = crate::log::MemoryJournal::new(start.into());
            assert!(!LogFormat::of(&journal).unwrap().is_mergeable(), "{start}");
        }
    }

    #[test]
    fn a_title_line_has_a_time() {
        let new = NewSession { dialect: Some(Dialect::Omp), ..NewSession::new() };
        let session = Session::in_memory_with("/project", new).unwrap();
        let (journal, lines) = lines(&session);
        let mut start = vec![0; TitleLine::MAX_LEN];
        journal.read_at(0, &mut start).unwrap();
        let title = TitleLine::find(&start).unwrap();
        assert!(title.updated.is_some());
        assert_eq!(TitleLine::find(&lines[1]), None);
    }
}
