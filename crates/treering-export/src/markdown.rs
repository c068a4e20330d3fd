//! Writes Markdown that can be pasted into an issue: turns as headings, calls and results folded in
//! `details`.
//!
//! Messages are copied as Markdown, but cannot affect the text after them: HTML in them becomes
//! text, and open code blocks are closed. Everything else is in code blocks whose fence is longer
//! than any fence in them.

use crate::stats;
use crate::walk::ExportWalk;
use crate::{Export, Result};
use pulldown_cmark::{CodeBlockKind, Event, LinkType, Parser, Tag};
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::io::Write;
use treering::entry::{Block, Body, MessageView};
use treering::usage::Stats;
use treering::{Role, Session};
use treering_display::diff;
use treering_display::entry_parts::{EntryParts, MessageFields, message_parts};
use treering_display::line::excerpt;
use treering_display::preview_line::{Calls, PreviewLine};
use treering_display::text::{prefix, visible};
use treering_display::tool::{self, Arguments, Call};

/// The longest part of a tool result that is shown without `full`.
const MAX_LINES: usize = 40;
const MAX_BYTES: usize = 4000;

/// The maximum number of models that are listed; only a crafted file has more.
const MAX_MODELS: usize = 64;

pub(crate) fn write(export: &Export, session: &Session, out: &mut impl Write) -> Result<()> {
    let walk = ExportWalk::new(session, &export.part)?;
    let mut reader = session.reader();
    let mut models = BTreeSet::new();
    for item in walk.items() {
        let entry = reader.entry(item.entry.id)?;
        let model = EntryParts::of(&entry).fields.model();
        models.extend(model.filter(|_| models.len() < MAX_MODELS));
    }
    let stats = session.part_stats(&export.part)?;
    let title = crate::title(session, 80)?;
    writeln!(out, "# {}\n\n{}", escaped(&title), meta(session, &stats, &models))?;

    let (mut calls, mut text) = (Calls::default(), String::new());
    let mut last = None;
    for (place, item) in walk.items().enumerate() {
        let entry = reader.entry(item.entry.id)?;
        // At the beginning of a branch, the entry before it is not its parent.
        if place > 0 && item.parent != Some(place - 1) {
            let parent = item.entry.parent.unwrap_or("the beginning");
            let _ = write!(text, "\n---\n\n*A branch from {}:*\n", code_span(parent));
            last = None;
        }
        let mut turn =
            MarkdownExporter { export, calls: &mut calls, out: &mut text, last: &mut last };
        turn.entry(&EntryParts::of(&entry), item.entry.label);
        out.write_all(text.as_bytes())?;
        text.clear();
    }
    Ok(())
}

fn meta(session: &Session, stats: &Stats, models: &BTreeSet<String>) -> String {
    let mut facts = Vec::new();
    if let Some(first) = stats.first {
        let iso = treering::time::format(first);
        facts.push(iso.get(..16).unwrap_or_default().replace('T', " ") + " UTC");
    }
    facts.extend(stats::facts(stats));
    facts.extend(models.iter().take(4).map(|model| code_span(model)));
    let cwd = session.cwd();
    if !cwd.is_empty() {
        facts.push(code_span(&cwd));
    }
    format!("*{}*", facts.join(" · "))
}

/// Writes entries in order.
struct MarkdownExporter<'a> {
    export: &'a Export,
    calls: &'a mut Calls,
    out: &'a mut String,
    /// The heading of the last turn: an answer of several entries has only one heading.
    last: &'a mut Option<&'static str>,
}

