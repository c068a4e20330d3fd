//! Reads contents of Google's model API (`{role, parts}`), which several agents store unchanged.

use super::shape::{
    ObjectBuilder, array, count, get, inside, is_object, literal, members, quote, text_block,
    tool_result, user,
};
use crate::json;

/// The API name of the signatures in these contents.
pub(super) const API: &str = "google-generative-ai";

/// Returns the parts of some content: a list of parts, one part, or a text.
pub(super) fn parts(content: Option<&[u8]>) -> Vec<Vec<u8>> {
    match content {
        Some(list) if list.starts_with(b"[") => {
            json::elements(list).into_iter().map(as_part).collect()
        }
        Some(b"\"\"") | None => Vec::new(),
        Some(one) if one.starts_with(b"\"") || is_object(one) => vec![as_part(one)],
        Some(_) => Vec::new(),
    }
}

/// Returns an element of a list of parts; a text becomes a text part.
fn as_part(element: &[u8]) -> Vec<u8> {
    match element.starts_with(b"\"") {
        true => ObjectBuilder::new().raw("text", element).close(),
        false => element.to_vec(),
    }
}

/// Returns a part as a block; a part without a counterpart is not changed. Returns `None` for an
/// empty text.
pub(super) fn block(part: &[u8]) -> Option<Vec<u8>> {
    let keys = ["text", "thought", "thoughtSignature", "functionCall", "inlineData"];
    let [text, thought, signature, call, data] = members(part, keys);
    let text = text.filter(|text| text.starts_with(b"\""));
    let signature = signature.filter(|signature| signature.starts_with(b"\""));
    if let Some(call) = call.filter(|call| is_object(call)) {
        return Some(tool_call(call, signature));
    }
    if let Some(data) = data.filter(|data| is_object(data)) {
        return Some(inline_data(data).unwrap_or_else(|| part.to_vec()));
    }
    let Some(text) = text else { return Some(part.to_vec()) };
    if thought == Some(b"true") {
        let block = ObjectBuilder::new().text("type", "thinking").raw("thinking", text);
        return Some(block.maybe("thinkingSignature", signature).close());
    }
    (text != b"\"\"" || signature.is_some()).then(|| match signature {
        None => text_block(text),
        Some(signature) => {
            let block = ObjectBuilder::new().text("type", "text").raw("text", text);
            block.raw("textSignature", signature).close()
        }
    })
}

/// Returns all parts as blocks.
pub(super) fn blocks(parts: &[Vec<u8>]) -> Vec<Vec<u8>> {
    parts.iter().filter_map(|part| block(part)).collect()
}

fn tool_call(call: &[u8], signature: Option<&[u8]>) -> Vec<u8> {
    let [id, name, args] = members(call, ["id", "name", "args"]);
    ObjectBuilder::new()
        .text("type", "toolCall")
        .raw("id", &call_id(id, name))
        .raw("name", &quote(inside(name)))
        .raw("arguments", args.filter(|args| is_object(args)).unwrap_or(b"{}"))
        .maybe("thoughtSignature", signature)
        .close()
}

/// Returns the id that links a result to its call, or the tool's name if there is none.
fn call_id(id: Option<&[u8]>, name: Option<&[u8]>) -> Vec<u8> {
    let is_id = |id: &&[u8]| id.starts_with(b"\"") && *id != b"\"\"";
    quote(inside(id.filter(is_id).or(name)))
}

/// Returns an image; other data has no block.
fn inline_data(data: &[u8]) -> Option<Vec<u8>> {
    let mime_type = literal(data, "mimeType")?;
    let is_image = json::string(mime_type)?.starts_with("image/");
    let image = ObjectBuilder::new().text("type", "image").raw("data", literal(data, "data")?);
    is_image.then(|| image.raw("mimeType", mime_type).close())
}

/// Returns whether a part is the result of a call.
pub(super) fn is_response(part: &[u8]) -> bool {
    get(part, "functionResponse").is_some_and(is_object)
}

