//! Recognizes keys and tokens by their format alone: a unique prefix, and a number of characters of
//! an alphabet after it. The table of them is in [`crate::vendors`].
//!
//! A token counts only at the start of a word, and only if the characters of its alphabet end with
//! it: a longer text is something else, such as the data of an image.

use crate::value::{distinct, is_example};
use std::ops::Range;

/// A text that is searched.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SearchedText<'a> {
    pub bytes: &'a [u8],
    /// Whether the text may still have escapes of JSON strings. The letter of an escape is then not
    /// part of the word after it.
    pub is_raw: bool,
}

/// The characters of a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Alphabet {
    /// Letters and digits.
    Alnum,
    /// Lower-case letters and digits.
    Lower,
    /// Capital letters and digits.
    Upper,
    /// Hexadecimal digits.
    Hex,
    /// Decimal digits.
    Digits,
    /// Letters, digits, `_` and `-`.
    Url,
    /// Letters, digits, `_`, `-` and `.`.
    Dotted,
    /// Letters, digits, `_`, `-`, `.` and `~`.
    Tilde,
    /// Letters, digits, `+`, `/`, `=`.
    Base64,
    /// Letters, digits, `+`, `/`, `=`, and `%` of percent escapes.
    Percent,
    /// Any byte of ASCII.
    Ascii,
    /// Any byte.
    Any,
}

impl Alphabet {
    pub(crate) fn has(self, byte: u8) -> bool {
        let is_alnum = byte.is_ascii_alphanumeric();
        match self {
            Alphabet::Alnum => is_alnum,
            Alphabet::Lower => byte.is_ascii_lowercase() || byte.is_ascii_digit(),
            Alphabet::Upper => byte.is_ascii_uppercase() || byte.is_ascii_digit(),
            Alphabet::Hex => byte.is_ascii_hexdigit(),
            Alphabet::Digits => byte.is_ascii_digit(),
            Alphabet::Url => is_alnum || matches!(byte, b'_' | b'-'),
            Alphabet::Dotted => is_alnum || matches!(byte, b'_' | b'-' | b'.'),
            Alphabet::Tilde => is_alnum || matches!(byte, b'_' | b'-' | b'.' | b'~'),
            Alphabet::Base64 => is_alnum || matches!(byte, b'+' | b'/' | b'='),
            Alphabet::Ascii => byte.is_ascii(),
            Alphabet::Any => true,
            Alphabet::Percent => is_alnum || matches!(byte, b'+' | b'/' | b'=' | b'%'),
        }
    }
}

