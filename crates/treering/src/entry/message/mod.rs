//! Messages to be written.
//!
//! A [`Message`] is a JSON object with a `role`. The builders ([`UserMessage`], [`AssistantMessage`],
//! [`ToolResultMessage`], [`BashExecutionMessage`], [`SystemMessage`]) render one with the fields, and in
//! the order, that pi writes and expects; [`Message::from_json`] takes any other. [`CustomMessage`] is an
//! entry of its own, not a message. The other direction is [`MessageView`](super::MessageView).

mod assistant;
mod content;
mod custom;
mod execution;
mod tool_result;
mod usage;
mod user;

pub use assistant::{AssistantMessage, StopReason};
pub use custom::CustomMessage;
pub use execution::BashExecutionMessage;
pub use tool_result::ToolResultMessage;
pub use usage::{TokenCost, TokenUsage};
pub use user::{SystemMessage, UserMessage};

use super::NewEntry;
use super::kind::Role;
use super::new::checked;
use super::view::MessageView;
use crate::error::{Error, Result};
use crate::json;

/// A message to append: an object with a `role`, as JSON.
///
/// ```
/// use treering::entry::AssistantMessage;
/// use treering::{Message, Session};
/// let session = Session::in_memory("/project");
/// session.append(Message::user("Which files are there?"))?;
/// session.append(
///     AssistantMessage::new("anthropic-messages", "anthropic", "claude-sonnet-4-5")
///         .with_text("Let me look.")
///         .with_tool_call("call_1", "ls", r#"{"path":"."}"#)?,
/// )?;
/// session.append(Message::from_json(br#"{"role":"note","content":"of another agent"}"#)?)?;
/// # Ok::<(), treering::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    role: Role,
    json: Vec<u8>,
}

impl Message {
    /// Creates a message from JSON, which is kept byte for byte.
    ///
    /// # Errors
    ///
    /// Fails if `json` is not an object with a string `role`.
    pub fn from_json(json: impl AsRef<[u8]>) -> Result<Self> {
        let json = checked("message", json.as_ref())?;
        match MessageView::new(json).field("role") {
            Some(role) if json.starts_with(b"{") => {
                Ok(Message { role: Role::of(&role), json: json.to_vec() })
            }
            _ => Err(Error::InvalidEntry("a message is an object with a role".into())),
        }
    }

    /// Creates a user message of plain text, timed now.
    pub fn user(text: impl AsRef<str>) -> Self {
        UserMessage::new().with_text(text.as_ref()).build()
    }

    /// Creates an assistant message of plain text, timed now, that used no tokens. See
    /// [`AssistantMessage`] for everything else that an answer has.
    pub fn assistant(
        provider: impl AsRef<str>,
        model: impl AsRef<str>,
        text: impl AsRef<str>,
    ) -> Self {
        AssistantMessage::new("none", provider.as_ref(), model.as_ref())
            .with_text(text.as_ref())
            .build()
    }

    /// Adds a field that has no builder method. `value` is JSON.
    ///
    /// ```
    /// use treering::Message;
    /// let message = Message::assistant("acme", "m", "Red.").with("durationMs", b"1200")?;
    /// assert_eq!(message.view().get("durationMs"), Some(&b"1200"[..]));
    /// # Ok::<(), treering::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Fails if `value` is not JSON, or if the message has the field already.
    pub fn with(mut self, key: &str, value: &[u8]) -> Result<Self> {
        let value = checked(key, value)?;
        if self.view().get(key).is_some() {
            return Err(Error::InvalidEntry(format!("the message has {key:?} already")));
        }
        self.json.pop();
        let mut object = MessageBuilder(self.json);
        object.raw(key, value);
        Ok(object.finish(self.role))
    }

    /// Returns the role.
    pub fn role(&self) -> Role {
        self.role
    }

    /// Returns the JSON.
    pub fn as_json(&self) -> &[u8] {
        &self.json
    }

    /// Returns a typed view of the message.
    pub fn view(&self) -> MessageView<'_> {
        MessageView::new(&self.json)
    }

    /// Returns an entry with this message, to give it an id, a parent or a time.
    pub fn into_entry(self) -> NewEntry {
        NewEntry::of_message(self.role, &self.json)
    }
}

impl From<Message> for NewEntry {
    fn from(message: Message) -> Self {
        message.into_entry()
    }
}

/// A JSON object under construction.
struct MessageBuilder(Vec<u8>);

impl MessageBuilder {
    fn new(role: Role) -> Self {
        let mut object = MessageBuilder(b"{\"role\":".to_vec());
        json::write_string(&mut object.0, role.name().unwrap_or_default());
        object
    }

    fn raw(&mut self, key: &str, value: &[u8]) {
        self.0.push(b',');
        json::write_string(&mut self.0, key);
        self.0.push(b':');
        self.0.extend_from_slice(value);
    }

    fn text(&mut self, key: &str, text: &str) {
        self.raw(key, &json::quoted(text));
    }

    fn flag(&mut self, key: &str, value: bool) {
        self.raw(key, if value { b"true" } else { b"false" });
    }

    fn number(&mut self, key: &str, value: i64) {
        self.raw(key, value.to_string().as_bytes());
    }

    fn timestamp(&mut self, millis: Option<i64>) {
        self.number("timestamp", millis.unwrap_or_else(crate::time::now));
    }

    fn finish(mut self, role: Role) -> Message {
        self.0.push(b'}');
        Message { role, json: self.0 }
    }
}

/// Implements the conversions of a builder.
macro_rules! builds_message {
    ($builder:ty) => {
        impl From<$builder> for Message {
            fn from(builder: $builder) -> Message {
                builder.build()
            }
        }

        impl From<$builder> for NewEntry {
            fn from(builder: $builder) -> NewEntry {
                builder.build().into_entry()
            }
        }
    };
}

builds_message!(UserMessage);
builds_message!(SystemMessage);
builds_message!(AssistantMessage);
builds_message!(ToolResultMessage);
builds_message!(BashExecutionMessage);

#[cfg(feature = "serde")]
mod serde_impls;
#[cfg(test)]
mod tests;
