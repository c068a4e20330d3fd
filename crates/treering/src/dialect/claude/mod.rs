//! Claude Code.
//!
//! A record of the conversation has a `uuid` and a `parentUuid` and is one of five types; everything
//! else in the file is a side record (titles, snapshots, queues: new kinds appear every month). Each
//! content block has a record of its own, so that one answer is several records with the same
//! `message.id`; [`link`] brings them together again. Files are never written to.

mod decode;
mod export;
mod link;
mod stray;

use super::agent::{AgentContext, PathRecords};
use super::facts::{Facts, HeaderPlace, Keys, ResetForm};
use super::{About, Class, Codec, Decoded, Glance, Linker, RequestMetadata, Stamp};
use crate::entry::head::{self, Head, Marks};
use crate::entry::{Kind, NewEntry, Role};
use crate::error::Result;
use crate::header::Header;
use crate::id::{SessionId, fnv1a};
use crate::json::{self, Members, ObjectEnd};
use std::path::{Path, PathBuf};

#[derive(Debug)]
pub(crate) struct ClaudeCode;

static FACTS: Facts = Facts {
    keys: Keys { id: "uuid", parent: "parentUuid", time: "timestamp" },
    is_writable: false,
    header: HeaderPlace::Anywhere,
    // As of late 2026; new ones appear every month.
    own_types: &[
        "user",
        "assistant",
        "system",
        "attachment",
        "progress",
        "summary",
        "custom-title",
        "ai-title",
        "tag",
        "file-history-snapshot",
        "queue-operation",
        "last-prompt",
        "agent-name",
        "agent-color",
        "mode",
        "permission-mode",
        "pr-link",
        "worktree-state",
    ],
    reset: ResetForm::Compaction,
    subagent_files: Some(subagent_files),
    export: Some(export::export),
    ..Facts::DEFAULT
};

/// Returns the files of a session's subagents, which stand in a directory named after the session.
fn subagent_files(path: &Path) -> Vec<PathBuf> {
    let directory = path.with_extension("").join("subagents");
    let files = std::fs::read_dir(directory).into_iter().flatten().flatten();
    let mut files: Vec<_> = files
        .map(|file| file.path())
        .filter(|file| file.extension().is_some_and(|extension| extension == "jsonl"))
        .collect();
    files.sort();
    files
}

/// Fields about a record that the linker needs.
pub(super) mod mark {
    pub(crate) const SIDECHAIN: u8 = 1;
    /// Instructions that the program itself puts into the conversation.
    pub(crate) const META: u8 = 2;
    /// Said in a team of agents.
    pub(crate) const TEAM: u8 = 4;
    pub(crate) const USER: u8 = 8;
    pub(crate) const ASSISTANT: u8 = 16;
    /// Holds the result of a tool call.
    pub(crate) const RESULT: u8 = 32;
}

/// The members of a record that matter, collected in one pass.
#[derive(Default)]
struct Fields<'a> {
    type_name: &'a [u8],
    subtype: &'a [u8],
    uuid: Option<&'a [u8]>,
    parent: Option<&'a [u8]>,
    time: Option<&'a [u8]>,
    message_id: Option<&'a [u8]>,
    has_result: bool,
    is_summary: bool,
    bits: u8,
}

impl<'a> Fields<'a> {
    /// Reads a record from its start to its end; `None` if it does not end. The grammar of its
    /// values is checked when they are read.
    fn of(record: &'a [u8]) -> Option<(Self, usize)> {
        let mut fields = Fields::default();
        let mut members = Members::new(record, json::skip_space(record, 0));
        while let Some((key, start)) = members.key() {
            let name = &record[key.start + 1..key.end - 1];
            if name == b"message" && record.get(start) == Some(&b'{') {
                let end = fields.message(record, start);
                members.value_ends(end);
                continue;
            }
            let value = &record[members.leap_value(start)?];
            fields.member(name, value);
        }
        match members.end {
            ObjectEnd::Closed(end) => Some((fields, end)),
            _ => None,
        }
    }

    fn member(&mut self, name: &[u8], value: &'a [u8]) {
        let mut bit = |bit: u8, is_set: bool| {
            self.bits = if is_set { self.bits | bit } else { self.bits & !bit };
        };
        match name {
            b"type" => self.type_name = value,
            b"subtype" => self.subtype = value,
            b"uuid" => self.uuid = Some(value),
            b"parentUuid" => self.parent = Some(value),
            b"timestamp" => self.time = Some(value),
            b"isCompactSummary" => self.is_summary = value == b"true",
            b"isSidechain" => bit(mark::SIDECHAIN, value == b"true"),
            b"isMeta" => bit(mark::META, value == b"true"),
            b"teamName" => bit(mark::TEAM, value.len() > 2 && value.starts_with(b"\"")),
            _ => {}
        }
    }

