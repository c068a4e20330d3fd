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

/// Most text needs no care at all, and there is much of it.
fn is_simple(text: &str) -> bool {
    text.bytes().all(|byte| matches!(byte, b' '..=b'~'))
}

/// One line with everything invisible made visible. Tabs become spaces.
///
/// ```
/// use treering_tui::text::safe_line;
/// assert_eq!(safe_line("a\u{1b}[2J\u{202e}b\n"), "a\\x1b[2J\\u{202e}b\\n");
/// ```
pub fn safe_line(text: &str) -> String {
    if is_simple(text) {
        return text.to_owned();
    }
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

fn ground_floor(cluster: &str) -> &str {
    let first = cluster.chars().next().map_or(0, char::len_utf8);
    if cluster.len() > MAX_CLUSTER { cluster.get(..first).unwrap_or_default() } else { cluster }
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
}
