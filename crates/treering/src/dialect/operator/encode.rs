//! Converts treering's entries to records of Operator or Tau.

use super::object::{ObjectBuilder, ObjectMembers, compact};
use super::{Style, blocks, is_header, renamed};
use crate::dialect::uuid_of;
use crate::dialect::{Stamp, embed, python};
use crate::entry::{Kind, NewEntry, for_provider};
use crate::json;
use std::borrow::Cow;

/// The members at the head of every record, and the one that only treering writes.
const HEAD: [&str; 5] = ["id", "timestamp", "parent_id", "type", "treering"];

pub(crate) fn encode(entry: &NewEntry, stamp: &Stamp<'_>, style: Style) -> Vec<u8> {
    let entry = entry.settled(stamp.id);
    let record = compact(record(&entry, stamp, style));
    let decoded = super::decode(&record);
    if decoded.more.is_empty() && embed::same(&decoded.entry, &entry) {
        record
    } else {
        compact(embed::embed(record, &entry))
    }
}

fn record(entry: &NewEntry, stamp: &Stamp<'_>, style: Style) -> Vec<u8> {
    let type_name = &*entry.type_name;
    let fields = embed::as_object(&entry.fields);
    let mut parts = ObjectMembers::of(&fields);
    if is_header(type_name) {
        // An entry must not be mistaken for a header.
        let mut object = head("custom", stamp, entry.kind());
        object.text("custom_type", type_name);
        return object.done();
    }
    let Some(names) = renamed(type_name) else {
        let mut object = head(type_name, stamp, entry.kind());
        object.everything(parts, &HEAD);
        return object.done();
    };
    if let Some(hidden) = hidden(&entry.fields, entry.kind()) {
        let mut object = head("custom", stamp, Kind::Custom);
        object.text("custom_type", "bashExecution").raw("data", &hidden);
        return object.done();
    }
    let mut object = head(type_name, stamp, entry.kind());
    let mut put = |(name, theirs): &(&str, &str)| {
        let value = encode_value(name, parts.take(name), type_name, stamp, style);
        object.maybe(theirs, value.as_deref());
    };
    match entry.kind() {
        // These two kinds have their members in reverse order.
        Kind::Label | Kind::ModelChange => names.iter().rev().for_each(&mut put),
        _ => names.iter().for_each(&mut put),
    }
    let taken: Vec<&str> = names.iter().map(|(_, theirs)| *theirs).chain(HEAD).collect();
    object.rest(parts, &taken);
    object.done()
}

fn head(type_name: &str, stamp: &Stamp<'_>, kind: Kind) -> ObjectBuilder {
    let parent = if kind == Kind::Leaf { stamp.left } else { stamp.parent };
    let mut object = ObjectBuilder::new();
    object.text("id", stamp.id).raw("timestamp", &python::seconds(stamp.millis));
    if let Some(parent) = parent {
        object.text("parent_id", parent);
    }
    object.text("type", type_name);
    object
}

/// Returns the output of a command that the model must not see. Operator has no such message, and
/// would send it to the model.
fn hidden(fields: &[u8], kind: Kind) -> Option<Vec<u8>> {
    if kind != Kind::Message {
        return None;
    }
    let object = embed::as_object(fields);
    let message = json::get(&object, "message")?;
    let is_bash = json::get(message, "role").and_then(json::string)? == "bashExecution";
    (is_bash && as_user(message).is_none()).then(|| message.to_vec())
}

fn encode_value(
    name: &str,
    value: Option<&[u8]>,
    type_name: &str,
    stamp: &Stamp<'_>,
    style: Style,
) -> Option<Vec<u8>> {
    let Some(value) = value else {
        // Tau's compactions do not record their origin.
        let says = type_name == "branch_summary" || style == Style::Operator;
        return (name == "fromHook" && says).then(|| b"false".to_vec());
    };
    Some(match name {
        "message" if value.starts_with(b"{") => encode_message(value, stamp, style),
        "content" => blocks::encode(Some(value)),
        "usage" => blocks::encode_usage(value, style),
        _ => value.to_vec(),
    })
}

