//! Converts Codex's records to treering's entries.
//!
//! One record is one entry. Reasoning, calls and texts of one answer are on separate lines, so each
//! becomes a separate assistant message. Calls that the provider answers itself (web search, image
//! generation) include their result, because other providers would refuse a call without one. A
//! record that no entry of treering can express is kept as `custom`, named `codex.<type>`.
//!
//! A record does not say which model wrote it, so neither do the messages; `turn_context` does, and
//! becomes a model change. [`kind`] and [`decode`] must agree.

use super::super::{Class, Decoded};
use super::output::{Output, blocks, texts};
use super::record::{
    ObjectBuilder, Record, array, inside, is_object, literal, members, quote, text,
};
use crate::entry::head::timestamp;
use crate::entry::{Kind, NewEntry, Role, number};
use crate::json;

/// The usage of a message that records none: other agents add these fields up without checking
/// whether they exist.
const NO_USAGE: &[u8] = br#"{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}}"#;

/// The wire format of the signatures in a message. Codex's are not those of any other agent.
const API: &str = "codex";

/// The provider of a model whose record names none.
const PROVIDER: &[u8] = b"\"openai\"";

/// Returns the class of a record.
pub(super) fn kind(record: Record<'_>) -> Class {
    match record {
        Record::Meta(_) => Class::Header,
        Record::Item(item) => match text(item, "type").as_deref() {
            Some("message") => Class::Entry(Kind::Message, Some(role(item))),
            Some("agent_message") => Class::Entry(Kind::CustomMessage, None),
            Some("reasoning") => Class::Entry(Kind::Message, Some(Role::Assistant)),
            // The name of the call does not matter.
            Some(name) if call_name(name, b"{}").is_some() => {
                Class::Entry(Kind::Message, Some(Role::Assistant))
            }
            Some(name) if is_output(name) => Class::Entry(Kind::Message, Some(Role::ToolResult)),
            // The record is one of the items, but the model never sees it.
            _ => Class::Entry(Kind::Custom, None),
        },
        Record::Letter(_) => Class::Entry(Kind::CustomMessage, None),
        Record::Turn(turn) if model(turn).is_some() => Class::Entry(Kind::ModelChange, None),
        Record::Compacted(_) => Class::Entry(Kind::Compaction, None),
        Record::Event(event) if last_usage(event).is_some() => Class::Entry(Kind::Usage, None),
        Record::Turn(_) | Record::Event(_) | Record::Other => Class::Side,
    }
}

/// Returns the role of a message item. Developer messages are instructions, like system messages.
fn role(item: &[u8]) -> Role {
    match text(item, "role").as_deref() {
        Some("developer") => Role::System,
        name => Role::of(name.unwrap_or_default()),
    }
}

/// Returns the tool that a call is for, as a literal; `None` if the item is not a call.
fn call_name(kind: &str, item: &[u8]) -> Option<Vec<u8>> {
    Some(match kind {
        "function_call" | "custom_tool_call" => quote(inside(literal(item, "name"))),
        "local_shell_call" => b"\"local_shell\"".to_vec(),
        "tool_search_call" => b"\"tool_search\"".to_vec(),
        "web_search_call" => b"\"web_search\"".to_vec(),
        "image_generation_call" => b"\"image_generation\"".to_vec(),
        _ => return None,
    })
}

fn is_output(kind: &str) -> bool {
    kind.ends_with("_call_output") || kind == "tool_search_output"
}

/// Returns the model of a turn, as a literal.
fn model(turn: &[u8]) -> Option<&[u8]> {
    literal(turn, "model").filter(|model| *model != b"\"\"")
}

/// Returns the tokens of the last request, if the event counts them.
fn last_usage(event: &[u8]) -> Option<&[u8]> {
    let [kind, info] = members(event, ["type", "info"]);
    if json::string(kind?)? != "token_count" {
        return None;
    }
    json::get(info?, "last_token_usage").filter(|usage| is_object(usage))
}

