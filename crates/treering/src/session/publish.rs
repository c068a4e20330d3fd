//! Writes session files that appear complete or not at all.

use crate::error::{Error, Result};
use crate::fs::{self, NewFile};
use std::io::{self, Write};
use std::path::Path;

/// Writes a new file that appears complete or not at all.
pub(super) fn write_whole(
    target: &Path,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<()> {
    write_verified(target, write, |_| Ok(()))
}

/// Writes a file as [`write_whole`] does; it gets its name only after `verify` has accepted it.
pub(crate) fn write_verified(
    target: &Path,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    verify: impl FnOnce(&Path) -> Result<()>,
) -> Result<()> {
    if fs::exists(target) {
        return Err(Error::AlreadyExists(target.to_owned()));
    }
    let new = NewFile::beside(target).and_then(|new| new.fill(write));
    let new = new.map_err(Error::io(target, "write"))?;
    verify(new.path())?;
    new.publish().map(drop).map_err(Error::creating(target, "write"))
}
