//! One thing that an entry must hold: a word, a phrase, or a pattern.
//!
//! All of them are regular expressions in the end, so that case is folded in one way only: Unicode's
//! simple folding. Beside it goes the fragment that the raw bytes must hold for it to match.

use crate::fragment::Fragment;
use regex::{Regex, RegexBuilder};
use regex_syntax::ParserBuilder;
use regex_syntax::hir::{Hir, HirKind};

/// Whether `A` and `a` are the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Case {
    /// They are.
    #[default]
    Ignored,
    /// They are not.
    Respected,
}

/// The error in a pattern, and its position in bytes.
#[derive(Debug)]
pub(crate) struct BadPattern {
    pub at: Option<usize>,
    pub message: String,
}

#[derive(Debug, Clone)]
pub(crate) struct Term {
    regex: Regex,
    /// Returns the fragment that the bytes of an entry must hold; `None` if nothing is known about
    /// them.
    pub fragment: Option<Fragment>,
}

impl Term {
    /// Returns a word or a phrase.
    pub(crate) fn words(text: &str, case: Case) -> Result<Self, BadPattern> {
        let words: Vec<String> = text.split_whitespace().map(regex::escape).collect();
        let fragment = Fragment::best(text, case);
        Ok(Term { regex: compile(&words.join(r"\s+"), case)?, fragment })
    }

    /// Returns a regular expression, line by line.
    pub(crate) fn pattern(pattern: &str, case: Case) -> Result<Self, BadPattern> {
        let parsed = ParserBuilder::new().multi_line(true).build().parse(pattern);
        let hir = parsed.map_err(|error| match error {
            regex_syntax::Error::Parse(error) => BadPattern {
                at: Some(error.span().start.offset),
                message: error.kind().to_string(),
            },
            regex_syntax::Error::Translate(error) => BadPattern {
                at: Some(error.span().start.offset),
                message: error.kind().to_string(),
            },
            other => BadPattern { at: None, message: other.to_string() },
        })?;
        let fragment = required(&hir).and_then(|text| Fragment::best(&text, case));
        Ok(Term { regex: compile(pattern, case)?, fragment })
    }

    pub(crate) fn is_in(&self, text: &str) -> bool {
        self.regex.is_match(text)
    }

    /// Returns where it is found first, from `from` on.
    pub(crate) fn find_at(&self, text: &str, from: usize) -> Option<std::ops::Range<usize>> {
        (from <= text.len()).then(|| self.regex.find_at(text, from))?.map(|found| found.range())
    }

    /// Returns whether an entry of these bytes can hold it.
    pub(crate) fn may_be_in(&self, record: &[u8]) -> bool {
        self.fragment.as_ref().is_none_or(|fragment| fragment.may_be_in(record))
    }

    #[cfg(test)]
    pub(crate) fn source(&self) -> &str {
        self.regex.as_str()
    }
}

fn compile(pattern: &str, case: Case) -> Result<Regex, BadPattern> {
    let ignored = case == Case::Ignored;
    let built = RegexBuilder::new(pattern).case_insensitive(ignored).multi_line(true).build();
    built.map_err(|error| BadPattern {
        at: None,
        message: match error {
            regex::Error::CompiledTooBig(_) => "it is too large".to_owned(),
            other => other.to_string(),
        },
    })
}

/// Returns the longest literal that everything the expression matches contains. Recursion is as
/// deep as the parser lets patterns nest.
fn required(hir: &Hir) -> Option<String> {
    match hir.kind() {
        HirKind::Literal(literal) => std::str::from_utf8(&literal.0).ok().map(str::to_owned),
        HirKind::Capture(capture) => required(&capture.sub),
        HirKind::Repetition(repeated) if repeated.min > 0 => required(&repeated.sub),
        HirKind::Concat(parts) => parts.iter().filter_map(required).max_by_key(String::len),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_pattern_requires() {
        let required = |pattern: &str| {
            required(&ParserBuilder::new().multi_line(true).build().parse(pattern).unwrap())
        };
        assert_eq!(required("fo+bar").as_deref(), Some("bar"));
        assert_eq!(required("(abc)+d?").as_deref(), Some("abc"));
        assert_eq!(required("^needle$").as_deref(), Some("needle"));
        assert_eq!(required("(?i)needle"), None);
        assert_eq!(required("a|b"), None);
        assert_eq!(required("(abc)*"), None);
    }

    #[test]
    fn case_is_folded_simply() {
        let is_in = |word: &str, text: &str| Term::words(word, Case::Ignored).unwrap().is_in(text);
        assert!(is_in("straße", "STRAẞE"));
        assert!(!is_in("strasse", "straße"));
        assert!(is_in("kelvin", "\u{212A}elvin"));
        assert!(is_in("ΣΟΦΟΣ", "σοφος"));
        assert!(is_in("off by", "off\n\tby one"));
        assert!(!Term::words("Red", Case::Respected).unwrap().is_in("red"));
    }
}
