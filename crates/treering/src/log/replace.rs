//! Replaces a file without losing what other programs append to it meanwhile.
//!
//! The old file keeps a name, as the backup: nothing that was ever written to it is gone. treering's own
//! writers wait for its lock and then find that the path leads elsewhere. Agents take no lock. What they
//! append to the old file until shortly after the exchange is copied by a [`TailCopier`].

use super::file::FileJournal;
use super::journal::{End, Journal};
use super::scan;
use crate::fs::{self, File, NewFile};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Number of times that new appends are carried over before the exchange, which ends it.
const ROUNDS: usize = 16;

/// A program that had opened the old file before the exchange may write to it a little later: the old
/// file is watched until nothing has come for this long …
const QUIET: Duration = Duration::from_millis(20);

/// … and no longer than this.
const MAX_WAIT: Duration = Duration::from_secs(1);

const POLL_INTERVAL: Duration = Duration::from_millis(2);

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

/// Fails if a file must not be replaced: one that its owner protected against writing is left alone, also
/// by a user whom permissions do not stop.
pub(crate) fn check_replaceable(old: &FileJournal) -> io::Result<()> {
    if old.file().metadata()?.is_write_protected() {
        let reason = "the file is write-protected; `chmod u+w` makes it writable";
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, reason));
    }
    Ok(())
}

/// Turns what was appended to an old log, from the given offset on, into lines of the new one. Returns
/// them, and how far the old log is taken into account with them.
pub(crate) type Take<'a> = dyn FnMut(u64) -> io::Result<(Vec<u8>, u64)> + 'a;

/// Brings over what others append to a file that is being replaced.
pub(crate) struct TailCopier<'a> {
    old: &'a FileJournal,
    /// Length of the old file that is in the new one.
    end: End,
    take: &'a mut Take<'a>,
}

impl<'a> TailCopier<'a> {
    /// Creates a copier for an `old` file of which everything up to `copied` is in the new one.
    pub(crate) fn new(
        old: &'a FileJournal,
        copied: u64,
        take: &'a mut Take<'a>,
    ) -> io::Result<Self> {
        let end = End::read(old, copied.saturating_sub(SAMPLE), copied)?;
        Ok(TailCopier { old, end, take })
    }

    /// Appends to `new` what arrived since. Returns false if nothing did.
    fn copy_new(&mut self, new: &File) -> io::Result<bool> {
        let copied = self.end.length();
        let length = self.old.len()?;
        if length < copied || !self.end.is_in(|offset, buffer| self.old.read_at(offset, buffer))? {
            return Err(io::Error::other("another program rewrote the file meanwhile"));
        }
        if length == copied {
            return Ok(false);
        }
        let from = self.skip_newline(copied)?;
        let (lines, copied) = (self.take)(from)?;
        if lines.is_empty() {
            return Ok(false); // Half a line: the rest of it is on its way.
        }
        let mut new = new;
        new.write_all(&lines)?;
        self.end = End::read(self.old, copied.saturating_sub(SAMPLE), copied)?;
        Ok(true)
    }

    /// Returns the position after the newline at `copied`, if the last line got its newline in the new
    /// file already.
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

    /// Brings over what arrives until the old file is quiet.
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

    /// Brings over what has arrived, and gives `new` the attributes of the old file.
    pub(crate) fn complete(&mut self, new: &File) -> io::Result<()> {
        for _ in 0..ROUNDS {
            if !self.copy_new(new)? {
                break;
            }
        }
        new.set_attributes(&self.old.file().metadata()?)
    }
}

/// The number of bytes that tell whether the old file was rewritten.
const SAMPLE: u64 = 256;

/// Takes whole lines as they are.
pub(crate) fn whole_lines(old: &dyn Journal, from: u64) -> io::Result<(Vec<u8>, u64)> {
    let length = usize::try_from(old.len()?.saturating_sub(from)).map_err(io::Error::other)?;
    let mut lines = vec![0; length];
    let got = scan::read_full(old, from, &mut lines)?;
    let whole = memchr::memrchr(b'\n', &lines[..got]).map_or(0, |newline| newline + 1);
    lines.truncate(whole);
    Ok((lines, from + whole as u64))
}

/// Puts `new` in the place of the file that has its name, and keeps that one, under `backup` or a name
/// like it, which is returned. The caller holds the lock of the old file.
///
/// # Errors
///
/// If the error says so, the file was replaced all the same; else nothing has changed.
pub(crate) fn replace(
    mut new: NewFile,
    mut copier: TailCopier<'_>,
    backup: PathBuf,
) -> io::Result<PathBuf> {
    copier.complete(new.file()?)?;
    new.file()?.sync_all()?;
    // Other writers of treering that find the new file wait until everything is in it. The lock is
    // released when the file is closed.
    new.file()?.try_lock().map_err(io::Error::from)?;
    let backup = keep(copier.old, new.target(), backup)?;
    let exchanged = copier.copy_new(new.file()?).and_then(|_| {
        if !copier.old.is_at(new.target()) {
            return Err(io::Error::other("another program replaced the file meanwhile"));
        }
        new.rename()
    });
    if let Err(error) = exchanged {
        let _ = fs::remove_file(&backup);
        return Err(error);
    }
    // What arrived is brought over whether or not the exchange is on disk.
    let synced = new.sync_names();
    let settled = new.file().and_then(|file| copier.settle(file));
    synced.and(settled).map(|()| backup.clone()).map_err(|error| {
        let what =
            format!("replaced, but not completely: {error}; the old file is {}", backup.display());
        io::Error::new(error.kind(), what)
    })
}

/// Gives the file at `path` a second name, so that it outlives the exchange.
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
        return Err(io::Error::other("another program replaced the file meanwhile"));
    }
}

/// Returns where files have one name only, the backup is a copy. What is written to the old file
/// later is lost with it, which is why it is watched.
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
