//! The class `Session`: reading and writing.

use crate::context::Context;
use crate::data;
use crate::entry::{Entry, EntryIterator};
use crate::error::{OrRaise, exception};
use crate::forks;
use crate::json;
use crate::listener::{Listener, Listeners};
use crate::operations::{optional_json, with_usage};
use crate::options::{self, At, Create};
use crate::remembered::Remembered;
use crate::run;
use crate::tree::Tree;
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList, PyString};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, OnceLock, PoisonError, RwLock};
use treering::session::{Append, LeafMoves, SessionTail};
use treering::{EntryId, Message, NewEntry, Position};
use treering_bindings::{Failure, LazySession, ToData};

/// An open session.
#[pyclass(frozen, module = "treering._native")]
pub(crate) struct Session {
    inner: RwLock<Option<Arc<LazySession>>>,
    /// The session's id, which is known also after it was closed.
    id: String,
    /// Whether calls may wait for a network.
    is_remote: bool,
    listeners: Listeners,
    /// The path of the session's file when it was closed.
    closed_path: OnceLock<Option<PathBuf>>,
    remembered: Arc<Remembered>,
    /// The number of forks that led to the process that `inner` belongs to.
    forks: AtomicU32,
}

impl Drop for Session {
    fn drop(&mut self) {
        if self.is_of_parent() {
            // Dropping it would end a connection that the parent uses, or wait for a thread that only the parent has.
            std::mem::forget(self.take());
        }
    }
}

impl Session {
    pub(crate) fn new(session: treering::Session, is_remote: bool) -> Self {
        let id = session.id().to_string();
        Session::with_id(id, session.into(), is_remote)
    }

    /// Returns a session of which perhaps only the end was read.
    pub(crate) fn lazy(session: LazySession, is_remote: bool) -> Self {
        let id = match (session.tail(), session.if_whole()) {
            (Some(tail), _) => tail.header().id.to_string(),
            (None, whole) => whole.map(|whole| whole.id().to_string()).unwrap_or_default(),
        };
        Session::with_id(id, session, is_remote)
    }

    fn with_id(id: String, session: LazySession, is_remote: bool) -> Self {
        Session {
            id,
            inner: RwLock::new(Some(Arc::new(session))),
            is_remote,
            listeners: Listeners::default(),
            closed_path: OnceLock::new(),
            remembered: Arc::default(),
            forks: AtomicU32::new(forks::count()),
        }
    }

