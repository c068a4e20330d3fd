//! The messages of a session that were read last, so that the next context reads only what is new.
//!
//! An agent asks for the context before every call of its model, and each is the one before with a few messages more.
//! Messages whose bytes are the same as before are copied from the dicts that were made then: their texts are shared,
//! so that nothing has to be found, unescaped or decoded again. The bytes decide, so that no rule can be forgotten by
//! which a context changes. A program that asks once pays nothing: dicts are kept from the second time on.

use crate::bulk::copy_json;
use crate::json::{CollectorPause, Reader};
use pyo3::prelude::*;
use pyo3::types::PyList;
use std::sync::{Arc, Mutex, PoisonError};
use treering::context::ContextMessage;

/// Larger contexts are not remembered, in bytes.
const MAX_REMEMBERED: usize = 32 << 20;

/// The messages that were read last, shared by a session and its contexts.
#[derive(Default)]
pub(crate) struct Remembered(Mutex<Last>);

#[derive(Default)]
struct Last {
    context: Option<Arc<treering::Context>>,
    /// The dicts of its messages, which no caller has; none the first time.
    dicts: Vec<Py<PyAny>>,
}

impl Remembered {
    fn replace(&self, last: Last) -> Last {
        std::mem::replace(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner), last)
    }

    /// Forgets everything.
    pub(crate) fn clear(&self) {
        // Dropped only after the lock is free.
        drop(self.replace(Last::default()));
    }

    /// Returns the messages of a context as new dicts.
    pub(crate) fn dicts<'py>(
        &self,
        py: Python<'py>,
        context: &Arc<treering::Context>,
    ) -> PyResult<Bound<'py, PyList>> {
        let messages = &context.messages;
        if messages.iter().map(|message| message.json.len()).sum::<usize>() > MAX_REMEMBERED {
            self.clear();
            return dicts(py, messages);
        }
        // Taken out for the time of the call: another thread reads without it.
        let Some(before) = self.replace(Last::default()).context_and_dicts() else {
            let read = dicts(py, messages)?;
            self.replace(Last { context: Some(context.clone()), dicts: Vec::new() });
            return Ok(read);
        };
        let _pause = CollectorPause::begin(py)?;
        let mut reader = Reader::new(py);
        let mut kept = Vec::with_capacity(messages.len());
        let mut copies = Vec::with_capacity(messages.len());
        for (index, message) in messages.iter().enumerate() {
            if index % 1024 == 1023 {
                py.check_signals()?;
            }
            let dict = match before.dict(index, message) {
                Some(dict) => dict.bind(py).clone(),
                None => reader.value(&message.json)?,
            };
            copies.push(copy_json(&dict)?);
            kept.push(dict.unbind());
        }
        self.replace(Last { context: Some(context.clone()), dicts: kept });
        PyList::new(py, copies)
    }
}

impl Last {
    /// Returns this, if a context was read before.
    fn context_and_dicts(self) -> Option<Self> {
        self.context.is_some().then_some(self)
    }

    /// Returns the dict of the message at a place, if it is the same as `message`.
    fn dict(&self, index: usize, message: &ContextMessage) -> Option<&Py<PyAny>> {
        let dict = self.dicts.get(index)?;
        let before = self.context.as_ref()?.messages.get(index)?;
        (before.json == message.json).then_some(dict)
    }
}

/// Returns messages as new dicts.
pub(crate) fn dicts<'py>(
    py: Python<'py>,
    messages: &[ContextMessage],
) -> PyResult<Bound<'py, PyList>> {
    let _pause = CollectorPause::begin(py)?;
    let mut reader = Reader::new(py);
    let mut dicts = Vec::with_capacity(messages.len());
    for (index, message) in messages.iter().enumerate() {
        if index % 1024 == 1023 {
            py.check_signals()?;
        }
        dicts.push(reader.value(&message.json)?);
    }
    PyList::new(py, dicts)
}
