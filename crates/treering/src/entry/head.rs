//! The head of an entry: its type, id, parent and time, and the role of its message.
//!
//! A healthy line is one entry, and its head is in its first hundred bytes. [`quick`] reads only
//! those, in treering's own format; the codecs of other dialects have quick readers of their own.
//! Lines that they do not recognize are left to the thorough reader, `dialect::split`.

use super::kind::{Kind, Role};
use crate::json::{self, Members};
use std::borrow::Cow;

/// The facts about an entry that the tree needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Head<'a> {
    pub kind: Kind,
    pub role: Option<Role>,
    /// The id of the entry; `None` if the record has no usable id.
    pub id: Option<Name<'a>>,
    /// The parent's id; `None` for a root: `parentId` is absent, `null` or empty.
    pub parent: Option<Name<'a>>,
    pub time: Option<i64>,
    pub marks: Marks,
}

/// Facts about a record that a row of the tree has no field for. Only the linker of its dialect
/// understands them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Marks {
    /// Bits whose meaning is the codec's own.
    pub bits: u8,
    /// A number that is the same for all pieces of one message; 0 if the record is not a piece.
    pub group: u64,
}

/// An id as it is written in a file. Some writers used numbers; treering writes back what it read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Name<'a> {
    pub text: Cow<'a, str>,
    pub is_number: bool,
}

/// The longest id that is written, and that the quick readers read. Agents use 8 to 36 bytes.
pub(crate) const MAX_ID: usize = 512;

/// The longest id that is read; a longer value is not an id. The limit keeps the index small.
const LONGEST_ID: usize = 32 * 1024;

/// Returns the head of a line in the usual format, and its length in bytes; `None` for any other
/// format. The caller makes sure that no `"parentId"` follows it.
#[inline]
pub(crate) fn quick(line: &[u8]) -> Option<(Head<'_>, usize)> {
    quickest(line).or_else(|| quick_named(line, b",\"id\":\"", b",\"parentId\":"))
}

/// Reads a message whose ids are eight hexadecimal characters, like nearly every line of nearly
/// every session. Every field is at a fixed position.
fn quickest(line: &[u8]) -> Option<(Head<'_>, usize)> {
    const BEFORE_ID: &[u8] = b"{\"type\":\"message\",\"id\":\"";
    const BEFORE_PARENT: &[u8] = b"\",\"parentId\":\"";
    const BEFORE_TIME: &[u8] = b"\",\"timestamp\":\"";
    const BEFORE_ROLE: &[u8] = b"\",\"message\":{\"role\":\"";
    let rest = line.strip_prefix(BEFORE_ID)?;
    let (id, rest) = rest.split_at_checked(8)?;
    let (parent, rest) = rest.strip_prefix(BEFORE_PARENT)?.split_at_checked(8)?;
    let (time, rest) = rest.strip_prefix(BEFORE_TIME)?.split_at_checked(24)?;
    let rest = rest.strip_prefix(BEFORE_ROLE)?;
    let role = match rest {
        [b'u', b's', b'e', b'r', b'"', ..] => Role::User,
        [b'a', ..] if rest.starts_with(b"assistant\"") => Role::Assistant,
        [b't', ..] if rest.starts_with(b"toolResult\"") => Role::ToolResult,
        _ => return None,
    };
    let time = crate::time::parse_usual(time)?;
    let head = Head {
        kind: Kind::Message,
        role: Some(role),
        id: Some(hex_name(id)?),
        parent: Some(hex_name(parent)?),
        time: Some(time),
        marks: Marks::default(),
    };
    Some((head, line.len() - rest.len()))
}

fn hex_name(bytes: &[u8]) -> Option<Name<'_>> {
    let is_hex = bytes.iter().fold(true, |all, byte| all & byte.is_ascii_hexdigit());
    let text = std::str::from_utf8(bytes).ok().filter(|_| is_hex)?;
    Some(Name { text: Cow::Borrowed(text), is_number: false })
}

