//! Collects an answer of a model as it arrives, and turns it into an entry.

use super::TurnEnd;
use crate::chat::ChatModel;
use crate::hooks::AnswerStream;
use crate::summarizer::{Delta, OnDelta};
use crate::tool::ToolCall;
use std::sync::{Arc, Mutex, PoisonError};
use treering::entry::AssistantMessage;
use treering::usage::Usage;
use treering::{Error, NewEntry};

/// The part of an answer that has arrived.
#[derive(Debug, Default)]
pub(super) struct PartialAnswer {
    pub(super) text: String,
    thinking: Vec<Thought>,
    pub(super) calls: Vec<ToolCall>,
    pub(super) usage: Option<Usage>,
}

/// A block of thinking.
#[derive(Debug, Default)]
struct Thought {
    text: String,
    signature: Option<String>,
    is_redacted: bool,
    is_over: bool,
}

impl Thought {
    /// Returns whether the block has a signature only.
    fn is_omitted(&self) -> bool {
        self.text.is_empty() && self.signature.is_some()
    }
}

impl PartialAnswer {
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
            Delta::RedactedThinking(data) => {
                self.end_thought(None);
                let signature = Some(data.to_owned());
                let (is_redacted, is_over) = (true, true);
                self.thinking.push(Thought {
                    signature,
                    is_redacted,
                    is_over,
                    ..Thought::default()
                });
            }
            Delta::Restart => *self = PartialAnswer::default(),
            Delta::Usage(usage) => self.usage = Some(*usage),
            Delta::Retry(_) => {}
        }
    }

    fn end_thought(&mut self, signature: Option<&str>) {
        let signature = signature.map(str::to_owned);
        match self.thinking.last_mut().filter(|last| !last.is_over) {
            Some(last) => (last.signature, last.is_over) = (signature, true),
            // The provider kept the text to itself. The signature stands for it in later requests.
            None if signature.is_some() => {
                self.thinking.push(Thought { signature, is_over: true, ..Thought::default() });
            }
            None => {}
        }
    }

    /// Returns the entry of the answer: thinking, text and tool calls, in pi's order.
    pub(super) fn entry(&self, model: &dyn ChatModel, end: &TurnEnd) -> Result<NewEntry, Error> {
        let usage = self.usage.unwrap_or_else(Usage::of_request);
        let mut answer = AssistantMessage::new(model.api(), model.provider(), model.model())
            .with_usage(usage.into());
        for thought in &self.thinking {
            if thought.is_redacted {
                answer = answer.with_redacted_thinking(thought.signature.as_deref().unwrap_or(""));
            } else if !thought.text.trim().is_empty() || thought.is_omitted() {
                answer = answer.with_thinking(&thought.text, thought.signature.as_deref());
            }
        }
        if !self.text.is_empty() {
            answer = answer.with_text(&self.text);
        }
        for call in &self.calls {
            // Arguments that are not an object are recorded as an empty one, and the result states
            // the reason.
            let arguments = if call.is_valid() { &*call.arguments } else { "{}" };
            answer = answer.with_tool_call(&call.id, &call.name, arguments)?;
        }
        Ok(match end {
            TurnEnd::Failed(error) => answer.failed(error.to_string()).into(),
            other => answer.with_stop_reason(other.stop_reason(!self.calls.is_empty())).into(),
        })
    }
}

/// Returns a function that collects an answer in `partial`, broadcasts it, and passes it to the
/// caller's function.
pub(super) fn collect(
    partial: &Arc<Mutex<PartialAnswer>>,
    on_delta: &Arc<Mutex<Option<OnDelta>>>,
    stream: AnswerStream,
) -> OnDelta {
    let (partial, on_delta) = (Arc::clone(partial), Arc::clone(on_delta));
    Box::new(move |delta| {
        partial.lock().unwrap_or_else(PoisonError::into_inner).take(delta);
        stream.send(delta);
        if let Some(on_delta) = &mut *on_delta.lock().unwrap_or_else(PoisonError::into_inner) {
            on_delta(delta);
        }
    })
}

impl ToolCall {
    /// Returns whether the arguments are a JSON object.
    pub(super) fn is_valid(&self) -> bool {
        serde_json::from_str::<serde_json::Map<String, serde_json::Value>>(&self.arguments).is_ok()
    }
}
