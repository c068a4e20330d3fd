//! Converts messages of OpenCode to treering's format.

use super::content;
use crate::dialect::shape::{
    AnswerFields, ObjectBuilder, count, get, inside, is_object, literal, members, quote,
    text_block, tool_result, usage, user,
};
use crate::dialect::{Decoded, Price, RequestMetadata};
use crate::entry::NewEntry;
use crate::entry::head::timestamp;
use crate::json;

/// The API name of signatures of thoughts, which are those of OpenCode's library.
const API: &str = "opencode";

/// The text that OpenCode sends instead of a result that it removed to save space.
const CLEARED: &[u8] = b"\"[Old tool result content cleared]\"";

/// The text that OpenCode sends instead of a result that never came.
const INTERRUPTED: &[u8] = b"\"[Tool execution was interrupted]\"";

/// Returns a message as an entry.
pub(super) fn record(record: &[u8]) -> Decoded {
    let (info, parts) = content(record);
    let [time, tail] = members(record, ["time", "tail"]);
    let millis = time.and_then(timestamp);
    let role = literal(info, "role");
    let parts_literal = get(record, "parts");
    let messages = match role {
        Some(b"\"user\"") if !is_compaction_request(parts_literal) => {
            vec![user(&user_content(&parts), millis)]
        }
        Some(b"\"assistant\"") if is_summary(info) => {
            let entry = NewEntry::of_type("compaction")
                .raw("summary", &joined_text(&parts))
                .raw("firstKeptEntryId", tail.unwrap_or(b"\"\""))
                .raw("tokensBefore", b"0")
                .raw("usage", &usage(tokens(info, &parts)));
            return Decoded::of(entry);
        }
        Some(b"\"assistant\"") => answers(info, &parts, millis),
        _ => {
            let name = match role {
                Some(b"\"user\"") => b"opencode.compaction".to_vec(),
                role => [b"opencode.", inside(role)].concat(),
            };
            let entry = NewEntry::of_type("custom").raw("customType", &quote(&name));
            return Decoded::of(entry.raw("data", record));
        }
    };
    let mut messages = messages.into_iter();
    let first = messages.next().unwrap_or_default();
    Decoded { entry: NewEntry::of_type("message").raw("message", &first), more: messages.collect() }
}

/// Returns whether a user message only asks for a compaction.
pub(super) fn is_compaction_request(parts: Option<&[u8]>) -> bool {
    let parts = parts.filter(|parts| parts.starts_with(b"[")).map(json::elements);
    let kinds = parts.unwrap_or_default();
    kinds.iter().any(|part| is_object(part) && get(part, "type") == Some(b"\"compaction\""))
}

/// Returns whether an answer is a summary that replaces the messages before it.
pub(super) fn is_summary(info: &[u8]) -> bool {
    let [summary, finish, error] = members(info, ["summary", "finish", "error"]);
    summary == Some(b"true") && finish.is_some() && error.is_none_or(|error| error == b"null")
}

/// Returns the texts of an answer, joined.
pub(super) fn joined_text(parts: &[&[u8]]) -> Vec<u8> {
    let texts = parts.iter().filter(|part| get(part, "type") == Some(b"\"text\""));
    let texts: Vec<&[u8]> = texts.map(|part| inside(literal(part, "text"))).collect();
    quote(&texts.join(&b"\\n\\n"[..]))
}

/// Returns the content of a user message. Text files are also in texts of their own.
fn user_content(parts: &[&[u8]]) -> Vec<Vec<u8>> {
    let block = |part: &&[u8]| match get(part, "type") {
        Some(b"\"text\"") if get(part, "ignored") != Some(b"true") => {
            Some(text_block(literal(part, "text").unwrap_or(b"\"\"")))
        }
        Some(b"\"file\"") => file(part),
        Some(b"\"subtask\"") => {
            Some(text_block(b"\"The following tool was executed by the user\""))
        }
        _ => None,
    };
    parts.iter().filter_map(block).collect()
}