/// Reads the same as `quick`, with other keys for id and parent.
pub(crate) fn quick_named<'a>(
    line: &'a [u8],
    id_key: &[u8],
    parent_key: &[u8],
) -> Option<(Head<'a>, usize)> {
    let mut at = 0;
    let mut word = |between: [&[u8]; 2]| {
        let rest = line.get(at..)?.strip_prefix(between[0])?.strip_prefix(between[1])?;
        let window = &rest[..rest.len().min(MAX_ID + 1)];
        let end = memchr::memchr2(b'"', b'\\', window).filter(|&end| window[end] == b'"')?;
        at += between[0].len() + between[1].len() + end + 1;
        let word = std::str::from_utf8(&rest[..end]).ok()?;
        // JSON strings have no raw control characters: a line with one is damaged.
        word.bytes().all(|byte| byte >= 0x20).then_some(word)
    };
    let kind = word([b"{\"type\":\"", b""])?;
    let id = word([id_key, b""]).filter(|id| !id.is_empty())?;
    let mut parent = word([parent_key, b"\""]);
    let time = match parent {
        Some("") => return None,
        Some(_) => word([b",\"timestamp\":\"", b""])?,
        None => word([parent_key, b"null,\"timestamp\":\""])?,
    };
    let kind = match kind {
        "session" => return None,
        name => Kind::of(name),
    };
    let role = match kind {
        Kind::Message => Some(Role::of(word([b",\"message\":{\"role\":\"", b""])?)),
        _ => None,
    };
    let name = |text| Name { text: Cow::Borrowed(text), is_number: false };
    let head = Head {
        kind,
        role,
        id: Some(name(id)),
        parent: parent.take().map(name),
        time: crate::time::parse(time.as_bytes()),
        marks: Marks::default(),
    };
    // An unknown role may be an old name, or there may be two roles: the thorough reader decides.
    (role != Some(Role::Other)).then_some((head, at))
}

/// Returns the name of the role of a record's message, which may be incomplete. The last role
/// counts.
pub(crate) fn role_name(record: &[u8]) -> Option<Cow<'_, str>> {
    let mut message = None;
    let mut members = Members::new(record, json::skip_space(record, 0));
    while let Some((key, start)) = members.key() {
        if json::key_is(&record[key.start + 1..key.end - 1], "message") {
            message = Some(start);
        }
        if members.skip_value(start).is_none() {
            break;
        }
    }
    let roles = Members::new(record, message?).filter(|member| json::key_is(member.key, "role"));
    json::string(&record[roles.last()?.value])
}

/// Returns an id or parent id: a non-empty string, or the digits of a number.
pub(crate) fn name(literal: &[u8]) -> Option<Name<'_>> {
    if literal.len() > LONGEST_ID + 2 {
        return None;
    }
    match literal.first()? {
        b'"' => {
            let inner = &literal[1..literal.len() - 1];
            // An id that no `String` can hold is represented by its escapes, which are unique as
            // well.
            let text = json::decode_exactly(inner)
                .unwrap_or_else(|_| Cow::Owned(inner.escape_ascii().to_string()));
            (!text.is_empty()).then_some(Name { text, is_number: false })
        }
        b'-' | b'0'..=b'9' => {
            let text = Cow::Borrowed(std::str::from_utf8(literal).ok()?);
            Some(Name { text, is_number: true })
        }
        _ => None,
    }
}

/// Returns the time of an ISO string or a number of Unix milliseconds.
pub(crate) fn timestamp(literal: &[u8]) -> Option<i64> {
    match json::string(literal) {
        Some(text) => crate::time::parse(text.as_bytes()),
        None => {
            let number: f64 = std::str::from_utf8(literal).ok()?.parse().ok()?;
            (number.abs() < 8.64e15).then_some(number as i64)
        }
    }
}
