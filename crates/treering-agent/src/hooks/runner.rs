//! Calls handlers in order, handles cancellation, and contains their failures.

use super::payload::*;
use super::{Decision, HookError, HookFuture, Hooks};
use crate::OwnFuture;
use crate::summarizer::{Delta, OnDelta};
use std::any::Any;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, PoisonError, RwLock};
use std::task::Poll;
use tokio::sync::broadcast;
use tokio_util::sync::CancellationToken;

/// The number of events that a subscriber may lag behind before it misses some. A turn has a few events
/// per round; streamed text has a channel of its own.
const EVENT_BACKLOG: usize = 1024;
/// The number of pieces of text that a subscriber may lag behind before it misses some.
const DELTA_BACKLOG: usize = 4096;

/// Handlers with their names, in the order of registration.
type Handlers = [(Arc<str>, Arc<dyn Hooks>)];

/// The result of asking the handlers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum HookOutcome<T> {
    /// The operation may proceed, with the last answer if there was one.
    Proceed(Option<T>),
    /// A handler canceled the operation.
    Canceled {
        /// The name that the handler was registered with.
        hook: Arc<str>,
    },
    /// The user aborted while the handlers were being asked.
    Aborted,
}

/// Calls the handlers of a session and broadcasts its events.
pub(crate) struct HookRunner {
    handlers: RwLock<Arc<Handlers>>,
    events: broadcast::Sender<Event>,
    deltas: broadcast::Sender<StreamDelta>,
}

impl Default for HookRunner {
    fn default() -> Self {
        HookRunner {
            handlers: RwLock::new(Arc::new([])),
            events: broadcast::Sender::new(EVENT_BACKLOG),
            deltas: broadcast::Sender::new(DELTA_BACKLOG),
        }
    }
}

impl fmt::Debug for HookRunner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let handlers = self.handlers();
        let names: Vec<&str> = handlers.iter().map(|(name, _)| &**name).collect();
        f.debug_struct("HookRunner").field("handlers", &names).finish_non_exhaustive()
    }
}

/// Broadcasts an answer as it arrives.
pub(crate) struct AnswerStream {
    events: broadcast::Sender<Event>,
    deltas: broadcast::Sender<StreamDelta>,
}

impl AnswerStream {
    pub(crate) fn send(&self, delta: Delta<'_>) {
        let delta = match delta {
            Delta::Text(text) => StreamDelta::AnswerText(text.into()),
            Delta::Thinking(text) => StreamDelta::AnswerThinking(text.into()),
            Delta::Restart => StreamDelta::AnswerRestarted,
            Delta::Retry(notice) => {
                // An error means that there are no subscribers.
                let _ = self.events.send(Event::AutoRetry(Arc::new(notice.clone())));
                return;
            }
            Delta::ThinkingEnd(_) | Delta::RedactedThinking(_) | Delta::Usage(_) => return,
        };
        let _ = self.deltas.send(delta);
    }
}

macro_rules! facts {
    ($($(#[$doc:meta])* $hook:ident: $variant:ident($payload:ty);)*) => {$(
        $(#[$doc])*
        pub(crate) fn $hook<'a>(
            &'a self,
            payload: $payload,
            abort: Option<&'a CancellationToken>,
        ) -> OwnFuture<'a, ()> {
            Box::pin(async move {
                let (payload, handlers) = (Arc::new(payload), self.handlers());
                let event = Event::$variant(payload.clone());
                self.notify(&handlers, event, abort, |hooks| hooks.$hook(&payload)).await;
            })
        }
    )*};
}

macro_rules! questions {
    ($($(#[$doc:meta])* $hook:ident: $variant:ident($payload:ty) -> $answer:ty;)*) => {$(
        $(#[$doc])*
        pub(crate) fn $hook<'a>(
            &'a self,
            payload: $payload,
            abort: &'a CancellationToken,
        ) -> OwnFuture<'a, HookOutcome<$answer>> {
            Box::pin(async move {
                let (payload, handlers) = (Arc::new(payload), self.handlers());
                let event = Event::$variant(payload.clone());
                self.ask(&handlers, event, abort, |hooks| hooks.$hook(&payload, abort)).await
            })
        }
    )*};
}

