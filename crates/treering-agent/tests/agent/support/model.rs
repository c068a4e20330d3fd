//! A model that plays a script and records its requests.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use tokio::sync::Semaphore;
use treering_agent::{
    CancellationToken, ChatAnswer, ChatFuture, ChatModel, ChatRequest, ModelError, ToolCall, Usage,
};

/// The reaction to one request.
pub(crate) enum Reply {
    Text(&'static str),
    /// Calls of tools: id, name, arguments.
    Calls(Vec<(&'static str, &'static str, &'static str)>),
    /// An answer that calls tools, and the size of the context after it, in tokens.
    CallsAt(u64, Vec<(&'static str, &'static str, &'static str)>),
    Fail(ModelError),
    /// The error, once the gate has a permit.
    FailAfter(Arc<Semaphore>, ModelError),
    /// Nothing, until the turn is aborted.
    Hang,
    Panic,
}

pub(crate) struct ScriptedModel {
    replies: Mutex<VecDeque<Reply>>,
    /// The messages of every request, as role and text.
    requests: Mutex<Vec<Vec<String>>>,
    /// One permit for every request.
    pub(crate) arrived: Semaphore,
}

impl std::fmt::Debug for ScriptedModel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("ScriptedModel")
    }
}

impl ScriptedModel {
    pub(crate) fn plays(replies: impl IntoIterator<Item = Reply>) -> Self {
        let replies = Mutex::new(replies.into_iter().collect());
        ScriptedModel { replies, requests: Mutex::default(), arrived: Semaphore::new(0) }
    }

    pub(crate) fn requests(&self) -> Vec<Vec<String>> {
        self.requests.lock().unwrap().clone()
    }
}

fn calls(calls: Vec<(&'static str, &'static str, &'static str)>) -> Vec<ToolCall> {
    let call = |(id, name, arguments): (&str, &str, &str)| ToolCall::new(id, name, arguments);
    calls.into_iter().map(call).collect()
}

impl ChatModel for ScriptedModel {
    fn provider(&self) -> &str {
        "acme"
    }

    fn model(&self) -> &str {
        "m1"
    }

    fn context_window(&self) -> u64 {
        10_000
    }

    fn answer<'a>(&'a self, request: ChatRequest, _: &'a CancellationToken) -> ChatFuture<'a> {
        let messages = match &request.context {
            Some(context) => super::talk::lines(context),
            None => request.turns.iter().map(|turn| turn.text.clone()).collect(),
        };
        self.requests.lock().unwrap().push(messages);
        self.arrived.add_permits(1);
        let reply = self.replies.lock().unwrap().pop_front().expect("a reply for every request");
        let answer = |text: &str, tool_calls, usage| {
            let mut answer = ChatAnswer::new("m1", text);
            (answer.tool_calls, answer.usage) = (tool_calls, usage);
            Ok(answer)
        };
        Box::pin(async move {
            match reply {
                Reply::Text(text) => answer(text, Vec::new(), None),
                Reply::Calls(all) => answer("", calls(all), None),
                Reply::CallsAt(input, all) => {
                    answer("", calls(all), Some(Usage::of_request().input(input)))
                }
                Reply::Fail(error) => Err(error),
                Reply::FailAfter(gate, error) => {
                    gate.acquire().await.unwrap().forget();
                    Err(error)
                }
                Reply::Hang => std::future::pending().await,
                Reply::Panic => panic!("the model panics"),
            }
        })
    }
}
