//! The records on the lines of a rollout.
//!
//! Codex wraps every record in an envelope `{timestamp,type,payload}`. Before it did, the first line
//! was a bare header without a `type`, and response items stood on the lines themselves, with
//! `{"record_type":"state"}` between them. Both end here: the rest of the codec sees a [`Record`].

use crate::json::{self, Members};
use std::borrow::Cow;

/// A record, out of its envelope: the payload of each kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Record<'a> {
    /// The session's metadata; files with subagents have several.
    Meta(&'a [u8]),
    /// Something the model was sent or said.
    Item(&'a [u8]),
    /// A message from another agent, as older multi-agent versions stored it.
    Letter(&'a [u8]),
    /// Model, directory and policies of a turn.
    Turn(&'a [u8]),
    Compacted(&'a [u8]),
    /// An event for the user interface. Many repeat an item.
    Event(&'a [u8]),
    /// Anything else: world states, markers, kinds that are not known yet.
    Other,
}

/// Response items as they stand without an envelope.
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

/// Returns the header of the format before the envelope: it names a session and has no type at all.
fn is_bare_header(record: &[u8]) -> bool {
    let [id, timestamp, state] = members(record, ["id", "timestamp", "record_type"]);
    let is_text = |value: Option<&[u8]>| value.is_some_and(|value| value.starts_with(b"\""));
    is_text(id) && is_text(timestamp) && state.is_none()
}

/// Returns the values of some members of an object, in one pass that ends when all are found: the
/// first one where a key is repeated, which Codex itself refuses. Whether those values are JSON all
/// through was, or will be, found out by others.
pub(super) fn members<'a, const N: usize>(
    object: &'a [u8],
    keys: [&str; N],
) -> [Option<&'a [u8]>; N] {
    let mut found = [None; N];
    let mut members = Members::new(object, json::skip_space(object, 0));
    while let Some((key, start)) = members.key() {
        let name = json::key_name(&object[key.start + 1..key.end - 1]);
        let Some(span) = members.leap_value(start) else { break };
        for (value, key) in found.iter_mut().zip(keys) {
            if value.is_none() && *name == *key.as_bytes() {
                *value = object.get(span.clone());
            }
        }
        if found.iter().all(Option::is_some) {
            break;
        }
    }
    found
}

/// Returns the text of a string member.
pub(super) fn text<'a>(object: &'a [u8], key: &str) -> Option<Cow<'a, str>> {
    get(object, key).and_then(json::string)
}

/// Returns the value of a member.
pub(super) fn get<'a>(object: &'a [u8], key: &str) -> Option<&'a [u8]> {
    let [value] = members(object, [key]);
    value
}

/// Returns a string member as a literal, so that not even half a surrogate pair changes.
pub(super) fn literal<'a>(object: &'a [u8], key: &str) -> Option<&'a [u8]> {
    get(object, key).filter(|value| value.starts_with(b"\""))
}

/// Returns the inside of a string literal; nothing if there is none.
pub(super) fn inside(literal: Option<&[u8]>) -> &[u8] {
    literal.and_then(json::inside).unwrap_or_default()
}

pub(super) fn is_object(value: &[u8]) -> bool {
    value.starts_with(b"{")
}

/// An object under construction. Values go in as the JSON they are.
pub(super) struct Object(Vec<u8>);

impl Object {
    pub(super) fn new() -> Self {
        Object(b"{".to_vec())
    }

    pub(super) fn raw(mut self, key: &str, value: &[u8]) -> Self {
        if self.0.len() > 1 {
            self.0.push(b',');
        }
        json::write_string(&mut self.0, key);
        self.0.push(b':');
        self.0.extend_from_slice(value);
        self
    }

    pub(super) fn text(self, key: &str, value: &str) -> Self {
        self.raw(key, &json::quoted(value))
    }

    pub(super) fn maybe(self, key: &str, value: Option<&[u8]>) -> Self {
        match value {
            Some(value) => self.raw(key, value),
            None => self,
        }
    }

    pub(super) fn close(mut self) -> Vec<u8> {
        self.0.push(b'}');
        self.0
    }
}

/// Returns a string literal from its inside.
pub(super) fn quote(inside: &[u8]) -> Vec<u8> {
    [b"\"", inside, b"\""].concat()
}

/// Returns an array of the values.
pub(super) fn array<T: AsRef<[u8]>>(values: &[T]) -> Vec<u8> {
    let mut out = b"[".to_vec();
    for (at, value) in values.iter().enumerate() {
        if at > 0 {
            out.push(b',');
        }
        out.extend_from_slice(value.as_ref());
    }
    out.push(b']');
    out
}
