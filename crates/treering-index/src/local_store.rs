//! Every session on this machine as a store.
//!
//! The sessions are files of many agents, which continue to write them. Changes are detected by
//! sizes and times: of all files at intervals, and of files that were opened here every time.

use crate::cache::checksum;
use crate::files::{Files, Stamp, unix_nanos};
use crate::housekeeping::{self, Trash};
use crate::scan::SessionIndex;
use std::collections::{HashMap, HashSet};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};
use treering::catalog::SessionInfo;
use treering::dialect::is_stored;
use treering::storage::Journal;
use treering::store::{ChangedSession, Changes, ListQuery, Mark, Page, Store};
use treering::{Catalog, Error, Result, SessionId};

/// The [`Store`] of all sessions in some places.
///
/// New sessions are created in the first directory of the user, and removed ones are moved to the
/// trash. Of several files with the same session id, the one with the latest message has this id;
/// the others have the id with a hash of their path added.
///
/// ```
/// # let dir = tempfile::tempdir()?;
/// use std::sync::Arc;
/// use treering::store::{ListQuery, Store};
/// use treering::{CreateOptions, Message, Session};
/// use treering_index::{LocalStore, Places, SessionIndex};
/// let places = Places::default().only([dir.path().to_owned()]);
/// let store: Arc<dyn Store> = Arc::new(LocalStore::new(SessionIndex::new(places)));
/// Session::create_in(&store, "/project", CreateOptions::new())?.append(Message::user("hello"))?;
/// assert_eq!(store.list(&ListQuery::new())?.sessions[0].first_message, "hello");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct LocalStore {
    /// The name of this store in its marks, whose numbers count the detected changes.
    instance: String,
    index: SessionIndex,
    trash: Option<Trash>,
    interval: Duration,
    /// Whether sessions are removed even if a program may be writing them.
    removes_recent: bool,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    files: HashMap<PathBuf, KnownFile>,
    /// The sessions when the index was last read.
    sessions: Vec<SessionInfo>,
    paths: HashMap<SessionId, PathBuf>,
    ids: HashMap<PathBuf, SessionId>,
    /// Whether the index has to be read again before the sessions are listed.
    is_stale: bool,
    checked: Option<Instant>,
    /// The number of changes so far, and the last change of each session.
    count: u64,
    changes: HashMap<SessionId, LastChange>,
    /// The sessions that were created through this store: its user writes them, not an agent.
    created: HashSet<SessionId>,
}

#[derive(Debug)]
struct KnownFile {
    stamp: Stamp,
    /// Whether the session was opened through this store.
    is_followed: bool,
}

#[derive(Debug)]
struct LastChange {
    number: u64,
    length: Option<u64>,
}

impl LocalStore {
    /// Creates the store of an index. Nothing is read yet.
    pub fn new(index: SessionIndex) -> Self {
        let state = Mutex::new(State { is_stale: true, ..State::default() });
        let (instance, interval) = (SessionId::generate().to_string(), Duration::ZERO);
        LocalStore { instance, index, trash: None, interval, removes_recent: false, state }
    }

    /// Moves removed sessions to a trash instead of deleting them.
    #[must_use]
    pub fn with_trash(self, trash: Trash) -> Self {
        LocalStore { trash: Some(trash), ..self }
    }

    /// Searches for new files, and checks files that were not opened here, at most this often.
    #[must_use]
    pub fn with_interval(self, interval: Duration) -> Self {
        LocalStore { interval, ..self }
    }

    /// Allows to remove sessions that were modified a moment ago. By default this is refused,
    /// because the program that writes them would continue to write to the file in the trash.
    /// Sessions that were created through this store can always be removed.
    #[must_use]
    pub fn removing_recent(self) -> Self {
        LocalStore { removes_recent: true, ..self }
    }

    /// Returns the sessions, newest first.
    pub fn sessions(&self) -> Vec<SessionInfo> {
        self.current().sessions.clone()
    }

