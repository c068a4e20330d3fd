//! The tree without bookkeeping entries.

use super::Tree;
use super::nested::TreeNode;
use super::row::{NONE, Row};
use super::walk::{Children, TreeWalk};
use crate::entry::Kind;
use crate::error::Result;
use crate::id::EntryId;

/// A tree without its bookkeeping entries: `leaf` and `label` entries are about the tree, and not
/// part of the conversation.
///
/// The children of a bookkeeping entry become children of the nearest other entry above it. The
/// methods of [`Tree`] with the same names include every entry.
///
/// ```
/// use treering::{Message, Session};
/// let session = Session::in_memory("/project");
/// let question = session.append(Message::user("which way?"))?;
/// session.label(&question, Some("start"))?;
/// let left = session.append(Message::assistant("acme", "m", "left"))?;
/// session.branch(&question)?;
/// let right = session.append(Message::assistant("acme", "m", "right"))?;
///
/// let tree = session.tree();
/// assert_eq!(tree.children(&question)?.len(), 3); // the label, the leaf entry, right
/// let conversation = tree.conversation();
/// assert_eq!(conversation.children(&question)?, [left.clone(), right.clone()]);
/// assert_eq!(tree.leaves().len(), 3); // the leaf entry, too
/// assert_eq!(conversation.leaves(), [left, right]);
/// # Ok::<(), treering::Error>(())
/// ```
#[derive(Debug)]
pub struct Conversation<'a> {
    tree: &'a Tree,
    /// For every row, the nearest row above it that is in the conversation.
    parents: Vec<Row>,
    children: Children,
}

impl Tree {
    /// Returns the tree without bookkeeping entries. Takes time linear in the size of the tree.
    pub fn conversation(&self) -> Conversation<'_> {
        let mut parents = vec![NONE; self.row_count()];
        // In this order parents come before their children, even if they do not in the file.
        let mut stack: Vec<Row> = self.children_index().roots().to_vec();
        while let Some(row) = stack.pop() {
            let above = if self.is_bookkeeping(row) { parents[row.index()] } else { row };
            for &child in self.children_index().of(row) {
                parents[child.index()] = above;
                stack.push(child);
            }
        }
        let rows = self.live().filter(|&row| !self.is_bookkeeping(row));
        let children = self.sort_children(rows, |row| parents[row.index()]);
        Conversation { tree: self, parents, children }
    }

    fn is_bookkeeping(&self, row: Row) -> bool {
        matches!(self.node(row).kind(), Kind::Leaf | Kind::Label)
    }
}

impl Conversation<'_> {
    fn ids(&self, rows: &[Row]) -> Vec<EntryId> {
        rows.iter().map(|&row| self.tree.id(row)).collect()
    }

    /// Returns the parent of `id`; `None` for a root.
    ///
    /// # Errors
    ///
    /// Fails with [`Error::UnknownEntry`](crate::Error::UnknownEntry) if there is no entry with
    /// exactly this id.
    pub fn parent(&self, id: impl AsRef<str>) -> Result<Option<EntryId>> {
        let parent = self.parents[self.tree.find_row(id.as_ref())?.index()];
        Ok((parent != NONE).then(|| self.tree.id(parent)))
    }

    /// Returns the children of `id`, oldest first. A bookkeeping entry has none.
    ///
    /// # Errors
    ///
    /// Fails with [`Error::UnknownEntry`](crate::Error::UnknownEntry) if there is no entry with
    /// exactly this id.
    pub fn children(&self, id: impl AsRef<str>) -> Result<Vec<EntryId>> {
        Ok(self.ids(self.children.of(self.tree.find_row(id.as_ref())?)))
    }

    /// Returns the entries that have no parent, in file order.
    pub fn roots(&self) -> Vec<EntryId> {
        self.ids(self.children.roots())
    }

    /// Returns the entries without children, in file order: the ends of all branches.
    pub fn leaves(&self) -> Vec<EntryId> {
        let rows = self.tree.live().filter(|&row| !self.tree.is_bookkeeping(row));
        let ends = rows.filter(|&row| self.children.of(row).is_empty());
        ends.map(|row| self.tree.id(row)).collect()
    }

    /// Returns the entries with more than one child, in file order.
    pub fn branch_points(&self) -> Vec<EntryId> {
        let rows = self.tree.live().filter(|&row| self.children.of(row).len() > 1);
        rows.map(|row| self.tree.id(row)).collect()
    }

    /// Walks over every entry, parents before children, in the order of [`Tree::walk`]. Depths and
    /// parents are those of the conversation.
    pub fn walk(&self) -> TreeWalk<'_> {
        self.tree.walk_over(&self.children, Some(&self.parents))
    }

    /// Returns the roots with all their descendants.
    pub fn nested(&self) -> Vec<TreeNode<'_>> {
        TreeNode::nest(self.walk())
    }
}
