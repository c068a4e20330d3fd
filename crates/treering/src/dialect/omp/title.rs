//! The title slot: a first line of fixed length that omp rewrites in place when a session is renamed.
//!
//! It is 256 bytes long, including the newline; a member `pad` fills the rest with blanks. A title
//! that does not fit is cut between characters, never inside an escape.

use crate::dialect::facts::TitleSlot;
use crate::entry::number;
use crate::json;
use crate::time;
use std::borrow::Cow;

/// The description of the slot for other modules.
pub(super) static TITLE_SLOT: TitleSlot = TitleSlot {
    len: SLOT,
    is_slot,
    title: |line| parse(line).map(|title| title.title),
    updated: |slot| time::parse(updated_at(slot)?.as_bytes()),
    render: |title, time| slot(title, Some("user").filter(|_| !title.is_empty()), time),
    refitted,
};

/// Returns a changed slot, fitted to the length of a slot.
fn refitted(before: &[u8], after: &[u8]) -> Option<Vec<u8>> {
    let title = parse(before).and_then(|_| parse(after))?;
    let time = updated_at(after).unwrap_or_default();
    let mut slot = slot(&title.title, title.source.as_deref(), &time);
    slot.pop(); // The newline.
    Some(slot)
}

fn updated_at(slot: &[u8]) -> Option<Cow<'_, str>> {
    json::get(slot, "updatedAt").and_then(json::string)
}

/// The length of the slot, including the newline.
pub(crate) const SLOT: usize = TitleSlot::MAX_LEN;

/// The content of a title slot. An empty title means that there is none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Title {
    pub title: String,
    /// The origin of the title: `auto` or `user`.
    pub source: Option<String>,
}

/// Reads a title slot; `None` if the line is not one.
pub(crate) fn parse(line: &[u8]) -> Option<Title> {
    let text = |key| json::get(line, key).and_then(json::string);
    if text("type")? != "title" || number(json::get(line, "v")?) != Some(1.0) {
        return None;
    }
    let _ = (text("updatedAt")?, text("pad")?);
    let source = match json::get(line, "source") {
        None => None,
        Some(_) => Some(text("source").filter(|source| *source == "auto" || *source == "user")?),
    };
    Some(Title { title: text("title")?.into_owned(), source: source.map(|name| name.into_owned()) })
}

/// Returns whether these bytes are exactly a title slot: one line of the right length with a
/// complete title record.
pub(crate) fn is_slot(bytes: &[u8]) -> bool {
    bytes.len() == SLOT && memchr::memchr(b'\n', bytes) == Some(SLOT - 1) && parse(bytes).is_some()
}

/// Returns the title slot for `title`, including the newline.
pub(crate) fn slot(title: &str, source: Option<&str>, updated_at: &str) -> Vec<u8> {
    let empty = line("", source, updated_at, 0);
    let Some(room) = SLOT.checked_sub(empty.len()) else {
        // A time this long leaves no room for a title.
        return slot(title, None, "");
    };
    let mut used = 0;
    let fits = |(_, character): &(usize, char)| {
        used += escaped_len(*character);
        used > room
    };
    let end = title.char_indices().find(fits).map_or(title.len(), |(at, _)| at);
    let title = &title[..end];
    let unpadded = line(title, source, updated_at, 0).len();
    line(title, source, updated_at, SLOT.saturating_sub(unpadded))
}

fn line(title: &str, source: Option<&str>, updated_at: &str, pad: usize) -> Vec<u8> {
    let mut out = b"{\"type\":\"title\",\"v\":1,\"title\":".to_vec();
    json::write_string(&mut out, title);
    if let Some(source) = source {
        out.extend_from_slice(b",\"source\":");
        json::write_string(&mut out, source);
    }
    out.extend_from_slice(b",\"updatedAt\":");
    json::write_string(&mut out, updated_at);
    out.extend_from_slice(b",\"pad\":\"");
    out.resize(out.len() + pad, b' ');
    out.extend_from_slice(b"\"}\n");
    out
}

fn escaped_len(character: char) -> usize {
    json::quoted(character.encode_utf8(&mut [0; 4])).len() - 2
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIME: &str = "2026-01-05T09:29:39.930Z";

    #[test]
    fn a_slot_is_256_bytes_and_reads_back() {
        for title in ["", "plain", "a \"quoted\" name", "größe 😀", "\u{1}\u{2028}\\"] {
            for source in [None, Some("auto"), Some("user")] {
                let line = slot(title, source, TIME);
                assert_eq!((line.len(), line.last()), (SLOT, Some(&b'\n')), "{title:?}");
                let read = parse(&line).unwrap();
                assert_eq!((&*read.title, read.source.as_deref()), (title, source));
            }
        }
    }

    #[test]
    fn a_long_title_is_cut_between_characters() {
        for (unit, width) in [("x", 1), ("é", 2), ("漢", 3), ("😀", 4), ("\"", 2), ("\u{1}", 6)]
        {
            let line = slot(&unit.repeat(400), Some("user"), TIME);
            assert_eq!(line.len(), SLOT);
            let room = SLOT - slot_overhead();
            assert_eq!(parse(&line).unwrap().title, unit.repeat(room / width));
        }
    }

    fn slot_overhead() -> usize {
        format!(
            r#"{{"type":"title","v":1,"title":"","source":"user","updatedAt":"{TIME}","pad":""}}"#
        )
        .len()
            + 1
    }

    #[test]
    fn a_time_that_leaves_no_room_gives_way_to_the_title() {
        let line = slot("name", Some("user"), &"9".repeat(300));
        assert_eq!(line.len(), SLOT);
        assert_eq!(parse(&line).unwrap().title, "name");
    }

    #[test]
    fn other_lines_are_no_slot() {
        for line in [
            r#"{"type":"title","v":2,"title":"a","updatedAt":"","pad":""}"#,
            r#"{"type":"title","v":1,"title":"a","updatedAt":""}"#,
            r#"{"type":"title","v":1,"title":1,"updatedAt":"","pad":""}"#,
            r#"{"type":"title","v":1,"title":"a","source":null,"updatedAt":"","pad":""}"#,
            r#"{"type":"session","v":1,"title":"a","updatedAt":"","pad":""}"#,
            "[]",
        ] {
            assert_eq!(parse(line.as_bytes()), None, "{line}");
        }
    }
}