    fn take(&self) -> Option<Arc<LazySession>> {
        self.inner.write().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Returns whether the session was opened by a process that this one was forked from.
    fn is_of_parent(&self) -> bool {
        self.forks.load(Ordering::Relaxed) != forks::count()
    }

    /// Opens the session again in the child of a fork, at the same leaf.
    fn open_in_child(&self) -> Result<(), Failure> {
        let mut inner = self.inner.write().unwrap_or_else(PoisonError::into_inner);
        if self.is_remote && inner.is_some() {
            return Err(forks::failure("session"));
        }
        // A session without a file is the child's own copy.
        if let Some(before) = &*inner
            && let Some(again) = again(before)?
        {
            self.listeners.attach(&again);
            std::mem::forget(inner.replace(Arc::new(again.into())));
        }
        self.forks.store(forks::count(), Ordering::Relaxed);
        Ok(())
    }

    /// Returns the session as it was read so far, or raises if this one was closed.
    fn opened(&self, py: Python<'_>) -> PyResult<Arc<LazySession>> {
        if self.is_of_parent() {
            self.open_in_child().or_raise(py)?;
        }
        let inner = self.inner.read().unwrap_or_else(PoisonError::into_inner);
        inner.clone().ok_or_else(|| {
            exception(py, Failure::invalid("closed", "the session is closed: open it again"))
        })
    }

    /// Returns the library's session, or raises if this one was closed. What was not read of it is read now.
    pub(crate) fn get(&self, py: Python<'_>) -> PyResult<Arc<treering::Session>> {
        let opened = self.opened(py)?;
        match opened.if_whole() {
            Some(session) => Ok(session),
            None => run::quick(py, || opened.whole()),
        }
    }

    /// Returns a fact that the end of a session tells as well as the whole.
    fn fact<T>(
        &self,
        py: Python<'_>,
        of_tail: impl FnOnce(&SessionTail) -> T,
        of_whole: impl FnOnce(&treering::Session) -> T,
    ) -> PyResult<T> {
        match self.opened(py)?.tail() {
            Some(tail) => Ok(of_tail(&tail)),
            None => Ok(of_whole(&*self.get(py)?)),
        }
    }

    /// Runs a call on the session without holding up the interpreter.
    pub(crate) fn run<T: Send + 'static, E: Into<Failure> + Send + 'static>(
        &self,
        py: Python<'_>,
        call: impl FnOnce(&treering::Session) -> Result<T, E> + Send + 'static,
    ) -> PyResult<T> {
        let session = self.get(py)?;
        if self.is_remote {
            run::long(py, &Arc::new(AtomicBool::new(false)), move || call(&session))
        } else {
            run::quick(py, || call(&session))
        }
    }

    /// Runs a call that may take long, which can be stopped.
    pub(crate) fn run_long<T: Send + 'static, E: Into<Failure> + Send + 'static>(
        &self,
        py: Python<'_>,
        call: impl FnOnce(&treering::Session, &Arc<AtomicBool>) -> Result<T, E> + Send + 'static,
    ) -> PyResult<T> {
        let opened = self.opened(py)?;
        let stop = Arc::new(AtomicBool::new(false));
        let own = stop.clone();
        run::long(py, &stop, move || call(&*opened.whole()?, &own).map_err(Into::<Failure>::into))
    }
}

/// Opens the file of a session once more, at the leaf of the session; `None` if it has no file yet.
fn again(before: &LazySession) -> Result<Option<treering::Session>, Failure> {
    let before = before.whole()?;
    let path = match before.path() {
        Some(path) if before.is_written() => path,
        _ => return Ok(None),
    };
    let again = treering::Session::open_with(path, before.open_options())?;
    match before.leaf() {
        None => again.branch_in_memory(Position::Start)?,
        Some(leaf) if again.tree().contains(&leaf) => again.branch_in_memory(leaf)?,
        Some(_) => {}
    }
    Ok(Some(again))
}

pub(crate) fn id_text(id: &EntryId) -> String {
    id.as_str().to_owned()
}

pub(crate) fn id_texts(ids: &[EntryId]) -> Vec<String> {
    ids.iter().map(id_text).collect()
}

/// Returns whether a position is the leaf of a session of which only the end was read.
fn is_leaf(position: &Position, tail: &SessionTail) -> bool {
    match position {
        Position::Leaf => true,
        Position::Entry(id) => tail.leaf().as_ref() == Some(id),
        _ => false,
    }
}

/// Returns an entry to be written, from a message or an entry as a dict.
fn new_entry(value: &Bound<'_, PyAny>) -> PyResult<NewEntry> {
    let py = value.py();
    let json = json::to_json(value)?;
    let is_message = match value.cast::<PyDict>() {
        Ok(dict) => dict.contains(pyo3::intern!(py, "role"))?,
        Err(_) => false,
    };
    if is_message {
        Message::from_json(&json).map(NewEntry::from).or_raise(py)
    } else {
        NewEntry::from_json(&json).or_raise(py)
    }
}

fn record_bytes(value: &Bound<'_, PyAny>) -> PyResult<Vec<u8>> {
    if let Ok(bytes) = value.cast::<PyBytes>() {
        return Ok(bytes.as_bytes().to_vec());
    }
    if let Ok(text) = value.cast::<PyString>() {
        return Ok(text.to_cow()?.as_bytes().to_vec());
    }
    json::to_json(value)
}

/// Opening and creating.
#[pymethods]
impl Session {
    #[staticmethod]
    fn create(py: Python<'_>, path: PathBuf, cwd: PathBuf, options: Create<'_>) -> PyResult<Self> {
        let options = options.options()?.or_raise(py)?;
        let session = run::quick(py, || treering::Session::create_at(path, cwd, options))?;
        Ok(Session::new(session, false))
    }

