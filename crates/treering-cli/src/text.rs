//! Text for people: made harmless, cut to width, put in words.
//!
//! Sessions hold what models and tools produced. None of it may drive the terminal or pretend to be
//! something else, so everything from a session that a person will see passes through [`safe`] or
//! [`safe_line`]: what has no visible form of its own gets one.

use std::borrow::Cow;
use std::path::Path;
pub(crate) use treering_export::text::{age, size};
use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

/// The text over several lines, with everything invisible made visible. Tabs become spaces.
pub(crate) fn safe(text: &str) -> String {
    text.replace("\r\n", "\n").split('\n').map(safe_line).collect::<Vec<_>>().join("\n")
}

/// The same on one line: line breaks become visible, too.
pub(crate) fn safe_line(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '\t' => out.push_str("    "),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\0'..='\x1f' | '\x7f' => out.push_str(&format!("\\x{:02x}", u32::from(character))),
            _ if is_hidden(character) => {
                out.push_str(&format!("\\u{{{:x}}}", u32::from(character)))
            }
            _ => out.push(character),
        }
    }
    out
}

/// Bytes that should have been text.
pub(crate) fn safe_bytes(bytes: &[u8]) -> String {
    let mut out = String::new();
    for chunk in bytes.utf8_chunks() {
        out.push_str(&safe_line(chunk.valid()));
        for byte in chunk.invalid() {
            out.push_str(&format!("\\x{byte:02x}"));
        }
    }
    out
}

/// Characters that do something other than being seen. On a terminal joiners are among them.
fn is_hidden(character: char) -> bool {
    matches!(character, '\u{200c}' | '\u{200d}') || treering_export::text::is_hidden(character)
}

/// The first line that says something.
pub(crate) fn first_line(text: &str) -> &str {
    text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default()
}

/// How many columns the text takes.
pub(crate) fn columns(text: &str) -> usize {
    text.width()
}

/// The text in at most `width` columns; an ellipsis stands for what was cut off.
pub(crate) fn fit(text: &str, width: usize) -> Cow<'_, str> {
    // No character takes less than a byte or, here, more than two columns.
    if text.len() <= width || columns(text) <= width {
        return Cow::Borrowed(text);
    }
    let mut used = 0;
    let mut end = 0;
    for (at, cluster) in text.grapheme_indices(true) {
        used += columns(cluster);
        if used + 1 > width {
            break;
        }
        end = at + cluster.len();
    }
    let ellipsis = if width == 0 { "" } else { "…" };
    Cow::Owned(format!("{}{ellipsis}", text[..end].trim_end()))
}

/// The same, but it is the beginning that is cut off: ends of file names tell them apart.
pub(crate) fn fit_end(text: &str, width: usize) -> Cow<'_, str> {
    if text.len() <= width || columns(text) <= width {
        return Cow::Borrowed(text);
    }
    let mut used = 0;
    let mut start = text.len();
    for (at, cluster) in text.grapheme_indices(true).rev() {
        used += columns(cluster);
        if used + 1 > width {
            break;
        }
        start = at;
    }
    let ellipsis = if width == 0 { "" } else { "…" };
    Cow::Owned(format!("{ellipsis}{}", &text[start..]))
}

/// One line of a session's text, harmless and at most `width` columns wide, blanks run together.
pub(crate) fn excerpt(text: &str, width: usize) -> String {
    let mut line = String::new();
    for word in first_line(text).split([' ', '\t']).filter(|word| !word.is_empty()) {
        if !line.is_empty() {
            line.push(' ');
        }
        // Words may be megabytes long. Of characters without width this many are enough.
        line.extend(word.chars().take(width * 8 + 1));
        if line.len() > width * 8 {
            break;
        }
    }
    fit(&safe_line(&line), width).into_owned()
}

/// The text followed by blanks, `width` columns in all.
pub(crate) fn pad(text: &str, width: usize) -> String {
    format!("{text}{}", " ".repeat(width.saturating_sub(columns(text))))
}

