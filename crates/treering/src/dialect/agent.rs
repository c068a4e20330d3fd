//! What an agent itself would make of a path: the other view of a context.

use crate::entry::Kind;
use crate::error::Result;
use crate::snapshot::{Bodies, Snapshot};

/// The context as the agent's own context builder returns it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AgentContext {
    /// The messages in the agent's own shape, oldest first; each is JSON.
    pub messages: Vec<Vec<u8>>,
    /// What else the agent's context says (thinking level, model, mode …): names and JSON values.
    pub settings: Vec<(&'static str, Vec<u8>)>,
}

/// The records from a root to a leaf.
#[derive(Debug)]
pub(crate) struct Path<'a> {
    view: &'a Snapshot,
    rows: Vec<u32>,
    bodies: Bodies,
}

impl<'a> Path<'a> {
    pub(crate) fn new(view: &'a Snapshot, rows: Vec<u32>) -> Self {
        Path { view, rows, bodies: Bodies::default() }
    }

    pub(crate) fn len(&self) -> usize {
        self.rows.len()
    }

    /// What the record at this place is, the root being 0.
    pub(crate) fn kind(&self, at: usize) -> Kind {
        self.view.tree().node(self.rows[at]).kind()
    }

    pub(crate) fn id(&self, at: usize) -> &'a str {
        self.view.tree().id_text(self.rows[at])
    }

    /// The record as it stands in the file; `None` if it is damaged.
    pub(crate) fn record(&mut self, at: usize) -> Result<Option<&[u8]>> {
        self.bodies.record(self.view, self.rows[at])
    }
}
