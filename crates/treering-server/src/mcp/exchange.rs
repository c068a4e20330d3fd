//! A request of the protocol that is being answered.
//!
//! If the answer is ready before there is any progress to report, it is plain JSON, and an error has its own HTTP status.
//! Otherwise the response is a stream of events: notifications of progress, and the answer as the last event. The status
//! of a stream is sent before its events, so it is always 200, and an error is told in the answer alone.

use crate::handlers::events;
use crate::problem::Problem;
use axum::body::Body;
use axum::http::{HeaderMap, Response, header};
use bytes::Bytes;
use serde_json::{Value, json};
use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::time::Instant;
use treering_mcp::ProtocolError;

/// The answer to a request.
pub(super) type Answer = Result<Value, ProtocolError>;

/// Sets its flag when it is dropped: when the client is gone, or the request took too long.
pub(super) struct CancelOnDrop(pub Arc<AtomicBool>);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// A request under way. The work is canceled when this is dropped.
pub(super) struct Exchange {
    pub id: Value,
    pub cancel: CancelOnDrop,
    pub working: Pin<Box<dyn Future<Output = Result<Answer, Problem>> + Send>>,
    /// The notifications of progress, a bounded number of them.
    pub notes: UnboundedReceiver<Value>,
    /// The time at which the work is told to answer with what it has.
    pub deadline: Option<Instant>,
}

/// The next message to the client.
pub(super) enum Step {
    Note(Value),
    Answer(Result<Answer, Problem>),
}

impl Exchange {
    pub(super) fn deadline_in(patience: Duration) -> Option<Instant> {
        Instant::now().checked_add(patience)
    }

    /// Waits for the next message. Notes come before the answer.
    pub(super) async fn next(&mut self) -> Step {
        loop {
            let deadline = self.deadline;
            let patience = async {
                match deadline {
                    Some(deadline) => tokio::time::sleep_until(deadline).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                biased;
                Some(note) = self.notes.recv() => return Step::Note(note),
                answer = &mut self.working => return Step::Answer(answer),
                () = patience => {
                    self.cancel.0.store(true, Ordering::Relaxed);
                    self.deadline = None;
                }
            }
        }
    }

    /// Returns the answer as a stream of events, of which `first` is the first one.
    pub(super) fn into_events(self, first: Value) -> Response<Body> {
        let state = Some((self, Some(first)));
        let events = futures_util::stream::unfold(state, |state| async {
            let (mut exchange, first) = state?;
            if let Some(first) = first {
                return Some((event(&first), Some((exchange, None))));
            }
            Some(match exchange.next().await {
                Step::Note(note) => (event(&note), Some((exchange, None))),
                Step::Answer(answer) => (event(&exchange.message(answer)), None),
            })
        });
        events::stream(Body::from_stream(events))
    }

    /// Returns the last message.
    fn message(&self, answer: Result<Answer, Problem>) -> Value {
        match answer {
            Ok(Ok(answer)) => answer,
            Ok(Err(error)) => error.to_message(&self.id),
            // The code of internal errors. The status was sent before.
            Err(problem) => {
                json!({"jsonrpc": "2.0", "id": self.id, "error": {"code": -32603, "message": problem.detail}})
            }
        }
    }
}

/// Returns whether a client takes a stream of events as an answer.
pub(super) fn takes_events(headers: &HeaderMap) -> bool {
    let values = headers.get_all(header::ACCEPT).iter().filter_map(|value| value.to_str().ok());
    values.flat_map(|value| value.split(',')).any(|media| {
        let media = media.split(';').next().unwrap_or_default();
        media.trim().eq_ignore_ascii_case("text/event-stream")
    })
}

fn event(message: &Value) -> Result<Bytes, Infallible> {
    // JSON that is not indented is one line.
    Ok(Bytes::from(format!("event: message\ndata: {message}\n\n")))
}
