//! Files that appear complete or not at all.

use super::{Access, File, directory_of};
use std::ffi::OsString;
use std::hash::{BuildHasher, RandomState};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A file that is being written in the directory of its target.
///
/// It is created exclusively, under a name that cannot be guessed, readable by its owner only.
/// [`publish`](NewFile::publish) or [`publish_replacing`](NewFile::publish_replacing) give it its final
/// name after it was synced, and sync the directory. A file that is not published is removed when it is
/// dropped, and by [`remove_unfinished`].
///
/// ```
/// use std::io::Write;
/// # let dir = tempfile::tempdir()?;
/// let target = dir.path().join("report.txt");
/// let mut file = treering::internal::fs::NewFile::beside(&target)?;
/// file.write_all(b"done\n")?;
/// assert!(!target.exists());
/// file.publish()?;
/// assert_eq!(std::fs::read(&target)?, b"done\n");
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
pub struct NewFile {
    /// `None` once the file was published.
    file: Option<File>,
    /// The temporary name of the file.
    path: PathBuf,
    target: PathBuf,
    /// Directories that got a new name and are not synced yet.
    unsynced: Vec<PathBuf>,
}

impl NewFile {
    /// Creates an empty file that will be published as `target`. Missing directories are created.
    pub fn beside(target: &Path) -> io::Result<Self> {
        let unsynced = create_private_dir(directory_of(target))?;
        loop {
            let path = unique_beside(target, "tmp");
            // The file is registered before it exists, so that it is removed even if a signal
            // arrives in between.
            unfinished().push(path.clone());
            let file = match super::open(&path, Access::CreateNew) {
                Err(error) => {
                    forget(&path);
                    if error.kind() == io::ErrorKind::AlreadyExists {
                        continue;
                    }
                    return Err(error);
                }
                Ok(file) => file,
            };
            if !file.is_system() {
                forget(&path);
            }
            return Ok(NewFile { file: Some(file), path, target: target.to_owned(), unsynced });
        }
    }

    /// Returns the name that the file has until it is published.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the name that the file will have.
    pub fn target(&self) -> &Path {
        &self.target
    }

