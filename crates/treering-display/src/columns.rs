//! Measures, cuts and pads text by terminal columns.
//!
//! The widths are those of the terminal libraries that draw, so a text takes exactly the measured
//! columns.

use crate::line::one_line;
use crate::text::is_printable_ascii;
use std::borrow::Cow;
use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

/// The maximum number of code points of a character in any script or emoji; only stacks of
/// combining marks have more.
const MAX_CLUSTER: usize = 12;
const ZWJ: char = '\u{200d}';

/// Returns the columns of a text as the terminal interface draws it, without stacks of combining
/// marks.
pub fn columns(text: &str) -> usize {
    graphemes(text).map(|(_, width)| width).sum()
}

/// Returns the columns of a text that is printed unchanged.
pub fn printed_columns(text: &str) -> usize {
    match is_printable_ascii(text) {
        true => text.len(),
        false => text.graphemes(true).map(cluster_width).sum(),
    }
}

/// Returns the characters as a reader sees them (grapheme clusters), with their columns. Clusters without
/// columns, such as a mark without a letter, are left out, because a terminal would draw them on another
/// character. A stack of combining marks is reduced to its letter.
pub fn graphemes(text: &str) -> impl Iterator<Item = (&str, usize)> {
    let (simple, other) = if is_printable_ascii(text) { (text, "") } else { ("", text) };
    let letters = (0..simple.len()).filter_map(|at| Some((simple.get(at..at + 1)?, 1)));
    let clusters = other
        .graphemes(true)
        .map(without_stack)
        .map(|cluster| (cluster, cluster_width(cluster)))
        .filter(|(_, width)| *width > 0);
    letters.chain(clusters)
}

/// Returns the columns of a cluster. Half-width voicing marks count as extending a character, but
/// terminals draw them beside it.
fn cluster_width(cluster: &str) -> usize {
    cluster.width() + cluster.matches(['\u{ff9e}', '\u{ff9f}']).count()
}

/// Returns a cluster without a stack of marks, and without a joiner at its end, which some terminals would
/// join to the next character.
fn without_stack(cluster: &str) -> &str {
    let cluster = cluster.trim_end_matches(ZWJ);
    let first = cluster.chars().next().map_or(0, char::len_utf8);
    let is_stack = cluster.len() > MAX_CLUSTER && cluster.chars().nth(MAX_CLUSTER).is_some();
    if is_stack { cluster.get(..first).unwrap_or_default() } else { cluster }
}

/// Returns the longest beginning of a text that takes at most `width` columns. No cluster is split.
///
/// ```
/// use treering_display::columns::beginning;
/// assert_eq!(beginning("日本語", 5), "日本");
/// ```
pub fn beginning(text: &str, width: usize) -> &str {
    let mut left = width;
    let past = text.grapheme_indices(true).find(|(_, cluster)| !takes(&mut left, cluster));
    past.and_then(|(at, _)| text.get(..at)).unwrap_or(text)
}

/// Returns the longest end of a text that takes at most `width` columns.
///
/// ```
/// use treering_display::columns::ending;
/// assert_eq!(ending("/a/b/c", 4), "/b/c");
/// ```
pub fn ending(text: &str, width: usize) -> &str {
    let mut left = width;
    let mut clusters = text.grapheme_indices(true).rev();
    let before = clusters.find(|(_, cluster)| !takes(&mut left, cluster));
    before.and_then(|(at, cluster)| text.get(at + cluster.len()..)).unwrap_or(text)
}

/// Subtracts the columns of a cluster from `left`, and returns `false` if there are too few.
fn takes(left: &mut usize, cluster: &str) -> bool {
    let rest = left.checked_sub(cluster_width(cluster));
    *left = rest.unwrap_or(*left);
    rest.is_some()
}

/// Returns whether a text takes at most `width` columns. No character takes more columns than bytes.
fn fits(text: &str, width: usize) -> bool {
    text.len() <= width || printed_columns(text) <= width
}

/// Returns a text in at most `width` columns. If it is cut, an ellipsis replaces the rest and the
/// spaces before it.
pub fn fit(text: &str, width: usize) -> Cow<'_, str> {
    match width.checked_sub(1) {
        _ if fits(text, width) => text.into(),
        Some(room) => format!("{}…", beginning(text, room).trim_end()).into(),
        None => "".into(),
    }
}

/// Returns a text in at most `width` columns, cut at its beginning: paths differ at their ends.
pub fn fit_end(text: &str, width: usize) -> Cow<'_, str> {
    match width.checked_sub(1) {
        _ if fits(text, width) => text.into(),
        Some(room) => format!("…{}", ending(text, room)).into(),
        None => "".into(),
    }
}

/// Returns the first line of a text that is not blank, safe to show, in at most `width` columns.
pub fn excerpt(text: &str, width: usize) -> String {
    // Some characters take no column; eight characters for each column are enough.
    fit(&one_line(text, width.saturating_mul(8)), width).into_owned()
}

/// Returns a text followed by spaces, `width` columns in all.
pub fn pad(text: &str, width: usize) -> String {
    format!("{text}{}", " ".repeat(width.saturating_sub(printed_columns(text))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn texts_are_cut_by_columns_at_either_end() {
        assert_eq!(fit("hello", 5), "hello");
        assert_eq!(fit("hello!", 5), "hell…");
        assert_eq!(fit("two words", 5), "two…");
        assert_eq!(fit("日本語", 4), "日…");
        assert_eq!(fit_end("hello!", 5), "…llo!");
        assert_eq!(fit_end("日本語", 4), "…語");
        assert_eq!((fit("x", 0), fit_end("x", 0)), ("".into(), "".into()));
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
    fn an_excerpt_is_the_first_line_that_is_not_blank() {
        assert_eq!(excerpt("\n  \n  hello \t  there \nworld", 20), "hello there");
        assert_eq!(excerpt(&"x".repeat(1_000_000), 4), "xxx…");
        assert_eq!(excerpt(&"x ".repeat(1_000_000), 5), "x x…");
        assert_eq!(excerpt(&"\u{1b}".repeat(9), 9), "\\x1b\\x1b…");
        assert_eq!(pad("日本", 6), "日本  ");
    }
}
