//! Background threads.

use std::thread::JoinHandle;

/// Runs a job on a new thread. All jobs have one type, so that the code that starts threads is
/// compiled only once.
pub(super) fn background(job: impl FnOnce() + Send + 'static) -> JoinHandle<()> {
    spawn(Box::new(job))
}

fn spawn(job: Box<dyn FnOnce() + Send>) -> JoinHandle<()> {
    std::thread::spawn(job)
}
