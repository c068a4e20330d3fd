//! The agent runtime on top of [`treering`]: models, hooks for extensions, and events for user
//! interfaces.
//!
//! [`treering`] itself is synchronous and uses no network; all asynchronous work is in this crate,
//! on tokio. Nothing in this crate prints. Only [`SummarizerConfig`] reads the environment, and
//! only in the functions that say so; commands that are run inherit it, and their long outputs are
//! stored in temporary files.
//!
//! - [`Summarizer`]: turns a conversation into a summary, with Anthropic, an OpenAI-compatible
//!   server, an external command, or no model ([`Extractive`]).
//! - [`Hooks`]: handlers that see, change or stop what a session is about to do, and the [`Event`]s
//!   that observers receive.
//! - [`AgentSession`]: a session as an agent uses it: navigating, compacting, merging, and turns with a
//!   [`ChatModel`] that may call [`AgentTool`]s ([`AgentSession::prompt`]).
//!
//! Every call that waits takes a [`CancellationToken`]; canceling it ends the wait at once.

mod chat;
mod config;
mod error;
mod hooks;
mod session;
mod summarizer;
mod tool;

/// The future of an operation of this crate, boxed in a function without type parameters. The body
/// of an `async fn` would be compiled in every crate that awaits it; this one is compiled only
/// here.
pub(crate) type OwnFuture<'a, T> =
    std::pin::Pin<Box<dyn std::future::Future<Output = T> + Send + 'a>>;

pub use chat::{ChatAnswer, ChatFuture, ChatModel, ChatRequest, ChatSide, ChatTurn, ThinkingLevel};
pub use config::{CompactionConfig, ModelConfig};
pub use error::AgentError;
pub use hooks::{
    AnswerRecorded, AnswerRewound, BeforeCompact, BeforeFork, BeforeSwitch, BeforeTree, Compact,
    CompactFailed, CompactOverride, CompactReason, Compacting, CompactingOverride, Decision, Event,
    Fork, ForkPosition, HookError, HookFuture, Hooks, InfoChanged, Shutdown, Start, StartReason,
    StreamDelta, SuppliedSummary, Switch, SwitchReason, ToolFinished, ToolStarted, TreeMove,
    TreeOverride, TurnFinished, TurnStarted,
};
pub use session::{
    AgentSession, AgentSettings, CompactOptions, Compacted, Compaction, Forked, MergeOptions,
    MergeOutcome, MergedBranch, Moved, NavigateOptions, Navigation, OnOutput, Operation, Replaced,
    SessionActions, ShellContext, ShellRun, Turn, TurnEnd, TurnReport, TurnSettings,
};
pub use summarizer::{
    Anthropic, Command, ConfigError, Conversation, Delta, Extractive, Http, HttpOptions,
    ModelError, OnDelta, OpenAi, Program, Provider, Proxy, Retry, RetryNotice, Secret, Summarizer,
    SummarizerConfig, Summary, SummaryFuture, SummaryRequest, Timeouts, Waiting,
};
pub use tokio_util::sync::CancellationToken;
pub use tool::{AgentTool, FnTool, ToolCall, ToolError, ToolFuture, ToolOutput};
pub use treering::usage::Usage;
