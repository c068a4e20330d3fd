//! Where the secrets of a line are: which strings are looked at, and which never.
//!
//! What places an entry in its tree, pairs calls with results, or names models is never touched, nor
//! is the data of images. That holds for the session's own structure; inside of a tool's arguments and
//! results an `id` is a string like any other.

use crate::decode::decode;
use crate::named;
use crate::rules::{Hit, Kind, Rank, Rules};
use crate::walk::{self, Level, Visitor};
use aho_corasick::AhoCorasick;
use std::ops::Range;

/// Members of the session's own that are left alone.
const KEPT: &[&[u8]] = &[
    b"id",
    b"uuid",
    b"parentId",
    b"parentUuid",
    b"parent_id",
    b"parent_uuid",
    b"logicalParentUuid",
    b"targetId",
    b"target_id",
    b"targetUuid",
    b"fromId",
    b"from_id",
    b"fromUuid",
    b"leafUuid",
    b"leafId",
    b"firstKeptEntryId",
    b"firstKeptEntryUuid",
    b"first_kept_entry_id",
    b"sessionId",
    b"session_id",
    b"messageId",
    b"message_id",
    b"toolCallId",
    b"tool_call_id",
    b"callId",
    b"call_id",
    b"tool_use_id",
    b"toolUseID",
    b"parentToolUseID",
    b"sourceToolUseID",
    b"sourceToolAssistantUUID",
    b"requestId",
    b"request_id",
    b"responseId",
    b"response_id",
    b"agentId",
    b"promptId",
    b"turn_id",
    b"entry",
    b"type",
    b"role",
    b"timestamp",
    b"updatedAt",
    b"model",
    b"modelId",
    b"model_id",
    b"provider",
    b"providerId",
    b"provider_id",
    b"api",
    b"mimeType",
    b"mime_type",
    b"media_type",
    b"stopReason",
    b"stop_reason",
    b"toolName",
    b"customType",
    b"thinkingLevel",
    b"thinking_level",
    b"version",
    b"pad",
    b"hash",
    b"commit_hash",
];

/// Types of records whose id is the session's.
const HEADERS: &[&[u8]] = &[b"session", b"header", b"session_meta"];

/// Members whose value is somebody's data.
const FREE: &[&[u8]] = &[
    b"arguments",
    b"args",
    b"input",
    b"parameters",
    b"details",
    b"data",
    b"toolUseResult",
    b"metadata",
    b"meta",
    b"output",
    b"result",
];

/// What a provider made of what stands beside it; worth nothing once that has changed.
const SIGNATURES: &[&[u8]] = &[
    b"thinkingSignature",
    b"thoughtSignature",
    b"thought_signature",
    b"textSignature",
    b"signature",
    b"encrypted_content",
];

/// A secret in a line.
#[derive(Debug)]
pub(crate) struct Found {
    /// Which bytes of the line are replaced.
    pub span: Range<usize>,
    pub kind: Kind,
    pub rank: Rank,
    /// What it says, decoded.
    pub secret: Vec<u8>,
    pub field: String,
}

/// What was found in a line.
#[derive(Debug, Default)]
pub(crate) struct Findings {
    pub found: Vec<Found>,
    /// Signatures that no longer hold.
    pub void: Vec<Range<usize>>,
    /// The entry's id.
    pub entry: Option<String>,
    pub is_header: bool,
}

pub(crate) struct Finder<'a> {
    pub rules: &'a Rules,
    /// Secrets that were found elsewhere.
    pub known: Option<&'a (AhoCorasick, Vec<Kind>)>,
}

impl Finder<'_> {
    pub(crate) fn line(&self, line: &[u8]) -> Findings {
        let mut strings = Strings { line, finder: self, findings: Findings::default() };
        if walk::walk(line, &mut strings).is_ok() {
            let mut findings = strings.findings;
            findings.entry = findings.entry.filter(|_| !findings.is_header);
            return findings;
        }
        // Damaged: whatever it should have been, secrets can be in it.
        let mut findings = Findings::default();
        self.text(line, &|| "damaged line".to_owned(), &mut findings.found);
        findings
    }

    /// Everything in a text that is no JSON.
    pub(crate) fn text(&self, text: &[u8], field: &dyn Fn() -> String, found: &mut Vec<Found>) {
        let mut all = Vec::new();
        self.level(text, None, &|span| span, LEVELS, &mut all);
        settle(all, 0, field, found);
    }

    /// Everything in the inside of a JSON string that stands at `start` of its line.
    fn string(
        &self,
        inside: &[u8],
        start: usize,
        name: Option<bool>,
        field: &dyn Fn() -> String,
        found: &mut Vec<Found>,
    ) {
        let mut all = Vec::new();
        let decoded = decode(inside);
        let source = |span| decoded.source(&span);
        self.level(&decoded.bytes, name, &source, LEVELS - 1, &mut all);
        settle(all, start, field, found);
    }

    /// Looks at a text as it stands, and decoded once more.
    fn level(
        &self,
        text: &[u8],
        name: Option<bool>,
        source: &dyn Fn(Range<usize>) -> Range<usize>,
        levels: usize,
        all: &mut Vec<(Hit, Vec<u8>)>,
    ) {
        let mut hits = Vec::new();
        self.rules.find(text, &mut hits);
        if let Some((words, kinds)) = self.known {
            for found in words.find_iter(text) {
                let Some(&kind) = kinds.get(found.pattern().as_usize()) else { continue };
                hits.push(Hit { span: found.range(), kind, rank: Rank::Known });
            }
        }
        let is_word = || !text.iter().any(|byte| *byte <= b' ');
        if name.is_some_and(|is_strong| is_word() && named::is_secret(text, is_strong, true)) {
            hits.push(Hit { span: 0..text.len(), kind: self.rules.named, rank: Rank::Context });
        }
        let decoded = decode(text);
        for mut hit in hits {
            let span = decoded.without_halves(&hit.span);
            let secret = text.get(span.clone()).unwrap_or_default().to_vec();
            if !secret.is_empty() {
                hit.span = source(span);
                all.push((hit, secret));
            }
        }
        if levels > 0 && !decoded.is_same() {
            let source = |span: Range<usize>| source(decoded.source(&span));
            self.level(&decoded.bytes, name, &source, levels - 1, all);
        }
    }
}

