//! Results of tools.

use super::super::new::checked;
use super::content::Content;
use super::{Message, MessageBuilder};
use crate::entry::kind::Role;
use crate::error::Result;

/// Builds the result of a tool call.
///
/// ```
/// use treering::entry::ToolResultMessage;
/// let message = ToolResultMessage::new("call_1", "read")
///     .with_text("no such file")
///     .with_details(r#"{"path":"a.txt"}"#)?
///     .with_error(true)
///     .build();
/// let result = message.view().as_tool_result().unwrap();
/// assert_eq!((&*result.tool_call_id(), result.is_error()), ("call_1", true));
/// # Ok::<(), treering::Error>(())
/// ```
#[derive(Debug, Clone)]
#[must_use = "a builder does nothing until it is appended"]
pub struct ToolResultMessage {
    call_id: String,
    tool_name: String,
    content: Content,
    details: Option<Vec<u8>>,
    is_error: bool,
    timestamp: Option<i64>,
}

impl ToolResultMessage {
    /// Creates the result of the call `call_id` of the tool `tool_name`, without content.
    pub fn new(call_id: impl Into<String>, tool_name: impl Into<String>) -> Self {
        ToolResultMessage {
            call_id: call_id.into(),
            tool_name: tool_name.into(),
            content: Content::default(),
            details: None,
            is_error: false,
            timestamp: None,
        }
    }

    /// Adds a block of text.
    pub fn with_text(mut self, text: impl AsRef<str>) -> Self {
        self.content.text(text.as_ref());
        self
    }

    /// Adds an image: its media type, such as `image/png`, and its bytes in Base64.
    pub fn with_image(mut self, mime_type: impl AsRef<str>, data: impl AsRef<str>) -> Self {
        self.content.image(mime_type.as_ref(), data.as_ref());
        self
    }

    /// Sets details for user interfaces, as JSON. The model does not see them.
    ///
    /// # Errors
    ///
    /// Fails if `details` is not JSON.
    pub fn with_details(mut self, details: impl AsRef<[u8]>) -> Result<Self> {
        self.details = Some(checked("details", details.as_ref())?.to_vec());
        Ok(self)
    }

    /// Sets whether the call failed.
    pub fn with_error(mut self, is_error: bool) -> Self {
        self.is_error = is_error;
        self
    }

    /// Sets the time in Unix milliseconds; the default is now.
    pub fn with_timestamp(mut self, millis: i64) -> Self {
        self.timestamp = Some(millis);
        self
    }

    /// Returns the message.
    pub fn build(self) -> Message {
        let mut object = MessageBuilder::new(Role::ToolResult);
        object.text("toolCallId", &self.call_id);
        object.text("toolName", &self.tool_name);
        object.raw("content", &self.content.to_json());
        if let Some(details) = &self.details {
            object.raw("details", details);
        }
        object.flag("isError", self.is_error);
        object.timestamp(self.timestamp);
        object.finish(Role::ToolResult)
    }
}
