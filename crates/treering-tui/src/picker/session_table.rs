//! The known sessions by the path of their file.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use treering::catalog::SessionInfo;
use treering_search::{Query, Rank};

/// A known session.
#[derive(Debug, Clone)]
pub(crate) struct ListedSession {
    pub info: SessionInfo,
    /// Whether the session belongs to the current project.
    pub is_here: bool,
    /// The rank for the query; `None` if the session does not match.
    pub rank: Option<Rank>,
}

impl ListedSession {
    pub(crate) fn is_archived(&self) -> bool {
        self.info.path.extension().is_some_and(|extension| extension == "zst")
    }
}

/// All known sessions, in no order.
#[derive(Debug, Clone, Default)]
pub(crate) struct SessionTable {
    all: Vec<ListedSession>,
    places: HashMap<PathBuf, u32>,
}

impl SessionTable {
    pub(crate) fn all(&self) -> &[ListedSession] {
        &self.all
    }

    pub(crate) fn get(&self, session: u32) -> Option<&ListedSession> {
        self.all.get(session as usize)
    }

    pub(crate) fn place(&self, path: &Path) -> Option<u32> {
        self.places.get(path).copied()
    }

    /// Stores a session, in place of an older version.
    pub(crate) fn put(&mut self, session: ListedSession) {
        let next = self.all.len() as u32;
        let place = *self.places.entry(session.info.path.clone()).or_insert(next);
        match self.all.get_mut(place as usize) {
            Some(old) => *old = session,
            None => self.all.push(session),
        }
    }

    /// Removes a session.
    pub(crate) fn remove(&mut self, path: &Path) {
        let Some(place) = self.places.remove(path) else { return };
        self.all.swap_remove(place as usize);
        if let Some(moved) = self.all.get(place as usize) {
            self.places.insert(moved.info.path.clone(), place);
        }
    }

    /// Ranks every session for a query.
    pub(crate) fn ask(&mut self, query: Option<&Query>, now: i64) {
        for session in &mut self.all {
            session.rank = rank(&session.info, query, now);
        }
    }
}

/// Returns the rank of a session; without a query every session matches.
pub(crate) fn rank(info: &SessionInfo, query: Option<&Query>, now: i64) -> Option<Rank> {
    query.map_or(Some(Rank::default()), |query| query.rank(info, now))
}
