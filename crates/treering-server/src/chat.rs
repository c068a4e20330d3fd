//! Turns with a model: the model that the server was given, and the turns that run.
//!
//! A turn has a session of its own, opened from the store as another process would open it, so that requests for
//! the same session neither wait for the model nor move the leaf under it. It runs on a thread of its own,
//! because what it writes goes to the store at once.

use crate::node::{Node, Phase};
use crate::problem::{Code, Problem};
use crate::types::UsageSum;
use bytes::Bytes;
use serde_json::json;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::{mpsc, watch};
use treering::{Session, SessionId};
use treering_agent::{
    AgentError, AgentSession, CancellationToken, ChatModel, Delta, Event, OnDelta, TurnEnd,
    TurnReport,
};

/// Prepares a session for turns.
type Prepare = Arc<dyn Fn(Session) -> AgentSession + Send + Sync>;

/// The model of a server.
#[derive(Clone)]
pub(crate) struct Chat {
    pub(crate) model: Arc<dyn ChatModel>,
    pub(crate) prepare: Prepare,
}

impl fmt::Debug for Chat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Chat").field("model", &self.model).finish_non_exhaustive()
    }
}

/// A session of a space.
type Key = (String, SessionId);

/// The turns of a node.
#[derive(Debug)]
pub(crate) struct Turns {
    running: Mutex<HashMap<Key, CancellationToken>>,
    count: watch::Sender<usize>,
}

impl Default for Turns {
    fn default() -> Self {
        Turns { running: Mutex::default(), count: watch::Sender::new(0) }
    }
}

impl Turns {
    fn running(&self) -> MutexGuard<'_, HashMap<Key, CancellationToken>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Stops the turn of a session. Returns whether there is one.
    pub(crate) fn stop(&self, space: &str, id: &SessionId) -> bool {
        let running = self.running();
        let turn = running.get(&(space.to_owned(), id.clone()));
        turn.inspect(|turn| turn.cancel()).is_some()
    }

    /// Waits until no turn runs.
    pub(crate) async fn finished(&self) {
        // The sender lives as long as this.
        let _ = self.count.subscribe().wait_for(|count| *count == 0).await;
    }
}

/// A turn that runs, until it is dropped.
#[derive(Debug)]
pub(crate) struct RunningTurn {
    node: Arc<Node>,
    key: Key,
    pub(crate) cancel: CancellationToken,
}

impl RunningTurn {
    /// Begins a turn, if the session has none and there may be one more.
    pub(crate) fn begin(node: &Arc<Node>, space: &str, id: SessionId) -> Result<Self, Problem> {
        if node.phase() >= Phase::Stopping {
            return Err(Problem::new(Code::ShuttingDown, "the server is about to end"));
        }
        let key = (space.to_owned(), id);
        let cancel = CancellationToken::new();
        let mut running = node.turns.running();
        let count = running.len();
        match running.entry(key.clone()) {
            Entry::Occupied(_) => {
                let detail = "the model is answering in this session: wait for it, or stop it";
                return Err(Problem::new(Code::TurnRunning, detail));
            }
            Entry::Vacant(_) if count >= node.limits.turns => {
                let detail = "the model is answering in too many sessions";
                return Err(Problem::new(Code::Overloaded, detail).because("turns").retry_after(5));
            }
            Entry::Vacant(place) => place.insert(cancel.clone()),
        };
        node.turns.count.send_replace(running.len());
        drop(running);
        Ok(RunningTurn { node: Arc::clone(node), key, cancel })
    }
}

impl Drop for RunningTurn {
    fn drop(&mut self) {
        let mut running = self.node.turns.running();
        running.remove(&self.key);
        self.node.turns.count.send_replace(running.len());
        drop(running);
        self.node.feeds.wake(&self.key.0);
    }
}

/// Takes the events of a turn. They are at most as large as the answer, which the turn itself keeps.
pub(crate) type EventSink = mpsc::UnboundedSender<Bytes>;

/// Returns an event of a turn as it is sent.
fn event(name: &str, data: &serde_json::Value) -> Bytes {
    Bytes::from(format!("event: {name}\ndata: {data}\n\n"))
}

/// Runs a turn to its end. It is aborted when its token is canceled, or the server ends; the answer is recorded
/// as far as it came. `events` is the first parameter, and so the last one that is dropped: if the model panics,
/// the client hears of it when the session can have its next turn.
pub(crate) async fn run(
    events: EventSink,
    turn: RunningTurn,
    chat: Chat,
    session: Session,
    text: String,
) {
    let agent = (chat.prepare)(session);
    let mut happening = agent.subscribe();
    let pieces = events.clone();
    let on_delta: OnDelta = Box::new(move |delta| {
        let piece = match delta {
            Delta::Text(text) => event("text", &json!({"text": text})),
            Delta::Thinking(text) => event("thinking", &json!({"text": text})),
            Delta::Restart => event("restart", &json!({})),
            Delta::Retry(notice) => event("retry", &json!({"detail": notice.to_string()})),
            _ => return,
        };
        // If this fails the client is gone, and the turn is being stopped.
        let _ = pieces.send(piece);
    });
    agent.start().await;
    let cancel = turn.cancel.clone();
    let answering = agent.prompt(&*chat.model, &text, Some(on_delta), &cancel);
    tokio::pin!(answering);
    let stopping = turn.node.reached(Phase::Stopping);
    tokio::pin!(stopping);
    let mut is_open = true;
    let done = loop {
        tokio::select! {
            biased;
            found = happening.recv(), if is_open => match found {
                Ok(found) => tell(&turn, &found, &events),
                Err(RecvError::Lagged(_)) => {}
                Err(RecvError::Closed) => is_open = false,
            },
            done = &mut answering => break done,
            () = &mut stopping, if !turn.cancel.is_cancelled() => turn.cancel.cancel(),
        }
    };
    while let Ok(found) = happening.try_recv() {
        tell(&turn, &found, &events);
    }
    agent.shutdown().await;
    // The session can have the next turn when the client hears of the end of this one.
    drop(turn);
    let _ = events.send(event("end", &end(done)));
}

/// Tells the client, and those who follow the session, that something was written.
fn tell(turn: &RunningTurn, found: &Event, events: &EventSink) {
    let told = match found {
        Event::TurnStart(started) => {
            event("question", &json!({"entry": started.question.as_str()}))
        }
        Event::AnswerEnd(recorded) => event("answer", &json!({"entry": recorded.entry.as_str()})),
        Event::AnswerRewound(rewound) => {
            let detail = rewound.reason.to_string();
            let _ = events.send(event("retry", &json!({"detail": detail})));
            event("restart", &json!({}))
        }
        _ => return,
    };
    turn.node.feeds.wake(&turn.key.0);
    let _ = events.send(told);
}

fn end(done: Result<TurnReport, AgentError>) -> serde_json::Value {
    let report = match done {
        Ok(report) => report,
        Err(error) => {
            let end = if error.is_canceled() { "aborted" } else { "failed" };
            return json!({"end": end, "detail": error.to_string(), "answer": null, "usage": null});
        }
    };
    let end = match &report.end {
        TurnEnd::Complete => "complete",
        TurnEnd::Length => "length",
        TurnEnd::Aborted => "aborted",
        TurnEnd::RoundLimit => "round_limit",
        _ => "failed",
    };
    json!({
        "end": end,
        "detail": report.end.to_string(),
        "answer": report.answer.as_str(),
        "usage": report.usage.as_ref().map(UsageSum::from),
    })
}
