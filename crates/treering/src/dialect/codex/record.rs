//! The records on the lines of a rollout.
//!
//! Codex wraps every record in an envelope `{timestamp,type,payload}`. In older versions the first
//! line was a bare header without a `type`, and response items were on the lines themselves, with
//! `{"record_type":"state"}` between them. The rest of the codec sees only a [`Record`].

pub(super) use crate::dialect::shape::{
    ObjectBuilder, array, get, inside, is_object, literal, members, quote, text,
};
use crate::json;

/// A record without its envelope: the payload of each kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Record<'a> {
    /// The session's metadata; files with subagents have several.
    Meta(&'a [u8]),
    /// An item that the model was sent or wrote.
    Item(&'a [u8]),
    /// A message from another agent, as older multi-agent versions stored it.
    Letter(&'a [u8]),
    /// The model, directory and policies of a turn.
    Turn(&'a [u8]),
    Compacted(&'a [u8]),
    /// An event for the user interface. Many repeat an item.
    Event(&'a [u8]),
    /// Anything else: world states, markers, kinds that are not known yet.
    Other,
}

/// The types of response items that may occur without an envelope.
const ITEMS: [&str; 12] = [
    "message",
    "reasoning",
    "function_call",
    "function_call_output",
    "custom_tool_call",
    "custom_tool_call_output",
    "local_shell_call",
    "web_search_call",
    "tool_search_call",
    "tool_search_output",
    "image_generation_call",
    "ghost_snapshot",
];

impl<'a> Record<'a> {
    pub(super) fn read(record: &'a [u8]) -> Self {
        let [kind, payload] = members(record, ["type", "payload"]);
        Record::of(record, kind, payload)
    }

    /// Returns the record with this `type` and `payload`.
    pub(super) fn of(record: &'a [u8], kind: Option<&[u8]>, payload: Option<&'a [u8]>) -> Self {
        let kind = kind.map(|kind| json::string(kind).unwrap_or_default());
        let payload = payload.filter(|payload| is_object(payload));
        match (kind.as_deref(), payload) {
            (Some("session_meta"), Some(payload)) => Record::Meta(payload),
            (Some("response_item"), Some(payload)) => Record::Item(payload),
            (Some("inter_agent_communication"), Some(payload)) => Record::Letter(payload),
            (Some("turn_context"), Some(payload)) => Record::Turn(payload),
            (Some("compacted"), Some(payload)) => Record::Compacted(payload),
            (Some("event_msg"), Some(payload)) => Record::Event(payload),
            (Some(kind), None) if ITEMS.contains(&kind) => Record::Item(record),
            (None, None) if is_bare_header(record) => Record::Meta(record),
            _ => Record::Other,
        }
    }
}

/// Returns whether a record is a header of the format before the envelope: it names a session and
/// has no type.
fn is_bare_header(record: &[u8]) -> bool {
    let [id, timestamp, state] = members(record, ["id", "timestamp", "record_type"]);
    let is_text = |value: Option<&[u8]>| value.is_some_and(|value| value.starts_with(b"\""));
    is_text(id) && is_text(timestamp) && state.is_none()
}
