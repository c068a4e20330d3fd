//! One-line previews of entries, as trees and lists show them.

use crate::entry_parts::EntryParts;
use crate::line::{excerpt, first_line};
use crate::text::safe_line;
use crate::tool::Call;
use std::borrow::Cow;
use std::collections::HashMap;
use treering::branch_summary::summary_line;
use treering::entry::{Block, Body, MessageView};
use treering::{Entry, Role};

/// The labels of the tool calls read so far, by their ids. A tool result is shown by the call it answers.
#[derive(Debug, Default)]
pub struct Calls {
    by_id: HashMap<String, String>,
    /// Older calls, if the number of kept calls is limited.
    before: HashMap<String, String>,
    most: Option<usize>,
}

impl Calls {
    /// Creates a memory of at least the last `most` calls. Results come soon after their calls.
    pub fn last(most: usize) -> Self {
        Calls { most: Some(most), ..Calls::default() }
    }

    /// Records the calls of an entry, and returns its text: for a tool result the label of the call
    /// that it answers.
    pub fn settle<'a>(&'a mut self, preview_line: &'a PreviewLine) -> &'a str {
        self.by_id.extend(preview_line.calls.iter().cloned());
        if self.most.is_some_and(|most| self.by_id.len() > most) {
            self.before = std::mem::take(&mut self.by_id);
        }
        preview_line.answers.as_deref().and_then(|id| self.get(id)).unwrap_or(&preview_line.text)
    }

    /// Returns the label of a call.
    pub fn get(&self, id: &str) -> Option<&str> {
        self.by_id.get(id).or_else(|| self.before.get(id)).map(String::as_str)
    }
}

/// The type of an entry as trees filter and color it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[allow(missing_docs, reason = "each is the entry type of that name")]
pub enum PreviewKind {
    User,
    /// An answer with text.
    Answer,
    /// An answer that ended normally and has no text, only tool calls.
    SilentAnswer,
    /// An answer that ended abnormally.
    FailedAnswer,
    ToolResult,
    FailedToolResult,
    Bash,
    System,
    BranchSummary,
    Compaction,
    /// A message of another role, or a custom message.
    OtherMessage,
    ContextEdit,
    Custom,
    Label,
    Leaf,
    ModelChange,
    ThinkingLevelChange,
    SessionInfo,
    Usage,
    Damaged,
    Other,
}

impl PreviewKind {
    /// Returns whether the entry is an answer that has only tool calls.
    pub fn is_silent(self) -> bool {
        self == PreviewKind::SilentAnswer
    }

    /// Returns the letter of the kind on pages: for the style of rows and entries, and for the
    /// filters of an exported page.
    pub fn letter(self) -> char {
        self.names().0
    }

    /// Returns the name of the kind for users.
    pub fn name(self) -> &'static str {
        self.names().1
    }

    fn names(self) -> (char, &'static str) {
        match self {
            PreviewKind::User => ('u', "User"),
            PreviewKind::Answer => ('a', "Assistant"),
            PreviewKind::SilentAnswer => ('A', "Assistant"),
            PreviewKind::FailedAnswer => ('E', "Assistant"),
            PreviewKind::ToolResult => ('t', "Tool"),
            PreviewKind::FailedToolResult => ('T', "Tool"),
            PreviewKind::Bash => ('b', "Command"),
            PreviewKind::System => ('s', "System"),
            PreviewKind::BranchSummary => ('B', "Branch summary"),
            PreviewKind::Compaction => ('C', "Compaction"),
            PreviewKind::OtherMessage => ('m', "Note"),
            PreviewKind::ContextEdit => ('e', "Context edit"),
            PreviewKind::Custom => ('k', "Custom"),
            PreviewKind::Label => ('l', "Label"),
            PreviewKind::Leaf => ('f', "Leaf"),
            PreviewKind::ModelChange => ('o', "Model"),
            PreviewKind::ThinkingLevelChange => ('h', "Thinking level"),
            PreviewKind::SessionInfo => ('i', "Name"),
            PreviewKind::Usage => ('g', "Usage"),
            PreviewKind::Damaged => ('d', "Damaged"),
            PreviewKind::Other => ('?', "Other"),
        }
    }

    /// All kinds.
    pub const ALL: [PreviewKind; 21] = [
        PreviewKind::User,
        PreviewKind::Answer,
        PreviewKind::SilentAnswer,
        PreviewKind::FailedAnswer,
        PreviewKind::ToolResult,
        PreviewKind::FailedToolResult,
        PreviewKind::Bash,
        PreviewKind::System,
        PreviewKind::BranchSummary,
        PreviewKind::Compaction,
        PreviewKind::OtherMessage,
        PreviewKind::ContextEdit,
        PreviewKind::Custom,
        PreviewKind::Label,
        PreviewKind::Leaf,
        PreviewKind::ModelChange,
        PreviewKind::ThinkingLevelChange,
        PreviewKind::SessionInfo,
        PreviewKind::Usage,
        PreviewKind::Damaged,
        PreviewKind::Other,
    ];

    /// Returns whether the entry is a failed tool result or an answer that ended abnormally.
    pub fn is_failure(self) -> bool {
        matches!(self, PreviewKind::FailedAnswer | PreviewKind::FailedToolResult)
    }
}

