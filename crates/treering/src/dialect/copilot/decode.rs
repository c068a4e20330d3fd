//! Converts events of GitHub Copilot CLI to treering's format.

use crate::dialect::Decoded;
use crate::dialect::agent::{AgentContext, PathRecords};
use crate::dialect::shape::{
    AnswerFields, ObjectBuilder, array, count, get, inside, is_object, literal, members, quote,
    text_block, tool_result, usage, user,
};
use crate::entry::NewEntry;
use crate::entry::head::timestamp;
use crate::error::Result;
use crate::json;

/// The API name of signatures, which are Copilot's own.
const API: &str = "github-copilot";

const PROVIDER: &[u8] = b"\"github-copilot\"";

/// Returns an event as an entry.
pub(super) fn record(record: &[u8]) -> Decoded {
    let [kind, data, time] = json::get_all(record, ["type", "data", "timestamp"]);
    let data = data.filter(|data| is_object(data)).unwrap_or(b"{}");
    let millis = time.and_then(timestamp);
    let message = |message: Vec<u8>| NewEntry::of_type("message").raw("message", &message);
    let model = |key| {
        NewEntry::of_type("model_change")
            .raw("provider", PROVIDER)
            .raw("modelId", &quote(inside(literal(data, key))))
    };
    Decoded::of(match kind {
        Some(b"\"user.message\"") => message(user(&user_content(data), millis)),
        Some(b"\"assistant.message\"") => message(assistant(data, millis)),
        Some(b"\"tool.execution_complete\"") if answers_a_call(data) => {
            message(result(data, millis))
        }
        Some(b"\"session.start\"") if literal(data, "selectedModel").is_some() => {
            model("selectedModel")
        }
        Some(b"\"session.model_change\"") => model("newModel"),
        Some(b"\"session.usage_record\"") if get(data, "usage").is_some_and(is_object) => {
            usage_entry(get(data, "usage").unwrap_or(b"{}"))
        }
        Some(b"\"session.compaction_complete\"") if summary(data).is_some() => compaction(data),
        Some(b"\"session.context_cleared\"") => NewEntry::of_type("reset_boundary"),
        Some(b"\"system.notification\"") => NewEntry::of_type("custom_message")
            .raw("customType", b"\"copilot.system.notification\"")
            .raw("content", &array(&[text_block(&quote(inside(literal(data, "content"))))]))
            .raw("display", b"true"),
        _ => {
            let kind = kind.filter(|kind| kind.starts_with(b"\""));
            let name = [b"copilot.", inside(kind)].concat();
            NewEntry::of_type("custom").raw("customType", &quote(&name)).raw("data", data)
        }
    })
}

/// Returns the content of a user message, with the attached images.
fn user_content(data: &[u8]) -> Vec<Vec<u8>> {
    let mut blocks = vec![text_block(&quote(inside(literal(data, "content"))))];
    let attachments = get(data, "attachments").map(json::elements).unwrap_or_default();
    blocks.extend(attachments.into_iter().filter_map(image));
    blocks
}

/// Returns an image that is in the event itself.
fn image(object: &[u8]) -> Option<Vec<u8>> {
    let (data, mime_type) = (literal(object, "data")?, literal(object, "mimeType")?);
    let is_image = json::string(mime_type)?.starts_with("image/");
    let image =
        ObjectBuilder::new().text("type", "image").raw("data", data).raw("mimeType", mime_type);
    is_image.then(|| image.close())
}

/// Returns an answer. Its token counts are in an event of their own.
fn assistant(data: &[u8], millis: Option<i64>) -> Vec<u8> {
    let keys = ["reasoningText", "reasoningOpaque", "encryptedContent", "content", "toolRequests"];
    let [reasoning, opaque, encrypted, content, requests] = members(data, keys);
    let is_text = |literal: &&[u8]| literal.starts_with(b"\"") && *literal != b"\"\"";
    let signature = opaque.filter(is_text).or(encrypted.filter(is_text));
    let reasoning = reasoning.filter(is_text);
    let mut blocks = Vec::new();
    if reasoning.is_some() || signature.is_some() {
        let block = ObjectBuilder::new()
            .text("type", "thinking")
            .raw("thinking", reasoning.unwrap_or(b"\"\""))
            .maybe("thinkingSignature", signature);
        blocks.push(block.close());
    }
    blocks.extend(content.filter(is_text).map(text_block));
    let requests = requests.map(json::elements).unwrap_or_default();
    blocks.extend(requests.into_iter().filter(|request| is_object(request)).map(tool_call));
    AnswerFields {
        content: &blocks,
        api: API,
        provider: PROVIDER,
        model: &quote(inside(literal(data, "model"))),
        tokens: [0; 4],
        stop: None,
        millis,
    }
    .message()
}