    /// Opens a file by its end, if that tells the context; the rest is read when something needs it.
    #[staticmethod]
    fn open(py: Python<'_>, path: PathBuf, durability: Option<Bound<'_, PyAny>>) -> PyResult<Self> {
        let options = options::open(durability)?.or_raise(py)?;
        let session = run::quick(py, || LazySession::open(path, options))?;
        Ok(Session::lazy(session, false))
    }

    #[staticmethod]
    fn open_or_create(
        py: Python<'_>,
        path: PathBuf,
        cwd: PathBuf,
        options: Create<'_>,
    ) -> PyResult<Self> {
        let options = options.options()?.or_raise(py)?;
        let session = run::quick(py, || LazySession::open_or_create(path, cwd, options))?;
        Ok(Session::lazy(session, false))
    }

    #[staticmethod]
    fn in_memory(py: Python<'_>, cwd: PathBuf, options: Create<'_>) -> PyResult<Self> {
        let options = options.options()?.or_raise(py)?;
        let session = treering::Session::in_memory_with(cwd, options.session).or_raise(py)?;
        Ok(Session::new(session, false))
    }

    /// Brings everything to disk and gives up the session. A second call does nothing.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        let inner = self.take();
        if let Some(session) = &inner {
            let path = match session.tail() {
                Some(tail) => Some(tail.path().to_owned()),
                None => session.if_whole().and_then(|session| session.path()),
            };
            self.closed_path.get_or_init(|| path);
        }
        self.listeners.cancel();
        self.remembered.clear();
        if self.is_of_parent() {
            // It is the parent's to bring to disk and to close.
            std::mem::forget(inner);
            return Ok(());
        }
        match inner {
            None => Ok(()),
            // Nothing was written through a session of which only the end was read.
            Some(session) => match session.if_whole() {
                Some(session) => run::quick(py, move || session.sync()),
                None => Ok(()),
            },
        }
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        self.listeners.traverse(&visit)
    }

    fn __clear__(&self) {
        self.listeners.cancel();
    }

    #[getter]
    fn is_closed(&self) -> bool {
        self.inner.read().unwrap_or_else(PoisonError::into_inner).is_none()
    }
}

/// Facts.
#[pymethods]
impl Session {
    #[getter]
    fn id(&self) -> &str {
        &self.id
    }

    #[getter]
    fn path(&self, py: Python<'_>) -> PyResult<Option<PathBuf>> {
        if let Some(path) = self.closed_path.get() {
            return Ok(path.clone());
        }
        self.fact(py, |tail| Some(tail.path().to_owned()), |session| session.path())
    }

    #[getter]
    fn cwd(&self, py: Python<'_>) -> PyResult<String> {
        self.fact(py, |tail| tail.header().cwd, |session| session.cwd())
    }

