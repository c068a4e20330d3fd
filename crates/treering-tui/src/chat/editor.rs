//! A text editor for several lines.
//!
//! The cursor moves and deletes by grapheme clusters. Rows are lines as they appear on the screen,
//! where a long line takes several rows. They are laid out again when the text or the width
//! changes, so that drawing reads only the visible rows.

use super::pastes::{self, Pastes};
use treering_display::columns::columns;
use treering_display::text::safe_line;
use unicode_segmentation::UnicodeSegmentation;

/// The longest text that can be written or pasted, in bytes.
pub(crate) const MAX_BYTES: usize = 16 << 20;
/// A longer text that replaces the content is shown as a marker, because laying it out would take
/// too long.
const MAX_SHOWN: usize = 64 * 1024;

/// The range of a row in the text, without the line break.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct EditorRow {
    pub start: usize,
    pub end: usize,
}

/// A text with a cursor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Editor {
    text: String,
    /// The position in bytes, always between two characters.
    cursor: usize,
    /// The text that was deleted last, for `yank`.
    killed: String,
    pastes: Pastes,
    /// The column that moving up and down keeps.
    column: Option<usize>,
    width: usize,
    rows: Vec<EditorRow>,
}

impl Default for Editor {
    fn default() -> Self {
        let rows = vec![EditorRow { start: 0, end: 0 }];
        let (text, killed) = (String::new(), String::new());
        let pastes = Pastes::default();
        Editor { text, cursor: 0, killed, pastes, column: None, width: 80, rows }
    }
}

/// Reading.
impl Editor {
    /// Returns the whole text, with pasted texts instead of their markers.
    pub fn content(&self) -> String {
        self.pastes.expand(&self.text)
    }

    /// Returns the text as it is shown.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns whether there is no text.
    pub fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// Returns the text before the cursor and the text after it.
    pub fn halves(&self) -> (&str, &str) {
        self.text.split_at_checked(self.cursor).unwrap_or((&self.text, ""))
    }

    pub(crate) fn rows(&self) -> &[EditorRow] {
        &self.rows
    }

    /// Returns the text of a row.
    pub(crate) fn row(&self, row: EditorRow) -> &str {
        self.text.get(row.start..row.end).unwrap_or_default()
    }

    /// Returns the row of the cursor, and the text before the cursor in that row.
    pub(crate) fn place(&self) -> (usize, &str) {
        let row = self.rows.partition_point(|row| row.start <= self.cursor).saturating_sub(1);
        let start = self.rows.get(row).map_or(0, |row| row.start);
        (row, self.text.get(start..self.cursor).unwrap_or_default())
    }
}

/// Editing.
impl Editor {
    /// Replaces the text, and moves the cursor to its end.
    pub fn set(&mut self, text: &str) {
        self.text.clear();
        self.cursor = 0;
        // The paste of a deleted marker is kept for `yank`.
        let killed = &self.killed;
        self.pastes.retain(|marker| killed.contains(marker));
        let text = clean(text);
        let shown = if text.len() > MAX_SHOWN { self.pastes.add(text) } else { text };
        self.put(&shown);
    }

    /// Inserts text at the cursor, without control characters other than line breaks and tabs. Inserts
    /// nothing and returns `false` if the text would become too long.
    pub fn insert(&mut self, text: &str) -> bool {
        let text = clean(text);
        let fits = self.has_room(text.len());
        if fits {
            self.put(&text);
        }
        fits
    }

    /// Inserts text as [`insert`](Editor::insert) does, but shows a long text as a marker.
    pub fn paste(&mut self, text: &str) -> bool {
        let text = clean(text);
        let fits = self.has_room(text.len());
        if fits {
            let shown = if pastes::is_long(&text) { self.pastes.add(text) } else { text };
            self.put(&shown);
        }
        fits
    }

    fn has_room(&self, bytes: usize) -> bool {
        self.pastes.expanded_len(&self.text).saturating_add(bytes) <= MAX_BYTES
    }

