//! Makes text of a session safe to show: every character without a visible form gets one.
//!
//! Sessions contain output of models and tools, which must not move the cursor, reverse the
//! direction of text, hide text or imitate the interface. Control characters and invisible
//! characters are shown by their numbers (`\x1b`, `\u{202e}`). Line breaks and tabs are kept where
//! a text may have several lines.

use std::borrow::Cow;
use std::path::Path;

/// Returns whether a character is invisible or changes how others are shown: C1 controls, text
/// direction, formatting, spaces without width, tags. Joiners, which scripts and emoji need, are not
/// among them.
pub fn is_hidden(character: char) -> bool {
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

/// Returns whether a byte may begin a character that [`visible_replacement`] replaces. It is `const`, because
/// a table of it is used for every byte of an export.
pub const fn may_need_replacement(byte: u8) -> bool {
    matches!(byte, 0..=8 | 11..=31 | 0x7f)
        || matches!(byte, 0xc2 | 0xcd | 0xd8 | 0xdb | 0xdc | 0xe0..=0xe3 | 0xef..=0xf4)
}

/// Returns the replacement of a character, or `None` for a character that is shown unchanged, such
/// as line breaks and tabs.
pub fn visible_replacement(character: char) -> Option<Cow<'static, str>> {
    match character {
        '\n' | '\t' => None,
        '\r' => Some("\\r".into()),
        '\0'..='\x1f' | '\x7f' => Some(format!("\\x{:02x}", u32::from(character)).into()),
        _ if is_hidden(character) => Some(format!("\\u{{{:x}}}", u32::from(character)).into()),
        _ => None,
    }
}

/// Returns the longest beginning of a text that has at most `bytes` bytes.
///
/// ```
/// use treering_display::text::prefix;
/// assert_eq!(prefix("naïve", 3), "na");
/// assert_eq!(prefix("naïve", 9), "naïve");
/// ```
pub fn prefix(text: &str, bytes: usize) -> &str {
    let most = bytes.min(text.len());
    let end = (0..=most).rev().find(|end| text.is_char_boundary(*end));
    end.and_then(|end| text.get(..end)).unwrap_or_default()
}

/// Returns a text of any number of lines with invisible characters made visible.
///
/// ```
/// use treering_display::text::visible;
/// assert_eq!(visible("a\u{1b}[1mb\u{202e}\r\nc"), "a\\x1b[1mb\\u{202e}\nc");
/// ```
pub fn visible(text: &str) -> Cow<'_, str> {
    if !text.bytes().any(may_need_replacement) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        match visible_replacement(character) {
            Some(_) if character == '\r' && characters.peek() == Some(&'\n') => {}
            Some(shown) => out.push_str(&shown),
            None => out.push(character),
        }
    }
    Cow::Owned(out)
}

/// Returns a text as one line for a terminal: invisible characters are made visible, line breaks
/// become `\n`, tabs become spaces. Joiners are kept where a script or an emoji needs them.
///
/// ```
/// use treering_display::text::safe_line;
/// assert_eq!(safe_line("a\u{1b}[2J\u{202e}b\n"), "a\\x1b[2J\\u{202e}b\\n");
/// assert_eq!(safe_line("👩\u{200d}🚀 a\u{200d}b"), "👩\u{200d}🚀 a\\u{200d}b");
/// ```
pub fn safe_line(text: &str) -> String {
    if is_printable_ascii(text) {
        return text.to_owned();
    }
    let mut out = String::with_capacity(text.len());
    let mut before = None;
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        let previous = before.replace(character);
        match character {
            '\t' => out.push_str("    "),
            '\n' => out.push_str("\\n"),
            ZWNJ | ZWJ if joins(character, previous, characters.peek().copied()) => {
                out.push(character);
            }
            ZWNJ => out.push_str("\\u{200c}"),
            ZWJ => out.push_str("\\u{200d}"),
            _ => match visible_replacement(character) {
                Some(shown) => out.push_str(&shown),
                None => out.push(character),
            },
        }
    }
    out
}

/// Returns whether a text consists of printable ASCII characters, as most text does.
pub(crate) fn is_printable_ascii(text: &str) -> bool {
    text.bytes().all(|byte| matches!(byte, b' '..=b'~'))
}

const ZWNJ: char = '\u{200c}';
const ZWJ: char = '\u{200d}';

/// Returns whether a joiner has something to join: letters of a script that is written with joiners,
/// or, for ZWJ, two emoji. Between other characters it would be hidden.
fn joins(joiner: char, previous: Option<char>, next: Option<char>) -> bool {
    let (Some(previous), next) = (previous, next.unwrap_or(' ')) else { return false };
    let is_emoji = |character| {
        matches!(character, '\u{2190}'..='\u{21ff}' | '\u{2600}'..='\u{27bf}' | '\u{2b00}'..='\u{2bff}'
            | '\u{1f000}'..='\u{1faff}')
    };
    let is_emoji_end = |character| is_emoji(character) || character == '\u{fe0f}';
    match joiner {
        _ if visible_replacement(previous).is_some() => false,
        ZWJ if is_emoji_end(previous) => is_emoji(next),
        _ => is_joining_script(previous) && !matches!(next, ZWJ | ZWNJ),
    }
}

