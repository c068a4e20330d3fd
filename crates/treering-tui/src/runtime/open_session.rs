//! The open session that all screens share.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use treering::EntryId;
use treering_agent::AgentSession;

/// An open session and the moves of its leaf.
#[derive(Debug, Clone)]
pub struct OpenSession {
    /// The session with its summarizer.
    pub agent: Arc<AgentSession>,
    /// The runtime for background work.
    pub runtime: tokio::runtime::Handle,
    /// The earlier positions of the leaf.
    pub leaf_history: LeafHistory,
    /// Whether the file can no longer be read. Its earlier content is shown and it is not followed.
    pub is_lost: bool,
}

impl OpenSession {
    /// Creates the open session, without moves of its leaf.
    pub fn new(agent: AgentSession, runtime: tokio::runtime::Handle) -> Self {
        OpenSession {
            agent: Arc::new(agent),
            runtime,
            leaf_history: LeafHistory::default(),
            is_lost: false,
        }
    }
}

/// The earlier positions of the leaf, the latest last.
#[derive(Debug, Clone, Default)]
pub struct LeafHistory(Arc<Mutex<LeafMoves>>);

#[derive(Debug, Default)]
struct LeafMoves {
    before: Vec<Option<EntryId>>,
    is_own: bool,
}

impl LeafHistory {
    /// Records that the leaf has moved from a position.
    pub fn push(&self, from: Option<EntryId>) {
        let mut moves = self.moves();
        moves.before.push(from);
        moves.is_own = true;
    }

    /// Removes and returns the latest position.
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
