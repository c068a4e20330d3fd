//! Sessions as a table that fits its terminal.
//!
//! Every column is as wide as its content; an empty column is left out. The title and the last
//! column share the rest. If that is too narrow, columns are left out, the least important first.

use crate::amounts::tokens;
use crate::error::Failure;
use crate::output::{Output, Style};
use crate::text::{self, age, columns, excerpt, fit, fit_end, pad, safe_line, size, time};
use std::collections::HashMap;
use std::io::Write;
use std::path::Path;
use treering::catalog::SessionInfo;

/// The kind of list, which decides its columns.
#[derive(Debug)]
pub(super) enum ListKind<'a> {
    /// The files in a directory.
    Directory(&'a Path),
    /// Sessions of the index, perhaps of one project.
    SessionIndex {
        /// The shortest unambiguous beginnings of ids.
        ids: HashMap<&'a str, &'a str>,
        project: Option<&'a Path>,
        home: Option<&'a Path>,
        /// Whether the number of findings is shown.
        findings: bool,
    },
}

/// The format of times in a list.
#[derive(Debug, Clone, Copy)]
pub(super) enum ListTimeFormat {
    /// The age relative to this time.
    Ago(i64),
    Iso,
}

/// The way a column shrinks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ColumnWidth {
    /// The column has a fixed width.
    Fixed,
    /// The column may be left out; those with the lowest number first.
    Optional(u8),
    /// The column takes the rest of the width, and is cut at its end.
    Title,
    /// The column takes what the title leaves, and is cut at its beginning.
    Last,
}

#[derive(Debug)]
struct Column {
    heading: &'static str,
    width: ColumnWidth,
    right: bool,
    style: Option<Style>,
    cells: Vec<String>,
}

impl Column {
    fn new(heading: &'static str, width: ColumnWidth, cells: Vec<String>) -> Self {
        Column { heading, width, right: false, style: None, cells }
    }

    fn right(self) -> Self {
        Column { right: true, ..self }
    }

    fn dim(self) -> Self {
        Column { style: Some(Style::Dim), ..self }
    }

    fn widest(&self) -> usize {
        let cells = self.cells.iter().map(|cell| columns(cell)).max().unwrap_or(0);
        cells.max(self.heading.len())
    }

    fn cell(&self, text: &str, width: usize) -> String {
        let text = match self.width {
            // If nothing is cut, a long text extends beyond the column, which stays narrow for the
            // others.
            ColumnWidth::Title | ColumnWidth::Last if width >= WIDEST => text.into(),
            ColumnWidth::Last => fit_end(text, width),
            _ => fit(text, width),
        };
        match self.right {
            true => format!("{}{text}", " ".repeat(width.saturating_sub(columns(&text)))),
            false => pad(&text, width),
        }
    }
}

/// The maximum width of a column.
const WIDEST: usize = 200;

/// The minimum width of a readable title.
const TITLE: usize = 30;

/// The minimum width of the last column.
const LAST: usize = 12;

pub(super) fn write(
    sessions: &[&SessionInfo],
    shown: &ListKind<'_>,
    when: ListTimeFormat,
    out: &mut Output,
) -> Result<(), Failure> {
    // Nothing is cut in a pipe.
    let is_whole = out.table_width() == usize::MAX;
    let mut table = table(sessions, shown, when, is_whole);
    let widths = lay_out(&mut table, out.table_width());
    let row = |cells: Vec<String>| cells.join("  ").trim_end().to_owned();
    let headings =
        table.iter().zip(&widths).map(|(column, &width)| column.cell(column.heading, width));
    let headings = out.paint(Style::Dim, &row(headings.collect()));
    writeln!(out, "{headings}")?;
    for (at, session) in sessions.iter().enumerate() {
        let cells = table.iter().zip(&widths).map(|(column, &width)| {
            let cell = column.cells.get(at).map_or("", String::as_str);
            let cell = column.cell(cell, width);
            match column.style {
                Some(style) => out.paint(style, &cell),
                None if column.width == ColumnWidth::Title && session.name.is_some() => {
                    out.paint(Style::Label, &cell)
                }
                None => cell,
            }
        });
        let line = row(cells.collect());
        writeln!(out, "{line}")?;
    }
    Ok(())
}

