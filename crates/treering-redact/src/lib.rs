//! Redacts the secrets in agent sessions.
//!
//! A [`Redactor`] is a filter that a session is read through
//! ([`Session::open_filtered`](treering::Session::open_filtered)). The result is a session with the
//! same tree that can be exported, forked, converted and copied like any other; keys, tokens and
//! passwords are replaced by placeholders such as `[REDACTED:github-token:1]`, and the same secret
//! always by the same one. All other bytes are unchanged. The secrets themselves are only in
//! memory, and no report contains them.
//!
//! ```
//! use treering::{Message, Session, CreateOptions};
//! use treering::session::Creation;
//! use treering_redact::{Options, Redactor};
//! # let dir = tempfile::tempdir()?;
//! # let path = dir.path().join("a.jsonl");
//! # let options = CreateOptions::new().creation(Creation::AtOnce);
//! let session = Session::create_at(&path, "/project", options)?;
//! let key = format!("ghp_{}", "a1B2c3D4".repeat(5));
//! let id = session.append(Message::user(&format!("the key is {key}")))?;
//!
//! let redactor = Redactor::new(&Options::default())?;
//! let redacted = redactor.open(&path)?;
//! let text = redacted.entry(id.as_str())?.message().unwrap().text();
//! assert_eq!(text, "the key is [REDACTED:github-token:1]");
//! assert_eq!(redactor.report().occurrences(), 1);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # How it searches
//!
//! A first pass over the undecoded bytes of a line finds the words that secrets begin with or are
//! near; a line without such a word has no secret and is not changed. Only strings with such a word
//! are decoded and searched thoroughly: as written, without percent escapes and color codes, and as
//! JSON in JSON.
//!
//! # Limitations
//!
//! A secret without a known format, a typical name or a custom pattern is not found. Neither is one
//! that was encoded (Base64, compressed data, images), divided between several strings, or
//! encrypted by a provider. Ids, references, names of tools and models are searched only for tokens
//! of known formats.

mod anchors;
mod commands;
mod decode;
#[cfg(test)]
mod equivalence;
mod fields;
mod headers;
mod keys;
mod known;
mod line;
mod named;
mod names;
mod overlaps;
mod personal;
mod prose;
mod report;
mod rules;
mod special;
mod tokens;
mod value;
mod vendors;
mod walk;

pub use report::{Place, Report, Sum};

use known::KnownSecrets;
use line::{Findings, FoundSecret, SecretFinder};
use rules::{Candidates, Kind, Rank, Rules};
use std::borrow::Cow;
use std::collections::HashMap;
use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::ops::Range;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use treering::storage::LineFilter;
use treering::{Entry, Session};
use value::Strength;

/// Options for replacing more than secrets.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Options {
    /// Whether e-mail addresses are replaced.
    pub emails: bool,
    /// Whether user names in home directories are replaced by `user`: `/home/NAME`, `/Users/NAME`,
    /// `C:\Users\NAME`.
    pub home: bool,
    /// Custom patterns: the name of the findings, and a regular expression. If the expression has a
    /// group, the first group is the finding.
    pub patterns: Vec<(String, String)>,
}

impl Options {
    /// Returns the defaults.
    pub fn new() -> Self {
        Options::default()
    }

    /// Sets whether e-mail addresses are replaced.
    #[must_use]
    pub fn emails(self, emails: bool) -> Self {
        Options { emails, ..self }
    }

    /// Sets whether user names in home directories are replaced.
    #[must_use]
    pub fn home(self, home: bool) -> Self {
        Options { home, ..self }
    }

    /// Adds a custom pattern: the name of its findings, and a regular expression.
    #[must_use]
    pub fn with_pattern(mut self, name: impl Into<String>, regex: impl Into<String>) -> Self {
        self.patterns.push((name.into(), regex.into()));
        self
    }
}

