//! Text of a session as HTML: nothing in it is markup, nothing in it is invisible.

use crate::text::{may_hide, stand_in};

/// What must be looked at before it goes into a page.
const SPECIAL: [bool; 256] = {
    let mut table = [false; 256];
    let mut byte = 0;
    while byte < 256 {
        let is_markup = matches!(byte as u8, b'<' | b'>' | b'&' | b'"' | b'\'');
        table[byte] = is_markup || may_hide(byte as u8);
        byte += 1;
    }
    table
};

/// Appends text. Stand-ins for what is invisible are marked as such.
pub(crate) fn text(out: &mut String, text: &str) {
    escape(out, text, |out, shown| {
        out.push_str("<i class=h>");
        out.push_str(shown);
        out.push_str("</i>");
    });
}

/// Appends the value of an attribute, to stand between double quotes.
pub(crate) fn attribute(out: &mut String, text: &str) {
    escape(out, text, |out, shown| out.push_str(shown));
}

fn escape(out: &mut String, text: &str, mark: impl Fn(&mut String, &str)) {
    let bytes = text.as_bytes();
    let (mut from, mut at) = (0, 0);
    while let Some(hit) =
        bytes.get(at..).and_then(|rest| rest.iter().position(|byte| SPECIAL[usize::from(*byte)]))
    {
        at += hit;
        let entity = match bytes.get(at) {
            Some(b'<') => "&lt;",
            Some(b'>') => "&gt;",
            Some(b'&') => "&amp;",
            Some(b'"') => "&quot;",
            Some(b'\'') => "&#39;",
            _ => "",
        };
        if !entity.is_empty() {
            out.push_str(text.get(from..at).unwrap_or_default());
            out.push_str(entity);
            at += 1;
            from = at;
            continue;
        }
        let Some(character) = text.get(at..).and_then(|rest| rest.chars().next()) else { break };
        let next = at + character.len_utf8();
        if let Some(shown) = stand_in(character) {
            out.push_str(text.get(from..at).unwrap_or_default());
            // A line break of two characters is one.
            if character != '\r' || bytes.get(next) != Some(&b'\n') {
                mark(out, &shown);
            }
            from = next;
        }
        at = next;
    }
    out.push_str(text.get(from..).unwrap_or_default());
}

/// Appends text as a JSON string that is harmless inside a `script` element.
pub(crate) fn json(out: &mut String, text: &str) {
    out.push('"');
    let mut from = 0;
    for (at, character) in text.char_indices() {
        let is_plain =
            character >= ' ' && !matches!(character, '"' | '\\' | '<' | '>' | '&' | '\x7f');
        if is_plain && !crate::text::is_hidden(character) {
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

/// Appends the address of a link. What does not belong into one is percent-encoded.
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
