//! The class `Store`: sessions in a directory, on a server or in a database.

use crate::data;
use crate::error::OrRaise;
use crate::operations::{Search, long, long_report};
use crate::options::{self, Create};
use crate::run;
use crate::session::Session;
use pyo3::prelude::*;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use treering::SessionId;
use treering::store::{Cursor, ListQuery, Mark, MemoryStore};
use treering_bindings::{
    Data, Failure, LazySession, StoreOptions, ToData, dialect, open_store as open_by_address,
    search_store,
};
use treering_client::sync::{Direction, Syncer};

/// A store of sessions.
#[pyclass(frozen, module = "treering._native")]
pub(crate) struct Store {
    pub(crate) inner: Arc<dyn treering::store::Store>,
    pub(crate) is_remote: bool,
}

impl Store {
    fn run<T: Send + 'static>(
        &self,
        py: Python<'_>,
        call: impl FnOnce(&Arc<dyn treering::store::Store>) -> Result<T, Failure> + Send + 'static,
    ) -> PyResult<T> {
        let store = self.inner.clone();
        if self.is_remote {
            run::long(py, &Arc::new(AtomicBool::new(false)), move || call(&store))
        } else {
            run::quick(py, || call(&store))
        }
    }
}

/// The ids of sessions and the lengths of their logs.
type ChangedSessions = Vec<(String, Option<u64>)>;

fn session_id(id: &str) -> Result<SessionId, Failure> {
    Ok(SessionId::new(id)?)
}

#[pymethods]
impl Store {
    #[getter]
    fn location(&self) -> String {
        self.inner.location()
    }

    /// A page of sessions, newest first, and the cursor of the next page.
    #[allow(clippy::too_many_arguments, reason = "the arguments of a Python call")]
    fn list<'py>(
        &self,
        py: Python<'py>,
        agent: Option<&str>,
        cwd: Option<String>,
        since: Option<i64>,
        until: Option<i64>,
        limit: Option<usize>,
        cursor: Option<String>,
    ) -> PyResult<(Bound<'py, PyAny>, Option<String>)> {
        let mut query = ListQuery::new();
        if let Some(agent) = agent {
            query = query.agent(dialect(agent).or_raise(py)?);
        }
        if let Some(cwd) = cwd {
            query = query.cwd(cwd);
        }
        if let Some(since) = since {
            query = query.since(since);
        }
        if let Some(until) = until {
            query = query.until(until);
        }
        if let Some(limit) = limit {
            query = query.limit(limit);
        }
        if let Some(cursor) = cursor {
            query = query.after(Cursor::new(cursor));
        }
        let page = self.run(py, move |store| Ok(store.list(&query)?))?;
        let next = page.next.map(|next| next.to_string());
        Ok((data::report(py, &page.sessions)?, next))
    }

    fn create(&self, py: Python<'_>, cwd: PathBuf, options: Create<'_>) -> PyResult<Session> {
        let options = options.options()?.or_raise(py)?;
        let session =
            self.run(py, move |store| Ok(treering::Session::create_in(store, cwd, options)?))?;
        Ok(Session::new(session, self.is_remote))
    }

    fn open(
        &self,
        py: Python<'_>,
        id: String,
        durability: Option<Bound<'_, PyAny>>,
    ) -> PyResult<Session> {
        let options = options::open(durability)?.or_raise(py)?;
        let session =
            self.run(py, move |store| LazySession::open_in(store, &session_id(&id)?, options))?;
        Ok(Session::lazy(session, self.is_remote))
    }

    fn remove(&self, py: Python<'_>, id: String) -> PyResult<()> {
        self.run(py, move |store| Ok(store.remove(&session_id(&id)?)?))
    }

    fn file(&self, py: Python<'_>, id: String) -> PyResult<Option<PathBuf>> {
        self.run(py, move |store| Ok(store.file(&session_id(&id)?)?))
    }

    fn has_news(&self, py: Python<'_>) -> PyResult<bool> {
        self.run(py, |store| Ok(store.has_news()))
    }

    /// The sessions that changed since a mark: id and length each, None for one that was removed; and the next mark.
    fn changes(
        &self,
        py: Python<'_>,
        since: Option<String>,
    ) -> PyResult<(ChangedSessions, String)> {
        let mark = since.map(Mark::new);
        let changes = self.run(py, move |store| Ok(store.changes(mark.as_ref())?))?;
        let sessions = changes.sessions.iter().map(|it| (it.id.to_string(), it.length)).collect();
        Ok((sessions, changes.mark.to_string()))
    }

    fn search<'py>(
        &self,
        py: Python<'py>,
        query: String,
        options: Search,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (store, options) = (self.inner.clone(), options.options());
        long_report(py, move |stop| search_store(&store, &query, &options, stop))
    }

    /// Brings the sessions of this store and another one to the same state.
    fn synchronize<'py>(
        &self,
        py: Python<'py>,
        other: &Store,
        direction: &str,
        sessions: Option<Vec<String>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let direction = match direction {
            "both" => Direction::Both,
            "push" => Direction::Push,
            "pull" => Direction::Pull,
            other => {
                let message =
                    format!("there is no direction {other:?}: use \"both\", \"push\" or \"pull\"");
                return Err(crate::error::exception(
                    py,
                    Failure::invalid("invalid_option", message),
                ));
            }
        };
        let (here, there) = (self.inner.clone(), other.inner.clone());
        let report = long(py, move |_| {
            let syncer = Syncer::new(here, there);
            let report = match sessions {
                None => syncer.all(direction, |_| ())?,
                Some(ids) => {
                    let ids: Vec<SessionId> =
                        ids.iter().map(|id| session_id(id)).collect::<Result<_, _>>()?;
                    syncer.sessions(&ids, direction, |_| ())?
                }
            };
            let conflicts = report.conflicts.iter();
            let failed = report.failed.iter();
            Ok(Data::Record(vec![
                ("sessions", report.sessions.to_data()),
                ("created", report.created.to_data()),
                ("appended", report.appended.to_data()),
                ("merged", report.merged.to_data()),
                ("unchanged", report.unchanged.to_data()),
                ("removed", report.removed.to_data()),
                ("sent", report.sent.to_data()),
                ("received", report.received.to_data()),
                ("conflicts", Data::List(conflicts.map(|it| it.to_string().to_data()).collect())),
                (
                    "failed",
                    Data::List(
                        failed.map(|it| format!("{}: {}", it.id, it.error).to_data()).collect(),
                    ),
                ),
                ("is_complete", report.is_complete().to_data()),
            ]))
        })?;
        data::to_python(py, &report)
    }
}

/// Opens a store by its address.
#[pyfunction]
pub(crate) fn open_store(
    py: Python<'_>,
    address: String,
    token: Option<String>,
    space: Option<String>,
) -> PyResult<Store> {
    let is_remote = address.contains("://") && !address.starts_with("file://");
    let mut options = StoreOptions::default();
    options.token = token;
    options.space = space;
    let inner = long(py, move |_| Ok(open_by_address(&address, &options)?))?;
    Ok(Store { inner, is_remote })
}

/// Returns an empty store in memory.
#[pyfunction]
pub(crate) fn memory_store() -> Store {
    Store { inner: Arc::new(MemoryStore::new()), is_remote: false }
}
