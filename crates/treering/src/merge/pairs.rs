//! Groups the tool calls and results along a path, which must stay together.
//!
//! A result belongs to the nearest message above it that has such a call and no result for it yet.
//! That message, its results, and the pieces it may be written in are one group. If a path ends
//! before all calls of a group are answered, the results may be further down, on one of several
//! branches: the branch with the most results counts, and the newest one among equals.

use crate::entry::{Role, tool_uses};
use crate::error::Result;
use crate::json;
use crate::snapshot::{Bodies, Snapshot};
use crate::tree::{Node, Row};
use std::collections::HashMap;

/// The groups of a path.
#[derive(Debug, Default)]
pub(super) struct Pairs {
    /// For every entry of the path, the index of an earlier entry of its group, or its own index.
    earlier: Vec<usize>,
    /// The calls that have no result yet.
    open: HashMap<String, OpenCall>,
    /// The calls that can no longer get a result.
    given_up: Vec<(String, OpenCall)>,
    /// The index of the last assistant message that is not a piece of another.
    answer: Option<usize>,
}

#[derive(Debug, Clone, Copy)]
struct OpenCall {
    at: usize,
    /// The number of calls with this id: ids are not always unique.
    calls: usize,
}

impl Pairs {
    pub(super) fn of_path(view: &Snapshot, bodies: &mut Bodies, rows: &[Row]) -> Result<Self> {
        let mut pairs = Pairs::default();
        for &row in rows {
            pairs.enter(view, bodies, row)?;
        }
        Ok(pairs)
    }

    /// Adds the next entry of the path.
    pub(super) fn enter(&mut self, view: &Snapshot, bodies: &mut Bodies, row: Row) -> Result<()> {
        let at = self.earlier.len();
        self.earlier.push(at);
        let node = view.tree().node(row);
        let is_answer = node.role() == Some(Role::Assistant);
        match self.answer {
            Some(first) if is_answer && node.has(Node::CONTINUED) => self.join(at, first),
            _ if is_answer => self.answer = Some(at),
            _ => {}
        }
        for (is_call, call) in uses(view, bodies, row)? {
            if is_call {
                // A later call with the same id replaces an earlier one.
                let calls = match self.open.get(&call) {
                    Some(open) if open.at == at => open.calls + 1,
                    Some(open) => {
                        self.given_up.push((call.clone(), *open));
                        1
                    }
                    None => 1,
                };
                self.open.insert(call, OpenCall { at, calls });
            } else if let Some(open) = self.open.get_mut(&call) {
                let caller = open.at;
                open.calls -= 1;
                if open.calls == 0 {
                    self.open.remove(&call);
                }
                self.join(at, caller);
            }
        }
        Ok(())
    }

    fn join(&mut self, at: usize, with: usize) {
        let (a, b) = (self.group(at), self.group(with));
        self.earlier[a.max(b)] = a.min(b);
    }

    /// Returns the first entry of the group that the entry at `at` is in.
    pub(super) fn group(&mut self, at: usize) -> usize {
        let mut at = at;
        while self.earlier[at] != at {
            self.earlier[at] = self.earlier[self.earlier[at]];
            at = self.earlier[at];
        }
        at
    }

    /// Returns the indices of the messages whose calls may still get a result.
    pub(super) fn open(&self) -> impl Iterator<Item = usize> {
        self.open.values().map(|open| open.at)
    }

    /// Returns the calls without a result, each with the index of its message, in order.
    pub(super) fn unanswered(&self) -> Vec<(usize, &str)> {
        let given_up = self.given_up.iter().map(|(call, open)| (call, open));
        let all = self.open.iter().chain(given_up);
        let each =
            all.flat_map(|(call, open)| std::iter::repeat_n((open.at, call.as_str()), open.calls));
        let mut each: Vec<(usize, &str)> = each.collect();
        each.sort_unstable();
        each
    }

