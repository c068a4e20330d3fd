//! Finds the parent of each forked session.
//!
//! A header names its parent by a path or by an id, and files are moved and archived. Headers may
//! contain anything: a cycle of sessions is broken at its oldest member, so that no session is lost
//! and no walk is endless.

use super::session_table::{ListedSession, SessionTable};
use std::collections::HashMap;
use std::path::Path;

/// The parent of every session, by its position in the table.
#[derive(Debug, Clone, Default)]
pub(crate) struct Threads(Vec<Option<u32>>);

impl Threads {
    pub(crate) fn of(sessions: &SessionTable) -> Self {
        let mut ids: HashMap<&str, u32> = HashMap::new();
        if sessions.all().iter().any(|session| session.info.parent_session.is_some()) {
            for (session, at) in sessions.all().iter().zip(0..) {
                // Of several copies the newest counts.
                let known = ids.entry(session.info.id.as_str()).or_insert(at);
                if sessions.get(*known).is_some_and(|other| newness(session) > newness(other)) {
                    *known = at;
                }
            }
        }
        let parent = |(session, at): (&ListedSession, u32)| {
            let named = session.info.parent_session.as_deref()?;
            find(named, sessions, &ids).filter(|parent| *parent != at)
        };
        let mut threads = Threads(sessions.all().iter().zip(0..).map(parent).collect());
        threads.open_cycles(sessions);
        threads
    }

    pub(crate) fn parent(&self, session: u32) -> Option<u32> {
        self.0.get(session as usize).copied().flatten()
    }

    fn open_cycles(&mut self, sessions: &SessionTable) {
        // The walk in which each was visited. A session of the same walk closes a cycle.
        let mut visited = vec![0_u32; self.0.len()];
        for (start, walk) in (0..self.0.len() as u32).zip(1..) {
            let mut at = Some(start);
            while let Some(session) = at {
                let Some(mark) = visited.get_mut(session as usize) else { break };
                if *mark == walk {
                    self.open_cycle(session, sessions);
                }
                if *mark != 0 {
                    break;
                }
                *mark = walk;
                at = self.parent(session);
            }
        }
    }

    fn open_cycle(&mut self, first: u32, sessions: &SessionTable) {
        let age = |session: u32| {
            let info = &sessions.get(session)?.info;
            Some((info.created.unwrap_or(info.modified), &info.path))
        };
        let mut oldest = first;
        let mut at = self.parent(first);
        while let Some(session) = at.filter(|session| *session != first) {
            if age(session) < age(oldest) {
                oldest = session;
            }
            at = self.parent(session);
        }
        if let Some(parent) = self.0.get_mut(oldest as usize) {
            *parent = None;
        }
    }
}

fn newness(session: &ListedSession) -> (i64, &Path) {
    (session.info.modified, &session.info.path)
}

/// Returns the session that a header names: by its path, by the path it has or had in an archive,
/// by its id, or by the id at the end of its file's name.
fn find(named: &str, sessions: &SessionTable, ids: &HashMap<&str, u32>) -> Option<u32> {
    let by_path = |path: &str| sessions.place(Path::new(path));
    let stem = named.strip_suffix(".zst").unwrap_or(named);
    by_path(named)
        .or_else(|| by_path(stem))
        .or_else(|| by_path(&format!("{stem}.zst")))
        .or_else(|| ids.get(named).copied())
        .or_else(|| {
            let (_, id) = stem.strip_suffix(".jsonl")?.rsplit_once('_')?;
            ids.get(id).copied()
        })
}
