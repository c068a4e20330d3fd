//! OpenCode: sessions in a database, or in the files of versions before it, read only.
//!
//! The database has a row for every session, every message and every part of a message; the content of a message
//! and of a part is JSON in its column `data`. Before, each was a file. [`rows`] and [`files`] write a session as lines:
//!
//! ```text
//! {"session":{"id":…,"directory":…,"title":…,"time":…},"revertedFrom":…}
//! {"id":"msg_…","sidechain":"ses_…","tail":"msg_…","time":1772438400000,"info":{…},"parts":[{"id":"prt_…",…},…]}
//! ```
//!
//! `info` and the parts are the agent's own JSON. Messages of subagents, which are sessions of
//! their own in OpenCode, have a `sidechain`; an answer that is a summary has a `tail`, the first
//! message that is kept.

mod context;
mod decode;
mod files;
mod lines;
mod link;
mod rows;

#[cfg(test)]
mod tests;

use super::agent::{AgentContext, PathRecords};
use super::detect::FirstRecord;
use super::facts::{Facts, HeaderPlace, Keys};
use super::home::{AgentPlace, BaseDir, SessionNames};
use super::members::MemberNames;
use super::shape::{self, get, is_object, literal, members, text, whole_line};
use super::stored::{ScatteredFormat, StoredFormat};
use super::{Class, Codec, Decoded, Linker, QuickRead, RequestMetadata};
use crate::entry::head::Marks;
use crate::entry::{Kind, Role};
use crate::error::Result;
use crate::header::Header;
use crate::id::fnv1a;
use crate::json;

/// The dialect of OpenCode.
#[derive(Debug)]
pub(crate) struct OpenCode;

static FACTS: Facts = Facts {
    // Messages follow each other; `parentID` is the question that a message answers.
    keys: Keys { id: "id", parent: "\u{0}parent", time: "time" },
    members: MemberNames {
        structural: &["callID", "messageID", "modelID", "parentID", "providerID", "sessionID"],
        ..MemberNames::NONE
    },
    is_writable: false,
    header: HeaderPlace::Anywhere,
    own_types: &[""],
    recognizes: Some(recognizes),
    stored: Some(&STORED),
    scattered: Some(&SCATTERED),
    // A database hides the files of sessions that were moved into it, so it comes after them.
    places: &[
        AgentPlace::new(DATA, "storage/session", 1).named(FILES),
        AgentPlace::new(DATA, "", 0),
    ],
    resume: Some(&["opencode", "--session", "{id}"]),
    has_notes: true,
    ..Facts::DEFAULT
};

const DATA: BaseDir = BaseDir::VariableOrHome("XDG_DATA_HOME", "opencode", ".local/share/opencode");

const FILES: SessionNames = SessionNames { start: "ses_", ends: &[".json"], except: &[] };

static SCATTERED: ScatteredFormat =
    ScatteredFormat { is_session: files::is_session, watched: files::watched, write: files::write };

static STORED: StoredFormat = StoredFormat {
    // Development versions have a database of their own, such as `opencode-dev.db`.
    names: SessionNames { start: "opencode", ends: &[".db"], except: &[] },
    recognizes: rows::recognizes,
    sessions: rows::sessions,
    write: rows::write,
};

/// Returns whether a record is the first line of a session, or a message with its parts.
fn recognizes(record: &FirstRecord<'_>) -> bool {
    let is_start = record.get("session").is_some_and(is_object);
    !record.has("type") && (is_start || record.has_all(&["id", "time", "info", "parts"]))
}

