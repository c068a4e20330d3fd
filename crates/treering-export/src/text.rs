//! Text of a session, made harmless: what has no visible form of its own gets one.
//!
//! Control characters and characters that hide or turn text around become their numbers (`\x1b`,
//! `\u{202e}`), as on the command line. Line breaks and tabs stay. In HTML the numbers are marked as
//! not being the text's own.

use std::borrow::Cow;
use treering::usage::Usage;

/// Characters that do something other than being seen: C1 controls, text direction, formatting,
/// placeholders of no width, tags. Joiners, which scripts and emoji need, are not among them.
pub(crate) fn is_hidden(character: char) -> bool {
    matches!(
        character,
        '\u{80}'..='\u{9f}'
            | '\u{ad}'
            | '\u{34f}'
            | '\u{600}'..='\u{605}'
            | '\u{61c}'
            | '\u{6dd}'
            | '\u{70f}'
            | '\u{890}'..='\u{891}'
            | '\u{8e2}'
            | '\u{115f}'..='\u{1160}'
            | '\u{17b4}'..='\u{17b5}'
            | '\u{180b}'..='\u{180f}'
            | '\u{200b}'
            | '\u{200e}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{3164}'
            | '\u{feff}'
            | '\u{ffa0}'
            | '\u{fff0}'..='\u{fffb}'
            | '\u{110bd}'
            | '\u{110cd}'
            | '\u{13430}'..='\u{1345f}'
            | '\u{1bca0}'..='\u{1bca3}'
            | '\u{1d173}'..='\u{1d17a}'
            | '\u{e0000}'..='\u{e0fff}'
            | '\u{fffe}'..='\u{ffff}'
    )
}

/// Bytes with which a character begins that may have to be replaced. A table, because every byte of
/// an export passes by it.
pub(crate) const fn may_hide(byte: u8) -> bool {
    matches!(byte, 0..=8 | 11..=31 | 0x7f)
        || matches!(byte, 0xc2 | 0xcd | 0xd8 | 0xdb | 0xdc | 0xe0..=0xe3 | 0xef..=0xf4)
}

/// Returns the replacement of a character; `None` for one that may be shown itself. Line breaks and
/// tabs may.
pub fn stand_in(character: char) -> Option<Cow<'static, str>> {
    match character {
        '\n' | '\t' => None,
        '\r' => Some("\\r".into()),
        '\0'..='\x1f' | '\x7f' => Some(format!("\\x{:02x}", u32::from(character)).into()),
        _ if is_hidden(character) => Some(format!("\\u{{{:x}}}", u32::from(character)).into()),
        _ => None,
    }
}

/// The text with everything invisible made visible. Borrowed where there is nothing to do.
///
/// ```
/// use treering_export::text::visible;
/// assert_eq!(visible("a\u{1b}[1mb\u{202e}\r\nc"), "a\\x1b[1mb\\u{202e}\nc");
/// ```
pub fn visible(text: &str) -> Cow<'_, str> {
    if !text.bytes().any(may_hide) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        match stand_in(character) {
            Some(_) if character == '\r' && characters.peek() == Some(&'\n') => {}
            Some(shown) => out.push_str(&shown),
            None => out.push(character),
        }
    }
    Cow::Owned(out)
}

/// The first line that says something.
pub fn first_line(text: &str) -> &str {
    text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default()
}

/// One line of at most `most` characters, visible, placeholders run together.
pub fn excerpt(text: &str, most: usize) -> String {
    let line = first_line(text);
    plain_excerpt(line, most).unwrap_or_else(|| safe_excerpt(line, most))
}

/// The excerpt of a line of which nothing has to be changed; most are.
fn plain_excerpt(line: &str, most: usize) -> Option<String> {
    let start = line.get(..line.len().min(most))?;
    let is_plain = start.bytes().all(|byte| matches!(byte, b' '..=b'~'))
        && !start.as_bytes().windows(2).any(|pair| pair == b"  ");
    let is_cut = start.len() < line.len();
    is_plain.then(|| if is_cut { format!("{}…", start.trim_end()) } else { start.to_owned() })
}

/// The excerpt of any line.
fn safe_excerpt(text: &str, most: usize) -> String {
    let mut line = String::with_capacity(most.min(text.len()) + 4);
    let mut left = most;
    for word in text.split([' ', '\t']).filter(|word| !word.is_empty()) {
        if !line.is_empty() {
            line.push(' ');
            left = left.saturating_sub(1);
        }
        for character in word.chars() {
            if left == 0 {
                line.truncate(line.trim_end().len());
                line.push('…');
                return line;
            }
            left -= 1;
            match character {
                ' '..='~' => line.push(character),
                _ => match stand_in(character) {
                    Some(shown) => line.push_str(&shown),
                    None => line.push(character),
                },
            }
        }
    }
    line
}

