//! Walks over the tree: paths, children, leaves, ancestors, and all entries in order.

use super::Tree;
use super::node::Node;
use super::row::{NONE, Row};
use crate::entry::{Kind, Role};
use crate::error::Result;
use crate::id::EntryId;
use std::sync::Arc;

/// The children of all rows in two flat arrays, built by a counting sort.
#[derive(Debug)]
pub(crate) struct Children {
    /// The index at which the children of each row begin, and one more at the end. The roots come
    /// last.
    starts: Vec<u32>,
    rows: Vec<Row>,
}

impl Children {
    pub(crate) fn of(&self, row: Row) -> &[Row] {
        let row = if row == NONE { self.starts.len() - 2 } else { row.index() };
        &self.rows[self.starts[row] as usize..self.starts[row + 1] as usize]
    }

    pub(crate) fn roots(&self) -> &[Row] {
        self.of(NONE)
    }
}

/// An entry in a walk over the whole tree.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct TreeItem<'a> {
    /// The id of the entry.
    pub id: &'a str,
    /// The id of the parent in the tree.
    pub parent: Option<&'a str>,
    /// The number of ancestors.
    pub depth: usize,
    /// The type of the entry.
    pub kind: Kind,
    /// The role of the entry, if it is a message.
    pub role: Option<Role>,
    /// The label of the entry.
    pub label: Option<&'a str>,
    /// The label of the entry as a JSON string, exactly as in the file.
    pub label_json: Option<&'a [u8]>,
    /// The time at which the label was set, in Unix milliseconds.
    pub label_time: Option<i64>,
    /// The number of children.
    pub children: usize,
    /// Whether the entry is part of the conversation of a subagent.
    pub sidechain: bool,
    /// The length of the entry's record in bytes.
    pub bytes: u64,
}

/// A walk over the whole tree, parents before children, children oldest first.
#[derive(Debug)]
pub struct TreeWalk<'a> {
    tree: &'a Tree,
    children: &'a Children,
    /// Whether each row has a label: most have none, and need no lookup.
    labeled: Vec<bool>,
    /// Rows that are still to be visited, with their depth.
    stack: Vec<(Row, usize)>,
    /// The parents of rows, if they are not those of the tree.
    parents: Option<&'a [Row]>,
}

impl<'a> Iterator for TreeWalk<'a> {
    type Item = TreeItem<'a>;

    fn next(&mut self) -> Option<TreeItem<'a>> {
        let (row, depth) = self.stack.pop()?;
        let children = self.children.of(row);
        self.stack.extend(children.iter().rev().map(|&child| (child, depth + 1)));
        let (tree, node) = (self.tree, self.tree.node(row));
        let parent = self.parents.map_or(node.parent, |parents| parents[row.index()]);
        let label = if self.labeled[row.index()] { tree.label_of(row) } else { None };
        Some(TreeItem {
            id: tree.id_text(row),
            parent: (parent != NONE).then(|| tree.id_text(parent)),
            depth,
            kind: node.kind(),
            role: node.role(),
            label: label.map(|label| &*label.text),
            label_json: label.map(|label| &*label.literal),
            label_time: label.and_then(|label| tree.node(label.row).time()),
            children: children.len(),
            sidechain: node.has(Node::SIDECHAIN),
            bytes: node.len,
        })
    }
}