    fn put(&mut self, text: &str) {
        self.text.insert_str(self.cursor, text);
        self.cursor += text.len();
        self.changed();
    }

    /// Replaces the text between `start` and the cursor.
    pub(crate) fn replace_from(&mut self, start: usize, text: &str) {
        if start <= self.cursor && self.text.is_char_boundary(start) {
            self.text.replace_range(start..self.cursor, "");
            self.cursor = start;
            self.insert(text);
        }
    }

    /// Removes the text and returns it; `yank` restores it.
    pub fn clear(&mut self) -> String {
        let content = self.content();
        self.killed = std::mem::take(&mut self.text);
        self.cursor = 0;
        self.changed();
        content
    }

    /// Deletes the character before the cursor.
    pub fn backspace(&mut self) {
        self.delete(self.before()..self.cursor);
    }

    /// Deletes the character after the cursor.
    pub fn delete_next(&mut self) {
        self.delete(self.cursor..self.after());
    }

    /// Deletes to the beginning of the line; at the beginning, the line break before it.
    pub fn kill_before(&mut self) {
        let start = self.line_start();
        let start = if start == self.cursor { self.before() } else { start };
        self.kill(start..self.cursor);
    }

    /// Deletes to the end of the line; at the end, the line break after it.
    pub fn kill_after(&mut self) {
        let end = self.line_end();
        let end = if end == self.cursor { self.after() } else { end };
        self.kill(self.cursor..end);
    }

    /// Deletes the word before the cursor.
    pub fn kill_word(&mut self) {
        self.kill(self.word_start()..self.cursor);
    }

    /// Inserts the text that was deleted last.
    pub fn yank(&mut self) {
        let killed = self.killed.clone();
        if self.has_room(self.pastes.expanded_len(&killed)) {
            self.put(&killed);
        }
    }

    fn kill(&mut self, range: std::ops::Range<usize>) {
        let range = self.whole(range);
        if !range.is_empty() {
            self.killed = self.text.get(range.clone()).unwrap_or_default().to_owned();
            self.delete(range);
        }
    }

    /// Returns the range, extended to the ends of the markers that it cuts.
    fn whole(&self, range: std::ops::Range<usize>) -> std::ops::Range<usize> {
        let start = self.pastes.around(&self.text, range.start).map_or(range.start, |at| at.start);
        let end = self.pastes.around(&self.text, range.end).map_or(range.end, |at| at.end);
        start..end
    }

    fn delete(&mut self, range: std::ops::Range<usize>) {
        let range = self.whole(range);
        if self.text.get(range.clone()).is_some() {
            self.cursor = range.start;
            self.text.replace_range(range, "");
            self.changed();
        }
    }

    fn changed(&mut self) {
        // The characters on both sides of an edit may be one cluster now.
        let is_between = |at| {
            let (start, end) = (self.line_start(), self.line_end());
            let line = self.text.get(start..end).unwrap_or_default();
            at == end || line.grapheme_indices(true).any(|(offset, _)| start + offset == at)
        };
        if !is_between(self.cursor) {
            self.cursor = self.after();
        }
        self.column = None;
        self.lay_out(self.width);
    }
}

/// Moving the cursor.
impl Editor {
    /// Moves one character to the left.
    pub fn left(&mut self) {
        self.go(self.before());
    }

    /// Moves one character to the right.
    pub fn right(&mut self) {
        self.go(self.after());
    }

    /// Moves to the beginning of the word before the cursor.
    pub fn word_left(&mut self) {
        self.go(self.word_start());
    }

    /// Moves to the end of the word after the cursor.
    pub fn word_right(&mut self) {
        let (_, after) = self.halves();
        let blanks = after.len() - after.trim_start().len();
        let word = after.trim_start().find(char::is_whitespace);
        self.go(word.map_or(self.text.len(), |word| self.cursor + blanks + word));
    }

    /// Moves to the beginning of the line.
    pub fn home(&mut self) {
        self.go(self.line_start());
    }

