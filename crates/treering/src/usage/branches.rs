//! Computes the usage of every branch of a session.
//!
//! The sums of all paths are computed in one walk over the tree, which keeps the sum of the current
//! path, and undoes on its way up what it added on its way down. If an event is on a path twice, it
//! counts once, so the usage of each event on the current path is kept as well.

use super::event::{EventHasher, Key};
use super::read::Usage;
use super::survey::UsageReader;
use crate::entry::Kind;
use crate::error::Result;
use crate::id::EntryId;
use crate::session::Session;
use crate::snapshot::Snapshot;
use crate::tree::{NONE, Node, Row, Tree};
use std::collections::{HashMap, HashSet};

/// A branch: a path to an entry without children, or to the active leaf.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Branch {
    /// The last entry of the branch.
    pub leaf: EntryId,
    /// Whether this is the path to the active leaf.
    pub is_active: bool,
    /// Whether this is the work of a subagent.
    pub is_sidechain: bool,
    /// Whether there are messages or summaries after the branch point, and after the active leaf if
    /// that is on the path. Otherwise the branch only has labels, settings or notes of an agent.
    pub has_messages: bool,
    /// The branch point at which the branch left other branches; `None` if there is none on its
    /// path.
    pub since: Option<EntryId>,
    /// The number of entries after the branch point.
    pub own_entries: u64,
    /// The number of entries of the whole path.
    pub entries: u64,
    /// The usage after the branch point.
    pub own: Usage,
    /// The usage of the whole path.
    pub usage: Usage,
    /// The time of the last entry after the branch point that has a time, in Unix milliseconds.
    pub time: Option<i64>,
}

impl Branch {
    /// Returns whether treering lists and counts the branch: the active branch, and every other one
    /// that has messages or summaries of its own and is not a sidechain.
    pub fn is_counted(&self) -> bool {
        self.is_active || (self.has_messages && !self.is_sidechain)
    }
}

/// Returns the rows of the whole tree, parents before children.
pub(super) fn preorder(tree: &Tree) -> impl Iterator<Item = Row> + '_ {
    let children = tree.children_index();
    let mut stack: Vec<Row> = children.roots().iter().rev().copied().collect();
    std::iter::from_fn(move || {
        let row = stack.pop()?;
        stack.extend(children.of(row).iter().rev());
        Some(row)
    })
}

/// Returns whether an entry is part of the conversation.
fn is_conversation(node: &Node) -> bool {
    let kinds = [Kind::Message, Kind::Compaction, Kind::BranchSummary, Kind::CustomMessage];
    kinds.contains(&node.kind())
}

/// Returns the number of branches of a tree whose active leaf is `active`: those for which
/// [`Branch::is_counted`] is true. This reads no bodies and computes no sums, so that it is cheap
/// enough for lists.
pub(crate) fn count(tree: &Tree, active: Option<Row>) -> usize {
    count_where(tree, active, |_| true)
}

/// Counts the branches for whose last row `is_in` is true.
pub(super) fn count_where(tree: &Tree, active: Option<Row>, is_in: impl Fn(Row) -> bool) -> usize {
    let continuations = tree.continuations();
    let is_counted = |row: &Row| {
        let is_own = |above: &Row| {
            *above == *row || (continuations[above.index()] < 2 && Some(*above) != active)
        };
        let mut own = tree.ancestors(*row).take_while(is_own);
        Some(*row) != active
            && is_in(*row)
            && !tree.node(*row).has(Node::SIDECHAIN)
            && own.any(|row| is_conversation(tree.node(row)))
    };
    usize::from(active.is_some_and(&is_in)) + ends(tree, &continuations).filter(is_counted).count()
}

/// Returns the rows that are ends of branches, in file order.
fn ends<'a>(tree: &'a Tree, continuations: &'a [u32]) -> impl Iterator<Item = Row> + 'a {
    let is_end =
        |row: &Row| continuations[row.index()] == 0 && tree.node(*row).kind() != Kind::Leaf;
    tree.live().filter(is_end)
}

pub(super) fn of(session: &Session) -> Result<Vec<Branch>> {
    let view = session.view();
    let tree = view.tree();
    let events = events(&view)?;
    let active = session.leaf().and_then(|leaf| tree.row(leaf.as_str())).unwrap_or(NONE);
    let continuations = tree.continuations();
    let mut is_leaf = vec![false; tree.row_count()];
    for row in ends(tree, &continuations).chain(Some(active).filter(|&row| row != NONE)) {
        is_leaf[row.index()] = true;
    }
    let mut walk = Walk::new(tree, &continuations, &events);
    let mut found: Vec<(Row, Branch)> = Vec::new();
    walk.run(|row, path| {
        if is_leaf[row.index()] {
            found.push((row, path.branch(tree, row, row == active)));
        }
        path.has_messages &= row != active;
    });
    found.sort_by_key(|(row, branch)| std::cmp::Reverse((branch.time, *row)));
    Ok(found.into_iter().map(|(_, branch)| branch).collect())
}

