//! A journal that is a file, shared with other processes.
//!
//! Writers serialize through an advisory lock on the file itself, held only for the write. Readers
//! take no lock. The file is opened for appending, so that even the lines of a program that takes
//! no lock cannot be overwritten: at worst two of its lines change places.

use super::journal::{Appended, End, Journal, JournalError};
use super::{scan, zstd};
use crate::error::{Error, Result};
use crate::fs::{self, Access, File, FileId, NewFile, is_not_regular};
use std::fs::TryLockError;
use std::io::{self, Seek, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

/// The longest wait for another process's lock. Locks are held for microseconds; a lock that is
/// held this long belongs to a stopped process.
pub(crate) const LOCK_TIMEOUT: Duration = Duration::from_secs(10);

/// The time for which an append assumes that the path still names the file. It is shorter than the
/// time for which a replaced file is watched for appends.
const PATH_CHECK_INTERVAL: Duration = Duration::from_millis(1);

/// A [`Journal`] that is a file.
#[derive(Debug)]
pub(crate) struct FileJournal {
    file: File,
    /// The compressed file whose content is in `file`.
    packed: Option<File>,
    /// The files that `file` was made from, and their states then.
    made_of: Option<FileStates>,
    path: PathBuf,
    writable: bool,
    /// The time at which the path was last known to name this file.
    checked: Mutex<SystemTime>,
    /// Directories that got a new name when the file was created, until they are synced.
    unsynced_directories: Mutex<Vec<PathBuf>>,
}

/// A file that was opened, with any content.
#[derive(Debug)]
pub(super) struct OpenedFile {
    pub(super) file: File,
    pub(super) len: u64,
    writable: bool,
}

impl OpenedFile {
    /// Opens an existing regular file; for reading only if writing is not permitted.
    pub(super) fn at(path: &Path) -> Result<Self> {
        let opened = match fs::open(path, Access::Append) {
            Ok(file) => Ok((file, true)),
            Err(error) if is_read_only(&error) => {
                fs::open(path, Access::Read).map(|file| (file, false))
            }
            Err(error) => Err(error),
        };
        let (file, writable) = opened.map_err(|error| match error.kind() {
            // A directory has its own error, with its own advice.
            io::ErrorKind::IsADirectory => Error::io(path, "open")(error),
            _ if is_not_regular(&error) => {
                Error::NotASession { path: path.to_owned(), reason: error.to_string() }
            }
            _ => Error::io(path, "open")(error),
        })?;
        let metadata = file.metadata().map_err(Error::io(path, "open"))?;
        Ok(OpenedFile { file, len: metadata.len, writable })
    }
}

impl FileJournal {
    /// Opens an existing file; for reading only if writing is not permitted.
    pub(crate) fn open(path: &Path) -> Result<Self> {
        FileJournal::of(OpenedFile::at(path)?, path)
    }

    /// Returns the journal of a file that was opened by its path.
    pub(super) fn of(opened: OpenedFile, path: &Path) -> Result<Self> {
        let OpenedFile { file, writable, .. } = opened;
        let (file, packed, writable) = match zstd::unpack(&file).map_err(Error::io(path, "read"))? {
            Some(content) => (content, Some(file), false),
            None => (file, None, writable),
        };
        let path = std::path::absolute(path).map_err(Error::io(path, "open"))?;
        let (checked, unsynced_directories) =
            (Mutex::new(SystemTime::UNIX_EPOCH), Mutex::default());
        let made_of = None;
        Ok(FileJournal { file, packed, made_of, path, writable, checked, unsynced_directories })
    }

    /// Returns a read-only journal of a content that was made from other files.
    pub(crate) fn made(file: File, made_of: FileStates, path: &Path) -> Self {
        FileJournal {
            file,
            packed: None,
            made_of: Some(made_of),
            path: path.to_owned(),
            writable: false,
            checked: Mutex::new(SystemTime::UNIX_EPOCH),
            unsynced_directories: Mutex::default(),
        }
    }

    /// Creates the file, which must not exist. It appears with its first bytes or not at all.
    pub(crate) fn create(path: &Path, bytes: &[u8]) -> Result<Self> {
        let created = NewFile::beside(path).and_then(|mut new| {
            new.write_all(bytes)?;
            new.publish_unsynced()
        });
        let (file, unsynced) = created.map_err(Error::creating(path, "create"))?;
        let (checked, unsynced_directories) = (Mutex::new(fs::now()), Mutex::new(unsynced));
        let path = std::path::absolute(path).map_err(Error::io(path, "create"))?;
        let (packed, made_of, writable) = (None, None, true);
        Ok(FileJournal { file, packed, made_of, path, writable, checked, unsynced_directories })
    }

    pub(crate) fn file(&self) -> &File {
        &self.file
    }

    /// Returns whether the content was made from other files, or from a compressed file. Such a
    /// journal is read-only.
    pub(crate) fn is_packed(&self) -> bool {
        self.packed.is_some() || self.made_of.is_some()
    }

    /// Returns whether `path` still names this file, or the files that it was made from are
    /// unchanged.
    pub(crate) fn is_at(&self, path: &Path) -> bool {
        if let Some(files) = &self.made_of {
            return files.are_unchanged();
        }
        let file = self.packed.as_ref().unwrap_or(&self.file);
        match (file.metadata(), fs::metadata(path)) {
            (Ok(ours), Ok(theirs)) => ours.id == theirs.id,
            _ => false,
        }
    }

    fn checked(&self) -> MutexGuard<'_, SystemTime> {
        self.checked.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns whether the path must be looked up before an append, because the last look-up is too old or the
    /// clock was set back. A file that was removed, or replaced by a rename, has no name left and is noticed
    /// without a look-up; this one notices a file that was renamed. The times of the file would show a rename as
    /// well, but reading them makes the next write slower ([`File::len_and_links`]). treering watches a file that
    /// it replaced for longer than the interval.
    fn is_path_check_due(&self) -> bool {
        let since = fs::now().duration_since(*self.checked());
        since.map_or(true, |since| since >= PATH_CHECK_INTERVAL)
    }

    /// Writes lines at the end of the file, contiguously. Returns their end.
    fn write_lines(&self, lines: &[u8]) -> io::Result<u64> {
        let mut fenced;
        let mut bytes = lines;
        let mut rest = bytes;
        // The range of `bytes` that was written so far.
        let mut own: Option<Range<u64>> = None;
        loop {
            let count = match (&self.file).write(rest) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Ok(0) => Err(io::ErrorKind::WriteZero.into()),
                written => written,
            };
            let count = count.inspect_err(|_| self.undo(own.clone()))?;
            // After an appending write, the cursor is at the end of the written bytes.
            let end = (&self.file).stream_position()?;
            let start = end.saturating_sub(count as u64);
            rest = &rest[count..];
            own = match own {
                Some(own) if own.end != start => {
                    // A line of a program that takes no lock is between two pieces of these lines.
                    // The pieces are lost; the lines are written once more, after a newline.
                    fenced = [b"\n", lines].concat();
                    bytes = &fenced;
                    rest = bytes;
                    None
                }
                Some(own) => Some(own.start..end),
                None => Some(start..end),
            };
            if rest.is_empty() {
                return Ok(end);
            }
        }
    }

    /// Removes the bytes of a failed write, if no other program can have written them. Otherwise
    /// the file stays torn; the next writer detects this and writes a newline first.
    fn undo(&self, own: Option<Range<u64>>) {
        if let Some(own) = own
            && self.len().is_ok_and(|length| length == own.end)
        {
            let _ = self.file.set_len(own.start);
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

    fn append(&self, end: &End, lines: &[u8]) -> Result<Appended, JournalError> {
        if !self.writable {
            return Err(io::Error::from(io::ErrorKind::PermissionDenied).into());
        }
        let _lock = lock(&self.file)?;
        let (length, links) = self.file.len_and_links()?;
        let is_as_long = length == end.length();
        if !is_as_long || !end.is_own() || links != 1 || self.is_path_check_due() {
            // The file may have been replaced, and its old content may still have a name: only the
            // path shows which file has new entries.
            let id = self.file.metadata()?.id;
            if fs::metadata(&self.path).map(|there| there.id).ok() != Some(id) {
                return Err(JournalError::Gone);
            }
            let is_known =
                is_as_long && end.is_in(|offset, buffer| self.file.read_at(offset, buffer))?;
            if !is_known {
                return Err(JournalError::Moved(length));
            }
            *self.checked() = fs::now();
        }
        let landed = self.write_lines(lines)?;
        Ok(Appended { start: landed.saturating_sub(lines.len() as u64) })
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

    fn truncate_if(&self, expected: u64, length: u64) -> io::Result<bool> {
        let _lock = lock(&self.file).map_err(|_| io::Error::from(io::ErrorKind::WouldBlock))?;
        let untouched = self.len()? == expected;
        if untouched {
            self.file.set_len(length)?;
        }
        Ok(untouched)
    }

    fn replace_start(&self, expected: &[u8], bytes: &[u8]) -> Result<bool, JournalError> {
        let _lock = lock(&self.file)?;
        if !self.writable {
            return Err(io::Error::from(io::ErrorKind::PermissionDenied).into());
        }
        // The open file of this journal can only append.
        let file = match fs::open(&self.path, Access::Write) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err(JournalError::Gone);
            }
            file => file?,
        };
        if file.metadata()?.id != self.file.metadata()?.id {
            return Err(JournalError::Gone);
        }
        let mut found = vec![0; bytes.len()];
        let got = scan::read_full(self, 0, &mut found)?;
        if got < found.len() || found != expected {
            return Ok(false);
        }
        if let Err(error) = (&file).write_all(bytes) {
            // Half of the new bytes would be worse than the old ones.
            let _ = (&file).rewind().and_then(|()| (&file).write_all(&found));
            return Err(error.into());
        }
        Ok(true)
    }
}

/// The identity, length and modification time of a file.
type FileState = (FileId, u64, SystemTime);

/// The states of some files at one time.
#[derive(Debug)]
pub(crate) struct FileStates {
    files: Vec<(PathBuf, Option<FileState>)>,
    /// Whether any later change will be visible: the clocks of file systems are coarse.
    is_settled: bool,
}

impl FileStates {
    /// Two changes of a file within this time may have the same modification time.
    const TICK: Duration = Duration::from_millis(50);

    /// Reads the states of files, which need not exist.
    pub(crate) fn of(paths: Vec<PathBuf>) -> Self {
        let read = |path: PathBuf| {
            let state = FileStates::read(&path);
            (path, state)
        };
        let files: Vec<_> = paths.into_iter().map(read).collect();
        let now = fs::now();
        let is_old = |modified: SystemTime| {
            now.duration_since(modified).is_ok_and(|age| age > FileStates::TICK)
        };
        let is_settled = files.iter().all(|(_, state)| state.is_none_or(|(.., time)| is_old(time)));
        FileStates { files, is_settled }
    }

    fn read(path: &Path) -> Option<FileState> {
        fs::metadata(path).ok().map(|found| (found.id, found.len, found.modified))
    }

    fn are_unchanged(&self) -> bool {
        self.is_settled && self.files.iter().all(|(path, state)| FileStates::read(path) == *state)
    }
}

/// A lock that is released at the end of its scope.
#[derive(Debug)]
pub(crate) struct Locked<'a>(&'a File);

impl Drop for Locked<'_> {
    fn drop(&mut self) {
        // Closing the file releases the lock as well, so a failure can be ignored.
        let _ = self.0.unlock();
    }
}

/// Locks the file against other writers, waiting a bounded time.
pub(crate) fn lock(file: &File) -> Result<Locked<'_>, JournalError> {
    let mut waited = Duration::ZERO;
    while waited < LOCK_TIMEOUT {
        match file.try_lock() {
            Ok(()) => return Ok(Locked(file)),
            Err(TryLockError::Error(error)) => return Err(error.into()),
            Err(TryLockError::WouldBlock) => {}
        }
        // Most locks are held for microseconds; after a while the lock is tried less often.
        let pause = (waited / 16).clamp(Duration::from_micros(50), Duration::from_millis(5));
        fs::sleep(pause);
        waited += pause;
    }
    Err(JournalError::Locked)
}

fn is_read_only(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem)
}