/// A number of tokens, to two or three digits: `950`, `1.2k`, `35.1k`, `65.8M`.
pub fn tokens(number: u64) -> String {
    if number < 1000 {
        return number.to_string();
    }
    let mut value = number as f64;
    for unit in ["k", "M", "G"] {
        value /= 1000.0;
        if value < 999.5 {
            let digits = usize::from(value < 99.95);
            let text = format!("{value:.digits$}");
            // Two digits are enough where the third is none.
            let text = text.strip_suffix(".0").filter(|text| text.len() > 1).unwrap_or(&text);
            return format!("{text}{unit}");
        }
    }
    format!("{:.0}T", value / 1000.0)
}

/// An estimated number of tokens, in short as [`tokens`] writes it.
pub fn short_number(number: f64) -> String {
    // A cast of a float saturates.
    tokens(number.round() as u64)
}

/// What requests cost: `$1.23`; `?` if it is unknown; `$1.23+?` if there was more, of unknown cost.
pub fn cost(usage: &Usage) -> String {
    let dollars = usage.cost.dollars();
    let known = match dollars {
        _ if dollars > 0.0 && dollars < 0.000_05 => "<$0.0001".to_owned(),
        0.0..0.01 if dollars > 0.0 => format!("${dollars:.4}"),
        0.0..1e9 => format!("${dollars:.2}"),
        _ => format!("${dollars:.2e}"),
    };
    match (usage.requests, usage.unpriced) {
        (0, _) => String::new(),
        (_, 0) => known,
        (all, unpriced) if all == unpriced => "?".to_owned(),
        _ => format!("{known}+?"),
    }
}

/// Returns an age in the largest unit that gives a number: `5 min`, `3 d`.
pub fn age(millis: i64) -> String {
    let seconds = millis.max(0) / 1000;
    match seconds {
        ..60 => "now".to_owned(),
        60..3600 => format!("{} min", seconds / 60),
        3600..86_400 => format!("{} h", seconds / 3600),
        86_400..5_184_000 => format!("{} d", seconds / 86_400),
        5_184_000..63_072_000 => format!("{} mon", seconds / 2_592_000),
        _ => format!("{} y", seconds / 31_536_000),
    }
}

/// Returns the name, cut short, of the blob in which an image is kept; `None` if it is in the session.
/// It is safe to show.
///
/// ```
/// use treering_export::text::blob_name;
/// assert_eq!(blob_name("blob:sha256:0123456789abcdef").as_deref(), Some("blob 0123456789ab"));
/// assert_eq!(blob_name("iVBORw0KGgo="), None);
/// ```
pub fn blob_name(image_data: &str) -> Option<String> {
    let hash = image_data.strip_prefix("blob:sha256:")?;
    let digits: String = hash.chars().take_while(char::is_ascii_hexdigit).take(12).collect();
    Some(format!("blob {digits}"))
}

/// A size in bytes, to two or three digits.
pub fn size(bytes: u64) -> String {
    let mut value = bytes as f64;
    for unit in ["B", "KB", "MB", "GB"] {
        if value < 999.5 {
            let digits = usize::from(value < 9.95 && unit != "B");
            return format!("{value:.digits$} {unit}");
        }
        value /= 1000.0;
    }
    format!("{value:.0} TB")
}