/// Returns a file that the model gets: an image, or the name of any other file.
pub(super) fn file(part: &[u8]) -> Option<Vec<u8>> {
    let [mime, url, name] = members(part, ["mime", "url", "filename"]);
    let mime = mime.filter(|mime| mime.starts_with(b"\""))?;
    if matches!(mime, b"\"text/plain\"" | b"\"application/x-directory\"") {
        return None;
    }
    let url = inside(url.filter(|url| url.starts_with(b"\"")));
    let data = url.strip_prefix(b"data:").and_then(|rest| {
        let comma = memchr::memchr(b',', rest)?;
        let (kind, data) = (rest.get(..comma)?, rest.get(comma + 1..)?);
        kind.ends_with(b";base64").then_some(data)
    });
    Some(match data {
        Some(data) if mime.starts_with(b"\"image/") => ObjectBuilder::new()
            .text("type", "image")
            .raw("data", &quote(data))
            .raw("mimeType", mime)
            .close(),
        _ => {
            let name = name.filter(|name| name.starts_with(b"\"")).unwrap_or(b"\"file\"");
            let text = [b"[Attached ", inside(Some(mime)), b": ", inside(Some(name)), b"]"];
            text_block(&quote(&text.concat()))
        }
    })
}

/// Returns an answer and the results of its calls. In older versions a message has several steps,
/// each of which is an answer.
fn answers(info: &[u8], parts: &[&[u8]], millis: Option<i64>) -> Vec<Vec<u8>> {
    let [provider, model, error] = members(info, ["providerID", "modelID", "error"]);
    let is_text = |literal: &&[u8]| literal.starts_with(b"\"");
    let provider = provider.filter(is_text).unwrap_or(b"\"\"");
    let model = model.filter(is_text).unwrap_or(b"\"\"");
    let is_start = |part: &&&[u8]| get(part, "type") == Some(b"\"step-start\"");
    let mut steps: Vec<Vec<&[u8]>> = vec![Vec::new()];
    for part in parts {
        match is_start(&part) && steps.last().is_some_and(|step| !step.is_empty()) {
            true => steps.push(vec![part]),
            false => steps.last_mut().into_iter().for_each(|step| step.push(part)),
        }
    }
    let time = get(info, "time").filter(|time| is_object(time)).unwrap_or(b"{}");
    let has_ended = error.is_some_and(is_object) || get(time, "completed").is_some();
    let last = steps.len() - 1;
    let mut messages = Vec::new();
    for (at, step) in steps.iter().enumerate() {
        let blocks: Vec<Vec<u8>> = step.iter().filter_map(|part| block(part)).collect();
        let failed = error.filter(|error| is_object(error) && at == last);
        let stop = failed.map(|error| match literal(error, "name") {
            Some(b"\"MessageAbortedError\"") => "aborted",
            _ => "error",
        });
        let tokens = if at == 0 { tokens(info, parts) } else { [0; 4] };
        let answer =
            AnswerFields { content: &blocks, api: API, provider, model, tokens, stop, millis };
        let mut message = answer.message();
        let reason = failed.and_then(|error| get(error, "data"));
        let reason =
            reason.filter(|data| is_object(data)).and_then(|data| literal(data, "message"));
        if let Some(reason) = reason {
            message = json::with_member(&message, "errorMessage", reason);
        }
        messages.push(message);
        messages.extend(step.iter().filter_map(|part| result(part, has_ended)));
    }
    messages
}

/// Returns a part of an answer as a block.
fn block(part: &[u8]) -> Option<Vec<u8>> {
    Some(match get(part, "type") {
        Some(b"\"text\"") => text_block(literal(part, "text").unwrap_or(b"\"\"")),
        Some(b"\"reasoning\"") => ObjectBuilder::new()
            .text("type", "thinking")
            .raw("thinking", literal(part, "text").unwrap_or(b"\"\""))
            .maybe("thinkingSignature", signature(part))
            .close(),
        Some(b"\"tool\"") => {
            let state = get(part, "state").filter(|state| is_object(state)).unwrap_or(b"{}");
            let input = get(state, "input").filter(|input| is_object(input)).unwrap_or(b"{}");
            ObjectBuilder::new()
                .text("type", "toolCall")
                .raw("id", &quote(inside(literal(part, "callID"))))
                .raw("name", &quote(inside(literal(part, "tool"))))
                .raw("arguments", input)
                .close()
        }
        _ => return None,
    })
}

