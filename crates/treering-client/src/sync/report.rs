//! The results of a synchronization.

use super::transfer::TransferResult;
use std::fmt;
use treering::{Dialect, Error, SessionId};

/// The progress of a synchronization.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Progress {
    /// The number of sessions that were processed.
    pub done: usize,
    /// The number of all sessions.
    pub total: usize,
    /// The session that is being processed.
    pub id: SessionId,
    /// The number of bytes that were sent and received so far.
    pub bytes: u64,
}

/// The result for one session.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Outcome {
    /// Whether the session was created in one of the stores.
    pub is_created: bool,
    /// The number of bytes that were appended to the remote store.
    pub sent: u64,
    /// The number of bytes that were appended to the local store.
    pub received: u64,
    /// Whether both logs had grown and became branches of one session.
    pub is_merged: bool,
    /// Whether a title was replaced.
    pub is_retitled: bool,
    /// Whether the session was synchronized before and then removed on the other side. It was not
    /// created again.
    pub is_removed: bool,
    /// Whether the remote store has lines that the filter would now change.
    pub is_older: bool,
    /// The reason why nothing was changed although both logs have grown.
    pub conflict: Option<Conflict>,
}

impl Outcome {
    pub(super) fn add(&mut self, id: &SessionId, carried: TransferResult, is_push: bool) {
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
    /// The id of the session.
    pub id: SessionId,
    /// The reason for the conflict.
    pub reason: ConflictReason,
}

/// The reason why a session cannot be merged.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ConflictReason {
    /// The files of the session's agent are never modified.
    Format(Dialect),
    /// Entries with these ids have different contents in the two stores. At most five are named.
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
    /// The id of the session.
    pub id: SessionId,
    /// The error.
    pub error: Error,
}

/// The results for several sessions.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Report {
    /// The number of sessions that were processed.
    pub sessions: usize,
    /// The number of sessions that were created in one of the stores.
    pub created: usize,
    /// The number of existing sessions to which lines were appended.
    pub appended: usize,
    /// The number of sessions among them that had grown on both sides.
    pub merged: usize,
    /// The number of sessions whose title was replaced.
    pub retitled: usize,
    /// The number of sessions that are equal on both sides, or that have more on the side that was
    /// not to be changed.
    pub unchanged: usize,
    /// The number of bytes that were appended to the remote store.
    pub sent: u64,
    /// The number of bytes that were appended to the local store.
    pub received: u64,
    /// Sessions that were synchronized before and were since removed on the other side.
    pub removed: Vec<SessionId>,
    /// Sessions for which the remote store has lines that the filter would now change.
    pub older: Vec<SessionId>,
    /// Sessions that have grown on both sides and cannot be merged.
    pub conflicts: Vec<Conflict>,
    /// Sessions that could not be synchronized.
    pub failed: Vec<Failed>,
    /// The number of sessions that were not processed, because a store did not answer.
    pub left: usize,
    /// The number of sessions in the lists without a valid id.
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

    /// Returns whether every session was processed without a conflict or a failure.
    pub fn is_complete(&self) -> bool {
        self.conflicts.is_empty() && self.failed.is_empty() && self.left == 0
    }
}
