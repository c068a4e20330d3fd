//! Hooks, through which extensions take part in the operations of a session.
//!
//! An extension implements [`Hooks`] or a part of it; a session calls them through `HookRunner`.
//! Questions (`session_before_…`, `session_compacting`) are asked before anything has changed, and
//! handlers may answer them; all other events report what has happened. Handlers are called in the
//! order of registration, one after the other. The first handler that cancels ends the question at
//! once; otherwise the last answer counts, and is not merged with earlier ones. A handler that
//! fails or panics is reported as [`Event::HookFailed`] and counts as a handler that did not
//! answer.
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

/// The future of a handler.
pub type HookFuture<'a, T> = Pin<Box<dyn Future<Output = Result<T, HookError>> + Send + 'a>>;

/// A handler's answer to a question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decision<T> {
    /// The handler does not answer.
    Pass,
    /// The operation must not happen. No further handler is asked.
    Cancel,
    /// The operation may happen, with these changes.
    Use(T),
}

/// The handlers of an extension for the operations of a session. Each handler does nothing unless
/// implemented.
///
/// `abort` is canceled when the user aborts the operation. The future of a handler that does not watch it is
/// dropped, and so is that of a handler without `abort` if the user aborts while it runs: a handler that
/// never returns does not block the session forever.
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
    /// Runs after a session was created or opened.
    fn session_start<'a>(&'a self, _event: &'a Start) -> HookFuture<'a, ()> {
        Box::pin(async { Ok(()) })
    }

    /// Runs before another session replaces this one.
    fn session_before_switch<'a>(
        &'a self,
        _event: &'a BeforeSwitch,
        _abort: &'a CancellationToken,
    ) -> HookFuture<'a, Decision<()>> {
        Box::pin(async { Ok(Decision::Pass) })
    }

    /// Runs after another session has replaced this one.
    fn session_switch<'a>(&'a self, _event: &'a Switch) -> HookFuture<'a, ()> {
        Box::pin(async { Ok(()) })
    }

    /// Runs before the session is forked (also known as `session_before_branch`).
    fn session_before_fork<'a>(
        &'a self,
        _event: &'a BeforeFork,
        _abort: &'a CancellationToken,
    ) -> HookFuture<'a, Decision<()>> {
        Box::pin(async { Ok(Decision::Pass) })
    }

    /// Runs after the session was forked (also known as `session_branch`).
    fn session_fork<'a>(&'a self, _event: &'a Fork) -> HookFuture<'a, ()> {
        Box::pin(async { Ok(()) })
    }

    /// Runs before the leaf moves.
    fn session_before_tree<'a>(
        &'a self,
        _event: &'a BeforeTree,
        _abort: &'a CancellationToken,
    ) -> HookFuture<'a, Decision<TreeOverride>> {
        Box::pin(async { Ok(Decision::Pass) })
    }

    /// Runs after the leaf has moved.
    fn session_tree<'a>(&'a self, _event: &'a TreeMove) -> HookFuture<'a, ()> {
        Box::pin(async { Ok(()) })
    }

    /// Runs before the session is compacted.
    fn session_before_compact<'a>(
        &'a self,
        _event: &'a BeforeCompact,
        _abort: &'a CancellationToken,
    ) -> HookFuture<'a, Decision<CompactOverride>> {
        Box::pin(async { Ok(Decision::Pass) })
    }

    /// Runs before the summarizer is asked. This is the last chance to change the request.
    fn session_compacting<'a>(
        &'a self,
        _event: &'a Compacting,
        _abort: &'a CancellationToken,
    ) -> HookFuture<'a, Decision<CompactingOverride>> {
        Box::pin(async { Ok(Decision::Pass) })
    }

    /// Runs after the session was compacted.
    fn session_compact<'a>(&'a self, _event: &'a Compact) -> HookFuture<'a, ()> {
        Box::pin(async { Ok(()) })
    }

    /// Runs after a compaction failed. Nothing was written.
    fn session_compact_failed<'a>(&'a self, _event: &'a CompactFailed) -> HookFuture<'a, ()> {
        Box::pin(async { Ok(()) })
    }

    /// Runs after the session's name has changed.
    fn session_info_changed<'a>(&'a self, _event: &'a InfoChanged) -> HookFuture<'a, ()> {
        Box::pin(async { Ok(()) })
    }

    /// Runs before the session is closed.
    fn session_shutdown<'a>(&'a self, _event: &'a Shutdown) -> HookFuture<'a, ()> {
        Box::pin(async { Ok(()) })
    }
}
