//! From a line to the heads of the entries on it.
//!
//! A healthy line is one entry, and its head (`type`, `id`, `parentId`, `timestamp`, the message's
//! `role`) stands in its first hundred bytes. [`quick`] reads just those. Everything it does not
//! recognise — other key orders, escapes in ids, repeated keys, two entries glued together — is left
//! to [`split`], which reads the whole line.
//!
//! Both must tell the same story about the same bytes. They do, because of one observation: another
//! entry glued to a line, or a second `parentId` in it, brings another `"parentId"` key, and the
//! quotes around it cannot occur inside a JSON string. So a line in which that key occurs once is
//! safe to judge by its head, however broken the rest may be; the rest is checked when it is read.

use super::kind::{Kind, Role};
use crate::json::{self, End, Members};
use std::borrow::Cow;
use std::ops::Range;
use std::sync::LazyLock;

/// What the tree needs to know of an entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Head<'a> {
    pub kind: Kind,
    pub role: Option<Role>,
    /// `None` if the entry has no usable id of its own.
    pub id: Option<Name<'a>>,
    /// `None` for a root: `parentId` absent, `null` or empty.
    pub parent: Option<Name<'a>>,
    pub time: Option<i64>,
}

/// An id as it stands in a file. Some writers used numbers; treering writes back what it read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Name<'a> {
    pub text: Cow<'a, str>,
    pub is_number: bool,
}

/// A part of a line. Healthy lines have exactly one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Segment<'a> {
    pub span: Range<usize>,
    pub what: What<'a>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum What<'a> {
    Header,
    Entry(Head<'a>),
    /// Not a whole object, but its head can be read: it keeps its place in the tree.
    DamagedEntry(Head<'a>),
    Damaged,
}

/// Ids longer than this are not ids.
pub(crate) const MAX_ID: usize = 512;

const PARENT_KEY: &[u8] = b"\"parentId\"";

static PARENT_FINDER: LazyLock<memchr::memmem::Finder<'static>> =
    LazyLock::new(|| memchr::memmem::Finder::new(PARENT_KEY));

/// Where the first `"parentId"` key stands in `bytes`.
pub(crate) fn find_parent_key(bytes: &[u8]) -> Option<usize> {
    PARENT_FINDER.find(bytes)
}

/// How much a buffer must overlap the one before it for a key not to be missed between them.
pub(crate) const PARENT_KEY_OVERLAP: usize = PARENT_KEY.len() - 1;

/// The head of a line in the usual shape, and how many bytes it takes; `None` for any other shape.
/// The caller makes sure that no `"parentId"` follows it.
#[inline]
pub(crate) fn quick(line: &[u8]) -> Option<(Head<'_>, usize)> {
    quickest(line).or_else(|| quick_words(line))
}

/// A message whose ids are eight hexadecimal characters: what nearly every line of nearly every
/// session is. Everything stands at a fixed place.
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
    };
    Some((head, line.len() - rest.len()))
}

fn hex_name(bytes: &[u8]) -> Option<Name<'_>> {
    let is_hex = bytes.iter().fold(true, |all, byte| all & byte.is_ascii_hexdigit());
    let text = std::str::from_utf8(bytes).ok().filter(|_| is_hex)?;
    Some(Name { text: Cow::Borrowed(text), is_number: false })
}

