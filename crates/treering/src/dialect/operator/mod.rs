//! The dialect of Operator, and the parts that its successor Tau shares.
//!
//! One compact JSON object a line, `null` left out, keys in snake case, times as float seconds. The
//! tree is in `parent_id`, which a root does not have. Navigation is durable: a `leaf` record moves
//! the leaf, and its `parent_id` is the previous leaf, not the target.
//!
//! A record is [`decode`]d into treering's format and [`encode`]d from it, both with [`object`] and
//! [`blocks`]. [`agent`] builds Operator's own context. Tau writes the same records, except for the
//! order of a message's members and a few additional ones: that is a [`Style`].

pub(super) mod agent;
mod blocks;
#[cfg(test)]
mod corpus;
mod decode;
mod encode;
mod object;
#[cfg(test)]
mod tests;

use super::agent::{AgentContext, PathRecords};
use super::facts::{Facts, JsonStyle, Keys, LeafParent, NameRule, TimeFormat};
use super::home::{AgentPlace, BaseDir, Destination, ProjectPaths};
use super::members::MemberNames;
use super::{Class, Codec, Decoded, NewHeader, Price, RequestMetadata, Stamp, embed, python};
use crate::entry::head::{Head, MAX_ID, Marks, Name};
use crate::entry::{Kind, NewEntry, Role};
use crate::error::Result;
use crate::header::{Header, VERSION};
use crate::json::{self, Members};
use object::ObjectBuilder;
use std::borrow::Cow;

/// The dialect of Operator.
#[derive(Debug)]
pub(crate) struct Operator;

/// The agent whose rules apply where the two differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Style {
    Operator,
    Tau,
}

pub(super) const FACTS: Facts = Facts {
    keys: Keys { id: "id", parent: "parent_id", time: "timestamp" },
    json: JsonStyle::CompactPython,
    time: TimeFormat::Seconds,
    leaf_parent: LeafParent::PreviousLeaf,
    first_kept: "first_kept_entry_id",
    parent_session: &["parent_session"],
    members: MemberNames {
        structural: &["from_id", "model_id", "provider_id", "target_id", "thinking_level"],
        data: &["args"],
        headers: &["session_header"],
    },
    omits_null_parent: true,
    own_types: &["channel", "branch"],
    name_rule: NameRule::OnPath,
    places: &[AgentPlace::new(BaseDir::Home(".operator"), "sessions", 0).with_profiles()],
    destination: Some(destination),
    ..Facts::DEFAULT
};

fn destination(paths: &ProjectPaths<'_>) -> Destination {
    Destination::Directory(paths.root.to_owned())
}

impl Codec for Operator {
    fn facts(&self) -> &'static Facts {
        static OPERATOR: Facts = FACTS;
        &OPERATOR
    }

    fn quick<'a>(&self, line: &'a [u8]) -> Option<(Head<'a>, usize)> {
        quick(line)
    }

    fn classify(&self, type_name: &str, record: &[u8]) -> Class {
        classify(type_name, record)
    }

    fn header(&self, record: &[u8]) -> Option<Header> {
        header(record)
    }

    fn decode(&self, record: &[u8]) -> Decoded {
        decode::decode(record)
    }

    fn request_metadata(&self, record: &[u8]) -> RequestMetadata {
        let price = if decode::has_cost(record) { Price::InEntry } else { Price::Unstated };
        RequestMetadata { price, ..RequestMetadata::default() }
    }

    fn encode(&self, entry: &NewEntry, stamp: &Stamp<'_>) -> Option<Vec<u8>> {
        Some(encode(entry, stamp, Style::Operator))
    }

    fn encode_header(&self, about: &NewHeader<'_>) -> Option<Vec<u8>> {
        Some(encode_header(about))
    }

    fn agent_context(&self, path: &mut dyn PathRecords) -> Result<Option<AgentContext>> {
        agent::context(path, Style::Operator).map(Some)
    }
}