/// A line that represents an entry in a tree or a list.
///
/// ```
/// use treering::{Message, Session};
/// use treering_display::preview_line::{Calls, PreviewKind, PreviewLine};
/// let session = Session::in_memory("/project");
/// let id = session.append(Message::user("# Hello\nthere"))?;
/// let line = PreviewLine::read(&session.entry(id.as_str())?, &mut Calls::default());
/// assert_eq!((line.kind, &*line.text), (PreviewKind::User, "Hello"));
/// # Ok::<(), treering::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PreviewLine {
    /// The type of the entry.
    pub kind: PreviewKind,
    /// The text, safe to show.
    pub text: String,
    /// The id of the tool call that the entry answers, until [`Calls::settle`] has looked it up.
    answers: Option<String>,
    /// The tool calls of the entry: their ids and labels.
    calls: Vec<(String, String)>,
}

/// The longest preview line, in characters. No sidebar is wider.
const WIDTH: usize = 120;

impl PreviewLine {
    /// Creates a preview line with a text that is safe to show.
    pub fn new(kind: PreviewKind, text: String) -> Self {
        PreviewLine { kind, text, answers: None, calls: Vec::new() }
    }

    /// Reads an entry, and records its calls for the results that follow. Entries must be read in
    /// an order in which calls come before their results, such as the order of the file.
    pub fn read(entry: &Entry, calls: &mut Calls) -> Self {
        let mut line = PreviewLine::of(&EntryParts::of(entry));
        line.text = safe_line(calls.settle(&line));
        (line.answers, line.calls) = (None, Vec::new());
        line
    }

    /// Returns the id of the tool call that the entry answers.
    pub fn answers(&self) -> Option<&str> {
        self.answers.as_deref()
    }

