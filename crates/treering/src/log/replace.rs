//! Replaces a file without losing the lines that other programs append to it meanwhile.
//!
//! The old file is kept as the backup, so nothing that was ever written to it is lost. treering's
//! own writers wait for its lock and then find that the path names another file. Agents take no
//! lock. The lines that they append to the old file until shortly after the exchange are copied by
//! a [`TailCopier`].

use super::file::FileJournal;
use super::journal::{End, Journal};
use super::scan;
use crate::fs::{self, File, NewFile};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The maximum number of times that new appends are copied before the exchange.
const ROUNDS: usize = 16;

/// The time without an append after which the old file is no longer watched: a program that opened
/// it before the exchange may write to it a little later.
const QUIET: Duration = Duration::from_millis(20);

/// The maximum time for which the old file is watched.
const MAX_WAIT: Duration = Duration::from_secs(1);

const POLL_INTERVAL: Duration = Duration::from_millis(2);

/// Returns the first path of this name, or of this name with a number, that does not exist.
pub(crate) fn free(path: PathBuf) -> PathBuf {
    let mut free = path.clone();
    let mut attempt = 2;
    while fs::exists(&free) {
        free = fs::beside(&path, format!(".{attempt}"));
        attempt += 1;
    }
    free
}

/// Fails if a file must not be replaced: a file that its owner protected against writing is not
/// replaced, even if the user's permissions would allow it.
pub(crate) fn check_replaceable(old: &FileJournal) -> io::Result<()> {
    if old.file().metadata()?.is_write_protected() {
        let reason = "the file is write-protected; `chmod u+w` makes it writable";
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, reason));
    }
    Ok(())
}

/// Converts the bytes that were appended to an old log, from the given offset on, to lines of the
/// new one. Returns the lines, and the offset in the old log up to which they cover it.
pub(crate) type TailConverter<'a> = dyn FnMut(u64) -> io::Result<(Vec<u8>, u64)> + 'a;

/// Copies what other programs append to a file that is being replaced.
pub(crate) struct TailCopier<'a> {
    old: &'a FileJournal,
    /// The end of the part of the old file that is in the new one.
    end: End,
    take: &'a mut TailConverter<'a>,
}

impl<'a> TailCopier<'a> {
    /// Creates a copier for an `old` file whose content up to `copied` is in the new one.
    pub(crate) fn new(
        old: &'a FileJournal,
        copied: u64,
        take: &'a mut TailConverter<'a>,
    ) -> io::Result<Self> {
        let end = End::read(old, copied.saturating_sub(SAMPLE), copied)?;
        Ok(TailCopier { old, end, take })
    }

    /// Appends new lines of the old file to `new`. Returns false if there were none.
    fn copy_new(&mut self, new: &File) -> io::Result<bool> {
        let copied = self.end.length();
        let length = self.old.len()?;
        if length < copied || !self.end.is_in(|offset, buffer| self.old.read_at(offset, buffer))? {
            return Err(io::Error::other("another program rewrote the file in the meantime"));
        }
        if length == copied {
            return Ok(false);
        }
        let from = self.skip_newline(copied)?;
        let (lines, copied) = (self.take)(from)?;
        if lines.is_empty() {
            return Ok(false); // Half a line: the rest will follow.
        }
        let mut new = new;
        new.write_all(&lines)?;
        self.end = End::read(self.old, copied.saturating_sub(SAMPLE), copied)?;
        Ok(true)
    }

    /// Returns the offset after the newline at `copied`, if the last line already got its newline
    /// in the new file.
    fn skip_newline(&self, copied: u64) -> io::Result<u64> {
        let mut around = [0; 2];
        let start = copied.saturating_sub(1);
        let got = scan::read_full(self.old, start, &mut around)?;
        match around {
            [_, _] if copied == 0 || got < 2 => Ok(copied),
            [b'\n', _] => Ok(copied),
            [_, b'\n'] => Ok(copied + 1),
            _ => Err(io::Error::other("another program is writing to the file")),
        }
    }