/// A time as people read it, in UTC.
pub(crate) fn time(unix_millis: Option<i64>) -> String {
    const UNKNOWN: &str = "-                   ";
    let Some(millis) = unix_millis else { return UNKNOWN.to_owned() };
    let iso = treering::format_time(millis);
    match (iso.get(..10), iso.get(11..19)) {
        (Some(day), Some(clock)) => format!("{day} {clock}Z"),
        _ => UNKNOWN.to_owned(),
    }
}

/// `1 entry`, `2 entries`.
pub(crate) fn count(number: usize, one: &str, many: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { many })
}

/// A path as one word of a shell command.
pub(crate) fn shell_word(path: &Path) -> String {
    let text = path.to_string_lossy();
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+:,@%=".contains(c);
    match !text.is_empty() && text.chars().all(plain) {
        true => text.into_owned(),
        false => format!("'{}'", text.replace('\'', r"'\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_acts_on_a_terminal_survives() {
        for code in (0..0x20).chain(0x7f..0xa0).chain(0x200b..0x2010).chain(0x2028..0x202f) {
            let character = char::from_u32(code).unwrap();
            let shown = safe_line(&format!("a{character}b"));
            assert!(shown.chars().all(|c| c.is_ascii_graphic() || c == ' '), "{code:x}: {shown:?}");
            assert_ne!(shown, "ab", "{code:x} must be visible");
        }
        assert_eq!(safe("\x1b[31mred\r\nline\ttab\r"), "\\x1b[31mred\nline    tab\\r");
        assert_eq!(
            safe_line("\u{202e}\u{2066}\u{e0041}\u{feff}"),
            "\\u{202e}\\u{2066}\\u{e0041}\\u{feff}"
        );
        assert_eq!(safe_bytes(b"a\xff\x1bz"), "a\\xff\\x1bz");
    }

    #[test]
    fn ordinary_text_stays_as_it_is() {
        for text in ["héllo", "日本語", "مرحبا", "👍🏽", "❤️", "e\u{301}", "a → b"]
        {
            assert_eq!(safe_line(text), text);
        }
    }

    #[test]
    fn cuts_by_columns_between_characters() {
        assert_eq!(fit("hello", 5), "hello");
        assert_eq!(fit("hello!", 5), "hell…");
        assert_eq!(fit("日本語", 6), "日本語");
        assert_eq!(fit("日本語", 5), "日本…");
        assert_eq!(fit("日本語", 4), "日…");
        assert_eq!(fit("e\u{301}e\u{301}e\u{301}", 2), "e\u{301}…");
        assert_eq!(fit("two words", 5), "two…");
        assert_eq!(fit("x", 0), "");
        assert_eq!(fit_end("hello!", 5), "…llo!");
        assert_eq!(fit_end("日本語", 4), "…語");
        for width in 0..8 {
            assert!(columns(&fit("a日b👍🏽c語d", width)) <= width, "{width}");
        }
    }

    #[test]
    fn an_excerpt_is_the_first_line_that_says_something() {
        assert_eq!(excerpt("\n  \n  hello \t  there \nworld", 20), "hello there");
        assert_eq!(excerpt(&"x".repeat(1_000_000), 4), "xxx…");
        assert_eq!(excerpt(&"x ".repeat(1_000_000), 5), "x x…");
        assert_eq!(excerpt(&"\u{1b}".repeat(9), 9), "\\x1b\\x1b…");
    }

    #[test]
    fn numbers_in_words() {
        assert_eq!(size(0), "0 B");
        assert_eq!(size(999), "999 B");
        assert_eq!(size(1234), "1.2 KB");
        assert_eq!(size(56_789), "57 KB");
        assert_eq!(size(999_600), "1.0 MB");
        assert_eq!(size(2_000_000_000_000), "2 TB");
        assert_eq!(age(59_000), "now");
        assert_eq!(age(-1), "now");
        assert_eq!(age(3_600_000 * 25), "1 d");
        assert_eq!(time(Some(1_767_603_620_226)), "2026-01-05 09:00:20Z");
        assert_eq!(time(None).len(), 20);
    }

    #[test]
    fn a_path_is_one_word_whatever_is_in_it() {
        assert_eq!(shell_word(Path::new("/a/b-c.jsonl")), "/a/b-c.jsonl");
        assert_eq!(shell_word(Path::new("/a b/it's")), r"'/a b/it'\''s'");
    }
}
