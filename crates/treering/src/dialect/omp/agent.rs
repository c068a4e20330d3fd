//! The context as omp itself builds it from the records of a path.
//!
//! One pass collects the settings and finds the latest compaction and the latest reset; of the two
//! the later one decides where the messages start. A second pass emits the messages, and [`replay`]
//! removes messages that must not be sent again. Messages are copied unchanged, including blob
//! references.
//!
//! Left out: the notebook that omp's experimental context notes put in front (its wording is omp's
//! own), and the blocks and images that omp renders from a `snapcompact` archive; only the summary
//! of such a compaction is used.

use super::replay;
use super::settings::Settings;
use crate::dialect::agent::{AgentContext, PathRecords};
use crate::entry::head;
use crate::error::Result;
use crate::json;
use crate::json::stringify;
use std::borrow::Cow;
use std::ops::Range;

/// A JSON value, or `None` if JavaScript leaves it undefined.
pub(super) type JsValue = Option<Vec<u8>>;

pub(super) fn context(path: &mut dyn PathRecords) -> Result<AgentContext> {
    let survey = Survey::of(path)?;
    let mut messages = Vec::new();
    match survey.compaction {
        Some(at) if survey.reset.is_none_or(|reset| reset < at) => {
            compacted(path, &survey, at, &mut messages)?;
        }
        _ => {
            let rest = survey.reset.map_or(0, |reset| reset + 1)..path.len();
            emit(path, rest, &mut messages)?;
        }
    }
    let messages = replay::without_dangling_calls(messages);
    let messages = replay::without_failed_turns(messages);
    Ok(AgentContext { messages, settings: survey.settings.finish() })
}

/// Facts about a path that are needed before its first message.
struct Survey {
    settings: Settings,
    /// The ids in one spelling, by index.
    ids: Vec<JsValue>,
    compaction: Option<usize>,
    reset: Option<usize>,
}

impl Survey {
    fn of(path: &mut dyn PathRecords) -> Result<Self> {
        let ids = Vec::with_capacity(path.len());
        let (settings, compaction, reset) = (Settings::default(), None, None);
        let mut survey = Survey { settings, ids, compaction, reset };
        for at in 0..path.len() {
            let record = path.record(at)?.unwrap_or(b"{}");
            survey.ids.push(json::get(record, "id").map(stringify::compact));
            let type_name = type_of(record);
            match &*type_name {
                "compaction" => survey.compaction = Some(at),
                "reset_boundary" => survey.reset = Some(at),
                other => survey.settings.take(other, record),
            }
        }
        Ok(survey)
    }

    /// Returns the first entry whose id is the member `key` of `record`.
    fn named_by(&self, record: &[u8], key: &str) -> Option<usize> {
        let id = json::get(record, key).map(stringify::compact);
        self.ids.iter().position(|other| *other == id)
    }
}

/// Builds the summary, the entries that the compaction at `at` keeps, and those that follow it.
fn compacted(
    path: &mut dyn PathRecords,
    survey: &Survey,
    at: usize,
    messages: &mut Vec<Vec<u8>>,
) -> Result<()> {
    let compaction = path.record(at)?.unwrap_or(b"{}").to_vec();
    let first_kept = survey.named_by(&compaction, "firstKeptEntryId");
    let kept = first_kept.filter(|&kept| kept < at);
    let preserved = json::get(&compaction, "preserveData").unwrap_or(b"{}");
    let remote = remote_payload(preserved);
    let mut time = time_of(&compaction);
    let mut payload = remote.clone();
    if let Some(native) = native_payload(preserved) {
        // Such a summary must not look newer than the entries that it keeps.
        if let Some(retained) = kept.or(Some(at + 1).filter(|&next| next < path.len()))
            && let Some(before) = time_of(path.record(retained)?.unwrap_or(b"{}"))
        {
            time = Some(before - 1);
        }
        payload = payload.or(Some(native));
    }
    messages.push(summary_message(&compaction, payload, time));

    let details = json::get(&compaction, "details").unwrap_or(b"{}");
    if text_is(details, "kind", "experimental-context-rollover") {
        let from = survey.reset.map_or(0, |reset| reset + 1);
        if let Some(request) = latest_request(path, from..at)?
            && first_kept.is_some_and(|kept| request < kept)
        {
            emit(path, request..request + 1, messages)?;
        }
    }
    let replay_from = match remote {
        None => kept,
        // The provider's own history replaces everything up to this entry.
        Some(_) => json::get(&compaction, "providerReplayThroughEntryId")
            .filter(|id| is_truthy(id))
            .and_then(|_| survey.named_by(&compaction, "providerReplayThroughEntryId"))
            .filter(|&through| through < at)
            .map(|through| through + 1),
    };
    if let Some(from) = replay_from {
        emit(path, from..at, messages)?;
    }
    let rest = at + 1..path.len();
    emit(path, rest, messages)
}

