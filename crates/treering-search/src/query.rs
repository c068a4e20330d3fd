//! The query language.
//!
//! Words, `"phrases"` and `re:patterns` must all occur in one entry, in any order; of those with
//! `OR` between them, one must. Entries that contain a word with `-` before it are excluded. A word
//! also matches inside longer words; spaces in a phrase match any white space. Case is ignored by
//! default. `role:` and `tool:` select entries; `agent:`, `project:`, `model:`, `since:`,
//! `before:`, `label:` and `file:` select sessions. Texts with spaces are quoted, also after a
//! colon; in quotes `\"` is a quote. An unknown word before a colon is an error, unless it is
//! quoted or the beginning of an address.

use crate::filter::{Filters, Since, ToolName, agent, role_of};
use crate::term::{BadPattern, Case, Term};

/// A parsed query.
///
/// ```
/// use treering_search::{Case, Query};
/// let query = Query::parse("role:user parser \"off by one\" re:lin(e|es)", Case::Ignored)?;
/// assert!(query.needs_text());
/// let error = Query::parse("re:(a", Case::Ignored).unwrap_err();
/// assert_eq!(error.to_string(), "invalid pattern: unclosed group (at character 4)");
/// # Ok::<(), treering_search::QueryError>(())
/// ```
#[derive(Debug, Clone)]
pub struct Query {
    pub(crate) terms: Vec<Term>,
    /// The terms that an entry must not contain.
    pub(crate) excluded: Vec<Term>,
    pub(crate) filters: Filters,
}

/// The error of a query that cannot be parsed, with its position.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message} (at character {})", at + 1)]
pub struct QueryError {
    /// The number of characters before the error.
    pub at: usize,
    /// The error message.
    pub message: String,
}

/// The filters, which are written before a colon.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Key {
    Pattern,
    Role,
    Tool,
    Agent,
    Project,
    Model,
    Since,
    Before,
    Label,
    File,
}

const KEYS: [(&str, Key); 10] = [
    ("re:", Key::Pattern),
    ("role:", Key::Role),
    ("tool:", Key::Tool),
    ("agent:", Key::Agent),
    ("project:", Key::Project),
    ("model:", Key::Model),
    ("since:", Key::Since),
    ("before:", Key::Before),
    ("label:", Key::Label),
    ("file:", Key::File),
];

impl Query {
    /// Parses a query.
    pub fn parse(text: &str, case: Case) -> Result<Query, QueryError> {
        let mut query =
            Query { terms: Vec::new(), excluded: Vec::new(), filters: Filters::default() };
        let mut tokens = Tokens { text, at: 0 };
        let error = |at: usize, message: String| QueryError {
            at: text.get(..at).map_or(0, |before| before.chars().count()),
            message,
        };
        // The position of an `OR` whose right side was not read yet.
        let mut or = None;
        // Whether the previous part can be joined by `OR`.
        let mut is_joinable = false;
        while let Some(token) = tokens.next()? {
            let start = token.start;
            if token.is_or {
                if !is_joinable || or.is_some() {
                    let message = "OR needs a word, a phrase or a pattern on both sides";
                    return Err(error(start, message.to_owned()));
                }
                or = Some(start);
                continue;
            }
            let can_join = matches!(token.key, None | Some(Key::Pattern)) && !token.is_excluded;
            if let Some(at) = or.filter(|_| !can_join) {
                let message = "OR needs a word, a phrase or a pattern on both sides";
                return Err(error(at, message.to_owned()));
            }
            query
                .take(token, case, or.take().is_some())
                .map_err(|(within, message)| error(start + within, message))?;
            is_joinable = can_join;
        }
        if let Some(at) = or {
            let message = "OR needs a word, a phrase or a pattern on both sides";
            return Err(error(at, message.to_owned()));
        }
        if query.terms.is_empty() && query.filters.is_empty() && query.excluded.is_empty() {
            return Err(error(0, "nothing to search for".to_owned()));
        }
        if !query.excluded.is_empty() && query.terms.is_empty() && !query.filters.choose_entries() {
            let message = "the query only excludes words: add a word to search for, or a role:";
            return Err(error(0, message.to_owned()));
        }
        Ok(query)
    }

