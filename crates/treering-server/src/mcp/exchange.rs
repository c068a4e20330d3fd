//! A request of the protocol in progress.
//!
//! If the answer is ready before there is any progress to report, it is plain JSON, and an error
//! has its own HTTP status. Otherwise the response is a stream of events: notifications of
//! progress, and the answer as the last event. The status of a stream is sent before its events, so
//! it is always 200, and only the answer itself reports an error.

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

/// Sets its flag when it is dropped, because the client is gone or the request took too long.
pub(super) struct CancelOnDrop(pub Arc<AtomicBool>);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// A request in progress. The work is canceled when this is dropped.
pub(super) struct Exchange {
    pub id: Value,
    cancel: CancelOnDrop,
    working: Pin<Box<dyn Future<Output = Result<Answer, Problem>> + Send>>,
    /// The notifications of progress, a bounded number of them.
    notes: UnboundedReceiver<Value>,
    /// The answer, while notifications that were sent before it are delivered.
    answer: Option<Result<Answer, Problem>>,
    /// The time at which the work must answer with the results so far.
    deadline: Option<Instant>,
}

/// The next message to the client.
pub(super) enum Step {
    Note(Value),
    Answer(Result<Answer, Problem>),
}

impl Exchange {
    /// Creates an exchange whose work must answer with the results so far after `time_limit`.
    pub(super) fn new(
        id: Value,
        cancel: CancelOnDrop,
        working: impl Future<Output = Result<Answer, Problem>> + Send + 'static,
        notes: UnboundedReceiver<Value>,
        time_limit: Duration,
    ) -> Self {
        let deadline = Instant::now().checked_add(time_limit);
        Exchange { id, cancel, working: Box::pin(working), notes, answer: None, deadline }
    }

    /// Waits for the next message. Notifications that were sent before the answer come before it.
    pub(super) async fn next(&mut self) -> Step {
        loop {
            if let Some(answer) = self.answer.take() {
                let Ok(note) = self.notes.try_recv() else { return Step::Answer(answer) };
                self.answer = Some(answer);
                return Step::Note(note);
            }
            let deadline = self.deadline;
            let time_limit = async {
                match deadline {
                    Some(deadline) => tokio::time::sleep_until(deadline).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                biased;
                Some(note) = self.notes.recv() => return Step::Note(note),
                // The work runs on another thread: it may have sent notifications since they were looked for.
                answer = &mut self.working => self.answer = Some(answer),
                () = time_limit => {
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

    /// Returns the final message.
    fn message(&self, answer: Result<Answer, Problem>) -> Value {
        match answer {
            Ok(Ok(answer)) => answer,
            Ok(Err(error)) => error.to_message(&self.id),
            // This is the code of internal errors. The status was already sent.
            Err(problem) => {
                json!({"jsonrpc": "2.0", "id": self.id, "error": {"code": -32603, "message": problem.detail}})
            }
        }
    }
}

/// Returns whether a client accepts a stream of events as a response.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn notifications_that_were_sent_while_the_answer_was_made_come_before_it() {
        let (sender, notes) = tokio::sync::mpsc::unbounded_channel();
        // The notifications are sent after the channel was found empty, and before the answer is ready.
        let working = async move {
            for progress in 1..=2 {
                sender.send(json!(progress)).unwrap();
            }
            Ok(Ok(json!("answer")))
        };
        let cancel = CancelOnDrop(Arc::default());
        let mut exchange =
            Exchange::new(json!(7), cancel, working, notes, Duration::from_secs(3600));
        for progress in 1..=2 {
            assert!(matches!(exchange.next().await, Step::Note(note) if note == progress));
        }
        assert!(
            matches!(exchange.next().await, Step::Answer(Ok(Ok(answer))) if answer == "answer")
        );
    }
}
