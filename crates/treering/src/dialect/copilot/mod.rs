//! GitHub Copilot CLI: event logs, read only.
//!
//! A session is a log of events `{type, data, id, timestamp, parentId}`. The parent of an event is
//! the event before it, so that events of subagents, which have an `agentId`, are mixed with those
//! of the conversation; [`link`] separates them. A rewind removes events from the file, so a log
//! has no branches.

mod decode;
mod link;

#[cfg(test)]
mod tests;

use super::agent::{AgentContext, PathRecords};
use super::detect::FirstRecord;
use super::facts::{Facts, HeaderPlace, Keys};
use super::home::{AgentPlace, BaseDir, SessionNames};
use super::inserted_text::InsertedText;
use super::members::MemberNames;
use super::shape::{self, get, is_object, literal, members, text, whole_line};
use super::{Class, Codec, Decoded, Linker, QuickRead};
use crate::entry::head::Marks;
use crate::entry::{Kind, Role};
use crate::error::Result;
use crate::header::Header;
use crate::id::fnv1a;
use crate::json;

/// The dialect of GitHub Copilot CLI.
#[derive(Debug)]
pub(crate) struct Copilot;

static FACTS: Facts = Facts {
    // The parent of an event is just the event before it.
    keys: Keys { id: "id", parent: "\u{0}parent", time: "timestamp" },
    members: MemberNames {
        structural: &["agentId", "detachedFromSpawningParentSessionId", "parentId", "sessionId"],
        ..MemberNames::NONE
    },
    is_writable: false,
    header: HeaderPlace::Anywhere,
    inserted_texts: &[&[("<current_datetime>", "</current_datetime>")] as &[InsertedText]],
    recognizes: Some(recognizes),
    places: &[AgentPlace::new(
        BaseDir::VariableOrHome("COPILOT_HOME", "", ".copilot"),
        "session-state",
        1,
    )
    .named(SessionNames { start: "events", ..SessionNames::ANY })],
    resume: Some(&["copilot", "--resume", "{id}"]),
    aliases: &["copilot-cli", "github-copilot"],
    has_notes: true,
    // The cost in a log is in premium requests, not in money.
    has_prices: false,
    ..Facts::DEFAULT
};

/// Returns whether a record is an event: its type has a dot, and its content is in `data`.
fn recognizes(record: &FirstRecord<'_>) -> bool {
    let has_dot = |rest: &[u8]| {
        let literal = json::skip_value(rest, 0).and_then(|end| rest.get(..end));
        literal.is_some_and(|literal| literal.contains(&b'.'))
    };
    record.has_all(&["type", "id", "timestamp", "parentId"])
        && record.get("data").is_some_and(is_object)
        && record.get("type").is_some_and(has_dot)
}

impl Codec for Copilot {
    fn facts(&self) -> &'static Facts {
        &FACTS
    }

    fn quick_read<'a>(&self, line: &'a [u8]) -> QuickRead<'a> {
        let keys = ["type", "data", "id", "timestamp", "agentId"];
        let Some([kind, data, id, time, agent]) = whole_line(line, keys) else {
            return QuickRead::Unclear;
        };
        match shape::quick_read(line, class(kind, data, id), [id, None, time]) {
            QuickRead::Entry(mut head, used) => {
                head.marks = marks(agent);
                QuickRead::Entry(head, used)
            }
            quick_read => quick_read,
        }
    }

    fn classify(&self, _: &str, record: &[u8]) -> Class {
        let [kind, data, id] = json::get_all(record, ["type", "data", "id"]);
        class(kind, data, id)
    }

    fn marks(&self, record: &[u8]) -> Marks {
        let [agent] = json::get_all(record, ["agentId"]);
        marks(agent)
    }

    /// Returns whether a skill, another agent or the autopilot wrote the message on behalf of the
    /// user.
    fn is_inserted(&self, record: &[u8]) -> bool {
        let Some(data) = get(record, "data") else { return false };
        let [source, autopilot] = members(data, ["source", "isAutopilotContinuation"]);
        autopilot == Some(b"true")
            || source.is_some_and(|source| source.starts_with(b"\"") && source != b"\"user\"")
    }

    fn linker(&self) -> Option<Box<dyn Linker>> {
        Some(Box::<link::Copilot>::default())
    }

    fn header(&self, record: &[u8]) -> Option<Header> {
        let [kind, data] = members(record, ["type", "data"]);
        let data = data.filter(|_| kind == Some(b"\"session.start\""))?;
        let id = text(data, "sessionId")?;
        let cwd = get(data, "context").and_then(|context| text(context, "cwd")).unwrap_or_default();
        let time = text(data, "startTime").unwrap_or_default().into_owned();
        let mut header = Header::foreign(&id, time, cwd.into_owned(), record);
        let parent = text(data, "detachedFromSpawningParentSessionId");
        header.parent_session = parent.map(|parent| parent.into_owned());
        Some(header)
    }

    fn decode(&self, record: &[u8]) -> Decoded {
        decode::record(record)
    }

    fn agent_context(&self, path: &mut dyn PathRecords) -> Result<Option<AgentContext>> {
        decode::agent_context(path).map(Some)
    }
}

/// Returns the class of an event, from the literals of its members.
fn class(kind: Option<&[u8]>, data: Option<&[u8]>, id: Option<&[u8]>) -> Class {
    if id.is_none() {
        return Class::Side;
    }
    let data = data.filter(|data| is_object(data)).unwrap_or(b"{}");
    let message = |role| Class::Entry(Kind::Message, Some(role));
    match kind {
        Some(b"\"user.message\"") => message(Role::User),
        Some(b"\"assistant.message\"") => message(Role::Assistant),
        Some(b"\"tool.execution_complete\"") if decode::answers_a_call(data) => {
            message(Role::ToolResult)
        }
        Some(b"\"session.start\"") if literal(data, "selectedModel").is_some() => {
            Class::Entry(Kind::ModelChange, None)
        }
        Some(b"\"session.model_change\"") => Class::Entry(Kind::ModelChange, None),
        Some(b"\"session.usage_record\"") if get(data, "usage").is_some_and(is_object) => {
            Class::Entry(Kind::Usage, None)
        }
        Some(b"\"session.compaction_complete\"") if decode::summary(data).is_some() => {
            Class::Entry(Kind::Compaction, None)
        }
        Some(b"\"session.context_cleared\"") => Class::Entry(Kind::Reset, None),
        Some(b"\"system.notification\"") => Class::Entry(Kind::CustomMessage, None),
        _ => Class::Entry(Kind::Custom, None),
    }
}

/// Returns the marks that identify the agent of an event: group 0 is the main one.
fn marks(agent: Option<&[u8]>) -> Marks {
    let agent = agent.filter(|agent| agent.starts_with(b"\"") && *agent != b"\"\"");
    Marks { bits: 0, group: agent.map_or(0, |agent| fnv1a(0, agent.iter().copied()).max(1)) }
}
