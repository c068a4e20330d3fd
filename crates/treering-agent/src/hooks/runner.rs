//! Calling the handlers: order, cancellation, and keeping one handler's trouble its own.

use super::payload::*;
use super::{Decision, HookError, HookFuture, Hooks};
use crate::summarizer::{Delta, OnDelta, RetryNotice};
use std::any::Any;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::task::Poll;
use tokio::sync::broadcast;
use tokio_util::sync::CancellationToken;

/// The number of events that a subscriber may lag behind before it misses some.
const BACKLOG: usize = 256;

/// The answer of the handlers to a question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome<T> {
    /// Go ahead; with the last answer, if there was one.
    Proceed(Option<T>),
    /// A handler, named here, said no.
    Cancelled {
        /// The name it was registered with.
        hook: Arc<str>,
    },
    /// The user gave up while the handlers were being asked.
    Aborted,
}

/// The handlers of a session, and those who look on.
pub struct HookRunner {
    handlers: Vec<(Arc<str>, Arc<dyn Hooks>)>,
    events: broadcast::Sender<Event>,
}

impl Default for HookRunner {
    fn default() -> Self {
        HookRunner { handlers: Vec::new(), events: broadcast::Sender::new(BACKLOG) }
    }
}

impl fmt::Debug for HookRunner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.handlers.iter().map(|(name, _)| &**name).collect();
        f.debug_struct("HookRunner").field("handlers", &names).finish_non_exhaustive()
    }
}

