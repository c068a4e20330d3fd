//! Builds the context that Chimera's `get_messages` returns: all messages on the path, with every
//! compaction in its position.
//!
//! Chimera skips lines that it cannot load, and its walk up the tree ends where a parent is
//! missing. Entries before such a record are therefore not in its context.

use super::super::agent::{AgentContext, PathRecords};
use super::{json, pick};
use crate::error::Result;

pub(super) fn context(path: &mut dyn PathRecords) -> Result<AgentContext> {
    let mut messages = Vec::new();
    for at in 0..path.len() {
        match path.record(at)?.and_then(contribution) {
            Some(message) => messages.extend(message),
            None => messages.clear(),
        }
    }
    Ok(AgentContext { messages, settings: Vec::new() })
}

/// Returns the message that a record contributes, if any; `None` if Chimera cannot load it.
fn contribution(record: &[u8]) -> Option<Option<Vec<u8>>> {
    let [kind, id, message, summary] = pick(record, ["type", "id", "message", "summary"]);
    id?;
    Some(match json::string(kind?).as_deref() {
        Some("message") => Some(self::message(message?)?),
        Some("compaction") => Some(compacted(summary)),
        _ => None,
    })
}

/// Returns a message with the members that Chimera has, without empty ones.
fn message(raw: &[u8]) -> Option<Vec<u8>> {
    let [role, content, tool_calls, call_id] =
        pick(raw, ["role", "content", "tool_calls", "call_id"]);
    let mut out = [b"{\"role\":", role?].concat();
    let mut put = |key: &[u8], value: &[u8]| {
        out.extend_from_slice(key);
        out.extend_from_slice(value);
    };
    put(b",\"content\":", content.unwrap_or(b"\"\""));
    let calls = tool_calls.map(json::elements).unwrap_or_default();
    for (at, call) in calls.iter().enumerate() {
        let [id, name, arguments] = pick(call, ["id", "name", "arguments"]);
        put(if at == 0 { b",\"tool_calls\":[{\"id\":" } else { b",{\"id\":" }, id?);
        put(b",\"name\":", name?);
        put(b",\"arguments\":", arguments?);
        put(b"}", b"");
    }
    if !calls.is_empty() {
        put(b"]", b"");
    }
    if let Some(call_id) = call_id.filter(|id| !matches!(*id, b"null" | b"\"\"")) {
        put(b",\"call_id\":", call_id);
    }
    put(b"}", b"");
    Some(out)
}

fn compacted(summary: Option<&[u8]>) -> Vec<u8> {
    const BEFORE: &[u8] = b"{\"role\":\"user\",\"content\":\"[Session compacted. Summary: ";
    let summary = summary.unwrap_or(b"\"\"");
    let printed;
    let inside = match (json::inside(summary), summary) {
        (Some(inside), _) => inside,
        (None, b"null") => b"None",
        (None, other) => {
            printed = json::quoted(&String::from_utf8_lossy(other));
            json::inside(&printed).unwrap_or_default()
        }
    };
    [BEFORE, inside, b"]\"}"].concat()
}
