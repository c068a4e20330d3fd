//! Text for people: made harmless, cut to width, put in words.
//!
//! Sessions hold what models and tools produced. None of it may drive the terminal or pretend to be
//! something else, so everything from a session that a person will see passes through [`safe`] or
//! [`safe_line`]: what has no visible form of its own gets one.

use std::borrow::Cow;
use std::path::Path;
pub(crate) use treering_export::text::{age, blob_name, first_line, size};
use treering_tui::text::{beginning, ending, one_line};
pub(crate) use treering_tui::text::{project, safe_line};
use unicode_width::UnicodeWidthStr;

/// The text over several lines, with everything invisible made visible. Tabs become spaces.
pub(crate) fn safe(text: &str) -> String {
    text.replace("\r\n", "\n").split('\n').map(safe_line).collect::<Vec<_>>().join("\n")
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

/// Returns the number of columns of the text when all of it is printed. The interface has its own
/// measure, of what it draws: it leaves out what is piled up on a character.
pub(crate) fn columns(text: &str) -> usize {
    text.width()
}

/// Whether the text takes no more than `width` columns. No character takes more columns than bytes.
fn fits(text: &str, width: usize) -> bool {
    text.len() <= width || columns(text) <= width
}

/// The text in at most `width` columns; an ellipsis stands for what was cut off, and for the blanks
/// before it.
pub(crate) fn fit(text: &str, width: usize) -> Cow<'_, str> {
    match width.checked_sub(1) {
        _ if fits(text, width) => text.into(),
        Some(room) => format!("{}…", beginning(text, room).trim_end()).into(),
        None => "".into(),
    }
}

/// The same, but it is the beginning that is cut off: ends of file names tell them apart.
pub(crate) fn fit_end(text: &str, width: usize) -> Cow<'_, str> {
    match width.checked_sub(1) {
        _ if fits(text, width) => text.into(),
        Some(room) => format!("…{}", ending(text, room)).into(),
        None => "".into(),
    }
}

/// One line of a session's text, harmless and at most `width` columns wide, blanks run together.
pub(crate) fn excerpt(text: &str, width: usize) -> String {
    // Of characters without width this many are enough.
    fit(&one_line(text, width * 8), width).into_owned()
}

/// The text followed by blanks, `width` columns in all.
pub(crate) fn pad(text: &str, width: usize) -> String {
    format!("{text}{}", " ".repeat(width.saturating_sub(columns(text))))
}

/// A time as people read it, in UTC.
pub(crate) fn time(unix_millis: Option<i64>) -> String {
    const UNKNOWN: &str = "-                   ";
    let Some(millis) = unix_millis else { return UNKNOWN.to_owned() };
    let iso = treering::time::format(millis);
    match (iso.get(..10), iso.get(11..19)) {
        (Some(day), Some(clock)) => format!("{day} {clock}Z"),
        _ => UNKNOWN.to_owned(),
    }
}

/// `1 entry`, `2 entries`.
pub(crate) fn count(number: usize, one: &str, many: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { many })
}

/// Returns a path that is safe to show, with bytes that are not UTF-8 as numbers.
pub(crate) fn safe_path(path: &Path) -> String {
    safe_bytes(path.as_os_str().as_encoded_bytes())
}

/// Returns a path as one word of a shell command that is safe to show: in quotes if it needs them, and
/// with escapes (`$'\x1b'`, as Bash and Zsh read them) if it holds anything that is not plainly visible.
pub(crate) fn shell_word(path: &Path) -> String {
    let bytes = path.as_os_str().as_encoded_bytes();
    let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"/._-+:,@%=".contains(byte);
    match std::str::from_utf8(bytes) {
        Ok(text) if !text.is_empty() && bytes.iter().all(is_plain) => text.to_owned(),
        Ok(text) if text.chars().all(is_visible) => format!("'{}'", text.replace('\'', r"'\''")),
        _ => escaped_word(bytes),
    }
}

/// Whether a character is shown as it is, on one line.
fn is_visible(character: char) -> bool {
    safe_line(character.encode_utf8(&mut [0; 4])).chars().eq([character])
}

fn escaped_word(bytes: &[u8]) -> String {
    let mut word = "$'".to_owned();
    let number = |word: &mut String, byte: &u8| word.push_str(&format!("\\x{byte:02x}"));
    for chunk in bytes.utf8_chunks() {
        for character in chunk.valid().chars() {
            match character {
                '\n' => word.push_str("\\n"),
                '\'' | '\\' => word.extend(['\\', character]),
                _ if is_visible(character) => word.push(character),
                _ => {
                    let bytes = character.encode_utf8(&mut [0; 4]).as_bytes().to_vec();
                    bytes.iter().for_each(|byte| number(&mut word, byte));
                }
            }
        }
        chunk.invalid().iter().for_each(|byte| number(&mut word, byte));
    }
    word.push('\'');
    word
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_stay_lines_and_bytes_are_shown() {
        assert_eq!(safe("\x1b[31mred\r\nline\ttab\r"), "\\x1b[31mred\nline    tab\\r");
        assert_eq!(safe_bytes(b"a\xff\x1bz"), "a\\xff\\x1bz");
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
        assert_eq!(shell_word(Path::new("/日本 語")), "'/日本 語'");
        assert_eq!(shell_word(Path::new("a\x1b[2J\n\t'\\")), r"$'a\x1b[2J\n\x09\'\\'");
        assert_eq!(shell_word(Path::new("a\u{202e}b")), r"$'a\xe2\x80\xaeb'");
    }

    #[cfg(unix)]
    #[test]
    fn a_shell_reads_the_word_as_the_path() {
        use std::os::unix::ffi::OsStrExt;
        for name in [&b"plain"[..], b"it's \\ \x1b[31m\n\xff\xe2\x80\xae", b"$HOME `x` \"y\"", b""]
        {
            let word = shell_word(Path::new(std::ffi::OsStr::from_bytes(name)));
            let mut shell = std::process::Command::new("bash");
            // Not on every machine.
            let Ok(output) = shell.args(["-c", &format!("printf %s {word}")]).output() else {
                return;
            };
            assert_eq!(output.stdout, name, "{word}");
        }
    }
}
