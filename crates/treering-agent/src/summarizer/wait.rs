//! The one place where a wait can be given up: by the caller, or by the clock.

use super::error::{SummaryError, Waiting};
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// `work`, unless it is canceled or takes longer than `total`. Giving up drops it: whatever it holds
/// (a connection, a child process) goes with it, wherever it was.
pub(crate) async fn within<T>(
    cancel: &CancellationToken,
    total: Duration,
    work: impl Future<Output = Result<T, SummaryError>>,
) -> Result<T, SummaryError> {
    tokio::select! {
        // In this order, so that work that is always ready cannot outrun a cancellation.
        biased;
        () = cancel.cancelled() => Err(SummaryError::Canceled),
        done = limited(Waiting::Total, total, work) => done?,
    }
}

/// `work`, or a timeout that says what it was waiting for.
pub(crate) async fn limited<T>(
    waiting: Waiting,
    limit: Duration,
    work: impl Future<Output = T>,
) -> Result<T, SummaryError> {
    tokio::time::timeout(limit, work).await.map_err(|_| SummaryError::Timeout { waiting, limit })
}
