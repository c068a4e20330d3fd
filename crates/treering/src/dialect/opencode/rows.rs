//! The rows of a session, written as lines.

use crate::dialect::shape::{Object, get, literal, quote, text};
use crate::dialect::stored::{StoredRow, mixed, object_in_line};
use crate::json;
use crate::log::sqlite::{Database, Row, Table};
use std::collections::{HashMap, HashSet};
use std::io::{self, Write};

/// Returns whether a database has OpenCode's tables.
pub(super) fn recognizes(database: &Database) -> bool {
    tables(database).is_some()
}

struct Tables<'a> {
    session: &'a Table,
    message: &'a Table,
    part: &'a Table,
}

fn tables(database: &Database) -> Option<Tables<'_>> {
    let table =
        |name, columns: &[&str]| database.table(name).filter(|table| table.has_columns(columns));
    Some(Tables {
        session: table("session", &["id", "directory", "title"])?,
        message: table("message", &["id", "session_id", "data"])?,
        part: table("part", &["id", "message_id", "data"])?,
    })
}

/// Returns the sessions that no other session began.
pub(super) fn sessions(database: &Database) -> io::Result<Vec<StoredRow>> {
    let Some(tables) = tables(database) else { return Ok(Vec::new()) };
    let mut sessions: HashMap<String, StoredRow> = HashMap::new();
    let mut parents: HashMap<String, String> = HashMap::new();
    database.rows(tables.session, |row| {
        let id = row.text("id")?.unwrap_or_default().into_owned();
        let modified = row.integer("time_updated")?.unwrap_or(0);
        if let Some(parent) = row.text("parent_id")? {
            parents.insert(id.clone(), parent.into_owned());
        }
        let fingerprint = mixed(0, row.start());
        sessions.insert(id.clone(), StoredRow { id, messages: 0, modified, fingerprint });
        Ok(())
    })?;
    database.rows(tables.message, |row| {
        let id = row.text("session_id")?.unwrap_or_default();
        if let Some(session) = sessions.get_mut(&*id) {
            session.messages += 1;
            session.modified = session.modified.max(row.integer("time_updated")?.unwrap_or(0));
            session.fingerprint = mixed(session.fingerprint, row.start());
        }
        Ok(())
    })?;
    // What a subagent does changes the session that began it, however many are between them.
    let parents: HashMap<String, String> =
        parents.into_iter().filter(|(_, parent)| sessions.contains_key(parent)).collect();
    let mut below = Vec::new();
    for (id, parent) in &parents {
        let (mut top, mut seen) = (parent, HashSet::from([id]));
        while let Some(parent) = parents.get(top).filter(|_| seen.insert(top)) {
            top = parent;
        }
        below.extend(sessions.get(id).map(|session| (top.clone(), session.clone())));
    }
    // In an order that does not change.
    below.sort_by(|a, b| a.1.id.cmp(&b.1.id));
    for (top, child) in below {
        if let Some(session) = sessions.get_mut(&top) {
            session.messages += child.messages;
            session.modified = session.modified.max(child.modified);
            session.fingerprint = mixed(session.fingerprint, &child.fingerprint.to_le_bytes());
        }
    }
    // Sessions that began each other have no top; they are all shown.
    let is_below = |id: &str| {
        let (mut at, mut seen) = (id, HashSet::from([id]));
        while let Some(parent) = parents.get(at) {
            if !seen.insert(parent) {
                return false;
            }
            at = parent;
        }
        at != id
    };
    let mut found: Vec<StoredRow> = sessions.into_values().collect();
    found.retain(|session| !is_below(&session.id));
    found.sort_by(|a, b| a.id.cmp(&b.id));
    Ok(found)
}

/// A message that is to be written: its place in time, and its row.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct MessageKey {
    time: i64,
    id: String,
    /// The session of a subagent.
    sidechain: Option<String>,
}

/// Writes a session and those of its subagents, by time.
pub(super) fn write(database: &Database, id: &str, out: &mut dyn Write) -> io::Result<bool> {
    let Some(tables) = tables(database) else { return Ok(false) };
    let mut reverted = None;
    let mut is_there = false;
    database.rows_with(tables.session, "id", id, |row| {
        if !std::mem::replace(&mut is_there, true) {
            reverted = write_session(row, out)?;
        }
        Ok(())
    })?;
    if !is_there {
        return Ok(false);
    }
    let mut messages = Vec::new();
    let mut sessions = vec![id.to_owned()];
    let mut known: HashSet<String> = sessions.iter().cloned().collect();
    while let Some(session) = sessions.pop() {
        let sidechain = Some(&session).filter(|session| *session != id);
        database.rows_with(tables.message, "session_id", &session, |row| {
            let time = row.integer("time_created")?.unwrap_or(0);
            let id = row.text("id")?.unwrap_or_default().into_owned();
            messages.push(MessageKey { time, id, sidechain: sidechain.cloned() });
            Ok(())
        })?;
        database.rows_with(tables.session, "parent_id", &session, |row| {
            let child = row.text("id")?.unwrap_or_default().into_owned();
            if known.insert(child.clone()) {
                sessions.push(child);
            }
            Ok(())
        })?;
    }
    messages.sort();
    let mut writer = Messages { database, tables, reverted, tails: HashMap::new() };
    messages.iter().try_for_each(|message| writer.write(message, out))?;
    Ok(true)
}

