//! Qwen Code: chats, read only.
//!
//! A record has a `uuid` and a `parentUuid`, like Claude Code's, and a content of Google's API
//! (`message`). Rewinds are branches: the next record names an older record as its parent. A
//! compression is a system record in the chain that has the whole history the model sees from then
//! on.

mod decode;
mod link;

#[cfg(test)]
mod tests;

use super::agent::{AgentContext, PathRecords};
use super::detect::FirstRecord;
use super::facts::{Facts, HeaderPlace, Keys};
use super::home::{AgentPlace, BaseDir, SessionNames, jsonl_files};
use super::inserted_text::InsertedText;
use super::members::MemberNames;
use super::shape::{get, members, quick_read, whole_line};
use super::subagents::SubagentFormat;
use super::{Class, Codec, Decoded, Linker, QuickRead};
use crate::entry::head::Marks;
use crate::entry::{Kind, Role};
use crate::error::Result;
use crate::header::Header;
use crate::json;
use std::path::{Path, PathBuf};

/// The dialect of Qwen Code.
#[derive(Debug)]
pub(crate) struct Qwen;

/// The names of chats; the ledger of prompts beside them is excluded.
const NAMES: SessionNames = SessionNames { except: &[".ledger.jsonl"], ..SessionNames::ANY };

static FACTS: Facts = Facts {
    keys: Keys { id: "uuid", parent: "parentUuid", time: "timestamp" },
    members: MemberNames { structural: &["agentId", "callId", "sessionId"], ..MemberNames::NONE },
    is_writable: false,
    header: HeaderPlace::Anywhere,
    own_types: &["user", "assistant", "tool_result", "system"],
    inserted_texts: &[&INSERTED_TEXTS],
    recognizes: Some(recognizes),
    // The directories are `chats` and `chats/archive` of each project.
    places: &[
        AgentPlace::new(BaseDir::VariableOrHome("QWEN_HOME", "", ".qwen"), "projects", 3)
            .named(NAMES),
        AgentPlace::new(BaseDir::Variable("QWEN_RUNTIME_DIR", ""), "projects", 3).named(NAMES),
    ],
    subagents: Some(&SUBAGENTS),
    resume: Some(&["qwen", "--resume", "{id}"]),
    aliases: &["qwen-code"],
    has_notes: true,
    has_prices: false,
    ..Facts::DEFAULT
};

/// The texts that the program puts into user messages.
const INSERTED_TEXTS: [InsertedText; 2] = [
    ("<qwen:user-prompt-submit-context>", "</qwen:user-prompt-submit-context>"),
    ("<task-notification>", "</task-notification>"),
];

/// The files are in the project's directory and not beside the session, so its siblings show nothing.
const SUBAGENTS: SubagentFormat =
    SubagentFormat { directory: Some("subagents"), files: subagent_files, may_have: |_, _| true };

/// Returns the files of a session's subagents, which are in a directory of the session below
/// `subagents` of the project.
fn subagent_files(path: &Path) -> Vec<PathBuf> {
    let chats = path.ancestors().skip(1).take(2).find(|dir| dir.ends_with("chats"));
    let (Some(project), Some(name)) = (chats.and_then(Path::parent), path.file_stem()) else {
        return Vec::new();
    };
    let name = name.to_string_lossy();
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    // Session ids have only such characters; others would be replaced by `_`.
    match name.bytes().all(is_plain) {
        true => jsonl_files(&project.join("subagents").join(&*name)),
        false => Vec::new(),
    }
}

/// Returns whether a record is Qwen Code's: a content with parts, or a system record with a payload. Claude
/// Code's records have neither.
fn recognizes(record: &FirstRecord<'_>) -> bool {
    if !record.has_all(&["uuid", "parentUuid", "sessionId"]) || record.has("id") {
        return false;
    }
    let has_parts = || {
        record.get("message").is_some_and(|message| {
            let mut members = json::Members::new(message, 0);
            members.any(|member| json::key_is(member.key, "parts"))
        })
    };
    record.type_is("tool_result")
        || record.type_is("system") && record.has_all(&["subtype", "systemPayload"])
        || record.type_in(&["user", "assistant", "system"]) && has_parts()
}