    /// Moves to the end of the line.
    pub fn end(&mut self) {
        self.go(self.line_end());
    }

    /// Moves one row up; returns `false` in the first row.
    pub fn up(&mut self) -> bool {
        let (row, _) = self.place();
        row.checked_sub(1).is_some_and(|row| self.go_to_row(row))
    }

    /// Moves one row down; returns `false` in the last row.
    pub fn down(&mut self) -> bool {
        let (row, _) = self.place();
        self.go_to_row(row + 1)
    }

    fn go_to_row(&mut self, row: usize) -> bool {
        let Some(&target) = self.rows.get(row) else { return false };
        let column = self.column.unwrap_or_else(|| columns(&safe_line(self.place().1)));
        let mut used = 0;
        let mut cursor = target.end;
        for (at, cluster) in self.row(target).grapheme_indices(true) {
            if used >= column {
                cursor = target.start + at;
                break;
            }
            used += columns(&safe_line(cluster));
        }
        // The end of a wrapped row is the beginning of the next row.
        let goes_on = self.rows.get(row + 1).is_some_and(|next| next.start == target.end);
        if cursor == target.end && goes_on {
            let last = self.row(target).grapheme_indices(true).next_back();
            cursor = last.map_or(target.start, |(at, _)| target.start + at);
        }
        let marker = self.pastes.around(&self.text, cursor);
        self.cursor = marker.map_or(cursor, |marker| marker.start);
        self.column = Some(column);
        true
    }

    fn go(&mut self, cursor: usize) {
        let is_right = cursor > self.cursor;
        let marker = self.pastes.around(&self.text, cursor);
        let end = |marker: std::ops::Range<usize>| if is_right { marker.end } else { marker.start };
        self.cursor = marker.map_or(cursor, end);
        self.column = None;
    }

    fn before(&self) -> usize {
        let (before, _) = self.halves();
        before.grapheme_indices(true).next_back().map_or(0, |(at, _)| at)
    }

    fn after(&self) -> usize {
        let (_, after) = self.halves();
        self.cursor + after.graphemes(true).next().map_or(0, str::len)
    }

    fn line_start(&self) -> usize {
        self.halves().0.rfind('\n').map_or(0, |at| at + 1)
    }

    fn line_end(&self) -> usize {
        self.halves().1.find('\n').map_or(self.text.len(), |at| self.cursor + at)
    }

    fn word_start(&self) -> usize {
        let before = self.halves().0.trim_end();
        let blank = before.char_indices().rev().find(|(_, character)| character.is_whitespace());
        blank.map_or(0, |(at, blank)| at + blank.len_utf8())
    }
}

/// Layout.
impl Editor {
    /// Wraps lines to `width` columns, one of which is for the cursor.
    pub(crate) fn lay_out(&mut self, width: usize) {
        self.width = width.max(2);
        self.rows.clear();
        let mut start = 0;
        for line in self.text.split('\n') {
            let end = start + line.len();
            let mut row = EditorRow { start, end: start };
            let mut used = 0;
            for (at, cluster) in line.grapheme_indices(true) {
                let wide = columns(&safe_line(cluster));
                if used + wide > self.width && at > row.start - start {
                    row.end = start + at;
                    self.rows.push(row);
                    row.start = row.end;
                    used = 0;
                }
                used += wide;
            }
            row.end = end;
            self.rows.push(row);
            if used >= self.width {
                // The cursor needs a row after a full one.
                self.rows.push(EditorRow { start: end, end });
            }
            start = end + 1;
        }
    }
}

/// Returns a text with `\n` as line breaks, and without other control characters except tabs.
fn clean(text: &str) -> String {
    let text = text.replace("\r\n", "\n").replace('\r', "\n");
    let is_text = |character: &char| !character.is_control() || matches!(character, '\n' | '\t');
    match text.chars().all(|character| is_text(&character)) {
        true => text,
        false => text.chars().filter(is_text).collect(),
    }
}
