//! The header of a session: its id, project and version. It is metadata, not an entry of the tree.

use crate::id::SessionId;
use crate::json;
use std::path::Path;

/// The version that this release writes.
pub const VERSION: u64 = 3;

/// A session's header.
///
/// ```
/// use treering::Session;
/// let header = Session::in_memory("/project").header();
/// assert_eq!((header.version, header.cwd.as_str()), (3, "/project"));
/// assert_eq!(header.get("type"), Some(&b"\"session\""[..]));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Header {
    /// The session's id; empty if the file has none and its name is unknown.
    pub id: SessionId,
    /// The version of the session; 3 if the file states none but its entries form a tree.
    pub version: u64,
    /// The time at which the session was created, as written in the file.
    pub timestamp: String,
    /// The project directory that the session belongs to.
    pub cwd: String,
    /// The path or the id of the session that this one was forked from.
    pub parent_session: Option<String>,
    /// The session's name, if the header holds it.
    pub(crate) title: Option<String>,
    /// The version that the header states; 0 if it states none.
    pub(crate) declared: u64,
    /// Whether the id was taken from the name of the file, because the header has none.
    pub(crate) is_named_by_file: bool,
    pub(crate) raw: Vec<u8>,
}

impl Header {
    /// Creates a new header of the current version.
    pub(crate) fn new(id: &SessionId, cwd: &Path, parent: Option<&str>) -> Self {
        let timestamp = crate::time::format(crate::time::now());
        let cwd = cwd.to_string_lossy().into_owned();
        let mut raw = format!("{{\"type\":\"session\",\"version\":{VERSION}").into_bytes();
        let mut field = |key: &str, value: &str| {
            raw.extend_from_slice(format!(",\"{key}\":").as_bytes());
            json::write_string(&mut raw, value);
        };
        field("id", id.as_str());
        field("timestamp", &timestamp);
        field("cwd", &cwd);
        if let Some(parent) = parent {
            field("parentSession", parent);
        }
        raw.push(b'}');
        let (id, parent_session) = (id.clone(), parent.map(str::to_owned));
        Header { id, timestamp, cwd, parent_session, raw, ..Header::unknown() }
    }

    /// Returns the header of another agent's session, with the fields that its codec read in `raw`.
    pub(crate) fn foreign(id: &str, timestamp: String, cwd: String, raw: &[u8]) -> Self {
        let id = SessionId::of_file(id);
        Header { id, timestamp, cwd, raw: raw.to_vec(), ..Header::unknown() }
    }

    /// Returns the header of a session that has none.
    pub(crate) fn unknown() -> Self {
        let (id, timestamp, cwd) = (SessionId::of_file(""), String::new(), String::new());
        let (version, raw, parent_session) = (VERSION, b"{}".to_vec(), None);
        let (title, declared, is_named_by_file) = (None, version, false);
        Header {
            id,
            version,
            timestamp,
            cwd,
            parent_session,
            title,
            declared,
            is_named_by_file,
            raw,
        }
    }

    /// Sets the id of a session without one to the name of its file, without extensions.
    pub(crate) fn take_id_of(&mut self, path: &Path) {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let stem = name.strip_suffix(".zst").unwrap_or(&name);
        self.id = SessionId::of_file(stem.strip_suffix(".jsonl").unwrap_or(stem));
        self.is_named_by_file = true;
    }

    /// Returns the id that the header states; empty if it states none.
    pub(crate) fn own_id(&self) -> &str {
        if self.is_named_by_file { "" } else { self.id.as_str() }
    }

    /// Reads a header line. A header without an id is recognized by its version and project; its id
    /// is then empty.
    pub(crate) fn parse(raw: &[u8]) -> Option<Self> {
        let text = |key| json::get(raw, key).and_then(json::string).map(|text| text.into_owned());
        let version = json::get(raw, "version").and_then(crate::entry::number);
        let version = version.map_or(0, |version| version.clamp(0.0, 1e9) as u64);
        let id = match json::get(raw, "id") {
            Some(_) => text("id")?,
            None => text("cwd").filter(|_| version > 0).map(|_| String::new())?,
        };
        Some(Header {
            id: SessionId::of_file(&id),
            version,
            declared: version,
            timestamp: text("timestamp").unwrap_or_default(),
            cwd: text("cwd").unwrap_or_default(),
            parent_session: text("parentSession"),
            title: text("title"),
            is_named_by_file: false,
            raw: raw.to_vec(),
        })
    }

    /// Returns this header as one that was read from a part of the record `raw`.
    pub(crate) fn standing_as(mut self, raw: &[u8]) -> Self {
        self.raw = raw.to_vec();
        self
    }

    /// Returns the header's bytes as in the file.
    pub fn raw(&self) -> &[u8] {
        &self.raw
    }

    /// Returns the raw JSON of a field, including fields that treering does not know.
    pub fn get(&self, key: &str) -> Option<&[u8]> {
        json::get(&self.raw, key)
    }

    /// Returns the time at which the session was created, in Unix milliseconds.
    pub fn created(&self) -> Option<i64> {
        crate::time::parse(self.timestamp.as_bytes())
    }
}
