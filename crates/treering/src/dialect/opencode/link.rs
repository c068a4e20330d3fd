//! Puts messages of subagents beside the conversation, and finds the leaf of a session that was
//! reverted.

use crate::dialect::Linker;
use crate::dialect::shape::literal;
use crate::entry::head::Head;
use crate::json;
use crate::tree::{NONE, Node, Row, Tree};
use foldhash::fast::RandomState;
use hashbrown::HashMap;

#[derive(Debug, Default)]
pub(super) struct OpenCode {
    /// The last message of each session.
    tips: HashMap<u64, Row, RandomState>,
    /// The parent of each row.
    parents: Vec<(Row, Row)>,
    /// The rows of subagents.
    subagents: Vec<Row>,
    /// The id of the first message that was reverted, and the row before it once it was seen.
    reverted: Option<String>,
    leaf: Option<Row>,
}

impl Linker for OpenCode {
    fn row(&mut self, row: Row, head: &Head<'_>) {
        let session = head.marks.group;
        let main = self.tips.get(&0).copied().unwrap_or(NONE);
        if session == 0 && self.reverted.is_some() {
            let id = head.id.as_ref().map(|id| &*id.text);
            if id == self.reverted.as_deref() {
                self.leaf = self.leaf.or(self.tips.get(&0).copied());
            }
        }
        // A subagent begins beside the last message of the main session.
        let parent = self.tips.insert(session, row).unwrap_or(main);
        self.parents.push((row, parent));
        if session != 0 {
            self.subagents.push(row);
        }
    }

    fn side(&mut self, record: &[u8]) {
        if let Some(id) = literal(record, "revertedFrom").and_then(json::string) {
            self.reverted = Some(id.into_owned());
        }
    }

    fn finish(&mut self, tree: &mut Tree) {
        for (row, parent) in self.parents.drain(..) {
            tree.relink(row, parent);
        }
        for row in self.subagents.drain(..) {
            tree.set_flag(row, Node::SIDECHAIN);
        }
        tree.choose_leaf(self.leaf.or(self.tips.get(&0).copied()));
        tree.relinked();
    }
}