fn quick_words(line: &[u8]) -> Option<(Head<'_>, usize)> {
    let mut at = 0;
    let mut word = |before: &[u8]| {
        let rest = line.get(at..)?.strip_prefix(before)?;
        let window = &rest[..rest.len().min(MAX_ID + 1)];
        let end = memchr::memchr2(b'"', b'\\', window).filter(|&end| window[end] == b'"')?;
        at += before.len() + end + 1;
        let word = std::str::from_utf8(&rest[..end]).ok()?;
        // JSON has no raw control characters in strings: such a line is broken right here.
        word.bytes().all(|byte| byte >= 0x20).then_some(word)
    };
    let kind = word(b"{\"type\":\"")?;
    let id = word(b",\"id\":\"").filter(|id| !id.is_empty())?;
    let mut parent = word(b",\"parentId\":\"");
    let time = match parent {
        Some("") => return None,
        Some(_) => word(b",\"timestamp\":\"")?,
        None => word(b",\"parentId\":null,\"timestamp\":\"")?,
    };
    let kind = match kind {
        "session" => return None,
        name => Kind::of(name),
    };
    let role = match kind {
        Kind::Message => Some(Role::of(word(b",\"message\":{\"role\":\"")?)),
        _ => None,
    };
    let name = |text| Name { text: Cow::Borrowed(text), is_number: false };
    let head = Head {
        kind,
        role,
        id: Some(name(id)),
        parent: parent.take().map(name),
        time: crate::time::parse(time.as_bytes()),
    };
    // A role nobody knows may be an old name or stand twice: let the thorough reader see it.
    (role != Some(Role::Other)).then_some((head, at))
}

/// Splits a line into what is on it, reading all of it. A blank line has no segment.
pub(crate) fn split<'a>(line: &'a [u8], mut each: impl FnMut(Segment<'a>)) {
    let first = json::skip_space(line, 0);
    let mut at = first;
    while at < line.len() {
        let (what, stop) = match object(line, at) {
            // After the first, only what names itself and its parent is an entry.
            (What::Entry(head), end) if at > first && !is_complete(&line[at..end], &head) => {
                (What::Damaged, glued(line, end).unwrap_or(line.len()))
            }
            (whole @ (What::Header | What::Entry(_)), end) => (whole, end),
            _ => {
                // What follows a fragment is not part of it: its head is read without.
                let stop = glued(line, at + 1).unwrap_or(line.len());
                (object(&line[..stop], at).0, stop)
            }
        };
        each(Segment { span: at..stop, what });
        at = json::skip_space(line, stop);
    }
}

/// The object at `at`: what it is, and where it ends, or how far it could be read.
fn object(line: &[u8], at: usize) -> (What<'_>, usize) {
    let (mut kind, mut id, mut parent, mut time, mut message) = (None, None, None, None, None);
    let mut members = Members::new(line, at);
    while let Some((key, start)) = members.key() {
        let key = json::key_name(&line[key.start + 1..key.end - 1]);
        if *key == *b"message" {
            message = Some(start); // Before it is known to be whole: its role may be readable.
        }
        let Some(value) = members.skip_value(start) else { break };
        let value = Some(&line[value]);
        match &*key {
            b"type" => kind = value,
            b"id" => id = value,
            b"parentId" => parent = value,
            b"timestamp" => time = value,
            _ => {}
        }
    }
    let type_name = kind.and_then(json::string);
    let kind = Kind::of(type_name.as_deref().unwrap_or_default());
    let head = Head {
        kind,
        role: match kind {
            Kind::Message => message.and_then(|start| role(line, start)),
            _ => None,
        },
        id: id.and_then(name),
        parent: parent.and_then(name),
        time: time.and_then(timestamp),
    };
    match members.end {
        End::Closed(end) if type_name.as_deref() == Some("session") => (What::Header, end),
        End::Closed(end) => (What::Entry(head), end),
        End::Broken(reached) => {
            let readable = type_name.is_some_and(|name| name != "session")
                && head.id.is_some()
                && parent.is_some();
            (if readable { What::DamagedEntry(head) } else { What::Damaged }, reached)
        }
        End::Open => (What::Damaged, line.len()),
    }
}

/// The role of the message at `start`, which need not be whole.
fn role(line: &[u8], start: usize) -> Option<Role> {
    let roles = Members::new(line, start).filter(|member| json::key_is(member.key, "role"));
    let role = json::string(&line[roles.last()?.value])?;
    Some(if role == "hookMessage" { Role::Custom } else { Role::of(&role) })
}