    #[getter]
    fn dialect(&self, py: Python<'_>) -> PyResult<&'static str> {
        self.fact(py, |tail| tail.dialect().name(), |session| session.dialect().name())
    }

    #[getter]
    fn name(&self, py: Python<'_>) -> PyResult<Option<String>> {
        Ok(self.get(py)?.name())
    }

    #[getter]
    fn leaf(&self, py: Python<'_>) -> PyResult<Option<String>> {
        let leaf = self.fact(py, |tail| tail.leaf(), |session| session.leaf())?;
        Ok(leaf.as_ref().map(id_text))
    }

    #[getter]
    fn is_written(&self, py: Python<'_>) -> PyResult<bool> {
        self.fact(py, |_| true, |session| session.is_written())
    }

    #[getter]
    fn log_length(&self, py: Python<'_>) -> PyResult<u64> {
        self.fact(py, |tail| tail.log_length(), |session| session.log_length())
    }

    /// Whether all of the session was read, and not only its end.
    #[getter]
    fn is_whole(&self, py: Python<'_>) -> PyResult<bool> {
        Ok(self.opened(py)?.if_whole().is_some())
    }

    fn title(&self, py: Python<'_>) -> PyResult<String> {
        self.run(py, |session| session.title())
    }

    fn header<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        data::report(py, &self.fact(py, |tail| tail.header(), |session| session.header())?)
    }

    fn info<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let info = self.run(py, |session| session.info())?;
        data::report(py, &info)
    }

    fn findings<'py>(&self, py: Python<'py>, all: bool) -> PyResult<Bound<'py, PyAny>> {
        let findings =
            self.run(
                py,
                move |session| if all { session.all_findings() } else { session.findings() },
            )?;
        data::report(py, &findings)
    }

    fn check_writable(&self, py: Python<'_>) -> PyResult<()> {
        self.run(py, |session| session.check_writable())
    }
}

/// Reading.
#[pymethods]
impl Session {
    fn context(&self, py: Python<'_>, at: At) -> PyResult<Context> {
        let opened = self.opened(py)?;
        if let Some(tail) = opened.tail()
            && is_leaf(&at.0, &tail)
            && let Some(context) = run::quick(py, || tail.context())?
        {
            return Ok(Context::of_tail(context, tail.leaf(), opened, self.remembered.clone()));
        }
        let context = self.run(py, move |session| session.context_at(at.0))?;
        Ok(Context::of_session(context, self.remembered.clone()))
    }

    fn agent_context<'py>(&self, py: Python<'py>, at: At) -> PyResult<Option<Bound<'py, PyAny>>> {
        let context = self.run(py, move |session| session.agent_context_at(at.0))?;
        context.map(|context| json::to_python(py, &context.to_json())).transpose()
    }

    fn context_tokens<'py>(&self, py: Python<'py>, at: At) -> PyResult<Bound<'py, PyAny>> {
        let tokens = self.run(py, move |session| session.context_tokens_at(at.0))?;
        data::report(py, &tokens)
    }

    fn system_message<'py>(&self, py: Python<'py>, at: At) -> PyResult<Option<Bound<'py, PyAny>>> {
        let message = self.run(py, move |session| session.system_message_at(at.0))?;
        message.map(|message| json::to_python(py, &message)).transpose()
    }

    fn entry(&self, py: Python<'_>, id: String) -> PyResult<Entry> {
        let entry = self.run(py, move |session| session.entry(id))?;
        Ok(Entry::new(entry))
    }

    fn entries(&self, py: Python<'_>) -> PyResult<EntryIterator> {
        Ok(EntryIterator::new(self.get(py)?.entries(), self.is_remote))
    }

    fn entries_after(&self, py: Python<'_>, id: String) -> PyResult<EntryIterator> {
        let entries = self.run(py, move |session| session.entries_after(id))?;
        Ok(EntryIterator::new(entries, self.is_remote))
    }

    fn path_to(&self, py: Python<'_>, at: At) -> PyResult<EntryIterator> {
        let entries = self.run(py, move |session| session.path_to(at.0))?;
        Ok(EntryIterator::new(entries, self.is_remote))
    }

    fn resolve(&self, py: Python<'_>, text: &str) -> PyResult<String> {
        let id = self.get(py)?.resolve(text).found(text).or_raise(py)?;
        Ok(id_text(&id))
    }

    fn tree(&self, py: Python<'_>) -> PyResult<Tree> {
        Ok(Tree::new(self.get(py)?.tree()))
    }

    fn new_id(&self, py: Python<'_>) -> PyResult<String> {
        Ok(id_text(&self.get(py)?.new_id()))
    }
}

