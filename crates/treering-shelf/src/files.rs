//! The session files in places, and what their file system says about them.
//!
//! Directories are looked through to a depth, each once: links may lead anywhere, also back. What
//! subagents wrote is part of the session that started them and stands in directories of its own.

use crate::places::Place;
use std::collections::HashSet;
use std::ffi::OsStr;
use std::fs::{DirEntry, Metadata};
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// What tells whether a file is still the one it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Stamp {
    pub(crate) size: u64,
    /// When it was last written to, in Unix nanoseconds.
    pub(crate) modified: i64,
    pub(crate) device: u64,
    pub(crate) inode: u64,
}

impl Stamp {
    /// What a file system says about a file.
    pub fn of(metadata: &Metadata) -> Self {
        let (device, inode) = identity(metadata);
        let modified = metadata.modified().map_or(0, unix_nanos);
        Stamp { size: metadata.len(), modified, device, inode }
    }
}

pub(crate) fn unix_nanos(time: SystemTime) -> i64 {
    let nanos = |duration: std::time::Duration| i64::try_from(duration.as_nanos());
    match time.duration_since(SystemTime::UNIX_EPOCH) {
        Ok(since) => nanos(since).unwrap_or(i64::MAX),
        Err(before) => nanos(before.duration()).map_or(i64::MIN, |nanos| -nanos),
    }
}

#[cfg(unix)]
fn identity(metadata: &Metadata) -> (u64, u64) {
    use std::os::unix::fs::MetadataExt;
    (metadata.dev(), metadata.ino())
}

#[cfg(not(unix))]
fn identity(_: &Metadata) -> (u64, u64) {
    (0, 0)
}

/// A file that is a session by name.
#[derive(Debug, Clone)]
pub(crate) struct Found {
    pub(crate) path: PathBuf,
    pub(crate) stamp: Stamp,
}

/// What was found, and directories that could not be read.
#[derive(Debug, Default)]
pub(crate) struct Files {
    pub(crate) found: Vec<Found>,
    pub(crate) unreadable: Vec<(PathBuf, io::Error)>,
    /// What treering itself left unfinished.
    pub(crate) leftovers: Vec<PathBuf>,
    /// Directories and files met before, by what the file system calls them.
    seen: HashSet<(u64, u64)>,
}

impl Files {
    /// All session files in these places, the newest first.
    pub(crate) fn of<'a>(places: impl IntoIterator<Item = &'a Place>) -> Self {
        let mut files = Files::default();
        for place in places {
            files.look_through(place);
        }
        files.found.sort_by_key(|file| std::cmp::Reverse(file.stamp.modified));
        files
    }

    fn look_through(&mut self, place: &Place) {
        let mut rest = vec![(place.dir.clone(), place.depth)];
        while let Some((dir, depth)) = rest.pop() {
            let below = match self.look_into(&dir) {
                Ok(below) => below,
                // It was never there, or is not any more.
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                Err(error) => {
                    self.unreadable.push((dir, error));
                    continue;
                }
            };
            if let Some(depth) = depth.checked_sub(1) {
                rest.extend(below.into_iter().map(|dir| (dir, depth)));
            }
        }
    }

    /// Notes the files in a directory, and returns the directories in it.
    fn look_into(&mut self, dir: &Path) -> io::Result<Vec<PathBuf>> {
        if !self.is_new(&std::fs::metadata(dir)?) {
            return Ok(Vec::new());
        }
        let mut entries: Vec<DirEntry> = std::fs::read_dir(dir)?.flatten().collect();
        entries.sort_by_cached_key(DirEntry::file_name);
        let mut below = Vec::new();
        for entry in entries {
            let (path, name) = (entry.path(), entry.file_name());
            let Ok(kind) = entry.file_type() else { continue };
            if is_session_name(&name) {
                let metadata = if kind.is_file() { entry.metadata() } else { path.metadata() };
                if let Ok(metadata) = metadata
                    && metadata.is_file()
                    && self.is_new(&metadata)
                {
                    self.found.push(Found { path, stamp: Stamp::of(&metadata) });
                }
            } else if kind.is_file() && is_leftover_name(&name) {
                self.leftovers.push(path);
            } else if name != "subagents" && (kind.is_dir() || kind.is_symlink() && path.is_dir()) {
                below.push(path);
            }
        }
        Ok(below)
    }

    fn is_new(&mut self, metadata: &Metadata) -> bool {
        match identity(metadata) {
            // Nothing to tell them apart by.
            (_, 0) => true,
            identity => self.seen.insert(identity),
        }
    }
}

fn is_session_name(name: &OsStr) -> bool {
    let name = name.as_encoded_bytes();
    name.ends_with(b".jsonl") || name.ends_with(b".jsonl.zst")
}

