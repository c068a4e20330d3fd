//! Many entries in one call, and copies of JSON, for the modules that implement the APIs of other packages.

use crate::entry::Entry;
use crate::json::{CollectorPause, Reader};
use crate::options::At;
use crate::session::Session;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use treering::Position;

#[pymethods]
impl Session {
    /// The entries on the path to a position, each with its member `key` (None if it has none); only those after
    /// `after`, if that is given. None if `after` is not on the path.
    fn path_with<'py>(
        &self,
        py: Python<'py>,
        at: At,
        key: String,
        after: Option<String>,
    ) -> PyResult<Option<Bound<'py, PyList>>> {
        let wanted = key.clone();
        let entries = self.run(py, move |session| {
            let Some(after) = after else {
                return session.path_to(at.0)?.collect::<treering::Result<Vec<_>>>().map(Some);
            };
            let leaf = match at.0 {
                Position::Leaf => session.leaf(),
                Position::Entry(id) => Some(id),
                _ => None,
            };
            let Some(leaf) = leaf else { return Ok(None) };
            let tree = session.tree();
            let path = tree.path(&leaf)?;
            let Some(start) = path.iter().rposition(|id| id.as_str() == after) else {
                return Ok(None);
            };
            let new = path.into_iter().skip(start + 1);
            new.map(|id| session.entry(id)).collect::<treering::Result<Vec<_>>>().map(Some)
        })?;
        let Some(entries) = entries else { return Ok(None) };
        let _pause = CollectorPause::begin(py)?;
        let mut reader = Reader::new(py);
        let mut found = Vec::with_capacity(entries.len());
        for entry in entries {
            let value = entry.get(&wanted).map(|value| reader.value(value)).transpose()?;
            found.push((Entry::new(entry), value).into_pyobject(py)?);
        }
        PyList::new(py, found).map(Some)
    }
}

/// Copies dicts and lists, and the dicts and lists in them; everything else is shared.
#[pyfunction]
pub(crate) fn copy_json<'py>(value: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let py = value.py();
    let Some(copy) = shallow(value)? else { return Ok(value.clone()) };
    // Containers whose parts are still those of the original. A stack, so that nothing is too deep.
    let mut open = vec![copy.clone()];
    let mut count = 0_usize;
    while let Some(container) = open.pop() {
        count += 1;
        if count % 1024 == 1023 {
            py.check_signals()?;
        }
        if let Ok(dict) = container.cast::<PyDict>() {
            let mut inner = Vec::new();
            for (key, value) in dict.iter() {
                if let Some(copy) = shallow(&value)? {
                    inner.push((key, copy));
                }
            }
            for (key, copy) in inner {
                dict.set_item(key, &copy)?;
                open.push(copy);
            }
        } else if let Ok(list) = container.cast::<PyList>() {
            for index in 0..list.len() {
                if let Some(copy) = shallow(&list.get_item(index)?)? {
                    list.set_item(index, &copy)?;
                    open.push(copy);
                }
            }
        }
    }
    Ok(copy)
}

/// Returns a copy of a dict or a list; None for anything else.
fn shallow<'py>(value: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyAny>>> {
    if let Ok(dict) = value.cast_exact::<PyDict>() {
        return Ok(Some(dict.copy()?.into_any()));
    }
    if let Ok(list) = value.cast_exact::<PyList>() {
        return Ok(Some(list.get_slice(0, list.len()).into_any()));
    }
    Ok(None)
}
