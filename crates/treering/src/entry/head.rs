//! From a line to the heads of the entries on it.
//!
//! A healthy line is one entry, and its head (type, id, parent, time, the message's role) stands in
//! its first hundred bytes. A codec's `quick` (here: [`quick`], for treering's own format) reads just
//! those. Everything it does not recognise — other key orders, escapes in ids, repeated keys, two
//! entries glued together — is left to [`split`], which reads the whole line. How the members are
//! called, and what a record is, the dialect's codec says.
//!
//! Both must tell the same story about the same bytes. They do, because of one observation: another
//! entry glued to a line, or a second parent in it, brings another `"parentId"` key (whatever the
//! dialect calls it), and the quotes around it cannot occur inside a JSON string. So a line in which
//! that key occurs once is safe to judge by its head, however broken the rest may be; the rest is
//! checked when it is read.

use super::kind::{Kind, Role};
use crate::dialect::{Class, Codec, Marks};
use crate::json::{self, End, Members};
use memchr::memmem;
use std::borrow::Cow;
use std::ops::Range;

/// The facts about an entry that the tree needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Head<'a> {
    pub kind: Kind,
    pub role: Option<Role>,
    /// `None` if the entry has no usable id of its own.
    pub id: Option<Name<'a>>,
    /// `None` for a root: `parentId` absent, `null` or empty.
    pub parent: Option<Name<'a>>,
    pub time: Option<i64>,
    pub marks: Marks,
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
    /// A header that is a node of the tree as well.
    HeaderNode(Head<'a>),
    Entry(Head<'a>),
    /// About the session, but no part of its tree.
    Side,
    /// Not a whole object, but its head can be read: it keeps its place in the tree.
    DamagedEntry(Head<'a>),
    Damaged,
}

/// The longest id that is written, and that the quick readers read. Agents use 8 to 36 bytes.
pub(crate) const MAX_ID: usize = 512;

/// The longest id that is read: what is longer is no id. The limit keeps the index small.
const LONGEST_ID: usize = 32 * 1024;

/// Finds the key that names an entry's parent.
#[derive(Debug, Clone)]
pub(crate) struct ParentKey(memmem::Finder<'static>);

impl ParentKey {
    pub(crate) fn of(codec: &dyn Codec) -> Self {
        let needle = format!("\"{}\"", codec.keys().parent);
        ParentKey(memmem::Finder::new(needle.as_bytes()).into_owned())
    }

    /// Where the first such key stands in `bytes`.
    #[inline]
    pub(crate) fn find(&self, bytes: &[u8]) -> Option<usize> {
        self.0.find(bytes)
    }

    /// Returns the overlap of consecutive buffers that keeps a key from being missed between them.
    pub(crate) fn overlap(&self) -> usize {
        self.0.needle().len() - 1
    }
}

/// The head of a line in the usual shape, and how many bytes it takes; `None` for any other shape.
/// The caller makes sure that no `"parentId"` follows it.
#[inline]
pub(crate) fn quick(line: &[u8]) -> Option<(Head<'_>, usize)> {
    quickest(line).or_else(|| quick_named(line, b",\"id\":\"", b",\"parentId\":"))
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
        marks: Marks::default(),
    };
    Some((head, line.len() - rest.len()))
}

fn hex_name(bytes: &[u8]) -> Option<Name<'_>> {
    let is_hex = bytes.iter().fold(true, |all, byte| all & byte.is_ascii_hexdigit());
    let text = std::str::from_utf8(bytes).ok().filter(|_| is_hex)?;
    Some(Name { text: Cow::Borrowed(text), is_number: false })
}

/// The same, with other names for id and parent.
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
        // JSON has no raw control characters in strings: such a line is broken right here.
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
    // An unknown role may be an old name or stand twice: the thorough reader decides.
    (role != Some(Role::Other)).then_some((head, at))
}

/// Splits a line into what is on it, reading all of it. A blank line has no segment.
pub(crate) fn split<'a>(line: &'a [u8], codec: &dyn Codec, mut each: impl FnMut(Segment<'a>)) {
    let first = json::skip_space(line, 0);
    let mut at = first;
    while at < line.len() {
        let (what, stop) = match object(line, at, codec) {
            // After the first, only what names itself and its parent is an entry.
            (What::Entry(head), end)
                if at > first && !is_complete(&line[at..end], &head, codec) =>
            {
                (What::Damaged, glued(line, end, codec).unwrap_or(line.len()))
            }
            (What::Damaged | What::DamagedEntry(_), _) => {
                // The bytes after a fragment are not part of it: its head is read without them.
                let stop = glued(line, at + 1, codec).unwrap_or(line.len());
                (object(&line[..stop], at, codec).0, stop)
            }
            (whole, end) => (whole, end),
        };
        each(Segment { span: at..stop, what });
        at = json::skip_space(line, stop);
    }
}

