//! A list of the user's messages, to choose the one before which a fork begins.

use treering::EntryId;
use treering_display::line::one_line;

/// The largest number of characters of a row.
const MAX_ROW: usize = 1000;

/// The messages and the chosen one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct MessageSelector {
    /// The entries and their texts on one line, safe to show; the oldest first.
    pub rows: Vec<(EntryId, String)>,
    pub at: usize,
}

impl MessageSelector {
    /// Returns a selector with the newest message chosen, or `None` if there are no messages.
    pub(crate) fn new(messages: Vec<(EntryId, String)>) -> Option<Self> {
        let rows = messages.into_iter().map(|(id, text)| (id, one_line(&text, MAX_ROW)));
        let rows: Vec<(EntryId, String)> = rows.collect();
        let at = rows.len().checked_sub(1)?;
        Some(MessageSelector { rows, at })
    }

    /// Moves the choice by `rows`, within the list.
    pub(crate) fn step(&mut self, rows: isize) {
        self.at = self.at.saturating_add_signed(rows).min(self.rows.len().saturating_sub(1));
    }

    /// Returns the first visible row on a screen of `height` rows.
    pub(crate) fn top(&self, height: usize) -> usize {
        let last = self.rows.len().saturating_sub(height);
        self.at.saturating_sub(height / 2).min(last)
    }

    /// Returns the entry of the chosen message.
    pub(crate) fn chosen(&self) -> Option<&EntryId> {
        self.rows.get(self.at).map(|(id, _)| id)
    }
}
