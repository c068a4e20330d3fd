//! Converts Operator's records to treering's entries.

use super::blocks;
use super::object::{ObjectBuilder, ObjectMembers, array};
use super::renamed;
use crate::dialect::uuid_of;
use crate::dialect::{Decoded, embed, python};
use crate::json;

/// The members that the tree has, and the one that only treering writes.
const HEAD: [&str; 6] = ["id", "timestamp", "parent_id", "type", "treering", "parentId"];

pub(crate) fn decode(record: &[u8]) -> Decoded {
    if let Some(entry) = embed::embedded(record) {
        return Decoded { entry, more: Vec::new() };
    }
    let mut parts = ObjectMembers::of(record);
    let id = parts.take_text("id").unwrap_or_default();
    let type_name = match parts.take_text("type").unwrap_or_default() {
        name if name == "branch" => "branch_summary".to_owned(),
        name => name.into_owned(),
    };
    let mut object = ObjectBuilder::new();
    let mut more = Vec::new();
    match renamed(&type_name) {
        None => {
            object.everything(parts, &HEAD);
        }
        Some(names) => {
            for (name, theirs) in names {
                let value = parts.take(theirs);
                if let Some(value) = decode_value(name, value, &type_name, &id, &mut more) {
                    object.raw(name, &value);
                }
            }
            let taken: Vec<&str> = names.iter().map(|(name, _)| *name).chain(HEAD).collect();
            object.rest(parts, &taken);
        }
    }
    Decoded { entry: embed::native(type_name, object.fields()), more }
}

/// Returns whether a record's usage has a cost. An embedded entry states the cost itself.
pub(super) fn has_cost(record: &[u8]) -> bool {
    if embed::embedded(record).is_some() {
        return true;
    }
    let [message, usage] = json::get_all(record, ["message", "usage"]);
    let usage = usage.or_else(|| json::get(message?, "usage"));
    usage.and_then(|usage| json::get(usage, "cost")).is_some_and(|cost| cost.starts_with(b"{"))
}

fn decode_value(
    name: &str,
    value: Option<&[u8]>,
    type_name: &str,
    id: &str,
    more: &mut Vec<Vec<u8>>,
) -> Option<Vec<u8>> {
    let value = match (value, type_name, name) {
        (Some(value), ..) => value,
        // A missing member means "before the first entry", and "no name".
        (None, "leaf", _) => return Some(b"null".to_vec()),
        (None, "session_info", _) => return Some(b"\"\"".to_vec()),
        (None, ..) => return None,
    };
    match name {
        "message" if value.starts_with(b"{") => Some(decode_message(value, id, more)),
        "content" => Some(blocks::decode(value)),
        "usage" => Some(blocks::decode_usage(value)),
        "fromHook" if value == b"false" => None,
        _ => Some(value.to_vec()),
    }
}