/// Writing.
#[pymethods]
impl Session {
    #[pyo3(signature = (entry, id=None, parent=None, timestamp=None, expecting=None))]
    fn append(
        &self,
        py: Python<'_>,
        entry: &Bound<'_, PyAny>,
        id: Option<String>,
        parent: Option<At>,
        timestamp: Option<i64>,
        expecting: Option<At>,
    ) -> PyResult<String> {
        let mut entry = new_entry(entry)?;
        if let Some(id) = id {
            entry = entry.with_id(id);
        }
        if let Some(At(parent)) = parent {
            entry = entry.with_parent(parent);
        }
        if let Some(timestamp) = timestamp {
            entry = entry.with_timestamp(timestamp);
        }
        match expecting {
            None => self.run(py, move |session| session.append(entry)).map(|id| id_text(&id)),
            Some(At(expected)) => {
                let ids =
                    self.run(py, move |session| session.append_expecting(expected, &[entry]))?;
                Ok(ids.first().map(id_text).unwrap_or_default())
            }
        }
    }

    #[pyo3(signature = (entries, expecting=None, following=false))]
    fn append_all(
        &self,
        py: Python<'_>,
        entries: &Bound<'_, PyList>,
        expecting: Option<At>,
        following: bool,
    ) -> PyResult<Vec<String>> {
        let entries: Vec<NewEntry> =
            entries.iter().map(|it| new_entry(&it)).collect::<PyResult<_>>()?;
        let ids = self.run(py, move |session| match expecting {
            None if following => session.append_following(&entries),
            None => session.append_all(&entries),
            Some(At(expected)) => session.append_expecting(expected, &entries),
        })?;
        Ok(id_texts(&ids))
    }

    /// Appends entries to a branch that may have been left meanwhile, and moves only the leaves that are named.
    fn append_late(
        &self,
        py: Python<'_>,
        entries: &Bound<'_, PyList>,
        parent: At,
        expecting: At,
        move_file: bool,
        move_own_from: Option<At>,
    ) -> PyResult<Vec<String>> {
        let mut entries: Vec<NewEntry> =
            entries.iter().map(|it| new_entry(&it)).collect::<PyResult<_>>()?;
        let ids = self.run(py, move |session| {
            let parent = match parent.0 {
                Position::Entry(id) => Some(id),
                Position::Leaf => session.leaf(),
                _ => None,
            };
            if let Some(first) = entries.first_mut() {
                *first = first.clone().with_parent(parent);
            }
            let mut moves = LeafMoves::none(expecting.0);
            if move_file {
                moves = moves.moving_file_leaf();
            }
            if let Some(At(own)) = move_own_from {
                moves = moves.moving_session_leaf_at(own);
            }
            session.append_to_branch(&entries, &moves)
        })?;
        Ok(id_texts(&ids))
    }

