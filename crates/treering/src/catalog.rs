//! Finds, lists and creates sessions in directories.
//!
//! A project's directory is named after the project, but the project cannot be computed from that
//! name: the header's `cwd` decides which project a session belongs to, never the directory.

use crate::dialect::{self, Dialect};
use crate::entry::{Kind, Role};
use crate::error::{Error, Result};
use crate::fork::ForkOptions;
use crate::fs;
use crate::header::Header;
use crate::id::SessionId;
use crate::json;
use crate::load::Loaded;
use crate::log::{InMemoryFile, Joined, Journal, Listed};
use crate::session::{CreateOptions, Session, location};
use crate::snapshot::Snapshot;
use crate::time;
use crate::title;
use crate::tree::{Node, Row};
use crate::usage::{self, EventSeed, SessionEvents};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant, SystemTime};

/// A root directory with one directory of sessions for each project, or one directory for all.
///
/// ```
/// # let root = tempfile::tempdir()?;
/// use treering::{Catalog, Message};
/// let catalog = Catalog::new(root.path());
/// let session = catalog.create("/home/me/project", Default::default())?;
/// session.append(Message::user("hello"))?;
/// let listing = catalog.list("/home/me/project", |_| {})?;
/// assert_eq!(listing.sessions[0].first_message, "hello");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct Catalog {
    root: PathBuf,
    /// Whether sessions of all projects are in the root itself.
    is_flat: bool,
}

/// A session in a list.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct SessionInfo {
    /// The path of the session's file.
    pub path: PathBuf,
    /// The dialect of the session.
    pub agent: Dialect,
    /// The id of the session.
    pub id: SessionId,
    /// The project directory that the session belongs to.
    pub cwd: String,
    /// The name of the session, if it has one.
    pub name: Option<String>,
    /// The path or the id of the session that this one was forked from.
    pub parent_session: Option<String>,
    /// The time at which the session was created, in Unix milliseconds.
    pub created: Option<i64>,
    /// The time of the last message, in Unix milliseconds.
    pub modified: i64,
    /// The number of messages, on all branches.
    pub message_count: usize,
    /// The number of entries, on all branches.
    pub entry_count: usize,
    /// Number of branches: those for which [`Branch::is_counted`](crate::usage::Branch::is_counted)
    /// holds.
    pub branch_count: usize,
    /// Number of times that older context was replaced by a summary.
    pub compaction_count: usize,
    /// Number of tokens that the session used, each event counted once, as in [`Session::stats`];
    /// `None` if the file does not state them.
    pub tokens: Option<u64>,
    /// Cost in dollars, as far as the file states it.
    pub cost: Option<f64>,
    /// The number of findings made while reading the file; [`examine`](crate::doctor::examine) may
    /// find more.
    pub finding_count: usize,
    /// The text of the first user message; empty if there is none. Texts that the agent put into
    /// user messages count only if there is no other text.
    pub first_message: String,
    /// The size of the file in bytes, including the files of its subagents; the compressed size if
    /// `is_partial`.
    pub size: u64,
    /// Whether this is an archive of which only the first 8 MiB were read. The numbers of messages,
    /// entries, branches and findings are then too low, and tokens and cost are unknown.
    pub is_partial: bool,
}

impl SessionInfo {
    /// Returns the title of the session, as [`Session::title`] does.
    pub fn title(&self) -> &str {
        let name = self.name.as_deref().filter(|name| !name.trim().is_empty());
        name.unwrap_or(&self.first_message)
    }
}

/// A list of sessions, newest first, and the files that could not be read.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Listing {
    /// The sessions.
    pub sessions: Vec<SessionInfo>,
    /// Files whose names look like sessions but that cannot be read as one, and directories that
    /// cannot be read, each with the error.
    pub skipped: Vec<(PathBuf, Error)>,
}

/// The progress of listing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Progress {
    /// The number of files that were read or skipped.
    pub done: usize,
    /// The number of all files.
    pub total: usize,
}

impl Progress {
    /// Returns the progress after `done` of `total` files.
    pub fn new(done: usize, total: usize) -> Self {
        Progress { done, total }
    }
}

