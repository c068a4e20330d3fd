//! A turn: a message of the user, the answers of a model, and the tools that it calls, all recorded.
//!
//! The user's message is written to the session before the model is asked, so that it cannot be
//! lost. Then rounds follow: the model answers, the answer is recorded as far as it arrived, its
//! tool calls are run, and their results are recorded. The turn ends with an answer without calls,
//! with an answer that fails or is aborted, or at the limit of rounds. Every recorded call has a
//! result.
//!
//! After a temporary failure, the answer is recorded, the leaf is moved back before it, and the
//! model is asked again. A context that is too large is compacted: before the turn, between rounds
//! by estimate, and when the provider refuses it. A compaction that fails does not end the turn.

mod answer;
mod question;
mod tools;

use super::ask::is_too_long;
use super::busy::{Guard, Operation};
use super::late_entry::LateEntryKind;
use super::{AgentSession, CompactOptions, read_blocking};
use crate::OwnFuture;
use crate::chat::{ChatModel, ChatRequest};
use crate::error::AgentError;
use crate::hooks::{
    AnswerRecorded, AnswerRewound, CompactReason, Event, TurnFinished, TurnStarted,
};
use crate::session::Compaction;
use crate::summarizer::{ModelError, OnDelta, is_transient};
use crate::tool::AgentTool;
use answer::{PartialAnswer, collect};
use question::{begin_at_leaf, ends_with_question, write_question};
use std::borrow::Cow;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio_util::sync::CancellationToken;
use treering::context::Model;
use treering::entry::{AssistantMessage, StopReason};
use treering::internal::unicode_json;
use treering::provider;
use treering::usage::Usage;
use treering::{EntryId, Error, NewEntry, Session};

/// Settings of turns.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct TurnSettings {
    /// The system prompt. System messages of the session follow it.
    pub system_prompt: Option<String>,
    /// The maximum number of answers in one turn. A turn in which the model keeps calling tools
    /// ends after that.
    pub max_rounds: u32,
    /// The number of times that a failed answer is requested again. The HTTP clients of this crate
    /// additionally retry on their own ([`Retry`](crate::Retry)).
    pub retries: u32,
    /// The pause before the first retry; each further one is twice as long.
    pub retry_pause: Duration,
}

impl TurnSettings {
    /// Returns the defaults.
    pub fn new() -> Self {
        TurnSettings::default()
    }

    /// Sets the system prompt.
    #[must_use]
    pub fn system_prompt(self, system_prompt: impl Into<String>) -> Self {
        TurnSettings { system_prompt: Some(system_prompt.into()), ..self }
    }

    /// Sets the maximum number of answers in one turn.
    #[must_use]
    pub fn max_rounds(self, max_rounds: u32) -> Self {
        TurnSettings { max_rounds, ..self }
    }

    /// Sets the number of times that a failed answer is requested again.
    #[must_use]
    pub fn retries(self, retries: u32) -> Self {
        TurnSettings { retries, ..self }
    }

    /// Sets the pause before the first retry.
    #[must_use]
    pub fn retry_pause(self, retry_pause: Duration) -> Self {
        TurnSettings { retry_pause, ..self }
    }
}

impl Default for TurnSettings {
    fn default() -> Self {
        TurnSettings {
            system_prompt: None,
            max_rounds: 100,
            retries: 0,
            retry_pause: Duration::from_secs(2),
        }
    }
}

/// The way in which a turn ended.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum TurnEnd {
    /// The model finished its answer.
    Complete,
    /// The answer reached the limit of output tokens.
    Length,
    /// The user aborted the turn.
    Aborted,
    /// An answer failed.
    Failed(ModelError),
    /// The model still called tools after [`TurnSettings::max_rounds`] answers.
    RoundLimit,
}

impl std::fmt::Display for TurnEnd {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            TurnEnd::Complete => f.write_str("the answer is complete"),
            TurnEnd::Length => f.write_str("the answer reached the maximum number of tokens"),
            TurnEnd::Aborted => f.write_str("the turn was aborted"),
            TurnEnd::Failed(error) => error.fmt(f),
            TurnEnd::RoundLimit => f.write_str(
                "the turn reached the maximum number of answers; send a message to continue",
            ),
        }
    }
}

