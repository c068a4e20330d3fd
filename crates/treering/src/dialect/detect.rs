//! Which dialect a session is in: told by its first records, never by its name.
//!
//! Some records settle it (a title slot is omp's, a `payload` is Codex's), others only lean one way: a
//! header like pi's may be omp's, Operator's or Tau's as well, until an entry says more. Damaged lines
//! say nothing. What nothing speaks against is pi's.

use super::operator::is_tau;
use super::{Dialect, codex, omp};
use crate::json::{self, Members};
use crate::log::{Journal, scan};
use std::io;

/// How much is looked at: usually the first, the second if the first holds nothing telling.
const WINDOWS: [usize; 2] = [16 * 1024, 1024 * 1024];

/// How many records are looked at.
const RECORDS: usize = 64;

/// The dialect of a journal's session. What is no session at all counts as pi's, whose reader says
/// so.
pub(crate) fn detect(journal: &dyn Journal) -> io::Result<Dialect> {
    let length = journal.len()?;
    let mut dialect = None;
    for window in WINDOWS {
        let mut bytes = vec![0; window.min(usize::try_from(length).unwrap_or(window))];
        let got = scan::read_full(journal, 0, &mut bytes)?;
        bytes.truncate(got);
        dialect = of_bytes(&bytes);
        if dialect.is_some() || got as u64 >= length {
            break;
        }
    }
    Ok(dialect.unwrap_or(Dialect::Pi))
}

/// What the records so far make likely.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Leaning {
    Nothing,
    /// A header or entries such as pi writes.
    Pi,
    /// Operator's or Tau's: the first message tells.
    Operator,
}

fn of_bytes(bytes: &[u8]) -> Option<Dialect> {
    let bytes = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes);
    let mut leaning = Leaning::Nothing;
    for line in bytes.split(|&byte| byte == b'\n').take(RECORDS) {
        let record = Record::of(line);
        if leaning == Leaning::Operator {
            if record.is_message() {
                return Some(operator_or_tau(line));
            }
            continue;
        }
        if let Some(dialect) = record.certain(leaning) {
            return Some(dialect);
        }
        if record.is_operators(leaning) {
            if record.is_message() {
                return Some(operator_or_tau(line));
            }
            leaning = Leaning::Operator;
        } else if record.type_is("session") || record.has("parentId") {
            leaning = Leaning::Pi;
        }
    }
    match leaning {
        Leaning::Nothing => None,
        Leaning::Pi => Some(Dialect::Pi),
        Leaning::Operator => Some(Dialect::Operator),
    }
}

/// The members of a record, as far as it can be read.
struct Record<'a> {
    bytes: &'a [u8],
    members: Vec<(&'a [u8], usize)>,
}

impl<'a> Record<'a> {
    fn of(bytes: &'a [u8]) -> Self {
        let mut found = Vec::new();
        let mut members = Members::new(bytes, json::skip_space(bytes, 0));
        while let Some((key, start)) = members.key() {
            found.push((&bytes[key.start + 1..key.end - 1], start));
            if members.skip_value(start).is_none() {
                break;
            }
        }
        Record { bytes, members: found }
    }

    /// What follows a key.
    fn get(&self, key: &str) -> Option<&'a [u8]> {
        let found = self.members.iter().find(|(name, _)| json::key_is(name, key));
        found.and_then(|&(_, start)| self.bytes.get(start..))
    }

    fn has(&self, key: &str) -> bool {
        self.get(key).is_some()
    }

    fn has_all(&self, keys: &[&str]) -> bool {
        keys.iter().all(|key| self.has(key))
    }

    fn has_any(&self, keys: &[&str]) -> bool {
        keys.iter().any(|key| self.has(key))
    }

    fn type_is(&self, name: &str) -> bool {
        self.type_in(&[name])
    }

    fn type_in(&self, names: &[&str]) -> bool {
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

    /// The dialect, if this record settles it. After a header like pi's, or an entry like pi's, only
    /// what pi itself could never write counts: entries may have any members.
    fn certain(&self, leaning: Leaning) -> Option<Dialect> {
        let is_header = self.type_is("session");
        if is_header && self.has_any(&OMP_HEADER) || self.is_omps() {
            return Some(Dialect::Omp);
        }
        if is_header && self.has("uuid") {
            return Some(Dialect::Uuid);
        }
        if self.has_all(&["uuid", "parentUuid", "type"]) && !self.has_any(&["id", "parentId"]) {
            let is_claude = leaning == Leaning::Nothing && self.type_in(&CLAUDE_CHAIN);
            return Some(if is_claude { Dialect::ClaudeCode } else { Dialect::Uuid });
        }
        if leaning != Leaning::Nothing || is_header {
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

    fn is_operators(&self, leaning: Leaning) -> bool {
        self.type_is("session_header")
            || self.type_is("session")
                && (self.has("parent_session") || self.has_number("timestamp"))
            || self.has("parent_id") && !self.has("parentId")
            || self.has_contents() && !self.has("parentId")
            || leaning == Leaning::Pi
                && !self.has("parentId")
                && self.has_any(&[
                    "model_id",
                    "provider_id",
                    "target_id",
                    "custom_type",
                    "thinking_level",
                ])
    }

    /// Messages of Operator and Tau have `contents`; everybody else's have `content`.
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
