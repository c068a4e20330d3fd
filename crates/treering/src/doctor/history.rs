//! Measures how much of a session is reachable from its active leaf.

use crate::error::Result;
use crate::findings::Problem;
use crate::id::EntryId;
use crate::snapshot::Snapshot;
use crate::tree::{NONE, Node, Row, Tree};

/// The size of a session, and of the part that the active leaf reaches. Damaged entries do not
/// count.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Reachability {
    /// The number of entries in the tree.
    pub entries: usize,
    /// The number of entries in the tree of the active leaf, including its other branches.
    pub reachable: usize,
    /// The number of entries on the path from the root to the active leaf.
    pub path: usize,
    /// The number of messages in the context at the active leaf.
    pub messages: usize,
}

impl Reachability {
    /// Counts the rows for which `is_whole` is true.
    pub(super) fn of(view: &Snapshot, is_whole: impl Fn(Row) -> bool) -> Result<Self> {
        let tree = view.tree();
        let leaf = view.file_leaf()?;
        let roots = roots(tree);
        let own = leaf.map(|leaf| roots[leaf.index()]);
        let is_near = |row: &Row| Some(roots[row.index()]) == own;
        let entries = tree.live().filter(|&row| is_whole(row)).count();
        let reachable = tree.live().filter(|&row| is_whole(row)).filter(is_near).count();
        let path = leaf.map_or(0, |leaf| tree.ancestors(leaf).filter(|&row| is_whole(row)).count());
        let mut messages = 0;
        for message in view.clone().projection(leaf)? {
            message?;
            messages += 1;
        }
        Ok(Reachability { entries, reachable, path, messages })
    }
}

/// Returns the entries that are not reachable from the active leaf because of broken links.
/// Intended branches and roots do not count.
pub(super) fn unreachable(view: &Snapshot) -> Result<Option<Problem>> {
    let tree = view.tree();
    let Some(leaf) = view.file_leaf()? else { return Ok(None) };
    let roots = roots(tree);
    let own = roots[leaf.index()];
    let is_broken = |root: Row| tree.node(root).has(Node::LOST_PARENT);
    let is_cut_off = |&row: &Row| {
        let root = roots[row.index()];
        root != own && (is_broken(root) || is_broken(own))
    };
    let count = tree.live().filter(is_cut_off).count();
    Ok((count > 0).then_some(Problem::Unreachable { count, of: tree.len() }))
}

/// Returns the root of every row.
fn roots(tree: &Tree) -> Vec<Row> {
    let mut roots = vec![NONE; tree.row_count()];
    let mut way = Vec::new();
    for start in tree.rows() {
        let mut row = start;
        while roots[row.index()] == NONE && tree.node(row).parent != NONE {
            way.push(row);
            row = tree.node(row).parent;
        }
        let root = match roots[row.index()] {
            NONE => row,
            root => root,
        };
        roots[row.index()] = root;
        way.drain(..).for_each(|row| roots[row.index()] = root);
    }
    roots
}

/// Returns the number of entries on the path to every row.
pub(super) fn depths(tree: &Tree) -> Vec<u32> {
    let mut depths = vec![0_u32; tree.row_count()];
    let mut way = Vec::new();
    for start in tree.rows() {
        let mut row = start;
        while row != NONE && depths[row.index()] == 0 {
            way.push(row);
            row = tree.node(row).parent;
        }
        let mut depth = if row == NONE { 0 } else { depths[row.index()] };
        while let Some(row) = way.pop() {
            depth += 1;
            depths[row.index()] = depth;
        }
    }
    depths
}

/// Returns how many branch ends have more ancestors than before, or are new. `own` are entries that
/// the repair itself wrote, perhaps below an end.
pub(super) fn contexts_gained(before: &Tree, after: &Tree, own: &[EntryId]) -> usize {
    let (depths_before, depths_after) = (depths(before), depths(after));
    let depth = |tree: &Tree, depths: &[u32], id: &EntryId| {
        tree.row(id.as_str()).map_or(0, |row| depths[row.index()])
    };
    let is_longer =
        |id: &EntryId| depth(after, &depths_after, id) > depth(before, &depths_before, id);
    let old = before.conversation().leaves().into_iter().filter(|id| is_longer(id)).count();
    let is_new = |id: &EntryId| !before.contains(id.as_str()) && !own.contains(id);
    old + after.conversation().leaves().into_iter().filter(is_new).count()
}
