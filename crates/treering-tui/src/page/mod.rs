//! Pages of lines to read: an entry, the context at an entry, Markdown.
//!
//! Pages are made where sessions are read, outside of update, and do not depend on a screen: `wrap`
//! and `table` fit lines to a width, `reader` only as far as the user has scrolled. `writer` fills
//! a page up to a limit; `markdown` renders Markdown, `code` highlights code, `call` renders tool
//! calls, `entry` and `context` combine them, [`diff`] compares two texts. The text of a page is
//! safe to show.

mod call;
mod code;
mod context;
pub mod diff;
mod entry;
mod markdown;
mod reader;
mod table;
mod wrap;
mod writer;

#[cfg(test)]
mod tests;

pub use reader::PageView;

use crate::theme::Tone;
use crate::time_zone::DisplayZone;
use entry::EntryContext;
use std::sync::Arc;
use table::MarkdownTable;
use treering::entry::MessageView;
use treering::{Context, Entry, Session};
use treering_display::text::safe_line;
use writer::PageWriter;

/// A piece of a line with one tone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StyledSpan {
    /// The meaning of the text, which decides its color.
    pub tone: Tone,
    /// The text, safe to show.
    pub text: String,
}

impl StyledSpan {
    /// Creates a span with a text that is made safe to show.
    pub fn new(tone: Tone, text: &str) -> Self {
        StyledSpan { tone, text: safe_line(text) }
    }
}

/// A line of a page. It may be wider than the screen.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct StyledLine {
    /// The spans of the line.
    pub spans: Vec<StyledSpan>,
    /// The indentation of the continuation if the line is wrapped. Of the indented part only the
    /// bars of quotes are repeated.
    pub hang: usize,
    pub(crate) wrap_mode: WrapMode,
}

/// The way in which a line is wrapped.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) enum WrapMode {
    /// Wraps at spaces.
    #[default]
    Prose,
    /// Wraps at the edge of the screen, and keeps spaces.
    Code,
    /// A rule as wide as the screen.
    Rule,
    /// A row of a table; the spans hold it as plain text.
    Row(Arc<MarkdownTable>, usize),
}

impl StyledLine {
    /// Creates a line of one span that is made safe to show.
    pub fn new(tone: Tone, text: &str) -> Self {
        StyledLine::of(vec![StyledSpan::new(tone, text)])
    }

    /// Creates a line of spans.
    pub fn of(spans: Vec<StyledSpan>) -> Self {
        StyledLine { spans, ..StyledLine::default() }
    }

    /// Returns the line with an indentation for its continuation.
    pub fn hanging(self, hang: usize) -> Self {
        StyledLine { hang, ..self }
    }

    /// Returns the text without tones.
    pub fn text(&self) -> String {
        self.spans.iter().map(|span| &*span.text).collect()
    }
}

/// Lines to read.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Page {
    /// The lines.
    pub lines: Vec<StyledLine>,
}

impl Page {
    /// Returns a page for an entry, with its time in a zone.
    pub fn of_entry(entry: &Entry, zone: &DisplayZone) -> Self {
        let mut writer = PageWriter::default();
        entry::write(&mut writer, entry, &EntryContext::default(), zone);
        writer.finish()
    }

    /// Returns a page for an entry of a session, with its label. A result is shown with the call
    /// that it answers.
    pub fn of_entry_in(session: &Session, entry: &Entry, zone: &DisplayZone) -> Self {
        let mut writer = PageWriter::default();
        entry::write(&mut writer, entry, &EntryContext::of(session, entry), zone);
        writer.finish()
    }

    /// Returns a page for the content of a message without its role. `caller` is the message with
    /// the call that it answers.
    pub fn of_message(message: MessageView<'_>, caller: Option<MessageView<'_>>) -> Self {
        let mut writer = PageWriter::default();
        entry::write_message(&mut writer, message, caller);
        writer.finish()
    }

    /// Returns a page for a tool call, given its name and its arguments as JSON.
    ///
    /// ```
    /// use treering_tui::page::Page;
    /// let page = Page::of_call("edit", Some(br#"{"path":"a","oldText":"x","newText":"y"}"#));
    /// assert_eq!(page.text(), "→ edit a\n  - x\n  + y\n");
    /// ```
    pub fn of_call(name: &str, arguments: Option<&[u8]>) -> Self {
        let mut writer = PageWriter::default();
        call::write(&mut writer, name, arguments);
        writer.finish()
    }

    /// Returns a page for a context, message by message, with estimated sizes.
    pub fn of_context(context: &Context) -> Self {
        Page::of_context_edited(context, |_| false)
    }

    /// Returns a page for a context, with a mark on entries that a context edit changed.
    pub fn of_context_edited(context: &Context, is_edited: impl Fn(&str) -> bool) -> Self {
        let mut writer = PageWriter::default();
        context::write(&mut writer, context, is_edited);
        writer.finish()
    }

    /// Returns a page for the context at an entry of a session, with a mark on entries that a
    /// context edit changed.
    pub fn of_context_at(session: &Session, id: &str) -> treering::Result<Self> {
        let projection = session.projection_at(id)?;
        let edited: std::collections::HashSet<String> = projection
            .selected()
            .filter(|id| projection.is_edited(id.as_str()))
            .map(|id| id.to_string())
            .collect();
        let context = Context::collect(projection)?;
        Ok(Page::of_context_edited(&context, |id| edited.contains(id)))
    }

    /// Returns a page for Markdown text.
    ///
    /// ```
    /// use treering_tui::page::{StyledLine, Page};
    /// let page = Page::of_markdown("# A\n- *b*");
    /// let lines: Vec<String> = page.lines.iter().map(StyledLine::text).collect();
    /// assert_eq!(lines, ["# A", "", "• b"]);
    /// ```
    pub fn of_markdown(text: &str) -> Self {
        let mut writer = PageWriter::default();
        markdown::write(&mut writer, text, Tone::Plain);
        writer.finish()
    }

    /// Returns a page that shows an error.
    pub fn of_failure(why: &str) -> Self {
        let mut writer = PageWriter::default();
        writer.text(Tone::Failure, why);
        writer.finish()
    }

    /// Returns the page with all lines wrapped to a width. To show a part of a page, a [`PageView`]
    /// wraps only that part.
    pub fn wrapped(&self, width: usize) -> Self {
        let mut page = Page::default();
        for line in &self.lines {
            wrap::wrap(line, width, &mut page.lines);
        }
        page
    }

    /// Returns the text of the page without styles.
    pub fn text(&self) -> String {
        let mut text = String::new();
        for line in &self.lines {
            text.extend(line.spans.iter().map(|span| &*span.text));
            text.push('\n');
        }
        text
    }
}