fn table(
    sessions: &[&SessionInfo],
    shown: &ListKind<'_>,
    when: ListTimeFormat,
    is_whole: bool,
) -> Vec<Column> {
    let cells =
        |cell: &dyn Fn(&SessionInfo) -> String| sessions.iter().map(|one| cell(one)).collect();
    let age = match when {
        ListTimeFormat::Ago(now) => {
            let ages = cells(&|session| age(now.saturating_sub(session.modified)));
            Column::new("AGE", ColumnWidth::Fixed, ages)
        }
        ListTimeFormat::Iso => {
            Column::new("USED", ColumnWidth::Fixed, cells(&|session| time(Some(session.modified))))
        }
    };
    let messages = cells(&|session| {
        let more = if session.is_partial { "+" } else { "" };
        format!("{}{more}", session.message_count)
    });
    let messages = Column::new("MESSAGES", ColumnWidth::Optional(3), messages).right();
    let size =
        Column::new("SIZE", ColumnWidth::Optional(0), cells(&|session| size(session.size))).right();
    let agent = cells(&|session| session.agent.name().to_owned());
    let agent = Column::new("AGENT", ColumnWidth::Fixed, agent).dim();
    let title =
        cells(&|session| excerpt(session.title(), if is_whole { usize::MAX } else { WIDEST }));
    let title = Column::new("NAME OR FIRST MESSAGE", ColumnWidth::Title, title);
    let mut table = vec![age.right(), messages];
    if let ListKind::SessionIndex { findings, .. } = shown {
        table.extend(numbers(sessions, *findings));
    }
    table.extend([size, agent]);
    let last = match shown {
        ListKind::Directory(dir) => {
            Column::new("FILE", ColumnWidth::Last, cells(&|session| file(session, dir)))
        }
        ListKind::SessionIndex { ids, project, home, .. } => {
            let ids = cells(&|session| match is_whole {
                true => safe_line(session.id.as_str()),
                false => excerpt(ids.get(session.id.as_str()).copied().unwrap_or_default(), 16),
            });
            table.push(Column {
                style: Some(Style::Id),
                ..Column::new("ID", ColumnWidth::Optional(4), ids)
            });
            let projects = cells(&|session| place(&session.cwd, *project, *home));
            Column::new("PROJECT", ColumnWidth::Last, projects)
        }
    };
    table.extend([title, last.dim()]);
    table.retain(|column| column.cells.iter().any(|cell| !cell.is_empty()));
    table
}

fn numbers(sessions: &[&SessionInfo], findings: bool) -> Vec<Column> {
    let column = |heading, keep, cell: &dyn Fn(&SessionInfo) -> Option<String>| {
        let cells = sessions.iter().map(|session| cell(session).unwrap_or_default()).collect();
        Column::new(heading, ColumnWidth::Optional(keep), cells).right()
    };
    let several = |count: usize, from: usize| (count >= from).then(|| count.to_string());
    let mut columns = vec![
        column("BRANCHES", 2, &|session| several(session.branch_count, 2)),
        column("COMPACTIONS", 0, &|session| several(session.compaction_count, 1)),
        column("TOKENS", 1, &|session| session.tokens.map(tokens)),
        column("COST", 2, &|session| session.cost.map(dollars)),
    ];
    if findings {
        columns.push(column("FINDINGS", 5, &|session| several(session.finding_count, 1)));
    }
    columns
}

