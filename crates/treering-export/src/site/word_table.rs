//! A table of words, each of which has a number.

use foldhash::fast::RandomState;
use hashbrown::HashTable;
use hashbrown::hash_table::Entry;
use std::hash::{BuildHasher, Hasher};
use std::ops::Range;

/// Words in one text, in the order in which they were added. A known word costs no allocation.
#[derive(Default)]
pub(super) struct WordTable {
    /// The words, each with a line feed after it.
    text: String,
    /// The positions of the words in the text.
    spans: Vec<Range<usize>>,
    /// The numbers of the words, by their hashes.
    numbers: HashTable<u32>,
    hasher: RandomState,
}

impl WordTable {
    /// Returns the number of a word, which is added if it is new. The first word has the number 0.
    pub(super) fn number(&mut self, word: &[u8]) -> usize {
        let WordTable { text, spans, numbers, hasher } = self;
        let known = |number: &u32| {
            let span = spans.get(*number as usize).cloned().unwrap_or_default();
            text.as_bytes().get(span).unwrap_or_default()
        };
        let hash = |word: &[u8]| {
            let mut hasher = hasher.build_hasher();
            hasher.write(word);
            hasher.finish()
        };
        let found =
            numbers.entry(hash(word), |number| known(number) == word, |number| hash(known(number)));
        match found {
            Entry::Occupied(found) => *found.get() as usize,
            Entry::Vacant(place) => {
                let number = spans.len();
                place.insert(number as u32);
                let start = text.len();
                text.push_str(&String::from_utf8_lossy(word));
                spans.push(start..text.len());
                text.push('\n');
                number
            }
        }
    }

    pub(super) fn len(&self) -> usize {
        self.spans.len()
    }

    /// Returns the words by their numbers.
    pub(super) fn iter(&self) -> impl Iterator<Item = &str> {
        self.spans.iter().map(|span| self.text.get(span.clone()).unwrap_or_default())
    }

    /// Returns the words as lines.
    pub(super) fn lines(&self) -> &[u8] {
        self.text.as_bytes()
    }

    /// Removes all words, and keeps the memory.
    pub(super) fn clear(&mut self) {
        self.text.clear();
        self.spans.clear();
        self.numbers.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_keeps_its_number() {
        let mut table = WordTable::default();
        let numbers = ["one", "two", "one", "été", "two"].map(|word| table.number(word.as_bytes()));
        assert_eq!(numbers, [0, 1, 0, 2, 1]);
        assert_eq!(table.lines(), "one\ntwo\nété\n".as_bytes());
        assert_eq!(table.iter().collect::<Vec<_>>(), ["one", "two", "été"]);
        table.clear();
        assert_eq!((table.number(b"two"), table.len()), (0, 1));
    }
}
