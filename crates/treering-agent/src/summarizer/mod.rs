//! Summarizers, which turn a conversation into a summary.
//!
//! This module owns the interface, [`Summarizer`], and its data types. A request contains the
//! conversation twice: as the prompt a model reads ([`SummaryRequest::system`],
//! [`SummaryRequest::user`]), and as the messages themselves ([`SummaryRequest::conversation`]),
//! from which a summarizer without a model works. The caller fills in both and need not know which
//! summarizer answers. The prompt, the handling of input too large for
//! [`Summarizer::context_window`], and where the summary is stored are not decided here.
//!
//! A summary is complete or an error: one that was cut for length, is empty, or is a tool call is
//! never returned as text.

mod anthropic;
mod calls;
mod command;
mod config;
mod error;
mod extractive;
mod http;
mod openai;
mod retry;
mod secret;
mod sse;
mod thoughts;
mod wait;

pub use anthropic::Anthropic;
pub use command::{Command, Program};
pub(crate) use command::{Group, whole_characters};
pub use config::{ConfigError, Provider, SummarizerConfig};
pub use error::{ModelError, Waiting};
pub use extractive::Extractive;
pub use http::{Http, HttpOptions, Proxy, Timeouts};
pub use openai::OpenAi;
pub use retry::Retry;
pub(crate) use retry::is_transient;
pub use secret::Secret;

use std::fmt;
use std::pin::Pin;
use std::time::Duration;
use tokio_util::sync::CancellationToken;
use treering::usage::Usage;

/// The future of [`Summarizer::summarize`].
pub type SummaryFuture<'a> = Pin<Box<dyn Future<Output = Result<Summary, ModelError>> + Send + 'a>>;

