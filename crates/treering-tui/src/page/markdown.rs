//! Renders Markdown as lines. Line breaks are kept, HTML is text, images are shown by their
//! description. Marks show everything that colors show, so that nothing is lost without colors.

use super::code::Gutter;
use super::table::{MAX_COLUMNS, MarkdownTable};
use super::wrap::span_columns;
use super::writer::{MAX_LINE_BYTES, PageWriter, pieces, with_plain_ends};
use super::{StyledLine, StyledSpan, WrapMode};
use crate::theme::Tone;
use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag, TagEnd};
use std::sync::Arc;
use treering_display::columns::columns;
use treering_display::line::excerpt;
use treering_display::text::safe_line;

/// Longer texts are shown as plain text.
const MAX_MARKDOWN: usize = 512 * 1024;
/// The deepest nesting that is shown.
const MAX_DEPTH: usize = 16;
/// The largest number of characters of an address.
const MAX_ADDRESS: usize = 200;

/// Adds a Markdown text. With the tone `Dim` all of it has that tone.
pub(super) fn write(writer: &mut PageWriter, text: &str, base: Tone) {
    let text = with_plain_ends(text);
    let text = text.trim_matches('\n');
    if text.len() > MAX_MARKDOWN || text.trim().is_empty() {
        return writer.text(base, text);
    }
    let options =
        Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    let mut prose = MarkdownWriter::new(writer, base);
    for event in Parser::new_ext(text, options) {
        prose.event(event);
        if prose.writer.is_full() {
            break;
        }
    }
    prose.flush();
}

/// An open Markdown element.
enum OpenElement {
    /// A block that is followed by an empty line.
    Block,
    Quote,
    List,
    Item,
    /// A tone for the text, and the mark at its end.
    Style(Tone, &'static str),
    Link,
    Code,
    Table,
    Cell,
    /// A row, or another element without layout.
    Other,
}

/// The prefix of the lines inside an element.
enum LinePrefix {
    Quote,
    /// A mark before the first line.
    Item {
        mark: String,
        is_shown: bool,
    },
}

struct MarkdownWriter<'a> {
    writer: &'a mut PageWriter,
    base: Tone,
    open: Vec<OpenElement>,
    /// The number of open elements that are too deep to be shown.
    too_deep: usize,
    leads: Vec<LinePrefix>,
    /// The next number of each open list that has numbers.
    lists: Vec<Option<u64>>,
    /// The current line.
    line: Vec<StyledSpan>,
    bytes: usize,
    /// Whether an empty line comes before the next block.
    is_gap_due: bool,
    /// The language and the text of an open code block.
    code: Option<(String, String)>,
    /// The address and the text of an open link.
    link: Option<(String, String)>,
    /// The text of an open image, and the number of hidden elements around it.
    image: Option<(String, usize)>,
    table: Option<MarkdownTable>,
}

