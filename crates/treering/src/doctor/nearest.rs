//! Finds, for a row that lost its parent, the nearest earlier row that is not one of its
//! descendants. The lost row is linked to it.
//!
//! The searches for all lost rows of a log take nearly linear time together, because every search makes
//! the next one shorter.

use crate::tree::{NONE, Row};

/// The topmost ancestor of every row. Paths are shortened as they are walked.
#[derive(Debug)]
pub(super) struct TopAncestors {
    above: Vec<Row>,
    #[cfg(test)]
    steps: usize,
}

impl TopAncestors {
    /// Creates the ancestors of rows with these parents, which must not form cycles.
    pub(super) fn new(parents: Vec<Row>) -> Self {
        TopAncestors {
            above: parents,
            #[cfg(test)]
            steps: 0,
        }
    }

    /// Sets the parent of a row that had none.
    pub(super) fn link(&mut self, row: Row, parent: Row) {
        self.above[row.index()] = parent;
    }

    fn of(&mut self, mut row: Row) -> Row {
        loop {
            #[cfg(test)]
            (self.steps += 1);
            let above = self.above[row.index()];
            if above == NONE {
                return row;
            }
            let next = self.above[above.index()];
            if next == NONE {
                return above;
            }
            self.above[row.index()] = next;
            row = next;
        }
    }
}

/// Rows in file order, grouped in runs with the same topmost ancestor. Runs are joined when they
/// are found to have the same one, and are never separated again: every step of a search except the
/// last makes later searches shorter.
#[derive(Debug, Default)]
pub(super) struct RowRuns {
    rows: Vec<Row>,
    /// The start of the run that each index belongs to, or an index nearer to that start.
    runs: Vec<usize>,
    #[cfg(test)]
    steps: usize,
}

impl RowRuns {
    pub(super) fn push(&mut self, row: Row) {
        self.runs.push(self.rows.len());
        self.rows.push(row);
    }

    fn run(&mut self, mut place: usize) -> usize {
        while self.runs[place] != place {
            #[cfg(test)]
            (self.steps += 1);
            self.runs[place] = self.runs[self.runs[place]];
            place = self.runs[place];
        }
        place
    }

    /// Returns the last row that is not `row` or below it. `row` must have no parent.
    pub(super) fn nearest(&mut self, row: Row, tops: &mut TopAncestors) -> Row {
        let Some(mut place) = self.rows.len().checked_sub(1) else { return NONE };
        loop {
            if tops.of(self.rows[place]) != row {
                return self.rows[place];
            }
            let start = self.run(place);
            let Some(before) = start.checked_sub(1) else { return NONE };
            if tops.of(self.rows[before]) == row {
                self.runs[start] = self.run(before);
            }
            place = before;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn rows(count: usize) -> impl DoubleEndedIterator<Item = Row> {
        (0..count).map(Row::new)
    }

    /// Links every row without a parent, in order; the parents, and how many steps that took.
    fn linked(mut parents: Vec<Row>) -> (Vec<Row>, usize) {
        let (mut tops, mut line) = (TopAncestors::new(parents.clone()), RowRuns::default());
        for row in rows(parents.len()) {
            if parents[row.index()] == NONE {
                let parent = line.nearest(row, &mut tops);
                parents[row.index()] = parent;
                tops.link(row, parent);
            }
            line.push(row);
        }
        (parents, tops.steps + line.steps)
    }

    /// Returns the same by looking at every earlier row and every row above it.
    fn linked_slowly(mut parents: Vec<Row>) -> Vec<Row> {
        for row in rows(parents.len()) {
            if parents[row.index()] != NONE {
                continue;
            }
            let above = |row: Row| Some(parents[row.index()]).filter(|above| *above != NONE);
            let is_below = |&other: &Row| {
                std::iter::successors(Some(other), |row| above(*row)).any(|above| above == row)
            };
            let nearest = rows(row.index()).rev().find(|other| !is_below(other));
            parents[row.index()] = nearest.unwrap_or(NONE);
        }
        parents
    }

    #[test]
    fn orphans_after_their_descendants_take_a_few_steps_each() {
        // Every orphan comes after all of its descendants, which excludes most candidates.
        for count in [100, 10_000, 100_000] {
            let children = (0..count).rev().map(|n| Row::new(count + n));
            let parents = children.chain((0..count).map(|_| NONE)).collect();
            let (parents, steps) = linked(parents);
            assert_eq!(parents.iter().filter(|parent| **parent == NONE).count(), 1);
            let rows = parents.len();
            assert!(steps < 8 * rows, "{steps} steps for {rows} rows");
        }
    }

    #[test]
    fn a_chain_backwards_takes_a_few_steps_for_each_row() {
        let count = 100_000;
        let (parents, steps) = linked((1..count).map(Row::new).chain([NONE]).collect());
        assert_eq!(parents.last(), Some(&NONE), "everything is below it");
        assert!(steps < 8 * count, "{steps}");
    }

    proptest! {
        #[test]
        fn it_is_the_one_that_looking_at_all_finds(
            order in Just(rows(40).collect::<Vec<_>>()).prop_shuffle(),
            choices in prop::collection::vec(any::<prop::sample::Index>(), 40),
        ) {
            // Parents come earlier in some order, so there are no cycles.
            let mut parents = vec![NONE; order.len()];
            for (place, row) in order.iter().enumerate() {
                parents[row.index()] = match choices[place].index(place + 2) {
                    chosen if chosen < place => order[chosen],
                    _ => NONE,
                };
            }
            prop_assert_eq!(linked(parents.clone()).0, linked_slowly(parents));
        }
    }
}
