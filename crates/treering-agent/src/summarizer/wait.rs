//! Waits for work with cancellation and time limits.

use super::error::{ModelError, Waiting};
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// Runs `work`, unless it is canceled or takes longer than `total`. In that case the work is
/// dropped, with everything it holds, such as a connection or a child process.
pub(crate) async fn within<T>(
    cancel: &CancellationToken,
    total: Duration,
    work: impl Future<Output = Result<T, ModelError>>,
) -> Result<T, ModelError> {
    tokio::select! {
        // The order matters: work that is always ready must not prevent a cancellation.
        biased;
        () = cancel.cancelled() => Err(ModelError::Canceled),
        done = limited(Waiting::Total, total, work) => done?,
    }
}

/// Runs `work`, or fails with a timeout that names the step.
pub(crate) async fn limited<T>(
    waiting: Waiting,
    limit: Duration,
    work: impl Future<Output = T>,
) -> Result<T, ModelError> {
    tokio::time::timeout(limit, work).await.map_err(|_| ModelError::Timeout { waiting, limit })
}
