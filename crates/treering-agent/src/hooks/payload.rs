//! The payloads of events, and the answers of handlers.

use crate::session::TurnEnd;
use crate::summarizer::{ModelError, RetryNotice};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use treering::compaction::Prepared;
use treering::{Entry, EntryId, Session, SessionId};

/// The reason why a session started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum StartReason {
    /// The agent started with this session.
    Startup,
    /// The session is new.
    New,
    /// The session was opened again.
    Resume,
    /// The session is a fork of another.
    Fork,
}

/// A session was created or opened.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Start {
    /// The reason why the session started.
    pub reason: StartReason,
    /// The id of the session.
    pub session: SessionId,
    /// The file of the session; `None` in memory.
    pub file: Option<PathBuf>,
}

/// The reason why one session replaces another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum SwitchReason {
    /// The other session is new.
    New,
    /// The other session existed before.
    Resume,
}

/// Another session is about to replace this one.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct BeforeSwitch {
    /// The reason for the switch.
    pub reason: SwitchReason,
    /// The file of the other session, if it already has one.
    pub target: Option<PathBuf>,
}

/// Another session has replaced this one.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Switch {
    /// The reason for the switch.
    pub reason: SwitchReason,
    /// The file of the session that was replaced.
    pub previous: Option<PathBuf>,
    /// The id of the session that is active now.
    pub session: SessionId,
}

/// The position at which a fork ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ForkPosition {
    /// The fork ends before the entry, a user message, whose text goes back to the editor.
    Before,
    /// The fork includes the entry.
    At,
}

/// The session is about to be forked.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct BeforeFork {
    /// The entry at which the session is forked.
    pub entry: EntryId,
    /// Whether the fork includes the entry.
    pub position: ForkPosition,
    /// Whether no new file is created, because the fork of a session in memory replaces it.
    pub in_place: bool,
}

/// The session has been forked.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Fork {
    /// The file of the session that was forked.
    pub previous: Option<PathBuf>,
    /// The id of the fork.
    pub session: SessionId,
    /// Whether no new file was created, because the fork of a session in memory has replaced it.
    pub in_place: bool,
}

/// The leaf is about to move.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct BeforeTree {
    /// The session, for reading.
    pub session: Arc<Session>,
    /// The entry to move to.
    pub target: EntryId,
    /// The current leaf; `None` before the first entry.
    pub old_leaf: Option<EntryId>,
    /// The deepest entry that both branches have.
    pub common_ancestor: Option<EntryId>,
    /// The ids of the abandoned entries, oldest first. The entries themselves are not included,
    /// because they may be most of a large file.
    pub entries_to_summarize: Vec<EntryId>,
    /// Whether the user asked for a summary.
    pub user_wants_summary: bool,
    /// The user's instructions for the summary.
    pub custom_instructions: Option<String>,
    /// Whether the user's instructions replace the usual ones instead of following them.
    pub replace_instructions: bool,
    /// The label to set.
    pub label: Option<String>,
}

/// A summary that a handler supplies.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct SuppliedSummary {
    /// The text.
    pub text: String,
    /// JSON details that are stored with the summary.
    pub details: Option<Vec<u8>>,
}

impl SuppliedSummary {
    /// Creates a summary without details.
    pub fn new(text: impl Into<String>) -> Self {
        SuppliedSummary { text: text.into(), details: None }
    }

    /// Sets the JSON details that are stored with the summary.
    #[must_use]
    pub fn details(self, details: impl Into<Vec<u8>>) -> Self {
        SuppliedSummary { details: Some(details.into()), ..self }
    }
}

/// Changes that a handler makes to a move of the leaf. A field that is `None` changes nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct TreeOverride {
    /// The summary, which is used only if the user asked for one.
    pub summary: Option<SuppliedSummary>,
    /// Other instructions for the summary.
    pub custom_instructions: Option<String>,
    /// Whether the instructions replace the usual ones.
    pub replace_instructions: Option<bool>,
    /// The label to set instead.
    pub label: Option<String>,
}

impl TreeOverride {
    /// Returns the defaults.
    pub fn new() -> Self {
        TreeOverride::default()
    }

    /// Supplies the summary.
    #[must_use]
    pub fn summary(self, summary: SuppliedSummary) -> Self {
        TreeOverride { summary: Some(summary), ..self }
    }

    /// Sets other instructions.
    #[must_use]
    pub fn custom_instructions(self, custom_instructions: impl Into<String>) -> Self {
        TreeOverride { custom_instructions: Some(custom_instructions.into()), ..self }
    }

