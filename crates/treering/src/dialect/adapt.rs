//! Adapts entries of one dialect to another.

use super::name::Dialect;
use super::omp;
use crate::entry::{Kind, NewEntry};

/// Returns an entry of another dialect, which has this kind there, in a form that a session of
/// `target` can hold.
pub(crate) fn adapted(target: Dialect, kind: Kind, entry: NewEntry) -> NewEntry {
    match (kind, target) {
        (Kind::Reset, Dialect::Omp) => NewEntry::of_type(omp::RESET),
        (Kind::Reset, Dialect::ClaudeCode) => NewEntry::compaction("", None, 0),
        (Kind::Reset, _) => omp::wrapped(NewEntry::of_type(omp::RESET)),
        (_, Dialect::Omp) => omp::restored(entry),
        (Kind::Other, _) => omp::wrapped(entry),
        _ => entry,
    }
}
