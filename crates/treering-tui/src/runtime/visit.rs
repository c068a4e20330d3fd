//! A session that is open, whichever screen shows it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use treering::EntryId;
use treering_agent::AgentSession;

/// A session, and what a person did in it since it was opened.
#[derive(Debug, Clone)]
pub struct Visit {
    /// The session, with whatever summarises for it.
    pub agent: Arc<AgentSession>,
    /// Where what waits is done.
    pub runtime: tokio::runtime::Handle,
    /// Where the leaf was.
    pub trail: Trail,
    /// The file can no longer be read: what was read of it is shown, and it is not followed.
    pub is_lost: bool,
}

impl Visit {
    /// Begins a visit.
    pub fn new(agent: AgentSession, runtime: tokio::runtime::Handle) -> Self {
        Visit { agent: Arc::new(agent), runtime, trail: Trail::default(), is_lost: false }
    }
}

/// Where the leaf was before it moved, the last place last.
#[derive(Debug, Clone, Default)]
pub struct Trail(Arc<Mutex<Steps>>);

#[derive(Debug, Default)]
struct Steps {
    before: Vec<Option<EntryId>>,
    is_own: bool,
}

impl Trail {
    /// The leaf has moved from here.
    pub fn step(&self, from: Option<EntryId>) {
        let mut steps = self.steps();
        steps.before.push(from);
        steps.is_own = true;
    }

    /// Returns where the leaf was before the last step, which is forgotten.
    pub fn back(&self) -> Option<Option<EntryId>> {
        self.steps().before.pop()
    }

    /// Marks the leaf as moved by this user: it no longer follows other processes.
    pub fn own(&self) {
        self.steps().is_own = true;
    }

    /// Returns whether this user moved the leaf.
    pub fn is_own(&self) -> bool {
        self.steps().is_own
    }

    /// Forgets the history, for another session.
    pub fn begin_anew(&self) {
        *self.steps() = Steps::default();
    }

    fn steps(&self) -> MutexGuard<'_, Steps> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
