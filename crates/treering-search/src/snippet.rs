//! Builds the snippet of a hit: one line around the first match, cut between grapheme clusters.

use crate::query::Query;
use std::ops::Range;
use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

/// A line of an entry's text, with white space collapsed. The text is not trusted: the caller must
/// make it safe to show, piece by piece.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Snippet {
    /// The text of the line.
    pub text: String,
    /// The matches, as ranges of bytes, in order and not overlapping.
    pub matches: Vec<Range<usize>>,
    /// Whether the text continues before the line.
    pub cut_before: bool,
    /// Whether the text continues after the line.
    pub cut_after: bool,
}

impl Snippet {
    /// Returns the line in pieces: a text, and whether it is a match.
    ///
    /// ```
    /// # use treering_search::Snippet;
    /// let mut snippet = Snippet::default();
    /// (snippet.text, snippet.matches) = ("a red hat".into(), vec![2..5]);
    /// let pieces: Vec<_> = snippet.pieces().collect();
    /// assert_eq!(pieces, [("a ", false), ("red", true), (" hat", false)]);
    /// ```
    pub fn pieces(&self) -> impl Iterator<Item = (&str, bool)> {
        let mut at = 0;
        let mut pieces = Vec::with_capacity(2 * self.matches.len() + 1);
        for range in &self.matches {
            pieces.push((self.text.get(at..range.start).unwrap_or_default(), false));
            pieces.push((self.text.get(range.clone()).unwrap_or_default(), true));
            at = range.end;
        }
        pieces.push((self.text.get(at..).unwrap_or_default(), false));
        pieces.into_iter().filter(|(text, _)| !text.is_empty())
    }
}

/// Returns the line of `text` to show, of about `width` columns.
pub(crate) fn snippet(query: &Query, text: &str, width: usize) -> Snippet {
    let first = query.terms.iter().filter_map(|term| term.find_at(text, 0));
    let first = first.min_by_key(|found| found.start).unwrap_or(0..0);
    let window = window(text, &first, width);
    let matches = matches(query, text, &window);
    let (line, places) = one_line(text, &window, &matches);
    Snippet {
        text: line,
        matches: places,
        cut_before: text.get(..window.start).is_some_and(|before| !before.trim().is_empty()),
        cut_after: text.get(window.end..).is_some_and(|after| !after.trim().is_empty()),
    }
}

/// The maximum number of bytes that are read for a column.
const MAX_BYTES_PER_COLUMN: usize = 32;

/// Returns the window around a match: a third of the width before it, the rest from its beginning
/// on.
fn window(text: &str, found: &Range<usize>, width: usize) -> Range<usize> {
    let before = text.get(..found.start).unwrap_or_default();
    // Characters without width must not make the line long, and a text of megabytes must not be
    // searched.
    let from = floor(before, before.len().saturating_sub(width * MAX_BYTES_PER_COLUMN));
    let mut start = found.start;
    let mut used = 0;
    for (at, cluster) in before.get(from..).unwrap_or_default().grapheme_indices(true).rev() {
        used += cluster.width();
        let may_be_cut = at == 0 && from > 0;
        if used > width / 3 || may_be_cut {
            break;
        }
        start = from + at;
    }
    let room = width.saturating_sub(used.min(width / 3));
    let to = floor(text, start.saturating_add(width * MAX_BYTES_PER_COLUMN));
    let mut end = found.start;
    used = 0;
    for (at, cluster) in text.get(found.start..to).unwrap_or_default().grapheme_indices(true) {
        used += cluster.width();
        let next = found.start + at + cluster.len();
        let may_be_cut = next == to && to < text.len();
        if at > 0 && (used > room || may_be_cut) {
            break;
        }
        end = next;
    }
    start..end
}

/// Returns the last character boundary at or before `at`.
fn floor(text: &str, at: usize) -> usize {
    let at = at.min(text.len());
    (0..=at).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0)
}

/// Returns the matches in a window, in order and not overlapping.
fn matches(query: &Query, text: &str, window: &Range<usize>) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    for term in &query.terms {
        let mut at = window.start;
        while let Some(range) = term.find_at(text, at).filter(|range| range.start < window.end) {
            let next = range.end.max(range.start + 1);
            at =
                (next..=text.len()).find(|&at| text.is_char_boundary(at)).unwrap_or(text.len() + 1);
            if !range.is_empty() {
                found.push(range.start..range.end.min(window.end));
            }
        }
    }
    found.sort_by_key(|range| (range.start, range.end));
    let mut apart: Vec<Range<usize>> = Vec::new();
    for range in found {
        match apart.last_mut().filter(|last| range.start <= last.end) {
            Some(last) => last.end = last.end.max(range.end),
            None => apart.push(range),
        }
    }
    apart
}