    /// Looks at the message at `start`; how it ends.
    fn message(&mut self, record: &'a [u8], start: usize) -> ObjectEnd {
        let mut members = Members::new(record, start);
        while let Some((key, start)) = members.key() {
            let Some(value) = members.leap_value(start) else { break };
            match &record[key.start + 1..key.end - 1] {
                b"id" => self.message_id = Some(&record[value]),
                b"content" => self.has_result = begins_with_a_result(&record[value]),
                _ => {}
            }
        }
        members.end
    }

    fn class(&self) -> Class {
        if self.uuid.is_none() {
            return Class::Side;
        }
        match self.type_name {
            b"\"assistant\"" => Class::Entry(Kind::Message, Some(Role::Assistant)),
            b"\"user\"" if self.is_summary => {
                Class::Entry(Kind::Message, Some(Role::CompactionSummary))
            }
            b"\"user\"" if self.has_result => Class::Entry(Kind::Message, Some(Role::ToolResult)),
            b"\"user\"" => Class::Entry(Kind::Message, Some(Role::User)),
            b"\"system\"" if self.subtype == b"\"compact_boundary\"" => {
                Class::Entry(Kind::Reset, None)
            }
            b"\"system\"" | b"\"attachment\"" | b"\"progress\"" => Class::Entry(Kind::Other, None),
            _ => Class::Side,
        }
    }

    fn marks(&self) -> Marks {
        let said = match self.class() {
            Class::Entry(_, Some(Role::Assistant)) => mark::ASSISTANT,
            Class::Entry(_, Some(Role::ToolResult)) => mark::USER | mark::RESULT,
            Class::Entry(Kind::Message, _) => mark::USER,
            _ => 0,
        };
        let id = self.message_id.filter(|id| said == mark::ASSISTANT && *id != b"null");
        Marks { bits: self.bits | said, group: id.map_or(0, group) }
    }
}

/// Returns whether the first block of some content is the result of a tool.
fn begins_with_a_result(content: &[u8]) -> bool {
    let mut members = Members::new(content, json::skip_space(content, 1));
    if !content.starts_with(b"[") {
        return false;
    }
    while let Some((key, start)) = members.key() {
        let Some(value) = members.leap_value(start) else { return false };
        if &content[key.start + 1..key.end - 1] == b"type" {
            return &content[value] == b"\"tool_result\"";
        }
    }
    false
}

/// Returns a message's id as a number that is not 0.
fn group(id: &[u8]) -> u64 {
    fnv1a(0, id.iter().copied()).max(1)
}

impl Codec for ClaudeCode {
    fn facts(&self) -> &'static Facts {
        &FACTS
    }

    /// Here the head stands all over the record: it is looked at once, and wholly.
    fn glance<'a>(&self, line: &'a [u8]) -> Glance<'a> {
        let Some((fields, end)) = Fields::of(line) else { return Glance::Unclear };
        if json::skip_space(line, end) != line.len() {
            return Glance::Unclear;
        }
        let (kind, role) = match fields.class() {
            Class::Entry(kind, role) => (kind, role),
            Class::Side => return Glance::Side,
            Class::Header | Class::HeaderNode => return Glance::Unclear,
        };
        let id = fields.uuid.and_then(head::name);
        let parent = fields.parent.and_then(head::name);
        let time = fields.time.and_then(|time| FACTS.time.parse(time));
        match id {
            Some(_) => {
                let marks = fields.marks();
                Glance::Entry(Head { kind, role, id, parent, time, marks }, line.len())
            }
            None => Glance::Unclear,
        }
    }

    fn classify(&self, _: &str, record: &[u8]) -> Class {
        Fields::of(record).map_or(Class::Entry(Kind::Other, None), |(fields, _)| fields.class())
    }

    fn marks(&self, record: &[u8]) -> Marks {
        Fields::of(record).map_or(Marks::default(), |(fields, _)| fields.marks())
    }

    fn side_matters(&self, record: &[u8]) -> bool {
        link::says_a_title(record)
    }

    fn linker(&self) -> Option<Box<dyn Linker>> {
        Some(Box::<link::Claude>::default())
    }

    /// Returns the first record that names the session and its project.
    fn header(&self, record: &[u8]) -> Option<Header> {
        let text =
            |key| json::get(record, key).and_then(json::string).map(|text| text.into_owned());
        let (id, cwd) = (text("sessionId")?, text("cwd")?);
        Some(Header {
            id: SessionId::of_file(id),
            cwd,
            timestamp: text("timestamp").unwrap_or_default(),
            ..Header::unknown()
        })
    }

    fn decode(&self, record: &[u8]) -> Decoded {
        decode::record(record)
    }

    fn request_metadata(&self, record: &[u8]) -> RequestMetadata {
        decode::request_metadata(record)
    }

    fn encode(&self, _: &NewEntry, _: &Stamp<'_>) -> Option<Vec<u8>> {
        None
    }

    fn encode_header(&self, _: &About<'_>) -> Option<Vec<u8>> {
        None
    }

    fn agent_context(&self, path: &mut dyn PathRecords) -> Result<Option<AgentContext>> {
        decode::agent_context(path).map(Some)
    }
}
