//! The user's trash, from which files can be restored.
//!
//! On Linux and similar systems it follows the FreeDesktop specification: the file is in `files`,
//! its original path and the time in `info`. On macOS it is a directory without such notes. On
//! other systems there is none.

use super::retire;
use crate::record::path_from;
use std::cmp::Reverse;
use std::ffi::OsString;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use treering::dialect::SessionNames;
use treering::internal::fs::{self, Access, NewFile};

/// The maximum number of files with the same name in the trash.
const MAX_SAME_NAME: usize = 10_000;

/// A trash directory.
#[derive(Debug, Clone)]
pub struct Trash {
    files: PathBuf,
    /// The directory of the notes about the files.
    info: Option<PathBuf>,
}

/// A session file in the trash.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct TrashedFile {
    /// The path in the trash.
    pub path: PathBuf,
    /// The original path; `None` if the trash has no note about it, or one that cannot be read.
    pub origin: Option<PathBuf>,
    /// The time at which the file was moved to the trash, in Unix milliseconds, according to its
    /// note.
    pub deleted: Option<i64>,
    note: Option<PathBuf>,
}

/// The maximum size of a note that is read.
const MAX_NOTE: u64 = 64 * 1024;

impl Trash {
    /// Returns the user's trash. `var` returns the value of an environment variable.
    pub fn from_env(var: impl Fn(&str) -> Option<OsString>) -> io::Result<Self> {
        let set = |name: &str| var(name).filter(|value| !value.is_empty());
        let home = set("HOME").map(PathBuf::from);
        if cfg!(target_os = "macos") {
            let files = home.map(|home| home.join(".Trash"));
            let files = files.ok_or_else(|| none("HOME is not set"))?;
            return Ok(Trash { files, info: None });
        }
        if cfg!(windows) {
            return Err(none("there is no trash that can be used here"));
        }
        let data = set("XDG_DATA_HOME").map(PathBuf::from).filter(|dir| dir.is_absolute());
        let data = data.or_else(|| Some(home?.join(".local/share")));
        let trash = data.ok_or_else(|| none("HOME is not set"))?.join("Trash");
        Ok(Trash { files: trash.join("files"), info: Some(trash.join("info")) })
    }

    /// Moves a file to the trash and returns its new path. `now` is in Unix milliseconds.
    pub fn take(&self, path: &Path, now: i64) -> io::Result<PathBuf> {
        for dir in std::iter::once(&self.files).chain(&self.info) {
            fs::create_private_dir(dir)?.iter().try_for_each(|dir| fs::sync_dir(dir))?;
        }
        // If the name is a symbolic link, the link is moved, not its target.
        let name = path.file_name().ok_or_else(|| none("it has no name"))?;
        let dir = path.parent().filter(|dir| !dir.as_os_str().is_empty());
        let path = fs::canonicalize(dir.unwrap_or(Path::new(".")))?.join(name);
        let (target, note) = self.reserve(&path, now)?;
        move_file(&path, &target).inspect_err(|_| {
            let _ = note.map(|note| fs::remove_file(&note));
        })?;
        Ok(target)
    }

