//! Hooks, through which extensions take part in the operations of a session.
//!
//! [`Hooks`] is what an extension implements, any part of it; `HookRunner` is what a session calls.
//! Questions (`session_before_…`, `session_compacting`) are asked before anything has changed and may
//! be answered; facts (all others) have happened. Handlers are called in the order of registration,
//! one after the other. The first that cancels ends the question at once; otherwise the last answer
//! counts, whole, not merged with earlier ones. A handler that fails or panics is reported as
//! [`Event::HookFailed`] and counts as not having answered.
//!
//! Every event is also broadcast, before the handlers are called, to all
//! [subscribers](crate::AgentSession::subscribe): user interfaces observe, they do not take part.

mod payload;
mod runner;

pub use payload::{
    AnswerRecorded, AnswerRewound, BeforeCompact, BeforeFork, BeforeSwitch, BeforeTree, Compact,
    CompactFailed, CompactOverride, CompactReason, Compacting, CompactingOverride, Event, Fork,
    ForkPosition, InfoChanged, Shutdown, Start, StartReason, StreamDelta, SuppliedSummary, Switch,
    SwitchReason, ToolFinished, ToolStarted, TreeMove, TreeOverride, TurnFinished, TurnStarted,
};
pub(crate) use runner::{AnswerStream, HookOutcome, HookRunner};

use std::pin::Pin;
use tokio_util::sync::CancellationToken;

/// The error of a handler. It is reported and otherwise ignored.
pub type HookError = Box<dyn std::error::Error + Send + Sync>;

/// A handler's work.
pub type HookFuture<'a, T> = Pin<Box<dyn Future<Output = Result<T, HookError>> + Send + 'a>>;

/// A handler's answer to a question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decision<T> {
    /// Nothing to say.
    Pass,
    /// It must not happen. No further handler is asked.
    Cancel,
    /// It may happen, like this.
    Use(T),
}

/// Handlers for what a session does; each does nothing unless implemented.
///
/// `abort` is canceled when the user aborts the operation. The future of a handler that does not watch it is dropped.
///
/// ```
/// use treering_agent::{BeforeTree, CancellationToken, Decision, HookFuture, Hooks, TreeOverride};
/// struct NoSummaries;
/// impl Hooks for NoSummaries {
///     fn session_before_tree<'a>(
///         &'a self,
///         event: &'a BeforeTree,
///         _abort: &'a CancellationToken,
///     ) -> HookFuture<'a, Decision<TreeOverride>> {
///         Box::pin(async move {
///             Ok(if event.user_wants_summary { Decision::Cancel } else { Decision::Pass })
///         })
///     }
/// }
/// ```
pub trait Hooks: Send + Sync {
    /// A session was created or opened.
    fn session_start<'a>(&'a self, _event: &'a Start) -> HookFuture<'a, ()> {
        Box::pin(async { Ok(()) })
    }

    /// Another session is about to take this one's place.
    fn session_before_switch<'a>(
        &'a self,
        _event: &'a BeforeSwitch,
        _abort: &'a CancellationToken,
    ) -> HookFuture<'a, Decision<()>> {
        Box::pin(async { Ok(Decision::Pass) })
    }

    /// Another session has taken its place.
    fn session_switch<'a>(&'a self, _event: &'a Switch) -> HookFuture<'a, ()> {
        Box::pin(async { Ok(()) })
    }

    /// The session is about to be forked (also known as `session_before_branch`).
    fn session_before_fork<'a>(
        &'a self,
        _event: &'a BeforeFork,
        _abort: &'a CancellationToken,
    ) -> HookFuture<'a, Decision<()>> {
        Box::pin(async { Ok(Decision::Pass) })
    }

    /// It has been forked (also known as `session_branch`).
    fn session_fork<'a>(&'a self, _event: &'a Fork) -> HookFuture<'a, ()> {
        Box::pin(async { Ok(()) })
    }

    /// The leaf is about to move.
    fn session_before_tree<'a>(
        &'a self,
        _event: &'a BeforeTree,
        _abort: &'a CancellationToken,
    ) -> HookFuture<'a, Decision<TreeOverride>> {
        Box::pin(async { Ok(Decision::Pass) })
    }

    /// The leaf has moved.
    fn session_tree<'a>(&'a self, _event: &'a TreeMove) -> HookFuture<'a, ()> {
        Box::pin(async { Ok(()) })
    }

    /// The session is about to be compacted.
    fn session_before_compact<'a>(
        &'a self,
        _event: &'a BeforeCompact,
        _abort: &'a CancellationToken,
    ) -> HookFuture<'a, Decision<CompactOverride>> {
        Box::pin(async { Ok(Decision::Pass) })
    }

    /// The summarizer is about to be asked: the last chance to change what it is asked.
    fn session_compacting<'a>(
        &'a self,
        _event: &'a Compacting,
        _abort: &'a CancellationToken,
    ) -> HookFuture<'a, Decision<CompactingOverride>> {
        Box::pin(async { Ok(Decision::Pass) })
    }

    /// The session has been compacted.
    fn session_compact<'a>(&'a self, _event: &'a Compact) -> HookFuture<'a, ()> {
        Box::pin(async { Ok(()) })
    }

    /// It could not be compacted, and nothing was written.
    fn session_compact_failed<'a>(&'a self, _event: &'a CompactFailed) -> HookFuture<'a, ()> {
        Box::pin(async { Ok(()) })
    }

    /// The session's name has changed.
    fn session_info_changed<'a>(&'a self, _event: &'a InfoChanged) -> HookFuture<'a, ()> {
        Box::pin(async { Ok(()) })
    }

    /// The session is about to be closed.
    fn session_shutdown<'a>(&'a self, _event: &'a Shutdown) -> HookFuture<'a, ()> {
        Box::pin(async { Ok(()) })
    }
}
