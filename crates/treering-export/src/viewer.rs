//! The parts of an exported page that the web page of the server uses as well: entries as HTML, the
//! style, the highlighting of code. An entry looks the same in both.

use crate::html::batch::RenderedEntry;
use crate::html::{self, escape};
use treering::Entry;
use treering::entry::Block;
use treering_display::entry_parts::EntryParts;
use treering_display::preview_line::{Calls, PreviewKind, PreviewLine};
use treering_display::usage::usage_facts;

pub use treering_display::highlight::LANGUAGES;

/// The style of trees and entries.
pub const STYLE: &str = html::STYLE;

/// The script that highlights code. It expects the names `LANGUAGES`, with the text of
/// [`LANGUAGES`], and `make`, and defines `highlight(element)`.
pub const HIGHLIGHT: &str = html::HIGHLIGHT;

/// An entry as HTML.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct EntryView {
    /// The type of the entry.
    pub kind: PreviewKind,
    /// One line that summarizes the entry, safe to show but not escaped.
    pub preview: String,
    /// The content of the entry, as HTML without scripts and external resources.
    pub html: String,
    /// The time of the entry, in Unix milliseconds.
    pub time: Option<i64>,
    /// The model that answered, as `provider/model`.
    pub model: Option<String>,
    /// The usage of an answer, as short texts.
    pub usage: Vec<String>,
    /// Whether the entry has an image.
    pub has_image: bool,
}

/// Renders entries, and remembers their tool calls for the results that follow.
///
/// ```
/// use treering::{Message, Session};
/// use treering_export::viewer::EntryRenderer;
/// let session = Session::in_memory("/project");
/// let id = session.append(Message::user("What is **here**, <b>?"))?;
/// let shown = EntryRenderer::default().render(&session.entry(id.as_str())?);
/// assert_eq!(shown.html.trim(), "<p>What is <strong>here</strong>, &lt;b&gt;?</p>");
/// # Ok::<(), treering::Error>(())
/// ```
#[derive(Debug, Default)]
pub struct EntryRenderer {
    calls: Calls,
}

impl EntryRenderer {
    /// Records the tool calls of an entry that is not rendered.
    pub fn remember_calls(&mut self, entry: &Entry) {
        self.calls.settle(&PreviewLine::of(&EntryParts::of(entry)));
    }

    /// Returns the id of the tool call that an entry answers, if that call is not known yet.
    pub fn unknown_call(&self, entry: &Entry) -> Option<String> {
        let line = PreviewLine::of(&EntryParts::of(entry));
        line.answers().filter(|call| self.calls.get(call).is_none()).map(str::to_owned)
    }

    /// Returns whether a tool call is known.
    pub fn knows_call(&self, id: &str) -> bool {
        self.calls.get(id).is_some()
    }

    /// Returns the preview line of an entry.
    pub fn preview(&mut self, entry: &Entry) -> PreviewLine {
        PreviewLine::read(entry, &mut self.calls)
    }

    /// Renders an entry.
    pub fn render(&mut self, entry: &Entry) -> EntryView {
        let parts = EntryParts::of(entry);
        let mut piece = String::new();
        let rendered = RenderedEntry::of(&parts, &mut piece);
        let preview = self.calls.settle(&rendered.preview_line).to_owned();
        let mut html = String::with_capacity(piece.len());
        rendered.write(&mut html, &piece, 0, &self.calls);
        EntryView {
            kind: rendered.preview_line.kind,
            preview,
            html,
            time: rendered.numbers.time,
            model: rendered.numbers.model,
            usage: parts.fields.usage.map(usage_facts).unwrap_or_default(),
            has_image: parts.blocks.iter().any(|block| matches!(block, Block::Image { .. })),
        }
    }
}

/// Appends text, escaped so that it contains no markup and no invisible characters.
pub fn escape_text(out: &mut String, text: &str) {
    escape::text(out, text);
}

/// Appends the value of an attribute for use between double quotes.
pub fn escape_attribute(out: &mut String, text: &str) {
    escape::attribute(out, text);
}