macro_rules! facts {
    ($($(#[$doc:meta])* $hook:ident: $variant:ident($payload:ty);)*) => {$(
        $(#[$doc])*
        pub async fn $hook(&self, payload: $payload) {
            let payload = Arc::new(payload);
            let event = Event::$variant(payload.clone());
            self.tell(event, |hooks| hooks.$hook(&payload)).await;
        }
    )*};
}

macro_rules! questions {
    ($($(#[$doc:meta])* $hook:ident: $variant:ident($payload:ty) -> $answer:ty;)*) => {$(
        $(#[$doc])*
        pub async fn $hook(
            &self,
            payload: $payload,
            abort: &CancellationToken,
        ) -> Outcome<$answer> {
            let payload = Arc::new(payload);
            let event = Event::$variant(payload.clone());
            self.ask(event, abort, |hooks| hooks.$hook(&payload, abort)).await
        }
    )*};
}

impl HookRunner {
    /// Adds handlers after those that are there. `name` stands for them in reports.
    pub fn register(&mut self, name: impl Into<Arc<str>>, hooks: Arc<dyn Hooks>) {
        self.handlers.push((name.into(), hooks));
    }

    /// Returns all events from now on. A subscriber that falls behind is told how many it missed;
    /// it never blocks the session.
    pub fn subscribe(&self) -> broadcast::Receiver<Event> {
        self.events.subscribe()
    }

    /// Broadcasts a summary as it arrives.
    pub(crate) fn summary_deltas(&self) -> OnDelta {
        let events = self.events.clone();
        Box::new(move |delta| {
            let event = match delta {
                Delta::Text(text) => Event::SummaryText(text.into()),
                Delta::Restart => Event::SummaryRestarted,
                Delta::Retry(notice) => Event::AutoRetry(Arc::new(notice.clone())),
                Delta::Thinking(_) | Delta::ThinkingEnd(_) => return,
            };
            let _ = events.send(event);
        })
    }

    /// Returns a function that broadcasts another attempt of a turn.
    pub(crate) fn retries(&self) -> impl Fn(&RetryNotice) + Send + 'static {
        let events = self.events.clone();
        move |notice| {
            let _ = events.send(Event::AutoRetry(Arc::new(notice.clone())));
        }
    }

    questions! {
        /// Asks whether another session may take this one's place.
        session_before_switch: SessionBeforeSwitch(BeforeSwitch) -> ();
        /// Asks whether the session may be forked.
        session_before_fork: SessionBeforeFork(BeforeFork) -> ();
        /// Asks whether and how the leaf may move.
        session_before_tree: SessionBeforeTree(BeforeTree) -> TreeOverride;
        /// Asks whether and how the session may be compacted.
        session_before_compact: SessionBeforeCompact(BeforeCompact) -> CompactOverride;
        /// Asks what the summarizer should be asked.
        session_compacting: SessionCompacting(Compacting) -> CompactingOverride;
    }

    facts! {
        /// Tells that a session was created or opened.
        session_start: SessionStart(Start);
        /// Tells that another session has taken its place.
        session_switch: SessionSwitch(Switch);
        /// Tells that it has been forked.
        session_fork: SessionFork(Fork);
        /// Tells that the leaf has moved.
        session_tree: SessionTree(TreeMove);
        /// Tells that the session has been compacted.
        session_compact: SessionCompact(Compact);
        /// Tells that it could not be compacted.
        session_compact_failed: SessionCompactFailed(CompactFailed);
        /// Tells that its name has changed.
        session_info_changed: SessionInfoChanged(InfoChanged);
        /// Tells that it is about to be closed.
        session_shutdown: SessionShutdown(Shutdown);
    }

    async fn tell<'a>(&'a self, event: Event, call: impl Fn(&'a dyn Hooks) -> HookFuture<'a, ()>) {
        let name = event.name();
        self.publish(event);
        for (hook, hooks) in &self.handlers {
            if let Err(failure) = contained(|| call(&**hooks)).await {
                self.report(hook, name, failure);
            }
        }
    }

    async fn ask<'a, T>(
        &'a self,
        event: Event,
        abort: &CancellationToken,
        call: impl Fn(&'a dyn Hooks) -> HookFuture<'a, Decision<T>>,
    ) -> Outcome<T> {
        let name = event.name();
        self.publish(event);
        let mut answer = None;
        for (hook, hooks) in &self.handlers {
            let decision = tokio::select! {
                biased;
                () = abort.cancelled() => return Outcome::Aborted,
                decision = contained(|| call(&**hooks)) => decision,
            };
            match decision {
                Ok(Decision::Pass) => {}
                Ok(Decision::Use(given)) => answer = Some(given),
                Ok(Decision::Cancel) => return Outcome::Cancelled { hook: hook.clone() },
                Err(failure) => self.report(hook, name, failure),
            }
        }
        // A handler that did not answer, or answered with nothing, leaves the question as it was.
        if abort.is_cancelled() { Outcome::Aborted } else { Outcome::Proceed(answer) }
    }

    fn publish(&self, event: Event) {
        // An error means that there is no subscriber.
        let _ = self.events.send(event);
    }

    /// Reports an action that handlers asked for and that failed.
    pub(crate) fn action_failed(&self, event: &'static str, error: &dyn fmt::Display) {
        let (hook, error) = ("actions".into(), error.to_string());
        self.publish(Event::HookFailed { hook, event, error, panicked: false });
    }

    fn report(&self, hook: &Arc<str>, event: &'static str, failure: Failure) {
        let (error, panicked) = match failure {
            Failure::Error(error) => (error.to_string(), false),
            Failure::Panic(text) => (text, true),
        };
        self.publish(Event::HookFailed { hook: hook.clone(), event, error, panicked });
    }
}

enum Failure {
    Error(HookError),
    Panic(String),
}

/// Runs a handler so that its panics end here, whether it panics when called, when polled, or when
/// what is left of it is dropped.
async fn contained<'a, T>(call: impl FnOnce() -> HookFuture<'a, T>) -> Result<T, Failure> {
    let mut future = catch_unwind(AssertUnwindSafe(call)).map_err(panicked)?;
    let polled = std::future::poll_fn(|context| {
        match catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(context))) {
            Ok(Poll::Pending) => Poll::Pending,
            Ok(Poll::Ready(done)) => Poll::Ready(done.map_err(Failure::Error)),
            Err(panic) => Poll::Ready(Err(panicked(panic))),
        }
    })
    .await;
    catch_unwind(AssertUnwindSafe(|| drop(future))).map_err(panicked)?;
    polled
}

fn panicked(panic: Box<dyn Any + Send>) -> Failure {
    let text = match panic.downcast::<String>() {
        Ok(text) => *text,
        Err(panic) => panic.downcast_ref::<&str>().map_or("a panic", |text| text).to_owned(),
    };
    Failure::Panic(text)
}

#[cfg(test)]
#[path = "runner_tests.rs"]
mod tests;