/// Returns the signature of a thought, which is stored under the name of its provider.
fn signature(part: &[u8]) -> Option<&[u8]> {
    let metadata = get(part, "metadata").filter(|metadata| is_object(metadata))?;
    json::Members::new(metadata, 0).find_map(|member| {
        let provider = metadata.get(member.value).filter(|value| is_object(value))?;
        literal(provider, "signature").or_else(|| literal(provider, "thoughtSignature"))
    })
}

/// Returns the result of a call that has ended. If the answer has ended and the call has not, it
/// never will, and OpenCode sends this to the model.
fn result(part: &[u8], has_answer_ended: bool) -> Option<Vec<u8>> {
    let state = get(part, "state").filter(|state| is_object(state))?;
    if get(part, "type") != Some(b"\"tool\"") {
        return None;
    }
    let [status, output, error, time, attachments] =
        members(state, ["status", "output", "error", "time", "attachments"]);
    let time = time.filter(|time| is_object(time)).unwrap_or(b"{}");
    let [end, compacted] = members(time, ["end", "compacted"]);
    let is_text = |literal: &&[u8]| literal.starts_with(b"\"");
    let (text, is_error) = match status {
        Some(b"\"completed\"") if compacted.is_some() => (CLEARED, false),
        Some(b"\"completed\"") => (output.filter(is_text).unwrap_or(b"\"\""), false),
        Some(b"\"error\"") => (error.filter(is_text).unwrap_or(b"\"\""), true),
        _ if has_answer_ended => (INTERRUPTED, true),
        _ => return None,
    };
    let mut content = vec![text_block(text)];
    let attachments = attachments.filter(|list| list.starts_with(b"[") && compacted.is_none());
    let attachments = attachments.map(json::elements).unwrap_or_default();
    content.extend(attachments.into_iter().filter(|part| is_object(part)).filter_map(file));
    let (call, name) = (inside(literal(part, "callID")), inside(literal(part, "tool")));
    let millis = end.and_then(timestamp);
    Some(tool_result(&quote(call), &quote(name), &content, is_error, millis))
}

/// Returns the tokens of a message: the sum over its steps. The message itself has only those of
/// the last one.
fn tokens(info: &[u8], parts: &[&[u8]]) -> [u64; 4] {
    let of = |object: &[u8]| {
        let tokens = get(object, "tokens").filter(|tokens| is_object(tokens)).unwrap_or(b"{}");
        let [input, output, reasoning, cache] =
            members(tokens, ["input", "output", "reasoning", "cache"]);
        let cache = cache.filter(|cache| is_object(cache)).unwrap_or(b"{}");
        let [read, write] = members(cache, ["read", "write"]).map(count);
        [count(input), count(output).saturating_add(count(reasoning)), read, write]
    };
    let steps = parts.iter().filter(|part| get(part, "type") == Some(b"\"step-finish\""));
    let steps: Vec<[u64; 4]> = steps.map(|part| of(part)).collect();
    match &*steps {
        [] => of(info),
        steps => steps
            .iter()
            .fold([0; 4], |sum, step| std::array::from_fn(|at| sum[at].saturating_add(step[at]))),
    }
}

/// Returns the cost and the identity of the request. A fork copies messages under new ids, but with
/// the same times, so the times identify the request. A cost of zero means that the model has no
/// known price.
pub(super) fn request_metadata(record: &[u8]) -> RequestMetadata {
    let (info, _) = content(record);
    let [cost, model, time] = members(info, ["cost", "modelID", "time"]);
    let dollars = cost.and_then(crate::entry::number).filter(|cost| *cost > 0.0);
    let time = time.filter(|time| is_object(time)).unwrap_or(b"{}");
    let [created, completed] = members(time, ["created", "completed"]);
    let response = match (created, completed) {
        (Some(created), Some(completed)) => {
            let name = [b"opencode ", created, b" ", completed, b" ", model.unwrap_or_default()];
            Some(name.concat())
        }
        _ => None,
    };
    let price = dollars.map_or(Price::Unstated, Price::Dollars);
    RequestMetadata { response, price, ..RequestMetadata::default() }
}
