//! Keys, and texts that must not contain them.

use std::fmt;

/// An API key. Neither `Debug` nor `Display` nor serialization shows it.
///
/// ```
/// let key = treering_agent::Secret::new("sk-123");
/// assert_eq!(format!("{key:?}"), "Secret(…)");
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Creates a secret from `key`, without the surrounding white space that files and shells often
    /// add.
    pub fn new(key: impl AsRef<str>) -> Self {
        Secret(key.as_ref().trim().to_owned())
    }

    /// Returns whether the key is empty.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the key itself, for the code that sends it.
    pub(crate) fn expose(&self) -> &str {
        &self.0
    }

    /// Replaces every occurrence of the key in an error message: servers quote what they refuse.
    ///
    /// A key shorter than [`Self::SHORTEST`] is a placeholder ("test", "ollama", "1"): it keeps
    /// nothing secret, and its letters occur in ordinary words, so the text is returned unchanged.
    /// This is only for errors: the content of an answer is never changed.
    pub(crate) fn redact(&self, text: &str) -> String {
        if self.0.chars().count() < Self::SHORTEST {
            return text.to_owned();
        }
        text.replace(&self.0, "…")
    }

    /// The length in characters from which a key is treated as a secret.
    const SHORTEST: usize = 8;
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

impl<'de> serde::Deserialize<'de> for Secret {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        // With the usual visitor, an error about a wrong type would quote the value.
        struct Text;
        impl serde::de::Visitor<'_> for Text {
            type Value = Secret;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a key as a string")
            }
            fn visit_str<E>(self, text: &str) -> Result<Secret, E> {
                Ok(Secret::new(text))
            }
        }
        from.deserialize_str(Text)
    }
}

/// Returns a text of a server for an error message: cut, on one line, and without control
/// characters.
pub(crate) fn excerpt(text: &str) -> String {
    const MAX: usize = 500;
    let mut out = String::new();
    for c in text.trim().chars() {
        if out.len() >= MAX {
            out.push('…');
            break;
        }
        match c {
            '\n' | '\r' | '\t' => out.push(' '),
            c if c.is_control() || is_format(c) => out.extend(c.escape_unicode()),
            c => out.push(c),
        }
    }
    out
}

/// Returns whether a character reorders or hides the text around it.
fn is_format(c: char) -> bool {
    matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_taken_out_of_what_quotes_it() {
        assert_eq!(Secret::new(" sk-12345\n").redact("bad key sk-12345!"), "bad key …!");
        assert_eq!(Secret::new("").redact("text"), "text");
    }

    #[test]
    fn a_placeholder_is_not_searched_for() {
        for key in ["t", "test", "sk-1234", "ключик"] {
            let text = format!("the tests failed: {key}");
            assert_eq!(Secret::new(key).redact(&text), text);
        }
    }

    #[test]
    fn excerpts_are_short_and_harmless() {
        assert_eq!(excerpt("a\x1b[31m\u{202e}b\nc "), "a\\u{1b}[31m\\u{202e}b c");
        let long = excerpt(&"é".repeat(10_000));
        assert!(long.len() < 510 && long.ends_with('…'), "{}", long.len());
    }
}
