//! The query while it is typed.
//!
//! The language is that of `treering search`. If the text is not a valid query, the part before the
//! last word is used, and the screen shows the error.

use crate::input::TextInput;
use treering_search::{Case, Query};

/// A text input and the query that it holds.
#[derive(Debug, Clone, Default)]
pub(crate) struct SearchInput {
    pub input: TextInput,
    /// The query; `None` matches everything.
    pub query: Option<Query>,
    /// The error of the text, safe to show.
    pub error_text: Option<String>,
}

impl SearchInput {
    /// Reads the line.
    pub(crate) fn read(&mut self) {
        let text = self.input.text();
        (self.query, self.error_text) = match parse(text) {
            Ok(query) => (query, None),
            Err(error_text) => {
                let before = text.trim_end().rsplit_once(char::is_whitespace);
                let query = before.and_then(|(before, _)| parse(before).ok().flatten());
                (query, Some(error_text))
            }
        };
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.input.is_empty()
    }
}

/// Parses a query. The error is safe to show.
fn parse(text: &str) -> Result<Option<Query>, String> {
    if text.trim().is_empty() {
        return Ok(None);
    }
    // A phrase that is being typed has no closing quote yet.
    let query = Query::parse(text, Case::Ignored)
        .or_else(|error| Query::parse(&format!("{text}\""), Case::Ignored).map_err(|_| error))
        .map_err(|error| treering_display::text::safe_line(&error.to_string()))?;
    match query.needs_entries() {
        None => Ok(Some(query)),
        Some(what) => Err(format!("{what} is not supported here; use `treering search`")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_makes_no_sense_yet_does_not_count_and_says_so() {
        let mut search = SearchInput::default();
        for (text, counts, error_text) in [
            ("a", true, None),
            ("a \"b", true, None),
            ("re:(a", false, Some("bad pattern: unclosed group (at character 4)")),
            ("a re:(a", true, Some("bad pattern: unclosed group (at character 6)")),
            ("re:(a)", true, None),
            ("role:user", false, Some("role: is not supported here; use `treering search`")),
            ("  ", false, None),
            ("", false, None),
        ] {
            search.input = TextInput::new(text);
            search.read();
            assert_eq!(search.query.is_some(), counts, "{text}");
            assert_eq!(search.error_text.as_deref(), error_text, "{text}");
        }
    }
}
