//! Finds, lists and creates sessions in directories.
//!
//! A project's directory is named after the project, but the project cannot be computed from that
//! name: the header's `cwd` decides which project a session belongs to, never the directory.

mod session_info;

pub use session_info::{SessionInfo, info, info_of, info_with_usage};

use crate::error::{Error, Result};
use crate::fork::ForkOptions;
use crate::fs;
use crate::header::Header;
use crate::id::SessionId;
use crate::load::Loaded;
use crate::session::{CreateOptions, Session, location};
use crate::time;
use crate::usage::{EventSeed, SessionEvents};
use session_info::{info_without_usage, open_for_list};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
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
    ///
    /// # Errors
    ///
    /// Fails with [`Error::InvalidSessionId`] if the id of the options cannot be that of a new
    /// session, and as [`Session::create_at`] does.
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
    /// If the options name an id or a dialect, only a session with that id and of that dialect is
    /// continued. The other options for a new session, and the rule for when its file is created,
    /// are used only if a session is created.
    ///
    /// # Errors
    ///
    /// As [`Session::open`] and [`create`](Catalog::create).
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
        let new = &options.session;
        let is_wanted = |loaded: &Loaded| {
            let Some(header) = &loaded.header else { return false };
            belongs(&header.cwd, &cwd) && new.check_same(&header.id, loaded.dialect).is_ok()
        };
        for (_, path) in files.into_iter().rev() {
            if read_start(&path).is_some_and(|loaded| is_wanted(&loaded)) {
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
    ///
    /// # Errors
    ///
    /// Fails if the root cannot be read.
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
    /// # Errors
    ///
    /// Fails if the directory of the project cannot be read. Sessions that cannot be read are in
    /// the list of skipped files.
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
    ///
    /// # Errors
    ///
    /// Fails if the root cannot be read.
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
///
/// # Errors
///
/// Fails if the directory cannot be read. A directory that does not exist has no sessions.
pub fn list_dir(directory: impl AsRef<Path>, progress: impl FnMut(Progress)) -> Result<Listing> {
    Ok(list_files(session_files(directory.as_ref())?, progress))
}

fn belongs(session_cwd: &str, cwd: &Path) -> bool {
    !session_cwd.is_empty() && fs::absolute(Path::new(session_cwd)) == cwd
}

/// Returns the header of a session file.
pub(crate) fn read_header(path: &Path) -> Option<Header> {
    read_start(path)?.header
}

/// Reads the start of a session file up to its header.
fn read_start(path: &Path) -> Option<Loaded> {
    let journal = open_for_list(path).ok()?.journal;
    match Loaded::read_header(&*journal, journal.len().ok()?) {
        Ok(Some(loaded)) => Some(loaded.at(path)),
        // The header is very large or not at the start of the file: only loading the file can find
        // it.
        _ => Some(Loaded::read(&*journal).ok()?.at(path)),
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