/// Returns the usage of each row; most have none.
fn events(view: &Snapshot) -> Result<Events> {
    let namer = EventHasher::default();
    let mut surveyor = UsageReader::new(view, &namer);
    let mut events = Events::default();
    for row in view.tree().live() {
        if let Some((usage, name, _)) = surveyor.read_usage(row)?.usage {
            events.insert(row, (name.hash, usage));
        }
    }
    Ok(events)
}

/// The sums of the current path.
#[derive(Debug, Clone, Copy)]
struct Path {
    usage: Usage,
    entries: u64,
    /// The nearest branch point above, and the sums there.
    since: Row,
    usage_before: Usage,
    entries_before: u64,
    has_messages: bool,
    time: Option<i64>,
}

impl Path {
    const ROOT: Path = Path {
        usage: Usage::NONE,
        entries: 0,
        since: NONE,
        usage_before: Usage::NONE,
        entries_before: 0,
        has_messages: false,
        time: None,
    };

    fn branch(&self, tree: &Tree, row: Row, is_active: bool) -> Branch {
        Branch {
            leaf: tree.id(row),
            is_active,
            is_sidechain: tree.node(row).has(Node::SIDECHAIN),
            has_messages: self.has_messages,
            since: (self.since != NONE).then(|| tree.id(self.since)),
            own_entries: self.entries.saturating_sub(self.entries_before),
            entries: self.entries,
            own: self.usage.without(self.usage_before),
            usage: self.usage,
            time: self.time,
        }
    }
}

type Events = HashMap<Row, (Key, Usage), foldhash::fast::RandomState>;

struct Walk<'a> {
    tree: &'a Tree,
    continuations: &'a [u32],
    events: &'a Events,
    /// The events that are in more than one row.
    repeated: HashSet<Key, foldhash::fast::RandomState>,
    /// The usage of each event on the current path.
    on_path: HashMap<Key, Usage, foldhash::fast::RandomState>,
    /// The previous values, to restore them on the way up.
    undo: Vec<(Key, Option<Usage>)>,
    /// The rows to which the walk will return.
    forks: Vec<BranchPoint>,
}

/// A row with several children, not all of which were visited.
struct BranchPoint {
    row: Row,
    path: Path,
    undo: usize,
    left: usize,
}

impl<'a> Walk<'a> {
    fn new(tree: &'a Tree, continuations: &'a [u32], events: &'a Events) -> Self {
        let mut seen: HashSet<Key, foldhash::fast::RandomState> = HashSet::default();
        let again = |(key, _): &&(Key, Usage)| !seen.insert(*key);
        let repeated = events.values().filter(again).map(|(key, _)| *key).collect();
        let (on_path, undo, forks) = (HashMap::default(), Vec::new(), Vec::new());
        Walk { tree, continuations, events, repeated, on_path, undo, forks }
    }

    /// Calls `show` with every row and the path to it.
    fn run(&mut self, mut show: impl FnMut(Row, &mut Path)) {
        let children = self.tree.children_index();
        let mut path = Path::ROOT;
        self.fork(NONE, children.roots().len(), path);
        let mut stack: Vec<Row> = children.roots().iter().rev().copied().collect();
        while let Some(row) = stack.pop() {
            path = self.back_to(self.tree.node(row).parent).unwrap_or(path);
            self.enter(row, &mut path);
            show(row, &mut path);
            if self.continuations.get(row.index()).is_some_and(|&count| count > 1) {
                path.since = row;
                (path.usage_before, path.entries_before) = (path.usage, path.entries);
                (path.has_messages, path.time) = (false, None);
            }
            let below = children.of(row);
            self.fork(row, below.len(), path);
            stack.extend(below.iter().rev());
        }
    }

    /// Records a row to which the walk will return.
    fn fork(&mut self, row: Row, children: usize, path: Path) {
        if children > 1 {
            self.forks.push(BranchPoint { row, path, undo: self.undo.len(), left: children });
        }
    }

    /// Returns to a parent; `None` if the walk is already there, because the parent has only one
    /// child.
    fn back_to(&mut self, parent: Row) -> Option<Path> {
        let fork = self.forks.last_mut().filter(|fork| fork.row == parent)?;
        fork.left -= 1;
        let (path, is_last) = (fork.path, fork.left == 0);
        for (key, before) in self.undo.drain(fork.undo..).rev() {
            match before {
                Some(before) => self.on_path.insert(key, before),
                None => self.on_path.remove(&key),
            };
        }
        if is_last {
            self.forks.pop();
        }
        Some(path)
    }

    /// Adds a row to the path.
    fn enter(&mut self, row: Row, path: &mut Path) {
        let node = self.tree.node(row);
        path.entries += 1;
        path.has_messages |= is_conversation(node);
        path.time = path.time.max(node.time());
        let Some(&(key, usage)) = self.events.get(&row) else { return };
        if !self.repeated.contains(&key) {
            path.usage += usage;
            return;
        }
        let before = self.on_path.get(&key).copied();
        let now = before.map_or(usage, |before| before.same_event(usage));
        self.on_path.insert(key, now);
        path.usage = path.usage.without(before.unwrap_or_default()) + now;
        if !self.forks.is_empty() {
            self.undo.push((key, before));
        }
    }
}
