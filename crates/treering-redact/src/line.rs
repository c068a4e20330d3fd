//! Finds the secrets of a line: decides which of its strings are searched, and how.
//!
//! Strings of the session's own structure (ids, references, names of tools and models) are searched
//! only for tokens that are recognized by their format, independent of the context: the same string
//! is then replaced in the same way everywhere, and references still match. Inside a tool's
//! arguments and results an `id` is a string like any other. The data of images is not searched.

use crate::decode::{Coding, Decoded, decode, has_hidden};
use crate::fields::{FREE, HEADERS, IDS, SIGNATURES, STRUCTURE, is_blob};
use crate::known::KnownSecrets;
use crate::names::{self, NAMES, VALUES};
use crate::rules::{Candidates, Kind, Rank, RuleMatch, Rules};
use crate::value::{self, Strength};
use crate::walk::{self, OpenContainer, Visitor};
use crate::{headers, overlaps};
use std::borrow::Cow;
use std::ops::Range;

/// A secret in a line.
#[derive(Debug)]
pub(crate) struct FoundSecret {
    /// The range of bytes of the line that is replaced.
    pub span: Range<usize>,
    pub kind: Kind,
    pub rank: Rank,
    /// The secret, decoded.
    pub secret: Vec<u8>,
    pub field: String,
}

/// The findings of a line.
#[derive(Debug, Default)]
pub(crate) struct Findings {
    pub found: Vec<FoundSecret>,
    /// Signatures that are no longer valid.
    pub void: Vec<Range<usize>>,
    /// The range of the inside of the entry's id.
    pub entry: Option<Range<usize>>,
    pub is_header: bool,
}

/// Facts about a string that follow from its key.
#[derive(Debug, Clone, Copy)]
enum StringContext {
    Nothing,
    Named(Strength),
    Authorization,
    Cookie,
    /// A member of the session's own structure.
    Structure,
}

impl StringContext {
    fn of(key: &[u8]) -> StringContext {
        match names::strength(key) {
            Some(strength) => StringContext::Named(strength),
            None if key.eq_ignore_ascii_case(b"authorization") => StringContext::Authorization,
            None if key.eq_ignore_ascii_case(b"cookie") => StringContext::Cookie,
            None if key.eq_ignore_ascii_case(b"set-cookie") => StringContext::Cookie,
            None => StringContext::Nothing,
        }
    }
}

/// The number of times that a text is decoded: as a string of the file, as JSON in it, and as JSON
/// in that.
const LEVELS: usize = 3;

pub(crate) struct SecretFinder<'a> {
    pub rules: &'a Rules,
    /// The secrets that were recognized elsewhere.
    pub known: Option<&'a KnownSecrets>,
}

