//! Inserts a line of the log into the tree: quickly by its head if it has its usual shape, otherwise as a
//! whole.

use super::{BOM, LoadError, Loaded, is_fact};
use crate::dialect::facts::HeaderPlace;
use crate::dialect::split::{Segment, SegmentKind, split};
use crate::dialect::{QuickRead, versions};
use crate::entry::Kind;
use crate::entry::head::{self, Head};
use crate::findings::Problem;
use crate::header::{Header, VERSION};
use crate::id::EntryId;
use crate::log::Journal;
use crate::log::scan::{self, Bytes, Line};
use crate::tree::{Insert, NewRow, Row, Shape};
use std::sync::Arc;

/// The header must be among this many lines at the start of a file.
const HEADER_WITHIN: u64 = 64;

impl Loaded {
    /// Inserts the entries of a line.
    pub(super) fn line(
        &mut self,
        journal: &dyn Journal,
        line: Line<'_>,
    ) -> Result<Insert, LoadError> {
        let held;
        let bytes = match line.bytes {
            Bytes::Whole(bytes) => bytes,
            Bytes::Long { start, repeats_needle } => {
                if !repeats_needle
                    && line.terminated
                    && self.shape == Some(Shape::Tree)
                    && self.facts.heads_first
                    && let Some((head, _)) = self.codec().quick(start)
                    && !is_fact(head.kind)
                {
                    return Ok(self.entry(head, line.offset, line.len, None, false));
                }
                let mut whole = vec![0; line.len as usize];
                scan::read_full(journal, line.offset, &mut whole)?;
                held = whole;
                &held
            }
        };
        let is_unknown = self.header.is_none() && self.facts.header == HeaderPlace::Anywhere;
        let is_numbered = self.shape != Some(Shape::Tree) && !self.facts.is_chain();
        if line.terminated && !is_unknown && !is_numbered {
            match self.quick_read(bytes) {
                QuickRead::Entry(head, used)
                    if !is_fact(head.kind) && self.parent_key.find(&bytes[used..]).is_none() =>
                {
                    return Ok(self.entry(head, line.offset, line.len, None, false));
                }
                QuickRead::Side => {
                    self.take_side(bytes);
                    return Ok(Insert::InOrder);
                }
                _ => {}
            }
        }
        let bom = if line.offset == 0 && bytes.starts_with(BOM) { BOM.len() } else { 0 };
        self.thorough(&bytes[bom..], line.offset + bom as u64, line.terminated)
    }

