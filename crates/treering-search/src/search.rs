//! Runs a search over files, and returns results as soon as they are found.
//!
//! Files are searched on all cores, newest first, and results are returned in that order: a file
//! that is done early waits for those before it. If results are sorted by relevance, all of them
//! wait for the last file.

use crate::query::Query;
use crate::scan::{self, Probe, ScanVerdict};
use crate::session::{self, HitLimits, SessionHits};
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::time::{SystemTime, UNIX_EPOCH};
use treering::catalog::{Progress, SessionInfo};
use treering::store::{ListQuery, Store};
use treering::{Error, OpenOptions, Result, Session, SessionId};

/// The order of sessions in the results.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Sort {
    /// The session that was modified last comes first.
    #[default]
    Newest,
    /// The session with the highest relevance comes first.
    Relevance,
}

/// The options of a search.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Options {
    /// The order of sessions in the results.
    pub sort: Sort,
    /// The maximum number of hits of a session that are described.
    pub hits_per_session: usize,
    /// Whether further hits are counted.
    pub counts_all: bool,
    /// The number of described hits after which the search ends.
    pub max_hits: usize,
    /// The approximate width of a snippet in columns.
    pub snippet_width: usize,
    /// The current time in Unix milliseconds, to which `since:7d` is relative.
    pub now: i64,
    /// The number of threads; `None` for the number of cores.
    pub threads: Option<usize>,
}

impl Options {
    /// Returns the defaults.
    pub fn new() -> Self {
        Options::default()
    }

    /// Sets the order of sessions in the results.
    #[must_use]
    pub fn sort(self, sort: Sort) -> Self {
        Options { sort, ..self }
    }

    /// Sets the maximum number of hits of a session that are described.
    #[must_use]
    pub fn hits_per_session(self, hits_per_session: usize) -> Self {
        Options { hits_per_session, ..self }
    }

    /// Sets whether further hits are counted.
    #[must_use]
    pub fn counts_all(self, counts_all: bool) -> Self {
        Options { counts_all, ..self }
    }

    /// Sets the number of described hits after which the search ends.
    #[must_use]
    pub fn max_hits(self, max_hits: usize) -> Self {
        Options { max_hits, ..self }
    }

    /// Sets the approximate width of a snippet in columns.
    #[must_use]
    pub fn snippet_width(self, snippet_width: usize) -> Self {
        Options { snippet_width, ..self }
    }

    /// Sets the current time, to which relative times refer, in Unix milliseconds.
    #[must_use]
    pub fn now(self, now: i64) -> Self {
        Options { now, ..self }
    }

    /// Sets the number of threads.
    #[must_use]
    pub fn threads(self, threads: usize) -> Self {
        Options { threads: Some(threads), ..self }
    }
}

impl Default for Options {
    fn default() -> Self {
        Options {
            sort: Sort::default(),
            hits_per_session: usize::MAX,
            counts_all: true,
            max_hits: usize::MAX,
            snippet_width: 80,
            now: millis(SystemTime::now()),
            threads: None,
        }
    }
}

impl Options {
    fn thread_count(&self) -> usize {
        let cores = || std::thread::available_parallelism().map_or(1, |count| count.get()).min(16);
        self.threads.unwrap_or_else(cores).max(1)
    }
}

/// A result or an event of a search.
#[derive(Debug)]
#[non_exhaustive]
pub enum Found {
    /// A session with hits.
    Session(Box<SessionHits>),
    /// A file that may match but cannot be read as a session.
    Unreadable(PathBuf, Error),
    /// Another session was searched; the value is the progress.
    Searched(Progress),
}

/// The totals of a search.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Summary {
    /// The number of files that were searched.
    pub files: usize,
    /// The total size of the files, in bytes.
    pub bytes: u64,
    /// The number of sessions with hits.
    pub sessions: usize,
    /// The number of hits, whether or not they were described.
    pub hits: usize,
    /// The number of files that could not be read.
    pub unreadable: usize,
}

/// Searches files, and calls `each` with the results until it returns `Break`, `cancel` is set, or
/// there are enough results. A file that cannot be read never ends the search.
///
/// ```
/// use std::ops::ControlFlow;
/// use treering::{Message, Session};
/// use treering_search::{Case, Found, Options, Query, search};
/// # let dir = tempfile::tempdir()?;
/// let path = dir.path().join("s.jsonl");
/// let session = Session::create_at(&path, "/project", Default::default())?;
/// let question = session.append(Message::user("Where is the Parser?"))?;
/// session.append(Message::assistant("acme", "m", "In src."))?;
///
/// let query = Query::parse("parser", Case::Ignored)?;
/// let mut found = Vec::new();
/// search([path], &query, &Options::default(), &Default::default(), |each| {
///     if let Found::Session(session) = each {
///         found.extend(session.hits);
///     }
///     ControlFlow::Continue(())
/// });
/// assert_eq!(found[0].entry, Some(question));
/// assert_eq!(found[0].snippet.text, "Where is the Parser?");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn search(
    files: impl IntoIterator<Item = PathBuf>,
    query: &Query,
    options: &Options,
    cancel: &AtomicBool,
    each: impl FnMut(Found) -> ControlFlow<()>,
) -> Summary {
    let files = sorted(files, query.filters.since(options.now));
    let threads = options.thread_count();
    let job = Job { query, probes: Probe::of(query), options, threads };
    run_all(&files, |path| job.run(path), options, cancel, each)
}

