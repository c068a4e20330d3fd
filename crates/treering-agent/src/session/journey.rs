//! Moving the leaf: `navigate` with its nine steps, and the shorter ways to say it.

use super::busy::{Guard, Operation};
use super::{AgentSession, find, look};
use crate::error::AgentError;
use crate::hooks::{BeforeTree, Outcome, SuppliedSummary, TreeMove, TreeOverride};
use std::sync::Arc;
use tokio_util::sync::CancellationToken;
use treering::branch_summary::{AbandonedBranch, branch_budget};
use treering::entry::Body;
use treering::usage::{Branch, Usage};
use treering::{Entry, EntryId, NewEntry, Role, Session};

/// Options of a move.
#[derive(Debug, Clone, Default)]
pub struct NavigateOptions {
    /// Whether what is left behind comes along as a summary.
    pub summarize: bool,
    /// Instructions for the summary.
    pub custom_instructions: Option<String>,
    /// Whether that stands in place of the usual instructions, not beside them.
    pub replace_instructions: bool,
    /// A label for the summary, or for the target if there is none.
    pub label: Option<String>,
    /// Cancels it.
    pub cancel: CancellationToken,
}

/// The summary that a move takes along.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum BranchSummary {
    /// Nothing.
    #[default]
    None,
    /// This text.
    Given(String),
    /// A summary by the summarizer, with the user's instructions for it.
    Ask(Option<String>),
}

impl From<BranchSummary> for (Option<String>, NavigateOptions) {
    /// Returns the summary that is given, and the options of the move.
    fn from(summary: BranchSummary) -> Self {
        match summary {
            BranchSummary::None => (None, NavigateOptions::default()),
            BranchSummary::Given(text) => (Some(text), NavigateOptions::default()),
            BranchSummary::Ask(custom_instructions) => {
                let summarize = true;
                (None, NavigateOptions { summarize, custom_instructions, ..Default::default() })
            }
        }
    }
}

/// The outcome of a move.
#[derive(Debug, Clone)]
pub enum Navigation {
    /// Nothing: the leaf is there.
    AlreadyThere,
    /// Nothing: a handler, named here, said no.
    Cancelled {
        /// The name it was registered with.
        hook: Arc<str>,
    },
    /// Nothing: the user gave up.
    Aborted,
    /// The leaf has moved.
    Moved(Box<Moved>),
}

/// Where the leaf went.
#[derive(Debug, Clone)]
pub struct Moved {
    /// Where it is; `None` before the first entry.
    pub new_leaf: Option<EntryId>,
    /// Where it was.
    pub old_leaf: Option<EntryId>,
    /// The text of the message that was gone to, for the editor.
    pub editor_text: Option<String>,
    /// The summary of what was left behind.
    pub summary: Option<Entry>,
    /// The usage of the summary.
    pub usage: Option<Usage>,
}

/// A move that is about to happen.
struct Journey {
    target: EntryId,
    /// Where the leaf will be.
    destination: Option<EntryId>,
    editor_text: Option<String>,
    given: Option<String>,
    options: NavigateOptions,
}

