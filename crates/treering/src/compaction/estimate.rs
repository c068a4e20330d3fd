//! Estimates the size of messages in tokens without asking a model.
//!
//! The estimate is a quarter of the UTF-16 code units that the model reads, rounded up: crude,
//! rather too high than too low, and the same number that other agents compute. Texts are measured
//! in their JSON form without being decoded. If a provider reported the size of a context, that
//! number counts for everything up to its answer, unless the context was changed since.

use super::outline::Outline;
use super::system;
use crate::context::ContextMessage;
use crate::entry::{Role, number};
use crate::error::Result;
use crate::json::stringify;
use crate::json::{self, Members};

/// The size of an image, in code units.
const IMAGE: u64 = 4800;

/// The size of a context in tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct ContextTokens {
    /// The size of the whole context.
    pub tokens: u64,
    /// The part that a provider counted; 0 if no provider did, or if the context was changed since.
    pub usage_tokens: u64,
    /// The part that is estimated.
    pub trailing_tokens: u64,
}

/// Returns the estimated tokens of a message, given its JSON.
///
/// ```
/// assert_eq!(treering::compaction::estimate_tokens(br#"{"role":"user","content":"hello"}"#), 2);
/// ```
pub fn estimate_tokens(message: &[u8]) -> u64 {
    units_of_message(message).div_ceil(4)
}

/// Returns the estimated tokens of a text.
pub(super) fn text_tokens(text: &str) -> u64 {
    units_as_written(text.as_bytes()).div_ceil(4)
}

fn units_of_message(message: &[u8]) -> u64 {
    let keys = ["role", "content", "command", "output", "summary", "sections", "toolsAdded"];
    let [role, content, command, output, summary, sections, tools] = json::get_all(message, keys);
    let role = role.and_then(json::string).unwrap_or_default();
    match Role::of(&role) {
        Role::User | Role::Custom | Role::ToolResult => content.map_or(0, content_units),
        Role::Assistant => content.map_or(0, answer_units),
        Role::BashExecution => command.map_or(0, units) + output.map_or(0, units),
        Role::BranchSummary | Role::CompactionSummary => summary.map_or(0, units),
        Role::System => {
            content.map_or(0, content_units)
                + sections.map_or(0, section_units)
                + tools.filter(|tools| *tools != b"null").map_or(0, json_units)
        }
        Role::Other => 0,
    }
}

/// Returns the size of text and images, in units of the estimate.
fn content_units(content: &[u8]) -> u64 {
    if content.starts_with(b"\"") {
        return units(content);
    }
    let mut sum = 0;
    for block in json::elements(content) {
        let [kind, text] = json::get_all(block, ["type", "text"]);
        sum += match kind {
            Some(b"\"text\"") => text.map_or(0, units),
            Some(b"\"image\"") => IMAGE,
            _ => 0,
        };
    }
    sum
}

/// Returns the size of text, thinking and tool calls, in units of the estimate.
fn answer_units(content: &[u8]) -> u64 {
    let mut sum = 0;
    for block in json::elements(content) {
        let [kind, text, thinking, name, arguments] =
            json::get_all(block, ["type", "text", "thinking", "name", "arguments"]);
        sum += match kind {
            Some(b"\"text\"") => text.map_or(0, units),
            Some(b"\"thinking\"") => thinking.map_or(0, units),
            Some(b"\"toolCall\"") => name.map_or(0, units) + arguments.map_or(0, json_units),
            _ => 0,
        };
    }
    sum
}

fn section_units(sections: &[u8]) -> u64 {
    Members::new(sections, json::skip_space(sections, 0))
        .filter_map(|member| sections.get(member.value))
        .map(units)
        .sum()
}

