//! Renders an entry as a block of the transcript. This is the only part of the chat that reads
//! entries; the runtime calls it, update and view do not.

use super::state::StreamingText;
use super::transcript::TranscriptBlock;
use crate::page::{Page, StyledLine};
use crate::theme::Tone;
use treering::entry::{Body, MessageView};
use treering::{Entry, Kind, Role};
use treering_display::columns::fit;
use treering_display::preview_line::{Calls, PreviewLine};
use treering_display::text::{prefix, safe_line};

/// The amount of tool and command output that is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Folding {
    /// A few lines.
    #[default]
    Folded,
    /// All lines.
    Open,
}

/// The number of lines that are shown of a folded result.
const FOLDED: usize = 6;
/// The number of lines that are shown of a folded user message.
const FOLDED_TYPED: usize = 40;
/// The largest part of an entry that is shown, in bytes. An entry may be a gigabyte.
const MAX_BYTES: usize = 256 * 1024;
/// The indentation of content below its heading.
const INDENT: usize = 2;

/// Returns whether an entry is part of the transcript.
pub fn is_shown(kind: Kind) -> bool {
    matches!(
        kind,
        Kind::Message
            | Kind::Compaction
            | Kind::BranchSummary
            | Kind::CustomMessage
            | Kind::ModelChange
            | Kind::ThinkingLevelChange
    )
}

/// Renders an entry in `width` columns. `calls` holds the calls of the entries before it, because a
/// tool result is shown by the call it answers.
pub fn block(
    entry: &Entry,
    label: Option<&str>,
    calls: &mut Calls,
    folding: Folding,
    width: usize,
) -> TranscriptBlock {
    let mut maker = BlockBuilder { lines: Vec::new(), width: width.max(INDENT + 2), folding };
    let preview_line = PreviewLine::read(entry, calls);
    match entry.body() {
        Body::Message(message) => {
            maker.message(message, label, &preview_line.text);
            entry.more_messages().for_each(|message| maker.message(message, None, ""));
        }
        Body::Compaction { summary, tokens_before, .. } => {
            let size = tokens_before.map_or(String::new(), |tokens| {
                format!(
                    " of about {} tokens",
                    treering_display::number::tokens(tokens.max(0.0) as u64)
                )
            });
            maker.heading(Tone::Summary, &format!("── compaction{size}"), label);
            maker.markdown(&summary);
        }
        Body::BranchSummary { summary, .. } => {
            maker.heading(Tone::Summary, "── summary of another branch", label);
            maker.markdown(&summary);
        }
        Body::CustomMessage { custom_type, text, .. } => {
            maker.heading(Tone::Summary, &format!("◆ {custom_type}"), label);
            maker.markdown(&text);
        }
        Body::ModelChange { provider, model } => {
            maker.heading(Tone::Dim, &format!("model: {provider}/{model}"), label);
        }
        Body::ThinkingLevelChange { level } => {
            maker.heading(Tone::Dim, &format!("thinking: {level}"), label);
        }
        Body::Damaged => maker.heading(Tone::Failure, "(damaged)", label),
        _ => maker.heading(Tone::Dim, &entry.type_name(), label),
    }
    maker.lines.push(StyledLine::default());
    maker.lines.into()
}

/// The kind of a streaming text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StreamKind {
    /// An answer, in Markdown.
    Answer,
    /// The output of a command.
    Output,
}

/// Renders a text that is still streaming.
pub(crate) fn streaming(piece: &StreamingText, folding: Folding, width: usize) -> Vec<StyledLine> {
    /// The largest part of its end that is laid out, because it is laid out again for every chunk.
    const MAX: usize = 32 * 1024;
    let StreamingText { arrival, heading, text, thinking, .. } = piece;
    let mut maker = BlockBuilder { lines: Vec::new(), width: width.max(INDENT + 2), folding };
    let tone = if *arrival == StreamKind::Answer { Tone::Assistant } else { Tone::Tool };
    maker.heading(tone, heading, None);
    match text.is_empty() {
        // The newest line of the thinking is shown while there is no text.
        true => maker.thinking(end_of(thinking, MAX), KeepLines::End),
        false => maker.thinking(end_of(thinking, MAX), KeepLines::Start),
    }
    let end = end_of(text, MAX);
    let start = text.len() - end.len();
    let shown = match end.split_once('\n').filter(|_| start > 0) {
        Some((_, lines)) => {
            maker.heading(Tone::Dim, "…", None);
            lines
        }
        None => end,
    };
    match arrival {
        StreamKind::Answer => maker.markdown(shown),
        StreamKind::Output => maker.plain(Tone::Dim, shown.trim_end()),
    }
    maker.lines.push(StyledLine::default());
    maker.lines
}

