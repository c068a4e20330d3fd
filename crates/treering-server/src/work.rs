//! Runs the synchronous library on a bounded number of threads.

use crate::problem::{Code, Problem};
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// The threads that work on sessions and stores, and the requests that wait for one.
#[derive(Debug)]
pub(crate) struct Work {
    permits: Arc<Semaphore>,
    waiting: AtomicUsize,
    max_waiting: usize,
    max_wait: Duration,
}

impl Work {
    pub(crate) fn new(threads: usize, max_waiting: usize, max_wait: Duration) -> Self {
        let permits = Arc::new(Semaphore::new(threads.max(1)));
        Work { permits, waiting: AtomicUsize::new(0), max_waiting, max_wait }
    }

    /// Runs `job` on a worker thread. Once begun, it runs to its end, even if the caller is gone.
    pub(crate) fn run<T: Send + 'static>(
        &self,
        job: impl FnOnce() -> T + Send + 'static,
    ) -> impl Future<Output = Result<T, Problem>> + Send {
        self.result_of(Box::new(move || Box::new(job())))
    }

    async fn result_of<T: 'static>(&self, job: Job) -> Result<T, Problem> {
        match self.run_job(job).await?.downcast() {
            Ok(result) => Ok(*result),
            Err(_) => Err(failed()),
        }
    }

    async fn run_job(&self, job: Job) -> Result<Box<dyn Any + Send>, Problem> {
        let permit = self.permit().await?;
        let done = tokio::task::spawn_blocking(move || {
            let result = job();
            drop(permit);
            result
        });
        done.await.map_err(|_| failed())
    }

    /// Runs `job` on the calling thread, which the runtime replaces by another one in the meantime.
    ///
    /// A worker need not be woken before the job, nor the caller after it; each takes tens of microseconds on an idle
    /// machine. Other work of the same task, such as its timeouts, waits for the end of the job.
    pub(crate) async fn run_here<T: Send + 'static>(
        &self,
        job: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Problem> {
        // A single-threaded runtime has no other thread.
        if Handle::current().runtime_flavor() != RuntimeFlavor::MultiThread {
            return self.run(job).await;
        }
        let permit = self.permit().await?;
        let result = tokio::task::block_in_place(|| catch_unwind(AssertUnwindSafe(job)));
        drop(permit);
        result.map_err(|_| failed())
    }

    async fn permit(&self) -> Result<OwnedSemaphorePermit, Problem> {
        match Arc::clone(&self.permits).try_acquire_owned() {
            Ok(permit) => Ok(permit),
            Err(_) => self.wait().await,
        }
    }

    async fn wait(&self) -> Result<OwnedSemaphorePermit, Problem> {
        let overloaded = |detail| Problem::new(Code::Overloaded, detail).retry_after(1);
        let _waiting = WaitingRequest::enter(&self.waiting, self.max_waiting)
            .ok_or_else(|| overloaded("too many requests wait already"))?;
        let permit = Arc::clone(&self.permits).acquire_owned();
        match tokio::time::timeout(self.max_wait, permit).await {
            Ok(Ok(permit)) => Ok(permit),
            _ => Err(overloaded("no worker became free in time")),
        }
    }
}

/// A job without its type, so that the code that runs jobs is compiled only once.
type Job = Box<dyn FnOnce() -> Box<dyn Any + Send> + Send>;

fn failed() -> Problem {
    Problem::new(Code::Internal, "the request failed unexpectedly")
}

/// A waiting request, which counts until it is dropped.
struct WaitingRequest<'a>(&'a AtomicUsize);

impl<'a> WaitingRequest<'a> {
    fn enter(count: &'a AtomicUsize, max: usize) -> Option<Self> {
        let before = count.fetch_add(1, Ordering::Relaxed);
        let waiting = WaitingRequest(count);
        (before < max).then_some(waiting)
    }
}

impl Drop for WaitingRequest<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}
