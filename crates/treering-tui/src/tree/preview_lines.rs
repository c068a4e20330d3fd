//! The preview lines of a tree in one buffer: half a million of them are searched at every key.
//!
//! The texts are stored one after the other in lowercase ASCII, as a search needs them. A bitmap with one
//! bit per byte keeps which letters were uppercase, so that the original text can be restored.

use super::search::{SearchText, becomes_ascii};
use treering_display::preview_line::{PreviewKind, PreviewLine};

/// The position of a text in the buffer.
#[derive(Debug, Clone, Copy, Default)]
struct PreviewSlot {
    start: u32,
    len: u16,
    /// The type of the entry; `None` if the line is not known yet.
    kind: Option<PreviewKind>,
    /// Whether lowercasing adds ASCII letters: see [`becomes_ascii`].
    becomes_ascii: bool,
}

/// The preview lines of a tree's entries, as far as they are known.
#[derive(Debug, Clone, Default)]
pub(crate) struct PreviewLines {
    slots: Vec<PreviewSlot>,
    lowercase: String,
    /// One bit for every byte of the texts.
    uppercase: Vec<u8>,
}

impl PreviewLines {
    /// Creates a buffer for `count` lines, none of which is known.
    pub(crate) fn unknown(count: usize) -> Self {
        PreviewLines { slots: vec![PreviewSlot::default(); count], ..PreviewLines::default() }
    }

    fn slot(&self, node: u32) -> Option<&PreviewSlot> {
        self.slots.get(node as usize).filter(|slot| slot.kind.is_some())
    }

    pub(crate) fn is_known(&self, node: u32) -> bool {
        self.slot(node).is_some()
    }

    /// Returns the type of an entry, if its line is known.
    pub(crate) fn kind(&self, node: u32) -> Option<PreviewKind> {
        self.slot(node)?.kind
    }

    /// Returns the preview line of an entry, if it is known.
    pub(crate) fn get(&self, node: u32) -> Option<String> {
        let slot = self.slot(node)?;
        let start = slot.start as usize;
        let is_uppercase =
            |at: usize| self.uppercase.get(at / 8).is_some_and(|byte| byte >> (at % 8) & 1 == 1);
        let letters = self.lowercase_text(slot).char_indices();
        let restore = |(at, c): (usize, char)| {
            if is_uppercase(start + at) { c.to_ascii_uppercase() } else { c }
        };
        Some(letters.map(restore).collect())
    }

    /// Stores the line of an entry. Beyond four gigabytes of texts, and beyond the longest line that a slot
    /// can describe, the text is empty.
    pub(crate) fn set(&mut self, node: u32, line: &PreviewLine) {
        let Some(slot) = self.slots.get_mut(node as usize) else { return };
        let room =
            u32::try_from(self.lowercase.len()).ok().zip(u16::try_from(line.text.len()).ok());
        let (start, len) = room.unwrap_or_default();
        let becomes_ascii = becomes_ascii(&line.text);
        *slot = PreviewSlot { start, len, kind: Some(line.kind), becomes_ascii };
        if room.is_some() {
            self.add(&line.text);
        }
    }

    fn add(&mut self, text: &str) {
        let start = self.lowercase.len();
        self.lowercase.push_str(text);
        self.lowercase[start..].make_ascii_lowercase();
        self.uppercase.resize(self.lowercase.len().div_ceil(8), 0);
        for (at, byte) in (start..).zip(text.bytes()) {
            self.uppercase[at / 8] |= u8::from(byte.is_ascii_uppercase()) << (at % 8);
        }
    }

    /// Moves the lines to the nodes of another tree: `to` returns the new node of an old one.
    pub(crate) fn moved(&mut self, count: usize, to: impl Fn(u32) -> Option<u32>) {
        let mut slots = vec![PreviewSlot::default(); count];
        for (node, slot) in (0..).zip(&self.slots) {
            if let Some(target) = to(node).and_then(|to| slots.get_mut(to as usize)) {
                *target = *slot;
            }
        }
        self.slots = slots;
    }

    /// Returns the text of an entry for searching, or an empty text if it is not known.
    pub(crate) fn text(&self, node: u32) -> SearchText<'_> {
        let text = |slot| SearchText::known(self.lowercase_text(slot), slot.becomes_ascii);
        self.slot(node).map_or(SearchText::default(), text)
    }

    fn lowercase_text(&self, slot: &PreviewSlot) -> &str {
        let start = slot.start as usize;
        self.lowercase.get(start..start + usize::from(slot.len)).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn line(text: &str, kind: PreviewKind) -> PreviewLine {
        PreviewLine::new(kind, text.to_owned())
    }

    fn kinds() -> impl Strategy<Value = PreviewKind> {
        prop_oneof![
            Just(PreviewKind::User),
            Just(PreviewKind::SilentAnswer),
            Just(PreviewKind::FailedToolResult)
        ]
    }

    proptest! {
        #[test]
        fn preview_lines_come_back_as_they_were_set(
            set in prop::collection::vec((0..20_u32, (".{0,20}", kinds())), 0..40),
        ) {
            let (mut lines, mut model) = (PreviewLines::unknown(16), vec![None; 16]);
            for (node, (text, kind)) in set {
                lines.set(node, &line(&text, kind));
                if let Some(slot) = model.get_mut(node as usize) {
                    *slot = Some((text, kind));
                }
            }
            let all = |lines: &PreviewLines| {
                (0..16).map(|node| lines.get(node).zip(lines.kind(node))).collect::<Vec<_>>()
            };
            prop_assert_eq!(&all(&lines), &model);
            // In reverse order, without the first line.
            lines.moved(15, |node| 15_u32.checked_sub(node));
            model.remove(0);
            model.reverse();
            model.push(None);
            prop_assert_eq!(&all(&lines), &model);
        }
    }

    #[test]
    fn a_text_that_is_too_long_is_left_out() {
        let mut lines = PreviewLines::unknown(2);
        lines.set(0, &line(&"A".repeat(70_000), PreviewKind::FailedAnswer));
        lines.set(1, &line("B", PreviewKind::User));
        assert_eq!(lines.get(0).as_deref(), Some(""));
        assert_eq!(lines.kind(0), Some(PreviewKind::FailedAnswer));
        assert_eq!(lines.get(1).as_deref(), Some("B"));
    }
}