struct BlockBuilder {
    lines: Vec<StyledLine>,
    width: usize,
    folding: Folding,
}

impl BlockBuilder {
    fn message(&mut self, message: MessageView<'_>, label: Option<&str>, preview_line: &str) {
        match message.role() {
            Role::User => {
                self.heading(Tone::User, "› you", label);
                self.content(message, BlockBuilder::typed);
            }
            Role::Assistant => self.answer(message, label),
            Role::ToolResult => {
                let is_error = message.get("isError") == Some(b"true");
                let mark = if is_error { "✗" } else { "·" };
                let preview_line = if preview_line.is_empty() { "tool" } else { preview_line };
                let tone = if is_error { Tone::Failure } else { Tone::Tool };
                self.heading(tone, &format!("{mark} {preview_line}"), label);
                self.output(&message.text(), KeepLines::Start);
            }
            Role::BashExecution => self.command(message, label),
            Role::BranchSummary | Role::CompactionSummary => {
                self.heading(Tone::Summary, "── summary", label);
                self.markdown(&message.field("summary").unwrap_or_default());
            }
            _ => {
                self.heading(Tone::Summary, &format!("◆ {}", message.role_name()), label);
                self.content(message, BlockBuilder::markdown);
            }
        }
    }

    fn answer(&mut self, message: MessageView<'_>, label: Option<&str>) {
        let model = message.field("model").unwrap_or_default();
        let name = if model.is_empty() { "assistant" } else { &model };
        self.heading(Tone::Assistant, &format!("● {name}"), label);
        self.content(message, BlockBuilder::markdown);
        let stop = message.field("stopReason").unwrap_or_default();
        let error = message.field("errorMessage").unwrap_or_default();
        match &*stop {
            "aborted" => self.note(Tone::Failure, "(aborted)"),
            "length" => self.note(Tone::Failure, "(cut off at the output limit)"),
            "error" => self.note(Tone::Failure, &format!("(failed: {error})")),
            _ => {}
        }
    }

    fn command(&mut self, message: MessageView<'_>, label: Option<&str>) {
        let is = |key: &str| message.get(key) == Some(b"true");
        let mut heading = format!("$ {}", message.field("command").unwrap_or_default());
        if is("excludeFromContext") {
            heading.push_str("   (not in context)");
        }
        self.heading(Tone::Tool, &heading, label);
        self.output(&message.field("output").unwrap_or_default(), KeepLines::End);
        let code = message.get("exitCode").filter(|code| *code != b"0" && *code != b"null");
        if is("cancelled") {
            self.note(Tone::Failure, "(canceled)");
        } else if let Some(code) = code {
            self.note(Tone::Failure, &format!("(exit code {})", String::from_utf8_lossy(code)));
        }
        if let Some(path) = message.field("fullOutputPath").filter(|_| is("truncated")) {
            self.note(Tone::Dim, &format!("(full output: {path})"));
        }
    }

    /// Adds the blocks of a message, with `write` for its texts.
    fn content(&mut self, message: MessageView<'_>, write: fn(&mut BlockBuilder, &str)) {
        use treering::entry::Block;
        for block in message.blocks() {
            match block {
                Block::Text { text, .. } => write(self, &text),
                Block::Thinking { text, .. } => self.thinking(&text, KeepLines::Start),
                Block::Image { mime_type, .. } => {
                    self.note(Tone::Dim, &format!("[image: {mime_type}]"));
                }
                Block::ToolCall { name, .. } => self.note(Tone::Tool, &format!("→ {name}")),
                _ => {}
            }
        }
    }

    fn heading(&mut self, tone: Tone, text: &str, label: Option<&str>) {
        let mut line = StyledLine::new(tone, text.split('\n').next().unwrap_or_default());
        if let Some(label) = label {
            line.spans.push(crate::page::StyledSpan { tone: Tone::Plain, text: "  ".to_owned() });
            let text = format!("[{}]", safe_line(label));
            line.spans.push(crate::page::StyledSpan { tone: Tone::Label, text });
        }
        let page = Page { lines: vec![line] };
        self.lines.extend(page.wrapped(self.width).lines);
    }

