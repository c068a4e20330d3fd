//! Tests of pages as a whole: what users read, invariants, and hostile content.

mod entries;
mod hostile;
mod markdown;
mod wrapping;

use super::{Page, StyledLine};
use treering_display::columns::columns;

/// Returns a page on a screen of a width, as text.
fn shown(page: &Page, width: usize) -> String {
    let rows = page.wrapped(width).lines;
    let rows: Vec<String> = rows.iter().map(|row| row.text().trim_end().to_owned()).collect();
    for row in &rows {
        assert!(columns(row) <= width, "{row:?} is wider than {width}");
    }
    rows.join("\n")
}

/// Returns the pieces of a page that are not plain, with their tones.
fn tones(page: &Page) -> String {
    let spans = page.lines.iter().flat_map(|line: &StyledLine| &line.spans);
    let marked = spans.filter(|span| !span.text.trim().is_empty());
    marked.map(|span| format!("{:?}:{}", span.tone, span.text)).collect::<Vec<_>>().join("|")
}