impl MarkdownExporter<'_> {
    fn entry(&mut self, parts: &EntryParts<'_>, label: Option<&str>) {
        self.calls.settle(&PreviewLine::of(parts));
        match &parts.body {
            Body::Message(message) => {
                self.message(parts.role(), *message, (&parts.blocks, parts.fields), label);
                for more in parts.entry.more_messages() {
                    let (blocks, fields) = message_parts(more);
                    self.message(Some(more.role()), more, (&blocks, fields), None);
                }
            }
            Body::Compaction { summary, .. } => self.summary("Compaction", summary),
            Body::BranchSummary { summary, .. } => {
                self.summary("Summary of an abandoned branch", summary);
            }
            Body::CustomMessage { text, .. } => {
                self.heading("Note", label);
                self.prose(text);
            }
            Body::ModelChange { provider, model } => {
                let model = code_span(&format!("{provider}/{model}"));
                let _ = write!(self.out, "\n*Model: {model}*\n");
            }
            _ => {}
        }
    }

    fn message(
        &mut self,
        role: Option<Role>,
        message: MessageView<'_>,
        (blocks, fields): (&[Block<'_>], MessageFields<'_>),
        label: Option<&str>,
    ) {
        match role {
            Some(Role::User) => self.heading("User", label),
            Some(Role::Assistant) => self.heading("Assistant", label),
            Some(Role::ToolResult) => return self.result(fields, blocks),
            Some(Role::BashExecution) => return self.bash(message),
            Some(Role::System) => return self.system(message),
            Some(Role::BranchSummary | Role::CompactionSummary) => {
                return self.summary("Summary", &message.field("summary").unwrap_or_default());
            }
            _ => self.heading("Message", label),
        }
        for block in blocks {
            self.block(block);
        }
        if role == Some(Role::Assistant)
            && let Some(end) = fields.abnormal_end()
        {
            let _ = write!(self.out, "\n**Ended:** {}\n", escaped(&excerpt(&end, 400)));
        }
    }

    fn heading(&mut self, who: &'static str, label: Option<&str>) {
        let is_same = *self.last == Some(who) && who == "Assistant" && label.is_none();
        *self.last = Some(who);
        if is_same {
            return;
        }
        let _ = write!(self.out, "\n## {who}");
        if let Some(label) = label {
            let _ = write!(self.out, " · {}", escaped(&excerpt(label, 80)));
        }
        self.out.push('\n');
    }

    fn block(&mut self, block: &Block<'_>) {
        match block {
            Block::Text { text, .. } => self.prose(text),
            Block::Thinking { text, .. } if self.export.thinking && !text.trim().is_empty() => {
                self.details("Thinking", "", text);
            }
            Block::Image { mime_type, .. } => {
                let _ = write!(self.out, "\n*[image, {}]*\n", escaped(&excerpt(mime_type, 40)));
            }
            Block::ToolCall { name, arguments, .. } => self.call(name, *arguments),
            _ => {}
        }
    }

    fn prose(&mut self, text: &str) {
        let text = visible(text.trim());
        if !text.is_empty() {
            self.out.push('\n');
            self.out.push_str(&contained(&text));
            self.out.push('\n');
        }
    }

    fn call(&mut self, name: &str, raw: Option<&[u8]>) {
        let call = Call::new(name, raw);
        let title = call.label();
        let title = title.trim_matches(['[', ']']);
        let path = call.path().unwrap_or_default();
        match call.arguments() {
            Arguments::Command(command)
                if !command.trim().contains('\n') && command.len() < 150 =>
            {
                let _ = write!(self.out, "\n{}\n", code_span(&format!("$ {}", command.trim())));
            }
            Arguments::Command(command) => self.details(title, "bash", &command),
            Arguments::Edits(edits) => {
                let mut text = String::new();
                for line in edits.iter().flat_map(|(old, new)| diff::lines(old, new)) {
                    let _ = writeln!(text, "{}{}", line.sign, line.text);
                }
                self.details(title, "diff", &text);
            }
            Arguments::Content(content) => self.details(title, tool::language(&path), &content),
            Arguments::Patch(patch) => self.details(title, "diff", &patch),
            Arguments::Json(json) => self.details(title, "json", &json),
            Arguments::InSummary => {
                let _ = write!(self.out, "\n{}\n", code_span(title));
            }
        }
    }

    fn result(&mut self, fields: MessageFields<'_>, blocks: &[Block<'_>]) {
        let call =
            self.calls.get(&fields.call_id()).map(|call| call.trim_matches(['[', ']']).to_owned());
        let call = call.unwrap_or_else(|| fields.tool_name().into_owned());
        let is_error = fields.is_error();
        let title = if is_error { format!("failed: {call}") } else { format!("result: {call}") };
        for block in blocks {
            match block {
                Block::Text { text, .. } => self.output(&title, text),
                other => self.block(other),
            }
        }
    }

    fn bash(&mut self, message: MessageView<'_>) {
        self.heading("User", None);
        let command = message.field("command").unwrap_or_default();
        fenced(self.out, "bash", &visible(&command));
        self.output("output", &message.field("output").unwrap_or_default());
    }

    fn system(&mut self, message: MessageView<'_>) {
        if self.export.full {
            self.details("System prompt", "", &message.text());
        }
    }

    fn summary(&mut self, title: &'static str, summary: &str) {
        self.heading(title, None);
        self.prose(summary);
    }

    /// Writes the output of a tool, cut short without `full`.
    fn output(&mut self, title: &str, text: &str) {
        let text = text.trim_matches('\n');
        let end = match self.export.full {
            true => text.len(),
            false => cut(text),
        };
        let shown = text.get(..end).unwrap_or(text);
        self.details(title, "", shown);
        if end < text.len() {
            let lines = text.get(end..).map_or(0, |rest| rest.trim_matches('\n').lines().count());
            let note = format!(
                "*… {lines} more lines, {} bytes left out*\n\n</details>\n",
                text.len() - end
            );
            let kept = self.out.len() - "</details>\n".len();
            self.out.truncate(kept);
            self.out.push_str(&note);
        }
    }

    fn details(&mut self, title: &str, language: &str, text: &str) {
        let mut summary = String::new();
        for character in visible(title).replace('\n', " ").chars() {
            match character {
                '<' => summary.push_str("&lt;"),
                '>' => summary.push_str("&gt;"),
                '&' => summary.push_str("&amp;"),
                _ => summary.push(character),
            }
        }
        let _ = write!(self.out, "\n<details><summary><code>{summary}</code></summary>\n");
        fenced(self.out, language, &visible(text));
        self.out.push_str("\n</details>\n");
    }
}

