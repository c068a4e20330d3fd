//! Text of a session on a screen: made harmless, measured, cut.
//!
//! What has no visible form of its own gets one, so nothing a session holds can move the cursor, turn
//! text around or hide it. Columns are those of the terminal library: what is measured here is what
//! is drawn.

use std::path::Path;
use treering_export::text::{first_line, stand_in};
use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

/// Most text needs no care at all, and there is much of it.
fn is_simple(text: &str) -> bool {
    text.bytes().all(|byte| matches!(byte, b' '..=b'~'))
}

/// One line with everything invisible made visible. Tabs become spaces. Joiners stay where a script or
/// an emoji needs them, and become visible everywhere else.
///
/// ```
/// use treering_tui::text::safe_line;
/// assert_eq!(safe_line("a\u{1b}[2J\u{202e}b\n"), "a\\x1b[2J\\u{202e}b\\n");
/// assert_eq!(safe_line("👩\u{200d}🚀 a\u{200d}b"), "👩\u{200d}🚀 a\\u{200d}b");
/// ```
pub fn safe_line(text: &str) -> String {
    if is_simple(text) {
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
            _ => match stand_in(character) {
                Some(shown) => out.push_str(&shown),
                None => out.push(character),
            },
        }
    }
    out
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
        _ if stand_in(previous).is_some() => false,
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

/// The first line of a text that says something, blanks run together. Safe to show. Of a long line
/// there are some more than `most` characters, which is for the caller to cut.
///
/// ```
/// use treering_tui::text::one_line;
/// assert_eq!(one_line("\n hello \t there\nworld", 80), "hello there");
/// ```
pub fn one_line(text: &str, most: usize) -> String {
    let mut line = String::new();
    for word in first_line(text).split([' ', '\t']).filter(|word| !word.is_empty()) {
        if !line.is_empty() {
            line.push(' ');
        }
        // Words may be megabytes long.
        line.extend(word.chars().take(most.saturating_add(1)));
        if line.len() > most {
            break;
        }
    }
    safe_line(&line)
}

/// A session's directory, below the home directory if it is there. Safe to show.
///
/// ```
/// use std::path::Path;
/// use treering_tui::text::project;
/// assert_eq!(project("/h/tea", Some(Path::new("/h"))), "~/tea");
/// ```
pub fn project(cwd: &str, home: Option<&Path>) -> String {
    match home.and_then(|home| Path::new(cwd).strip_prefix(home).ok()) {
        Some(below) => safe_line(&Path::new("~").join(below).to_string_lossy()),
        None => safe_line(cwd),
    }
}

/// How many columns a text takes.
pub fn columns(text: &str) -> usize {
    graphemes(text).map(|(_, width)| width).sum()
}

/// No script and no emoji needs more code points for one character; towers of marks do.
const MAX_CLUSTER: usize = 12;

/// What a reader sees as one character, and its columns. What would take none, such as a mark with
/// nothing to stand on, is left out: it would be drawn on something else. Of a tower of marks only
/// the ground floor is left.
pub fn graphemes(text: &str) -> impl Iterator<Item = (&str, usize)> {
    let (simple, other) = if is_simple(text) { (text, "") } else { ("", text) };
    let letters = (0..simple.len()).filter_map(|at| Some((simple.get(at..at + 1)?, 1)));
    let clusters = other
        .graphemes(true)
        .map(ground_floor)
        .map(|cluster| (cluster, cluster_width(cluster)))
        .filter(|(_, width)| *width > 0);
    letters.chain(clusters)
}

/// Half-width sound marks count as extending a character, but terminals draw them beside it.
fn cluster_width(cluster: &str) -> usize {
    cluster.width() + cluster.matches(['\u{ff9e}', '\u{ff9f}']).count()
}

/// The cluster without a tower of marks, and without a joiner at its end: some terminals would join
/// it to what is drawn behind it.
fn ground_floor(cluster: &str) -> &str {
    let cluster = cluster.trim_end_matches(ZWJ);
    let first = cluster.chars().next().map_or(0, char::len_utf8);
    let is_tower = cluster.len() > MAX_CLUSTER && cluster.chars().nth(MAX_CLUSTER).is_some();
    if is_tower { cluster.get(..first).unwrap_or_default() } else { cluster }
}

