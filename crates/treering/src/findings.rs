//! What was found wrong with a log while reading it. Never a reason to fail.

use crate::id::EntryId;
use std::fmt;

/// Something odd in a session's file, with the line it is on (counted from 1).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The line; `None` where it is not about one.
    pub line: Option<u64>,
    /// What it is.
    pub problem: Problem,
}

/// A kind of finding.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Problem {
    /// Not a JSON object. Kept where it is, and no entry.
    Damaged,
    /// The line is damaged, but its head can be read: the entry keeps its place in the tree.
    DamagedEntry(EntryId),
    /// Several entries stand on one line. All of them count.
    Glued,
    /// The last line has no newline and is not whole: a write was cut short.
    TornTail,
    /// A second header, as left by two programs that created the same file.
    SecondHeader,
    /// A later line has the same id; this one is not shown.
    Duplicate(EntryId),
    /// The entry's parent is missing, is the entry itself, or closes a circle: it is shown as a root.
    LostParent(EntryId),
    /// The entry has no id of its own; it was given one.
    NoId(EntryId),
    /// A label or leaf entry is about an entry that does not exist.
    MissingTarget(EntryId),
    /// A compaction says to keep from an entry that does not exist, so it keeps nothing.
    MissingFirstKept(EntryId),
    /// The version is newer than this release knows: the session is read-only.
    FutureVersion(u64),
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(line) = self.line {
            write!(f, "line {line}: ")?;
        }
        match &self.problem {
            Problem::Damaged => write!(f, "damaged: not a JSON object"),
            Problem::DamagedEntry(id) => {
                write!(f, "entry {id} is damaged: it keeps its place but contributes nothing")
            }
            Problem::Glued => write!(f, "several entries on one line: all of them count"),
            Problem::TornTail => {
                write!(f, "the last line was cut short: the next append will fence it off")
            }
            Problem::SecondHeader => write!(f, "a second session header: ignored"),
            Problem::Duplicate(id) => write!(f, "id {id} occurs again later: the last one counts"),
            Problem::LostParent(id) => {
                write!(f, "the parent of entry {id} is missing or closes a circle: shown as a root")
            }
            Problem::NoId(id) => write!(f, "an entry has no id: it is shown as {id}"),
            Problem::MissingTarget(id) => {
                write!(f, "entry {id} is about an entry that does not exist: it does nothing")
            }
            Problem::MissingFirstKept(id) => {
                write!(
                    f,
                    "compaction {id} keeps from an entry that does not exist: it keeps nothing"
                )
            }
            Problem::FutureVersion(version) => {
                write!(f, "version {version} is newer than this release knows: read-only")
            }
        }
    }
}
