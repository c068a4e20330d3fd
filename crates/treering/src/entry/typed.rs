//! Typed views of messages, by role. They borrow and decode on demand.
//!
//! A view never fails: a field that is missing or of another type is empty or `None`, and half a
//! surrogate pair becomes U+FFFD. The exact bytes are available ([`MessageView::raw`]).

use super::message::{StopReason, TokenUsage};
use super::view::number;
use super::{Block, MessageView, Role};
use std::borrow::Cow;

impl<'a> MessageView<'a> {
    /// Returns the message as an answer, if its role is `assistant`.
    ///
    /// ```
    /// use treering::entry::StopReason;
    /// use treering::Message;
    /// let message = Message::assistant("acme", "m", "Red.");
    /// let answer = message.view().as_assistant().unwrap();
    /// assert_eq!(answer.stop_reason(), Some(StopReason::Stop));
    /// assert!(message.view().as_tool_result().is_none());
    /// ```
    pub fn as_assistant(&self) -> Option<AssistantView<'a>> {
        (self.role() == Role::Assistant).then_some(AssistantView(*self))
    }

    /// Returns the message as a tool's result, if its role is `toolResult`.
    ///
    /// ```
    /// use treering::entry::ToolResultMessage;
    /// let message = ToolResultMessage::new("call-1", "read").with_text("fn main() {}").build();
    /// let result = message.view().as_tool_result().unwrap();
    /// assert_eq!((&*result.tool_call_id(), result.is_error()), ("call-1", false));
    /// ```
    pub fn as_tool_result(&self) -> Option<ToolResultView<'a>> {
        (self.role() == Role::ToolResult).then_some(ToolResultView(*self))
    }

    /// Returns the message as a command of the user, if its role is `bashExecution`.
    ///
    /// ```
    /// use treering::entry::BashExecutionMessage;
    /// let message = BashExecutionMessage::new("ls", "a.rs\n").build();
    /// assert_eq!(&*message.view().as_bash_execution().unwrap().command(), "ls");
    /// ```
    pub fn as_bash_execution(&self) -> Option<BashExecutionView<'a>> {
        (self.role() == Role::BashExecution).then_some(BashExecutionView(*self))
    }

    /// Returns the time in Unix milliseconds that the message records.
    pub fn timestamp(&self) -> Option<i64> {
        // A cast of a float saturates.
        self.get("timestamp").and_then(number).map(|millis| millis as i64)
    }

    fn text_field(&self, key: &str) -> Cow<'a, str> {
        self.field(key).unwrap_or_default()
    }

    fn is_set(&self, key: &str) -> bool {
        self.get(key) == Some(b"true")
    }
}

/// An answer of a model.
#[derive(Debug, Clone, Copy)]
pub struct AssistantView<'a>(MessageView<'a>);

impl<'a> AssistantView<'a> {
    /// Returns the message.
    pub fn message(&self) -> MessageView<'a> {
        self.0
    }

    /// Returns the name of the provider's API.
    pub fn api(&self) -> Cow<'a, str> {
        self.0.text_field("api")
    }

    /// Returns the provider.
    pub fn provider(&self) -> Cow<'a, str> {
        self.0.text_field("provider")
    }

    /// Returns the model's id.
    pub fn model(&self) -> Cow<'a, str> {
        self.0.text_field("model")
    }

    /// Returns the id that the provider gave the answer.
    pub fn response_id(&self) -> Option<Cow<'a, str>> {
        self.0.field("responseId")
    }

    /// Returns the blocks of the answer.
    pub fn blocks(&self) -> Vec<Block<'a>> {
        self.0.blocks()
    }

    /// Returns the usage; `None` if the message has none.
    pub fn usage(&self) -> Option<TokenUsage> {
        TokenUsage::from_json(self.0.get("usage")?)
    }

    /// Returns the reason why the model stopped; `None` if the message has none.
    pub fn stop_reason(&self) -> Option<StopReason> {
        Some(StopReason::of(&self.0.field("stopReason")?))
    }

    /// Returns why the answer failed.
    pub fn error_message(&self) -> Option<Cow<'a, str>> {
        self.0.field("errorMessage")
    }
}

/// The result of a tool call.
#[derive(Debug, Clone, Copy)]
pub struct ToolResultView<'a>(MessageView<'a>);

impl<'a> ToolResultView<'a> {
    /// Returns the message.
    pub fn message(&self) -> MessageView<'a> {
        self.0
    }

    /// Returns the id of the call.
    pub fn tool_call_id(&self) -> Cow<'a, str> {
        self.0.text_field("toolCallId")
    }

    /// Returns the tool's name.
    pub fn tool_name(&self) -> Cow<'a, str> {
        self.0.text_field("toolName")
    }

    /// Returns the blocks of the result.
    pub fn blocks(&self) -> Vec<Block<'a>> {
        self.0.blocks()
    }

    /// Returns the details for user interfaces, as JSON.
    pub fn details(&self) -> Option<&'a [u8]> {
        self.0.get("details")
    }

    /// Returns whether the call failed.
    pub fn is_error(&self) -> bool {
        self.0.is_set("isError")
    }
}

/// A command that the user ran.
#[derive(Debug, Clone, Copy)]
pub struct BashExecutionView<'a>(MessageView<'a>);

impl<'a> BashExecutionView<'a> {
    /// Returns the message.
    pub fn message(&self) -> MessageView<'a> {
        self.0
    }

    /// Returns the command.
    pub fn command(&self) -> Cow<'a, str> {
        self.0.text_field("command")
    }

    /// Returns the output, or its end if it [was truncated](BashExecutionView::is_truncated).
    pub fn output(&self) -> Cow<'a, str> {
        self.0.text_field("output")
    }

    /// Returns the exit code; `None` if the command was killed.
    pub fn exit_code(&self) -> Option<i32> {
        self.0.get("exitCode").and_then(number).map(|code| code as i32)
    }

    /// Returns whether the user stopped the command.
    pub fn is_canceled(&self) -> bool {
        self.0.is_set("cancelled")
    }

    /// Returns whether the output is only the end of what the command printed.
    pub fn is_truncated(&self) -> bool {
        self.0.is_set("truncated")
    }

    /// Returns the file with the whole output.
    pub fn full_output_path(&self) -> Option<Cow<'a, str>> {
        self.0.field("fullOutputPath")
    }

    /// Returns whether the command is excluded from the context.
    pub fn is_excluded(&self) -> bool {
        self.0.is_set("excludeFromContext")
    }
}
