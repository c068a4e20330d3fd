//! Sessions in databases, and sessions in several files.
//!
//! A database holds many sessions. Each has a path of its own, `DATABASE#ID`, that can be used like
//! the path of a session file. To be read, a session is written as lines, one record for each
//! message, in a form that its dialect defines; it is then read like any other log. The lines are
//! in a file without a name, and are written again when the database has changed.
//!
//! A session in several files has the path of the file that describes it, and is written as lines
//! in the same way.

use super::Dialect;
use super::home::SessionNames;
use crate::error::{Error, Result};
use crate::fs;
use crate::log::sqlite::{self, Database, MAGIC};
use crate::log::{FileJournal, FileStates, Journal, Scratch, scan};
use std::borrow::Cow;
use std::ffi::{OsStr, OsString};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// The way in which an agent stores sessions in a database.
#[derive(Debug)]
pub(crate) struct StoredFormat {
    /// The names of its databases.
    pub names: SessionNames,
    /// Returns whether a database is one of the agent's.
    pub recognizes: fn(&Database) -> bool,
    /// Returns all sessions.
    pub sessions: fn(&Database) -> io::Result<Vec<StoredRow>>,
    /// Writes the lines of a session. Returns whether the session exists.
    pub write: fn(&Database, &str, &mut dyn Write) -> io::Result<bool>,
}

/// The way in which an agent stores a session in several files.
#[derive(Debug)]
pub(crate) struct ScatteredFormat {
    /// Returns whether a file describes a session, according to its path.
    pub is_session: fn(&Path) -> bool,
    /// Returns the files and directories that show whether the session has changed.
    pub watched: fn(&Path) -> Vec<PathBuf>,
    /// Writes the lines of a session.
    pub write: fn(&Path, &mut dyn Write) -> io::Result<()>,
}

/// A session in a database, with the facts that are known without reading its messages.
#[derive(Debug, Clone, Default)]
pub(crate) struct StoredRow {
    pub id: String,
    /// The number of messages.
    pub messages: u64,
    /// The time of the last change, in Unix milliseconds.
    pub modified: i64,
    /// A hash that changes when the session changes.
    pub fingerprint: u64,
    /// Whether this is the session of a subagent, which is a part of another session.
    pub is_part: bool,
}

/// A session in a database.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct StoredSession {
    /// The path of the session: that of the database, `#`, and the id.
    pub path: PathBuf,
    /// The number of messages.
    pub messages: u64,
    /// The time of the last change, in Unix milliseconds.
    pub modified: i64,
    /// A hash that changes when the session changes.
    pub fingerprint: u64,
}

/// Returns whether this is the name of an agent's database.
///
/// ```
/// assert!(treering::dialect::is_database_name(b"opencode.db"));
/// assert!(!treering::dialect::is_database_name(b"chat.jsonl"));
/// ```
pub fn is_database_name(name: &[u8]) -> bool {
    let formats = Dialect::ALL.into_iter().filter_map(|dialect| dialect.facts().stored);
    formats.into_iter().any(|format| format.names.has(name))
}

/// Returns whether a path names a session that is not a single file of lines: a session in a
/// database, whose path is that of a file, `#` and an id, and does not exist itself; or a session
/// in several files.
///
/// ```
/// # use std::path::Path;
/// assert!(!treering::dialect::is_stored(Path::new("chat.jsonl")));
/// ```
pub fn is_stored(path: &Path) -> bool {
    split(path).is_some() || scattered(path).is_some()
}

/// Returns the format of a session in several files that `path` describes.
fn scattered(path: &Path) -> Option<&'static ScatteredFormat> {
    // Nearly all sessions are in files with another extension.
    path.extension().filter(|extension| *extension == "json")?;
    let formats = Dialect::ALL.into_iter().filter_map(|dialect| dialect.facts().scattered);
    formats.into_iter().find(|format| (format.is_session)(path)).filter(|_| path.is_file())
}

/// Returns the sessions in a database; `None` if it is not a database of an agent.
///
/// # Errors
///
/// Fails if the file cannot be read or is not a valid database.
///
/// ```
/// assert!(treering::dialect::stored_sessions("nowhere.db".as_ref()).is_err());
/// ```
pub fn stored_sessions(database: &Path) -> Result<Option<Vec<StoredSession>>> {
    let of = |row: StoredRow| StoredSession {
        path: joined(database, &row.id),
        messages: row.messages,
        modified: row.modified,
        fingerprint: row.fingerprint,
    };
    let rows = rows(database)?;
    Ok(rows.map(|rows| rows.into_iter().filter(|row| !row.is_part).map(of).collect()))
}

/// Returns the ids of all sessions in a database, including those of subagents.
pub(crate) fn stored_ids(database: &Path) -> Result<Vec<String>> {
    Ok(rows(database)?.unwrap_or_default().into_iter().map(|row| row.id).collect())
}

fn rows(database: &Path) -> Result<Option<Vec<StoredRow>>> {
    let rows = sqlite::read(database, |found| match format_of(found) {
        Some(format) => (format.sessions)(found).map(Some),
        None => Ok(None),
    });
    rows.map_err(Error::io(database, "read"))
}

fn format_of(database: &Database) -> Option<&'static StoredFormat> {
    let formats = Dialect::ALL.into_iter().filter_map(|dialect| dialect.facts().stored);
    formats.into_iter().find(|format| (format.recognizes)(database))
}

