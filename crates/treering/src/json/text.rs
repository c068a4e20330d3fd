//! Decodes and encodes the texts of strings.

use super::seek::{LANES, lanes_before, next_special};
use std::borrow::Cow;

/// Returns the inside of a string literal, escapes unresolved, or `None` if it is not a string.
pub(crate) fn inside(literal: &[u8]) -> Option<&[u8]> {
    literal.strip_prefix(b"\"")?.strip_suffix(b"\"")
}

/// Returns the text of a string literal (quotes included), or `None` if it is not a string. Lone
/// surrogates and broken UTF-8 become U+FFFD: use the raw bytes where that matters.
pub(crate) fn string(literal: &[u8]) -> Option<Cow<'_, str>> {
    inside(literal).map(decode)
}

/// Resolves the escapes in the inside of a string. Anything that a `String` cannot hold becomes
/// U+FFFD.
pub(crate) fn decode(inner: &[u8]) -> Cow<'_, str> {
    match decode_exactly(inner) {
        Ok(text) => text,
        Err(lossy) => Cow::Owned(lossy),
    }
}

/// Resolves the escapes as `decode` does; if something was lost, returns the replaced text as
/// `Err`.
pub(crate) fn decode_exactly(inner: &[u8]) -> Result<Cow<'_, str>, String> {
    if memchr::memchr(b'\\', inner).is_none() {
        return match std::str::from_utf8(inner) {
            Ok(text) => Ok(Cow::Borrowed(text)),
            Err(_) => Err(String::from_utf8_lossy(inner).into_owned()),
        };
    }
    let (out, exact) = resolve(inner);
    match String::from_utf8(out) {
        Ok(text) if exact => Ok(Cow::Owned(text)),
        Ok(lossy) => Err(lossy),
        Err(error) => Err(String::from_utf8_lossy(error.as_bytes()).into_owned()),
    }
}

/// Returns the bytes with their escapes resolved, and whether all escapes are valid. Sixteen bytes
/// are copied at a time, and those before the next escape are kept.
fn resolve(inner: &[u8]) -> (Vec<u8>, bool) {
    // Only an invalid escape can get longer, and only at the end.
    let mut out = vec![0; inner.len() + LANES];
    let (mut at, mut end, mut exact) = (0, 0, true);
    while let Some(rest) = inner.get(at..).filter(|rest| !rest.is_empty()) {
        let plain = match (rest.first_chunk(), out[end..].first_chunk_mut()) {
            (Some(chunk), Some(room)) => {
                *room = *chunk;
                lanes_before(chunk, b'\\')
            }
            _ => {
                let plain = rest.iter().take_while(|byte| **byte != b'\\').count();
                out[end..end + plain].copy_from_slice(&rest[..plain]);
                plain
            }
        };
        (at, end) = (at + plain, end + plain);
        if plain == rest.len().min(LANES) {
            continue;
        }
        let escape = &rest[plain..];
        if let Some(byte) = escape.get(1).and_then(|name| short_escape(*name)) {
            out[end] = byte;
            (at, end) = (at + 2, end + 1);
            continue;
        }
        let (character, used) = decode_escape(escape);
        exact &= character.is_some();
        let character = character.unwrap_or(char::REPLACEMENT_CHARACTER);
        end += character.encode_utf8(&mut out[end..]).len();
        at += used;
    }
    out.truncate(end);
    (out, exact)
}

/// Decodes the escape at the start of `bytes`: its character (`None` for half a surrogate pair) and
/// its length.
pub(super) fn decode_escape(bytes: &[u8]) -> (Option<char>, usize) {
    match bytes.get(1) {
        Some(b'u') => decode_unit(bytes),
        Some(&other) => (Some(char::from(short_escape(other).unwrap_or(other))), 2),
        None => (None, 1),
    }
}

/// Returns the byte that a two-character escape stands for.
#[inline]
fn short_escape(name: u8) -> Option<u8> {
    Some(match name {
        b'"' | b'\\' | b'/' => name,
        b'n' => b'\n',
        b't' => b'\t',
        b'r' => b'\r',
        b'b' => 0x08,
        b'f' => 0x0C,
        _ => return None,
    })
}

fn decode_unit(bytes: &[u8]) -> (Option<char>, usize) {
    let unit = |at: usize| {
        let hex = bytes.get(at..at + 6)?.strip_prefix(b"\\u")?;
        u32::from_str_radix(std::str::from_utf8(hex).ok()?, 16).ok()
    };
    let Some(high) = unit(0) else { return (None, bytes.len().min(6)) };
    if (0xD800..0xDC00).contains(&high)
        && let Some(low @ 0xDC00..0xE000) = unit(6)
        && let Some(pair) = char::from_u32(0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00))
    {
        return (Some(pair), 12);
    }
    (char::from_u32(high), 6)
}

/// Returns JSON in which every string is valid Unicode: halves of surrogate pairs and bytes that
/// are not UTF-8 become U+FFFD, everything else is unchanged. The result is borrowed if nothing
/// changed.
pub(crate) fn to_unicode(json: &[u8]) -> Cow<'_, str> {
    let text = String::from_utf8_lossy(json);
    let mut out = String::new();
    let (mut copied, mut at) = (0, 0);
    while let Some(escape) = memchr::memchr(b'\\', text.as_bytes().get(at..).unwrap_or_default()) {
        let start = at + escape;
        let (character, used) = decode_escape(&text.as_bytes()[start..]);
        at = start + used;
        if character.is_none() && text.is_char_boundary(at) {
            out.push_str(&text[copied..start]);
            out.push_str("\\ufffd");
            copied = at;
        }
    }
    if copied == 0 {
        return text;
    }
    out.push_str(&text[copied..]);
    Cow::Owned(out)
}

/// Appends `text` as a string literal, escaped the way `JSON.stringify` does.
pub(crate) fn write_string(out: &mut Vec<u8>, text: &str) {
    out.push(b'"');
    let bytes = text.as_bytes();
    let (mut from, mut at) = (0, 0);
    while let Some(next) = next_special(bytes, at) {
        at = next;
        let byte = bytes[at];
        out.extend_from_slice(&bytes[from..at]);
        at += 1;
        from = at;
        match byte {
            b'"' => out.extend_from_slice(b"\\\""),
            b'\\' => out.extend_from_slice(b"\\\\"),
            0x08 => out.extend_from_slice(b"\\b"),
            0x0C => out.extend_from_slice(b"\\f"),
            b'\n' => out.extend_from_slice(b"\\n"),
            b'\r' => out.extend_from_slice(b"\\r"),
            b'\t' => out.extend_from_slice(b"\\t"),
            _ => {
                const HEX: &[u8; 16] = b"0123456789abcdef";
                out.extend_from_slice(b"\\u00");
                out.push(HEX[usize::from(byte >> 4)]);
                out.push(HEX[usize::from(byte & 15)]);
            }
        }
    }
    out.extend_from_slice(&bytes[from..]);
    out.push(b'"');
}

/// Returns `text` as a string literal.
pub(crate) fn quoted(text: &str) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len() + 2);
    write_string(&mut out, text);
    out
}
