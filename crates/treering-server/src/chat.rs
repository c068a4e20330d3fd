//! Turns with the model of the server, and the list of running turns.
//!
//! A turn opens the session separately from the store, as another process would, so that requests
//! for the same session neither wait for the model nor move the leaf during the turn. It runs on a
//! thread of its own, because its writes to the store block.

use crate::node::{Node, Phase};
use crate::problem::{Code, Problem};
use crate::types::UsageSum;
use bytes::Bytes;
use serde_json::json;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fmt;
use std::future::poll_fn;
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::broadcast::error::TryRecvError;
use tokio::sync::{broadcast, mpsc, watch};
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

/// The key of a session: its space and its id.
type Key = (String, SessionId);

/// The running turns of a node.
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

    /// Stops the turn of a session. Returns whether there was one.
    pub(crate) fn stop(&self, space: &str, id: &SessionId) -> bool {
        let running = self.running();
        let turn = running.get(&(space.to_owned(), id.clone()));
        turn.inspect(|turn| turn.cancel()).is_some()
    }

    /// Waits until no turn is running.
    pub(crate) async fn finished(&self) {
        // The sender is never dropped before this.
        let _ = self.count.subscribe().wait_for(|count| *count == 0).await;
    }
}

/// A running turn, until it is dropped.
#[derive(Debug)]
pub(crate) struct RunningTurn {
    node: Arc<Node>,
    key: Key,
    pub(crate) cancel: CancellationToken,
}

impl RunningTurn {
    /// Begins a turn, if the session has none and the limit is not reached.
    pub(crate) fn begin(node: &Arc<Node>, space: &str, id: SessionId) -> Result<Self, Problem> {
        if node.phase() >= Phase::Stopping {
            return Err(Problem::new(Code::ShuttingDown, "the server is shutting down"));
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

/// Receives the events of a turn. They are at most as large as the answer, which the turn itself
/// keeps.
pub(crate) type EventSink = mpsc::UnboundedSender<Bytes>;

/// Returns an event of a turn in the form in which it is sent.
fn event(name: &str, data: &serde_json::Value) -> Bytes {
    Bytes::from(format!("event: {name}\ndata: {data}\n\n"))
}

/// Runs a turn to its end. It is aborted when its token is canceled or the server ends; the answer
/// is recorded as far as it arrived. `events` is the first parameter, and therefore dropped last:
/// if the model panics, the client learns it only when the session can have its next turn.
pub(crate) async fn run(
    events: EventSink,
    turn: RunningTurn,
    chat: Chat,
    session: Session,
    text: String,
) {
    let agent = (chat.prepare)(session);
    let turn_events = Arc::new(TurnEventSender {
        agent_events: Mutex::new(agent.subscribe()),
        node: Arc::clone(&turn.node),
        space: turn.key.0.clone(),
        events: events.clone(),
    });
    let pieces = Arc::clone(&turn_events);
    let on_delta: OnDelta = Box::new(move |delta| {
        let piece = match delta {
            Delta::Text(text) => event("text", &json!({"text": text})),
            Delta::Thinking(text) => event("thinking", &json!({"text": text})),
            Delta::Restart => event("restart", &json!({})),
            Delta::Retry(notice) => event("retry", &json!({"detail": notice.to_string()})),
            _ => return,
        };
        // Entries that were written before come first.
        pieces.send_pending();
        pieces.send(piece);
    });
    agent.start().await;
    let cancel = turn.cancel.clone();
    let mut answering = pin!(agent.prompt(&*chat.model, &text, Some(on_delta), &cancel));
    let mut stopping = pin!(turn.node.reached(Phase::Stopping));
    // Entries are written, and pieces arrive, while the turn is polled: checking for them
    // afterwards keeps their order.
    let done = poll_fn(|context| {
        let done = answering.as_mut().poll(context);
        turn_events.send_pending();
        let is_asked = done.is_pending() && !cancel.is_cancelled();
        if is_asked && stopping.as_mut().poll(context).is_ready() {
            cancel.cancel();
        }
        done
    })
    .await;
    agent.shutdown().await;
    // When the client learns of the end of this turn, the session can have the next one.
    drop(turn);
    let _ = events.send(event("end", &end(done)));
}

/// Sends the events of a turn to the client, in order.
struct TurnEventSender {
    agent_events: Mutex<broadcast::Receiver<Event>>,
    node: Arc<Node>,
    space: String,
    events: EventSink,
}

impl TurnEventSender {
    /// Sends an event. If this fails, the client is gone, and the turn is being stopped.
    fn send(&self, event: Bytes) {
        let _ = self.events.send(event);
    }

    /// Sends entries that were written since the last call, to the client and to the followers of
    /// the session.
    fn send_pending(&self) {
        let mut agent_events = self.agent_events.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            match agent_events.try_recv() {
                Ok(Event::TurnStart(started)) => {
                    self.send(event("question", &json!({"entry": started.question.as_str()})));
                }
                Ok(Event::AnswerEnd(recorded)) => {
                    self.send(event("answer", &json!({"entry": recorded.entry.as_str()})));
                }
                Ok(Event::AnswerRewound(rewound)) => {
                    let detail = rewound.reason.to_string();
                    self.send(event("retry", &json!({"detail": detail})));
                    self.send(event("restart", &json!({})));
                }
                Ok(_) | Err(TryRecvError::Lagged(_)) => continue,
                Err(TryRecvError::Empty | TryRecvError::Closed) => return,
            }
            self.node.feeds.wake(&self.space);
        }
    }
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
