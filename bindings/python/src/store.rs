//! The class `Store`: sessions in a directory, on a server or in a database.

use crate::data;
use crate::error::{OrRaise, exception};
use crate::forks;
use crate::operations::{Search, long, long_report};
use crate::options::{self, Create};
use crate::run;
use crate::session::Session;
use pyo3::prelude::*;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use treering::store::{Cursor, ListQuery, Mark, MemoryStore};
use treering::{Dialect, OpenOptions, SessionId};
use treering_bindings::{
    Data, Failure, LazySession, StoreOptions, ToData, dialect, local_store as sessions_of_agents,
    open_store as open_by_address, search_store,
};
use treering_client::sync::{Direction, Syncer};

/// A store of sessions.
#[pyclass(frozen, module = "treering._native")]
pub(crate) struct Store {
    inner: Arc<dyn treering::store::Store>,
    pub(crate) is_remote: bool,
    /// The number of forks that led to the process that opened the store.
    forks: u32,
}

impl Drop for Store {
    fn drop(&mut self) {
        if self.is_of_parent() {
            // Dropping it would end connections that the parent uses.
            std::mem::forget(self.inner.clone());
        }
    }
}

impl Store {
    fn new(inner: Arc<dyn treering::store::Store>, is_remote: bool) -> Self {
        Store { inner, is_remote, forks: forks::count() }
    }

    /// Returns whether the store has connections of a process that this one was forked from.
    fn is_of_parent(&self) -> bool {
        self.is_remote && self.forks != forks::count()
    }

    /// Returns the library's store, or raises if its connections belong to another process.
    pub(crate) fn get(&self, py: Python<'_>) -> PyResult<Arc<dyn treering::store::Store>> {
        if self.is_of_parent() {
            return Err(exception(py, forks::failure("store")));
        }
        Ok(self.inner.clone())
    }

    fn run<T: Send + 'static>(
        &self,
        py: Python<'_>,
        call: impl FnOnce(&Arc<dyn treering::store::Store>) -> Result<T, Failure> + Send + 'static,
    ) -> PyResult<T> {
        let store = self.get(py)?;
        if self.is_remote {
            run::long(py, &Arc::new(AtomicBool::new(false)), move || call(&store))
        } else {
            run::quick(py, || call(&store))
        }
    }
}

/// The number of sessions that are searched for one that can be continued.
const NEWEST: usize = 100;

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

    /// Opens the session of a project that was written last and can be written, or creates one.
    fn continue_recent(
        &self,
        py: Python<'_>,
        cwd: PathBuf,
        options: Create<'_>,
    ) -> PyResult<Session> {
        let options = options.options()?.or_raise(py)?;
        let session = self.run(py, move |store| {
            let cwd = std::path::absolute(cwd)?;
            let query = ListQuery::new().limit(NEWEST).cwd(cwd.to_string_lossy().into_owned());
            let newest = store.list(&query)?.sessions;
            let wanted = options.session.dialect;
            let is_wanted = |agent: Dialect| match wanted {
                Some(wanted) => agent == wanted,
                None => agent.is_writable(),
            };
            match newest.iter().find(|info| is_wanted(info.agent)) {
                Some(info) => {
                    let open = OpenOptions::new().durability(options.durability);
                    LazySession::open_in(store, &info.id, open)
                }
                None => Ok(treering::Session::create_in(store, cwd, options)?.into()),
            }
        })?;
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
        let (store, options) = (self.get(py)?, options.options());
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
                return Err(exception(py, Failure::invalid("invalid_option", message)));
            }
        };
        let (here, there) = (self.get(py)?, other.get(py)?);
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
    Ok(Store::new(inner, is_remote))
}

/// Returns an empty store in memory.
#[pyfunction]
pub(crate) fn memory_store() -> Store {
    Store::new(Arc::new(MemoryStore::new()), false)
}

/// Returns the sessions of all agents on this machine.
#[pyfunction]
pub(crate) fn local_store(py: Python<'_>) -> PyResult<Store> {
    Ok(Store::new(sessions_of_agents().map_err(Failure::from).or_raise(py)?, false))
}