impl TurnEnd {
    /// Returns the stop reason of the answer.
    fn stop_reason(&self, has_calls: bool) -> StopReason {
        match self {
            TurnEnd::Complete | TurnEnd::RoundLimit if has_calls => StopReason::ToolUse,
            TurnEnd::Complete | TurnEnd::RoundLimit => StopReason::Stop,
            TurnEnd::Length => StopReason::Length,
            TurnEnd::Aborted => StopReason::Aborted,
            TurnEnd::Failed(_) => StopReason::Error,
        }
    }
}

/// A recorded turn.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct TurnReport {
    /// The entry of the user's message; in a turn [without one](AgentSession::continue_turn), the entry
    /// that is answered.
    pub question: EntryId,
    /// The entry of the last answer.
    pub answer: EntryId,
    /// The text of the last answer, as far as it arrived.
    pub text: String,
    /// The usage of all answers together, without those that were retried, if the server reported any.
    pub usage: Option<Usage>,
    /// The id of the requested model.
    pub model: String,
    /// The number of answers, without those that were retried.
    pub rounds: u32,
    /// The way in which the turn ended.
    pub end: TurnEnd,
}

/// Everything that the rounds of a turn share.
struct TurnContext<'a> {
    agent: &'a AgentSession,
    session: Arc<Session>,
    model: &'a dyn ChatModel,
    guard: &'a Guard<'a>,
    cancel: &'a CancellationToken,
    tools: Vec<Arc<dyn AgentTool>>,
    /// The definitions of the tools, as requests contain them.
    definitions: Vec<provider::Tool>,
    settings: TurnSettings,
    on_delta: Arc<Mutex<Option<OnDelta>>>,
}

/// A recorded answer.
struct RecordedAnswer {
    entry: EntryId,
    partial: PartialAnswer,
    end: TurnEnd,
}

impl AgentSession {
    /// Sends a message to a model, runs the tools that it calls, and records everything, until the
    /// model is done. `on_delta` receives the answers as they arrive, and so do the receivers of
    /// [`subscribe_deltas`](AgentSession::subscribe_deltas).
    ///
    /// An answer that fails or is aborted is recorded as well: see [`TurnReport::end`].
    ///
    /// # Errors
    ///
    /// Fails if there is nothing to send, another operation is running, the session cannot be
    /// written, a tool has no name or parameters that are not a JSON object, or the turn is aborted
    /// while the context is compacted before it. The message is not written then. If the session
    /// becomes unwritable during the turn, everything that was recorded stays.
    ///
    /// ```
    /// # use treering_agent::*;
    /// # #[derive(Debug)] struct Parrot;
    /// # impl ChatModel for Parrot {
    /// #     fn provider(&self) -> &str { "acme" }
    /// #     fn model(&self) -> &str { "parrot" }
    /// #     fn context_window(&self) -> u64 { 1000 }
    /// #     fn answer<'a>(&'a self, request: ChatRequest, _: &'a CancellationToken) -> ChatFuture<'a> {
    /// #         let text = request.turns.last().map(|turn| turn.text.clone()).unwrap_or_default();
    /// #         Box::pin(async move { Ok(ChatAnswer::new("parrot", text)) })
    /// #     }
    /// # }
    /// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
    /// let agent = AgentSession::new(treering::Session::in_memory("/project"));
    /// let turn = agent.prompt(&Parrot, "Hello!", None, &CancellationToken::new()).await?;
    /// assert_eq!((&*turn.text, turn.end), ("Hello!", TurnEnd::Complete));
    /// assert_eq!(agent.session().leaf(), Some(turn.answer));
    /// # Ok::<(), AgentError>(())
    /// # }).unwrap();
    /// ```
    pub async fn prompt(
        &self,
        model: &dyn ChatModel,
        text: &str,
        on_delta: Option<OnDelta>,
        cancel: &CancellationToken,
    ) -> Result<TurnReport, AgentError> {
        if text.trim().is_empty() {
            return Err(AgentError::NothingSaid);
        }
        self.turn(model, Some(text), on_delta, cancel).await
    }