/// Returns the UTF-16 code units of the text that a string literal means; 0 for anything else.
pub(super) fn units(literal: &[u8]) -> u64 {
    let Some(inner) = json::inside(literal) else { return 0 };
    if std::str::from_utf8(inner).is_err() {
        return json::decode(inner).encode_utf16().count() as u64;
    }
    let mut escapes = 0;
    let mut rest = inner;
    while let Some(hit) = memchr::memchr(b'\\', rest) {
        let length = if rest.get(hit + 1) == Some(&b'u') { 6 } else { 2 };
        escapes += length - 1;
        rest = rest.get(hit + length..).unwrap_or_default();
    }
    units_as_written(inner).saturating_sub(escapes as u64)
}

/// Returns the number of UTF-16 code units of UTF-8 text: one for each character, two for those
/// outside the basic multilingual plane.
fn units_as_written(utf8: &[u8]) -> u64 {
    let count = |byte: &u8| u64::from(byte & 0xC0 != 0x80) + u64::from(*byte >= 0xF0);
    utf8.iter().map(count).sum()
}

/// Returns the length of a value as `JSON.stringify` writes it.
fn json_units(value: &[u8]) -> u64 {
    units_as_written(&stringify::compact(value))
}

/// Returns the provider's token count for everything up to this answer, or `None` if it is not a
/// valid number.
pub(super) fn usage(message: &[u8]) -> Option<u64> {
    let [stopped, usage] = json::get_all(message, ["stopReason", "usage"]);
    if matches!(stopped.and_then(json::string).as_deref(), Some("aborted" | "error")) {
        return None;
    }
    let usage = usage.filter(|usage| usage.starts_with(b"{"))?;
    let keys = ["totalTokens", "input", "output", "cacheRead", "cacheWrite"];
    let [total, input, output, cache_read, cache_write] =
        json::get_all(usage, keys).map(|literal| match literal? {
            b"null" => Some(0.0),
            literal => number(literal),
        });
    let total = match total.filter(|total| *total != 0.0) {
        Some(total) => total,
        None => input? + output? + cache_read? + cache_write?,
    };
    (total > 0.0).then_some(total as u64)
}

/// Returns the size of a context.
pub(super) fn context_tokens(outline: &mut Outline) -> Result<ContextTokens> {
    if let Some(counted) = counted(outline)? {
        return Ok(counted);
    }
    let (mut others, mut system) = (0_u64, Vec::new());
    let add = |_, role, message: ContextMessage| match role {
        Role::System => system.push(message.json),
        _ => others = others.saturating_add(estimate_tokens(&message.json)),
    };
    outline.read(|_| true, add)?;
    Ok(estimated(others, system::current(&system).as_deref()))
}

/// Returns the size according to the newest answer with a token count, plus estimates for the
/// entries after it; `None` if the context was changed since that answer.
pub(super) fn counted(outline: &mut Outline) -> Result<Option<ContextTokens>> {
    let is_answer = |role| role == Role::Assistant;
    outline.read_usage();
    for at in (outline.unchanged_from()..outline.len()).rev() {
        if !outline.speaks(at, is_answer)? {
            continue;
        }
        let messages = &outline.part(at)?.messages;
        let answer = messages.iter().enumerate().rev().find_map(|(place, message)| {
            let usage = message.usage.filter(|_| is_answer(message.role))?;
            Some((place, usage))
        });
        let Some((place, usage_tokens)) = answer else { continue };
        let rest = messages.iter().skip(place + 1).map(|message| message.tokens);
        let mut trailing_tokens = rest.fold(0, u64::saturating_add);
        for after in at + 1..outline.len() {
            trailing_tokens = trailing_tokens.saturating_add(outline.tokens(after)?);
        }
        let tokens = usage_tokens.saturating_add(trailing_tokens);
        return Ok(Some(ContextTokens { tokens, usage_tokens, trailing_tokens }));
    }
    Ok(None)
}