    fn note(&mut self, tone: Tone, text: &str) {
        self.plain(tone, text);
    }

    fn markdown(&mut self, text: &str) {
        let page = Page::of_markdown(prefix(text, MAX_BYTES));
        self.indented(&page);
    }

    /// Adds the text of a user message as it was typed. Of a long paste only the beginning is
    /// shown.
    fn typed(&mut self, text: &str) {
        let text = prefix(text, MAX_BYTES);
        let mut lines = text.split('\n');
        let shown: Vec<&str> = lines.by_ref().take(FOLDED_TYPED).collect();
        match lines.count() {
            left_out if left_out > 0 && self.folding == Folding::Folded => {
                let shown: Vec<&str> = shown.into_iter().map(short).collect();
                self.plain(Tone::Plain, &shown.join("\n"));
                self.note(Tone::Dim, &format!("… {left_out} more lines"));
            }
            _ => self.plain(Tone::Plain, text),
        }
    }

    fn plain(&mut self, tone: Tone, text: &str) {
        let lines =
            text.split('\n').map(|line| StyledLine::new(tone, prefix(line, MAX_BYTES))).collect();
        self.indented(&Page { lines });
    }

    fn indented(&mut self, page: &Page) {
        for mut line in page.wrapped(self.width - INDENT).lines {
            let blank = crate::page::StyledSpan { tone: Tone::Plain, text: " ".repeat(INDENT) };
            line.spans.insert(0, blank);
            self.lines.push(line);
        }
    }

    /// Adds the thinking of a model: all lines, or one line and their number.
    fn thinking(&mut self, text: &str, keep: KeepLines) {
        let text = prefix(text.trim(), MAX_BYTES);
        if text.is_empty() {
            return;
        }
        if self.folding == Folding::Open {
            self.note(Tone::Dim, "thinking:");
            return self.plain(Tone::Dim, text);
        }
        let mut lines = text.lines().filter(|line| !line.trim().is_empty());
        let count = lines.clone().count();
        let line = match keep {
            KeepLines::Start => lines.next(),
            KeepLines::End => lines.next_back(),
        };
        let title = match count {
            1 => "thinking: ".to_owned(),
            count => format!("thinking, {count} lines: "),
        };
        let room = (self.width - INDENT).saturating_sub(title.len());
        let line = safe_line(short(line.unwrap_or_default().trim()));
        let line = fit(&line, room.max(1));
        self.note(Tone::Dim, &format!("{title}{line}"));
    }

    /// Adds the output of a tool or a command.
    fn output(&mut self, text: &str, keep: KeepLines) {
        let text = prefix(text.trim_end(), MAX_BYTES);
        if text.is_empty() {
            return;
        }
        let lines: Vec<&str> = text.split('\n').collect();
        let left_out = lines.len().saturating_sub(FOLDED);
        if self.folding == Folding::Open || left_out == 0 {
            return self.plain(Tone::Dim, text);
        }
        let more = format!("… {left_out} more lines");
        let (kept, before, after) = match keep {
            KeepLines::Start => (lines.get(..FOLDED), None, Some(&more)),
            KeepLines::End => (lines.get(left_out..), Some(&more), None),
        };
        before.into_iter().for_each(|more| self.note(Tone::Dim, more));
        let kept = kept.unwrap_or_default().iter().map(|line| short(line));
        self.plain(Tone::Dim, &kept.collect::<Vec<_>>().join("\n"));
        after.into_iter().for_each(|more| self.note(Tone::Dim, more));
    }
}

/// The lines of a folded output that are shown.
#[derive(Clone, Copy)]
enum KeepLines {
    Start,
    End,
}

fn end_of(text: &str, bytes: usize) -> &str {
    let mut start = text.len().saturating_sub(bytes);
    while !text.is_char_boundary(start) {
        start += 1;
    }
    text.get(start..).unwrap_or_default()
}

/// Returns the beginning of a line, as much as fits into a few rows.
fn short(line: &str) -> &str {
    let end = line.char_indices().nth(400).map_or(line.len(), |(at, _)| at);
    line.get(..end).unwrap_or_default()
}
