//! Escapes text of a session for HTML, so that it contains no markup and no invisible characters.

use treering_display::text::{is_hidden, may_need_replacement, visible_replacement};
use wide::u8x16;

/// The characters that must be escaped in a page.
const SPECIAL: [bool; 256] = {
    let mut table = [false; 256];
    let mut byte = 0;
    while byte < 256 {
        let is_markup = matches!(byte as u8, b'<' | b'>' | b'&' | b'"' | b'\'');
        table[byte] = is_markup || may_need_replacement(byte as u8);
        byte += 1;
    }
    table
};

/// Appends text. Replacements of invisible characters are marked as such.
pub(crate) fn text(out: &mut String, text: &str) {
    escape(out, text, |out, shown| {
        out.push_str("<i class=h>");
        out.push_str(shown);
        out.push_str("</i>");
    });
}

/// Appends the value of an attribute for use between double quotes.
pub(crate) fn attribute(out: &mut String, text: &str) {
    escape(out, text, |out, shown| out.push_str(shown));
}

fn escape(out: &mut String, text: &str, mark: impl Fn(&mut String, &str)) {
    let bytes = text.as_bytes();
    let (mut from, mut at) = (0, 0);
    while let Some(hit) = next_special(bytes, at) {
        at = hit;
        let before = text.get(from..at).unwrap_or_default();
        match bytes.get(at) {
            // The lengths of these constants are known, so they are copied without a call.
            Some(b'<') => entity(out, before, "&lt;"),
            Some(b'>') => entity(out, before, "&gt;"),
            Some(b'&') => entity(out, before, "&amp;"),
            Some(b'"') => entity(out, before, "&quot;"),
            Some(b'\'') => entity(out, before, "&#39;"),
            _ => {
                let rest = text.get(at..).unwrap_or_default();
                let Some(character) = rest.chars().next() else { break };
                at += character.len_utf8();
                if let Some(shown) = visible_replacement(character) {
                    out.push_str(before);
                    // A carriage return before a line feed is left out.
                    if character != '\r' || bytes.get(at) != Some(&b'\n') {
                        mark(out, &shown);
                    }
                    from = at;
                }
                continue;
            }
        }
        at += 1;
        from = at;
    }
    out.push_str(text.get(from..).unwrap_or_default());
}

/// Returns the position of the next special byte from `at` on. It reads sixteen bytes at a time,
/// because this runs over every byte of an export.
#[inline]
fn next_special(bytes: &[u8], mut at: usize) -> Option<usize> {
    let is_special = |byte: &u8| SPECIAL[usize::from(*byte)];
    while let Some(chunk) = bytes.get(at..)?.first_chunk() {
        let mut found = suspects(u8x16::new(*chunk));
        while found != 0 {
            let place = found.trailing_zeros() as usize;
            if chunk.get(place).is_some_and(is_special) {
                return Some(at + place);
            }
            found &= found - 1;
        }
        at += chunk.len();
    }
    bytes.get(at..)?.iter().position(is_special).map(|place| at + place)
}

/// Returns a bitmask of the bytes that may be special: all special bytes and all bytes beyond
/// ASCII.
#[inline]
fn suspects(lanes: u8x16) -> u32 {
    let all = u8x16::splat;
    let is = |byte: u8| lanes.simd_eq(all(byte));
    let controls = lanes.min(all(0x1f)).simd_eq(lanes) & !(is(b'\n') | is(b'\t'));
    // `&` and `'` differ in one bit, and so do `<` and `>`.
    let entities = (lanes | all(1)).simd_eq(all(b'\''));
    let brackets = (lanes | all(2)).simd_eq(all(b'>'));
    let others = lanes.max(all(0x7f)).simd_eq(lanes);
    (controls | entities | brackets | is(b'"') | others).to_bitmask()
}

/// Appends the text before a special byte, and the entity of the byte.
#[inline(always)]
fn entity(out: &mut String, before: &str, entity: &'static str) {
    out.push_str(before);
    out.push_str(entity);
}

