//! Compacts a session: requests the summary that [`treering`] planned, and writes it.

use super::ask::{ConversationSummarizer, Question, SummaryAnswer};
use super::busy::{Guard, Operation};
use super::late_entry::LateEntryKind;
use super::navigate::with_usage;
use super::{AgentSession, read_blocking};
use crate::OwnFuture;
use crate::error::AgentError;
use crate::hooks::{
    BeforeCompact, Compact, CompactFailed, CompactOverride, CompactReason, Compacting,
    CompactingOverride, HookOutcome,
};
use crate::summarizer::{ModelError, Summarizer};
use std::sync::Arc;
use tokio_util::sync::CancellationToken;
use treering::compaction::SummarySource;
use treering::compaction::{
    CompactionSettings, Preparation, Prepared, prefix_request, summary_request,
};
use treering::context::Model;
use treering::usage::Usage;
use treering::{Entry, EntryId, NewEntry, Session};

/// Options of a compaction.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct CompactOptions {
    /// Instructions for the summary.
    pub instructions: Option<String>,
    /// The reason for the compaction.
    pub reason: CompactReason,
    /// The approximate number of tokens to keep, instead of the one in the settings.
    pub keep_recent_tokens: Option<u64>,
    /// The token that cancels the compaction.
    pub cancel: CancellationToken,
}

impl CompactOptions {
    /// Returns the defaults.
    pub fn new() -> Self {
        CompactOptions::default()
    }

    /// Sets instructions for the summary.
    #[must_use]
    pub fn instructions(self, instructions: impl Into<String>) -> Self {
        CompactOptions { instructions: Some(instructions.into()), ..self }
    }

    /// Sets the reason that handlers and subscribers see.
    #[must_use]
    pub fn reason(self, reason: CompactReason) -> Self {
        CompactOptions { reason, ..self }
    }

    /// Sets the approximate number of tokens to keep.
    #[must_use]
    pub fn keep_recent_tokens(self, keep_recent_tokens: u64) -> Self {
        CompactOptions { keep_recent_tokens: Some(keep_recent_tokens), ..self }
    }

    /// Sets the token that cancels the compaction.
    #[must_use]
    pub fn cancel(self, cancel: CancellationToken) -> Self {
        CompactOptions { cancel, ..self }
    }
}

/// The outcome of a compaction.
#[derive(Debug, Clone)]
pub enum Compaction {
    /// The leaf is already a compaction.
    AlreadyCompacted,
    /// There is nothing to summarize.
    TooSmall,
    /// A handler canceled the compaction.
    Canceled {
        /// The name that the handler was registered with.
        hook: Arc<str>,
    },
    /// The user aborted the compaction.
    Aborted,
    /// The compaction was written.
    Done(Box<Compacted>),
}

/// A compaction that was written.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Compacted {
    /// The entry of the compaction.
    pub entry: Entry,
    /// The first entry that is kept.
    pub first_kept: EntryId,
    /// The size of the context before the compaction.
    pub tokens_before: u64,
    /// The estimated size of the context after the compaction.
    pub tokens_after: u64,
    /// The usage of the summary.
    pub usage: Option<Usage>,
    /// Whether the compaction is the active leaf of the file. It is not if the leaf was moved to
    /// another branch while the summary was being written.
    pub is_active: bool,
}

impl AgentSession {
    /// Replaces the older part of the context by a summary. If this fails, nothing is written, and
    /// the handlers of `session_compact_failed` are called.
    ///
    /// ```
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// use std::sync::Arc;
    /// use treering::{Message, Session};
    /// use treering_agent::{AgentSession, CompactOptions, Compaction, Extractive};
    /// let agent = AgentSession::new(Session::in_memory("/project"))
    ///     .with_summarizer(Arc::new(Extractive::new()));
    /// for question in ["Name a color.", "Name a number."] {
    ///     agent.session().append(Message::user(question))?;
    ///     agent.session().append(Message::assistant("acme", "m", "Red, or seven."))?;
    /// }
    /// let options = CompactOptions::new().keep_recent_tokens(1);
    /// let Compaction::Done(compacted) = agent.compact(options).await? else { panic!() };
    /// assert_eq!(agent.session().leaf().as_ref(), Some(compacted.entry.id()));
    /// # Ok::<(), treering_agent::AgentError>(())
    /// # }).unwrap();
    /// ```
    pub async fn compact(&self, options: CompactOptions) -> Result<Compaction, AgentError> {
        let done = self.compact_now(options).await;
        self.act().await;
        done
    }

    async fn compact_now(&self, options: CompactOptions) -> Result<Compaction, AgentError> {
        let (guard, session) = self.begin(Operation::Compaction, &options.cancel)?;
        self.compact_within(&guard, &session, &options).await
    }

