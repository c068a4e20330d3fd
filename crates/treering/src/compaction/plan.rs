//! The projected context, entry by entry: what planning looks at.
//!
//! Read once, oldest first; estimates are made when somebody asks, because the newest entries are
//! usually all that has to be measured.

use super::estimate::estimate_tokens;
use crate::context::{EditAt, Projection, Selected};
use crate::entry::{Kind, MessageView, Role};
use crate::error::Result;
use crate::snapshot::Snapshot;
use std::cell::Cell;

pub(super) struct Plan {
    pub(super) view: Snapshot,
    pub(super) entries: Vec<Selected>,
    pub(super) edits: Vec<EditAt>,
    /// The entries up to here are no newer than the latest compaction.
    old: usize,
    estimates: Vec<Cell<Option<u64>>>,
}

impl Plan {
    pub(super) fn read(mut projection: Projection) -> Result<Self> {
        let mut entries = Vec::new();
        while let Some(selected) = projection.next_selected()? {
            entries.push(selected);
        }
        let (view, edits, old) = projection.into_parts();
        let estimates = vec![Cell::new(None); entries.len()];
        Ok(Plan { view, entries, edits, old, estimates })
    }

    pub(super) fn kind(&self, at: usize) -> Kind {
        self.entries.get(at).map_or(Kind::Other, |entry| self.view.tree().node(entry.row).kind())
    }

    /// Who speaks in one of an entry's messages. What the tree knows need not be read.
    pub(super) fn role(&self, entry: &Selected, place: usize) -> Role {
        let node = self.view.tree().node(entry.row);
        match (node.kind(), node.role()) {
            (Kind::Message, Some(role)) if place == 0 => role,
            (Kind::CustomMessage, _) => Role::Custom,
            (Kind::BranchSummary, _) => Role::BranchSummary,
            _ => match entry.messages.get(place) {
                Some(message) => MessageView::new(&message.json).role(),
                None => Role::Other,
            },
        }
    }

    /// Whether one of the entry's messages has such a role. A compaction's never count.
    pub(super) fn speaks(&self, at: usize, is_meant: fn(Role) -> bool) -> bool {
        let Some(entry) = self.entries.get(at) else { return false };
        self.kind(at) != Kind::Compaction
            && (0..entry.messages.len()).any(|place| is_meant(self.role(entry, place)))
    }

    /// The estimated tokens of an entry's messages.
    pub(super) fn tokens(&self, at: usize) -> u64 {
        let (Some(entry), Some(known)) = (self.entries.get(at), self.estimates.get(at)) else {
            return 0;
        };
        if let Some(tokens) = known.get() {
            return tokens;
        }
        let tokens = entry.messages.iter().map(|message| estimate_tokens(&message.json));
        let tokens = tokens.fold(0, u64::saturating_add);
        known.set(Some(tokens));
        tokens
    }

    /// Whether nothing has changed the context since this entry.
    pub(super) fn is_trusted(&self, at: usize) -> bool {
        at >= self.old && self.edits.last().is_none_or(|edit| edit.at < at)
    }

    pub(super) fn system_messages(&self) -> impl Iterator<Item = &[u8]> {
        self.entries.iter().flat_map(move |entry| {
            let places = 0..entry.messages.len();
            let system = places.filter(move |place| self.role(entry, *place) == Role::System);
            system.filter_map(|place| Some(&*entry.messages.get(place)?.json))
        })
    }
}