/// An id or parent id: a non-empty string, or a number's own digits.
fn name(literal: &[u8]) -> Option<Name<'_>> {
    if literal.len() > MAX_ID + 2 {
        return None;
    }
    match literal.first()? {
        b'"' => {
            let inner = &literal[1..literal.len() - 1];
            // An id that no String can hold is known by its escapes: still unique, still findable.
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

/// A timestamp: an ISO string, or a number of Unix milliseconds.
pub(crate) fn timestamp(literal: &[u8]) -> Option<i64> {
    match json::string(literal) {
        Some(text) => crate::time::parse(text.as_bytes()),
        None => {
            let number: f64 = std::str::from_utf8(literal).ok()?.parse().ok()?;
            (number.abs() < 8.64e15).then_some(number as i64)
        }
    }
}

/// Where, after a torn fragment, a run of complete entries begins that reaches the line's end.
fn glued(line: &[u8], from: usize) -> Option<usize> {
    let last_key = memchr::memmem::rfind(line, PARENT_KEY)?;
    // Work is bounded: hostile lines may hold a million openings that each fail late.
    let mut budget = line.len().saturating_mul(8);
    let mut at = from;
    while at < last_key {
        at += memchr::memchr(b'{', &line[at..last_key])?;
        if line.get(json::skip_space(line, at + 1)) != Some(&b'"') {
            at += 1;
            continue;
        }
        match run_of_entries(line, at) {
            Run::ToTheEnd => return Some(at),
            Run::OtherObject(end) => at = end,
            Run::Broken(read) => {
                budget = budget.checked_sub(read - at)?;
                at += 1;
            }
        }
    }
    None
}

enum Run {
    ToTheEnd,
    /// A whole object, but not an entry: a piece of the fragment.
    OtherObject(usize),
    /// Not JSON; how far it was read.
    Broken(usize),
}

fn run_of_entries(line: &[u8], start: usize) -> Run {
    let mut at = start;
    while at < line.len() {
        match object(line, at) {
            (What::Entry(head), end) if is_complete(&line[at..end], &head) => {
                at = json::skip_space(line, end);
            }
            (What::Entry(_) | What::Header, end) if at == start => return Run::OtherObject(end),
            (_, reached) => return Run::Broken(reached.max(start)),
        }
    }
    Run::ToTheEnd
}

/// Whether an object found in the middle of a line is an entry: it names its type, itself and its
/// parent.
fn is_complete(object: &[u8], head: &Head<'_>) -> bool {
    head.id.is_some()
        && json::get(object, "type").is_some()
        && json::get(object, "parentId").is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(line: &str) -> Vec<(&str, String)> {
        let mut found = Vec::new();
        split(line.as_bytes(), |segment| {
            let id = |head: &Head<'_>| head.id.as_ref().map_or("-", |id| &id.text).to_owned();
            found.push(match &segment.what {
                What::Header => ("header", String::new()),
                What::Entry(head) => ("entry", id(head)),
                What::DamagedEntry(head) => ("damaged entry", id(head)),
                What::Damaged => ("damaged", String::new()),
            });
        });
        found
    }

    const A: &str = r#"{"type":"message","id":"a","parentId":null,"timestamp":"2026-01-05T09:00:20.226Z","message":{"role":"user","content":[{"type":"text","text":"x}{\"type\""}]}}"#;
    const B: &str = r#"{"type":"label","id":"b","parentId":"a","timestamp":"2026-01-05T09:00:20.226Z","targetId":"a","label":"l"}"#;

    const C: &str = r#"{"type":"message","id":"0123abcd","parentId":"0123abce","timestamp":"2026-01-05T09:00:20.226Z","message":{"role":"toolResult","toolCallId":"parentId"}}"#;

    #[test]
    fn the_quick_reader_and_the_thorough_one_agree() {
        for line in [A, B, C] {
            let (head, _) = quick(line.as_bytes()).unwrap();
            split(line.as_bytes(), |segment| assert_eq!(segment.what, What::Entry(head.clone())));
        }
        let mut torn_heads = 0;
        for line in [A, C] {
            for cut in 0..line.len() {
                let torn = &line.as_bytes()[..cut];
                let Some((head, _)) = quick(torn) else { continue };
                torn_heads += 1;
                split(torn, |segment| assert_eq!(segment.what, What::DamagedEntry(head.clone())));
            }
        }
        assert!(torn_heads > 40);
    }

    #[test]
    fn unusual_shapes_are_left_to_the_thorough_reader() {
        for line in [
            r#"{"id":"a","type":"message","parentId":null}"#,
            r#"{"type":"message","id":"a\u0062","parentId":null,"timestamp":"x","message":{"role":"user"}}"#,
            r#"{"type":"message","id":"","parentId":null,"timestamp":"x","message":{"role":"user"}}"#,
            r#"{"type":"message","id":1,"parentId":null,"timestamp":"x"}"#,
            r#"{"type":"message","id":"a","parentId":"","timestamp":"x","message":{"role":"user"}}"#,
            r#"{"type":"message","id":"a","parentId":null,"timestamp":"x","message":{"content":1}}"#,
            r#"{"type":"session","id":"a","parentId":null,"timestamp":"x"}"#,
        ] {
            assert_eq!(quick(line.as_bytes()), None, "{line}");
        }
    }

    #[test]
    fn glued_and_torn_lines_come_apart() {
        let entry = |id: &str| ("entry", id.to_owned());
        assert_eq!(parts(&format!("{A}{B}")), [entry("a"), entry("b")]);
        assert_eq!(parts(&format!("{A} {B}\r")), [entry("a"), entry("b")]);
        assert_eq!(parts(&format!("{A}\0\0")), [entry("a"), ("damaged", String::new())]);
        for cut in 60..A.len() {
            let torn = &A[..cut];
            let expected = [("damaged entry", "a".to_owned()), entry("b")];
            assert_eq!(parts(&format!("{torn}{B}")), expected, "cut at {cut}");
            assert_eq!(parts(&format!("{torn}{torn}{B}")), expected, "twice, cut at {cut}");
        }
        let beheaded = &A[..20];
        assert_eq!(
            parts(&format!("{beheaded}{B}{A}")),
            [("damaged", String::new()), entry("b"), entry("a")]
        );
    }

    #[test]
    fn scalars_and_garbage_are_damaged_lines() {
        for line in ["42", "null", "[1]", "\"{}\"", "{not json", "\0\0\0\0", "<<<<<<< HEAD"] {
            assert_eq!(parts(line), [("damaged", String::new())], "{line}");
        }
        assert!(parts(" \t ").is_empty());
    }

    #[test]
    fn odd_ids_and_parents() {
        let read = |line: &str| {
            let mut heads = Vec::new();
            split(line.as_bytes(), |segment| {
                if let What::Entry(head) = segment.what {
                    let text = |name: Option<Name<'_>>| name.map(|name| name.text.into_owned());
                    heads.push((text(head.id), text(head.parent)));
                }
            });
            heads.remove(0)
        };
        let some = |text: &str| Some(text.to_owned());
        assert_eq!(read(r#"{"type":"x","id":1,"parentId":2}"#), (some("1"), some("2")));
        assert_eq!(read(r#"{"type":"x","id":"","parentId":""}"#), (None, None));
        assert_eq!(read(r#"{"type":"x","id":null}"#), (None, None));
        assert_eq!(
            read(r#"{"id":"\u0061","parentId":"a","parentId":"b"}"#),
            (some("a"), some("b"))
        );
        assert_eq!(read(r#"{"id":"\ud800"}"#), (some(r"\\ud800"), None));
    }

    #[test]
    fn a_hostile_line_is_read_in_bounded_time() {
        let mut line = b"{\"a\":".repeat(200_000);
        line.extend(PARENT_KEY);
        let mut segments = 0;
        split(&line, |_| segments += 1);
        assert_eq!(segments, 1);
    }
}