    /// Appends several batches in one write, each with its own outcome: the ids, or an exception.
    fn append_each(&self, py: Python<'_>, batches: &Bound<'_, PyList>) -> PyResult<Vec<Py<PyAny>>> {
        let mut wanted: Vec<(Vec<NewEntry>, Option<Position>)> = Vec::new();
        for batch in batches.iter() {
            let (entries, expecting): (Bound<'_, PyList>, Option<At>) = batch.extract()?;
            let entries = entries.iter().map(|it| new_entry(&it)).collect::<PyResult<_>>()?;
            wanted.push((entries, expecting.map(|at| at.0)));
        }
        let outcomes = self.run(py, move |session| {
            let appends: Vec<Append<'_>> = wanted
                .iter()
                .map(|(entries, expecting)| match expecting {
                    None => Append::new(entries),
                    Some(position) => Append::new(entries).expecting(position),
                })
                .collect();
            session.append_each(&appends)
        })?;
        let outcome = |result: treering::Result<treering::session::AppendedEntries>| match result {
            Ok(appended) => Ok(id_texts(&appended.ids).into_pyobject(py)?.into_any().unbind()),
            Err(error) => Ok(exception(py, error.into()).into_value(py).into_any()),
        };
        outcomes.into_iter().map(outcome).collect()
    }

    fn append_record(&self, py: Python<'_>, record: &Bound<'_, PyAny>) -> PyResult<String> {
        let record = record_bytes(record)?;
        let id = self.run(py, move |session| session.append_record(record))?;
        Ok(id_text(&id))
    }

    fn append_records(&self, py: Python<'_>, records: &Bound<'_, PyList>) -> PyResult<Vec<String>> {
        let records: Vec<Vec<u8>> =
            records.iter().map(|it| record_bytes(&it)).collect::<PyResult<_>>()?;
        let ids = self.run(py, move |session| session.append_records(&records))?;
        Ok(id_texts(&ids))
    }

    fn branch(&self, py: Python<'_>, at: At, recorded: bool) -> PyResult<Option<String>> {
        let leaf = self.run(py, move |session| {
            if recorded {
                return session.branch(at.0);
            }
            session.branch_in_memory(at.0)?;
            Ok(session.leaf())
        })?;
        Ok(leaf.as_ref().map(id_text))
    }

    fn branch_with_summary(
        &self,
        py: Python<'_>,
        at: At,
        summary: String,
        usage: Option<Bound<'_, PyAny>>,
        details: Option<Bound<'_, PyAny>>,
    ) -> PyResult<String> {
        let (usage, details) = (optional_json(usage)?, optional_json(details)?);
        let id = self.run(py, move |session| {
            session.branch_with_summary(at.0, &summary, |entry| {
                let entry = with_usage(Ok(entry), usage)?;
                match &details {
                    Some(details) => entry.with_details(details),
                    None => Ok(entry),
                }
            })
        })?;
        Ok(id_text(&id))
    }

    fn label(&self, py: Python<'_>, entry: String, label: Option<String>) -> PyResult<String> {
        let id = self.run(py, move |session| session.label(entry, label.as_deref()))?;
        Ok(id_text(&id))
    }

    fn set_name(&self, py: Python<'_>, name: String) -> PyResult<String> {
        let id = self.run(py, move |session| session.set_name(&name))?;
        Ok(id_text(&id))
    }

    fn sync(&self, py: Python<'_>) -> PyResult<()> {
        self.run(py, |session| session.sync())
    }

    fn recreate(&self, py: Python<'_>) -> PyResult<()> {
        self.run(py, |session| session.recreate())
    }

    fn upgrade<'py>(&self, py: Python<'py>, apply: bool) -> PyResult<Bound<'py, PyAny>> {
        let upgrade =
            self.run(
                py,
                move |session| if apply { session.upgrade() } else { session.plan_upgrade() },
            )?;
        data::to_python(py, &upgrade.to_data())
    }

    fn refresh(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        let ids = self.run(py, |session| session.refresh())?;
        Ok(id_texts(&ids))
    }

    fn follow(&self, py: Python<'_>) -> PyResult<Option<String>> {
        let leaf = self.run(py, |session| session.follow())?;
        Ok(leaf.as_ref().map(id_text))
    }

    fn has_news(&self, py: Python<'_>) -> PyResult<bool> {
        self.run(py, |session| Ok::<_, Failure>(session.has_news()))
    }

    fn rewind_failed(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        let ids = self.run(py, |session| session.rewind_failed())?;
        Ok(id_texts(&ids))
    }

    fn on_change(&self, py: Python<'_>, callback: Py<PyAny>) -> PyResult<Listener> {
        let session = self.get(py)?;
        let listener = Listener::new(callback);
        self.listeners.add(listener.clone(), &session);
        Ok(listener)
    }
}