/// Is called with each piece of an answer as it arrives. It runs on the task of the request and
/// must not block.
pub type OnDelta = Box<dyn FnMut(Delta<'_>) + Send>;

/// A piece of a summary or an answer, as it arrives.
///
/// ```
/// use treering_agent::{Delta, SummaryRequest};
/// let request = SummaryRequest::new("Be brief.", "[User]: hello").on_delta(Box::new(|delta| {
///     if let Delta::Text(text) = delta {
///         print!("{text}");
///     }
/// }));
/// assert!(request.on_delta.is_some());
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Delta<'a> {
    /// More text of the summary or the answer.
    Text(&'a str),
    /// More of the model's thinking before it answers, which is not part of the text.
    Thinking(&'a str),
    /// The end of a block of thinking, with the signature that the provider requires if the block
    /// is sent back to it. A block without a signature may also end with the text.
    ThinkingEnd(Option<&'a str>),
    /// A block of thinking that the provider encrypted, to be sent back to it unchanged.
    RedactedThinking(&'a str),
    /// The connection was lost and the model is asked again: everything so far must be discarded.
    Restart,
    /// The usage of the request so far, which replaces an earlier one. It counts for an answer that is
    /// not completed, too.
    Usage(&'a Usage),
    /// The model is asked again after a pause, which begins now.
    Retry(&'a RetryNotice),
}

/// Another attempt to get an answer, before its pause.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct RetryNotice {
    /// The number of the attempt that follows; the first attempt is number 1.
    pub attempt: u32,
    /// The number of the last possible attempt.
    pub attempts: u32,
    /// The error of the previous attempt.
    pub reason: ModelError,
    /// The length of the pause.
    pub wait: Duration,
}

impl fmt::Display for RetryNotice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let RetryNotice { attempt, attempts, reason, wait } = self;
        let seconds = wait.as_secs_f64().ceil();
        write!(f, "{reason}; attempt {attempt} of {attempts} in {seconds} s")
    }
}

/// Turns a conversation into a summary.
///
/// Dropping the future, or canceling the token, ends the work: connections are closed and child
/// processes killed.
///
/// ```
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
/// use treering_agent::{CancellationToken, Conversation, Extractive, SummaryRequest, Summarizer};
/// let summarizer: Box<dyn Summarizer> = Box::new(Extractive::default());
/// let message = br#"{"role":"user","content":"Fix the parser"}"#.to_vec();
/// let request = SummaryRequest::new("Be brief.", "[User]: Fix the parser")
///     .conversation(Conversation::new(vec![message]));
/// let summary = summarizer.summarize(request, &CancellationToken::new()).await.unwrap();
/// assert!(summary.text.contains("Fix the parser"));
/// # });
/// ```
pub trait Summarizer: Send + Sync + fmt::Debug {
    /// Returns the name of the summarizer in configuration and messages: `anthropic`, `openai`,
    /// `command`, …
    fn name(&self) -> &str;

    /// Returns the size of the context window in tokens, for input and output together; `None` if
    /// there is no limit, so that the input need not be split.
    fn context_window(&self) -> Option<u64>;

    /// Summarizes a conversation. Nothing is written; a canceled request fails with
    /// [`ModelError::Canceled`].
    fn summarize<'a>(
        &'a self,
        request: SummaryRequest,
        cancel: &'a CancellationToken,
    ) -> SummaryFuture<'a>;
}

/// A request for a summary.
#[derive(Default)]
#[non_exhaustive]
pub struct SummaryRequest {
    /// The system prompt.
    pub system: String,
    /// The user text: the conversation as text, and the instructions.
    pub user: String,
    /// The same conversation as messages.
    pub conversation: Conversation,
    /// The maximum length of the summary in tokens; `None` for the default of the summarizer's
    /// configuration.
    pub max_output_tokens: Option<u64>,
    /// A function that receives the text as it arrives.
    pub on_delta: Option<OnDelta>,
}

impl SummaryRequest {
    /// Creates a request.
    pub fn new(system: impl Into<String>, user: impl Into<String>) -> Self {
        SummaryRequest { system: system.into(), user: user.into(), ..SummaryRequest::default() }
    }

    /// Sets the same conversation as messages.
    #[must_use]
    pub fn conversation(self, conversation: Conversation) -> Self {
        SummaryRequest { conversation, ..self }
    }

    /// Sets the maximum length of the summary in tokens.
    #[must_use]
    pub fn max_output_tokens(self, max_output_tokens: u64) -> Self {
        SummaryRequest { max_output_tokens: Some(max_output_tokens), ..self }
    }

    /// Sets the function that receives the text as it arrives.
    #[must_use]
    pub fn on_delta(self, on_delta: OnDelta) -> Self {
        SummaryRequest { on_delta: Some(on_delta), ..self }
    }
}

impl fmt::Debug for SummaryRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Conversations are long and private, so only their size is printed.
        f.debug_struct("SummaryRequest")
            .field("system_bytes", &self.system.len())
            .field("user_bytes", &self.user.len())
            .field("messages", &self.conversation.messages.len())
            .field("max_output_tokens", &self.max_output_tokens)
            .field("streams", &self.on_delta.is_some())
            .finish()
    }
}

/// A conversation as messages.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Conversation {
    /// The messages in treering's own format, oldest first:
    /// [`treering::context::ContextMessage::json`].
    pub messages: Vec<Vec<u8>>,
    /// The summary of an earlier compaction, which the new summary should include.
    pub previous_summary: Option<String>,
    /// The user's focus for the summary.
    pub instructions: Option<String>,
}

impl Conversation {
    /// Creates a conversation of messages in treering's own format.
    pub fn new(messages: Vec<Vec<u8>>) -> Self {
        Conversation { messages, ..Conversation::default() }
    }

    /// Sets the summary of an earlier compaction.
    #[must_use]
    pub fn previous_summary(self, previous_summary: impl Into<String>) -> Self {
        Conversation { previous_summary: Some(previous_summary.into()), ..self }
    }

    /// Sets the user's focus for the summary.
    #[must_use]
    pub fn instructions(self, instructions: impl Into<String>) -> Self {
        Conversation { instructions: Some(instructions.into()), ..self }
    }
}