/// Converts a message to treering's format. A message with the results of several calls becomes
/// several.
fn decode_message(message: &[u8], entry_id: &str, more: &mut Vec<Vec<u8>>) -> Vec<u8> {
    let mut parts = ObjectMembers::of(message);
    let role = parts.take("role");
    let name = role.and_then(json::string).unwrap_or_default();
    let time = parts.take("timestamp").map(decode_time);
    // An id that treering generated has no meaning.
    let made_up = json::quoted(&uuid_of(entry_id));
    let id = parts.take("id").filter(|id| *id != made_up);
    let mut object = ObjectBuilder::new();
    match &*name {
        "tool" => return decode_results(parts, id, time.as_deref(), more),
        "branch_summary" => {
            object.text("role", "branchSummary").maybe("summary", parts.take("summary"));
            object.maybe("fromId", parts.take("from_id"));
        }
        "compaction_summary" => {
            object.text("role", "compactionSummary").maybe("summary", parts.take("summary"));
            object.maybe("tokensBefore", parts.take("tokens_before"));
        }
        "custom" => {
            object.text("role", "custom").maybe("customType", parts.take("custom_type"));
        }
        _ => {
            object.maybe("role", role);
        }
    }
    if let Some(contents) = parts.take("contents") {
        object.raw("content", &blocks::decode(contents));
        parts.take("content");
    }
    let usage = parts.take("usage").map(blocks::decode_usage);
    let stop_reason = parts.take("stop_reason").map(|reason| match reason {
        b"\"tool_calls\"" => b"\"toolUse\"",
        other => other,
    });
    let error = parts.take("error").filter(|error| *error != b"\"\"");
    let error_kind = parts.take("error_kind").filter(|kind| *kind != b"\"unknown\"");
    const TAKEN: [&str; 8] = [
        "customType",
        "summary",
        "fromId",
        "tokensBefore",
        "stopReason",
        "errorMessage",
        "toolCallId",
        "toolName",
    ];
    object.rest(parts, &TAKEN);
    object.maybe("usage", usage.as_deref()).maybe("stopReason", stop_reason);
    object.maybe("timestamp", time.as_deref()).maybe("errorMessage", error);
    object.maybe("error_kind", error_kind).maybe("id", id);
    object.done()
}

/// Returns Unix milliseconds; a value that is not a time is not changed.
fn decode_time(literal: &[u8]) -> Vec<u8> {
    match python::millis(literal) {
        Some(millis) => millis.to_string().into_bytes(),
        None => literal.to_vec(),
    }
}

/// Returns the results of a message of role `tool`: the first is returned, the others are added to
/// `more`.
fn decode_results(
    mut parts: ObjectMembers<'_>,
    id: Option<&[u8]>,
    time: Option<&[u8]>,
    more: &mut Vec<Vec<u8>>,
) -> Vec<u8> {
    let contents = json::elements(parts.take("contents").unwrap_or_default());
    let is_result = |block: &&[u8]| {
        json::get(block, "type").and_then(json::string).as_deref() == Some("tool_result")
    };
    let (results, others): (Vec<&[u8]>, Vec<&[u8]>) = contents.into_iter().partition(is_result);
    let mut results = results.into_iter();
    // Blocks that are not results must not be lost, although Operator itself writes none.
    let others = (!others.is_empty()).then(|| blocks::decode(&array(&others)));
    let mut first = decode_result(results.next(), others.as_deref());
    first.maybe("timestamp", time).maybe("id", id);
    first.rest(parts, &["toolCallId", "toolName", "content", "isError", "details"]);
    for result in results {
        let mut object = decode_result(Some(result), None);
        object.maybe("timestamp", time);
        more.push(object.done());
    }
    first.done()
}

fn decode_result(result: Option<&[u8]>, others: Option<&[u8]>) -> ObjectBuilder {
    let mut parts = ObjectMembers::of(result.unwrap_or(b"{}"));
    parts.take("type");
    let mut object = ObjectBuilder::new();
    object.text("role", "toolResult").maybe("toolCallId", parts.take("id"));
    object.raw("toolName", parts.take("tool_name").unwrap_or(b"\"\""));
    let content = match parts.take("content") {
        Some(text) if text.starts_with(b"\"") => {
            [b"[{\"type\":\"text\",\"text\":", text, b"}]"].concat()
        }
        Some(content) => blocks::decode(content),
        None => b"[]".to_vec(),
    };
    let content = match others {
        Some(others) => array(&[json::elements(&content), json::elements(others)].concat()),
        None => content,
    };
    object.raw("content", &content);
    object.raw("isError", parts.take("is_error").unwrap_or(b"false"));
    let details = parts.take("metadata").filter(|details| !blocks::is_empty_object(details));
    object.maybe("details", details);
    object.maybe("terminate", parts.take("terminate").filter(|value| *value != b"false"));
    const TAKEN: [&str; 7] =
        ["role", "toolCallId", "toolName", "isError", "details", "timestamp", "id"];
    object.rest(parts, &TAKEN);
    object
}