impl Tree {
    /// Walks over every entry, parents before children, children from oldest to newest: by time,
    /// and in file order if times are equal or missing. Roots are in file order.
    ///
    /// ```
    /// use treering::{Message, Session};
    /// let session = Session::in_memory("/project");
    /// session.append(Message::user("one"))?;
    /// session.append(Message::user("two"))?;
    /// let tree = session.tree();
    /// let depths: Vec<usize> = tree.walk().map(|item| item.depth).collect();
    /// assert_eq!(depths, [0, 1]);
    /// # Ok::<(), treering::Error>(())
    /// ```
    pub fn walk(&self) -> TreeWalk<'_> {
        self.walk_over(self.children_index(), None)
    }

    pub(super) fn walk_over<'a>(
        &'a self,
        children: &'a Children,
        parents: Option<&'a [Row]>,
    ) -> TreeWalk<'a> {
        let stack = children.roots().iter().rev().map(|&root| (root, 0)).collect();
        let mut labeled = vec![false; self.nodes.len()];
        for row in self.labels.keys().filter_map(|target| self.row(target)) {
            labeled[row.index()] = true;
        }
        TreeWalk { tree: self, children, labeled, stack, parents }
    }

    /// Returns the lists of children of all entries, which are built on first use.
    pub(crate) fn children_index(&self) -> &Children {
        self.children
            .get_or_init(|| Arc::new(self.sort_children(self.live(), |row| self.node(row).parent)))
    }

    /// Returns the lists of children of some rows for a parent relation, in linear time except for
    /// sorting siblings.
    pub(super) fn sort_children(
        &self,
        of: impl Iterator<Item = Row> + Clone,
        parent: impl Fn(Row) -> Row,
    ) -> Children {
        let roots = self.nodes.len();
        let slot = |row: Row| match parent(row) {
            NONE => roots,
            parent => parent.index(),
        };
        let mut starts = vec![0_u32; roots + 2];
        for row in of.clone() {
            starts[slot(row) + 1] += 1;
        }
        for at in 1..starts.len() {
            starts[at] += starts[at - 1];
        }
        let mut rows = vec![NONE; starts[roots + 1] as usize];
        let mut next = starts.clone();
        for row in of {
            let place = &mut next[slot(row)];
            rows[*place as usize] = row;
            *place += 1;
        }
        for parent in 0..roots {
            let (start, end) = (starts[parent] as usize, starts[parent + 1] as usize);
            if end - start > 1 {
                self.sort_siblings(&mut rows[start..end]);
            }
        }
        Children { starts, rows }
    }

    /// Sorts siblings, oldest first. A sibling without a valid time counts as old as the one before
    /// it in the file.
    fn sort_siblings(&self, rows: &mut [Row]) {
        let mut last = Node::NO_TIME;
        let mut timed: Vec<(i64, Row)> = Vec::with_capacity(rows.len());
        for &row in rows.iter() {
            last = self.node(row).time().unwrap_or(last);
            timed.push((last, row));
        }
        timed.sort_unstable();
        for (slot, (_, row)) in rows.iter_mut().zip(timed) {
            *slot = row;
        }
    }

    /// Returns the rows from the root to `row`.
    pub(crate) fn path_rows(&self, row: Row) -> Vec<Row> {
        let mut path: Vec<Row> = self.ancestors(row).collect();
        path.reverse();
        path
    }

    /// Returns `row`, its parent, and so on to the root.
    pub(crate) fn ancestors(&self, row: Row) -> impl Iterator<Item = Row> + '_ {
        let step = |&row: &Row| Some(self.node(row).parent).filter(|&parent| parent != NONE);
        std::iter::successors(Some(row).filter(|&row| row != NONE), step)
    }

    /// Returns the entries from the root to `id`.
    ///
    /// # Errors
    ///
    /// Fails with [`Error::UnknownEntry`](crate::Error::UnknownEntry) if there is no entry with
    /// exactly this id.
    pub fn path(&self, id: impl AsRef<str>) -> Result<Vec<EntryId>> {
        let rows = self.path_rows(self.find_row(id.as_ref())?);
        Ok(rows.into_iter().map(|row| self.id(row)).collect())
    }

    /// Returns the parent of `id`; `None` for a root.
    ///
    /// # Errors
    ///
    /// Fails with [`Error::UnknownEntry`](crate::Error::UnknownEntry) if there is no entry with
    /// exactly this id.
    pub fn parent(&self, id: impl AsRef<str>) -> Result<Option<EntryId>> {
        let parent = self.node(self.find_row(id.as_ref())?).parent;
        Ok((parent != NONE).then(|| self.id(parent)))
    }

    /// Returns the children of `id`, oldest first.
    ///
    /// # Errors
    ///
    /// Fails with [`Error::UnknownEntry`](crate::Error::UnknownEntry) if there is no entry with
    /// exactly this id.
    pub fn children(&self, id: impl AsRef<str>) -> Result<Vec<EntryId>> {
        let rows = self.children_index().of(self.find_row(id.as_ref())?);
        Ok(rows.iter().map(|&row| self.id(row)).collect())
    }

    /// Returns the entries without a parent, in file order.
    pub fn roots(&self) -> Vec<EntryId> {
        self.children_index().roots().iter().map(|&row| self.id(row)).collect()
    }

    /// Returns the entries without children, in file order, including `leaf` and `label` entries.
    /// The ends of the branches of the conversation are
    /// [`Conversation::leaves`](super::Conversation::leaves).
    pub fn leaves(&self) -> Vec<EntryId> {
        let children = self.children_index();
        let ends = self.live().filter(|&row| children.of(row).is_empty());
        ends.map(|row| self.id(row)).collect()
    }

    /// Returns the entries with more than one child, in file order, where `leaf` and `label`
    /// entries
    /// count as children.
    pub fn branch_points(&self) -> Vec<EntryId> {
        let children = self.children_index();
        let rows = self.live().filter(|&row| children.of(row).len() > 1);
        rows.map(|row| self.id(row)).collect()
    }

    /// Returns the number of children of every row, not counting `leaf` entries without children.
    pub(crate) fn continuations(&self) -> Vec<u32> {
        let mut counts: Vec<u32> = vec![0; self.nodes.len()];
        for row in self.live() {
            if let Some(count) = counts.get_mut(self.node(row).parent.index()) {
                *count += 1;
            }
        }
        let is_bookkeeping =
            |row: &Row| self.node(*row).kind() == Kind::Leaf && counts[row.index()] == 0;
        let bookkeeping: Vec<Row> = self.live().filter(is_bookkeeping).collect();
        for row in bookkeeping {
            if let Some(count) = counts.get_mut(self.node(row).parent.index()) {
                *count -= 1;
            }
        }
        counts
    }

    /// Returns the number of ancestors of `id`.
    ///
    /// # Errors
    ///
    /// Fails with [`Error::UnknownEntry`](crate::Error::UnknownEntry) if there is no entry with
    /// exactly this id.
    pub fn depth(&self, id: impl AsRef<str>) -> Result<usize> {
        Ok(self.ancestors(self.find_row(id.as_ref())?).count() - 1)
    }

    /// Returns whether `ancestor` is `id` or above it.
    ///
    /// # Errors
    ///
    /// Fails with [`Error::UnknownEntry`](crate::Error::UnknownEntry) if there is no entry with
    /// exactly this id.
    pub fn is_ancestor(&self, ancestor: impl AsRef<str>, id: impl AsRef<str>) -> Result<bool> {
        let (ancestor, row) = (self.find_row(ancestor.as_ref())?, self.find_row(id.as_ref())?);
        Ok(self.ancestors(row).any(|row| row == ancestor))
    }

    /// Returns the deepest entry that both paths share; `None` if they have different roots.
    ///
    /// # Errors
    ///
    /// Fails with [`Error::UnknownEntry`](crate::Error::UnknownEntry) if there is no entry with
    /// exactly this id.
    pub fn common_ancestor(
        &self,
        a: impl AsRef<str>,
        b: impl AsRef<str>,
    ) -> Result<Option<EntryId>> {
        let (a, b) = (self.find_row(a.as_ref())?, self.find_row(b.as_ref())?);
        Ok(self.common_ancestor_row(a, b).map(|row| self.id(row)))
    }

    pub(crate) fn common_ancestor_row(&self, a: Row, b: Row) -> Option<Row> {
        let (a, b) = (self.path_rows(a), self.path_rows(b));
        let shared = a.iter().zip(&b).take_while(|(a, b)| a == b).count();
        shared.checked_sub(1).map(|last| a[last])
    }

    /// Returns the rows that are abandoned when the leaf moves from one row to another: those of
    /// the
    /// first one's path below the deepest common ancestor, oldest first. `None` is before the first
    /// entry.
    pub(crate) fn abandoned(&self, from: Option<Row>, to: Option<Row>) -> Vec<Row> {
        let path = |row: Option<Row>| row.map_or(Vec::new(), |row| self.path_rows(row));
        let (mut from, to) = (path(from), path(to));
        let shared = from.iter().zip(&to).take_while(|(a, b)| a == b).count();
        from.split_off(shared)
    }
}
