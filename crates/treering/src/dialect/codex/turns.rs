//! Finds where a user's turn begins, and how many turns an event rolls back.
//!
//! A rollback does not change earlier records, but adds `thread_rolled_back{num_turns}`: the newest
//! turns no longer count, and the next entry continues from before them. A turn begins with a
//! request of the user or of another agent; Codex also sends instructions and descriptions of the
//! environment as user messages, which begin no turn.
//!
//! `turn_aborted` rolls nothing back: the interrupted turn stays in the conversation.
//! `undo_completed` is about files.

use super::output::texts;
use super::record::{Record, get, is_object, literal, members};
use crate::dialect::inserted_text::{InsertedText, starts};
use crate::entry::number;
use crate::json;

/// Returns how many turns the record rolls back; `None` if it is not a rollback.
pub(crate) fn rolls_back(record: &[u8]) -> Option<u32> {
    let Record::Event(event) = Record::read(record) else { return None };
    let [kind, turns] = members(event, ["type", "num_turns"]);
    if json::string(kind?)? != "thread_rolled_back" {
        return None;
    }
    // A cast of a float saturates.
    Some(turns.and_then(number).map_or(0, |turns| turns as u32))
}

/// Returns whether this record begins a turn that can be rolled back.
pub(super) fn starts_turn(record: Record<'_>) -> bool {
    match record {
        Record::Letter(_) => true,
        Record::Item(item) => match get(item, "type") {
            Some(b"\"agent_message\"") => true,
            Some(b"\"message\"") => match get(item, "role") {
                Some(b"\"user\"") => !is_surroundings(item),
                Some(b"\"assistant\"") => is_letter(item),
                _ => false,
            },
            _ => false,
        },
        _ => false,
    }
}

/// The beginnings and ends of texts that Codex sends as user messages.
pub(super) const SURROUNDINGS: [InsertedText; 14] = [
    ("# AGENTS.md instructions", "</INSTRUCTIONS>"),
    ("<user_instructions>", "</user_instructions>"),
    ("<environment_context>", "</environment_context>"),
    ("<skill>", "</skill>"),
    ("<user_shell_command>", "</user_shell_command>"),
    ("<turn_aborted>", "</turn_aborted>"),
    ("<subagent_notification>", "</subagent_notification>"),
    ("<codex_internal_context", "</codex_internal_context>"),
    ("<goal_context>", "</goal_context>"),
    ("<recommended_plugins>", "</recommended_plugins>"),
    ("<hook_prompt", "</hook_prompt>"),
    (
        "Warning: apply_patch was requested via ",
        "Use the apply_patch tool instead of exec_command.",
    ),
    ("Warning: Your account was flagged for potentially high-risk cyber activity", ""),
    ("Warning: The maximum number of unified exec processes you can keep open is", ""),
];

/// Returns whether any text of a user message is one of those.
pub(super) fn is_surroundings(message: &[u8]) -> bool {
    let Some(content) = get(message, "content") else { return false };
    let is_one = |text: &str| {
        let text = text.trim();
        let bounds = |(start, end): &(&str, &str)| starts(text, start) && ends(text, end);
        SURROUNDINGS.iter().any(bounds) || is_external(text)
    };
    // Most texts begin with none of the first characters of these.
    let may_be = |literal: &[u8]| literal.get(1).is_some_and(|first| b"<#Ww\\ ".contains(first));
    let is_one =
        |literal: &[u8]| may_be(literal) && json::string(literal).is_some_and(|text| is_one(&text));
    match content.starts_with(b"\"") {
        true => is_one(content),
        false => {
            json::elements(content).into_iter().any(|block| get(block, "text").is_some_and(is_one))
        }
    }
}

/// Returns whether a text is `<external_NAME>…</external_NAME>`.
fn is_external(text: &str) -> bool {
    let name = text.strip_prefix("<external_").and_then(|rest| rest.split_once('>'));
    name.is_some_and(|(name, rest)| rest.ends_with(&format!("</external_{name}>")))
}

fn ends(text: &str, with: &str) -> bool {
    let from = text.len().checked_sub(with.len());
    from.and_then(|from| text.get(from..)).is_some_and(|end| end.eq_ignore_ascii_case(with))
}

/// Returns whether an assistant message is a message between agents: its text is one, as JSON.
fn is_letter(message: &[u8]) -> bool {
    let Some(content) = get(message, "content") else { return false };
    let first = json::elements(content).first().and_then(|block| get(block, "text"));
    let begins = first.unwrap_or(content).get(1);
    if !begins.is_some_and(|first| b"{\\ ".contains(first)) {
        return false; // Nearly always: no letter, whatever follows.
    }
    let inside = texts(content, b"");
    let letter = json::decode(&inside);
    let letter = letter.trim().as_bytes();
    is_object(letter)
        && json::elements(content).len() == 1
        && ["author", "recipient", "content"].iter().all(|key| literal(letter, key).is_some())
        && json::get(letter, "trigger_turn").is_some()
}
