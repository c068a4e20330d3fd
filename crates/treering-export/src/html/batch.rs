//! Some entries as pieces, made on their own: nothing of any other entry is needed for them, so that
//! many batches are made at the same time.
//!
//! One thing of an entry only those before it know: the call that a result answers. Its name is left
//! out of the piece, and the place remembered; who puts the pieces in order fills it in.

use super::{SEPARATOR, entry, escape};
use crate::gist::{Calls, Gist};
use crate::look::Look;
use crate::stats::Numbers;
use treering::session::Reader;

/// The pieces of some entries, one behind the other.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    pub text: String,
    pub entries: Vec<Made>,
}

/// The rendering of an entry as far as it does not depend on others.
#[derive(Debug)]
pub(crate) struct Made {
    pub gist: Gist,
    pub numbers: Numbers,
    /// Where its piece ends in the batch, and what is left out of it.
    pub end: usize,
    blanks: Vec<Blank>,
}

/// A place in a batch where the name of a call belongs.
#[derive(Debug)]
pub(crate) struct Blank {
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
            let look = Look::at(&entry);
            let mut blanks = Vec::new();
            entry::write(&mut self.text, &look, &mut blanks);
            self.text.push_str(SEPARATOR);
            let (gist, numbers) = (Gist::of(&look), Numbers::of(&look));
            self.entries.push(Made { gist, numbers, end: self.text.len(), blanks });
        }
        Ok(self)
    }

    /// Returns whether it keeps more memory than another batch will need.
    pub(crate) fn is_large(&self) -> bool {
        self.text.capacity() > 4 * 1024 * 1024
    }
}

impl Made {
    /// Appends the piece, which begins at `start` of its batch's text, with the names that belong
    /// into it.
    pub(crate) fn write(&self, out: &mut String, text: &str, start: usize, calls: &Calls) {
        let mut from = start;
        for blank in &self.blanks {
            out.push_str(text.get(from..blank.at).unwrap_or_default());
            match calls.get(&blank.call) {
                Some(call) => escape::text(out, call.trim_matches(['[', ']'])),
                None => escape::text(out, &blank.otherwise),
            }
            from = blank.at;
        }
        out.push_str(text.get(from..self.end).unwrap_or_default());
    }
}