/// Returns the tokens of the session so far, which every count of tokens states.
pub(super) fn running_total(details: &[u8]) -> Option<[u64; 4]> {
    let total = json::get(details, "total_token_usage").filter(|total| is_object(total))?;
    let keys = ["input_tokens", "cached_input_tokens", "output_tokens", "total_tokens"];
    let tokens = |literal: Option<&[u8]>| literal.and_then(number).map_or(0, |count| count as u64);
    Some(members(total, keys).map(tokens))
}

/// Converts a record to treering's format.
pub(super) fn decode(record: &[u8]) -> Decoded {
    let time = time(record);
    let mut more = Vec::new();
    let json = match Record::read(record) {
        Record::Item(item) => {
            let (entry, results) = self::item(item, time.as_deref());
            more = results;
            entry
        }
        Record::Letter(letter) => letter_entry(letter),
        Record::Turn(turn) if model(turn).is_some() => ObjectBuilder::new()
            .text("type", "model_change")
            .raw("provider", literal(turn, "model_provider").unwrap_or(PROVIDER))
            .raw("modelId", model(turn).unwrap_or(b"\"\""))
            .close(),
        Record::Compacted(compacted) => compaction(compacted),
        Record::Event(event) if last_usage(event).is_some() => usage(event),
        Record::Meta(_) | Record::Turn(_) | Record::Event(_) | Record::Other => {
            custom(&text(record, "type").unwrap_or_default(), record)
        }
    };
    let entry = NewEntry::from_record(&json).unwrap_or_else(|_| unreadable());
    Decoded { entry, more }
}

/// Returns an entry for a record that is not JSON, which callers never pass.
fn unreadable() -> NewEntry {
    let fields = b",\"customType\":\"codex.\"".to_vec();
    NewEntry { type_name: "custom".into(), fields, ..NewEntry::session_info("") }
}

/// Returns the record's time in Unix milliseconds, as JSON. Some writers store it in the payload.
fn time(record: &[u8]) -> Option<Vec<u8>> {
    let [own, payload] = members(record, ["timestamp", "payload"]);
    let inner = || timestamp(json::get(payload?, "timestamp")?);
    let millis = own.and_then(timestamp).or_else(inner)?;
    Some(millis.to_string().into_bytes())
}

fn custom(kind: &str, data: &[u8]) -> Vec<u8> {
    let entry = ObjectBuilder::new().text("type", "custom");
    entry.text("customType", &format!("codex.{kind}")).raw("data", data).close()
}

fn message_entry(message: &[u8]) -> Vec<u8> {
    ObjectBuilder::new().text("type", "message").raw("message", message).close()
}

/// Returns an item as an entry, and the results that it includes.
fn item(item: &[u8], time: Option<&[u8]>) -> (Vec<u8>, Vec<Vec<u8>>) {
    let kind = text(item, "type").unwrap_or_default();
    if let Some(name) = call_name(&kind, item) {
        let result = own_result(&kind, &name, item, time);
        return (call(item, &kind, &name, time), result.into_iter().collect());
    }
    let entry = match &*kind {
        "message" => message(item, time),
        "agent_message" => letter_entry(item),
        "reasoning" => reasoning(item, time),
        name if is_output(name) => output(item, time),
        name => custom(name, item),
    };
    (entry, Vec::new())
}

fn message(item: &[u8], time: Option<&[u8]>) -> Vec<u8> {
    let [name, content] = members(item, ["role", "content"]);
    let content = content.unwrap_or(b"[]");
    let message = match role(item) {
        Role::Assistant => return assistant(&blocks(content), "stop", time),
        Role::System => {
            ObjectBuilder::new().text("role", "system").raw("content", &instructions(content))
        }
        _ => {
            ObjectBuilder::new().raw("role", &quote(inside(name))).raw("content", &blocks(content))
        }
    };
    message_entry(&message.maybe("timestamp", time).close())
}

/// Returns the content of a system message: a single text, if it has only texts.
fn instructions(content: &[u8]) -> Vec<u8> {
    let has_text = |block: &[u8]| literal(block, "text").is_some();
    if json::elements(content).into_iter().all(has_text) {
        quote(&texts(content, b"\\n\\n"))
    } else {
        blocks(content)
    }
}