/// Findings at any level as spans of the line that do not overlap.
fn settle(
    mut all: Vec<(Hit, Vec<u8>)>,
    start: usize,
    field: &dyn Fn() -> String,
    found: &mut Vec<Found>,
) {
    if all.is_empty() {
        return;
    }
    all.sort_by_key(|(hit, _)| (hit.rank == Rank::Personal, hit.span.start));
    let mut taken: Vec<(Hit, Vec<u8>)> = Vec::new();
    let mut personal: Vec<(Hit, Vec<u8>)> = Vec::new();
    for (hit, secret) in all {
        if hit.rank == Rank::Personal {
            // These come last: the others are complete and in order.
            let at = taken.partition_point(|(other, _)| other.span.end <= hit.span.start);
            let is_clear = |other: Option<&(Hit, Vec<u8>)>, start: bool| {
                other.is_none_or(|(other, _)| match start {
                    true => other.span.start >= hit.span.end,
                    false => other.span.end <= hit.span.start,
                })
            };
            if is_clear(taken.get(at), true) && is_clear(personal.last(), false) {
                personal.push((hit, secret));
            }
            continue;
        }
        match taken.last_mut() {
            Some((last, their)) if hit.span.start < last.span.end => {
                // Together they are one; the longer, or else the surer one, says what it is.
                let union = last.span.start..last.span.end.max(hit.span.end);
                let is_as_long = hit.span.len() == last.span.len();
                if hit.span.len() > last.span.len() || is_as_long && hit.rank < last.rank {
                    (*last, *their) = (hit, secret);
                }
                last.span = union;
            }
            _ => taken.push((hit, secret)),
        }
    }
    taken.append(&mut personal);
    let field = field();
    found.extend(taken.into_iter().map(|(hit, secret)| Found {
        span: start + hit.span.start..start + hit.span.end,
        kind: hit.kind,
        rank: hit.rank,
        secret,
        field: field.clone(),
    }));
}

/// How often a text is decoded: as a string of the file, as JSON in it, and JSON in that.
const LEVELS: usize = 3;

struct Strings<'a> {
    line: &'a [u8],
    finder: &'a Finder<'a>,
    findings: Findings,
}

impl Strings<'_> {
    fn bytes(&self, span: &Range<usize>) -> &[u8] {
        self.line.get(span.clone()).unwrap_or_default()
    }
}

impl Visitor for Strings<'_> {
    fn string(&mut self, inside: Range<usize>, levels: &mut [Level]) {
        let depth = levels.len();
        let (line, finder) = (self.line, self.finder);
        let text = line.get(inside.clone()).unwrap_or_default();
        let mut name = None;
        if let Some(level) = levels.last_mut() {
            let key = line.get(level.key.clone()).unwrap_or_default();
            if depth == 1 && (key == b"uuid" || key == b"id" && self.findings.entry.is_none()) {
                self.findings.entry = Some(String::from_utf8_lossy(text).into_owned());
            }
            if depth == 1 && key == b"type" {
                self.findings.is_header |= HEADERS.contains(&text);
            }
            if !level.is_free && SIGNATURES.contains(&key) {
                level.signatures.push(inside);
                return;
            }
            if !level.is_free && KEPT.contains(&key) || is_blob(key, text) {
                return;
            }
            name = named::strength(key);
        }
        let field = || walk::field(line, levels);
        finder.string(text, inside.start, name, &field, &mut self.findings.found);
    }

    fn key(&mut self, inside: Range<usize>, levels: &[Level]) {
        // The structure's own names are short.
        if inside.len() > 12 {
            let (line, finder) = (self.line, self.finder);
            let field = || format!("{} (a key)", walk::field(line, levels));
            let text = line.get(inside.clone()).unwrap_or_default();
            finder.string(text, inside.start, None, &field, &mut self.findings.found);
        }
    }

    fn open(&mut self, levels: &[Level]) -> (bool, usize) {
        let is_free = levels
            .last()
            .is_some_and(|level| level.is_free || FREE.contains(&self.bytes(&level.key)));
        (is_free, self.findings.found.len())
    }

    fn close(&mut self, level: Level) {
        if self.findings.found.len() > level.edits {
            let held = level.signatures.into_iter().filter(|signature| !signature.is_empty());
            self.findings.void.extend(held);
        }
    }
}

/// The data of an image, and the like.
fn is_blob(key: &[u8], text: &[u8]) -> bool {
    let is_base64 =
        |text: &[u8]| text.iter().all(|byte| byte.is_ascii_alphanumeric() || b"+/=".contains(byte));
    let url = || {
        let comma = memchr::memmem::find(text.get(..text.len().min(128))?, b";base64,")?;
        text.get(comma + 8..)
    };
    match key {
        b"data" => text.len() >= 64 && is_base64(text),
        _ => text.starts_with(b"data:") && url().is_some_and(is_base64),
    }
}
