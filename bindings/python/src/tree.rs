//! The class `Tree`: the shape of a session.

use crate::data;
use crate::error::OrRaise;
use crate::session::{id_text, id_texts};
use pyo3::prelude::*;
use pyo3::types::PyList;
use std::sync::Arc;

/// The tree of a session at one moment. It never changes.
#[pyclass(frozen, module = "treering._native")]
pub(crate) struct Tree {
    inner: Arc<treering::Tree>,
}

impl Tree {
    pub(crate) fn new(inner: Arc<treering::Tree>) -> Self {
        Tree { inner }
    }
}

#[pymethods]
impl Tree {
    fn __len__(&self) -> usize {
        self.inner.len()
    }

    fn __contains__(&self, id: &str) -> bool {
        self.inner.contains(id)
    }

    fn __repr__(&self) -> String {
        format!("<Tree of {} entries, {} leaves>", self.inner.len(), self.inner.leaves().len())
    }

    fn ids(&self) -> Vec<String> {
        self.inner.ids().map(|id| id_text(&id)).collect()
    }

    fn roots(&self, conversation: bool) -> Vec<String> {
        let tree = &self.inner;
        id_texts(&if conversation { tree.conversation().roots() } else { tree.roots() })
    }

    fn leaves(&self, conversation: bool) -> Vec<String> {
        let tree = &self.inner;
        id_texts(&if conversation { tree.conversation().leaves() } else { tree.leaves() })
    }

    fn branch_points(&self, conversation: bool) -> Vec<String> {
        let tree = &self.inner;
        id_texts(&if conversation {
            tree.conversation().branch_points()
        } else {
            tree.branch_points()
        })
    }

    fn children(&self, py: Python<'_>, id: &str, conversation: bool) -> PyResult<Vec<String>> {
        let tree = &self.inner;
        let children =
            if conversation { tree.conversation().children(id) } else { tree.children(id) };
        Ok(id_texts(&children.or_raise(py)?))
    }

    fn parent(&self, py: Python<'_>, id: &str, conversation: bool) -> PyResult<Option<String>> {
        let tree = &self.inner;
        let parent = if conversation { tree.conversation().parent(id) } else { tree.parent(id) };
        Ok(parent.or_raise(py)?.as_ref().map(id_text))
    }

    fn path(&self, py: Python<'_>, id: &str) -> PyResult<Vec<String>> {
        Ok(id_texts(&self.inner.path(id).or_raise(py)?))
    }

    fn depth(&self, py: Python<'_>, id: &str) -> PyResult<usize> {
        self.inner.depth(id).or_raise(py)
    }

    fn common_ancestor(&self, py: Python<'_>, a: &str, b: &str) -> PyResult<Option<String>> {
        Ok(self.inner.common_ancestor(a, b).or_raise(py)?.as_ref().map(id_text))
    }

    fn is_ancestor(&self, py: Python<'_>, ancestor: &str, entry: &str) -> PyResult<bool> {
        self.inner.is_ancestor(ancestor, entry).or_raise(py)
    }

    fn kind(&self, py: Python<'_>, id: &str) -> PyResult<Option<&'static str>> {
        Ok(self.inner.kind(id).or_raise(py)?.name())
    }

    fn role(&self, py: Python<'_>, id: &str) -> PyResult<Option<&'static str>> {
        Ok(self.inner.role(id).or_raise(py)?.and_then(|role| role.name()))
    }

    fn label(&self, id: &str) -> Option<&str> {
        self.inner.label(id)
    }

    /// The labels in the order in which they were set: entry, label, time.
    fn labels(&self) -> Vec<(String, String, Option<i64>)> {
        let label = |(id, label, time): (treering::EntryId, &str, Option<i64>)| {
            (id_text(&id), label.to_owned(), time)
        };
        self.inner.labels().into_iter().map(label).collect()
    }

    #[getter]
    fn file_leaf(&self) -> Option<String> {
        self.inner.file_leaf().as_ref().map(id_text)
    }

    #[getter]
    fn name(&self) -> Option<&str> {
        self.inner.name()
    }

    /// All entries as dicts, parents before their children.
    fn walk<'py>(&self, py: Python<'py>, conversation: bool) -> PyResult<Bound<'py, PyList>> {
        let list = PyList::empty(py);
        let whole = self.inner.conversation();
        let items = if conversation { whole.walk() } else { self.inner.walk() };
        for (index, item) in items.enumerate() {
            if index % 4096 == 4095 {
                py.check_signals()?;
            }
            list.append(data::report(py, &item)?)?;
        }
        Ok(list)
    }
}