fn assistant(content: &[u8], stop_reason: &str, time: Option<&[u8]>) -> Vec<u8> {
    let message = ObjectBuilder::new()
        .text("role", "assistant")
        .raw("content", content)
        .text("api", API)
        .raw("usage", NO_USAGE)
        .text("stopReason", stop_reason)
        .maybe("timestamp", time);
    message_entry(&message.close())
}

fn reasoning(item: &[u8], time: Option<&[u8]>) -> Vec<u8> {
    let [summary, content] = members(item, ["summary", "content"]);
    let mut thinking = texts(summary.unwrap_or(b"[]"), b"\\n\\n");
    if thinking.is_empty() {
        thinking = texts(content.unwrap_or(b"[]"), b"\\n\\n");
    }
    let block = ObjectBuilder::new()
        .text("type", "thinking")
        .raw("thinking", &quote(&thinking))
        .maybe("thinkingSignature", literal(item, "encrypted_content"));
    assistant(&array(&[block.close()]), "stop", time)
}

fn call(item: &[u8], kind: &str, name: &[u8], time: Option<&[u8]>) -> Vec<u8> {
    let block = ObjectBuilder::new()
        .text("type", "toolCall")
        .raw("id", &call_id(item))
        .raw("name", name)
        .raw("arguments", &arguments(kind, item))
        .maybe("namespace", literal(item, "namespace"));
    assistant(&array(&[block.close()]), "toolUse", time)
}

/// Returns the id that links a result to its call. Calls that the provider answers have only an
/// item id.
fn call_id(item: &[u8]) -> Vec<u8> {
    quote(inside(literal(item, "call_id").or_else(|| literal(item, "id"))))
}

/// Returns the arguments of a tool call, always as an object.
fn arguments(kind: &str, item: &[u8]) -> Vec<u8> {
    let [arguments, input, action] = members(item, ["arguments", "input", "action"]);
    let value = match kind {
        "custom_tool_call" => return input_object(input),
        "image_generation_call" => {
            let prompt = literal(item, "revised_prompt");
            return ObjectBuilder::new().maybe("prompt", prompt).close();
        }
        "local_shell_call" | "web_search_call" => action,
        _ => arguments,
    };
    match value {
        Some(value) if is_object(value) => value.to_vec(),
        Some(value) => parsed(value).unwrap_or_else(|| input_object(Some(value))),
        None => b"{}".to_vec(),
    }
}

fn input_object(input: Option<&[u8]>) -> Vec<u8> {
    ObjectBuilder::new().maybe("input", input).close()
}

/// Returns the object that a string holds as JSON; an empty object if the string or value is empty.
fn parsed(value: &[u8]) -> Option<Vec<u8>> {
    if value == b"null" {
        return Some(b"{}".to_vec());
    }
    let text = json::decode_exactly(json::inside(value)?).ok()?;
    let text = text.trim().as_bytes();
    if text.is_empty() {
        return Some(b"{}".to_vec());
    }
    let is_whole = is_object(text) && json::skip_value(text, 0) == Some(text.len());
    is_whole.then(|| text.to_vec())
}

/// Returns the result of a call that the provider answered itself.
fn own_result(kind: &str, name: &[u8], item: &[u8], time: Option<&[u8]>) -> Option<Vec<u8>> {
    let status = literal(item, "status");
    let content = match kind {
        "web_search_call" => blocks(&quote(inside(status))),
        "image_generation_call" => {
            let image = literal(item, "result").filter(|result| *result != b"\"\"");
            let block = |data: &[u8]| {
                let block = ObjectBuilder::new().text("type", "image").raw("data", data);
                array(&[block.text("mimeType", "image/png").close()])
            };
            image.map_or_else(|| b"[]".to_vec(), block)
        }
        _ => return None,
    };
    let is_error = status == Some(b"\"failed\"");
    Some(result(&call_id(item), Some(name), Output { content, details: None, is_error }, time))
}

fn result(call: &[u8], name: Option<&[u8]>, output: Output, time: Option<&[u8]>) -> Vec<u8> {
    ObjectBuilder::new()
        .text("role", "toolResult")
        .raw("toolCallId", call)
        .maybe("toolName", name)
        .raw("content", &output.content)
        .maybe("details", output.details.as_deref())
        .raw("isError", if output.is_error { b"true" } else { b"false" })
        .maybe("timestamp", time)
        .close()
}

