//! Removes a file that was copied, or that the user deletes.
//!
//! Agents take no lock. One of them may write to the file, or replace it, at any time, and no
//! system call removes a file on the condition that it is unchanged. The file therefore gets
//! another name first, is watched for a while, and is removed only if it did not change.

use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};
use treering::internal::fs::{self, File, FileId, NewFile};

/// A program that opened the file before it was renamed may write to it a little later: the file is
/// watched for this time.
const QUIET: Duration = Duration::from_millis(20);

const POLL_INTERVAL: Duration = Duration::from_millis(2);

/// The parts of a file's metadata that every write changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct WriteStamp {
    pub(super) len: u64,
    modified: SystemTime,
}

impl WriteStamp {
    pub(super) fn of(file: &File) -> io::Result<Self> {
        let metadata = file.metadata()?;
        Ok(WriteStamp { len: metadata.len, modified: metadata.modified })
    }
}

/// The result of a removal.
#[derive(Debug)]
pub(super) enum RemovalResult {
    /// The file was removed; it may come back after a power failure if its directory could not be
    /// synced.
    Gone(io::Result<()>),
    /// The file has changed, and was not removed.
    Stays,
    /// The file has changed, and has this name now: another program created a file with the old
    /// name.
    Renamed(PathBuf),
}

/// Removes `file` from `path`, unless it was modified since `before`, or another file is at `path`
/// now. After an error the file is at `path`, or in the same directory under a name that ends in
/// `.bak`.
pub(super) fn remove(path: &Path, file: &File, before: WriteStamp) -> io::Result<RemovalResult> {
    if WriteStamp::of(file)? != before {
        return Ok(RemovalResult::Stays);
    }
    let Some(aside) = take_name(path, file.metadata()?.id)? else {
        return Ok(RemovalResult::Stays);
    };
    let is_same = is_unchanged(file, before);
    if is_same.as_ref().is_ok_and(|is_same| *is_same) {
        if let Err(error) = fs::remove_file(&aside) {
            put_back(&aside, path)?;
            return Err(error);
        }
        // A write is still possible between the last check and the removal.
        if WriteStamp::of(file)? == before {
            return Ok(RemovalResult::Gone(sync(path)));
        }
        restore(file, &aside)?;
    }
    let retired = put_back(&aside, path)?;
    is_same.map(|_| retired)
}

/// Removes the name `path` of a file that has another name. A file that another program put there
/// is not removed.
pub(super) fn remove_name(path: &Path, id: FileId) -> io::Result<()> {
    match take_name(path, id)? {
        Some(aside) => fs::remove_file(&aside),
        None => Ok(()),
    }
}

/// Renames the file at `path` to an unused name in the same directory, which is returned. If it is
/// another file than expected, it gets its name back, and `None` is returned.
fn take_name(path: &Path, id: FileId) -> io::Result<Option<PathBuf>> {
    let aside = fs::unique_beside(path, "bak");
    fs::rename(path, &aside)?;
    match fs::symlink_metadata(&aside) {
        Ok(found) if found.id == id => Ok(Some(aside)),
        found => {
            put_back(&aside, path)?;
            found.map(|_| None)
        }
    }
}

/// Returns whether a file does not change while it is watched.
fn is_unchanged(file: &File, before: WriteStamp) -> io::Result<bool> {
    let mut watched = Duration::ZERO;
    while WriteStamp::of(file)? == before {
        if watched >= QUIET {
            return Ok(true);
        }
        fs::sleep(POLL_INTERVAL);
        watched += POLL_INTERVAL;
    }
    Ok(false)
}

/// Gives the file at `aside` its old name, if that does not exist. On file systems without hard
/// links it keeps the new one, because renaming could replace a file that another program creates
/// at this moment.
fn put_back(aside: &Path, path: &Path) -> io::Result<RemovalResult> {
    let retired = match fs::hard_link(aside, path) {
        Ok(()) => {
            fs::remove_file(aside)?;
            RemovalResult::Stays
        }
        Err(_) => RemovalResult::Renamed(aside.to_owned()),
    };
    sync(path)?;
    Ok(retired)
}

/// Writes a file that no longer has a name to `path`.
fn restore(mut file: &File, path: &Path) -> io::Result<()> {
    io::Seek::rewind(&mut file)?;
    let mut new = NewFile::beside(path)?;
    io::copy(&mut file, &mut new)?;
    new.file()?.set_attributes(&file.metadata()?)?;
    // The file gets its name even if it cannot be synced, because there is no other copy.
    new.publish_replacing_unsynced()?.sync_all()
}

/// Makes the names in the directory of `path` survive a power failure.
fn sync(path: &Path) -> io::Result<()> {
    fs::sync_dir(path.parent().unwrap_or(Path::new("")))
}