impl Catalog {
    /// Returns the catalog of the sessions under `root`, with a directory for each project.
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Catalog { root: root.into(), is_flat: false }
    }

    /// Returns the catalog of a single directory that holds the sessions of all projects.
    ///
    /// ```
    /// use treering::{Catalog, CreateOptions};
    /// let catalog = Catalog::flat("/tmp/sessions");
    /// let session = catalog.create("/home/me/project", CreateOptions::new())?;
    /// assert_eq!(session.path().unwrap().parent().unwrap(), "/tmp/sessions");
    /// # Ok::<(), treering::Error>(())
    /// ```
    pub fn flat(directory: impl Into<PathBuf>) -> Self {
        Catalog { root: directory.into(), is_flat: true }
    }

    /// Returns the directory of a project's sessions.
    pub fn dir_for(&self, cwd: impl AsRef<Path>) -> PathBuf {
        match self.is_flat {
            true => self.root.clone(),
            false => location::project_directory(&self.root, cwd.as_ref()),
        }
    }

    /// Creates a session for a project. Its file is created with its first message, unless the
    /// options say otherwise.
    pub fn create(&self, cwd: impl AsRef<Path>, mut options: CreateOptions) -> Result<Session> {
        let cwd = fs::absolute(cwd.as_ref());
        let id = options.session.id.clone().unwrap_or_else(SessionId::generate).checked()?;
        // The clock is read once, so that the name of the file and its header have the same time.
        let created = time::now();
        let name = location::file_name(&time::format(created), id.as_str());
        let path = self.dir_for(&cwd).join(name);
        if !options.session.is_headerless {
            options.session.id = Some(id);
        }
        Session::create_with(&path, &cwd, options, created)
    }

    /// Opens the project's latest session, or creates one if there is none.
    ///
    /// If the options name an id, only the session with that id is continued. The other options for
    /// a new session, and the rule for when its file is created, are used only if a session is
    /// created.
    pub fn continue_recent(
        &self,
        cwd: impl AsRef<Path>,
        options: CreateOptions,
    ) -> Result<Session> {
        let cwd = fs::absolute(cwd.as_ref());
        let mut files: Vec<(SystemTime, PathBuf)> = session_files(&self.dir_for(&cwd))?
            .into_iter()
            .filter_map(|path| Some((path.metadata().ok()?.modified().ok()?, path)))
            .collect();
        files.sort();
        let wanted = options.session.id.as_ref();
        let is_wanted = |header: &Header| {
            belongs(&header.cwd, &cwd) && wanted.is_none_or(|id| *id == header.id)
        };
        for (_, path) in files.into_iter().rev() {
            if read_header(&path).is_some_and(|header| is_wanted(&header)) {
                return Session::open_with(path, options.to_open());
            }
        }
        self.create(cwd, options)
    }

    /// Creates a session for a project with everything that the session at `source` holds. The new
    /// session has the dialect of the options, or else that of its source, or pi's if treering
    /// cannot write the source's. It is read again and compared with the source before its file
    /// gets its name.
    ///
    /// The new session is in the catalog's directory for the project, unless the options name one.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidOption`] if the options name a root or a project of their own.
    pub fn fork_from(
        &self,
        source: impl AsRef<Path>,
        cwd: impl AsRef<Path>,
        options: ForkOptions,
    ) -> Result<Session> {
        if options.root.is_some() || options.cwd.is_some() {
            let why = "the root is the catalog's, and the project is an argument of its own";
            return Err(Error::InvalidOption(why.to_owned()));
        }
        let (source, cwd) = (fs::absolute(source.as_ref()), fs::absolute(cwd.as_ref()));
        let session = Session::open(&source)?;
        if session.view().size().map_err(Error::io(&source, "read"))? == 0 {
            let reason = "it is empty".to_owned();
            return Err(Error::NotASession { path: source, reason });
        }
        let dir = options.dir.clone().unwrap_or_else(|| self.dir_for(&cwd));
        session.fork_whole(ForkOptions { dir: Some(dir), cwd: Some(cwd), ..options })
    }

    /// Returns the file of the session with exactly this id, anywhere under the root.
    pub fn find_by_id(&self, id: impl AsRef<str>) -> Result<Option<PathBuf>> {
        let id = id.as_ref();
        let mut files = Vec::new();
        for directory in self.directories()? {
            // A directory that cannot be read must not hide the sessions in the others.
            files.extend(session_files(&directory).unwrap_or_default());
        }
        // The id is usually in the file name and always in the header.
        let named = |path: &PathBuf| {
            path.file_stem().is_some_and(|stem| stem.to_string_lossy().ends_with(id))
        };
        files.sort_by_key(|path| !named(path));
        Ok(files.into_iter().find(|path| read_header(path).is_some_and(|header| header.id == id)))
    }

    /// Returns the sessions of a project, newest first. `progress` is called as files are read.
    ///
    /// ```
    /// use treering::{Catalog, Message};
    /// # let root = tempfile::tempdir()?;
    /// let catalog = Catalog::new(root.path());
    /// catalog.create("/project", Default::default())?.append(Message::user("hello"))?;
    /// let listing = catalog.list("/project", |_| {})?;
    /// assert_eq!((listing.sessions.len(), listing.skipped.len()), (1, 0));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn list(&self, cwd: impl AsRef<Path>, progress: impl FnMut(Progress)) -> Result<Listing> {
        let cwd = fs::absolute(cwd.as_ref());
        let mut listing = list_dir(self.dir_for(&cwd), progress)?;
        listing.sessions.retain(|session| belongs(&session.cwd, &cwd));
        Ok(listing)
    }

    /// Returns the sessions of all projects, newest first. `progress` is called as files are read.
    pub fn list_all(&self, progress: impl FnMut(Progress)) -> Result<Listing> {
        let (files, unreadable) = self.files()?;
        let mut listing = list_files(files, progress);
        listing.skipped.extend(unreadable);
        Ok(listing)
    }

    /// Returns the files of all projects whose names are those of sessions, and the directories
    /// that cannot be read.
    #[allow(clippy::type_complexity, reason = "two lists")]
    pub fn files(&self) -> Result<(Vec<PathBuf>, Vec<(PathBuf, Error)>)> {
        let (mut files, mut unreadable) = (Vec::new(), Vec::new());
        for directory in self.directories()? {
            match session_files(&directory) {
                Ok(found) => files.extend(found),
                Err(error) => unreadable.push((directory, error)),
            }
        }
        files.sort();
        Ok((files, unreadable))
    }

    /// Returns the root directory.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Returns the root and the directories in it.
    fn directories(&self) -> Result<Vec<PathBuf>> {
        let mut directories = vec![self.root.clone()];
        let entries = match std::fs::read_dir(&self.root) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries.map_err(Error::io(&self.root, "list"))?,
        };
        directories
            .extend(entries.flatten().map(|entry| entry.path()).filter(|path| path.is_dir()));
        Ok(directories)
    }
}

