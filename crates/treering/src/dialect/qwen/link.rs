//! Marks the records of subagents, whose files are read after the session's own.

use crate::dialect::Linker;
use crate::entry::head::{Head, Marks};
use crate::tree::{Node, Row, Tree};

/// The bit of a record of a subagent.
const SIDECHAIN: u8 = 1;

/// Returns the marks of a record, from the literal of its member `isSidechain`.
pub(super) fn marks(side: Option<&[u8]>) -> Marks {
    Marks { bits: if side == Some(b"true") { SIDECHAIN } else { 0 }, ..Marks::default() }
}

#[derive(Debug, Default)]
pub(super) struct Qwen {
    /// The last record of the session itself.
    leaf: Option<Row>,
    subagents: Vec<Row>,
}

impl Linker for Qwen {
    fn row(&mut self, row: Row, head: &Head<'_>) {
        match head.marks.bits & SIDECHAIN != 0 {
            true => self.subagents.push(row),
            false => self.leaf = Some(row),
        }
    }

    fn side(&mut self, _: &[u8]) {}

    fn finish(&mut self, tree: &mut Tree) {
        if self.subagents.is_empty() {
            return;
        }
        for row in self.subagents.drain(..) {
            tree.set_flag(row, Node::SIDECHAIN);
        }
        tree.choose_leaf(self.leaf);
        tree.relinked();
    }
}