/// The object at `at`: what it is, and where it ends, or how far it could be read.
fn object<'a>(line: &'a [u8], at: usize, codec: &dyn Codec) -> (What<'a>, usize) {
    let keys = codec.keys();
    let (mut kind, mut id, mut parent, mut time) = (None, None, None, None);
    let mut members = Members::new(line, at);
    while let Some((key, start)) = members.key() {
        let key = json::key_name(&line[key.start + 1..key.end - 1]);
        let Some(value) = members.skip_value(start) else { break };
        let value = Some(&line[value]);
        match &*key {
            b"type" => kind = value,
            key if key == keys.id.as_bytes() => id = value,
            key if key == keys.parent.as_bytes() => parent = value,
            key if key == keys.time.as_bytes() => time = value,
            _ => {}
        }
    }
    let (is_closed, end) = match members.end {
        End::Closed(end) => (true, end),
        End::Broken(reached) => (false, reached),
        End::Open => return (What::Damaged, line.len()),
    };
    let type_name = kind.and_then(json::string);
    // A message's role may be readable even if the message is not whole: give all there is.
    let record = if is_closed { &line[at..end] } else { &line[at..] };
    let class = codec.classify(type_name.as_deref().unwrap_or_default(), record);
    let (kind, role) = match class {
        Class::Entry(kind, role) => (kind, role),
        Class::HeaderNode => (Kind::Other, None),
        Class::Header if is_closed => return (What::Header, end),
        Class::Side if is_closed => return (What::Side, end),
        Class::Header | Class::Side => return (What::Damaged, end),
    };
    let (id, named_parent) = (id.and_then(name), parent.is_some());
    let (parent, time) = (parent.and_then(name), time.and_then(|time| codec.time(time)));
    let head = Head { kind, role, id, parent, time, marks: codec.marks(record) };
    let what = match (is_closed, class) {
        (true, Class::HeaderNode) => What::HeaderNode(head),
        (true, _) => What::Entry(head),
        (false, _) if type_name.is_some() && head.id.is_some() && named_parent => {
            What::DamagedEntry(head)
        }
        _ => What::Damaged,
    };
    (what, end)
}

/// The name of the role of a record's message, which need not be whole. The last one counts.
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

/// An id or parent id: a non-empty string, or a number's own digits.
pub(crate) fn name(literal: &[u8]) -> Option<Name<'_>> {
    if literal.len() > LONGEST_ID + 2 {
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
fn glued(line: &[u8], from: usize, codec: &dyn Codec) -> Option<usize> {
    let parent_key = format!("\"{}\"", codec.keys().parent);
    let last_key = memmem::rfind(line, parent_key.as_bytes())?;
    // Work is bounded: hostile lines may hold a million openings that each fail late.
    let mut budget = line.len().saturating_mul(8);
    let mut at = from;
    while at < last_key {
        at += memchr::memchr(b'{', &line[at..last_key])?;
        if line.get(json::skip_space(line, at + 1)) != Some(&b'"') {
            at += 1;
            continue;
        }
        match run_of_entries(line, at, codec) {
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

fn run_of_entries(line: &[u8], start: usize, codec: &dyn Codec) -> Run {
    let mut at = start;
    while at < line.len() {
        match object(line, at, codec) {
            (What::Entry(head), end) if is_complete(&line[at..end], &head, codec) => {
                at = json::skip_space(line, end);
            }
            (What::Damaged | What::DamagedEntry(_), reached) => {
                return Run::Broken(reached.max(start));
            }
            (_, end) if at == start => return Run::OtherObject(end),
            (_, reached) => return Run::Broken(reached.max(start)),
        }
    }
    Run::ToTheEnd
}

/// Whether an object found in the middle of a line is an entry: it names its type, itself and its
/// parent.
fn is_complete(object: &[u8], head: &Head<'_>, codec: &dyn Codec) -> bool {
    head.id.is_some()
        && json::get(object, "type").is_some()
        && json::get(object, codec.keys().parent).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dialect::Pi;

    fn parts(line: &str) -> Vec<(&str, String)> {
        let mut found = Vec::new();
        split(line.as_bytes(), &Pi, |segment| {
            let id = |head: &Head<'_>| head.id.as_ref().map_or("-", |id| &id.text).to_owned();
            found.push(match &segment.what {
                What::Header | What::HeaderNode(_) => ("header", String::new()),
                What::Side => ("side", String::new()),
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
            split(line.as_bytes(), &Pi, |segment| {
                assert_eq!(segment.what, What::Entry(head.clone()))
            });
        }
        let mut torn_heads = 0;
        for line in [A, C] {
            for cut in 0..line.len() {
                let torn = &line.as_bytes()[..cut];
                let Some((head, _)) = quick(torn) else { continue };
                torn_heads += 1;
                split(torn, &Pi, |segment| {
                    assert_eq!(segment.what, What::DamagedEntry(head.clone()))
                });
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
            split(line.as_bytes(), &Pi, |segment| {
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
        line.extend(b"\"parentId\"");
        let mut segments = 0;
        split(&line, &Pi, |_| segments += 1);
        assert_eq!(segments, 1);
    }
}
