//! Upgrades files of older versions to the current one.
//!
//! The invariant of an upgrade: at every moment the path names either the complete old file or the
//! complete new one. The new file is written beside the old one, synced, and renamed over it; the
//! old one is kept, and lines that agents append to it meanwhile are copied. Damaged and blank
//! lines are copied byte for byte, and entries change only where the version requires it.

use crate::dialect::versions;
use crate::entry::Kind;
use crate::error::{Error, Result};
use crate::fs::{self, NewFile};
use crate::header::VERSION;
use crate::json::{self, with_head_member};
use crate::load::{LoadError, Loaded};
use crate::log::{FileJournal, Journal, TailCopier, check_replaceable, replace, scan};
use crate::snapshot::{Bodies, Snapshot};
use crate::tree::{Node, Row, Shape};
use std::borrow::Cow;
use std::io::{self, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};

/// The changes of an upgrade of a session's file.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Upgrade {
    /// The version that the file states; 0 if it states none.
    pub from: u64,
    /// The version after the upgrade.
    pub to: u64,
    /// The number of entries that are rewritten.
    pub entries: usize,
    /// The number of compactions among them that now name their first kept entry by id.
    pub compactions: usize,
    /// The path of the old file, once the upgrade was done.
    pub backup: Option<PathBuf>,
}

/// Returns the changes that an upgrade would make; `None` if none is necessary.
pub(crate) fn planned_upgrade(view: &Snapshot, loaded: &Loaded) -> Result<Option<Upgrade>> {
    let Some(header) = loaded.header.as_ref().filter(|_| is_due(loaded)) else { return Ok(None) };
    let shape = loaded.shape.unwrap_or(Shape::Tree);
    let (mut entries, mut compactions) = (0, 0);
    let mut bodies = Bodies::default();
    for row in loaded.tree.rows() {
        let Some(record) = bodies.record(view, row)? else { continue };
        if let Cow::Owned(new) =
            versions::upgraded(&loaded.tree, row, shape, header.version, record)
        {
            entries += 1;
            let is_compaction = loaded.tree.node(row).kind() == Kind::Compaction;
            let names_one = |entry| json::get(entry, "firstKeptEntryId").is_some();
            compactions += usize::from(is_compaction && names_one(&new) && !names_one(record));
        }
    }
    let (from, to) = (header.declared, VERSION);
    Ok(Some(Upgrade { from, to, entries, compactions, backup: None }))
}

/// Returns whether the file must be rewritten before anything can be appended to it.
pub(crate) fn is_due(loaded: &Loaded) -> bool {
    loaded.facts().has_own_header
        && loaded.header.as_ref().is_some_and(|header| header.declared < VERSION)
}

/// Upgrades the file at `path`, whose whole content is in `loaded`. The caller holds the file's
/// lock. Returns the path of the old file.
pub(crate) fn upgrade(path: &Path, file: &FileJournal, loaded: &Loaded) -> Result<PathBuf> {
    upgrade_at(path, file, loaded).map_err(Error::io(path, "upgrade"))
}

fn upgrade_at(path: &Path, file: &FileJournal, loaded: &Loaded) -> io::Result<PathBuf> {
    check_replaceable(file)?;
    // A symbolic link to the session must stay a link.
    let path = &fs::canonicalize(path)?;
    let header = loaded.header.as_ref().map_or(&b"{}"[..], |header| header.raw());
    let header = with_head_member(header, "version", VERSION.to_string().as_bytes());
    let mut copied = 0;
    let new = NewFile::beside(path)?.fill(|out| {
        copied = copy(file, loaded, &header, out)?;
        Ok(())
    })?;
    let version = loaded.header.as_ref().map_or(0, |header| header.declared.max(1));
    let backup = fs::beside(path, format!(".v{version}.bak"));
    let mut take = |from| copy_rest(file, from);
    replace(new, TailCopier::new(file, copied, &mut take)?, backup)
}

