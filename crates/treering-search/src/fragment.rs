//! The fast path: fragments that the raw bytes of a file must contain if a text is in it.
//!
//! JSON can spell a text in many ways: a character is written as itself, as `\uXXXX`, or (a few of
//! them) after a backslash; and if a string contains JSON, as Codex's arguments do, all of that
//! again. A *fragment* is a sequence of characters that can only be spelled in the first two ways.
//! If a text contains the fragment, then its bytes contain the fragment itself, or at least one of
//! its characters as `\uXXXX`. Both are fast to search for, and no match is missed; the files that
//! are found are then searched exactly.

use crate::term::Case;
use memchr::memmem;
use regex::bytes::{Regex, RegexBuilder};
use regex_syntax::hir::{ClassUnicode, ClassUnicodeRange};
use std::sync::Arc;

/// The maximum length of a fragment: longer ones exclude hardly more files.
const MAX_CHARS: usize = 32;

#[derive(Debug, Clone)]
pub(crate) struct Fragment {
    plain: Regex,
    /// A bitmap of the UTF-16 units that spell one of its characters.
    units: Arc<[u64; 1024]>,
    /// The number of its bytes that can be before a boundary.
    overlap: usize,
    len: usize,
}

impl Fragment {
    /// Returns the longest fragment of a text, in which white space matches any white space.
    /// Returns `None` if it has none.
    pub(crate) fn best(text: &str, case: Case) -> Option<Self> {
        let longest = text
            .split(|c: char| c.is_whitespace() || is_special(c))
            .max_by_key(|run| (run.len(), std::cmp::Reverse(run.as_ptr())))?;
        let end = longest.char_indices().nth(MAX_CHARS).map_or(longest.len(), |(end, _)| end);
        Fragment::new(longest.get(..end)?, case)
    }

    fn new(text: &str, case: Case) -> Option<Self> {
        if text.is_empty() {
            return None;
        }
        let plain = RegexBuilder::new(&regex::escape(text))
            .case_insensitive(case == Case::Ignored)
            .build()
            .ok()?;
        let mut units = Box::new([0_u64; 1024]);
        for character in text.chars() {
            let mut class = ClassUnicode::new([ClassUnicodeRange::new(character, character)]);
            if case == Case::Ignored {
                class.try_case_fold_simple().ok()?;
            }
            for character in class.iter().flat_map(|range| range.start()..=range.end()) {
                for unit in character.encode_utf16(&mut [0; 2]) {
                    units[usize::from(*unit) / 64] |= 1 << (*unit % 64);
                }
            }
        }
        let overlap = (text.chars().count() * 4).max(6);
        Some(Fragment { plain, units: Arc::from(units), overlap, len: text.len() })
    }

    /// Returns the length, which is a measure of how selective the fragment is.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Returns the number of bytes of one piece that must be searched again with the next, so that
    /// no match is missed.
    pub(crate) fn overlap(&self) -> usize {
        self.overlap
    }

    pub(crate) fn may_be_in(&self, bytes: &[u8]) -> bool {
        self.plain.is_match(bytes) || self.find_escaped(bytes, 0).is_some()
    }

    /// Returns the first position from `from` on at which the bytes may contain the fragment
    /// itself.
    pub(crate) fn find_plain(&self, bytes: &[u8], from: usize) -> Option<usize> {
        (from <= bytes.len()).then(|| self.plain.find_at(bytes, from))?.map(|found| found.start())
    }

    /// Returns the first position from `from` on at which the bytes spell one of its characters as
    /// `\uXXXX`.
    pub(crate) fn find_escaped(&self, bytes: &[u8], from: usize) -> Option<usize> {
        let rest = bytes.get(from..)?;
        memmem::find_iter(rest, br"\u")
            .find(|&at| {
                let unit = rest.get(at + 2..at + 6).and_then(unit);
                unit.is_some_and(|unit| self.units[usize::from(unit) / 64] >> (unit % 64) & 1 == 1)
            })
            .map(|at| from + at)
    }
}

fn unit(hex: &[u8]) -> Option<u16> {
    let mut unit = 0;
    for digit in hex {
        unit = unit << 4 | char::from(*digit).to_digit(16)? as u16;
    }
    Some(unit)
}

/// Returns whether JSON may spell a character in another way, or the character replaces invalid
/// text.
fn is_special(character: char) -> bool {
    matches!(character, '"' | '\\' | '/' | '\u{FFFD}') || character.is_control()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn may_be(text: &str, bytes: &str) -> bool {
        Fragment::best(text, Case::Ignored).unwrap().may_be_in(bytes.as_bytes())
    }

    #[test]
    fn every_spelling_is_seen() {
        assert!(may_be("café", r#"{"t":"CAFÉ"}"#));
        assert!(may_be("café", r#"{"t":"caf\u00e9"}"#));
        assert!(may_be("café", r#"{"t":"caf\u00C9"}"#));
        assert!(may_be("café", r#"{"t":"{\"x\":\"caf\\u00e9\"}"}"#));
        assert!(may_be("word", r#"\u0077ord"#));
        assert!(may_be("tusk", r#"tus\u212a"#));
        assert!(may_be("a😀", r#"a\ud83d\ude00"#));
        assert!(may_be("src/main.rs", r#"src\/main.rs"#));
        assert!(may_be("say \"hi\" twice", r#"say \"hi\"\ntwice"#));
        assert!(!may_be("café", r#"cafe \u001b[0m \u00e8"#));
        assert!(!may_be("word", r"wor \u006"));
    }

    #[test]
    fn some_texts_have_no_fragment() {
        assert!(Fragment::best("\"/\\", Case::Ignored).is_none());
        assert_eq!(Fragment::best("a/bcd\\ef", Case::Ignored).unwrap().len(), 3);
        assert!(Fragment::best(&"x".repeat(1_000_000), Case::Ignored).unwrap().len() == MAX_CHARS);
    }
}
