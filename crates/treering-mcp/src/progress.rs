//! Notifies a client about the progress of a call.

use crate::protocol::Request;
use serde_json::{Value, json};
use std::sync::atomic::{AtomicU64, Ordering};
use treering::catalog::Progress;

/// The maximum number of notifications of progress during a call.
const MAX_NOTES: u64 = 50;

/// The notifications of progress that a client has requested with a call.
///
/// ```
/// use treering::catalog::Progress;
/// use treering_mcp::{Message, ProgressNotes};
/// let call = br#"{"jsonrpc":"2.0","id":1,"method":"ping","params":{"_meta":{"progressToken":"t"}}}"#;
/// let Ok(Message::Request(request)) = Message::parse(call) else { panic!() };
/// let notes = ProgressNotes::of(&request).unwrap();
/// let note = notes.note(Progress::new(1, 4)).unwrap();
/// assert_eq!(note["params"]["progressToken"], "t");
/// assert_eq!((&note["params"]["progress"], &note["params"]["total"]), (&1.into(), &4.into()));
/// assert!(notes.note(Progress::new(1, 4)).is_none(), "it was reported");
/// ```
#[derive(Debug)]
pub struct ProgressNotes {
    token: Value,
    /// The number of steps that were reported.
    reported: AtomicU64,
}

impl ProgressNotes {
    /// Returns the notifications for a request; `None` if the client has not requested any.
    pub fn of(request: &Request) -> Option<Self> {
        let token = request.progress_token()?.clone();
        Some(ProgressNotes { token, reported: AtomicU64::new(0) })
    }

    /// Returns the notification to send now, if there is one: not every step is reported.
    pub fn note(&self, progress: Progress) -> Option<Value> {
        let (done, total) = (progress.done as u64, progress.total as u64);
        let step = done.saturating_mul(MAX_NOTES) / total.max(1);
        let is_further = step > self.reported.fetch_max(step, Ordering::Relaxed);
        let params = || json!({"progressToken": self.token, "progress": done, "total": total});
        is_further.then(
            || json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": params()}),
        )
    }
}
