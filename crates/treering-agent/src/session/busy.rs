//! Lets only one operation run at a time, and stops the running one.

use crate::error::AgentError;
use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};
use tokio_util::sync::CancellationToken;

/// An operation of an agent's session. Only one runs at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Operation {
    /// The model is answering.
    Turn,
    /// The leaf is moving.
    Navigation,
    /// Older context is being summarized.
    Compaction,
    /// A branch is being copied to a new session.
    Fork,
    /// Another session is replacing this one.
    Switch,
    /// Another branch is being merged into this one.
    Merge,
    /// A command of the user is running.
    Shell,
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Operation::Turn => "a turn",
            Operation::Navigation => "a navigation",
            Operation::Compaction => "a compaction",
            Operation::Fork => "a fork",
            Operation::Switch => "a switch of sessions",
            Operation::Merge => "a merge",
            Operation::Shell => "a shell command",
        })
    }
}

#[derive(Debug, Default)]
pub(super) struct OperationLock(Mutex<Option<(Operation, CancellationToken)>>);

impl OperationLock {
    fn slot(&self) -> MutexGuard<'_, Option<(Operation, CancellationToken)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins an operation unless one is running. The caller's token and [`stop`](OperationLock::stop)
    /// both cancel it.
    pub(super) fn begin(
        &self,
        wanted: Operation,
        cancel: &CancellationToken,
    ) -> Result<Guard<'_>, AgentError> {
        let mut slot = self.slot();
        if let Some((running, _)) = &*slot {
            return Err(AgentError::Busy { running: *running, wanted });
        }
        let cancel = cancel.child_token();
        *slot = Some((wanted, cancel.clone()));
        Ok(Guard { busy: self, cancel })
    }

    pub(super) fn running(&self) -> Option<Operation> {
        self.slot().as_ref().map(|(operation, _)| *operation)
    }

    pub(super) fn stop(&self) -> Option<Operation> {
        self.slot().as_ref().map(|(operation, cancel)| {
            cancel.cancel();
            *operation
        })
    }
}

/// Marks the operation as running until it is dropped.
#[derive(Debug)]
pub(super) struct Guard<'a> {
    busy: &'a OperationLock,
    pub(super) cancel: CancellationToken,
}

impl Drop for Guard<'_> {
    fn drop(&mut self) {
        self.cancel.cancel();
        *self.busy.slot() = None;
    }
}

/// A turn of the model. Until it is dropped, nothing moves, forks or compacts the session.
#[derive(Debug)]
#[must_use = "the turn ends when this is dropped"]
pub struct Turn<'a>(pub(super) Guard<'a>);

impl Turn<'_> {
    /// Returns the token that is canceled when the user aborts
    /// ([`AgentSession::abort`](crate::AgentSession::abort)).
    pub fn cancellation(&self) -> &CancellationToken {
        &self.0.cancel
    }
}
