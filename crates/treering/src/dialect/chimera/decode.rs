//! Converts records of Chimera to treering's format. Texts and numbers are copied unchanged.

use super::{RecordShape, Role, embed, native_name, pick, python, role_of};
use crate::entry::NewEntry;
use crate::json::{self, Members};

/// The usage of a message that records none: pi adds these members up without checking whether they
/// exist.
const NO_USAGE: &[u8] = br#"{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}}"#;

pub(super) fn entry(record: &[u8]) -> NewEntry {
    if let Some(entry) = embed::embedded(record) {
        return entry;
    }
    let type_name = json::get(record, "type").and_then(json::string).unwrap_or_default();
    let mut fields = Fields::default();
    match RecordShape::of(&type_name, record) {
        RecordShape::Message => {
            let [message, time] = pick(record, ["message", "timestamp"]);
            if let Some(raw) = message {
                fields.put("message", &self::message(raw, time.and_then(python::millis)));
            }
            fields.rest(record, &["message"]);
            let mut entry = embed::native("message", fields.0);
            entry.role = super::role(record);
            entry
        }
        RecordShape::Compaction => {
            compaction(&mut fields, record);
            embed::native("compaction", fields.0)
        }
        RecordShape::Label => {
            let [target, label] = pick(record, ["target_id", "label"]);
            fields.put("targetId", target.unwrap_or(b"\"\""));
            if let Some(label) = label.filter(|label| *label != b"\"\"") {
                fields.put("label", label);
            }
            fields.rest(record, &["target_id", "label", "targetId"]);
            embed::native("label", fields.0)
        }
        RecordShape::Model => {
            model(&mut fields, json::get(record, "value").unwrap_or_default());
            fields.rest(record, &["kind", "value", "provider", "modelId"]);
            embed::native("model_change", fields.0)
        }
        RecordShape::Thinking => {
            fields.put("thinkingLevel", json::get(record, "value").unwrap_or_default());
            fields.rest(record, &["kind", "value", "thinkingLevel"]);
            embed::native("thinking_level_change", fields.0)
        }
        RecordShape::Native => {
            fields.rest(json::get(record, "data").unwrap_or_default(), &[]);
            embed::native(type_name.into_owned(), fields.0)
        }
        RecordShape::Plain => {
            fields.rest(record, &[]);
            embed::native(native_name(&type_name).into_owned(), fields.0)
        }
    }
}

/// Fields under construction: `,"key":value` each.
#[derive(Default)]
struct Fields(Vec<u8>);

impl Fields {
    fn put(&mut self, key: &str, value: &[u8]) {
        self.0.push(b',');
        json::write_string(&mut self.0, key);
        self.0.push(b':');
        self.0.extend_from_slice(value);
    }

    /// Adds the members of a record that are not among those `done`, without the ones that identify
    /// the record or name its parent.
    fn rest(&mut self, object: &[u8], done: &[&str]) {
        const COMMON: [&str; 6] = ["type", "id", "parent_id", "parentId", "timestamp", "treering"];
        self.others(object, |name| COMMON.iter().chain(done).any(|known| name == known.as_bytes()));
    }

    fn others(&mut self, object: &[u8], is_known: impl Fn(&[u8]) -> bool) {
        for member in Members::new(object, json::skip_space(object, 0)) {
            if !is_known(&json::key_name(member.key)) {
                self.0.push(b',');
                self.0.extend_from_slice(&object[member.whole]);
            }
        }
    }

    fn into_object(mut self) -> Vec<u8> {
        match self.0.first_mut() {
            Some(comma) => *comma = b'{',
            None => self.0.push(b'{'),
        }
        self.0.push(b'}');
        self.0
    }
}