    /// Reads an entry on its own. [`Calls::settle`] returns its final text.
    pub fn of(parts: &EntryParts<'_>) -> Self {
        let mut preview_line = PreviewLine::new(kind(parts), String::new());
        let text: Cow<'_, str> = match &parts.body {
            Body::Message(message) => {
                preview_line.read_message(parts, *message);
                return preview_line;
            }
            Body::Compaction { summary, .. } | Body::BranchSummary { summary, .. } => {
                headline(summary_line(summary)).into()
            }
            Body::CustomMessage { custom_type, text, .. } => {
                format!("{}: {}", first_line(custom_type), headline(text)).into()
            }
            Body::Custom { custom_type, .. } => Cow::Borrowed(custom_type),
            Body::Label { target, label } => match label {
                Some(label) => format!("[{}] on {target}", first_line(label)).into(),
                None => format!("cleared on {target}").into(),
            },
            Body::Leaf { target: Some(target) } => format!("at {target}").into(),
            Body::Leaf { target: None } => "before the first entry".into(),
            Body::ContextEdit { target, replacement: Some(_) } => {
                format!("replaces {target}").into()
            }
            Body::ContextEdit { target, replacement: None } => format!("removes {target}").into(),
            Body::ModelChange { provider, model } => format!("{provider}/{model}").into(),
            Body::ThinkingLevelChange { level } => Cow::Borrowed(level),
            Body::SessionInfo { name } => Cow::Borrowed(name.as_deref().unwrap_or_default()),
            Body::Usage { .. } => parts.entry.text("kind").unwrap_or_default(),
            Body::Damaged => "(damaged)".into(),
            _ => parts.entry.type_name(),
        };
        preview_line.text = excerpt(&text, WIDTH);
        preview_line
    }

    fn read_message(&mut self, parts: &EntryParts<'_>, message: MessageView<'_>) {
        self.text = match parts.role() {
            Some(Role::ToolResult) => {
                self.answers = Some(parts.fields.call_id().into_owned());
                format!("[{}]", excerpt(&parts.fields.tool_name(), 40))
            }
            Some(Role::BashExecution) => excerpt(
                &format!("$ {}", first_line(&message.field("command").unwrap_or_default())),
                WIDTH,
            ),
            Some(Role::BranchSummary | Role::CompactionSummary) => {
                headline(summary_line(&message.field("summary").unwrap_or_default()))
            }
            _ => self.read_blocks(&parts.blocks),
        };
    }

    /// Returns the first line of text, or the labels of the calls if there is no text, or else the first line
    /// of the thinking, marked as such.
    fn read_blocks(&mut self, blocks: &[Block<'_>]) -> String {
        let (mut answer, mut called, mut thought) = (String::new(), String::new(), None);
        for block in blocks {
            match block {
                Block::Text { text, .. } if answer.is_empty() => answer = headline(text),
                Block::ToolCall { id, name, arguments, .. } => {
                    let call = Call::new(name, *arguments).label();
                    if called.len() < WIDTH {
                        called.push_str(if called.is_empty() { "" } else { " " });
                        called.push_str(&call);
                    }
                    self.calls.push((id.clone().into_owned(), call));
                }
                Block::Thinking { text, .. } if thought.is_none() => thought = Some(text),
                Block::Image { .. } if called.len() < WIDTH => called.push_str("[image]"),
                _ => {}
            }
        }
        match thought.map(|thought| headline(thought)) {
            _ if !answer.is_empty() => answer,
            _ if !called.is_empty() => called,
            Some(thought) if thought.is_empty() => "[thinking]".to_owned(),
            Some(thought) => format!("[thinking] {thought}"),
            None => String::new(),
        }
    }
}

/// Returns the first line that is not blank, without Markdown markup.
fn headline(text: &str) -> String {
    let is_fence = |line: &&str| line.starts_with("```") || line.starts_with("~~~");
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let line =
        lines.clone().find(|line| !is_fence(line)).or(lines.clone().next()).unwrap_or_default();
    let start = line.trim_start_matches(['#', '>']).trim_start();
    let start = start.strip_prefix("- ").or(start.strip_prefix("* ")).unwrap_or(start);
    // Only a part is read, because a line may be megabytes long.
    let end = start.char_indices().nth(2 * WIDTH).map_or(start.len(), |(at, _)| at);
    let words = start.get(..end).unwrap_or(start);
    match words.contains(['*', '`']) {
        true => excerpt(&words.replace("**", "").replace('`', ""), WIDTH),
        false => excerpt(words, WIDTH),
    }
}