impl Codec for Qwen {
    fn facts(&self) -> &'static Facts {
        &FACTS
    }

    fn quick_read<'a>(&self, line: &'a [u8]) -> QuickRead<'a> {
        let keys = ["type", "subtype", "uuid", "parentUuid", "timestamp", "message", "isSidechain"];
        let Some([kind, subtype, id, parent, time, message, side]) = whole_line(line, keys) else {
            return QuickRead::Unclear;
        };
        match quick_read(line, class(kind, subtype, id, message), [id, parent, time]) {
            QuickRead::Entry(mut head, used) => {
                head.marks = link::marks(side);
                QuickRead::Entry(head, used)
            }
            quick_read => quick_read,
        }
    }

    fn marks(&self, record: &[u8]) -> Marks {
        let [side] = json::get_all(record, ["isSidechain"]);
        link::marks(side)
    }

    fn linker(&self) -> Option<Box<dyn Linker>> {
        Some(Box::<link::Qwen>::default())
    }

    fn classify(&self, _: &str, record: &[u8]) -> Class {
        let keys = ["type", "subtype", "uuid", "message"];
        let [kind, subtype, id, message] = json::get_all(record, keys);
        class(kind, subtype, id, message)
    }

    /// Returns whether the program itself wrote the user record.
    fn is_inserted(&self, record: &[u8]) -> bool {
        let subtype = get(record, "subtype");
        matches!(subtype, Some(b"\"notification\"" | b"\"cron\"" | b"\"goal_runtime\""))
    }

    /// Returns the header, from the first record that names the session and its project.
    fn header(&self, record: &[u8]) -> Option<Header> {
        let [id, cwd, time] = members(record, ["sessionId", "cwd", "timestamp"]);
        let text = |literal: Option<&[u8]>| Some(json::string(literal?)?.into_owned());
        let time = text(time).unwrap_or_default();
        Some(Header::foreign(&text(id)?, time, text(cwd)?, record)).map(|mut header| {
            let origin = get(record, "forkedFrom").and_then(|from| get(from, "sessionId"));
            header.parent_session = text(origin);
            header
        })
    }

    fn decode(&self, record: &[u8]) -> Decoded {
        decode::record(record)
    }

    fn agent_context(&self, path: &mut dyn PathRecords) -> Result<Option<AgentContext>> {
        decode::agent_context(path).map(Some)
    }
}

/// Returns the class of a record, from the literals of its members.
fn class(
    kind: Option<&[u8]>,
    subtype: Option<&[u8]>,
    id: Option<&[u8]>,
    message: Option<&[u8]>,
) -> Class {
    if id.is_none() {
        return Class::Side;
    }
    let has_message = message.is_some_and(|message| message.starts_with(b"{"));
    match (kind, subtype) {
        // The message is a side question, and the model never sees it.
        (_, Some(b"\"realtime_message\"")) => Class::Entry(Kind::Custom, None),
        (Some(b"\"user\""), _) if has_message => Class::Entry(Kind::Message, Some(Role::User)),
        (Some(b"\"assistant\""), _) => Class::Entry(Kind::Message, Some(Role::Assistant)),
        (Some(b"\"tool_result\""), _) if has_message => {
            Class::Entry(Kind::Message, Some(Role::ToolResult))
        }
        (Some(b"\"system\""), Some(b"\"chat_compression\"")) => {
            Class::Entry(Kind::Compaction, None)
        }
        (Some(b"\"system\""), Some(b"\"custom_title\"")) => Class::Entry(Kind::SessionInfo, None),
        (Some(b"\"system\""), Some(b"\"session_model\"")) => Class::Entry(Kind::ModelChange, None),
        // This is the only kind of record that has no children and is never the leaf.
        (Some(b"\"system\""), Some(subtype)) if subtype.starts_with(b"\"session_artifact_") => {
            Class::Side
        }
        (Some(b"\"user\"" | b"\"tool_result\"" | b"\"system\""), _) => {
            Class::Entry(Kind::Custom, None)
        }
        _ => Class::Side,
    }
}
