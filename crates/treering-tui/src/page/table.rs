//! Lays out tables: narrow columns get their width, wide ones share the rest, and a long cell
//! continues below.

use super::wrap::{HangingIndent, add, span_columns, wrap};
use super::{StyledLine, StyledSpan};
use crate::theme::Tone;
use pulldown_cmark::Alignment;
use treering_display::columns::columns;

/// The largest number of columns; the content of further columns goes to the last one.
pub(super) const MAX_COLUMNS: usize = 64;
/// On fewer columns per cell a row is shown as one text.
const MIN_CELL_WIDTH: usize = 4;
const BETWEEN: &str = " │ ";

/// The cells of a table.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct MarkdownTable {
    aligned: Vec<Alignment>,
    /// The first row is the head.
    pub(super) rows: Vec<Vec<StyledLine>>,
    /// The width of the widest cell of each column.
    widths: Vec<usize>,
}

impl Eq for MarkdownTable {}

impl MarkdownTable {
    pub(super) fn new(aligned: Vec<Alignment>) -> Self {
        MarkdownTable { aligned, ..MarkdownTable::default() }
    }

    /// Measures the cells, once they are all there.
    pub(super) fn measure(&mut self) {
        let count = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        self.widths = vec![0; count];
        for row in &self.rows {
            for (cell, most) in row.iter().zip(&mut self.widths) {
                *most = span_columns(&cell.spans).max(*most);
            }
        }
    }

    /// Returns a row as one text.
    pub(super) fn text_of(&self, row: usize) -> Vec<StyledSpan> {
        let mut spans = Vec::new();
        for (place, cell) in self.rows.get(row).into_iter().flatten().enumerate() {
            if place > 0 {
                spans.push(StyledSpan { tone: Tone::Dim, text: BETWEEN.to_owned() });
            }
            spans.extend(cell.spans.iter().cloned());
        }
        spans
    }

    /// Appends a row that fits the screen, and a line below the head.
    pub(super) fn lay_out(
        &self,
        row: usize,
        lead: HangingIndent<'_>,
        width: usize,
        out: &mut Vec<StyledLine>,
    ) {
        let room = width - lead.columns;
        let starts = |is_first: bool| {
            let mut start = Vec::new();
            let clusters = if is_first { &lead.first } else { &lead.rest };
            clusters.iter().for_each(|(tone, cluster)| add(&mut start, *tone, cluster));
            start
        };
        let mut rows = match self.share(room) {
            Some(widths) => self.in_columns(row, &widths),
            None => self.in_words(row, room),
        };
        if row == 0 {
            rows.push(self.rule(room));
        }
        for (place, spans) in rows.into_iter().enumerate() {
            let mut line = starts(place == 0);
            line.extend(spans);
            out.push(StyledLine::of(line));
        }
    }

    /// Returns the width of each column, or `None` if there are too many for the room.
    fn share(&self, room: usize) -> Option<Vec<usize>> {
        let count = self.widths.len();
        let between = columns(BETWEEN) * count.saturating_sub(1);
        let mut left = room.checked_sub(between)?;
        if self.widths.iter().sum::<usize>() > left && left < count * MIN_CELL_WIDTH {
            return None;
        }
        // The narrowest columns come first; the others share the rest.
        let mut order: Vec<usize> = (0..count).collect();
        order.sort_by_key(|place| self.widths.get(*place));
        let mut widths = vec![0; count];
        for (done, place) in order.into_iter().enumerate() {
            let fair = left / (count - done);
            if let (Some(width), Some(natural)) = (widths.get_mut(place), self.widths.get(place)) {
                *width = (*natural).min(fair);
                left -= *width;
            }
        }
        Some(widths)
    }

    fn in_columns(&self, row: usize, widths: &[usize]) -> Vec<Vec<StyledSpan>> {
        let empty = StyledLine::default();
        let cells = self.rows.get(row).map(Vec::as_slice).unwrap_or_default();
        let mut height = 1;
        let cells: Vec<Vec<StyledLine>> = (0..widths.len())
            .zip(widths)
            .map(|(place, width)| {
                let mut lines = Vec::new();
                wrap(cells.get(place).unwrap_or(&empty), *width, &mut lines);
                height = height.max(lines.len());
                lines
            })
            .collect();
        (0..height).map(|line| self.across(&cells, line, widths)).collect()
    }

    /// Returns one line across all columns.
    fn across(&self, cells: &[Vec<StyledLine>], line: usize, widths: &[usize]) -> Vec<StyledSpan> {
        let mut spans = Vec::new();
        let blank = |count: usize| StyledSpan { tone: Tone::Plain, text: " ".repeat(count) };
        for (place, (cell, width)) in cells.iter().zip(widths).enumerate() {
            if place > 0 {
                spans.push(StyledSpan { tone: Tone::Dim, text: BETWEEN.to_owned() });
            }
            let pieces = cell.get(line).map(|line| line.spans.clone()).unwrap_or_default();
            let free = width.saturating_sub(span_columns(&pieces));
            let before = match self.aligned.get(place) {
                Some(Alignment::Right) => free,
                Some(Alignment::Center) => free / 2,
                _ => 0,
            };
            let after = if place + 1 < cells.len() { free - before } else { 0 };
            spans.extend(Some(blank(before)).filter(|_| before > 0));
            spans.extend(pieces);
            spans.extend(Some(blank(after)).filter(|_| after > 0));
        }
        spans
    }

    fn in_words(&self, row: usize, room: usize) -> Vec<Vec<StyledSpan>> {
        let mut lines = Vec::new();
        wrap(&StyledLine::of(self.text_of(row)), room, &mut lines);
        lines.into_iter().map(|line| line.spans).collect()
    }

    fn rule(&self, room: usize) -> Vec<StyledSpan> {
        let text = match self.share(room) {
            Some(widths) => {
                let lines: Vec<String> = widths.iter().map(|width| "─".repeat(*width)).collect();
                lines.join("─┼─")
            }
            None => "─".repeat(room),
        };
        vec![StyledSpan { tone: Tone::Dim, text }]
    }
}