/// Copies a log with `header` instead of its own and its entries in the current version. Everything
/// else is copied unchanged, except an incomplete last line. Returns the offset up to which the log
/// was copied.
pub(crate) fn copy(
    journal: &dyn Journal,
    loaded: &Loaded,
    header: &[u8],
    out: &mut dyn Write,
) -> io::Result<u64> {
    let mut from = Copier { journal, at: 0, out };
    from.copy(loaded, Some(header))
}

/// Returns the bytes that `copy` would write for the part of a log from an offset on, and the end
/// of that part.
pub(crate) fn copy_rest(journal: &dyn Journal, from: u64) -> io::Result<(Vec<u8>, u64)> {
    let loaded = Loaded::read(journal).map_err(|error| match error {
        LoadError::Io(error) => error,
        LoadError::NoHeader(reason) => io::Error::other(reason),
    })?;
    let mut out = Vec::new();
    let mut rest = Copier { journal, at: from, out: &mut out };
    let end = rest.copy(&loaded, None)?;
    Ok((out, end))
}

/// Copies a log without a header from `start` on, unchanged.
pub(crate) fn copy_from(
    journal: &dyn Journal,
    loaded: &Loaded,
    start: u64,
    out: &mut dyn Write,
) -> io::Result<()> {
    Copier { journal, at: start, out }.finish(loaded).map(drop)
}

/// Copies a journal, with replacements.
struct Copier<'a> {
    journal: &'a dyn Journal,
    at: u64,
    out: &'a mut dyn Write,
}

impl Copier<'_> {
    /// Copies the log from the current offset on.
    fn copy(&mut self, loaded: &Loaded, mut header: Option<&[u8]>) -> io::Result<u64> {
        let shape = loaded.shape.unwrap_or(Shape::Tree);
        let version = match loaded.header.as_ref() {
            Some(header) if loaded.facts().has_own_header => header.version,
            _ => VERSION,
        };
        let tree = &loaded.tree;
        for row in Row::range(tree.row_from(self.at)..tree.next_row()) {
            let node = tree.node(row);
            if node.offset > loaded.header_span.start
                && let Some(header) = header.take()
            {
                self.replace(&loaded.header_span, header)?;
            }
            let span = node.offset..node.offset + node.len;
            let is_header = span == loaded.header_span;
            if is_header || shape == Shape::Tree && version >= VERSION && !node.has(Node::DERIVED) {
                continue; // Copied with what is around it.
            }
            let bytes = self.read(&span)?;
            self.replace(&span, &versions::upgraded(&loaded.tree, row, shape, version, &bytes))?;
        }
        if let Some(header) = header.take() {
            self.replace(&loaded.header_span, header)?;
        }
        self.finish(loaded)
    }

    /// Copies the rest, without an incomplete last line. Returns the offset up to which the log was
    /// copied.
    fn finish(&mut self, loaded: &Loaded) -> io::Result<u64> {
        let end = if loaded.tail_counts { loaded.seen } else { loaded.complete };
        self.copy_to(end)?;
        if loaded.tail_counts {
            self.out.write_all(b"\n")?;
        }
        Ok(end)
    }

    fn copy_to(&mut self, end: u64) -> io::Result<()> {
        let mut chunk = vec![0; (end.saturating_sub(self.at)).min(1 << 20) as usize];
        while self.at < end {
            let want = chunk.len().min((end - self.at) as usize);
            let got = scan::read_full(self.journal, self.at, &mut chunk[..want])?;
            if got == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            self.out.write_all(&chunk[..got])?;
            self.at += got as u64;
        }
        Ok(())
    }

    fn read(&self, span: &Range<u64>) -> io::Result<Vec<u8>> {
        let length = usize::try_from(span.end - span.start).map_err(io::Error::other)?;
        let mut bytes = vec![0; length];
        scan::read_full(self.journal, span.start, &mut bytes)?;
        Ok(bytes)
    }

    fn replace(&mut self, span: &Range<u64>, bytes: &[u8]) -> io::Result<()> {
        self.copy_to(span.start)?;
        self.at = span.end;
        self.out.write_all(bytes)
    }
}
