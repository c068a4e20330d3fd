//! The query while it is typed.
//!
//! The language is that of `treering search`. If the text is not a valid query, the part before the
//! last word is used, and the screen shows the error.

use crate::input::TextInput;
use treering_display::text::safe_line;
use treering_search::{Case, Query};

/// A text input and the query that it holds.
#[derive(Debug, Clone, Default)]
pub(crate) struct SearchInput {
    pub input: TextInput,
    /// The query; `None` matches everything.
    pub query: Option<Query>,
    /// The text of the query: the valid part of the input.
    pub valid_text: String,
    /// The error of the text, safe to show.
    pub error_text: Option<String>,
}

impl SearchInput {
    /// Reads the line.
    pub(crate) fn read(&mut self) {
        let text = self.input.text();
        let (parsed, error_text) = match parse(text) {
            Ok(parsed) => (parsed, None),
            Err(error_text) => {
                let before = text.trim_end().rsplit_once(char::is_whitespace);
                let parsed = before.and_then(|(before, _)| parse(before).ok().flatten());
                (parsed, Some(error_text))
            }
        };
        self.error_text = error_text;
        (self.query, self.valid_text) = match parsed {
            Some((query, text)) => (Some(query), text),
            None => (None, String::new()),
        };
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.input.is_empty()
    }

    /// Returns whether the contents of sessions have to be searched.
    pub(crate) fn needs_contents(&self) -> bool {
        let query = self.query.as_ref();
        query.is_some_and(|query| query.needs_text() || query.needs_entries().is_some())
    }
}

/// Parses a query. Returns it with its text, or an error that is safe to show.
fn parse(text: &str) -> Result<Option<(Query, String)>, String> {
    if text.trim().is_empty() {
        return Ok(None);
    }
    let parse =
        |text: &str| Query::parse(text, Case::Ignored).map(|query| (query, text.to_owned()));
    // A phrase that is being typed has no closing quote yet.
    let parsed = parse(text).or_else(|error| parse(&format!("{text}\"")).map_err(|_| error));
    parsed.map(Some).map_err(|error| safe_line(&error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_incomplete_query_is_ignored_and_marked() {
        let mut search = SearchInput::default();
        for (text, counts, error_text) in [
            ("a", true, None),
            ("a \"b", true, None),
            ("re:(a", false, Some("invalid pattern: unclosed group (at character 4)")),
            ("a re:(a", true, Some("invalid pattern: unclosed group (at character 6)")),
            ("re:(a)", true, None),
            ("role:user", true, None),
            ("a rol", true, None),
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