    /// Returns the state after checking the files.
    fn current(&self) -> MutexGuard<'_, State> {
        let mut state = self.state();
        let found = self.check_files(&mut state);
        self.read(&mut state, found);
        state
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the file of a session.
    fn path(&self, id: &SessionId) -> Result<PathBuf> {
        let mut state = self.state();
        for is_read in [false, true] {
            if is_read {
                let found = self.check_all_files(&mut state);
                self.read(&mut state, Some(found));
            }
            let path = state.paths.get(id).filter(|path| path.exists() || is_stored(path)).cloned();
            if let Some(path) = path {
                if let Some(file) = state.files.get_mut(&path) {
                    file.is_followed = true;
                }
                return Ok(path);
            }
        }
        Err(Error::UnknownSession(id.clone()))
    }

    /// Checks the files that may have changed. Returns all files, if all were checked.
    fn check_files(&self, state: &mut State) -> Option<Files> {
        if state.checked.is_none_or(|checked| checked.elapsed() >= self.interval) {
            return Some(self.check_all_files(state));
        }
        let followed = state.files.iter().filter(|(_, file)| file.is_followed);
        let changed: Vec<(PathBuf, Stamp)> = followed
            .filter_map(|(path, file)| {
                let now = Stamp { beside: file.stamp.beside, ..Stamp::of(&path.metadata().ok()?) };
                (now != file.stamp).then(|| (path.clone(), now))
            })
            .collect();
        for (path, stamp) in changed {
            state.note(&path, stamp);
        }
        None
    }

    /// Checks all files and returns them.
    fn check_all_files(&self, state: &mut State) -> Files {
        let files = Files::of(self.index.places().iter());
        let mut gone = std::mem::take(&mut state.files);
        for found in &files.found {
            let before = gone.remove(&found.path);
            let is_followed = before.as_ref().is_some_and(|file| file.is_followed);
            let is_same = before.is_some_and(|file| file.stamp == found.stamp);
            let file = KnownFile { stamp: found.stamp, is_followed };
            state.files.insert(found.path.clone(), file);
            if !is_same {
                state.note(&found.path, found.stamp);
            }
        }
        for path in gone.into_keys() {
            state.note_removed(&path);
        }
        state.checked = Some(Instant::now());
        files
    }

    /// Reads the index, if files have changed since it was read.
    fn read(&self, state: &mut State, found: Option<Files>) {
        if !std::mem::take(&mut state.is_stale) {
            return;
        }
        let found = found.unwrap_or_else(|| Files::of(self.index.places().iter()));
        state.sessions = self.index.read_found(found);
        let own = self.index.places().own();
        let mut paths = HashMap::with_capacity(state.sessions.len());
        // The sessions are newest first, so the first one with an id has it. A session whose id
        // cannot be part of an address is listed but cannot be opened.
        for session in &mut state.sessions {
            let Ok(mut id) = SessionId::new(session.id.as_ref()) else { continue };
            // In the directory of new sessions, a log that was created with another id than that of
            // its header, such as a pulled copy, keeps the id that it was created with.
            if own.is_some_and(|own| session.path.starts_with(own))
                && let Some(named) = treering::internal::id_in_name(&session.path)
            {
                session.id = named.clone();
                id = named;
            }
            if paths.contains_key(&id) {
                let Some(other) = copy_id(&id, &session.path) else { continue };
                session.id = other.clone();
                id = other;
            }
            paths.entry(id).or_insert_with(|| session.path.clone());
        }
        state.ids = paths.iter().map(|(id, path)| (path.clone(), id.clone())).collect();
        let known = std::mem::replace(&mut state.paths, paths);
        let is_new = |id: &&SessionId| !known.contains_key(*id);
        let new: Vec<SessionId> = state.paths.keys().filter(is_new).cloned().collect();
        for id in new {
            let file = state.paths.get(&id).and_then(|path| state.files.get(path));
            let length = file.map(|file| file.stamp.size);
            state.change(id, length);
        }
    }
}

