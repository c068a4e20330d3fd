//! Finds tool calls without results, and results without calls.
//!
//! A call needs a result below it, and a result needs a call above it. For entries on the path to
//! the active leaf, both must be on that path, because it is what a provider gets; elsewhere any
//! branch counts. Calls and results are remembered as hashes, in file order, so that bodies are
//! read once and in order; then one walk over the tree matches them.

use super::entries::LocatedProblems;
use crate::entry::{Role, tool_uses};
use crate::error::Result;
use crate::findings::{CallPosition, Problem};
use crate::json;
use crate::load::MAX_FINDINGS;
use crate::snapshot::{Bodies, Snapshot};
use crate::tree::{Row, Tree};
use foldhash::quality::RandomState;
use std::collections::HashMap;
use std::hash::BuildHasher;

#[derive(Debug, Default)]
pub(super) struct Tools {
    hasher: RandomState,
    /// The calls and results in the order of their rows, and within a row in the order of its
    /// messages.
    uses: Vec<CallOrResult>,
}

/// A call or a result.
#[derive(Debug, Clone, Copy)]
struct CallOrResult {
    row: Row,
    is_call: bool,
    hash: u64,
}

impl Tools {
    /// Records the calls and results in a message. Rows must not decrease.
    pub(super) fn take(&mut self, row: Row, message: &[u8]) {
        tool_uses(message, |is_call, call| {
            let hash = self.hasher.hash_one(call);
            self.uses.push(CallOrResult { row, is_call, hash });
        });
    }

    /// Returns the calls and results of a row, as indices.
    fn of(&self, row: Row) -> std::ops::Range<usize> {
        let start = self.uses.partition_point(|use_| use_.row < row);
        let end = start + self.uses[start..].iter().take_while(|use_| use_.row == row).count();
        start..end
    }

    /// Reports calls without results and results without calls.
    pub(super) fn examine(self, view: &Snapshot, found: &mut LocatedProblems) -> Result<()> {
        if self.uses.is_empty() {
            return Ok(());
        }
        let tree = view.tree();
        let leaf = view.file_leaf()?;
        let path = leaf.map(|leaf| tree.path_rows(leaf)).unwrap_or_default();
        let paired_anywhere = self.pair_all(tree);
        let paired_on_path = self.pair(path.iter().copied());
        let mut on_path = vec![false; tree.row_count()];
        path.iter().for_each(|&row| on_path[row.index()] = true);
        // A call may still be answered as long as no message follows it.
        let speaks =
            |row: &&Row| matches!(tree.node(**row).role(), Some(Role::User | Role::Assistant));
        let last = path.iter().rev().find(speaks).copied();

        let mut bodies = Bodies::default();
        let mut count = 0;
        for (at, use_) in self.uses.iter().enumerate() {
            let (is_paired, position) = match on_path[use_.row.index()] {
                true if last == Some(use_.row) && use_.is_call => {
                    (paired_on_path[at], CallPosition::End)
                }
                true => (paired_on_path[at], CallPosition::Path),
                false => (paired_anywhere[at], CallPosition::Elsewhere),
            };
            if is_paired || count == MAX_FINDINGS {
                continue;
            }
            count += 1;
            let entry = tree.id(use_.row);
            let call = self.call(&mut bodies, view, *use_)?;
            let problem = match use_.is_call {
                true => Problem::CallWithoutResult { entry, call, position },
                false => Problem::ResultWithoutCall { entry, call, position },
            };
            found.push((tree.node(use_.row).offset, problem));
        }
        Ok(())
    }

    /// Reads the id of a call again.
    fn call(&self, bodies: &mut Bodies, view: &Snapshot, wanted: CallOrResult) -> Result<String> {
        let (mut name, mut more) = (String::new(), Vec::new());
        let Some(body) = bodies.all(view, wanted.row, &mut more)? else { return Ok(name) };
        let first = json::get(&body, "message").unwrap_or_default();
        for message in std::iter::once(first).chain(more.iter().map(Vec::as_slice)) {
            tool_uses(message, |is_call, call| {
                if is_call == wanted.is_call && self.hasher.hash_one(call) == wanted.hash {
                    name = call.to_owned();
                }
            });
        }
        Ok(name)
    }

    /// Returns which calls and results have their counterpart on one path.
    fn pair(&self, path: impl Iterator<Item = Row>) -> Vec<bool> {
        let mut matcher = Matcher::new(self);
        for row in path {
            matcher.enter(row);
        }
        matcher.paired
    }

    /// Returns which calls and results have their counterpart on any path.
    fn pair_all(&self, tree: &Tree) -> Vec<bool> {
        let mut matcher = Matcher::new(self);
        let children = tree.children_index();
        let mut stack: Vec<WalkStep> =
            children.roots().iter().map(|&row| WalkStep::Enter(row)).collect();
        while let Some(step) = stack.pop() {
            match step {
                WalkStep::Enter(row) => {
                    matcher.enter(row);
                    stack.push(WalkStep::Leave(row));
                    stack.extend(children.of(row).iter().map(|&child| WalkStep::Enter(child)));
                }
                WalkStep::Leave(row) => matcher.leave(row),
            }
        }
        matcher.paired
    }
}

enum WalkStep {
    Enter(Row),
    Leave(Row),
}

/// Matches calls and results on the way down a path and back.
struct Matcher<'a> {
    tools: &'a Tools,
    /// The open calls above, by hash.
    open: HashMap<u64, Vec<usize>>,
    paired: Vec<bool>,
}

impl<'a> Matcher<'a> {
    fn new(tools: &'a Tools) -> Self {
        Matcher { tools, open: HashMap::new(), paired: vec![false; tools.uses.len()] }
    }

    fn enter(&mut self, row: Row) {
        for at in self.tools.of(row) {
            let CallOrResult { is_call, hash, .. } = self.tools.uses[at];
            if is_call {
                self.open.entry(hash).or_default().push(at);
            } else if let Some(&call) = self.open.get(&hash).and_then(|calls| calls.last()) {
                self.paired[at] = true;
                self.paired[call] = true;
            }
        }
    }

    fn leave(&mut self, row: Row) {
        for at in self.tools.of(row).rev() {
            let CallOrResult { is_call, hash, .. } = self.tools.uses[at];
            if is_call && let Some(calls) = self.open.get_mut(&hash) {
                calls.pop();
            }
        }
    }
}
