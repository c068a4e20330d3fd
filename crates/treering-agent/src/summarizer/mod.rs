//! Summarizers: one conversation in, one summary out.
//!
//! This module owns the seam, [`Summarizer`], and what passes through it. A request carries the
//! conversation twice: as the prompt a model reads ([`SummaryRequest::system`], [`SummaryRequest::user`]), and as
//! the messages themselves ([`SummaryRequest::conversation`]), from which a summarizer without a model
//! works. The caller fills in both and need not know which summarizer answers. The prompt, how
//! input too large for [`Summarizer::context_window`] is folded, and where the summary is written
//! are not decided here.
//!
//! A summary is whole or an error: one that was cut for length, came out empty, or turned into a
//! tool call is never returned as text.

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
pub use error::{SummaryError, Waiting};
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

/// The answer of [`Summarizer::summarize`], still to come.
pub type SummaryFuture<'a> =
    Pin<Box<dyn Future<Output = Result<Summary, SummaryError>> + Send + 'a>>;

/// Called with each piece of an answer as it arrives. It runs on the task of the request and must not
/// block.
pub type OnDelta = Box<dyn FnMut(Delta<'_>) + Send>;

/// A summary or an answer as it arrives.
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
    /// More text.
    Text(&'a str),
    /// More of what the model thinks before it answers. It is not part of the text.
    Thinking(&'a str),
    /// The end of a block of thinking, with the signature that the provider wants to see again if
    /// the block is sent back to it. A block without a signature may also end with the text.
    ThinkingEnd(Option<&'a str>),
    /// A block of thinking that the provider encrypted, to be sent back to it as it is.
    RedactedThinking(&'a str),
    /// Everything so far is void: the connection was lost, and the model is asked again.
    Restart,
    /// The model is asked again after a pause, which begins now.
    Retry(&'a RetryNotice),
}

/// Another attempt to get an answer, before its pause.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct RetryNotice {
    /// The number of the attempt that follows; the first attempt is number 1.
    pub attempt: u32,
    /// The number of the last attempt that would be made.
    pub attempts: u32,
    /// The error of the attempt before it.
    pub reason: SummaryError,
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
    /// Returns its name in configuration and messages: `anthropic`, `openai`, `command`, …
    fn name(&self) -> &str;

    /// Returns how many tokens of input and output it takes at once; `None` if there is no such
    /// limit, so that nothing has to be folded.
    fn context_window(&self) -> Option<u64>;

    /// Summarizes. Nothing is written anywhere; a canceled request is [`SummaryError::Canceled`].
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
    /// The same conversation as data.
    pub conversation: Conversation,
    /// The longest answer in tokens; `None` leaves it to the summarizer's configuration.
    pub max_output_tokens: Option<u64>,
    /// Receives the text as it arrives.
    pub on_delta: Option<OnDelta>,
}

impl SummaryRequest {
    /// Creates a request.
    pub fn new(system: impl Into<String>, user: impl Into<String>) -> Self {
        SummaryRequest { system: system.into(), user: user.into(), ..SummaryRequest::default() }
    }

    /// Sets the same conversation as data.
    #[must_use]
    pub fn conversation(self, conversation: Conversation) -> Self {
        SummaryRequest { conversation, ..self }
    }

    /// Sets the longest answer in tokens.
    #[must_use]
    pub fn max_output_tokens(self, max_output_tokens: u64) -> Self {
        SummaryRequest { max_output_tokens: Some(max_output_tokens), ..self }
    }

    /// Sets what receives the text as it arrives.
    #[must_use]
    pub fn on_delta(self, on_delta: OnDelta) -> Self {
        SummaryRequest { on_delta: Some(on_delta), ..self }
    }
}

impl fmt::Debug for SummaryRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Conversations are long and private: their sizes say enough.
        f.debug_struct("SummaryRequest")
            .field("system_bytes", &self.system.len())
            .field("user_bytes", &self.user.len())
            .field("messages", &self.conversation.messages.len())
            .field("max_output_tokens", &self.max_output_tokens)
            .field("streams", &self.on_delta.is_some())
            .finish()
    }
}

/// A conversation as data.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Conversation {
    /// The messages in treering's own shape, oldest first: [`treering::context::ContextMessage::json`].
    pub messages: Vec<Vec<u8>>,
    /// The summary that an earlier compaction left, to be carried on.
    pub previous_summary: Option<String>,
    /// The user's focus for the summary.
    pub instructions: Option<String>,
}

impl Conversation {
    /// Creates a conversation of messages in treering's own shape.
    pub fn new(messages: Vec<Vec<u8>>) -> Self {
        Conversation { messages, ..Conversation::default() }
    }

    /// Sets the summary that an earlier compaction left.
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

/// A whole summary.
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
    /// The text, without white space around it; never empty.
    pub text: String,
    /// The usage, if the server reported it.
    pub usage: Option<Usage>,
    /// The model that wrote it, as the server names it, else as it was asked for.
    pub model: Option<String>,
    /// The summarizer's [`name`](Summarizer::name), or the provider its configuration names.
    pub provider: String,
}

impl Summary {
    /// Creates a summary of unknown model and usage.
    pub fn new(provider: impl Into<String>, text: impl Into<String>) -> Self {
        Summary { text: text.into(), usage: None, model: None, provider: provider.into() }
    }

    /// Sets the model that wrote it.
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

/// The text as it arrives.
pub(crate) struct Sink {
    text: String,
    /// The size of what the model thought.
    thought: usize,
    /// Whether the model may call tools.
    pub(crate) takes_calls: bool,
    on_delta: Option<OnDelta>,
}

/// The largest answer taken, thinking included. A summary is a few thousand characters.
const MAX_TEXT: usize = 4 << 20;

impl Sink {
    pub(crate) fn new(on_delta: Option<OnDelta>) -> Self {
        Sink { text: String::new(), thought: 0, takes_calls: false, on_delta }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    pub(crate) fn push(&mut self, delta: &str) -> Result<(), SummaryError> {
        if delta.is_empty() {
            return Ok(());
        }
        self.check_room(delta)?;
        self.text.push_str(delta);
        self.tell(Delta::Text(delta));
        Ok(())
    }

    /// Passes on what the model thinks.
    pub(crate) fn think(&mut self, delta: &str) -> Result<(), SummaryError> {
        if !delta.is_empty() {
            self.check_room(delta)?;
            self.thought += delta.len();
            self.tell(Delta::Thinking(delta));
        }
        Ok(())
    }

    /// Ends a block of thinking.
    pub(crate) fn end_thinking(&mut self, signature: Option<&str>) {
        self.tell(Delta::ThinkingEnd(signature));
    }

    /// Passes on thinking that the provider encrypted.
    pub(crate) fn redacted(&mut self, data: &str) -> Result<(), SummaryError> {
        self.count(data)?;
        self.tell(Delta::RedactedThinking(data));
        Ok(())
    }

    /// Counts a piece of the answer that is neither text nor thinking.
    pub(crate) fn count(&mut self, delta: &str) -> Result<(), SummaryError> {
        self.check_room(delta)?;
        self.thought += delta.len();
        Ok(())
    }

    /// Tells that the model is asked again.
    pub(crate) fn retry(&mut self, notice: &RetryNotice) {
        self.tell(Delta::Retry(notice));
    }

    fn check_room(&self, delta: &str) -> Result<(), SummaryError> {
        match self.text.len() + self.thought + delta.len() > MAX_TEXT {
            true => Err(SummaryError::Length),
            false => Ok(()),
        }
    }

    /// Forgets what arrived, for another attempt.
    pub(crate) fn rewind(&mut self) {
        if !self.text.is_empty() || self.thought > 0 {
            self.text.clear();
            self.thought = 0;
            self.tell(Delta::Restart);
        }
    }

    fn tell(&mut self, delta: Delta<'_>) {
        if let Some(on_delta) = &mut self.on_delta {
            on_delta(delta);
        }
    }

    /// Returns the text without white space around it, which may be empty.
    pub(crate) fn finish(&mut self) -> String {
        let text = std::mem::take(&mut self.text);
        match text.trim() {
            trimmed if trimmed.len() == text.len() => text,
            trimmed => trimmed.to_owned(),
        }
    }
}
