//! The columns of the list, and what is in them. The narrower the list, the fewer: in the end there is
//! the name, and how long ago somebody said something.

use crate::amount::tokens;
use crate::text::{fit_end, project};
use std::path::Path;
use treering::catalog::SessionInfo;
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
            Column::Messages if session.message_count > 99_999 => {
                tokens(session.message_count as u64)
            }
            Column::Messages => {
                let more = if session.is_partial { "+" } else { "" };
                format!("{}{more}", session.message_count)
            }
            Column::Size => size(session.size),
            Column::Project => fit_end(&project(&session.cwd, home), width),
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