/// Returns whether a letter belongs to a script in which joiners change how letters look: Arabic and
/// its relatives, and the scripts of India and its neighbors.
fn is_joining_script(letter: char) -> bool {
    matches!(letter,
        '\u{600}'..='\u{dff}' | '\u{f00}'..='\u{109f}' | '\u{1780}'..='\u{18af}'
        | '\u{1a20}'..='\u{1aaf}' | '\u{1b00}'..='\u{1bff}' | '\u{a840}'..='\u{a8ff}'
        | '\u{a980}'..='\u{aadf}' | '\u{fb50}'..='\u{fdff}' | '\u{fe70}'..='\u{fefe}'
        | '\u{10a00}'..='\u{10fff}' | '\u{11000}'..='\u{11fff}' | '\u{1e900}'..='\u{1e95f}')
}

/// Returns a text of several lines, each of them as [`safe_line`] returns it.
pub fn safe_lines(text: &str) -> String {
    text.replace("\r\n", "\n").split('\n').map(safe_line).collect::<Vec<_>>().join("\n")
}

/// Returns bytes as [`safe_line`] returns text, with bytes that are not UTF-8 shown by their numbers.
pub fn safe_bytes(bytes: &[u8]) -> String {
    let mut out = String::new();
    for chunk in bytes.utf8_chunks() {
        out.push_str(&safe_line(chunk.valid()));
        for byte in chunk.invalid() {
            out.push_str(&format!("\\x{byte:02x}"));
        }
    }
    out
}

/// Returns a path that is safe to show, with bytes that are not UTF-8 shown by their numbers.
pub fn safe_path(path: &Path) -> String {
    safe_bytes(path.as_os_str().as_encoded_bytes())
}

/// Returns a session's directory, relative to the home directory if it is below it.
///
/// ```
/// use std::path::Path;
/// use treering_display::text::project;
/// assert_eq!(project("/h/tea", Some(Path::new("/h"))), "~/tea");
/// ```
pub fn project(cwd: &str, home: Option<&Path>) -> String {
    match home.and_then(|home| Path::new(cwd).strip_prefix(home).ok()) {
        Some(below) => safe_line(&Path::new("~").join(below).to_string_lossy()),
        None => safe_line(cwd),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::columns::{columns, graphemes};

    #[test]
    fn the_table_knows_every_hidden_character() {
        for code in 0..=0x10_ffff {
            let Some(character) = char::from_u32(code) else { continue };
            let first = character.to_string().as_bytes()[0];
            assert!(
                visible_replacement(character).is_none() || may_need_replacement(first),
                "{code:x}"
            );
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
    fn nothing_that_acts_on_a_terminal_survives() {
        for code in (0..0x20).chain(0x7f..0xa0).chain(0x200b..0x2010).chain(0x2028..0x202f) {
            let character = char::from_u32(code).unwrap();
            let shown = safe_line(&format!("a{character}b"));
            assert!(shown.chars().all(|c| c.is_ascii_graphic() || c == ' '), "{code:x}: {shown:?}");
            assert_ne!(shown, "ab", "{code:x} must be visible");
        }
        assert_eq!(
            safe_line("\u{202e}\u{2066}\u{e0041}\u{feff}"),
            "\\u{202e}\\u{2066}\\u{e0041}\\u{feff}"
        );
    }

    #[test]
    fn ordinary_text_stays_as_it_is() {
        for text in ["héllo", "日本語", "مرحبا", "👍🏽", "❤️", "e\u{301}", "a → b"]
        {
            assert_eq!(safe_line(text), text);
        }
    }

    #[test]
    fn joiners_stay_where_they_are_read_and_are_seen_where_they_hide() {
        for text in [
            "می\u{200c}خواهم",
            "👨\u{200d}👩\u{200d}👧",
            "❤\u{fe0f}\u{200d}🔥",
            "क्\u{200d}ष",
            "🐦\u{200d}⬛",
        ] {
            assert_eq!(safe_line(text), text);
        }
        assert_eq!(columns("👨\u{200d}👩\u{200d}👧"), 2);
        for (text, shown) in [
            ("a\u{200d}b", "a\\u{200d}b"),
            ("\u{200d}👩", "\\u{200d}👩"),
            ("👩\u{200d}", "👩\\u{200d}"),
            ("👩\u{200c}👩", "👩\\u{200c}👩"),
            ("ی\u{200c}\u{200c}", "ی\\u{200c}\\u{200c}"),
            ("日\u{200c}本", "日\\u{200c}本"),
            ("\u{61c}\u{200d}", "\\u{61c}\\u{200d}"),
        ] {
            assert_eq!(safe_line(text), shown, "{text:?}");
        }
        // A joiner at the end of a cluster is not drawn.
        assert_eq!(graphemes("ی\u{200d} x").map(|(cluster, _)| cluster).collect::<String>(), "ی x");
    }

    #[test]
    fn lines_stay_lines_and_bytes_are_shown() {
        assert_eq!(safe_lines("\x1b[31mred\r\nline\ttab\r"), "\\x1b[31mred\nline    tab\\r");
        assert_eq!(safe_bytes(b"a\xff\x1bz"), "a\\xff\\x1bz");
    }

    #[test]
    fn a_project_is_named_from_the_home_directory() {
        let home = Some(Path::new("/h"));
        assert_eq!(project("/h/tea", home), "~/tea");
        assert_eq!(project("/tea\u{1b}", home), "/tea\\x1b");
        assert_eq!(project("", None), "");
    }
}