/// Returns the messages of a user content: each result of a call with the non-text parts after it,
/// then the other parts. `failed` is the id of a call whose result is an error.
pub(super) fn user_messages(
    parts: &[Vec<u8>],
    failed: Option<&[u8]>,
    millis: Option<i64>,
) -> Vec<Vec<u8>> {
    let (results, rest): (Vec<&Vec<u8>>, Vec<&Vec<u8>>) =
        parts.iter().partition(|part| is_response(part));
    let mut messages: Vec<Vec<u8>> =
        results.iter().map(|part| response(part, failed, millis)).collect();
    if messages.is_empty() || !rest.is_empty() {
        let blocks: Vec<Vec<u8>> = rest.into_iter().filter_map(|part| block(part)).collect();
        messages.push(user(&blocks, millis));
    }
    messages
}

/// Returns the result in a part.
pub(super) fn response(part: &[u8], failed: Option<&[u8]>, millis: Option<i64>) -> Vec<u8> {
    let response = get(part, "functionResponse").unwrap_or(b"{}");
    let [id, name, value, more] = members(response, ["id", "name", "response", "parts"]);
    let call = call_id(id, name);
    let [output, error] = members(value.unwrap_or(b"{}"), ["output", "error"]);
    let is_error = error.is_some() || failed.is_some_and(|failed| failed == &*call);
    let mut content = vec![match (output.or(error), value) {
        (Some(text), _) if text.starts_with(b"\"") => text_block(text),
        (Some(json), _) | (None, Some(json)) => text_block(&json::quoted(&json::to_unicode(json))),
        (None, None) => text_block(b"\"\""),
    }];
    content.extend(more.into_iter().flat_map(|more| blocks(&parts(Some(more)))));
    tool_result(&call, &quote(inside(name)), &content, is_error, millis)
}

/// Returns the tokens of an answer: input, output, read from a cache, written to a cache. Google
/// counts thoughts separately from the candidates, others include them; the total shows which.
pub(super) fn tokens(metadata: &[u8]) -> [u64; 4] {
    let keys = [
        "promptTokenCount",
        "candidatesTokenCount",
        "cachedContentTokenCount",
        "thoughtsTokenCount",
        "toolUsePromptTokenCount",
        "totalTokenCount",
    ];
    let [prompt, candidates, cached, thoughts, tool, total] = members(metadata, keys).map(count);
    tokens_of(prompt, candidates, cached, thoughts, tool, total)
}

pub(super) fn tokens_of(
    prompt: u64,
    candidates: u64,
    cached: u64,
    thoughts: u64,
    tool: u64,
    total: u64,
) -> [u64; 4] {
    let with_thoughts = candidates.saturating_add(thoughts);
    let output = match total {
        0 => with_thoughts,
        total => total.saturating_sub(prompt).clamp(candidates, with_thoughts),
    };
    [prompt.saturating_sub(cached).saturating_add(tool), output, cached.min(prompt), 0]
}

/// Returns the messages of a list of contents. The answers name no model and have no token counts.
pub(super) fn history(contents: &[&[u8]], millis: Option<i64>) -> Vec<Vec<u8>> {
    let messages = contents.iter().flat_map(|content| {
        let [role, list] = members(content, ["role", "parts"]);
        let parts = parts(list);
        match role {
            Some(b"\"model\"") => vec![
                ObjectBuilder::new()
                    .text("role", "assistant")
                    .raw("content", &array(&blocks(&parts)))
                    .text("api", API)
                    .raw("usage", &super::shape::usage([0; 4]))
                    .text("stopReason", "stop")
                    .raw("timestamp", &super::shape::time(millis))
                    .close(),
            ],
            _ => user_messages(&parts, None, millis),
        }
    });
    messages.collect()
}

/// Returns the texts of some content, joined, in the escaped form of a literal; empty if it has a
/// part that is not text.
pub(super) fn plain_text(content: &[u8]) -> Vec<u8> {
    let parts = parts(get(content, "parts"));
    let texts: Option<Vec<&[u8]>> = parts.iter().map(|part| literal(part, "text")).collect();
    let texts: Vec<&[u8]> =
        texts.unwrap_or_default().into_iter().map(|text| inside(Some(text))).collect();
    texts.join(&b"\\n\\n"[..])
}