/// Returns the window as one line with white space collapsed, and the positions of the matches in
/// it.
fn one_line(
    text: &str,
    window: &Range<usize>,
    matches: &[Range<usize>],
) -> (String, Vec<Range<usize>>) {
    let mut line = String::new();
    let mut places = Vec::new();
    let mut upcoming = matches.iter().peekable();
    let mut open: Option<(usize, usize)> = None;
    let shown = text.get(window.clone()).unwrap_or_default();
    let ends = shown.char_indices().map(|(at, character)| (window.start + at, Some(character)));
    for (at, character) in ends.chain([(window.end, None)]) {
        if let Some((start, _)) = open.filter(|(_, end)| at >= *end) {
            places.push(start..line.len());
            open = None;
        }
        if let Some(range) = upcoming.next_if(|range| range.start <= at) {
            open = Some((line.len(), range.end));
        }
        match character {
            Some(c) if c.is_whitespace() => {
                line.push_str(if line.is_empty() || line.ends_with(' ') { "" } else { " " });
            }
            Some(c) => line.push(c),
            None => {}
        }
    }
    line.truncate(line.trim_end().len());
    for range in &mut places {
        range.end = range.end.min(line.len());
        range.start = range.start.min(range.end);
    }
    places.retain(|range: &Range<usize>| !range.is_empty());
    (line, places)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::term::Case;
    use proptest::prelude::*;

    fn shown(query: &str, text: &str, width: usize) -> String {
        let query = Query::parse(query, Case::Ignored).unwrap();
        let snippet = snippet(&query, text, width);
        let line: String = snippet
            .pieces()
            .map(|(text, found)| if found { format!("[{text}]") } else { text.to_owned() })
            .collect();
        let mark = |cut| if cut { "…" } else { "" };
        format!("{}{line}{}", mark(snippet.cut_before), mark(snippet.cut_after))
    }

    #[test]
    fn a_line_around_the_match() {
        assert_eq!(shown("red", "a red hat", 80), "a [red] hat");
        assert_eq!(shown("red hat", "a RED\n\n  hat, redder", 80), "a [RED] [hat], [red]der");
        assert_eq!(shown("\"red hat\"", "a red\n hat", 80), "a [red hat]");
        assert_eq!(shown("re:r re:re", "red", 80), "[re]d");
        assert_eq!(
            shown("x", &format!("{}x{}", "a".repeat(99), "b".repeat(99)), 9),
            "…aaa[x]bbbbb…"
        );
        assert_eq!(shown("語", "日本語日本", 6), "…本[語]日…");
        assert_eq!(shown("e\u{301}", "ae\u{301}b", 3), "a[e\u{301}]b");
        assert_eq!(shown("re:z*", "abc", 80), "abc");
        assert_eq!(shown("role:user", "\n  abc ", 80), "abc");
    }

    #[test]
    fn a_family_is_not_cut_apart() {
        let family = "👩‍👩‍👧‍👦";
        let text = format!("{}x{}", family.repeat(10), family.repeat(10));
        let shown = shown("x", &text, 12);
        assert_eq!(shown.replace(family, "F"), "…FF[x]FFF…");
    }

    #[test]
    fn megabytes_cost_little() {
        let text = format!("{}x{}", "\u{301}".repeat(1_000_000), "\u{301}".repeat(1_000_000));
        assert!(shown("re:x", &text, 80).len() < 4000);
        assert!(shown("a", &"a".repeat(3_000_000), 80).len() < 200);
    }

    proptest! {
        #[test]
        fn matches_are_in_order_and_inside(text in "[ab é日\n😀\u{301}]{0,60}", width in 0_usize..30) {
            let query = Query::parse("re:[a日] b \u{301}", Case::Ignored).unwrap();
            let snippet = snippet(&query, &text, width);
            let joined: String = snippet.pieces().map(|(text, _)| text).collect();
            prop_assert_eq!(&joined, &snippet.text);
            prop_assert!(!snippet.text.contains('\n'));
            let mut at = 0;
            for range in &snippet.matches {
                prop_assert!(range.start >= at && range.end > range.start);
                at = range.end;
            }
        }
    }
}
