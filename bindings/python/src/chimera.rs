//! Messages as Chimera writes and reads them, for `treering.chimera`.

use crate::json::{self, CollectorPause, Reader, Style};
use crate::options::At;
use crate::session::{Session, id_text};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyString};
use std::time::{SystemTime, UNIX_EPOCH};

#[pymethods]
impl Session {
    /// Appends a message of Chimera's as Chimera writes it, below `parent` or the leaf. Returns its id.
    ///
    /// Raises TypeError for what `json.dumps` may still be able to write.
    fn chimera_append<'py>(
        &self,
        py: Python<'py>,
        message: &Bound<'py, PyAny>,
        parent: Option<String>,
    ) -> PyResult<String> {
        let session = self.get(py)?;
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64();
        let mut record = Vec::with_capacity(2048);
        record.extend_from_slice(b"{\"type\": \"message\", \"id\": \"");
        record.extend_from_slice(session.new_id().as_str().as_bytes());
        record.extend_from_slice(b"\", \"parent_id\": ");
        let parent = parent.or_else(|| session.leaf().as_ref().map(id_text));
        match parent {
            Some(parent) => json::write_text(parent.as_bytes(), Style::Python, &mut record),
            None => record.extend_from_slice(b"null"),
        }
        // Rust and Python both print the shortest digits that mean the same number.
        record.extend_from_slice(format!(", \"timestamp\": {now:?}, \"message\": {{").as_bytes());
        let mut member = |name: &[u8], value: &Bound<'py, PyAny>| {
            record.extend_from_slice(name);
            json::write_json(value, Style::Python, &mut record)
        };
        member(b"\"role\": ", &message.getattr(pyo3::intern!(py, "role"))?)?;
        member(b", \"content\": ", &message.getattr(pyo3::intern!(py, "content"))?)?;
        let calls = message.getattr(pyo3::intern!(py, "tool_calls"))?;
        if calls.is_truthy()? {
            let calls = calls.cast::<PyList>().map_err(|_| PyTypeError::new_err("no list"))?;
            for (at, call) in calls.iter().enumerate() {
                let start: &[u8] =
                    if at == 0 { b", \"tool_calls\": [{\"id\": " } else { b"}, {\"id\": " };
                member(start, &call.getattr(pyo3::intern!(py, "id"))?)?;
                member(b", \"name\": ", &call.getattr(pyo3::intern!(py, "name"))?)?;
                member(b", \"arguments\": ", &call.getattr(pyo3::intern!(py, "arguments"))?)?;
            }
        }
        let has_calls = calls.is_truthy()?;
        let call_id = message.getattr(pyo3::intern!(py, "call_id"))?;
        if call_id.is_truthy()? {
            member(if has_calls { b"}], \"call_id\": " } else { b", \"call_id\": " }, &call_id)?;
            record.extend_from_slice(b"}}");
        } else {
            record.extend_from_slice(if has_calls { b"}]}}" } else { b"}}" });
        }
        let id = self.run(py, move |session| session.append_record(record))?;
        Ok(id_text(&id))
    }

    /// The messages of a branch as Chimera has them: all of them, compactions in their places.
    ///
    /// `message` makes a message of a role, a content, calls and the id of a call; `call` a call of an id, a name and
    /// arguments.
    fn chimera_messages<'py>(
        &self,
        py: Python<'py>,
        at: At,
        message: &Bound<'py, PyAny>,
        call: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyList>> {
        let context = self.run(py, move |session| session.agent_context_at(at.0))?;
        let _pause = CollectorPause::begin(py)?;
        let mut reader = Reader::new(py);
        let mut messages = Vec::new();
        for (index, raw) in context.unwrap_or_default().messages.into_iter().enumerate() {
            if index % 1024 == 1023 {
                py.check_signals()?;
            }
            let read = reader.value(&raw)?;
            let read = read.cast::<PyDict>()?;
            let get = |name: &Bound<'py, PyString>| read.get_item(name);
            let role = get(pyo3::intern!(py, "role"))?;
            let content = get(pyo3::intern!(py, "content"))?;
            let made = PyList::empty(py);
            if let Some(calls) = get(pyo3::intern!(py, "tool_calls"))? {
                for each in calls.cast::<PyList>()?.iter() {
                    let part = |name: &str| each.get_item(name);
                    made.append(call.call1((part("id")?, part("name")?, part("arguments")?))?)?;
                }
            }
            let call_id = get(pyo3::intern!(py, "call_id"))?;
            messages.push(message.call1((role, content, made, call_id))?);
        }
        PyList::new(py, messages)
    }
}
