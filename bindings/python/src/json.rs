//! JSON as Python objects, and Python objects as JSON.
//!
//! Both directions keep their place on a stack of their own, so that no input is too deep. Reading is the path of every
//! context: texts go from the bytes of the session into Python's strings in one step, and the keys and short texts that
//! all messages repeat are made once.

mod collector;
mod memory;
mod read;
mod text;
mod write;

pub(crate) use collector::CollectorPause;
pub(crate) use read::Reader;
pub(crate) use write::{Style, to_json, write_json, write_text};

use pyo3::prelude::*;

/// Returns one JSON value as a Python object.
pub(crate) fn to_python<'py>(py: Python<'py>, json: &[u8]) -> PyResult<Bound<'py, PyAny>> {
    Reader::new(py).value(json)
}
