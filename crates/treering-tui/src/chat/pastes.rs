//! Long texts that the editor shows as a short marker, `[paste #1: 1234 lines]`.
//!
//! The editor treats a marker as one character: the cursor passes over it, and deleting removes all
//! of it. A text that is sent, stored or compared contains the pasted text instead.

use std::ops::Range;

/// The number of lines, and of bytes, above which a pasted text is shown as a marker.
const MAX_LINES: usize = 20;
const MAX_BYTES: usize = 4096;

#[derive(Debug, Clone, PartialEq, Eq)]
struct Paste {
    marker: String,
    text: String,
}

/// The texts behind markers.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Pastes {
    pastes: Vec<Paste>,
    /// The number of the last paste.
    count: usize,
}

/// Returns whether a pasted text is shown as a marker.
pub(crate) fn is_long(text: &str) -> bool {
    text.len() > MAX_BYTES || text.split('\n').nth(MAX_LINES).is_some()
}

impl Pastes {
    /// Keeps a text and returns the marker for it.
    pub(crate) fn add(&mut self, text: String) -> String {
        self.count += 1;
        let size = match text.trim_end_matches('\n').split('\n').count() {
            1 => format!("{} characters", text.chars().count()),
            lines => format!("{lines} lines"),
        };
        let marker = format!("[paste #{}: {size}]", self.count);
        self.pastes.push(Paste { marker: marker.clone(), text });
        marker
    }

    /// Removes the texts whose markers are not wanted.
    pub(crate) fn retain(&mut self, is_wanted: impl Fn(&str) -> bool) {
        self.pastes.retain(|paste| is_wanted(&paste.marker));
    }

    /// Returns the ranges of markers in a text, in order, and their pasted texts.
    fn places<'a>(&'a self, text: &str) -> Vec<(Range<usize>, &'a str)> {
        let mut places: Vec<(Range<usize>, &str)> = Vec::new();
        for paste in &self.pastes {
            let found = text.match_indices(&paste.marker);
            places.extend(found.map(|(at, marker)| (at..at + marker.len(), paste.text.as_str())));
        }
        places.sort_by_key(|(range, _)| range.start);
        places
    }

    /// Returns the marker around a position, if the position is inside one.
    pub(crate) fn around(&self, text: &str, at: usize) -> Option<Range<usize>> {
        let mut places = self.places(text).into_iter().map(|(range, _)| range);
        places.find(|range| range.start < at && at < range.end)
    }

    /// Returns a text with the pasted texts in place of their markers.
    pub(crate) fn expand(&self, text: &str) -> String {
        let mut expanded = String::with_capacity(self.expanded_len(text));
        let mut end = 0;
        for (range, pasted) in self.places(text) {
            expanded.push_str(text.get(end..range.start).unwrap_or_default());
            expanded.push_str(pasted);
            end = range.end;
        }
        expanded.push_str(text.get(end..).unwrap_or_default());
        expanded
    }

    /// Returns the length of a text after [`expand`](Pastes::expand), in bytes.
    pub(crate) fn expanded_len(&self, text: &str) -> usize {
        let places = self.places(text);
        let growth: usize = places.iter().map(|(_, pasted)| pasted.len()).sum();
        let markers: usize = places.iter().map(|(range, _)| range.len()).sum();
        text.len() + growth - markers
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markers_stand_for_texts() {
        let mut pastes = Pastes::default();
        let lines = pastes.add("a\nb\nc\n".into());
        assert_eq!(lines, "[paste #1: 3 lines]");
        let one = pastes.add(format!("{lines}é"));
        assert_eq!(one, "[paste #2: 20 characters]");
        // A marker inside a pasted text is plain text.
        let text = format!("x {one} y {lines}{lines}");
        assert_eq!(pastes.expand(&text), "x [paste #1: 3 lines]é y a\nb\nc\na\nb\nc\n");
        assert_eq!(pastes.expanded_len(&text), pastes.expand(&text).len());
        assert_eq!(pastes.around(&text, 2), None);
        assert_eq!(pastes.around(&text, 3), Some(2..2 + one.len()));
        pastes.retain(|marker| marker == one);
        assert_eq!(pastes.expand(&lines), lines);
    }

    #[test]
    fn only_long_texts_are_shown_as_markers() {
        assert!(!is_long(&"line\n".repeat(MAX_LINES - 1)));
        assert!(is_long(&"line\n".repeat(MAX_LINES)));
        assert!(!is_long(&"x".repeat(MAX_BYTES)));
        assert!(is_long(&"x".repeat(MAX_BYTES + 1)));
    }
}
