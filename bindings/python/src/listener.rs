//! Python functions that are told of changes.

use crate::run::keep_exception;
use pyo3::prelude::*;
use std::sync::{Arc, Mutex, PoisonError};
use treering::session::Writer;

/// A function that is called after every change of a session, until it is cancelled.
#[pyclass(frozen, module = "treering._native")]
#[derive(Clone)]
pub(crate) struct Listener {
    callback: Arc<Mutex<Option<Py<PyAny>>>>,
}

impl Listener {
    pub(crate) fn new(callback: Py<PyAny>) -> Self {
        Listener { callback: Arc::new(Mutex::new(Some(callback))) }
    }

    /// Begins to tell the function of the changes of a session.
    pub(crate) fn attach(&self, session: &treering::Session) {
        let callback = self.callback.clone();
        session.on_change(move |change| {
            Python::attach(|py| {
                let callback = callback.lock().unwrap_or_else(PoisonError::into_inner);
                let callback = callback.as_ref().map(|callback| callback.clone_ref(py));
                let Some(callback) = callback else { return };
                let entries: Vec<&str> = change.entries.iter().map(|id| id.as_str()).collect();
                let is_own = change.writer == Writer::This;
                if let Err(error) = callback.call1(py, (entries, is_own)) {
                    keep_exception(error);
                }
            });
        });
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

impl Listener {
    pub(crate) fn cancel(&self) {
        let callback = self.callback.lock().unwrap_or_else(PoisonError::into_inner).take();
        // Dropped only after the lock is free: dropping may run Python code.
        drop(callback);
    }
}
