//! Reads the index: all sessions in all directories, with the facts for lists.
//!
//! Cached sessions are returned at once. The others are read on all cores and returned as they
//! become known, most recently written file first, so that a list can be shown while it grows.

use crate::cache::{Cache, CachedFile};
use crate::files::{Files, FoundFile, Stamp, unix_nanos};
use crate::places::Places;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::time::SystemTime;
use treering::catalog::{Progress, SessionInfo};
use treering::usage::{EventSeed, SessionEvents};
use treering::{Error, Session};

/// The maximum length of a first message or a name, in bytes: more than any list shows.
const TEXT: usize = 1024;

/// The age in nanoseconds below which a file may be modified again without a visible difference,
/// because the clocks of file systems are coarse.
const TICK: i64 = 20_000_000;

/// The maximum number of nanoseconds by which the clock of a file server may be ahead. A file with
/// a later time was given it on purpose.
const MAX_CLOCK_SKEW: i64 = 3_600_000_000_000;

/// The index of all sessions in some directories.
#[derive(Debug, Clone)]
pub struct SessionIndex {
    places: Places,
    cache: Option<PathBuf>,
}

/// A step of reading an index.
#[derive(Debug)]
#[non_exhaustive]
pub struct Step<'a> {
    /// The number of files that were read, and the number of all files.
    pub progress: Progress,
    /// The session; `None` for a file that is not a session.
    pub session: Option<&'a SessionInfo>,
}

/// A file or directory that was left out.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Skipped {
    /// The path of the file or directory.
    pub path: PathBuf,
    /// The reason why it was left out.
    pub reason: String,
    /// Whether the file could be read but is not a session. Otherwise it could not be read.
    pub is_no_session: bool,
}

/// The contents of an index.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct Contents {
    /// The sessions, newest first. Long names and first messages are cut.
    pub sessions: Vec<SessionInfo>,
    /// The files and directories that could not be read.
    pub skipped: Vec<Skipped>,
    /// The number of files that were read because they were not cached.
    pub read: usize,
}

/// The contents of an index with the usage events of its sessions.
#[derive(Debug, Clone)]
pub struct UsageContents {
    /// The sessions, and the files that were left out.
    pub contents: Contents,
    /// The events of each session, by its file.
    pub events: HashMap<PathBuf, SessionEvents>,
    /// The seed of the names of the events.
    pub seed: EventSeed,
}

impl SessionIndex {
    /// Creates the index of these places, with their cache.
    pub fn new(places: Places) -> Self {
        let cache = places.cache_file().map(Path::to_owned);
        SessionIndex { places, cache }
    }

    /// Sets another file for the cache, or none.
    #[must_use]
    pub fn with_cache(self, cache: Option<PathBuf>) -> Self {
        SessionIndex { cache, ..self }
    }

    /// Returns the places that are searched.
    pub fn places(&self) -> &Places {
        &self.places
    }

    /// Returns the files whose names are those of sessions, without reading them.
    pub fn files(&self) -> Vec<PathBuf> {
        Files::of(self.places.iter()).found.into_iter().map(|found| found.path).collect()
    }

    /// Returns the files whose names are those of sessions, in the order of their paths, and the
    /// directories that were not searched. Reads none of the files.
    pub fn find(&self) -> (Vec<PathBuf>, Vec<Skipped>) {
        let files = Files::of(self.places.iter());
        let skipped = |(path, error): (PathBuf, std::io::Error)| Skipped {
            path,
            reason: error.to_string(),
            is_no_session: false,
        };
        let mut found: Vec<PathBuf> = files.found.into_iter().map(|found| found.path).collect();
        found.sort();
        (found, files.unreadable.into_iter().map(skipped).collect())
    }

    /// Returns unfinished files of treering in its directories and beside its cache: it was killed,
    /// or is writing them right now.
    pub fn leftovers(&self) -> Vec<PathBuf> {
        let mut found = Files::of(self.places.iter()).leftovers;
        let dir = self.cache.as_deref().and_then(Path::parent);
        for entry in dir.and_then(|dir| dir.read_dir().ok()).into_iter().flatten().flatten() {
            let name = entry.file_name();
            let name = name.to_str().unwrap_or_default();
            if name.starts_with("index.") && name.ends_with(".tmp") {
                found.push(entry.path());
            }
        }
        found.sort();
        found
    }

    /// Reads the facts for lists about one session.
    pub fn info(path: &Path) -> Result<SessionInfo, Error> {
        treering::catalog::info(path).map(shortened)
    }