    /// Returns the entries below `last` that lead to results for the open calls of messages that
    /// are `wanted`, and to further pieces of these messages.
    pub(super) fn rest(
        &self,
        view: &Snapshot,
        bodies: &mut Bodies,
        last: Row,
        wanted: impl Fn(usize) -> bool,
    ) -> Result<Vec<Row>> {
        let left = self.open.iter().filter(|(_, open)| wanted(open.at));
        let left: HashMap<String, usize> =
            left.map(|(call, open)| (call.clone(), open.calls)).collect();
        CallSearch { view, bodies, missing: left.values().sum(), left, undo: Vec::new() }
            .below(last)
    }
}

/// Returns the entries below `row` up to the last piece of the message there. Results of its calls
/// may be between the pieces.
pub(super) fn parts_below(view: &Snapshot, row: Row) -> Vec<Row> {
    let tree = view.tree();
    let is_part = |row: &&Row| tree.node(**row).has(Node::CONTINUED);
    let is_result = |row: &&Row| tree.node(**row).role() == Some(Role::ToolResult);
    let next = |row: &Row| {
        let children = tree.children_index().of(*row);
        children.iter().find(is_part).or_else(|| children.iter().rev().find(is_result)).copied()
    };
    let mut rows: Vec<Row> = std::iter::successors(next(&row), next).collect();
    let parts = rows.iter().rposition(|row| is_part(&row)).map_or(0, |last| last + 1);
    rows.truncate(parts);
    rows
}

/// Returns the calls (`true`) and results of an entry, in order.
pub(super) fn uses(view: &Snapshot, bodies: &mut Bodies, row: Row) -> Result<Vec<(bool, String)>> {
    let mut found = Vec::new();
    if !matches!(view.tree().node(row).role(), Some(Role::Assistant | Role::ToolResult)) {
        return Ok(found);
    }
    let mut more = Vec::new();
    let Some(body) = bodies.all(view, row, &mut more)? else { return Ok(found) };
    let first = json::get(&body, "message").unwrap_or_default();
    for message in std::iter::once(first).chain(more.iter().map(Vec::as_slice)) {
        tool_uses(message, |is_call, call| found.push((is_call, call.to_owned())));
    }
    Ok(found)
}

/// A walk down all branches, newest first, with the calls that are still to be answered on each.
struct CallSearch<'a> {
    view: &'a Snapshot,
    bodies: &'a mut Bodies,
    left: HashMap<String, usize>,
    missing: usize,
    /// The previous values of `left`, to restore them on the way back.
    undo: Vec<(String, usize)>,
}

enum WalkStep {
    Enter(Row),
    /// Undoes the changes after this number of them, and restores the number of missing results.
    Leave(usize, usize),
}

impl CallSearch<'_> {
    fn below(mut self, last: Row) -> Result<Vec<Row>> {
        let (mut best, mut end) = (self.missing, last);
        let tree = self.view.tree();
        let children = tree.children_index();
        let enter = |row: Row| children.of(row).iter().map(|&child| WalkStep::Enter(child));
        let mut stack: Vec<WalkStep> = if best > 0 { enter(last).collect() } else { Vec::new() };
        while let (Some(step), true) = (stack.pop(), best > 0) {
            match step {
                WalkStep::Enter(row) => {
                    stack.push(WalkStep::Leave(self.undo.len(), self.missing));
                    self.enter(row)?;
                    if self.missing < best {
                        (best, end) = (self.missing, row);
                    }
                    stack.extend(enter(row));
                }
                WalkStep::Leave(kept, missing) => {
                    for (call, calls) in self.undo.drain(kept..).rev() {
                        self.left.insert(call, calls);
                    }
                    self.missing = missing;
                }
            }
        }
        let mut rows: Vec<Row> = tree.ancestors(end).take_while(|&row| row != last).collect();
        rows.reverse();
        Ok(rows)
    }

    fn enter(&mut self, row: Row) -> Result<()> {
        for (is_call, call) in uses(self.view, self.bodies, row)? {
            let Some(left) = self.left.get_mut(&call).filter(|left| **left > 0) else { continue };
            self.undo.push((call, *left));
            // Results below another call with the same id belong to that call.
            if is_call {
                *left = 0;
            } else {
                *left -= 1;
                self.missing -= 1;
            }
        }
        Ok(())
    }
}