/// Returns the last entry in `range` that is a request in the user's name.
fn latest_request(path: &mut dyn PathRecords, range: Range<usize>) -> Result<Option<usize>> {
    for at in range.rev() {
        let record = path.record(at)?.unwrap_or(b"{}");
        let asks = match &*type_of(record) {
            "message" => {
                let message = json::get(record, "message").unwrap_or(b"{}");
                text_is(message, "role", "user")
                    || text_is(message, "role", "custom") && is_users_prompt(message)
            }
            "custom_message" => {
                custom_message(record).is_some_and(|message| is_users_prompt(&message))
            }
            _ => false,
        };
        if asks {
            return Ok(Some(at));
        }
    }
    Ok(None)
}

fn is_users_prompt(message: &[u8]) -> bool {
    let is = |name| text_is(message, "customType", name);
    text_is(message, "attribution", "user") && (is("skill-prompt") || is("collab-prompt"))
}

/// Appends the messages of the records in `range`.
fn emit(
    path: &mut dyn PathRecords,
    range: Range<usize>,
    messages: &mut Vec<Vec<u8>>,
) -> Result<()> {
    for at in range {
        let Some(record) = path.record(at)? else { continue };
        messages.extend(message_of(record));
    }
    Ok(())
}

/// Returns the message of a record, if it may be sent.
fn message_of(record: &[u8]) -> Option<Vec<u8>> {
    match &*type_of(record) {
        "message" => {
            let message = json::get(record, "message").filter(|raw| raw.starts_with(b"{"))?;
            let is_void = text_is(message, "role", "assistant")
                && (json::get(message, "retryRecovery").is_some_and(is_truthy)
                    || replay::is_empty_error(message));
            (!is_void).then(|| message.to_vec())
        }
        "custom_message" => {
            let is = |name| text_is(record, "customType", name);
            let is_transient = is("prewalk-plan") || is("vibe-mode-context");
            custom_message(record).filter(|_| !is_transient)
        }
        "branch_summary" => {
            json::get(record, "summary").filter(|summary| is_truthy(summary))?;
            let mut message = MessageBuilder::new("branchSummary");
            message.copy(record, &["summary", "fromId"]);
            Some(message.timed(time_of(record)))
        }
        _ => None,
    }
}

/// Returns the message of an extension; `None` if its content is neither text nor blocks.
fn custom_message(record: &[u8]) -> Option<Vec<u8>> {
    json::get(record, "content").filter(|raw| raw.starts_with(b"\"") || raw.starts_with(b"["))?;
    let custom_type = json::get(record, "customType");
    let custom_type = custom_type.filter(|raw| raw.starts_with(b"\"") && *raw != b"\"\"");
    let display = json::get(record, "display").filter(|raw| *raw == b"true");
    let mut message = MessageBuilder::new("custom");
    message.set("customType", custom_type.unwrap_or(b"\"custom-message\""));
    message.copy(record, &["content"]);
    message.set("display", display.unwrap_or(b"false"));
    message.copy(record, &["details"]);
    if json::get(record, "attribution").is_some() {
        let by_user = text_is(record, "attribution", "user");
        message.set("attribution", if by_user { b"\"user\"" } else { b"\"agent\"" });
    }
    Some(message.timed(time_of(record)))
}