/// As much of a text's beginning as takes at most `width` columns. Nothing that is seen as one
/// character is cut in two.
///
/// ```
/// use treering_tui::text::beginning;
/// assert_eq!(beginning("日本語", 5), "日本");
/// ```
pub fn beginning(text: &str, width: usize) -> &str {
    let mut left = width;
    let past = text.grapheme_indices(true).find(|(_, cluster)| !takes(&mut left, cluster));
    past.and_then(|(at, _)| text.get(..at)).unwrap_or(text)
}

/// As much of a text's end as takes at most `width` columns.
///
/// ```
/// use treering_tui::text::ending;
/// assert_eq!(ending("/a/b/c", 4), "/b/c");
/// ```
pub fn ending(text: &str, width: usize) -> &str {
    let mut left = width;
    let mut clusters = text.grapheme_indices(true).rev();
    let before = clusters.find(|(_, cluster)| !takes(&mut left, cluster));
    before.and_then(|(at, cluster)| text.get(at + cluster.len()..)).unwrap_or(text)
}

/// Takes the columns of a cluster from those that are left, if there are enough. It is measured as it
/// stands: not everybody who cuts a text draws only the ground floor of it.
fn takes(left: &mut usize, cluster: &str) -> bool {
    let rest = left.checked_sub(cluster_width(cluster));
    *left = rest.unwrap_or(*left);
    rest.is_some()
}

/// A text in at most `width` columns; an ellipsis stands for what was cut off.
pub(crate) fn fit(text: &str, width: usize) -> String {
    match width.checked_sub(1) {
        _ if columns(text) <= width => text.to_owned(),
        Some(room) => format!("{}…", beginning(text, room)),
        None => String::new(),
    }
}

/// The same, but it is the beginning that is cut off: ends of paths tell them apart.
pub(crate) fn fit_end(text: &str, width: usize) -> String {
    match width.checked_sub(1) {
        _ if columns(text) <= width => text.to_owned(),
        Some(room) => format!("…{}", ending(text, room)),
        None => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

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
    fn texts_are_cut_by_columns_at_either_end() {
        assert_eq!(fit("hello", 5), "hello");
        assert_eq!(fit("hello!", 5), "hell…");
        assert_eq!(fit("two words", 5), "two …");
        assert_eq!(fit("日本語", 4), "日…");
        assert_eq!(fit_end("hello!", 5), "…llo!");
        assert_eq!(fit_end("日本語", 4), "…語");
        assert_eq!((fit("x", 0), fit_end("x", 0)), (String::new(), String::new()));
        assert_eq!(beginning("e\u{301}e\u{301}e\u{301}", 1), "e\u{301}");
        assert_eq!(ending("e\u{301}e\u{301}e\u{301}", 1), "e\u{301}");
        for width in 0..8 {
            for cut in [fit("a日b👍🏽c語d", width), fit_end("a日b👍🏽c語d", width)] {
                assert!(columns(&cut) <= width, "{width} {cut}");
            }
        }
    }

    proptest! {
        #[test]
        fn as_much_is_taken_as_there_is_room_for(text in "[ab é日👍\u{301}ｶ\u{ff9e}]{0,12}", width in 0..14_usize) {
            let clusters: Vec<&str> = text.graphemes(true).collect();
            let wide = |part: &str| part.graphemes(true).map(cluster_width).sum::<usize>();
            let first = (0..=clusters.len()).map(|count| clusters[..count].concat());
            let last = (0..=clusters.len()).rev().map(|count| clusters[count..].concat());
            let longest = first.take_while(|part| wide(part) <= width).last();
            prop_assert_eq!(Some(beginning(&text, width)), longest.as_deref());
            let longest = last.take_while(|part| wide(part) <= width).last();
            prop_assert_eq!(Some(ending(&text, width)), longest.as_deref());
        }
    }

    #[test]
    fn one_line_is_the_first_that_says_something() {
        assert_eq!(one_line("\n  \n hello \t there\nworld", 100), "hello there");
        assert_eq!(one_line("\u{1b}[2J", 100), "\\x1b[2J");
        assert!(one_line(&"x ".repeat(100_000), 1000).len() < 2000);
        assert_eq!(one_line(&"x".repeat(100_000), 1000).len(), 1001);
    }

    #[test]
    fn a_project_is_named_from_the_home_directory() {
        let home = Some(Path::new("/h"));
        assert_eq!(project("/h/tea", home), "~/tea");
        assert_eq!(project("/tea\u{1b}", home), "/tea\\x1b");
        assert_eq!(project("", None), "");
    }
}
