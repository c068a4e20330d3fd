//! Reads every byte of a log, splits each line into parts, and finds the row of the tree for each
//! part.
//!
//! Loading checks only the heads of most lines. The survey checks whole lines, because a repair
//! copies healthy lines unchanged. Other lines are split by [`crate::dialect::split`]; the loaded
//! tree decides whether a part is an entry.

use crate::dialect::Class;
use crate::dialect::split::{SegmentKind, split};
use crate::json;
use crate::load::{BOM, Loaded};
use crate::log::Journal;
use crate::log::scan::{self, Bytes};
use crate::tree::Row;
use std::io;
use std::ops::Range;

/// A piece of a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct LinePart {
    /// The range of bytes on the line, counted from its first byte (after a byte order mark).
    pub span: Range<usize>,
    pub what: PartKind,
}

/// The class of a piece of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PartKind {
    /// A complete entry.
    Entry(Row),
    /// An incomplete entry that is part of the tree.
    DamagedEntry(Row),
    /// The session's header, with its row if the tree has one for it.
    Header(Option<Row>),
    /// A further header.
    SecondHeader(Option<Row>),
    /// A complete record that is not part of the tree.
    Side,
    /// A title slot after the first one.
    SecondTitle,
    /// A fragment of a record.
    Fragment,
    /// A fragment at the end of a file without a final newline.
    Torn,
}

impl PartKind {
    /// Returns the row of the piece, if the tree has one for it.
    pub(super) fn row(self) -> Option<Row> {
        match self {
            PartKind::Entry(row) | PartKind::DamagedEntry(row) => Some(row),
            PartKind::Header(row) | PartKind::SecondHeader(row) => row,
            _ => None,
        }
    }

    /// Returns whether the piece stays in a repaired log.
    pub(super) fn is_sound(self) -> bool {
        matches!(self, PartKind::Entry(_) | PartKind::Header(_) | PartKind::Side)
    }
}

/// A line and its parts.
#[derive(Debug)]
pub(super) struct SurveyedLine<'a> {
    /// The number of the line, counted from 1.
    pub number: u64,
    /// The position of `bytes` in the log.
    pub offset: u64,
    /// The line without its newline and byte order mark.
    pub bytes: &'a [u8],
    pub terminated: bool,
    /// The parts of the line; none on a blank line.
    pub parts: &'a [LinePart],
}

/// Calls `each` for every line of a log that was loaded.
pub(super) fn lines(
    journal: &dyn Journal,
    loaded: &Loaded,
    mut each: impl FnMut(&SurveyedLine<'_>) -> io::Result<()>,
) -> io::Result<()> {
    let parent_key = loaded.facts().parent_key();
    let mut surveyor =
        LineSurveyor { loaded, next_row: Row::FIRST, titled: false, parts: Vec::new() };
    let mut number = 0;
    scan::lines(journal, 0, loaded.seen, &parent_key, |line| {
        number += 1;
        let held;
        let bytes = match line.bytes {
            Bytes::Whole(bytes) => bytes,
            Bytes::Long { .. } => {
                let mut whole = vec![0; usize::try_from(line.len).map_err(io::Error::other)?];
                scan::read_full(journal, line.offset, &mut whole)?;
                held = whole;
                &held
            }
        };
        let bom = if line.offset == 0 && bytes.starts_with(BOM) { BOM.len() } else { 0 };
        let (bytes, offset) = (&bytes[bom..], line.offset + bom as u64);
        surveyor.split_line(bytes, offset, line.terminated);
        let (terminated, parts) = (line.terminated, &*surveyor.parts);
        each(&SurveyedLine { number, offset, bytes, terminated, parts })
    })
}

struct LineSurveyor<'a> {
    loaded: &'a Loaded,
    /// The first row at or after the current line.
    next_row: Row,
    /// Whether a title slot was seen.
    titled: bool,
    parts: Vec<LinePart>,
}

impl LineSurveyor<'_> {
    /// Splits a line and fills `parts`.
    fn split_line(&mut self, bytes: &[u8], offset: u64, terminated: bool) {
        self.parts.clear();
        let masked = self.loaded.facts().json.masked(bytes);
        let bytes = &*masked;
        let start = json::skip_space(bytes, 0);
        if start == bytes.len() {
            return;
        }
        let end = json::skip_value(bytes, start).filter(|_| bytes[start] == b'{');
        if let Some(end) = end.filter(|&end| json::skip_space(bytes, end) == bytes.len()) {
            let what = self.complete_part(&bytes[start..end], offset + start as u64);
            self.parts.push(LinePart { span: start..end, what });
            return;
        }
        let mut segments = Vec::new();
        split(bytes, self.loaded.codec(), |segment| segments.push(segment));
        let last = segments.len();
        for (at, segment) in segments.into_iter().enumerate() {
            let place = offset + segment.span.start as u64;
            let record = &bytes[segment.span.clone()];
            let is_whole = json::skip_value(record, 0) == Some(record.len());
            let what = match segment.what {
                SegmentKind::Damaged | SegmentKind::DamagedEntry(_)
                    if !terminated && at + 1 == last =>
                {
                    self.row_at(place).map_or(PartKind::Torn, PartKind::DamagedEntry)
                }
                SegmentKind::Damaged | SegmentKind::DamagedEntry(_) => {
                    self.row_at(place).map_or(PartKind::Fragment, PartKind::DamagedEntry)
                }
                _ if is_whole => self.complete_part(record, place),
                _ => PartKind::Fragment,
            };
            self.parts.push(LinePart { span: segment.span, what });
        }
    }

    fn complete_part(&mut self, record: &[u8], offset: u64) -> PartKind {
        let row = self.row_at(offset);
        if offset == self.loaded.header_span.start && !self.loaded.header_span.is_empty() {
            return PartKind::Header(row);
        }
        let codec = self.loaded.codec();
        // In a session without a header, several records could be taken for one.
        let may_be_header = !self.loaded.facts().is_headerless();
        match row {
            Some(row) if !may_be_header || !self.loaded.facts().roots_below_header => {
                PartKind::Entry(row)
            }
            row => {
                let name = json::get(record, "type").and_then(json::string).unwrap_or_default();
                match (codec.classify(&name, record), row) {
                    (Class::Header | Class::HeaderNode, row) if may_be_header => {
                        PartKind::SecondHeader(row)
                    }
                    (_, Some(row)) => PartKind::Entry(row),
                    (_, None) if self.loaded.facts().title(record).is_some() => {
                        match std::mem::replace(&mut self.titled, true) {
                            true => PartKind::SecondTitle,
                            false => PartKind::Side,
                        }
                    }
                    (_, None) => PartKind::Side,
                }
            }
        }
    }

    /// Returns the row that begins at `offset`. Offsets must not decrease.
    fn row_at(&mut self, offset: u64) -> Option<Row> {
        let tree = &self.loaded.tree;
        while tree.get(self.next_row).is_some_and(|node| node.offset < offset) {
            self.next_row = self.next_row.next();
        }
        let node = tree.get(self.next_row)?;
        (node.offset == offset).then_some(self.next_row)
    }
}
