//! Text of a session on a screen: made harmless, measured, cut.
//!
//! What has no visible form of its own gets one, so nothing a session holds can move the cursor, turn
//! text around or hide it. Columns are those of the terminal library: what is measured here is what
//! is drawn.

use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

/// Whether a character does something other than being seen. On a terminal joiners do: terminals
/// disagree on how wide what they join is.
fn is_hidden(character: char) -> bool {
    matches!(character, '\u{200c}' | '\u{200d}') || treering_export::text::is_hidden(character)
}

/// One line with everything invisible made visible. Tabs become spaces.
///
/// ```
/// use treering_tui::text::safe_line;
/// assert_eq!(safe_line("a\u{1b}[2J\u{202e}b\n"), "a\\x1b[2J\\u{202e}b\\n");
/// ```
pub fn safe_line(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '\t' => out.push_str("    "),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\0'..='\x1f' | '\x7f' => out.push_str(&format!("\\x{:02x}", u32::from(character))),
            _ if is_hidden(character) => {
                out.push_str(&format!("\\u{{{:x}}}", u32::from(character)));
            }
            _ => out.push(character),
        }
    }
    out
}

/// How many columns a text takes.
pub fn columns(text: &str) -> usize {
    graphemes(text).map(|(_, width)| width).sum()
}

/// No script needs more bytes for one character; towers of marks do.
const MAX_CLUSTER: usize = 32;

/// What a reader sees as one character, and its columns. What would take none, such as a mark with
/// nothing to stand on, is left out: it would be drawn on something else. Of a tower of marks only
/// the ground floor is left.
pub fn graphemes(text: &str) -> impl Iterator<Item = (&str, usize)> {
    text.graphemes(true)
        .map(ground_floor)
        .map(|cluster| (cluster, cluster_width(cluster)))
        .filter(|(_, width)| *width > 0)
}

/// Half-width sound marks count as extending a character, but terminals draw them beside it.
fn cluster_width(cluster: &str) -> usize {
    cluster.width() + cluster.matches(['\u{ff9e}', '\u{ff9f}']).count()
}

fn ground_floor(cluster: &str) -> &str {
    let first = cluster.chars().next().map_or(0, char::len_utf8);
    if cluster.len() > MAX_CLUSTER { cluster.get(..first).unwrap_or_default() } else { cluster }
}

/// A line in pieces of at most `width` columns, broken at blanks where there are some.
pub fn wrap(line: &str, width: usize) -> Vec<&str> {
    let width = width.max(2);
    let mut pieces = Vec::new();
    // Where the piece begins, how wide it is, and where it may be broken.
    let (mut start, mut used, mut blank) = (0, 0, None);
    for (at, cluster) in line.grapheme_indices(true) {
        let wide = cluster_width(cluster);
        while used + wide > width && at > start {
            let end = blank.filter(|end| *end > start).unwrap_or(at);
            pieces.push(line.get(start..end).unwrap_or_default().trim_end());
            start = end;
            used = columns(line.get(start..at).unwrap_or_default());
            blank = None;
        }
        used += wide;
        if cluster == " " {
            blank = Some(at + 1);
        }
    }
    pieces.push(line.get(start..).unwrap_or_default());
    pieces
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
    }

    #[test]
    fn a_line_is_broken_at_blanks_and_never_too_wide() {
        assert_eq!(wrap("one two three", 8), ["one two", "three"]);
        assert_eq!(wrap("abcdefgh", 3), ["abc", "def", "gh"]);
        assert_eq!(wrap("", 3), [""]);
        for width in 2..9 {
            for piece in wrap("a日本語 b👍🏽c e\u{301}e\u{301} longerword", width) {
                assert!(columns(piece) <= width, "{width} {piece:?}");
            }
        }
    }
}
