//! Some entries as pieces, made on their own: nothing of any other entry is needed for them, so that
//! many batches are made at the same time.
//!
//! One thing of an entry only those before it know: the call that a result answers. Its name is left
//! out of the piece, and the place remembered; who puts the pieces in order fills it in.

use super::{SEPARATOR, entry, escape};
use crate::entry_parts::EntryParts;
use crate::preview_line::{Calls, PreviewLine};
use crate::stats::EntryFacts;
use treering::session::Reader;

/// The pieces of some entries, one behind the other.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    pub text: String,
    pub entries: Vec<RenderedEntry>,
}

/// The rendering of an entry as far as it does not depend on others.
#[derive(Debug)]
pub(crate) struct RenderedEntry {
    pub preview_line: PreviewLine,
    pub numbers: EntryFacts,
    /// Where its piece ends in the batch, and what is left out of it.
    pub end: usize,
    placeholders: Vec<CallPlaceholder>,
}

/// A place in a batch where the name of a call belongs.
#[derive(Debug)]
pub(crate) struct CallPlaceholder {
    pub at: usize,
    /// The call's id.
    pub call: String,
    /// The text for a result without its call.
    pub otherwise: String,
}

impl Batch {
    /// Reads entries and makes their pieces, in place of those that are in it.
    pub(crate) fn make(mut self, reader: &mut Reader, ids: &[&str]) -> treering::Result<Self> {
        self.text.clear();
        self.entries.clear();
        for id in ids {
            let entry = reader.entry(id)?;
            let parts = EntryParts::of(&entry);
            let mut placeholders = Vec::new();
            entry::write(&mut self.text, &parts, &mut placeholders);
            self.text.push_str(SEPARATOR);
            let (preview_line, numbers) = (PreviewLine::of(&parts), EntryFacts::of(&parts));
            self.entries.push(RenderedEntry {
                preview_line,
                numbers,
                end: self.text.len(),
                placeholders,
            });
        }
        Ok(self)
    }

    /// Returns whether it keeps more memory than another batch will need.
    pub(crate) fn is_large(&self) -> bool {
        self.text.capacity() > 4 * 1024 * 1024
    }
}

impl RenderedEntry {
    /// Appends the piece, which begins at `start` of its batch's text, with the names that belong
    /// into it.
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
