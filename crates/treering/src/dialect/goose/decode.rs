//! Converts messages of Goose to treering's format.

use crate::dialect::Decoded;
use crate::dialect::agent::{AgentContext, PathRecords};
use crate::dialect::shape::{
    AnswerFields, ObjectBuilder, count, get, inside, is_object, literal, members, quote,
    text_block, tool_result, usage, user,
};
use crate::entry::NewEntry;
use crate::error::Result;
use crate::json;

/// Returns a message as an entry.
pub(super) fn record(record: &[u8]) -> Decoded {
    let [role, content, metadata, created] =
        json::get_all(record, ["role", "content", "metadata", "created"]);
    let millis = created.and_then(|created| super::FACTS.time.parse(created));
    if let (None, Some(used)) = (role, get(record, "accumulated").filter(|used| is_object(used))) {
        return Decoded::of(usage_entry(used));
    }
    let visible = metadata.and_then(|metadata| get(metadata, "agentVisible")) != Some(b"false");
    let items = content.filter(|content| content.starts_with(b"["));
    let items = items.map(json::elements).unwrap_or_default();
    let messages = match role {
        Some(b"\"assistant\"") if visible => vec![assistant(&items, millis)],
        Some(b"\"user\"") if visible => message_contents(&items, millis),
        _ => {
            let role = role.filter(|role| role.starts_with(b"\""));
            let name = [b"goose.", inside(role)].concat();
            let entry = NewEntry::of_type("custom").raw("customType", &quote(&name));
            return Decoded::of(entry.raw("data", record));
        }
    };
    let mut messages = messages.into_iter();
    let first = messages.next().unwrap_or_default();
    Decoded { entry: NewEntry::of_type("message").raw("message", &first), more: messages.collect() }
}

/// Returns the usage of all requests of a session together.
fn usage_entry(used: &[u8]) -> NewEntry {
    let [input, output, provider, model] = members(used, ["input", "output", "provider", "model"]);
    let is_text = |literal: &&[u8]| literal.starts_with(b"\"");
    NewEntry::of_type("usage")
        .raw("kind", b"\"answer\"")
        .raw("provider", provider.filter(is_text).unwrap_or(b"\"\""))
        .raw("model", model.filter(is_text).unwrap_or(b"\"\""))
        .raw("usage", &usage([count(input), count(output), 0, 0]))
}

/// Returns whether the first item of some content is the result of a call.
pub(super) fn begins_with_a_result(content: Option<&[u8]>) -> bool {
    let items = content.filter(|content| content.starts_with(b"["));
    let items = items.map(json::elements).unwrap_or_default();
    items.iter().any(|item| is_response(item))
}

fn is_response(item: &[u8]) -> bool {
    get(item, "type") == Some(b"\"toolResponse\"")
}

fn assistant(items: &[&[u8]], millis: Option<i64>) -> Vec<u8> {
    let content: Vec<Vec<u8>> = items.iter().filter_map(|item| block(item)).collect();
    AnswerFields {
        content: &content,
        api: "goose",
        provider: b"\"\"",
        model: b"\"\"",
        tokens: [0; 4],
        stop: None,
        millis,
    }
    .message()
}

/// Returns the results of calls, one message each, then the other content.
fn message_contents(items: &[&[u8]], millis: Option<i64>) -> Vec<Vec<u8>> {
    let (results, rest): (Vec<&[u8]>, Vec<&[u8]>) =
        items.iter().partition(|item| is_response(item));
    let mut messages: Vec<Vec<u8>> = results.iter().map(|item| result(item, millis)).collect();
    let blocks: Vec<Vec<u8>> = rest.into_iter().filter_map(block).collect();
    if messages.is_empty() || !blocks.is_empty() {
        messages.push(user(&blocks, millis));
    }
    messages
}

/// Returns an item as a block; `None` for items that are not part of the conversation, such as
/// questions about permissions.
fn block(item: &[u8]) -> Option<Vec<u8>> {
    let get = |key| get(item, key);
    let text = |key| quote(inside(literal(item, key)));
    Some(match get("type") {
        Some(b"\"text\"") => text_block(&text("text")),
        Some(b"\"image\"") => ObjectBuilder::new()
            .text("type", "image")
            .raw("data", &text("data"))
            .raw("mimeType", &text("mimeType"))
            .close(),
        Some(b"\"thinking\"") => ObjectBuilder::new()
            .text("type", "thinking")
            .raw("thinking", &text("thinking"))
            .raw("thinkingSignature", &text("signature"))
            .close(),
        Some(b"\"redactedThinking\"") => ObjectBuilder::new()
            .text("type", "thinking")
            .raw("thinking", b"\"\"")
            .raw("thinkingSignature", &text("data"))
            .raw("redacted", b"true")
            .close(),
        Some(b"\"toolRequest\"" | b"\"frontendToolRequest\"") => {
            // A call that could not be read has an error instead of a value.
            let value = get("toolCall").and_then(|call| self::get(call, "value"))?;
            let [name, arguments] = members(value, ["name", "arguments"]);
            ObjectBuilder::new()
                .text("type", "toolCall")
                .raw("id", &text("id"))
                .raw("name", &quote(inside(name)))
                .raw("arguments", arguments.filter(|args| is_object(args)).unwrap_or(b"{}"))
                .close()
        }
        _ => return None,
    })
}

fn result(item: &[u8], millis: Option<i64>) -> Vec<u8> {
    let [id, result] = members(item, ["id", "toolResult"]);
    let [status, value, error] = members(result.unwrap_or(b"{}"), ["status", "value", "error"]);
    // The value is a list of items, or an object with it.
    let items = match value {
        Some(object) if is_object(object) => get(object, "content"),
        value => value,
    };
    let is_marked = value.filter(|value| is_object(value)).and_then(|value| get(value, "isError"));
    let items = items.filter(|items| items.starts_with(b"[")).map(json::elements);
    let mut content: Vec<Vec<u8>> =
        items.unwrap_or_default().into_iter().filter_map(block).collect();
    content.extend(error.map(|error| text_block(&quote(inside(Some(error))))));
    let failed = status == Some(b"\"error\"") || is_marked == Some(b"true");
    tool_result(&quote(inside(id)), b"\"\"", &content, failed, millis)
}

/// Returns the messages that Goose sends: those that the model may see, unchanged.
pub(super) fn agent_context(path: &mut dyn PathRecords) -> Result<AgentContext> {
    let mut messages = Vec::new();
    for at in 0..path.len() {
        let Some(record) = path.record(at)? else { continue };
        let [role, content, metadata] = json::get_all(record, ["role", "content", "metadata"]);
        let visible = metadata.and_then(|metadata| get(metadata, "agentVisible")) != Some(b"false");
        if visible && role.is_some() {
            let message = ObjectBuilder::new().maybe("role", role).maybe("content", content);
            messages.push(message.close());
        }
    }
    Ok(AgentContext { messages, settings: Vec::new() })
}
