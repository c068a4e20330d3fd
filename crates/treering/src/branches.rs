//! The branches of a session: one for every leaf of its tree that ends a conversation.
//!
//! A label or a pointer that was written at a place where the conversation later went on is a leaf of
//! the tree, too, but nobody would call it a branch.

use crate::entry::{Kind, Role};
use crate::error::Result;
use crate::id::EntryId;
use crate::session::Session;
use crate::tree::Tree;

/// A branch: the path to one leaf.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Branch {
    /// Its last entry.
    pub leaf: EntryId,
    /// Whether the session's leaf is its last entry.
    pub is_active: bool,
    /// Where it leaves the others; `None` if it shares nothing with any.
    pub branch_point: Option<EntryId>,
    /// How many entries only it has.
    pub own_entries: usize,
    /// How many messages of the user and the model only it has.
    pub own_messages: usize,
    /// When its last entry was written, in milliseconds.
    pub time: Option<i64>,
    /// The label nearest to its end, among the entries only it has.
    pub label: Option<String>,
}

impl Session {
    /// The branches, the latest first.
    ///
    /// ```
    /// use treering::{Message, Session};
    /// let session = Session::in_memory("/project");
    /// let question = session.append(Message::user("Name a colour."))?;
    /// let red = session.append(Message::assistant("acme", "m", "Red."))?;
    /// session.branch(question.as_str())?;
    /// let blue = session.append(Message::assistant("acme", "m", "Blue."))?;
    /// let branches = session.branches()?;
    /// assert_eq!(branches.iter().map(|branch| &branch.leaf).collect::<Vec<_>>(), [&blue, &red]);
    /// assert!(branches[0].is_active);
    /// assert_eq!(branches[1].branch_point, Some(question));
    /// # Ok::<(), treering::Error>(())
    /// ```
    pub fn branches(&self) -> Result<Vec<Branch>> {
        let (tree, leaf) = (self.tree(), self.leaf());
        let active = leaf.map(|leaf| tree.find_row(leaf.as_str())).transpose()?;
        Ok(branches(&tree, active))
    }
}

fn branches(tree: &Tree, active: Option<u32>) -> Vec<Branch> {
    let continuations = tree.continuations();
    let ends = |row: u32| continuations.get(row as usize).copied() == Some(0);
    let splits = |row: u32| continuations.get(row as usize).is_some_and(|count| *count > 1);
    let mut branches: Vec<(u32, Branch)> = Vec::new();
    for leaf in tree.live().filter(|&row| ends(row) && tree.node(row).kind() != Kind::Leaf) {
        let mut own: Vec<u32> = Vec::new();
        let mut branch_point = None;
        for row in tree.ancestors(leaf) {
            if splits(row) {
                branch_point = Some(row);
                break;
            }
            own.push(row);
        }
        let is_active = active == Some(leaf);
        let speaks = |&row: &u32| is_conversation(tree.node(row).kind());
        if !is_active && !own.iter().any(speaks) {
            continue;
        }
        let spoken =
            |&&row: &&u32| matches!(tree.node(row).role(), Some(Role::User | Role::Assistant));
        let label = own.iter().find_map(|&row| tree.label(tree.id_text(row)));
        let branch = Branch {
            leaf: tree.id(leaf),
            is_active,
            branch_point: branch_point.map(|row| tree.id(row)),
            own_entries: own.len(),
            own_messages: own.iter().filter(spoken).count(),
            time: own.iter().find_map(|&row| tree.node(row).time()),
            label: label.map(str::to_owned),
        };
        branches.push((leaf, branch));
    }
    // In the order of the file where times are missing or equal.
    branches.sort_by_key(|(row, branch)| std::cmp::Reverse((branch.time, *row)));
    branches.into_iter().map(|(_, branch)| branch).collect()
}

fn is_conversation(kind: Kind) -> bool {
    matches!(kind, Kind::Message | Kind::CustomMessage | Kind::BranchSummary | Kind::Compaction)
}

#[cfg(test)]
mod tests {
    use crate::entry::Message;
    use crate::session::Session;

    #[test]
    fn a_leaf_inside_a_branch_is_active_nowhere_and_labels_are_no_branches() {
        let session = Session::in_memory("/p");
        let a = session.append(Message::user("a")).unwrap();
        session.label(a.as_str(), Some("start")).unwrap();
        session.branch(a.as_str()).unwrap();
        let b = session.append(Message::assistant("p", "m", "b")).unwrap();
        let c = session.append(Message::user("c")).unwrap();
        let leaves = |session: &Session| -> Vec<_> {
            session
                .branches()
                .unwrap()
                .into_iter()
                .map(|branch| (branch.leaf, branch.own_messages))
                .collect()
        };
        assert_eq!(leaves(&session), [(c.clone(), 2)]);
        session.branch(b.as_str()).unwrap();
        let branches = session.branches().unwrap();
        assert_eq!(branches.len(), 1);
        assert!(!branches[0].is_active);
        let d = session.append(Message::user("d")).unwrap();
        session.label(d.as_str(), Some("try")).unwrap();
        let branches = session.branches().unwrap();
        assert_eq!(branches.len(), 2);
        assert_eq!(branches[0].label.as_deref(), Some("try"));
        assert_eq!(branches[0].branch_point.as_ref(), Some(&b));
        assert_eq!((branches[0].own_entries, branches[0].own_messages), (2, 1));
        assert!(branches[0].is_active && !branches[1].is_active);
    }
}
