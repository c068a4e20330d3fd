//! Reads the active context from the end of a log.
//!
//! Entries at the end decide: the last line of an id wins, the last entry is the leaf, a parent
//! mostly stands just before its child. So a tree made of the last lines alone gives the right
//! context, provided that nothing it depends on lies further up. Whether that is so can be told: a
//! walk that runs into an entry whose parent is not among those lines has to look further. The
//! window then grows, and at some size reading everything is cheaper.
//!
//! The thinking level is mostly set at the start of a session and nowhere else. Where the storage keeps
//! [checkpoints](Checkpoint), the writer of the last append has noted the level that holds above it.

use super::Projection;
use crate::error::{Error, Result};
use crate::load::{LoadError, Loaded};
use crate::log::{Checkpoint, Journal, scan};
use crate::snapshot::Snapshot;
use crate::tree::{Node, Shape};
use std::io;
use std::path::Path;
use std::sync::Arc;

/// The window to begin with, and how it grows.
const FIRST: u64 = 512 * 1024;
const GROWTH: u64 = 4;
/// Beyond this, or beyond half the file, everything is read instead.
const LAST: u64 = 32 * 1024 * 1024;

/// Returns the context at the active leaf, if the end of the log tells it.
pub(crate) fn projection(journal: &Arc<dyn Journal>, path: &Path) -> Result<Option<Projection>> {
    let length = journal.len().map_err(Error::Storage)?;
    let checkpoint = journal.checkpoint(length);
    let Ok(Some(header)) = Loaded::read_header(&**journal, length) else { return Ok(None) };
    // Older shapes number their entries from the start, and some agents' links need all records.
    if header.shape != Some(Shape::Tree) || header.codec().linker().is_some() {
        return Ok(None);
    }
    let mut window = FIRST;
    while window <= LAST && window <= length / 2 {
        let start = line_start(&**journal, length - window).map_err(Error::Storage)?;
        if let Some(start) = start.filter(|start| *start < length) {
            match header.clone().read_suffix(&**journal, start, length) {
                Ok(loaded) => {
                    let loaded = loaded.at(path);
                    if let Some(projection) = at_leaf(&loaded, journal, checkpoint.as_ref())? {
                        return Ok(Some(projection));
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
    // An id derived from its line's number needs the number.
    if loaded.tree.nodes().any(|node| node.has(Node::DERIVED)) {
        return Ok(None);
    }
    let view = Snapshot::new(loaded, Arc::clone(journal), true);
    let Some(leaf) = view.file_leaf_if_known()? else { return Ok(None) };
    Projection::plan(view, leaf, checkpoint)
}

/// Returns the start of the first line that begins after `offset`, if it is near.
fn line_start(journal: &dyn Journal, offset: u64) -> io::Result<Option<u64>> {
    let mut bytes = vec![0; FIRST as usize / 2];
    let got = scan::read_full(journal, offset, &mut bytes)?;
    Ok(memchr::memchr(b'\n', &bytes[..got]).map(|at| offset + at as u64 + 1))
}