    /// Asks a model to answer the conversation as it is, and otherwise does the same as
    /// [`prompt`](AgentSession::prompt).
    ///
    /// This answers messages that the caller has appended, for example one with images, continues
    /// a turn that ended at the limit of rounds or with the process, and retries an answer that failed or
    /// was aborted: the leaf is first moved before it, as by
    /// [`Session::rewind_failed`](treering::Session::rewind_failed).
    ///
    /// # Errors
    ///
    /// Fails as [`prompt`](AgentSession::prompt) does, and with [`AgentError::NothingToAnswer`] if
    /// the conversation is empty or ends with an answer of the model.
    ///
    /// ```
    /// # use treering_agent::*;
    /// # #[derive(Debug)] struct Parrot;
    /// # impl ChatModel for Parrot {
    /// #     fn provider(&self) -> &str { "acme" }
    /// #     fn model(&self) -> &str { "parrot" }
    /// #     fn context_window(&self) -> u64 { 1000 }
    /// #     fn answer<'a>(&'a self, request: ChatRequest, _: &'a CancellationToken) -> ChatFuture<'a> {
    /// #         let text = request.turns.last().map(|turn| turn.text.clone()).unwrap_or_default();
    /// #         Box::pin(async move { Ok(ChatAnswer::new("parrot", text)) })
    /// #     }
    /// # }
    /// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
    /// use treering::entry::UserMessage;
    /// let agent = AgentSession::new(treering::Session::in_memory("/project"));
    /// let question = UserMessage::new().with_text("What is this?").with_image("image/png", "iVBORw0KGgo=");
    /// agent.session().append(question)?;
    /// let turn = agent.continue_turn(&Parrot, None, &CancellationToken::new()).await?;
    /// assert_eq!((&*turn.text, turn.end), ("What is this?", TurnEnd::Complete));
    /// # Ok::<(), AgentError>(())
    /// # }).unwrap();
    /// ```
    pub async fn continue_turn(
        &self,
        model: &dyn ChatModel,
        on_delta: Option<OnDelta>,
        cancel: &CancellationToken,
    ) -> Result<TurnReport, AgentError> {
        match read_blocking(&self.session(), |session| ends_with_question(&session.context()?))
            .await?
        {
            true => self.turn(model, None, on_delta, cancel).await,
            false => Err(AgentError::NothingToAnswer),
        }
    }

    /// Runs a turn, which begins with the user's message if there is one.
    async fn turn(
        &self,
        model: &dyn ChatModel,
        text: Option<&str>,
        on_delta: Option<OnDelta>,
        cancel: &CancellationToken,
    ) -> Result<TurnReport, AgentError> {
        let tools = self.tools();
        let definitions = tools.iter().map(define).collect::<Result<_, _>>()?;
        if let Ok(Some(Compaction::Aborted)) = self.make_room(model, cancel).await {
            return Err(ModelError::Canceled.into());
        }
        let report = self.run_turn(model, text, (tools, definitions), on_delta, cancel).await;
        if report.as_ref().is_ok_and(|report| report.end == TurnEnd::Complete) {
            // The turn has succeeded even if the compaction fails.
            let _ = self.make_room(model, cancel).await;
        }
        self.act().await;
        report
    }

