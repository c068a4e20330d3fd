//! Detects the dialect of a session from its first records, never from its name.
//!
//! Some records decide (a title slot is omp's, a `payload` is Codex's), unless a header follows
//! that contradicts them. Others are only likely: a header like pi's may be omp's, Operator's or
//! Tau's as well, and then the entries after it are counted, so that a single record of another
//! agent does not decide. Damaged lines are ignored. Without any evidence, the dialect is pi's.

use super::operator::is_tau;
use super::{Dialect, codex, omp};
use crate::json::{self, Members};
use crate::log::{Journal, scan};
use std::borrow::Cow;
use std::io;

/// The number of bytes that are read; the second number only if the first is not enough.
const WINDOWS: [usize; 2] = [16 * 1024, 1024 * 1024];

/// The number of records that are read.
const RECORDS: usize = 64;

/// Returns the dialect of the session in a journal of this length. A journal that is not a session
/// counts as pi's, and reading it with pi's codec then fails with the reason.
pub(crate) fn detect(journal: &dyn Journal, length: u64) -> io::Result<Dialect> {
    let mut dialect = None;
    for window in WINDOWS {
        let window = window.min(usize::try_from(length).unwrap_or(window));
        let bytes = match journal.as_slice() {
            Some(held) => Cow::Borrowed(held.get(..window).unwrap_or(held)),
            None => {
                let mut bytes = vec![0; window];
                let got = scan::read_full(journal, 0, &mut bytes)?;
                bytes.truncate(got);
                Cow::Owned(bytes)
            }
        };
        dialect = of_bytes(&bytes);
        if dialect.is_some() || bytes.len() as u64 >= length {
            break;
        }
    }
    Ok(dialect.unwrap_or(Dialect::Pi))
}

/// Returns the dialect of a session that begins with these bytes, as [`detect`] does; `None` if more of them are
/// needed. `is_all` says that there are no more.
pub(crate) fn detect_start(start: &[u8], is_all: bool) -> Option<Dialect> {
    for window in WINDOWS {
        let bytes = start.get(..window).or(is_all.then_some(start))?;
        let dialect = of_bytes(bytes);
        if dialect.is_some() {
            return dialect;
        }
    }
    Some(Dialect::Pi)
}

/// The likely dialect after the records so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LikelyDialect {
    Nothing,
    /// A header or entries as pi writes them.
    Pi,
    /// Operator's or Tau's: the first message decides.
    Operator,
}

fn of_bytes(bytes: &[u8]) -> Option<Dialect> {
    let bytes = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes);
    let mut leaning = LikelyDialect::Nothing;
    let mut seen = RecordsAfterPi::default();
    let mut records = lines(bytes).take(RECORDS);
    while let Some(line) = records.next() {
        if leaning == LikelyDialect::Pi {
            seen.take(line);
            continue;
        }
        let record = FirstRecord::of(line);
        if leaning == LikelyDialect::Operator {
            if record.has_contents() {
                return Some(operator_or_tau(line));
            }
            continue;
        }
        let certain = record.certain(leaning);
        let is_operators = certain.is_none() && record.is_operators(leaning);
        // If a record of another agent is before the header, the header counts.
        let may_be_stray = is_operators || certain.is_some_and(|dialect| dialect != Dialect::Omp);
        let is_header = |line: &[u8]| line.starts_with(HEADER);
        if may_be_stray && !is_header(line) && records.clone().take(STRAYS).any(is_header) {
            continue;
        }
        if certain.is_some() {
            return certain;
        }
        if is_operators {
            if record.is_message() {
                return Some(operator_or_tau(line));
            }
            leaning = LikelyDialect::Operator;
        } else if record.type_is("session") || record.has("parentId") {
            leaning = LikelyDialect::Pi;
            seen.pi += usize::from(record.has("parentId"));
        }
    }
    match leaning {
        LikelyDialect::Nothing => None,
        LikelyDialect::Pi => Some(seen.dialect()),
        LikelyDialect::Operator => Some(Dialect::Operator),
    }
}

/// The beginning of a header, as agents write it.
const HEADER: &[u8] = b"{\"type\":\"session\"";

/// The number of records after one of another agent in which a header is searched.
const STRAYS: usize = 8;

/// The records after a header or an entry as pi writes it. One record of another agent does not
/// decide: most of them must be that agent's.
#[derive(Debug, Default)]
struct RecordsAfterPi<'a> {
    /// The number of entries that pi could have written.
    pi: usize,
    /// The number of model changes among these in a form that omp does not use.
    pi_models: usize,
    /// The number of entries that only omp writes.
    omp: usize,
    uuid: usize,
    operator: usize,
    /// The first message of Operator or Tau.
    message: Option<&'a [u8]>,
}

