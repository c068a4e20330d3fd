//! Chimera: one record a line in the style of Python's `json.dumps`, times as float seconds, the
//! header (if there is one) an ordinary node of the tree.
//!
//! Chimera knows five types and keeps any other as `{"type": …, "data": {…}}`. It ignores members
//! it does not know. Entries without a type in Chimera are written as such generic records with
//! their fields in `data`; those that the model sees (output of commands, messages of extensions,
//! summaries of branches) are written as user messages. In both cases nothing is lost: see
//! [`super::embed`].
//!
//! [`RecordShape`] alone decides how a record is read, both for heads and for bodies, so that they
//! cannot disagree.

mod agent;
mod decode;
mod encode;

use super::agent::{AgentContext, PathRecords};
use super::facts::{Facts, HeaderPlace, IdLength, JsonStyle, Keys, TimeFormat};
use super::home::{AgentPlace, BaseDir, Destination, ProjectPaths};
use super::members::MemberNames;
use super::{Class, Codec, Decoded, NewHeader, Stamp, embed, python};
use crate::entry::head::{Head, Marks, Name};
use crate::entry::{Kind, NewEntry, Role};
use crate::error::Result;
use crate::header::Header;
use crate::id::hex;
use crate::json::{self, Members};
use memchr::memmem::Finder;
use sha2::{Digest, Sha256};
use std::borrow::Cow;
use std::sync::LazyLock;

/// The dialect of Chimera.
#[derive(Debug)]
pub(crate) struct Chimera;

static FACTS: Facts = Facts {
    keys: Keys { id: "id", parent: "parent_id", time: "timestamp" },
    header: HeaderPlace::Optional,
    json: JsonStyle::Python,
    time: TimeFormat::Seconds,
    ids: IdLength::Twelve,
    roots_below_header: true,
    first_kept: "first_kept_entry_id",
    members: MemberNames {
        structural: &["call_id", "target_id", "thinking_level"],
        headers: &["header"],
        ..MemberNames::NONE
    },
    own_types: &["header", "state_change"],
    places: &[AgentPlace::new(
        BaseDir::VariableOrHome("CHIMERA_HOME", "", ".chimera"),
        "sessions",
        0,
    )],
    // Chimera resumes the session of the directory that it is started in.
    resume: Some(&["chimera", "code"]),
    has_one_session_per_project: true,
    destination: Some(destination),
    ..Facts::DEFAULT
};

/// Returns the one session file of a project, which is named after a hash of its path.
fn destination(paths: &ProjectPaths<'_>) -> Destination {
    let hash = Sha256::digest(paths.cwd.to_string_lossy().as_bytes());
    let name = hex(&hash[..6]);
    Destination::File(paths.root.join(format!("{name}.jsonl")))
}

