//! The files of versions before the database: one a session, one a message, one a part of a message.
//!
//! ```text
//! storage/session/PROJECT/ses_….json
//! storage/message/ses_…/msg_….json
//! storage/part/msg_…/prt_….json
//! ```
//!
//! The name of a file is its id; ids inside the file may be out of date. A subagent's session is
//! listed as a session of its own, because finding its parent would require reading all others.

use super::lines::{self, MessageKey, MessageLines};
use crate::dialect::shape::{ObjectBuilder, get, text};
use crate::dialect::stored::object_in_line;
use crate::fs;
use crate::json;
use std::ffi::OsStr;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// The size of the largest file that is read.
const MAX_SIZE: u64 = 256 << 20;

/// Returns whether a file describes a session.
pub(super) fn is_session(path: &Path) -> bool {
    let is_named = |start: &str| {
        let name = path.file_name().and_then(OsStr::to_str);
        name.is_some_and(|name| name.starts_with(start) && name.ends_with(".json"))
    };
    is_named("ses_") && storage(path).is_some()
}

/// Returns the directory of all sessions, messages and parts.
fn storage(session: &Path) -> Option<&Path> {
    let sessions = session.parent()?.parent()?;
    sessions
        .parent()
        .filter(|storage| sessions.ends_with("session") && storage.ends_with("storage"))
}

/// Returns the file of a session, which is rewritten with each message, and the directory of its
/// messages.
pub(super) fn watched(path: &Path) -> Vec<PathBuf> {
    let messages = storage(path).zip(stem(path)).map(|(all, id)| all.join("message").join(id));
    [Some(path.to_owned()), messages].into_iter().flatten().collect()
}

/// Writes a session, its messages by time.
pub(super) fn write(path: &Path, out: &mut dyn Write) -> io::Result<()> {
    let (Some(storage), Some(id)) = (storage(path), stem(path)) else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    let session = read(path)?;
    let reverted = lines::write_session(described(&session, id), revert(&session).as_deref(), out)?;
    let mut messages = Vec::new();
    for file in files(&storage.join("message").join(id))? {
        let Some(id) = stem(&file) else { continue };
        let info = json::without(&read(&file)?, &["id", "sessionID"]);
        let created = get(&info, "time").and_then(|time| get(time, "created"));
        let time = created.and_then(crate::entry::head::timestamp).unwrap_or(0);
        messages.push((MessageKey { time, id: id.to_owned(), sidechain: None }, info));
    }
    messages.sort();
    let mut lines = MessageLines::new(reverted);
    for (message, info) in messages {
        let mut parts = Vec::new();
        for file in files(&storage.join("part").join(&message.id))? {
            let Some(id) = stem(&file) else { continue };
            let part = json::without(&read(&file)?, &["id", "messageID", "sessionID"]);
            parts.push((id.to_owned(), part));
        }
        lines.write(&message, &info, parts, out)?;
    }
    Ok(())
}

/// Returns the members of a session for the first line.
fn described(session: &[u8], id: &str) -> ObjectBuilder {
    let mut described = ObjectBuilder::new().text("id", id);
    for name in ["parentID", "directory", "title", "version", "slug", "agent"] {
        if let Some(text) = text(session, name) {
            described = described.text(name, &text);
        }
    }
    if let Some(share) = get(session, "share").and_then(|share| text(share, "url")) {
        described = described.text("share", &share);
    }
    let times = get(session, "time").unwrap_or(b"{}");
    for (name, member) in [("time", "created"), ("updated", "updated"), ("archived", "archived")] {
        described = described.maybe(name, get(times, member).filter(|time| *time != b"null"));
    }
    described
}

/// Returns the position that a session was reverted to, as the session has it.
fn revert(session: &[u8]) -> Option<Vec<u8>> {
    get(session, "revert").filter(|revert| revert.starts_with(b"{")).map(<[u8]>::to_vec)
}

/// Returns the JSON files in a directory, in order; none if the directory does not exist.
fn files(directory: &Path) -> io::Result<Vec<PathBuf>> {
    let entries = match std::fs::read_dir(directory) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let mut files = Vec::new();
    for entry in entries {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "json") {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

/// Reads an object on one line. A file that was removed meanwhile becomes a damaged line.
fn read(path: &Path) -> io::Result<Vec<u8>> {
    let bytes = match fs::read(path, MAX_SIZE) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
        bytes => bytes?,
    };
    Ok(object_in_line(&String::from_utf8_lossy(&bytes)))
}

fn stem(path: &Path) -> Option<&str> {
    path.file_stem().and_then(OsStr::to_str)
}
