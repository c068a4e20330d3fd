//! Reads a journal into a header and a tree. Every line becomes rows of the tree here.

mod findings;
mod line;
mod parallel;
pub(crate) mod records;
mod streamed;
mod title;

pub(crate) use streamed::MAX_STREAMED;

use crate::dialect::facts::HeaderPlace;
use crate::dialect::{self, Codec, Dialect, Facts, Linker};
use crate::entry::Kind;
use crate::error::{Error, Result};
use crate::findings::{Finding, Problem};
use crate::header::{Header, VERSION};
use crate::id::EntryId;
use crate::log::scan::{self, Bytes, Line, Needle, Threads};
use crate::log::{End, Journal};
use crate::tree::{Insert, Row, Shape, Tree};
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The number of findings of a kind that are kept, so that a file of garbage does not fill the
/// memory.
pub(crate) const MAX_FINDINGS: usize = 1000;

pub(crate) const BOM: &[u8] = b"\xEF\xBB\xBF";

/// The state of a journal after reading it.
#[derive(Debug, Clone)]
pub(crate) struct Loaded {
    pub dialect: Dialect,
    /// The facts about the dialect, which every line needs.
    facts: &'static Facts,
    parent_key: Needle,
    pub header: Option<Header>,
    /// The range of the header in the log.
    pub header_span: Range<u64>,
    pub shape: Option<Shape>,
    pub tree: Arc<Tree>,
    /// The length of the log that was read.
    pub seen: u64,
    /// The length up to which the log consists of complete, terminated lines.
    pub complete: u64,
    /// The number of lines up to `complete`.
    lines: u64,
    /// The offset of the last line.
    last_line: u64,
    /// The end of the part that was read: other bytes there mean that the log was rewritten.
    pub end: End,
    /// Whether the unterminated last line has entries.
    pub tail_counts: bool,
    /// The directories with data that is too large for the session's records.
    pub blobs: Arc<[PathBuf]>,
    /// The session's name, if the dialect stores it outside the entries.
    title: Option<String>,
    linking: Linking,
    /// The thinking level that was looked up last: the row that sets it, and the level.
    pub level: Option<(Row, Option<String>)>,
    findings: Vec<Finding>,
}

/// The linker, while a log is read from its start. A clone of `Loaded` has none.
#[derive(Debug, Default)]
struct Linking(Option<Box<dyn Linker>>);

impl Clone for Linking {
    fn clone(&self) -> Self {
        Linking(None)
    }
}

/// The reason why loading stopped before the end.
#[derive(Debug)]
pub(crate) enum LoadError {
    Io(io::Error),
    /// The journal is not empty, but has no header.
    NoHeader(String),
}

impl From<io::Error> for LoadError {
    fn from(error: io::Error) -> Self {
        LoadError::Io(error)
    }
}

impl LoadError {
    pub(crate) fn at(self, path: Option<&Path>) -> Error {
        let path = path.unwrap_or(Path::new("(memory)"));
        match self {
            LoadError::Io(error) => Error::io(path, "read")(error),
            LoadError::NoHeader(reason) => Error::NotASession { path: path.to_owned(), reason },
        }
    }
}

impl Loaded {
    fn new(dialect: Dialect) -> Self {
        Loaded {
            dialect,
            facts: dialect.facts(),
            parent_key: dialect.facts().parent_key(),
            header: None,
            header_span: 0..0,
            shape: dialect.facts().shape,
            tree: Arc::new(Tree::new()),
            seen: 0,
            complete: 0,
            lines: 0,
            last_line: 0,
            end: End::default(),
            tail_counts: false,
            blobs: Arc::default(),
            title: None,
            linking: Linking::default(),
            level: None,
            findings: Vec::new(),
        }
    }

    /// Sets the dialect, which cannot always be detected from the first lines of a new session.
    pub(crate) fn of_dialect(mut self, dialect: Dialect) -> Self {
        (self.dialect, self.facts) = (dialect, dialect.facts());
        self.parent_key = self.facts.parent_key();
        self
    }

    /// Sets the path of the file, for data that is stored beside it.
    pub(crate) fn at(mut self, path: &Path) -> Self {
        if let Some(header) = self.header.as_mut().filter(|header| header.id.is_empty()) {
            header.take_id_of(path);
        }
        if let Some(header) = self.header.as_mut().filter(|header| header.cwd.is_empty())
            && let Some(project) = self.facts.project
        {
            header.cwd = project(path).unwrap_or_default();
        }
        if let Some(directories) = self.facts.blob_directories {
            self.blobs = directories(path).into();
        }
        self
    }