/// A piece of a token after its prefix.
#[derive(Debug, Clone, Copy)]
pub(crate) enum TokenPart {
    /// A minimum and a maximum number of characters of an alphabet.
    Run(Alphabet, usize, usize),
    /// Exactly these characters.
    Mark(&'static str),
}

/// A kind of token.
#[derive(Debug)]
pub(crate) struct TokenPattern {
    pub kind: &'static str,
    pub prefix: &'static str,
    pub pieces: &'static [TokenPart],
    /// Whether the characters after the prefix must be of several classes. This distinguishes
    /// tokens from identifiers where the prefix alone does not.
    pub mixed: bool,
}

impl TokenPattern {
    /// Returns the token whose prefix is at `at`.
    pub(crate) fn at(&self, text: SearchedText<'_>, at: usize) -> Option<Range<usize>> {
        let bytes = text.bytes;
        let body = at + self.prefix.len();
        if !bytes.get(at..)?.starts_with(self.prefix.as_bytes()) {
            return None;
        }
        let begins_with_mark = !self.prefix.starts_with(|c: char| c.is_ascii_alphanumeric());
        if !begins_with_mark && !starts_word(text, at) {
            return None;
        }
        let mut end = body;
        for (number, piece) in self.pieces.iter().enumerate() {
            let is_last = number + 1 == self.pieces.len();
            match *piece {
                TokenPart::Mark(mark) => {
                    bytes.get(end..)?.strip_prefix(mark.as_bytes())?;
                    end += mark.len();
                }
                TokenPart::Run(alphabet, least, most) => {
                    let mut length = run(bytes, end, alphabet, most + 1);
                    if is_last {
                        // Punctuation that ends a sentence is not part of a token.
                        let run = bytes.get(end..end + length)?;
                        length -= run.iter().rev().take_while(|byte| **byte == b'.').count();
                    }
                    if length < least || length > most {
                        return None;
                    }
                    end += length;
                }
            }
        }
        if bytes.get(end).is_some_and(u8::is_ascii_alphanumeric) {
            return None;
        }
        let token = bytes.get(body..end)?;
        if is_example(token) || distinct(token) < 6 || (self.mixed && !is_mixed(token)) {
            return None;
        }
        // A prefix that is a name and not part of the secret is not replaced.
        let start = if self.prefix.ends_with(['=', '/']) { body } else { at };
        Some(start..end)
    }
}

/// Returns whether a token has several classes of characters.
fn is_mixed(token: &[u8]) -> bool {
    let has = |test: fn(&u8) -> bool| token.iter().any(test);
    let (upper, lower) = (has(u8::is_ascii_uppercase), has(u8::is_ascii_lowercase));
    let has_separators = has(|byte| !byte.is_ascii_alphanumeric());
    let sorts = has(u8::is_ascii_digit) && (upper || lower) || upper && lower && !has_separators;
    sorts && distinct(token) >= 8
}

/// Returns the JSON web token at `at`: three parts, the first of which begins with `{"`.
pub(crate) fn web_token(text: SearchedText<'_>, at: usize) -> Option<Range<usize>> {
    const MAX_HEADER: usize = 2048;
    const MAX_LENGTH: usize = 16 * 1024;
    let bytes = text.bytes;
    if !bytes.get(at..)?.starts_with(b"eyJ") || !starts_word(text, at) {
        return None;
    }
    if matches!(at.checked_sub(1).and_then(|before| bytes.get(before)), Some(b'.' | b'-')) {
        return None;
    }
    let header = run(bytes, at, Alphabet::Url, MAX_HEADER);
    let dot = at + header;
    if header < 12 || bytes.get(dot) != Some(&b'.') || !bytes.get(dot + 1..)?.starts_with(b"eyJ") {
        return None;
    }
    let payload = run(bytes, dot + 1, Alphabet::Url, MAX_LENGTH);
    let second = dot + 1 + payload;
    // A token without its signature still contains the secret data.
    let signature = match bytes.get(second) {
        Some(b'.') => 1 + run(bytes, second + 1, Alphabet::Url, MAX_LENGTH),
        _ => 0,
    };
    (payload >= 8).then_some(at..second + signature)
}

/// Returns how many bytes from `at` on are of the alphabet, counted up to `most`.
pub(crate) fn run(bytes: &[u8], at: usize, alphabet: Alphabet, most: usize) -> usize {
    let rest = bytes.get(at..).unwrap_or_default();
    rest.iter().take(most).take_while(|byte| alphabet.has(**byte)).count()
}

/// Returns how many bytes before `at` are of the alphabet, counted up to `most`.
pub(crate) fn run_back(bytes: &[u8], at: usize, alphabet: Alphabet, most: usize) -> usize {
    let before = bytes.get(..at).unwrap_or_default();
    before.iter().rev().take(most).take_while(|byte| alphabet.has(**byte)).count()
}

/// Returns whether the byte before `at` cannot be part of the same word. The end of a color code, a
/// percent escape or an escape of a programming language is not part of it either.
pub(crate) fn starts_word(text: SearchedText<'_>, at: usize) -> bool {
    let before = text.bytes.get(at.saturating_sub(24)..at).unwrap_or_default();
    match before.last() {
        None => true,
        Some(byte) if !byte.is_ascii_alphanumeric() && *byte != b'_' => true,
        Some(_) => ends_escape(before) || text.is_raw && ends_json_escape(before),
    }
}

/// Returns whether a text ends in an escape of terminals, URLs or programming languages.
fn ends_escape(before: &[u8]) -> bool {
    match before {
        [.., b'%', a, b] | [.., b'\\', b'x', a, b]
            if a.is_ascii_hexdigit() && b.is_ascii_hexdigit() =>
        {
            true
        }
        [.., b'%', b'2', b'5', a, b] => a.is_ascii_hexdigit() && b.is_ascii_hexdigit(),
        [.., b'\\', a, b, c] => [a, b, c].iter().all(|byte| matches!(byte, b'0'..=b'7')),
        [.., 0x1B, b'(', b'B'] => true,
        [rest @ .., last] if last.is_ascii_alphabetic() => {
            let is_parameter = |byte: &&u8| matches!(byte, b'0'..=b'9' | b';' | b':' | b'?');
            let parameters = rest.iter().rev().take_while(is_parameter).count();
            let rest = rest.get(..rest.len() - parameters).unwrap_or_default();
            match rest {
                [.., 0x1B | 0x9B, b'['] | [.., b'^', b'[', b'['] => true,
                [.., b'['] => parameters > 0,
                _ => false,
            }
        }
        _ => false,
    }
}

/// Returns whether a text ends in an escape of a JSON string.
fn ends_json_escape(before: &[u8]) -> bool {
    match before {
        [.., b'\\', b'b' | b'f' | b'n' | b'r' | b't'] => true,
        [.., b'\\', b'u', a, b, c, d] => [a, b, c, d].iter().all(|byte| byte.is_ascii_hexdigit()),
        _ => false,
    }
}
