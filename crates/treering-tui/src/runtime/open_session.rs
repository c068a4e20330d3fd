//! A session that is open, whichever screen shows it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use treering::EntryId;
use treering_agent::AgentSession;

/// A session, and what a person did in it since it was opened.
#[derive(Debug, Clone)]
pub struct OpenSession {
    /// The session, with whatever summarises for it.
    pub agent: Arc<AgentSession>,
    /// Where what waits is done.
    pub runtime: tokio::runtime::Handle,
    /// Where the leaf was.
    pub leaf_history: LeafHistory,
    /// The file can no longer be read: what was read of it is shown, and it is not followed.
    pub is_lost: bool,
}

impl OpenSession {
    /// Begins a open_session.
    pub fn new(agent: AgentSession, runtime: tokio::runtime::Handle) -> Self {
        OpenSession {
            agent: Arc::new(agent),
            runtime,
            leaf_history: LeafHistory::default(),
            is_lost: false,
        }
    }
}

/// Where the leaf was before it moved, the last place last.
#[derive(Debug, Clone, Default)]
pub struct LeafHistory(Arc<Mutex<LeafMoves>>);

#[derive(Debug, Default)]
struct LeafMoves {
    before: Vec<Option<EntryId>>,
    is_own: bool,
}

impl LeafHistory {
    /// The leaf has moved from here.
    pub fn push(&self, from: Option<EntryId>) {
        let mut moves = self.moves();
        moves.before.push(from);
        moves.is_own = true;
    }

    /// Returns where the leaf was before the last step, which is forgotten.
    pub fn pop(&self) -> Option<Option<EntryId>> {
        self.moves().before.pop()
    }

    /// Marks the leaf as moved by this user: it no longer follows other processes.
    pub fn mark_own(&self) {
        self.moves().is_own = true;
    }

    /// Returns whether this user moved the leaf.
    pub fn is_own(&self) -> bool {
        self.moves().is_own
    }

    /// Forgets the history, for another session.
    pub fn reset(&self) {
        *self.moves() = LeafMoves::default();
    }

    fn moves(&self) -> MutexGuard<'_, LeafMoves> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
