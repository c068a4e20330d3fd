//! Agent sessions without the secrets in them.
//!
//! A [`Redactor`] is a filter that a session is read through
//! ([`Session::open_through`](treering::Session::open_through)). What comes out is a session like any
//! other, with the same tree, that can be exported, forked, converted and copied; keys, tokens and
//! passwords in it are `[REDACTED:github-token:1]`, the same one always by the same name. Bytes that
//! are no part of a secret stay as they are. The secrets themselves are held in memory only, and no
//! report says them.
//!
//! ```
//! use treering::{Creation, Message, Session, SessionOptions};
//! use treering_redact::{Options, Redactor};
//! # let dir = tempfile::tempdir()?;
//! # let path = dir.path().join("a.jsonl");
//! # let options = SessionOptions { creation: Creation::AtOnce, ..SessionOptions::default() };
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
//! # Limitations
//!
//! What has no known shape, no telling name and no pattern is not found. Neither is what was
//! encoded (base64, images), spread over several strings, or encrypted by a provider.

mod decode;
mod line;
mod named;
mod places;
mod report;
mod rules;
mod tokens;
mod walk;

pub use report::{Place, Report, Sum};

use aho_corasick::{AhoCorasick, MatchKind};
use line::{Finder, Findings, Found};
use rules::{Kind, Rank, Rules};
use std::borrow::Cow;
use std::collections::HashMap;
use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use treering::{Entry, LineFilter, Session};

/// What is looked for besides secrets.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// E-mail addresses.
    pub emails: bool,
    /// Names in home directories: `/home/NAME`, `/Users/NAME`, `C:\Users\NAME`. They become `user`.
    pub home: bool,
    /// Regular expressions and what their findings are called. Where one has a group, what is in the
    /// first is the finding.
    pub patterns: Vec<(String, String)>,
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

/// Secrets that are looked for everywhere, because they were found somewhere.
type Known = Arc<(AhoCorasick, Vec<Kind>)>;

#[derive(Default)]
struct State {
    keys: (RandomState, RandomState),
    /// What stands for each secret, by a hash of it that nobody else can make.
    numbers: HashMap<(u64, u64), (Kind, usize)>,
    counts: HashMap<Kind, usize>,
    /// What a first look noticed by its context.
    noticed: HashMap<Vec<u8>, Kind>,
    known: Option<Known>,
    lines: u64,
    report: Report,
}

/// Secrets are in it.
impl std::fmt::Debug for State {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("State").field("lines", &self.lines).finish_non_exhaustive()
    }
}

/// How many secrets are looked for everywhere.
const MOST_KNOWN: usize = 10_000;

impl Redactor {
    /// A redactor for one session, or for several that shall have the same placeholders.
    pub fn new(options: &Options) -> Result<Self, PatternError> {
        Ok(Redactor { rules: Rules::new(options)?, state: Mutex::default() })
    }

    /// The session at `path` without its secrets; a snapshot that is only read.
    pub fn open(&self, path: impl AsRef<Path>) -> treering::Result<Session> {
        let mut state = self.state();
        (state.lines, state.known) = (0, None);
        drop(state);
        Session::open_through(path, self)
    }

    /// An entry's JSON without secrets.
    pub fn entry<'a>(&self, entry: &'a Entry) -> Cow<'a, [u8]> {
        self.line(entry.raw())
    }

    /// A text without secrets.
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

    /// What was replaced until now.
    pub fn report(&self) -> Report {
        self.state().report.clone()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What the first look noticed, ready to be looked for.
    fn known(&self) -> Option<Known> {
        let mut state = self.state();
        if state.known.is_none() && !state.noticed.is_empty() {
            let mut noticed: Vec<_> = state.noticed.iter().collect();
            noticed.sort_unstable();
            let words = AhoCorasick::builder()
                .match_kind(MatchKind::LeftmostLongest)
                .build(noticed.iter().map(|(secret, _)| secret));
            let kinds = noticed.iter().map(|(_, kind)| **kind).collect();
            state.known = words.ok().map(|words| Arc::new((words, kinds)));
        }
        state.known.clone()
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
        for found in found {
            let (kind, number) = state.number(&found);
            state.note(self.rules.name(kind), number, entry.as_deref(), &found);
            edits.push((found.span, self.rules.placeholder(kind, number)));
        }
        drop(state);
        edits.sort_by_key(|(span, _)| span.start);
        let mut out = Vec::with_capacity(line.len() + 32 * edits.len());
        let mut at = 0;
        for (span, text) in edits {
            out.extend_from_slice(line.get(at..span.start).unwrap_or_default());
            out.extend_from_slice(text.as_bytes());
            at = span.end;
        }
        out.extend_from_slice(line.get(at..).unwrap_or_default());
        Cow::Owned(out)
    }
}

impl State {
    /// Which one it is. The first occurrence decides what it is called.
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
    /// Notices what only its context gives away, so that it is found without it as well.
    fn look(&self, line: &[u8]) {
        let finder = Finder { rules: &self.rules, known: None };
        for found in finder.line(line).found {
            // What could be a word is not replaced everywhere.
            let is_sure = found.rank == Rank::Context
                && (10..=512).contains(&found.secret.len())
                && named::is_secret(&found.secret, true, false);
            if is_sure {
                let mut state = self.state();
                if state.noticed.len() < MOST_KNOWN {
                    state.noticed.entry(found.secret).or_insert(found.kind);
                }
            }
        }
    }

    fn line<'a>(&self, line: &'a [u8]) -> Cow<'a, [u8]> {
        let known = self.known();
        let finder = Finder { rules: &self.rules, known: known.as_deref() };
        self.replaced(line, finder.line(line))
    }
}
