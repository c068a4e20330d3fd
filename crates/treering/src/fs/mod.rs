//! The file system as treering uses it.
//!
//! Every file that treering creates, changes, replaces, locks or removes goes through this module.
//! The functions here act on the operating system's files unless [`with`] replaced them by another
//! [`FileSystem`] for the current thread: tests run the same code on a simulated disk that fails,
//! crashes and lets other programs act between any two calls.
//!
//! [`NewFile`] is the one way to make a file that appears complete or not at all.
//!
//! The module is public for the sibling crates and for tests. It is not part of the stable interface.

mod file;
mod new_file;
mod open;
mod system;

pub use file::{File, Handle};
pub(crate) use new_file::is_linkless;
pub use new_file::{NewFile, create_private_dir, remove_unfinished, unique_beside};
pub use open::{is_not_regular, read, read_text};
pub(crate) use open::{open_unlinked, read_limited};

use std::cell::RefCell;
use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};
use system::System;

/// The access that a file is opened with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Opens for reading only.
    Read,
    /// Opens for reading, and for writing at the end.
    Append,
    /// Opens for reading, and for writing anywhere in the file.
    Write,
    /// Creates a file that only its owner can read, and opens it like [`Append`](Access::Append).
    /// Never opens anything that exists, not even through a symbolic link.
    CreateNew,
}

/// The type of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileKind {
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// A symbolic link, a pipe, a device.
    Other,
}

/// Identifies a file on this machine, independently of its names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct FileId {
    /// The device.
    pub device: u64,
    /// The number of the file on the device.
    pub number: u64,
}

/// The metadata of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Metadata {
    /// The type.
    pub kind: FileKind,
    /// The length in bytes.
    pub len: u64,
    /// The identity of the file. On systems without one, files that were created at different times
    /// differ.
    pub id: FileId,
    /// The number of names.
    pub links: u64,
    /// The permission bits.
    pub mode: u32,
    /// The user and the group that own the file.
    pub owner: Option<(u32, u32)>,
    /// The time of the last write.
    pub modified: SystemTime,
    /// The time of the last change of any kind: a write, a new name, other permissions. It is the
    /// time of the last write if the system does not provide it.
    pub changed: SystemTime,
}

impl Metadata {
    /// Returns whether this is a regular file.
    pub fn is_file(&self) -> bool {
        self.kind == FileKind::File
    }

    /// Returns whether the permissions let no user write, not even the owner. The superuser can
    /// still write to such a file.
    pub fn is_write_protected(&self) -> bool {
        self.mode & 0o222 == 0
    }
}

/// The operations of a file system, and the clock for its timestamps.
pub trait FileSystem: std::fmt::Debug + Send + Sync {
    /// Opens a regular file, or creates one.
    fn open(&self, path: &Path, access: Access) -> io::Result<File>;
    /// Returns the metadata of the file at a path; `follow` says whether a symbolic link is
    /// followed.
    fn metadata(&self, path: &Path, follow: bool) -> io::Result<Metadata>;
    /// Resolves symbolic links.
    fn canonicalize(&self, path: &Path) -> io::Result<PathBuf>;
    /// Gives a file a second name, which must not exist.
    fn hard_link(&self, from: &Path, to: &Path) -> io::Result<()>;
    /// Renames a file, and replaces a file that has the new name.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;
    /// Removes a name of a file.
    fn remove_file(&self, path: &Path) -> io::Result<()>;
    /// Creates one directory that only its owner can use.
    fn create_dir(&self, path: &Path) -> io::Result<()>;
    /// Makes the names in a directory survive a power failure.
    fn sync_dir(&self, path: &Path) -> io::Result<()>;
    /// Returns the time.
    fn now(&self) -> SystemTime;
    /// Waits for this duration.
    fn sleep(&self, duration: Duration);
}

thread_local! {
    static OVERRIDE: RefCell<Option<Arc<dyn FileSystem>>> = const { RefCell::new(None) };
}

/// Runs `body` with `system` instead of the operating system's files, on this thread.
pub fn with<T>(system: Arc<dyn FileSystem>, body: impl FnOnce() -> T) -> T {
    struct Restore(Option<Arc<dyn FileSystem>>);
    impl Drop for Restore {
        fn drop(&mut self) {
            OVERRIDE.set(self.0.take());
        }
    }
    let _restore = Restore(OVERRIDE.replace(Some(system)));
    body()
}

fn on<T>(body: impl FnOnce(&dyn FileSystem) -> T) -> T {
    match OVERRIDE.with_borrow(Clone::clone) {
        Some(system) => body(&*system),
        None => body(&System),
    }
}

/// Opens a regular file. Anything else is refused without waiting: see [`is_not_regular`].
pub fn open(path: &Path, access: Access) -> io::Result<File> {
    on(|system| system.open(path, access))
}

/// Returns the metadata of the file that a path leads to.
pub fn metadata(path: &Path) -> io::Result<Metadata> {
    on(|system| system.metadata(path, true))
}

/// Returns the metadata of the file at a path; if that is a symbolic link, of the link itself.
pub fn symlink_metadata(path: &Path) -> io::Result<Metadata> {
    on(|system| system.metadata(path, false))
}

/// Returns whether there is a file at a path, including a broken symbolic link.
pub fn exists(path: &Path) -> bool {
    symlink_metadata(path).is_ok()
}

/// Resolves symbolic links.
pub fn canonicalize(path: &Path) -> io::Result<PathBuf> {
    on(|system| system.canonicalize(path))
}

/// Gives a file a second name, which must not exist.
pub fn hard_link(from: &Path, to: &Path) -> io::Result<()> {
    on(|system| system.hard_link(from, to))
}

/// Renames a file, and replaces a file that has the new name.
pub fn rename(from: &Path, to: &Path) -> io::Result<()> {
    on(|system| system.rename(from, to))
}

/// Removes a name of a file.
pub fn remove_file(path: &Path) -> io::Result<()> {
    on(|system| system.remove_file(path))
}

/// Makes the names in a directory survive a power failure. Succeeds where the file system has no such
/// operation.
pub fn sync_dir(path: &Path) -> io::Result<()> {
    let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
    match on(|system| system.sync_dir(path)) {
        Err(error) if cannot_sync(&error) => Ok(()),
        result => result,
    }
}

fn cannot_sync(error: &io::Error) -> bool {
    // Some file systems, and Windows, cannot sync a directory; some systems cannot open one.
    matches!(error.kind(), io::ErrorKind::InvalidInput | io::ErrorKind::Unsupported)
        || cfg!(windows) && error.kind() == io::ErrorKind::PermissionDenied
}

/// Returns the time.
pub fn now() -> SystemTime {
    on(|system| system.now())
}

/// Waits for this duration.
pub fn sleep(duration: Duration) {
    on(|system| system.sleep(duration));
}

/// Returns `path` with a suffix added to its name, in the same directory.
pub fn beside(path: &Path, suffix: impl AsRef<OsStr>) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(suffix);
    path.with_file_name(name)
}

/// Returns the directory that a path is in.
fn directory_of(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

/// Opens a file without a name, which only this process can read. It is always a file of the
/// operating system, in its directory for temporary files.
pub fn nameless() -> io::Result<File> {
    let path = std::env::temp_dir().join(format!("treering-{}", new_file::random_name()));
    let file = System.open(&path, Access::CreateNew)?;
    System.remove_file(&path)?;
    Ok(file)
}

/// Returns the path with the current directory in front, if it is relative.
pub(crate) fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}
