//! The class `Context`: what a model sees.

use crate::data;
use crate::json;
use crate::remembered::{Remembered, dicts};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList, PyTuple};
use std::sync::Arc;
use treering::context::{ContextMessage, Model};
use treering::provider::{CacheControl, Pairing, ProviderRequest, RequestOptions, Tool};

/// The messages that a model sees, and its settings.
#[pyclass(frozen, module = "treering._native")]
pub(crate) struct Context {
    inner: Arc<treering::Context>,
    /// The values that the session of the context has read before.
    remembered: Option<Arc<Remembered>>,
}

impl Context {
    pub(crate) fn new(inner: treering::Context) -> Self {
        Context { inner: Arc::new(inner), remembered: None }
    }

    pub(crate) fn of_session(inner: treering::Context, remembered: Arc<Remembered>) -> Self {
        Context { inner: Arc::new(inner), remembered: Some(remembered) }
    }
}

/// Options of the request to a provider.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
struct Request<'py> {
    system: Option<String>,
    model: Option<(Option<String>, String)>,
    tools: Vec<(String, String, Bound<'py, PyAny>)>,
    cache: bool,
}

impl Request<'_> {
    fn options(self) -> PyResult<RequestOptions> {
        let mut options = RequestOptions::new();
        if let Some(system) = self.system {
            options = options.with_system(system);
        }
        if let Some((provider, model_id)) = self.model {
            options = options.with_model(Model::from_parts(provider, Some(model_id)));
        }
        for (name, description, parameters) in self.tools {
            let schema = String::from_utf8(json::to_json(&parameters)?)?;
            options = options.with_tool(Tool::new(name, description, schema));
        }
        if self.cache {
            options = options.with_cache(CacheControl::Ephemeral);
        }
        Ok(options)
    }
}

fn request<'py>(
    py: Python<'py>,
    request: &ProviderRequest,
) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyAny>)> {
    Ok((json::to_python(py, request.json.as_bytes())?, data::report(py, &request.repairs)?))
}

#[pymethods]
impl Context {
    /// The messages as new dicts: changing them changes nothing else.
    fn dicts_of_messages<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        match &self.remembered {
            Some(remembered) => remembered.dicts(py, &self.inner),
            None => dicts(py, &self.inner.messages),
        }
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let messages = self.inner.messages.iter();
        let messages: Vec<_> = messages
            .map(|message| (message.entry.as_str(), PyBytes::new(py, &message.json)))
            .collect();
        let restore = py.import("treering._native")?.getattr("restore_context")?;
        (restore, (messages, self.thinking_level(), self.model())).into_pyobject(py)
    }

    fn __len__(&self) -> usize {
        self.inner.messages.len()
    }

    /// The entries that the messages come from, one for each message.
    #[getter]
    fn entries(&self) -> Vec<&str> {
        self.inner.messages.iter().map(|message| message.entry.as_str()).collect()
    }

    #[getter]
    fn model(&self) -> Option<(Option<String>, Option<String>)> {
        self.inner.model.as_ref().map(|model| (model.provider.clone(), model.model_id.clone()))
    }

    #[getter]
    fn thinking_level(&self) -> &str {
        &self.inner.thinking_level
    }

    fn to_json<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        let json = py.detach(|| self.inner.to_json());
        PyBytes::new(py, &json)
    }

    /// The messages that a provider would accept, and what had to be changed for that.
    fn to_llm<'py>(
        &self,
        py: Python<'py>,
        strict: bool,
    ) -> PyResult<(Bound<'py, PyList>, Bound<'py, PyAny>)> {
        let pairing = if strict { Pairing::Strict } else { Pairing::Raw };
        let llm = py.detach(|| self.inner.to_llm(pairing));
        Ok((dicts(py, &llm.messages)?, data::report(py, &llm.repairs)?))
    }

    fn to_anthropic<'py>(
        &self,
        py: Python<'py>,
        options: Request<'_>,
    ) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyAny>)> {
        let options = options.options()?;
        request(py, &py.detach(|| self.inner.to_anthropic(&options)))
    }

    fn to_openai_chat<'py>(
        &self,
        py: Python<'py>,
        options: Request<'_>,
    ) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyAny>)> {
        let options = options.options()?;
        request(py, &py.detach(|| self.inner.to_openai_chat(&options)))
    }

    fn to_openai_responses<'py>(
        &self,
        py: Python<'py>,
        options: Request<'_>,
    ) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyAny>)> {
        let options = options.options()?;
        request(py, &py.detach(|| self.inner.to_openai_responses(&options)))
    }
}

/// Makes the context of which `Context.__reduce__` tells.
#[pyfunction]
pub(crate) fn restore_context(
    messages: Vec<(String, Vec<u8>)>,
    thinking_level: String,
    model: Option<(Option<String>, Option<String>)>,
) -> Context {
    let mut inner = treering::Context::default();
    let messages = messages.into_iter();
    inner.messages = messages.map(|(entry, json)| ContextMessage::new(entry, json)).collect();
    inner.thinking_level = thinking_level;
    inner.model = model.map(|(provider, model_id)| Model::from_parts(provider, model_id));
    Context::new(inner)
}

/// Reads the context of a session file without reading the rest of it.
#[pyfunction]
pub(crate) fn active_context(py: Python<'_>, path: std::path::PathBuf) -> PyResult<Context> {
    crate::run::quick(py, || treering::active_context(path)).map(Context::new)
}

/// Estimates the number of tokens of a message.
#[pyfunction]
pub(crate) fn estimate_tokens(message: &Bound<'_, PyAny>) -> PyResult<u64> {
    Ok(treering::compaction::estimate_tokens(&json::to_json(message)?))
}

/// Reads JSON as contexts are read.
#[pyfunction]
pub(crate) fn loads<'py>(py: Python<'py>, text: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    match text.cast::<PyBytes>() {
        Ok(bytes) => json::to_python(py, bytes.as_bytes()),
        Err(_) => {
            let text: String = text.extract()?;
            json::to_python(py, text.as_bytes())
        }
    }
}

/// Writes JSON as entries are written.
#[pyfunction]
pub(crate) fn dumps<'py>(value: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyBytes>> {
    Ok(PyBytes::new(value.py(), &json::to_json(value)?))
}

/// The names of the dialects, and whether each can be written.
#[pyfunction]
pub(crate) fn dialects() -> Vec<(&'static str, bool)> {
    treering::Dialect::ALL
        .into_iter()
        .map(|dialect| (dialect.name(), dialect.is_writable()))
        .collect()
}
