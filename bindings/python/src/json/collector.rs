//! The garbage collector of Python, and its pauses.

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;

/// A time without garbage collection, which ends when this is dropped.
///
/// The collector runs after every few hundred new containers. While a context is built none of them can be garbage, and
/// looking at all of them costs more than making them.
pub(crate) struct CollectorPause<'py> {
    enable: Option<Bound<'py, PyAny>>,
}

impl<'py> CollectorPause<'py> {
    /// Pauses the collector, unless it is off already.
    pub(crate) fn begin(py: Python<'py>) -> PyResult<Self> {
        static MODULE: PyOnceLock<Py<PyModule>> = PyOnceLock::new();
        let module = MODULE.get_or_try_init(py, || py.import("gc").map(Bound::unbind))?.bind(py);
        if !module.call_method0(pyo3::intern!(py, "isenabled"))?.is_truthy()? {
            return Ok(CollectorPause { enable: None });
        }
        let enable = module.getattr(pyo3::intern!(py, "enable"))?;
        module.call_method0(pyo3::intern!(py, "disable"))?;
        Ok(CollectorPause { enable: Some(enable) })
    }
}

impl Drop for CollectorPause<'_> {
    fn drop(&mut self) {
        if let Some(enable) = &self.enable {
            // `gc.enable` cannot fail.
            drop(enable.call0());
        }
    }
}
