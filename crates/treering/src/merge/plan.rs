//! Merging: copies the entries that another branch has and this one lacks, or a summary of them.

use super::MERGE_TYPE;
use super::copy::{Copies, Repeated, Source, copies, is_conversation};
use super::known::KnownEntries;
use super::pick::PickPlan;
use super::target::Target;
use crate::branch_summary::{MERGE_SUMMARY_PREAMBLE, collect};
use crate::compaction::{FileOps, conversation_text};
use crate::context::ContextMessage;
use crate::entry::NewEntry;
use crate::error::{Error, Result};
use crate::id::EntryId;
use crate::json;
use crate::position::Position;
use crate::session::Session;
use crate::snapshot::Bodies;
use crate::tree::Row;

/// The result of planning a merge.
#[derive(Debug, Clone)]
pub enum Merge {
    /// There are entries to merge.
    Ready(Box<MergePlan>),
    /// This branch has all entries of the other one: they share the path, or the other one was
    /// merged before.
    NothingNew,
}

/// A planned merge: the entries that are new to this branch.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct MergePlan {
    /// The leaf that the merge was planned for; `None` is before the first entry.
    pub into: Option<EntryId>,
    /// The last entry of the branch that is merged.
    pub from: EntryId,
    /// The deepest entry that both paths share.
    pub common_ancestor: Option<EntryId>,
    /// The last entry of the other path that this branch already has, because both share it or
    /// because of an earlier merge.
    pub base: Option<EntryId>,
    /// The new entries, oldest first: the other path below `base`, without copies and merges of
    /// entries that this branch has.
    pub entries: Vec<EntryId>,
    /// The messages for a summarizer, oldest first: as many of the newest ones as fit the budget.
    pub messages: Vec<ContextMessage>,
    /// The estimated size of these messages.
    pub total_tokens: u64,
    /// The files that were read and changed.
    pub file_ops: FileOps,
}

/// The summary of a merged branch.
///
/// ```
/// use treering::merge::{Merge, MergeSummary};
/// use treering::{Message, Session};
/// let session = Session::in_memory("/project");
/// let start = session.append(Message::user("Name a color."))?;
/// let red = session.append(Message::assistant("acme", "m", "Red."))?;
/// session.branch(&start)?;
/// session.append(Message::assistant("acme", "m", "Blue."))?;
/// let Merge::Ready(plan) = session.plan_merge(&red, 10_000)? else { panic!() };
/// session.apply_merge_summary(&plan, MergeSummary::new("The other answer was red."))?;
/// assert_eq!(session.context()?.messages.len(), 3);
/// # Ok::<(), treering::Error>(())
/// ```
#[derive(Debug, Clone, Copy, Default)]
#[non_exhaustive]
pub struct MergeSummary<'a> {
    /// The summary to store: see [`MergePlan::compose`].
    pub text: &'a str,
    /// The usage of the summary, as JSON.
    pub usage: Option<&'a [u8]>,
    /// A JSON object of the caller; the lists of files if `None`. The record of the merge is added
    /// to it.
    pub details: Option<&'a [u8]>,
    /// Whether a hook wrote the summary.
    pub from_hook: bool,
}

impl<'a> MergeSummary<'a> {
    /// Creates a summary of unknown usage, with the lists of files as its details.
    pub fn new(text: &'a str) -> Self {
        MergeSummary { text, ..MergeSummary::default() }
    }

    /// Sets the usage of the summary, as JSON.
    #[must_use]
    pub fn usage(self, usage: &'a [u8]) -> Self {
        MergeSummary { usage: Some(usage), ..self }
    }

    /// Sets the details, a JSON object of the caller.
    #[must_use]
    pub fn details(self, details: &'a [u8]) -> Self {
        MergeSummary { details: Some(details), ..self }
    }

    /// Marks the summary as written by a hook.
    #[must_use]
    pub fn from_hook(self) -> Self {
        MergeSummary { from_hook: true, ..self }
    }
}

/// The result of a merge by copies.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Merged {
    /// The copies, oldest first.
    pub copies: Vec<EntryId>,
    /// The entry that records the merge, which is the new leaf.
    pub record: EntryId,
}

impl MergePlan {
    /// Returns whether the other branch continues where this one ends. Moving the leaf there then
    /// has the same effect without copies.
    pub fn is_continuation(&self) -> bool {
        self.common_ancestor == self.into
    }