/// Returns the sessions in one directory, newest first, of any project.
pub fn list_dir(directory: impl AsRef<Path>, progress: impl FnMut(Progress)) -> Result<Listing> {
    Ok(list_files(session_files(directory.as_ref())?, progress))
}

fn belongs(session_cwd: &str, cwd: &Path) -> bool {
    !session_cwd.is_empty() && fs::absolute(Path::new(session_cwd)) == cwd
}

/// Returns the header of a session file.
pub(crate) fn read_header(path: &Path) -> Option<Header> {
    let journal = listed(path).ok()?.journal;
    match Loaded::read_header(&*journal, journal.len().ok()?) {
        Ok(Some(loaded)) => loaded.at(path).header,
        // The header is very large or not at the start of the file: only loading the file can find
        // it.
        _ => Loaded::read(&*journal).ok()?.at(path).header,
    }
}

/// Returns the files in a directory whose names are those of sessions; none if the directory does
/// not exist.
fn session_files(directory: &Path) -> Result<Vec<PathBuf>> {
    let entries = match std::fs::read_dir(directory) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.map_err(Error::io(directory, "list"))?,
    };
    let paths = entries.flatten().map(|entry| entry.path());
    Ok(paths
        .filter(|path| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            name.ends_with(".jsonl") || name.ends_with(".jsonl.zst")
        })
        .collect())
}

