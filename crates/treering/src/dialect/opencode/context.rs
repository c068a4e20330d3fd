//! Builds the messages that OpenCode sends, in the format of its library: `{role, content}`.

use super::content;
use super::decode::{is_compaction_request, is_summary};
use crate::dialect::agent::{AgentContext, PathRecords};
use crate::dialect::shape::{
    ObjectBuilder, array, get, inside, is_object, literal, members, quote,
};
use crate::error::Result;
use crate::json;

/// The properties of a message that the context needs.
struct ConvertedMessage {
    id: Vec<u8>,
    messages: Vec<Vec<u8>>,
    /// For a summary: the first message that it keeps, if any.
    summary: Option<Option<Vec<u8>>>,
    is_request: bool,
}

/// Returns the context at the end of a path: from the last finished compaction on, its request, its
/// summary, the messages that it keeps, and those that follow.
pub(super) fn agent_context(path: &mut dyn PathRecords) -> Result<AgentContext> {
    let mut sent: Vec<ConvertedMessage> = Vec::new();
    for at in 0..path.len() {
        let Some(record) = path.record(at)? else { continue };
        let (info, parts) = content(record);
        let messages = match literal(info, "role") {
            Some(b"\"user\"") => user(&parts),
            Some(b"\"assistant\"") => assistant(info, &parts),
            _ => continue,
        };
        let summary = is_summary(info).then(|| literal(record, "tail").map(<[u8]>::to_vec));
        sent.push(ConvertedMessage {
            id: get(record, "id").unwrap_or_default().to_vec(),
            messages,
            summary,
            is_request: is_compaction_request(get(record, "parts")),
        });
    }
    let Some(last) = sent.iter().rposition(|message| message.summary.is_some()) else {
        return Ok(of(&sent));
    };
    let request = sent[..last].iter().rposition(|message| message.is_request).unwrap_or(last);
    let tail = sent[last].summary.clone().flatten();
    let tail = tail.and_then(|tail| sent[..request].iter().position(|message| message.id == tail));
    let (before, after) = sent.split_at(request);
    let (summary, after) = after.split_at(last - request + 1);
    let kept = before.get(tail.unwrap_or(before.len())..).unwrap_or_default();
    Ok(of(summary.iter().chain(kept).chain(after)))
}

fn of<'a>(sent: impl IntoIterator<Item = &'a ConvertedMessage>) -> AgentContext {
    let messages = sent.into_iter().flat_map(|message| message.messages.iter().cloned()).collect();
    AgentContext { messages, settings: Vec::new() }
}

fn text(literal: &[u8]) -> Vec<u8> {
    ObjectBuilder::new().text("type", "text").raw("text", literal).close()
}

fn message(role: &str, content: &[Vec<u8>]) -> Vec<u8> {
    ObjectBuilder::new().text("role", role).raw("content", &array(content)).close()
}

fn user(parts: &[&[u8]]) -> Vec<Vec<u8>> {
    let sent = |part: &&[u8]| match get(part, "type") {
        Some(b"\"text\"") => {
            let literal = literal(part, "text").filter(|text| *text != b"\"\"")?;
            (get(part, "ignored") != Some(b"true")).then(|| text(literal))
        }
        Some(b"\"file\"") => {
            let [mime, url, name] = members(part, ["mime", "url", "filename"]);
            let is_text =
                |mime: &[u8]| matches!(mime, b"\"text/plain\"" | b"\"application/x-directory\"");
            let file = ObjectBuilder::new().text("type", "file").maybe("mediaType", mime);
            let file = file.maybe("filename", name).maybe("data", url).close();
            (!mime.is_some_and(is_text)).then_some(file)
        }
        Some(b"\"compaction\"") => Some(text(b"\"What did we do so far?\"")),
        Some(b"\"subtask\"") => Some(text(b"\"The following tool was executed by the user\"")),
        _ => None,
    };
    let content: Vec<Vec<u8>> = parts.iter().filter_map(sent).collect();
    if content.is_empty() { Vec::new() } else { vec![message("user", &content)] }
}

/// Returns an answer and a message with the results of its calls, for each of its steps. A failed
/// answer is not sent, unless the user stopped it after it had begun.
fn assistant(info: &[u8], parts: &[&[u8]]) -> Vec<Vec<u8>> {
    let kind = |part: &&[u8]| get(part, "type").map(<[u8]>::to_vec);
    let is_idle =
        |part: &&[u8]| matches!(kind(part).as_deref(), Some(b"\"step-start\"" | b"\"reasoning\""));
    if let Some(error) = get(info, "error").filter(|error| is_object(error)) {
        let is_stopped = literal(error, "name") == Some(b"\"MessageAbortedError\"");
        if !is_stopped || parts.iter().all(is_idle) {
            return Vec::new();
        }
    }
    let mut messages = Vec::new();
    let (mut answer, mut results) = (Vec::new(), Vec::new());
    let mut flush = |answer: &mut Vec<Vec<u8>>, results: &mut Vec<Vec<u8>>| {
        for (role, content) in [("assistant", answer), ("tool", results)] {
            if !content.is_empty() {
                messages.push(message(role, content));
                content.clear();
            }
        }
    };
    for part in parts {
        match get(part, "type") {
            Some(b"\"step-start\"") => flush(&mut answer, &mut results),
            Some(b"\"text\"") => {
                let words = literal(part, "text").filter(|text| *text != b"\"\"");
                answer.extend(words.map(text));
            }
            Some(b"\"reasoning\"") => {
                let thought = ObjectBuilder::new().text("type", "reasoning");
                let thought = thought.raw("text", literal(part, "text").unwrap_or(b"\"\""));
                answer.push(thought.maybe("providerOptions", get(part, "metadata")).close());
            }
            Some(b"\"tool\"") => {
                let call = quote(inside(literal(part, "callID")));
                let name = quote(inside(literal(part, "tool")));
                let object = |kind: &str| {
                    let object = ObjectBuilder::new().text("type", kind);
                    object.raw("toolCallId", &call).raw("toolName", &name)
                };
                let state = get(part, "state").filter(|state| is_object(state)).unwrap_or(b"{}");
                answer.push(
                    object("tool-call").raw("input", get(state, "input").unwrap_or(b"{}")).close(),
                );
                results.push(object("tool-result").raw("output", &output(state)).close());
            }
            _ => {}
        }
    }
    flush(&mut answer, &mut results);
    messages
}

/// Returns the output of a call; a call that has not ended counts as interrupted.
fn output(state: &[u8]) -> Vec<u8> {
    let [status, output, error, time] = members(state, ["status", "output", "error", "time"]);
    let is_cleared =
        time.filter(|time| is_object(time)).is_some_and(|time| get(time, "compacted").is_some());
    let is_text = |literal: &&[u8]| literal.starts_with(b"\"");
    let (kind, value) = match status {
        Some(b"\"completed\"") if is_cleared => {
            ("text", &b"\"[Old tool result content cleared]\""[..])
        }
        Some(b"\"completed\"") => ("text", output.filter(is_text).unwrap_or(b"\"\"")),
        Some(b"\"error\"") => ("error-text", error.filter(is_text).unwrap_or(b"\"\"")),
        _ => ("error-text", &b"\"[Tool execution was interrupted]\""[..]),
    };
    ObjectBuilder::new()
        .text("type", kind)
        .raw("value", &json::inside(value).map_or_else(Vec::new, quote))
        .close()
}
