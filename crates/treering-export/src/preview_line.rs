//! An entry in a tree: what kind it is, and one line of what it says.

use crate::entry_parts::EntryParts;
use crate::text::{excerpt, first_line};
use crate::tool::Call;
use std::borrow::Cow;
use std::collections::HashMap;
use treering::branch_summary::summary_line;
use treering::entry::{Block, Body, MessageView};
use treering::{Entry, Role};

/// The calls seen so far by their ids, in short: a result is shown by the call it answers.
#[derive(Debug, Default)]
pub struct Calls {
    by_id: HashMap<String, String>,
    /// Those before the latest, if not all are remembered.
    before: HashMap<String, String>,
    most: Option<usize>,
}

impl Calls {
    /// Remembers only the last ones, at least `most`: results come soon after their calls.
    pub fn last(most: usize) -> Self {
        Calls { most: Some(most), ..Calls::default() }
    }

    /// Remembers the calls of an entry. What is shown of it: of a result the call that it answers.
    pub(crate) fn settle<'a>(&'a mut self, preview_line: &'a PreviewLine) -> &'a str {
        self.by_id.extend(preview_line.calls.iter().cloned());
        if self.most.is_some_and(|most| self.by_id.len() > most) {
            self.before = std::mem::take(&mut self.by_id);
        }
        preview_line.answers.as_deref().and_then(|id| self.get(id)).unwrap_or(&preview_line.text)
    }

    pub(crate) fn get(&self, id: &str) -> Option<&str> {
        self.by_id.get(id).or_else(|| self.before.get(id)).map(String::as_str)
    }
}

/// The summary line of an entry, as trees show it.
///
/// ```
/// use treering::{Message, Session};
/// use treering_export::{Calls, PreviewLine};
/// let session = Session::in_memory("/project");
/// let id = session.append(Message::user("# Hello\nthere"))?;
/// let preview_line = PreviewLine::read(&session.entry(id.as_str())?, &mut Calls::default());
/// assert_eq!((preview_line.kind, &*preview_line.text), ('u', "Hello"));
/// # Ok::<(), treering::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PreviewLine {
    /// One letter; filters go by it. `u` is the user, `t` a tool result and `T` a failed one, `a` an
    /// answer with text, `A` one without, `E` one that ended abnormally; the others are internal.
    pub kind: char,
    /// One line, made visible by the rules of [`crate::text`].
    pub text: String,
    /// The id of the call that it answers. Only the entries before it know more of that.
    answers: Option<String>,
    /// The calls that it makes: their ids, and each in short.
    calls: Vec<(String, String)>,
}

/// Longer than any sidebar.
const WIDTH: usize = 120;

impl PreviewLine {
    /// Returns the preview_line of an entry. Its calls are remembered for the results to come: entries are
    /// read in an order in which calls come before their results, such as that of the file.
    pub fn read(entry: &Entry, calls: &mut Calls) -> Self {
        let mut preview_line = PreviewLine::of(&EntryParts::of(entry));
        preview_line.text = calls.settle(&preview_line).to_owned();
        preview_line
    }

    /// Looks at an entry on its own: see [`Calls::settle`].
    pub(crate) fn of(parts: &EntryParts<'_>) -> Self {
        let mut preview_line = PreviewLine {
            kind: kind(parts),
            text: String::new(),
            answers: None,
            calls: Vec::new(),
        };
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
                Some(label) => format!("label [{}] on {target}", first_line(label)).into(),
                None => format!("label cleared on {target}").into(),
            },
            Body::Leaf { target: Some(target) } => format!("leaf at {target}").into(),
            Body::Leaf { target: None } => "leaf before the first entry".into(),
            Body::ContextEdit { target, replacement: Some(_) } => {
                format!("replaces {target}").into()
            }
            Body::ContextEdit { target, replacement: None } => format!("removes {target}").into(),
            Body::ModelChange { provider, model } => format!("{provider}/{model}").into(),
            Body::ThinkingLevelChange { level } => format!("thinking: {level}").into(),
            Body::SessionInfo { name } => Cow::Borrowed(name.as_deref().unwrap_or_default()),
            Body::Usage { .. } => "usage".into(),
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

