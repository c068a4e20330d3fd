//! The rows of the list.
//!
//! In the threaded order, a session is below the one it was forked from, or below the nearest
//! listed ancestor; a thread has the position of its newest member. Otherwise the list is flat. The
//! order does not depend on the order in which sessions became known.

use super::session_table::SessionTable;
use super::state::Sort;
use super::threads::Threads;
use std::cmp::Reverse;

/// A row of the list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SessionRow {
    /// The position of the session in the table.
    pub(crate) session: u32,
    /// The number of sessions above it in its thread.
    pub level: u32,
    /// The row of the parent.
    pub parent: Option<u32>,
    /// Whether it is the last row of its parent.
    pub is_last: bool,
}

/// The rows of the list.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SessionRows(Vec<SessionRow>);

impl SessionRows {
    /// Lays out the sessions that `is_listed`.
    pub(crate) fn lay_out(
        sessions: &SessionTable,
        threads: &Threads,
        sort: Sort,
        is_listed: impl Fn(u32) -> bool,
    ) -> Self {
        let mut listed: Vec<u32> =
            (0..sessions.all().len() as u32).filter(|session| is_listed(*session)).collect();
        let newness = |session: &u32| {
            let info = sessions.get(*session).map(|session| &session.info);
            Reverse(info.map(|info| (info.modified, &info.path)))
        };
        listed.sort_by_key(newness);
        match sort {
            Sort::Threaded => return SessionRows(threaded(&listed, sessions.all().len(), threads)),
            Sort::Recent => {}
            Sort::Relevance => {
                listed.sort_by_key(|session| {
                    Reverse(sessions.get(*session).and_then(|session| session.rank))
                });
            }
        }
        let flat = |session| SessionRow { session, level: 0, parent: None, is_last: false };
        SessionRows(listed.into_iter().map(flat).collect())
    }

    /// Returns all rows.
    pub fn all(&self) -> &[SessionRow] {
        &self.0
    }

    /// Returns the number of rows.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn get(&self, row: usize) -> Option<&SessionRow> {
        self.0.get(row)
    }

    pub(crate) fn row_of(&self, session: u32) -> Option<usize> {
        self.0.iter().position(|row| row.session == session)
    }

    /// Returns the connectors before a row's title, in at most `most` levels of three columns; of
    /// more, those next to the title.
    pub(crate) fn gutter(&self, row: usize, most: usize) -> String {
        let Some(own) = self.get(row) else { return String::new() };
        let mut parts = Vec::new();
        let mut at = Some(own);
        while let Some(row) = at.filter(|row| row.level > 0 && parts.len() < most) {
            parts.push(match (parts.is_empty(), row.is_last) {
                (true, false) => "├─ ",
                (true, true) => "└─ ",
                (false, false) => "│  ",
                (false, true) => "   ",
            });
            at = row.parent.and_then(|parent| self.get(parent as usize));
        }
        if own.level as usize > parts.len() && parts.len() > 1 {
            parts.pop();
            parts.push("…  ");
        }
        parts.iter().rev().copied().collect()
    }
}

/// Lays out threads. `listed` is sorted, the newest first; `count` is the number of known sessions.
fn threaded(listed: &[u32], count: usize, threads: &Threads) -> Vec<SessionRow> {
    let mut position = vec![u32::MAX; count];
    for (&session, at) in listed.iter().zip(0..) {
        set(&mut position, session, at);
    }
    let mut below: Vec<Vec<u32>> = vec![Vec::new(); listed.len()];
    let mut roots = Vec::new();
    // From here on a session is named by its position: a smaller one is newer.
    for (parent, at) in parents(listed, &position, threads).into_iter().zip(0..) {
        match parent.and_then(|parent| below.get_mut(parent as usize)) {
            Some(children) => children.push(at),
            None => roots.push(at),
        }
    }
    let order = walk(&roots, &below);
    let mut newest: Vec<u32> = (0..listed.len() as u32).collect();
    for &at in order.iter().rev() {
        let children = below.get(at as usize).into_iter().flatten();
        let best = children.filter_map(|&child| newest.get(child as usize)).min().copied();
        set(&mut newest, at, best.map_or(at, |best| best.min(at)));
    }
    let key = |at: &u32| newest.get(*at as usize).copied();
    roots.sort_unstable_by_key(key);
    below.iter_mut().for_each(|children| children.sort_unstable_by_key(key));
    rows(listed, &roots, &below)
}

fn set(all: &mut [u32], at: u32, value: u32) {
    if let Some(slot) = all.get_mut(at as usize) {
        *slot = value;
    }
}

/// Returns the nearest listed session above each listed one, both by their positions.
fn parents(listed: &[u32], position: &[u32], threads: &Threads) -> Vec<Option<u32>> {
    const UNKNOWN: u32 = u32::MAX;
    const NONE: u32 = u32::MAX - 1;
    // The result for sessions that are not listed, so that long hidden chains are walked once.
    let mut above = vec![UNKNOWN; position.len()];
    let mut passed = Vec::new();
    let mut nearest = |session: u32| {
        let mut at = threads.parent(session);
        let found = loop {
            let Some(session) = at else { break NONE };
            let place = position.get(session as usize).copied().unwrap_or(UNKNOWN);
            let known = above.get(session as usize).copied().unwrap_or(UNKNOWN);
            if let Some(found) = [place, known].into_iter().find(|found| *found != UNKNOWN) {
                break found;
            }
            passed.push(session);
            at = threads.parent(session);
        };
        passed.drain(..).for_each(|session| set(&mut above, session, found));
        (found != NONE).then_some(found)
    };
    listed.iter().map(|session| nearest(*session)).collect()
}

/// Returns everything below the roots, parents first.
fn walk(roots: &[u32], below: &[Vec<u32>]) -> Vec<u32> {
    let mut order = roots.to_vec();
    let mut at = 0;
    while let Some(&next) = order.get(at) {
        order.extend(below.get(next as usize).into_iter().flatten());
        at += 1;
    }
    order
}

fn rows(listed: &[u32], roots: &[u32], below: &[Vec<u32>]) -> Vec<SessionRow> {
    let mut rows: Vec<SessionRow> = Vec::with_capacity(listed.len());
    // The sessions to come, the next one last: position, row of the parent, level, last of its
    // siblings.
    let mut rest: Vec<(u32, Option<u32>, u32, bool)> =
        roots.iter().rev().map(|root| (*root, None, 0, false)).collect();
    while let Some((at, parent, level, is_last)) = rest.pop() {
        let row = rows.len() as u32;
        let Some(&session) = listed.get(at as usize) else { continue };
        rows.push(SessionRow { session, level, parent, is_last });
        let children = below.get(at as usize).into_iter().flatten();
        let first = rest.len();
        rest.extend(children.map(|child| (*child, Some(row), level + 1, false)));
        if let Some(last) = rest.get_mut(first..) {
            last.reverse();
            if let Some(last) = last.first_mut() {
                last.3 = true;
            }
        }
    }
    rows
}
