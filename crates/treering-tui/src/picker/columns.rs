//! The columns of the list, and what is in them. The narrower the list, the fewer: in the end there is
//! the name, and how long ago somebody said something.

use crate::text::{columns, graphemes, safe_line};
use std::path::Path;
use treering::SessionInfo;
use treering_export::text::{age, size};

/// What a column says of a session. The title is none of them: it has what they leave.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Column {
    Messages,
    Size,
    Project,
    Agent,
    Age,
}

/// Every column in the order of the screen: its heading, its width, and how wide a list must be to have
/// it. Numbers stand at the right.
const ALL: [(Column, &str, usize, u16); 5] = [
    (Column::Messages, "msgs", 5, HEADED),
    (Column::Size, "size", 6, 96),
    (Column::Project, "project", 16, 64),
    (Column::Agent, "agent", 11, 78),
    (Column::Age, "age", 6, 16),
];

/// A list with a number in it needs to say what it counts.
const HEADED: u16 = 50;

/// Blanks between two columns.
pub(crate) const GAP: usize = 2;

/// The columns of a list of some width.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Columns {
    /// How wide the title is.
    pub title: usize,
    /// The others: heading and width.
    pub others: Vec<(Column, &'static str, usize)>,
}

impl Columns {
    pub(crate) fn need_headings(width: u16) -> bool {
        width >= HEADED
    }

    /// For a list that has so many columns, `margin` of them taken already.
    pub(crate) fn of(width: u16, margin: usize) -> Self {
        let others: Vec<_> = ALL
            .into_iter()
            .filter(|(.., needs)| width >= *needs)
            .map(|(column, heading, wide, _)| (column, heading, wide))
            .collect();
        let taken: usize = others.iter().map(|(.., wide)| wide + GAP).sum();
        Columns { title: usize::from(width).saturating_sub(margin + taken), others }
    }
}

impl Column {
    pub(crate) fn is_number(self) -> bool {
        matches!(self, Column::Messages | Column::Size | Column::Age)
    }

    /// What it says of a session, in at most `width` columns. Safe to show.
    pub(crate) fn cell(
        self,
        session: &SessionInfo,
        now: i64,
        home: Option<&Path>,
        width: usize,
    ) -> String {
        match self {
            Column::Messages => session.message_count.to_string(),
            Column::Size => size(session.size),
            Column::Project => fit_end(&project(&session.cwd, home), width),
            Column::Agent => session.agent.name().to_owned(),
            Column::Age => age(now.saturating_sub(session.modified)),
        }
    }
}

/// A session's directory, below the home directory if it is there. Safe to show.
pub(crate) fn project(cwd: &str, home: Option<&Path>) -> String {
    match home.and_then(|home| Path::new(cwd).strip_prefix(home).ok()) {
        Some(below) => safe_line(&Path::new("~").join(below).to_string_lossy()),
        None => safe_line(cwd),
    }
}

/// What is more than anybody reads on one line.
const MAX_TITLE: usize = 1000;

/// A text on one line: its first line that says something, blanks run together. Safe to show.
pub(crate) fn one_line(text: &str) -> String {
    let first = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    let mut line = String::new();
    for word in first.split([' ', '\t']).filter(|word| !word.is_empty()) {
        if !line.is_empty() {
            line.push(' ');
        }
        line.extend(word.chars().take(MAX_TITLE));
        if line.len() > MAX_TITLE {
            break;
        }
    }
    safe_line(&line)
}

/// A text in at most `width` columns; an ellipsis stands for what was cut off.
pub(crate) fn fit(text: &str, width: usize) -> String {
    if columns(text) <= width {
        return text.to_owned();
    }
    let mut used = 0;
    let mut out = String::new();
    for (cluster, wide) in graphemes(text) {
        used += wide;
        if used + 1 > width {
            break;
        }
        out.push_str(cluster);
    }
    out.push_str(if width == 0 { "" } else { "…" });
    out
}

/// The same, but it is the beginning that is cut off: ends of paths tell them apart.
pub(crate) fn fit_end(text: &str, width: usize) -> String {
    let clusters: Vec<(&str, usize)> = graphemes(text).collect();
    let total: usize = clusters.iter().map(|(_, wide)| wide).sum();
    if total <= width {
        return text.to_owned();
    }
    let mut left = width.saturating_sub(1);
    let fits = |(_, wide): &&(&str, usize)| match left.checked_sub(*wide) {
        Some(rest) => {
            left = rest;
            true
        }
        None => false,
    };
    let count = clusters.iter().rev().take_while(fits).count();
    let end = clusters.iter().skip(clusters.len() - count).map(|(cluster, _)| *cluster);
    std::iter::once(if width == 0 { "" } else { "…" }).chain(end).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_narrower_the_fewer() {
        let shown = |width| {
            let columns = Columns::of(width, 2);
            let taken: usize = columns.others.iter().map(|(.., wide)| wide + GAP).sum();
            assert!(taken + columns.title + 2 <= usize::from(width).max(2), "{width}");
            let headings: Vec<&str> = columns.others.iter().map(|(_, name, _)| *name).collect();
            format!("{} {}", columns.title, headings.join(" "))
        };
        assert_eq!(shown(0), "0 ");
        assert_eq!(shown(10), "8 ");
        assert_eq!(shown(40), "30 age");
        assert_eq!(shown(60), "43 msgs age");
        assert_eq!(shown(80), "32 msgs project agent age");
        assert_eq!(shown(120), "64 msgs size project agent age");
    }

    #[test]
    fn texts_are_cut_by_columns_at_either_end() {
        assert_eq!(fit("hello", 5), "hello");
        assert_eq!(fit("hello!", 5), "hell…");
        assert_eq!(fit("日本語", 4), "日…");
        assert_eq!(fit_end("hello!", 5), "…llo!");
        assert_eq!(fit_end("日本語", 4), "…語");
        for width in 0..8 {
            for cut in [fit("a日b👍🏽c語d", width), fit_end("a日b👍🏽c語d", width)] {
                assert!(columns(&cut) <= width, "{width} {cut}");
            }
        }
        assert_eq!(one_line("\n  \n hello \t there\nworld"), "hello there");
        assert_eq!(one_line("\u{1b}[2J"), "\\x1b[2J");
        assert!(one_line(&"x ".repeat(100_000)).len() < 2 * MAX_TITLE);
    }

    #[test]
    fn a_project_is_named_from_the_home_directory() {
        let home = Some(Path::new("/h"));
        assert_eq!(project("/h/tea", home), "~/tea");
        assert_eq!(project("/tea\u{1b}", home), "/tea\\x1b");
        assert_eq!(project("", None), "");
    }
}