fn kind(parts: &EntryParts<'_>) -> PreviewKind {
    match &parts.body {
        Body::Message(_) => match parts.role() {
            Some(Role::User) => PreviewKind::User,
            Some(Role::Assistant) => match () {
                () if parts.fields.abnormal_end().is_some() => PreviewKind::FailedAnswer,
                () if parts.blocks.iter().any(
                    |block| matches!(block, Block::Text { text, .. } if !text.trim().is_empty()),
                ) =>
                {
                    PreviewKind::Answer
                }
                () => PreviewKind::SilentAnswer,
            },
            Some(Role::ToolResult) if parts.fields.is_error() => PreviewKind::FailedToolResult,
            Some(Role::ToolResult) => PreviewKind::ToolResult,
            Some(Role::BashExecution) => PreviewKind::Bash,
            Some(Role::System) => PreviewKind::System,
            Some(Role::BranchSummary) => PreviewKind::BranchSummary,
            Some(Role::CompactionSummary) => PreviewKind::Compaction,
            _ => PreviewKind::OtherMessage,
        },
        Body::Compaction { .. } => PreviewKind::Compaction,
        Body::BranchSummary { .. } => PreviewKind::BranchSummary,
        Body::CustomMessage { .. } => PreviewKind::OtherMessage,
        Body::ContextEdit { .. } => PreviewKind::ContextEdit,
        Body::Custom { .. } => PreviewKind::Custom,
        Body::Label { .. } => PreviewKind::Label,
        Body::Leaf { .. } => PreviewKind::Leaf,
        Body::ModelChange { .. } => PreviewKind::ModelChange,
        Body::ThinkingLevelChange { .. } => PreviewKind::ThinkingLevelChange,
        Body::SessionInfo { .. } => PreviewKind::SessionInfo,
        Body::Usage { .. } => PreviewKind::Usage,
        Body::Damaged => PreviewKind::Damaged,
        _ => PreviewKind::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_summary_is_shown_by_what_it_says() {
        let session = treering::Session::in_memory("/project");
        let text = format!(
            "{}## Goal\n**Fix** the parser",
            treering::branch_summary::BRANCH_SUMMARY_PREAMBLE
        );
        let branch = treering::NewEntry::branch_summary(None, &text);
        let compaction = treering::NewEntry::compaction("## Goal\n\nFix the parser", None, 1);
        for entry in [branch, compaction] {
            let id = session.append(entry).unwrap();
            let entry = session.entry(id.as_str()).unwrap();
            assert_eq!(PreviewLine::read(&entry, &mut Calls::default()).text, "Fix the parser");
        }
    }

    #[test]
    fn the_last_calls_are_remembered() {
        let preview_line = |answers: Option<&str>, calls: &[&str]| PreviewLine {
            kind: PreviewKind::Answer,
            text: "?".to_owned(),
            answers: answers.map(str::to_owned),
            calls: calls.iter().map(|id| (id.to_string(), format!("[{id}]"))).collect(),
        };
        let answer =
            |calls: &mut Calls, id: &str| calls.settle(&preview_line(Some(id), &[])).to_owned();
        let mut calls = Calls::last(2);
        for id in ["a", "b", "c", "d", "e", "f", "g"] {
            calls.settle(&preview_line(None, &[id]));
            assert_eq!(answer(&mut calls, id), format!("[{id}]"));
        }
        assert_eq!((answer(&mut calls, "f"), answer(&mut calls, "a")), ("[f]".into(), "?".into()));
    }

    #[test]
    fn an_answer_of_thinking_alone_is_marked() {
        let session = treering::Session::in_memory("/project");
        let text = |content: &str| {
            let message = format!(r#"{{"role":"assistant","content":[{content}]}}"#);
            let message = treering::Message::from_json(message.as_bytes()).unwrap();
            let id = session.append(message).unwrap();
            PreviewLine::read(&session.entry(id.as_str()).unwrap(), &mut Calls::default()).text
        };
        let thinking = r#"{"type":"thinking","thinking":"**Weighing** it\nmore"}"#;
        assert_eq!(text(thinking), "[thinking] Weighing it");
        assert_eq!(text(r#"{"type":"thinking","thinking":"","redacted":true}"#), "[thinking]");
        assert_eq!(text(&format!(r#"{thinking},{{"type":"text","text":"yes"}}"#)), "yes");
        let call = r#"{"type":"toolCall","id":"c","name":"ls","arguments":{}}"#;
        assert_eq!(text(&format!("{thinking},{call}")), "[ls]");
    }

    #[test]
    fn a_headline_has_no_marks() {
        assert_eq!(headline("\n## The **goal** is `x`\nmore"), "The goal is x");
        assert_eq!(headline("```text\nimport: y\n```"), "import: y");
        assert_eq!(headline("> - a"), "a");
        assert_eq!(headline("```"), "");
        assert_eq!(headline("a * b"), "a * b");
        assert_eq!(headline(&"x".repeat(1 << 20)).chars().count(), WIDTH + 1);
    }
}