impl Codec for Chimera {
    fn facts(&self) -> &'static Facts {
        &FACTS
    }

    fn quick<'a>(&self, line: &'a [u8]) -> Option<(Head<'a>, usize)> {
        quick(line)
    }

    fn classify(&self, type_name: &str, record: &[u8]) -> Class {
        if type_name == "header" {
            return Class::HeaderNode;
        }
        if let Some(entry) = embed::embedded(record) {
            return Class::Entry(entry.kind(), entry.role);
        }
        match RecordShape::of(type_name, record) {
            RecordShape::Message => Class::Entry(Kind::Message, role(record)),
            RecordShape::Compaction => Class::Entry(Kind::Compaction, None),
            RecordShape::Label => Class::Entry(Kind::Label, None),
            RecordShape::Model => Class::Entry(Kind::ModelChange, None),
            RecordShape::Thinking => Class::Entry(Kind::ThinkingLevelChange, None),
            RecordShape::Native => Class::Entry(Kind::of(type_name), None),
            RecordShape::Plain => Class::Entry(Kind::of(&native_name(type_name)), None),
        }
    }

    fn header(&self, record: &[u8]) -> Option<Header> {
        let [kind, id, cwd, time, ours] =
            pick(record, ["type", "id", "cwd", "timestamp", "treering"]);
        if kind.and_then(json::string)? != "header" {
            return None;
        }
        let text = |literal: Option<&[u8]>| literal.and_then(json::string).map(Cow::into_owned);
        let session = ours.and_then(|ours| json::get(ours, "session")).unwrap_or_default();
        let id = text(json::get(session, "id")).or_else(|| text(id)).unwrap_or_default();
        let created = time.and_then(python::millis).map(crate::time::format).unwrap_or_default();
        let mut header = Header::foreign(&id, created, text(cwd).unwrap_or_default(), record);
        header.parent_session = text(json::get(session, "parentSession"));
        Some(header)
    }

    fn decode(&self, record: &[u8]) -> Decoded {
        Decoded { entry: decode::entry(record), more: Vec::new() }
    }

    fn encode(&self, entry: &NewEntry, stamp: &Stamp<'_>) -> Option<Vec<u8>> {
        Some(encode::entry(entry, stamp))
    }

    fn encode_header(&self, about: &NewHeader<'_>) -> Option<Vec<u8>> {
        Some(encode::header(about))
    }

    fn agent_context(&self, path: &mut dyn PathRecords) -> Result<Option<AgentContext>> {
        agent::context(path).map(Some)
    }
}

/// The kind of a record, which decides where its fields are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RecordShape {
    Message,
    Compaction,
    Label,
    Model,
    Thinking,
    /// A type that Chimera does not know, with treering's fields in `data`.
    Native,
    /// Any other record: its members are its fields.
    Plain,
}

impl RecordShape {
    fn of(type_name: &str, record: &[u8]) -> RecordShape {
        match type_name {
            "message" => RecordShape::Message,
            "compaction" => RecordShape::Compaction,
            "label" => RecordShape::Label,
            "state_change" => match pick(record, ["kind", "value"]) {
                [Some(kind), Some(value)] if value.starts_with(b"\"") => {
                    match json::string(kind).as_deref() {
                        Some("model") => RecordShape::Model,
                        Some("thinking" | "thinking_level") => RecordShape::Thinking,
                        _ => RecordShape::Plain,
                    }
                }
                _ => RecordShape::Plain,
            },
            _ => match mark(Kind::of(type_name)) {
                Some(mark) if json::get(record, "data").is_some_and(|data| has(data, mark)) => {
                    RecordShape::Native
                }
                _ => RecordShape::Plain,
            },
        }
    }
}

/// Returns the field that an entry of a kind must have. Any program may use the type `leaf`; only
/// an entry with a target moves the leaf.
fn mark(kind: Kind) -> Option<&'static str> {
    Some(match kind {
        Kind::Leaf | Kind::ContextEdit => "targetId",
        Kind::SessionInfo => "name",
        Kind::Custom | Kind::CustomMessage => "customType",
        Kind::BranchSummary => "summary",
        Kind::Usage => "usage",
        _ => return None,
    })
}

fn has(object: &[u8], key: &str) -> bool {
    json::get(object, key).is_some()
}

/// The prefix of Chimera's types whose name has another meaning in treering.
const FOREIGN: &str = "chimera:";

/// Types that Chimera itself knows.
const OWN: [&str; 5] = ["header", "message", "compaction", "label", "state_change"];

/// Returns treering's name for a type whose record is [`RecordShape::Plain`].
fn native_name(type_name: &str) -> Cow<'_, str> {
    let means_something = match Kind::of(type_name) {
        // Both are state of an extension.
        Kind::Other | Kind::Custom => type_name == "session",
        _ => true,
    };
    match means_something && !OWN.contains(&type_name) {
        true => Cow::Owned(format!("{FOREIGN}{type_name}")),
        false => Cow::Borrowed(type_name),
    }
}

/// Returns the role of a message record.
fn role(record: &[u8]) -> Option<Role> {
    let role = json::get(json::get(record, "message")?, "role")?;
    Some(role_of(&json::string(role)?))
}