    #[inline]
    fn quick_read<'a>(&self, line: &'a [u8]) -> QuickRead<'a> {
        // Called directly, the reader of treering's own format can be inlined.
        match self.facts.is_own_format {
            true => match head::quick(line) {
                Some((head, used)) => QuickRead::Entry(head, used),
                None => QuickRead::Unclear,
            },
            false => self.codec().quick_read(line),
        }
    }

    /// Inserts a line of any form.
    fn thorough(
        &mut self,
        bytes: &[u8],
        offset: u64,
        terminated: bool,
    ) -> Result<Insert, LoadError> {
        let mut segments: Vec<Segment<'_>> = Vec::new();
        let codec = self.codec();
        let masked = self.facts.json.masked(bytes);
        let bytes = &*masked;
        split(bytes, codec, |segment| segments.push(segment));
        let number = self.lines + 1;
        if self.header.is_none() && number > HEADER_WITHIN && !self.facts.is_headerless() {
            let reason = format!("no session header in its first {HEADER_WITHIN} lines");
            return Err(LoadError::NoHeader(reason));
        }
        if segments.len() > 1 {
            self.find(number, Problem::Glued);
        }
        let mut taken = Insert::InOrder;
        let last = segments.len();
        for (at, Segment { span, what }) in segments.into_iter().enumerate() {
            let is_tail = !terminated && at + 1 == last;
            let (start, len) = (offset + span.start as u64, span.len() as u64);
            let body = &bytes[span];
            let is_header = matches!(what, SegmentKind::Header | SegmentKind::HeaderNode(_));
            if self.header.is_none() && self.facts.is_headerless() && !is_header {
                self.header = codec.header(body);
            }
            match what {
                SegmentKind::Header => self.take_header(body, start, number),
                SegmentKind::HeaderNode(head) => {
                    self.take_header(body, start, number);
                    if self.entry(head, start, len, None, false) == Insert::Unsettled {
                        taken = Insert::Unsettled;
                    }
                }
                SegmentKind::Side => self.take_side(body),
                SegmentKind::Entry(head) => {
                    if self.header.is_none() && head.id.is_none() && !self.facts.is_headerless() {
                        continue; // Before the header, and nothing that could be linked: no entry.
                    }
                    if self.entry(head, start, len, Some(body), false) == Insert::Unsettled {
                        taken = Insert::Unsettled;
                    }
                }
                // The end is torn: a write is in progress or was interrupted. It was never
                // acknowledged.
                SegmentKind::DamagedEntry(_) | SegmentKind::Damaged if is_tail => {
                    self.find(number, Problem::TornTail);
                }
                SegmentKind::DamagedEntry(head) => {
                    if let Some(id) = &head.id {
                        self.find(number, Problem::DamagedEntry(EntryId::from(&*id.text)));
                    }
                    if self.entry(head, start, len, None, true) == Insert::Unsettled {
                        taken = Insert::Unsettled;
                    }
                }
                SegmentKind::Damaged => self.find(number, Problem::Damaged),
            }
        }
        Ok(taken)
    }

    fn take_header(&mut self, raw: &[u8], offset: u64, number: u64) {
        let codec = self.codec();
        match (&self.header, codec.header(raw)) {
            (None, Some(header)) => {
                if header.id.is_empty() {
                    self.find(number, Problem::NoSessionId);
                }
                if header.version > self.facts.version {
                    self.find(number, Problem::FutureVersion(header.version));
                }
                if header.version >= 2 {
                    self.shape.get_or_insert(Shape::Tree);
                }
                self.header = Some(header);
                self.header_span = offset..offset + raw.len() as u64;
            }
            // Agents without headers have several records that identify the session.
            _ if self.facts.is_headerless() => {}
            _ => self.find(number, Problem::SecondHeader),
        }
    }

    fn take_side(&mut self, record: &[u8]) {
        if let Some(linker) = &mut self.linking.0 {
            linker.side(record);
        }
        if let Some(title) = self.facts.title(record) {
            match &self.title {
                None => self.title = Some(title),
                Some(_) => self.find(self.lines + 1, Problem::SecondTitle),
            }
        }
    }

    /// Inserts an entry.
    pub(super) fn entry(
        &mut self,
        mut head: Head<'_>,
        offset: u64,
        len: u64,
        body: Option<&[u8]>,
        damaged: bool,
    ) -> Insert {
        let shape = *self.shape.get_or_insert_with(|| Self::shape_of(self.header.as_mut(), &head));
        let tree = Arc::make_mut(&mut self.tree);
        let mut derived = None;
        let lacks_id = shape == Shape::Tree && head.id.is_none();
        if shape == Shape::Chain || head.id.is_none() {
            head.id = None;
            let session = self.header.as_ref().map_or("", Header::own_id);
            derived = Some(crate::id::derived(session, self.lines + 1, |id| tree.contains(id)));
        }
        let previous;
        if shape == Shape::Chain {
            let popped = body.and_then(versions::popped_to);
            if popped.is_some() {
                head.kind = Kind::BranchSummary;
            }
            let above = popped.unwrap_or(tree.row_count()).min(tree.row_count());
            previous = above.checked_sub(1).map(|row| tree.id(Row::new(row)));
            let name = |id: &EntryId| head::Name { text: id.to_string().into(), is_number: false };
            head.parent = previous.as_ref().map(name);
        }
        let derived_id = derived.as_ref().map(EntryId::as_str);
        if let Some(linker) = &mut self.linking.0 {
            linker.row(tree.next_row(), &head);
        }
        let codec = self.dialect.codec();
        let is_foreign = is_fact(head.kind) && !self.facts.is_native(head.kind);
        let decoded =
            body.filter(|_| is_foreign).map(|body| codec.decode(body).entry.fields_object());
        let body = decoded.as_deref().or(body);
        let taken = tree.insert(NewRow { head, offset, len, body, damaged, derived_id });
        if let Some(id) = derived.filter(|_| lacks_id && !self.facts.updates_records) {
            self.find(self.lines + 1, Problem::NoId(id));
        }
        taken
    }

    /// Returns the format of a file that does not state its version: its first entry decides.
    fn shape_of(header: Option<&mut Header>, first: &Head<'_>) -> Shape {
        match header {
            Some(header) if header.version == 0 && first.id.is_some() => {
                header.version = VERSION;
                Shape::Tree
            }
            Some(header) => {
                header.version = 1;
                Shape::Chain
            }
            None => Shape::Tree,
        }
    }
}
