//! Findings about a log, made while loading it or by a full examination ([`crate::doctor`]). A
//! finding is never a reason to fail.
//!
//! This module has everything about a finding: its code, its severity, the entry, what it means and
//! what to do. Programs should match on the code, which does not change; the rest is for users.

use crate::id::EntryId;
use std::fmt;

/// A problem in a session's file, with its line (counted from 1).
///
/// ```
/// use treering::{Session, findings::Severity};
/// # let dir = tempfile::tempdir()?;
/// # let file = dir.path().join("chat.jsonl");
/// let header = r#"{"type":"session","version":3,"id":"s","timestamp":"2026-01-05T09:00:00.000Z","cwd":"/p"}"#;
/// std::fs::write(&file, format!("{header}\nnot JSON\n"))?;
/// let findings = Session::open(&file)?.findings()?;
/// assert_eq!((findings[0].code(), findings[0].severity()), ("damaged-line", Severity::Error));
/// assert_eq!(findings[0].to_string(), "line 2: damaged: not a JSON object");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Finding {
    /// The number of the line; `None` if the problem is not about one line.
    pub line: Option<u64>,
    /// The problem.
    pub problem: Problem,
}

/// The severity of a finding.
///
/// ```
/// use treering::findings::Severity;
/// assert!(Severity::Error > Severity::Warning && Severity::Warning > Severity::Note);
/// assert_eq!(Severity::Note.name(), "note");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// Worth knowing, but nothing is wrong.
    Note,
    /// The file can be used, but something does not work as intended.
    Warning,
    /// Something is lost, or invisible to the agent.
    Error,
}

impl Severity {
    /// Returns the name of the severity in reports.
    pub fn name(self) -> &'static str {
        match self {
            Severity::Note => "note",
            Severity::Warning => "warning",
            Severity::Error => "error",
        }
    }
}

/// The position of a tool call or result in the tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum CallPosition {
    /// The call or result is on the path to the active leaf.
    Path,
    /// The call or result is on the path to the active leaf, with no message after it: the tool may
    /// still be running.
    End,
    /// The call or result is on another branch.
    Elsewhere,
}

/// A kind of finding.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the fields are named after what they hold")]
pub enum Problem {
    /// The line is not a JSON object. It stays in the file, and is not an entry.
    Damaged,
    /// The line is damaged, but its head can be read: the entry keeps its position in the tree.
    DamagedEntry(EntryId),
    /// Several entries are on one line. All of them count.
    Glued,
    /// The last line has no newline and is incomplete: a write was interrupted.
    TornTail,
    /// The file has a second header, as two programs that create the same file may leave behind.
    SecondHeader,
    /// The file has a second title slot.
    SecondTitle,
    /// The header has no id: the session's id is taken from the file name.
    NoSessionId,
    /// There are entries before the header.
    HeaderNotFirst,
    /// A later line has the same id, so the entry on this line is not shown.
    Duplicate(EntryId),
    /// The entry's parent is missing, so the entry is shown as a root.
    LostParent(EntryId),
    /// The entry is its own ancestor, so it is shown as a root.
    Cycle(EntryId),
    /// Entries are separated from the active leaf's tree by broken links.
    Unreachable { count: usize, of: usize },
    /// The entry has no id; it was given one.
    NoId(EntryId),
    /// A label, `leaf` or context edit entry names a target that does not exist.
    MissingTarget(EntryId),
    /// The first entry that a compaction keeps does not exist, so the compaction keeps nothing.
    MissingFirstKept(EntryId),
    /// A message entry has no message in it.
    NoMessage(EntryId),
    /// A message has no content.
    NoContent(EntryId),
    /// A tool call has no result.
    CallWithoutResult { entry: EntryId, call: String, position: CallPosition },
    /// A tool result has no call above it.
    ResultWithoutCall { entry: EntryId, call: String, position: CallPosition },
    /// The entry has no valid time.
    InvalidTime(EntryId),
    /// The version is newer than this release supports: the session is read-only.
    FutureVersion(u64),
    /// The file has an older version of the format.
    OldVersion(u64),
    /// The header has no version, but the entries form a tree.
    NoVersion,
    /// Records have an unknown type: the agent is newer than treering. The line is that of the
    /// first one.
    UnknownType { name: String, count: u64 },
    /// The file with data that the entry refers to is missing.
    MissingBlob { entry: EntryId, name: String },
    /// The file with data that the entry refers to has other content.
    BadBlob { entry: EntryId, name: String, reason: String },
    /// The entry is a large part of the file, or larger than 1 MiB.
    Large { entry: EntryId, size: u64 },
    /// There is a byte order mark before the first line.
    ByteOrderMark,
    /// Lines end in CR LF. The line is the first of them.
    CarriageReturns { lines: u64 },
    /// Lines have bytes that are not UTF-8. The line is the first of them.
    NotUtf8 { lines: u64 },
    /// The file is empty: the session has not begun.
    Empty,
}

