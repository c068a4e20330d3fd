//! The tree as nodes that own their children.

use super::Tree;
use super::walk::TreeItem;
use std::fmt;

/// An entry with all its descendants.
///
/// A tree may be a million entries deep, so code that walks over it should use a stack of its own, or
/// [`Tree::walk`], instead of recursion. Dropping a node does not recurse.
///
/// ```
/// use treering::{Message, Session};
/// let session = Session::in_memory("/project");
/// let question = session.append(Message::user("which way?"))?;
/// session.append(Message::assistant("acme", "m", "left"))?;
/// session.branch(&question)?;
/// session.append(Message::assistant("acme", "m", "right"))?;
///
/// let tree = session.tree();
/// let conversation = tree.conversation();
/// let roots = conversation.nested();
/// assert_eq!(question, roots[0].entry.id);
/// assert_eq!(roots[0].children.len(), 2);
/// # Ok::<(), treering::Error>(())
/// ```
#[non_exhaustive]
pub struct TreeNode<'a> {
    /// The entry.
    pub entry: TreeItem<'a>,
    /// The children of the entry, oldest first.
    pub children: Vec<TreeNode<'a>>,
}

impl fmt::Debug for TreeNode<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (entry, children) = (&self.entry, self.children.len());
        f.debug_struct("TreeNode").field("entry", entry).field("children", &children).finish()
    }
}

impl Drop for TreeNode<'_> {
    fn drop(&mut self) {
        let mut below = std::mem::take(&mut self.children);
        while let Some(mut node) = below.pop() {
            below.append(&mut node.children);
        }
    }
}

impl<'a> TreeNode<'a> {
    /// Converts the items of a walk to nested nodes.
    pub(super) fn nest(walk: impl Iterator<Item = TreeItem<'a>>) -> Vec<Self> {
        let mut roots = Vec::new();
        // The ancestors of the next item: as many as its depth.
        let mut path: Vec<TreeNode<'a>> = Vec::new();
        let close = |path: &mut Vec<TreeNode<'a>>, roots: &mut Vec<TreeNode<'a>>| {
            if let Some(node) = path.pop() {
                path.last_mut().map_or(&mut *roots, |above| &mut above.children).push(node);
            }
        };
        for entry in walk {
            while path.len() > entry.depth {
                close(&mut path, &mut roots);
            }
            path.push(TreeNode { entry, children: Vec::new() });
        }
        while !path.is_empty() {
            close(&mut path, &mut roots);
        }
        roots
    }
}

impl Tree {
    /// Returns the roots with all their descendants.
    pub fn nested(&self) -> Vec<TreeNode<'_>> {
        TreeNode::nest(self.walk())
    }
}
