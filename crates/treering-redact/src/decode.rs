//! Texts without their escapes, and the way back.
//!
//! A secret in a file may be written with escapes, and again with the escapes of a JSON text inside
//! that one. So a text is looked at as it stands, as it reads, and as it would read decoded once more;
//! what is found at any level is a span of the bytes in the file, and only those are replaced.

use std::borrow::Cow;
use std::ops::Range;

/// A decoded text and where its bytes come from.
#[derive(Debug)]
pub(crate) struct Decoded<'a> {
    pub bytes: Cow<'a, [u8]>,
    escapes: Vec<Escape>,
}

#[derive(Debug)]
struct Escape {
    /// Where it is in the decoded text, and in the other.
    to: Range<usize>,
    from: Range<usize>,
}

/// Resolves the escapes of JSON strings. What is none stays as it is.
pub(crate) fn decode(text: &[u8]) -> Decoded<'_> {
    if memchr::memchr(b'\\', text).is_none() {
        return Decoded { bytes: Cow::Borrowed(text), escapes: Vec::new() };
    }
    let (mut bytes, mut escapes) = (Vec::with_capacity(text.len()), Vec::new());
    let mut at = 0;
    while let Some(found) = memchr::memchr(b'\\', text.get(at..).unwrap_or_default()) {
        bytes.extend_from_slice(text.get(at..at + found).unwrap_or_default());
        at += found;
        let (character, length) = escape(text.get(at..).unwrap_or_default());
        let start = bytes.len();
        match character {
            Some(character) => {
                bytes.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
                escapes.push(Escape { to: start..bytes.len(), from: at..at + length });
            }
            None => bytes.extend_from_slice(text.get(at..at + length).unwrap_or_default()),
        }
        at += length;
    }
    bytes.extend_from_slice(text.get(at..).unwrap_or_default());
    Decoded { bytes: Cow::Owned(bytes), escapes }
}

impl Decoded<'_> {
    /// Whether nothing was decoded.
    pub(crate) fn is_same(&self) -> bool {
        self.escapes.is_empty()
    }

    /// A span of the text before it was decoded, without halves of escapes at its ends: what is left
    /// around it must stay a text that can be decoded.
    pub(crate) fn without_halves(&self, span: &Range<usize>) -> Range<usize> {
        let around = |at: usize| {
            let after = self.escapes.partition_point(|escape| escape.from.start < at);
            let escape = after.checked_sub(1).and_then(|last| self.escapes.get(last))?;
            (at < escape.from.end).then_some(&escape.from)
        };
        let start = around(span.start).map_or(span.start, |escape| escape.end);
        let end = around(span.end).map_or(span.end, |escape| escape.start);
        start..end.max(start)
    }

    /// The bytes that a span was decoded from.
    pub(crate) fn source(&self, span: &Range<usize>) -> Range<usize> {
        let place = |at: usize, round_up: bool| {
            let after = self.escapes.partition_point(|escape| escape.to.start < at);
            let Some(escape) = after.checked_sub(1).and_then(|last| self.escapes.get(last)) else {
                return at;
            };
            match (at < escape.to.end, round_up) {
                (true, true) => escape.from.end,
                (true, false) => escape.from.start,
                (false, _) => escape.from.end + (at - escape.to.end),
            }
        };
        place(span.start, false)..place(span.end, true)
    }
}

/// The escape at the start of `text`: what it means, and how long it is.
fn escape(text: &[u8]) -> (Option<char>, usize) {
    let character = match text.get(1) {
        Some(b'b') => '\u{8}',
        Some(b'f') => '\u{C}',
        Some(b'n') => '\n',
        Some(b'r') => '\r',
        Some(b't') => '\t',
        Some(&plain @ (b'"' | b'\\' | b'/')) => char::from(plain),
        Some(b'u') => return unit(text),
        Some(_) => return (None, 2),
        None => return (None, 1),
    };
    (Some(character), 2)
}

fn unit(text: &[u8]) -> (Option<char>, usize) {
    let unit = |at: usize| {
        let hex = text.get(at..at + 6)?.strip_prefix(b"\\u")?;
        let hex =
            hex.iter().all(u8::is_ascii_hexdigit).then(|| std::str::from_utf8(hex).ok())??;
        u32::from_str_radix(hex, 16).ok()
    };
    let Some(high) = unit(0) else { return (None, 2) };
    if (0xD800..0xDC00).contains(&high)
        && let Some(low @ 0xDC00..0xE000) = unit(6)
        && let Some(pair) = char::from_u32(0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00))
    {
        return (Some(pair), 12);
    }
    // Half a pair has no meaning; it is kept where it stands.
    (Some(char::from_u32(high).unwrap_or(char::REPLACEMENT_CHARACTER)), 6)
}