impl Journey {
    /// Takes over what handlers want otherwise. Returns their summary, if it says anything.
    fn obey(&mut self, wish: TreeOverride) -> Option<SuppliedSummary> {
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
    /// Moves the leaf to an entry. A message of the user, or of an extension, is gone *before*, and
    /// its text returned for the editor; any other entry becomes the leaf. See
    /// [`NavigateOptions`] for the summary of what is left behind.
    pub async fn navigate(
        &self,
        target: &str,
        options: NavigateOptions,
    ) -> Result<Navigation, AgentError> {
        let (guard, session) = self.begin(Operation::Navigation, &options.cancel)?;
        let target = find(&session, target)?;
        let (destination, editor_text) = destination(&session, &target)?;
        let journey = Journey { target, destination, editor_text, given: None, options };
        let done = self.travel(guard, session, journey).await;
        self.act().await;
        done
    }

    /// Makes an entry the leaf, whatever it is, in the same file.
    pub async fn branch_here(
        &self,
        entry: &str,
        summary: BranchSummary,
    ) -> Result<Navigation, AgentError> {
        let (given, options) = summary.into();
        self.go_to(entry, given, options).await
    }

    /// Makes an entry the leaf, whatever it is, with all that [`navigate`](AgentSession::navigate)
    /// offers. `given` is a summary that is there already.
    pub async fn go_to(
        &self,
        entry: &str,
        given: Option<String>,
        options: NavigateOptions,
    ) -> Result<Navigation, AgentError> {
        let done = self.go_now(entry, (given, options)).await;
        self.act().await;
        done
    }

    /// Makes an entry the leaf, without acting for handlers afterwards.
    pub(super) async fn go_now(
        &self,
        entry: &str,
        (given, options): (Option<String>, NavigateOptions),
    ) -> Result<Navigation, AgentError> {
        let (guard, session) = self.begin(Operation::Navigation, &options.cancel)?;
        let given = given.filter(|text| !text.trim().is_empty());
        let target = find(&session, entry)?;
        let destination = Some(target.clone());
        let journey = Journey { target, destination, editor_text: None, given, options };
        self.travel(guard, session, journey).await
    }

    /// Goes back to the previous message of the user, or to an entry, with a summary of what is left
    /// behind. The options' `summarize` is taken as given.
    pub async fn pop(
        &self,
        entry: Option<&str>,
        mut options: NavigateOptions,
    ) -> Result<Navigation, AgentError> {
        options.summarize = true;
        let target = match entry {
            Some(entry) => entry.to_owned(),
            None => previous_user_message(&self.session())?.to_string(),
        };
        self.navigate(&target, options).await
    }

    /// Goes to another branch: the entry, usually a leaf, is where the conversation continues.
    pub async fn switch(&self, leaf: &str) -> Result<Navigation, AgentError> {
        self.branch_here(leaf, BranchSummary::None).await
    }

    /// Returns the branches of the session, the latest first.
    pub fn branches(&self) -> Result<Vec<Branch>, AgentError> {
        Ok(self.session().branches()?)
    }

    async fn travel(
        &self,
        guard: Guard<'_>,
        session: Arc<Session>,
        mut journey: Journey,
    ) -> Result<Navigation, AgentError> {
        let old_leaf = session.leaf();
        if old_leaf.as_ref() == Some(&journey.target) {
            return Ok(Navigation::AlreadyThere);
        }
        let wants_summary = journey.options.summarize || journey.given.is_some();
        if journey.options.summarize {
            self.summarizer()?;
        }
        let branch = self.left_behind(&session, &journey, old_leaf.clone()).await?;
        let before = before_tree(&session, &journey, old_leaf.clone(), &branch, wants_summary);
        let supplied = match self.hooks.session_before_tree(before, &guard.cancel).await {
            Outcome::Aborted => return Ok(Navigation::Aborted),
            Outcome::Cancelled { hook } => return Ok(Navigation::Cancelled { hook }),
            Outcome::Proceed(None) => None,
            Outcome::Proceed(Some(other)) => journey.obey(other).filter(|_| wants_summary),
        };
        let summary = self.summary_entry(&guard, &journey, &branch, old_leaf.as_ref(), &supplied);
        let (summary, usage) = match summary.await {
            Ok(summary) => summary,
            Err(error) if error.is_cancelled() => return Ok(Navigation::Aborted),
            Err(error) => return Err(error),
        };
        if guard.cancel.is_cancelled() {
            return Ok(Navigation::Aborted);
        }
        let summary = arrive(&session, &journey, summary)?;
        let summary = summary.map(|id| session.entry(id.as_str())).transpose()?;
        let moved = Moved {
            new_leaf: session.leaf(),
            old_leaf,
            editor_text: journey.editor_text,
            summary,
            usage,
        };
        let told = TreeMove {
            new_leaf: moved.new_leaf.clone(),
            old_leaf: moved.old_leaf.clone(),
            summary_entry: moved.summary.clone(),
            from_extension: supplied.is_some(),
        };
        self.hooks.session_tree(told).await;
        Ok(Navigation::Moved(Box::new(moved)))
    }

    /// Returns the abandoned entries, with their text if a summary will be asked for.
    async fn left_behind(
        &self,
        session: &Arc<Session>,
        journey: &Journey,
        from: Option<EntryId>,
    ) -> Result<AbandonedBranch, AgentError> {
        let to = journey.target.clone();
        let window = self.summarizer().ok().and_then(|summarizer| summarizer.context_window());
        let budget = branch_budget(window, self.settings().branch_reserve_tokens);
        let wants_text = journey.options.summarize;
        look(session, move |session| {
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
        journey: &Journey,
        branch: &AbandonedBranch,
        from: Option<&EntryId>,
        supplied: &Option<SuppliedSummary>,
    ) -> Result<(Option<NewEntry>, Option<Usage>), AgentError> {
        if let Some(supplied) = supplied {
            let entry = branch.entry(from, &supplied.text, Some(supplied.details.as_deref()))?;
            return Ok((Some(entry), None));
        }
        if let Some(text) = &journey.given {
            return Ok((Some(NewEntry::branch_summary(from, text)), None));
        }
        if !journey.options.summarize || branch.is_empty() {
            return Ok((None, None));
        }
        let options = &journey.options;
        let focus = options.custom_instructions.as_deref();
        let alone = options.replace_instructions;
        let answer = self.ask_about_branch(&guard.cancel, &branch.messages, focus, alone).await?;
        let entry = branch.entry(from, &answer.text, None)?;
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

/// Returns where the leaf goes for this target, and what goes into the editor.
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

/// Returns the latest message of the user before the leaf.
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
    journey: &Journey,
    old_leaf: Option<EntryId>,
    branch: &AbandonedBranch,
    user_wants_summary: bool,
) -> BeforeTree {
    BeforeTree {
        session: Arc::clone(session),
        target: journey.target.clone(),
        old_leaf,
        common_ancestor: branch.common_ancestor.clone(),
        entries_to_summarize: branch.entries.clone(),
        user_wants_summary,
        custom_instructions: journey.options.custom_instructions.clone(),
        replace_instructions: journey.options.replace_instructions,
        label: journey.options.label.clone(),
    }
}

/// Writes the move: the summary or the pointer, and the label, in one append.
fn arrive(
    session: &Session,
    journey: &Journey,
    summary: Option<NewEntry>,
) -> Result<Option<EntryId>, AgentError> {
    let label = journey.options.label.as_deref().filter(|label| !label.is_empty());
    let mut entries = Vec::new();
    let summary = summary.map(|entry| {
        let id = session.new_id();
        entries.push(entry.under(journey.destination.clone()).with_id(id.clone()));
        id
    });
    if summary.is_none() {
        match (&journey.destination, label) {
            // Nothing but a pointer, which may be there already.
            (Some(destination), None) => {
                session.branch(destination.as_str())?;
                return Ok(None);
            }
            (None, None) => {
                session.reset_leaf()?;
                return Ok(None);
            }
            (destination, Some(_)) => entries.push(NewEntry::leaf(destination.as_ref())),
        }
    }
    if let Some(label) = label {
        let labelled = summary.as_ref().unwrap_or(&journey.target);
        entries.push(NewEntry::label(labelled, Some(label)));
    }
    session.append_all(&entries)?;
    Ok(summary)
}
