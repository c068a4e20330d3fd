//! Converts records of Gemini CLI to treering's format, and builds the history that Gemini CLI
//! itself would send.

use super::{history, is_only_results};
use crate::dialect::Decoded;
use crate::dialect::agent::{AgentContext, PathRecords};
use crate::dialect::genai::{self, blocks, parts};
use crate::dialect::shape::{
    AnswerFields, ObjectBuilder, array, count, get, inside, is_object, literal, members, quote,
    text_block, tool_result, user,
};
use crate::entry::NewEntry;
use crate::entry::head::timestamp;
use crate::error::Result;
use crate::json;
use std::collections::HashSet;

const PROVIDER: &[u8] = b"\"google\"";

/// Returns a record as an entry.
pub(super) fn record(record: &[u8]) -> Decoded {
    let [kind, content, set] = json::get_all(record, ["type", "content", "$set"]);
    let is_message = matches!(kind, Some(b"\"user\"" | b"\"gemini\""));
    if let Some(set) = set.filter(|_| get(record, "id").is_none()) {
        return replaced(&history(set));
    }
    if !is_message || kind == Some(b"\"user\"") && is_only_results(content) {
        return note(kind, content);
    }
    of_messages(message(record))
}

fn of_messages(messages: Vec<Vec<u8>>) -> Decoded {
    let mut messages = messages.into_iter();
    let first = messages.next().unwrap_or_default();
    Decoded { entry: NewEntry::of_type("message").raw("message", &first), more: messages.collect() }
}

/// Returns a record that is not part of the conversation.
fn note(kind: Option<&[u8]>, content: Option<&[u8]>) -> Decoded {
    let kind = kind.filter(|kind| kind.starts_with(b"\""));
    let name = [b"gemini.", inside(kind)].concat();
    let entry = NewEntry::of_type("custom").raw("customType", &quote(&name));
    Decoded::of(match content {
        Some(content) => entry.raw("data", content),
        None => entry,
    })
}

/// Returns the messages of a message record: an answer includes the results of its calls.
fn message(record: &[u8]) -> Vec<Vec<u8>> {
    let [kind, content, time] = json::get_all(record, ["type", "content", "timestamp"]);
    let millis = time.and_then(timestamp);
    if kind != Some(b"\"gemini\"") {
        return genai::user_messages(&parts(content), None, millis);
    }
    let [model, tokens, thoughts, calls] =
        json::get_all(record, ["model", "tokens", "thoughts", "toolCalls"]);
    let calls = calls.map(json::elements).unwrap_or_default();
    let calls: Vec<&[u8]> = calls.into_iter().filter(|call| is_object(call)).collect();
    let parts = parts(content);
    let is_whole = parts
        .iter()
        .any(|part| get(part, "functionCall").is_some() || get(part, "thought") == Some(b"true"));
    let mut content = Vec::new();
    if !is_whole {
        let thoughts = thoughts.map(json::elements).unwrap_or_default();
        content.extend(thoughts.into_iter().filter(|thought| is_object(thought)).map(thought));
    }
    content.extend(blocks(&parts));
    if !is_whole {
        content.extend(calls.iter().map(|call| tool_call(call)));
    }
    let answer = AnswerFields {
        content: &content,
        api: genai::API,
        provider: PROVIDER,
        model: &quote(inside(model.filter(|model| model.starts_with(b"\"")))),
        tokens: tokens.filter(|tokens| is_object(tokens)).map(counts).unwrap_or_default(),
        stop: None,
        millis,
    };
    let mut messages = vec![answer.message()];
    messages.extend(calls.into_iter().filter_map(result));
    messages
}

fn thought(thought: &[u8]) -> Vec<u8> {
    let [subject, description] = members(thought, ["subject", "description"]);
    let (subject, description) = (inside(subject), inside(description));
    let text = match subject {
        b"" => description.to_vec(),
        subject => [b"**", subject, b"** ", description].concat(),
    };
    ObjectBuilder::new().text("type", "thinking").raw("thinking", &quote(&text)).close()
}

fn tool_call(call: &[u8]) -> Vec<u8> {
    let [id, name, args] = members(call, ["id", "name", "args"]);
    ObjectBuilder::new()
        .text("type", "toolCall")
        .raw("id", &quote(inside(id)))
        .raw("name", &quote(inside(name)))
        .raw("arguments", args.filter(|args| is_object(args)).unwrap_or(b"{}"))
        .close()
}

/// Returns the result of a call, if it has one.
fn result(call: &[u8]) -> Option<Vec<u8>> {
    let [id, name, result, status, time] =
        members(call, ["id", "name", "result", "status", "timestamp"]);
    let millis = time.and_then(timestamp);
    let failed = matches!(status, Some(b"\"error\"" | b"\"cancelled\""));
    let id = quote(inside(id));
    let result = result.filter(|result| *result != b"null")?;
    if result.starts_with(b"\"") {
        let content = [text_block(result)];
        return Some(tool_result(&id, &quote(inside(name)), &content, failed, millis));
    }
    let parts = parts(Some(result));
    let answer = parts.iter().find(|part| genai::is_response(part));
    // The call's own id links the two, whatever the response states.
    let answer = answer.map(|part| genai::response(part, None, millis))?;
    let answer = json::with_member(&answer, "toolCallId", &id);
    Some(match failed {
        true => json::with_member(&answer, "isError", b"true"),
        false => answer,
    })
}

