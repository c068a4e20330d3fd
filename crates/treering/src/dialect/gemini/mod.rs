//! Gemini CLI: chats, read only.
//!
//! A chat is a header `{sessionId, projectHash}`, messages `{id, type, content}`, and commands that
//! begin with `$`. A message may be in the file several times: the last one counts, at the position
//! of the first. `$rewindTo` removes a message and all after it, and `$set` with `messages`
//! replaces the whole history, for example after a compression. [`link`] builds the tree.
//!
//! The chat of a subagent is a file of its own, in a directory beside the session's file that is named after the
//! session. Its header has the kind `subagent`.

mod decode;
mod link;

#[cfg(test)]
mod tests;

use super::agent::{AgentContext, PathRecords};
use super::detect::FirstRecord;
use super::facts::{Facts, HeaderPlace, Keys};
use super::genai::{is_response, parts};
use super::home::{AgentPlace, BaseDir, SessionNames, jsonl_files};
use super::inserted_text::InsertedText;
use super::members::MemberNames;
use super::shape::{self, get, is_object, literal, members, text, whole_line};
use super::subagents::SubagentFormat;
use super::{Class, Codec, Decoded, Linker, QuickRead};
use crate::entry::{Kind, Role};
use crate::error::Result;
use crate::fs::{self, Access};
use crate::header::Header;
use crate::json;
use std::ffi::OsStr;
use std::io::Read;
use std::path::{Path, PathBuf};

/// The dialect of Gemini CLI.
#[derive(Debug)]
pub(crate) struct Gemini;

static FACTS: Facts = Facts {
    // No record names its parent.
    keys: Keys { id: "id", parent: "\u{0}parent", time: "timestamp" },
    members: MemberNames {
        structural: &["projectHash", "sessionId"],
        data: &["args"],
        ..MemberNames::NONE
    },
    is_writable: false,
    header: HeaderPlace::Anywhere,
    own_types: &["user", "gemini", "info", "error", "warning", ""],
    inserted_texts: &[&INSERTED_TEXTS],
    updates_records: true,
    recognizes: Some(recognizes),
    project: Some(project),
    subagents: Some(&SUBAGENTS),
    // The directory is `chats` of each project; files of subagents are one level deeper.
    places: &[AgentPlace::new(
        BaseDir::VariableOrHome("GEMINI_CLI_HOME", ".gemini", ".gemini"),
        "tmp",
        2,
    )
    .named(SessionNames { start: "session-", ..SessionNames::ANY })],
    resume: Some(&["gemini", "--resume", "{id}"]),
    aliases: &["gemini-cli"],
    has_notes: true,
    leaves_empty_files: true,
    has_prices: false,
    ..Facts::DEFAULT
};

/// The texts that the program puts into user messages.
const INSERTED_TEXTS: [InsertedText; 2] =
    [("<session_context>", "</session_context>"), ("<hook_context>", "</hook_context>")];

/// Returns whether a record is the header of a chat, or one of its commands.
fn recognizes(record: &FirstRecord<'_>) -> bool {
    record.has_all(&["sessionId", "projectHash"]) && !record.has("type")
        || record.has_any(&["$set", "$rewindTo"])
}

/// Returns the project of a chat, which a file in the directory above `chats` names.
fn project(path: &Path) -> Option<String> {
    const LONGEST: u64 = 64 * 1024;
    let file = path.parent()?.parent()?.join(".project_root");
    let is_small = std::fs::symlink_metadata(&file)
        .is_ok_and(|metadata| metadata.is_file() && metadata.len() < LONGEST);
    let text = std::fs::read_to_string(file).ok().filter(|_| is_small)?;
    Some(text.trim().to_owned()).filter(|text| !text.is_empty())
}

/// The number of bytes of a session's id at the end of the name of its file.
const ID_START: usize = 8;

/// The file has to be opened for the whole id, unless no directory begins with the part of the id that
/// the name has.
const SUBAGENTS: SubagentFormat = SubagentFormat {
    directory: None,
    files: subagent_files,
    may_have: |path, directories| {
        let stem = path.file_stem().map_or(&b""[..], OsStr::as_encoded_bytes);
        stem.last_chunk::<ID_START>().is_some_and(|start| directories.has_start(start))
    },
};

