//! Writes entries and headers in Chimera's format.

use super::super::{NewHeader, Stamp};
use super::{FOREIGN, OWN, Role, decode, embed, mark, native_name, pick, python};
use crate::entry::{Kind, MessageView, NewEntry, for_provider};
use crate::id::fnv1a;
use crate::json;

/// The type of a message that the model must not see.
const EXCLUDED: &str = "excluded_message";

pub(super) fn entry(entry: &NewEntry, stamp: &Stamp<'_>) -> Vec<u8> {
    let entry = &*entry.settled(stamp.id);
    let record = plain(entry, stamp).finish();
    let says_all = embed::same(&decode::entry(&record), entry);
    python::dumps(&if says_all { record } else { embed::embed(record, entry) })
}

pub(super) fn header(about: &NewHeader<'_>) -> Vec<u8> {
    let node = node_id(about.id);
    let stamp = Stamp { id: &node, parent: None, millis: about.created, left: None };
    let mut session = b"{\"id\":".to_vec();
    json::write_string(&mut session, about.id);
    if let Some(parent) = about.parent_session {
        session.extend_from_slice(b",\"parentSession\":");
        json::write_string(&mut session, parent);
    }
    session.push(b'}');
    let record = RecordWriter::new("header", &stamp)
        .put("version", b"1")
        .put("cwd", &json::quoted(about.cwd))
        .put("system_prompt", b"\"\"")
        .put("treering", &[b"{\"session\":", &*session, b"}"].concat());
    python::dumps(&record.finish())
}

/// Returns the id of the header node of a session: 12 hexadecimal characters, like all ids of
/// Chimera. It is the same for the same session, and equals the session's id if that has this form.
fn node_id(session: &str) -> String {
    let is_hex = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    if session.len() == 12 && session.bytes().all(is_hex) {
        return session.to_owned();
    }
    let hash = fnv1a(0, session.bytes());
    format!("{:012x}", (hash ^ hash >> 48) & 0xFFFF_FFFF_FFFF)
}

/// A record under construction, as compact JSON.
struct RecordWriter(Vec<u8>);

impl RecordWriter {
    fn new(type_name: &str, stamp: &Stamp<'_>) -> Self {
        let parent = stamp.parent.map_or(b"null".to_vec(), json::quoted);
        let mut out = b"{\"type\":".to_vec();
        json::write_string(&mut out, type_name);
        RecordWriter(out)
            .put("id", &json::quoted(stamp.id))
            .put("parent_id", &parent)
            .put("timestamp", &python::seconds(stamp.millis))
    }

    fn put(mut self, key: &str, value: &[u8]) -> Self {
        self.0.push(b',');
        json::write_string(&mut self.0, key);
        self.0.push(b':');
        self.0.extend_from_slice(value);
        self
    }

    /// Writes fields as members, without those that would be taken for members of the record
    /// itself.
    fn put_all(mut self, fields: &[u8]) -> Self {
        for (key, value) in embed::members(fields) {
            if !matches!(&*json::key_name(key), b"parent_id" | b"treering") {
                self.0.extend_from_slice(b",\"");
                self.0.extend_from_slice(key);
                self.0.extend_from_slice(b"\":");
                self.0.extend_from_slice(value);
            }
        }
        self
    }

    fn finish(mut self) -> Vec<u8> {
        self.0.push(b'}');
        self.0
    }
}

/// Returns the record that Chimera itself would write for an entry.
fn plain(entry: &NewEntry, stamp: &Stamp<'_>) -> RecordWriter {
    let get = |key| embed::member(&entry.fields, key);
    let text = |key| get(key).filter(|value| value.starts_with(b"\"")).unwrap_or(b"\"\"");
    match entry.kind() {
        Kind::Message => match get("message").and_then(message) {
            Some(message) => RecordWriter::new("message", stamp).put("message", &message),
            None => RecordWriter::new(EXCLUDED, stamp),
        },
        Kind::CustomMessage => {
            let content = get("content").unwrap_or(b"[]");
            provider_text(&[b"{\"role\":\"custom\",\"content\":", content, b"}"].concat())
                .map_or_else(|| generic(entry, stamp), |message| user(&message, stamp))
        }
        Kind::BranchSummary if text("summary") != b"\"\"" => provider_text(
            &[b"{\"role\":\"branchSummary\",\"summary\":", text("summary"), b"}"].concat(),
        )
        .map_or_else(|| generic(entry, stamp), |message| user(&message, stamp)),
        Kind::Compaction => {
            let list = |key| {
                let files = get("details").and_then(|details| json::get(details, key));
                files.filter(|files| files.starts_with(b"[")).unwrap_or(b"[]")
            };
            let tokens = get("tokensBefore").filter(|tokens| *tokens != b"null");
            RecordWriter::new("compaction", stamp)
                .put("summary", text("summary"))
                .put("first_kept_entry_id", text("firstKeptEntryId"))
                .put("tokens_before", tokens.unwrap_or(b"0"))
                .put("read_files", list("readFiles"))
                .put("modified_files", list("modifiedFiles"))
        }
        Kind::Label => RecordWriter::new("label", stamp)
            .put("target_id", text("targetId"))
            .put("label", text("label")),
        Kind::ModelChange => {
            let inside = |key| json::inside(text(key)).unwrap_or_default();
            let value = match get("provider") {
                Some(_) => [b"\"", inside("provider"), b"/", inside("modelId"), b"\""].concat(),
                None => text("modelId").to_vec(),
            };
            state_change(b"\"model\"", &value, stamp)
        }
        Kind::ThinkingLevelChange => state_change(b"\"thinking\"", text("thinkingLevel"), stamp),
        _ => generic(entry, stamp),
    }
}

