//! Gives access to the selected entries of a context one by one, with the messages that each
//! contributed.
//!
//! The contribution of an entry does not depend on the entries read before it, so they can be read
//! in any order, and only those that are asked for are read. The one exception are agents that
//! write a message in several pieces: all pieces belong to the entry that begins the message.

use super::{ContextMessage, Edit, Projection, contributes};
use crate::entry::{Kind, Role};
use crate::error::Result;
use crate::json;
use crate::snapshot::Snapshot;
use crate::tree::{Node, Row};

/// A selected entry and what it contributes to the context.
#[derive(Debug)]
pub(crate) struct Selected {
    pub row: Row,
    pub messages: Vec<ContextMessage>,
    /// Whether a context edit removed the message of this entry.
    pub is_omitted: bool,
}

/// A context edit among the selected entries.
#[derive(Debug)]
pub(crate) struct EditAt {
    /// The index of the edit among the selected entries.
    pub at: usize,
    pub target: String,
    pub removes: bool,
}

impl Projection {
    /// Returns the next selected entry.
    pub(crate) fn next_selected(&mut self) -> Result<Option<Selected>> {
        let Some(&row) = self.selection.rows.get(self.done) else { return Ok(None) };
        self.step()?;
        let messages: Vec<ContextMessage> = self.ready.drain(..).collect();
        let is_omitted = messages.is_empty() && self.omits(row)?;
        Ok(Some(Selected { row, messages, is_omitted }))
    }

    fn omits(&mut self, row: Row) -> Result<bool> {
        let Projection { view, bodies, edits, .. } = self;
        let tree = view.tree();
        if !matches!(edits.get(tree.id_text(row)), Some(Edit::Remove)) {
            return Ok(false);
        }
        let Some(body) = bodies.whole(view, row)? else { return Ok(false) };
        let has_text = || json::get(&body, "summary").is_some_and(|text| text != b"\"\"");
        Ok(match tree.node(row).kind() {
            Kind::Message | Kind::CustomMessage => true,
            Kind::BranchSummary => has_text(),
            _ => false,
        })
    }

    /// Skips the next selected entry.
    pub(crate) fn skip_selected(&mut self) {
        if let Some(row) = self.selection.rows.get(self.done) {
            self.joined.remove(row);
            self.done += 1;
        }
    }

    /// Makes the entry at this index the next one. Where messages are [in
    /// pieces](Self::has_pieces), only index 0 is allowed.
    pub(crate) fn go_to(&mut self, at: usize) {
        self.joined.clear();
        self.ready.clear();
        self.done = at;
    }

    /// Returns whether any of the entries may be part of another's message.
    pub(crate) fn has_pieces(&self) -> bool {
        let tree = self.view.tree();
        self.selection.rows.iter().any(|&row| tree.node(row).has(Node::CONTINUED))
    }

    /// Returns the row of the selected entry at this index.
    pub(crate) fn row_at(&self, at: usize) -> Option<Row> {
        self.selection.rows.get(at).copied()
    }

    /// Returns the number of selected entries.
    pub(crate) fn number_selected(&self) -> usize {
        self.selection.rows.len()
    }

    /// Returns how many of the selected entries are the first compaction and the entries that it
    /// keeps.
    pub(crate) fn number_old(&self) -> usize {
        self.selection.old
    }

    /// Returns the context edits among the selected entries.
    pub(crate) fn edits(&self) -> &[EditAt] {
        &self.edited
    }

    pub(crate) fn view(&self) -> &Snapshot {
        &self.view
    }

    /// Returns whether a message of the entry at this index may have such a role, as far as this is
    /// known without reading the entry.
    pub(crate) fn may_have_role(&self, at: usize, is_meant: impl Fn(Role) -> bool) -> bool {
        let Some(row) = self.row_at(at) else { return false };
        let node = self.view.tree().node(row);
        if !contributes(self.view.tree(), row) {
            return self.selection.compacted && at == 0;
        }
        match (node.kind(), node.role()) {
            (Kind::CustomMessage, _) => is_meant(Role::Custom),
            (Kind::BranchSummary, _) => is_meant(Role::BranchSummary),
            // A record of another agent may hold further messages.
            (kind, Some(role)) if self.view.facts().is_native(kind) => is_meant(role),
            _ => true,
        }
    }
}