/// Returns the tokens of an answer.
fn counts(tokens: &[u8]) -> [u64; 4] {
    let keys = ["input", "output", "cached", "thoughts", "tool", "total"];
    let [input, output, cached, thoughts, tool, total] = members(tokens, keys).map(count);
    genai::tokens_of(input, output, cached, thoughts, tool, total)
}

/// Returns a compaction for a history that replaces the previous one: its first message is the
/// summary, the others follow it.
fn replaced(messages: &[&[u8]]) -> Decoded {
    let all = history_messages(messages);
    if messages.len() < 2 {
        return match all.is_empty() {
            true => Decoded::of(NewEntry::of_type("message").raw("message", &user(&[], None))),
            false => of_messages(all),
        };
    }
    let first = all.first().filter(|first| get(first, "role") == Some(b"\"user\""));
    let summary = first.and_then(|first| get(first, "content")).map(crate::entry::content_text);
    let summary = summary.filter(|summary| !summary.is_empty());
    let rest = if summary.is_some() { all.get(1..).unwrap_or_default() } else { &*all };
    let entry = NewEntry::of_type("compaction")
        .raw("summary", &json::quoted(&summary.unwrap_or_default()))
        .raw("firstKeptEntryId", b"\"\"")
        .raw("tokensBefore", b"0");
    // Tokens were counted at the original messages.
    let rest = rest.iter().map(|message| uncounted(message));
    Decoded { entry, more: rest.collect() }
}

/// Returns the messages of a history. A result is in the answer with its call, in a message after
/// it, or in both: each call is answered once.
fn history_messages(messages: &[&[u8]]) -> Vec<Vec<u8>> {
    let mut answered: HashSet<Vec<u8>> = HashSet::new();
    let records = messages
        .iter()
        .filter(|record| matches!(get(record, "type"), Some(b"\"user\"" | b"\"gemini\"")));
    let mut all = Vec::new();
    for message in records.flat_map(|record| message(record)) {
        let is_new = match get(&message, "toolCallId") {
            Some(call) => answered.insert(call.to_vec()),
            None => true,
        };
        if is_new {
            all.push(message);
        }
    }
    all
}

fn uncounted(message: &[u8]) -> Vec<u8> {
    match get(message, "usage") {
        Some(_) => json::with_member(message, "usage", &crate::dialect::shape::usage([0; 4])),
        None => message.to_vec(),
    }
}

/// Returns the contents that Gemini CLI sends when it resumes: each message, an answer followed by the results
/// of its calls.
pub(super) fn agent_context(path: &mut dyn PathRecords) -> Result<AgentContext> {
    let mut contents: Vec<Vec<u8>> = Vec::new();
    for at in 0..path.len() {
        let Some(record) = path.record(at)? else { continue };
        match get(record, "$set").filter(|_| get(record, "id").is_none()) {
            Some(set) => {
                let messages = history(set);
                contents = messages.into_iter().flat_map(own_contents).collect();
            }
            None => contents.extend(own_contents(record)),
        }
    }
    Ok(AgentContext { messages: contents, settings: Vec::new() })
}

fn own_contents(record: &[u8]) -> Vec<Vec<u8>> {
    let [kind, content, thoughts, calls] =
        json::get_all(record, ["type", "content", "thoughts", "toolCalls"]);
    let of = |role: &str, parts: &[Vec<u8>]| {
        ObjectBuilder::new().text("role", role).raw("parts", &array(parts)).close()
    };
    let mut all = parts(content);
    if kind == Some(b"\"user\"") {
        let text = all.iter().find_map(|part| literal(part, "text")).and_then(json::string);
        let text = text.unwrap_or_default();
        let text = text.trim_start();
        // Like Gemini CLI, this does not send commands and descriptions of the environment again.
        let is_ignored = ["/", "?", "<session_context>", "<hook_context>"]
            .iter()
            .any(|start| text.starts_with(start));
        return if is_ignored { Vec::new() } else { vec![of("user", &all)] };
    }
    if kind != Some(b"\"gemini\"") {
        return Vec::new();
    }
    let calls = calls.map(json::elements).unwrap_or_default();
    let is_whole = all
        .iter()
        .any(|part| get(part, "functionCall").is_some() || get(part, "thought") == Some(b"true"));
    if !is_whole {
        let thoughts = thoughts.map(json::elements).unwrap_or_default();
        let thoughts = thoughts.into_iter().filter(|thought| is_object(thought)).map(|text| {
            let thinking = thought(text);
            let text = get(&thinking, "thinking").unwrap_or(b"\"\"");
            ObjectBuilder::new().raw("text", text).raw("thought", b"true").close()
        });
        all.splice(0..0, thoughts);
        all.extend(calls.iter().filter(|call| is_object(call)).map(|call| {
            let [id, name, args] = members(call, ["id", "name", "args"]);
            let call = ObjectBuilder::new().maybe("id", id).maybe("name", name).maybe("args", args);
            ObjectBuilder::new().raw("functionCall", &call.close()).close()
        }));
    }
    if all.is_empty() {
        return Vec::new();
    }
    let mut contents = vec![of("model", &all)];
    let results: Vec<Vec<u8>> = calls
        .iter()
        .filter_map(|call| get(call, "result").filter(|result| *result != b"null"))
        .flat_map(|result| parts(Some(result)))
        .collect();
    if !results.is_empty() {
        contents.push(of("user", &results));
    }
    contents
}