impl Finding {
    /// Returns the code of the finding, which does not change between releases.
    pub fn code(&self) -> &'static str {
        self.problem.code()
    }

    /// Returns the severity.
    pub fn severity(&self) -> Severity {
        self.problem.severity()
    }
}

impl Problem {
    /// Returns the code of the problem, which does not change between releases.
    pub fn code(&self) -> &'static str {
        match self {
            Problem::Damaged => "damaged-line",
            Problem::DamagedEntry(_) => "damaged-entry",
            Problem::Glued => "glued-lines",
            Problem::TornTail => "torn-last-line",
            Problem::SecondHeader => "second-header",
            Problem::SecondTitle => "second-title",
            Problem::NoSessionId => "no-session-id",
            Problem::HeaderNotFirst => "header-not-first",
            Problem::Duplicate(_) => "duplicate-id",
            Problem::LostParent(_) => "missing-parent",
            Problem::Cycle(_) => "cycle",
            Problem::Unreachable { .. } => "unreachable-history",
            Problem::NoId(_) => "no-id",
            Problem::MissingTarget(_) => "missing-target",
            Problem::MissingFirstKept(_) => "missing-first-kept",
            Problem::NoMessage(_) => "no-message",
            Problem::NoContent(_) => "no-content",
            Problem::CallWithoutResult { .. } => "orphan-tool-call",
            Problem::ResultWithoutCall { .. } => "orphan-tool-result",
            Problem::InvalidTime(_) => "invalid-timestamp",
            Problem::FutureVersion(_) => "future-version",
            Problem::OldVersion(_) => "old-version",
            Problem::NoVersion => "no-version",
            Problem::UnknownType { .. } => "unknown-type",
            Problem::MissingBlob { .. } => "missing-blob",
            Problem::BadBlob { .. } => "bad-blob",
            Problem::Large { .. } => "large-entry",
            Problem::ByteOrderMark => "byte-order-mark",
            Problem::CarriageReturns { .. } => "crlf",
            Problem::NotUtf8 { .. } => "not-utf8",
            Problem::Empty => "empty-file",
        }
    }

    /// Returns the severity.
    pub fn severity(&self) -> Severity {
        match self {
            Problem::Damaged
            | Problem::DamagedEntry(_)
            | Problem::Glued
            | Problem::TornTail
            | Problem::HeaderNotFirst
            | Problem::Duplicate(_)
            | Problem::LostParent(_)
            | Problem::Cycle(_)
            | Problem::Unreachable { .. }
            | Problem::NoMessage(_)
            | Problem::MissingBlob { .. }
            | Problem::BadBlob { .. } => Severity::Error,
            Problem::SecondHeader
            | Problem::SecondTitle
            | Problem::NoSessionId
            | Problem::NoId(_)
            | Problem::MissingTarget(_)
            | Problem::MissingFirstKept(_)
            | Problem::NoContent(_)
            | Problem::InvalidTime(_)
            | Problem::FutureVersion(_)
            | Problem::NoVersion => Severity::Warning,
            Problem::CallWithoutResult { position, .. }
            | Problem::ResultWithoutCall { position, .. } => match position {
                CallPosition::Path => Severity::Warning,
                CallPosition::End | CallPosition::Elsewhere => Severity::Note,
            },
            Problem::OldVersion(_)
            | Problem::UnknownType { .. }
            | Problem::Large { .. }
            | Problem::ByteOrderMark
            | Problem::CarriageReturns { .. }
            | Problem::NotUtf8 { .. }
            | Problem::Empty => Severity::Note,
        }
    }

    /// Returns the entry that the problem is about.
    pub fn entry(&self) -> Option<&EntryId> {
        match self {
            Problem::DamagedEntry(id)
            | Problem::Duplicate(id)
            | Problem::LostParent(id)
            | Problem::Cycle(id)
            | Problem::NoId(id)
            | Problem::MissingTarget(id)
            | Problem::MissingFirstKept(id)
            | Problem::NoMessage(id)
            | Problem::NoContent(id)
            | Problem::InvalidTime(id)
            | Problem::CallWithoutResult { entry: id, .. }
            | Problem::ResultWithoutCall { entry: id, .. }
            | Problem::MissingBlob { entry: id, .. }
            | Problem::BadBlob { entry: id, .. }
            | Problem::Large { entry: id, .. } => Some(id),
            _ => None,
        }
    }

    /// Returns advice on what to do, if something can be done.
    pub fn advice(&self) -> Option<&'static str> {
        Some(match self {
            Problem::Damaged | Problem::DamagedEntry(_) => {
                "repair moves the fragment to a separate file and links around it"
            }
            Problem::Glued => "repair writes every entry on a separate line",
            Problem::TornTail => "appending is safe; repair removes the fragment",
            Problem::SecondHeader | Problem::SecondTitle => "repair moves it to a separate file",
            Problem::NoSessionId => "repair writes the id into it",
            Problem::HeaderNotFirst => "repair puts the header first",
            Problem::Duplicate(_) => "repair keeps both, the earlier one under a new id",
            Problem::LostParent(_) | Problem::Cycle(_) | Problem::Unreachable { .. } => {
                "repair links the entry to the one before it in the file"
            }
            Problem::NoId(_) => "repair writes the id into it",
            Problem::CallWithoutResult { position: CallPosition::Path, .. }
            | Problem::ResultWithoutCall { position: CallPosition::Path, .. } => {
                "providers refuse such a context: use the strict pairing of the context"
            }
            Problem::OldVersion(_) | Problem::NoVersion => "migrate brings the file up to date",
            Problem::FutureVersion(_) => "a newer release can write to it",
            Problem::UnknownType { .. } => "a newer release may know it; nothing is lost",
            Problem::MissingBlob { .. } | Problem::BadBlob { .. } => {
                "restore the file into the directory of blobs"
            }
            _ => return None,
        })
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(line) = self.line {
            write!(f, "line {line}: ")?;
        }
        self.problem.fmt(f)
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Problem::Damaged => write!(f, "damaged: not a JSON object"),
            Problem::DamagedEntry(id) => {
                write!(f, "entry {id} is damaged: it keeps its place but contributes nothing")
            }
            Problem::Glued => write!(f, "several entries on one line: all of them count"),
            Problem::TornTail => {
                write!(f, "the last line is incomplete: the next append starts a new line")
            }
            Problem::SecondHeader => write!(f, "a second session header: ignored"),
            Problem::SecondTitle => write!(f, "a second title slot: the first one counts"),
            Problem::NoSessionId => {
                write!(
                    f,
                    "the header has no id: the name of the file is used; other agents refuse it"
                )
            }
            Problem::HeaderNotFirst => {
                write!(f, "the header comes after entries: other agents do not recognize the file")
            }
            Problem::Duplicate(id) => write!(f, "id {id} occurs again later: the last one counts"),
            Problem::LostParent(id) => {
                write!(f, "the parent of entry {id} is missing: shown as a root")
            }
            Problem::Cycle(id) => {
                write!(f, "the parents of entry {id} form a cycle: shown as a root")
            }
            Problem::Unreachable { count, of } => {
                let percent = (*count as f64 * 100.0 / (*of).max(1) as f64).round();
                write!(f, "{count} of {of} entries ({percent} %) are cut off from the active leaf")
            }
            Problem::NoId(id) => write!(f, "an entry has no id: it is shown as {id}"),
            Problem::MissingTarget(id) => {
                write!(f, "entry {id} refers to an entry that does not exist: it has no effect")
            }
            Problem::MissingFirstKept(id) => {
                write!(
                    f,
                    "compaction {id} keeps from an entry that does not exist: it keeps nothing"
                )
            }
            Problem::NoMessage(id) => {
                write!(f, "entry {id} has no message in it: other agents fail on it")
            }
            Problem::NoContent(id) => {
                write!(f, "the message of entry {id} has no content: treated as empty")
            }
            Problem::CallWithoutResult { entry, call, position } => {
                write!(f, "entry {entry} calls a tool ({call}) but there is no result")?;
                match position {
                    CallPosition::Path => Ok(()),
                    CallPosition::End => write!(f, " yet"),
                    CallPosition::Elsewhere => write!(f, ", on another branch"),
                }
            }
            Problem::ResultWithoutCall { entry, call, position } => {
                write!(f, "entry {entry} is the result of a call ({call}) that is not above it")?;
                match position {
                    CallPosition::Elsewhere => write!(f, ", on another branch"),
                    _ => Ok(()),
                }
            }
            Problem::InvalidTime(id) => {
                write!(f, "entry {id} has no valid time: its position in the file is used")
            }
            Problem::FutureVersion(version) => {
                write!(f, "version {version} is newer than this release knows: read-only")
            }
            Problem::OldVersion(version) => {
                write!(f, "version {version} is an old one: upgraded with the first write")
            }
            Problem::NoVersion => {
                write!(f, "the header has no version: other agents would flatten the tree")
            }
            Problem::UnknownType { name, count } => {
                let records = if *count == 1 { "record" } else { "records" };
                write!(f, "{count} {records} of unknown type {name:?}: kept as they are")
            }
            Problem::MissingBlob { entry, name } => {
                write!(f, "entry {entry} refers to {name}, which does not exist")
            }
            Problem::BadBlob { entry, name, reason } => {
                write!(f, "entry {entry} refers to {name}, which is not used: {reason}")
            }
            Problem::Large { entry, size } => write!(f, "entry {entry} has {size} bytes"),
            Problem::ByteOrderMark => {
                write!(f, "the file begins with a byte order mark: some agents cannot read it")
            }
            Problem::CarriageReturns { lines: 1 } => write!(f, "1 line ends in CR LF"),
            Problem::CarriageReturns { lines } => write!(f, "{lines} lines end in CR LF"),
            Problem::NotUtf8 { lines: 1 } => write!(f, "1 line is not UTF-8: kept byte for byte"),
            Problem::NotUtf8 { lines } => {
                write!(f, "{lines} lines are not UTF-8: kept byte for byte")
            }
            Problem::Empty => write!(f, "the file is empty: a session that has not begun"),
        }
    }
}
