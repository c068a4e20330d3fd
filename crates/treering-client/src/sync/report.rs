//! The results of a synchronization.

use super::carry::Carried;
use std::fmt;
use treering::{Dialect, Error, SessionId};

/// The progress of a synchronization.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Progress {
    /// Sessions that were looked at.
    pub done: usize,
    /// Sessions there are.
    pub total: usize,
    /// The session that is looked at now.
    pub id: SessionId,
    /// Bytes that were sent and received so far.
    pub bytes: u64,
}

/// The result for one session.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Outcome {
    /// Whether it was created in one of the stores.
    pub is_created: bool,
    /// Bytes that the remote store got.
    pub sent: u64,
    /// Bytes that the local store got.
    pub received: u64,
    /// Whether both logs had grown and became branches of one session.
    pub is_merged: bool,
    /// Whether a title was replaced.
    pub is_retitled: bool,
    /// Whether it was carried before and then removed on the other side. It was not created again.
    pub is_removed: bool,
    /// Whether the remote store has lines that the filter would change now.
    pub is_older: bool,
    /// The reason why nothing was changed although both logs have grown.
    pub conflict: Option<Conflict>,
}

impl Outcome {
    pub(super) fn add(&mut self, id: &SessionId, carried: Carried, is_push: bool) {
        self.is_created |= carried.is_created;
        self.is_removed |= carried.is_removed;
        self.is_merged |= carried.is_merged;
        self.is_retitled |= carried.is_retitled;
        self.is_older |= carried.older > 0;
        match is_push {
            true => self.sent += carried.bytes,
            false => self.received += carried.bytes,
        }
        if let Some(reason) = carried.conflict {
            self.conflict = Some(Conflict::new(id, reason));
        }
    }

    /// Returns whether nothing was changed, and nothing is in conflict.
    pub fn is_unchanged(&self) -> bool {
        let is_changed = self.is_created || self.sent > 0 || self.received > 0 || self.is_retitled;
        !is_changed && !self.is_removed && self.conflict.is_none()
    }
}

/// A session that grew in both stores and cannot be merged.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Conflict {
    /// The session.
    pub id: SessionId,
    /// The reason.
    pub reason: ConflictReason,
}

/// The reason why a session cannot be merged.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ConflictReason {
    /// Its agent's files are never modified.
    Format(Dialect),
    /// Entries of these ids have other contents in the other store. At most five are named.
    SameIds(Vec<String>),
}

impl fmt::Display for ConflictReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ConflictReason::Format(dialect) => {
                write!(f, "it has grown on both sides, and {dialect} sessions cannot be merged")
            }
            ConflictReason::SameIds(ids) => {
                write!(f, "entries differ on both sides: {}", ids.join(", "))
            }
        }
    }
}

impl fmt::Display for Conflict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.id, self.reason)
    }
}

/// A session that could not be synchronized.
#[derive(Debug)]
#[non_exhaustive]
pub struct Failed {
    /// The session.
    pub id: SessionId,
    /// The reason.
    pub error: Error,
}

/// The results for several sessions.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Report {
    /// Sessions that were looked at.
    pub sessions: usize,
    /// Sessions that were created in one of the stores.
    pub created: usize,
    /// Sessions that existed and got lines.
    pub appended: usize,
    /// Those among them that had grown on both sides.
    pub merged: usize,
    /// Sessions whose title was replaced.
    pub retitled: usize,
    /// Sessions that are the same on both sides, or ahead on the side that was not to be changed.
    pub unchanged: usize,
    /// Bytes that the remote store got.
    pub sent: u64,
    /// Bytes that the local store got.
    pub received: u64,
    /// Sessions that were carried before and were removed on the other side since.
    pub removed: Vec<SessionId>,
    /// Sessions of which the remote store has lines that the filter would change now.
    pub older: Vec<SessionId>,
    /// Sessions that have grown on both sides and cannot be merged.
    pub conflicts: Vec<Conflict>,
    /// Sessions that could not be synchronized.
    pub failed: Vec<Failed>,
    /// Sessions that were not looked at, because a store did not answer.
    pub left: usize,
    /// Sessions in the lists that have no valid id.
    pub skipped: usize,
}

impl Report {
    pub(super) fn add(&mut self, id: &SessionId, outcome: Outcome) {
        self.sent += outcome.sent;
        self.received += outcome.received;
        self.created += usize::from(outcome.is_created);
        let has_grown = outcome.sent + outcome.received > 0;
        self.appended += usize::from(!outcome.is_created && has_grown);
        self.merged += usize::from(outcome.is_merged);
        self.retitled += usize::from(outcome.is_retitled);
        self.unchanged += usize::from(outcome.is_unchanged());
        if outcome.is_removed {
            self.removed.push(id.clone());
        }
        if outcome.is_older {
            self.older.push(id.clone());
        }
        self.conflicts.extend(outcome.conflict);
    }

    /// Returns whether every session was looked at without a conflict or a failure.
    pub fn is_complete(&self) -> bool {
        self.conflicts.is_empty() && self.failed.is_empty() && self.left == 0
    }
}
