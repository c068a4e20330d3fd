//! All gists of a tree, close together: half a million of them are searched at every key.
//!
//! The texts stand one after the other with their ASCII letters small, as a search wants them; which
//! of them were capitals is kept beside it, a bit for a byte, and put back when a gist is shown.

use super::gist::Gist;
use super::search::{Text, becomes_ascii};

/// Where the text of a gist is.
#[derive(Debug, Clone, Copy, Default)]
struct Place {
    start: u32,
    len: u16,
    is_known: bool,
    is_silent: bool,
    is_failure: bool,
    /// See [`becomes_ascii`].
    becomes_ascii: bool,
}

/// The gists of a tree's entries, as far as they are known.
#[derive(Debug, Clone, Default)]
pub(crate) struct Gists {
    places: Vec<Place>,
    small: String,
    /// A bit for every byte of the texts.
    capitals: Vec<u8>,
}

impl Gists {
    /// Creates `count` unknown summary lines.
    pub(crate) fn unknown(count: usize) -> Self {
        Gists { places: vec![Place::default(); count], ..Gists::default() }
    }

    fn place(&self, node: u32) -> Option<&Place> {
        self.places.get(node as usize).filter(|place| place.is_known)
    }

    pub(crate) fn is_known(&self, node: u32) -> bool {
        self.place(node).is_some()
    }

    pub(crate) fn is_silent(&self, node: u32) -> bool {
        self.place(node).is_some_and(|place| place.is_silent)
    }

    /// Returns the summary line of an entry.
    pub(crate) fn get(&self, node: u32) -> Option<Gist> {
        let place = self.place(node)?;
        let start = place.start as usize;
        let capital =
            |at: usize| self.capitals.get(at / 8).is_some_and(|byte| byte >> (at % 8) & 1 == 1);
        let letters = self.small_text(place).char_indices();
        let text: String = letters
            .map(|(at, small)| if capital(start + at) { small.to_ascii_uppercase() } else { small })
            .collect();
        Some(Gist { text: text.into(), is_silent: place.is_silent, is_failure: place.is_failure })
    }

    /// Takes in what an entry says. Past four gigabytes of texts, which no tree reaches, and past what
    /// a line can hold, texts are empty.
    pub(crate) fn set(&mut self, node: u32, gist: &Gist) {
        let Some(place) = self.places.get_mut(node as usize) else { return };
        let room = u32::try_from(self.small.len()).ok().zip(u16::try_from(gist.text.len()).ok());
        let (start, len) = room.unwrap_or_default();
        *place = Place {
            start,
            len,
            is_known: true,
            is_silent: gist.is_silent,
            is_failure: gist.is_failure,
            becomes_ascii: becomes_ascii(&gist.text),
        };
        if room.is_some() {
            self.add(&gist.text);
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

    /// The same gists in another tree, where `to` says their entries stand.
    pub(crate) fn moved(&mut self, count: usize, to: impl Fn(u32) -> Option<u32>) {
        let mut places = vec![Place::default(); count];
        for (node, place) in (0..).zip(&self.places) {
            if let Some(slot) = to(node).and_then(|to| places.get_mut(to as usize)) {
                *slot = *place;
            }
        }
        self.places = places;
    }

    /// Returns the text of an entry for searching; empty if it is not known.
    pub(crate) fn text(&self, node: u32) -> Text<'_> {
        let text = |place| Text::known(self.small_text(place), place.becomes_ascii);
        self.place(node).map_or(Text::default(), text)
    }

    fn small_text(&self, place: &Place) -> &str {
        let start = place.start as usize;
        self.small.get(start..start + usize::from(place.len)).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn gist((text, is_silent, is_failure): (String, bool, bool)) -> Gist {
        Gist { text: text.into(), is_silent, is_failure }
    }

    proptest! {
        #[test]
        fn gists_come_back_as_they_were_set(
            set in prop::collection::vec((0..20_u32, (".{0,20}", any::<bool>(), any::<bool>())), 0..40),
        ) {
            let (mut gists, mut model) = (Gists::unknown(16), vec![None; 16]);
            for (node, parts) in set {
                let gist = gist(parts);
                gists.set(node, &gist);
                if let Some(slot) = model.get_mut(node as usize) {
                    *slot = Some(gist);
                }
            }
            let all = |gists: &Gists| (0..16).map(|node| gists.get(node)).collect::<Vec<_>>();
            prop_assert_eq!(&all(&gists), &model);
            // The other way round, without the first.
            gists.moved(15, |node| 15_u32.checked_sub(node));
            model.remove(0);
            model.reverse();
            model.push(None);
            prop_assert_eq!(&all(&gists), &model);
        }
    }

    #[test]
    fn a_text_beyond_all_measure_is_left_out() {
        let mut gists = Gists::unknown(2);
        gists.set(0, &gist(("A".repeat(70_000), false, true)));
        gists.set(1, &gist(("B".to_owned(), false, false)));
        assert_eq!(gists.get(0), Some(gist((String::new(), false, true))));
        assert_eq!(gists.get(1), Some(gist(("B".to_owned(), false, false))));
    }
}
