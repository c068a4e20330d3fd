//! The class `Context`: what a model sees.

use crate::data;
use crate::error::OrRaise;
use crate::json;
use crate::remembered::{Remembered, dicts};
use crate::run;
use crate::session::id_text;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList, PyTuple};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use treering::context::{ContextMessage, Model, TailContext};
use treering::provider::{CacheControl, Pairing, ProviderRequest, RequestOptions, Tool};
use treering::{EntryId, Position};
use treering_bindings::{Failure, LazySession};

/// The messages that a model sees, and its settings.
#[pyclass(frozen, module = "treering._native")]
pub(crate) struct Context {
    inner: RwLock<Arc<treering::Context>>,
    /// The session that knows the settings which `inner` does not have yet.
    unread: Option<Unread>,
    /// The values that the session of the context has read before.
    remembered: Option<Arc<Remembered>>,
}

/// Settings in a part of the session's file that was not read.
struct Unread {
    session: Arc<LazySession>,
    leaf: Option<EntryId>,
    /// Whether the model is among them; the thinking level always is.
    model: bool,
    is_read: AtomicBool,
}

impl Context {
    pub(crate) fn new(inner: treering::Context) -> Self {
        Context { inner: RwLock::new(Arc::new(inner)), unread: None, remembered: None }
    }

    pub(crate) fn of_session(inner: treering::Context, remembered: Arc<Remembered>) -> Self {
        Context { remembered: Some(remembered), ..Context::new(inner) }
    }

    /// Returns the context at the leaf of a session of which only the end was read.
    pub(crate) fn of_tail(
        context: TailContext,
        leaf: Option<EntryId>,
        session: Arc<LazySession>,
        remembered: Arc<Remembered>,
    ) -> Self {
        let (level, model) = (context.thinking_level.known(), context.model.known());
        let is_known = level.is_some() && model.is_some();
        let is_read = AtomicBool::new(false);
        let unread = Unread { session, leaf, model: model.is_none(), is_read };
        let mut inner = treering::Context::default();
        inner.messages = context.messages;
        inner.thinking_level = level.unwrap_or_default();
        inner.model = model.flatten();
        let unread = (!is_known).then_some(unread);
        Context { unread, ..Context::of_session(inner, remembered) }
    }

    /// Returns the messages; settings may be missing.
    fn messages(&self) -> Arc<treering::Context> {
        self.inner.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns the messages and all settings. What was not read of them is read now.
    fn complete(&self, py: Python<'_>) -> PyResult<Arc<treering::Context>> {
        let unread = self.unread.as_ref().filter(|it| !it.is_read.load(Ordering::Acquire));
        let Some(unread) = unread else { return Ok(self.messages()) };
        let position = unread.leaf.clone().map_or(Position::Start, Position::Entry);
        let settings =
            run::quick(py, || Ok::<_, Failure>(unread.session.whole()?.projection_at(position)?))?;
        let mut inner = self.inner.write().unwrap_or_else(PoisonError::into_inner);
        let context = Arc::make_mut(&mut inner);
        context.thinking_level = settings.thinking_level.clone();
        context.model = settings.model.clone();
        unread.is_read.store(true, Ordering::Release);
        Ok(Arc::clone(&inner))
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
            let tool = Tool::new(name, description, schema).or_raise(parameters.py())?;
            options = options.with_tool(tool);
        }
        if self.cache {
            options = options.with_cache(CacheControl::Ephemeral);
        }
        Ok(options)
    }
}

/// The provider and the id of a model.
type ModelParts = (Option<String>, Option<String>);

fn model_parts(context: &treering::Context) -> Option<ModelParts> {
    context.model.as_ref().map(|model| (model.provider.clone(), model.model_id.clone()))
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
            Some(remembered) => remembered.dicts(py, &self.messages()),
            None => dicts(py, &self.messages().messages),
        }
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let context = self.complete(py)?;
        let messages = context.messages.iter();
        let messages: Vec<_> = messages
            .map(|message| (message.entry.as_str(), PyBytes::new(py, &message.json)))
            .collect();
        let restore = py.import("treering._native")?.getattr("restore_context")?;
        let settings = (&*context.thinking_level, model_parts(&context));
        (restore, (messages, settings.0, settings.1)).into_pyobject(py)
    }

    fn __len__(&self) -> usize {
        self.messages().messages.len()
    }

    /// The entries that the messages come from, one for each message.
    #[getter]
    fn entries(&self) -> Vec<String> {
        self.messages().messages.iter().map(|message| id_text(&message.entry)).collect()
    }

    #[getter]
    fn model(&self, py: Python<'_>) -> PyResult<Option<ModelParts>> {
        match &self.unread {
            Some(unread) if unread.model => Ok(model_parts(&*self.complete(py)?)),
            _ => Ok(model_parts(&self.messages())),
        }
    }

    #[getter]
    fn thinking_level(&self, py: Python<'_>) -> PyResult<String> {
        Ok(self.complete(py)?.thinking_level.clone())
    }

    fn to_json<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let context = self.complete(py)?;
        let json = py.detach(|| context.to_json());
        Ok(PyBytes::new(py, &json))
    }

    /// The messages that a provider would accept, and what had to be changed for that.
    fn to_llm<'py>(
        &self,
        py: Python<'py>,
        strict: bool,
    ) -> PyResult<(Bound<'py, PyList>, Bound<'py, PyAny>)> {
        let pairing = if strict { Pairing::Strict } else { Pairing::Raw };
        let context = self.messages();
        let llm = py.detach(|| context.to_llm(pairing));
        Ok((dicts(py, &llm.messages)?, data::report(py, &llm.repairs)?))
    }

    fn to_anthropic<'py>(
        &self,
        py: Python<'py>,
        options: Request<'_>,
    ) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyAny>)> {
        let options = options.options()?;
        let context = self.messages();
        request(py, &py.detach(|| context.to_anthropic(&options)))
    }

    fn to_openai_chat<'py>(
        &self,
        py: Python<'py>,
        options: Request<'_>,
    ) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyAny>)> {
        let options = options.options()?;
        let context = self.messages();
        request(py, &py.detach(|| context.to_openai_chat(&options)))
    }

    fn to_openai_responses<'py>(
        &self,
        py: Python<'py>,
        options: Request<'_>,
    ) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyAny>)> {
        let options = options.options()?;
        let context = self.messages();
        request(py, &py.detach(|| context.to_openai_responses(&options)))
    }
}

/// Makes the context of which `Context.__reduce__` tells.
#[pyfunction]
pub(crate) fn restore_context(
    messages: Vec<(String, Vec<u8>)>,
    thinking_level: String,
    model: Option<ModelParts>,
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
    run::quick(py, || treering::active_context(path)).map(Context::new)
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