    /// Compacts inside a running operation, and calls the handlers if that fails.
    pub(super) fn compact_within<'a>(
        &'a self,
        guard: &'a Guard<'a>,
        session: &'a Arc<Session>,
        options: &'a CompactOptions,
    ) -> OwnFuture<'a, Result<Compaction, AgentError>> {
        Box::pin(async move {
            let result = self.try_compact(guard, session, options).await;
            let result = match result {
                Err(error) if error.is_canceled() => Ok(Compaction::Aborted),
                other => other,
            };
            let (error, aborted) = match &result {
                Ok(Compaction::Canceled { hook }) => {
                    (format!("the handler {hook} canceled it"), true)
                }
                Ok(Compaction::Aborted) => (ModelError::Canceled.to_string(), true),
                Err(error) => (error.to_string(), false),
                Ok(_) => return result,
            };
            let reason = options.reason;
            let failed = CompactFailed { reason, error, aborted };
            self.hooks.session_compact_failed(failed, Some(&guard.cancel)).await;
            result
        })
    }

    /// Compacts if the context has grown past the threshold. [`prompt`](AgentSession::prompt) calls
    /// this before and after each turn; agents with a loop of their own should do the same. Returns
    /// `None` if it was not necessary, or there was nothing to compact.
    pub async fn compact_if_needed(
        &self,
        cancel: &CancellationToken,
    ) -> Result<Option<Compaction>, AgentError> {
        let model =
            read_blocking(&self.session(), |session| Ok(session.projection()?.model)).await?;
        let window = self.settings().window_of(model.as_ref());
        self.compact_if_needed_for(model.as_ref(), window, cancel).await
    }

    /// Compacts if the context is past the threshold of a model with this window.
    pub(super) fn compact_if_needed_for<'a>(
        &'a self,
        model: Option<&'a Model>,
        window: u64,
        cancel: &'a CancellationToken,
    ) -> OwnFuture<'a, Result<Option<Compaction>, AgentError>> {
        Box::pin(async move {
            let tokens =
                read_blocking(&self.session(), |session| Ok(session.context_tokens()?.tokens))
                    .await?;
            if !self.settings().compaction.of_model(model).should_compact(tokens, window) {
                return Ok(None);
            }
            let options = CompactOptions {
                reason: CompactReason::Threshold,
                cancel: cancel.clone(),
                ..Default::default()
            };
            Ok(match self.compact(options).await? {
                Compaction::AlreadyCompacted | Compaction::TooSmall => None,
                done => Some(done),
            })
        })
    }

    async fn try_compact(
        &self,
        guard: &Guard<'_>,
        session: &Arc<Session>,
        options: &CompactOptions,
    ) -> Result<Compaction, AgentError> {
        let mut settings = CompactionSettings::clone(&self.settings().compaction);
        if let Some(keep) = options.keep_recent_tokens {
            settings.keep_recent_tokens = keep;
            settings.overrides.values_mut().for_each(|own| own.keep_recent_tokens = None);
        }
        let prepared =
            read_blocking(session, move |session| match session.plan_compaction(&settings)? {
                Preparation::AlreadyCompacted => Ok(Err(Compaction::AlreadyCompacted)),
                Preparation::TooSmall => Ok(Err(Compaction::TooSmall)),
                Preparation::Ready(plan) => Ok(Ok(plan.read()?)),
            });
        let mut prepared = match prepared.await? {
            Ok(prepared) => prepared,
            Err(nothing_to_do) => return Ok(nothing_to_do),
        };
        let before = BeforeCompact {
            session: Arc::clone(session),
            reason: options.reason,
            prepared: Arc::new(prepared.clone()),
            custom_instructions: options.instructions.clone(),
        };
        let supplied = match self.hooks.session_before_compact(before, &guard.cancel).await {
            HookOutcome::Aborted => return Ok(Compaction::Aborted),
            HookOutcome::Canceled { hook } => return Ok(Compaction::Canceled { hook }),
            HookOutcome::Proceed(supplied) => supplied,
        };
        let from_extension = supplied.is_some();
        let (entry, usage) = match supplied {
            Some(supplied) => (supplied_entry(session, &mut prepared, supplied)?, None),
            None => {
                let summarizer = self.summarizer()?;
                let asked = self.ask_for_summary(guard, &*summarizer, &prepared, options);
                let (text, usage) = tokio::select! {
                    biased;
                    () = guard.cancel.cancelled() => return Ok(Compaction::Aborted),
                    asked = asked => match asked? {
                        SummaryResult::Canceled(hook) => return Ok(Compaction::Canceled { hook }),
                        SummaryResult::Aborted => return Ok(Compaction::Aborted),
                        SummaryResult::Answered(text, usage) => (text, usage),
                    },
                };
                (
                    with_usage(prepared.entry(&text, SummarySource::Summarizer)?, usage.as_ref())?,
                    usage,
                )
            }
        };
        if guard.cancel.is_cancelled() {
            return Ok(Compaction::Aborted);
        }
        let attached = LateEntryKind::Compaction.attach(session, Some(&prepared.leaf), &entry)?;
        let entry = session.entry(attached.id.as_str())?;
        // The compaction is already written, and a later failure does not undo it.
        let tokens_after = match session.leaf().as_ref() == Some(entry.id()) {
            true => {
                read_blocking(session, |session| Ok(session.context_tokens()?.tokens)).await.ok()
            }
            false => None,
        };
        let compacted = Compacted {
            entry: entry.clone(),
            first_kept: prepared.first_kept,
            tokens_before: prepared.tokens_before,
            tokens_after: tokens_after.unwrap_or(prepared.tokens_kept),
            usage,
            is_active: attached.is_active,
        };
        let event = Compact { reason: options.reason, entry, from_extension };
        self.hooks.session_compact(event, Some(&guard.cancel)).await;
        Ok(Compaction::Done(Box::new(compacted)))
    }

    /// Returns the text of the summary: of the history and, if a turn is split, of its beginning.
    /// Both are requested concurrently.
    async fn ask_for_summary(
        &self,
        guard: &Guard<'_>,
        summarizer: &dyn Summarizer,
        prepared: &Prepared,
        options: &CompactOptions,
    ) -> Result<SummaryResult, AgentError> {
        let compacting =
            Compacting { reason: options.reason, prepared: Arc::new(prepared.clone()) };
        let wish = match self.hooks.session_compacting(compacting, &guard.cancel).await {
            HookOutcome::Aborted => return Ok(SummaryResult::Aborted),
            HookOutcome::Canceled { hook } => return Ok(SummaryResult::Canceled(hook)),
            HookOutcome::Proceed(wish) => wish.unwrap_or_default(),
        };
        let focus = options.instructions.as_deref();
        let has_history = !prepared.messages_to_summarize.is_empty();
        let asker = |streams| ConversationSummarizer {
            summarizer,
            hooks: &self.hooks,
            cancel: &guard.cancel,
            reserve: prepared.settings.reserve_tokens,
            streams,
        };
        let history = async {
            let question = Question {
                messages: &prepared.messages_to_summarize,
                previous: prepared.previous_summary.as_deref(),
                focus,
                request: &|text, previous| wish.request(text, previous, focus),
            };
            match has_history {
                true => asker(true).ask(&question).await.map(Some),
                false => Ok(None),
            }
        };
        let prefix = async {
            let question = Question {
                messages: &prepared.turn_prefix,
                previous: None,
                focus,
                request: &|text, previous| prefix_request(text, previous, focus),
            };
            match prepared.turn_prefix.is_empty() {
                false => asker(!has_history).ask(&question).await.map(Some),
                true => Ok(None),
            }
        };
        let (history, prefix) = tokio::try_join!(history, prefix)?;
        let text =
            |answer: &Option<SummaryAnswer>| answer.as_ref().map(|answer| answer.text.clone());
        let summary = prepared.compose(text(&history).as_deref(), text(&prefix).as_deref());
        let usage = [history, prefix].into_iter().flatten().filter_map(|answer| answer.usage);
        Ok(SummaryResult::Answered(summary, usage.reduce(|sum, usage| sum + usage)))
    }
}

