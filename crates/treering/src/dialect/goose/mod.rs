//! Goose: sessions in a database, and the `.jsonl` files of older versions; read only.
//!
//! The first line of a file describes the session (`working_dir`, `description`), all others are
//! messages in order. A session of the database is written as such lines, with one more: the tokens
//! that all of its requests used (`accumulated`).

mod decode;
mod rows;

#[cfg(test)]
mod tests;

use super::agent::{AgentContext, PathRecords};
use super::detect::FirstRecord;
use super::facts::{Facts, HeaderPlace, Keys, TimeFormat};
use super::home::{AgentPlace, BaseDir, SessionNames};
use super::members::MemberNames;
use super::shape::{get, is_object, members, whole_line};
use super::stored::StoredFormat;
use super::{Class, Codec, Decoded, QuickRead};
use crate::entry::head::{Head, Marks};
use crate::entry::{Kind, Role};
use crate::error::Result;
use crate::header::Header;
use crate::json;
use crate::tree::Shape;

/// The dialect of Goose.
#[derive(Debug)]
pub(crate) struct Goose;

static FACTS: Facts = Facts {
    // Messages do not name their parent, and most have no id.
    keys: Keys { id: "\u{0}id", parent: "\u{0}parent", time: "created" },
    members: MemberNames { structural: &["message_id", "session_id"], ..MemberNames::NONE },
    is_writable: false,
    header: HeaderPlace::Anywhere,
    shape: Some(Shape::Chain),
    time: TimeFormat::Seconds,
    own_types: &[""],
    recognizes: Some(recognizes),
    stored: Some(&STORED),
    places: &[
        AgentPlace::new(BaseDir::Variable("GOOSE_PATH_ROOT", "data"), "sessions", 0),
        AgentPlace::new(
            BaseDir::VariableOrHome("XDG_DATA_HOME", "goose", ".local/share/goose"),
            "sessions",
            0,
        ),
        AgentPlace::new(BaseDir::Home("Library/Application Support/Block/goose"), "sessions", 0),
    ],
    resume: Some(&["goose", "session", "--resume", "--session-id", "{id}"]),
    has_notes: true,
    // Goose counts tokens for whole sessions only.
    has_prices: false,
    ..Facts::DEFAULT
};

static STORED: StoredFormat = StoredFormat {
    names: SessionNames { start: "sessions", ends: &[".db"], except: &[] },
    recognizes: rows::recognizes,
    sessions: rows::sessions,
    write: rows::write,
};

/// Returns whether a record is the first line of a session, or a message.
fn recognizes(record: &FirstRecord<'_>) -> bool {
    let is_start = record.has("message_count") && record.has_any(&["working_dir", "description"]);
    !record.has("type") && (is_start || record.has_all(&["role", "created", "content"]))
}

impl Codec for Goose {
    fn facts(&self) -> &'static Facts {
        &FACTS
    }

    fn quick_read<'a>(&self, line: &'a [u8]) -> QuickRead<'a> {
        let keys = ["role", "content", "metadata", "created", "accumulated"];
        let Some([role, content, metadata, time, used]) = whole_line(line, keys) else {
            return QuickRead::Unclear;
        };
        match class(role, content, metadata, used) {
            Class::Entry(kind, role) => {
                let time = time.and_then(|time| FACTS.time.parse(time));
                let (id, parent, marks) = (None, None, Marks::default());
                QuickRead::Entry(Head { kind, role, id, parent, time, marks }, line.len())
            }
            _ => QuickRead::Side,
        }
    }

    fn classify(&self, _: &str, record: &[u8]) -> Class {
        let keys = ["role", "content", "metadata", "accumulated"];
        let [role, content, metadata, used] = json::get_all(record, keys);
        class(role, content, metadata, used)
    }

    /// Returns whether only the model sees the message.
    fn is_inserted(&self, record: &[u8]) -> bool {
        get(record, "metadata").and_then(|metadata| get(metadata, "userVisible")) == Some(b"false")
    }

    fn header(&self, record: &[u8]) -> Option<Header> {
        let keys = ["id", "working_dir", "description", "created_at", "role"];
        let [id, cwd, description, time, role] = members(record, keys);
        if role.is_some() || cwd.is_none() && description.is_none() {
            return None;
        }
        let text = |literal: Option<&[u8]>| {
            literal.and_then(json::string).unwrap_or_default().into_owned()
        };
        // A session without an id has the name of its file.
        let mut header = Header::foreign(&text(id), text(time), text(cwd), record);
        header.title = Some(text(description)).filter(|title| !title.trim().is_empty());
        Some(header)
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
    role: Option<&[u8]>,
    content: Option<&[u8]>,
    metadata: Option<&[u8]>,
    used: Option<&[u8]>,
) -> Class {
    match (role, used) {
        (None, Some(used)) if is_object(used) => return Class::Entry(Kind::Usage, None),
        (None, _) => return Class::Side,
        _ => {}
    }
    // The model does not see summarized messages and notes to the user.
    if metadata.and_then(|metadata| get(metadata, "agentVisible")) == Some(b"false") {
        return Class::Entry(Kind::Custom, None);
    }
    match role {
        Some(b"\"assistant\"") => Class::Entry(Kind::Message, Some(Role::Assistant)),
        Some(b"\"user\"") if decode::begins_with_a_result(content) => {
            Class::Entry(Kind::Message, Some(Role::ToolResult))
        }
        Some(b"\"user\"") => Class::Entry(Kind::Message, Some(Role::User)),
        _ => Class::Entry(Kind::Custom, None),
    }
}