    /// Returns the files in the trash whose names are those of sessions, the last deleted first.
    ///
    /// # Errors
    ///
    /// Fails if the trash cannot be read. A trash that does not exist is empty.
    pub fn sessions(&self) -> io::Result<Vec<TrashedFile>> {
        let entries = match std::fs::read_dir(&self.files) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries?,
        };
        let mut found = Vec::new();
        for entry in entries {
            let file = self.look_up(entry?.path());
            let named = file.origin.as_deref().unwrap_or(&file.path);
            if SessionNames::ANY.has(named.file_name().unwrap_or_default().as_encoded_bytes())
                && file.path.is_file()
            {
                found.push(file);
            }
        }
        found.sort_by(|a, b| (Reverse(a.deleted), &a.path).cmp(&(Reverse(b.deleted), &b.path)));
        Ok(found)
    }

    /// Returns a file of the trash with the content of its note.
    fn look_up(&self, path: PathBuf) -> TrashedFile {
        let note = self.info.as_ref().zip(path.file_name()).map(|(info, name)| {
            let mut name = name.to_owned();
            name.push(".trashinfo");
            info.join(name)
        });
        let text = note.as_ref().and_then(|note| fs::read_text(note, MAX_NOTE).ok());
        let field = |key: &str| text.as_ref()?.lines().find_map(|line| line.strip_prefix(key));
        let origin = field("Path=").and_then(decode).filter(|path| path.is_absolute());
        let deleted = field("DeletionDate=").and_then(|time| treering::time::parse(time.trim()));
        TrashedFile { path, origin, deleted, note }
    }

    /// Moves a file of the trash to `target`, which must not exist. Missing directories are
    /// created.
    ///
    /// # Errors
    ///
    /// Fails with [`io::ErrorKind::AlreadyExists`] if `target` exists; the file then stays in the
    /// trash.
    pub fn restore(&self, file: &TrashedFile, target: &Path) -> io::Result<()> {
        if let Some(dir) = target.parent().filter(|dir| !dir.as_os_str().is_empty()) {
            fs::create_private_dir(dir)?.iter().try_for_each(|dir| fs::sync_dir(dir))?;
        }
        match fs::hard_link(&file.path, target) {
            Ok(()) => {
                fs::sync_dir(target.parent().unwrap_or(Path::new("")))?;
                retire::remove_name(&file.path, fs::symlink_metadata(target)?.id)?;
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Err(error),
            // This is another file system, or one without hard links. A rename could replace a
            // file.
            Err(_) => copy(&file.path, target)?,
        }
        fs::sync_dir(&self.files)?;
        // A note without its file is useless, and the session is restored in any case.
        if let Some(note) = &file.note {
            let _ = fs::remove_file(note);
        }
        Ok(())
    }

    /// Returns an unused name, and its note, which reserves the name.
    fn reserve(&self, path: &Path, now: i64) -> io::Result<(PathBuf, Option<PathBuf>)> {
        let name = path.file_name().unwrap_or_default();
        for attempt in 1..=MAX_SAME_NAME {
            let mut free = name.to_owned();
            if attempt > 1 {
                free.push(format!(".{attempt}"));
            }
            let target = self.files.join(&free);
            if fs::exists(&target) {
                continue;
            }
            let Some(info) = &self.info else { return Ok((target, None)) };
            free.push(".trashinfo");
            let note = info.join(free);
            let mut file = NewFile::beside(&note)?;
            file.write_all(describe(path, now).as_bytes())?;
            match file.publish() {
                Ok(_) => return Ok((target, Some(note))),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
        Err(none("it has too many files of that name"))
    }
}

fn none(why: &str) -> io::Error {
    io::Error::other(why)
}

/// Returns a note with the original path and the time of deletion. The time should be local, but
/// the time zone is not known.
fn describe(path: &Path, now: i64) -> String {
    let mut encoded = String::new();
    for &byte in path.as_os_str().as_encoded_bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' | b'/' => {
                encoded.push(char::from(byte));
            }
            _ => encoded.push_str(&format!("%{byte:02X}")),
        }
    }
    let time = treering::time::format(now);
    let time = time.get(..19).unwrap_or(&time);
    format!("[Trash Info]\nPath={encoded}\nDeletionDate={time}\n")
}

/// Returns the path in a note, which is percent-encoded.
fn decode(text: &str) -> Option<PathBuf> {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        rest = after;
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let (digits, after) = rest.split_at_checked(2)?;
        bytes.push(u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?);
        rest = after;
    }
    path_from(&bytes)
}

/// Moves a file to an unused name, also to another file system: then the copy is complete before
/// the file is removed.
fn move_file(path: &Path, target: &Path) -> io::Result<()> {
    match fs::hard_link(path, target) {
        Ok(()) => {
            fs::sync_dir(target.parent().unwrap_or(Path::new("")))?;
            retire::remove_name(path, fs::symlink_metadata(target)?.id)
        }
        Err(error) if error.kind() == io::ErrorKind::CrossesDevices => copy(path, target),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(error),
        // The file system has no hard links.
        Err(_) => match fs::rename(path, target) {
            Err(error) if error.kind() == io::ErrorKind::CrossesDevices => copy(path, target),
            renamed => renamed,
        },
    }?;
    fs::sync_dir(path.parent().unwrap_or(Path::new("")))
}

