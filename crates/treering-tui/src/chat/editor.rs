//! What a person writes: several lines, and a place in them.
//!
//! Moves and deletes by what a reader sees as one character. Rows are lines as they stand on the
//! screen: a long line takes several. They are laid out anew when text or width change, so drawing
//! looks only at the rows that are seen.

use crate::text::{columns, safe_line};
use unicode_segmentation::UnicodeSegmentation;

/// The most that is taken: what is longer belongs into a file.
pub(crate) const MAX_BYTES: usize = 256 * 1024;

/// A row: where it begins and ends in the text, without the line break.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Row {
    pub start: usize,
    pub end: usize,
}

/// Text with a cursor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Editor {
    text: String,
    /// In bytes, always between two characters.
    cursor: usize,
    /// What was deleted last, to be brought back.
    killed: String,
    /// The column that up and down try to keep.
    column: Option<usize>,
    width: usize,
    rows: Vec<Row>,
}

impl Default for Editor {
    fn default() -> Self {
        let rows = vec![Row { start: 0, end: 0 }];
        let (text, killed) = (String::new(), String::new());
        Editor { text, cursor: 0, killed, column: None, width: 80, rows }
    }
}

/// What there is.
impl Editor {
    /// All of it.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether there is nothing.
    pub fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// The text before the cursor and the text after it.
    pub fn halves(&self) -> (&str, &str) {
        self.text.split_at_checked(self.cursor).unwrap_or((&self.text, ""))
    }

    pub(crate) fn rows(&self) -> &[Row] {
        &self.rows
    }

    /// The text of a row.
    pub(crate) fn row(&self, row: Row) -> &str {
        self.text.get(row.start..row.end).unwrap_or_default()
    }

    /// The row with the cursor, and the text before it in that row.
    pub(crate) fn place(&self) -> (usize, &str) {
        let row = self.rows.partition_point(|row| row.start <= self.cursor).saturating_sub(1);
        let start = self.rows.get(row).map_or(0, |row| row.start);
        (row, self.text.get(start..self.cursor).unwrap_or_default())
    }
}

/// Writing.
impl Editor {
    /// Puts another text in the place of all of it, the cursor at its end.
    pub fn set(&mut self, text: &str) {
        self.text.clear();
        self.cursor = 0;
        self.insert(text);
    }

    /// Puts text at the cursor. Control characters other than line breaks and tabs are left out, and
    /// so is what is too much; says whether all of it was taken.
    pub fn insert(&mut self, text: &str) -> bool {
        let text = text.replace("\r\n", "\n").replace('\r', "\n");
        let mut taken = String::with_capacity(text.len());
        let room = MAX_BYTES.saturating_sub(self.text.len());
        let mut fits = true;
        for character in text.chars() {
            if character.is_control() && !matches!(character, '\n' | '\t') {
                continue;
            }
            fits = taken.len() + character.len_utf8() <= room;
            if !fits {
                break;
            }
            taken.push(character);
        }
        self.text.insert_str(self.cursor, &taken);
        self.cursor += taken.len();
        self.changed();
        fits
    }

    /// Puts text in the place of what is between `start` and the cursor.
    pub(crate) fn replace_from(&mut self, start: usize, text: &str) {
        if start <= self.cursor && self.text.is_char_boundary(start) {
            self.text.replace_range(start..self.cursor, "");
            self.cursor = start;
            self.insert(text);
        }
    }

    /// Takes everything out; it can be brought back.
    pub fn clear(&mut self) -> String {
        let text = std::mem::take(&mut self.text);
        self.killed.clone_from(&text);
        self.cursor = 0;
        self.changed();
        text
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

    /// Brings back what was deleted last.
    pub fn yank(&mut self) {
        let killed = self.killed.clone();
        self.insert(&killed);
    }

    fn kill(&mut self, range: std::ops::Range<usize>) {
        if !range.is_empty() {
            self.killed = self.text.get(range.clone()).unwrap_or_default().to_owned();
            self.delete(range);
        }
    }

    fn delete(&mut self, range: std::ops::Range<usize>) {
        if self.text.get(range.clone()).is_some() {
            self.cursor = range.start;
            self.text.replace_range(range, "");
            self.changed();
        }
    }

    fn changed(&mut self) {
        // What was on both sides of an edit may be one character now.
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

/// Moving.
impl Editor {
    /// One character to the left.
    pub fn left(&mut self) {
        self.go(self.before());
    }

    /// One character to the right.
    pub fn right(&mut self) {
        self.go(self.after());
    }

    /// To the beginning of the word before the cursor.
    pub fn word_left(&mut self) {
        self.go(self.word_start());
    }

    /// To the end of the word after the cursor.
    pub fn word_right(&mut self) {
        let (_, after) = self.halves();
        let blanks = after.len() - after.trim_start().len();
        let word = after.trim_start().find(char::is_whitespace);
        self.go(word.map_or(self.text.len(), |word| self.cursor + blanks + word));
    }

    /// To the beginning of the line.
    pub fn home(&mut self) {
        self.go(self.line_start());
    }

    /// To the end of the line.
    pub fn end(&mut self) {
        self.go(self.line_end());
    }

    /// One row up; `false` in the first one.
    pub fn up(&mut self) -> bool {
        let (row, _) = self.place();
        row.checked_sub(1).is_some_and(|row| self.go_to_row(row))
    }

    /// One row down; `false` in the last one.
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
        // The end of a row that goes on is the beginning of the next one.
        let goes_on = self.rows.get(row + 1).is_some_and(|next| next.start == target.end);
        if cursor == target.end && goes_on {
            let last = self.row(target).grapheme_indices(true).next_back();
            cursor = last.map_or(target.start, |(at, _)| target.start + at);
        }
        self.cursor = cursor;
        self.column = Some(column);
        true
    }

    fn go(&mut self, cursor: usize) {
        self.cursor = cursor;
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

/// Standing on a screen.
impl Editor {
    /// Breaks lines so that they fit into so many columns, one of them for the cursor.
    pub(crate) fn lay_out(&mut self, width: usize) {
        self.width = width.max(2);
        self.rows.clear();
        let mut start = 0;
        for line in self.text.split('\n') {
            let end = start + line.len();
            let mut row = Row { start, end: start };
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
                // The cursor needs a place behind a row that is full.
                self.rows.push(Row { start: end, end });
            }
            start = end + 1;
        }
    }
}
