//! The reason why an operation of an [`AgentSession`](crate::AgentSession) failed. Nothing was written then.

use crate::session::Operation;
use crate::summarizer::SummaryError;
use treering::EntryId;

/// The error of an operation. The session is as it was.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AgentError {
    /// Something else is going on that must end first.
    #[error("{wanted} has to wait: {running} is under way")]
    Busy {
        /// The operation under way.
        running: Operation,
        /// The operation that was refused.
        wanted: Operation,
    },
    /// The session itself refused, or there is no such entry.
    #[error(transparent)]
    Session(#[from] treering::Error),
    /// There is no summary.
    #[error(transparent)]
    Summary(#[from] SummaryError),
    /// A fork before an entry needs a message of the user.
    #[error("entry {0} is not a user message: fork at it, not before it")]
    NotAUserMessage(EntryId),
    /// There is no user message to go back to.
    #[error("there is no user message before this point to go back to")]
    NothingToPop,
    /// A handler named an entry to keep that is not on the branch.
    #[error("the first entry to keep, {0}, is not on the branch")]
    NotOnBranch(EntryId),
    /// There is nothing to say to the model.
    #[error("the prompt is empty")]
    NothingSaid,
    /// A command of the user could not be run.
    #[error("the command {0}")]
    Shell(String),
    /// The work was handed to a thread that died.
    #[error("internal error: {0}")]
    Internal(String),
}

impl AgentError {
    /// Returns whether the caller or a handler stopped the operation.
    pub fn is_canceled(&self) -> bool {
        matches!(self, AgentError::Summary(SummaryError::Canceled))
    }
}