    /// Copies new lines until there have been none for a while.
    pub(crate) fn settle(&mut self, new: &File) -> io::Result<()> {
        let (mut quiet, mut waited) = (Duration::ZERO, Duration::ZERO);
        let mut brought = self.copy_new(new)?;
        while quiet < QUIET && waited < MAX_WAIT {
            fs::sleep(POLL_INTERVAL);
            waited += POLL_INTERVAL;
            let arrived = self.copy_new(new)?;
            brought |= arrived;
            quiet = if arrived { Duration::ZERO } else { quiet + POLL_INTERVAL };
        }
        if brought { new.sync_data() } else { Ok(()) }
    }

    /// Copies all new lines, and gives `new` the attributes of the old file.
    pub(crate) fn complete(&mut self, new: &File) -> io::Result<()> {
        for _ in 0..ROUNDS {
            if !self.copy_new(new)? {
                break;
            }
        }
        new.set_attributes(&self.old.file().metadata()?)
    }
}

/// The number of bytes that are compared to detect that the old file was rewritten.
const SAMPLE: u64 = 256;

/// Returns the complete lines of an old log, unchanged.
pub(crate) fn whole_lines(old: &dyn Journal, from: u64) -> io::Result<(Vec<u8>, u64)> {
    let length = usize::try_from(old.len()?.saturating_sub(from)).map_err(io::Error::other)?;
    let mut lines = vec![0; length];
    let got = scan::read_full(old, from, &mut lines)?;
    let whole = memchr::memrchr(b'\n', &lines[..got]).map_or(0, |newline| newline + 1);
    lines.truncate(whole);
    Ok((lines, from + whole as u64))
}

/// Replaces the file that has the name of `new`, and keeps the old one under `backup` or a similar
/// name, which is returned. The caller holds the lock of the old file.
///
/// # Errors
///
/// If the error says so, the file was replaced despite the error; otherwise nothing has changed.
pub(crate) fn replace(
    mut new: NewFile,
    mut copier: TailCopier<'_>,
    backup: PathBuf,
) -> io::Result<PathBuf> {
    copier.complete(new.file()?)?;
    new.file()?.sync_all()?;
    // Other treering writers that open the new file wait until it is complete. The lock is released
    // when the file is closed.
    new.file()?.try_lock().map_err(io::Error::from)?;
    let backup = keep(copier.old, new.target(), backup)?;
    let exchanged = copier.copy_new(new.file()?).and_then(|_| {
        if !copier.old.is_at(new.target()) {
            return Err(io::Error::other("another program replaced the file in the meantime"));
        }
        new.rename()
    });
    if let Err(error) = exchanged {
        let _ = fs::remove_file(&backup);
        return Err(error);
    }
    // The new lines are copied even if the exchange could not be synced to disk.
    let synced = new.sync_names();
    let settled = new.file().and_then(|file| copier.settle(file));
    synced.and(settled).map(|()| backup.clone()).map_err(|error| {
        let what =
            format!("replaced, but not completely: {error}; the old file is {}", backup.display());
        io::Error::new(error.kind(), what)
    })
}

/// Gives the file at `path` a second name, so that it survives the exchange.
fn keep(old: &FileJournal, path: &Path, backup: PathBuf) -> io::Result<PathBuf> {
    loop {
        let name = free(backup.clone());
        match fs::hard_link(path, &name) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
            Err(error) if fs::is_linkless(&error) => return copy(old, name),
            linked => linked?,
        }
        if old.is_at(&name) {
            return Ok(name);
        }
        fs::remove_file(&name)?;
        return Err(io::Error::other("another program replaced the file in the meantime"));
    }
}

/// Returns the name of a copy of the old file, for file systems without hard links. Later writes to
/// the old file are lost with it, which is why it is watched.
fn copy(old: &FileJournal, name: PathBuf) -> io::Result<PathBuf> {
    let mut new = NewFile::beside(&name)?;
    let mut buffer = vec![0; 1 << 18];
    let mut at = 0;
    loop {
        match scan::read_full(old, at, &mut buffer)? {
            0 => break,
            got => {
                new.write_all(&buffer[..got])?;
                at += got as u64;
            }
        }
    }
    new.file()?.set_attributes(&old.file().metadata()?)?;
    new.publish()?;
    Ok(name)
}
