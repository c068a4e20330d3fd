//! Converts records of Claude Code to treering's format.

use crate::dialect::agent::{AgentContext, PathRecords};
use crate::dialect::{AnswerCounts, Decoded, Price, RequestMetadata};
use crate::entry::NewEntry;
use crate::error::Result;
use crate::json;
use std::collections::HashMap;

/// Returns a record as an entry. Members that treering's format cannot hold stay in the record,
/// which every entry has.
pub(super) fn record(record: &[u8]) -> Decoded {
    // The grammar of the members is checked here, so that the functions below need not check it
    // again.
    let keys = ["type", "message", "timestamp", "isCompactSummary"];
    let [kind, message, timestamp, is_summary] = json::get_all(record, keys);
    let millis = timestamp.and_then(crate::entry::head::timestamp);
    let message = message.filter(|message| message.starts_with(b"{"));
    let messages = match (kind, message) {
        (Some(b"\"assistant\""), Some(message)) => vec![assistant(message, millis)],
        (Some(b"\"user\""), Some(message)) if is_summary == Some(b"true") => {
            vec![summary(message, millis)]
        }
        (Some(b"\"user\""), Some(message)) => user(message, millis),
        _ => return Decoded::without(record, &super::FACTS.keys),
    };
    let mut messages = messages.into_iter();
    let first = messages.next().unwrap_or_default();
    Decoded { entry: NewEntry::of_type("message").raw("message", &first), more: messages.collect() }
}

pub(super) fn object(fields: &[(&str, &[u8])]) -> Vec<u8> {
    let mut out = b"{".to_vec();
    for (at, (key, value)) in fields.iter().enumerate() {
        if at > 0 {
            out.push(b',');
        }
        json::write_string(&mut out, key);
        out.push(b':');
        out.extend_from_slice(value);
    }
    out.push(b'}');
    out
}

pub(super) fn list(items: &[Vec<u8>]) -> Vec<u8> {
    [b"[", &*items.join(&b","[..]), b"]"].concat()
}

fn time(millis: Option<i64>) -> Vec<u8> {
    millis.map_or(b"null".to_vec(), |millis| millis.to_string().into_bytes())
}

/// Returns content as blocks: a string is one text.
fn blocks(content: Option<&[u8]>) -> Vec<Vec<u8>> {
    match content {
        Some(text) if text.starts_with(b"\"") => {
            vec![object(&[("type", b"\"text\""), ("text", text)])]
        }
        Some(array) if array.starts_with(b"[") => {
            json::elements(array).into_iter().map(block).collect()
        }
        _ => Vec::new(),
    }
}

/// Converts a block to treering's format; a block without a counterpart is not changed.
fn block(block: &[u8]) -> Vec<u8> {
    let get = |key| json::get_checked(block, key);
    let or_null = |key| get(key).unwrap_or(b"null");
    match get("type") {
        Some(b"\"tool_use\"" | b"\"server_tool_use\"") => object(&[
            ("type", b"\"toolCall\""),
            ("id", or_null("id")),
            ("name", or_null("name")),
            ("arguments", get("input").unwrap_or(b"{}")),
        ]),
        Some(b"\"thinking\"") => object(&[
            ("type", b"\"thinking\""),
            ("thinking", or_null("thinking")),
            ("thinkingSignature", get("signature").unwrap_or(b"\"\"")),
        ]),
        Some(b"\"redacted_thinking\"") => object(&[
            ("type", b"\"thinking\""),
            ("thinking", b"\"\""),
            ("thinkingSignature", or_null("data")),
            ("redacted", b"true"),
        ]),
        Some(b"\"image\"") => match get("source") {
            Some(source) if json::get(source, "type") == Some(b"\"base64\"") => object(&[
                ("type", b"\"image\""),
                ("data", json::get(source, "data").unwrap_or(b"\"\"")),
                ("mimeType", json::get(source, "media_type").unwrap_or(b"\"image/png\"")),
            ]),
            _ => block.to_vec(),
        },
        _ => block.to_vec(),
    }
}

fn assistant(message: &[u8], millis: Option<i64>) -> Vec<u8> {
    let keys = ["content", "stop_reason", "model", "usage"];
    let [content, stop, model, used] = json::get_all_checked(message, keys);
    let content = blocks(content);
    let is_call = |block: &Vec<u8>| json::get_checked(block, "type") == Some(b"\"toolCall\"");
    let stop: &[u8] = match stop {
        Some(b"\"max_tokens\"") => b"\"length\"",
        Some(b"\"tool_use\"") => b"\"toolUse\"",
        None | Some(b"null") if content.iter().any(is_call) => b"\"toolUse\"",
        _ => b"\"stop\"",
    };
    object(&[
        ("role", b"\"assistant\""),
        ("content", &list(&content)),
        ("api", b"\"anthropic-messages\""),
        ("provider", b"\"anthropic\""),
        ("model", model.unwrap_or(b"\"\"")),
        ("usage", &usage(used.unwrap_or(b"{}"))),
        ("stopReason", stop),
        ("timestamp", &time(millis)),
    ])
}

/// Returns a number of tokens.
fn count(literal: Option<&[u8]>) -> u64 {
    literal.and_then(crate::entry::number).map_or(0, |number| number as u64)
}

/// Returns the token counts: input, output, read from a cache, written to a cache.
fn tokens(usage: &[u8]) -> [u64; 4] {
    let keys =
        ["input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens"];
    json::get_all(usage, keys).map(count)
}

/// Returns the usage with these token counts; the file does not state their cost.
fn usage(usage: &[u8]) -> Vec<u8> {
    let [input, output, read, write] = tokens(usage);
    let total = input.saturating_add(output).saturating_add(read).saturating_add(write);
    format!(
        "{{\"input\":{input},\"output\":{output},\"cacheRead\":{read},\"cacheWrite\":{write},\"totalTokens\":{total},\"cost\":{{\"input\":0,\"output\":0,\"cacheRead\":0,\"cacheWrite\":0,\"total\":0}}}}"
    )
    .into_bytes()
}

