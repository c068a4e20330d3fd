//! Decodes texts, and maps positions in decoded texts to the original bytes.
//!
//! A secret in a file may be written with escapes of JSON strings, and again with the escapes of a
//! JSON text inside of that one; with percent escapes; with color codes before, after or inside of
//! it. Therefore a text is searched both as written and after each of these decodings; a finding in
//! any of them is mapped to a span of bytes in the file, and only those are replaced.

use std::borrow::Cow;
use std::ops::Range;

/// An encoding that hides characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Coding {
    /// Escapes of JSON strings.
    Json,
    /// Percent escapes of URLs.
    Percent,
    /// Color codes and other control sequences of terminals.
    Color,
}

impl Coding {
    /// Returns the byte that every escape begins with.
    fn introducer(self) -> u8 {
        match self {
            Coding::Json => b'\\',
            Coding::Percent => b'%',
            Coding::Color => 0x1B,
        }
    }

    /// Decodes the escape at the start of `text`: its characters, and its length. Returns `None`
    /// for a byte that is not an escape.
    fn escape(self, text: &[u8]) -> Option<(EscapedBytes, usize)> {
        match self {
            Coding::Json => json_escape(text),
            Coding::Percent => percent_escape(text),
            Coding::Color => color_code(text),
        }
    }
}

/// The decoded bytes of an escape, at most four.
struct EscapedBytes {
    bytes: [u8; 4],
    length: usize,
}

impl EscapedBytes {
    const NOTHING: EscapedBytes = EscapedBytes { bytes: [0; 4], length: 0 };

    fn byte(byte: u8) -> EscapedBytes {
        EscapedBytes { bytes: [byte, 0, 0, 0], length: 1 }
    }

    fn character(character: char) -> EscapedBytes {
        let mut bytes = [0; 4];
        let length = character.encode_utf8(&mut bytes).len();
        EscapedBytes { bytes, length }
    }

    fn as_bytes(&self) -> &[u8] {
        self.bytes.get(..self.length).unwrap_or_default()
    }
}

/// Two corresponding positions: in the decoded text, and in its source.
#[derive(Debug, Clone, Copy)]
struct PositionPair {
    to: usize,
    from: usize,
}

/// The distance between two marks. Positions in between are found by decoding again, so that a text
/// of any length with any number of escapes needs little additional memory.
const MARK_EVERY: usize = 2048;

/// A decoded text with the origin of its bytes.
#[derive(Debug)]
pub(crate) struct Decoded<'a> {
    pub bytes: Cow<'a, [u8]>,
    source: &'a [u8],
    coding: Coding,
    marks: Vec<PositionPair>,
}

/// Resolves the escapes of a coding. Other bytes are copied.
pub(crate) fn decode(source: &[u8], coding: Coding) -> Decoded<'_> {
    let plain = Decoded { bytes: Cow::Borrowed(source), source, coding, marks: Vec::new() };
    let first = memchr::memchr_iter(coding.introducer(), source)
        .find(|at| coding.escape(source.get(*at..).unwrap_or_default()).is_some());
    let Some(first) = first else { return plain };
    let mut bytes = Vec::with_capacity(source.len());
    let mut marks = vec![PositionPair { to: 0, from: 0 }];
    let mut at = 0;
    let mut next = Some(first);
    while let Some(found) = next {
        copy(source, at..found, &mut bytes, &mut marks);
        at = found;
        match coding.escape(source.get(at..).unwrap_or_default()) {
            Some((output, length)) => {
                bytes.extend_from_slice(output.as_bytes());
                at += length;
            }
            None => {
                copy(source, at..at + 1, &mut bytes, &mut marks);
                at += 1;
            }
        }
        let rest = source.get(at..).unwrap_or_default();
        next = memchr::memchr(coding.introducer(), rest).map(|found| at + found);
    }
    copy(source, at..source.len(), &mut bytes, &mut marks);
    Decoded { bytes: Cow::Owned(bytes), source, coding, marks }
}