impl SecretFinder<'_> {
    /// Finds the secrets of a line, in the strings that `candidates` point into.
    pub(crate) fn line(&self, line: &[u8], candidates: &Candidates) -> Findings {
        let mut strings =
            StringScanner { line, finder: self, candidates, findings: Findings::default() };
        if walk::walk(line, &mut strings).is_ok() {
            let mut findings = strings.findings;
            findings.entry = findings.entry.filter(|_| !findings.is_header);
            return findings;
        }
        // A damaged line can contain secrets like any other.
        let mut findings = Findings::default();
        self.text(line, &|| "damaged line".to_owned(), &mut findings.found);
        findings
    }

    /// Finds all secrets in a text that is not JSON.
    pub(crate) fn text(
        &self,
        text: &[u8],
        field: &dyn Fn() -> String,
        found: &mut Vec<FoundSecret>,
    ) {
        let mut all = Vec::new();
        self.level(text, StringContext::Nothing, &|span| span, LEVELS, &mut all);
        overlaps::resolve_overlaps(all, 0, field, found);
    }

    /// Finds all secrets in the inside of a JSON string at `start` of its line.
    fn string(
        &self,
        inside: &[u8],
        start: usize,
        context: StringContext,
        field: &dyn Fn() -> String,
        found: &mut Vec<FoundSecret>,
    ) {
        let mut all = Vec::new();
        let decoded = decode(inside, Coding::Json);
        let source = |span| decoded.source(&span);
        self.level(&decoded.bytes, context, &source, LEVELS - 1, &mut all);
        overlaps::resolve_overlaps(all, start, field, found);
    }

    /// Searches a text as written, and decoded.
    fn level(
        &self,
        text: &[u8],
        context: StringContext,
        source: &dyn Fn(Range<usize>) -> Range<usize>,
        levels: usize,
        all: &mut Vec<(RuleMatch, Vec<u8>)>,
    ) {
        let decoded = decode(text, Coding::Json);
        self.view(text, context, source, Some(&decoded), all);
        if !matches!(context, StringContext::Structure) {
            for coding in [Coding::Percent, Coding::Color] {
                if has_hidden(text, coding) {
                    let plain = decode(text, coding);
                    let source =
                        |span: Range<usize>| source(decoded.without_halves(&plain.source(&span)));
                    self.view(&plain.bytes, context, &source, None, all);
                }
            }
        }
        if levels > 0 && !decoded.is_same() {
            let source = |span: Range<usize>| source(decoded.source(&span));
            self.level(&decoded.bytes, context, &source, levels - 1, all);
        }
    }

    /// Searches a text as written. `decoded` is its decoded form: no finding may divide one of its
    /// escapes.
    fn view(
        &self,
        text: &[u8],
        context: StringContext,
        source: &dyn Fn(Range<usize>) -> Range<usize>,
        decoded: Option<&Decoded<'_>>,
        all: &mut Vec<(RuleMatch, Vec<u8>)>,
    ) {
        let mut hits = Vec::new();
        match context {
            StringContext::Structure => self.rules.find_shapes(text, &mut hits),
            _ => self.rules.find(text, &mut hits),
        }
        if let Some(known) = self.known {
            known.find(text, &mut hits);
        }
        self.in_context(text, context, &mut hits);
        for mut hit in hits {
            let span =
                decoded.map_or(hit.span.clone(), |decoded| decoded.without_halves(&hit.span));
            let secret = text.get(span.clone()).unwrap_or_default().to_vec();
            if !secret.is_empty() {
                hit.span = source(span);
                all.push((hit, secret));
            }
        }
    }

    /// Adds a secret that is recognized by the key of its string.
    fn in_context(&self, text: &[u8], context: StringContext, hits: &mut Vec<RuleMatch>) {
        let mut add = |span: Range<usize>, kind: Kind| {
            hits.push(RuleMatch { span, kind, rank: Rank::Context });
        };
        match context {
            StringContext::Named(strength) => {
                let is_one = match text.iter().any(|byte| *byte <= b' ') {
                    true => strength >= Strength::Strong && value::is_phrase(text),
                    false => value::is_secret(text, strength, true),
                };
                if is_one {
                    add(0..text.len(), self.rules.named);
                }
            }
            StringContext::Authorization => {
                if let Some(span) = headers::authorization(text, 0) {
                    add(span, self.rules.credentials);
                }
            }
            StringContext::Cookie => {
                let mut spans = Vec::new();
                headers::cookie_pairs(text, 0, &mut spans);
                spans.into_iter().for_each(|span| add(span, self.rules.cookie));
            }
            StringContext::Nothing | StringContext::Structure => {}
        }
    }
}

struct StringScanner<'a> {
    line: &'a [u8],
    finder: &'a SecretFinder<'a>,
    candidates: &'a Candidates,
    findings: Findings,
}