    /// Returns whether the query has conditions on the text of entries.
    pub fn needs_text(&self) -> bool {
        !self.terms.is_empty()
    }

    /// Adds one part of a query; with `or` it is an alternative to the previous part. An error has
    /// its position inside the part, in bytes.
    fn take(&mut self, token: Token, case: Case, or: bool) -> Result<(), (usize, String)> {
        let Token { key, value, value_at, is_excluded, .. } = token;
        let filters = &mut self.filters;
        let whole = |message: String| (0, message);
        if value.trim().is_empty() {
            let name = KEYS.iter().find(|(_, known)| Some(*known) == key).map(|(name, _)| *name);
            return Err(whole(match name {
                Some(name) => format!("{name} needs a value"),
                None => "a phrase is empty".to_owned(),
            }));
        }
        let bad = |error: BadPattern| {
            (value_at + error.at.unwrap_or(0), format!("invalid pattern: {}", error.message))
        };
        match key {
            None | Some(Key::Pattern) => {
                let term = match key {
                    None => Term::words(&value, case).map_err(bad)?,
                    Some(_) => Term::pattern(&value, case).map_err(bad)?,
                };
                let before = if or { self.terms.pop() } else { None };
                match before {
                    _ if is_excluded => self.excluded.push(term),
                    Some(before) => self.terms.push(before.or(term, case).map_err(bad)?),
                    None => self.terms.push(term),
                }
            }
            Some(Key::Role) => filters.roles.push(role_of(&value).map_err(whole)?),
            Some(Key::Tool) => filters.tools.push(ToolName::new(&value).map_err(bad)?),
            Some(Key::Agent) => filters.agents.push(agent(&value).map_err(whole)?),
            Some(Key::Project) => filters.projects.push(Term::words(&value, case).map_err(bad)?),
            Some(Key::Model) => filters.models.push(Term::words(&value, case).map_err(bad)?),
            Some(Key::Before) => filters.before.push(Since::parse(&value).map_err(whole)?),
            Some(Key::Since) => filters.since.push(Since::parse(&value).map_err(whole)?),
            Some(Key::Label) => filters.labels.push(Term::words(&value, case).map_err(bad)?),
            Some(Key::File) => {
                filters.files.push(crate::file_filter::FileFilter::new(&value, case))
            }
        }
        Ok(())
    }
}

/// One part of a query.
struct Token {
    key: Option<Key>,
    value: String,
    /// Whether the part is the word `OR`.
    is_or: bool,
    /// Whether the part has a `-` before it.
    is_excluded: bool,
    /// The position of the part in the query, in bytes.
    start: usize,
    /// The position of the value in the part, in bytes.
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
        let is_excluded = is_excluded(rest);
        let minus = usize::from(is_excluded);
        let rest = rest.get(minus..).unwrap_or_default();
        let error = |at: usize, message: String| QueryError {
            at: self.text.get(..at).map_or(0, |text| text.chars().count()),
            message,
        };
        let key = KEYS.iter().find(|(name, _)| rest.starts_with(name));
        if let (Some((name, key)), true) = (key, is_excluded)
            && *key != Key::Pattern
        {
            return Err(error(start, format!("{name} cannot be excluded with -")));
        }
        if let (None, Some(name)) = (key, unknown_filter(rest)) {
            return Err(error(start + minus, no_filter(name)));
        }
        let head = key.map_or(0, |(name, _)| name.len());
        let key = key.map(|(_, key)| *key);
        let value = rest.get(head..).unwrap_or_default();
        let quoted = value.strip_prefix('"');
        let (value, used) = match quoted {
            Some(inside) => {
                let unclosed = || error(start + minus + head, "a quote is not closed".to_owned());
                let (value, used) = unquote(inside, key).ok_or_else(unclosed)?;
                (value, used + 1)
            }
            None => {
                let end = value.find(char::is_whitespace).unwrap_or(value.len());
                (value.get(..end).unwrap_or_default().to_owned(), end)
            }
        };
        self.at = start + minus + head + used;
        let value_at = minus + head + usize::from(quoted.is_some());
        let is_or = key.is_none() && quoted.is_none() && !is_excluded && value == "OR";
        Ok(Some(Token { key, value, is_or, is_excluded, start, value_at }))
    }
}