/// Returns the position at which a long text is cut: after a number of lines or bytes, between
/// characters.
fn cut(text: &str) -> usize {
    let lines = text.match_indices('\n').nth(MAX_LINES - 1).map_or(text.len(), |(at, _)| at);
    let end = lines.min(MAX_BYTES);
    // A few more lines are not worth a note.
    if text.len() - end < 200 {
        return text.len();
    }
    prefix(text, end).len()
}

/// Appends a code block whose fence is longer than any run of backticks in it.
fn fenced(out: &mut String, language: &str, text: &str) {
    let fence = "`".repeat(longest_run(text).max(2) + 1);
    let _ = write!(out, "\n{fence}{language}\n{}\n{fence}\n", text.trim_end_matches('\n'));
}

fn longest_run(text: &str) -> usize {
    text.split(|character| character != '`').map(str::len).max().unwrap_or(0)
}

/// Returns a text between backticks, which it cannot end.
fn code_span(text: &str) -> String {
    let text = excerpt(text, 200);
    let fence = "`".repeat(longest_run(&text) + 1);
    let space = if text.starts_with('`') || text.ends_with('`') { " " } else { "" };
    format!("{fence}{space}{text}{space}{fence}")
}

/// Returns one line of text with its markup escaped.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        if matches!(
            character,
            '\\' | '`' | '*' | '_' | '[' | ']' | '<' | '>' | '#' | '|' | '~' | '&'
        ) {
            out.push('\\');
        }
        out.push(character);
    }
    out
}

/// Returns the text in which links become text unless they lead to the web, to a mail address or to
/// the same site.
///
/// A link loses its opening bracket. This may leave an earlier bracket that now opens a link, so
/// the result is checked again.
fn without_unsafe_links(text: &str) -> Cow<'_, str> {
    /// The maximum number of rounds: only a crafted text needs more.
    const ROUNDS: usize = 8;
    let mut text = Cow::Borrowed(text);
    for _ in 0..ROUNDS {
        let brackets = unsafe_brackets(&text);
        if brackets.is_empty() {
            return text;
        }
        let mut out = String::with_capacity(text.len() + 8 * brackets.len());
        let mut from = 0;
        for at in brackets {
            out.push_str(text.get(from..at).unwrap_or_default());
            // The link is an address in angle brackets, or an address after a text in brackets.
            let is_angle = text.get(at..).is_some_and(|rest| rest.starts_with('<'));
            out.push_str(if is_angle { "&lt;" } else { "\\" });
            from = at + usize::from(is_angle);
        }
        out.push_str(text.get(from..).unwrap_or_default());
        text = Cow::Owned(out);
    }
    Cow::Owned(text.replace('[', "&#91;").replace('<', "&lt;"))
}

/// Returns the positions of links, images and link definitions whose address is unsafe, in order.
fn unsafe_brackets(text: &str) -> Vec<usize> {
    let parser = Parser::new(text);
    let definitions = parser.reference_definitions().iter();
    let mut found: Vec<usize> = definitions
        .filter(|(_, definition)| !is_safe_address(&definition.dest))
        .map(|(_, definition)| definition.span.start)
        .collect();
    for (event, span) in parser.into_offset_iter() {
        match event {
            Event::Start(Tag::Link { link_type, dest_url, .. })
                if link_type != LinkType::Email && !is_safe_address(&dest_url) =>
            {
                found.push(span.start);
            }
            Event::Start(Tag::Image { dest_url, .. }) if !is_safe_address(&dest_url) => {
                found.push(span.start + 1);
            }
            _ => {}
        }
    }
    found.sort_unstable();
    found.dedup();
    found
}

/// Returns whether an address leads to the web, to a mail address, or has no scheme.
fn is_safe_address(address: &str) -> bool {
    // Browsers ignore spaces and control characters before a scheme.
    let address: String = address.chars().filter(|c| !c.is_control() && *c != ' ').collect();
    match address.split_once(':') {
        Some((scheme, _)) if !scheme.contains(['/', '?', '#']) => {
            ["http", "https", "mailto"].iter().any(|safe| scheme.eq_ignore_ascii_case(safe))
        }
        _ => true,
    }
}