pub(super) use decode::decode;
pub(super) use encode::encode;

/// Returns whether a type is that of the header, which the documentation names differently from the
/// program.
fn is_header(type_name: &str) -> bool {
    matches!(type_name, "session" | "session_header")
}

/// Returns the kind of a record without an embedded entry.
fn kind(type_name: &str) -> Kind {
    match type_name {
        // This is the name in the documentation.
        "branch" => Kind::BranchSummary,
        name => Kind::of(name),
    }
}

fn role(name: &str) -> Role {
    match name {
        "tool" => Role::ToolResult,
        "branch_summary" => Role::BranchSummary,
        "compaction_summary" => Role::CompactionSummary,
        name => Role::of(name),
    }
}

pub(super) fn classify(type_name: &str, record: &[u8]) -> Class {
    if let Some(native) = embed::embedded(record) {
        return Class::Entry(native.kind(), native.role);
    }
    if is_header(type_name) {
        return Class::Header;
    }
    let kind = kind(type_name);
    let message = match kind {
        Kind::Message => json::get(record, "message").filter(|raw| raw.starts_with(b"{")),
        _ => None,
    };
    let name = message.and_then(|message| json::get(message, "role")).and_then(json::string);
    Class::Entry(kind, name.as_deref().map(role))
}

pub(super) fn header(record: &[u8]) -> Option<Header> {
    let mut header = Header::parse(record)?;
    if let Some(millis) = json::get(record, "timestamp").and_then(python::millis) {
        header.timestamp = crate::time::format(millis);
    }
    if let Some(parent) = json::get(record, "parent_session").and_then(json::string) {
        header.parent_session = Some(parent.into_owned());
    }
    // Both dialects have been trees since their first version.
    if header.version == 0 {
        header.version = VERSION;
    }
    Some(header)
}

pub(super) fn encode_header(about: &NewHeader<'_>) -> Vec<u8> {
    let mut header = ObjectBuilder::new();
    header.text("type", "session").raw("version", b"3").text("id", about.id);
    header.raw("timestamp", &python::seconds(about.created)).text("cwd", about.cwd);
    if let Some(parent) = about.parent_session {
        header.text("parent_session", parent);
    }
    header.done()
}

/// Returns the head of a line that begins with id, time, parent and type, as both agents write it.
pub(super) fn quick(line: &[u8]) -> Option<(Head<'_>, usize)> {
    // An embedded entry decides the kind of a record, and is at its end.
    if memchr::memmem::find(line, b"\"treering\"").is_some() {
        return None;
    }
    let (id, rest) = word(line.strip_prefix(b"{\"id\":")?)?;
    let rest = rest.strip_prefix(b",\"timestamp\":")?;
    let window = &rest[..rest.len().min(32)];
    let end = memchr::memchr(b',', window)?;
    let (time, rest) = rest.split_at(end);
    let is_plain = time.iter().all(|byte| byte.is_ascii_digit() || *byte == b'.');
    // JSON has no leading zeros and no bare points: numbers with them are left to the thorough
    // reader.
    let is_json = is_plain && time.first().is_some_and(|digit| (b'1'..=b'9').contains(digit));
    if !is_json || json::skip_value(time, 0) != Some(time.len()) {
        return None;
    }
    // A root has no `parent_id`. Roots are rare, and a torn record must not look like a complete
    // root.
    let (parent, rest) = word(rest.strip_prefix(b",\"parent_id\":")?)?;
    let (type_name, rest) = word(rest.strip_prefix(b",\"type\":")?)?;
    let (role, rest) = match kind(type_name) {
        Kind::Message => {
            let message = rest.strip_prefix(b",\"message\":{")?;
            let (name, rest) = match message.strip_prefix(b"\"role\":") {
                Some(rest) => word(rest)?,
                None => role_after_contents(message)?,
            };
            (Some(role(name)), rest)
        }
        _ => (None, rest),
    };
    let usual = !is_header(type_name) && role != Some(Role::Other);
    let named = !id.is_empty() && !parent.is_empty();
    let name = |text| Name { text: Cow::Borrowed(text), is_number: false };
    let head = Head {
        kind: kind(type_name),
        role,
        id: Some(name(id)),
        parent: Some(name(parent)),
        time: python::millis(time),
        marks: Marks::default(),
    };
    (usual && named).then_some((head, line.len() - rest.len()))
}