/// Opens the log in a file, or of a session in a database or in several files.
pub(crate) fn open(path: &Path) -> Result<FileJournal> {
    if let Some(format) = scattered(path) {
        let watched = FileStates::of((format.watched)(path));
        let file = Scratch::writer().and_then(|mut out| {
            (format.write)(path, &mut out)?;
            out.into_inner().map_err(io::IntoInnerError::into_error)
        });
        return Ok(FileJournal::made(file.map_err(Error::io(path, "read"))?, watched, path));
    }
    let Some((database, id)) = split(path) else {
        let journal = FileJournal::open(path)?;
        check_no_database(&journal, path)?;
        return Ok(journal);
    };
    let files = FileStates::of(vec![database.clone(), fs::beside(&database, "-wal")]);
    let file = sqlite::read(&database, |found| {
        let Some(format) = format_of(found) else { return Ok(None) };
        let mut out = Scratch::writer()?;
        let is_there = (format.write)(found, &id, &mut out)?;
        let file = out.into_inner().map_err(io::IntoInnerError::into_error)?;
        Ok(is_there.then_some(file))
    });
    match file.map_err(Error::io(path, "read"))? {
        Some(file) => Ok(FileJournal::made(file, files, path)),
        None => {
            let reason = "the database has no such session".to_owned();
            Err(Error::NotASession { path: path.to_owned(), reason })
        }
    }
}

/// Fails for a file that is a whole database, with advice on what to do instead.
fn check_no_database(journal: &FileJournal, path: &Path) -> Result<()> {
    if path.extension().is_none_or(|extension| extension != "db") {
        return Ok(());
    }
    let mut start = [0; MAGIC.len()];
    let got = scan::read_full(journal as &dyn Journal, 0, &mut start);
    if got.is_ok() && sqlite::is_database(&start) {
        let reason = "it is a database; `treering ls` lists its sessions, and PATH#ID names one";
        return Err(Error::NotASession { path: path.to_owned(), reason: reason.to_owned() });
    }
    Ok(())
}

/// Returns the path of a session in a database.
fn joined(database: &Path, id: &str) -> PathBuf {
    let mut path = OsString::from(database);
    path.push("#");
    path.push(&*escaped(id));
    path.into()
}

/// Returns the database and the id that a path names.
fn split(path: &Path) -> Option<(PathBuf, String)> {
    let name = path.file_name()?.to_str()?;
    let (file, id) = name.rsplit_once('#')?;
    let database = path.with_file_name(OsStr::new(file));
    let is_one = !file.is_empty() && !fs::exists(path) && database.is_file();
    is_one.then(|| (database, unescaped(id)))
}

/// Returns an id in a form that can be part of a file name. The ids of agents have only letters,
/// digits and `_` already.
fn escaped(id: &str) -> Cow<'_, str> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    if id.bytes().all(is_plain) {
        return Cow::Borrowed(id);
    }
    let escape = |byte: u8| match is_plain(byte) {
        true => char::from(byte).to_string(),
        false => format!("%{byte:02X}"),
    };
    Cow::Owned(id.bytes().map(escape).collect())
}

fn unescaped(text: &str) -> String {
    let (mut bytes, mut rest) = (Vec::new(), text.as_bytes());
    while let [first, after @ ..] = rest {
        let code = after.get(..2).and_then(|code| std::str::from_utf8(code).ok());
        let code = code.and_then(|code| u8::from_str_radix(code, 16).ok());
        match code.filter(|_| *first == b'%') {
            Some(code) => {
                bytes.push(code);
                rest = &after[2..];
            }
            None => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Mixes bytes into a fingerprint.
pub(super) fn mixed(fingerprint: u64, bytes: &[u8]) -> u64 {
    crate::id::fnv1a(fingerprint, bytes.iter().copied())
}

/// Returns JSON that a database stores as text, on one line. Text that is not a JSON object becomes
/// an object with that text.
pub(super) fn object_in_line(text: &str) -> Vec<u8> {
    use super::shape::ObjectBuilder;
    let bytes = text.trim().as_bytes();
    let is_object = bytes.starts_with(b"{")
        && crate::json::skip_value(bytes, 0).is_some_and(|end| end == bytes.len());
    match is_object {
        // A newline between the values of an object can be replaced by a space.
        true => bytes.iter().map(|byte| if *byte == b'\n' { b' ' } else { *byte }).collect(),
        false => ObjectBuilder::new().text("damaged", text).close(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_stand_in_paths_whatever_they_are() {
        for id in ["ses_1aB", "a b", "../x#y/z", "100%", "%41", "ä\n", ""] {
            assert!(!escaped(id).contains(['/', '#', '\n', '.']), "{id:?}");
            assert_eq!(unescaped(&escaped(id)), id);
        }
        assert_eq!(unescaped("%zz%4"), "%zz%4");
    }

    #[test]
    fn a_path_names_a_stored_session_only_beside_a_file() {
        let dir = tempfile::tempdir().unwrap();
        let database = dir.path().join("a#b.db");
        assert!(!is_stored(&joined(&database, "x")));
        std::fs::write(&database, "").unwrap();
        assert_eq!(split(&joined(&database, "x/y")), Some((database.clone(), "x/y".to_owned())));
        assert!(!is_stored(&database), "it is a file");
        assert!(open(&joined(&database, "x")).is_err());
    }
}
