//! Applies rollbacks: an entry after a rollback continues from before the turns that were rolled
//! back. Also finds the name of the thread.

use super::record::{Record, text};
use crate::dialect::Linker;
use crate::entry::head::Head;
use crate::tree::{NONE, Row, Tree};

/// The bit of an entry that begins a turn.
pub(super) const TURN: u8 = 1;

#[derive(Debug, Default)]
pub(super) struct Codex {
    /// The turns of the current path: the first row of each, and its parent.
    turns: Vec<(Row, Row)>,
    /// The parent of the next entry, if a rollback precedes it.
    back_to: Option<Row>,
    /// The previous row.
    tip: Option<Row>,
    links: Vec<(Row, Row)>,
    /// The last name of the thread, set by the user or by Codex.
    name: Option<String>,
}

/// Returns whether a record that is not an entry may name the thread or roll back turns. Few do,
/// and a search for a word is faster than reading the record.
pub(super) fn is_about_thread(record: &[u8]) -> bool {
    memchr::memmem::find(record, b"\"thread_").is_some()
}

/// Returns the name that a record gives to the thread.
fn thread_name(record: &[u8]) -> Option<String> {
    let Record::Event(event) = Record::read(record) else { return None };
    let is_name = text(event, "type").is_some_and(|kind| kind == "thread_name_updated");
    text(event, "thread_name").filter(|_| is_name).map(|name| name.trim().to_owned())
}

impl Linker for Codex {
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
        if !is_about_thread(record) {
            return;
        }
        if let Some(name) = thread_name(record) {
            self.name = Some(name).filter(|name| !name.is_empty());
            return;
        }
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
            // No message follows: the leaf is before the turns that were rolled back.
            tree.choose_leaf(Some(before).filter(|&row| row != NONE));
        }
        tree.relinked();
        if self.name.is_some() {
            tree.set_name(self.name.as_deref());
        }
    }
}