impl<'a> RecordsAfterPi<'a> {
    fn take(&mut self, line: &'a [u8]) {
        if is_plain(line) {
            self.pi += 1;
            return;
        }
        let record = FirstRecord::of(line);
        match record.certain(LikelyDialect::Pi) {
            Some(Dialect::Omp) => self.omp += 1,
            Some(_) => self.uuid += 1,
            None if record.is_operators(LikelyDialect::Pi) => {
                self.operator += 1;
                if record.is_message() {
                    self.message.get_or_insert(line);
                }
            }
            None if record.has("parentId") => {
                self.pi += 1;
                self.pi_models += usize::from(record.type_is("model_change"));
            }
            None => {}
        }
    }

    fn dialect(&self) -> Dialect {
        let natives = self.pi + self.omp;
        match () {
            () if self.operator > natives.max(self.uuid) => {
                self.message.map_or(Dialect::Operator, operator_or_tau)
            }
            () if self.uuid > natives => Dialect::Uuid,
            () if self.omp > 1 || self.omp == 1 && self.pi_models == 0 => Dialect::Omp,
            () => Dialect::Pi,
        }
    }
}

fn lines(bytes: &[u8]) -> impl Iterator<Item = &[u8]> + Clone {
    let mut rest = Some(bytes);
    std::iter::from_fn(move || {
        let text = rest?;
        let end = memchr::memchr(b'\n', text);
        rest = end.and_then(|end| text.get(end + 1..));
        text.get(..end.unwrap_or(text.len()))
    })
}

/// Returns whether a record that follows one of pi's cannot decide the dialect, according to its
/// first members. Most records cannot, and they may be long.
fn is_plain(line: &[u8]) -> bool {
    const DECISIVE_TYPES: [&str; 3] = ["session", "session_header", "model_change"];
    let mut members = Members::new(line, 0);
    let mut value = |name: &str| {
        let member = members.next().filter(|member| member.key == name.as_bytes())?;
        line.get(member.value)
    };
    let (Some(kind), Some(_), Some(_)) = (value("type"), value("id"), value("parentId")) else {
        return false;
    };
    json::string(kind)
        .is_some_and(|kind| !DECISIVE_TYPES.contains(&&*kind) && !omp::types().contains(&&*kind))
}

/// The members of a record, as far as it can be read.
pub(crate) struct FirstRecord<'a> {
    bytes: &'a [u8],
    members: Vec<(&'a [u8], usize)>,
}

impl<'a> FirstRecord<'a> {
    fn of(bytes: &'a [u8]) -> Self {
        let mut found = Vec::new();
        let mut members = Members::new(bytes, json::skip_space(bytes, 0));
        while let Some((key, start)) = members.key() {
            found.push((&bytes[key.start + 1..key.end - 1], start));
            if members.skip_value(start).is_none() {
                break;
            }
        }
        FirstRecord { bytes, members: found }
    }

    /// Returns the value of a key.
    pub(super) fn get(&self, key: &str) -> Option<&'a [u8]> {
        let found = self.members.iter().find(|(name, _)| json::key_is(name, key));
        found.and_then(|&(_, start)| self.bytes.get(start..))
    }

    pub(super) fn has(&self, key: &str) -> bool {
        self.get(key).is_some()
    }

    pub(super) fn has_all(&self, keys: &[&str]) -> bool {
        keys.iter().all(|key| self.has(key))
    }

    pub(super) fn has_any(&self, keys: &[&str]) -> bool {
        keys.iter().any(|key| self.has(key))
    }

    pub(super) fn type_is(&self, name: &str) -> bool {
        self.type_in(&[name])
    }

    pub(super) fn type_in(&self, names: &[&str]) -> bool {
        let value = self.get("type").and_then(|rest| {
            let end = json::skip_value(rest, 0)?;
            json::string(&rest[..end])
        });
        value.is_some_and(|value| names.contains(&&*value))
    }

    fn is_message(&self) -> bool {
        self.type_is("message")
    }

    fn has_number(&self, key: &str) -> bool {
        self.get(key).is_some_and(|rest| matches!(rest.first(), Some(b'0'..=b'9' | b'-')))
    }

    /// Returns the dialect, if this record decides it. After a header or an entry like pi's, only
    /// what pi could never write counts, because entries may have any members.
    fn certain(&self, leaning: LikelyDialect) -> Option<Dialect> {
        let is_header = self.type_is("session");
        if leaning == LikelyDialect::Nothing && !is_header {
            let is_its =
                |dialect: &Dialect| dialect.facts().recognizes.is_some_and(|is_its| is_its(self));
            if let Some(dialect) = Dialect::ALL.into_iter().find(is_its) {
                return Some(dialect);
            }
        }
        if is_header && self.has_any(&OMP_HEADER) || self.is_omps() {
            return Some(Dialect::Omp);
        }
        if is_header && self.has("uuid") {
            return Some(Dialect::Uuid);
        }
        if self.has_all(&["uuid", "parentUuid", "type"]) && !self.has_any(&["id", "parentId"]) {
            let is_claude = leaning == LikelyDialect::Nothing && self.type_in(&CLAUDE_CHAIN);
            return Some(if is_claude { Dialect::ClaudeCode } else { Dialect::Uuid });
        }
        if leaning != LikelyDialect::Nothing || is_header {
            return None;
        }
        if self.type_is("title") && self.has("v") && !self.has("id") {
            return Some(Dialect::Omp);
        }
        if !self.has("parentId") && codex::looks_like(self.bytes) {
            return Some(Dialect::Codex);
        }
        if self.has("type") && self.has_any(&["sessionId", "leafUuid", "messageId"]) {
            return Some(Dialect::ClaudeCode);
        }
        if self.has_all(&["parent_id", "type"]) && !self.has_contents() {
            return Some(Dialect::Chimera);
        }
        None
    }

    fn is_omps(&self) -> bool {
        let names_model = self.type_is("model_change") && self.has("model") && !self.has("modelId");
        self.has("parentId") && (names_model || self.type_in(omp::types()))
    }

    fn is_operators(&self, leaning: LikelyDialect) -> bool {
        self.type_is("session_header")
            || self.type_is("session")
                && (self.has("parent_session") || self.has_number("timestamp"))
            || self.has("parent_id") && !self.has("parentId")
            || self.has_contents() && !self.has("parentId")
            || leaning == LikelyDialect::Pi
                && !self.has("parentId")
                && self.has_any(&[
                    "model_id",
                    "provider_id",
                    "target_id",
                    "custom_type",
                    "thinking_level",
                ])
    }

    /// Returns whether the record is a message with `contents`, as Operator and Tau write them; all
    /// others write `content`.
    fn has_contents(&self) -> bool {
        let message = self.get("message").filter(|_| self.is_message());
        message.is_some_and(|rest| {
            let mut members = Members::new(rest, 0);
            members.any(|member| json::key_is(member.key, "contents"))
        })
    }
}