fn compaction(fields: &mut Fields, record: &[u8]) {
    let keys = ["summary", "first_kept_entry_id", "tokens_before", "read_files", "modified_files"];
    let [summary, first_kept, tokens, read, modified] = pick(record, keys);
    fields.put("summary", summary.unwrap_or(b"\"\""));
    fields.put("firstKeptEntryId", first_kept.unwrap_or(b"\"\""));
    fields.put("tokensBefore", tokens.unwrap_or(b"0"));
    let list = |files: Option<&[u8]>| files.is_some_and(|files| !json::elements(files).is_empty());
    if list(read) || list(modified) {
        let mut details = Fields::default();
        details.put("readFiles", read.unwrap_or(b"[]"));
        details.put("modifiedFiles", modified.unwrap_or(b"[]"));
        fields.put("details", &details.into_object());
    }
    let ours = ["firstKeptEntryId", "tokensBefore", "details"];
    fields.rest(record, &[&keys[..], &ours].concat());
}

/// Writes `"provider/model"`; the provider is the part before the first slash, if there is one.
fn model(fields: &mut Fields, value: &[u8]) {
    // In Python's form, a slash is never escaped.
    let value = python::dumps(value);
    let inside = json::inside(&value).unwrap_or_default();
    let quoted = |inside: &[u8]| [b"\"", inside, b"\""].concat();
    match memchr::memchr(b'/', inside) {
        Some(slash) => {
            fields.put("provider", &quoted(&inside[..slash]));
            fields.put("modelId", &quoted(&inside[slash + 1..]));
        }
        None => fields.put("modelId", &value),
    }
}

/// Converts a message of Chimera to a message of treering.
fn message(raw: &[u8], millis: Option<i64>) -> Vec<u8> {
    let [role, content, tool_calls, call_id] =
        pick(raw, ["role", "content", "tool_calls", "call_id"]);
    let Some(role) = role.filter(|role| role.starts_with(b"\"")) else { return raw.to_vec() };
    let mut known = vec!["role", "content", "timestamp"];
    let mut fields = Fields::default();
    match role_of(&json::string(role).unwrap_or_default()) {
        Role::User => {
            fields.put("role", role);
            fields.put("content", &blocks(content, &[]));
        }
        Role::Assistant => {
            let calls = tool_calls.map(json::elements).unwrap_or_default();
            fields.put("role", role);
            fields.put("content", &blocks(content, &calls));
            fields.put("usage", NO_USAGE);
            let stop: &[u8] = if calls.is_empty() { b"\"stop\"" } else { b"\"toolUse\"" };
            fields.put("stopReason", stop);
            known.extend(["tool_calls", "usage", "stopReason"]);
        }
        Role::ToolResult => {
            fields.put("role", b"\"toolResult\"");
            if let Some(call_id) = call_id {
                fields.put("toolCallId", call_id);
            }
            fields.put("toolName", b"\"\"");
            fields.put("content", &blocks(content, &[]));
            fields.put("isError", b"false");
            known.extend(["call_id", "toolCallId", "toolName", "isError"]);
        }
        _ => {
            fields.put("role", role);
            if let Some(content) = content {
                fields.put("content", content);
            }
        }
    }
    if let Some(millis) = millis {
        fields.put("timestamp", millis.to_string().as_bytes());
    }
    fields.others(raw, |name| known.iter().any(|known| name == known.as_bytes()));
    fields.into_object()
}

/// Returns the content of a message: its text, if any, then its tool calls.
fn blocks(content: Option<&[u8]>, calls: &[&[u8]]) -> Vec<u8> {
    let mut out = Vec::new();
    match content {
        None | Some(b"null" | b"\"\"") => {}
        Some(text) if text.starts_with(b"\"") => {
            out.extend_from_slice(b"[{\"type\":\"text\",\"text\":");
            out.extend_from_slice(text);
            out.push(b'}');
        }
        // Chimera does not write this; it is probably a list of blocks.
        Some(other) if calls.is_empty() => return other.to_vec(),
        Some(other) => {
            for block in json::elements(other) {
                out.push(if out.is_empty() { b'[' } else { b',' });
                out.extend_from_slice(block);
            }
        }
    }
    for call in calls {
        let mut block = Fields::default();
        block.put("type", b"\"toolCall\"");
        block.others(call, |name| name == b"type");
        out.push(if out.is_empty() { b'[' } else { b',' });
        out.extend_from_slice(&block.into_object());
    }
    if out.is_empty() {
        out.push(b'[');
    }
    out.push(b']');
    out
}
