//! A session at one point in time: its tree, and the journal with the bodies of its entries.

use crate::dialect::agent::PathRecords;
use crate::dialect::{Codec, Facts, blobs, versions};
use crate::entry::{Entry, Kind, NewEntry, Role};
use crate::error::{Error, Result};
use crate::json;
use crate::load::Loaded;
use crate::log::{Journal, scan};
use crate::tree::{NONE, Node, Row, Shape, Tree};
use std::borrow::Cow;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

/// A consistent pair of a tree and the journal its rows point into.
#[derive(Debug, Clone)]
pub(crate) struct Snapshot {
    tree: Arc<Tree>,
    journal: Arc<dyn Journal>,
    codec: &'static dyn Codec,
    facts: &'static Facts,
    version: u64,
    shape: Shape,
    blobs: Arc<[PathBuf]>,
    partial: bool,
}

impl Snapshot {
    pub(crate) fn journal(&self) -> &dyn Journal {
        &*self.journal
    }

    pub(crate) fn shared_journal(&self) -> Arc<dyn Journal> {
        Arc::clone(&self.journal)
    }

    pub(crate) fn new(loaded: &Loaded, journal: Arc<dyn Journal>, partial: bool) -> Self {
        Snapshot {
            tree: Arc::clone(&loaded.tree),
            journal,
            codec: loaded.codec(),
            facts: loaded.facts(),
            version: loaded.header.as_ref().map_or(crate::header::VERSION, |header| header.version),
            shape: loaded.shape.unwrap_or(Shape::Tree),
            blobs: Arc::clone(&loaded.blobs),
            partial,
        }
    }

    /// Returns the length of the log.
    pub(crate) fn size(&self) -> io::Result<u64> {
        self.journal.len()
    }

    pub(crate) fn tree(&self) -> &Tree {
        &self.tree
    }

    /// Returns whether only the end of the log was read.
    pub(crate) fn is_partial(&self) -> bool {
        self.partial
    }

    /// Returns whether the row's parent may be in the part of the log that was not read.
    pub(crate) fn is_cut(&self, row: Row) -> bool {
        self.partial && self.tree.node(row).has(Node::LOST_PARENT)
    }

    /// Returns the row's bytes as in the log.
    pub(crate) fn bytes(&self, row: Row) -> io::Result<Vec<u8>> {
        let node = self.tree.node(row);
        let mut bytes = vec![0; usize::try_from(node.len).map_err(io::Error::other)?];
        let got = scan::read_full(&*self.journal, node.offset, &mut bytes)?;
        bytes.truncate(got);
        Ok(bytes)
    }