fn summary_message(compaction: &[u8], payload: JsValue, time: Option<i64>) -> Vec<u8> {
    let mut message = MessageBuilder::new("compactionSummary");
    message.copy(compaction, &["summary", "shortSummary", "tokensBefore", "tokensAfter", "method"]);
    if let Some(payload) = payload {
        message.set("providerPayload", &payload);
    }
    message.copy(compaction, &["warning"]);
    message.timed(time)
}

/// Returns a history that OpenAI compacted itself, which is sent back instead of the kept messages.
fn remote_payload(preserved: &[u8]) -> JsValue {
    let remote = json::get(preserved, "openaiRemoteCompaction")?;
    let provider = filled(remote, "provider")?;
    let items = json::get(remote, "replacementHistory").filter(|raw| raw.starts_with(b"["))?;
    let are_objects = json::elements(items).iter().all(|item| item.starts_with(b"{"));
    let head = b"{\"type\":\"openaiResponsesHistory\",\"provider\":";
    are_objects.then(|| [head, provider, b",\"items\":", items, b"}"].concat())
}

/// Returns a summary that Anthropic's server wrote, which is sent back as its own.
fn native_payload(preserved: &[u8]) -> JsValue {
    let native = json::get(preserved, "anthropicCompaction")?;
    let mut out = b"{\"type\":\"anthropicCompaction\",\"provider\":".to_vec();
    out.extend_from_slice(filled(native, "provider")?);
    out.extend_from_slice(b",\"content\":");
    out.extend_from_slice(filled(native, "content")?);
    for key in ["encryptedContent", "filesText"] {
        if let Some(value) = filled(native, key) {
            out.extend_from_slice(&[b",\"", key.as_bytes(), b"\":", value].concat());
        }
    }
    out.push(b'}');
    Some(out)
}

/// A message under construction.
struct MessageBuilder(Vec<u8>);

impl MessageBuilder {
    fn new(role: &str) -> Self {
        MessageBuilder([b"{\"role\":\"", role.as_bytes(), b"\""].concat())
    }

    fn set(&mut self, key: &str, value: &[u8]) {
        self.0.extend_from_slice(&[b",\"", key.as_bytes(), b"\":"].concat());
        self.0.extend_from_slice(value);
    }

    fn copy(&mut self, from: &[u8], keys: &[&str]) {
        for key in keys {
            if let Some(value) = json::get(from, key) {
                self.set(key, value);
            }
        }
    }

    fn timed(mut self, millis: Option<i64>) -> Vec<u8> {
        let millis = millis.map_or_else(|| "null".to_owned(), |millis| millis.to_string());
        self.set("timestamp", millis.as_bytes());
        self.0.push(b'}');
        self.0
    }
}

fn time_of(record: &[u8]) -> Option<i64> {
    json::get(record, "timestamp").and_then(head::timestamp)
}

fn type_of(record: &[u8]) -> Cow<'_, str> {
    json::get(record, "type").and_then(json::string).unwrap_or_default()
}

/// Returns whether the member `key` is the string `text`.
pub(super) fn text_is(object: &[u8], key: &str, text: &str) -> bool {
    json::get(object, key).and_then(json::string).is_some_and(|value| value == text)
}

/// Returns a member that exists and is not `null`.
pub(super) fn given<'a>(object: &'a [u8], key: &str) -> Option<&'a [u8]> {
    json::get(object, key).filter(|value| *value != b"null")
}

/// Returns a member that is a string and not empty.
fn filled<'a>(object: &'a [u8], key: &str) -> Option<&'a [u8]> {
    json::get(object, key).filter(|value| value.starts_with(b"\"") && *value != b"\"\"")
}

/// Returns whether JavaScript treats the value as true.
pub(super) fn is_truthy(value: &[u8]) -> bool {
    !matches!(value, b"null" | b"false" | b"\"\"" | b"") && crate::entry::number(value) != Some(0.0)
}

#[cfg(test)]
mod tests;
