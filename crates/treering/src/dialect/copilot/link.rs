//! Separates the events of subagents from the conversation, and marks them.

use crate::dialect::Linker;
use crate::entry::head::Head;
use crate::tree::{NONE, Node, Row, Tree};
use foldhash::fast::RandomState;
use hashbrown::HashMap;

#[derive(Debug, Default)]
pub(super) struct Copilot {
    /// The last event of each agent.
    tips: HashMap<u64, Row, RandomState>,
    /// The parent of each row.
    parents: Vec<(Row, Row)>,
    /// The rows of subagents.
    subagents: Vec<Row>,
}

impl Linker for Copilot {
    fn row(&mut self, row: Row, head: &Head<'_>) {
        let agent = head.marks.group;
        // A subagent begins beside the last event of the main agent.
        let main = self.tips.get(&0).copied().unwrap_or(NONE);
        let parent = self.tips.insert(agent, row).unwrap_or(main);
        self.parents.push((row, parent));
        if agent != 0 {
            self.subagents.push(row);
        }
    }

    fn side(&mut self, _: &[u8]) {}

    fn finish(&mut self, tree: &mut Tree) {
        for (row, parent) in self.parents.drain(..) {
            tree.relink(row, parent);
        }
        for row in self.subagents.drain(..) {
            tree.set_flag(row, Node::SIDECHAIN);
        }
        tree.choose_leaf(self.tips.get(&0).copied());
        tree.relinked();
    }
}