/// Whether treering calls files so that it has not finished yet: `NAME.jsonl`, what is being done, `.tmp`.
/// Plain `NAME.jsonl.tmp` is none of these: others use it, too.
pub(crate) fn is_leftover_name(name: &OsStr) -> bool {
    const DOING: [&str; 7] =
        ["upgrade", "repair", "converting", "moving", "archive", "zst.archive", "unarchive"];
    let Some(name) = name.to_str().and_then(|name| name.strip_suffix(".tmp")) else { return false };
    let Some((_, doing)) = name.rsplit_once(".jsonl.") else { return false };
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let is_numbered = |text: &str| {
        text.split_once('-').is_some_and(|(process, count)| is_number(process) && is_number(count))
    };
    let is_random = |text: &str| {
        let digits = text.rsplit('.').next().unwrap_or(text);
        digits.len() == 32 && digits.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
    };
    DOING.contains(&doing) || is_numbered(doing) || is_random(doing)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_our_own_unfinished_files_are_leftovers() {
        let is = |name: &str| is_leftover_name(OsStr::new(name));
        let random = "0123456789abcdef".repeat(2);
        let new = [format!("a.jsonl.{random}.tmp"), format!("a.jsonl.zst.{random}.tmp")];
        for ours in ["a.jsonl.123-0.tmp", "a.jsonl.upgrade.tmp", "a.jsonl.zst.archive.tmp"] {
            assert!(is(ours), "{ours}");
        }
        assert!(new.iter().all(|name| is(name)), "{new:?}");
        for not in
            ["a.jsonl.tmp", "a.jsonl", "a.tmp", "a.jsonl.1-x.tmp", "a.jsonl.-.tmp", "a.jsonl.bak"]
        {
            assert!(!is(not), "{not}");
        }
    }

    fn names(place: &Place) -> Vec<String> {
        let files = Files::of([place]);
        let name = |file: &Found| {
            let path = file.path.strip_prefix(&place.dir).unwrap();
            path.to_string_lossy().replace('\\', "/")
        };
        let mut names: Vec<String> = files.found.iter().map(name).collect();
        names.sort();
        names
    }

    fn tree(paths: &[&str]) -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        for path in paths {
            let path = dir.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "x").unwrap();
        }
        dir
    }

    #[test]
    fn as_deep_as_the_place_says_and_only_sessions() {
        let dir = tree(&["a.jsonl", "b.jsonl.zst", "c.json", "1/d.jsonl", "1/2/e.jsonl"]);
        std::fs::create_dir(dir.path().join("dir.jsonl")).unwrap();
        let place = |depth| Place { agent: None, dir: dir.path().into(), depth };
        assert_eq!(names(&place(0)), ["a.jsonl", "b.jsonl.zst"]);
        assert_eq!(names(&place(1)), ["1/d.jsonl", "a.jsonl", "b.jsonl.zst"]);
        assert_eq!(names(&place(9)), ["1/2/e.jsonl", "1/d.jsonl", "a.jsonl", "b.jsonl.zst"]);
    }

    #[test]
    fn what_subagents_wrote_is_no_session_of_its_own() {
        let dir = tree(&["p/u.jsonl", "p/u/subagents/agent-1.jsonl"]);
        assert_eq!(names(&Place::named(dir.path())), ["p/u.jsonl"]);
    }

    #[test]
    fn a_place_that_does_not_exist_is_no_place() {
        let files = Files::of([&Place::named("/nowhere/at/all")]);
        assert!(files.found.is_empty() && files.unreadable.is_empty());
    }

    #[test]
    fn what_is_no_directory_is_told() {
        let dir = tree(&["file"]);
        let files = Files::of([&Place::named(dir.path().join("file"))]);
        assert_eq!(files.unreadable.len(), 1);
    }

    #[test]
    #[cfg(unix)]
    fn links_are_followed_but_never_in_circles() {
        use std::os::unix::fs::symlink;
        let dir = tree(&["a/x.jsonl", "b/y.jsonl"]);
        let at = |path: &str| dir.path().join(path);
        for name in ["loop", "again", "and-again"] {
            symlink(dir.path(), at("a").join(name)).unwrap();
        }
        symlink(at("b/y.jsonl"), at("a/z.jsonl")).unwrap();
        symlink(at("gone"), at("a/dangling.jsonl")).unwrap();
        let place = Place { agent: None, dir: at("a"), depth: 50 };
        let files = Files::of([&place]);
        assert_eq!(files.found.len(), 2, "{files:?}");
        assert!(files.unreadable.is_empty());
    }
}
