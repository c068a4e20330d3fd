//! A journal that is a file, shared with other processes.
//!
//! Writers serialise through an advisory lock on the file itself, held only for the write. Readers
//! take no lock. The file is opened for appending, so that even a program that takes no lock cannot
//! be overwritten: at worst two of its lines change places.

use super::journal::{Appended, Journal, JournalError};
use super::zstd;
use crate::error::{Error, Result};
use std::fs::{File, Metadata, OpenOptions, TryLockError};
use std::io::{self, Seek, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

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
    /// The directory of a file we created, until its name in there is known to be on disk.
    unsynced_directory: Mutex<Option<PathBuf>>,
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
        let writing = OpenOptions::new().read(true).append(true).open(path);
        let (file, writable) = match writing {
            Ok(file) => (file, true),
            Err(error) if is_read_only(&error) => {
                (File::open(path).map_err(Error::io(path, "open"))?, false)
            }
            Err(error) => return Err(Error::io(path, "open")(error)),
        };
        let metadata = file.metadata().map_err(Error::io(path, "open"))?;
        if !metadata.is_file() {
            let reason = "it is not a regular file".to_owned();
            return Err(Error::NotASession { path: path.to_owned(), reason });
        }
        Ok(Opened { file, len: metadata.len(), writable })
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
        Ok(FileJournal { file, packed, path, writable, unsynced_directory: Mutex::default() })
    }

    /// Creates the file, which must not exist. It appears with its first bytes or not at all: they
    /// are written under another name, which is then linked to the real one.
    pub(crate) fn create(path: &Path, bytes: &[u8]) -> Result<Self> {
        if let Some(directory) = path.parent().filter(|parent| !parent.as_os_str().is_empty()) {
            create_private_dir(directory)?;
        }
        let temporary = temporary_beside(path);
        let created = create_private(&temporary).and_then(|mut file| {
            file.write_all(bytes)?;
            std::fs::hard_link(&temporary, path)?;
            Ok(file)
        });
        // Gone whatever happened; a second name would hide a deletion of the first.
        let _ = std::fs::remove_file(&temporary);
        let file = match created {
            Err(error) if is_linkless(&error) => create_private(path).and_then(|mut file| {
                file.write_all(bytes).inspect_err(|_| drop(std::fs::remove_file(path)))?;
                Ok(file)
            }),
            created => created,
        };
        let file = file.map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => Error::AlreadyExists(path.to_owned()),
            _ => Error::io(path, "create")(error),
        })?;
        let unsynced_directory = Mutex::new(path.parent().map(Path::to_owned));
        let path = std::path::absolute(path).map_err(Error::io(path, "create"))?;
        Ok(FileJournal { file, packed: None, path, writable: true, unsynced_directory })
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
        match (file.metadata(), std::fs::metadata(path)) {
            (Ok(ours), Ok(theirs)) => same_file(&ours, &theirs),
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
        let mut file = OpenOptions::new().write(true).open(&self.path)?;
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
        Ok(self.file.metadata()?.len())
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        read_at(&self.file, offset, buffer)
    }

    fn append(&self, expected: u64, lines: &[u8]) -> Result<Appended, JournalError> {
        if !self.writable {
            return Err(io::Error::from(io::ErrorKind::PermissionDenied).into());
        }
        let _lock = lock(&self.file)?;
        let metadata = self.file.metadata()?;
        if is_deleted(&metadata) || (may_have_moved(&metadata) && !self.is_at(&self.path)) {
            return Err(JournalError::Gone);
        }
        if metadata.len() != expected {
            return Err(JournalError::Moved(metadata.len()));
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
        let mut directory = self.unsynced_directory.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(path) = directory.take() {
            sync_directory(&path);
        }
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
    let mut deadline = None;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(Locked(file)),
            Err(TryLockError::Error(error)) => return Err(error.into()),
            Err(TryLockError::WouldBlock) => {}
        }
        let deadline = *deadline.get_or_insert_with(|| Instant::now() + LOCK_PATIENCE);
        if Instant::now() > deadline {
            return Err(JournalError::Locked);
        }
        std::thread::sleep(Duration::from_micros(50));
    }
}

/// Makes the names in a directory survive a power failure, where the file system can.
pub(crate) fn sync_directory(path: &Path) {
    let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
    // Some file systems cannot sync a directory: then there is nothing more to be done.
    let _ = File::open(path).and_then(|directory| directory.sync_all());
}

/// A file system that knows no hard links.
fn is_linkless(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::Unsupported | io::ErrorKind::PermissionDenied)
}

/// A name in the same directory that no other process uses.
fn temporary_beside(path: &Path) -> PathBuf {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}-{count}.tmp", std::process::id()));
    path.with_file_name(name)
}

fn is_read_only(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem)
}

#[cfg(unix)]
pub(super) fn read_at(file: &File, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
    use std::os::unix::fs::FileExt;
    loop {
        match file.read_at(buffer, offset) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            result => return result,
        }
    }
}

#[cfg(windows)]
pub(super) fn read_at(file: &File, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
    std::os::windows::fs::FileExt::seek_read(file, buffer, offset)
}

#[cfg(unix)]
fn is_deleted(metadata: &Metadata) -> bool {
    std::os::unix::fs::MetadataExt::nlink(metadata) == 0
}

#[cfg(not(unix))]
fn is_deleted(_: &Metadata) -> bool {
    false // An open file cannot be deleted there.
}

/// Whether something other than a write happened to the file: a rename or a link changes its status
/// time alone, a write both times alike. Saves a look at the path before every append.
#[cfg(unix)]
fn may_have_moved(metadata: &Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    let changed = (metadata.ctime(), metadata.ctime_nsec());
    metadata.nlink() != 1 || changed != (metadata.mtime(), metadata.mtime_nsec())
}

#[cfg(not(unix))]
fn may_have_moved(_: &Metadata) -> bool {
    false
}

#[cfg(unix)]
fn same_file(a: &Metadata, b: &Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    a.dev() == b.dev() && a.ino() == b.ino()
}

#[cfg(not(unix))]
fn same_file(a: &Metadata, b: &Metadata) -> bool {
    a.created().ok() == b.created().ok()
}

/// Creates a file nobody else can read; it must not exist.
pub(crate) fn create_private(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).append(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

/// Creates a directory, and those above it, that nobody else can read.
pub(crate) fn create_private_dir(path: &Path) -> Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path).map_err(Error::io(path, "create the directory"))
}
