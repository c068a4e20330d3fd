//! A journal that is a file, shared with other processes.
//!
//! Writers serialise through an advisory lock on the file itself, held only for the write. Readers
//! take no lock. The file is opened for appending, so that even a program that takes no lock cannot
//! be overwritten: at worst two of its lines change places.

use super::journal::{Appended, Journal, JournalError};
use super::zstd;
use crate::error::{Error, Result};
use crate::fs::{self, Access, File, NewFile, is_not_regular};
use std::fs::TryLockError;
use std::io::{self, Seek, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// How long to wait for another process's lock. Locks are held for microseconds; one that is held
/// this long belongs to a stopped process.
pub(crate) const LOCK_PATIENCE: Duration = Duration::from_secs(10);

/// A [`Journal`] that is a file.
#[derive(Debug)]
pub(crate) struct FileJournal {
    file: File,
    /// The compressed file that `file` is the content of.
    packed: Option<File>,
    path: PathBuf,
    writable: bool,
    /// Directories that got a new name when the file was created, until they are synced.
    unsynced_directories: Mutex<Vec<PathBuf>>,
}

/// A file that was opened, whatever is in it.
#[derive(Debug)]
pub(super) struct Opened {
    pub(super) file: File,
    pub(super) len: u64,
    writable: bool,
}

impl Opened {
    /// Opens an existing regular file, for reading only if it may not be written.
    pub(super) fn at(path: &Path) -> Result<Self> {
        let opened = match fs::open(path, Access::Append) {
            Ok(file) => Ok((file, true)),
            Err(error) if is_read_only(&error) => {
                fs::open(path, Access::Read).map(|file| (file, false))
            }
            Err(error) => Err(error),
        };
        let (file, writable) = opened.map_err(|error| match error.kind() {
            // A directory has an error of its own, with its own advice.
            io::ErrorKind::IsADirectory => Error::io(path, "open")(error),
            _ if is_not_regular(&error) => {
                Error::NotASession { path: path.to_owned(), reason: error.to_string() }
            }
            _ => Error::io(path, "open")(error),
        })?;
        let metadata = file.metadata().map_err(Error::io(path, "open"))?;
        Ok(Opened { file, len: metadata.len, writable })
    }
}

impl FileJournal {
    /// Opens an existing file, for reading only if it may not be written.
    pub(crate) fn open(path: &Path) -> Result<Self> {
        FileJournal::of(Opened::at(path)?, path)
    }

    /// The journal of a file that was opened by its path.
    pub(super) fn of(opened: Opened, path: &Path) -> Result<Self> {
        let Opened { file, writable, .. } = opened;
        let (file, packed, writable) = match zstd::unpack(&file).map_err(Error::io(path, "read"))? {
            Some(content) => (content, Some(file), false),
            None => (file, None, writable),
        };
        let path = std::path::absolute(path).map_err(Error::io(path, "open"))?;
        let unsynced_directories = Mutex::default();
        Ok(FileJournal { file, packed, path, writable, unsynced_directories })
    }

    /// Creates the file, which must not exist. It appears with its first bytes or not at all.
    pub(crate) fn create(path: &Path, bytes: &[u8]) -> Result<Self> {
        let created = NewFile::beside(path).and_then(|mut new| {
            new.write_all(bytes)?;
            new.publish_unsynced()
        });
        let (file, unsynced) = created.map_err(Error::creating(path, "create"))?;
        let unsynced_directories = Mutex::new(unsynced);
        let path = std::path::absolute(path).map_err(Error::io(path, "create"))?;
        Ok(FileJournal { file, packed: None, path, writable: true, unsynced_directories })
    }

    pub(crate) fn file(&self) -> &File {
        &self.file
    }

    /// Whether the file is compressed: then it is only read.
    pub(crate) fn is_packed(&self) -> bool {
        self.packed.is_some()
    }

    /// Whether `path` still names this file.
    pub(crate) fn is_at(&self, path: &Path) -> bool {
        let file = self.packed.as_ref().unwrap_or(&self.file);
        match (file.metadata(), fs::metadata(path)) {
            (Ok(ours), Ok(theirs)) => ours.id == theirs.id,
            _ => false,
        }
    }

    /// Replaces the first bytes, if the file is still at its path: omp keeps a session's title in a
    /// line of fixed length that it rewrites in place.
    pub(crate) fn overwrite_start(&self, new: &[u8]) -> Result<(), JournalError> {
        let _lock = lock(&self.file)?;
        if !self.writable || !self.is_at(&self.path) {
            return Err(JournalError::Gone);
        }
        // Our own descriptor only ever appends.
        let mut file = fs::open(&self.path, Access::Write)?;
        Ok(file.write_all(new)?)
    }

    /// Removes what a failed write left, if it is certain to be ours; else leaves it torn, which the
    /// next writer sees and fences off.
    fn undo(&self, start: u64) {
        let landed = (&self.file).stream_position().unwrap_or(u64::MAX);
        if landed >= start && self.len().is_ok_and(|length| length == landed) {
            let _ = self.file.set_len(start);
        }
    }
}

impl Journal for FileJournal {
    fn len(&self) -> io::Result<u64> {
        self.file.size()
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        self.file.read_at(offset, buffer)
    }

    fn append(&self, expected: u64, lines: &[u8]) -> Result<Appended, JournalError> {
        if !self.writable {
            return Err(io::Error::from(io::ErrorKind::PermissionDenied).into());
        }
        let _lock = lock(&self.file)?;
        let metadata = self.file.metadata()?;
        // The file may have been replaced, and its old content may still have a name: only the path
        // tells where new entries are looked for.
        if fs::metadata(&self.path).map(|there| there.id).ok() != Some(metadata.id) {
            return Err(JournalError::Gone);
        }
        if metadata.len != expected {
            return Err(JournalError::Moved(metadata.len));
        }
        if let Err(error) = (&self.file).write_all(lines) {
            self.undo(expected);
            return Err(error.into());
        }
        // Where an appending write landed is where the cursor stands after it.
        let end = (&self.file).stream_position()?;
        Ok(Appended { start: end.saturating_sub(lines.len() as u64) })
    }

    fn sync(&self) -> io::Result<()> {
        self.file.sync_data()?;
        let mut unsynced = self.unsynced_directories.lock().unwrap_or_else(PoisonError::into_inner);
        for directory in &*unsynced {
            fs::sync_dir(directory)?;
        }
        unsynced.clear();
        Ok(())
    }

    fn take_back(&self, expected: u64, length: u64) -> io::Result<bool> {
        let _lock = lock(&self.file).map_err(|_| io::Error::from(io::ErrorKind::WouldBlock))?;
        let untouched = self.len()? == expected;
        if untouched {
            self.file.set_len(length)?;
        }
        Ok(untouched)
    }
}

/// A lock that ends with its scope.
#[derive(Debug)]
pub(crate) struct Locked<'a>(&'a File);

impl Drop for Locked<'_> {
    fn drop(&mut self) {
        // Closing the file would release it as well: nothing to do about a failure here.
        let _ = self.0.unlock();
    }
}

/// Locks the file against other writers, waiting a bounded time.
pub(crate) fn lock(file: &File) -> Result<Locked<'_>, JournalError> {
    let mut waited = Duration::ZERO;
    while waited < LOCK_PATIENCE {
        match file.try_lock() {
            Ok(()) => return Ok(Locked(file)),
            Err(TryLockError::Error(error)) => return Err(error.into()),
            Err(TryLockError::WouldBlock) => {}
        }
        // Most locks are held for microseconds; after a while they are not asked for as often.
        let pause = (waited / 16).clamp(Duration::from_micros(50), Duration::from_millis(5));
        fs::sleep(pause);
        waited += pause;
    }
    Err(JournalError::Locked)
}

fn is_read_only(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem)
}
