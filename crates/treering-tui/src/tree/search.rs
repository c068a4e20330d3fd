//! Search in a tree: words, all of which must occur, whatever their case.

use memchr::memchr2_iter;
use memchr::memmem::Finder;

/// The words of a query. Without words everything matches.
///
/// ```
/// use treering_tui::tree::Words;
/// let words = Words::new("Fix  bug");
/// assert!(words.match_any_of(&["todo: Bug", "user", "fix it"]));
/// assert!(!words.match_any_of(&["user fix it"]));
/// ```
#[derive(Debug, Clone, Default)]
pub struct Words(Vec<Word>);

#[derive(Debug, Clone)]
struct Word {
    /// In small letters.
    finder: Finder<'static>,
    /// Its first byte, small and as a capital.
    first: (u8, u8),
}

impl Words {
    /// Reads a query.
    pub fn new(query: &str) -> Self {
        let words = query.split_whitespace().map(str::to_lowercase);
        let word = |word: String| {
            let first = word.bytes().next().unwrap_or(0);
            let first = (first, first.to_ascii_uppercase());
            Word { finder: Finder::new(&word).into_owned(), first }
        };
        Words(words.map(word).collect())
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether each word occurs in one of the texts.
    pub fn match_any_of(&self, texts: &[&str]) -> bool {
        self.0.iter().all(|word| texts.iter().any(|text| word.is_in(text)))
    }
}

impl Word {
    /// Most texts are plain ASCII, and are looked through where they are.
    fn is_in(&self, text: &str) -> bool {
        if !text.is_ascii() {
            return self.finder.find(text.to_lowercase().as_bytes()).is_some();
        }
        let (text, word) = (text.as_bytes(), self.finder.needle());
        memchr2_iter(self.first.0, self.first.1, text).any(|at| {
            let found = text.get(at..at + word.len());
            found.is_some_and(|found| found.eq_ignore_ascii_case(word))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_word_is_found_whatever_its_case(
            text in "[aAbBéÉßİ ]{0,12}", word in "[aAbBéÉßİ]{1,3}",
        ) {
            let expected = text.to_lowercase().contains(&word.to_lowercase());
            prop_assert_eq!(Words::new(&word).match_any_of(&[&text]), expected);
        }
    }
}
