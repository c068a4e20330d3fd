//! Messages of the user, and system messages.

use super::content::Content;
use super::{Message, MessageBuilder};
use crate::entry::kind::Role;

/// Builds a message of the user: text and images.
///
/// ```
/// use treering::entry::UserMessage;
/// let message = UserMessage::new().with_text("What is this?").with_image("image/png", "iVBORw==");
/// assert_eq!(message.build().view().blocks().len(), 2);
/// ```
#[derive(Debug, Clone, Default)]
#[must_use = "a builder does nothing until it is appended"]
pub struct UserMessage {
    content: Content,
    timestamp: Option<i64>,
}

impl UserMessage {
    /// Creates a message without content.
    pub fn new() -> Self {
        UserMessage::default()
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

    /// Sets the time in Unix milliseconds; the default is now.
    pub fn with_timestamp(mut self, millis: i64) -> Self {
        self.timestamp = Some(millis);
        self
    }

    /// Returns the message.
    pub fn build(self) -> Message {
        let mut object = MessageBuilder::new(Role::User);
        object.raw("content", &self.content.to_json());
        object.timestamp(self.timestamp);
        object.finish(Role::User)
    }
}

/// Builds a system message: instructions that apply from this point of the conversation on.
///
/// ```
/// use treering::entry::SystemMessage;
/// use treering::{Role, Session};
/// let session = Session::in_memory("/project");
/// let id = session.append(SystemMessage::new("Be brief."))?;
/// assert_eq!(session.tree().role(id)?, Some(Role::System));
/// # Ok::<(), treering::Error>(())
/// ```
#[derive(Debug, Clone)]
#[must_use = "a builder does nothing until it is appended"]
pub struct SystemMessage {
    text: String,
    timestamp: Option<i64>,
}

impl SystemMessage {
    /// Creates a system message.
    pub fn new(text: impl Into<String>) -> Self {
        SystemMessage { text: text.into(), timestamp: None }
    }

    /// Sets the time in Unix milliseconds; the default is now.
    pub fn with_timestamp(mut self, millis: i64) -> Self {
        self.timestamp = Some(millis);
        self
    }

    /// Returns the message.
    pub fn build(self) -> Message {
        let mut object = MessageBuilder::new(Role::System);
        object.text("content", &self.text);
        object.timestamp(self.timestamp);
        object.finish(Role::System)
    }
}
