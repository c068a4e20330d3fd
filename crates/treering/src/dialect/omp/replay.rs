//! Applies the last two rules of omp's context, which decide what may be sent again, to the
//! complete list of messages.
//!
//! A call whose result is not on the path is removed from its turn, and a turn that was changed in
//! this way loses its provider's signatures, because they no longer match. Turns that failed or
//! were aborted are left out with the results of their calls. Both rules need the whole list; each
//! is one pass.

use super::agent::{is_truthy, text_is};
use crate::json::stringify;
use crate::json::{self, Members};
use std::collections::{HashMap, HashSet};

/// The JSON of an id, if there is one.
type Id<'a> = Option<&'a [u8]>;

/// Removes tool calls without a result among `messages`.
pub(super) fn without_dangling_calls(messages: Vec<Vec<u8>>) -> Vec<Vec<u8>> {
    let results = messages.iter().filter(|message| text_is(message, "role", "toolResult"));
    let paired: HashSet<Vec<u8>> = results.map(|result| name(call_of(result))).collect();
    let is_dangling =
        |block: &[u8]| is_call(block) && !paired.contains(&name(json::get(block, "id")));
    let mut kept = Vec::with_capacity(messages.len());
    for message in messages {
        let blocks = match text_is(&message, "role", "assistant") {
            true => content(&message),
            false => Vec::new(),
        };
        if !blocks.iter().any(|block| is_dangling(block)) {
            kept.push(message);
            continue;
        }
        let blocks = blocks.into_iter().filter(|block| !is_dangling(block));
        let blocks = blocks.filter(|block| !text_is(block, "type", "redactedThinking"));
        let blocks: Vec<Vec<u8>> = blocks.map(unsigned).collect();
        if !blocks.is_empty() {
            let content = [b"[", &*blocks.join(&b','), b"]"].concat();
            kept.push(json::with_member(&message, "content", &content));
        }
    }
    kept
}

/// Removes turns that ended in an error or were aborted, and the results of their calls.
///
/// A turn stays if the note about its interrupted thinking follows it.
pub(super) fn without_failed_turns(messages: Vec<Vec<u8>>) -> Vec<Vec<u8>> {
    let mut gone = vec![false; messages.len()];
    // The loop goes from the end: these are the messages after the current one that may stay, the
    // nearest last, and the results among them by call.
    let mut behind: Vec<usize> = Vec::new();
    let mut results: HashMap<Vec<u8>, Vec<usize>> = HashMap::new();
    for (at, message) in messages.iter().enumerate().rev() {
        if text_is(message, "role", "toolResult") {
            results.entry(name(call_of(message))).or_default().push(at);
        }
        if has_failed(message) {
            while behind.last().is_some_and(|&next| gone[next]) {
                behind.pop();
            }
            let next = behind.last().map(|&next| &messages[next]);
            if !next.is_some_and(|next| is_interruption(next)) {
                gone[at] = true;
                for call in content(message).into_iter().filter(|block| is_call(block)) {
                    let id = name(json::get(call, "id"));
                    for result in results.remove(&id).unwrap_or_default() {
                        gone[result] = true;
                    }
                }
                continue;
            }
        }
        behind.push(at);
    }
    let mut gone = gone.into_iter();
    messages.into_iter().filter(|_| gone.next() != Some(true)).collect()
}

/// Returns whether an answer has only an error.
pub(super) fn is_empty_error(message: &[u8]) -> bool {
    let has_text = |block: &[u8], key| {
        let text = json::get(block, key).and_then(json::string).unwrap_or_default();
        !text.chars().all(is_blank)
    };
    let says_something =
        |block: &&[u8]| match &*json::get(block, "type").and_then(json::string).unwrap_or_default()
        {
            "text" => has_text(block, "text"),
            "thinking" => has_text(block, "thinking") || has_text(block, "thinkingSignature"),
            "redactedThinking" => has_text(block, "data"),
            "fallback" => false,
            _ => true,
        };
    text_is(message, "stopReason", "error") && !content(message).iter().any(says_something)
}

/// Returns whether a character is white space for JavaScript's `trim`.
fn is_blank(character: char) -> bool {
    character == '\u{FEFF}' || character.is_whitespace() && character != '\u{85}'
}

fn content(message: &[u8]) -> Vec<&[u8]> {
    json::get(message, "content").map(json::elements).unwrap_or_default()
}

fn is_call(block: &[u8]) -> bool {
    text_is(block, "type", "toolCall")
}

fn call_of(result: &[u8]) -> Id<'_> {
    json::get(result, "toolCallId")
}

/// Returns an id in one spelling, for comparison; a missing id equals only another missing one.
fn name(id: Id<'_>) -> Vec<u8> {
    id.map(stringify::compact).unwrap_or_default()
}

fn has_failed(message: &[u8]) -> bool {
    let stopped = |reason| text_is(message, "stopReason", reason);
    text_is(message, "role", "assistant") && (stopped("aborted") || stopped("error"))
}

fn is_interruption(message: &[u8]) -> bool {
    text_is(message, "role", "custom") && text_is(message, "customType", "interrupted-thinking")
}

/// Returns a block of a changed turn: thinking loses its signature.
fn unsigned(block: &[u8]) -> Vec<u8> {
    let is_signed = json::get(block, "thinkingSignature").is_some_and(is_truthy);
    if !is_signed || !text_is(block, "type", "thinking") {
        return block.to_vec();
    }
    let members = Members::new(block, 0)
        .filter(|member| !json::key_is(member.key, "thinkingSignature"))
        .map(|member| &block[member.whole]);
    [b"{", &*members.collect::<Vec<_>>().join(&b','), b"}"].concat()
}