/// The error for a custom pattern that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PatternError {
    /// The name of the pattern cannot be used in a placeholder.
    #[error("{0:?} is not a name for a pattern: lower-case letters, digits and -, at most 32")]
    Name(String),
    /// The pattern is not a valid regular expression, or is too large.
    #[error("the pattern {0:?} is invalid: {1}")]
    Invalid(String, String),
    /// The pattern matches the empty text.
    #[error("the pattern {0:?} matches the empty text")]
    Empty(String),
}

/// A filter that replaces secrets, each by the same placeholder everywhere.
#[derive(Debug)]
pub struct Redactor {
    rules: Rules,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    keys: (RandomState, RandomState),
    /// The number of each secret, by a keyed hash of the secret.
    numbers: HashMap<(u64, u64), (Kind, usize)>,
    counts: HashMap<Kind, usize>,
    /// The secrets that the first pass recognized by their context.
    noticed: HashMap<Vec<u8>, Kind>,
    known: Option<Arc<KnownSecrets>>,
    lines: u64,
    report: Report,
}

/// The state contains secrets, so they are not printed.
impl std::fmt::Debug for State {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("State").field("lines", &self.lines).finish_non_exhaustive()
    }
}

/// The maximum number of secrets that are searched for everywhere.
const MAX_KNOWN: usize = 10_000;

impl Redactor {
    /// Creates a redactor for one session, or for several that share their placeholders.
    pub fn new(options: &Options) -> Result<Self, PatternError> {
        Ok(Redactor { rules: Rules::new(options)?, state: Mutex::default() })
    }

    /// Opens the session at `path` without its secrets, as a read-only snapshot.
    pub fn open(&self, path: impl AsRef<Path>) -> treering::Result<Session> {
        self.session(&Session::open(path)?)
    }

    /// Returns a session without its secrets, as a read-only snapshot.
    pub fn session(&self, session: &Session) -> treering::Result<Session> {
        let mut state = self.state();
        (state.lines, state.known) = (0, None);
        drop(state);
        session.filtered(self)
    }

    /// Returns an entry's JSON without secrets.
    pub fn entry<'a>(&self, entry: &'a Entry) -> Cow<'a, [u8]> {
        self.line(entry.raw())
    }

    /// Returns a text without secrets.
    pub fn text<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let mut found = Vec::new();
        let known = self.known();
        let finder = SecretFinder { rules: &self.rules, known: known.as_deref() };
        finder.text(text.as_bytes(), &|| "text".to_owned(), &mut found);
        match self.replaced(text.as_bytes(), Findings { found, ..Findings::default() }) {
            Cow::Borrowed(_) => Cow::Borrowed(text),
            Cow::Owned(bytes) => String::from_utf8_lossy(&bytes).into_owned().into(),
        }
    }

    /// Returns a report of the replacements so far.
    pub fn report(&self) -> Report {
        self.state().report.clone()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns a search for the secrets that the first pass recognized.
    fn known(&self) -> Option<Arc<KnownSecrets>> {
        let mut state = self.state();
        if state.known.is_none() {
            state.known = KnownSecrets::new(&state.noticed).map(Arc::new);
        }
        state.known.clone()
    }

    /// Filters a line whose `candidates` are already known.
    fn filtered<'a>(&self, line: &'a [u8], mut candidates: Candidates) -> Cow<'a, [u8]> {
        let known = self.known();
        if let Some(known) = &known {
            known.candidates(line, &mut candidates);
        }
        if candidates.is_empty() {
            self.state().lines += 1;
            return Cow::Borrowed(line);
        }
        let finder = SecretFinder { rules: &self.rules, known: known.as_deref() };
        self.replaced(line, finder.line(line, &candidates))
    }

    fn replaced<'a>(&self, line: &'a [u8], findings: Findings) -> Cow<'a, [u8]> {
        let mut state = self.state();
        state.lines += 1;
        let Findings { found, void, entry, .. } = findings;
        if found.is_empty() {
            return Cow::Borrowed(line);
        }
        let mut edits: Vec<_> = void.into_iter().map(|span| (span, String::new())).collect();
        state.report.signatures += edits.len();
        let named: Vec<_> = found.iter().map(|found| state.number(found)).collect();
        for (found, (kind, number)) in found.iter().zip(&named) {
            // Findings inside a signature are removed with it.
            if !found.span.is_empty() {
                edits.push((found.span.clone(), self.rules.placeholder(*kind, *number)));
            }
        }
        edits.sort_by_key(|(span, _)| span.start);
        // The report must not contain an id that is a secret.
        let entry = entry.map(|id| String::from_utf8_lossy(&edited(line, id, &edits)).into_owned());
        for (found, (kind, number)) in found.iter().zip(&named) {
            state.note(self.rules.name(*kind), *number, entry.as_deref(), found);
        }
        drop(state);
        Cow::Owned(edited(line, 0..line.len(), &edits))
    }
}

