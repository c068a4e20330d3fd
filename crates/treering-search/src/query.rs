//! The query language.
//!
//! Words, `"phrases"` and `re:patterns` must all occur in one entry, in any order. A word is found inside
//! longer words; blanks in a phrase stand for any white space. Case does not matter unless asked for.
//! `role:` and `tool:` choose entries; `agent:`, `project:`, `since:`, `label:` and `file:` choose
//! sessions. What has blanks in it is quoted, also after a colon; in quotes `\"` is a quote.

use crate::filter::{Filters, Since, ToolName, agent, role_of};
use crate::term::{BadPattern, Case, Term};

/// A query.
///
/// ```
/// use treering_search::{Case, Query};
/// let query = Query::parse("role:user parser \"off by one\" re:lin(e|es)", Case::Ignored)?;
/// assert!(query.needs_text());
/// let error = Query::parse("re:(a", Case::Ignored).unwrap_err();
/// assert_eq!(error.to_string(), "bad pattern: unclosed group (at character 4)");
/// # Ok::<(), treering_search::QueryError>(())
/// ```
#[derive(Debug, Clone)]
pub struct Query {
    pub(crate) terms: Vec<Term>,
    pub(crate) filters: Filters,
}

/// The reason why a query makes no sense, and where.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message} (at character {})", at + 1)]
pub struct QueryError {
    /// The number of characters before the error.
    pub at: usize,
    /// The error.
    pub message: String,
}

/// The words that mean something before a colon.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Key {
    Pattern,
    Role,
    Tool,
    Agent,
    Project,
    Since,
    Label,
    File,
}

const KEYS: [(&str, Key); 8] = [
    ("re:", Key::Pattern),
    ("role:", Key::Role),
    ("tool:", Key::Tool),
    ("agent:", Key::Agent),
    ("project:", Key::Project),
    ("since:", Key::Since),
    ("label:", Key::Label),
    ("file:", Key::File),
];

impl Query {
    /// Reads a query.
    pub fn parse(text: &str, case: Case) -> Result<Query, QueryError> {
        let mut query = Query { terms: Vec::new(), filters: Filters::default() };
        let mut tokens = Tokens { text, at: 0 };
        while let Some(token) = tokens.next()? {
            let start = token.start;
            query.take(token, case).map_err(|(within, message)| QueryError {
                at: text.get(..start + within).map_or(0, |before| before.chars().count()),
                message,
            })?;
        }
        if query.terms.is_empty() && query.filters.is_empty() {
            return Err(QueryError { at: 0, message: "nothing to search for".to_owned() });
        }
        Ok(query)
    }

    /// Returns whether entries must hold some text to be found.
    pub fn needs_text(&self) -> bool {
        !self.terms.is_empty()
    }

    /// Takes in one part. An error says how far inside of it, in bytes.
    fn take(&mut self, token: Token, case: Case) -> Result<(), (usize, String)> {
        let Token { key, value, value_at, .. } = token;
        let filters = &mut self.filters;
        let whole = |message: String| (0, message);
        if value.trim().is_empty() {
            let name = KEYS.iter().find(|(_, known)| Some(*known) == key).map(|(name, _)| *name);
            return Err(whole(match name {
                Some(name) => format!("{name} needs a value"),
                None => "an empty phrase".to_owned(),
            }));
        }
        let bad = |error: BadPattern| {
            (value_at + error.at.unwrap_or(0), format!("bad pattern: {}", error.message))
        };
        match key {
            None => self.terms.push(Term::words(&value, case).map_err(bad)?),
            Some(Key::Pattern) => self.terms.push(Term::pattern(&value, case).map_err(bad)?),
            Some(Key::Role) => filters.roles.push(role_of(&value).map_err(whole)?),
            Some(Key::Tool) => filters.tools.push(ToolName::new(&value).map_err(bad)?),
            Some(Key::Agent) => filters.agents.push(agent(&value).map_err(whole)?),
            Some(Key::Project) => filters.projects.push(Term::words(&value, case).map_err(bad)?),
            Some(Key::Since) => filters.since.push(Since::parse(&value).map_err(whole)?),
            Some(Key::Label) => filters.labels.push(Term::words(&value, case).map_err(bad)?),
            Some(Key::File) => filters.files.push(crate::touched::Wanted::new(&value, case)),
        }
        Ok(())
    }
}

/// One part of a query.
struct Token {
    key: Option<Key>,
    value: String,
    /// The position where it begins in the query, in bytes.
    start: usize,
    /// The position where the value begins in it.
    value_at: usize,
}

struct Tokens<'a> {
    text: &'a str,
    at: usize,
}

