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
use crate::summarizer::{Delta, OnDelta, SummaryError};
use serde::Serialize;
use serde_json::value::RawValue;
use std::sync::{Arc, Mutex, PoisonError};
use tokio_util::sync::CancellationToken;
use treering::{EntryId, Error, Message, Model, NewEntry, Session, Usage};

/// How an answer ended.
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
    fn stop_reason(&self) -> &'static str {
        match self {
            Ending::Whole => "stop",
            Ending::Cut => "length",
            Ending::Aborted => "aborted",
            Ending::Failed(_) => "error",
        }
    }
}

/// A turn that was written down.
#[derive(Debug, Clone)]
pub struct Said {
    /// What the user said.
    pub question: EntryId,
    /// What the model answered.
    pub answer: EntryId,
    /// The text of the answer, as far as it came.
    pub text: String,
    /// What it cost, if the server said so.
    pub usage: Option<Usage>,
    /// The model, as it was asked for.
    pub model: String,
    /// How the answer ended.
    pub ending: Ending,
}

/// An assistant message, in the order in which agents write it.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Answer<'a> {
    role: &'a str,
    content: Vec<Text<'a>>,
    api: &'a str,
    provider: &'a str,
    model: &'a str,
    usage: Box<RawValue>,
    stop_reason: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    error_message: Option<String>,
    timestamp: i64,
}

#[derive(Serialize)]
struct Text<'a> {
    r#type: &'a str,
    text: &'a str,
}

impl AgentSession {
    /// Says something to a model and writes down what it answers. `on_delta` sees the answer as it
    /// comes. An answer that fails, or that somebody stops, is an answer as well: see
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
            // Whatever becomes of it is no failure of the turn.
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
        let heard = Arc::new(Mutex::new(String::new()));
        request.on_delta = Some(overhear(&heard, on_delta));
        let answered = tokio::select! {
            // An answer that is whole is not thrown away.
            biased;
            answered = model.answer(request, &guard.cancel) => answered,
            () = guard.cancel.cancelled() => Err(SummaryError::Cancelled),
        };
        let so_far = std::mem::take(&mut *heard.lock().unwrap_or_else(PoisonError::into_inner));
        let (text, usage, ending) = match answered {
            Ok(answer) => (answer.text, answer.usage, Ending::Whole),
            Err(SummaryError::Length) => (so_far, None, Ending::Cut),
            Err(SummaryError::Cancelled) => (so_far, None, Ending::Aborted),
            Err(error) => (so_far, None, Ending::Failed(error)),
        };
        let entry = entry(model, &text, usage.as_ref(), &ending)?;
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
        self.check_for(Some(&name), own.unwrap_or(model.context_window()), cancel).await
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
    entries.push(Message::user(question).with_id(id.clone()));
    session.append_all(&entries)?;
    Ok(id)
}

/// Remembers what comes, and passes it on.
fn overhear(heard: &Arc<Mutex<String>>, mut on_delta: Option<OnDelta>) -> OnDelta {
    let heard = Arc::clone(heard);
    Box::new(move |delta| {
        let mut heard = heard.lock().unwrap_or_else(PoisonError::into_inner);
        match delta {
            Delta::Text(text) => heard.push_str(text),
            Delta::Restart => heard.clear(),
        }
        drop(heard);
        if let Some(on_delta) = &mut on_delta {
            on_delta(delta);
        }
    })
}

/// The answer as an entry.
fn entry(
    model: &dyn ChatModel,
    text: &str,
    usage: Option<&Usage>,
    ending: &Ending,
) -> Result<NewEntry, AgentError> {
    let provider = model.provider();
    let answer = Answer {
        role: "assistant",
        content: Some(text)
            .filter(|text| !text.is_empty())
            .map(|text| Text { r#type: "text", text })
            .into_iter()
            .collect(),
        api: match provider {
            "anthropic" => "anthropic-messages",
            "openai" => "openai-completions",
            other => other,
        },
        provider,
        model: model.model(),
        usage: usage_json(usage)?,
        stop_reason: ending.stop_reason(),
        error_message: match ending {
            Ending::Failed(error) => Some(error.to_string()),
            _ => None,
        },
        timestamp: jiff::Timestamp::now().as_millisecond(),
    };
    let json = serde_json::to_vec(&answer).map_err(internal)?;
    Ok(NewEntry::message(&json)?)
}

/// Other readers of the file expect a cost, if an empty one: without it they fail.
fn usage_json(usage: Option<&Usage>) -> Result<Box<RawValue>, AgentError> {
    let usage = usage.copied().unwrap_or_default();
    let mut json = String::from_utf8(usage.to_json()).map_err(internal)?;
    if usage.unpriced > 0 && json.pop().is_some() {
        json.push_str(",\"cost\":{}}");
    }
    RawValue::from_string(json).map_err(internal)
}

fn internal(error: impl std::fmt::Display) -> AgentError {
    AgentError::Internal(error.to_string())
}
