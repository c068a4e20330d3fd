//! Putting a new file in the place of an old one, so that a path always names one or the other.

use crate::fs::{self, NewFile};
use std::io;
use std::path::{Path, PathBuf};

/// Returns the path, or one with a number after it: the first that nothing has yet.
pub(crate) fn free(path: PathBuf) -> PathBuf {
    let mut free = path.clone();
    let mut attempt = 2;
    while fs::exists(&free) {
        free = fs::beside(&path, format!(".{attempt}"));
        attempt += 1;
    }
    free
}

/// Puts `new` in the place of the file that has its name, and keeps that one under the name `backup`. The
/// caller holds the lock of the old file.
pub(crate) fn replace(new: NewFile, backup: &Path) -> io::Result<()> {
    fs::hard_link(new.target(), backup)?;
    new.publish_replacing()?;
    Ok(())
}
