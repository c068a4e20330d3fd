//! Reports as Python objects.

use crate::json;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyNone};
use treering_bindings::{Data, ToData};

/// Returns plain data as dicts, lists, texts and numbers. Reports are a few levels deep.
pub(crate) fn to_python<'py>(py: Python<'py>, data: &Data) -> PyResult<Bound<'py, PyAny>> {
    Ok(match data {
        Data::Null => PyNone::get(py).to_owned().into_any(),
        Data::Bool(value) => value.into_pyobject(py)?.to_owned().into_any(),
        Data::Integer(value) => match i64::try_from(*value) {
            Ok(value) => value.into_pyobject(py)?.into_any(),
            Err(_) => json::to_python(py, value.to_string().as_bytes())?,
        },
        Data::Number(value) => value.into_pyobject(py)?.into_any(),
        Data::Text(text) => text.into_pyobject(py)?.into_any(),
        Data::Json(bytes) => json::to_python(py, bytes)?,
        Data::List(items) => {
            let list = PyList::empty(py);
            for item in items {
                list.append(to_python(py, item)?)?;
            }
            list.into_any()
        }
        Data::Map(items) => {
            let dict = PyDict::new(py);
            for (key, value) in items {
                dict.set_item(key, to_python(py, value)?)?;
            }
            dict.into_any()
        }
        Data::Record(items) => {
            let dict = PyDict::new(py);
            for (key, value) in items {
                dict.set_item(key, to_python(py, value)?)?;
            }
            dict.into_any()
        }
    })
}

/// Returns a report of the library as a Python object.
pub(crate) fn report<'py>(
    py: Python<'py>,
    value: &(impl ToData + ?Sized),
) -> PyResult<Bound<'py, PyAny>> {
    to_python(py, &value.to_data())
}
