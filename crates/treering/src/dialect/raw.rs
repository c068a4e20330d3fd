//! Records that a caller supplies in the agent's own format, to be written unchanged.
//!
//! The session adds only the id, the parent and the time, if the record does not have them. The
//! line is read again before it is written: it must be one entry with this id and parent. A message
//! in the agent's usual format that has all three is read only once.

use super::split::{SegmentKind, split};
use super::{Codec, Dialect, QuickRead};
use crate::entry::head::{Head, MAX_ID, Name};
use crate::entry::{Kind, NewEntry, Parent, Record, check_utf8};
use crate::error::{Error, Result};
use crate::id::EntryId;
use crate::json::{self, with_head_member};
use memchr::memmem;

/// Returns the entry for a record of a dialect.
///
/// # Errors
///
/// Fails with [`Error::InvalidEntry`] if the record is not one complete entry, or if its id, parent
/// or time is invalid.
pub(crate) fn entry(dialect: Dialect, record: &[u8]) -> Result<NewEntry> {
    let (codec, facts) = (dialect.codec(), dialect.facts());
    if !facts.is_writable {
        return Err(Error::ReadOnlyDialect(dialect));
    }
    check_utf8("the record", record)?;
    if let Some(entry) = usual(dialect, record) {
        return Ok(entry);
    }
    let mut record = record.trim_ascii().to_vec();
    // Outside a string, a raw line break is white space in JSON, but it would end the record in a
    // session file.
    for byte in record.iter_mut().filter(|byte| matches!(byte, b'\n' | b'\r')) {
        *byte = b' ';
    }
    let masked = facts.json.masked(&record);
    let head = only_entry(&masked, codec).map_err(|why| refused(dialect, why))?;
    // A header of another dialect among the first records would decide the dialect of the file.
    if json::get(&masked, "type").and_then(json::string).is_some_and(|name| name == "session") {
        return Err(refused(dialect, "it is the header of a session"));
    }
    let keys = &facts.keys;
    let mut entry = codec.decode(&facts.json.standard(&record)).entry;
    entry.role = head.role;
    let [id, parent, time] = json::get_all(&masked, [keys.id, keys.parent, keys.time]);
    entry.id = match id {
        None => None,
        Some(literal) => match json::string(literal) {
            Some(id) if (1..=MAX_ID).contains(&id.len()) => Some(EntryId::from(&*id)),
            _ => return Err(refused(dialect, &format!("{:?} is not a name", keys.id))),
        },
    };
    entry.parent = match parent {
        None => Parent::Leaf,
        Some(b"null") => Parent::Root,
        Some(literal) => match json::string(literal) {
            Some(parent) if !parent.is_empty() => Parent::Entry(EntryId::from(&*parent)),
            _ => return Err(refused(dialect, &format!("{:?} is not an id", keys.parent))),
        },
    };
    entry.timestamp = match (time, head.time) {
        (None, _) => None,
        (Some(_), Some(millis)) => Some(json::quoted(&crate::time::format(millis))),
        (Some(_), None) => {
            return Err(refused(dialect, &format!("{:?} is not a time", keys.time)));
        }
    };
    drop(masked);
    entry.record = Some(Record { dialect, bytes: record, usual: None });
    Ok(entry)
}

/// Returns the entry of a complete message in the usual format of its dialect, with an id, a parent
/// and a time; `None` for everything else.
///
/// The head is what every later reader of the line finds: see [`split`](super::split).
fn usual(dialect: Dialect, record: &[u8]) -> Option<NewEntry> {
    let (codec, facts) = (dialect.codec(), dialect.facts());
    let QuickRead::Entry(head, used) = codec.quick_read(record) else { return None };
    let (id, parent) = (head.id?, head.parent?);
    let is_name = |id: &Name<'_>| !id.is_number && (1..=MAX_ID).contains(&id.text.len());
    let is_whole = json::skip_value(record, 0) == Some(record.len());
    if head.kind != Kind::Message
        || !(is_name(&id) && is_name(&parent))
        || memchr::memchr2(b'\n', b'\r', record).is_some()
        || !is_whole
        || memmem::find(record.get(used..)?, facts.keys.parent.as_bytes()).is_some()
    {
        return None;
    }
    let mut entry = NewEntry::new(Kind::Message);
    entry.role = head.role;
    entry.id = Some(EntryId::from(&*id.text));
    entry.parent = Parent::Entry(EntryId::from(&*parent.text));
    entry.record = Some(Record { dialect, bytes: record.to_vec(), usual: Some(head.time?) });
    Some(entry)
}

/// Returns the line of a record with the missing id, parent and time added, without a newline.
///
/// # Errors
///
/// Fails with [`Error::InvalidEntry`] if the line is not read as this entry with this parent.
pub(crate) fn placed(
    dialect: Dialect,
    record: &[u8],
    id: &EntryId,
    parent: Option<&EntryId>,
    millis: i64,
) -> Result<Vec<u8>> {
    let facts = dialect.facts();
    let keys = &facts.keys;
    let mut line = record.to_vec();
    let masked = facts.json.masked(record);
    let [stated_id, stated_parent, stated_time] =
        json::get_all(&masked, [keys.id, keys.parent, keys.time]);
    let is_whole = stated_time.is_some()
        && stated_id.and_then(json::string).is_some_and(|stated| stated == id.as_str())
        && stated_parent.is_some_and(|stated| match parent {
            Some(parent) => json::string(stated).is_some_and(|stated| stated == parent.as_str()),
            None => stated == b"null",
        });
    // A record with an id, a parent and a time was checked by [`entry`], and is written unchanged.
    if is_whole {
        return Ok(line);
    }
    // The member that is added last is next to the type.
    if stated_time.is_none() {
        line = with_head_member(&line, keys.time, &facts.time.literal(millis));
    }
    match parent {
        _ if stated_parent.is_some() => {}
        None if facts.omits_null_parent => {}
        None => line = with_head_member(&line, keys.parent, b"null"),
        Some(parent) => {
            line = with_head_member(&line, keys.parent, &json::quoted(parent.as_str()));
        }
    }
    if stated_id.is_none() {
        line = with_head_member(&line, keys.id, &json::quoted(id.as_str()));
    }
    let masked = facts.json.masked(&line);
    let head = only_entry(&masked, dialect.codec()).map_err(|why| refused(dialect, why))?;
    let is_here = head.id.is_some_and(|name| name.text == id.as_str())
        && head.parent.as_ref().map(|name| &*name.text) == parent.map(EntryId::as_str);
    if !is_here {
        return Err(refused(dialect, "it would be read at another place"));
    }
    drop(masked);
    Ok(line)
}

/// Returns the head of a line that is exactly one complete entry.
fn only_entry<'a>(line: &'a [u8], codec: &dyn Codec) -> Result<Head<'a>, &'static str> {
    let (mut found, mut count) = (None, 0);
    split(line, codec, |segment| {
        count += 1;
        found = Some(segment.what);
    });
    match found {
        Some(SegmentKind::Entry(head)) if count == 1 => Ok(head),
        Some(SegmentKind::Header | SegmentKind::HeaderNode(_)) if count == 1 => {
            Err("it is the header of a session")
        }
        Some(SegmentKind::Side) if count == 1 => Err("it is not an entry of the tree"),
        _ => Err("it is not one whole JSON object"),
    }
}

fn refused(dialect: Dialect, why: &str) -> Error {
    Error::InvalidEntry(format!("not a record of {dialect} that can be appended: {why}"))
}
