//! Agent sessions without the secrets in them.
//!
//! A [`Redactor`] is a filter that a session is read through
//! ([`Session::open_filtered`](treering::Session::open_filtered)). What comes out is a session like any
//! other, with the same tree, that can be exported, forked, converted and copied; keys, tokens and
//! passwords in it are `[REDACTED:github-token:1]`, the same one always by the same name. Bytes that
//! are no part of a secret stay as they are. The secrets themselves are held in memory only, and no
//! report says them.
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
//! A first look at the bytes of a line, escapes and all, finds the words that secrets begin with or stand
//! near; a line without such a place holds no secret and is passed on as it is. Only strings with such a
//! place in them are decoded and searched thoroughly: as they stand, without percent escapes and color
//! codes, and as JSON in JSON.
//!
//! # Limitations
//!
//! What has no known shape, no telling name and no pattern is not found. Neither is what was encoded
//! (base64, compressed data, images), spread over several strings, or encrypted by a provider. Ids,
//! references, names of tools and models are searched for tokens of known shapes only.

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
mod personal;
mod prose;
mod report;
mod rules;
mod settle;
mod special;
mod tokens;
mod value;
mod vendors;
mod walk;

pub use report::{Place, Report, Sum};

use known::Known;
use line::{Finder, Findings, Found};
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
    /// E-mail addresses.
    pub emails: bool,
    /// Names in home directories: `/home/NAME`, `/Users/NAME`, `C:\Users\NAME`. They become `user`.
    pub home: bool,
    /// Regular expressions and what their findings are called. Where one has a group, what is in the
    /// first is the finding.
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

    /// Sets whether names in home directories are replaced.
    #[must_use]
    pub fn home(self, home: bool) -> Self {
        Options { home, ..self }
    }

    /// Adds a regular expression and what its findings are called.
    #[must_use]
    pub fn with_pattern(mut self, name: impl Into<String>, regex: impl Into<String>) -> Self {
        self.patterns.push((name.into(), regex.into()));
        self
    }
}

/// A custom pattern that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PatternError {
    /// Its name would not be seen for what it is.
    #[error("{0:?} is no name for a pattern: lower-case letters, digits and -, at most 32")]
    Name(String),
    /// It is no regular expression, or too large a one.
    #[error("the pattern {0:?} cannot be used: {1}")]
    Invalid(String, String),
    /// It finds nothing everywhere.
    #[error("the pattern {0:?} matches the empty text")]
    Empty(String),
}

/// Replaces secrets, each by the same placeholder wherever it stands.
#[derive(Debug)]
pub struct Redactor {
    rules: Rules,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    keys: (RandomState, RandomState),
    /// The number of each secret, by a keyed hash of it.
    numbers: HashMap<(u64, u64), (Kind, usize)>,
    counts: HashMap<Kind, usize>,
    /// Secrets that the first pass noticed by their context.
    noticed: HashMap<Vec<u8>, Kind>,
    known: Option<Arc<Known>>,
    lines: u64,
    report: Report,
}

/// Secrets are in it.
impl std::fmt::Debug for State {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("State").field("lines", &self.lines).finish_non_exhaustive()
    }
}

/// Most secrets that are looked for everywhere.
const MOST_KNOWN: usize = 10_000;

impl Redactor {
    /// Creates a redactor for one session, or for several that shall have the same placeholders.
    pub fn new(options: &Options) -> Result<Self, PatternError> {
        Ok(Redactor { rules: Rules::new(options)?, state: Mutex::default() })
    }

    /// Opens the session at `path` without its secrets: a snapshot that is only read.
    pub fn open(&self, path: impl AsRef<Path>) -> treering::Result<Session> {
        self.session(&Session::open(path)?)
    }

    /// Returns a session without its secrets: a snapshot that is only read.
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
        let finder = Finder { rules: &self.rules, known: known.as_deref() };
        finder.text(text.as_bytes(), &|| "text".to_owned(), &mut found);
        match self.replaced(text.as_bytes(), Findings { found, ..Findings::default() }) {
            Cow::Borrowed(_) => Cow::Borrowed(text),
            Cow::Owned(bytes) => String::from_utf8_lossy(&bytes).into_owned().into(),
        }
    }

    /// Returns what was replaced until now.
    pub fn report(&self) -> Report {
        self.state().report.clone()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns what the first pass noticed, ready to be looked for.
    fn known(&self) -> Option<Arc<Known>> {
        let mut state = self.state();
        if state.known.is_none() {
            state.known = Known::new(&state.noticed).map(Arc::new);
        }
        state.known.clone()
    }

    /// Filters a line of which `candidates` are known already.
    fn filtered<'a>(&self, line: &'a [u8], mut candidates: Candidates) -> Cow<'a, [u8]> {
        let known = self.known();
        if let Some(known) = &known {
            known.candidates(line, &mut candidates);
        }
        if candidates.is_empty() {
            self.state().lines += 1;
            return Cow::Borrowed(line);
        }
        let finder = Finder { rules: &self.rules, known: known.as_deref() };
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
        // The report must not say an id that is a secret.
        let entry = entry.map(|id| String::from_utf8_lossy(&edited(line, id, &edits)).into_owned());
        for (found, (kind, number)) in found.iter().zip(&named) {
            state.note(self.rules.name(*kind), *number, entry.as_deref(), found);
        }
        drop(state);
        Cow::Owned(edited(line, 0..line.len(), &edits))
    }
}

/// Returns a span of a line with all edits inside of it, which are in order.
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
    fn number(&mut self, found: &Found) -> (Kind, usize) {
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

    fn note(&mut self, kind: &str, number: usize, entry: Option<&str>, found: &Found) {
        let line = self.lines;
        // Several in one text are one place.
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
    /// Notices what only its context gives away, so that it is found without it as well. A line is
    /// marked if it holds something by itself, or if escapes could hide a secret noticed elsewhere.
    fn look(&self, line: &[u8]) -> bool {
        let candidates = self.rules.candidates(line);
        if candidates.is_empty() {
            return candidates.has_colors;
        }
        let finder = Finder { rules: &self.rules, known: None };
        let found = finder.line(line, &candidates).found;
        let is_marked = candidates.has_escapes || candidates.has_colors || !found.is_empty();
        for found in found {
            // A value that could be a word is not replaced everywhere.
            let is_sure = found.rank == Rank::Context
                && (10..=512).contains(&found.secret.len())
                && value::is_secret(&found.secret, Strength::Strong, false);
            if is_sure {
                let mut state = self.state();
                if state.noticed.len() < MOST_KNOWN {
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