    /// Returns the open file.
    pub fn file(&self) -> io::Result<&File> {
        self.file.as_ref().ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    /// Fills the file through a buffer with the output of `write`.
    pub(crate) fn fill(
        self,
        write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> io::Result<Self> {
        let mut out = io::BufWriter::with_capacity(1 << 20, self);
        write(&mut out)?;
        out.into_inner().map_err(io::IntoInnerError::into_error)
    }

    /// Gives the file its name, which must not exist. Content, name and new directories are on disk
    /// when this returns.
    ///
    /// # Errors
    ///
    /// Fails with [`AlreadyExists`](io::ErrorKind::AlreadyExists) if the name exists; the existing
    /// file is not changed. If only the last step fails, syncing the directory, the file keeps its
    /// name.
    pub fn publish(mut self) -> io::Result<File> {
        self.file()?.sync_all()?;
        self.put()?;
        self.sync_names()?;
        self.into_file()
    }

    /// Publishes the file as [`publish`](NewFile::publish) does, without waiting for the disk.
    /// Returns the directories that have to be synced for the name to survive a power failure.
    pub(crate) fn publish_unsynced(mut self) -> io::Result<(File, Vec<PathBuf>)> {
        self.put()?;
        let unsynced = std::mem::take(&mut self.unsynced);
        Ok((self.into_file()?, unsynced))
    }

    /// Publishes the file as [`publish`](NewFile::publish) does, and replaces a file that has the
    /// name.
    pub fn publish_replacing(mut self) -> io::Result<File> {
        self.file()?.sync_all()?;
        self.rename()?;
        self.sync_names()?;
        self.into_file()
    }

    /// Publishes the file as [`publish_replacing`](NewFile::publish_replacing) does, without
    /// waiting for the disk: for files that can be created again, such as a cache.
    pub fn publish_replacing_unsynced(mut self) -> io::Result<File> {
        self.rename()?;
        self.file.take().ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    /// Renames the file, and replaces any file that has its name.
    pub(crate) fn rename(&mut self) -> io::Result<()> {
        super::rename(&self.path, &self.target)?;
        forget(&self.path);
        self.named();
        Ok(())
    }

    /// Gives the file its name without replacing another file.
    fn put(&mut self) -> io::Result<()> {
        match super::hard_link(&self.path, &self.target) {
            Ok(()) => {
                // The temporary name would keep the file alive after its final name is deleted.
                let removed = super::remove_file(&self.path);
                forget(&self.path);
                self.named();
                removed
            }
            Err(error) if is_linkless(&error) => {
                // An empty file reserves the name; renaming over it replaces only that file.
                drop(super::open(&self.target, Access::CreateNew)?);
                self.rename().inspect_err(|_| drop(super::remove_file(&self.target)))
            }
            Err(error) => Err(error),
        }
    }

    fn named(&mut self) {
        let directory = directory_of(&self.target).to_owned();
        self.unsynced.push(directory);
        self.path.clear();
    }

    /// Syncs the directories that got new names.
    pub(crate) fn sync_names(&mut self) -> io::Result<()> {
        for directory in std::mem::take(&mut self.unsynced) {
            super::sync_dir(&directory)?;
        }
        Ok(())
    }

    fn into_file(mut self) -> io::Result<File> {
        self.file.take().ok_or_else(|| io::ErrorKind::NotFound.into())
    }
}

impl Write for NewFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file()?.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for NewFile {
    fn drop(&mut self) {
        if self.file.take().is_some() && !self.path.as_os_str().is_empty() {
            // The file is not needed, and a destructor cannot report an error.
            let _ = super::remove_file(&self.path);
            forget(&self.path);
        }
    }
}

/// Creates a directory and its missing parents, for the owner only. Returns the directories that
/// have to be synced for the new ones to survive a power failure.
pub fn create_private_dir(path: &Path) -> io::Result<Vec<PathBuf>> {
    let mut missing: Vec<&Path> = Vec::new();
    let mut at = Some(path);
    while let Some(directory) = at.filter(|path| !path.as_os_str().is_empty()) {
        match super::metadata(directory) {
            Ok(_) => break,
            Err(error) if error.kind() == io::ErrorKind::NotFound => missing.push(directory),
            Err(error) => return Err(error),
        }
        at = directory.parent();
    }
    let mut unsynced = Vec::new();
    for directory in missing.into_iter().rev() {
        match super::on(|system| system.create_dir(directory)) {
            // Another process created the directory first.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            created => created?,
        }
        unsynced.push(directory_of(directory).to_owned());
    }
    Ok(unsynced)
}

/// Returns whether an error of [`hard_link`](super::hard_link) means that the file system has no
/// hard links.
pub(crate) fn is_linkless(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::Unsupported
            | io::ErrorKind::PermissionDenied
            | io::ErrorKind::TooManyLinks
            | io::ErrorKind::CrossesDevices
    )
}

/// The longest part of a file's name that a unique name repeats: file names are limited to 255
/// bytes.
const MAX_STEM: usize = 200;

/// Returns the unused name `NAME.RANDOM.ending` in the directory of a file.
pub fn unique_beside(path: &Path, ending: &str) -> PathBuf {
    let name = path.file_name().unwrap_or_default();
    let mut name = match name.len() {
        0..=MAX_STEM => name.to_owned(),
        _ => {
            let text = name.to_string_lossy();
            let cut = (0..=MAX_STEM).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0);
            OsString::from(&text[..cut])
        }
    };
    name.push(format!(".{}.{ending}", random_name()));
    path.with_file_name(name)
}

/// Returns 32 hexadecimal digits that other processes cannot guess.
pub(super) fn random_name() -> String {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let (a, b) = (RandomState::new().hash_one(count), RandomState::new().hash_one(!count));
    format!("{a:016x}{b:016x}")
}

/// The unfinished files of this process.
static UNFINISHED: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

fn unfinished() -> MutexGuard<'static, Vec<PathBuf>> {
    UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner)
}

fn forget(path: &Path) {
    unfinished().retain(|unfinished| unfinished != path);
}

/// Removes the unfinished files of this process, for a program that is about to end because of a
/// signal. No other file is begun until the returned guard is dropped.
pub fn remove_unfinished() -> impl Sized {
    let mut unfinished = unfinished();
    for path in unfinished.drain(..) {
        let _ = std::fs::remove_file(path);
    }
    unfinished
}
