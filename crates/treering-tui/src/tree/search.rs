//! Search in a tree: words, all of which must occur, whatever their case.

use memchr::memmem::Finder;

/// The words of a query. Without words everything matches.
///
/// ```
/// use treering_tui::tree::Words;
/// let words = Words::new("Fix  bug");
/// assert!(words.match_any_of(&["todo: bug", "user fix it"]));
/// assert!(!words.match_any_of(&["user fix it"]));
/// ```
#[derive(Debug, Clone, Default)]
pub struct Words(Vec<Finder<'static>>);

impl Words {
    /// Reads a query.
    pub fn new(query: &str) -> Self {
        let words = query.split_whitespace().map(str::to_lowercase);
        Words(words.map(|word| Finder::new(&word).into_owned()).collect())
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether each word occurs in one of the texts. These must be in small letters.
    pub fn match_any_of(&self, texts: &[&str]) -> bool {
        self.0.iter().all(|word| texts.iter().any(|text| word.find(text.as_bytes()).is_some()))
    }
}