fn output(item: &[u8], time: Option<&[u8]>) -> Vec<u8> {
    let [output, tools] = members(item, ["output", "tools"]);
    let (name, output) = match tools {
        // The tools that a search found have no text, so their JSON becomes the text.
        Some(tools) if output.is_none() => {
            let text = json::quoted(&String::from_utf8_lossy(tools));
            (Some(&b"\"tool_search\""[..]), Output::read(Some(&text)))
        }
        _ => (literal(item, "name"), Output::read(output)),
    };
    message_entry(&result(&call_id(item), name, output, time))
}

/// Returns a message from another agent: the user did not write it, but the model must act on it.
fn letter_entry(letter: &[u8]) -> Vec<u8> {
    let [author, recipient, content] = members(letter, ["author", "recipient", "content"]);
    let content = content.filter(|content| *content != b"\"\"").unwrap_or(b"[]");
    let content = match literal(letter, "encrypted_content") {
        Some(sealed) if content == b"[]" => {
            let block = ObjectBuilder::new().text("type", "encrypted_content");
            array(&[block.raw("encrypted_content", sealed).close()])
        }
        _ => blocks(content),
    };
    let details =
        ObjectBuilder::new().maybe("author", author).maybe("recipient", recipient).close();
    ObjectBuilder::new()
        .text("type", "custom_message")
        .text("customType", "agent_message")
        .raw("content", &content)
        .raw("display", b"true")
        .raw("details", &details)
        .close()
}

/// Returns a compaction. Codex replaces the whole history, so it keeps nothing.
fn compaction(compacted: &[u8]) -> Vec<u8> {
    let [message, history] = members(compacted, ["message", "replacement_history"]);
    let history = history.filter(|history| history.starts_with(b"["));
    let summary = match inside(message) {
        b"" => history.map(history_text).unwrap_or_default(),
        text => text.to_vec(),
    };
    let details =
        history.map(|history| ObjectBuilder::new().raw("replacement_history", history).close());
    ObjectBuilder::new()
        .text("type", "compaction")
        .raw("summary", &quote(&summary))
        .text("firstKeptEntryId", "")
        .raw("tokensBefore", b"0")
        .maybe("details", details.as_deref())
        .close()
}

/// Returns a history as text, with the role of each message, if there is no summary.
fn history_text(history: &[u8]) -> Vec<u8> {
    let mut lines: Vec<Vec<u8>> = Vec::new();
    for item in json::elements(history) {
        let [kind, role, content] = members(item, ["type", "role", "content"]);
        let text = texts(content.unwrap_or(b"[]"), b"\\n");
        if kind == Some(b"\"message\"") && !text.is_empty() {
            lines.push([inside(role), b": ", &text].concat());
        }
    }
    lines.join(&b"\\n\\n"[..])
}

/// Returns the tokens of one request. Codex includes cached tokens in the input; treering does not.
fn usage(event: &[u8]) -> Vec<u8> {
    let last = last_usage(event).unwrap_or(b"{}");
    let keys = ["input_tokens", "cached_input_tokens", "cache_write_input_tokens", "output_tokens"];
    let counts = members(last, keys).map(|count| count.and_then(number).map_or(0, |n| n as u64));
    let [input, read, written, output] = counts;
    let fresh = input.saturating_sub(read).saturating_sub(written);
    let total = input.saturating_add(output);
    let usage = format!(
        "{{\"input\":{fresh},\"output\":{output},\"cacheRead\":{read},\"cacheWrite\":{written},\
         \"totalTokens\":{total},\"cost\":{{\"input\":0,\"output\":0,\"cacheRead\":0,\
         \"cacheWrite\":0,\"total\":0}}}}"
    );
    ObjectBuilder::new()
        .text("type", "usage")
        .text("kind", "request")
        .raw("provider", PROVIDER)
        .text("model", "")
        .raw("usage", usage.as_bytes())
        .maybe("details", json::get(event, "info"))
        .close()
}