    /// Returns a record as valid JSON: Python writes numbers that JSON does not have.
    fn standard<'a>(&self, record: &'a [u8]) -> Cow<'a, [u8]> {
        self.facts.json.standard(record)
    }

    pub(crate) fn codec(&self) -> &'static dyn Codec {
        self.codec
    }

    pub(crate) fn facts(&self) -> &'static Facts {
        self.facts
    }

    /// Returns the row's entry in treering's format, in the current version. The result is borrowed
    /// if nothing changed. Further messages of the record are added to `more`.
    fn native<'a>(
        &self,
        row: Row,
        bytes: &'a [u8],
        images: Images,
        more: &mut Vec<Vec<u8>>,
    ) -> Cow<'a, [u8]> {
        if self.facts.is_native(self.tree.node(row).kind()) {
            let entry = versions::upgraded(&self.tree, row, self.shape, self.version, bytes);
            return match images {
                Images::Referenced => entry,
                Images::Inlined => self.with_blobs(entry),
            };
        }
        // An incomplete record is not changed, and is reported as damaged.
        let start = json::skip_space(bytes, 0);
        let end = json::skip_value(bytes, start).filter(|_| bytes.get(start) == Some(&b'{'));
        let Some(end) = end else { return Cow::Borrowed(bytes) };
        let decoded = self.codec.decode(&bytes[start..end]);
        *more = decoded.more;
        Cow::Owned(self.placed(row, &decoded.entry))
    }

    /// Replaces references to blobs in `json` by the blobs, if they are valid.
    pub(crate) fn with_blobs<'a>(&self, json: Cow<'a, [u8]>) -> Cow<'a, [u8]> {
        if self.blobs.is_empty() {
            return json;
        }
        match blobs::inlined(&json, &self.blobs) {
            Cow::Owned(inlined) => Cow::Owned(inlined),
            Cow::Borrowed(_) => json,
        }
    }

    /// Returns an entry with the id, parent and time that the tree has for it.
    fn placed(&self, row: Row, entry: &NewEntry) -> Vec<u8> {
        let node = self.tree.node(row);
        let parent = match node.parent {
            NONE => b"null".to_vec(),
            parent => self.tree.id_literal(parent),
        };
        let time = node.time().map(|time| json::quoted(&crate::time::format(time)));
        let time = time.unwrap_or_else(|| b"null".to_vec());
        let mut line = Vec::with_capacity(entry.fields.len() + 128);
        entry.write_line(&mut line, self.tree.id_text(row), &parent, &time);
        line.pop(); // The newline.
        line
    }

    pub(crate) fn entry(&self, row: Row) -> Result<Entry> {
        let bytes = self.bytes(row).map_err(Error::Storage)?;
        Ok(self.entry_of(row, &self.standard(&bytes), Images::Referenced))
    }

    /// Returns the entries for whose record `wanted` is true, in file order. No other entry is
    /// decoded.
    pub(crate) fn entries_where(
        self,
        mut wanted: impl FnMut(Kind, Option<Role>, &[u8]) -> bool,
    ) -> impl Iterator<Item = Result<Entry>> {
        let mut bodies = Bodies::default();
        let rows: Vec<Row> = self.tree.live().collect();
        rows.into_iter().filter_map(move |row| {
            let node = *self.tree.node(row);
            match bodies.read(&self, row) {
                Ok(bytes) if wanted(node.kind(), node.role(), bytes) => {
                    Some(Ok(self.entry_of(row, bytes, Images::Referenced)))
                }
                Ok(_) => None,
                Err(error) => Some(Err(error)),
            }
        })
    }

    fn entry_of(&self, row: Row, bytes: &[u8], images: Images) -> Entry {
        let node = self.tree.node(row);
        let object = &bytes[json::skip_space(bytes, 0)..];
        let found = json::whole_object(object, "message");
        let mut more = Vec::new();
        let (raw, record, checked) = match found.clone() {
            Some((end, message)) => match self.native(row, &object[..end], images, &mut more) {
                Cow::Borrowed(raw) if raw.len() == end => (raw.to_vec(), None, Some(message)),
                Cow::Borrowed(raw) => (raw.to_vec(), None, None),
                Cow::Owned(raw) => {
                    let checked = json::whole_object(&raw, "message")
                        .and_then(|(end, message)| (end == raw.len()).then_some(message));
                    (raw, Some(object[..end].to_vec()), checked)
                }
            },
            None => (bytes.to_vec(), None, None),
        };
        Entry {
            id: self.tree.id(row),
            parent: (node.parent != NONE).then(|| self.tree.id(node.parent)),
            kind: node.kind(),
            role: node.role(),
            time: node.time(),
            raw,
            record,
            more,
            damaged: found.is_none(),
            checked: checked.is_some(),
            message: checked.flatten(),
        }
    }

    /// Returns the active leaf of the file. If that entry is damaged, other agents cannot see it,
    /// so the leaf is the nearest undamaged entry above it.
    pub(crate) fn file_leaf(&self) -> Result<Option<Row>> {
        let Some(leaf) = self.tree.file_leaf_row() else { return Ok(None) };
        let mut bodies = Bodies::default();
        for row in self.tree.ancestors(leaf) {
            if bodies.whole(self, row)?.is_some() {
                return Ok(Some(row));
            }
        }
        Ok(None)
    }

    /// Returns the same for a part of the log. The outer `None` means that the part is not enough
    /// to know the leaf.
    pub(crate) fn file_leaf_if_known(&self) -> Result<Option<Option<Row>>> {
        if self.tree.is_empty() || self.tree.points_nowhere() {
            return Ok(None);
        }
        // All entries of this part are damaged: an undamaged one may be further up.
        let leaf = self.file_leaf()?;
        let known = leaf.is_some() || self.tree.file_leaf_row().is_none();
        Ok(known.then_some(leaf))
    }
}

/// Reads bodies in windows, because the entries of a path are mostly contiguous and read in one
/// direction.
#[derive(Debug, Clone)]
pub(crate) struct Bodies {
    window: Vec<u8>,
    /// The last record that had to be converted to valid JSON.
    standard: Vec<u8>,
    start: u64,
    /// The number of bytes that are read at a time.
    step: u64,
    images: Images,
    /// Messages that were built while the log was read, by row.
    made: Vec<Option<Vec<u8>>>,
}

/// The treatment of images that are stored outside the log, in files of their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Images {
    /// Leaves the references, which is enough unless an image is shown or sent.
    Referenced,
    /// Replaces the references by the images, which takes time and memory.
    Inlined,
}

const WINDOW: u64 = 128 * 1024;

impl Default for Bodies {
    fn default() -> Self {
        let (window, standard, images) = (Vec::new(), Vec::new(), Images::Referenced);
        Bodies { window, standard, start: 0, step: WINDOW, images, made: Vec::new() }
    }
}

impl Bodies {
    /// Creates a reader for one or two bodies, which reads little more than these.
    pub(crate) fn few() -> Self {
        Bodies { step: 4096, ..Bodies::default() }
    }

    /// Creates a reader for data that leaves the session: contexts, exports and copies.
    pub(crate) fn with_images() -> Self {
        Bodies::default().inlining()
    }

    /// Returns this reader, replacing references by images.
    pub(crate) fn inlining(self) -> Self {
        Bodies { images: Images::Inlined, ..self }
    }

