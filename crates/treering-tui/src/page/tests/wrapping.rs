//! Tests of wrapping: no text is lost, and no line is too wide.

use super::super::wrap::span_columns;
use super::super::{Page, PageView, StyledLine, StyledSpan, WrapMode};
use super::shown;
use crate::theme::Tone;
use proptest::prelude::*;
use treering_display::columns::graphemes;

fn line(spans: &[(Tone, &str)], hang: usize, wrap_mode: WrapMode) -> Page {
    let spans = spans.iter().map(|(tone, text)| StyledSpan::new(*tone, text)).collect();
    Page { lines: vec![StyledLine { spans, hang, wrap_mode }] }
}

#[test]
fn lines_are_broken_where_they_may() {
    use Tone::{Plain, Quote, Strong};
    for (spans, hang, wrap_mode, width, expected) in [
        (&[(Plain, "one two three")][..], 0, WrapMode::Prose, 8, "one two\nthree"),
        (
            &[(Plain, "one "), (Strong, "two"), (Plain, "x three")],
            0,
            WrapMode::Prose,
            8,
            "one twox\nthree",
        ),
        (&[(Plain, "• one two three")], 2, WrapMode::Prose, 8, "• one\n  two\n  three"),
        (&[(Quote, "│ "), (Plain, "• one two")], 4, WrapMode::Prose, 9, "│ • one\n│   two"),
        (&[(Plain, "abcdefgh")], 0, WrapMode::Prose, 3, "abc\ndef\ngh"),
        (&[(Plain, "a abcdefgh b")], 0, WrapMode::Prose, 5, "a\nabcde\nfgh b"),
        (&[(Plain, "  a  b   c  ")], 0, WrapMode::Prose, 6, "  a  b\nc"),
        (&[(Plain, "a  b cdefgh")], 0, WrapMode::Code, 4, "a  b\n cde\nfgh"),
        (&[(Plain, "  ab cd ef")], 2, WrapMode::Code, 6, "  ab c\n  d ef"),
        (&[(Plain, "日本語")], 0, WrapMode::Prose, 3, "日\n本\n語"),
        (
            &[(Plain, "        deep inside")],
            8,
            WrapMode::Code,
            6,
            "\n     d\n   eep\n    in\n   sid\n   e",
        ),
    ] {
        assert_eq!(shown(&line(spans, hang, wrap_mode), width), expected, "{spans:?} {width}");
    }
}

#[test]
fn tones_stay_with_their_words() {
    let page = line(&[(Tone::Plain, "a "), (Tone::Strong, "b c")], 0, WrapMode::Prose).wrapped(3);
    let spans: Vec<&StyledSpan> = page.lines.iter().flat_map(|line| &line.spans).collect();
    let spans: Vec<(Tone, &str)> = spans.iter().map(|span| (span.tone, &*span.text)).collect();
    assert_eq!(spans, [(Tone::Plain, "a "), (Tone::Strong, "b"), (Tone::Strong, "c")]);
}

/// Returns the visible text of some lines, without blanks.
fn seen(lines: &[StyledLine]) -> String {
    let spans = lines.iter().flat_map(|line| &line.spans);
    let clusters = spans.flat_map(|span| graphemes(&span.text).map(|(cluster, _)| cluster));
    clusters.collect::<String>().replace(' ', "")
}

fn words() -> impl Strategy<Value = String> {
    "([ a-e日本語👍🏽é\u{301}\u{ff9e}\u{1b}|*`>-]|ab cd|longerword){0,30}"
}

proptest! {
    #[test]
    fn nothing_is_lost_and_nothing_is_too_wide(
        texts in prop::collection::vec(words(), 0..5),
        hang in 0_usize..12,
        width in 2_usize..30,
        is_code: bool,
    ) {
        let spans = texts.iter().zip([Tone::Plain, Tone::Strong, Tone::Code].into_iter().cycle());
        let spans: Vec<StyledSpan> = spans.map(|(text, tone)| StyledSpan::new(tone, text)).collect();
        let wrap_mode = if is_code { WrapMode::Code } else { WrapMode::Prose };
        let page = Page { lines: vec![StyledLine { spans, hang, wrap_mode }] };
        let wrapped = page.wrapped(width);
        prop_assert_eq!(seen(&wrapped.lines), seen(&page.lines));
        for row in &wrapped.lines {
            prop_assert!(span_columns(&row.spans) <= width, "{:?} {}", row, width);
        }
    }

    #[test]
    fn tables_lose_nothing(cells in prop::collection::vec(words(), 1..12), width in 2_usize..40) {
        let mut text = "|a|b|c|\n|-|:-:|-:|\n".to_owned();
        for row in cells.chunks(3) {
            let cells: Vec<String> = row
                .iter()
                .map(|cell| cell.replace(['|', '`', '*', '>', '-'], "").replace('\u{1b}', "x"))
                .collect();
            text.push_str(&format!("|{}|\n", cells.join("|")));
        }
        let page = Page::of_markdown(&text);
        let sorted = |lines: &[StyledLine]| {
            let mut seen: Vec<char> = seen(lines).chars().collect();
            seen.retain(|c| !matches!(c, '│' | '─' | '┼'));
            seen.sort_unstable();
            seen
        };
        let wrapped = page.wrapped(width);
        prop_assert_eq!(sorted(&wrapped.lines), sorted(&page.lines));
        for row in &wrapped.lines {
            prop_assert!(span_columns(&row.spans) <= width, "{:?} {}", row, width);
        }
    }

    #[test]
    fn a_reader_shows_what_a_wrapped_page_has(
        texts in prop::collection::vec(words(), 0..12),
        steps in prop::collection::vec((-9_isize..9, 2_usize..20, 0_usize..6), 1..8),
    ) {
        let page = Page::of_markdown(&texts.join("\n\n"));
        let mut reader = PageView::new(page.clone());
        for (rows, width, height) in steps {
            reader.resize(width, height);
            reader.scroll(rows);
            let all = page.wrapped(width).lines;
            let last_top = all.len().saturating_sub(height);
            prop_assert!(reader.top() <= last_top);
            let expected: Vec<StyledLine> =
                all.into_iter().skip(reader.top()).take(height).collect();
            prop_assert_eq!(reader.rows(), &expected[..]);
        }
    }
}

#[test]
fn a_reader_stays_with_its_line() {
    let text: Vec<String> = (0..50).map(|n| format!("line {n} with some words")).collect();
    let mut reader = PageView::new(Page::of_markdown(&text.join("\n")));
    let first = |reader: &PageView| reader.rows().first().map(StyledLine::text).unwrap_or_default();
    reader.resize(40, 5);
    reader.scroll(20);
    assert_eq!(first(&reader), "line 20 with some words");
    reader.resize(10, 5);
    assert_eq!(first(&reader), "line 20");
    reader.resize(40, 5);
    assert_eq!(first(&reader), "line 20 with some words");
    assert_eq!(reader.percent(), 50);
    reader.scroll_to_end();
    assert_eq!((first(&reader).as_str(), reader.percent()), ("line 45 with some words", 100));
    reader.resize(40, 60);
    assert_eq!((reader.top(), reader.rows().len()), (0, 50));
    reader.scroll(-7);
    assert_eq!(reader.top(), 0);
}

#[test]
fn a_page_is_wrapped_only_as_far_as_it_is_shown() {
    let mut reader = PageView::new(Page::of_markdown(&"word\n".repeat(10_000)));
    reader.resize(80, 24);
    assert_eq!(reader.rows.len(), 24);
    reader.scroll(100);
    assert_eq!(reader.rows.len(), 124);
}
