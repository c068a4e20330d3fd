//! Usage as a table with bars.

use super::statusline::left;
use super::{Grouping, ReportContext};
use crate::amounts::{cost, dollars, tokens};
use crate::error::Failure;
use crate::output::{Output, Style};
use crate::sessions;
use crate::text::{columns, count, excerpt, fit, pad, project, safe_line};
use std::io::Write;
use std::path::Path;
use treering::usage::Usage;
use treering_usage::{Block, Row};

/// The largest width of the first column.
const NAME: usize = 44;

/// The width of a full bar.
const BAR: usize = 20;

/// The headings of numbers.
const HEADINGS: [&str; 7] =
    ["SESSIONS", "INPUT", "OUTPUT", "CACHE READ", "CACHE WRITE", "TOTAL", "COST"];

/// The order in which columns are left out if the terminal is too narrow.
const LEFT_OUT: [usize; 5] = [4, 3, 0, 1, 2];

/// A line of the table.
struct TableLine {
    name: String,
    cells: [String; 7],
    /// The value of the bar; `None` for models and the sum.
    bar: Option<f64>,
    style: Option<Style>,
}

pub(super) fn write(context: &ReportContext<'_>, out: &mut Output) -> Result<(), Failure> {
    let ReportContext { by, counted, zone, now, .. } = context;
    let blocks = if *by == Grouping::Blocks { counted.blocks() } else { Vec::new() };
    let report = counted.report(by.group().unwrap_or(treering_usage::GroupBy::Day), zone);
    if report.rows.is_empty() {
        writeln!(out, "no usage is recorded")?;
        return Ok(());
    }
    let has_cost = report.total.usage.total_cost().dollars() > 0.0;
    let value = |usage: &Usage| match has_cost {
        true => usage.total_cost().dollars(),
        false => usage.total() as f64,
    };
    let names = Names::new(context);
    let mut lines = Vec::new();
    let mut push = |name: String, row: &Row<'_>| {
        lines.push(TableLine {
            name,
            cells: cells(row),
            bar: Some(value(&row.usage)),
            style: None,
        });
        for (model, usage) in row.models.iter().filter(|_| context.shows_models) {
            let cells = usage_cells(usage, String::new());
            lines.push(TableLine {
                name: format!("  {}", model_name(model)),
                cells,
                bar: None,
                style: Some(Style::Dim),
            });
        }
    };
    match by {
        Grouping::Blocks => blocks.iter().for_each(|block| push(names.block(block), &block.row)),
        _ => report.rows.iter().for_each(|row| push(names.row(row), row)),
    }
    lines.push(TableLine {
        name: "all".to_owned(),
        cells: cells(&report.total),
        bar: None,
        style: Some(Style::Heading),
    });
    write_lines(by.row(), &lines, out)?;
    if let Some(block) = blocks.last().filter(|block| block.is_active(*now)) {
        write_pace(block, *now, out)?;
    }
    write_notes(context, out)
}

fn cells(row: &Row<'_>) -> [String; 7] {
    usage_cells(&row.usage, row.sessions.to_string())
}

fn usage_cells(usage: &Usage, sessions: String) -> [String; 7] {
    [
        sessions,
        tokens(usage.input),
        tokens(usage.output),
        tokens(usage.cache_read),
        tokens(usage.cache_write),
        tokens(usage.total()),
        cost(usage),
    ]
}

fn model_name(model: &str) -> String {
    if model.is_empty() { "(unknown)".to_owned() } else { safe_line(model) }
}

/// The names of rows for users.
struct Names<'a> {
    context: &'a ReportContext<'a>,
    home: Option<std::path::PathBuf>,
}

impl<'a> Names<'a> {
    fn new(context: &'a ReportContext<'a>) -> Self {
        Names { context, home: sessions::places().home().map(Path::to_owned) }
    }

    fn row(&self, row: &Row<'_>) -> String {
        match self.context.by {
            Grouping::Model => model_name(&row.name),
            Grouping::Project if row.name.is_empty() => "(unknown)".to_owned(),
            Grouping::Project => project(&row.name, self.home.as_deref()),
            Grouping::Session => {
                let info = row.session.and_then(|number| self.context.counted.session(number));
                let title = info.map(treering::catalog::SessionInfo::title);
                format!("{}  {}", excerpt(&row.name, 13), excerpt(title.unwrap_or_default(), NAME))
            }
            _ => safe_line(&row.name),
        }
    }

    fn block(&self, block: &Block<'_>) -> String {
        let ReportContext { zone, now, .. } = self.context;
        let end = zone.minute(block.end);
        let end = end.get(11..).unwrap_or_default();
        let active = if block.is_active(*now) { " now" } else { "" };
        format!("{}–{end}{active}", zone.minute(block.start))
    }
}