fn list_files(files: Vec<PathBuf>, mut progress: impl FnMut(Progress)) -> Listing {
    let mut listing = Listing::default();
    infos(&files, |path, result, so_far| {
        match result {
            Ok(session) => listing.sessions.push(session),
            Err(error) => listing.skipped.push((path.to_owned(), error)),
        }
        progress(so_far);
    });
    listing.sessions.sort_by(|a, b| b.modified.cmp(&a.modified).then_with(|| b.path.cmp(&a.path)));
    listing.skipped.sort_by(|a, b| a.0.cmp(&b.0));
    listing
}

/// The longest time that a result waits for others to be handed over with it: waking the receiver
/// for every small session would take longer than reading it.
const HAND_OVER: Duration = Duration::from_millis(10);

/// Reads the `SessionInfo` of each of these files on all cores, beginning with the first. `each` is
/// called on the calling thread with each result as it arrives.
///
/// ```
/// let mut bad = 0;
/// treering::catalog::infos(&["nowhere.jsonl".into()], |_, info, progress| {
///     bad += usize::from(info.is_err());
///     assert_eq!(progress.total, 1);
/// });
/// assert_eq!(bad, 1);
/// ```
pub fn infos(files: &[PathBuf], mut each: impl FnMut(&Path, Result<SessionInfo>, Progress)) {
    infos_with_usage(files, EventSeed::random(), |path, info, progress| {
        each(path, info.map(|(info, _)| info), progress);
    });
}

/// Reads the same as [`infos`], and the usage events of each session.
///
/// ```
/// use treering::usage::EventSeed;
/// let files = ["nowhere.jsonl".into()];
/// treering::catalog::infos_with_usage(&files, EventSeed::random(), |_, info, _| {
///     assert!(info.is_err());
/// });
/// ```
pub fn infos_with_usage(
    files: &[PathBuf],
    seed: EventSeed,
    each: impl FnMut(&Path, Result<(SessionInfo, SessionEvents)>, Progress),
) {
    on_all_cores(files, |path| info_with_usage(path, seed), each);
}

/// Reads the same as [`infos`] except tokens and cost, which are `None`: adding them up takes as
/// long as all the rest. Each result has the timestamp inside the last user or assistant message,
/// in Unix milliseconds, by which pi sorts its lists; [`SessionInfo::modified`] is the time at
/// which that message was written.
///
/// ```
/// treering::catalog::infos_without_usage(&["nowhere.jsonl".into()], |_, info, _| {
///     assert!(info.is_err());
/// });
/// ```
pub fn infos_without_usage(
    files: &[PathBuf],
    each: impl FnMut(&Path, Result<(SessionInfo, Option<i64>)>, Progress),
) {
    on_all_cores(files, info_without_usage, each);
}

/// Calls `read` for each file on all cores, and `each` with the results on the calling thread, as
/// they arrive.
fn on_all_cores<T: Send>(
    files: &[PathBuf],
    read: impl Fn(&Path) -> Result<T> + Sync,
    mut each: impl FnMut(&Path, Result<T>, Progress),
) {
    let total = files.len();
    let next = AtomicUsize::new(0);
    let workers = std::thread::available_parallelism().map_or(1, |count| count.get()).min(8);
    std::thread::scope(|scope| {
        let (found, results) = mpsc::channel();
        for _ in 0..workers.min(total) {
            let (found, next, read) = (found.clone(), &next, &read);
            scope.spawn(move || {
                let (mut batch, mut since) = (Vec::new(), Instant::now());
                while let Some(path) = files.get(next.fetch_add(1, Ordering::Relaxed)) {
                    batch.push((path, read(path)));
                    if since.elapsed() > HAND_OVER {
                        if found.send(std::mem::take(&mut batch)).is_err() {
                            return;
                        }
                        since = Instant::now();
                    }
                }
                // If the receiver is gone, the results are not needed.
                let _ = found.send(batch);
            });
        }
        drop(found);
        for (done, (path, result)) in results.into_iter().flatten().enumerate() {
            each(path, result, Progress { done: done + 1, total });
        }
    });
}

/// Returns the `SessionInfo` of the session at `path`.
pub fn info(path: &Path) -> Result<SessionInfo> {
    info_with_usage(path, EventSeed::random()).map(|(info, _)| info)
}

