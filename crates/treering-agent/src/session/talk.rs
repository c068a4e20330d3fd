//! A turn: what the user says and what a model answers, both written down.
//!
//! The question is in the session before the model is asked, so nothing that was typed is ever lost.
//! The answer is written as far as it came, whether it is whole, was stopped or failed: what was paid
//! for and read stays. Before and after, the session is compacted if it has to be. A compaction that
//! fails does not end the conversation: its handlers are told, and the turn goes on.

use super::busy::Operation;
use super::late::Late;
use super::{AgentSession, look};
use crate::chat::{ChatModel, ChatRequest};
use crate::error::AgentError;
use crate::session::Compaction;
use crate::summarizer::{Delta, OnDelta, RetryNotice, SummaryError};
use std::sync::{Arc, Mutex, PoisonError};
use tokio_util::sync::CancellationToken;
use treering::context::Model;
use treering::entry::{AssistantMessage, StopReason};
use treering::usage::Usage;
use treering::{EntryId, Error, Message, NewEntry, Session};

/// The end of an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ending {
    /// As the model meant it to.
    Whole,
    /// At the longest that was allowed.
    Cut,
    /// The user gave up.
    Aborted,
    /// It failed.
    Failed(SummaryError),
}

impl Ending {
    /// The stop reason that an entry has for it.
    fn stop_reason(&self) -> StopReason {
        match self {
            Ending::Whole => StopReason::Stop,
            Ending::Cut => StopReason::Length,
            Ending::Aborted => StopReason::Aborted,
            Ending::Failed(_) => StopReason::Error,
        }
    }
}

/// A turn that was written down.
#[derive(Debug, Clone)]
pub struct Said {
    /// The entry of the user's message.
    pub question: EntryId,
    /// The entry of the answer.
    pub answer: EntryId,
    /// The text of the answer, as far as it came.
    pub text: String,
    /// The usage, if the server reported it.
    pub usage: Option<Usage>,
    /// The model, as it was asked for.
    pub model: String,
    /// The end of the answer.
    pub ending: Ending,
}

impl AgentSession {
    /// Sends a message to a model and records its answer. `on_delta` sees the answer as it
    /// comes. An answer that fails, or is stopped, is recorded as well: see
    /// [`Said::ending`]. An error means that nothing was said, or that the session could not be
    /// written.
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
    /// #         Box::pin(async move { Ok(ChatAnswer { text, usage: None, model: "parrot".into() }) })
    /// #     }
    /// # }
    /// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
    /// let agent = AgentSession::new(treering::Session::in_memory("/project"));
    /// let said = agent.say(&Parrot, "Hello!", None, &CancellationToken::new()).await?;
    /// assert_eq!((&*said.text, said.ending), ("Hello!", Ending::Whole));
    /// assert_eq!(agent.session().leaf(), Some(said.answer));
    /// # Ok::<(), AgentError>(())
    /// # }).unwrap();
    /// ```
    pub async fn say(
        &self,
        model: &dyn ChatModel,
        question: &str,
        on_delta: Option<OnDelta>,
        cancel: &CancellationToken,
    ) -> Result<Said, AgentError> {
        if question.trim().is_empty() {
            return Err(AgentError::NothingSaid);
        }
        if let Ok(Some(Compaction::Aborted)) = self.make_room(model, cancel).await {
            return Err(SummaryError::Cancelled.into());
        }
        let said = self.take_turn(model, question, on_delta, cancel).await?;
        if said.ending == Ending::Whole {
            // A failure here is no failure of the turn.
            let _ = self.make_room(model, cancel).await;
        }
        Ok(said)
    }

    async fn take_turn(
        &self,
        model: &dyn ChatModel,
        question: &str,
        on_delta: Option<OnDelta>,
        cancel: &CancellationToken,
    ) -> Result<Said, AgentError> {
        let (guard, session) = self.begin(Operation::Turn, cancel)?;
        let question = ask(&session, model, question)?;
        let asked = question.clone();
        let mut request = look(&session, move |session| session.context_at(Some(asked.as_str())))
            .await
            .map(|context| ChatRequest::of(&context))?;
        let heard = Arc::new(Mutex::new(Heard::default()));
        request.on_delta = Some(overhear(&heard, on_delta, self.hooks.retries()));
        let answered = tokio::select! {
            // An answer that is whole is not thrown away.
            biased;
            answered = model.answer(request, &guard.cancel) => answered,
            () = guard.cancel.cancelled() => Err(SummaryError::Cancelled),
        };
        let mut heard = std::mem::take(&mut *heard.lock().unwrap_or_else(PoisonError::into_inner));
        let (usage, ending) = match answered {
            Ok(answer) => {
                heard.text = answer.text;
                (answer.usage, Ending::Whole)
            }
            Err(SummaryError::Length) => (None, Ending::Cut),
            Err(SummaryError::Cancelled) => (None, Ending::Aborted),
            Err(error) => (None, Ending::Failed(error)),
        };
        let entry = entry(model, &heard, usage.as_ref(), &ending);
        let text = heard.text;
        let answer = Late::Reply.attach(&session, Some(&question), &entry)?.id;
        Ok(Said { question, answer, text, usage, model: model.model().to_owned(), ending })
    }

