//! Rollbacks: what follows one continues from before the turns it takes back.

use crate::dialect::Linker;
use crate::entry::head::Head;
use crate::tree::{NONE, Row, Tree};

/// The bit of an entry with which a turn begins.
pub(super) const TURN: u8 = 1;

#[derive(Debug, Default)]
pub(super) struct Rollbacks {
    /// The turns of the current path: where each began, and what it continued.
    turns: Vec<(Row, Row)>,
    /// The parent of the next entry, if a rollback precedes it.
    back_to: Option<Row>,
    /// The row before.
    tip: Option<Row>,
    links: Vec<(Row, Row)>,
}

impl Linker for Rollbacks {
    fn row(&mut self, row: Row, head: &Head<'_>) {
        let parent = match self.back_to.take() {
            Some(parent) => {
                self.links.push((row, parent));
                parent
            }
            None => self.tip.unwrap_or(NONE),
        };
        if head.marks.bits & TURN != 0 {
            self.turns.push((row, parent));
        }
        self.tip = Some(row);
    }

    fn side(&mut self, record: &[u8]) {
        let Some(count) = super::rolls_back(record).filter(|count| *count > 0) else { return };
        let kept = self.turns.len().saturating_sub(count as usize);
        if let Some((_, before)) = self.turns.drain(kept..).next() {
            self.back_to = Some(before);
        }
    }

    fn finish(&mut self, tree: &mut Tree) {
        for (row, parent) in self.links.drain(..) {
            tree.relink(row, parent);
        }
        if let Some(before) = self.back_to {
            // Nothing was said since: the conversation stands before the turns taken back.
            tree.choose_leaf(Some(before).filter(|&row| row != NONE));
        }
        tree.relinked();
    }
}