/// Returns whether a part begins with a `-` that excludes the rest: not alone, and not doubled as
/// in the options of commands.
fn is_excluded(part: &str) -> bool {
    part.strip_prefix('-')
        .is_some_and(|rest| !rest.starts_with(|c: char| c == '-' || c.is_whitespace()))
        && part.len() > 1
}

/// Returns the name of an unknown filter: letters, a colon and a value. Addresses (`https://…`),
/// paths of code (`std::fs`) and words that end in a colon are not filters.
fn unknown_filter(part: &str) -> Option<&str> {
    let word = part.split(char::is_whitespace).next()?;
    let (name, value) = word.split_once(':')?;
    let is_name = name.len() > 1 && name.bytes().all(|byte| byte.is_ascii_alphabetic());
    let is_text = value.is_empty() || value.starts_with(['/', ':', '\\']);
    (is_name && !is_text).then_some(name)
}

/// Returns the error message about an unknown filter.
fn no_filter(name: &str) -> String {
    let names = KEYS.map(|(name, _)| name).join(" ");
    let near = KEYS
        .iter()
        .map(|(known, _)| {
            (distance(&name.to_ascii_lowercase(), known.trim_end_matches(':')), known)
        })
        .filter(|(distance, _)| *distance <= 2)
        .min_by_key(|(distance, _)| *distance);
    let hint = match near {
        Some((_, known)) => format!("did you mean {known}?"),
        None => format!("there are {names}"),
    };
    format!("no filter is called {name}:; {hint} To search for the text, put it in quotes")
}

/// Returns the number of letters that are added, removed or changed between two short words.
fn distance(a: &str, b: &str) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.bytes().enumerate() {
        let mut before = i;
        let mut left = i + 1;
        for (j, y) in b.bytes().enumerate() {
            let above = row.get(j + 1).copied().unwrap_or(usize::MAX);
            let next = (before + usize::from(x != y)).min(left + 1).min(above + 1);
            before = above;
            if let Some(slot) = row.get_mut(j) {
                *slot = left;
            }
            left = next;
        }
        if let Some(slot) = row.last_mut() {
            *slot = left;
        }
    }
    row.last().copied().unwrap_or(0)
}