fn copy(path: &Path, target: &Path) -> io::Result<()> {
    let mut source = fs::open(path, Access::Read)?;
    let mut new = NewFile::beside(target)?;
    io::copy(&mut source, &mut new)?;
    new.file()?.set_modified(source.metadata()?.modified)?;
    new.publish()?;
    retire::remove_name(path, source.metadata()?.id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_one_name_all_find_room_and_can_come_back() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        let trash = Trash { files: at("T/files"), info: Some(at("T/info")) };
        let path = at("a b%.jsonl");
        for text in ["one", "two", "three"] {
            std::fs::write(&path, text).unwrap();
            let target = trash.take(&path, 0).unwrap();
            assert_eq!(std::fs::read_to_string(&target).unwrap(), text);
            assert!(!path.exists());
        }
        let note = std::fs::read_to_string(at("T/info/a b%.jsonl.2.trashinfo")).unwrap();
        let dir = dir.path().canonicalize().unwrap();
        let expected =
            format!("[Trash Info]\nPath={}/a%20b%25.jsonl\nDeletionDate=", dir.display());
        assert!(note.starts_with(&expected), "{note}");
    }

    #[cfg(unix)]
    #[test]
    fn sessions_are_listed_and_put_back_and_nothing_is_replaced() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        let trash = Trash { files: at("T/files"), info: Some(at("T/info")) };
        assert_eq!(trash.sessions().unwrap(), [], "no trash");
        let path = at("p/a b%é.jsonl");
        for (text, hour) in [("one", 9), ("two", 10)] {
            std::fs::create_dir_all(at("p")).unwrap();
            std::fs::write(&path, text).unwrap();
            trash.take(&path, hour * 3_600_000).unwrap();
        }
        std::fs::write(at("p/notes.txt"), "no session").unwrap();
        trash.take(&at("p/notes.txt"), 0).unwrap();
        std::fs::write(at("T/files/bare.jsonl"), "").unwrap();
        std::fs::write(at("T/info/bare.jsonl.trashinfo"), "Path=relative%zz\nDeletionDate=x")
            .unwrap();
        std::fs::remove_dir_all(at("p")).unwrap();

        let found = trash.sessions().unwrap();
        let origin = dir.path().canonicalize().unwrap().join("p/a b%é.jsonl");
        let deleted: Vec<_> = found.iter().map(|file| file.deleted).collect();
        assert_eq!(deleted, [Some(10 * 3_600_000), Some(9 * 3_600_000), None]);
        assert_eq!(found[2].origin, None);
        trash.restore(&found[0], found[0].origin.as_ref().unwrap()).unwrap();
        assert_eq!(std::fs::read_to_string(&origin).unwrap(), "two");
        let error = trash.restore(&found[1], &origin).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(std::fs::read_to_string(&origin).unwrap(), "two");
        assert_eq!(trash.sessions().unwrap(), found[1..]);
        trash.restore(&found[1], &at("other.jsonl")).unwrap();
        assert_eq!(std::fs::read_dir(at("T/info")).unwrap().count(), 2, "of the other two files");
    }

    #[test]
    fn a_copy_is_whole_before_the_file_goes_and_replaces_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        std::fs::write(at("a"), "text").unwrap();
        std::fs::write(at("taken"), "other").unwrap();
        for move_to in [copy, move_file] {
            let error = move_to(&at("a"), &at("taken")).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::AlreadyExists);
        }
        copy(&at("a"), &at("b")).unwrap();
        assert!(!at("a").exists());
        assert_eq!(std::fs::read(at("b")).unwrap(), b"text");
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 2, "nothing is left over");
    }

    #[test]
    fn a_file_that_is_not_there_leaves_no_note() {
        let dir = tempfile::tempdir().unwrap();
        let info = dir.path().join("info");
        let trash = Trash { files: dir.path().join("files"), info: Some(info.clone()) };
        assert!(trash.take(&dir.path().join("nothing"), 0).is_err());
        assert_eq!(std::fs::read_dir(info).unwrap().count(), 0);
    }
}