/// Returns the id of the response that a record is a part of: the id of its message and that of the
/// request, because gateways do not number messages uniquely. Only old versions state the cost.
pub(super) fn request_metadata(record: &[u8]) -> RequestMetadata {
    let keys = ["type", "message", "requestId", "costUSD", "treering"];
    let [kind, message, request, cost, embedded] = json::get_all(record, keys);
    let named = |literal: &&[u8]| literal.starts_with(b"\"") && *literal != b"\"\"";
    let [id, model, usage] =
        json::get_all_checked(message.unwrap_or_default(), ["id", "model", "usage"]);
    let response =
        id.filter(named).map(|id| [id, request.filter(named).unwrap_or_default()].concat());
    let price = cost.and_then(crate::entry::number).map_or(Price::Unstated, Price::Dollars);
    let usage = usage.filter(|usage| usage.starts_with(b"{")).unwrap_or_default();
    let [creation, speed] = json::get_all_checked(usage, ["cache_creation", "speed"]);
    let hour = creation.and_then(|creation| json::get(creation, "ephemeral_1h_input_tokens"));
    let is_answer = kind == Some(b"\"assistant\"")
        && embedded.is_none()
        && message.is_some_and(|message| message.starts_with(b"{"));
    let model = || json::string(model?).filter(|model| !model.is_empty());
    let answer = is_answer.then(|| AnswerCounts {
        tokens: tokens(usage),
        model: model().map(|model| format!("anthropic/{model}")),
    });
    RequestMetadata {
        response,
        price,
        hour_cache_write: count(hour),
        is_fast: speed == Some(b"\"fast\""),
        answer,
    }
}

/// Returns the results of tools, one message each, then the other content.
fn user(message: &[u8], millis: Option<i64>) -> Vec<Vec<u8>> {
    let content = json::get_checked(message, "content");
    let is_result = |block: &&[u8]| json::get_checked(block, "type") == Some(b"\"tool_result\"");
    let all = content.filter(|content| content.starts_with(b"[")).map(json::elements);
    let (results, rest): (Vec<&[u8]>, Vec<&[u8]>) =
        all.unwrap_or_default().into_iter().partition(is_result);
    let mut messages: Vec<Vec<u8>> =
        results.iter().map(|result| tool_result(result, millis)).collect();
    if messages.is_empty() || !rest.is_empty() {
        let blocks = match results.is_empty() {
            true => blocks(content),
            false => rest.into_iter().map(block).collect(),
        };
        messages.push(object(&[
            ("role", b"\"user\""),
            ("content", &list(&blocks)),
            ("timestamp", &time(millis)),
        ]));
    }
    messages
}

fn tool_result(result: &[u8], millis: Option<i64>) -> Vec<u8> {
    let keys = ["tool_use_id", "content", "is_error"];
    let [call, content, is_error] = json::get_all_checked(result, keys);
    let is_error = is_error == Some(b"true");
    object(&[
        ("role", b"\"toolResult\""),
        ("toolCallId", call.unwrap_or(b"\"\"")),
        ("toolName", b"\"\""),
        ("content", &list(&blocks(content))),
        ("isError", if is_error { b"true" } else { b"false" }),
        ("timestamp", &time(millis)),
    ])
}

/// Returns the message that replaces everything before a compaction.
fn summary(message: &[u8], millis: Option<i64>) -> Vec<u8> {
    let text = json::get(message, "content").map(crate::entry::content_text).unwrap_or_default();
    object(&[
        ("role", b"\"compactionSummary\""),
        ("summary", &json::quoted(&text)),
        ("tokensBefore", b"0"),
        ("timestamp", &time(millis)),
    ])
}

/// Returns the messages as they were sent, with the records of one answer joined.
pub(super) fn agent_context(path: &mut dyn PathRecords) -> Result<AgentContext> {
    let mut messages: Vec<Vec<u8>> = Vec::new();
    // The index of the message of each id.
    let mut places: HashMap<Vec<u8>, usize> = HashMap::new();
    for at in 0..path.len() {
        let Some(record) = path.record(at)? else { continue };
        let kind = json::get(record, "type");
        if json::get(record, "subtype") == Some(b"\"compact_boundary\"") {
            messages.clear();
            places.clear();
        }
        if !matches!(kind, Some(b"\"user\"" | b"\"assistant\"")) {
            continue;
        }
        let Some(message) = json::get(record, "message") else { continue };
        let sent: Vec<(&str, &[u8])> = ["role", "content"]
            .into_iter()
            .filter_map(|key| Some((key, json::get(message, key)?)))
            .collect();
        let id = json::get(message, "id").filter(|_| kind == Some(b"\"assistant\""));
        let place = id.and_then(|id| places.get(id)).copied();
        match place.and_then(|place| messages.get_mut(place)) {
            Some(whole) => {
                *whole = appended(whole, json::get(message, "content").unwrap_or(b"[]"));
            }
            None => {
                places.extend(id.map(|id| (id.to_vec(), messages.len())));
                messages.push(object(&sent));
            }
        }
    }
    Ok(AgentContext { messages, settings: Vec::new() })
}

/// Returns a message with further blocks appended.
fn appended(message: &[u8], content: &[u8]) -> Vec<u8> {
    let before = json::get(message, "content").unwrap_or(b"[]");
    let all: Vec<&[u8]> =
        json::elements(before).into_iter().chain(json::elements(content)).collect();
    json::with_member(message, "content", &[b"[", &*all.join(&b","[..]), b"]"].concat())
}
