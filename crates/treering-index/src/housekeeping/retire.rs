//! Removes a file whose content is elsewhere, or that the user does not want any more.
//!
//! Agents take no lock. Until the very end one may write to the file or put another one in its place, and
//! the system cannot remove a file only if nothing was written to it. The file therefore gets another name
//! first, is watched for a while, and goes only if it is still the same.

use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};
use treering::internal::fs::{self, File, FileId, NewFile};

/// A program that opened the file before it lost its name may write to it a little later: the file is
/// watched for this long.
const QUIET: Duration = Duration::from_millis(20);

const POLL_INTERVAL: Duration = Duration::from_millis(2);

/// The parts of a file's metadata that every write changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Written {
    pub(super) len: u64,
    modified: SystemTime,
}

impl Written {
    pub(super) fn of(file: &File) -> io::Result<Self> {
        let metadata = file.metadata()?;
        Ok(Written { len: metadata.len, modified: metadata.modified })
    }
}

/// The result of a removal.
#[derive(Debug)]
pub(super) enum Retired {
    /// It is gone; it may come back after a power failure if its directory could not be synced.
    Gone(io::Result<()>),
    /// It changed, and is where it was.
    Stays,
    /// It changed, and has this name now: another program created a file with the old name.
    Renamed(PathBuf),
}

/// Removes `file` from `path`, unless it was written to since it was `before`, or something else is at
/// `path` now. On an error it is where it was, or beside it under a name that ends in `.bak`.
pub(super) fn remove(path: &Path, file: &File, before: Written) -> io::Result<Retired> {
    if Written::of(file)? != before {
        return Ok(Retired::Stays);
    }
    let Some(aside) = take_name(path, file.metadata()?.id)? else { return Ok(Retired::Stays) };
    let is_same = is_unchanged(file, before);
    if is_same.as_ref().is_ok_and(|is_same| *is_same) {
        if let Err(error) = fs::remove_file(&aside) {
            put_back(&aside, path)?;
            return Err(error);
        }
        // The last moment to write was between the last look and the removal.
        if Written::of(file)? == before {
            return Ok(Retired::Gone(sync(path)));
        }
        restore(file, &aside)?;
    }
    let retired = put_back(&aside, path)?;
    is_same.map(|_| retired)
}

/// Removes the name `path` of a file that has another one. A file that another program put there stays.
pub(super) fn remove_name(path: &Path, id: FileId) -> io::Result<()> {
    match take_name(path, id)? {
        Some(aside) => fs::remove_file(&aside),
        None => Ok(()),
    }
}

/// Gives the file at `path` a name beside it that nothing else has, and returns that name. If it is
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

/// Returns whether nothing is written to a file while it is watched.
fn is_unchanged(file: &File, before: Written) -> io::Result<bool> {
    let mut watched = Duration::ZERO;
    while Written::of(file)? == before {
        if watched >= QUIET {
            return Ok(true);
        }
        fs::sleep(POLL_INTERVAL);
        watched += POLL_INTERVAL;
    }
    Ok(false)
}

/// Gives the file at `aside` its old name, if nothing has that. Where there are no links it keeps the new
/// one: renaming could replace a file that another program creates at this moment.
fn put_back(aside: &Path, path: &Path) -> io::Result<Retired> {
    let retired = match fs::hard_link(aside, path) {
        Ok(()) => {
            fs::remove_file(aside)?;
            Retired::Stays
        }
        Err(_) => Retired::Renamed(aside.to_owned()),
    };
    sync(path)?;
    Ok(retired)
}

/// Writes a file that has no name any more to `path`.
fn restore(mut file: &File, path: &Path) -> io::Result<()> {
    io::Seek::rewind(&mut file)?;
    let mut new = NewFile::beside(path)?;
    io::copy(&mut file, &mut new)?;
    new.file()?.set_attributes(&file.metadata()?)?;
    // It has its name even if it cannot be synced: there is no other copy.
    new.publish_replacing_unsynced()?.sync_all()
}

/// Makes the names beside `path` survive a power failure.
fn sync(path: &Path) -> io::Result<()> {
    fs::sync_dir(path.parent().unwrap_or(Path::new("")))
}
