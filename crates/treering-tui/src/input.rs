//! A text input of one line. The cursor moves and deletes by grapheme clusters.

use crate::keys::{Code, Key};
use unicode_segmentation::UnicodeSegmentation;

/// The largest number of bytes. A label or a query is not longer.
const MAX_BYTES: usize = 4096;

/// A line of text with a cursor.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TextInput {
    text: String,
    /// The position in bytes, always between two characters.
    cursor: usize,
}

impl TextInput {
    /// Creates an input with a text, and the cursor at its end.
    pub fn new(text: &str) -> Self {
        let mut input = TextInput::default();
        input.insert(text);
        input
    }

    /// Returns the text.
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

    /// Inserts text at the cursor. Line breaks become spaces, other control characters are left
    /// out.
    pub fn insert(&mut self, text: &str) {
        for character in text.chars() {
            let character = if matches!(character, '\n' | '\t') { ' ' } else { character };
            if !character.is_control() && self.text.len() + character.len_utf8() <= MAX_BYTES {
                self.text.insert(self.cursor, character);
                self.cursor += character.len_utf8();
            }
        }
    }

    /// Deletes the text.
    pub fn clear(&mut self) {
        *self = TextInput::default();
    }

    /// Deletes the character before the cursor.
    pub fn backspace(&mut self) {
        let start = self.before();
        self.text.replace_range(start..self.cursor, "");
        self.cursor = start;
    }

    /// Handles an editing key, and returns whether it was one.
    pub fn take(&mut self, key: Key) -> bool {
        match (key.code, key.ctrl || key.alt) {
            (Code::Backspace, false) => self.backspace(),
            (Code::Delete, false) => {
                let end = self.after();
                self.text.replace_range(self.cursor..end, "");
            }
            (Code::Left, false) => self.cursor = self.before(),
            (Code::Right, false) => self.cursor = self.after(),
            (Code::Home, false) => self.cursor = 0,
            (Code::End, false) => self.cursor = self.text.len(),
            (Code::Char('u'), true) if key.ctrl => {
                self.text.replace_range(..self.cursor, "");
                self.cursor = 0;
            }
            (Code::Char('w'), true) if key.ctrl => {
                let (before, _) = self.halves();
                let start = before.trim_end().rfind(' ').map_or(0, |blank| blank + 1);
                self.text.replace_range(start..self.cursor, "");
                self.cursor = start;
            }
            _ => match key.typed() {
                Some(character) => self.insert(character.encode_utf8(&mut [0; 4])),
                None => return false,
            },
        }
        true
    }

    fn before(&self) -> usize {
        let (before, _) = self.halves();
        before.grapheme_indices(true).next_back().map_or(0, |(at, _)| at)
    }

    fn after(&self) -> usize {
        let (_, after) = self.halves();
        self.cursor + after.graphemes(true).next().map_or(0, str::len)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_edited_by_characters() {
        for (before, keys, after) in [
            ("", "a b", "a b|"),
            ("e\u{301}x", "<backspace> <backspace>", "|"),
            ("ab", "<left> x", "ax|b"),
            ("ab", "<home> <delete> <delete> <delete>", "|"),
            ("one two", "<ctrl+w>", "one |"),
            ("one two", "<left> <ctrl+u>", "|o"),
            ("one", "<home> <right> <end> <right> !", "one!|"),
        ] {
            let mut input = TextInput::new(before);
            let mut rest = keys;
            // Keys are in angle brackets, other characters are typed; spaces between keys do not
            // count.
            while let Some(character) = rest.chars().next() {
                match rest.strip_prefix('<').and_then(|rest| rest.split_once('>')) {
                    Some((key, more)) => {
                        assert!(input.take(key.parse().unwrap()));
                        rest = more.trim_start();
                    }
                    None => {
                        assert!(input.take(Key::char(character)));
                        rest = &rest[character.len_utf8()..];
                    }
                }
            }
            let (left, right) = input.halves();
            assert_eq!(format!("{left}|{right}"), after, "{before:?} {keys}");
        }
    }

    #[test]
    fn control_characters_and_floods_are_not_taken() {
        assert_eq!(TextInput::new("a\u{1b}[2J\nb").text(), "a[2J b");
        assert_eq!(TextInput::new(&"é".repeat(9999)).text().len(), MAX_BYTES);
    }
}
