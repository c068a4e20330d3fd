//! Moves the leaf of a session.

use super::busy::{Guard, Operation};
use super::{AgentSession, find, read_blocking};
use crate::OwnFuture;
use crate::error::AgentError;
use crate::hooks::{BeforeTree, HookOutcome, SuppliedSummary, TreeMove, TreeOverride};
use std::sync::Arc;
use tokio_util::sync::CancellationToken;
use treering::branch_summary::{AbandonedBranch, branch_budget};
use treering::compaction::SummarySource;
use treering::entry::Body;
use treering::usage::{Branch, Usage};
use treering::{Entry, EntryId, NewEntry, Role, Session};

/// Options of [`AgentSession::navigate`].
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct NavigateOptions {
    /// Whether the target always becomes the leaf itself. By default the leaf moves before a user
    /// message, so that it can be edited and sent again.
    pub exact: bool,
    /// Whether the summarizer is asked for a summary of the abandoned branch.
    pub summarize: bool,
    /// An existing summary of the abandoned branch. It is written, and the summarizer is not asked.
    pub given_summary: Option<String>,
    /// Instructions for the summarizer.
    pub custom_instructions: Option<String>,
    /// Whether the instructions replace the usual ones instead of following them.
    pub replace_instructions: bool,
    /// A label for the summary, or for the target if there is no summary.
    pub label: Option<String>,
    /// The token that cancels the navigation.
    pub cancel: CancellationToken,
}

impl NavigateOptions {
    /// Returns the defaults.
    pub fn new() -> Self {
        NavigateOptions::default()
    }

    /// Sets whether the summarizer is asked for a summary of the abandoned branch.
    #[must_use]
    pub fn summarize(self, summarize: bool) -> Self {
        NavigateOptions { summarize, ..self }
    }

    /// Sets an existing summary of the abandoned branch.
    #[must_use]
    pub fn given_summary(self, given_summary: impl Into<String>) -> Self {
        NavigateOptions { given_summary: Some(given_summary.into()), ..self }
    }

    /// Sets instructions for the summarizer.
    #[must_use]
    pub fn custom_instructions(self, custom_instructions: impl Into<String>) -> Self {
        NavigateOptions { custom_instructions: Some(custom_instructions.into()), ..self }
    }

    /// Sets whether the instructions replace the usual ones.
    #[must_use]
    pub fn replace_instructions(self, replace_instructions: bool) -> Self {
        NavigateOptions { replace_instructions, ..self }
    }

    /// Sets a label for the summary, or for the target if there is no summary.
    #[must_use]
    pub fn label(self, label: impl Into<String>) -> Self {
        NavigateOptions { label: Some(label.into()), ..self }
    }

    /// Sets the token that cancels the navigation.
    #[must_use]
    pub fn cancel(self, cancel: CancellationToken) -> Self {
        NavigateOptions { cancel, ..self }
    }
}

impl NavigateOptions {
    /// Returns options that make the target itself the leaf.
    pub fn exact() -> Self {
        NavigateOptions { exact: true, ..NavigateOptions::default() }
    }
}

/// The outcome of [`AgentSession::navigate`].
#[derive(Debug, Clone)]
pub enum Navigation {
    /// The target is already the leaf.
    AlreadyThere,
    /// A handler canceled the navigation.
    Canceled {
        /// The name that the handler was registered with.
        hook: Arc<str>,
    },
    /// The caller aborted the navigation.
    Aborted,
    /// The leaf has moved.
    Moved(Box<Moved>),
}

/// A completed move of the leaf.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Moved {
    /// The new leaf; `None` before the first entry.
    pub new_leaf: Option<EntryId>,
    /// The leaf before the move.
    pub old_leaf: Option<EntryId>,
    /// The text of the user message that was navigated to, for the editor.
    pub editor_text: Option<String>,
    /// The summary of the abandoned branch.
    pub summary: Option<Entry>,
    /// The usage of the summary.
    pub usage: Option<Usage>,
}

/// A move that has not been written yet.
struct PendingMove {
    target: EntryId,
    /// The leaf after the move.
    destination: Option<EntryId>,
    editor_text: Option<String>,
    options: NavigateOptions,
}

impl PendingMove {
    /// Applies the changes of handlers. Returns their summary unless it is blank.
    fn apply_override(&mut self, wish: TreeOverride) -> Option<SuppliedSummary> {
        let options = &mut self.options;
        options.custom_instructions =
            wish.custom_instructions.or(options.custom_instructions.take());
        options.replace_instructions =
            wish.replace_instructions.unwrap_or(options.replace_instructions);
        options.label = wish.label.or(options.label.take());
        wish.summary.filter(|summary| !summary.text.trim().is_empty())
    }
}