/// Searches the sessions of a store, newest first, as [`search`] does with files.
///
/// # Errors
///
/// Fails if the sessions cannot be listed. A session that cannot be read never ends the search.
///
/// ```
/// use std::ops::ControlFlow;
/// use std::sync::Arc;
/// use treering::store::{MemoryStore, Store};
/// use treering::{CreateOptions, Message, Session};
/// use treering_search::{Case, Options, Query, search_store};
/// let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
/// let session = Session::create_in(&store, "/project", CreateOptions::new())?;
/// session.append(Message::user("Where is the parser?"))?;
/// let query = Query::parse("parser", Case::Ignored)?;
/// let each = |_| ControlFlow::Continue(());
/// let summary = search_store(&store, &query, &Options::default(), &Default::default(), each)?;
/// assert_eq!(summary.hits, 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn search_store(
    store: &Arc<dyn Store>,
    query: &Query,
    options: &Options,
    cancel: &AtomicBool,
    each: impl FnMut(Found) -> ControlFlow<()>,
) -> Result<Summary> {
    let filters = &query.filters;
    let mut listed = filters.list_query(options.now).limit(ListQuery::MAX_LIMIT);
    let mut sessions = Vec::new();
    loop {
        let page = store.list(&listed)?;
        // A session without a project may be one that the store has not read yet.
        sessions.extend(page.sessions.into_iter().filter(|session| {
            let fits_project = || filters.projects.iter().all(|term| term.is_in(&session.cwd));
            filters.fits_agent(session.agent) && (session.cwd.is_empty() || fits_project())
        }));
        match page.next {
            Some(next) => listed = listed.after(next),
            None => break,
        }
    }
    let threads = options.thread_count();
    let job = Job { query, probes: Probe::of(query), options, threads };
    let run = |info: &SessionInfo| job.run_stored(store, info);
    Ok(run_all(&sessions, run, options, cancel, each))
}

/// Runs a job on all cores, and returns the results in the order of the items, or by relevance.
fn run_all<T: Sync>(
    items: &[T],
    run: impl Fn(&T) -> JobResult + Sync,
    options: &Options,
    cancel: &AtomicBool,
    each: impl FnMut(Found) -> ControlFlow<()>,
) -> Summary {
    let mut delivery =
        Delivery { left: options.max_hits, each, summary: Summary::default(), is_over: false };
    let (next, stop) = (AtomicUsize::new(0), AtomicBool::new(false));
    std::thread::scope(|scope| {
        let (send, results) = mpsc::channel();
        for _ in 0..options.thread_count().min(items.len()) {
            let (send, next, stop, run) = (send.clone(), &next, &stop, &run);
            scope.spawn(move || {
                while !stop.load(Ordering::Relaxed) && !cancel.load(Ordering::Relaxed) {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    let Some(item) = items.get(at) else { return };
                    if send.send((at, run(item))).is_err() {
                        return;
                    }
                }
            });
        }
        drop(send);
        let mut waiting = BTreeMap::new();
        let mut due = 0;
        for (done, (at, outcome)) in results.into_iter().enumerate() {
            delivery.report(Progress::new(done + 1, items.len()));
            waiting.insert(at, outcome);
            if options.sort == Sort::Relevance {
                continue;
            }
            while let Some(outcome) = waiting.remove(&due) {
                due += 1;
                delivery.take(outcome);
            }
            stop.fetch_or(delivery.is_over, Ordering::Relaxed);
        }
        let mut rest: Vec<JobResult> = waiting.into_values().collect();
        rest.sort_by_key(|outcome| std::cmp::Reverse(outcome.score()));
        rest.into_iter().for_each(|outcome| delivery.take(outcome));
    });
    delivery.summary
}

/// Searches an open session in any storage; `None` if it does not match.
///
/// ```
/// use treering::{Message, Session};
/// use treering_search::{Case, Options, Query, search_session};
/// let session = Session::in_memory("/project");
/// session.append(Message::user("Where is the Parser?"))?;
/// let query = Query::parse("parser", Case::Ignored)?;
/// let found = search_session(&session, &query, &Options::default())?;
/// assert_eq!(found.unwrap().total, 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn search_session(
    session: &Session,
    query: &Query,
    options: &Options,
) -> Result<Option<SessionHits>> {
    session::search(session, query, HitLimits::of(options))
}