    /// Returns the first line of text, else what is called.
    fn read_blocks(&mut self, blocks: &[Block<'_>]) -> String {
        let mut said = String::new();
        let mut called = String::new();
        for block in blocks {
            match block {
                Block::Text(text) if said.is_empty() => said = headline(text),
                Block::ToolCall { id, name, arguments } => {
                    let call = Call::new(name, *arguments).label();
                    if called.len() < WIDTH {
                        called.push_str(if called.is_empty() { "" } else { " " });
                        called.push_str(&call);
                    }
                    self.calls.push((id.clone().into_owned(), call));
                }
                Block::Image { .. } if called.len() < WIDTH => called.push_str("[image]"),
                _ => {}
            }
        }
        if said.is_empty() { called } else { said }
    }
}

/// Returns the first line that says something, without the marks of Markdown.
pub(crate) fn headline(text: &str) -> String {
    let is_fence = |line: &&str| line.starts_with("```") || line.starts_with("~~~");
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let line =
        lines.clone().find(|line| !is_fence(line)).or(lines.clone().next()).unwrap_or_default();
    let start = line.trim_start_matches(['#', '>']).trim_start();
    let start = start.strip_prefix("- ").or(start.strip_prefix("* ")).unwrap_or(start);
    // No more than is shown: lines may be megabytes long.
    let end = start.char_indices().nth(2 * WIDTH).map_or(start.len(), |(at, _)| at);
    let words = start.get(..end).unwrap_or(start);
    match words.contains(['*', '`']) {
        true => excerpt(&words.replace("**", "").replace('`', ""), WIDTH),
        false => excerpt(words, WIDTH),
    }
}

/// Returns the letter of an entry. Of an answer: `a` with text, `A` without, `E` if it ended
/// abnormally.
fn kind(parts: &EntryParts<'_>) -> char {
    match &parts.body {
        Body::Message(_) => match parts.role() {
            Some(Role::User) => 'u',
            Some(Role::Assistant) => match () {
                () if parts.fields.abnormal_end().is_some() => 'E',
                () if parts
                    .blocks
                    .iter()
                    .any(|block| matches!(block, Block::Text(text) if !text.trim().is_empty())) =>
                {
                    'a'
                }
                () => 'A',
            },
            Some(Role::ToolResult) if parts.fields.is_error() => 'T',
            Some(Role::ToolResult) => 't',
            Some(Role::BashExecution) => 'b',
            Some(Role::System) => 's',
            Some(Role::BranchSummary) => 'B',
            Some(Role::CompactionSummary) => 'C',
            _ => 'm',
        },
        Body::Compaction { .. } => 'C',
        Body::BranchSummary { .. } => 'B',
        Body::CustomMessage { .. } => 'm',
        Body::ContextEdit { .. } => 'e',
        Body::Custom { .. } => 'k',
        Body::Label { .. } => 'l',
        Body::Leaf { .. } => 'f',
        Body::ModelChange { .. } => 'o',
        Body::ThinkingLevelChange { .. } => 'h',
        Body::SessionInfo { .. } => 'i',
        Body::Usage { .. } => 'g',
        Body::Damaged => 'd',
        _ => '?',
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
            kind: 'a',
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
    fn a_headline_has_no_marks() {
        assert_eq!(headline("\n## The **goal** is `x`\nmore"), "The goal is x");
        assert_eq!(headline("```text\nimport: y\n```"), "import: y");
        assert_eq!(headline("> - a"), "a");
        assert_eq!(headline("```"), "");
        assert_eq!(headline("a * b"), "a * b");
        assert_eq!(headline(&"x".repeat(1 << 20)).chars().count(), WIDTH + 1);
    }
}
