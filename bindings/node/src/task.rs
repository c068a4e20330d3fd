//! Operations on the thread pool of Node.

use crate::args::Args;
use crate::operations;
use crate::outcome::{JsOutcome, Outcome, js_error};
use crate::shared::SharedSession;
use napi::bindgen_prelude::AsyncTask;
use napi::{Env, Task};
use napi_derive::napi;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use treering_bindings::{Category, Failure};

/// The object of an operation.
#[derive(Clone)]
pub(crate) enum Subject {
    /// Functions of the module.
    Module,
    /// A session.
    Session(Arc<SharedSession>),
    /// A store.
    Store(Arc<dyn treering::store::Store>),
}

impl Subject {
    /// Carries out an operation.
    pub(crate) fn invoke(&self, operation: &str, args: &Args) -> Result<Outcome, Failure> {
        match self {
            Subject::Module => operations::module(operation, args),
            Subject::Session(session) => operations::session(session, operation, args),
            Subject::Store(store) => operations::store(store, operation, args),
        }
    }
}

/// Tells an operation that its caller no longer waits.
#[napi]
#[derive(Default)]
pub struct Cancellation {
    is_cancelled: Arc<AtomicBool>,
}

#[napi]
impl Cancellation {
    /// Creates a cancellation that has not happened.
    #[napi(constructor)]
    #[allow(clippy::new_without_default, reason = "a constructor of JavaScript")]
    pub fn new() -> Self {
        Cancellation { is_cancelled: Arc::default() }
    }

    /// Cancels: an operation that waits for a thread does not begin; a search or a list ends early.
    #[napi]
    pub fn cancel(&self) {
        self.is_cancelled.store(true, Ordering::Relaxed);
    }
}

/// An operation on its way through the thread pool.
pub struct Invocation {
    subject: Subject,
    operation: String,
    args: Args,
}

impl Invocation {
    /// Creates a task.
    pub(crate) fn new(
        subject: Subject,
        operation: String,
        mut args: Args,
        cancellation: Option<&Cancellation>,
    ) -> AsyncTask<Invocation> {
        if let Some(cancellation) = cancellation {
            args.is_cancelled = cancellation.is_cancelled.clone();
        }
        AsyncTask::new(Invocation { subject, operation, args })
    }
}

impl Task for Invocation {
    type Output = Outcome;
    type JsValue = JsOutcome;

    fn compute(&mut self) -> napi::Result<Outcome> {
        if self.args.is_cancelled.load(Ordering::Relaxed) {
            return Err(js_error(Failure::new(
                Category::Conflict,
                "canceled",
                "the operation was canceled before it began",
            )));
        }
        self.subject.invoke(&self.operation, &self.args).map_err(js_error)
    }

    fn resolve(&mut self, _: Env, output: Outcome) -> napi::Result<JsOutcome> {
        output.into_js()
    }
}
