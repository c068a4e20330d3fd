//! Answers of a model.

use super::content::Content;
use super::{Message, MessageBuilder, TokenUsage};
use crate::entry::kind::Role;
use crate::error::Result;

/// The reason why a model stopped.
///
/// ```
/// use treering::entry::{AssistantMessage, StopReason};
/// let answer = AssistantMessage::new("acme-api", "acme", "m").with_stop_reason(StopReason::Aborted).build();
/// assert_eq!(answer.view().as_assistant().unwrap().stop_reason(), Some(StopReason::Aborted));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum StopReason {
    /// The answer is complete.
    Stop,
    /// The answer reached the limit of output tokens.
    Length,
    /// The model waits for the results of its tool calls.
    ToolUse,
    /// The request failed.
    Error,
    /// The user aborted the answer.
    Aborted,
    /// The answer is still being written.
    Pending,
    /// The provider finishes the answer later.
    Deferred,
    /// A reason that treering does not know.
    Other,
}

impl StopReason {
    /// Returns the reason with this name in files.
    pub fn of(name: &str) -> Self {
        match name {
            "stop" => StopReason::Stop,
            "length" => StopReason::Length,
            "toolUse" => StopReason::ToolUse,
            "error" => StopReason::Error,
            "aborted" => StopReason::Aborted,
            "pending" => StopReason::Pending,
            "deferred" => StopReason::Deferred,
            _ => StopReason::Other,
        }
    }

    /// Returns the name in files; `stop` for [`StopReason::Other`].
    pub fn name(self) -> &'static str {
        match self {
            StopReason::Stop | StopReason::Other => "stop",
            StopReason::Length => "length",
            StopReason::ToolUse => "toolUse",
            StopReason::Error => "error",
            StopReason::Aborted => "aborted",
            StopReason::Pending => "pending",
            StopReason::Deferred => "deferred",
        }
    }
}

/// Builds an answer of a model.
///
/// The message always has every field that pi requires: `api`, `provider`, `model`, `usage` with
/// its `cost`, `stopReason` and `timestamp`. Without a stop reason the answer counts as complete,
/// or as waiting for its tool calls if it has any.
///
/// ```
/// use treering::entry::{AssistantMessage, StopReason, TokenUsage};
/// let message = AssistantMessage::new("openai-completions", "openai", "gpt-5")
///     .with_thinking("The user wants the time.", None)
///     .with_tool_call("call_1", "now", "{}")?
///     .with_usage(TokenUsage::new(120, 30))
///     .build();
/// let answer = message.view().as_assistant().unwrap();
/// assert_eq!(answer.stop_reason(), Some(StopReason::ToolUse));
/// assert_eq!(answer.usage().unwrap().total_tokens(), 150);
/// # Ok::<(), treering::Error>(())
/// ```
#[derive(Debug, Clone)]
#[must_use = "a builder does nothing until it is appended"]
pub struct AssistantMessage {
    api: String,
    provider: String,
    model: String,
    content: Content,
    usage: TokenUsage,
    response_id: Option<String>,
    stop_reason: Option<StopReason>,
    error_message: Option<String>,
    timestamp: Option<i64>,
}

impl AssistantMessage {
    /// Creates an answer without content. `api` is the protocol (`anthropic-messages`,
    /// `openai-completions`, `openai-responses`, …), `provider` the server's name, `model` the model's
    /// id.
    pub fn new(
        api: impl Into<String>,
        provider: impl Into<String>,
        model: impl Into<String>,
    ) -> Self {
        AssistantMessage {
            api: api.into(),
            provider: provider.into(),
            model: model.into(),
            content: Content::default(),
            // No request was made, so the cost is known to be zero.
            usage: TokenUsage { cost: Some(super::TokenCost::default()), ..TokenUsage::default() },
            response_id: None,
            stop_reason: None,
            error_message: None,
            timestamp: None,
        }
    }

    /// Adds a block of text.
    pub fn with_text(mut self, text: impl AsRef<str>) -> Self {
        self.content.text(text.as_ref());
        self
    }

    /// Adds a block of thinking. `signature` is what the provider needs to get the thinking back:
    /// Anthropic's signature, or the whole `reasoning` item of OpenAI's Responses API as JSON. Most
    /// providers refuse a block without one.
    pub fn with_thinking(mut self, text: impl AsRef<str>, signature: Option<&str>) -> Self {
        self.content.thinking(text.as_ref(), signature, false);
        self
    }

    /// Adds a block of thinking that the provider encrypted.
    pub fn with_redacted_thinking(mut self, data: impl AsRef<str>) -> Self {
        self.content.thinking("", Some(data.as_ref()), true);
        self
    }

    /// Adds a tool call. `arguments` is a JSON object.
    ///
    /// # Errors
    ///
    /// Fails if `arguments` is not a JSON object.
    pub fn with_tool_call(
        mut self,
        id: impl AsRef<str>,
        name: impl AsRef<str>,
        arguments: impl AsRef<[u8]>,
    ) -> Result<Self> {
        self.content.tool_call(id.as_ref(), name.as_ref(), arguments.as_ref())?;
        Ok(self)
    }

    /// Adds a block of a type that has no builder, as JSON.
    ///
    /// # Errors
    ///
    /// Fails if `block` is not a JSON object with a `type`.
    pub fn with_block(mut self, block: impl AsRef<[u8]>) -> Result<Self> {
        self.content.block(block.as_ref())?;
        Ok(self)
    }

    /// Sets the usage.
    pub fn with_usage(mut self, usage: TokenUsage) -> Self {
        self.usage = usage;
        self
    }

    /// Sets the id that the provider gave the answer.
    pub fn with_response_id(mut self, id: impl Into<String>) -> Self {
        self.response_id = Some(id.into());
        self
    }

    /// Sets the reason why the model stopped.
    pub fn with_stop_reason(mut self, reason: StopReason) -> Self {
        self.stop_reason = Some(reason);
        self
    }

    /// Marks the answer as failed, with an error message.
    pub fn failed(mut self, error: impl Into<String>) -> Self {
        self.stop_reason = Some(StopReason::Error);
        self.error_message = Some(error.into());
        self
    }

    /// Marks the answer as aborted by the user.
    pub fn aborted(mut self) -> Self {
        self.stop_reason = Some(StopReason::Aborted);
        self
    }

    /// Sets the time in Unix milliseconds; the default is now.
    pub fn with_timestamp(mut self, millis: i64) -> Self {
        self.timestamp = Some(millis);
        self
    }

    /// Returns the message.
    pub fn build(self) -> Message {
        let default = if self.content.has_calls { StopReason::ToolUse } else { StopReason::Stop };
        let mut object = MessageBuilder::new(Role::Assistant);
        object.raw("content", &self.content.to_json());
        object.text("api", &self.api);
        object.text("provider", &self.provider);
        object.text("model", &self.model);
        if let Some(id) = &self.response_id {
            object.text("responseId", id);
        }
        object.raw("usage", &self.usage.to_json());
        object.text("stopReason", self.stop_reason.unwrap_or(default).name());
        if let Some(error) = &self.error_message {
            object.text("errorMessage", error);
        }
        object.timestamp(self.timestamp);
        object.finish(Role::Assistant)
    }
}