impl StringScanner<'_> {
    fn bytes(&self, span: &Range<usize>) -> &[u8] {
        self.line.get(span.clone()).unwrap_or_default()
    }

    /// Searches a string, if its key or a candidate requires it.
    fn search(&mut self, inside: Range<usize>, context: StringContext, levels: &[OpenContainer]) {
        let (line, finder) = (self.line, self.finder);
        let is_named = !matches!(context, StringContext::Nothing | StringContext::Structure);
        if is_named || self.candidates.are_in(&inside) {
            let text = line.get(inside.clone()).unwrap_or_default();
            let field = || walk::field(line, levels);
            finder.string(text, inside.start, context, &field, &mut self.findings.found);
        }
    }
}

impl Visitor for StringScanner<'_> {
    fn string(&mut self, inside: Range<usize>, levels: &mut [OpenContainer]) {
        let depth = levels.len();
        let line = self.line;
        let text = line.get(inside.clone()).unwrap_or_default();
        let Some(level) = levels.last_mut() else {
            return self.search(inside, StringContext::Nothing, levels);
        };
        let key = decoded_key(line.get(level.key.clone()).unwrap_or_default());
        let key = key.as_ref();
        if depth == 1 && IDS.has(key) && (key != b"id" || self.findings.entry.is_none()) {
            self.findings.entry = Some(inside.clone());
        }
        if depth == 1 && key == b"type" {
            self.findings.is_header |= HEADERS.has(text);
        }
        if !level.is_free && SIGNATURES.contains(&key) {
            level.signatures.push(inside.clone());
            let before = self.findings.found.len();
            self.search(inside, StringContext::Structure, levels);
            // A signature is emptied, not edited.
            if self.findings.found.len() > before {
                for found in self.findings.found.get_mut(before..).unwrap_or_default() {
                    found.span = found.span.start..found.span.start;
                }
            }
            return;
        }
        if !level.is_free && STRUCTURE.has(key) {
            return self.search(inside, StringContext::Structure, levels);
        }
        if is_blob(key, text) {
            return;
        }
        if NAMES.contains(&key) && text.len() <= 256 {
            level.pair_name = names::strength(&decode(text, Coding::Json).bytes);
        }
        if VALUES.contains(&key) && level.pair_value.is_none() {
            level.pair_value = Some((level.key.clone(), inside));
            return;
        }
        self.search(inside, StringContext::of(key), levels);
    }

    fn key(&mut self, inside: Range<usize>, levels: &[OpenContainer]) {
        // The names of the structure itself are shorter than any secret.
        if inside.len() > 12 && self.candidates.are_in(&inside) {
            let (line, finder) = (self.line, self.finder);
            let field = || format!("{} (a key)", walk::field(line, levels));
            let text = line.get(inside.clone()).unwrap_or_default();
            let context = StringContext::Nothing;
            finder.string(text, inside.start, context, &field, &mut self.findings.found);
        }
    }

    fn open(&mut self, levels: &[OpenContainer]) -> (bool, usize) {
        let is_free =
            levels.last().is_some_and(|level| level.is_free || FREE.has(self.bytes(&level.key)));
        (is_free, self.findings.found.len())
    }

    fn close(&mut self, levels: &mut [OpenContainer]) {
        let Some(level) = levels.last_mut() else { return };
        if let Some((key, value)) = level.pair_value.take() {
            level.key = key;
            let context = match level.pair_name {
                Some(strength) => StringContext::Named(strength),
                None => StringContext::of(decoded_key(self.bytes(&level.key)).as_ref()),
            };
            self.search(value, context, levels);
        }
        let Some(level) = levels.last_mut() else { return };
        if self.findings.found.len() > level.edits {
            let signatures = std::mem::take(&mut level.signatures).into_iter();
            self.findings.void.extend(signatures.filter(|signature| !signature.is_empty()));
        }
    }
}

/// Returns a key with its escapes resolved.
fn decoded_key(key: &[u8]) -> Cow<'_, [u8]> {
    match memchr::memchr(b'\\', key) {
        None => Cow::Borrowed(key),
        Some(_) => Cow::Owned(decode(key, Coding::Json).bytes.into_owned()),
    }
}