/// Returns the role of a message whose members begin here, and the rest: Tau writes it after the
/// contents.
fn role_after_contents(message: &[u8]) -> Option<(&str, &[u8])> {
    let contents = message.strip_prefix(b"\"contents\":")?;
    let rest = contents.get(json::value_end(contents, 0)?..)?;
    let (_, rest) = word(rest.strip_prefix(b",\"id\":")?)?;
    let rest = rest.strip_prefix(b",\"timestamp\":")?;
    let rest = rest.get(json::value_end(rest, 0)?..)?;
    word(rest.strip_prefix(b",\"role\":")?)
}

/// Returns the plain text of the string literal at the start of `bytes`, and the bytes after it.
fn word(bytes: &[u8]) -> Option<(&str, &[u8])> {
    let rest = bytes.strip_prefix(b"\"")?;
    let window = &rest[..rest.len().min(MAX_ID + 1)];
    let end = memchr::memchr2(b'"', b'\\', window).filter(|&end| window[end] == b'"')?;
    let word = std::str::from_utf8(&rest[..end]).ok()?;
    word.bytes().all(|byte| byte >= 0x20).then_some((word, &rest[end + 1..]))
}

/// Returns whether Tau wrote this message: it puts the role after the contents, Operator before
/// them. A message without one of the two is Tau's if it has a member that Operator never writes.
pub(crate) fn is_tau(message_record: &[u8]) -> bool {
    let Some(message) = json::get(message_record, "message").filter(|raw| raw.starts_with(b"{"))
    else {
        return false;
    };
    let (mut role, mut contents, mut only_tau) = (None, None, false);
    for (at, member) in Members::new(message, 0).enumerate() {
        match &*json::key_name(member.key) {
            b"role" => role = Some(at),
            b"contents" => contents = Some(at),
            b"error_kind" => only_tau = true,
            b"usage" => {
                let usage = &message[member.value];
                only_tau |= json::get(usage, "input_tokens_include_cache_read").is_some();
            }
            _ => {}
        }
    }
    match (role, contents) {
        (Some(role), Some(contents)) => contents < role,
        _ => only_tau,
    }
}

/// Returns the members of a type that have another name: treering's, then Operator's, in treering's
/// order. Returns `None` for types that Operator does not have: their members have treering's
/// names.
fn renamed(type_name: &str) -> Option<&'static [(&'static str, &'static str)]> {
    Some(match type_name {
        "message" => &[("message", "message")],
        "compaction" => &[
            ("summary", "summary"),
            ("firstKeptEntryId", "first_kept_entry_id"),
            ("tokensBefore", "tokens_before"),
            ("details", "details"),
            ("usage", "usage"),
            ("fromHook", "from_hook"),
        ],
        "branch_summary" => &[
            ("fromId", "from_id"),
            ("summary", "summary"),
            ("details", "details"),
            ("fromHook", "from_hook"),
            ("usage", "usage"),
        ],
        "custom_message" => &[
            ("customType", "custom_type"),
            ("content", "content"),
            ("display", "display"),
            ("details", "details"),
        ],
        "custom" => &[("customType", "custom_type"), ("data", "data")],
        "label" => &[("targetId", "target_id"), ("label", "label")],
        "leaf" => &[("targetId", "target_id")],
        "model_change" => &[("provider", "provider_id"), ("modelId", "model_id")],
        "thinking_level_change" => &[("thinkingLevel", "thinking_level")],
        "session_info" => &[("name", "name")],
        _ => return None,
    })
}
