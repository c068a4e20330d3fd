//! Python functions that are called after changes.

use crate::run::keep_exception;
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use treering::session::Writer;

/// A function that is called after every change of a session, until it is canceled.
#[pyclass(frozen, module = "treering._native")]
#[derive(Clone)]
pub(crate) struct Listener {
    callback: Arc<Mutex<Option<Py<PyAny>>>>,
}

impl Listener {
    pub(crate) fn new(callback: Py<PyAny>) -> Self {
        Listener { callback: Arc::new(Mutex::new(Some(callback))) }
    }

    /// Locks the function. The lock must be free while the function runs, which may cancel itself, and while anything
    /// waits for the interpreter.
    fn callback(&self) -> MutexGuard<'_, Option<Py<PyAny>>> {
        self.callback.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn cancel(&self) {
        let callback = self.callback().take();
        // Dropped only after the lock is free: dropping may run Python code.
        drop(callback);
    }
}

#[pymethods]
impl Listener {
    /// Ends the calls of the function.
    #[pyo3(name = "cancel")]
    fn py_cancel(&self) {
        self.cancel();
    }
}

/// The functions that are called after changes of one session.
#[derive(Clone, Default)]
pub(crate) struct Listeners {
    list: Arc<Mutex<Vec<Listener>>>,
    /// Whether the session tells the functions of its changes.
    is_attached: Arc<AtomicBool>,
}

impl Listeners {
    fn lock(&self) -> MutexGuard<'_, Vec<Listener>> {
        self.list.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins to tell a function of the changes of a session. Functions that were canceled are forgotten.
    pub(crate) fn add(&self, listener: Listener, session: &treering::Session) {
        let mut listeners = self.lock();
        listeners.retain(|it| it.callback().is_some());
        listeners.push(listener);
        drop(listeners);
        if !self.is_attached.load(Ordering::Relaxed) {
            self.attach(session);
        }
    }

    /// Begins to tell the functions, and those that are added later, of the changes of a session.
    pub(crate) fn attach(&self, session: &treering::Session) {
        self.is_attached.store(true, Ordering::Relaxed);
        let listeners = self.clone();
        session.on_change(move |change| {
            let current = listeners.lock().clone();
            if current.iter().all(|listener| listener.callback().is_none()) {
                return;
            }
            Python::attach(|py| {
                let entries: Vec<&str> = change.entries.iter().map(|id| id.as_str()).collect();
                let is_own = change.writer == Writer::This;
                for listener in &current {
                    let function = listener.callback().as_ref().map(|it| it.clone_ref(py));
                    let Some(function) = function else { continue };
                    if let Err(error) = function.call1(py, (entries.clone(), is_own)) {
                        keep_exception(error);
                    }
                }
            });
        });
    }

    /// Ends the calls of all functions.
    pub(crate) fn cancel(&self) {
        let listeners = self.lock().clone();
        listeners.iter().for_each(Listener::cancel);
    }

    /// Shows the functions to Python's garbage collector.
    pub(crate) fn traverse(&self, visit: &PyVisit<'_>) -> Result<(), PyTraverseError> {
        // What another thread holds is in use, and not garbage.
        let Ok(listeners) = self.list.try_lock() else { return Ok(()) };
        for listener in listeners.iter() {
            if let Ok(callback) = listener.callback.try_lock() {
                visit.call(&*callback)?;
            }
        }
        Ok(())
    }
}
