//! Codex: rollouts, read only.
//!
//! A rollout is a list: its records have neither ids nor parents, and the loader links each entry
//! to the one before it. Only rollbacks make branches ([`rolls_back`]). [`record`] takes a record
//! out of its envelope, [`decode`] converts it to treering's format, [`turns`] finds where turns
//! begin, and [`context`] replays a path as Codex does.

mod context;
mod decode;
mod link;
mod output;
mod quick;
mod record;
mod turns;

#[cfg(test)]
mod tests;

use turns::{rolls_back, starts_turn};

use super::agent::{AgentContext, PathRecords};
use super::facts::{Facts, HeaderPlace, Keys};
use super::home::{AgentPlace, BaseDir};
use super::inserted_text::InsertedText;
use super::members::MemberNames;
use super::{Class, Codec, Decoded, Linker, QuickRead};
use crate::entry::head::{Head, Marks};
use crate::error::Result;
use crate::header::{Header, VERSION};
use crate::json::{self, Members, ObjectEnd};
use crate::tree::Shape;
use record::{Record, members, text};

/// The dialect of Codex.
#[derive(Debug)]
pub(crate) struct Codex;

static FACTS: Facts = Facts {
    // No record has an id or a parent, so these keys are chosen to never occur.
    keys: Keys { id: "\u{0}id", parent: "\u{0}parent", time: "timestamp" },
    members: MemberNames {
        structural: &[
            "call_id",
            "commit_hash",
            "forked_from_id",
            "parent_thread_id",
            "session_id",
            "turn_id",
        ],
        headers: &["session_meta"],
        ..MemberNames::NONE
    },
    is_writable: false,
    header: HeaderPlace::Anywhere,
    shape: Some(Shape::Chain),
    own_types: &[
        "session_meta",
        "response_item",
        "turn_context",
        "compacted",
        "event_msg",
        "world_state",
        "inter_agent_communication",
        "inter_agent_communication_metadata",
        "", // In files of before there was an envelope.
    ],
    inserted_texts: &[&turns::SURROUNDINGS, &EDITOR_CONTEXT],
    places: &[
        AgentPlace::new(BaseDir::VariableOrHome("CODEX_HOME", "", ".codex"), "sessions", 3),
        AgentPlace::new(
            BaseDir::VariableOrHome("CODEX_HOME", "", ".codex"),
            "archived_sessions",
            0,
        ),
    ],
    resume: Some(&["codex", "resume", "{id}"]),
    reads_archives: true,
    running_total: Some(decode::running_total),
    has_prices: false,
    ..Facts::DEFAULT
};

/// The texts in the user messages of a turn that the user did not type.
const EDITOR_CONTEXT: [InsertedText; 2] = [
    ("# Context from my IDE setup:", "## My request for Codex:"),
    ("<user_action>", "</user_action>"),
];

impl Codec for Codex {
    fn facts(&self) -> &'static Facts {
        &FACTS
    }

    /// Finding the kind of a record is cheaper than reading all of it.
    fn quick_read<'a>(&self, line: &'a [u8]) -> QuickRead<'a> {
        if let Some(quick_read) = quick::quick_read(line) {
            return quick_read;
        }
        let mut members = Members::new(line, 0);
        let (mut kind, mut payload, mut time) = (None, None, None);
        while let Some((key, start)) = members.key() {
            let Some(value) = members.find_value(start) else { return QuickRead::Unclear };
            match &line[key.start + 1..key.end - 1] {
                b"type" => kind = Some(&line[value]),
                b"payload" => payload = Some(&line[value]),
                b"timestamp" => time = Some(&line[value]),
                _ => {}
            }
        }
        let ObjectEnd::Closed(end) = members.end else { return QuickRead::Unclear };
        if json::skip_space(line, end) != line.len() {
            return QuickRead::Unclear;
        }
        let record = Record::of(line, kind, payload);
        match decode::kind(record) {
            Class::Entry(kind, role) => {
                let time = time.and_then(|time| FACTS.time.parse(time));
                let marks = marks(record);
                QuickRead::Entry(
                    Head { kind, role, id: None, parent: None, time, marks },
                    line.len(),
                )
            }
            Class::Side => QuickRead::Side,
            Class::Header | Class::HeaderNode => QuickRead::Unclear,
        }
    }

    fn classify(&self, _type_name: &str, record: &[u8]) -> Class {
        decode::kind(Record::read(record))
    }

    fn marks(&self, record: &[u8]) -> Marks {
        marks(Record::read(record))
    }

    fn side_matters(&self, record: &[u8]) -> bool {
        link::is_about_thread(record)
    }

    fn linker(&self) -> Option<Box<dyn Linker>> {
        Some(Box::<link::Codex>::default())
    }

    fn header(&self, record: &[u8]) -> Option<Header> {
        let Record::Meta(meta) = Record::read(record) else { return None };
        let mut header =
            Header::parse(meta).filter(|header| !header.id.is_empty()).or_else(|| {
                let id = json::get(meta, "session_id").filter(|id| id.starts_with(b"\""))?;
                Header::parse(&json::with_member(meta, "id", id))
            })?;
        header.version = VERSION;
        header.parent_session = parent(meta);
        Some(header.standing_as(record))
    }

    fn decode(&self, record: &[u8]) -> Decoded {
        decode::decode(record)
    }

    fn agent_context(&self, path: &mut dyn PathRecords) -> Result<Option<AgentContext>> {
        context::build(path).map(Some)
    }
}

fn marks(record: Record<'_>) -> Marks {
    Marks { bits: if starts_turn(record) { link::TURN } else { 0 }, group: 0 }
}

/// Returns the thread that this one was forked from, or that started it as a subagent.
fn parent(meta: &[u8]) -> Option<String> {
    let source = json::get(meta, "source")
        .and_then(|source| json::get(json::get(source, "subagent")?, "thread_spawn"));
    let spawned = || text(source?, "parent_thread_id");
    let parent = text(meta, "forked_from_id").or_else(|| text(meta, "parent_thread_id"));
    parent.or_else(spawned).filter(|parent| !parent.is_empty()).map(|parent| parent.into_owned())
}

/// Returns whether a file that begins with this record is a rollout, possibly without its header.
pub(crate) fn looks_like(record: &[u8]) -> bool {
    match Record::read(record) {
        // Without an envelope, other files may begin with an id and a time as well.
        Record::Meta(meta) if meta.len() == record.len() => {
            let [instructions, git] = members(meta, ["instructions", "git"]);
            instructions.is_some() || git.is_some()
        }
        Record::Item(item) if item.len() == record.len() => false,
        Record::Other => text(record, "record_type").is_some_and(|kind| kind == "state"),
        _ => true,
    }
}
