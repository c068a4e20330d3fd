//! Formats entries as text, and cuts texts to a number of tokens.

use treering::Entry;
use treering::entry::{Block, Body, MessageView};
use treering_display::preview_line::{Calls, PreviewLine};
use treering_display::text::prefix;

/// The default number of tokens of an answer.
const USUAL_TOKENS: u64 = 4000;

/// The maximum number of tokens that a client can request.
const MAX_TOKENS: u64 = 50_000;

/// The number of bytes that are estimated as a token.
const BYTES_PER_TOKEN: u64 = 4;

/// Returns the estimated number of tokens of a text.
pub(crate) fn tokens(text: &str) -> u64 {
    (text.len() as u64).div_ceil(BYTES_PER_TOKEN)
}

/// The tokens that are left for an answer.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Budget {
    pub left: u64,
    /// The maximum number of tokens of a single text.
    pub each: u64,
}

impl Budget {
    pub(crate) fn new(asked: Option<u64>) -> Self {
        let all = asked.unwrap_or(USUAL_TOKENS).clamp(100, MAX_TOKENS);
        Budget { left: all, each: all / 2 }
    }

    /// Subtracts the tokens of a text and returns whether there were that many.
    pub(crate) fn take(&mut self, text: &str) -> bool {
        let needed = tokens(text);
        let fits = needed <= self.left;
        self.left = self.left.saturating_sub(needed);
        fits
    }
}

/// Returns the beginning of a text, at most `tokens` long, and whether the text was cut.
pub(crate) fn beginning(text: &str, tokens: u64) -> (&str, bool) {
    let most = usize::try_from(tokens.saturating_mul(BYTES_PER_TOKEN)).unwrap_or(usize::MAX);
    let beginning = prefix(text, most);
    (beginning, beginning.len() < text.len())
}

/// Returns the name of an entry: the role of a message, or its type.
pub(crate) fn role(entry: &Entry) -> String {
    match entry.message() {
        Some(message) => message.role_name().into_owned(),
        None => entry.type_name().into_owned(),
    }
}

/// Returns the text of an entry; empty for an entry without text, such as a change of the model.
pub(crate) fn text(entry: &Entry, thinking: bool) -> String {
    match entry.body() {
        Body::Message(message) => message_text(message, thinking),
        Body::Compaction { summary, .. } | Body::BranchSummary { summary, .. } => {
            summary.into_owned()
        }
        Body::CustomMessage { text, .. } => text,
        Body::Custom { data: Some(data), .. } => String::from_utf8_lossy(data).into_owned(),
        _ => String::new(),
    }
}

/// Returns the preview line of an entry.
pub(crate) fn preview(entry: &Entry, calls: &mut Calls) -> String {
    treering_display::line::excerpt(&PreviewLine::read(entry, calls).text, 100)
}

/// Returns the text of a message: its texts, tool calls, and results.
pub(crate) fn message_text(message: MessageView<'_>, thinking: bool) -> String {
    let mut parts: Vec<String> = Vec::new();
    if let Some(run) = message.field("command") {
        parts.push(format!("$ {run}"));
    }
    if let Some(output) = message.field("output") {
        parts.push(output.into_owned());
    }
    for block in message.blocks() {
        match block {
            Block::Text { text, .. } => parts.push(text.into_owned()),
            Block::Thinking { text, .. } if thinking => parts.push(format!("[thinking] {text}")),
            Block::ToolCall { name, arguments, .. } => {
                let arguments = String::from_utf8_lossy(arguments.unwrap_or(b"{}")).into_owned();
                parts.push(format!("[call] {name} {arguments}"));
            }
            Block::Image { mime_type, .. } => parts.push(format!("[image, {mime_type}]")),
            _ => {}
        }
    }
    if let Some(summary) = message.field("summary") {
        parts.push(summary.into_owned());
    }
    parts.retain(|part| !part.is_empty());
    parts.join("\n\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_end_between_characters() {
        assert_eq!(beginning("ééé", 1), ("éé", true));
        assert_eq!(beginning("aé😀", 1), ("aé", true));
        assert_eq!(beginning("abcd", 1), ("abcd", false));
        assert_eq!(beginning("", 0), ("", false));
    }

    #[test]
    fn a_budget_has_limits() {
        assert_eq!(Budget::new(None).left, USUAL_TOKENS);
        assert_eq!(Budget::new(Some(0)).left, 100);
        assert_eq!(Budget::new(Some(u64::MAX)).left, MAX_TOKENS);
        let mut budget = Budget::new(Some(100));
        assert!(budget.take(&"x".repeat(400)) && !budget.take("x"));
    }
}
