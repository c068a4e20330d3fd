//! The nearest earlier row that is not below another: what a lost row is linked to.
//!
//! Asked for every lost row of a log this takes nearly linear time together, however the rows below it
//! lie in the way: what was found once makes the next search shorter.

use crate::tree::NONE;

/// The topmost row above every row, with ways that get shorter as they are used.
#[derive(Debug)]
pub(super) struct Tops {
    above: Vec<u32>,
    #[cfg(test)]
    steps: usize,
}

impl Tops {
    /// Of rows with these parents, which lead in no circles.
    pub(super) fn new(parents: Vec<u32>) -> Self {
        Tops {
            above: parents,
            #[cfg(test)]
            steps: 0,
        }
    }

    /// Hangs a row that had no parent on one.
    pub(super) fn link(&mut self, row: u32, parent: u32) {
        self.above[row as usize] = parent;
    }

    fn of(&mut self, mut row: u32) -> u32 {
        loop {
            #[cfg(test)]
            (self.steps += 1);
            let above = self.above[row as usize];
            if above == NONE {
                return row;
            }
            let next = self.above[above as usize];
            if next == NONE {
                return above;
            }
            self.above[row as usize] = next;
            row = next;
        }
    }
}

/// Rows in file order, in runs that have the same row on top. Runs are joined when they are found to
/// be below the same row, and never part again: so every search but its last step makes the next one
/// shorter.
#[derive(Debug, Default)]
pub(super) struct Line {
    rows: Vec<u32>,
    /// Where the run begins that a place belongs to, or a place nearer to that.
    runs: Vec<usize>,
    #[cfg(test)]
    steps: usize,
}

impl Line {
    pub(super) fn push(&mut self, row: u32) {
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

    /// Returns the last row that is not below `row`, which is on top of what is below it.
    pub(super) fn nearest(&mut self, row: u32, tops: &mut Tops) -> u32 {
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

    /// Links every row without a parent, in order; the parents, and how many steps that took.
    fn linked(mut parents: Vec<u32>) -> (Vec<u32>, usize) {
        let (mut tops, mut line) = (Tops::new(parents.clone()), Line::default());
        for row in 0..parents.len() as u32 {
            if parents[row as usize] == NONE {
                let parent = line.nearest(row, &mut tops);
                parents[row as usize] = parent;
                tops.link(row, parent);
            }
            line.push(row);
        }
        (parents, tops.steps + line.steps)
    }

    /// The same by looking at every earlier row and every row above it.
    fn linked_slowly(mut parents: Vec<u32>) -> Vec<u32> {
        for row in 0..parents.len() as u32 {
            if parents[row as usize] != NONE {
                continue;
            }
            let above = |row: u32| Some(parents[row as usize]).filter(|above| *above != NONE);
            let is_below = |&other: &u32| {
                std::iter::successors(Some(other), |row| above(*row)).any(|above| above == row)
            };
            let nearest = (0..row).rev().find(|other| !is_below(other));
            parents[row as usize] = nearest.unwrap_or(NONE);
        }
        parents
    }

    #[test]
    fn orphans_after_their_descendants_take_a_few_steps_each() {
        // Every orphan stands after all of its descendants, in each other's way.
        for count in [100, 10_000, 100_000] {
            let children = (0..count).rev().map(|n| count + n);
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
        let (parents, steps) = linked((1..count).chain([NONE]).collect());
        assert_eq!(parents.last(), Some(&NONE), "everything is below it");
        assert!(steps < 8 * count as usize, "{steps}");
    }

    proptest! {
        #[test]
        fn it_is_the_one_that_looking_at_all_finds(
            order in Just((0..40_u32).collect::<Vec<_>>()).prop_shuffle(),
            choices in prop::collection::vec(any::<prop::sample::Index>(), 40),
        ) {
            // Parents come earlier in some order, so there are no circles.
            let mut parents = vec![NONE; order.len()];
            for (place, row) in order.iter().enumerate() {
                parents[*row as usize] = match choices[place].index(place + 2) {
                    chosen if chosen < place => order[chosen],
                    _ => NONE,
                };
            }
            prop_assert_eq!(linked(parents.clone()).0, linked_slowly(parents));
        }
    }
}