/// Returns the width of every column. Columns without room are removed.
fn lay_out(table: &mut Vec<Column>, width: usize) -> Vec<usize> {
    let shares = |column: &Column| matches!(column.width, ColumnWidth::Title | ColumnWidth::Last);
    loop {
        let fixed: usize = table.iter().filter(|c| !shares(c)).map(Column::widest).sum();
        let left = width.saturating_sub(fixed + 2 * table.len().saturating_sub(1));
        let widest =
            |width| table.iter().find(|column| column.width == width).map_or(0, Column::widest);
        let (title, last) = (widest(ColumnWidth::Title), widest(ColumnWidth::Last));
        let readable = title.min(TITLE) + last.min(LAST);
        let optional = table.iter().enumerate().filter_map(|(at, column)| match column.width {
            ColumnWidth::Optional(keep) => Some((keep, at)),
            _ => None,
        });
        if let (true, Some((_, least))) = (left < readable, optional.min()) {
            table.remove(least);
            continue;
        }
        // The title takes precedence, but the last column keeps a part of the width.
        let last = last.min(left.saturating_sub(title).max(left / 3));
        return table
            .iter()
            .map(|column| match column.width {
                ColumnWidth::Title => title.min(left - last).min(WIDEST),
                ColumnWidth::Last => last.min(WIDEST),
                _ => column.widest(),
            })
            .collect();
    }
}

fn file(session: &SessionInfo, dir: &Path) -> String {
    let file = session.path.strip_prefix(dir).unwrap_or(&session.path);
    safe_line(&file.to_string_lossy())
}

/// Returns a session's directory in its shortest form: empty for the project's own.
fn place(cwd: &str, project: Option<&Path>, home: Option<&Path>) -> String {
    match project.and_then(|project| Path::new(cwd).strip_prefix(project).ok()) {
        Some(inside) => safe_line(&inside.to_string_lossy()),
        None => text::project(cwd, home),
    }
}

fn dollars(cost: f64) -> String {
    match cost {
        cost if cost < 0.005 => "$0".to_owned(),
        cost if cost < 99.5 => format!("${cost:.2}"),
        cost => format!("${cost:.0}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(heading: &'static str, width: ColumnWidth, cell: &str) -> Column {
        Column::new(heading, width, vec![cell.to_owned()])
    }

    #[test]
    fn columns_go_until_the_title_can_be_read() {
        let table = || {
            vec![
                column("AGE", ColumnWidth::Fixed, "59 min"),
                column("MESSAGES", ColumnWidth::Optional(2), "100"),
                column("SIZE", ColumnWidth::Optional(0), "100 KB"),
                column("COST", ColumnWidth::Optional(1), "$10.00"),
                column("TITLE", ColumnWidth::Title, &"x".repeat(200)),
                column("LAST", ColumnWidth::Last, &"y".repeat(200)),
            ]
        };
        let headings = |width| {
            let mut table = table();
            let widths = lay_out(&mut table, width);
            assert!(widths.iter().sum::<usize>() + 2 * (widths.len() - 1) <= width, "{widths:?}");
            table.iter().map(|column| column.heading).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(headings(200), "AGE MESSAGES SIZE COST TITLE LAST");
        assert_eq!(headings(78), "AGE MESSAGES SIZE COST TITLE LAST");
        assert_eq!(headings(77), "AGE MESSAGES COST TITLE LAST");
        assert_eq!(headings(69), "AGE MESSAGES TITLE LAST");
        assert_eq!(headings(61), "AGE TITLE LAST");
    }

    #[test]
    fn wide_characters_are_aligned() {
        let column = column("T", ColumnWidth::Title, "");
        assert_eq!(column.cell("日本", 6), "日本  ");
        assert_eq!(column.cell("日本語", 5), "日本…");
        assert_eq!(column.right().cell("日本", 6), "  日本");
    }

    #[test]
    fn numbers_and_places_are_short() {
        assert_eq!([0.0, 0.126, 12.0, 1234.5].map(dollars), ["$0", "$0.13", "$12.00", "$1234"]);
        let (project, home) = (Some(Path::new("/h/p")), Some(Path::new("/h")));
        assert_eq!(place("/h/p", project, home), "");
        assert_eq!(place("/h/p/sub", project, home), "sub");
        assert_eq!(place("/h/q", None, home), "~/q");
        assert_eq!(place("/x\u{1b}[0m", None, home), "/x\\x1b[0m");
    }
}
