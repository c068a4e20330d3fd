//! Errors of operations of an [`AgentSession`](crate::AgentSession). A failed operation has written
//! nothing, except for a turn, whose records stay.

use crate::session::Operation;
use crate::summarizer::ModelError;
use treering::EntryId;

/// The error of an operation. The session is unchanged, unless a turn failed after its beginning: what it
/// has recorded stays.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AgentError {
    /// Another operation is running and must end first.
    #[error("{wanted} has to wait: {running} is in progress")]
    Busy {
        /// The operation that is running.
        running: Operation,
        /// The operation that was refused.
        wanted: Operation,
    },
    /// An operation of the session itself failed, or there is no such entry.
    #[error(transparent)]
    Session(#[from] treering::Error),
    /// A request to a model failed.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// A fork before an entry requires a user message, and this entry is not one.
    #[error("entry {0} is not a user message: fork at it, not before it")]
    NotAUserMessage(EntryId),
    /// There is no earlier user message to navigate to.
    #[error("there is no user message before this point to go back to")]
    NothingToPop,
    /// A handler named an entry to keep that is not on the branch.
    #[error("the first entry to keep, {0}, is not on the branch")]
    NotOnBranch(EntryId),
    /// There is no message to send to the model.
    #[error("the prompt is empty")]
    NothingSaid,
    /// The conversation is empty or ends with an answer, and there is no new message.
    #[error("there is nothing to answer: the conversation is empty or ends with an answer")]
    NothingToAnswer,
    /// A command of the user could not be run.
    #[error("the command {0}")]
    Shell(String),
    /// The work was done on a thread that panicked.
    #[error("internal error: {0}")]
    Internal(String),
}

impl AgentError {
    /// Returns whether the caller or a handler stopped the operation.
    pub fn is_canceled(&self) -> bool {
        matches!(self, AgentError::Model(ModelError::Canceled))
    }
}