    /// Sets whether the instructions replace the usual ones.
    #[must_use]
    pub fn replace_instructions(self, replace_instructions: bool) -> Self {
        TreeOverride { replace_instructions: Some(replace_instructions), ..self }
    }

    /// Sets another label.
    #[must_use]
    pub fn label(self, label: impl Into<String>) -> Self {
        TreeOverride { label: Some(label.into()), ..self }
    }
}

/// The leaf has moved.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct TreeMove {
    /// The new leaf; `None` before the first entry.
    pub new_leaf: Option<EntryId>,
    /// The leaf before the move.
    pub old_leaf: Option<EntryId>,
    /// The summary of the abandoned branch.
    pub summary_entry: Option<Entry>,
    /// Whether a handler supplied the summary.
    pub from_extension: bool,
}

/// The reason for a compaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum CompactReason {
    /// The user asked for the compaction.
    #[default]
    Manual,
    /// The context has grown past the threshold.
    Threshold,
    /// The provider refused the context because it is too long.
    Overflow,
}

/// The session is about to be compacted.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct BeforeCompact {
    /// The session, for reading.
    pub session: Arc<Session>,
    /// The reason for the compaction.
    pub reason: CompactReason,
    /// The plan: the messages to summarize, and those to keep.
    pub prepared: Arc<Prepared>,
    /// The user's focus for the summary.
    pub custom_instructions: Option<String>,
}

/// A compaction that a handler supplies.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct CompactOverride {
    /// The summary.
    pub summary: SuppliedSummary,
    /// The first entry to keep; `None` for the planned one.
    pub first_kept: Option<EntryId>,
}

impl CompactOverride {
    /// Creates a compaction that keeps the planned entries.
    pub fn new(summary: SuppliedSummary) -> Self {
        CompactOverride { summary, first_kept: None }
    }

    /// Sets the first entry to keep.
    #[must_use]
    pub fn first_kept(self, first_kept: EntryId) -> Self {
        CompactOverride { first_kept: Some(first_kept), ..self }
    }
}

/// The summarizer is about to be asked.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Compacting {
    /// The reason for the compaction.
    pub reason: CompactReason,
    /// The messages that the summarizer will get.
    pub prepared: Arc<Prepared>,
}

/// Changes to the request to the summarizer.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct CompactingOverride {
    /// Instructions that replace the usual ones.
    pub prompt: Option<String>,
    /// Additional texts for the summarizer.
    pub context: Vec<String>,
}

impl CompactingOverride {
    /// Returns the defaults.
    pub fn new() -> Self {
        CompactingOverride::default()
    }

    /// Sets instructions that replace the usual ones.
    #[must_use]
    pub fn prompt(self, prompt: impl Into<String>) -> Self {
        CompactingOverride { prompt: Some(prompt.into()), ..self }
    }

    /// Adds a text for the summarizer.
    #[must_use]
    pub fn with_context(mut self, text: impl Into<String>) -> Self {
        self.context.push(text.into());
        self
    }
}

/// The session has been compacted.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Compact {
    /// The reason for the compaction.
    pub reason: CompactReason,
    /// The entry of the compaction.
    pub entry: Entry,
    /// Whether a handler supplied the summary.
    pub from_extension: bool,
}

/// A compaction failed, and nothing was written.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct CompactFailed {
    /// The reason for the compaction.
    pub reason: CompactReason,
    /// The error message.
    pub error: String,
    /// Whether the user, or a handler, stopped the compaction.
    pub aborted: bool,
}

/// The session's name has changed.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct InfoChanged {
    /// The new name; `None` if the name was removed.
    pub name: Option<String>,
}

/// The session is about to be closed.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Shutdown {
    /// The id of the session.
    pub session: SessionId,
}

/// A turn has begun, and the user's message is recorded.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct TurnStarted {
    /// The entry of the user's message.
    pub question: EntryId,
}

/// An answer was recorded, complete or not.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct AnswerRecorded {
    /// The entry of the answer.
    pub entry: EntryId,
    /// The way in which the answer ended; [`TurnEnd::Complete`] also if it calls tools.
    pub end: TurnEnd,
}

/// The leaf was moved back before a failed answer, and the model will be asked again after a pause.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct AnswerRewound {
    /// The entry of the failed answer, which stays in the file.
    pub failed: EntryId,
    /// The number of the attempt that follows; the first attempt is number 1.
    pub attempt: u32,
    /// The number of the last possible attempt.
    pub attempts: u32,
    /// The error of the failed answer.
    pub reason: ModelError,
    /// The length of the pause.
    pub wait: Duration,
}