/// Returns the size according to estimates alone. System messages count as the single message that
/// they are combined into.
pub(super) fn estimated(others: u64, system: Option<&[u8]>) -> ContextTokens {
    let tokens = others.saturating_add(system.map_or(0, estimate_tokens));
    ContextTokens { tokens, usage_tokens: 0, trailing_tokens: tokens }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_role_counts_what_the_model_reads() {
        let image = r#"{"role":"user","content":[{"type":"text","text":"abcd"},{"type":"image","data":"xxxxxxxxxxxxxxxxxxxxxxx"}]}"#;
        let cases = [
            (r#"{"role":"user","content":"abcd"}"#, 1),
            (r#"{"role":"user","content":"abcde"}"#, 2),
            (r#"{"role":"user","content":""}"#, 0),
            (r#"{"role":"user"}"#, 0),
            (image, 1201),
            (r#"{"role":"custom","content":[{"type":"text","text":"12345678"}]}"#, 2),
            (
                r#"{"role":"toolResult","content":[{"type":"text","text":"12345678"},{"type":"text"},{"type":"odd","text":"xxxx"}]}"#,
                2,
            ),
            (
                r#"{"role":"assistant","content":[{"type":"text","text":"1234"},{"type":"thinking","thinking":"12345678"},{"type":"image"}]}"#,
                3,
            ),
            // read + {"path":"a b"}
            (
                r#"{"role":"assistant","content":[{"type":"toolCall","name":"read","arguments": { "path" : "a b" } }]}"#,
                5,
            ),
            (r#"{"role":"assistant","content":"text is not blocks"}"#, 0),
            (r#"{"role":"bashExecution","command":"1234","output":"1234"}"#, 2),
            (r#"{"role":"branchSummary","summary":"12345"}"#, 2),
            (r#"{"role":"compactionSummary","summary":"12345"}"#, 2),
            (
                r#"{"role":"system","content":"1234","sections":{"a":"1234","b":null},"toolsAdded":[{"name":"x"}]}"#,
                6,
            ),
            (r#"{"role":"unheard of","content":"1234"}"#, 0),
            ("[]", 0),
        ];
        for (message, tokens) in cases {
            assert_eq!(estimate_tokens(message.as_bytes()), tokens, "{message}");
        }
    }

    #[test]
    fn texts_are_measured_as_javascript_does() {
        let cases: [(&[u8], u64); 8] = [
            (br#""a\nb""#, 3),
            (br#""\ud83d\ude00""#, 2),
            ("\"😀\"".as_bytes(), 2),
            ("\"é…\"".as_bytes(), 2),
            (br#""\ud83d""#, 1),
            (br#""\\u0041""#, 6),
            (b"\"\xff\xfe\"", 2),
            (b"12345", 0),
        ];
        for (literal, expected) in cases {
            assert_eq!(units(literal), expected, "{}", String::from_utf8_lossy(literal));
        }
        assert_eq!(json_units(br#"{"a" : "\u00e9\ud83d"}"#), 15);
    }

    #[test]
    fn usage_counts_only_when_it_means_something() {
        let of = |rest: &str| usage(format!(r#"{{"role":"assistant"{rest}}}"#).as_bytes());
        let cases = [
            ("", None),
            (r#","usage":null"#, None),
            (r#","usage":{"totalTokens":7,"input":1}"#, Some(7)),
            (
                r#","usage":{"totalTokens":0,"input":1,"output":2,"cacheRead":3,"cacheWrite":4}"#,
                Some(10),
            ),
            (r#","usage":{"input":1,"output":2,"cacheRead":3,"cacheWrite":4}"#, Some(10)),
            (r#","usage":{"input":1,"output":2}"#, None),
            (
                r#","usage":{"totalTokens":0,"input":0,"output":0,"cacheRead":0,"cacheWrite":0}"#,
                None,
            ),
            (r#","usage":{"totalTokens":-3}"#, None),
            (r#","usage":{"totalTokens":1e400}"#, Some(u64::MAX)),
            (r#","usage":{"totalTokens":7},"stopReason":"aborted""#, None),
            (r#","usage":{"totalTokens":7},"stopReason":"error""#, None),
            (r#","usage":{"totalTokens":7},"stopReason":"length""#, Some(7)),
        ];
        for (rest, expected) in cases {
            assert_eq!(of(rest), expected, "{rest}");
        }
    }
}