    /// Returns the messages as text for a summarizer.
    pub fn conversation(&self) -> String {
        conversation_text(&self.messages)
    }

    /// Returns the summary to store, made of a summarizer's answer.
    pub fn compose(&self, answer: &str) -> String {
        format!("{MERGE_SUMMARY_PREAMBLE}{answer}{}", self.file_ops.lists().to_text())
    }

    /// Returns the entry of a merge by summary, without a parent: it should be appended below
    /// [`into`](MergePlan::into), or below entries that were appended to that branch since.
    ///
    /// # Errors
    ///
    /// Fails with [`Error::InvalidEntry`] if the details are not a JSON object, or the usage is not
    /// JSON.
    pub fn entry(&self, summary: MergeSummary<'_>) -> Result<NewEntry> {
        let mut entry = NewEntry::branch_summary(Some(&self.from), summary.text)
            .with("details", &self.details(summary.details)?)?;
        if let Some(usage) = summary.usage {
            entry = entry.with("usage", usage)?;
        }
        if summary.from_hook {
            entry = entry.with("fromHook", b"true")?;
        }
        Ok(entry)
    }

    /// Returns the record that later merges read: `{"from":…,"base":…}`.
    fn record(&self) -> Vec<u8> {
        let base = self.base.as_ref().map_or(b"null".to_vec(), |base| json::quoted(base.as_str()));
        let record = json::with_member(b"{}", "from", &json::quoted(self.from.as_str()));
        json::with_member(&record, "base", &base)
    }

    fn details(&self, own: Option<&[u8]>) -> Result<Vec<u8>> {
        let details = match own {
            Some(own) => own.trim_ascii().to_vec(),
            None => self.file_ops.lists().to_json(),
        };
        let is_whole = json::skip_value(&details, 0) == Some(details.len());
        match details.starts_with(b"{") && is_whole {
            true => Ok(json::with_member(&details, "merge", &self.record())),
            false => Err(Error::InvalidEntry("details must be a JSON object".into())),
        }
    }
}

/// Merging branches.
impl Session {
    /// Plans the merge of the branch that ends at a position into this one, with as many of its
    /// newest messages for a summarizer as fit into `budget` tokens (see
    /// [`branch_budget`](crate::branch_summary::branch_budget)). Changes nothing.
    ///
    /// # Errors
    ///
    /// Fails with [`Error::UnknownEntry`] if the session does not have the entry, and if the file
    /// cannot be read.
    ///
    /// ```
    /// use treering::{Message, Session};
    /// use treering::merge::Merge;
    /// let session = Session::in_memory("/project");
    /// let start = session.append(Message::user("Name a color."))?;
    /// let red = session.append(Message::assistant("acme", "m", "Red."))?;
    /// session.branch(&start)?;
    /// session.append(Message::assistant("acme", "m", "Blue."))?;
    ///
    /// let Merge::Ready(plan) = session.plan_merge(&red, 0)? else { unreachable!() };
    /// assert_eq!(plan.entries, [red.clone()]);
    /// session.apply_merge(&plan)?;
    /// assert!(matches!(session.plan_merge(&red, 0)?, Merge::NothingNew));
    /// # Ok::<(), treering::Error>(())
    /// ```
    pub fn plan_merge(&self, from: impl Into<Position>, budget: u64) -> Result<Merge> {
        let (view, [leaf, other]) = self.view_at_both(&Position::Leaf, &from.into())?;
        let (tree, session) = (view.tree(), self.id().to_string());
        let Some(other) = other else { return Ok(Merge::NothingNew) };
        let known = KnownEntries::at(&view, &session, leaf)?;
        let mut bodies = Bodies::default();
        let (mut base, mut rows) = (None, Vec::new());
        for row in tree.path_rows(other) {
            if known.has_reached(row) {
                base = Some(tree.id(row));
            } else if !known.has(&mut bodies, row)? {
                rows.push(row);
            }
        }
        if !rows.iter().any(|&row| is_conversation(tree, row)) {
            return Ok(Merge::NothingNew);
        }
        let common_ancestor = match leaf {
            Some(leaf) => tree.common_ancestor_row(leaf, other).map(|row| tree.id(row)),
            None => None,
        };
        let mut file_ops = FileOps::default();
        let (messages, total_tokens) = collect(&view, &rows, budget, &mut file_ops)?;
        Ok(Merge::Ready(Box::new(MergePlan {
            into: leaf.map(|leaf| tree.id(leaf)),
            from: tree.id(other),
            common_ancestor,
            base,
            entries: rows.into_iter().map(|row| tree.id(row)).collect(),
            messages,
            total_tokens,
            file_ops,
        })))
    }

