//! The parts of an entry, read in one pass. Reading a field scans the whole entry, and an export
//! needs many fields of many entries, so they are found together.

use crate::line::first_line;
use std::borrow::Cow;
use treering::entry::{Block, Body, MessageView};
use treering::{Entry, Role};

/// An entry and its parts.
#[derive(Debug)]
pub struct EntryParts<'a> {
    /// The entry.
    pub entry: &'a Entry,
    /// The typed view of the entry.
    pub body: Body<'a>,
    /// The blocks of its message; empty for other entries.
    pub blocks: Vec<Block<'a>>,
    /// The fields of its message.
    pub fields: MessageFields<'a>,
}

/// The fields of a message that are shown, as JSON.
#[derive(Debug, Default, Clone, Copy)]
pub struct MessageFields<'a> {
    call_id: Option<&'a [u8]>,
    tool_name: Option<&'a [u8]>,
    is_error: Option<&'a [u8]>,
    stop_reason: Option<&'a [u8]>,
    error_message: Option<&'a [u8]>,
    provider: Option<&'a [u8]>,
    model: Option<&'a [u8]>,
    /// The usage of the answer, as JSON.
    pub usage: Option<&'a [u8]>,
}

impl<'a> EntryParts<'a> {
    /// Reads an entry.
    pub fn of(entry: &'a Entry) -> Self {
        let body = entry.body();
        let (blocks, fields) = match &body {
            Body::Message(message) => message_parts(*message),
            _ => Default::default(),
        };
        EntryParts { entry, body, blocks, fields }
    }

    /// Returns the role of the message, or `None` for other entries.
    pub fn role(&self) -> Option<Role> {
        self.entry.role()
    }
}

/// Returns the blocks and the fields of a message.
pub fn message_parts(message: MessageView<'_>) -> (Vec<Block<'_>>, MessageFields<'_>) {
    let keys = [
        "toolCallId",
        "toolName",
        "isError",
        "stopReason",
        "errorMessage",
        "provider",
        "model",
        "usage",
    ];
    let (
        blocks,
        [call_id, tool_name, is_error, stop_reason, error_message, provider, model, usage],
    ) = message.parts(keys);
    let fields = MessageFields {
        call_id,
        tool_name,
        is_error,
        stop_reason,
        error_message,
        provider,
        model,
        usage,
    };
    (blocks, fields)
}

impl<'a> MessageFields<'a> {
    /// Returns the id of the call that a result answers.
    pub fn call_id(&self) -> Cow<'a, str> {
        text(self.call_id)
    }

    /// Returns the name of the tool that returned the result.
    pub fn tool_name(&self) -> Cow<'a, str> {
        text(self.tool_name)
    }

    /// Returns whether the tool failed.
    pub fn is_error(&self) -> bool {
        self.is_error == Some(b"true")
    }

    /// Returns the reason why an answer ended.
    pub fn stop_reason(&self) -> Cow<'a, str> {
        text(self.stop_reason)
    }

    /// Returns the reason why an answer is incomplete, or `None` if it is complete.
    pub fn abnormal_end(&self) -> Option<String> {
        let reason = text(self.stop_reason);
        if matches!(&*reason, "stop" | "toolUse" | "" | "end_turn" | "tool_use") {
            return None;
        }
        let why = text(self.error_message);
        Some(match first_line(&why) {
            "" => reason.into_owned(),
            why => format!("{reason}: {why}"),
        })
    }

    /// Returns the model of an answer, as `provider/model`.
    pub fn model(&self) -> Option<String> {
        let (provider, model) = (text(self.provider), text(self.model));
        match (&*provider, &*model) {
            (_, "") => None,
            ("", _) => Some(model.into_owned()),
            (provider, model) => Some(format!("{provider}/{model}")),
        }
    }
}

/// Returns the text of a JSON string, or an empty text for any other value.
fn text(literal: Option<&[u8]>) -> Cow<'_, str> {
    literal.and_then(treering::internal::json_text).unwrap_or_default()
}
