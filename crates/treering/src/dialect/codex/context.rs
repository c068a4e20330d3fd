//! Builds the items that Codex itself would send, by replaying a rollout as Codex does when it
//! resumes.
//!
//! A compaction with a `replacement_history` replaces everything before it. A compaction without
//! one (older versions) keeps the newest messages of the user, about 20 000 tokens, and adds the
//! summary after them. Items that are not for the model do not count.
//!
//! Two things are not in a rollout and therefore not here: the base instructions and tools that are
//! sent with the items, and the model's limit on the length of tool outputs.

use super::super::agent::{AgentContext, PathRecords};
use super::output::texts;
use super::record::{ObjectBuilder, Record, array, inside, literal, members, quote, text};
use super::turns::is_surroundings;
use crate::error::Result;
use crate::json;
use std::collections::VecDeque;

/// The tokens of user messages that an old compaction keeps.
const KEPT_TOKENS: usize = 20_000;
const BYTES_PER_TOKEN: usize = 4;

/// The beginning of summaries that Codex writes as user messages.
const SUMMARY_START: &str = "Another language model started to solve this problem and produced a summary of its thinking process. ";

pub(super) fn build(path: &mut dyn PathRecords) -> Result<AgentContext> {
    let from = last_replacement(path)?;
    let mut history = History::default();
    for at in from..path.len() {
        let Some(record) = path.record(at)? else { continue };
        match Record::read(record) {
            Record::Item(item) if is_sent(item) => history.items.push(item.to_vec()),
            Record::Letter(letter) => history.items.push(letter_item(letter)),
            Record::Compacted(compacted) => match replacement(compacted) {
                Some(items) => {
                    let items = items.into_iter().map(<[u8]>::to_vec).collect();
                    history = History { items, ..History::default() };
                }
                None => history.compact(inside(literal(compacted, "message"))),
            },
            _ => {}
        }
    }
    Ok(AgentContext { messages: history.messages(), settings: Vec::new() })
}

/// Returns the index of the last compaction with its own history: nothing before it counts.
fn last_replacement(path: &mut dyn PathRecords) -> Result<usize> {
    for at in (0..path.len()).rev() {
        if let Some(record) = path.record(at)?
            && let Record::Compacted(compacted) = Record::read(record)
            && replacement(compacted).is_some()
        {
            return Ok(at);
        }
    }
    Ok(0)
}

fn replacement(compacted: &[u8]) -> Option<Vec<&[u8]>> {
    let history = json::get(compacted, "replacement_history")?;
    history.starts_with(b"[").then(|| json::elements(history))
}

/// Returns whether an item is sent to the model.
fn is_sent(item: &[u8]) -> bool {
    match text(item, "type").as_deref() {
        Some("message") => text(item, "role").is_none_or(|role| role != "system"),
        Some(
            "agent_message"
            | "reasoning"
            | "local_shell_call"
            | "function_call"
            | "function_call_output"
            | "custom_tool_call"
            | "custom_tool_call_output"
            | "tool_search_call"
            | "tool_search_output"
            | "web_search_call"
            | "image_generation_call"
            | "additional_tools"
            | "compaction"
            | "compaction_summary"
            | "context_compaction",
        ) => true,
        _ => false,
    }
}

/// Returns a message from another agent as the item that the model gets.
fn letter_item(letter: &[u8]) -> Vec<u8> {
    let [id, author, recipient, content] =
        members(letter, ["id", "author", "recipient", "content"]);
    let part = |kind: &str, key: &str, value: &[u8]| {
        ObjectBuilder::new().text("type", kind).raw(key, value).close()
    };
    let content = match literal(letter, "encrypted_content") {
        Some(sealed) => {
            let is_task = json::get(letter, "trigger_turn") == Some(b"true");
            let kind: &[u8] = if is_task { b"NEW_TASK" } else { b"MESSAGE" };
            let head: [&[u8]; 7] = [
                b"\"Message Type: ",
                kind,
                b"\\nTask name: ",
                inside(recipient),
                b"\\nSender: ",
                inside(author),
                b"\\nPayload:\\n\"",
            ];
            let head = part("input_text", "text", &head.concat());
            array(&[head, part("encrypted_content", "encrypted_content", sealed)])
        }
        None => array(&[part("input_text", "text", content.unwrap_or(b"\"\""))]),
    };
    ObjectBuilder::new()
        .text("type", "agent_message")
        .maybe("id", id.filter(|id| *id != b"null"))
        .raw("author", author.unwrap_or(b"\"\""))
        .raw("recipient", recipient.unwrap_or(b"\"\""))
        .raw("content", &content)
        .close()
}

