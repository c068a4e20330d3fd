//! Splits a line into the records on it, reading all of it.
//!
//! A codec's `quick` reads the head of a line in the usual form. Lines that it does not recognize —
//! other key orders, escapes in ids, repeated keys, two entries on one line — are left to
//! [`split`].
//!
//! Both must agree about the same bytes. They do, because of one observation: another entry on the
//! same line, or a second parent in it, has another `"parentId"` key (or the dialect's name for
//! it), and the quotes around it cannot occur inside a JSON string. A line in which that key occurs
//! once can therefore be classified by its head, even if the rest is damaged; the rest is checked
//! when it is read.

use super::{Class, Codec};
use crate::entry::Kind;
use crate::entry::head::{Head, name};
use crate::json::{self, Members, ObjectEnd};
use memchr::memmem;
use std::ops::Range;

/// A part of a line. Healthy lines have exactly one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Segment<'a> {
    pub span: Range<usize>,
    pub what: SegmentKind<'a>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum SegmentKind<'a> {
    Header,
    /// A header that is also a node of the tree.
    HeaderNode(Head<'a>),
    Entry(Head<'a>),
    /// A record about the session that is not part of its tree.
    Side,
    /// An incomplete object whose head can be read: the entry keeps its position in the tree.
    DamagedEntry(Head<'a>),
    Damaged,
}

/// Splits a line into its records, reading all of it. A blank line has no segment.
pub(crate) fn split<'a>(line: &'a [u8], codec: &dyn Codec, mut each: impl FnMut(Segment<'a>)) {
    let first = json::skip_space(line, 0);
    let mut at = first;
    while at < line.len() {
        let (what, stop) = match object(line, at, codec) {
            // After the first record, only an object with an id and a parent is an entry.
            (SegmentKind::Entry(head), end)
                if at > first && !is_complete(&line[at..end], &head, codec) =>
            {
                (SegmentKind::Damaged, glued(line, end, codec).unwrap_or(line.len()))
            }
            (SegmentKind::Damaged | SegmentKind::DamagedEntry(_), _) => {
                // The bytes after a fragment are not part of it, so its head is read without them.
                let stop = glued(line, at + 1, codec).unwrap_or(line.len());
                (object(&line[..stop], at, codec).0, stop)
            }
            (whole, end) => (whole, end),
        };
        each(Segment { span: at..stop, what });
        at = json::skip_space(line, stop);
    }
}

/// Returns the class of the object at `at`, and its end, or how far it could be read.
fn object<'a>(line: &'a [u8], at: usize, codec: &dyn Codec) -> (SegmentKind<'a>, usize) {
    let facts = codec.facts();
    let keys = &facts.keys;
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
        ObjectEnd::Closed(end) => (true, end),
        ObjectEnd::Broken(reached) => (false, reached),
        ObjectEnd::Open => return (SegmentKind::Damaged, line.len()),
    };
    let type_name = kind.and_then(json::string);
    // A message's role may be readable even if the message is incomplete, so all bytes are passed
    // on.
    let record = if is_closed { &line[at..end] } else { &line[at..] };
    let class = codec.classify(type_name.as_deref().unwrap_or_default(), record);
    let (kind, role) = match class {
        Class::Entry(kind, role) => (kind, role),
        Class::HeaderNode => (Kind::Other, None),
        Class::Header if is_closed => return (SegmentKind::Header, end),
        Class::Side if is_closed => return (SegmentKind::Side, end),
        Class::Header | Class::Side => return (SegmentKind::Damaged, end),
    };
    let (id, named_parent) = (id.and_then(name), parent.is_some());
    let (parent, time) = (parent.and_then(name), time.and_then(|time| facts.time.parse(time)));
    let head = Head { kind, role, id, parent, time, marks: codec.marks(record) };
    let what = match (is_closed, class) {
        (true, Class::HeaderNode) => SegmentKind::HeaderNode(head),
        (true, _) => SegmentKind::Entry(head),
        (false, _) if type_name.is_some() && head.id.is_some() && named_parent => {
            SegmentKind::DamagedEntry(head)
        }
        _ => SegmentKind::Damaged,
    };
    (what, end)
}

/// Returns the position after a torn fragment at which complete entries begin that reach the end of
/// the line.
fn glued(line: &[u8], from: usize, codec: &dyn Codec) -> Option<usize> {
    let parent_key = format!("\"{}\"", codec.facts().keys.parent);
    let last_key = memmem::rfind(line, parent_key.as_bytes())?;
    // The work is bounded: hostile lines may have a million opening braces that each fail late.
    let mut budget = line.len().saturating_mul(8);
    let mut at = from;
    while at < last_key {
        at += memchr::memchr(b'{', &line[at..last_key])?;
        if line.get(json::skip_space(line, at + 1)) != Some(&b'"') {
            at += 1;
            continue;
        }
        match run_of_entries(line, at, codec) {
            FragmentEnd::ToTheEnd => return Some(at),
            FragmentEnd::OtherObject(end) => at = end,
            FragmentEnd::Broken(read) => {
                budget = budget.checked_sub(read - at)?;
                at += 1;
            }
        }
    }
    None
}

enum FragmentEnd {
    ToTheEnd,
    /// A complete object that is not an entry: a piece of the fragment.
    OtherObject(usize),
    /// The bytes are not JSON; they were read up to this position.
    Broken(usize),
}

fn run_of_entries(line: &[u8], start: usize, codec: &dyn Codec) -> FragmentEnd {
    let mut at = start;
    while at < line.len() {
        match object(line, at, codec) {
            (SegmentKind::Entry(head), end) if is_complete(&line[at..end], &head, codec) => {
                at = json::skip_space(line, end);
            }
            (SegmentKind::Damaged | SegmentKind::DamagedEntry(_), reached) => {
                return FragmentEnd::Broken(reached.max(start));
            }
            (_, end) if at == start => return FragmentEnd::OtherObject(end),
            (_, reached) => return FragmentEnd::Broken(reached.max(start)),
        }
    }
    FragmentEnd::ToTheEnd
}

/// Returns whether an object in the middle of a line is an entry: it has a type, an id and a
/// parent.
fn is_complete(object: &[u8], head: &Head<'_>, codec: &dyn Codec) -> bool {
    head.id.is_some()
        && json::get(object, "type").is_some()
        && json::get(object, codec.facts().keys.parent).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dialect::Pi;
    use crate::entry::head::{Name, quick};

    fn parts(line: &str) -> Vec<(&str, String)> {
        let mut found = Vec::new();
        split(line.as_bytes(), &Pi, |segment| {
            let id = |head: &Head<'_>| head.id.as_ref().map_or("-", |id| &id.text).to_owned();
            found.push(match &segment.what {
                SegmentKind::Header | SegmentKind::HeaderNode(_) => ("header", String::new()),
                SegmentKind::Side => ("side", String::new()),
                SegmentKind::Entry(head) => ("entry", id(head)),
                SegmentKind::DamagedEntry(head) => ("damaged entry", id(head)),
                SegmentKind::Damaged => ("damaged", String::new()),
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
                assert_eq!(segment.what, SegmentKind::Entry(head.clone()))
            });
        }
        let mut torn_heads = 0;
        for line in [A, C] {
            for cut in 0..line.len() {
                let torn = &line.as_bytes()[..cut];
                let Some((head, _)) = quick(torn) else { continue };
                torn_heads += 1;
                split(torn, &Pi, |segment| {
                    assert_eq!(segment.what, SegmentKind::DamagedEntry(head.clone()))
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
                if let SegmentKind::Entry(head) = segment.what {
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