impl AgentSession {
    /// Moves the leaf to an entry. At a user message, or a message of an extension, the leaf
    /// becomes its parent and its text is returned for the editor, unless
    /// [`NavigateOptions::exact`] is set; any other entry becomes the leaf itself. See
    /// [`NavigateOptions`] for summaries of the abandoned branch.
    ///
    /// # Errors
    ///
    /// Fails without moving the leaf if another operation is running, the entry does not exist, the
    /// session cannot be written, or the summary fails.
    ///
    /// ```
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// use treering::{Message, Session};
    /// use treering_agent::{AgentSession, NavigateOptions, Navigation};
    /// let agent = AgentSession::new(Session::in_memory("/project"));
    /// let question = agent.session().append(Message::user("Name a color."))?;
    /// agent.session().append(Message::assistant("acme", "m", "Red."))?;
    /// let Navigation::Moved(moved) = agent.navigate(&question, NavigateOptions::new()).await? else {
    ///     panic!()
    /// };
    /// assert_eq!((moved.new_leaf, moved.editor_text.as_deref()), (None, Some("Name a color.")));
    /// # Ok::<(), treering_agent::AgentError>(())
    /// # }).unwrap();
    /// ```
    pub async fn navigate(
        &self,
        target: impl AsRef<str>,
        options: NavigateOptions,
    ) -> Result<Navigation, AgentError> {
        let done = self.navigate_only(target.as_ref(), options).await;
        self.act().await;
        done
    }

    /// Moves the leaf, without carrying out the actions that handlers requested.
    pub(super) fn navigate_only<'a>(
        &'a self,
        target: &'a str,
        mut options: NavigateOptions,
    ) -> OwnFuture<'a, Result<Navigation, AgentError>> {
        Box::pin(async move {
            let (guard, session) = self.begin(Operation::Navigation, &options.cancel)?;
            options.given_summary = options.given_summary.filter(|text| !text.trim().is_empty());
            let target = find(&session, target)?;
            let (destination, editor_text) = match options.exact {
                true => (Some(target.clone()), None),
                false => destination(&session, &target)?,
            };
            let pending = PendingMove { target, destination, editor_text, options };
            self.run_navigation(guard, session, pending).await
        })
    }

    /// Navigates to an entry and always summarizes the abandoned branch, ignoring
    /// [`NavigateOptions::summarize`].
    ///
    /// # Errors
    ///
    /// Fails as [`navigate`](AgentSession::navigate) does.
    pub async fn pop(
        &self,
        target: impl AsRef<str>,
        options: NavigateOptions,
    ) -> Result<Navigation, AgentError> {
        self.navigate(target, options.summarize(true)).await
    }

    /// Navigates to the previous user message and summarizes the abandoned branch.
    ///
    /// # Errors
    ///
    /// Fails as [`navigate`](AgentSession::navigate) does, and with [`AgentError::NothingToPop`] if
    /// there is no earlier user message.
    pub async fn pop_previous(&self, options: NavigateOptions) -> Result<Navigation, AgentError> {
        let target = previous_user_message(&self.session())?;
        self.pop(target, options).await
    }

    /// Returns the branches of the session, the latest first.
    pub fn branches(&self) -> Result<Vec<Branch>, AgentError> {
        Ok(self.session().branches()?)
    }

    async fn run_navigation(
        &self,
        guard: Guard<'_>,
        session: Arc<Session>,
        mut pending: PendingMove,
    ) -> Result<Navigation, AgentError> {
        let old_leaf = session.leaf();
        if old_leaf.as_ref() == Some(&pending.target) {
            return Ok(Navigation::AlreadyThere);
        }
        let wants_summary = pending.options.summarize || pending.options.given_summary.is_some();
        if pending.options.summarize {
            self.summarizer()?;
        }
        let branch = self.abandoned_branch(&session, &pending, old_leaf.clone()).await?;
        let before = before_tree(&session, &pending, old_leaf.clone(), &branch, wants_summary);
        let supplied = match self.hooks.session_before_tree(before, &guard.cancel).await {
            HookOutcome::Aborted => return Ok(Navigation::Aborted),
            HookOutcome::Canceled { hook } => return Ok(Navigation::Canceled { hook }),
            HookOutcome::Proceed(None) => None,
            HookOutcome::Proceed(Some(other)) => {
                pending.apply_override(other).filter(|_| wants_summary)
            }
        };
        let summary = self.summary_entry(&guard, &pending, &branch, old_leaf.as_ref(), &supplied);
        let (summary, usage) = match summary.await {
            Ok(summary) => summary,
            Err(error) if error.is_canceled() => return Ok(Navigation::Aborted),
            Err(error) => return Err(error),
        };
        if guard.cancel.is_cancelled() {
            return Ok(Navigation::Aborted);
        }
        let summary = write_move(&session, &pending, summary)?;
        let summary = summary.map(|id| session.entry(id.as_str())).transpose()?;
        let moved = Moved {
            new_leaf: session.leaf(),
            old_leaf,
            editor_text: pending.editor_text,
            summary,
            usage,
        };
        let event = TreeMove {
            new_leaf: moved.new_leaf.clone(),
            old_leaf: moved.old_leaf.clone(),
            summary_entry: moved.summary.clone(),
            from_extension: supplied.is_some(),
        };
        self.hooks.session_tree(event, Some(&guard.cancel)).await;
        Ok(Navigation::Moved(Box::new(moved)))
    }

    /// Returns the abandoned entries, with their messages if a summary is requested.
    async fn abandoned_branch(
        &self,
        session: &Arc<Session>,
        pending: &PendingMove,
        from: Option<EntryId>,
    ) -> Result<AbandonedBranch, AgentError> {
        let to = pending.target.clone();
        let window = self.summarizer().ok().and_then(|summarizer| summarizer.context_window());
        let budget = branch_budget(window, self.settings().branch_reserve_tokens);
        let wants_text = pending.options.summarize;
        read_blocking(session, move |session| {
            let (from, to) = (from.as_ref().map(EntryId::as_str), Some(to.as_str()));
            match wants_text {
                true => session.abandoned_branch(from, to, budget),
                false => session.abandoned_entries(from, to),
            }
        })
        .await
    }

    async fn summary_entry(
        &self,
        guard: &Guard<'_>,
        pending: &PendingMove,
        branch: &AbandonedBranch,
        from: Option<&EntryId>,
        supplied: &Option<SuppliedSummary>,
    ) -> Result<(Option<NewEntry>, Option<Usage>), AgentError> {
        if let Some(supplied) = supplied {
            let details = supplied.details.as_deref();
            let entry = branch.entry(from, &supplied.text, SummarySource::Extension { details })?;
            return Ok((Some(entry), None));
        }
        if let Some(text) = &pending.options.given_summary {
            return Ok((Some(NewEntry::branch_summary(from, text)), None));
        }
        if !pending.options.summarize || branch.is_empty() {
            return Ok((None, None));
        }
        let options = &pending.options;
        let focus = options.custom_instructions.as_deref();
        let alone = options.replace_instructions;
        let answer = self.ask_about_branch(&guard.cancel, &branch.messages, focus, alone).await?;
        let entry = branch.entry(from, &answer.text, SummarySource::Summarizer)?;
        Ok((Some(with_usage(entry, answer.usage.as_ref())?), answer.usage))
    }
}

