//! Rewrites JSON the way JavaScript's `JSON.stringify` writes it.
//!
//! There is no white space between tokens. Strings have only the necessary escapes, in their short
//! form if there is one; half a surrogate pair stays an escape, because it has no other
//! representation. Numbers are copied digit by digit. Two texts of the same JSON value therefore
//! become the same bytes, unless they spell a number differently.

use crate::json;
use std::borrow::Cow;

/// Returns `value` (complete JSON) in that style.
pub(crate) fn compact(value: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(value.len());
    let mut at = 0;
    while let Some(&byte) = value.get(at) {
        match byte {
            b' ' | b'\t' | b'\r' | b'\n' => at += 1,
            b'"' => {
                let end = json::skip_string(value, at).unwrap_or(value.len());
                let literal = value.get(at..end).unwrap_or_default();
                match json::inside(literal) {
                    Some(inner) => {
                        out.push(b'"');
                        out.extend_from_slice(&plain(inner));
                        out.push(b'"');
                    }
                    None => out.extend_from_slice(literal),
                }
                at = end;
            }
            _ => {
                out.push(byte);
                at += 1;
            }
        }
    }
    out
}

/// Returns the inside of a string literal with only the necessary escapes.
pub(crate) fn plain(inner: &[u8]) -> Cow<'_, [u8]> {
    if memchr::memchr(b'\\', inner).is_none() {
        return Cow::Borrowed(inner);
    }
    let mut out = Vec::with_capacity(inner.len());
    let mut rest = inner;
    while let Some(hit) = memchr::memchr(b'\\', rest) {
        let (before, escape) = rest.split_at(hit);
        out.extend_from_slice(before);
        let used = match escape.get(1) {
            Some(b'u') => unit_escape(&mut out, escape),
            Some(b'/') => {
                out.push(b'/');
                2
            }
            _ => {
                out.extend_from_slice(escape.get(..2).unwrap_or(escape));
                2
            }
        };
        rest = escape.get(used..).unwrap_or_default();
    }
    out.extend_from_slice(rest);
    Cow::Owned(out)
}

/// Writes the character of the `\uXXXX` at the start of `escape` (or of the pair of them), and
/// returns the length of the escape.
fn unit_escape(out: &mut Vec<u8>, escape: &[u8]) -> usize {
    let pair = matches!(unit(escape, 0), Some(0xD800..0xDC00))
        && matches!(unit(escape, 6), Some(0xDC00..0xE000));
    let used = escape.len().min(if pair { 12 } else { 6 });
    let escape = &escape[..used];
    match json::decode_exactly(escape) {
        Ok(text) => {
            let literal = json::quoted(&text);
            out.extend_from_slice(json::inside(&literal).unwrap_or_default());
        }
        Err(_) => out.extend(escape.iter().map(u8::to_ascii_lowercase)),
    }
    used
}

fn unit(bytes: &[u8], at: usize) -> Option<u32> {
    let hex = bytes.get(at..at + 6)?.strip_prefix(b"\\u")?;
    u32::from_str_radix(std::str::from_utf8(hex).ok()?, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn compacted(text: &str) -> String {
        String::from_utf8(compact(text.as_bytes())).unwrap()
    }

    #[test]
    fn white_space_goes_and_numbers_stay() {
        assert_eq!(
            compacted(" { \"a b\" :\t[ 1e400 , -0.0, 12345678901234567890 ] , \"c\" : { } } "),
            r#"{"a b":[1e400,-0.0,12345678901234567890],"c":{}}"#
        );
    }

    #[test]
    fn strings_are_escaped_as_little_as_possible() {
        assert_eq!(compacted(r#""gr\u00f6\u00DFe \ud83d\ude00 a\/b""#), "\"größe 😀 a/b\"");
        assert_eq!(
            compacted(r#""\u0022\u005c\u000a\u0001\u007f""#),
            "\"\\\"\\\\\\n\\u0001\u{7f}\""
        );
        assert_eq!(compacted(r#""\uD83D x \ude00\ud83d""#), r#""\ud83d x \ude00\ud83d""#);
        assert_eq!(compacted(r#""\ud83d\u0041\\u0041""#), r#""\ud83dA\\u0041""#);
    }
}