impl<'a> MarkdownWriter<'a> {
    fn new(writer: &'a mut PageWriter, base: Tone) -> Self {
        MarkdownWriter {
            writer,
            base,
            open: Vec::new(),
            too_deep: 0,
            leads: Vec::new(),
            lists: Vec::new(),
            line: Vec::new(),
            bytes: 0,
            is_gap_due: false,
            code: None,
            link: None,
            image: None,
            table: None,
        }
    }

    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text) => self.text(&text),
            Event::Html(text) | Event::InlineHtml(text) => self.text(&text),
            Event::Code(code) | Event::InlineMath(code) | Event::DisplayMath(code) => {
                self.inline_code(&code);
            }
            Event::SoftBreak | Event::HardBreak => self.line_break(),
            Event::Rule => {
                self.begin_block();
                self.push_line(WrapMode::Rule);
                self.is_gap_due = true;
            }
            Event::TaskListMarker(is_done) => {
                self.put(Tone::Plain, if is_done { "[x] " } else { "[ ] " });
            }
            Event::FootnoteReference(name) => self.text(&name),
        }
    }

    /// Returns the tone of text here: that of the innermost element that has one.
    fn tone(&self) -> Tone {
        let styles = self.open.iter().rev().map(|open| match open {
            OpenElement::Style(tone, _) => Some(*tone),
            OpenElement::Link => Some(Tone::Link),
            _ => None,
        });
        styles.flatten().next().unwrap_or(self.base)
    }

    fn put(&mut self, tone: Tone, text: &str) {
        let tone = if self.base == Tone::Dim { Tone::Dim } else { tone };
        for piece in pieces(text).filter(|piece| !piece.is_empty()) {
            if self.bytes + piece.len() > MAX_LINE_BYTES && self.table.is_none() {
                self.push_line(WrapMode::Prose);
            }
            self.bytes += piece.len();
            self.line.push(StyledSpan { tone, text: safe_line(piece) });
        }
    }

    fn text(&mut self, text: &str) {
        if let Some((alt, _)) = &mut self.image {
            return alt.push_str(text);
        }
        if let Some((_, code)) = &mut self.code {
            return code.push_str(text);
        }
        if let Some((_, link_text)) = &mut self.link {
            link_text.push_str(text);
        }
        let tone = self.tone();
        let mut lines = text.split('\n');
        self.put(tone, lines.next().unwrap_or_default());
        for line in lines {
            self.line_break();
            self.put(tone, line);
        }
    }

    fn inline_code(&mut self, code: &str) {
        if let Some((alt, _)) = &mut self.image {
            return alt.push_str(code);
        }
        if let Some((_, link_text)) = &mut self.link {
            link_text.push_str(code);
        }
        let mark = if code.contains('`') { "``" } else { "`" };
        self.put(Tone::Dim, mark);
        self.put(Tone::Code, &code.replace('\n', " "));
        self.put(Tone::Dim, mark);
    }

    fn line_break(&mut self) {
        match (&mut self.image, &self.table) {
            (Some((alt, _)), _) => alt.push(' '),
            (None, Some(_)) => self.put(Tone::Plain, " "),
            (None, None) if !self.line.is_empty() => self.push_line(WrapMode::Prose),
            (None, None) => {}
        }
    }

    /// Ends the line, if there is one.
    fn flush(&mut self) {
        if !self.line.is_empty() {
            self.push_line(WrapMode::Prose);
        }
    }

    fn push_line(&mut self, wrap_mode: WrapMode) {
        let mut spans = self.before();
        let hang = span_columns(&spans);
        spans.append(&mut self.line);
        self.bytes = 0;
        self.writer.push(StyledLine { spans, hang, wrap_mode });
    }

    /// Returns the prefix of the next line. Marks of items are shown once.
    fn before(&mut self) -> Vec<StyledSpan> {
        let base = self.base;
        let leads = self.leads.iter_mut().map(|lead| match lead {
            LinePrefix::Quote => StyledSpan { tone: Tone::Quote, text: "│ ".to_owned() },
            LinePrefix::Item { mark, is_shown: is_shown @ false } => {
                *is_shown = true;
                StyledSpan { tone: base, text: mark.clone() }
            }
            LinePrefix::Item { mark, .. } => {
                StyledSpan { tone: base, text: " ".repeat(columns(mark)) }
            }
        });
        leads.collect()
    }

    /// Begins a new block.
    fn begin_block(&mut self) {
        self.flush();
        if std::mem::take(&mut self.is_gap_due) {
            self.push_line(WrapMode::Prose);
        }
    }

    fn start(&mut self, tag: Tag<'_>) {
        if let Tag::Image { .. } = &tag
            && self.image.is_none()
        {
            self.image = Some((String::new(), self.too_deep));
            return;
        }
        if self.image.is_some() || self.open.len() >= MAX_DEPTH || self.too_deep > 0 {
            self.too_deep += 1;
            return;
        }
        let open = match tag {
            Tag::Emphasis => OpenElement::Style(Tone::Emphasis, ""),
            Tag::Strong => OpenElement::Style(Tone::Strong, ""),
            Tag::Strikethrough => {
                self.put(Tone::Struck, "~~");
                OpenElement::Style(Tone::Struck, "~~")
            }
            Tag::Link { dest_url, .. } => {
                self.link = Some((dest_url.to_string(), String::new()));
                OpenElement::Link
            }
            Tag::TableCell => OpenElement::Cell,
            Tag::TableHead | Tag::TableRow => {
                if let Some(table) = &mut self.table {
                    table.rows.push(Vec::new());
                }
                OpenElement::Other
            }
            Tag::Item => self.start_item(),
            block => self.start_block(block),
        };
        self.open.push(open);
    }

    fn start_block(&mut self, tag: Tag<'_>) -> OpenElement {
        self.begin_block();
        match tag {
            Tag::Heading { level, .. } => {
                let mark = "#".repeat(level as usize) + " ";
                self.put(Tone::Heading, &mark);
                OpenElement::Style(Tone::Heading, "\n")
            }
            Tag::BlockQuote(_) => {
                self.leads.push(LinePrefix::Quote);
                OpenElement::Quote
            }
            Tag::List(first) => {
                self.lists.push(first);
                OpenElement::List
            }
            Tag::CodeBlock(kind) => {
                let language = match &kind {
                    CodeBlockKind::Fenced(info) => info.split([' ', ',', '{']).next(),
                    CodeBlockKind::Indented => None,
                };
                let language = excerpt(language.unwrap_or_default(), 20);
                self.code = Some((language, String::new()));
                OpenElement::Code
            }
            Tag::Table(aligned) => {
                self.table = Some(MarkdownTable::new(aligned));
                OpenElement::Table
            }
            _ => OpenElement::Block,
        }
    }

    fn start_item(&mut self) -> OpenElement {
        self.begin_block();
        let mark = match self.lists.last_mut() {
            Some(Some(number)) => {
                let mark = format!("{number}. ");
                *number = number.saturating_add(1);
                mark
            }
            _ => "• ".to_owned(),
        };
        self.leads.push(LinePrefix::Item { mark, is_shown: false });
        OpenElement::Item
    }

    fn end(&mut self, tag: TagEnd) {
        if tag == TagEnd::Image
            && let Some((alt, too_deep)) = self.image.take_if(|(_, deep)| *deep == self.too_deep)
        {
            self.too_deep = too_deep;
            let alt = excerpt(&alt, MAX_ADDRESS);
            let text =
                if alt.is_empty() { "[image]".to_owned() } else { format!("[image: {alt}]") };
            return self.put(Tone::Dim, &text);
        }
        if self.too_deep > 0 {
            self.too_deep -= 1;
            return;
        }
        match self.open.pop() {
            Some(OpenElement::Style(_, "\n") | OpenElement::Block) => {
                self.flush();
                self.is_gap_due = true;
            }
            Some(OpenElement::Style(tone, mark)) => self.put(tone, mark),
            Some(OpenElement::Link) => self.end_link(),
            Some(OpenElement::Cell) => self.end_cell(),
            Some(OpenElement::Code) => self.end_code(),
            Some(OpenElement::Table) => self.end_table(),
            Some(OpenElement::Quote) => self.end_inside(),
            Some(OpenElement::Item) => self.end_item(),
            Some(OpenElement::List) => {
                self.flush();
                self.lists.pop();
                self.is_gap_due |= self.lists.is_empty();
            }
            Some(OpenElement::Other) | None => {}
        }
    }

    fn end_link(&mut self) {
        let Some((address, link_text)) = self.link.take() else { return };
        let bare = address.strip_prefix("mailto:").unwrap_or(&address);
        if !bare.is_empty() && link_text != bare && link_text != address {
            self.put(Tone::Dim, &format!(" ({})", excerpt(&address, MAX_ADDRESS)));
        }
    }

    fn end_inside(&mut self) {
        self.flush();
        self.leads.pop();
        self.is_gap_due = true;
    }

    fn end_item(&mut self) {
        // An empty item is shown, too.
        let is_new = matches!(self.leads.last(), Some(LinePrefix::Item { is_shown: false, .. }));
        if is_new || !self.line.is_empty() {
            self.push_line(WrapMode::Prose);
        }
        self.leads.pop();
    }

    fn end_code(&mut self) {
        let Some((language, code)) = self.code.take() else { return };
        if !language.is_empty() {
            self.put(Tone::Dim, &format!("── {language}"));
            self.push_line(WrapMode::Prose);
        }
        let indent = || StyledSpan { tone: Tone::Plain, text: "  ".to_owned() };
        let mut first = self.before();
        let mut rest = self.before();
        first.push(indent());
        rest.push(indent());
        self.writer.code(Gutter { first: &first, rest: &rest }, &language, &code);
        self.is_gap_due = true;
    }

    fn end_cell(&mut self) {
        self.bytes = 0;
        let spans = std::mem::take(&mut self.line);
        let row = self.table.as_mut().and_then(|table| table.rows.last_mut());
        match row {
            Some(row) if row.len() >= MAX_COLUMNS => {
                row.last_mut().into_iter().for_each(|cell| cell.spans.extend_from_slice(&spans));
            }
            Some(row) => row.push(StyledLine::of(spans)),
            None => {}
        }
    }

    fn end_table(&mut self) {
        let Some(mut table) = self.table.take() else { return };
        table.measure();
        // Writes the text of cells that are too deep to be shown as such.
        self.flush();
        let table = Arc::new(table);
        for row in 0..table.rows.len() {
            self.line = table.text_of(row);
            self.push_line(WrapMode::Row(Arc::clone(&table), row));
        }
        self.is_gap_due = true;
    }
}