fn encode_message(message: &[u8], stamp: &Stamp<'_>, style: Style) -> Vec<u8> {
    let mut parts = ObjectMembers::of(message);
    let role = parts.take("role");
    let name = role.and_then(json::string).unwrap_or_default();
    if let ("bashExecution", Some(user)) = (&*name, as_user(message)) {
        return encode_message(&user, stamp, style);
    }
    let time = parts.take("timestamp").and_then(|literal| {
        std::str::from_utf8(literal).ok()?.parse::<i64>().ok().map(python::seconds)
    });
    let time = time.unwrap_or_else(|| python::seconds(stamp.millis));
    let mut object = ObjectBuilder::new();
    match &*name {
        "branchSummary" => {
            object.text("role", "branch_summary").maybe("summary", parts.take("summary"));
            object.maybe("from_id", parts.take("fromId")).raw("timestamp", &time);
        }
        "compactionSummary" => {
            object.text("role", "compaction_summary").maybe("summary", parts.take("summary"));
            object.maybe("tokens_before", parts.take("tokensBefore")).raw("timestamp", &time);
        }
        "custom" => {
            object.text("role", "custom").maybe("custom_type", parts.take("customType"));
            object.raw("timestamp", &time);
            object.raw("contents", &blocks::encode(parts.take("content")));
        }
        _ => {
            let contents = match &*name {
                "toolResult" => encode_result(&mut parts, style),
                _ => blocks::encode(parts.take("content")),
            };
            let id = json::quoted(&uuid_of(stamp.id));
            let id = parts.take("id").unwrap_or(&id);
            let role = if name == "toolResult" { Some(&b"\"tool\""[..]) } else { role };
            if style == Style::Operator {
                object.maybe("role", role);
            }
            object.raw("contents", &contents).raw("id", id).raw("timestamp", &time);
            if style == Style::Tau {
                object.maybe("role", role);
            }
            if name == "assistant" {
                encode_outcome(&mut object, &mut parts, style);
            }
        }
    }
    const TAKEN: [&str; 8] = [
        "contents",
        "usage",
        "stop_reason",
        "error",
        "error_kind",
        "custom_type",
        "from_id",
        "tokens_before",
    ];
    object.rest(parts, &TAKEN);
    object.done()
}

/// Writes the members that only an assistant message has: its usage, and the reason why it ended.
fn encode_outcome(object: &mut ObjectBuilder, parts: &mut ObjectMembers<'_>, style: Style) {
    let usage = parts.take("usage").map(|usage| blocks::encode_usage(usage, style));
    let stop_reason = parts.take("stopReason").map(|reason| match reason {
        b"\"toolUse\"" => b"\"tool_calls\"",
        other => other,
    });
    object.maybe("usage", usage.as_deref()).maybe("stop_reason", stop_reason);
    object.raw("error", parts.take("errorMessage").unwrap_or(b"\"\""));
    match (style, parts.take("error_kind")) {
        (Style::Tau, kind) => object.raw("error_kind", kind.unwrap_or(b"\"unknown\"")),
        (Style::Operator, kind) => object.maybe("error_kind", kind),
    };
}

/// Returns the contents of a message of role `tool`: one result.
fn encode_result(parts: &mut ObjectMembers<'_>, style: Style) -> Vec<u8> {
    let mut result = ObjectBuilder::new();
    result.text("type", "tool_result").maybe("id", parts.take("toolCallId"));
    let text = match parts.take("content") {
        Some(text) if text.starts_with(b"\"") => text.to_vec(),
        Some(content) => match blocks::only_text(content) {
            Some(text) => text.to_vec(),
            None => json::quoted(&crate::entry::content_text(content)),
        },
        None => b"\"\"".to_vec(),
    };
    result.raw("content", &text).raw("is_error", parts.take("isError").unwrap_or(b"false"));
    let details = parts.take("details").filter(|details| details.starts_with(b"{"));
    result.raw("metadata", details.unwrap_or(b"{}")).raw("terminate", b"false");
    let tool = parts.take("toolName");
    match style {
        Style::Tau => result.raw("tool_name", tool.unwrap_or(b"\"\"")),
        Style::Operator => result.maybe("tool_name", tool.filter(|name| *name != b"\"\"")),
    };
    [b"[", &*result.done(), b"]"].concat()
}

/// Returns a command that was run as a user message; `None` if the model must not see it.
fn as_user(message: &[u8]) -> Option<Vec<u8>> {
    for_provider(message).map(Cow::into_owned)
}
