//! Failures as Python exceptions.
//!
//! The classes are written in Python (`treering.errors`), where they are typed and documented; here they are looked up by
//! the category of the failure.

use crate::data;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyType};
use treering_bindings::{Category, Failure};

/// Returns the exception for a failure.
pub(crate) fn exception(py: Python<'_>, failure: Failure) -> PyErr {
    build(py, failure).unwrap_or_else(|error| error)
}

fn build(py: Python<'_>, failure: Failure) -> PyResult<PyErr> {
    static MODULE: PyOnceLock<Py<PyModule>> = PyOnceLock::new();
    let module = MODULE.get_or_try_init(py, || py.import("treering.errors").map(Bound::unbind))?;
    let class = match failure.category {
        Category::NotFound => "NotFoundError",
        Category::Conflict => "ConflictError",
        Category::Invalid => "InvalidError",
        Category::ReadOnly => "ReadOnlyError",
        Category::Format => "FormatError",
        Category::Storage => "StorageError",
    };
    let class = module.bind(py).getattr(class)?.cast_into::<PyType>()?;
    let fields = PyDict::new(py);
    for (name, value) in &failure.fields {
        fields.set_item(name, data::to_python(py, value)?)?;
    }
    let arguments = (failure.message, failure.code, fields, failure.is_retryable, failure.os_error);
    Ok(PyErr::from_value(class.call1(arguments)?))
}

/// A result of the library as a result for Python.
pub(crate) trait OrRaise<T> {
    /// Turns the error into an exception.
    fn or_raise(self, py: Python<'_>) -> PyResult<T>;
}

impl<T, E: Into<Failure>> OrRaise<T> for Result<T, E> {
    fn or_raise(self, py: Python<'_>) -> PyResult<T> {
        self.map_err(|error| exception(py, error.into()))
    }
}
