//! A row of the tree: 48 bytes for each entry, whatever its size.

use super::row::{NONE, Row};
use crate::entry::{Kind, Role};

/// A row of the tree. Rows are in file order.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Node {
    /// The offset of the entry's bytes in the log.
    pub offset: u64,
    pub len: u64,
    /// The time in Unix milliseconds; [`Node::NO_TIME`] if the entry has none.
    pub time: i64,
    pub id_start: u32,
    pub id_len: u16,
    pub flags: u8,
    what: u8,
    pub parent: Row,
    /// The nearest row at or above this one that sets the thinking level, names a model, or
    /// compacts. These are inherited, so that finding a setting never needs a walk to the root.
    pub thinking: Row,
    pub model: Row,
    pub compaction: Row,
}

impl Node {
    pub(crate) const NO_TIME: i64 = i64::MIN;

    /// The id is a number in the file.
    pub(crate) const NUMBER: u8 = 1;
    /// A later line has the same id, so this one is not part of the tree.
    pub(crate) const SHADOWED: u8 = 2;
    /// The entry's parent is missing, is the entry itself, or is its own descendant.
    pub(crate) const LOST_PARENT: u8 = 4;
    /// The id is not in the file but derived from the entry's line.
    pub(crate) const DERIVED: u8 = 8;
    /// The entry is known to be damaged. If this is not set, the entry may still be damaged,
    /// because most bodies are not read.
    pub(crate) const DAMAGED: u8 = 16;
    /// The entry is part of the conversation of a subagent.
    pub(crate) const SIDECHAIN: u8 = 32;
    /// The entry continues the message of the row above it.
    pub(crate) const CONTINUED: u8 = 64;

    pub(crate) fn new(offset: u64, len: u64, kind: Kind, role: Option<Role>) -> Self {
        let role = role.map_or(15, |role| role as u8);
        Node {
            offset,
            len,
            time: Self::NO_TIME,
            id_start: 0,
            id_len: 0,
            flags: 0,
            what: kind as u8 | role << 4,
            parent: NONE,
            thinking: NONE,
            model: NONE,
            compaction: NONE,
        }
    }

    pub(crate) fn has(&self, flag: u8) -> bool {
        self.flags & flag != 0
    }

    pub(crate) fn time(&self) -> Option<i64> {
        (self.time != Self::NO_TIME).then_some(self.time)
    }

    pub(crate) fn kind(&self) -> Kind {
        const KINDS: [Kind; 14] = [
            Kind::Message,
            Kind::Compaction,
            Kind::BranchSummary,
            Kind::CustomMessage,
            Kind::ContextEdit,
            Kind::Custom,
            Kind::Label,
            Kind::Leaf,
            Kind::ModelChange,
            Kind::ThinkingLevelChange,
            Kind::SessionInfo,
            Kind::Usage,
            Kind::Reset,
            Kind::Other,
        ];
        KINDS[usize::from(self.what & 15).min(13)]
    }

    pub(crate) fn role(&self) -> Option<Role> {
        const ROLES: [Role; 9] = [
            Role::User,
            Role::Assistant,
            Role::ToolResult,
            Role::System,
            Role::BashExecution,
            Role::Custom,
            Role::BranchSummary,
            Role::CompactionSummary,
            Role::Other,
        ];
        ROLES.get(usize::from(self.what >> 4)).copied()
    }

    /// Returns whether the entry replaced older context by a summary: a compaction, or a message
    /// that is a summary (Claude Code).
    pub(crate) fn is_compaction(&self) -> bool {
        self.kind() == Kind::Compaction
            || (self.role() == Some(Role::CompactionSummary) && !self.has(Self::CONTINUED))
    }

    /// Inherits settings from its parent, and adds its own.
    pub(crate) fn inherit(&mut self, row: Row, parent: Option<Node>) {
        let (thinking, model, compaction) =
            parent.map_or((NONE, NONE, NONE), |p| (p.thinking, p.model, p.compaction));
        let mine = |is_mine: bool, inherited: Row| if is_mine { row } else { inherited };
        let kind = self.kind();
        self.thinking = mine(kind == Kind::ThinkingLevelChange, thinking);
        self.compaction = mine(matches!(kind, Kind::Compaction | Kind::Reset), compaction);
        let names_model = kind == Kind::ModelChange || self.role() == Some(Role::Assistant);
        self.model = mine(names_model, model);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kind_and_role_survive_packing_and_a_node_is_small() {
        assert_eq!(size_of::<Node>(), 48);
        for name in ["message", "compaction", "branch_summary", "custom_message", "context_edit"]
            .into_iter()
            .chain(["custom", "label", "leaf", "model_change", "thinking_level_change"])
            .chain(["session_info", "usage", "unheard_of"])
        {
            for role in ["user", "assistant", "toolResult", "system", "bashExecution", "custom"]
                .into_iter()
                .chain(["branchSummary", "compactionSummary", "unheard_of"])
            {
                let node = Node::new(0, 0, Kind::of(name), Some(Role::of(role)));
                assert_eq!((node.kind(), node.role()), (Kind::of(name), Some(Role::of(role))));
            }
            assert_eq!(Node::new(0, 0, Kind::of(name), None).role(), None);
        }
    }
}