/// Returns the text up to the closing quote, and the number of bytes it takes. In a pattern, only
/// quotes are unescaped; other backslashes belong to the pattern.
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
                let terms = query.terms.iter().map(|term| term.source().to_owned());
                let excluded = query.excluded.iter().map(|term| format!("not {}", term.source()));
                let terms: Vec<String> = terms.chain(excluded).collect();
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
            ("http://x:80 std::fs error: C:\\x", r"http://x:80 ; std::fs ; error: ; C:\\x | "),
            ("\"foo:bar\"", "foo:bar | "),
            ("a OR b c", "(?:a)|(?:b) ; c | "),
            ("a OR \"b c\" OR re:d+", r"(?:(?:a)|(?:b\s+c))|(?:d+) | "),
            ("or \"OR\" a", "or ; OR ; a | "),
            ("a -b -\"c d\" -re:e+", r"a ; not b ; not c\s+d ; not e+ | "),
            ("--flag - a", r"\-\-flag ; \- ; a | "),
            ("role:user -x", "not x | role:user"),
            ("model:opus before:2026-01-05", " | model:opus before:At(1767571200000)"),
            ("a OR", "OR needs a word, a phrase or a pattern on both sides (at character 3)"),
            ("OR a", "OR needs a word, a phrase or a pattern on both sides (at character 1)"),
            ("a OR OR b", "OR needs a word, a phrase or a pattern on both sides (at character 6)"),
            ("a OR -b", "OR needs a word, a phrase or a pattern on both sides (at character 3)"),
            (
                "role:user OR a",
                "OR needs a word, a phrase or a pattern on both sides (at character 11)",
            ),
            ("-role:user a", "role: cannot be excluded with - (at character 1)"),
            (
                "-a",
                "the query only excludes words: add a word to search for, or a role: (at character 1)",
            ),
            (
                "é projet:web",
                "no filter is called projet:; did you mean project:? To search for the text, put it in quotes (at character 3)",
            ),
            (
                "foobar:x",
                "no filter is called foobar:; there are re: role: tool: agent: project: model: since: before: label: file: To search for the text, put it in quotes (at character 1)",
            ),
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
            ("é \"open", "a quote is not closed (at character 3)"),
            ("x \"\"", "a phrase is empty (at character 3)"),
            ("x role:", "role: needs a value (at character 3)"),
            ("é re:a( b", "invalid pattern: unclosed group (at character 7)"),
            ("re:*", "invalid pattern: repetition operator missing expression (at character 4)"),
            (
                "role:robot",
                "no role is named \"robot\"; there are user, assistant, tool, bash, system, custom, summary, label, name (at character 1)",
            ),
            (
                "agent:robot",
                &*format!(
                    "no agent is named \"robot\"; there are {} (at character 1)",
                    treering::Dialect::NAMES.join(", ")
                ),
            ),
            (
                "since:soon",
                "\"soon\" is not a time: write 2026-01-31, 2026-01-31T09:00:00Z, today, yesterday, or an age such as 90min, 12h, 7d, 2w, 3mo, 1y (at character 1)",
            ),
        ];
        for (text, expected) in cases {
            assert_eq!(shown(text), expected, "{text}");
        }
    }

    #[test]
    fn patterns_have_a_limit() {
        let error = Query::parse(r"re:(\w{1000}){1000}", Case::Ignored).unwrap_err();
        assert_eq!(error.message, "invalid pattern: it is too large");
        let deep = format!("re:{}{}", "(".repeat(10_000), ")".repeat(10_000));
        assert!(Query::parse(&deep, Case::Ignored).is_err());
    }

    proptest! {
        #[test]
        fn no_query_panics(text in r#"([a-z"\\: ()*\[é😀-]| OR |re:|role:|since:|before:|model:|file:|tool:){0,24}"#) {
            if let Err(error) = Query::parse(&text, Case::Ignored) {
                prop_assert!(error.at <= text.chars().count());
            }
        }

        #[test]
        fn a_query_has_the_parts_that_it_was_made_of(
            groups in prop::collection::vec(prop::collection::vec("[a-z]{1,6}", 1..4), 1..4),
            excluded in prop::collection::vec("[a-z]{1,6}", 0..3),
            quoted in any::<bool>(),
        ) {
            let word = |word: &String| if quoted { format!("\"{word}\"") } else { word.clone() };
            let joined = |group: &Vec<String>| group.iter().map(word).collect::<Vec<_>>().join(" OR ");
            let left_out = excluded.iter().map(|text| format!("-{}", word(text)));
            let parts: Vec<String> = groups.iter().map(joined).chain(left_out).collect();
            let query = Query::parse(&parts.join("  "), Case::Ignored).unwrap();
            prop_assert_eq!((query.terms.len(), query.excluded.len()), (groups.len(), excluded.len()));
            for (term, group) in query.terms.iter().zip(&groups) {
                for text in group {
                    prop_assert!(term.is_in(&text.to_uppercase()));
                }
                prop_assert!(!term.is_in("0"));
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