/// The history as it grows: the messages that old compactions kept, the last summary, and the items
/// since. Each item is read once, however many compactions follow.
#[derive(Default)]
struct History {
    /// User messages and their sizes in tokens.
    kept: VecDeque<(usize, Vec<u8>)>,
    kept_tokens: usize,
    summary: Option<Vec<u8>>,
    items: Vec<Vec<u8>>,
}

impl History {
    /// Keeps the newest messages of the user, as many as fit, and the summary.
    fn compact(&mut self, summary: &[u8]) {
        let items = std::mem::take(&mut self.items);
        for item in self.summary.take().iter().chain(&items) {
            if let Some(text) = user_text(item) {
                let tokens = text.len().div_ceil(BYTES_PER_TOKEN);
                self.kept_tokens += tokens;
                self.kept.push_back((tokens, user_message(&json::quoted(&text))));
            }
        }
        self.forget_the_oldest();
        self.summary = Some(user_message(&match summary {
            b"" => json::quoted("(no summary available)"),
            text => quote(text),
        }));
    }

    fn forget_the_oldest(&mut self) {
        while let Some((tokens, oldest)) = self.kept.pop_front() {
            let newer = self.kept_tokens.saturating_sub(tokens);
            if newer >= KEPT_TOKENS {
                self.kept_tokens = newer;
                continue;
            }
            let room = KEPT_TOKENS - newer;
            let oldest = match user_text(&oldest) {
                Some(text) if tokens > room => {
                    let text = shortened(&text, room);
                    let tokens = text.len().div_ceil(BYTES_PER_TOKEN);
                    self.kept_tokens = newer + tokens;
                    (tokens, user_message(&json::quoted(&text)))
                }
                _ => (tokens, oldest),
            };
            self.kept.push_front(oldest);
            return;
        }
    }

    fn messages(self) -> Vec<Vec<u8>> {
        let kept = self.kept.into_iter().map(|(_, message)| message);
        kept.chain(self.summary).chain(self.items).collect()
    }
}

/// Returns the user's text of an item; `None` if Codex added it as context, or if it is a summary.
fn user_text(item: &[u8]) -> Option<String> {
    let [kind, role, content] = members(item, ["type", "role", "content"]);
    if kind != Some(b"\"message\"") || role != Some(b"\"user\"") || is_surroundings(item) {
        return None;
    }
    let inside = texts(content?, b"");
    let text = json::decode(&inside).into_owned();
    (!text.starts_with(SUMMARY_START)).then_some(text)
}

fn user_message(literal: &[u8]) -> Vec<u8> {
    let block = ObjectBuilder::new().text("type", "input_text").raw("text", literal).close();
    let message = ObjectBuilder::new().text("type", "message").text("role", "user");
    message.raw("content", &array(&[block])).close()
}

/// Returns a text without its middle, so that both ends together have `tokens` tokens.
fn shortened(text: &str, tokens: usize) -> String {
    let budget = tokens * BYTES_PER_TOKEN;
    let mut start = budget / 2;
    let mut end = text.len().saturating_sub(budget - budget / 2);
    while !text.is_char_boundary(start) {
        start -= 1;
    }
    while !text.is_char_boundary(end) {
        end += 1;
    }
    let removed = text.len().saturating_sub(budget).div_ceil(BYTES_PER_TOKEN);
    let (head, tail) = (text.get(..start).unwrap_or_default(), text.get(end..).unwrap_or_default());
    format!("{head}…{removed} tokens truncated…{tail}")
}