/// Appends text as a JSON string that is safe inside a `script` element.
pub(crate) fn json(out: &mut String, text: &str) {
    out.push('"');
    // The fold has no early exit, so that the compiler vectorizes it.
    let is_plain = text.bytes().fold(true, |is_plain, byte| {
        is_plain
            & (b' '..=b'~').contains(&byte)
            & !matches!(byte, b'"' | b'\\' | b'<' | b'>' | b'&')
    });
    if is_plain {
        out.push_str(text);
        out.push('"');
        return;
    }
    let mut from = 0;
    for (at, character) in text.char_indices() {
        let is_plain =
            character >= ' ' && !matches!(character, '"' | '\\' | '<' | '>' | '&' | '\x7f');
        if is_plain && !is_hidden(character) {
            continue;
        }
        out.push_str(text.get(from..at).unwrap_or_default());
        from = at + character.len_utf8();
        match character {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            _ => {
                for unit in character.encode_utf16(&mut [0; 2]) {
                    out.push_str(&format!("\\u{unit:04x}"));
                }
            }
        }
    }
    out.push_str(text.get(from..).unwrap_or_default());
    out.push('"');
}

/// Appends the address of a link, with other characters percent-encoded.
pub(crate) fn address(out: &mut String, address: &str) {
    for byte in address.bytes() {
        match byte {
            b'&' => out.push_str("&amp;"),
            b'!'
            | b'#'..=b'%'
            | b'('..=b';'
            | b'='
            | b'?'..=b'['
            | b']'
            | b'_'
            | b'a'..=b'z'
            | b'~' => out.push(char::from(byte)),
            _ => out.push_str(&format!("%{byte:02X}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(write: fn(&mut String, &str), input: &str) -> String {
        let mut out = String::new();
        write(&mut out, input);
        out
    }

    #[test]
    fn markup_becomes_text() {
        assert_eq!(of(text, "a<b>&\"'"), "a&lt;b&gt;&amp;&quot;&#39;");
        assert_eq!(of(text, "plain ünïcode 日本 👍🏽\n\tx"), "plain ünïcode 日本 👍🏽\n\tx");
        assert_eq!(of(text, "é<é"), "é&lt;é");
    }

    #[test]
    fn what_hides_is_marked() {
        assert_eq!(of(text, "a\u{1b}[1m\r\nb\r"), "a<i class=h>\\x1b</i>[1m\nb<i class=h>\\r</i>");
        assert_eq!(of(text, "\u{202e}x"), "<i class=h>\\u{202e}</i>x");
        assert_eq!(of(attribute, "\u{202e}\""), "\\u{202e}&quot;");
    }

    #[test]
    fn every_special_byte_is_found_at_every_offset() {
        for byte in 0..=u8::MAX {
            for place in 0..20 {
                for filler in [b'x', b'\n', 0x20, 0x7e, byte] {
                    let mut bytes = [filler; 20];
                    bytes[place] = byte;
                    let expected = bytes.iter().position(|byte| SPECIAL[usize::from(*byte)]);
                    assert_eq!(next_special(&bytes, 0), expected, "{byte:x} at {place}");
                }
            }
        }
    }

    #[test]
    fn json_cannot_leave_its_element() {
        let hostile = "</script><!-- \u{2028} \u{1f600} \\ \" \n";
        let literal = of(json, hostile);
        assert!(!literal.contains(['<', '>', '&', '\n', '\u{2028}']), "{literal}");
        assert_eq!(serde_json::from_str::<String>(&literal).unwrap(), hostile);
    }

    #[test]
    fn an_address_is_only_an_address() {
        assert_eq!(of(address, "https://x.y/a?b=c&d=e#f"), "https://x.y/a?b=c&amp;d=e#f");
        assert_eq!(of(address, "http://x\"'<é"), "http://x%22%27%3C%C3%A9");
    }
}
