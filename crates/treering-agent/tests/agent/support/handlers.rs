//! Handlers with given answers, and functions that read the broadcast events.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tokio::sync::Semaphore;
use tokio::sync::broadcast::Receiver;
use treering_agent::{
    BeforeCompact, BeforeFork, BeforeSwitch, BeforeTree, CancellationToken, CompactOverride,
    Compacting, CompactingOverride, Decision, Event, HookFuture, Hooks, TreeOverride,
};

/// The answers of an extension to each question.
pub(crate) struct Extension {
    pub(crate) tree: Decision<TreeOverride>,
    pub(crate) compact: Decision<CompactOverride>,
    pub(crate) compacting: Decision<CompactingOverride>,
    pub(crate) switch: Decision<()>,
    pub(crate) fork: Decision<()>,
    /// Whether the handler never answers.
    pub(crate) hangs: AtomicBool,
    /// One permit for every handler that was called.
    pub(crate) entered: Semaphore,
}

impl Default for Extension {
    fn default() -> Self {
        Extension {
            tree: Decision::Pass,
            compact: Decision::Pass,
            compacting: Decision::Pass,
            switch: Decision::Pass,
            fork: Decision::Pass,
            hangs: AtomicBool::new(false),
            entered: Semaphore::new(0),
        }
    }
}

impl Extension {
    pub(crate) fn hanging() -> Arc<Self> {
        Arc::new(Extension { hangs: AtomicBool::new(true), ..Default::default() })
    }

    /// Waits until a handler is running.
    pub(crate) async fn entered(&self) {
        self.entered.acquire().await.unwrap().forget();
    }

    /// Takes the permit of one handler that was called, if there is one.
    pub(crate) fn has_entered(&self) -> bool {
        self.entered.try_acquire().map(|permit| permit.forget()).is_ok()
    }

    fn answer<'a, T: Clone + Send + Sync>(&'a self, decision: &'a T) -> HookFuture<'a, T> {
        Box::pin(async move {
            self.entered.add_permits(1);
            match self.hangs.load(Ordering::SeqCst) {
                true => std::future::pending().await,
                false => Ok(decision.clone()),
            }
        })
    }
}

impl Hooks for Extension {
    fn session_before_switch<'a>(
        &'a self,
        _event: &'a BeforeSwitch,
        _abort: &'a CancellationToken,
    ) -> HookFuture<'a, Decision<()>> {
        self.answer(&self.switch)
    }

    fn session_before_fork<'a>(
        &'a self,
        _event: &'a BeforeFork,
        _abort: &'a CancellationToken,
    ) -> HookFuture<'a, Decision<()>> {
        self.answer(&self.fork)
    }

    fn session_before_tree<'a>(
        &'a self,
        _event: &'a BeforeTree,
        _abort: &'a CancellationToken,
    ) -> HookFuture<'a, Decision<TreeOverride>> {
        self.answer(&self.tree)
    }

    fn session_before_compact<'a>(
        &'a self,
        _event: &'a BeforeCompact,
        _abort: &'a CancellationToken,
    ) -> HookFuture<'a, Decision<CompactOverride>> {
        self.answer(&self.compact)
    }

    fn session_compacting<'a>(
        &'a self,
        _event: &'a Compacting,
        _abort: &'a CancellationToken,
    ) -> HookFuture<'a, Decision<CompactingOverride>> {
        self.answer(&self.compacting)
    }
}

/// Returns the events that were broadcast since the last call.
pub(crate) fn seen(events: &mut Receiver<Event>) -> Vec<Event> {
    std::iter::from_fn(|| events.try_recv().ok()).collect()
}

pub(crate) fn names(events: &mut Receiver<Event>) -> Vec<&'static str> {
    seen(events).iter().map(Event::name).collect()
}
