//! The projected context, entry by entry, as planning needs it.
//!
//! The tree knows the types of entries, and mostly their roles. An entry is read only when a caller
//! asks for more than that, and only its measures are kept. Planning looks at the newest entries
//! first, so its cost depends on the size of the kept part, not on the size of the context.

use super::estimate::{estimate_tokens, usage};
use crate::context::{ContextMessage, EditAt, Projection, Selected, contributes};
use crate::entry::{Kind, MessageView, Role};
use crate::error::Result;
use crate::snapshot::Snapshot;
use crate::tree::Row;
use std::collections::HashMap;
use std::collections::hash_map::Entry;

#[derive(Debug)]
pub(super) struct Outline {
    projection: Projection,
    /// Whether the providers' counts are read as well, which only some callers need.
    reads_usage: bool,
    /// The contributions of the entries that were read, by their index in the context.
    parts: HashMap<usize, Contribution, foldhash::fast::RandomState>,
}

/// The measured contribution of an entry.
#[derive(Debug, Default)]
pub(super) struct Contribution {
    pub(super) messages: Vec<Measured>,
    /// Whether a context edit removed the message of this entry.
    pub(super) is_omitted: bool,
}

#[derive(Debug)]
pub(super) struct Measured {
    pub(super) role: Role,
    pub(super) tokens: u64,
    /// The provider's token count up to this message, if it is an answer that has one and counts
    /// were [asked for](Outline::read_usage).
    pub(super) usage: Option<u64>,
}

impl Outline {
    pub(super) fn new(projection: Projection) -> Result<Self> {
        // The estimate for an image does not depend on its data.
        let mut projection = projection.without_images();
        let mut parts = HashMap::default();
        // With messages in pieces, everything is read at once, because reading cannot restart in
        // the middle of a message.
        let reads_usage = projection.has_pieces();
        if reads_usage {
            while let Some(selected) = projection.next_selected()? {
                parts.insert(parts.len(), measure(&projection, &selected, reads_usage));
            }
        }
        Ok(Outline { projection, reads_usage, parts })
    }

    /// Lets the measures include the providers' token counts from now on.
    pub(super) fn read_usage(&mut self) {
        if !self.reads_usage {
            self.reads_usage = true;
            self.parts.clear();
        }
    }

    pub(super) fn len(&self) -> usize {
        self.projection.number_selected()
    }

    pub(super) fn view(&self) -> &Snapshot {
        self.projection.view()
    }

    pub(super) fn row(&self, at: usize) -> Option<Row> {
        self.projection.row_at(at)
    }

    pub(super) fn edits(&self) -> &[EditAt] {
        self.projection.edits()
    }

    pub(super) fn kind(&self, at: usize) -> Kind {
        self.row(at).map_or(Kind::Other, |row| self.view().tree().node(row).kind())
    }

    /// Returns the role of the entry, where the tree knows it.
    pub(super) fn known_role(&self, at: usize) -> Option<Role> {
        self.view().tree().node(self.row(at)?).role()
    }

    /// Returns the index of the first entry after the last change of the context.
    pub(super) fn unchanged_from(&self) -> usize {
        let edited = self.edits().last().map_or(0, |edit| edit.at + 1);
        edited.max(self.projection.number_old())
    }

    /// Returns the contribution of an entry.
    pub(super) fn part(&mut self, at: usize) -> Result<&Contribution> {
        match self.parts.entry(at) {
            Entry::Occupied(known) => Ok(known.into_mut()),
            Entry::Vacant(unknown) => {
                self.projection.go_to(at);
                let selected = self.projection.next_selected()?;
                let (projection, reads_usage) = (&self.projection, self.reads_usage);
                let part = selected.map(|selected| measure(projection, &selected, reads_usage));
                Ok(unknown.insert(part.unwrap_or_default()))
            }
        }
    }

    /// Returns the first of these indices whose entry has a message with such a role. Compactions
    /// are never found.
    pub(super) fn find(
        &mut self,
        places: impl IntoIterator<Item = usize>,
        is_meant: fn(Role) -> bool,
    ) -> Result<Option<usize>> {
        for at in places {
            if self.speaks(at, is_meant)? {
                return Ok(Some(at));
            }
        }
        Ok(None)
    }

    /// Returns whether one of the entry's messages has such a role. This is false for compactions.
    pub(super) fn speaks(&mut self, at: usize, is_meant: fn(Role) -> bool) -> Result<bool> {
        if self.kind(at) == Kind::Compaction || !self.projection.may_have_role(at, is_meant) {
            return Ok(false);
        }
        Ok(self.part(at)?.messages.iter().any(|message| is_meant(message.role)))
    }

    /// Returns whether the model sees nothing of the entry. This is false for compactions, even if
    /// the model does not see them.
    pub(super) fn contributes_nothing(&mut self, at: usize) -> Result<bool> {
        let Some(row) = self.row(at) else { return Ok(false) };
        match contributes(self.view().tree(), row) {
            true => Ok(self.part(at)?.messages.is_empty()),
            false => Ok(self.kind(at) != Kind::Compaction),
        }
    }

    /// Returns the estimated tokens of an entry's messages.
    pub(super) fn tokens(&mut self, at: usize) -> Result<u64> {
        let tokens = self.part(at)?.messages.iter().map(|message| message.tokens);
        Ok(tokens.fold(0, u64::saturating_add))
    }

    /// Reads the messages of the entries at the indices in `wanted`, and all system messages:
    /// oldest first, each with its index and role.
    pub(super) fn read(
        &mut self,
        wanted: impl Fn(usize) -> bool,
        mut take: impl FnMut(usize, Role, ContextMessage),
    ) -> Result<()> {
        let projection = &mut self.projection;
        projection.go_to(0);
        for at in 0..projection.number_selected() {
            if !wanted(at) && !projection.may_have_role(at, |role| role == Role::System) {
                projection.skip_selected();
                continue;
            }
            let Some(selected) = projection.next_selected()? else { break };
            for (place, message) in selected.messages.into_iter().enumerate() {
                let role = role(projection, selected.row, place, &message);
                take(at, role, message);
            }
        }
        Ok(())
    }
}

/// Returns the role of one of an entry's messages. A role that the tree knows is not read again.
fn role(projection: &Projection, row: Row, place: usize, message: &ContextMessage) -> Role {
    let node = projection.view().tree().node(row);
    match (node.kind(), node.role()) {
        (Kind::Message, Some(role)) if place == 0 => role,
        (Kind::CustomMessage, _) => Role::Custom,
        (Kind::BranchSummary, _) => Role::BranchSummary,
        _ => MessageView::new(&message.json).role(),
    }
}

fn measure(projection: &Projection, selected: &Selected, reads_usage: bool) -> Contribution {
    let measured = |(place, message): (usize, &ContextMessage)| {
        let role = role(projection, selected.row, place, message);
        Measured {
            role,
            tokens: estimate_tokens(&message.json),
            usage: (reads_usage && role == Role::Assistant).then(|| usage(&message.json)).flatten(),
        }
    };
    let messages = selected.messages.iter().enumerate().map(measured).collect();
    Contribution { messages, is_omitted: selected.is_omitted }
}
