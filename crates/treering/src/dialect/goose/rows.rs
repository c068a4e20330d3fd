//! Writes the rows of a session in Goose's database as the lines that older versions wrote.

use crate::dialect::shape::ObjectBuilder;
use crate::dialect::stored::{StoredRow, mixed, object_in_line};
use crate::json;
use crate::log::sqlite::{Database, Row, Table};
use std::collections::HashMap;
use std::io::{self, Write};

/// Returns whether a database has Goose's tables.
pub(super) fn recognizes(database: &Database) -> bool {
    tables(database).is_some()
}

fn tables(database: &Database) -> Option<(&Table, &Table)> {
    let table =
        |name, columns: &[&str]| database.table(name).filter(|table| table.has_columns(columns));
    let sessions = table("sessions", &["id", "working_dir"])?;
    let messages = table("messages", &["session_id", "role", "content_json", "created_timestamp"])?;
    Some((sessions, messages))
}

/// Returns all sessions except those that Goose never shows.
pub(super) fn sessions(database: &Database) -> io::Result<Vec<StoredRow>> {
    let Some((sessions, messages)) = tables(database) else { return Ok(Vec::new()) };
    let mut found: HashMap<String, StoredRow> = HashMap::new();
    database.rows(sessions, |row| {
        if row.text("session_type")?.as_deref() == Some("hidden") {
            return Ok(());
        }
        let id = row.text("id")?.unwrap_or_default().into_owned();
        let modified = time(row, "updated_at")?.unwrap_or(0);
        let fingerprint = mixed(0, row.start());
        found.insert(id.clone(), StoredRow { id, modified, fingerprint, ..StoredRow::default() });
        Ok(())
    })?;
    database.rows(messages, |row| {
        let id = row.text("session_id")?.unwrap_or_default();
        if let Some(session) = found.get_mut(&*id) {
            session.messages += 1;
            // A message is never changed, and its number is never used again.
            session.fingerprint = mixed(session.fingerprint, &row.id().to_le_bytes());
        }
        Ok(())
    })?;
    let mut found: Vec<StoredRow> = found.into_values().collect();
    found.sort_by(|a, b| a.id.cmp(&b.id));
    Ok(found)
}

/// Returns the Unix milliseconds of a time such as `2026-03-02 08:00:00`.
fn time(row: &Row<'_>, column: &str) -> io::Result<Option<i64>> {
    let text = row.text(column)?.map(|text| iso(&text));
    Ok(text.and_then(|text| crate::entry::head::timestamp(&json::quoted(&text))))
}

/// Returns a time of SQLite, which is in UTC without stating it, as ISO 8601.
fn iso(text: &str) -> String {
    match text.contains('T') || text.len() < 19 {
        true => text.to_owned(),
        false => format!("{}Z", text.trim_end_matches('Z').replacen(' ', "T", 1)),
    }
}

/// Writes a session: its first line, its usage, and its messages by time.
pub(super) fn write(database: &Database, id: &str, out: &mut dyn Write) -> io::Result<bool> {
    let Some((sessions, messages)) = tables(database) else { return Ok(false) };
    let mut order = Vec::new();
    database.rows_with(messages, "session_id", id, |row| {
        order.push((row.integer("created_timestamp")?.unwrap_or(0), row.id()));
        Ok(())
    })?;
    order.sort_unstable();
    let mut is_there = false;
    database.rows_with(sessions, "id", id, |row| {
        if !std::mem::replace(&mut is_there, true) {
            write_session(row, order.len(), out)?;
        }
        Ok(())
    })?;
    if !is_there {
        return Ok(false);
    }
    for (_, number) in order {
        database.row(messages, number, |row| write_message(row, out))?;
    }
    Ok(true)
}

fn write_session(row: &Row<'_>, messages: usize, out: &mut dyn Write) -> io::Result<()> {
    let mut line = ObjectBuilder::new();
    for column in ["id", "working_dir"] {
        line = line.text(column, &row.text(column)?.unwrap_or_default());
    }
    // The name was called the description in older versions.
    let name = row.text("name")?.filter(|name| !name.is_empty());
    let name = name.or(row.text("description")?).unwrap_or_default();
    line = line.text("description", &name).raw("message_count", messages.to_string().as_bytes());
    for column in ["created_at", "updated_at"] {
        line = line.text(column, &iso(&row.text(column)?.unwrap_or_default()));
    }
    for column in ["session_type", "schedule_id", "provider_name"] {
        if let Some(text) = row.text(column)? {
            line = line.text(column, &text);
        }
    }
    out.write_all(&line.close())?;
    out.write_all(b"\n")?;
    write_usage(row, out)
}

/// Writes the token counts of the session, which Goose keeps for all of its requests together.
fn write_usage(row: &Row<'_>, out: &mut dyn Write) -> io::Result<()> {
    let count =
        |column| Ok::<u64, io::Error>(row.integer(column)?.unwrap_or(0).max(0).cast_unsigned());
    let (input, output) = (count("accumulated_input_tokens")?, count("accumulated_output_tokens")?);
    if input == 0 && output == 0 {
        return Ok(());
    }
    let config = row.text("model_config_json")?.map(|config| object_in_line(&config));
    let model = config.as_deref().and_then(|config| json::get(config, "model_name"));
    let used = ObjectBuilder::new()
        .raw("input", input.to_string().as_bytes())
        .raw("output", output.to_string().as_bytes())
        .text("provider", &row.text("provider_name")?.unwrap_or_default())
        .raw("model", model.filter(|model| model.starts_with(b"\"")).unwrap_or(b"\"\""));
    let seconds = time(row, "updated_at")?.unwrap_or(0) / 1000;
    let line = ObjectBuilder::new()
        .raw("accumulated", &used.close())
        .raw("created", seconds.to_string().as_bytes());
    out.write_all(&line.close())?;
    out.write_all(b"\n")
}

fn write_message(row: &Row<'_>, out: &mut dyn Write) -> io::Result<()> {
    let id = row.text("message_id")?;
    let content = row.text("content_json")?.unwrap_or_default();
    let content = content.trim().as_bytes();
    let is_list = content.starts_with(b"[")
        && json::skip_value(content, 0).is_some_and(|end| end == content.len());
    let content: Vec<u8> = match is_list {
        true => content.iter().map(|byte| if *byte == b'\n' { b' ' } else { *byte }).collect(),
        false => b"[]".to_vec(),
    };
    let created = row.integer("created_timestamp")?.unwrap_or(0);
    let metadata = row.text("metadata_json")?.map(|metadata| object_in_line(&metadata));
    let line = ObjectBuilder::new()
        .raw("id", &id.map_or_else(|| b"null".to_vec(), |id| json::quoted(&id)))
        .text("role", &row.text("role")?.unwrap_or_default())
        .raw("created", created.to_string().as_bytes())
        .raw("content", &content)
        .maybe("metadata", metadata.as_deref());
    out.write_all(&line.close())?;
    out.write_all(b"\n")
}
