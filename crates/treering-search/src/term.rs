//! A term of a query: a word, a phrase, or a pattern.
//!
//! All of them become regular expressions, so that case is folded in one way only: Unicode's simple
//! folding. Each has a fragment that the raw bytes must contain for it to match.

use crate::fragment::Fragment;
use regex::{Regex, RegexBuilder};
use regex_syntax::ParserBuilder;
use regex_syntax::hir::{Hir, HirKind};

/// Whether upper and lower case are distinguished.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Case {
    /// Case is ignored.
    #[default]
    Ignored,
    /// Case matters.
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
    /// The fragments of which the bytes of an entry must contain one, one for each alternative;
    /// empty if nothing is known about the bytes.
    pub fragments: Vec<Fragment>,
    /// The letters and digits of a word or phrase in lowercase, for approximate matches in titles.
    letters: String,
}

impl Term {
    /// Returns the term for a word or a phrase.
    pub(crate) fn words(text: &str, case: Case) -> Result<Self, BadPattern> {
        let words: Vec<String> = text.split_whitespace().map(regex::escape).collect();
        let fragments = Fragment::best(text, case).into_iter().collect();
        let letters = text.to_lowercase().chars().filter(|c| c.is_alphanumeric()).collect();
        Ok(Term { regex: compile(&words.join(r"\s+"), case)?, fragments, letters })
    }

    /// Returns the term for a regular expression, which is matched line by line.
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
        let fragments = fragment.into_iter().collect();
        Ok(Term { regex: compile(pattern, case)?, fragments, letters: String::new() })
    }

    /// Returns a term that matches where either of two does.
    pub(crate) fn or(mut self, other: Term, case: Case) -> Result<Self, BadPattern> {
        let pattern = format!("(?:{})|(?:{})", self.regex.as_str(), other.regex.as_str());
        match self.fragments.is_empty() || other.fragments.is_empty() {
            true => self.fragments.clear(),
            false => self.fragments.extend(other.fragments),
        }
        Ok(Term { regex: compile(&pattern, case)?, letters: String::new(), ..self })
    }

    /// Returns whether a title contains this word approximately: all its letters in order, from the
    /// beginning of a word on and close together.
    pub(crate) fn is_nearly_in(&self, title: &str) -> bool {
        const MIN_LETTERS: usize = 3;
        const MAX_CHARACTERS: usize = 1000;
        let wanted: Vec<char> = self.letters.chars().collect();
        if wanted.len() < MIN_LETTERS {
            return false;
        }
        let title: Vec<char> =
            title.chars().take(MAX_CHARACTERS).flat_map(char::to_lowercase).collect();
        let begins = |at: usize| at == 0 || title.get(at - 1).is_some_and(|c| !c.is_alphanumeric());
        (0..title.len()).filter(|&at| begins(at)).any(|start| {
            let mut left = wanted.iter().peekable();
            let room = title.iter().skip(start).take(2 * wanted.len());
            for (at, character) in room.enumerate() {
                match left.peek() {
                    Some(next) if *next == character => drop(left.next()),
                    Some(_) if at == 0 => return false,
                    Some(_) => {}
                    None => break,
                }
            }
            left.peek().is_none()
        })
    }

    pub(crate) fn is_in(&self, text: &str) -> bool {
        self.regex.is_match(text)
    }

    /// Returns the first match from `from` on.
    pub(crate) fn find_at(&self, text: &str, from: usize) -> Option<std::ops::Range<usize>> {
        (from <= text.len()).then(|| self.regex.find_at(text, from))?.map(|found| found.range())
    }

    /// Returns whether an entry with these bytes can match.
    pub(crate) fn may_be_in(&self, record: &[u8]) -> bool {
        self.fragments.is_empty()
            || self.fragments.iter().any(|fragment| fragment.may_be_in(record))
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

/// Returns the longest literal that every match of the expression contains. Recursion is limited by
/// the nesting that the parser allows.
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
    fn a_title_may_hold_a_word_nearly() {
        let nearly =
            |word: &str, title: &str| Term::words(word, Case::Ignored).unwrap().is_nearly_in(title);
        assert!(nearly("prsr", "Fix the parser"));
        assert!(nearly("Kettl", "the kettle") && nearly("étud", "L'Étude"));
        assert!(!nearly("prsr", "Fix the compressor") && !nearly("pr", "parser"));
        assert!(!nearly("psr", "plenty of other words, sir"));
        let pattern = Term::pattern("p.*r", Case::Ignored).unwrap();
        assert!(!pattern.is_nearly_in("parser"));
    }

    #[test]
    fn one_of_two_is_enough() {
        let word = |text: &str| Term::words(text, Case::Ignored).unwrap();
        let either = word("kettle").or(word("off by"), Case::Ignored).unwrap();
        assert!(either.is_in("the KETTLE") && either.is_in("off\nby") && !either.is_in("pot"));
        assert!(
            either.may_be_in(b"kettle") && either.may_be_in(b"off by") && !either.may_be_in(b"pot")
        );
        let any = Term::pattern("x*", Case::Ignored).unwrap();
        assert!(word("kettle").or(any, Case::Ignored).unwrap().fragments.is_empty());
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
