//! Converts records of Qwen Code to treering's format, and builds the history that Qwen Code itself
//! would send.

use crate::dialect::Decoded;
use crate::dialect::agent::{AgentContext, PathRecords};
use crate::dialect::genai::{self, blocks, parts, user_messages};
use crate::dialect::shape::{
    AnswerFields, ObjectBuilder, array, get, inside, is_object, literal, members, quote,
};
use crate::entry::NewEntry;
use crate::entry::head::timestamp;
use crate::error::Result;
use crate::json;

/// The provider of models whose record names none.
const PROVIDER: &[u8] = b"\"qwen\"";

/// Returns a record as an entry. Members that treering's format cannot hold stay in the record,
/// which every entry has.
pub(super) fn record(record: &[u8]) -> Decoded {
    let keys = ["type", "subtype", "timestamp", "message", "systemPayload"];
    let [kind, subtype, time, message, payload] = json::get_all(record, keys);
    let millis = time.and_then(timestamp);
    let message = message.filter(|message| is_object(message));
    let messages = match (kind, subtype, message) {
        (_, Some(b"\"realtime_message\""), _) => Vec::new(),
        (Some(b"\"assistant\""), ..) => vec![assistant(record, message, millis)],
        (Some(b"\"user\"" | b"\"tool_result\""), _, Some(message)) => {
            let failed = failed_call(record);
            user_messages(&parts(get(message, "parts")), failed.as_deref(), millis)
        }
        (Some(b"\"system\""), Some(b"\"chat_compression\""), _) => {
            return compaction(payload.unwrap_or(b"{}"), millis);
        }
        (Some(b"\"system\""), Some(b"\"custom_title\""), _) => {
            let title = payload.and_then(|payload| literal(payload, "customTitle"));
            let entry = NewEntry::of_type("session_info");
            return Decoded::of(entry.raw("name", &quote(inside(title))));
        }
        (Some(b"\"system\""), Some(b"\"session_model\""), _) => {
            let [model, provider] = members(payload.unwrap_or(b"{}"), ["modelId", "authType"]);
            let entry = NewEntry::of_type("model_change")
                .raw("provider", &quote(inside(provider)))
                .raw("modelId", &quote(inside(model)));
            return Decoded::of(entry);
        }
        _ => Vec::new(),
    };
    let mut messages = messages.into_iter();
    match messages.next() {
        Some(first) => Decoded {
            entry: NewEntry::of_type("message").raw("message", &first),
            more: messages.collect(),
        },
        None => note(subtype.or(kind), payload.or(message)),
    }
}

/// Returns a record that is not part of the conversation.
fn note(name: Option<&[u8]>, data: Option<&[u8]>) -> Decoded {
    let name = [b"qwen.", inside(name.filter(|name| name.starts_with(b"\"")))].concat();
    let entry = NewEntry::of_type("custom").raw("customType", &quote(&name));
    Decoded::of(match data {
        Some(data) => entry.raw("data", data),
        None => entry,
    })
}

fn assistant(record: &[u8], message: Option<&[u8]>, millis: Option<i64>) -> Vec<u8> {
    let [model, usage] = json::get_all(record, ["model", "usageMetadata"]);
    let content = blocks(&parts(message.and_then(|message| get(message, "parts"))));
    AnswerFields {
        content: &content,
        api: genai::API,
        provider: PROVIDER,
        model: &quote(inside(model.filter(|model| model.starts_with(b"\"")))),
        tokens: genai::tokens(usage.filter(|usage| is_object(usage)).unwrap_or(b"{}")),
        stop: None,
        millis,
    }
    .message()
}

/// Returns the id of the call that failed according to a record.
fn failed_call(record: &[u8]) -> Option<Vec<u8>> {
    let [call, status] = members(get(record, "toolCallResult")?, ["callId", "status"]);
    (status == Some(b"\"error\"")).then(|| quote(inside(call)))
}

/// Returns a compression: its first content is the summary if it has only text, and all others are
/// messages after it.
fn compaction(payload: &[u8], millis: Option<i64>) -> Decoded {
    let [info, history] = members(payload, ["info", "compressedHistory"]);
    let contents = history.map(json::elements).unwrap_or_default();
    let (summary, rest) = match contents.split_first() {
        Some((first, rest)) if get(first, "role") == Some(b"\"user\"") => {
            match genai::plain_text(first) {
                text if text.is_empty() => (text, &*contents),
                text => (text, rest),
            }
        }
        _ => (Vec::new(), &*contents),
    };
    let before = info
        .and_then(|info| get(info, "originalTokenCount"))
        .filter(|count| crate::entry::number(count).is_some_and(|count| count >= 0.0));
    let entry = NewEntry::of_type("compaction")
        .raw("summary", &quote(&summary))
        .raw("firstKeptEntryId", b"\"\"")
        .raw("tokensBefore", before.unwrap_or(b"0"));
    Decoded { entry, more: genai::history(rest, millis) }
}

/// Returns the contents that Qwen Code sends when it resumes.
pub(super) fn agent_context(path: &mut dyn PathRecords) -> Result<AgentContext> {
    let mut contents: Vec<Vec<u8>> = Vec::new();
    for at in 0..path.len() {
        let Some(record) = path.record(at)? else { continue };
        let keys = ["type", "subtype", "message", "systemPayload"];
        let [kind, subtype, message, payload] = json::get_all(record, keys);
        if kind == Some(b"\"system\"") {
            let history = payload
                .filter(|_| subtype == Some(b"\"chat_compression\""))
                .and_then(|payload| get(payload, "compressedHistory"))
                .filter(|history| history.starts_with(b"["));
            if let Some(history) = history {
                contents = json::elements(history).into_iter().map(<[u8]>::to_vec).collect();
            }
            continue;
        }
        let is_spoken = subtype == Some(b"\"realtime_message\"");
        let Some(message) = message.filter(|message| is_object(message) && !is_spoken) else {
            continue;
        };
        let is_within_turn = subtype == Some(b"\"mid_turn_user_message\"");
        match contents
            .last_mut()
            .filter(|last| is_within_turn && get(last, "role") == Some(b"\"user\""))
        {
            Some(last) => *last = joined(last, message),
            None => contents.push(message.to_vec()),
        }
    }
    Ok(AgentContext { messages: contents, settings: Vec::new() })
}

/// Returns some content with the parts of another appended.
fn joined(content: &[u8], other: &[u8]) -> Vec<u8> {
    let all = [parts(get(content, "parts")), parts(get(other, "parts"))].concat();
    ObjectBuilder::new()
        .raw("role", get(content, "role").unwrap_or(b"null"))
        .raw("parts", &array(&all))
        .close()
}
