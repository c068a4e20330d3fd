//! Pages of lines to read: an entry, the context at an entry, Markdown.
//!
//! Pages are made where sessions are read, outside of update, and know nothing of a screen: `wrap`
//! and `table` give their lines the width of one, `reader` only as far as the user has scrolled.
//! `writer` is how pages are filled, and says where they end; `prose` reads Markdown, `code` colours
//! code, `call` shows what tools are asked to do, `entry` and `context` put it together, [`diff`]
//! sets two texts side by side. What is in a page is safe to show.

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

use crate::text::safe_line;
use crate::theme::Tone;
use crate::time_zone::DisplayZone;
use entry::EntryContext;
use std::sync::Arc;
use table::MarkdownTable;
use treering::entry::MessageView;
use treering::{Context, Entry, Session};
use writer::PageWriter;

/// A piece of a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StyledSpan {
    /// The meaning of the text, which decides its color.
    pub tone: Tone,
    /// Safe to show.
    pub text: String,
}

impl StyledSpan {
    /// Returns a piece, made safe to show.
    pub fn new(tone: Tone, text: &str) -> Self {
        StyledSpan { tone, text: safe_line(text) }
    }
}

/// A line of a page. May be wider than the screen.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct StyledLine {
    /// Its pieces, one after the other.
    pub spans: Vec<StyledSpan>,
    /// Where it goes on if it is broken: so many columns from the left. Of what stands there only
    /// the bars of quotes are repeated.
    pub hang: usize,
    pub(crate) wrap_mode: WrapMode,
}

/// The way a line is made to fit.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) enum WrapMode {
    /// Broken at blanks.
    #[default]
    Prose,
    /// Broken where the screen ends, with its blanks.
    Code,
    /// As wide as the screen.
    Rule,
    /// A row of a table; its spans are for who does not need columns.
    Row(Arc<MarkdownTable>, usize),
}

impl StyledLine {
    /// Returns a line of one piece, made safe to show.
    pub fn new(tone: Tone, text: &str) -> Self {
        StyledLine::of(vec![StyledSpan::new(tone, text)])
    }

    /// Returns a line of some pieces.
    pub fn of(spans: Vec<StyledSpan>) -> Self {
        StyledLine { spans, ..StyledLine::default() }
    }

    /// The same, going on so many columns from the left where it is broken.
    pub fn hanging(self, hang: usize) -> Self {
        StyledLine { hang, ..self }
    }

    /// Returns all of it, without what it looks like.
    pub fn text(&self) -> String {
        self.spans.iter().map(|span| &*span.text).collect()
    }
}

/// Lines to read.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Page {
    /// Its lines.
    pub lines: Vec<StyledLine>,
}

impl Page {
    /// Returns the whole of an entry, with its time in a zone.
    pub fn of_entry(entry: &Entry, zone: &DisplayZone) -> Self {
        let mut writer = PageWriter::default();
        entry::write(&mut writer, entry, &EntryContext::default(), zone);
        writer.finish()
    }

    /// Returns the whole of an entry of a session, with its label; a result is shown knowing the
    /// call it answers.
    pub fn of_entry_in(session: &Session, entry: &Entry, zone: &DisplayZone) -> Self {
        let mut writer = PageWriter::default();
        entry::write(&mut writer, entry, &EntryContext::of(session, entry), zone);
        writer.finish()
    }

    /// Returns the content of a message without its role. A caller is the message whose call it
    /// answers.
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

    /// The same, with a mark on what comes from entries that a context edit changed.
    pub fn of_context_edited(context: &Context, is_edited: impl Fn(&str) -> bool) -> Self {
        let mut writer = PageWriter::default();
        context::write(&mut writer, context, is_edited);
        writer.finish()
    }

    /// Returns the context at an entry of a session, marks included.
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

    /// That there is nothing to show, and why.
    pub fn of_failure(why: &str) -> Self {
        let mut writer = PageWriter::default();
        writer.text(Tone::Failure, why);
        writer.finish()
    }

    /// The same with lines no wider than a screen. All of it is made to fit: for a page to scroll in
    /// a [`PageView`] does less.
    pub fn wrapped(&self, width: usize) -> Self {
        let mut page = Page::default();
        for line in &self.lines {
            wrap::wrap(line, width, &mut page.lines);
        }
        page
    }

    /// Returns all of it, without what it looks like.
    pub fn text(&self) -> String {
        let mut text = String::new();
        for line in &self.lines {
            text.extend(line.spans.iter().map(|span| &*span.text));
            text.push('\n');
        }
        text
    }
}
