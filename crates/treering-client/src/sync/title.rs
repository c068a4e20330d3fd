//! Synchronizes the title line at the start of some logs, which is overwritten in place.

use super::log::Log;
use sha2::{Digest, Sha256};
use std::io;
use treering::internal::hex;
use treering::internal::records::TitleLine;
use treering::storage::JournalError;

/// The result of comparing two titles.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct TitleComparison {
    pub is_replaced: bool,
    /// The hash of the title, if both logs now have the same one.
    pub hash: Option<String>,
}

/// Returns a hash of the title line of a log; `None` if it has none.
pub(super) fn hash(log: &Log) -> io::Result<Option<String>> {
    if log.title == 0 {
        return Ok(None);
    }
    Ok(Some(hash_of(&log.bytes(0..log.title)?)))
}

fn hash_of(line: &[u8]) -> String {
    hex(&Sha256::digest(line)[..8])
}

/// Copies the title of the source to the target, if it is the one to keep: the one that changed
/// since both had the title with the hash `before`, or else the later one.
pub(super) fn carry(
    source: &Log,
    target: &Log,
    before: Option<&str>,
) -> io::Result<TitleComparison> {
    if source.title == 0 || source.title != target.title {
        return Ok(TitleComparison::default());
    }
    let (ours, theirs) = (source.bytes(0..source.title)?, target.bytes(0..target.title)?);
    if ours == theirs {
        return Ok(TitleComparison { is_replaced: false, hash: Some(hash_of(&ours)) });
    }
    let is_changed = |line: &[u8]| before.is_none_or(|before| before != hash_of(line));
    let is_ours = match (is_changed(&ours), is_changed(&theirs)) {
        (true, false) => true,
        (false, true) => false,
        _ => {
            // The choice between equal times is arbitrary, but the same on both sides.
            let key = |line: &[u8]| TitleLine::find(line).and_then(|title| title.updated);
            (key(&ours), &ours) > (key(&theirs), &theirs)
        }
    };
    if !is_ours {
        return Ok(TitleComparison::default());
    }
    let is_replaced = match target.journal.replace_start(&theirs, &ours) {
        Ok(is_replaced) => is_replaced,
        Err(JournalError::Io(error)) => return Err(error),
        Err(other) => return Err(io::Error::other(other)),
    };
    Ok(TitleComparison { is_replaced, hash: is_replaced.then(|| hash_of(&ours)) })
}