enum SummaryResult {
    Canceled(Arc<str>),
    Aborted,
    Answered(String, Option<Usage>),
}

impl CompactingOverride {
    /// Returns the request for the history, with the changes that handlers made.
    fn request(&self, text: &str, previous: Option<&str>, focus: Option<&str>) -> String {
        let mut request = match self.prompt.as_deref().filter(|prompt| !prompt.is_empty()) {
            Some(prompt) => {
                treering::compaction::branch_request(text, previous, Some(prompt), true)
            }
            None => summary_request(text, previous, focus),
        };
        for more in &self.context {
            request += "\n\n";
            request += more;
        }
        request
    }
}

fn supplied_entry(
    session: &Session,
    prepared: &mut Prepared,
    supplied: CompactOverride,
) -> Result<NewEntry, AgentError> {
    if supplied.summary.text.trim().is_empty() {
        return Err(ModelError::Empty.into());
    }
    if let Some(kept) = supplied.first_kept {
        let tree = session.tree();
        match tree.is_ancestor(&kept, &prepared.leaf) {
            Ok(true) => prepared.first_kept = kept,
            _ => return Err(AgentError::NotOnBranch(kept)),
        }
    }
    let details = supplied.summary.details.as_deref();
    Ok(prepared.entry(&supplied.summary.text, SummarySource::Extension { details })?)
}