    fn run_turn<'a>(
        &'a self,
        model: &'a dyn ChatModel,
        text: Option<&'a str>,
        (tools, definitions): (Vec<Arc<dyn AgentTool>>, Vec<provider::Tool>),
        on_delta: Option<OnDelta>,
        cancel: &'a CancellationToken,
    ) -> OwnFuture<'a, Result<TurnReport, AgentError>> {
        Box::pin(async move {
            let (guard, session) = self.begin(Operation::Turn, cancel)?;
            let question = match text {
                Some(text) => write_question(&session, model, text)?,
                None => begin_at_leaf(&session, model)?,
            };
            let started = TurnStarted { question: question.clone() };
            self.hooks.publish(Event::TurnStart(Arc::new(started)));
            let round = TurnContext {
                agent: self,
                session,
                model,
                guard: &guard,
                cancel: &guard.cancel,
                tools,
                definitions,
                settings: self.settings().turn.clone(),
                on_delta: Arc::new(Mutex::new(on_delta)),
            };
            let report = round.run(question).await?;
            let finished = TurnFinished { answer: report.answer.clone(), end: report.end.clone() };
            self.hooks.publish(Event::TurnEnd(Arc::new(finished)));
            Ok(report)
        })
    }

    /// Compacts if the model's window is nearly full.
    async fn make_room(
        &self,
        model: &dyn ChatModel,
        cancel: &CancellationToken,
    ) -> Result<Option<Compaction>, AgentError> {
        let (name, window) = (name_of(model), self.window_for(model));
        self.compact_if_needed_for(Some(&name), window, cancel).await
    }

    /// Returns the window of a model: from the settings if they name it, else its own.
    fn window_for(&self, model: &dyn ChatModel) -> u64 {
        let settings = self.settings();
        let own = name_of(model).full_name();
        let own = own.and_then(|name| settings.context_windows.get(&name).copied());
        own.unwrap_or(model.context_window())
    }
}

