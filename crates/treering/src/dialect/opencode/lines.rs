//! Writes the lines of a session from its messages and their parts.

use crate::dialect::shape::{ObjectBuilder, get, literal, quote, text};
use crate::json;
use std::collections::HashMap;
use std::io::{self, Write};

/// The sort key of a message: its time and its id.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct MessageKey {
    pub time: i64,
    pub id: String,
    /// The session of a subagent that the message belongs to, if any.
    pub sidechain: Option<String>,
}

/// The position that a session was reverted to.
pub(super) struct Reverted {
    message: String,
    part: Option<String>,
}

/// Writes the first line. Returns the position that the session was reverted to.
pub(super) fn write_session(
    session: ObjectBuilder,
    revert: Option<&[u8]>,
    out: &mut dyn Write,
) -> io::Result<Option<Reverted>> {
    let reverted = revert.and_then(|revert| {
        let part = text(revert, "partID").map(|part| part.into_owned());
        Some(Reverted { message: text(revert, "messageID")?.into_owned(), part })
    });
    let mut line = ObjectBuilder::new().raw("session", &session.close());
    if let Some(Reverted { message, part }) = &reverted {
        line = line.text("revertedFrom", &reverted_id(message, part.is_some()));
    }
    line = line.maybe("revert", revert);
    out.write_all(&line.close())?;
    out.write_all(b"\n")?;
    Ok(reverted)
}

/// Returns the id of the first record that was reverted. If only some parts of a message were
/// reverted, they are a record of their own.
fn reverted_id(message: &str, is_part: bool) -> String {
    let end = if is_part { ".reverted" } else { "" };
    format!("{message}{end}")
}

/// Writes the lines of messages, by time.
pub(super) struct MessageLines {
    reverted: Option<Reverted>,
    /// The first message that is kept, for each requested compaction.
    tails: HashMap<String, Vec<u8>>,
}

impl MessageLines {
    pub(super) fn new(reverted: Option<Reverted>) -> Self {
        MessageLines { reverted, tails: HashMap::new() }
    }

    /// Writes a message with its parts, which may be in any order.
    pub(super) fn write(
        &mut self,
        message: &MessageKey,
        info: &[u8],
        mut parts: Vec<(String, Vec<u8>)>,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        for (id, part) in &mut parts {
            *part = json::with_member(part, "id", &json::quoted(id));
        }
        parts.sort();
        let compaction =
            parts.iter().find(|(_, part)| get(part, "type") == Some(b"\"compaction\""));
        if let Some(tail) = compaction.and_then(|(_, part)| literal(part, "tail_start_id")) {
            self.tails.insert(message.id.clone(), tail.to_vec());
        }
        let asked_by = text(info, "parentID");
        let tail = asked_by.and_then(|id| self.tails.get(&*id)).cloned();
        let tail = tail.filter(|_| get(info, "summary") == Some(b"true"));
        let cut = self.reverted.as_ref().filter(|reverted| reverted.message == message.id);
        let cut = cut.and_then(|reverted| reverted.part.as_ref());
        let cut = cut.map_or(parts.len(), |first| parts.partition_point(|(id, _)| id < first));
        let (kept, reverted) = parts.split_at(cut);
        write_line(&message.id, message, tail.as_deref(), info, kept, out)?;
        if !reverted.is_empty() {
            // The token counts are those of the whole message, and must count once.
            let info = ObjectBuilder::new().raw("role", &quote(b"assistant")).close();
            let id = reverted_id(&message.id, true);
            write_line(&id, message, None, &info, reverted, out)?;
        }
        Ok(())
    }
}

fn write_line(
    id: &str,
    message: &MessageKey,
    tail: Option<&[u8]>,
    info: &[u8],
    parts: &[(String, Vec<u8>)],
    out: &mut dyn Write,
) -> io::Result<()> {
    let mut line = ObjectBuilder::new().text("id", id);
    if let Some(sidechain) = &message.sidechain {
        line = line.text("sidechain", sidechain);
    }
    line = line.maybe("tail", tail).raw("time", message.time.to_string().as_bytes());
    out.write_all(&line.raw("info", info).into_open())?;
    out.write_all(b",\"parts\":[")?;
    for (at, (_, part)) in parts.iter().enumerate() {
        out.write_all(if at > 0 { b"," } else { b"" })?;
        out.write_all(part)?;
    }
    out.write_all(b"]}\n")
}
