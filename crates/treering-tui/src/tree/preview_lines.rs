//! All preview_lines of a tree, close together: half a million of them are searched at every key.
//!
//! The texts stand one after the other with their ASCII letters small, as a search wants them; which
//! of them were capitals is kept beside it, a bit for a byte, and put back when a preview_line is shown.

use super::preview_line::PreviewLine;
use super::search::{SearchText, becomes_ascii};

/// Where the text of a preview_line is.
#[derive(Debug, Clone, Copy, Default)]
struct PreviewSlot {
    start: u32,
    len: u16,
    is_known: bool,
    is_silent: bool,
    is_failure: bool,
    /// See [`becomes_ascii`].
    becomes_ascii: bool,
}

/// The preview_lines of a tree's entries, as far as they are known.
#[derive(Debug, Clone, Default)]
pub(crate) struct PreviewLines {
    slots: Vec<PreviewSlot>,
    small: String,
    /// A bit for every byte of the texts.
    capitals: Vec<u8>,
}

impl PreviewLines {
    /// Creates `count` unknown summary lines.
    pub(crate) fn unknown(count: usize) -> Self {
        PreviewLines { slots: vec![PreviewSlot::default(); count], ..PreviewLines::default() }
    }

    fn slot(&self, node: u32) -> Option<&PreviewSlot> {
        self.slots.get(node as usize).filter(|slot| slot.is_known)
    }

    pub(crate) fn is_known(&self, node: u32) -> bool {
        self.slot(node).is_some()
    }

    pub(crate) fn is_silent(&self, node: u32) -> bool {
        self.slot(node).is_some_and(|slot| slot.is_silent)
    }

    /// Returns the summary line of an entry.
    pub(crate) fn get(&self, node: u32) -> Option<PreviewLine> {
        let slot = self.slot(node)?;
        let start = slot.start as usize;
        let capital =
            |at: usize| self.capitals.get(at / 8).is_some_and(|byte| byte >> (at % 8) & 1 == 1);
        let letters = self.small_text(slot).char_indices();
        let text: String = letters
            .map(|(at, small)| if capital(start + at) { small.to_ascii_uppercase() } else { small })
            .collect();
        Some(PreviewLine {
            text: text.into(),
            is_silent: slot.is_silent,
            is_failure: slot.is_failure,
        })
    }

    /// Takes in what an entry says. Past four gigabytes of texts, which no tree reaches, and past what
    /// a line can hold, texts are empty.
    pub(crate) fn set(&mut self, node: u32, preview_line: &PreviewLine) {
        let Some(slot) = self.slots.get_mut(node as usize) else { return };
        let room =
            u32::try_from(self.small.len()).ok().zip(u16::try_from(preview_line.text.len()).ok());
        let (start, len) = room.unwrap_or_default();
        *slot = PreviewSlot {
            start,
            len,
            is_known: true,
            is_silent: preview_line.is_silent,
            is_failure: preview_line.is_failure,
            becomes_ascii: becomes_ascii(&preview_line.text),
        };
        if room.is_some() {
            self.add(&preview_line.text);
        }
    }

    fn add(&mut self, text: &str) {
        let start = self.small.len();
        self.small.push_str(text);
        self.small[start..].make_ascii_lowercase();
        self.capitals.resize(self.small.len().div_ceil(8), 0);
        for (at, byte) in (start..).zip(text.bytes()) {
            self.capitals[at / 8] |= u8::from(byte.is_ascii_uppercase()) << (at % 8);
        }
    }

    /// The same preview_lines in another tree, where `to` says their entries stand.
    pub(crate) fn moved(&mut self, count: usize, to: impl Fn(u32) -> Option<u32>) {
        let mut slots = vec![PreviewSlot::default(); count];
        for (node, slot) in (0..).zip(&self.slots) {
            if let Some(target) = to(node).and_then(|to| slots.get_mut(to as usize)) {
                *target = *slot;
            }
        }
        self.slots = slots;
    }

    /// Returns the text of an entry for searching; empty if it is not known.
    pub(crate) fn text(&self, node: u32) -> SearchText<'_> {
        let text = |slot| SearchText::known(self.small_text(slot), slot.becomes_ascii);
        self.slot(node).map_or(SearchText::default(), text)
    }

    fn small_text(&self, slot: &PreviewSlot) -> &str {
        let start = slot.start as usize;
        self.small.get(start..start + usize::from(slot.len)).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn preview_line((text, is_silent, is_failure): (String, bool, bool)) -> PreviewLine {
        PreviewLine { text: text.into(), is_silent, is_failure }
    }

    proptest! {
        #[test]
        fn preview_lines_come_back_as_they_were_set(
            set in prop::collection::vec((0..20_u32, (".{0,20}", any::<bool>(), any::<bool>())), 0..40),
        ) {
            let (mut preview_lines, mut model) = (PreviewLines::unknown(16), vec![None; 16]);
            for (node, parts) in set {
                let preview_line = preview_line(parts);
                preview_lines.set(node, &preview_line);
                if let Some(target) = model.get_mut(node as usize) {
                    *target = Some(preview_line);
                }
            }
            let all = |preview_lines: &PreviewLines| (0..16).map(|node| preview_lines.get(node)).collect::<Vec<_>>();
            prop_assert_eq!(&all(&preview_lines), &model);
            // The other way round, without the first.
            preview_lines.moved(15, |node| 15_u32.checked_sub(node));
            model.remove(0);
            model.reverse();
            model.push(None);
            prop_assert_eq!(&all(&preview_lines), &model);
        }
    }

    #[test]
    fn a_text_beyond_all_measure_is_left_out() {
        let mut preview_lines = PreviewLines::unknown(2);
        preview_lines.set(0, &preview_line(("A".repeat(70_000), false, true)));
        preview_lines.set(1, &preview_line(("B".to_owned(), false, false)));
        assert_eq!(preview_lines.get(0), Some(preview_line((String::new(), false, true))));
        assert_eq!(preview_lines.get(1), Some(preview_line(("B".to_owned(), false, false))));
    }
}
