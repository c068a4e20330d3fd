//! Moves a session to another project: rewrites its file with another directory in the header.
//!
//! The header changes in one member; every other byte is copied. This happens under the file's
//! lock, and the old name is removed only when the new file is complete: a treering writer that
//! appends meanwhile waits, and then finds that the file is gone. Lines that agents, which take no
//! lock, append to the old file meanwhile are copied.

use super::state::{OpenedSession, storage};
use crate::error::{Error, Result};
use crate::fs::{self, NewFile};
use crate::header::VERSION;
use crate::json::{self, with_head_member};
use crate::load::Loaded;
use crate::log::{FileJournal, TailCopier, check_replaceable, lock, replace};
use crate::migrate;
use std::io;
use std::path::{Path, PathBuf};

/// Moves the session at `path` to the project `cwd`, as the file `target`. `retire` removes or
/// renames the old file; if it fails, the new file is removed again. If `target` is `path` itself,
/// the file is replaced, `retire` is not called, and the path at which the old file was kept is
/// returned.
///
/// This works only for sessions of pi and oh-my-pi, whose headers name their project. A session of
/// an older version is upgraded.
///
/// # Errors
///
/// Fails with [`Error::ReadOnlyDialect`] for other sessions and for archives, with
/// [`Error::AlreadyExists`] if there is a file at `target`, and with the error of `retire`.
///
/// ```
/// # let dir = tempfile::tempdir()?;
/// let (old, new) = (dir.path().join("old.jsonl"), dir.path().join("new.jsonl"));
/// let session = treering::Session::create_at(&old, "/from", Default::default())?;
/// session.append(treering::Message::user("hello"))?;
/// treering::session::relocate(&old, "/to", &new, |old| std::fs::remove_file(old))?;
/// assert_eq!(treering::Session::open(&new)?.cwd(), "/to");
/// assert!(!old.exists());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn relocate(
    path: impl AsRef<Path>,
    cwd: impl AsRef<Path>,
    target: impl AsRef<Path>,
    retire: impl FnOnce(&Path) -> io::Result<()>,
) -> Result<Option<PathBuf>> {
    let (path, target) = (path.as_ref(), target.as_ref());
    let cwd = fs::absolute(cwd.as_ref());
    let opened = OpenedSession::at(path)?;
    opened.check()?;
    let _lock = lock(opened.file.file()).map_err(|error| storage(error, path))?;
    if !opened.file.is_at(path) {
        return Err(Error::Deleted(path.to_owned()));
    }
    let file = &*opened.file;
    // Entries that were appended before the lock was taken must be copied as well.
    let loaded = Loaded::read(file).map_err(|error| error.at(Some(path)))?;
    let cwd = cwd.to_string_lossy();
    if fs::absolute(path) == fs::absolute(target) {
        return in_place(path, file, &loaded, &cwd).map(Some).map_err(Error::io(path, "replace"));
    }
    if fs::exists(target) {
        return Err(Error::AlreadyExists(target.to_owned()));
    }
    let (new, copied) = moved(target, file, &loaded, &cwd).map_err(Error::io(target, "write"))?;
    let mut take = |from| migrate::copy_rest(file, from);
    let carrier = TailCopier::new(file, copied, &mut take);
    let mut carrier = carrier.map_err(Error::io(path, "read"))?;
    let published = new.file().and_then(|file| carrier.complete(file)).and_then(|()| new.publish());
    let new = published.map_err(Error::creating(target, "write"))?;
    // Other treering writers that open the new file wait until it is complete. The lock is released
    // when the file is closed; no other process can hold it.
    let _ = new.try_lock();
    if let Err(error) = retire(path) {
        let _ = fs::remove_file(target);
        return Err(Error::io(path, "remove")(error));
    }
    carrier.settle(&new).map_err(Error::io(target, "carry over the latest appends of"))?;
    Ok(None)
}

impl OpenedSession {
    /// Fails if the header of the session must not be changed.
    fn check(&self) -> Result<()> {
        let dialect = self.loaded.dialect;
        if self.file.is_packed() || !dialect.facts().has_own_header {
            return Err(Error::ReadOnlyDialect(dialect));
        }
        self.loaded.header.as_ref().map_or(Ok(()), |header| dialect.check_writable(header))
    }
}

/// Writes the session with another project in its header. Returns the file, and the offset up to
/// which the old one was copied.
fn moved(
    target: &Path,
    file: &FileJournal,
    loaded: &Loaded,
    cwd: &str,
) -> io::Result<(NewFile, u64)> {
    let header = loaded.header.as_ref().map_or(&b"{}"[..], |header| header.raw());
    let mut header = with_head_member(header, "cwd", &json::quoted(cwd));
    if migrate::is_due(loaded) {
        header = with_head_member(&header, "version", VERSION.to_string().as_bytes());
    }
    let mut copied = 0;
    let new = NewFile::beside(target)?.fill(|out| {
        copied = migrate::copy(file, loaded, &header, out)?;
        Ok(())
    })?;
    Ok((new, copied))
}

fn in_place(path: &Path, file: &FileJournal, loaded: &Loaded, cwd: &str) -> io::Result<PathBuf> {
    check_replaceable(file)?;
    // A symbolic link to the session must stay a link.
    let path = &fs::canonicalize(path)?;
    let (new, copied) = moved(path, file, loaded, cwd)?;
    let mut take = |from| migrate::copy_rest(file, from);
    replace(new, TailCopier::new(file, copied, &mut take)?, fs::beside(path, ".bak"))
}
