//! Implements a store by a directory.

use super::{ChangedSession, Changes, ListQuery, Mark, Page, Store};
use crate::catalog::{Catalog, read_header};
use crate::error::{Error, Result};
use crate::fs::{self, NewFile};
use crate::header::Header;
use crate::id::SessionId;
use crate::load::Loaded;
use crate::log::{FileJournal, Journal, MemoryJournal};
use crate::session::location;
use crate::time;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

/// The number of bytes of a new log in which the header is searched.
const HEADER_WITHIN: u64 = 1 << 20;

/// The time before a mark for which a file is reported as changed again: the clocks of file systems
/// are coarse, and the clock of a file server may be behind.
const OVERLAP: Duration = Duration::from_secs(2);

/// The sessions of a catalog. Removals are not reported by [`changes`](Store::changes), because a
/// file system does not record them.
impl Store for Catalog {
    fn location(&self) -> String {
        self.root().display().to_string()
    }

    fn create(&self, id: &SessionId, start: &mut dyn Read) -> Result<Arc<dyn Journal>> {
        let id = id.clone().checked()?;
        if self.find(&id)?.is_some() {
            return Err(Error::SessionExists(id));
        }
        let mut beginning = Vec::new();
        (&mut *start).take(HEADER_WITHIN).read_to_end(&mut beginning).map_err(Error::Storage)?;
        let header = header_of(&beginning);
        let cwd = header.as_ref().map(|header| header.cwd.clone()).unwrap_or_default();
        let created = header.and_then(|header| header.created()).unwrap_or_else(time::now);
        let path = self.path_of(&id, Path::new(&cwd), created);
        let written = NewFile::beside(&path).and_then(|mut new| {
            new.write_all(&beginning)?;
            io::copy(start, &mut new)?;
            new.publish()
        });
        match written {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                Err(Error::SessionExists(id))
            }
            Err(error) => Err(Error::io(&path, "create")(error)),
            Ok(_) => Ok(Arc::new(FileJournal::open(&path)?)),
        }
    }

    fn open(&self, id: &SessionId) -> Result<Arc<dyn Journal>> {
        Ok(Arc::new(FileJournal::open(&self.path(id)?)?))
    }

    fn list(&self, query: &ListQuery) -> Result<Page> {
        let mut sessions = self.list_all(|_| {})?.sessions;
        for session in &mut sessions {
            if let Some(id) = location::id_in_name(&session.path) {
                session.id = id;
            }
        }
        Ok(query.page_of(sessions))
    }

    fn remove(&self, id: &SessionId) -> Result<()> {
        let path = self.path(id)?;
        fs::remove_file(&path).map_err(Error::io(&path, "remove"))
    }

    fn changes(&self, mark: Option<&Mark>) -> Result<Changes> {
        let now = unix_nanos(fs::now());
        let next = Mark::new(now.saturating_sub(OVERLAP.as_nanos()).to_string());
        let Some(mark) = mark else { return Ok(Changes { sessions: Vec::new(), mark: next }) };
        // A mark that is not a number comes from another store: everything may have changed.
        let since: u128 = mark.as_str().parse().unwrap_or(0);
        let mut sessions = Vec::new();
        for path in self.files()?.0 {
            let Ok(metadata) = path.metadata() else { continue };
            if metadata.modified().is_ok_and(|modified| unix_nanos(modified) < since) {
                continue;
            }
            if let Some(id) = id_of(&path) {
                sessions.push(ChangedSession { id, length: Some(metadata.len()) });
            }
        }
        Ok(Changes { sessions, mark: next })
    }

    fn file(&self, id: &SessionId) -> Result<Option<PathBuf>> {
        self.path(id).map(Some)
    }

    fn new_file(&self, id: &SessionId, cwd: &Path, created: i64) -> Result<Option<PathBuf>> {
        match self.find(id)? {
            Some(_) => Err(Error::SessionExists(id.clone())),
            None => Ok(Some(self.path_of(id, cwd, created))),
        }
    }
}

impl Catalog {
    fn path(&self, id: &SessionId) -> Result<PathBuf> {
        self.find(id)?.ok_or_else(|| Error::UnknownSession(id.clone()))
    }

    /// Returns the file of the session that this store lists with this id. Only the headers of files
    /// that are not named after a session are read.
    fn find(&self, id: &SessionId) -> Result<Option<PathBuf>> {
        let mut files = self.files()?.0;
        files.retain(|path| location::id_in_name(path).is_none_or(|named| named == *id));
        files.sort_by_key(|path| location::id_in_name(path).is_none());
        Ok(files.into_iter().find(|path| id_of(path).as_ref() == Some(id)))
    }

    /// Returns the path for a session that was created at this time.
    fn path_of(&self, id: &SessionId, cwd: &Path, created: i64) -> PathBuf {
        self.dir_for(cwd).join(location::file_name(&time::format(created), id.as_str()))
    }
}

/// Returns the id of the session in a file: that in its name, or else that of its header; `None` if the
/// file is not a session. A log that was created with another id than that of its header, such as a
/// pulled copy, keeps the id that it was created with.
fn id_of(path: &Path) -> Option<SessionId> {
    let header = read_header(path)?;
    Some(location::id_in_name(path).unwrap_or_else(|| SessionId::of_file(&header.id)))
}

/// Returns the header in the first bytes of a log.
fn header_of(beginning: &[u8]) -> Option<Header> {
    let whole = memchr::memrchr(b'\n', beginning).map_or(beginning.len(), |end| end + 1);
    let journal = MemoryJournal::new(beginning[..whole].to_vec());
    Loaded::read(&journal).ok()?.header
}

fn unix_nanos(time: SystemTime) -> u128 {
    time.duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_nanos())
}
