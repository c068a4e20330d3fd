//! Merges another branch into this one, as a summary or as copies, and copies single messages.

use super::ask::SummaryAnswer;
use super::busy::Operation;
use super::late_entry::LateEntryKind;
use super::{AgentSession, find, read_blocking};
use crate::OwnFuture;
use crate::error::AgentError;
use crate::hooks::TreeMove;
use crate::summarizer::ModelError;
use tokio_util::sync::CancellationToken;
use treering::branch_summary::branch_budget;
use treering::merge::{Merge, MergePlan, MergeSummary, Selection};
use treering::usage::Usage;
use treering::{Entry, EntryId};

/// Options of a merge.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct MergeOptions {
    /// Whether the messages themselves are copied, instead of a summary of them.
    pub full: bool,
    /// Instructions for the summary.
    pub custom_instructions: Option<String>,
    /// The token that cancels the merge.
    pub cancel: CancellationToken,
}

impl MergeOptions {
    /// Returns the defaults.
    pub fn new() -> Self {
        MergeOptions::default()
    }

    /// Sets whether the messages themselves are copied, instead of a summary of them.
    #[must_use]
    pub fn full(self, full: bool) -> Self {
        MergeOptions { full, ..self }
    }

    /// Sets instructions for the summary.
    #[must_use]
    pub fn custom_instructions(self, custom_instructions: impl Into<String>) -> Self {
        MergeOptions { custom_instructions: Some(custom_instructions.into()), ..self }
    }

    /// Sets the token that cancels the merge.
    #[must_use]
    pub fn cancel(self, cancel: CancellationToken) -> Self {
        MergeOptions { cancel, ..self }
    }
}

/// The outcome of a merge.
#[derive(Debug, Clone)]
pub enum MergeOutcome {
    /// This branch already has all entries of the other one.
    NothingNew,
    /// The user aborted the merge.
    Aborted,
    /// The merge was written.
    Done(Box<MergedBranch>),
}

/// A merge that was written.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct MergedBranch {
    /// The summary, or the record of the copies. It is the new leaf, unless the leaf was moved to
    /// another branch while the summary was being written.
    pub entry: Entry,
    /// The copies, oldest first.
    pub copies: Vec<EntryId>,
    /// The entries that were merged.
    pub plan: MergePlan,
    /// The usage of the summary.
    pub usage: Option<Usage>,
}

impl AgentSession {
    /// Merges the entries that another branch has and this one lacks. A second merge adds only
    /// entries that are new since the first.
    ///
    /// ```
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// use treering::{Message, Session};
    /// use treering_agent::{AgentSession, MergeOptions, MergeOutcome};
    /// let agent = AgentSession::new(Session::in_memory("/project"));
    /// let question = agent.session().append(Message::user("Name a color."))?;
    /// let red = agent.session().append(Message::assistant("acme", "m", "Red."))?;
    /// agent.session().branch(&question)?;
    /// agent.session().append(Message::assistant("acme", "m", "Blue."))?;
    /// let MergeOutcome::Done(merged) = agent.merge(&red, MergeOptions::new().full(true)).await? else {
    ///     panic!()
    /// };
    /// assert_eq!(merged.copies.len(), 1);
    /// # Ok::<(), treering_agent::AgentError>(())
    /// # }).unwrap();
    /// ```
    pub async fn merge(
        &self,
        other: impl AsRef<str>,
        options: MergeOptions,
    ) -> Result<MergeOutcome, AgentError> {
        let done = self.merge_now(other.as_ref(), options).await;
        self.act().await;
        done
    }

    fn merge_now<'a>(
        &'a self,
        other: &'a str,
        options: MergeOptions,
    ) -> OwnFuture<'a, Result<MergeOutcome, AgentError>> {
        Box::pin(async move {
            let (guard, session) = self.begin(Operation::Merge, &options.cancel)?;
            let other = find(&session, other)?;
            let summarizer = if options.full { None } else { Some(self.summarizer()?) };
            let window = summarizer.as_ref().and_then(|summarizer| summarizer.context_window());
            let budget = branch_budget(window, self.settings().branch_reserve_tokens);
            let merge =
                read_blocking(&session, move |session| session.plan_merge(other.as_str(), budget));
            let plan = match merge.await? {
                Merge::NothingNew => return Ok(MergeOutcome::NothingNew),
                Merge::Ready(plan) => *plan,
            };
            let old_leaf = plan.into.clone();
            let (id, copies, usage) = if options.full {
                if guard.cancel.is_cancelled() {
                    return Ok(MergeOutcome::Aborted);
                }
                let merged = session.apply_merge(&plan)?;
                (merged.record, merged.copies, None)
            } else {
                let focus = options.custom_instructions.as_deref();
                let asked =
                    self.ask_about_branch(&guard.cancel, &plan.messages, focus, false).await;
                let SummaryAnswer { text, usage } = match asked {
                    Err(ModelError::Canceled) => return Ok(MergeOutcome::Aborted),
                    Err(error) => return Err(error.into()),
                    Ok(_) if guard.cancel.is_cancelled() => return Ok(MergeOutcome::Aborted),
                    Ok(answer) => answer,
                };
                let spent = usage.as_ref().map(Usage::to_json);
                let text = plan.compose(&text);
                let mut summary = MergeSummary::new(&text);
                summary.usage = spent.as_deref();
                let entry = plan.entry(summary)?;
                let attached = LateEntryKind::Reply.attach(&session, plan.into.as_ref(), &entry)?;
                (attached.id, Vec::new(), usage)
            };
            let entry = session.entry(id.as_str())?;
            let new_leaf = session.leaf();
            if new_leaf.as_ref() == Some(&id) {
                let summary_entry = (!options.full).then(|| entry.clone());
                let event = TreeMove { new_leaf, old_leaf, summary_entry, from_extension: false };
                self.hooks.session_tree(event, Some(&guard.cancel)).await;
            }
            Ok(MergeOutcome::Done(Box::new(MergedBranch { entry, copies, plan, usage })))
        })
    }

    /// Copies messages from other branches to this one, tool calls together with their results.
    /// Returns the copies.
    pub fn cherry_pick(&self, selection: &Selection) -> Result<Vec<EntryId>, AgentError> {
        let (_guard, session) = self.begin(Operation::Merge, &CancellationToken::new())?;
        Ok(session.cherry_pick(selection)?)
    }
}
