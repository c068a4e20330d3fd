//! Search in a tree: words, all of which must occur, whatever their case.

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
pub struct Words(Vec<Finder<'static>>);

/// Gists are shorter than this.
const SHORT: usize = 256;

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

    /// Whether each word occurs in one of the texts.
    pub fn match_any_of(&self, texts: &[&str]) -> bool {
        self.0.iter().all(|word| texts.iter().any(|text| is_in(word, text)))
    }
}

/// Most texts are short and plain ASCII: those need no memory of their own to be in small letters.
fn is_in(word: &Finder<'_>, text: &str) -> bool {
    match text.len() {
        0 => false,
        1..=16 if text.is_ascii() => is_in_small::<16>(word, text),
        17..=SHORT if text.is_ascii() => is_in_small::<SHORT>(word, text),
        _ => word.find(text.to_lowercase().as_bytes()).is_some(),
    }
}

fn is_in_small<const MOST: usize>(word: &Finder<'_>, text: &str) -> bool {
    let mut room = [0; MOST];
    let Some(small) = room.get_mut(..text.len()) else { return false };
    small.copy_from_slice(text.as_bytes());
    small.make_ascii_lowercase();
    word.find(small).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_word_is_found_whatever_its_case(
            text in "([aAbBéÉßİ ]{0,12}|[aAbB ]{0,12}|[aAbB ]{250,260})", word in "[aAbBéÉßİ]{1,3}",
        ) {
            let expected = text.to_lowercase().contains(&word.to_lowercase());
            prop_assert_eq!(Words::new(&word).match_any_of(&[&text]), expected);
        }
    }
}
