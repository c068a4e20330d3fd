//! Cherry-picking: copies entries of another branch to the leaf.

use super::copy::{Copies, Repeated, Source, copies, is_conversation};
use super::target::Target;
use crate::error::{Error, Result};
use crate::id::EntryId;
use crate::session::Session;

/// The entries to copy: one, or all from one entry to another below it.
///
/// ```
/// use treering::EntryId;
/// use treering::merge::Selection;
/// let id = EntryId::from("a1");
/// assert_eq!(Selection::entry(&id), Selection::range(&id, &id));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Selection {
    from: EntryId,
    to: EntryId,
}

impl Selection {
    /// Selects one entry.
    pub fn entry(id: impl Into<EntryId>) -> Self {
        let id = id.into();
        Selection { from: id.clone(), to: id }
    }

    /// Selects the entries on the path from `from` to `to`, both included.
    pub fn range(from: impl Into<EntryId>, to: impl Into<EntryId>) -> Self {
        Selection { from: from.into(), to: to.into() }
    }
}

impl From<&EntryId> for Selection {
    fn from(id: &EntryId) -> Self {
        Selection::entry(id)
    }
}

/// A planned cherry-pick: the entries it would copy.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct PickPlan {
    /// The leaf that the cherry-pick was planned for.
    pub into: Option<EntryId>,
    /// The entries to copy, in order, by their ids in the source.
    pub entries: Vec<EntryId>,
    /// Entries among them that were not selected: a call is copied with its results, and a result
    /// with its call.
    pub companions: Vec<EntryId>,
    /// Selected entries that are already on the path, each with its counterpart there.
    pub skipped: Vec<(EntryId, EntryId)>,
    /// Selected entries that are not part of a conversation: settings, labels, prompts,
    /// compactions, entries that cannot be read.
    pub left_out: Vec<EntryId>,
    /// Tool calls without a result, each with its entry.
    /// [`Pairing::Strict`](crate::provider::Pairing::Strict) adds results for them.
    pub unanswered: Vec<(EntryId, String)>,
    /// The estimated size of the entries to copy.
    pub tokens: u64,
    copies: Copies,
}

impl PickPlan {
    pub(super) fn new(into: Option<EntryId>, copies: Copies) -> Self {
        let companions = copies.entries.iter().filter(|copy| copy.is_companion);
        PickPlan {
            into,
            entries: copies.entries.iter().map(|copy| copy.source.clone()).collect(),
            companions: companions.map(|copy| copy.source.clone()).collect(),
            skipped: copies.skipped.clone(),
            left_out: copies.left_out.clone(),
            unanswered: copies.unanswered.clone(),
            tokens: copies.tokens,
            copies,
        }
    }

    /// Returns whether there is nothing to copy.
    pub fn is_empty(&self) -> bool {
        self.copies.entries.is_empty()
    }
}

/// Cherry-picking.
impl Session {
    /// Copies entries of other branches to the leaf, in one write: all or none. Messages, messages
    /// of extensions and branch summaries are copied, byte for byte, with a member `copiedFrom`
    /// that names the original. Tool calls are copied with their results. Entries that are already
    /// on the path are not copied again. Returns the ids of the copies.
    ///
    /// # Errors
    ///
    /// As [`plan_pick`](Session::plan_pick) and [`apply_pick`](Session::apply_pick).
    ///
    /// ```
    /// use treering::{Message, Session};
    /// use treering::merge::Selection;
    /// let session = Session::in_memory("/project");
    /// let start = session.append(Message::user("Name a color."))?;
    /// let red = session.append(Message::assistant("acme", "m", "Red."))?;
    /// session.branch(&start)?;
    /// session.append(Message::assistant("acme", "m", "Blue."))?;
    ///
    /// let copies = session.cherry_pick(&Selection::entry(&red))?;
    /// let copy = session.entry(&copies[0])?;
    /// assert_eq!(copy.copied_from().unwrap().entry, red);
    /// assert_eq!(session.context()?.messages.len(), 3);
    /// # Ok::<(), treering::Error>(())
    /// ```
    pub fn cherry_pick(&self, selection: &Selection) -> Result<Vec<EntryId>> {
        self.cherry_pick_from(self, selection)
    }

    /// Copies entries of another session to the leaf, as [`cherry_pick`](Session::cherry_pick) does.
    ///
    /// # Errors
    ///
    /// As [`plan_pick`](Session::plan_pick) and [`apply_pick`](Session::apply_pick).
    pub fn cherry_pick_from(
        &self,
        source: &Session,
        selection: &Selection,
    ) -> Result<Vec<EntryId>> {
        self.apply_pick(&self.plan_pick(source, selection, Repeated::Skipped)?)
    }

    /// Plans a cherry-pick from `source` (which may be this session) and changes nothing.
    ///
    /// # Errors
    ///
    /// Fails with [`Error::UnknownEntry`] if `source` does not have a selected entry, with
    /// [`Error::NotOnPath`] if the first one is not above the last one, and with
    /// [`Error::NotPickable`] if none of them is part of a conversation.
    ///
    /// ```
    /// use treering::merge::{Repeated, Selection};
    /// use treering::{Message, Session};
    /// let (from, to) = (Session::in_memory("/project"), Session::in_memory("/project"));
    /// let id = from.append(Message::user("Mind the gap."))?;
    /// let plan = to.plan_pick(&from, &Selection::from(&id), Repeated::Skipped)?;
    /// assert_eq!(to.apply_pick(&plan)?.len(), 1);
    /// # Ok::<(), treering::Error>(())
    /// ```
    pub fn plan_pick(
        &self,
        source: &Session,
        selection: &Selection,
        repeated: Repeated,
    ) -> Result<PickPlan> {
        self.check_writable()?;
        let source = Source { view: source.view(), session: source.id().to_string() };
        let tree = source.view.tree();
        let (from, to) =
            (tree.find_row(selection.from.as_str())?, tree.find_row(selection.to.as_str())?);
        let path = tree.path_rows(to);
        let Some(start) = path.iter().position(|&row| row == from) else {
            return Err(Error::NotOnPath { entry: tree.id(from), leaf: Some(tree.id(to)) });
        };
        if !path[start..].iter().any(|&row| is_conversation(tree, row)) {
            let reason = "it is not part of a conversation: only messages and branch summaries are";
            return Err(Error::NotPickable { entry: tree.id(to), reason });
        }
        let chosen = (0..path.len()).map(|at| at >= start).collect();
        let (view, leaf) = self.view_and_leaf()?;
        let target = Target::new(view, self.id().to_string(), leaf)?;
        let copies = copies(&source, path, chosen, &target, repeated)?;
        Ok(PickPlan::new(target.leaf(), copies))
    }

    /// Appends the planned copies, in order, to the leaf they were planned for. Returns their ids;
    /// copied context edits follow them.
    ///
    /// # Errors
    ///
    /// Fails with [`Error::LeafMoved`] if the session's leaf has moved since, and as
    /// [`append`](Session::append) does.
    pub fn apply_pick(&self, pick: &PickPlan) -> Result<Vec<EntryId>> {
        let entries = pick.copies.to_entries(pick.into.clone(), |count| self.fresh_ids(count))?;
        let mut ids = self.append_planned(pick.into.as_ref(), &entries)?;
        ids.truncate(pick.copies.entries.len());
        Ok(ids)
    }
}
