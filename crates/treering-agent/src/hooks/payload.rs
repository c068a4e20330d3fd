//! The payloads of events, and the answers that handlers may give.

use crate::summarizer::RetryNotice;
use std::path::PathBuf;
use std::sync::Arc;
use treering::compaction::Prepared;
use treering::{Entry, EntryId, Session};

/// Why a session started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum StartReason {
    /// The agent started with it.
    Startup,
    /// It is new.
    New,
    /// It was opened again.
    Resume,
    /// It is a fork of another.
    Fork,
}

/// A session was created or opened.
#[derive(Debug, Clone)]
pub struct Start {
    /// Why.
    pub reason: StartReason,
    /// The id of the session.
    pub session: String,
    /// Its file; `None` in memory.
    pub file: Option<PathBuf>,
}

/// Why one session takes another's place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum SwitchReason {
    /// For a new one.
    New,
    /// For one that existed.
    Resume,
}

/// Another session is about to take this one's place.
#[derive(Debug, Clone)]
pub struct BeforeSwitch {
    /// Why.
    pub reason: SwitchReason,
    /// The other's file, if it has one already.
    pub target: Option<PathBuf>,
}

/// Another session has taken its place.
#[derive(Debug, Clone)]
pub struct Switch {
    /// Why.
    pub reason: SwitchReason,
    /// The file of the session that was left.
    pub previous: Option<PathBuf>,
    /// The session that is active now.
    pub session: String,
}

/// Where a fork ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ForkPosition {
    /// Before the entry, a user message, whose text goes back to the editor.
    Before,
    /// With the entry.
    At,
}

/// The session is about to be forked.
#[derive(Debug, Clone)]
pub struct BeforeFork {
    /// The entry.
    pub entry: EntryId,
    /// On which side of it.
    pub position: ForkPosition,
    /// Whether no new file is made: the fork of a session in memory takes its place.
    pub in_place: bool,
}

/// The session has been forked.
#[derive(Debug, Clone)]
pub struct Fork {
    /// The file of the session that was forked.
    pub previous: Option<PathBuf>,
    /// The fork.
    pub session: String,
    /// Whether no new file was made: the fork of a session in memory has taken its place.
    pub in_place: bool,
}

/// The leaf is about to move.
#[derive(Debug, Clone)]
pub struct BeforeTree {
    /// The session, to read from.
    pub session: Arc<Session>,
    /// Where to.
    pub target: EntryId,
    /// Where from; `None` before the first entry.
    pub old_leaf: Option<EntryId>,
    /// The deepest entry above both.
    pub common_ancestor: Option<EntryId>,
    /// The ids of the abandoned entries, oldest first. Ids only, because it can be most of a large
    /// file.
    pub entries_to_summarize: Vec<EntryId>,
    /// Whether the user asked for a summary.
    pub user_wants_summary: bool,
    /// The user's instructions for the summary.
    pub custom_instructions: Option<String>,
    /// Whether that stands in place of the usual instructions, not beside them.
    pub replace_instructions: bool,
    /// The label to set.
    pub label: Option<String>,
}

/// A summary a handler supplies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SuppliedSummary {
    /// The text.
    pub text: String,
    /// JSON to keep with it.
    pub details: Option<Vec<u8>>,
}

/// Changes to the move of the leaf. A field that is `None` stays as it was.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TreeOverride {
    /// The summary; used only if the user wanted one.
    pub summary: Option<SuppliedSummary>,
    /// Other instructions.
    pub custom_instructions: Option<String>,
    /// Whether they replace the usual ones.
    pub replace_instructions: Option<bool>,
    /// Another label.
    pub label: Option<String>,
}

/// The leaf has moved.
#[derive(Debug, Clone)]
pub struct TreeMove {
    /// Where it is; `None` before the first entry.
    pub new_leaf: Option<EntryId>,
    /// Where it was.
    pub old_leaf: Option<EntryId>,
    /// The summary of what was left behind.
    pub summary_entry: Option<Entry>,
    /// Whether a handler supplied it.
    pub from_extension: bool,
}

/// Why a session is compacted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum CompactReason {
    /// The user asked.
    #[default]
    Manual,
    /// The context has grown past the threshold.
    Threshold,
    /// The provider refused the context as too long.
    Overflow,
}

/// The session is about to be compacted.
#[derive(Debug, Clone)]
pub struct BeforeCompact {
    /// The session, to read from.
    pub session: Arc<Session>,
    /// Why.
    pub reason: CompactReason,
    /// The plan: what would be summarized, and what kept.
    pub prepared: Arc<Prepared>,
    /// The user's focus for the summary.
    pub custom_instructions: Option<String>,
}

/// The compaction a handler supplies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CompactOverride {
    /// The summary.
    pub summary: SuppliedSummary,
    /// Another first entry to keep.
    pub first_kept: Option<EntryId>,
}

/// The summarizer is about to be asked.
#[derive(Debug, Clone)]
pub struct Compacting {
    /// Why.
    pub reason: CompactReason,
    /// The request that the summarizer will get.
    pub prepared: Arc<Prepared>,
}

/// Changes to the request to the summarizer.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CompactingOverride {
    /// Instructions in place of the usual ones.
    pub prompt: Option<String>,
    /// Further texts it should know of.
    pub context: Vec<String>,
}

/// The session has been compacted.
#[derive(Debug, Clone)]
pub struct Compact {
    /// Why.
    pub reason: CompactReason,
    /// The compaction.
    pub entry: Entry,
    /// Whether a handler supplied it.
    pub from_extension: bool,
}

/// The session could not be compacted, and nothing was written.
#[derive(Debug, Clone)]
pub struct CompactFailed {
    /// Why it was to be compacted.
    pub reason: CompactReason,
    /// Why it was not.
    pub error: String,
    /// Whether the user, or a handler, stopped it.
    pub aborted: bool,
}

/// The session's name has changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InfoChanged {
    /// The name; `None` if it was taken away.
    pub name: Option<String>,
}

/// The session is about to be closed.
#[derive(Debug, Clone)]
pub struct Shutdown {
    /// The id of the session.
    pub session: String,
}

/// Text that a model streams, for observers.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum StreamDelta {
    /// More text of an answer.
    AnswerText(Arc<str>),
    /// More of the model's thinking before or within an answer.
    AnswerThinking(Arc<str>),
    /// The answer is requested again: its text and thinking so far are void.
    AnswerRestarted,
    /// More text of a summary.
    SummaryText(Arc<str>),
    /// The summary is requested again: its text so far is void.
    SummaryRestarted,
}

/// An event for observers.
#[derive(Debug, Clone)]
#[non_exhaustive]
#[allow(missing_docs, reason = "each is the hook of the same name")]
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
    /// A model is asked again, for an answer or a summary, after a pause that begins now.
    AutoRetry(Arc<RetryNotice>),
    /// A handler failed, and was passed over.
    HookFailed {
        /// The name it was registered with.
        hook: Arc<str>,
        /// The event it was handling.
        event: &'static str,
        /// The error message.
        error: String,
        /// Whether it panicked.
        panicked: bool,
    },
}

impl Event {
    /// Returns the event's name, as extensions know it.
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
            Event::AutoRetry(_) => "auto_retry_start",
            Event::HookFailed { .. } => "hook_failed",
        }
    }
}
