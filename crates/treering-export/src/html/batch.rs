//! Batches of entries rendered as pieces of HTML. A piece does not depend on other entries, so that
//! several batches are rendered at the same time.
//!
//! One part of a piece depends on earlier entries: the label of the call that a tool result
//! answers. It is left out of the piece, and the code that puts the pieces in order inserts it.

use super::{SEPARATOR, entry, escape};
use crate::stats::EntryFacts;
use treering::session::Reader;
use treering_display::entry_parts::EntryParts;
use treering_display::preview_line::{Calls, PreviewLine};

/// Is called with each entry while it is read, from any of the rendering threads.
pub(crate) type Visit<'v> = &'v (dyn Fn(&EntryParts<'_>) + Sync);

/// The pieces of several entries in one text.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    pub text: String,
    pub entries: Vec<RenderedEntry>,
}

/// A rendered entry, without the parts that depend on other entries.
#[derive(Debug)]
pub(crate) struct RenderedEntry {
    pub preview_line: PreviewLine,
    pub numbers: EntryFacts,
    /// The end of the entry's piece in the batch.
    pub end: usize,
    placeholders: Vec<CallPlaceholder>,
}

/// A position in a batch at which the label of a call is inserted.
#[derive(Debug)]
pub(crate) struct CallPlaceholder {
    pub at: usize,
    /// The id of the call.
    pub call: String,
    /// The text to insert if the call is not known.
    pub otherwise: String,
}

impl Batch {
    /// Reads entries and renders them, replacing the previous content of the batch. Calls `visit`
    /// with each entry.
    pub(crate) fn make(
        mut self,
        reader: &mut Reader,
        ids: &[&str],
        visit: Visit<'_>,
    ) -> treering::Result<Self> {
        self.text.clear();
        self.entries.clear();
        for id in ids {
            let entry = reader.entry(id)?;
            let parts = EntryParts::of(&entry);
            visit(&parts);
            let mut rendered = RenderedEntry::of(&parts, &mut self.text);
            self.text.push_str(SEPARATOR);
            rendered.end = self.text.len();
            self.entries.push(rendered);
        }
        Ok(self)
    }

    /// Returns whether the batch has more memory than another batch will need.
    pub(crate) fn is_large(&self) -> bool {
        self.text.capacity() > 4 * 1024 * 1024
    }
}

impl RenderedEntry {
    /// Appends the piece of an entry to a text.
    pub(crate) fn of(parts: &EntryParts<'_>, text: &mut String) -> Self {
        let mut placeholders = Vec::new();
        entry::write(text, parts, &mut placeholders);
        let (preview_line, numbers) = (PreviewLine::of(parts), EntryFacts::of(parts));
        RenderedEntry { preview_line, numbers, end: text.len(), placeholders }
    }

    /// Appends the piece, which begins at `start` of its batch's text, with the labels of calls
    /// inserted.
    pub(crate) fn write(&self, out: &mut String, text: &str, start: usize, calls: &Calls) {
        let mut from = start;
        for placeholder in &self.placeholders {
            out.push_str(text.get(from..placeholder.at).unwrap_or_default());
            match calls.get(&placeholder.call) {
                Some(call) => escape::text(out, call.trim_matches(['[', ']'])),
                None => escape::text(out, &placeholder.otherwise),
            }
            from = placeholder.at;
        }
        out.push_str(text.get(from..self.end).unwrap_or_default());
    }
}
