//! Compares two branches since they parted.
//!
//! Both are paths of one session, or of two sessions of one family: a fork keeps the ids of its
//! source. They share their beginning; the rest of each is counted.

use crate::compaction::{FileOps, estimate_tokens};
use crate::context::{Edits, contributes};
use crate::entry::{Kind, MessageView, Role};
use crate::error::Result;
use crate::id::EntryId;
use crate::merge::same;
use crate::position::Position;
use crate::session::Session;
use crate::snapshot::{Bodies, Snapshot};
use crate::tree::Row;
use crate::usage::{self, Usage};

/// A comparison of two branches.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Diff {
    /// The deepest entry that both branches have.
    pub common_ancestor: Option<EntryId>,
    /// The first branch, below the common ancestor.
    pub a: Side,
    /// The second branch, below the common ancestor.
    pub b: Side,
}

/// The entries of one branch that the other does not have.
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
pub struct Side {
    /// The entries, oldest first.
    pub entries: Vec<EntryId>,
    /// The number of messages and summaries among them.
    pub messages: usize,
    /// The files that were read and changed.
    pub file_ops: FileOps,
    /// The estimated size of its messages.
    pub tokens: u64,
    /// The usage of these entries, each event counted once. The usage of a copy counts at its
    /// original.
    pub usage: Usage,
}

/// Comparing branches.
impl Session {
    /// Compares the branches that end at two positions.
    ///
    /// # Errors
    ///
    /// Fails with [`Error::UnknownEntry`](crate::Error::UnknownEntry) if the session does not have
    /// the entry, and if the file cannot be read.
    ///
    /// ```
    /// use treering::{Message, Session};
    /// let session = Session::in_memory("/project");
    /// let start = session.append(Message::user("Name a color."))?;
    /// let red = session.append(Message::assistant("acme", "m", "Red."))?;
    /// session.branch(&start)?;
    /// let blue = session.append(Message::assistant("acme", "m", "Blue."))?;
    /// let diff = session.diff(&red, &blue)?;
    /// assert_eq!(diff.common_ancestor, Some(start));
    /// assert_eq!((diff.a.entries, diff.b.messages), (vec![red], 1));
    /// # Ok::<(), treering::Error>(())
    /// ```
    pub fn diff(&self, a: impl Into<Position>, b: impl Into<Position>) -> Result<Diff> {
        self.diff_with(a, self, b)
    }

    /// Compares branches of two sessions: `a` is a position in this one, `b` in `other`.
    pub fn diff_with(
        &self,
        a: impl Into<Position>,
        other: &Session,
        b: impl Into<Position>,
    ) -> Result<Diff> {
        let ((here, a), (there, b)) = (self.view_at(&a.into())?, other.view_at(&b.into())?);
        let a = a.map(|row| here.tree().path_rows(row)).unwrap_or_default();
        let b = b.map(|row| there.tree().path_rows(row)).unwrap_or_default();
        let is_shared = |(a, b): &(&Row, &Row)| same(&here, **a, &there, **b);
        let shared = a.iter().zip(&b).take_while(is_shared).count();
        let common = shared.checked_sub(1).and_then(|last| a.get(last));
        Ok(Diff {
            common_ancestor: common.map(|&row| here.tree().id(row)),
            a: Side::of(&here, a.get(shared..).unwrap_or_default())?,
            b: Side::of(&there, b.get(shared..).unwrap_or_default())?,
        })
    }
}

impl Side {
    fn of(view: &Snapshot, rows: &[Row]) -> Result<Self> {
        let tree = view.tree();
        let mut side = Side { usage: usage::of_rows(view, rows)?, ..Side::default() };
        let mut bodies = Bodies::default();
        let edits = Edits::of_rows(view, &mut bodies, &[])?;
        for &row in rows {
            side.entries.push(tree.id(row));
            if !contributes(tree, row) {
                continue;
            }
            side.messages += 1;
            for message in edits.project(view, &mut bodies, row)? {
                side.take(&message.json);
            }
            if tree.node(row).kind() == Kind::BranchSummary
                && let Some(body) = bodies.any(view, row)?
            {
                side.file_ops.carry_on(&body);
            }
        }
        Ok(side)
    }

    fn take(&mut self, message: &[u8]) {
        self.tokens += estimate_tokens(message);
        match MessageView::new(message).role() {
            Role::Assistant => self.file_ops.take_answer(message),
            Role::ToolResult => self.file_ops.take_result(message),
            _ => {}
        }
    }
}