/// A tool call has begun.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ToolStarted {
    /// The id of the call.
    pub call: String,
    /// The tool's name.
    pub tool: String,
    /// The arguments, as the model wrote them.
    pub arguments: String,
}

/// The result of a tool call was recorded.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ToolFinished {
    /// The id of the call.
    pub call: String,
    /// The tool's name.
    pub tool: String,
    /// The entry of the result.
    pub entry: EntryId,
    /// Whether the call failed.
    pub is_error: bool,
}

/// A turn has ended. If the session could not be written during the turn, there is no such event:
/// [`prompt`](crate::AgentSession::prompt) returns the error.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct TurnFinished {
    /// The entry of the last answer.
    pub answer: EntryId,
    /// The way in which the turn ended.
    pub end: TurnEnd,
}

/// Text that a model streams, for subscribers.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum StreamDelta {
    /// More text of an answer.
    AnswerText(Arc<str>),
    /// More of the model's thinking before or within an answer.
    AnswerThinking(Arc<str>),
    /// The answer is requested again: its text and thinking so far must be discarded.
    AnswerRestarted,
    /// More text of a summary.
    SummaryText(Arc<str>),
    /// The summary is requested again: its text so far must be discarded.
    SummaryRestarted,
}

/// An event for subscribers.
#[derive(Debug, Clone)]
#[non_exhaustive]
#[allow(missing_docs, reason = "each is the payload or the hook of the same name")]
pub enum Event {
    SessionStart(Arc<Start>),
    SessionBeforeSwitch(Arc<BeforeSwitch>),
    SessionSwitch(Arc<Switch>),
    SessionBeforeFork(Arc<BeforeFork>),
    SessionFork(Arc<Fork>),
    SessionBeforeTree(Arc<BeforeTree>),
    SessionTree(Arc<TreeMove>),
    SessionBeforeCompact(Arc<BeforeCompact>),
    SessionCompacting(Arc<Compacting>),
    SessionCompact(Arc<Compact>),
    SessionCompactFailed(Arc<CompactFailed>),
    SessionInfoChanged(Arc<InfoChanged>),
    SessionShutdown(Arc<Shutdown>),
    TurnStart(Arc<TurnStarted>),
    AnswerEnd(Arc<AnswerRecorded>),
    AnswerRewound(Arc<AnswerRewound>),
    ToolStart(Arc<ToolStarted>),
    ToolEnd(Arc<ToolFinished>),
    TurnEnd(Arc<TurnFinished>),
    /// A model is asked again for an answer or a summary, after a pause that begins now.
    AutoRetry(Arc<RetryNotice>),
    /// A handler failed, and its answer is ignored.
    HookFailed {
        /// The name that the handler was registered with.
        hook: Arc<str>,
        /// The event that the handler was called for.
        event: &'static str,
        /// The error message.
        error: String,
        /// Whether the handler panicked.
        panicked: bool,
    },
}

impl Event {
    /// Returns the event's name for extensions.
    pub fn name(&self) -> &'static str {
        match self {
            Event::SessionStart(_) => "session_start",
            Event::SessionBeforeSwitch(_) => "session_before_switch",
            Event::SessionSwitch(_) => "session_switch",
            Event::SessionBeforeFork(_) => "session_before_fork",
            Event::SessionFork(_) => "session_fork",
            Event::SessionBeforeTree(_) => "session_before_tree",
            Event::SessionTree(_) => "session_tree",
            Event::SessionBeforeCompact(_) => "session_before_compact",
            Event::SessionCompacting(_) => "session_compacting",
            Event::SessionCompact(_) => "session_compact",
            Event::SessionCompactFailed(_) => "session_compact_failed",
            Event::SessionInfoChanged(_) => "session_info_changed",
            Event::SessionShutdown(_) => "session_shutdown",
            Event::TurnStart(_) => "turn_start",
            Event::AnswerEnd(_) => "message_end",
            Event::AnswerRewound(_) => "message_rewound",
            Event::ToolStart(_) => "tool_execution_start",
            Event::ToolEnd(_) => "tool_execution_end",
            Event::TurnEnd(_) => "turn_end",
            Event::AutoRetry(_) => "auto_retry_start",
            Event::HookFailed { .. } => "hook_failed",
        }
    }
}