const CLAUDE_CHAIN: [&str; 5] = ["user", "assistant", "system", "attachment", "progress"];

const OMP_HEADER: [&str; 5] = [
    "title",
    "titleSource",
    "additionalDirectories",
    "previousSessionFiles",
    "providerPromptCacheKey",
];

fn operator_or_tau(message: &[u8]) -> Dialect {
    if is_tau(message) { Dialect::Tau } else { Dialect::Operator }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MEMBERS: [&str; 18] = [
        r#""type":"message""#,
        r#""type":"model_change""#,
        r#""type":"session""#,
        r#""type":"session_header""#,
        r#""type":"title_change""#,
        r#""type":7"#,
        r#""id":"a""#,
        r#""parentId":null"#,
        r#""parentId":"b""#,
        r#""parent\u0049d":"b""#,
        r#""uuid":"u""#,
        r#""parentUuid":null"#,
        r#""parent_id":"c""#,
        r#""model":"m""#,
        r#""timestamp":17"#,
        r#""message":{"role":"user","contents":[]}"#,
        r#""title":"t""#,
        r#""broken""#,
    ];

    fn record() -> impl Strategy<Value = String> {
        let usual = (prop::sample::select(&MEMBERS[..6]), prop::sample::select(&MEMBERS[7..9]));
        let usual = usual.prop_map(|(kind, parent)| vec![kind, MEMBERS[6], parent]);
        let start = prop_oneof![usual, Just(Vec::new())];
        let more = prop::collection::vec(prop::sample::select(&MEMBERS[..]), 0..6);
        (start, more, prop::bool::weighted(0.8)).prop_map(|(start, more, closed)| {
            let members = [start, more].concat().join(",");
            format!("{{{members}{}", if closed { "}" } else { "" })
        })
    }

    proptest! {
        #[test]
        fn what_its_first_members_call_plain_settles_nothing(line in record()) {
            if is_plain(line.as_bytes()) {
                let record = FirstRecord::of(line.as_bytes());
                prop_assert!(record.certain(LikelyDialect::Pi).is_none());
                prop_assert!(!record.is_operators(LikelyDialect::Pi) && record.has("parentId"));
            }
        }

        #[test]
        fn lines_are_what_lies_between_newlines(text in "[ab\n]{0,12}") {
            let bytes = text.as_bytes();
            prop_assert!(lines(bytes).eq(bytes.split(|byte| *byte == b'\n')));
        }
    }

    #[test]
    fn a_usual_entry_is_plain() {
        let line = br#"{"type":"message","id":"a","parentId":null,"message":{"role":"user"}}"#;
        assert!(is_plain(line));
        for telling in ["session", "session_header", "model_change", "title_change"] {
            let line = String::from_utf8_lossy(line)
                .replace("message\",\"id", &format!("{telling}\",\"id"));
            assert!(!is_plain(line.as_bytes()), "{line}");
        }
    }
}