/// Returns the id of a file whose session id another file has. It stays the same as long as the
/// file is not moved.
fn copy_id(id: &SessionId, path: &Path) -> Option<SessionId> {
    let hash = checksum(path.as_os_str().as_encoded_bytes());
    SessionId::new(&format!("{id}.{:08x}", hash >> 32)).ok()
}

impl State {
    /// Records that a file is new or has changed.
    fn note(&mut self, path: &Path, stamp: Stamp) {
        self.is_stale = true;
        if let Some(file) = self.files.get_mut(path) {
            file.stamp = stamp;
        }
        if let Some(id) = self.ids.get(path).cloned() {
            self.change(id, Some(stamp.size));
        }
    }

    fn note_removed(&mut self, path: &Path) {
        self.is_stale = true;
        if let Some(id) = self.ids.remove(path) {
            self.paths.remove(&id);
            self.change(id, None);
        }
    }

    fn change(&mut self, id: SessionId, length: Option<u64>) {
        self.count += 1;
        self.changes.insert(id, LastChange { number: self.count, length });
    }
}

impl Store for LocalStore {
    fn location(&self) -> String {
        "this machine".to_owned()
    }

    fn create(&self, id: &SessionId, start: &mut dyn Read) -> Result<Arc<dyn Journal>> {
        self.check_unknown(id)?;
        let created = Store::create(&self.own()?, id, start)?;
        self.state().created.insert(id.clone());
        Ok(created)
    }

    fn open(&self, id: &SessionId) -> Result<Arc<dyn Journal>> {
        treering::storage::open_file(self.path(id)?)
    }

    fn list(&self, query: &ListQuery) -> Result<Page> {
        Ok(query.page_among(&self.current().sessions))
    }

    fn remove(&self, id: &SessionId) -> Result<()> {
        let path = self.path(id)?;
        let now = match self.removes_recent || self.state().created.contains(id) {
            true => i64::MAX,
            false => unix_nanos(SystemTime::now()) / 1_000_000,
        };
        let removed = housekeeping::discard(&path, self.trash.as_ref(), now);
        removed.map_err(|refusal| {
            let source = io::Error::new(io::ErrorKind::ResourceBusy, refusal.to_string());
            Error::Io { path, action: "remove", source }
        })?;
        let mut state = self.state();
        state.created.remove(id);
        self.check_all_files(&mut state);
        Ok(())
    }

    fn changes(&self, mark: Option<&Mark>) -> Result<Changes> {
        let state = self.current();
        let since = mark.map_or(u64::MAX, |mark| mark.number_in(&self.instance).unwrap_or(0));
        let changed = state.changes.iter().filter(|(_, change)| change.number > since);
        let sessions = changed.map(|(id, change)| ChangedSession::new(id.clone(), change.length));
        let mark = Mark::numbered(&self.instance, state.count);
        Ok(Changes::new(sessions.collect(), mark))
    }

    fn file(&self, id: &SessionId) -> Result<Option<PathBuf>> {
        self.path(id).map(Some)
    }

    fn new_file(&self, id: &SessionId, cwd: &Path, created: i64) -> Result<Option<PathBuf>> {
        self.check_unknown(id)?;
        let path = self.own()?.new_file(id, cwd, created)?;
        self.state().created.insert(id.clone());
        Ok(path)
    }
}

impl LocalStore {
    fn check_unknown(&self, id: &SessionId) -> Result<()> {
        match self.path(id) {
            Ok(_) => Err(Error::SessionExists(id.clone())),
            Err(_) => Ok(()),
        }
    }

    /// Returns the directory of new sessions.
    fn own(&self) -> Result<Catalog> {
        let root = self.index.places().own();
        let missing = || Error::InvalidOption("there is no directory for new sessions".to_owned());
        root.map(Catalog::new).ok_or_else(missing)
    }
}
