//! Putting a new file in the place of an old one, so that a path always names one or the other.

use super::file::sync_directory;
use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};

/// `path` with something added to its name, in the same directory. Unless that ends in `.jsonl`, it is
/// never listed.
pub(crate) fn beside(path: &Path, suffix: impl AsRef<OsStr>) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(suffix);
    path.with_file_name(name)
}

/// The path, or one with a number after it: the first that nothing has yet.
pub(crate) fn free(path: PathBuf) -> PathBuf {
    let mut free = path.clone();
    let mut attempt = 2;
    while free.symlink_metadata().is_ok() {
        free = beside(&path, format!(".{attempt}"));
        attempt += 1;
    }
    free
}

/// Makes `path` name the complete file `new`, and keeps a copy of what it named at `backup`. The
/// caller holds the lock of the file.
pub(crate) fn replace(path: &Path, new: &Path, backup: &Path) -> io::Result<()> {
    std::fs::copy(path, backup)?;
    std::fs::File::open(backup)?.sync_all()?;
    std::fs::rename(new, path)?;
    if let Some(directory) = path.parent() {
        sync_directory(directory);
    }
    Ok(())
}