/// Returns the `SessionInfo` of the session at `path`, and its usage events. An archive of which
/// only a part was read has no events.
pub fn info_with_usage(path: &Path, seed: EventSeed) -> Result<(SessionInfo, SessionEvents)> {
    let (loaded, Listed { journal, cut }) = read_listed(path)?;
    match cut {
        Some(size) => Ok((partial_info(path, &loaded, &journal, size)?, SessionEvents::default())),
        None => priced(path, &loaded, &journal, seed),
    }
}

fn info_without_usage(path: &Path) -> Result<(SessionInfo, Option<i64>)> {
    let (loaded, Listed { journal, cut }) = read_listed(path)?;
    if let Some(size) = cut {
        return Ok((partial_info(path, &loaded, &journal, size)?, None));
    }
    let (info, view) = describe_loaded(path, &loaded, &journal)?;
    Ok((info, last_said(&view)?))
}

/// Returns the timestamp inside the last user or assistant message.
fn last_said(view: &Snapshot) -> Result<Option<i64>> {
    let tree = view.tree();
    let is_said = |row: &Row| {
        let node = tree.node(*row);
        matches!(node.role(), Some(Role::User | Role::Assistant)) && !node.has(Node::DAMAGED)
    };
    let Some(row) = tree.live().rev().find(is_said) else { return Ok(None) };
    let record = view.bytes(row).map_err(Error::Storage)?;
    let time = json::get(&record, "message").and_then(|message| json::get(message, "timestamp"));
    Ok(time.and_then(|time| std::str::from_utf8(time).ok()?.parse().ok()))
}

fn read_listed(path: &Path) -> Result<(Loaded, Listed)> {
    let mut listed = listed(path)?;
    let mut loaded = Loaded::read(&*listed.journal).map_err(|error| error.at(Some(path)))?;
    let subagents = loaded.facts().subagents_of(path);
    if !subagents.is_empty() {
        listed.journal = Arc::new(Joined::open(path, &subagents)?);
        loaded = Loaded::read(&*listed.journal).map_err(|error| error.at(Some(path)))?;
    }
    let loaded = loaded.at(path);
    if loaded.facts().leaves_empty_files
        && title::is_unused(&Snapshot::new(&loaded, Arc::clone(&listed.journal), false))?
    {
        let reason = "nothing was said in it".to_owned();
        return Err(Error::NotASession { path: path.to_owned(), reason });
    }
    Ok((loaded, listed))
}

/// Describes an archive of this size of which only a part was read. Its time is that of the
/// original session.
fn partial_info(
    path: &Path,
    loaded: &Loaded,
    journal: &Arc<dyn Journal>,
    size: u64,
) -> Result<SessionInfo> {
    let info = describe_loaded(path, loaded, journal)?.0;
    Ok(SessionInfo { modified: file_time(path), size, is_partial: true, ..info })
}

/// Opens a session file, or a session in a database, to read it once.
fn listed(path: &Path) -> Result<Listed> {
    match dialect::is_stored(path) {
        true => Ok(Listed { journal: Arc::new(dialect::stored::open(path)?), cut: None }),
        false => InMemoryFile::open(path),
    }
}

/// Returns the `SessionInfo` of the session in a journal. Its path is empty.
///
/// ```
/// use std::sync::Arc;
/// use treering::storage::MemoryJournal;
/// use treering::{CreateOptions, Message, Session};
/// let journal = Arc::new(MemoryJournal::default());
/// let session = Session::in_journal(journal.clone(), "/project", CreateOptions::new())?;
/// session.append(Message::user("hello"))?;
/// assert_eq!(treering::catalog::info_of(journal)?.first_message, "hello");
/// # Ok::<(), treering::Error>(())
/// ```
pub fn info_of(journal: Arc<dyn Journal>) -> Result<SessionInfo> {
    let loaded = Loaded::read(&*journal).map_err(|error| error.at(None))?;
    priced(Path::new(""), &loaded, &journal, EventSeed::random()).map(|(info, _)| info)
}