/// Returns a span of a line with all edits inside it, which must be in order.
fn edited(line: &[u8], span: Range<usize>, edits: &[(Range<usize>, String)]) -> Vec<u8> {
    let first = edits.partition_point(|(edit, _)| edit.start < span.start);
    let mut out = Vec::with_capacity(span.len() + 32 * edits.len().min(64));
    let mut at = span.start;
    for (edit, text) in edits.get(first..).unwrap_or_default() {
        if edit.end > span.end {
            break;
        }
        out.extend_from_slice(line.get(at..edit.start).unwrap_or_default());
        out.extend_from_slice(text.as_bytes());
        at = edit.end;
    }
    out.extend_from_slice(line.get(at..span.end).unwrap_or_default());
    out
}

impl State {
    /// Returns the kind and number of a secret. The first occurrence decides the kind.
    fn number(&mut self, found: &FoundSecret) -> (Kind, usize) {
        let hash = (self.keys.0.hash_one(&found.secret), self.keys.1.hash_one(&found.secret));
        if let Some(known) = self.numbers.get(&hash) {
            return *known;
        }
        let count = self.counts.entry(found.kind).or_default();
        *count += 1;
        let named = (found.kind, *count);
        self.numbers.insert(hash, named);
        named
    }

    fn note(&mut self, kind: &str, number: usize, entry: Option<&str>, found: &FoundSecret) {
        let line = self.lines;
        // Several findings in one text are reported as one place.
        let recent = self.report.places.iter_mut().rev().take(16);
        let same = recent.take_while(|place| place.line == line).find(|place| {
            place.number == number && place.kind == kind && place.field == found.field
        });
        match same {
            Some(place) => place.count += 1,
            None => self.report.places.push(Place {
                kind: kind.to_owned(),
                number,
                line,
                entry: entry.map(str::to_owned),
                field: found.field.clone(),
                count: 1,
            }),
        }
    }
}

impl LineFilter for Redactor {
    /// Records secrets that are recognized by their context, so that they are found elsewhere as
    /// well. A line is marked if it has a secret itself, or if escapes could hide a secret that was
    /// recorded elsewhere.
    fn inspect(&self, line: &[u8]) -> bool {
        let candidates = self.rules.candidates(line);
        if candidates.is_empty() {
            return candidates.has_colors;
        }
        let finder = SecretFinder { rules: &self.rules, known: None };
        let found = finder.line(line, &candidates).found;
        let is_marked = candidates.has_escapes || candidates.has_colors || !found.is_empty();
        for found in found {
            // A value that could be an ordinary word is not replaced everywhere.
            let is_sure = found.rank == Rank::Context
                && (10..=512).contains(&found.secret.len())
                && value::is_secret(&found.secret, Strength::Strong, false);
            if is_sure {
                let mut state = self.state();
                if state.noticed.len() < MAX_KNOWN {
                    state.noticed.entry(found.secret).or_insert(found.kind);
                }
            }
        }
        is_marked
    }

    fn line<'a>(&self, line: &'a [u8]) -> Cow<'a, [u8]> {
        self.filtered(line, self.rules.candidates(line))
    }

    fn unmarked_line<'a>(&self, line: &'a [u8]) -> Cow<'a, [u8]> {
        self.filtered(line, Candidates::default())
    }
}