    /// Returns this reader, leaving references to images.
    pub(crate) fn referencing(self) -> Self {
        Bodies { images: Images::Referenced, ..self }
    }

    /// Supplies messages that were built while the log was read.
    pub(crate) fn with_made(self, made: Vec<Option<Vec<u8>>>) -> Self {
        Bodies { made, ..self }
    }

    /// Takes the message of a row, if it was built while the log was read.
    pub(crate) fn take_made(&mut self, row: Row) -> Option<Vec<u8>> {
        self.made.get_mut(row.index())?.take()
    }

    /// Returns the row's bytes as in the log, but always as valid JSON.
    fn read<'a>(&'a mut self, view: &'a Snapshot, row: Row) -> Result<&'a [u8]> {
        let node = *view.tree.node(row);
        let end = node.offset + node.len;
        if let Some(held) = view.journal.as_slice() {
            let span = usize::try_from(node.offset).ok().zip(usize::try_from(end).ok());
            let bytes = span.and_then(|(from, to)| held.get(from..to)).unwrap_or_default();
            return Ok(standard(view, bytes, &mut self.standard));
        }
        if node.offset < self.start || end > self.start + self.window.len() as u64 {
            let want = node.len.max(self.step);
            // A reader that goes backwards will need the bytes before this record next.
            let is_before = node.offset < self.start;
            let start = if is_before { end.saturating_sub(want) } else { node.offset };
            let want = if is_before { end - start } else { want };
            self.window.resize(usize::try_from(want).unwrap_or(usize::MAX), 0);
            let got = scan::read_full(&*view.journal, start, &mut self.window);
            self.window.truncate(got.map_err(Error::Storage)?);
            self.start = start;
        }
        let from = (node.offset - self.start) as usize;
        let bytes = self.window.get(from..from + node.len as usize).unwrap_or_default();
        Ok(standard(view, bytes, &mut self.standard))
    }

    pub(crate) fn entry(&mut self, view: &Snapshot, row: Row) -> Result<Entry> {
        let images = self.images;
        let bytes = self.read(view, row)?;
        Ok(view.entry_of(row, bytes, images))
    }

    /// Returns the entry's JSON, even if it is incomplete; `None` if it is known to be damaged.
    pub(crate) fn any<'a>(
        &'a mut self,
        view: &'a Snapshot,
        row: Row,
    ) -> Result<Option<Cow<'a, [u8]>>> {
        self.all(view, row, &mut Vec::new())
    }

    /// Returns the entry's JSON, and the further messages of the record.
    pub(crate) fn all<'a>(
        &'a mut self,
        view: &'a Snapshot,
        row: Row,
        more: &mut Vec<Vec<u8>>,
    ) -> Result<Option<Cow<'a, [u8]>>> {
        if view.tree.node(row).has(Node::DAMAGED) {
            return Ok(None);
        }
        let images = self.images;
        let bytes = self.read(view, row)?;
        Ok(Some(view.native(row, bytes, images, more)))
    }

    /// Returns the record as the log contains it, if it is a whole object.
    pub(crate) fn record<'a>(
        &'a mut self,
        view: &'a Snapshot,
        row: Row,
    ) -> Result<Option<&'a [u8]>> {
        if view.tree.node(row).has(Node::DAMAGED) {
            return Ok(None);
        }
        let bytes = self.read(view, row)?;
        let start = json::skip_space(bytes, 0);
        let end = json::skip_value(bytes, start).filter(|_| bytes.get(start) == Some(&b'{'));
        Ok(end.map(|end| &bytes[start..end]))
    }

    /// Returns the entry's JSON if it is a whole object.
    pub(crate) fn whole<'a>(
        &'a mut self,
        view: &'a Snapshot,
        row: Row,
    ) -> Result<Option<Cow<'a, [u8]>>> {
        let Some(body) = self.any(view, row)? else { return Ok(None) };
        let start = json::skip_space(&body, 0);
        let whole = body.get(start) == Some(&b'{') && json::skip_value(&body, start).is_some();
        Ok(whole.then_some(body))
    }
}

/// Returns a record as JSON, in `made` if it had to be made.
fn standard<'a>(view: &Snapshot, record: &'a [u8], made: &'a mut Vec<u8>) -> &'a [u8] {
    match view.standard(record) {
        Cow::Borrowed(record) => record,
        Cow::Owned(standard) => {
            *made = standard;
            made
        }
    }
}

/// The records on a path.
#[derive(Debug)]
pub(crate) struct RecordsOnPath<'a> {
    view: &'a Snapshot,
    rows: Vec<Row>,
    bodies: Bodies,
}

impl<'a> RecordsOnPath<'a> {
    pub(crate) fn new(view: &'a Snapshot, rows: Vec<Row>) -> Self {
        RecordsOnPath { view, rows, bodies: Bodies::default() }
    }
}

impl PathRecords for RecordsOnPath<'_> {
    fn len(&self) -> usize {
        self.rows.len()
    }

    fn record(&mut self, at: usize) -> Result<Option<&[u8]>> {
        self.bodies.record(self.view, self.rows[at])
    }
}