/// Returns the files by the time of their last modification, the latest first, without those that
/// were last modified before some time.
fn sorted(files: impl IntoIterator<Item = PathBuf>, since: Option<i64>) -> Vec<PathBuf> {
    let mut timed: Vec<(i64, PathBuf)> = files
        .into_iter()
        .map(|path| {
            let modified = path.metadata().and_then(|metadata| metadata.modified());
            // A file whose metadata cannot be read is reported when it is opened.
            (modified.map_or(i64::MAX, millis), path)
        })
        .filter(|(modified, _)| since.is_none_or(|since| *modified >= since))
        .collect();
    timed.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| b.1.cmp(&a.1)));
    timed.dedup();
    timed.into_iter().map(|(_, path)| path).collect()
}

fn millis(time: SystemTime) -> i64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

impl HitLimits {
    fn of(options: &Options) -> Self {
        HitLimits {
            hits: options.hits_per_session.min(options.max_hits),
            counts: options.counts_all,
            width: options.snippet_width,
            now: options.now,
        }
    }
}

/// The job that is run for every file.
struct Job<'a> {
    query: &'a Query,
    /// The probes of which one must match.
    probes: Vec<Probe<'a>>,
    options: &'a Options,
    threads: usize,
}

struct JobResult {
    bytes: u64,
    found: Option<Found>,
}

impl JobResult {
    fn score(&self) -> u64 {
        match &self.found {
            Some(Found::Session(session)) => session.score,
            _ => 0,
        }
    }
}

impl Job<'_> {
    fn run(&self, path: &Path) -> JobResult {
        let mut bytes = path.metadata().map_or(0, |metadata| metadata.len());
        // A session in a database is not a file that could be scanned before it is opened.
        let is_stored = treering::dialect::is_stored(path);
        let mut can_match = self.probes.is_empty() || is_stored;
        for probe in self.probes.iter().filter(|_| !is_stored) {
            match scan::scan_session(path, probe, self.threads) {
                Ok(scanned) => {
                    bytes = scanned.bytes;
                    can_match = scanned.verdict == ScanVerdict::Maybe;
                }
                Err(source) => {
                    let error = Error::Io { path: path.to_owned(), action: "read", source };
                    return JobResult {
                        bytes,
                        found: Some(Found::Unreadable(path.to_owned(), error)),
                    };
                }
            }
            if can_match {
                break;
            }
        }
        if !can_match {
            return JobResult { bytes, found: None };
        }
        JobResult { bytes, found: self.found(path, Session::open(path)) }
    }

    /// Searches a session of a store.
    fn run_stored(&self, store: &Arc<dyn Store>, info: &SessionInfo) -> JobResult {
        // The bytes of a file show quickly if it cannot match.
        if let Ok(Some(path)) = store.file(&info.id) {
            return self.run(&path);
        }
        let name = PathBuf::from(info.id.to_string());
        let opened = SessionId::new(info.id.as_ref())
            .map_err(Error::from)
            .and_then(|id| Session::open_in(store, &id, OpenOptions::new()));
        JobResult { bytes: info.size, found: self.found(&name, opened) }
    }

    fn found(&self, name: &Path, opened: Result<Session>) -> Option<Found> {
        let wanted = HitLimits::of(self.options);
        match opened.and_then(|session| session::search(&session, self.query, wanted)) {
            Ok(hits) => hits.map(|hits| Found::Session(Box::new(hits))),
            Err(error) => Some(Found::Unreadable(name.to_owned(), error)),
        }
    }
}

/// Returns results, up to the limits.
struct Delivery<F> {
    left: usize,
    each: F,
    summary: Summary,
    is_over: bool,
}

impl<F: FnMut(Found) -> ControlFlow<()>> Delivery<F> {
    /// Reports the progress, unless the search has ended.
    fn report(&mut self, progress: Progress) {
        if !self.is_over {
            self.is_over = (self.each)(Found::Searched(progress)).is_break();
        }
    }

    fn take(&mut self, outcome: JobResult) {
        if self.is_over {
            return;
        }
        self.summary.files += 1;
        self.summary.bytes += outcome.bytes;
        let Some(mut found) = outcome.found else { return };
        match &mut found {
            Found::Session(session) => {
                session.hits.truncate(self.left);
                self.left -= session.hits.len();
                self.summary.sessions += 1;
                self.summary.hits += session.total;
            }
            _ => self.summary.unreadable += 1,
        }
        self.is_over = (self.each)(found).is_break() || self.left == 0;
    }
}