/// Copies bytes that are not escapes, and adds marks.
fn copy(source: &[u8], span: Range<usize>, bytes: &mut Vec<u8>, marks: &mut Vec<PositionPair>) {
    let mut from = span.start;
    loop {
        if marks.last().is_none_or(|mark| from >= mark.from + MARK_EVERY) {
            marks.push(PositionPair { to: bytes.len(), from });
        }
        let until = span.end.min(from + MARK_EVERY);
        bytes.extend_from_slice(source.get(from..until).unwrap_or_default());
        from = until;
        if from >= span.end {
            return;
        }
    }
}

/// A part of both texts: one escape, or bytes that are not escapes.
struct AlignedSpan {
    to: Range<usize>,
    from: Range<usize>,
    is_escape: bool,
}

impl Decoded<'_> {
    /// Returns whether nothing was decoded.
    pub(crate) fn is_same(&self) -> bool {
        self.marks.is_empty()
    }

    /// Returns the parts of both texts from a mark on.
    fn stretches(&self, mark: PositionPair) -> impl Iterator<Item = AlignedSpan> + '_ {
        let PositionPair { mut to, mut from } = mark;
        std::iter::from_fn(move || {
            let rest = self.source.get(from..).filter(|rest| !rest.is_empty())?;
            let near = rest.get(..rest.len().min(MARK_EVERY)).unwrap_or_default();
            let (length, written, is_escape) = match memchr::memchr(self.coding.introducer(), near)
            {
                None => (near.len(), near.len(), false),
                Some(0) => match self.coding.escape(rest) {
                    Some((output, length)) => (length, output.length, true),
                    None => (1, 1, false),
                },
                Some(plain) => (plain, plain, false),
            };
            let stretch =
                AlignedSpan { to: to..to + written, from: from..from + length, is_escape };
            (to, from) = (to + written, from + length);
            Some(stretch)
        })
    }

    /// Returns the last mark that is not after a position, where `place` returns the position of a
    /// mark.
    fn mark_before(&self, at: usize, place: fn(&PositionPair) -> usize) -> PositionPair {
        let after = self.marks.partition_point(|mark| place(mark) < at);
        let mark = after.checked_sub(1).and_then(|last| self.marks.get(last));
        mark.copied().unwrap_or(PositionPair { to: 0, from: 0 })
    }

    /// Returns a span of the source without incomplete escapes at its ends, so that the text around
    /// it can still be decoded.
    pub(crate) fn without_halves(&self, span: &Range<usize>) -> Range<usize> {
        if self.is_same() {
            return span.clone();
        }
        let around = |at: usize| {
            let mark = self.mark_before(at, |mark| mark.from);
            let stretch = self.stretches(mark).find(|stretch| stretch.from.end > at)?;
            (stretch.is_escape && stretch.from.start < at).then_some(stretch.from)
        };
        let start = around(span.start).map_or(span.start, |escape| escape.end);
        let end = around(span.end).map_or(span.end, |escape| escape.start);
        start..end.max(start)
    }

    /// Returns the bytes of the source that a span was decoded from.
    pub(crate) fn source(&self, span: &Range<usize>) -> Range<usize> {
        if self.is_same() {
            return span.clone();
        }
        let start = self.start(span.start);
        // An empty span between codes without characters begins after them and ends before them.
        start..self.end(span.end).max(start)
    }

    /// Returns the source position of the byte at `at`. Codes without characters before it are
    /// excluded.
    fn start(&self, at: usize) -> usize {
        let mark = self.mark_before(at, |mark| mark.to);
        match self.stretches(mark).find(|stretch| stretch.to.end > at) {
            Some(stretch) if stretch.is_escape => stretch.from.start,
            Some(stretch) => stretch.from.start + (at - stretch.to.start),
            None => self.source.len(),
        }
    }

    /// Returns the source end of the byte before `at`.
    fn end(&self, at: usize) -> usize {
        let mark = self.mark_before(at, |mark| mark.to);
        match self.stretches(mark).find(|stretch| stretch.to.end >= at) {
            Some(stretch) if stretch.is_escape => stretch.from.end,
            Some(stretch) => stretch.from.start + (at - stretch.to.start),
            None => self.source.len(),
        }
    }
}

