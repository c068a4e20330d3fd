//! Another project for a session: its file with another directory in the header.
//!
//! The header changes in one member; every other byte is copied. All of it happens under the file's lock,
//! and the old name is given up only when the new file is complete: who appends meanwhile waits, and then
//! finds that the file is gone. Nothing can land in the old file after it was copied.

use super::state::{Opened, storage};
use super::{absolute, filled, write_whole};
use crate::dialect::Dialect;
use crate::error::{Error, Result};
use crate::fs::{self, NewFile};
use crate::header::VERSION;
use crate::json;
use crate::load::Loaded;
use crate::log::{Journal, free, lock, replace};
use crate::migrate::{self, with_head_member};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Gives the session at `path` to the project `cwd`, as the file `target`. What becomes of the old file
/// is up to `retire`, which must make its name go; if it fails the new file is removed again. Where
/// `target` is `path` itself, the file is replaced, nothing is retired, and where the old one is kept is
/// returned.
///
/// Only for sessions of pi and oh-my-pi, whose headers say where they belong; those of an older version
/// are upgraded on the way.
///
/// ```
/// # let dir = tempfile::tempdir()?;
/// let (old, new) = (dir.path().join("old.jsonl"), dir.path().join("new.jsonl"));
/// let session = treering::Session::create_at(&old, "/from", Default::default())?;
/// session.append(treering::Message::user("hello"))?;
/// treering::relocate(&old, "/to", &new, |old| std::fs::remove_file(old))?;
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
    let cwd = absolute(cwd.as_ref());
    let opened = Opened::at(path)?;
    opened.check()?;
    let _lock = lock(opened.file.file()).map_err(|error| storage(error, path))?;
    if !opened.file.is_at(path) {
        return Err(Error::Deleted(path.to_owned()));
    }
    // What was appended before the lock was ours belongs to it.
    let journal: &dyn Journal = &*opened.file;
    let loaded = Loaded::read(journal).map_err(|error| error.at(Some(path)))?;
    let write = |out: &mut dyn Write| write_moved(journal, &loaded, &cwd.to_string_lossy(), out);
    if absolute(path) == absolute(target) {
        return in_place(path, write).map(Some).map_err(Error::io(path, "replace"));
    }
    write_whole(target, write)?;
    if let Err(error) = retire(path) {
        let _ = fs::remove_file(target);
        return Err(Error::io(path, "give up")(error));
    }
    Ok(None)
}

impl Opened {
    /// Whether this is a session whose header may be changed.
    fn check(&self) -> Result<()> {
        let dialect = self.loaded.dialect;
        if self.file.is_packed() || !matches!(dialect, Dialect::Pi | Dialect::Omp) {
            return Err(Error::ReadOnlyDialect(dialect));
        }
        self.loaded.header.as_ref().map_or(Ok(()), |header| header.check_writable(dialect))
    }
}

fn write_moved(
    journal: &dyn Journal,
    loaded: &Loaded,
    cwd: &str,
    out: &mut dyn Write,
) -> io::Result<()> {
    let header = loaded.header.as_ref().map_or(&b"{}"[..], |header| header.raw());
    let mut header = with_head_member(header, "cwd", &json::quoted(cwd));
    if migrate::is_due(loaded) {
        header = with_head_member(&header, "version", VERSION.to_string().as_bytes());
    }
    migrate::copy(journal, loaded, &header, out)
}

fn in_place(
    path: &Path,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<PathBuf> {
    // A link to the session must stay one.
    let path = &fs::canonicalize(path)?;
    let new = filled(NewFile::beside(path)?, write)?;
    let backup = free(fs::beside(path, ".bak"));
    replace(new, &backup)?;
    Ok(backup)
}