    /// Compacts if the model's window is nearly full.
    async fn make_room(
        &self,
        model: &dyn ChatModel,
        cancel: &CancellationToken,
    ) -> Result<Option<Compaction>, AgentError> {
        let name = name_of(model);
        let settings = self.settings();
        let own = name.full_name().and_then(|name| settings.context_windows.get(&name).copied());
        self.compact_if_needed_for(Some(&name), own.unwrap_or(model.context_window()), cancel).await
    }
}

fn name_of(model: &dyn ChatModel) -> Model {
    let (provider, id) = (model.provider().to_owned(), model.model().to_owned());
    Model { provider: Some(provider), model_id: Some(id) }
}

/// Writes the question, behind the change of models if there is one. Both or none.
fn ask(session: &Session, model: &dyn ChatModel, question: &str) -> Result<EntryId, Error> {
    let mut entries = Vec::new();
    if session.projection()?.model.as_ref() != Some(&name_of(model)) {
        entries.push(NewEntry::model_change(model.provider(), model.model()));
    }
    let id = session.new_id();
    entries.push(Message::user(question).into_entry().with_id(id.clone()));
    session.append_all(&entries)?;
    Ok(id)
}

/// The part of an answer that has arrived.
#[derive(Debug, Default)]
struct Heard {
    text: String,
    thinking: Vec<Thought>,
}

/// A block of thinking.
#[derive(Debug, Default)]
struct Thought {
    text: String,
    signature: Option<String>,
    is_over: bool,
}

impl Heard {
    fn take(&mut self, delta: Delta<'_>) {
        match delta {
            Delta::Text(text) => {
                self.text.push_str(text);
                self.end_thought(None);
            }
            Delta::Thinking(text) => match self.thinking.last_mut() {
                Some(last) if !last.is_over => last.text.push_str(text),
                _ => self.thinking.push(Thought { text: text.to_owned(), ..Thought::default() }),
            },
            Delta::ThinkingEnd(signature) => self.end_thought(signature),
            Delta::Restart => *self = Heard::default(),
            Delta::Retry(_) => {}
        }
    }

    fn end_thought(&mut self, signature: Option<&str>) {
        if let Some(last) = self.thinking.last_mut().filter(|last| !last.is_over) {
            last.signature = signature.map(str::to_owned);
            last.is_over = true;
        }
    }
}

/// Remembers what arrives, tells of further attempts, and passes both on.
fn overhear(
    heard: &Arc<Mutex<Heard>>,
    mut on_delta: Option<OnDelta>,
    on_retry: impl Fn(&RetryNotice) + Send + 'static,
) -> OnDelta {
    let heard = Arc::clone(heard);
    Box::new(move |delta| {
        heard.lock().unwrap_or_else(PoisonError::into_inner).take(delta);
        if let Delta::Retry(notice) = delta {
            on_retry(notice);
        }
        if let Some(on_delta) = &mut on_delta {
            on_delta(delta);
        }
    })
}

/// Returns the answer as an entry: the thinking, as pi records it, and then the text.
fn entry(model: &dyn ChatModel, heard: &Heard, usage: Option<&Usage>, ending: &Ending) -> NewEntry {
    let provider = model.provider();
    let api = match provider {
        "anthropic" => "anthropic-messages",
        "openai" => "openai-completions",
        other => other,
    };
    let usage = usage.copied().unwrap_or_else(Usage::of_request);
    let mut answer = AssistantMessage::new(api, provider, model.model()).with_usage(usage.into());
    for thought in heard.thinking.iter().filter(|thought| !thought.text.trim().is_empty()) {
        answer = answer.with_thinking(&thought.text, thought.signature.as_deref());
    }
    if !heard.text.is_empty() {
        answer = answer.with_text(&heard.text);
    }
    match ending {
        Ending::Failed(error) => answer.failed(error.to_string()).into(),
        other => answer.with_stop_reason(other.stop_reason()).into(),
    }
}