fn role_of(name: &str) -> Role {
    match name {
        "user" => Role::User,
        "assistant" => Role::Assistant,
        "system" => Role::System,
        "tool" => Role::ToolResult,
        _ => Role::Other,
    }
}

/// Returns the values of some members of an object, in one pass over it.
fn pick<'a, const N: usize>(object: &'a [u8], keys: [&str; N]) -> [Option<&'a [u8]>; N] {
    let mut found = [None; N];
    for member in Members::new(object, json::skip_space(object, 0)) {
        let name = json::key_name(member.key);
        for (key, slot) in keys.iter().zip(&mut found) {
            if *name == *key.as_bytes() {
                *slot = Some(&object[member.value.clone()]);
            }
        }
    }
    found
}

/// Finds the key of an embedded entry.
static EMBEDDED_KEY: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(b"\"treering\""));

/// Reads a message in Chimera's usual form, or one that embeds a message, whose role then counts.
/// Everything else is left to the thorough reader.
fn quick(line: &[u8]) -> Option<(Head<'_>, usize)> {
    let rest = line.strip_prefix(b"{\"type\": \"message\", \"id\": \"")?;
    let (id, rest) = hex_name(rest)?;
    let rest = rest.strip_prefix(b", \"parent_id\": ")?;
    let (parent, rest) = match rest.strip_prefix(b"\"") {
        Some(rest) => hex_name(rest).map(|(parent, rest)| (Some(parent), rest))?,
        None => (None, rest.strip_prefix(b"null")?),
    };
    let rest = rest.strip_prefix(b", \"timestamp\": ")?;
    let (time, rest) = rest.split_at(rest.iter().take(32).position(|byte| *byte == b',')?);
    if time.first() == Some(&b'0') || !time.iter().all(|b| b.is_ascii_digit() || *b == b'.') {
        return None;
    }
    let time = python::millis(time).filter(|_| time.last() != Some(&b'.'))?;
    let message = rest.strip_prefix(b", \"message\": ")?;
    let head = |role: Role, used: usize| {
        let (kind, role, time) = (Kind::Message, Some(role), Some(time));
        let head = Head { kind, role, id: Some(id), parent, time, marks: Marks::default() };
        (role != Some(Role::Other)).then_some((head, used))
    };
    let (role, after) = quick_role(message)?;
    if EMBEDDED_KEY.find(after).is_none() {
        return head(role_of(role), line.len() - after.len());
    }
    let rest = message.get(json::value_end(message, 0)?..)?;
    let whole = rest.strip_prefix(b", \"treering\": ")?;
    let carried = whole.strip_prefix(b"{\"type\": \"message\", \"message\": ")?;
    let (role, _) = quick_role(carried)?;
    let is_last = whole.get(json::value_end(whole, 0)?..)? == b"}";
    head(Role::of(role), line.len()).filter(|_| is_last)
}

/// Returns the role at the beginning of a message, and the bytes after it.
fn quick_role(message: &[u8]) -> Option<(&str, &[u8])> {
    let rest = message.strip_prefix(b"{\"role\": \"")?;
    let end = rest.iter().take(24).position(|byte| matches!(byte, b'"' | b'\\'))?;
    let (role, rest) = rest.split_at(end);
    Some((std::str::from_utf8(role).ok()?, rest.strip_prefix(b"\"")?))
}

/// Returns a hexadecimal id and the bytes after its closing quote.
fn hex_name(bytes: &[u8]) -> Option<(Name<'_>, &[u8])> {
    let end = bytes.iter().take(33).position(|byte| !byte.is_ascii_hexdigit())?;
    let (name, rest) = bytes.split_at(end);
    let text = std::str::from_utf8(name).ok().filter(|name| !name.is_empty())?;
    Some((Name { text: Cow::Borrowed(text), is_number: false }, rest.strip_prefix(b"\"")?))
}

#[cfg(test)]
mod corpus;
#[cfg(test)]
mod tests;