fn json_escape(text: &[u8]) -> Option<(EscapedBytes, usize)> {
    let character = match text.get(1)? {
        b'b' => '\u{8}',
        b'f' => '\u{C}',
        b'n' => '\n',
        b'r' => '\r',
        b't' => '\t',
        &plain @ (b'"' | b'\\' | b'/') => char::from(plain),
        b'u' => return json_unit(text),
        _ => return None,
    };
    Some((EscapedBytes::character(character), 2))
}

fn json_unit(text: &[u8]) -> Option<(EscapedBytes, usize)> {
    let unit = |at: usize| {
        let hex = text.get(at..at + 6)?.strip_prefix(b"\\u")?;
        let hex =
            hex.iter().all(u8::is_ascii_hexdigit).then(|| std::str::from_utf8(hex).ok())??;
        u32::from_str_radix(hex, 16).ok()
    };
    let high = unit(0)?;
    if (0xD800..0xDC00).contains(&high)
        && let Some(low @ 0xDC00..0xE000) = unit(6)
        && let Some(pair) = char::from_u32(0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00))
    {
        return Some((EscapedBytes::character(pair), 12));
    }
    // Half a surrogate pair has no meaning, and is kept.
    let character = char::from_u32(high).unwrap_or(char::REPLACEMENT_CHARACTER);
    Some((EscapedBytes::character(character), 6))
}

/// Decodes the escape of a printable character; other escapes do not matter.
fn percent_escape(text: &[u8]) -> Option<(EscapedBytes, usize)> {
    let digit = |byte: &u8| char::from(*byte).to_digit(16);
    let value = digit(text.get(1)?)? * 16 + digit(text.get(2)?)?;
    let byte = u8::try_from(value).ok().filter(|byte| (b' '..0x7F).contains(byte))?;
    Some((EscapedBytes::byte(byte), 3))
}

fn color_code(text: &[u8]) -> Option<(EscapedBytes, usize)> {
    const MAX_LENGTH: usize = 64;
    let length = match text.get(1)? {
        b'[' => {
            let rest = text.get(2..)?;
            let parameters =
                rest.iter().take(MAX_LENGTH).take_while(|byte| matches!(byte, b' '..=b'?')).count();
            rest.get(parameters).filter(|byte| matches!(byte, b'@'..=b'~'))?;
            2 + parameters + 1
        }
        b'(' | b')' => 3,
        _ => return None,
    };
    Some((EscapedBytes::NOTHING, length.min(text.len())))
}

/// Returns whether decoding with a coding other than JSON's would change a text.
pub(crate) fn has_hidden(text: &[u8], coding: Coding) -> bool {
    memchr::memchr_iter(coding.introducer(), text)
        .any(|at| coding.escape(text.get(at..).unwrap_or_default()).is_some())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "how a test fails")]

    use super::*;
    use proptest::prelude::*;

    #[test]
    fn an_empty_span_between_codes_is_empty_in_the_source() {
        let decoded = decode(b"\x1b[1;31m\x1b[1;31m", Coding::Color);
        assert_eq!(decoded.bytes.as_ref(), b"");
        assert_eq!(decoded.source(&(0..0)), 14..14);
    }

    proptest! {
        /// Every decoded byte leads back to bytes that decode to it.
        #[test]
        fn the_way_back_leads_to_the_same_bytes(
            pieces in prop::collection::vec("[a-c%]|\\\\n|\\\\u00e9|\\\\\\\\|\\\\|%20|%zz|\\x1b\\[1;31m|\\x1b|x{3000}", 0..30),
            from in 0.0_f64..1.0, length in 1_usize..20,
        ) {
            let text = pieces.concat().into_bytes();
            for coding in [Coding::Json, Coding::Percent, Coding::Color] {
                let decoded = decode(&text, coding);
                let start = (from * decoded.bytes.len() as f64) as usize;
                let end = (start + length).min(decoded.bytes.len());
                let source = decoded.source(&(start..end));
                let again = decode(&text[source.clone()], coding);
                let inside = &decoded.bytes[start..end];
                let is_there = inside.is_empty() || again.bytes.windows(inside.len()).any(|w| w == inside);
                prop_assert!(is_there, "{:?} {:?} {:?}", coding, source, inside);
                let whole = decoded.without_halves(&source);
                prop_assert_eq!(whole, source);
            }
        }
    }
}