/// JSON over several lines. Nothing but white space is changed, and what is not JSON comes out as
/// it is; nesting beyond what a screen can show is not indented further.
///
/// ```
/// use treering_export::text::pretty_json;
/// assert_eq!(pretty_json(r#"{"a":[]}"#), "{\n  \"a\": []\n}");
/// ```
pub fn pretty_json(text: &str) -> String {
    const MAX_INDENT: usize = 20;
    let mut out = String::with_capacity(text.len() * 2);
    let (mut depth, mut in_string, mut escaped) = (0_usize, false, false);
    let line_break = |out: &mut String, depth: usize| {
        out.push('\n');
        out.push_str(&"  ".repeat(depth.min(MAX_INDENT)));
    };
    let is_space = |c: &char| matches!(c, ' ' | '\t' | '\n' | '\r');
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        if in_string {
            out.push(character);
            in_string = escaped || character != '"';
            escaped = character == '\\' && !escaped;
            continue;
        }
        match character {
            '{' | '[' => {
                out.push(character);
                while characters.next_if(is_space).is_some() {}
                match characters.peek() {
                    Some('}' | ']') => out.extend(characters.next()),
                    _ => {
                        depth += 1;
                        line_break(&mut out, depth);
                    }
                }
            }
            '}' | ']' => {
                depth = depth.saturating_sub(1);
                line_break(&mut out, depth);
                out.push(character);
            }
            ',' => {
                out.push(',');
                line_break(&mut out, depth);
            }
            ':' => out.push_str(": "),
            _ if is_space(&character) => {}
            _ => {
                in_string = character == '"';
                out.push(character);
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_table_knows_every_hidden_character() {
        for code in 0..=0x10_ffff {
            let Some(character) = char::from_u32(code) else { continue };
            let first = character.to_string().as_bytes()[0];
            assert!(stand_in(character).is_none() || may_hide(first), "{code:x}");
        }
    }

    #[test]
    fn nothing_hidden_stays_hidden() {
        for code in (0..0x20).chain(0x7f..0xa0).chain([0x200b, 0x200e]).chain(0x2028..0x202f) {
            let character = char::from_u32(code).unwrap();
            let shown = visible(&format!("a{character}b")).into_owned();
            let is_break = matches!(character, '\n' | '\t');
            assert_eq!(shown.contains(character), is_break, "{code:x}: {shown:?}");
            assert_ne!(shown, "ab", "{code:x} must be visible");
        }
        for text in ["héllo", "日本語", "مرحبا", "👨‍👩‍👧", "❤️", "می‌خواهم", "a → b\n\tc"]
        {
            assert_eq!(visible(text), text);
        }
    }

    #[test]
    fn an_excerpt_is_one_visible_line() {
        assert_eq!(excerpt("\n  \n  hello \t  there \nworld", 20), "hello there");
        assert_eq!(excerpt(&"x".repeat(1_000_000), 4), "xxxx…");
        assert_eq!(excerpt("ab cd", 3), "ab…");
        assert_eq!(excerpt("\u{1b}[1m", 9), "\\x1b[1m");
    }

    proptest! {
        #[test]
        fn a_plain_line_is_cut_as_any_other(line in "[ab~é\t ]{0,12}", most in 0..14_usize) {
            let line = line.trim();
            let plain = plain_excerpt(line, most);
            prop_assert!(plain.is_none() || plain == Some(safe_excerpt(line, most)));
        }
    }

    #[test]
    fn json_is_spread_over_lines_and_not_changed() {
        let raw = r#"{"a":[1e400, {}],"b" : "x\", {y}: z\\","c":[ ]}"#;
        let expected = "{\n  \"a\": [\n    1e400,\n    {}\n  ],\n  \"b\": \"x\\\", {y}: z\\\\\",\n  \"c\": []\n}";
        assert_eq!(pretty_json(raw), expected);
        let deep = "[".repeat(100_000) + &"]".repeat(100_000);
        assert!(pretty_json(&deep).len() < 10_000_000);
    }

    #[test]
    fn numbers_in_short() {
        assert_eq!(
            ["0", "999", "12.3k", "4.6M"].map(str::to_owned),
            [0, 999, 12_345, 4_560_000].map(tokens)
        );
        let cases = [
            (1000, "1.0k"),
            (9_951, "10k"),
            (99_949, "99.9k"),
            (99_951, "100k"),
            (999_499, "999k"),
            (999_500, "1.0M"),
            (65_812_345, "65.8M"),
            (4_000_000_000, "4.0G"),
            (u64::MAX, "18446744T"),
        ];
        for (number, expected) in cases {
            assert_eq!(tokens(number), expected);
        }
    }

    #[test]
    fn unknown_costs_are_not_nothing() {
        let of = |requests, unpriced, dollars| {
            let cost = treering::usage::Cost::from_dollars(dollars).unwrap();
            super::cost(&Usage { requests, unpriced, cost, ..Usage::default() })
        };
        assert_eq!(of(0, 0, 0.0), "");
        assert_eq!(of(2, 0, 0.0), "$0.00");
        assert_eq!(of(2, 0, 12.345), "$12.35");
        assert_eq!(of(2, 0, 0.0042), "$0.0042");
        assert_eq!(of(2, 0, 0.000_000_1), "<$0.0001");
        assert_eq!(of(2, 1, 1.0), "$1.00+?");
        assert_eq!(of(2, 2, 0.0), "?");
        assert_eq!(of(1, 0, 1e20), "$1.00e20");
    }
}
