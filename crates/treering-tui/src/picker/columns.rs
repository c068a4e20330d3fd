//! The columns of the list and their contents. A narrower list has fewer columns; the narrowest has
//! the name and the age.

use std::path::Path;
use treering::catalog::SessionInfo;
use treering_display::columns::fit_end;
use treering_display::number::tokens;
use treering_display::number::{age, size};
use treering_display::text::project;

/// A column besides the title, which takes the rest of the width.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Column {
    Messages,
    Size,
    Project,
    Agent,
    Age,
}

/// All columns in their order: heading, width, and the smallest width of a list that has it.
/// Numbers are aligned to the right.
const ALL: [(Column, &str, usize, u16); 5] = [
    (Column::Messages, "msgs", 5, HEADED),
    (Column::Size, "size", 6, 96),
    (Column::Project, "project", 16, 64),
    (Column::Agent, "agent", 11, 78),
    (Column::Age, "age", 6, 16),
];

/// The smallest width of a list with headings.
const HEADED: u16 = 50;

/// The number of spaces between two columns.
pub(crate) const GAP: usize = 2;

/// The columns of a list of some width.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Columns {
    /// The width of the title.
    pub title: usize,
    /// The other columns with headings and widths.
    pub others: Vec<(Column, &'static str, usize)>,
}

impl Columns {
    pub(crate) fn need_headings(width: u16) -> bool {
        width >= HEADED
    }

    /// Returns the columns of a list with `width` columns, of which `margin` are taken.
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

    /// Returns the cell of a session in at most `width` columns, safe to show.
    pub(crate) fn cell(
        self,
        session: &SessionInfo,
        now: i64,
        home: Option<&Path>,
        width: usize,
    ) -> String {
        match self {
            Column::Messages if session.message_count > 99_999 => {
                tokens(session.message_count as u64)
            }
            Column::Messages => {
                let more = if session.is_partial { "+" } else { "" };
                format!("{}{more}", session.message_count)
            }
            Column::Size => size(session.size),
            Column::Project => fit_end(&project(&session.cwd, home), width).into_owned(),
            Column::Agent => session.agent.name().to_owned(),
            Column::Age => age(now.saturating_sub(session.modified)),
        }
    }
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
}
