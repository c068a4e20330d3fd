//! Claude Code.
//!
//! A record of the conversation has a `uuid` and a `parentUuid` and is one of five types; everything
//! else in the file is a side record (titles, snapshots, queues: new kinds appear every month). Each
//! content block has a record of its own, so that one answer is several records with the same
//! `message.id`; [`link`] brings them together again. Files are never written to.

mod decode;
mod export;
mod link;

pub(crate) use export::export;

use super::agent::{AgentContext, Path};
use super::{About, Class, Codec, Decoded, Keys, Linker, Marks, Stamp};
use crate::entry::head::{self, Head};
use crate::entry::{Kind, NewEntry, Role};
use crate::error::Result;
use crate::header::Header;
use crate::json::{self, End, Members};

#[derive(Debug)]
pub(crate) struct ClaudeCode;

static KEYS: Keys = Keys { id: "uuid", parent: "parentUuid", time: "timestamp" };

/// What the linker must know of a record.
pub(super) mod mark {
    pub(crate) const SIDECHAIN: u8 = 1;
    /// Said by nobody: instructions that the program puts into the conversation itself.
    pub(crate) const META: u8 = 2;
    /// Said in a team of agents.
    pub(crate) const TEAM: u8 = 4;
    pub(crate) const USER: u8 = 8;
    pub(crate) const ASSISTANT: u8 = 16;
    /// Holds the result of a tool call.
    pub(crate) const RESULT: u8 = 32;
}

/// What the members of a record say, from one look at it.
#[derive(Default)]
struct Facts<'a> {
    type_name: &'a [u8],
    subtype: &'a [u8],
    uuid: Option<&'a [u8]>,
    parent: Option<&'a [u8]>,
    time: Option<&'a [u8]>,
    message: Option<&'a [u8]>,
    is_summary: bool,
    bits: u8,
}

impl<'a> Facts<'a> {
    /// Reads a record to its end; `None` if it is not a whole object.
    fn of(record: &'a [u8]) -> Option<(Self, usize)> {
        let mut facts = Facts::default();
        let mut members = Members::new(record, json::skip_space(record, 0));
        for member in &mut members {
            let value = &record[member.value];
            let mut bit = |bit: u8, is_set: bool| {
                facts.bits = if is_set { facts.bits | bit } else { facts.bits & !bit };
            };
            match member.key {
                b"type" => facts.type_name = value,
                b"subtype" => facts.subtype = value,
                b"uuid" => facts.uuid = Some(value),
                b"parentUuid" => facts.parent = Some(value),
                b"timestamp" => facts.time = Some(value),
                b"message" => facts.message = Some(value),
                b"isCompactSummary" => facts.is_summary = value == b"true",
                b"isSidechain" => bit(mark::SIDECHAIN, value == b"true"),
                b"isMeta" => bit(mark::META, value == b"true"),
                b"teamName" => bit(mark::TEAM, value.len() > 2 && value.starts_with(b"\"")),
                _ => {}
            }
        }
        match members.end {
            End::Closed(end) => Some((facts, end)),
            _ => None,
        }
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
            b"\"user\"" if self.has_result() => Class::Entry(Kind::Message, Some(Role::ToolResult)),
            b"\"user\"" => Class::Entry(Kind::Message, Some(Role::User)),
            b"\"system\"" if self.subtype == b"\"compact_boundary\"" => {
                Class::Entry(Kind::Reset, None)
            }
            b"\"system\"" | b"\"attachment\"" | b"\"progress\"" => Class::Entry(Kind::Other, None),
            _ => Class::Side,
        }
    }

    fn has_result(&self) -> bool {
        let content = self.message.and_then(|message| json::get(message, "content"));
        let blocks = content.filter(|content| content.starts_with(b"["));
        // The block that says so is the first; its type need not be its first member.
        let first = blocks.and_then(|blocks| {
            let start = json::skip_space(blocks, 1);
            Some(&blocks[start..json::skip_value(blocks, start)?])
        });
        first.and_then(|block| json::get(block, "type")) == Some(b"\"tool_result\"")
    }

    fn marks(&self) -> Marks {
        let said = match self.class() {
            Class::Entry(_, Some(Role::Assistant)) => mark::ASSISTANT,
            Class::Entry(_, Some(Role::ToolResult)) => mark::USER | mark::RESULT,
            Class::Entry(Kind::Message, _) => mark::USER,
            _ => 0,
        };
        let id = self.message.filter(|_| said == mark::ASSISTANT);
        let id = id.and_then(|message| json::get(message, "id")).filter(|id| *id != b"null");
        Marks { bits: self.bits | said, group: id.map_or(0, group) }
    }
}

/// A message's id as a number that is not 0.
fn group(id: &[u8]) -> u64 {
    let hash = id.iter().fold(0xCBF2_9CE4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01B3)
    });
    hash.max(1)
}

impl Codec for ClaudeCode {
    fn keys(&self) -> &'static Keys {
        &KEYS
    }

    /// Here the head stands all over the record: it is read once, and wholly.
    fn quick<'a>(&self, line: &'a [u8]) -> Option<(Head<'a>, usize)> {
        let (facts, end) = Facts::of(line)?;
        let Class::Entry(kind, role) = facts.class() else { return None };
        if json::skip_space(line, end) != line.len() {
            return None;
        }
        let id = Some(facts.uuid.and_then(head::name)?);
        let parent = facts.parent.and_then(head::name);
        let time = facts.time.and_then(|time| self.time(time));
        Some((Head { kind, role, id, parent, time, marks: facts.marks() }, line.len()))
    }

    fn classify(&self, _: &str, record: &[u8]) -> Class {
        Facts::of(record).map_or(Class::Entry(Kind::Other, None), |(facts, _)| facts.class())
    }

    /// As of late 2026; new ones appear every month.
    fn own_types(&self) -> &'static [&'static str] {
        &[
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
        ]
    }

    fn marks(&self, record: &[u8]) -> Marks {
        Facts::of(record).map_or(Marks::default(), |(facts, _)| facts.marks())
    }

    fn linker(&self) -> Option<Box<dyn Linker>> {
        Some(Box::<link::Claude>::default())
    }

    fn is_headerless(&self) -> bool {
        true
    }

    /// The first record that names the session and its project.
    fn header(&self, record: &[u8]) -> Option<Header> {
        let text =
            |key| json::get(record, key).and_then(json::string).map(|text| text.into_owned());
        let (id, cwd) = (text("sessionId")?, text("cwd")?);
        Some(Header {
            id,
            cwd,
            timestamp: text("timestamp").unwrap_or_default(),
            ..Header::unknown()
        })
    }

    fn decode(&self, record: &[u8]) -> Decoded {
        decode::record(record)
    }

    fn encode(&self, _: &NewEntry, _: &Stamp<'_>) -> Option<Vec<u8>> {
        None
    }

    fn encode_header(&self, _: &About<'_>) -> Option<Vec<u8>> {
        None
    }

    fn agent_context(&self, path: &mut Path<'_>) -> Result<Option<AgentContext>> {
        decode::agent_context(path).map(Some)
    }
}