impl TurnContext<'_> {
    async fn run(&self, question: EntryId) -> Result<TurnReport, AgentError> {
        let (mut at, mut rounds) = (question.clone(), 0);
        let mut usage: Option<Usage> = None;
        loop {
            if rounds > 0 {
                at = self.make_room(at).await;
            }
            let answered = self.answer(&mut at).await?;
            rounds += 1;
            let RecordedAnswer { entry: answer, mut partial, mut end } = answered;
            if let Some(used) = partial.usage {
                usage = Some(usage.unwrap_or_default() + used);
            }
            let calls = std::mem::take(&mut partial.calls);
            if end == TurnEnd::Complete && !calls.is_empty() {
                at = self.run_tools(answer.clone(), calls).await?;
                if self.cancel.is_cancelled() {
                    let answer = self.record_abort(&at)?;
                    return Ok(self.report(
                        question,
                        answer,
                        partial,
                        usage,
                        rounds,
                        TurnEnd::Aborted,
                    ));
                }
                if rounds < self.settings.max_rounds {
                    continue;
                }
                end = TurnEnd::RoundLimit;
            }
            return Ok(self.report(question, answer, partial, usage, rounds, end));
        }
    }

    fn report(
        &self,
        question: EntryId,
        answer: EntryId,
        partial: PartialAnswer,
        usage: Option<Usage>,
        rounds: u32,
        end: TurnEnd,
    ) -> TurnReport {
        let (text, model) = (partial.text, self.model.model().to_owned());
        TurnReport { question, answer, text, usage, model, rounds, end }
    }

    /// Records that the user aborted while tools ran.
    fn record_abort(&self, at: &EntryId) -> Result<EntryId, AgentError> {
        let (provider, model) = (self.model.provider(), self.model.model());
        let entry = AssistantMessage::new(self.model.api(), provider, model).aborted().into();
        self.record_answer(at, &entry, &TurnEnd::Aborted)
    }

    /// Records an answer below the entry that it answers, and reports it.
    fn record_answer(
        &self,
        at: &EntryId,
        entry: &NewEntry,
        end: &TurnEnd,
    ) -> Result<EntryId, AgentError> {
        let entry = LateEntryKind::Reply.attach(&self.session, Some(at), entry)?.id;
        let recorded = AnswerRecorded { entry: entry.clone(), end: end.clone() };
        self.agent.hooks.publish(Event::AnswerEnd(Arc::new(recorded)));
        Ok(entry)
    }

    /// Asks the model and records its answer. The model is asked again after a temporary failure,
    /// and after a compaction if the context was too large. `at` is the entry to answer.
    async fn answer(&self, at: &mut EntryId) -> Result<RecordedAnswer, AgentError> {
        let (mut failures, mut was_compacted) = (0, false);
        loop {
            *at = self.newest(at);
            let (partial, mut end) = self.ask(at).await?;
            if let TurnEnd::Failed(error) = &end
                && is_too_long(error)
                && !was_compacted
            {
                if let Some(compaction) = self.compact(at, CompactReason::Overflow).await {
                    // The refused request produced no answer to record.
                    *at = compaction;
                    was_compacted = true;
                    continue;
                }
                if self.cancel.is_cancelled() {
                    end = TurnEnd::Aborted;
                }
            }
            let entry = self.record_answer(at, &partial.entry(self.model, &end)?, &end)?;
            match &end {
                TurnEnd::Failed(error) if failures < self.settings.retries && may_pass(error) => {
                    failures += 1;
                    let wait =
                        self.settings.retry_pause.saturating_mul(1 << (failures - 1).min(16));
                    self.rewind(&entry, error, failures, wait)?;
                    tokio::select! {
                        () = tokio::time::sleep(wait) => {}
                        // The next answer is recorded as aborted, without a request.
                        () = self.cancel.cancelled() => {}
                    }
                }
                _ => return Ok(RecordedAnswer { entry, partial, end }),
            }
        }
    }

    /// Moves the leaf back before a failed answer, unless it was moved meanwhile.
    fn rewind(
        &self,
        failed: &EntryId,
        error: &ModelError,
        attempt: u32,
        wait: Duration,
    ) -> Result<(), AgentError> {
        if self.session.leaf().as_ref() == Some(failed) {
            // The parent is the entry that was answered, or a later one that the caller appended.
            let parent = self.session.tree().parent(failed)?;
            self.session.branch(parent)?;
        }
        let rewound = AnswerRewound {
            failed: failed.clone(),
            attempt: attempt + 1,
            attempts: self.settings.retries + 1,
            reason: error.clone(),
            wait,
        };
        self.agent.hooks.publish(Event::AnswerRewound(Arc::new(rewound)));
        Ok(())
    }

    /// Returns the session's leaf if it is `at` or below it: the caller may have appended messages
    /// during the turn. Returns `at` if the leaf was moved to another branch.
    fn newest(&self, at: &EntryId) -> EntryId {
        let leaf = self.session.leaf();
        let is_below = |leaf: &EntryId| self.session.tree().is_ancestor(at, leaf).unwrap_or(false);
        leaf.filter(is_below).unwrap_or_else(|| at.clone())
    }

    /// Asks the model once, unless the turn was aborted.
    async fn ask(&self, at: &EntryId) -> Result<(PartialAnswer, TurnEnd), AgentError> {
        if self.cancel.is_cancelled() {
            return Ok((PartialAnswer::default(), TurnEnd::Aborted));
        }
        let leaf = at.clone();
        let context =
            read_blocking(&self.session, move |session| session.context_at(&leaf)).await?;
        let mut request = match self.definitions.is_empty() {
            true => ChatRequest::of(&context),
            false => ChatRequest::with_tools(context, self.definitions.clone()),
        };
        if let Some(prompt) = &self.settings.system_prompt {
            let space = if request.system.is_empty() { "" } else { "\n\n" };
            request.system = format!("{prompt}{space}{}", request.system);
        }
        let partial = Arc::new(Mutex::new(PartialAnswer::default()));
        let stream = self.agent.hooks.answer_stream();
        request.on_delta = Some(collect(&partial, &self.on_delta, stream));
        let answered = tokio::select! {
            // A complete answer must not be discarded.
            biased;
            answered = self.model.answer(request, self.cancel) => answered,
            () = self.cancel.cancelled() => Err(ModelError::Canceled),
        };
        let mut partial =
            std::mem::take(&mut *partial.lock().unwrap_or_else(PoisonError::into_inner));
        let end = match answered {
            Ok(answer) => {
                partial.text = answer.text;
                partial.calls = self.named(answer.tool_calls);
                partial.usage = answer.usage.or(partial.usage);
                match partial.text.trim().is_empty() && partial.calls.is_empty() {
                    true => TurnEnd::Failed(ModelError::Empty),
                    false => TurnEnd::Complete,
                }
            }
            Err(ModelError::Length) => TurnEnd::Length,
            Err(ModelError::Canceled) => TurnEnd::Aborted,
            Err(error) => TurnEnd::Failed(error),
        };
        Ok((partial, end))
    }

    /// Gives every call a unique id: some servers send none, or the same one twice. Replaces halves of
    /// surrogate pairs in the arguments, which parsers refuse.
    fn named(&self, mut calls: Vec<crate::tool::ToolCall>) -> Vec<crate::tool::ToolCall> {
        let mut seen = std::collections::HashSet::new();
        for call in &mut calls {
            if let Cow::Owned(valid) = unicode_json(call.arguments.as_bytes()) {
                call.arguments = valid;
            }
            if call.id.is_empty() || !seen.insert(call.id.clone()) {
                call.id = format!("call_{}", self.session.new_id());
                seen.insert(call.id.clone());
            }
        }
        calls
    }

    /// Compacts between rounds if the model's window is nearly full. Returns the entry to answer.
    async fn make_room(&self, at: EntryId) -> EntryId {
        let at = self.newest(&at);
        let (leaf, session) = (at.clone(), &self.session);
        let tokens =
            read_blocking(session, move |session| match session.leaf().as_ref() == Some(&leaf) {
                true => Ok(session.context_tokens()?.tokens),
                false => Ok(0),
            });
        let name = name_of(self.model);
        let window = self.agent.window_for(self.model);
        let settings = self.agent.settings();
        let is_full =
            |tokens| settings.compaction.of_model(Some(&name)).should_compact(tokens, window);
        match tokens.await {
            Ok(tokens) if is_full(tokens) => {
                self.compact(&at, CompactReason::Threshold).await.unwrap_or(at)
            }
            _ => at,
        }
    }

    /// Compacts the branch of `at`, if the session's leaf is still on it. Returns the compaction.
    async fn compact(&self, at: &EntryId, reason: CompactReason) -> Option<EntryId> {
        if self.session.leaf() != Some(self.newest(at)) {
            return None;
        }
        let mut options = CompactOptions { reason, ..CompactOptions::default() };
        if reason == CompactReason::Overflow {
            options.keep_recent_tokens = self.kept_of_overflow().await;
        }
        match self.agent.compact_within(self.guard, &self.session, &options).await {
            Ok(Compaction::Done(compacted)) => Some(compacted.entry.id().clone()),
            _ => None,
        }
    }

    /// Returns how many tokens of a context that the provider refused are kept: as the settings say, or
    /// fewer, so that it is not more than half of them. The model's window may be smaller than its
    /// configuration says, and than what the settings keep.
    async fn kept_of_overflow(&self) -> Option<u64> {
        let settings = self.agent.settings().compaction.of_model(Some(&name_of(self.model)));
        let kept = read_blocking(&self.session, move |session| {
            let half = session.context_tokens()?.tokens / 2;
            let mut settings = settings;
            settings.overrides.clear();
            loop {
                let plan = session.plan_compaction(&settings)?.ready();
                if plan.is_some_and(|plan| plan.tokens_kept <= half)
                    || settings.keep_recent_tokens <= 1
                {
                    return Ok(settings.keep_recent_tokens);
                }
                settings.keep_recent_tokens /= 2;
            }
        });
        kept.await.ok()
    }
}

/// Returns whether an error is temporary, so that another request may succeed.
fn may_pass(error: &ModelError) -> bool {
    match error {
        error if is_too_long(error) => false,
        ModelError::Connection(_)
        | ModelError::Timeout { .. }
        | ModelError::Server { .. }
        | ModelError::Empty => true,
        ModelError::Http { status, .. } => is_transient(*status),
        _ => false,
    }
}

/// Returns the definition of a tool for requests.
fn define(tool: &Arc<dyn AgentTool>) -> Result<provider::Tool, Error> {
    provider::Tool::new(tool.name(), tool.description(), tool.parameters())
}

fn name_of(model: &dyn ChatModel) -> Model {
    let (provider, id) = (model.provider().to_owned(), model.model().to_owned());
    Model::new(provider, id)
}