/// The place from which a session was taken back.
struct Reverted {
    message: String,
    part: Option<String>,
}

/// Writes the first line. Returns the place from which the session was taken back.
fn write_session(row: &Row<'_>, out: &mut dyn Write) -> io::Result<Option<Reverted>> {
    let mut session = Object::new();
    let columns = [
        ("id", "id"),
        ("parentID", "parent_id"),
        ("directory", "directory"),
        ("title", "title"),
        ("version", "version"),
        ("slug", "slug"),
        ("agent", "agent"),
        ("share", "share_url"),
    ];
    for (name, column) in columns {
        if let Some(text) = row.text(column)? {
            session = session.text(name, &text);
        }
    }
    let names =
        [("time", "time_created"), ("updated", "time_updated"), ("archived", "time_archived")];
    for (name, column) in names {
        if let Some(time) = row.integer(column)? {
            session = session.raw(name, time.to_string().as_bytes());
        }
    }
    let revert = row.text("revert")?.map(|revert| object_in_line(&revert));
    let reverted = revert.as_deref().and_then(|revert| {
        let part = text(revert, "partID").map(|part| part.into_owned());
        Some(Reverted { message: text(revert, "messageID")?.into_owned(), part })
    });
    let mut line = Object::new().raw("session", &session.close());
    if let Some(Reverted { message, part }) = &reverted {
        line = line.text("revertedFrom", &reverted_id(message, part.is_some()));
    }
    line = line.maybe("revert", revert.as_deref());
    out.write_all(&line.close())?;
    out.write_all(b"\n")?;
    Ok(reverted)
}

/// Returns the id of the first record that was taken back. Where only some parts of a message were, they
/// are a record of their own.
fn reverted_id(message: &str, is_part: bool) -> String {
    let end = if is_part { ".reverted" } else { "" };
    format!("{message}{end}")
}

struct Messages<'a> {
    database: &'a Database,
    tables: Tables<'a>,
    reverted: Option<Reverted>,
    /// The first message that stays, of each compaction that was asked for.
    tails: HashMap<String, Vec<u8>>,
}

impl Messages<'_> {
    fn write(&mut self, message: &MessageKey, out: &mut dyn Write) -> io::Result<()> {
        let mut info = None;
        self.database.rows_with(self.tables.message, "id", &message.id, |row| {
            info = row.text("data")?.map(|data| object_in_line(&data));
            Ok(())
        })?;
        let Some(info) = info else { return Ok(()) };
        let mut parts = Vec::new();
        self.database.rows_with(self.tables.part, "message_id", &message.id, |row| {
            let id = row.text("id")?.unwrap_or_default().into_owned();
            let data = row.text("data")?.unwrap_or_default();
            let part = json::with_member(&object_in_line(&data), "id", &json::quoted(&id));
            parts.push((id, part));
            Ok(())
        })?;
        parts.sort();
        let compaction =
            parts.iter().find(|(_, part)| get(part, "type") == Some(b"\"compaction\""));
        if let Some(tail) = compaction.and_then(|(_, part)| literal(part, "tail_start_id")) {
            self.tails.insert(message.id.clone(), tail.to_vec());
        }
        let asked_by = text(&info, "parentID");
        let tail = asked_by.and_then(|id| self.tails.get(&*id)).cloned();
        let tail = tail.filter(|_| get(&info, "summary") == Some(b"true"));
        let cut = self.reverted.as_ref().filter(|reverted| reverted.message == message.id);
        let cut = cut.and_then(|reverted| reverted.part.as_ref());
        let cut = cut.map_or(parts.len(), |first| parts.partition_point(|(id, _)| id < first));
        let (kept, reverted) = parts.split_at(cut);
        write_line(&message.id, message, tail.as_deref(), &info, kept, out)?;
        if !reverted.is_empty() {
            // Its tokens are those of the whole message, which count once.
            let info = Object::new().raw("role", &quote(b"assistant")).close();
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
    let mut line = Object::new().text("id", id);
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