pub(super) fn with_usage(
    entry: NewEntry,
    usage: Option<&Usage>,
) -> Result<NewEntry, treering::Error> {
    match usage {
        Some(usage) => entry.with("usage", &usage.to_json()),
        None => Ok(entry),
    }
}

/// Returns the new leaf for this target, and the text for the editor.
fn destination(
    session: &Session,
    target: &EntryId,
) -> Result<(Option<EntryId>, Option<String>), treering::Error> {
    let entry = session.entry(target.as_str())?;
    let text = match entry.body() {
        Body::Message(message) if message.role() == Role::User => message.text(),
        Body::CustomMessage { text, .. } => text,
        _ => return Ok((Some(target.clone()), None)),
    };
    Ok((entry.parent().cloned(), Some(text)))
}

/// Returns the latest user message before the leaf.
fn previous_user_message(session: &Session) -> Result<EntryId, AgentError> {
    let leaf = session.leaf().ok_or(AgentError::NothingToPop)?;
    let tree = session.tree();
    let path = tree.path(leaf.as_str())?;
    path.into_iter()
        .rev()
        .skip(1)
        .find(|id| matches!(tree.role(id.as_str()), Ok(Some(Role::User))))
        .ok_or(AgentError::NothingToPop)
}

fn before_tree(
    session: &Arc<Session>,
    pending: &PendingMove,
    old_leaf: Option<EntryId>,
    branch: &AbandonedBranch,
    user_wants_summary: bool,
) -> BeforeTree {
    BeforeTree {
        session: Arc::clone(session),
        target: pending.target.clone(),
        old_leaf,
        common_ancestor: branch.common_ancestor.clone(),
        entries_to_summarize: branch.entries.clone(),
        user_wants_summary,
        custom_instructions: pending.options.custom_instructions.clone(),
        replace_instructions: pending.options.replace_instructions,
        label: pending.options.label.clone(),
    }
}

/// Writes the move in one append: the summary or a `leaf` entry, and the label.
fn write_move(
    session: &Session,
    pending: &PendingMove,
    summary: Option<NewEntry>,
) -> Result<Option<EntryId>, AgentError> {
    let label = pending.options.label.as_deref().filter(|label| !label.is_empty());
    let mut entries = Vec::new();
    let summary = summary.map(|entry| {
        let id = session.new_id();
        entries.push(entry.with_parent(pending.destination.clone()).with_id(id.clone()));
        id
    });
    if summary.is_none() {
        match (&pending.destination, label) {
            // Only a `leaf` entry is needed, and it may exist already.
            (destination, None) => {
                session.branch(destination.as_ref())?;
                return Ok(None);
            }
            (destination, Some(_)) => entries.push(NewEntry::leaf(destination.as_ref())),
        }
    }
    if let Some(label) = label {
        let labeled = summary.as_ref().unwrap_or(&pending.target);
        entries.push(NewEntry::label(labeled, Some(label)));
    }
    session.append_all(&entries)?;
    Ok(summary)
}