fn tool_call(request: &[u8]) -> Vec<u8> {
    let arguments = get(request, "arguments");
    let object = match arguments {
        Some(object) if is_object(object) => object.to_vec(),
        // Tools without a schema get a text.
        Some(text) => ObjectBuilder::new().raw("input", text).close(),
        None => b"{}".to_vec(),
    };
    ObjectBuilder::new()
        .text("type", "toolCall")
        .raw("id", &quote(inside(literal(request, "toolCallId"))))
        .raw("name", &quote(inside(literal(request, "name"))))
        .raw("arguments", &object)
        .close()
}

/// Returns whether the end of a tool's execution is the result of a model's call: users run tools
/// as well.
pub(super) fn answers_a_call(data: &[u8]) -> bool {
    let [call, is_users] = members(data, ["toolCallId", "isUserRequested"]);
    call.is_some_and(|call| call.starts_with(b"\"")) && is_users != Some(b"true")
}

fn result(data: &[u8], millis: Option<i64>) -> Vec<u8> {
    let [call, success, result, error] =
        members(data, ["toolCallId", "success", "result", "error"]);
    let text = |object: Option<&[u8]>, key| quote(inside(literal(object.unwrap_or(b"{}"), key)));
    let mut content = vec![text_block(&match result {
        Some(_) => text(result, "content"),
        None => text(error, "message"),
    })];
    let binary = result.and_then(|result| get(result, "binaryResultsForLlm"));
    content.extend(binary.map(json::elements).unwrap_or_default().into_iter().filter_map(image));
    tool_result(&quote(inside(call)), b"\"\"", &content, success == Some(b"false"), millis)
}

/// Returns the tokens of a request; cached tokens are part of the input in the file.
fn tokens(usage: &[u8]) -> [u64; 4] {
    let keys = ["inputTokens", "outputTokens", "cacheReadTokens", "cacheWriteTokens"];
    let [input, output, read, write] = members(usage, keys).map(count);
    [input.saturating_sub(read).saturating_sub(write), output, read, write]
}

fn usage_entry(object: &[u8]) -> NewEntry {
    let [model, initiator] = members(object, ["model", "initiator"]);
    let is_text = |literal: &&[u8]| literal.starts_with(b"\"");
    NewEntry::of_type("usage")
        .raw("kind", initiator.filter(is_text).unwrap_or(b"\"answer\""))
        .raw("provider", PROVIDER)
        .raw("model", model.filter(is_text).unwrap_or(b"\"\""))
        .raw("usage", &usage(tokens(object)))
}

/// Returns the summary of a compaction that succeeded.
pub(super) fn summary(data: &[u8]) -> Option<&[u8]> {
    literal(data, "summaryContent").filter(|_| get(data, "success") == Some(b"true"))
}

fn compaction(data: &[u8]) -> NewEntry {
    let [before, used] = members(data, ["preCompactionTokens", "compactionTokensUsed"]);
    let entry = NewEntry::of_type("compaction")
        .raw("summary", summary(data).unwrap_or(b"\"\""))
        .raw("firstKeptEntryId", b"\"\"")
        .raw("tokensBefore", &count(before).to_string().into_bytes());
    match used.filter(|used| is_object(used)) {
        Some(used) => entry.raw("usage", &usage(tokens(used))),
        None => entry,
    }
}

/// Returns the messages that Copilot sends again when it resumes: the transformed messages of the
/// user, its own answers and the results of its calls, from the last compaction on.
pub(super) fn agent_context(path: &mut dyn PathRecords) -> Result<AgentContext> {
    let mut messages: Vec<Vec<u8>> = Vec::new();
    for at in 0..path.len() {
        let Some(record) = path.record(at)? else { continue };
        let [kind, data] = json::get_all(record, ["type", "data"]);
        let Some(data) = data.filter(|data| is_object(data)) else { continue };
        let message = |role: &str, key: &str| {
            ObjectBuilder::new()
                .text("role", role)
                .raw("content", &quote(inside(literal(data, key))))
        };
        match kind {
            Some(b"\"user.message\"") => {
                let key = match literal(data, "transformedContent") {
                    Some(_) => "transformedContent",
                    None => "content",
                };
                messages.push(message("user", key).close());
            }
            Some(b"\"assistant.message\"") => {
                let calls = get(data, "toolRequests").filter(|calls| *calls != b"[]");
                messages.push(message("assistant", "content").maybe("toolRequests", calls).close());
            }
            Some(b"\"tool.execution_complete\"") if answers_a_call(data) => {
                let [call, result, error] = members(data, ["toolCallId", "result", "error"]);
                let object = ObjectBuilder::new().text("role", "tool").maybe("toolCallId", call);
                messages.push(object.maybe("result", result).maybe("error", error).close());
            }
            Some(b"\"session.compaction_complete\"") if summary(data).is_some() => {
                messages = vec![message("user", "summaryContent").close()];
            }
            Some(b"\"session.context_cleared\"") => messages.clear(),
            _ => {}
        }
    }
    Ok(AgentContext { messages, settings: Vec::new() })
}