fn write_lines(what: &str, lines: &[TableLine], out: &mut Output) -> Result<(), Failure> {
    let name = lines.iter().map(|line| columns(&line.name)).max().unwrap_or(0).clamp(7, NAME);
    let widths: Vec<usize> = (0..HEADINGS.len())
        .map(|at| {
            let widest = lines.iter().map(|line| columns(&line.cells[at])).max();
            widest.unwrap_or(0).max(HEADINGS[at].len())
        })
        .collect();
    let mut shown = vec![true; HEADINGS.len()];
    let width = |shown: &[bool]| {
        let cells = widths.iter().zip(shown).filter(|(_, is_shown)| **is_shown);
        name + cells.map(|(width, _)| width + 2).sum::<usize>()
    };
    let room = out.table_width();
    for at in LEFT_OUT {
        if width(&shown) > room {
            shown[at] = false;
        }
    }
    let bar = room.saturating_sub(width(&shown) + 2).min(BAR);
    let most = lines.iter().filter_map(|line| line.bar).fold(0.0, f64::max);
    let row = |title: &str, cells: &[&str]| {
        let mut row = pad(&fit(title, name), name);
        for (at, cell) in cells.iter().enumerate().filter(|(at, _)| shown[*at]) {
            let space = widths[at].saturating_sub(columns(cell)) + 2;
            row += &" ".repeat(space);
            row += cell;
        }
        row
    };
    let head = out.paint(Style::Dim, &row(&what.to_uppercase(), &HEADINGS));
    writeln!(out, "{head}")?;
    for line in lines {
        let cells: Vec<&str> = line.cells.iter().map(String::as_str).collect();
        let text = row(&line.name, &cells);
        let text = line.style.map_or(text.clone(), |style| out.paint(style, &text));
        match line.bar.map(|value| self::bar(value, most, bar)).filter(|bar| !bar.is_empty()) {
            Some(bar) => writeln!(out, "{text}  {}", out.paint(Style::Assistant, &bar))?,
            None => writeln!(out, "{}", text.trim_end())?,
        }
    }
    Ok(())
}

/// Returns a bar for a value, in eighths of a column.
fn bar(value: f64, most: f64, width: usize) -> String {
    const PARTS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    if most <= 0.0 || value <= 0.0 || width == 0 {
        return String::new();
    }
    // A value above zero is always visible.
    let eighths = ((value / most * (width * 8) as f64).round() as usize).clamp(1, width * 8);
    "█".repeat(eighths / 8) + PARTS[eighths % 8]
}

/// Writes the rate of usage of the current block.
fn write_pace(block: &Block<'_>, now: i64, out: &mut Output) -> Result<(), Failure> {
    let Some(pace) = block.pace(now) else { return Ok(()) };
    let mark = if block.row.usage.computed_requests > 0 { "~" } else { "" };
    let line = format!(
        "{} left; {} tokens/min, {mark}{}/h; at this pace {} tokens, {mark}{} in all",
        left(block, now),
        tokens(pace.tokens_per_minute as u64),
        dollars(pace.dollars_per_hour),
        tokens(pace.projected_tokens),
        dollars(pace.projected_dollars),
    );
    writeln!(out, "\n{line}")?;
    Ok(())
}

/// The number of models without a price that are named.
const MAX_UNKNOWN: usize = 10;

/// Writes the source of computed costs, and the models with unknown prices.
fn write_notes(context: &ReportContext<'_>, out: &mut Output) -> Result<(), Failure> {
    let usage = context.counted.usage();
    let mut notes = Vec::new();
    if usage.computed_requests > 0 {
        let requests = count(usage.computed_requests as usize, "request", "requests");
        let date = context.prices.date();
        notes.push(format!("~ computed for {requests} with the prices of {date}"));
    }
    let unknown = context.counted.unknown_models();
    if !unknown.is_empty() {
        let named = unknown.iter().take(MAX_UNKNOWN).map(|model| {
            let requests = count(model.usage.unknown() as usize, "request", "requests");
            format!("{} ({requests})", model_name(model.model))
        });
        let mut named = named.collect::<Vec<_>>().join(", ");
        if let Some(more) = unknown.len().checked_sub(MAX_UNKNOWN).filter(|more| *more > 0) {
            named += &format!(" … and {more} more");
        }
        notes.push(format!("? no price is known for {named}"));
        notes.push("  [prices.\"MODEL\"] in the configuration sets one".to_owned());
    }
    if !notes.is_empty() {
        writeln!(out)?;
    }
    for note in notes {
        let note = out.paint(Style::Dim, &note);
        writeln!(out, "{note}")?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_are_as_long_as_their_values() {
        assert_eq!(bar(10.0, 10.0, 4), "████");
        assert_eq!(bar(5.0, 10.0, 4), "██");
        assert_eq!(bar(0.001, 10.0, 4), "▏");
        assert_eq!(bar(3.0, 10.0, 4), "█▎");
        assert_eq!((bar(0.0, 10.0, 4), bar(0.0, 0.0, 4)), (String::new(), String::new()));
        assert_eq!(bar(1.0, 10.0, 0), "");
    }
}
