//! Search in a tree: all words must occur, in any case.

use memchr::memchr2_iter;
use memchr::memmem::Finder;
use treering_display::line::one_line;

/// The words of a query. Without words everything matches.
///
/// ```
/// use treering_tui::tree::{SearchText, SearchWords};
/// let words = SearchWords::new("Fix  bug");
/// assert!(words.match_any_of(&["todo: bug", "user", "fix it"].map(SearchText::new)));
/// assert!(!words.match_any_of(&["user fix it"].map(SearchText::new)));
/// ```
#[derive(Debug, Clone, Default)]
pub struct SearchWords(Vec<Finder<'static>>);

impl SearchWords {
    /// Parses a query.
    pub fn new(query: &str) -> Self {
        let words = query.split_whitespace().map(str::to_lowercase);
        SearchWords(words.map(|word| Finder::new(&word).into_owned()).collect())
    }

    /// Returns whether there are no words.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the part of a text around its first word of the query, on one line; empty if there is none.
    /// ASCII letters of `small` are lowercase, everything else is as in `text`.
    pub(crate) fn snippet(&self, text: &str, small: &str) -> String {
        const BEFORE: usize = 24;
        const MAX_SNIPPET: usize = 200;
        let found = self.0.iter().filter_map(|word| word.find(small.as_bytes())).min();
        let Some(found) = found.filter(|at| text.is_char_boundary(*at)) else {
            return String::new();
        };
        let (before, after) = text.split_at(found);
        let line = before.rsplit('\n').next().unwrap_or_default();
        let cut = line.char_indices().rev().nth(BEFORE).map(|(at, _)| at);
        let start = line.get(cut.unwrap_or(0)..).unwrap_or_default();
        let end = after.lines().next().unwrap_or_default();
        let end: String = end.chars().take(MAX_SNIPPET).collect();
        let dots = if cut.is_some() { "…" } else { "" };
        one_line(&format!("{dots}{start}{end}"), MAX_SNIPPET)
    }

    /// Returns whether each word occurs in one of the texts.
    pub fn match_any_of(&self, texts: &[SearchText<'_>]) -> bool {
        self.0.iter().all(|word| texts.iter().any(|text| text.has(word)))
    }
}

/// A text to search.
#[derive(Debug, Clone, Copy, Default)]
pub struct SearchText<'a> {
    small: &'a str,
    becomes_ascii: bool,
}

impl<'a> SearchText<'a> {
    /// Creates a text whose ASCII letters are lowercase (see [`str::make_ascii_lowercase`]). Most
    /// texts are searched as they are.
    pub fn new(small: &'a str) -> Self {
        SearchText { small, becomes_ascii: becomes_ascii(small) }
    }

    /// Creates a text for which `becomes_ascii` is known.
    pub(crate) fn known(small: &'a str, becomes_ascii: bool) -> Self {
        SearchText { small, becomes_ascii }
    }

    fn has(&self, word: &Finder<'_>) -> bool {
        let is_in = |text: &str| word.find(text.as_bytes()).is_some();
        let has_more = || match word.needle().is_ascii() {
            true => self.becomes_ascii,
            false => !self.small.is_ascii(),
        };
        !self.small.is_empty()
            && (is_in(self.small) || (has_more() && is_in(&self.small.to_lowercase())))
    }
}

/// Returns whether the text has one of the two letters outside of ASCII whose lowercase letter is
/// ASCII: the Kelvin sign and the Turkish İ.
pub(crate) fn becomes_ascii(text: &str) -> bool {
    const LETTERS: [&str; 2] = ["\u{212a}", "\u{130}"];
    // The letters are found by their last bytes, which are rare in other letters.
    memchr2_iter(0xaa, 0xb0, text.as_bytes())
        .any(|at| LETTERS.iter().any(|letter| text.as_bytes()[..=at].ends_with(letter.as_bytes())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_snippet_is_the_line_around_the_first_word() {
        let snippet = |query: &str, text: &str| {
            SearchWords::new(query).snippet(text, &text.to_ascii_lowercase())
        };
        assert_eq!(
            snippet("kettle", "one\n the Blue KETTLE boils\nthree"),
            "the Blue KETTLE boils"
        );
        assert_eq!(snippet("x", "one"), "");
        let long = format!("{} kettle", "y".repeat(100));
        assert_eq!(snippet("kettle", &long), format!("…{} kettle", "y".repeat(24)));
        assert_eq!(snippet("é", "日é\u{1b}"), "日é\\x1b");
    }

    #[test]
    fn only_two_letters_outside_ascii_become_ascii() {
        let outside =
            ('\u{80}'..=char::MAX).filter(|letter| letter.to_lowercase().any(|c| c.is_ascii()));
        assert!(outside.clone().all(|letter| becomes_ascii(&letter.to_string())));
        assert_eq!(outside.count(), 2);
    }

    proptest! {
        #[test]
        fn a_word_is_found_whatever_its_case(
            text in "([aAiIkKéÉßİ\u{212a}… ]{0,12}|[aAiI ]{0,12}|[aAkK… ]{250,260})",
            word in "([aAiIkKéÉßİ\u{212a}…]{1,3}|[aAiIkK]{1,3})",
        ) {
            let expected = text.to_lowercase().contains(&word.to_lowercase());
            prop_assert_eq!(SearchWords::new(&word).match_any_of(&[SearchText::new(&text.to_ascii_lowercase())]), expected);
        }
    }
}