    /// Merges by summary: appends one branch summary to the leaf that the plan was made for, with a
    /// record of the merge in its `details`. Returns its id.
    ///
    /// # Errors
    ///
    /// Fails with [`Error::LeafMoved`] if the session's leaf has moved since: the summary can be used
    /// with a new plan. Fails with [`Error::InvalidEntry`] if the details are not a JSON object, and as
    /// [`append`](Session::append) does.
    pub fn apply_merge_summary(
        &self,
        plan: &MergePlan,
        summary: MergeSummary<'_>,
    ) -> Result<EntryId> {
        let mut ids = self.append_planned(plan.into.as_ref(), &[plan.entry(summary)?])?;
        ids.pop().ok_or_else(|| Error::InvalidEntry("nothing to append".into()))
    }

    /// Plans [`apply_merge`](Session::apply_merge) and changes nothing.
    ///
    /// # Errors
    ///
    /// Fails with [`Error::UnknownEntry`] if the plan was made for another session, and if the file
    /// cannot be read.
    pub fn plan_merge_copies(&self, plan: &MergePlan) -> Result<PickPlan> {
        Ok(PickPlan::new(plan.into.clone(), self.merge_copies(plan)?))
    }

    /// Merges by copies: appends the new entries, as [`cherry_pick`](Session::cherry_pick) would
    /// copy them, and a record of the merge, in one write to the leaf that the plan was made for. If
    /// a crash interrupts the write, there is no record, and the next merge copies the rest.
    ///
    /// # Errors
    ///
    /// Fails with [`Error::LeafMoved`] if the session's leaf has moved since, and as
    /// [`append`](Session::append) does.
    ///
    /// ```
    /// use treering::merge::Merge;
    /// use treering::{Message, Session};
    /// let session = Session::in_memory("/project");
    /// let start = session.append(Message::user("Name a color."))?;
    /// let red = session.append(Message::assistant("acme", "m", "Red."))?;
    /// session.branch(&start)?;
    /// session.append(Message::assistant("acme", "m", "Blue."))?;
    /// let Merge::Ready(plan) = session.plan_merge(&red, 10_000)? else { panic!() };
    /// let merged = session.apply_merge(&plan)?;
    /// let origin = session.entry(&merged.copies[0])?.copied_from().unwrap();
    /// assert_eq!(origin.entry, red);
    /// # Ok::<(), treering::Error>(())
    /// ```
    pub fn apply_merge(&self, plan: &MergePlan) -> Result<Merged> {
        self.check_writable()?;
        let copies = self.merge_copies(plan)?;
        let mut entries = copies.to_entries(plan.into.clone(), |count| self.fresh_ids(count))?;
        entries.push(NewEntry::custom(MERGE_TYPE, Some(&plan.record()))?);
        let mut ids = self.append_planned(plan.into.as_ref(), &entries)?;
        let record = ids.pop().ok_or_else(|| Error::InvalidEntry("nothing to append".into()))?;
        ids.truncate(copies.entries.len());
        Ok(Merged { copies: ids, record })
    }

    fn merge_copies(&self, plan: &MergePlan) -> Result<Copies> {
        let (view, session) = (self.view(), self.id().to_string());
        let tree = view.tree();
        let row =
            |id: &EntryId| tree.row(id.as_str()).ok_or_else(|| Error::UnknownEntry(id.to_string()));
        let leaf = plan.into.as_ref().map(row).transpose()?;
        let path = tree.path_rows(row(&plan.from)?);
        let mut new =
            plan.entries.iter().map(row).collect::<Result<Vec<Row>>>()?.into_iter().peekable();
        // Both lists are in the order of the path.
        let chosen = path.iter().map(|row| new.next_if_eq(row).is_some()).collect();
        let target = Target::new(view.clone(), session.clone(), leaf)?;
        let source = Source { view, session };
        copies(&source, path, chosen, &target, Repeated::Skipped)
    }
}