impl Tokens<'_> {
    fn next(&mut self) -> Result<Option<Token>, QueryError> {
        let rest = self.text.get(self.at..).unwrap_or_default();
        let start = self.text.len() - rest.trim_start().len();
        let rest = rest.trim_start();
        if rest.is_empty() {
            return Ok(None);
        }
        let key = KEYS.iter().find(|(name, _)| rest.starts_with(name));
        let head = key.map_or(0, |(name, _)| name.len());
        let key = key.map(|(_, key)| *key);
        let value = rest.get(head..).unwrap_or_default();
        let quoted = value.strip_prefix('"');
        let (value, used) = match quoted {
            Some(inside) => {
                let (value, used) = unquote(inside, key).ok_or_else(|| QueryError {
                    at: self.text.get(..start + head).map_or(0, |text| text.chars().count()),
                    message: "a quote that is not closed".to_owned(),
                })?;
                (value, used + 1)
            }
            None => {
                let end = value.find(char::is_whitespace).unwrap_or(value.len());
                (value.get(..end).unwrap_or_default().to_owned(), end)
            }
        };
        self.at = start + head + used;
        let value_at = head + usize::from(quoted.is_some());
        Ok(Some(Token { key, value, start, value_at }))
    }
}

/// Returns the text up to the closing quote, and how many bytes that took. In a pattern only a
/// quote is escaped: its other backslashes are its own.
fn unquote(inside: &str, key: Option<Key>) -> Option<(String, usize)> {
    let mut value = String::new();
    let mut characters = inside.char_indices();
    while let Some((at, character)) = characters.next() {
        match character {
            '"' => return Some((value, at + 1)),
            '\\' => match characters.next()?.1 {
                '"' => value.push('"'),
                '\\' if key != Some(Key::Pattern) => value.push('\\'),
                other => value.extend(['\\', other]),
            },
            other => value.push(other),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn shown(text: &str) -> String {
        match Query::parse(text, Case::Ignored) {
            Ok(query) => {
                let terms: Vec<&str> = query.terms.iter().map(Term::source).collect();
                format!("{} | {}", terms.join(" ; "), query.filters.shown())
            }
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn every_part_of_the_language() {
        let cases = [
            ("foo bar", "foo ; bar | "),
            ("  foo\t\n", "foo | "),
            ("\"foo  bar\" baz", r"foo\s+bar ; baz | "),
            (r#""say \"hi\" \\ \n""#, r#"say\s+"hi"\s+\\\s+\\n | "#),
            (r#""a"b"#, "a ; b | "),
            (r#"a"b"#, "a\"b | "),
            (r"re:fo+\s re:^x", r"fo+\s ; ^x | "),
            (r#"re:"a b\"\\c""#, r#"a b"\\c | "#),
            ("a.b(c", r"a\.b\(c | "),
            ("http://x:80 foo:bar", r"http://x:80 ; foo:bar | "),
            ("\"role:user\"", "role:user | "),
            ("role:user role:tool x", "x | role:user role:tool"),
            ("tool:Bash", " | tool:^(?:Bash)$"),
            ("agent:claude agent:Codex", " | agent:claude-code agent:codex"),
            ("project:web label:\"first try\"", r" | project:web label:first\s+try"),
            ("file:src/main.rs", " | file:src/main.rs"),
            ("since:2d", " | since:Ago(172800000)"),
            ("since:2026-01-05", " | since:At(1767571200000)"),
            ("", "nothing to search for (at character 1)"),
            ("   ", "nothing to search for (at character 1)"),
            ("é \"open", "a quote that is not closed (at character 3)"),
            ("x \"\"", "an empty phrase (at character 3)"),
            ("x role:", "role: needs a value (at character 3)"),
            ("é re:a( b", "bad pattern: unclosed group (at character 7)"),
            ("re:*", "bad pattern: repetition operator missing expression (at character 4)"),
            (
                "role:robot",
                "no role is called \"robot\"; there are user, assistant, tool, bash, system, custom, summary, label, name (at character 1)",
            ),
            (
                "agent:robot",
                "no dialect is called \"robot\"; there are pi, uuid, omp, chimera, operator, tau, claude-code, codex (at character 1)",
            ),
            (
                "since:soon",
                "\"soon\" is no time: write 2026-01-31, 2026-01-31T09:00:00Z, or an age such as 90min, 12h, 7d, 2w, 3mo, 1y (at character 1)",
            ),
        ];
        for (text, expected) in cases {
            assert_eq!(shown(text), expected, "{text}");
        }
    }

    #[test]
    fn patterns_have_a_limit() {
        let error = Query::parse(r"re:(\w{1000}){1000}", Case::Ignored).unwrap_err();
        assert_eq!(error.message, "bad pattern: it is too large");
        let deep = format!("re:{}{}", "(".repeat(10_000), ")".repeat(10_000));
        assert!(Query::parse(&deep, Case::Ignored).is_err());
    }

    proptest! {
        #[test]
        fn no_query_panics(text in r#"([a-z"\\: ()*\[é😀]|re:|role:|since:|file:|tool:){0,24}"#) {
            if let Err(error) = Query::parse(&text, Case::Ignored) {
                prop_assert!(error.at <= text.chars().count());
            }
        }

        #[test]
        fn a_quoted_text_is_searched_as_it_is(text in r#"[a-zé"\\:(*]{1,12}"#) {
            let quoted = format!("\"{}\"", text.replace('\\', r"\\").replace('"', "\\\""));
            let query = Query::parse(&quoted, Case::Respected).unwrap();
            prop_assert!(query.terms[0].is_in(&text));
            prop_assert_eq!(query.terms.len(), 1);
        }
    }
}