    pub(crate) fn codec(&self) -> &'static dyn Codec {
        self.dialect.codec()
    }

    pub(crate) fn facts(&self) -> &'static Facts {
        self.facts
    }

    /// Returns the state after reading a journal that has only this header.
    pub(crate) fn of_header(header: Header) -> Self {
        let length = header.raw().len() as u64;
        let mut loaded = Loaded::new(Dialect::default());
        loaded.shape = Some(Shape::Tree);
        loaded.header_span = 0..length;
        loaded.appended(0, &[header.raw(), b"\n"].concat());
        loaded.header = Some(header);
        loaded
    }

    /// Reads a journal from its start. An empty journal has no header yet.
    pub(crate) fn read(journal: &dyn Journal) -> Result<Self, LoadError> {
        // The length is requested only once, because that may be a round trip to a server.
        let length = journal.len()?;
        Self::read_to(journal, length)
    }

    /// Reads the first `length` bytes of a journal, as if there were no more.
    pub(crate) fn read_to(journal: &dyn Journal, length: u64) -> Result<Self, LoadError> {
        let mut loaded = Loaded::from_start(dialect::detect(journal, length)?);
        let taken = loaded.read_on(journal, length)?;
        loaded.finished(taken, length)
    }

    /// Returns the state before a journal is read from its start.
    fn from_start(dialect: Dialect) -> Self {
        let mut loaded = Loaded::new(dialect);
        loaded.linking = Linking(loaded.codec().linker());
        loaded
    }

    /// Returns the state after the first `length` bytes were read from the start.
    fn finished(mut self, taken: Insert, length: u64) -> Result<Self, LoadError> {
        if taken == Insert::Unsettled {
            Arc::make_mut(&mut self.tree).settle();
        }
        if let Some(linker) = &mut self.linking.0 {
            linker.finish(Arc::make_mut(&mut self.tree));
        }
        if self.header.is_none() && length > 0 {
            if !self.facts.is_headerless() || self.tree.is_empty() {
                return Err(LoadError::NoHeader("it has no session header".into()));
            }
            self.header = Some(Header::unknown());
        }
        self.take_title();
        Ok(self)
    }

    /// Reads only the header of a journal of this length; `None` if the first line is not a header.
    pub(crate) fn read_header(
        journal: &dyn Journal,
        length: u64,
    ) -> Result<Option<Self>, LoadError> {
        const MAX_HEADER_BYTES: u64 = 64 * 1024;
        let mut loaded = Loaded::new(dialect::detect(journal, length)?);
        let parent_key = loaded.parent_key.clone();
        let mut lines = 0;
        scan::lines(journal, 0, length.min(MAX_HEADER_BYTES), &parent_key, |line| {
            // The header is the first line, or the second one after a title.
            lines += 1;
            if lines <= 2 && loaded.header.is_none() && loaded.tree.is_empty() && line.terminated {
                self::Loaded::line(&mut loaded, journal, line)?;
            }
            Ok::<(), LoadError>(())
        })?;
        Ok(loaded.header.is_some().then_some(loaded))
    }

    /// Reads the lines from `start` (the start of a line) to `end` into a tree of their own.
    pub(crate) fn read_suffix(
        mut self,
        journal: &dyn Journal,
        start: u64,
        end: u64,
    ) -> Result<Self, LoadError> {
        self.complete = start;
        if self.read_on(journal, end)? == Insert::Unsettled {
            Arc::make_mut(&mut self.tree).settle();
        }
        Ok(self)
    }

    /// Reads the lines that were appended since. Returns their rows, or `None` if the journal must
    /// be read again from the start, because it does not continue what was read, or does so in an
    /// unusual way.
    pub(crate) fn refresh(
        &mut self,
        journal: &dyn Journal,
    ) -> Result<Option<Range<Row>>, LoadError> {
        let length = journal.len()?;
        let before = self.tree.next_row();
        let unchanged = length >= self.seen
            && self.end.is_in(|offset, buffer| journal.read_at(offset, buffer))?;
        if !unchanged {
            return Ok(None);
        }
        self.reread_title(journal)?;
        if length == self.seen {
            return Ok(Some(before..before));
        }
        let is_linked = self.codec().linker().is_some();
        if self.tail_counts || self.header.is_none() || is_linked {
            return Ok(None);
        }
        self.findings.retain(|finding| finding.problem != Problem::TornTail);
        let taken = self.read_on(journal, length)?;
        self.take_title();
        match taken {
            Insert::InOrder => Ok(Some(before..self.tree.next_row())),
            Insert::Unsettled => Ok(None),
        }
    }

    /// Makes room for the entries up to `to`.
    fn reserve(&mut self, to: u64) {
        // Entries are mostly of this size; a wrong guess costs a little memory or a little time.
        let guess = (to.saturating_sub(self.complete) / 2048).min(1 << 20);
        Arc::make_mut(&mut self.tree).reserve(guess as usize);
    }

    fn read_on(&mut self, journal: &dyn Journal, to: u64) -> Result<Insert, LoadError> {
        let mut taken = Insert::InOrder;
        self.reserve(to);
        journal.will_read(self.complete..to);
        if let Some((middle, threads)) = parallel::middle(self.codec(), journal, self.complete, to)?
        {
            // Another core scans the second half meanwhile.
            let (codec, key) = (self.codec(), self.parent_key.clone());
            let seen = std::thread::scope(|scope| {
                let second = scope.spawn(|| {
                    parallel::ScannedLines::read(codec, journal, middle, to, &key, threads)
                });
                self.read_lines(journal, middle, threads, &mut taken)?;
                second.join().unwrap_or_else(|_| Err(io::Error::other("a reader failed").into()))
            })?;
            self.insert_scanned(journal, &seen, &mut taken)?;
        } else {
            self.read_lines(journal, to, Threads::ReadAhead, &mut taken)?;
        }
        self.end = End::read(journal, self.last_line, self.seen)?;
        Ok(taken)
    }

    fn read_lines(
        &mut self,
        journal: &dyn Journal,
        to: u64,
        threads: Threads,
        taken: &mut Insert,
    ) -> Result<(), LoadError> {
        let parent_key = self.parent_key.clone();
        scan::lines_on(threads, journal, self.complete, to, &parent_key, |line| {
            self.next_line(journal, line, taken)
        })
    }

    /// Loads the line after the last one.
    fn next_line(
        &mut self,
        journal: &dyn Journal,
        line: Line<'_>,
        taken: &mut Insert,
    ) -> Result<(), LoadError> {
        let (offset, len, terminated) = (line.offset, line.len, line.terminated);
        let rows = self.tree.row_count();
        if self.line(journal, line)? == Insert::Unsettled {
            *taken = Insert::Unsettled;
        }
        self.passed(offset..offset + len, terminated, rows);
        Ok(())
    }

    /// Records that the line at `span` was loaded after this number of rows.
    fn passed(&mut self, span: Range<u64>, terminated: bool, rows: usize) {
        self.last_line = span.start;
        self.seen = span.end + u64::from(terminated);
        if terminated {
            self.complete = self.seen;
            self.lines += 1;
        } else {
            self.tail_counts = self.tree.row_count() > rows;
        }
    }

    /// Inserts lines that were scanned ahead of time.
    fn insert_scanned(
        &mut self,
        journal: &dyn Journal,
        seen: &parallel::ScannedLines,
        taken: &mut Insert,
    ) -> Result<(), LoadError> {
        for line in seen.lines() {
            let rows = self.tree.row_count();
            let is_known = self.header.is_some() || self.facts.header == HeaderPlace::Optional;
            let outcome = match line.head {
                parallel::ScannedHead::Entry(head) if is_known => {
                    self.entry(head, line.offset, line.len, None, false)
                }
                parallel::ScannedHead::Side if is_known => Insert::InOrder,
                _ => {
                    let mut bytes = vec![0; usize::try_from(line.len).map_err(io::Error::other)?];
                    scan::read_full(journal, line.offset, &mut bytes)?;
                    let (offset, len, terminated) = (line.offset, line.len, line.terminated);
                    let bytes = Bytes::Whole(&bytes);
                    self.line(journal, Line { offset, len, terminated, bytes })?
                }
            };
            if outcome == Insert::Unsettled {
                *taken = Insert::Unsettled;
            }
            self.passed(line.offset..line.offset + line.len, line.terminated, rows);
        }
        Ok(())
    }

    /// Returns the parent of a new root: `None`, unless the dialect's header is a node of the tree.
    pub(crate) fn root_parent(&self) -> Option<EntryId> {
        let row = self.header_row().filter(|_| self.facts.roots_below_header);
        row.map(|row| self.tree.id(row))
    }

    /// Returns the row of the header, if it is a node of the tree.
    pub(crate) fn header_row(&self) -> Option<Row> {
        if self.header_span.is_empty() {
            return None;
        }
        // Rows are in file order.
        let row = self.tree.row_from(self.header_span.start);
        let node = self.tree.get(row)?;
        (node.offset == self.header_span.start).then_some(row)
    }

    /// Records that the session itself appended `lines` at `start`.
    pub(crate) fn appended(&mut self, start: u64, lines: &[u8]) {
        self.complete = start + lines.len() as u64;
        self.seen = self.complete;
        self.lines += memchr::memchr_iter(b'\n', lines).count() as u64;
        self.tail_counts = false;
        let above = &lines[..lines.len().saturating_sub(1)];
        let last = memchr::memrchr(b'\n', above).map_or(0, |newline| newline + 1);
        self.last_line = start + last as u64;
        self.end.set(self.last_line, &lines[last..]);
        self.findings.retain(|finding| finding.problem != Problem::TornTail);
    }

    /// Returns whether a message in the usual format of the dialect can be inserted into the tree
    /// by its head alone.
    pub(crate) fn is_usual(&self) -> bool {
        let is_linked = || self.codec().linker().is_some();
        self.header.is_some() && self.shape == Some(Shape::Tree) && !is_linked()
    }

    /// Returns whether lines of the log can be read as entries without the lines before them.
    pub(crate) fn is_suffix_readable(&self) -> bool {
        let is_current = self.header.as_ref().is_some_and(|header| header.version == VERSION);
        self.facts.is_own_format && is_current && self.shape == Some(Shape::Tree)
    }

    /// Returns whether the journal's last line lacks its newline.
    pub(crate) fn is_torn(&self) -> bool {
        self.seen > self.complete
    }
}

/// Returns whether the tree needs the body of entries of this kind.
pub(crate) fn is_fact(kind: Kind) -> bool {
    matches!(kind, Kind::Label | Kind::Leaf | Kind::SessionInfo)
}
