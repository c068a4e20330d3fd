//! Names of models and tools, each stored once. They come from the file, so there may be any number
//! of any length: long names are cut, and beyond a limit all further names become one.

use std::collections::HashMap;

/// The number that means no name.
pub(super) const NO_NAME: u32 = u32::MAX;

/// The maximum number of different names.
const MAX_NAMES: usize = 1000;

/// The maximum length of a name in bytes.
const LONG: usize = 200;

/// The name for all further names.
const REST: &str = "…";

#[derive(Debug, Default)]
pub(super) struct Names {
    places: HashMap<Box<str>, u32>,
    names: Vec<Box<str>>,
}

impl Names {
    /// Returns the number of a name, which does not change.
    pub(super) fn number(&mut self, name: &str) -> u32 {
        let cut: String;
        let mut name = name;
        if name.len() > LONG {
            let fits = |(at, character): &(usize, char)| at + character.len_utf8() <= LONG;
            let kept = name.char_indices().take_while(fits).map(|(_, character)| character);
            cut = kept.chain(REST.chars()).collect();
            name = &cut;
        }
        if let Some(place) = self.places.get(name) {
            return *place;
        }
        if self.names.len() >= MAX_NAMES && name != REST {
            return self.number(REST);
        }
        let place = self.names.len() as u32;
        self.names.push(name.into());
        self.places.insert(name.into(), place);
        place
    }

    /// Returns all names, in the order of their numbers.
    pub(super) fn all(&self) -> Vec<Box<str>> {
        self.names.clone()
    }

    pub(super) fn name(&self, number: u32) -> Option<&str> {
        self.names.get(number as usize).map(|name| &**name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_kept_once_and_not_without_end() {
        let mut names = Names::default();
        let (a, b) = (names.number("a"), names.number("b"));
        assert_ne!(a, b);
        assert_eq!((names.number("a"), names.name(b)), (a, Some("b")));
        let long = names.number(&"é".repeat(1_000));
        assert_eq!(names.name(long).unwrap().len(), LONG + REST.len());
        for at in 0..2 * MAX_NAMES {
            names.number(&format!("n{at}"));
        }
        assert_eq!(names.names.len(), MAX_NAMES + 1);
        let rest = names.number("one more");
        assert_eq!(names.name(rest), Some(REST));
        assert_eq!(names.number("a"), a);
    }
}
