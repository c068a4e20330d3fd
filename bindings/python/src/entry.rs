//! The class `Entry`, and iterators over entries.

use crate::error::{OrRaise, exception};
use crate::json;
use crate::run;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError};
use treering::entry::EntryParts;
use treering::{Kind, Role};
use treering_bindings::{Category, Failure};

/// An entry of a session. Its content becomes Python objects when it is asked for.
#[pyclass(frozen, module = "treering._native")]
pub(crate) struct Entry {
    inner: treering::Entry,
}

// Python aligns its objects to 16 bytes.
const _: () = assert!(align_of::<treering::Entry>() <= 16);

impl Entry {
    pub(crate) fn new(inner: treering::Entry) -> Self {
        Entry { inner }
    }

    /// Returns a part of the entry as Python objects, which a damaged entry may not be.
    fn part<'py>(&self, py: Python<'py>, json: &[u8]) -> PyResult<Bound<'py, PyAny>> {
        json::to_python(py, json).map_err(|error| {
            if !self.inner.is_damaged() {
                return error;
            }
            let message = format!(
                "entry {} is damaged and is not JSON: `record` has its bytes, and a repair may recover it",
                self.id()
            );
            exception(py, Failure::new(Category::Format, "damaged_entry", message))
        })
    }
}

#[pymethods]
impl Entry {
    /// The id of the entry.
    #[getter]
    pub(crate) fn id(&self) -> &str {
        self.inner.id().as_str()
    }

    /// The id of the entry's parent; None for a root.
    #[getter]
    fn parent(&self) -> Option<&str> {
        self.inner.parent().map(|id| id.as_str())
    }

    /// The type of the entry: ``"message"``, ``"compaction"``, ``"label"`` …
    #[getter]
    fn r#type(&self) -> String {
        self.inner.type_name().into_owned()
    }

    /// The role of the entry's message; None if it has none.
    #[getter]
    fn role(&self) -> Option<String> {
        self.inner.message().map(|message| message.role_name().into_owned())
    }

    /// Unix milliseconds.
    #[getter]
    fn time(&self) -> Option<i64> {
        self.inner.time()
    }

    /// Whether the entry could not be read whole.
    #[getter]
    fn is_damaged(&self) -> bool {
        self.inner.is_damaged()
    }

    /// The text of the entry's message; empty if it has none.
    #[getter]
    fn text(&self) -> String {
        self.inner.message().map(|message| message.text()).unwrap_or_default()
    }

    /// The message of the entry as a new dict; None if it has none.
    #[getter]
    fn message<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.inner.message().map(|message| self.part(py, message.raw())).transpose()
    }

    /// The entry in treering's shape, as bytes.
    #[getter]
    fn raw<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, self.inner.raw())
    }

    /// The record as its agent wrote it, as bytes.
    #[getter]
    fn record<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, self.inner.record())
    }

    /// Returns a member of the entry; None if it has none of this name.
    fn get<'py>(&self, py: Python<'py>, key: &str) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.inner.get(key).map(|value| self.part(py, value)).transpose()
    }

    /// Returns the entry as a new dict, in treering's shape.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.part(py, self.inner.raw())
    }

    /// The entry that this one is a copy of, and the session that it is from.
    #[getter]
    fn copied_from(&self) -> Option<(String, Option<String>)> {
        self.inner.copied_from().map(|origin| (origin.entry.as_str().to_owned(), origin.session))
    }

    /// The leaf of the branch that the entry merged; None if it is not a merge.
    #[getter]
    fn merged_from(&self) -> Option<String> {
        self.inner.merged_from().map(|id| id.into_owned())
    }

    fn __eq__(&self, other: &Entry) -> bool {
        self.inner.raw() == other.inner.raw() && self.inner.id() == other.inner.id()
    }

    fn __hash__(&self) -> u64 {
        use std::hash::{DefaultHasher, Hash, Hasher};
        let mut hasher = DefaultHasher::new();
        self.inner.id().hash(&mut hasher);
        hasher.finish()
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let parts = self.inner.clone().into_parts();
        let bytes = |bytes: &Vec<u8>| PyBytes::new(py, bytes);
        let state = (
            parts.id.as_str(),
            parts.parent.as_ref().map(|id| id.as_str()),
            parts.kind.name(),
            parts.role.map(|role| role.name().unwrap_or_default()),
            parts.time,
            bytes(&parts.raw),
            parts.record.as_ref().map(bytes),
            parts.more_messages.iter().map(bytes).collect::<Vec<_>>(),
            parts.is_damaged,
        );
        let restore = py.import("treering._native")?.getattr("restore_entry")?;
        (restore, state).into_pyobject(py)
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let mut text =
            format!("Entry(id={}, type={}", quoted(py, self.id())?, quoted(py, &self.r#type())?);
        if let Some(role) = self.role() {
            text += &format!(", role={}", quoted(py, &role)?);
        }
        Ok(text + ")")
    }
}

/// Makes the entry of which `Entry.__reduce__` tells.
#[pyfunction]
#[allow(clippy::too_many_arguments, reason = "the state of a pickled entry")]
pub(crate) fn restore_entry(
    id: &str,
    parent: Option<&str>,
    kind: Option<&str>,
    role: Option<&str>,
    time: Option<i64>,
    raw: Vec<u8>,
    record: Option<Vec<u8>>,
    more_messages: Vec<Vec<u8>>,
    is_damaged: bool,
) -> Entry {
    Entry::new(treering::Entry::from_parts(EntryParts {
        id: id.into(),
        parent: parent.map(Into::into),
        kind: Kind::of(kind.unwrap_or_default()),
        role: role.map(Role::of),
        time,
        raw,
        record,
        more_messages,
        is_damaged,
    }))
}

/// Returns a text as Python quotes it.
pub(crate) fn quoted(py: Python<'_>, text: &str) -> PyResult<String> {
    use pyo3::types::PyString;
    PyString::new(py, text).repr()?.extract()
}

/// Entries one after the other, each read when it is asked for.
#[pyclass(frozen, module = "treering._native")]
pub(crate) struct EntryIterator {
    entries: Arc<Mutex<treering::session::Entries>>,
    is_remote: bool,
}

impl EntryIterator {
    pub(crate) fn new(entries: treering::session::Entries, is_remote: bool) -> Self {
        EntryIterator { entries: Arc::new(Mutex::new(entries)), is_remote }
    }
}

#[pymethods]
impl EntryIterator {
    fn __iter__(this: PyRef<'_, Self>) -> PyRef<'_, Self> {
        this
    }

    fn __length_hint__(&self) -> usize {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner).size_hint().0
    }

    fn __next__(&self, py: Python<'_>) -> PyResult<Option<Entry>> {
        let entries = self.entries.clone();
        let next =
            move || entries.lock().unwrap_or_else(PoisonError::into_inner).next().transpose();
        let entry = if self.is_remote {
            run::long(py, &Arc::new(AtomicBool::new(false)), next)?
        } else {
            py.detach(next).or_raise(py)?
        };
        Ok(entry.map(Entry::new))
    }
}
