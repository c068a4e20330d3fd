//! Reads the active context from the end of a log.
//!
//! The entries at the end decide: the last line of an id wins, the last entry is the leaf, and a
//! parent is mostly just before its child. A tree made of the last lines alone therefore gives the
//! right context, unless the context depends on an earlier line. This case is detected: a walk
//! reaches an entry whose parent is not among those lines. The window then grows, and beyond some
//! size everything is read instead.
//!
//! The thinking level is mostly set at the start of a session and nowhere else. Where the storage
//! keeps [checkpoints](Checkpoint), the writer of the last append has stored the level in effect at
//! that point.

use super::{Projection, message_of, select};
use crate::error::{Error, Result};
use crate::load::{LoadError, Loaded, MAX_STREAMED};
use crate::log::{Checkpoint, Journal, scan};
use crate::snapshot::{Bodies, Snapshot};
use crate::tree::{Node, Row, Shape};
use std::io;
use std::path::Path;
use std::sync::Arc;

/// The initial size of the window, in bytes.
const FIRST: u64 = 512 * 1024;
const GROWTH: u64 = 4;
/// The largest window. If it is not enough, the whole file is read.
const LAST: u64 = 32 * 1024 * 1024;

/// Returns the context at the active leaf, if the end of the log suffices for it.
pub(crate) fn projection(journal: &Arc<dyn Journal>, path: &Path) -> Result<Option<Projection>> {
    let length = journal.len().map_err(Error::Storage)?;
    let checkpoint = journal.checkpoint(length);
    let is_whole = checkpoint.as_ref().is_some_and(Checkpoint::is_whole);
    if is_whole
        && length <= MAX_STREAMED
        && let Some(found) = of_whole(journal, length)?
    {
        return Ok(Some(found));
    }
    first_known(journal, path, length, length / 2, |loaded| {
        at_leaf(&loaded, journal, checkpoint.as_ref())
    })
}

/// Returns the context of a log in which every entry counts, and parses the log while it arrives. Returns `None` if that
/// failed: the caller then reads the log in the usual way, which retries after a lost connection and reports errors.
fn of_whole(journal: &Arc<dyn Journal>, length: u64) -> Result<Option<Projection>> {
    let mut made = Vec::new();
    let streamed = Loaded::stream(&**journal, length, &mut |loaded, line| {
        // Most lines are messages on the path. They are built while the next lines arrive.
        if let Some((row, message)) = message_of(loaded, line) {
            made.resize(row.index(), None);
            made.push(Some(message));
        }
    });
    let Ok((loaded, held)) = streamed else { return Ok(None) };
    let view = Snapshot::new(&loaded, Arc::new(held), false);
    let leaf = view.file_leaf()?;
    Ok(Some(view.projection(leaf)?.with_made(made)))
}

/// Reads larger and larger windows at the end of a log of this length, until one of them gives an answer or the next one
/// would be larger than `most`. The first window may be larger than `most`, but not larger than half of the log.
pub(crate) fn first_known<T>(
    journal: &Arc<dyn Journal>,
    path: &Path,
    length: u64,
    most: u64,
    mut answer: impl FnMut(Loaded) -> Result<Option<T>>,
) -> Result<Option<T>> {
    let Ok(Some(header)) = Loaded::read_header(&**journal, length) else { return Ok(None) };
    // Older formats number their entries from the start, and the links of some agents need all
    // records.
    if header.shape != Some(Shape::Tree) || header.codec().linker().is_some() {
        return Ok(None);
    }
    let mut window = FIRST;
    while window <= LAST && window <= length / 2 && (window <= most || window == FIRST) {
        let start = line_start(&**journal, length - window).map_err(Error::Storage)?;
        if let Some(start) = start.filter(|start| *start < length) {
            match header.clone().read_suffix(&**journal, start, length) {
                Ok(loaded) => {
                    let loaded = loaded.at(path);
                    // An id that is derived from its line number needs the number.
                    let is_derived = loaded.tree.nodes().any(|node| node.has(Node::DERIVED));
                    if !is_derived && let Some(found) = answer(loaded)? {
                        return Ok(Some(found));
                    }
                }
                Err(LoadError::Io(error)) => return Err(Error::Storage(error)),
                Err(LoadError::NoHeader(_)) => return Ok(None),
            }
        }
        window *= GROWTH;
    }
    Ok(None)
}

fn at_leaf(
    loaded: &Loaded,
    journal: &Arc<dyn Journal>,
    checkpoint: Option<&Checkpoint>,
) -> Result<Option<Projection>> {
    let view = Snapshot::new(loaded, Arc::clone(journal), true);
    let Some(leaf) = view.file_leaf_if_known()? else { return Ok(None) };
    Projection::plan(view, leaf, checkpoint)
}

/// Returns whether a part of a log is enough to know the entries that count at a row.
pub(crate) fn is_known_at(view: &Snapshot, leaf: Option<Row>) -> Result<bool> {
    match leaf {
        Some(leaf) => Ok(select(view, &mut Bodies::default(), leaf)?.is_ok()),
        None => Ok(true),
    }
}

/// Returns the start of the first line that begins after `offset`, if it is near.
fn line_start(journal: &dyn Journal, offset: u64) -> io::Result<Option<u64>> {
    let mut bytes = vec![0; FIRST as usize / 2];
    let got = scan::read_full(journal, offset, &mut bytes)?;
    Ok(memchr::memchr(b'\n', &bytes[..got]).map(|at| offset + at as u64 + 1))
}