    /// Finds all sessions. Calls `step` for each file as soon as it has been read.
    pub fn read(&self, step: impl FnMut(Step<'_>)) -> Contents {
        self.read_files(Files::of(self.places.iter()), step, None).contents
    }

    /// Finds all sessions and their usage events. Calls `step` for each file as soon as it has been read.
    pub fn read_usage(&self, step: impl FnMut(Step<'_>)) -> UsageContents {
        self.read_files(Files::of(self.places.iter()), step, Some(HashMap::new()))
    }

    /// Returns the sessions in files that were just found.
    pub(crate) fn read_found(&self, files: Files) -> Vec<SessionInfo> {
        self.read_files(files, |_| {}, None).contents.sessions
    }

    fn read_files(
        &self,
        files: Files,
        step: impl FnMut(Step<'_>),
        events: Option<HashMap<PathBuf, SessionEvents>>,
    ) -> UsageContents {
        let mut cache = self.cache.as_deref().map(Cache::load).unwrap_or_default();
        let seed = cache.seed();
        let mut reading = Reading::new(files.found.len(), step, events);
        for (path, error) in files.unreadable {
            reading.skip(path, error.to_string(), false);
        }
        let mut unknown = Vec::new();
        for FoundFile { path, stamp } in files.found {
            let Some(known) = cache.get(&path, stamp) else {
                unknown.push((path, stamp));
                continue;
            };
            match (&known, &mut reading.events) {
                (CachedFile::Session(_), Some(events)) => match cache.events(&path) {
                    Some(found) => {
                        events.insert(path.clone(), found);
                        reading.take(path, known);
                    }
                    None => unknown.push((path, stamp)),
                },
                _ => reading.take(path, known),
            }
        }
        reading.contents.read = unknown.len();
        reading.read(unknown, &mut cache);
        if let Some(file) = &self.cache {
            cache.save(file);
        }
        let (contents, events) = reading.done();
        UsageContents { contents, events: events.unwrap_or_default(), seed }
    }
}

/// The state of reading an index.
struct Reading<F> {
    contents: Contents,
    progress: Progress,
    step: F,
    /// The events of the sessions, if they are requested.
    events: Option<HashMap<PathBuf, SessionEvents>>,
}

impl<F: FnMut(Step<'_>)> Reading<F> {
    fn new(total: usize, step: F, events: Option<HashMap<PathBuf, SessionEvents>>) -> Self {
        let progress = Progress::new(0, total);
        Reading { contents: Contents::default(), progress, step, events }
    }

    fn take(&mut self, path: PathBuf, known: CachedFile) {
        match known {
            CachedFile::Session(info) => {
                self.contents.sessions.push(*info);
                self.report();
            }
            CachedFile::NoSession(reason) => self.skip_file(path, reason, true),
        }
    }

    fn skip_file(&mut self, path: PathBuf, reason: String, is_no_session: bool) {
        self.skip(path, reason, is_no_session);
        self.progress.done += 1;
        (self.step)(Step { progress: self.progress, session: None });
    }

    fn skip(&mut self, path: PathBuf, reason: String, is_no_session: bool) {
        self.contents.skipped.push(Skipped { path, reason, is_no_session });
    }

    fn report(&mut self) {
        self.progress.done += 1;
        (self.step)(Step { progress: self.progress, session: self.contents.sessions.last() });
    }

    /// Reads the files that are not cached, and adds them to the cache.
    fn read(&mut self, unknown: Vec<(PathBuf, Stamp)>, cache: &mut Cache) {
        let now = unix_nanos(SystemTime::now());
        let stamps: HashMap<&Path, Stamp> =
            unknown.iter().map(|(path, stamp)| (&**path, *stamp)).collect();
        let files: Vec<PathBuf> = unknown.iter().map(|(path, _)| path.clone()).collect();
        let seed = cache.seed();
        treering::catalog::infos_with_usage(&files, seed, |path, result, _| {
            let (known, events) = match result {
                Ok((info, events)) => {
                    let events = self.whole_events(&info, events, seed);
                    (CachedFile::Session(Box::new(shortened(info))), events)
                }
                Err(Error::NotASession { reason, .. }) => (CachedFile::NoSession(reason), None),
                // The file may be readable next time.
                Err(error) => return self.skip_file(path.to_owned(), error.to_string(), false),
            };
            let is_settled =
                |stamp: &&Stamp| !(now - TICK..now + MAX_CLOCK_SKEW).contains(&stamp.modified);
            if let Some(stamp) = stamps.get(path).filter(is_settled) {
                cache.put(path, *stamp, &known, events.as_ref());
            }
            if let (Some(all), Some(events)) = (&mut self.events, events) {
                all.insert(path.to_owned(), events);
            }
            self.take(path.to_owned(), known);
        });
    }

    /// Returns the events of a session. Those of a large archive are read only if they are
    /// requested.
    fn whole_events(
        &self,
        info: &SessionInfo,
        events: SessionEvents,
        seed: EventSeed,
    ) -> Option<SessionEvents> {
        match (info.is_partial, &self.events) {
            (false, _) => Some(events),
            (true, None) => None,
            (true, Some(_)) => Session::open(&info.path).ok()?.usage_events(seed).ok(),
        }
    }

    fn done(mut self) -> (Contents, Option<HashMap<PathBuf, SessionEvents>>) {
        let sessions = &mut self.contents.sessions;
        sessions.sort_by(|a, b| b.modified.cmp(&a.modified).then_with(|| b.path.cmp(&a.path)));
        self.contents.skipped.sort_by(|a, b| a.path.cmp(&b.path));
        (self.contents, self.events)
    }
}

fn shortened(mut info: SessionInfo) -> SessionInfo {
    shorten(&mut info.first_message);
    info.name.as_mut().map(shorten);
    info
}

fn shorten(text: &mut String) {
    let mut end = text.len().min(TEXT);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.truncate(end);
    text.shrink_to_fit();
}