/// Describes a session that was read, including its tokens and cost, and returns its usage events.
fn priced(
    path: &Path,
    loaded: &Loaded,
    journal: &Arc<dyn Journal>,
    seed: EventSeed,
) -> Result<(SessionInfo, SessionEvents)> {
    let (info, view) = describe_loaded(path, loaded, journal)?;
    let events = usage::of_session(&view, seed)?;
    let usage = events.usage();
    let info = SessionInfo {
        tokens: (usage.requests > 0).then(|| usage.total()),
        cost: (usage.requests > usage.unpriced).then(|| usage.cost.dollars()),
        ..info
    };
    Ok((info, events))
}

fn describe_loaded(
    path: &Path,
    loaded: &Loaded,
    journal: &Arc<dyn Journal>,
) -> Result<(SessionInfo, Snapshot)> {
    let Some(header) = &loaded.header else {
        let reason = "it is empty".to_owned();
        return Err(Error::NotASession { path: path.to_owned(), reason });
    };
    let view = Snapshot::new(loaded, Arc::clone(journal), false);
    let (leaf, found) = (view.tree().file_leaf_row(), loaded.finding_count());
    let info = describe(path, loaded.dialect, header, &view, leaf, (loaded.seen, found))?;
    Ok((info, view))
}

impl SessionInfo {
    /// Creates the description of a session that was not read: everything else is empty or zero.
    pub fn new(path: impl Into<PathBuf>, agent: Dialect, id: SessionId) -> Self {
        SessionInfo {
            path: path.into(),
            agent,
            id,
            cwd: String::new(),
            name: None,
            parent_session: None,
            created: None,
            modified: 0,
            message_count: 0,
            entry_count: 0,
            branch_count: 0,
            compaction_count: 0,
            tokens: None,
            cost: None,
            finding_count: 0,
            first_message: String::new(),
            size: 0,
            is_partial: false,
        }
    }
}

impl Session {
    /// Returns the `SessionInfo` of this session, without its tokens and cost: see
    /// [`stats`](Session::stats).
    ///
    /// ```
    /// use treering::{Message, Session};
    /// let session = Session::in_memory("/project");
    /// session.append(Message::user("hello"))?;
    /// assert_eq!(session.info()?.first_message, "hello");
    /// # Ok::<(), treering::Error>(())
    /// ```
    pub fn info(&self) -> Result<SessionInfo> {
        let (view, path, dialect, header) =
            (self.view(), self.path().unwrap_or_default(), self.dialect(), self.header());
        let size = view.size().map_err(Error::Storage)?;
        let findings = self.findings()?.len();
        let leaf = self.leaf().and_then(|leaf| view.tree().row(leaf.as_str()));
        describe(&path, dialect, &header, &view, leaf, (size, findings))
    }
}

fn describe(
    path: &Path,
    agent: Dialect,
    header: &Header,
    view: &Snapshot,
    leaf: Option<Row>,
    (size, findings): (u64, usize),
) -> Result<SessionInfo> {
    let tree = view.tree();
    let (mut message_count, mut compaction_count, mut last) = (0, 0, None);
    for row in tree.live() {
        let node = tree.node(row);
        compaction_count += usize::from(node.is_compaction());
        message_count += usize::from(node.kind() == Kind::Message);
        if matches!(node.role(), Some(Role::User | Role::Assistant)) {
            last = last.max(node.time());
        }
    }
    let modified = last.or_else(|| header.created()).unwrap_or_else(|| file_time(path));
    Ok(SessionInfo {
        cwd: header.cwd.clone(),
        name: tree.name().map(str::to_owned),
        parent_session: header.parent_session.clone(),
        created: header.created(),
        modified,
        message_count,
        entry_count: tree.len(),
        branch_count: usage::branch_count(tree, leaf),
        compaction_count,
        finding_count: findings,
        first_message: title::first_message(view)?,
        size,
        ..SessionInfo::new(path, agent, header.id.clone())
    })
}

/// Returns the file's modification time, in Unix milliseconds.
fn file_time(path: &Path) -> i64 {
    let modified = path.metadata().and_then(|metadata| metadata.modified()).ok();
    let since = modified.and_then(|time| time.duration_since(SystemTime::UNIX_EPOCH).ok());
    since.and_then(|since| i64::try_from(since.as_millis()).ok()).unwrap_or(0)
}
