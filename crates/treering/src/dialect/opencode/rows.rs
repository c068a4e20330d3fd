//! Writes the rows of a session as lines.

use super::lines::{self, MessageKey, MessageLines, Reverted};
use crate::dialect::shape::ObjectBuilder;
use crate::dialect::stored::{StoredRow, mixed, object_in_line};
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

/// Returns all sessions; those that another session started are parts of it.
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
        let session = StoredRow { id: id.clone(), modified, fingerprint, ..StoredRow::default() };
        sessions.insert(id, session);
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
    // A subagent's work changes the session that started it, directly or indirectly.
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
    // The order must be the same every time.
    below.sort_by(|a, b| a.1.id.cmp(&b.1.id));
    for (top, child) in below {
        if let Some(session) = sessions.get_mut(&top) {
            session.messages += child.messages;
            session.modified = session.modified.max(child.modified);
            session.fingerprint = mixed(session.fingerprint, &child.fingerprint.to_le_bytes());
        }
    }
    // Sessions that started each other have no top, so all of them are shown.
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
    found.iter_mut().for_each(|session| session.is_part = is_below(&session.id));
    found.sort_by(|a, b| a.id.cmp(&b.id));
    Ok(found)
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
    let mut lines = MessageLines::new(reverted);
    for message in &messages {
        let mut info = None;
        database.rows_with(tables.message, "id", &message.id, |row| {
            info = row.text("data")?.map(|data| object_in_line(&data));
            Ok(())
        })?;
        let Some(info) = info else { continue };
        let mut parts = Vec::new();
        database.rows_with(tables.part, "message_id", &message.id, |row| {
            let id = row.text("id")?.unwrap_or_default().into_owned();
            parts.push((id, object_in_line(&row.text("data")?.unwrap_or_default())));
            Ok(())
        })?;
        lines.write(message, &info, parts, out)?;
    }
    Ok(true)
}

/// Writes the first line. Returns the position that the session was reverted to.
fn write_session(row: &Row<'_>, out: &mut dyn Write) -> io::Result<Option<Reverted>> {
    let mut session = ObjectBuilder::new();
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
    lines::write_session(session, revert.as_deref(), out)
}
