//! Rows: the numbers of entries in a tree.

use std::ops::Range;

/// The number of an entry in a tree, in file order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Row(u32);

/// No row. A node has this instead of an `Option`, which would be larger.
pub(crate) const NONE: Row = Row(u32::MAX);

impl Row {
    /// The row of the first entry.
    pub(crate) const FIRST: Row = Row(0);

    /// Returns the row with this index; [`NONE`] if the index is too large for a tree.
    pub(crate) fn new(index: usize) -> Row {
        u32::try_from(index).map_or(NONE, Row)
    }

    /// Returns the index of the row in an array with one item for every row.
    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }

    /// Returns the row after this one.
    pub(crate) fn next(self) -> Row {
        Row(self.0.saturating_add(1))
    }

    /// Returns the row before this one.
    pub(crate) fn previous(self) -> Option<Row> {
        self.0.checked_sub(1).map(Row)
    }

    /// Returns the rows of a range.
    pub(crate) fn range(rows: Range<Row>) -> impl DoubleEndedIterator<Item = Row> + Clone {
        (rows.start.0..rows.end.0).map(Row)
    }
}