impl Codec for OpenCode {
    fn facts(&self) -> &'static Facts {
        &FACTS
    }

    fn quick_read<'a>(&self, line: &'a [u8]) -> QuickRead<'a> {
        let keys = ["id", "sidechain", "time", "info", "parts"];
        let Some([id, sidechain, time, info, parts]) = whole_line(line, keys) else {
            return QuickRead::Unclear;
        };
        match shape::quick_read(line, class(id, info, parts), [id, None, time]) {
            QuickRead::Entry(mut head, used) => {
                head.marks = marks(sidechain);
                QuickRead::Entry(head, used)
            }
            quick_read => quick_read,
        }
    }

    fn classify(&self, _: &str, record: &[u8]) -> Class {
        let [id, info, parts] = json::get_all(record, ["id", "info", "parts"]);
        class(id, info, parts)
    }

    fn marks(&self, record: &[u8]) -> Marks {
        let [sidechain] = json::get_all(record, ["sidechain"]);
        marks(sidechain)
    }

    /// Returns whether a message has only texts that OpenCode wrote, as after a compaction.
    fn is_inserted(&self, record: &[u8]) -> bool {
        let parts = get(record, "parts").map(json::elements).unwrap_or_default();
        let mut texts = parts.iter().filter(|part| get(part, "type") == Some(b"\"text\""));
        let is_made = |part: &&[u8]| get(part, "synthetic") == Some(b"true");
        texts.clone().next().is_some() && texts.all(is_made)
    }

    fn linker(&self) -> Option<Box<dyn Linker>> {
        Some(Box::<link::OpenCode>::default())
    }

    fn header(&self, record: &[u8]) -> Option<Header> {
        let session = get(record, "session").filter(|session| is_object(session))?;
        let [id, directory, title, parent] =
            ["id", "directory", "title", "parentID"].map(|key| text(session, key));
        let time = get(session, "time").and_then(crate::entry::head::timestamp);
        let time = time.map(crate::time::format).unwrap_or_default();
        let directory = directory.unwrap_or_default().into_owned();
        let mut header = Header::foreign(&id?, time, directory, record);
        header.parent_session = parent.map(|parent| parent.into_owned());
        // This is the title of a session until its first answer.
        let is_title = |title: &String| {
            let is_made =
                ["New session - ", "Child session - "].iter().any(|s| title.starts_with(s));
            !is_made && !title.trim().is_empty()
        };
        header.title = title.map(|title| title.into_owned()).filter(is_title);
        Some(header)
    }

    fn decode(&self, record: &[u8]) -> Decoded {
        decode::record(record)
    }

    fn request_metadata(&self, record: &[u8]) -> RequestMetadata {
        decode::request_metadata(record)
    }

    fn agent_context(&self, path: &mut dyn PathRecords) -> Result<Option<AgentContext>> {
        context::agent_context(path).map(Some)
    }
}

/// Returns the class of a record, from the literals of its members.
fn class(id: Option<&[u8]>, info: Option<&[u8]>, parts: Option<&[u8]>) -> Class {
    if id.is_none_or(|id| !id.starts_with(b"\"")) {
        return Class::Side;
    }
    let info = info.filter(|info| is_object(info)).unwrap_or(b"{}");
    let message = |role| Class::Entry(Kind::Message, Some(role));
    match literal(info, "role") {
        Some(b"\"user\"") if decode::is_compaction_request(parts) => {
            Class::Entry(Kind::Custom, None)
        }
        Some(b"\"user\"") => message(Role::User),
        Some(b"\"assistant\"") if decode::is_summary(info) => Class::Entry(Kind::Compaction, None),
        Some(b"\"assistant\"") => message(Role::Assistant),
        _ => Class::Entry(Kind::Custom, None),
    }
}

/// Returns the marks that identify the session of a message: group 0 is the main one.
fn marks(sidechain: Option<&[u8]>) -> Marks {
    let session = sidechain.filter(|id| id.starts_with(b"\"") && *id != b"\"\"");
    Marks { bits: 0, group: session.map_or(0, |id| fnv1a(0, id.iter().copied()).max(1)) }
}

/// Returns the members of a record that its messages are built from.
fn content(record: &[u8]) -> (&[u8], Vec<&[u8]>) {
    let [info, parts] = members(record, ["info", "parts"]);
    let parts = parts.filter(|parts| parts.starts_with(b"[")).map(json::elements);
    let parts = parts.unwrap_or_default().into_iter().filter(|part| is_object(part)).collect();
    (info.filter(|info| is_object(info)).unwrap_or(b"{}"), parts)
}