/// Returns the files of a chat's subagents: in the directory beside it that has the id of its
/// session as its name. The name of the file has only the beginning of the id.
fn subagent_files(path: &Path) -> Vec<PathBuf> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    // Session ids have only such characters; others would be replaced by `_`.
    let id = session_id(path).filter(|id| !id.is_empty() && id.bytes().all(is_plain));
    let directory = path.parent().zip(id).map(|(chats, id)| chats.join(id));
    directory.map(|directory| jsonl_files(&directory)).unwrap_or_default()
}

/// Returns the id in the header of a chat.
fn session_id(path: &Path) -> Option<String> {
    /// A header has few members; that of a subagent has a list of directories.
    const LONGEST: u64 = 16 * 1024;
    let mut start = Vec::new();
    fs::open(path, Access::Read).ok()?.take(LONGEST).read_to_end(&mut start).ok()?;
    let header = start.split(|byte| *byte == b'\n').next()?;
    text(header, "sessionId").map(|id| id.into_owned())
}

impl Codec for Gemini {
    fn facts(&self) -> &'static Facts {
        &FACTS
    }

    fn quick_read<'a>(&self, line: &'a [u8]) -> QuickRead<'a> {
        let keys = ["id", "type", "content", "$set", "projectHash", "kind", "timestamp"];
        let Some([id, kind, content, set, project, file, time]) = whole_line(line, keys) else {
            return QuickRead::Unclear;
        };
        let class = class(id, kind, content, set, (project, file));
        shape::quick_read(line, class, [id, None, time])
    }

    fn classify(&self, _: &str, record: &[u8]) -> Class {
        let keys = ["id", "type", "content", "$set", "projectHash", "kind"];
        let [id, kind, content, set, project, file] = json::get_all(record, keys);
        class(id, kind, content, set, (project, file))
    }

    fn side_matters(&self, record: &[u8]) -> bool {
        link::is_command(record) || link::is_subagent(record)
    }

    fn linker(&self) -> Option<Box<dyn Linker>> {
        Some(Box::<link::Gemini>::default())
    }

    fn header(&self, record: &[u8]) -> Option<Header> {
        let [id, project, time, summary] =
            members(record, ["sessionId", "projectHash", "startTime", "summary"]);
        let text = |literal: Option<&[u8]>| Some(json::string(literal?)?.into_owned());
        let time = text(time).unwrap_or_default();
        let mut header = Header::foreign(&text(id)?, time, String::new(), record);
        header.title = text(summary);
        Some(header).filter(|_| project.is_some())
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
    id: Option<&[u8]>,
    kind: Option<&[u8]>,
    content: Option<&[u8]>,
    set: Option<&[u8]>,
    (project, file): (Option<&[u8]>, Option<&[u8]>),
) -> Class {
    if id.is_some_and(|id| id.starts_with(b"\"")) {
        return Class::Entry(
            match kind {
                Some(b"\"user\"") if !is_only_results(content) => {
                    return Class::Entry(Kind::Message, Some(Role::User));
                }
                Some(b"\"gemini\"") => return Class::Entry(Kind::Message, Some(Role::Assistant)),
                _ => Kind::Custom,
            },
            None,
        );
    }
    if project.is_some() {
        // The linker needs to see where the chat of a subagent begins.
        return if file == Some(link::SUBAGENT) { Class::Side } else { Class::Header };
    }
    match set.map(history).unwrap_or_default().as_slice() {
        [] => Class::Side,
        // The description of the environment, with which a chat begins.
        [only] if literal(only, "type") == Some(b"\"user\"") => {
            Class::Entry(Kind::Message, Some(Role::User))
        }
        _ => Class::Entry(Kind::Compaction, None),
    }
}

/// Returns the messages that a `$set` replaces the history with.
fn history(set: &[u8]) -> Vec<&[u8]> {
    let messages = get(set, "messages").filter(|messages| messages.starts_with(b"["));
    let messages = messages.map(json::elements).unwrap_or_default();
    messages.into_iter().filter(|message| is_object(message)).collect()
}

/// Returns whether a user message has only results of calls, which the answer with the calls has as
/// well.
fn is_only_results(content: Option<&[u8]>) -> bool {
    // For most messages the beginning is enough to decide.
    let may_be = content.is_some_and(|content| {
        content
            .get(..64.min(content.len()))
            .is_some_and(|start| memchr::memmem::find(start, b"functionResponse").is_some())
    });
    if !may_be {
        return false;
    }
    let parts = parts(content);
    !parts.is_empty() && parts.iter().all(|part| is_response(part))
}