impl HookRunner {
    /// Adds handlers, which are called after those registered before. `name` identifies them in
    /// reports. Handlers may be added at any time; an event whose handlers are being called at that
    /// moment does not reach the new ones.
    pub(crate) fn register(&self, name: impl Into<Arc<str>>, hooks: Arc<dyn Hooks>) {
        let mut handlers = self.handlers.write().unwrap_or_else(PoisonError::into_inner);
        let added = std::iter::once((name.into(), hooks));
        *handlers = handlers.iter().cloned().chain(added).collect();
    }

    fn handlers(&self) -> Arc<Handlers> {
        Arc::clone(&self.handlers.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Returns a receiver of all events from now on, without streamed text: see
    /// [`subscribe_deltas`](HookRunner::subscribe_deltas). A subscriber that falls far behind
    /// learns how many events it missed; it never blocks the session.
    pub(crate) fn subscribe(&self) -> broadcast::Receiver<Event> {
        self.events.subscribe()
    }

    /// Returns a receiver of all text that models stream from now on. Text has a separate channel,
    /// so that a slow reader of text never misses an event.
    pub(crate) fn subscribe_deltas(&self) -> broadcast::Receiver<StreamDelta> {
        self.deltas.subscribe()
    }

    /// Returns a function that broadcasts a summary as it arrives.
    pub(crate) fn summary_deltas(&self) -> OnDelta {
        let (events, deltas) = (self.events.clone(), self.deltas.clone());
        Box::new(move |delta| {
            // An error means that there are no subscribers.
            let _ = match delta {
                Delta::Text(text) => {
                    deltas.send(StreamDelta::SummaryText(text.into())).map(drop).ok()
                }
                Delta::Restart => deltas.send(StreamDelta::SummaryRestarted).map(drop).ok(),
                Delta::Retry(notice) => {
                    events.send(Event::AutoRetry(Arc::new(notice.clone()))).map(drop).ok()
                }
                _ => None,
            };
        })
    }

    /// Returns a sender that broadcasts an answer as it arrives.
    pub(crate) fn answer_stream(&self) -> AnswerStream {
        AnswerStream { events: self.events.clone(), deltas: self.deltas.clone() }
    }

    questions! {
        /// Asks whether another session may replace this one.
        session_before_switch: SessionBeforeSwitch(BeforeSwitch) -> ();
        /// Asks whether the session may be forked.
        session_before_fork: SessionBeforeFork(BeforeFork) -> ();
        /// Asks whether and how the leaf may move.
        session_before_tree: SessionBeforeTree(BeforeTree) -> TreeOverride;
        /// Asks whether and how the session may be compacted.
        session_before_compact: SessionBeforeCompact(BeforeCompact) -> CompactOverride;
        /// Asks for changes to the request to the summarizer.
        session_compacting: SessionCompacting(Compacting) -> CompactingOverride;
    }

    facts! {
        /// Reports that a session was created or opened.
        session_start: SessionStart(Start);
        /// Reports that another session has replaced this one.
        session_switch: SessionSwitch(Switch);
        /// Reports that the session was forked.
        session_fork: SessionFork(Fork);
        /// Reports that the leaf has moved.
        session_tree: SessionTree(TreeMove);
        /// Reports that the session was compacted.
        session_compact: SessionCompact(Compact);
        /// Reports that a compaction failed.
        session_compact_failed: SessionCompactFailed(CompactFailed);
        /// Reports that the session's name has changed.
        session_info_changed: SessionInfoChanged(InfoChanged);
        /// Reports that the session is about to be closed.
        session_shutdown: SessionShutdown(Shutdown);
    }

    async fn notify<'a>(
        &self,
        handlers: &'a Handlers,
        event: Event,
        abort: Option<&CancellationToken>,
        call: impl Fn(&'a dyn Hooks) -> HookFuture<'a, ()>,
    ) {
        let name = event.name();
        self.publish(event);
        // What happened because of an abort is reported like everything else.
        let abort = abort.filter(|abort| !abort.is_cancelled());
        for (hook, hooks) in handlers {
            let aborted = async {
                match abort {
                    Some(abort) => abort.cancelled().await,
                    None => std::future::pending().await,
                }
            };
            let called = tokio::select! {
                biased;
                called = contained(|| call(&**hooks)) => called,
                () = aborted => Err(HandlerError::Error("the user aborted".into())),
            };
            if let Err(failure) = called {
                self.report(hook, name, failure);
            }
        }
    }

    async fn ask<'a, T>(
        &self,
        handlers: &'a Handlers,
        event: Event,
        abort: &CancellationToken,
        call: impl Fn(&'a dyn Hooks) -> HookFuture<'a, Decision<T>>,
    ) -> HookOutcome<T> {
        let name = event.name();
        self.publish(event);
        let mut answer = None;
        for (hook, hooks) in handlers {
            let decision = tokio::select! {
                biased;
                () = abort.cancelled() => return HookOutcome::Aborted,
                decision = contained(|| call(&**hooks)) => decision,
            };
            match decision {
                Ok(Decision::Pass) => {}
                Ok(Decision::Use(given)) => answer = Some(given),
                Ok(Decision::Cancel) => return HookOutcome::Canceled { hook: hook.clone() },
                Err(failure) => self.report(hook, name, failure),
            }
        }
        // If no handler answered, the operation is not changed.
        if abort.is_cancelled() { HookOutcome::Aborted } else { HookOutcome::Proceed(answer) }
    }

    pub(crate) fn publish(&self, event: Event) {
        // An error means that there are no subscribers.
        let _ = self.events.send(event);
    }

    /// Reports that an action that a handler requested has failed.
    pub(crate) fn action_failed(&self, event: &'static str, error: &dyn fmt::Display) {
        let (hook, error) = ("actions".into(), error.to_string());
        self.publish(Event::HookFailed { hook, event, error, panicked: false });
    }

    fn report(&self, hook: &Arc<str>, event: &'static str, failure: HandlerError) {
        let (error, panicked) = match failure {
            HandlerError::Error(error) => (error.to_string(), false),
            HandlerError::Panic(text) => (text, true),
        };
        self.publish(Event::HookFailed { hook: hook.clone(), event, error, panicked });
    }
}

enum HandlerError {
    Error(HookError),
    Panic(String),
}

/// Runs a handler and catches its panics, in the call, in a poll, and when its future is dropped.
async fn contained<'a, T>(call: impl FnOnce() -> HookFuture<'a, T>) -> Result<T, HandlerError> {
    let mut future = catch_unwind(AssertUnwindSafe(call)).map_err(panicked)?;
    let polled = std::future::poll_fn(|context| {
        match catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(context))) {
            Ok(Poll::Pending) => Poll::Pending,
            Ok(Poll::Ready(done)) => Poll::Ready(done.map_err(HandlerError::Error)),
            Err(panic) => Poll::Ready(Err(panicked(panic))),
        }
    })
    .await;
    catch_unwind(AssertUnwindSafe(|| drop(future))).map_err(panicked)?;
    polled
}

fn panicked(panic: Box<dyn Any + Send>) -> HandlerError {
    let text = match panic.downcast::<String>() {
        Ok(text) => *text,
        Err(panic) => panic.downcast_ref::<&str>().map_or("a panic", |text| text).to_owned(),
    };
    HandlerError::Panic(text)
}

#[cfg(test)]
#[path = "runner_tests.rs"]
mod tests;