/// Returns Markdown that cannot affect what follows it: its HTML is text, no link leads to a
/// script, and no code block is left open.
fn contained(text: &str) -> String {
    /// The text that is appended while the Markdown is parsed, to see where it ends.
    const AFTER: &str = "\n\nafter";
    let text = &*without_unsafe_links(text);
    let probe = format!("{text}{AFTER}");
    let mut out = String::with_capacity(text.len() + 16);
    let (mut from, mut fence) = (0, None);
    for (event, span) in Parser::new(&probe).into_offset_iter() {
        match event {
            Event::Html(_) | Event::InlineHtml(_) => {
                let end = span.end.min(text.len());
                let start = span.start.clamp(from, end.max(from));
                out.push_str(text.get(from..start).unwrap_or_default());
                out.push_str(&text.get(start..end).unwrap_or_default().replace('<', "&lt;"));
                from = end.max(from);
            }
            Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(_))) if span.end >= probe.len() => {
                let opening = probe.get(span.start..).unwrap_or_default();
                let mark = if opening.starts_with('~') { '~' } else { '`' };
                fence = Some(
                    opening.chars().take_while(|character| *character == mark).collect::<String>(),
                );
            }
            _ => {}
        }
    }
    out.push_str(text.get(from..).unwrap_or_default());
    if let Some(fence) = fence {
        out.push('\n');
        out.push_str(&fence);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contained_text_cannot_affect_what_follows() {
        assert_eq!(contained("a **b** `<c>`"), "a **b** `<c>`");
        assert_eq!(contained("<details>\n\nx"), "&lt;details>\n\nx");
        assert_eq!(contained("a <!-- b"), "a <!-- b");
        assert_eq!(contained("<!-- b"), "&lt;!-- b");
        assert_eq!(contained("a <b>c</b>"), "a &lt;b>c&lt;/b>");
        assert_eq!(contained("```rust\nx"), "```rust\nx\n```");
        assert_eq!(contained("~~~~\n```\nx"), "~~~~\n```\nx\n~~~~");
        assert_eq!(contained("```\nx\n```"), "```\nx\n```");
        assert_eq!(contained("```\n<b>\n```"), "```\n<b>\n```");
    }

    #[test]
    fn links_lead_to_the_web_to_mail_or_nowhere() {
        for safe in [
            "[a](https://x.y)",
            "[a](http://x.y:80/z)",
            "[a](mailto:a@b.c)",
            "[a](#part)",
            "[a](docs/x.md?y=1:2)",
            "<https://x.y>",
            "<a@b.c>",
            "[a]\n\n[a]: https://x.y",
            "`[a](javascript:x)`",
        ] {
            assert_eq!(contained(safe), safe);
        }
        assert_eq!(contained("[a](javascript:x)"), "\\[a](javascript:x)");
        assert_eq!(contained("<javascript:x>"), "&lt;javascript:x>");
        for text in [
            "[a](javascript:x)",
            "[a](JavaScript:x)",
            "[a](java&#x0A;script:x)",
            "[a]( <javascript:x> 'title')",
            "[a](&#106;avascript:x)",
            "[a](data:text/html,x)",
            "[a](vbscript:x) [b](file:///etc/passwd)",
            "![a](javascript:x)",
            "<javascript:x>",
            "[a][b]\n\n[b]: javascript:x",
            "[b]\n\n[b]: <javascript:x> 'title'",
            "[a [b](javascript:x) c](javascript:y)",
            "[[[[[[[[[[[[[[[a](x:y)](x:y)](x:y)](x:y)](x:y)](x:y)](x:y)](x:y)](x:y)](x:y)](x:y)](x:y)",
        ] {
            let safe = contained(text);
            assert_eq!(unsafe_brackets(&safe), [0; 0], "{text:?} became {safe:?}");
        }
    }

    #[test]
    fn a_fence_is_longer_than_what_it_holds() {
        let mut out = String::new();
        fenced(&mut out, "md", "a\n````\nb");
        assert_eq!(out, "\n`````md\na\n````\nb\n`````\n");
        assert_eq!(code_span("a`b"), "``a`b``");
        assert_eq!(code_span("`"), "`` ` ``");
    }

    #[test]
    fn long_texts_are_cut_between_characters() {
        let text = "é".repeat(3000);
        assert!(text.is_char_boundary(cut(&text)) && cut(&text) <= MAX_BYTES);
        assert_eq!(cut("short"), 5);
        assert_eq!(cut(&"line\n".repeat(100)), MAX_LINES * 5 - 1);
    }
}
