//! Renders two texts side by side.
//!
//! Lines that both texts have are beside each other; long runs of them are left out. A `~` marks
//! replaced lines and the words that differ, `-` and `+` mark lines that only one text has. A
//! narrow screen shows one text below the other.

use super::code::blanks;
use super::entry;
use super::wrap::{span_columns, wrap};
use super::writer::{MAX_LINE_BYTES, PageWriter};
use super::{Page, StyledLine, StyledSpan, WrapMode};
use crate::theme::Tone;
use treering::Entry;
use treering_display::columns::columns;
use treering_display::diff::{DiffPiece, pairs, words};
use treering_display::text::safe_line;

/// On fewer columns, one text is below the other.
const WIDE: usize = 60;
/// The number of unchanged lines around a difference.
const CONTEXT: usize = 3;
const BETWEEN: &str = " │ ";
/// The columns of the mark and a space.
const MARK: usize = 2;

/// One of two texts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DiffSide {
    /// The title of the side.
    pub title: String,
    /// The text.
    pub text: String,
}

impl DiffSide {
    /// Returns the text of an entry, under its id.
    pub fn of_entry(entry: &Entry) -> Self {
        let mut writer = PageWriter::default();
        entry::write_body(&mut writer, entry, None);
        DiffSide { title: entry.id().to_string(), text: writer.finish().text() }
    }
}

/// Compares two texts for a screen of a width.
///
/// ```
/// use treering_tui::page::diff::{DiffSide, side_by_side};
/// let side = |title: &str, text: &str| DiffSide { title: title.into(), text: text.into() };
/// let page = side_by_side(&side("a1", "same\nred"), &side("b1", "same\nblue"), 60);
/// assert!(page.text().contains("~ red"));
/// ```
pub fn side_by_side(left: &DiffSide, right: &DiffSide, width: usize) -> Page {
    let mut writer = PageWriter::default();
    if width < WIDE {
        unified(&mut writer, left, right);
        return writer.finish();
    }
    let column = (width - columns(BETWEEN)) / 2;
    let title = |side: &DiffSide| StyledLine::new(Tone::Title, &side.title);
    beside(&mut writer, Some(title(left)), Some(title(right)), column);
    let rule = format!("{}─┼─{}", "─".repeat(column), "─".repeat(column));
    writer.push(StyledLine::new(Tone::Dim, &rule));
    let pairs = pairs(&left.text, &right.text);
    let mut rest = &pairs[..];
    while !rest.is_empty() && !writer.is_full() {
        let run = rest.iter().take_while(|(left, right)| left == right).count();
        let is_start = rest.len() == pairs.len();
        let head = if is_start { 0 } else { CONTEXT };
        let tail = if run == rest.len() { 0 } else { CONTEXT };
        // A single unchanged line is shown.
        let left_out = Some(run.saturating_sub(head + tail)).filter(|count| *count > 1);
        let left_out = left_out.unwrap_or(0);
        let (these, others) = rest.split_at_checked(run.max(1)).unwrap_or((rest, &[]));
        for (place, pair) in these.iter().enumerate() {
            match place {
                _ if left_out == 0 || place < head || place >= head + left_out => {
                    row(&mut writer, *pair, column);
                }
                _ if place == head => {
                    let words = format!("⋯ {left_out} lines are the same");
                    writer.push(StyledLine::new(Tone::Dim, &words));
                }
                _ => {}
            }
        }
        rest = others;
    }
    writer.finish()
}

fn unified(writer: &mut PageWriter, left: &DiffSide, right: &DiffSide) {
    for (sign, side) in [("-", left), ("+", right)] {
        writer.push(StyledLine::new(Tone::Title, &format!("{sign} {}", side.title)));
    }
    super::call::write_diff(writer, "", &left.text, &right.text);
}

/// Adds a line of each text, side by side.
fn row(writer: &mut PageWriter, pair: (Option<&str>, Option<&str>), column: usize) {
    let line = |mark: &str, tone: Tone, spans: Vec<StyledSpan>| {
        let mut all = vec![StyledSpan { tone, text: format!("{mark} ") }];
        all.extend(spans);
        Some(StyledLine { spans: all, hang: MARK, wrap_mode: WrapMode::Code })
    };
    let plain = |tone: Tone, text: &str| vec![StyledSpan { tone, text: safe_line(cut(text)) }];
    let (left, right) = match pair {
        (Some(left), Some(right)) if left == right => {
            let same = line(" ", Tone::Plain, plain(Tone::Plain, left));
            (same.clone(), same)
        }
        (Some(left), Some(right)) => {
            let (old, new) = words(cut(left), cut(right));
            (
                line("~", Tone::Changed, marked(&old, Tone::Removed)),
                line("~", Tone::Changed, marked(&new, Tone::Added)),
            )
        }
        (Some(left), None) => (line("-", Tone::Removed, plain(Tone::Removed, left)), None),
        (None, Some(right)) => (None, line("+", Tone::Added, plain(Tone::Added, right))),
        (None, None) => return,
    };
    beside(writer, left, right, column);
}

fn marked(pieces: &[DiffPiece<'_>], tone: Tone) -> Vec<StyledSpan> {
    let tone = |is_changed: &bool| if *is_changed { tone } else { Tone::Plain };
    pieces
        .iter()
        .map(|(is_changed, text)| StyledSpan { tone: tone(is_changed), text: safe_line(text) })
        .collect()
}

/// Returns the part of a line that a page shows.
fn cut(line: &str) -> &str {
    treering_display::text::prefix(line, MAX_LINE_BYTES)
}

fn beside(
    writer: &mut PageWriter,
    left: Option<StyledLine>,
    right: Option<StyledLine>,
    column: usize,
) {
    let fit = |line: Option<StyledLine>| {
        let mut rows = Vec::new();
        line.iter().for_each(|line| wrap(line, column, &mut rows));
        rows
    };
    let (left, right) = (fit(left), fit(right));
    for place in 0..left.len().max(right.len()) {
        let mut spans = left.get(place).map(|row| row.spans.clone()).unwrap_or_default();
        spans.extend(blanks(column.saturating_sub(span_columns(&spans))));
        spans.push(StyledSpan { tone: Tone::Dim, text: BETWEEN.to_owned() });
        spans.extend(right.get(place).map(|row| row.spans.clone()).unwrap_or_default());
        writer.push(StyledLine::of(spans));
    }
}
