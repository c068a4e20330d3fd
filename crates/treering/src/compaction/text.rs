//! Writes requests to summarizers, and turns their answers into stored summaries.
//!
//! The conversation is sent as one text, so that no model takes it for a conversation that it
//! should continue. Thinking is left out and long tool results are cut, because a summary is about
//! the texts and tool calls.

use super::prepare::Prepared;
use crate::context::ContextMessage;
use crate::entry::{MessageView, Role};
use crate::json::stringify;
use crate::json::{self, Members};
use std::collections::HashMap;

/// The longest part of a tool result that is shown, in UTF-16 code units.
const MAX_RESULT: usize = 2000;

/// The system prompt of a summarizer.
pub const SUMMARIZER_ROLE: &str = "You summarize conversations between a user and an AI assistant. Do not continue the conversation and do not answer questions in it: write the summary in the format asked for, and nothing else.";

const FORMAT: &str = "## Goal
[What the user wants; several items if there are several tasks]

## Constraints & Preferences
- [What the user required or preferred, or \"(none)\"]

## Progress
### Done
- [x] [What is finished]

### In Progress
- [ ] [What is being worked on]

### Blocked
- [What stands in the way, if anything]

## Key Decisions
- **[Decision]**: [Why]

## Next Steps
1. [What comes next, in order]

## Critical Context
- [Data, examples and references needed to continue, or \"(none)\"]

Be concise. Keep file paths, names of functions and error messages exactly as they are.";

const BEGIN: &str = "The text above is a conversation. Write a structured summary of it, from which another model can continue the work. Use exactly this format:";

const UPDATE: &str = "The conversation above is what happened since the summary in <previous-summary>. Update that summary: keep what it says unless it no longer matters, add what is new, move what was finished to Done, and bring Next Steps up to date. Use exactly this format:";

const PREFIX: &str = "The text above is the beginning of a turn whose later part is kept as it is. Summarize it, so that the later part can be understood. Only what is in it counts; do not guess what came later. Use exactly this format:

## Original Request
[What the user asked for]

## Progress So Far
- [What was decided and done]

## Context Needed to Continue
- [What one must know to understand the later part]";

const BRANCH: &str = "The text above is a conversation that was left for another branch. Write a structured summary of it, so that the work on the other branch can use what was tried and found. Use exactly this format:";

const NO_HISTORY: &str = "No prior history.";
const SPLIT_TURN: &str = "\n\n---\n\n**Turn Context (split turn):**\n\n";

/// Returns messages as one text for a summarizer.
///
/// ```
/// use treering::{Message, Session};
/// use treering::compaction::conversation_text;
/// let session = Session::in_memory("/project");
/// session.append(Message::user("Name a color."))?;
/// session.append(Message::assistant("acme", "m", "Red."))?;
/// let text = conversation_text(&session.context()?.messages);
/// assert_eq!(text, "[User]: Name a color.\n\n[Assistant]: Red.");
/// # Ok::<(), treering::Error>(())
/// ```
pub fn conversation_text(messages: &[ContextMessage]) -> String {
    let mut parts = Vec::new();
    for message in messages {
        let view = MessageView::new(&message.json);
        match view.role() {
            Role::User | Role::Assistant | Role::ToolResult => add(view, &mut parts),
            _ => {
                if let Some(message) = message.to_llm() {
                    add(MessageView::new(&message.json), &mut parts);
                }
            }
        }
    }
    parts.join("\n\n")
}

fn add(message: MessageView<'_>, parts: &mut Vec<String>) {
    let content = message.get("content").unwrap_or_default();
    match message.role() {
        Role::User => {
            let text = texts(content).join("");
            if !text.is_empty() {
                parts.push(format!("[User]: {text}"));
            }
        }
        Role::Assistant if content.starts_with(b"[") => {
            let texts = texts(content);
            if !texts.is_empty() {
                parts.push(format!("[Assistant]: {}", texts.join("\n")));
            }
            let calls: Vec<String> = json::elements(content)
                .into_iter()
                .filter(|block| is_block(block, "toolCall"))
                .map(call)
                .collect();
            if !calls.is_empty() {
                parts.push(format!("[Assistant tool calls]: {}", calls.join("; ")));
            }
        }
        Role::ToolResult => {
            let text = texts(content).join("");
            if !text.is_empty() {
                parts.push(format!("[Tool result]: {}", cut(text)));
            }
        }
        _ => {}
    }
}

/// Returns the text of every text block; content that is a string is one text.
fn texts(content: &[u8]) -> Vec<String> {
    if let Some(text) = json::string(content) {
        return vec![text.into_owned()];
    }
    let text = |block| json::get(block, "text").and_then(json::string).unwrap_or_default();
    let blocks = json::elements(content).into_iter().filter(|block| is_block(block, "text"));
    blocks.map(|block| text(block).into_owned()).collect()
}

fn is_block(block: &[u8], kind: &str) -> bool {
    json::get(block, "type").and_then(json::string).as_deref() == Some(kind)
}

/// Returns a tool call as `name(key=json, …)`.
fn call(block: &[u8]) -> String {
    let arguments = json::get(block, "arguments").unwrap_or_default();
    let mut places: HashMap<Vec<u8>, usize> = HashMap::new();
    let mut shown: Vec<String> = Vec::new();
    for member in Members::new(arguments, json::skip_space(arguments, 0)) {
        let value = arguments.get(member.value).unwrap_or_default();
        let key = json::key_name(member.key).into_owned();
        let text = format!(
            "{}={}",
            String::from_utf8_lossy(&key),
            String::from_utf8_lossy(&stringify::compact(value))
        );
        // For a repeated key, the last value counts and is shown at the position of the first.
        match places.get(&key).and_then(|place| shown.get_mut(*place)) {
            Some(slot) => *slot = text,
            None => {
                places.insert(key, shown.len());
                shown.push(text);
            }
        }
    }
    let name = json::get(block, "name").and_then(json::string).unwrap_or_default();
    format!("{name}({})", shown.join(", "))
}

/// Returns a result, cut if it is long. A surrogate pair at the cut is left out whole.
fn cut(text: String) -> String {
    if text.len() <= MAX_RESULT {
        return text;
    }
    let length = text.encode_utf16().count();
    if length <= MAX_RESULT {
        return text;
    }
    let mut units = 0;
    let fits = |char: &char| {
        units += char.len_utf16();
        units <= MAX_RESULT
    };
    let shown: String = text.chars().take_while(fits).collect();
    format!("{shown}\n\n[... {} more characters truncated]", length - MAX_RESULT)
}

/// Returns a request for a summary of `conversation`, the result of [`conversation_text`]. With
/// `previous`, the request is to update that summary. `focus` has the user's instructions.
pub fn summary_request(conversation: &str, previous: Option<&str>, focus: Option<&str>) -> String {
    let previous = previous.filter(|summary| !summary.is_empty());
    let mut request = conversation_and(conversation, previous);
    request += if previous.is_some() { UPDATE } else { BEGIN };
    request += "\n\n";
    request += FORMAT;
    with_focus(request, focus)
}

/// Returns a request for a summary of an abandoned branch. `focus` has the user's instructions;
/// with `alone` they replace the usual ones.
pub fn branch_request(
    conversation: &str,
    previous: Option<&str>,
    focus: Option<&str>,
    alone: bool,
) -> String {
    let mut request = conversation_and(conversation, previous);
    match focus.filter(|focus| alone && !focus.is_empty()) {
        Some(focus) => request + focus,
        None => {
            request += if previous.is_some() { UPDATE } else { BRANCH };
            request += "\n\n";
            request += FORMAT;
            with_focus(request, focus)
        }
    }
}

fn conversation_and(conversation: &str, previous: Option<&str>) -> String {
    let request = format!("<conversation>\n{conversation}\n</conversation>\n\n");
    match previous {
        Some(summary) => {
            format!("{request}<previous-summary>\n{summary}\n</previous-summary>\n\n")
        }
        None => request,
    }
}

fn with_focus(request: String, focus: Option<&str>) -> String {
    match focus.filter(|focus| !focus.is_empty()) {
        Some(focus) => format!("{request}\n\nAdditional focus: {focus}"),
        None => request,
    }
}

/// Returns a request for a summary of the beginning of a split turn, whose earlier part `previous`
/// may already summarize.
pub fn prefix_request(conversation: &str, previous: Option<&str>, focus: Option<&str>) -> String {
    with_focus(conversation_and(conversation, previous) + PREFIX, focus)
}

impl Prepared {
    /// Returns the request for a summary of the history, or `None` if there is nothing to
    /// summarize.
    pub fn history_request(&self, focus: Option<&str>) -> Option<String> {
        let messages = Some(&self.messages_to_summarize).filter(|list| !list.is_empty())?;
        let conversation = conversation_text(messages);
        Some(summary_request(&conversation, self.previous_summary.as_deref(), focus))
    }

    /// Returns the request for a summary of the beginning of a split turn, or `None` if no turn is
    /// split.
    pub fn prefix_request(&self, focus: Option<&str>) -> Option<String> {
        let messages = Some(&self.turn_prefix).filter(|list| !list.is_empty())?;
        Some(prefix_request(&conversation_text(messages), None, focus))
    }

    /// Returns the summary to store, made of the answers to the two requests: the history first,
    /// then the split turn, then the files.
    pub fn compose(&self, history: Option<&str>, prefix: Option<&str>) -> String {
        let mut summary = match prefix {
            Some(prefix) => {
                let history = history.or(self.previous_summary.as_deref()).unwrap_or(NO_HISTORY);
                format!("{history}{SPLIT_TURN}{prefix}")
            }
            None => history.unwrap_or_default().to_owned(),
        };
        summary += &self.file_ops.lists().to_text();
        summary
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text_of(messages: &[&str]) -> String {
        let message =
            |json: &&str| ContextMessage { entry: "x".into(), json: json.as_bytes().to_vec() };
        conversation_text(&messages.iter().map(message).collect::<Vec<_>>())
    }

    #[test]
    fn every_role_as_text() {
        let cases = [
            (r#"{"role":"user","content":"hi"}"#, "[User]: hi"),
            (
                r#"{"role":"user","content":[{"type":"text","text":"a"},{"type":"image"},{"type":"text","text":"b"}]}"#,
                "[User]: ab",
            ),
            (r#"{"role":"user","content":""}"#, ""),
            (
                r#"{"role":"assistant","content":[{"type":"thinking","thinking":"hm"},{"type":"text","text":"a"},{"type":"text","text":"b"}]}"#,
                "[Assistant]: a\nb",
            ),
            (r#"{"role":"assistant","content":[{"type":"text","text":""}]}"#, "[Assistant]: "),
            (
                r#"{"role":"assistant","content":[{"type":"toolCall","name":"read","arguments":{"path" : "a b","n":[1, 2]}},{"type":"toolCall","name":"ls","arguments":{}}]}"#,
                r#"[Assistant tool calls]: read(path="a b", n=[1,2]); ls()"#,
            ),
            (
                r#"{"role":"toolResult","content":[{"type":"text","text":"out"}]}"#,
                "[Tool result]: out",
            ),
            (r#"{"role":"toolResult","content":[]}"#, ""),
            (
                r#"{"role":"bashExecution","command":"ls","output":"x","exitCode":0}"#,
                "[User]: Ran `ls`\n```\nx\n```",
            ),
            (
                r#"{"role":"bashExecution","command":"ls","output":"x","excludeFromContext":true}"#,
                "",
            ),
            (r#"{"role":"custom","content":"note"}"#, "[User]: note"),
            (r#"{"role":"system","content":"rules"}"#, ""),
            (
                r#"{"role":"assistant","content":[{"type":"toolCall","name":"x","arguments":{"a":1,"b":2,"a":3}}]}"#,
                "[Assistant tool calls]: x(a=3, b=2)",
            ),
        ];
        for (message, expected) in cases {
            assert_eq!(text_of(&[message]), expected, "{message}");
        }
        let two = [r#"{"role":"user","content":"a"}"#, r#"{"role":"user","content":"b"}"#];
        assert_eq!(text_of(&two), "[User]: a\n\n[User]: b");
    }

    #[test]
    fn long_results_are_cut() {
        let result = |text: &str| {
            text_of(&[&format!(
                r#"{{"role":"toolResult","content":[{{"type":"text","text":"{text}"}}]}}"#
            )])
        };
        assert_eq!(result(&"x".repeat(2000)), format!("[Tool result]: {}", "x".repeat(2000)));
        assert_eq!(
            result(&"x".repeat(2003)),
            format!("[Tool result]: {}\n\n[... 3 more characters truncated]", "x".repeat(2000))
        );
        // 2000 characters of three bytes each are not too long; pairs count twice.
        assert!(result(&"…".repeat(2000)).ends_with('…'));
        assert!(result(&"😀".repeat(1001)).ends_with("[... 2 more characters truncated]"));
        // A pair at the cut is left out whole.
        let split = result(&format!("x{}", "😀".repeat(1000)));
        assert!(split.ends_with("😀\n\n[... 1 more characters truncated]"));
        assert!(!split.contains('\u{FFFD}'));
    }

    #[test]
    fn requests_hold_the_data() {
        let first = summary_request("[User]: a", None, Some("the tests"));
        assert!(first.starts_with("<conversation>\n[User]: a\n</conversation>\n\nThe text above"));
        assert!(first.ends_with("\n\nAdditional focus: the tests"));
        let update = summary_request("[User]: a", Some("old"), None);
        assert!(update.contains("\n\n<previous-summary>\nold\n</previous-summary>\n\n"));
        assert!(!update.contains("Additional focus"));
        assert!(!summary_request("", Some(""), None).contains("previous-summary"));
    }
}