/// A complete summary.
///
/// ```
/// use treering::usage::Usage;
/// use treering_agent::Summary;
/// let summary = Summary::new("mine", "They talked about colors.")
///     .model("model-1")
///     .usage(Usage::of_request().input(900).output(20));
/// assert_eq!(summary.usage.unwrap().total(), 920);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Summary {
    /// The text, without surrounding white space; never empty.
    pub text: String,
    /// The usage, if the server reported it.
    pub usage: Option<Usage>,
    /// The model that wrote the summary, as the server names it, or else as it was requested.
    pub model: Option<String>,
    /// The summarizer's [`name`](Summarizer::name), or the provider that its configuration names.
    pub provider: String,
}

impl Summary {
    /// Creates a summary with an unknown model and unknown usage.
    pub fn new(provider: impl Into<String>, text: impl Into<String>) -> Self {
        Summary { text: text.into(), usage: None, model: None, provider: provider.into() }
    }

    /// Sets the model that wrote the summary.
    #[must_use]
    pub fn model(self, model: impl Into<String>) -> Self {
        Summary { model: Some(model.into()), ..self }
    }

    /// Sets the usage that the server reported.
    #[must_use]
    pub fn usage(self, usage: Usage) -> Self {
        Summary { usage: Some(usage), ..self }
    }
}

/// Collects the text as it arrives.
pub(crate) struct Sink {
    text: String,
    /// The size of the model's thinking so far.
    thought: usize,
    /// Whether the model may call tools.
    pub(crate) takes_calls: bool,
    on_delta: Option<OnDelta>,
}

/// The maximum size of an answer, including thinking. A summary has a few thousand characters.
const MAX_TEXT: usize = 4 << 20;

impl Sink {
    pub(crate) fn new(on_delta: Option<OnDelta>) -> Self {
        Sink { text: String::new(), thought: 0, takes_calls: false, on_delta }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    pub(crate) fn push(&mut self, delta: &str) -> Result<(), ModelError> {
        if delta.is_empty() {
            return Ok(());
        }
        self.check_room(delta)?;
        self.text.push_str(delta);
        self.emit(Delta::Text(delta));
        Ok(())
    }

    /// Passes on the model's thinking.
    pub(crate) fn think(&mut self, delta: &str) -> Result<(), ModelError> {
        if !delta.is_empty() {
            self.check_room(delta)?;
            self.thought += delta.len();
            self.emit(Delta::Thinking(delta));
        }
        Ok(())
    }

    /// Ends a block of thinking.
    pub(crate) fn end_thinking(&mut self, signature: Option<&str>) {
        self.emit(Delta::ThinkingEnd(signature));
    }

    /// Passes on thinking that the provider encrypted.
    pub(crate) fn redacted(&mut self, data: &str) -> Result<(), ModelError> {
        self.count(data)?;
        self.emit(Delta::RedactedThinking(data));
        Ok(())
    }

    /// Counts a piece of the answer that is neither text nor thinking.
    pub(crate) fn count(&mut self, delta: &str) -> Result<(), ModelError> {
        self.check_room(delta)?;
        self.thought += delta.len();
        Ok(())
    }

    /// Passes on the usage so far.
    pub(crate) fn usage(&mut self, usage: &Usage) {
        self.emit(Delta::Usage(usage));
    }

    /// Reports that the model is asked again.
    pub(crate) fn retry(&mut self, notice: &RetryNotice) {
        self.emit(Delta::Retry(notice));
    }

    fn check_room(&self, delta: &str) -> Result<(), ModelError> {
        match self.text.len() + self.thought + delta.len() > MAX_TEXT {
            true => Err(ModelError::Length),
            false => Ok(()),
        }
    }

    /// Discards everything that arrived, for another attempt.
    pub(crate) fn rewind(&mut self) {
        if !self.text.is_empty() || self.thought > 0 {
            self.text.clear();
            self.thought = 0;
            self.emit(Delta::Restart);
        }
    }

    fn emit(&mut self, delta: Delta<'_>) {
        if let Some(on_delta) = &mut self.on_delta {
            on_delta(delta);
        }
    }

    /// Returns the text without surrounding white space, which may be empty.
    pub(crate) fn finish(&mut self) -> String {
        let text = std::mem::take(&mut self.text);
        match text.trim() {
            trimmed if trimmed.len() == text.len() => text,
            trimmed => trimmed.to_owned(),
        }
    }
}