fn state_change(kind: &[u8], value: &[u8], stamp: &Stamp<'_>) -> RecordWriter {
    RecordWriter::new("state_change", stamp).put("kind", kind).put("value", value)
}

/// Returns a record of a type that Chimera keeps without reading it.
fn generic(entry: &NewEntry, stamp: &Stamp<'_>) -> RecordWriter {
    let stripped = entry.type_name.strip_prefix(FOREIGN);
    let name = stripped.filter(|name| native_name(name) == entry.type_name);
    let record = RecordWriter::new(name.unwrap_or(&entry.type_name), stamp);
    let mut names = embed::members(&entry.fields).map(|(key, _)| json::key_name(key));
    let only_data = names.all(|name| *name == *b"data");
    if OWN.contains(&&*entry.type_name) {
        return record.put_all(&entry.fields);
    }
    match entry.fields.get(1..) {
        None => record,
        Some(_) if only_data && !has_mark(entry) => record.put_all(&entry.fields),
        Some(inside) => record.put("data", &[b"{", inside, b"}"].concat()),
    }
}

fn has_mark(entry: &NewEntry) -> bool {
    mark(entry.kind()).is_some_and(|mark| embed::member(&entry.fields, mark).is_some())
}

fn user(content: &[u8], stamp: &Stamp<'_>) -> RecordWriter {
    let message = [b"{\"role\":\"user\",\"content\":", content, b"}"].concat();
    RecordWriter::new("message", stamp).put("message", &message)
}

/// Returns a message in Chimera's format; `None` if the model must not see it.
fn message(raw: &[u8]) -> Option<Vec<u8>> {
    let view = MessageView::new(raw);
    let [role, content, call] = pick(raw, ["role", "content", "toolCallId"]);
    let text = content.map_or(b"\"\"".to_vec(), joined);
    let mut out = b"{\"role\":".to_vec();
    match view.role() {
        Role::User | Role::Assistant | Role::System => out.extend_from_slice(role?),
        Role::ToolResult => out.extend_from_slice(b"\"tool\""),
        // A custom role, in a message of Chimera's form.
        Role::Other
            if content.is_some_and(|content| content.starts_with(b"\"")) && is_bare(raw) =>
        {
            out.extend_from_slice(role.filter(|role| role.starts_with(b"\""))?);
        }
        _ => {
            let text = provider_text(raw)?;
            return Some([b"{\"role\":\"user\",\"content\":", &*text, b"}"].concat());
        }
    }
    out.extend_from_slice(b",\"content\":");
    out.extend_from_slice(&text);
    if view.role() == Role::Assistant {
        out.extend_from_slice(&tool_calls(content.unwrap_or_default()));
    }
    if let Some(call) = call.filter(|id| view.role() == Role::ToolResult && id.len() > 2) {
        out.extend_from_slice(b",\"call_id\":");
        out.extend_from_slice(call);
    }
    out.push(b'}');
    Some(out)
}

/// Returns whether a message has only the members that every message has.
fn is_bare(raw: &[u8]) -> bool {
    json::Members::new(raw, 0)
        .all(|member| matches!(&*json::key_name(member.key), b"role" | b"content" | b"timestamp"))
}

/// Returns the text, as a literal, that a provider gets for a message of one of treering's own
/// roles; `None` if it gets none.
fn provider_text(message: &[u8]) -> Option<Vec<u8>> {
    let text = joined(json::get(&for_provider(message)?, "content")?);
    (text != b"\"\"").then_some(text)
}

/// Returns the texts of some content, one on each line, as a literal.
fn joined(content: &[u8]) -> Vec<u8> {
    if content.starts_with(b"\"") {
        return content.to_vec();
    }
    let mut out = b"\"".to_vec();
    for block in json::elements(content) {
        let [kind, text] = pick(block, ["type", "text"]);
        if kind.and_then(json::string).as_deref() != Some("text") {
            continue;
        }
        if out.len() > 1 {
            out.extend_from_slice(b"\\n");
        }
        out.extend_from_slice(text.and_then(json::inside).unwrap_or_default());
    }
    out.push(b'"');
    out
}

fn tool_calls(content: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    for block in json::elements(content) {
        let [kind, id, name, arguments] = pick(block, ["type", "id", "name", "arguments"]);
        if kind.and_then(json::string).as_deref() != Some("toolCall") {
            continue;
        }
        out.extend_from_slice(if out.is_empty() { b",\"tool_calls\":[" } else { b"," });
        out.extend_from_slice(b"{\"id\":");
        out.extend_from_slice(id.unwrap_or(b"\"\""));
        out.extend_from_slice(b",\"name\":");
        out.extend_from_slice(name.unwrap_or(b"\"\""));
        out.extend_from_slice(b",\"arguments\":");
        out.extend_from_slice(arguments.unwrap_or(b"{}"));
        out.push(b'}');
    }
    if !out.is_empty() {
        out.push(b']');
    }
    out
}
