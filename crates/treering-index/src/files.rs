//! Finds the session files in directories, with their metadata.
//!
//! Directories are searched to a limited depth, each once, because links may form cycles. The files
//! of subagents are part of the session that started them and are in directories of their own.

use crate::cache::checksum;
use crate::databases;
use crate::places::Place;
use std::collections::HashSet;
use std::ffi::OsStr;
use std::fs::{DirEntry, Metadata};
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;
use treering::dialect::{is_database_name, is_stored};
use treering::internal::subagents::{DirectoryNames, is_subagent_directory, subagent_files_among};

/// The metadata that shows whether a file has changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Stamp {
    pub(crate) size: u64,
    /// The time at which the session's file, or a file of its subagents, was last modified, in Unix
    /// nanoseconds.
    pub(crate) modified: i64,
    pub(crate) device: u64,
    pub(crate) inode: u64,
    /// A hash of the metadata of the subagents' files; 0 if there are none.
    pub(crate) beside: u64,
}

impl Stamp {
    /// Creates the stamp of a file with this metadata.
    pub fn of(metadata: &Metadata) -> Self {
        let (device, inode) = identity(metadata);
        let modified = metadata.modified().map_or(0, unix_nanos);
        Stamp { size: metadata.len(), modified, device, inode, beside: 0 }
    }

    /// Adds other files that are read as part of the session, by their paths and stamps.
    fn with_files(mut self, mut files: Vec<(PathBuf, Stamp)>) -> Self {
        files.sort_by(|a, b| a.0.cmp(&b.0));
        let mut facts = Vec::new();
        for (name, stamp) in files {
            self.modified = self.modified.max(stamp.modified);
            facts.extend_from_slice(name.as_os_str().as_encoded_bytes());
            let Stamp { size, modified, device, inode, .. } = stamp;
            for number in [size, modified.cast_unsigned(), device, inode] {
                facts.extend_from_slice(&number.to_le_bytes());
            }
            self.beside = checksum(&facts);
        }
        self
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

/// A file whose name is that of a session.
#[derive(Debug, Clone)]
pub(crate) struct FoundFile {
    pub(crate) path: PathBuf,
    pub(crate) stamp: Stamp,
}

impl FoundFile {
    /// Adds the files of its subagents to its stamp.
    fn add_subagents(&mut self, directories: &DirectoryNames) {
        let files = subagent_files_among(&self.path, directories);
        let files = files.into_iter().filter_map(|file| {
            let stamp = Stamp::of(&file.metadata().ok()?);
            Some((file, stamp))
        });
        self.stamp = self.stamp.with_files(files.collect());
    }
}

/// The files that were found, and the directories that could not be read.
#[derive(Debug, Default)]
pub(crate) struct Files {
    pub(crate) found: Vec<FoundFile>,
    pub(crate) unreadable: Vec<(PathBuf, io::Error)>,
    /// Unfinished files of treering itself.
    pub(crate) leftovers: Vec<PathBuf>,
    /// The directories and files that were visited, by their identity.
    seen: HashSet<(u64, u64)>,
}

impl Files {
    /// Returns all session files in these places, the newest first.
    pub(crate) fn of<'a>(places: impl IntoIterator<Item = &'a Place>) -> Self {
        let mut files = Files::default();
        for place in places {
            files.list_place(place);
        }
        files.found.sort_by_key(|file| std::cmp::Reverse(file.stamp.modified));
        files
    }

    fn list_place(&mut self, place: &Place) {
        let device = std::fs::metadata(&place.dir).map_or(0, |metadata| identity(&metadata).0);
        let mut rest = vec![(place.dir.clone(), place.depth)];
        while let Some((dir, depth)) = rest.pop() {
            if place.is_open_ended() && is_elsewhere(&dir, device) {
                self.leave_out(dir, "it is on another file system; name it to search it");
                continue;
            }
            let below = match self.list_directory(&dir, place) {
                Ok(below) => below,
                // The directory never existed, or was removed.
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                Err(error) => {
                    self.unreadable.push((dir, error));
                    continue;
                }
            };
            match depth.checked_sub(1) {
                Some(depth) => rest.extend(below.into_iter().map(|dir| (dir, depth))),
                None if !place.is_open_ended() => {}
                None => {
                    for dir in below {
                        self.leave_out(dir, "it is nested too deeply; name it to search it");
                    }
                }
            }
        }
    }

    fn leave_out(&mut self, dir: PathBuf, reason: &str) {
        self.unreadable.push((dir, io::Error::other(reason)));
    }

    /// Adds the files in a directory, and returns its subdirectories.
    fn list_directory(&mut self, dir: &Path, place: &Place) -> io::Result<Vec<PathBuf>> {
        let names = place.names;
        if !self.is_new(&std::fs::metadata(dir)?) {
            return Ok(Vec::new());
        }
        let mut entries: Vec<DirEntry> = std::fs::read_dir(dir)?.flatten().collect();
        entries.sort_by_cached_key(DirEntry::file_name);
        let (mut below, mut databases, first) = (Vec::new(), Vec::new(), self.found.len());
        for entry in entries {
            let (path, name) = (entry.path(), entry.file_name());
            let Ok(kind) = entry.file_type() else { continue };
            if names.has(name.as_encoded_bytes()) {
                let metadata = if kind.is_file() { entry.metadata() } else { path.metadata() };
                if let Ok(metadata) = metadata
                    && metadata.is_file()
                    && self.is_new(&metadata)
                {
                    self.found.push(FoundFile { path, stamp: Stamp::of(&metadata) });
                }
            } else if is_database_name(name.as_encoded_bytes()) {
                databases.push(path);
            } else if kind.is_file() && is_leftover_name(&name) {
                self.leftovers.push(path);
            } else if !is_subagent_directory(&name)
                && (kind.is_dir() || kind.is_symlink() && path.is_dir())
            {
                below.push(path);
            }
        }
        let directories: DirectoryNames =
            below.iter().filter_map(|dir| dir.file_name()).map(OsStr::to_owned).collect();
        let found = self.found.iter_mut().skip(first);
        found.for_each(|found| found.add_subagents(&directories));
        databases.into_iter().for_each(|database| self.list_database(database));
        Ok(below)
    }

    /// Adds the sessions in a database. A file in the same directory, or below, with the id of one
    /// is an older copy.
    fn list_database(&mut self, path: PathBuf) {
        let Ok(metadata) = path.metadata() else { return };
        if !metadata.is_file() || !self.is_new(&metadata) {
            return;
        }
        match databases::sessions(&path, &metadata) {
            Ok(found) => {
                let id =
                    |path: &Path| Some(path.file_name()?.to_str()?.rsplit_once('#')?.1.to_owned());
                let mut ids: HashSet<String> =
                    found.iter().filter_map(|found| id(&found.path)).collect();
                let below = path.parent().unwrap_or(Path::new(""));
                let is_older =
                    |file: &Path| file.starts_with(below) && is_stored(file) && file.is_file();
                // Files of subagents' sessions may exist as well.
                if self.found.iter().any(|found| is_older(&found.path)) {
                    ids.extend(treering::internal::stored_ids(&path).unwrap_or_default());
                }
                let is_copy = |file: &Path| {
                    let stem = file.file_stem().and_then(OsStr::to_str).unwrap_or_default();
                    ids.contains(stem) && (file.parent() == path.parent() || is_older(file))
                };
                self.found.retain(|found| !is_copy(&found.path));
                self.found.extend(found);
            }
            Err(error) => self.unreadable.push((path, error)),
        }
    }

    fn is_new(&mut self, metadata: &Metadata) -> bool {
        match identity(metadata) {
            // Without an identity they cannot be distinguished.
            (_, 0) => true,
            identity => self.seen.insert(identity),
        }
    }
}

/// Returns whether a directory is on another device than its place.
fn is_elsewhere(dir: &Path, device: u64) -> bool {
    std::fs::metadata(dir).is_ok_and(|metadata| identity(&metadata).0 != device)
}

/// Returns whether a name is that of an unfinished file of treering: `NAME.jsonl`, the operation,
/// `.tmp`. Plain `NAME.jsonl.tmp` is not, because other programs use it as well.
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
    use treering::Dialect;
    use treering::dialect::SessionNames;

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
        let name = |file: &FoundFile| {
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
        let place =
            |depth| Place { agent: None, dir: dir.path().into(), depth, names: SessionNames::ANY };
        assert_eq!(names(&place(0)), ["a.jsonl", "b.jsonl.zst"]);
        assert_eq!(names(&place(1)), ["1/d.jsonl", "a.jsonl", "b.jsonl.zst"]);
        assert_eq!(names(&place(9)), ["1/2/e.jsonl", "1/d.jsonl", "a.jsonl", "b.jsonl.zst"]);
    }

    #[test]
    fn a_given_directory_is_searched_at_every_depth() {
        let at = |depth: usize| format!("{}s.jsonl", "d/".repeat(depth));
        let dir = tree(&[&at(0), &at(3), &at(16), &at(17)]);
        let place = Place::named(dir.path());
        assert_eq!(names(&place).len(), 3);
        let files = Files::of([&place]);
        let (left_out, reason) = &files.unreadable[0];
        assert!(left_out.ends_with("d/".repeat(17)) && files.unreadable.len() == 1, "{files:?}");
        assert_eq!(reason.to_string(), "it is nested too deeply; name it to search it");
    }

    #[test]
    fn what_subagents_write_changes_the_stamp_of_the_session() {
        let dir = tree(&["p/u.jsonl", "p/u/subagents/agent-1.jsonl", "p/v.jsonl", "p/v/notes"]);
        let place =
            Place { agent: None, dir: dir.path().into(), depth: 1, names: SessionNames::ANY };
        let stamp = |name: &str| {
            let found = Files::of([&place]).found;
            found.into_iter().find(|file| file.path.ends_with(name)).unwrap().stamp
        };
        let (before, other) = (stamp("u.jsonl"), stamp("v.jsonl"));
        assert_eq!(other.beside, 0);
        std::fs::write(dir.path().join("p/u/subagents/agent-1.jsonl"), "longer").unwrap();
        let after = stamp("u.jsonl");
        assert_ne!(before, after);
        assert_eq!((before.size, after.since(&before)), (after.size, None), "it did not grow");
        std::fs::write(dir.path().join("p/u/subagents/agent-2.jsonl"), "x").unwrap();
        assert_ne!(stamp("u.jsonl"), after);
        assert_eq!(stamp("v.jsonl"), other);
    }

    #[test]
    fn a_directory_may_have_the_whole_id_of_a_session_in_whose_name_is_its_beginning() {
        let id = "9e311000-0000-4000-8000-000000000001";
        let (file, other) =
            ("p/chats/session-1-9e311000.jsonl", "p/chats/session-2-00000000.jsonl");
        let dir = tree(&[file, other, &format!("p/chats/{id}/explore-1.jsonl")]);
        let header = format!("{{\"sessionId\":\"{id}\",\"projectHash\":\"5f\"}}\n");
        std::fs::write(dir.path().join(file), header).unwrap();
        let names = Dialect::Gemini.places()[0].names;
        let of_agent =
            Place { agent: Some(Dialect::Gemini), dir: dir.path().into(), depth: 2, names };
        for (place, text) in [(of_agent, "longer"), (Place::named(dir.path()), "longer still")] {
            let stamps = || {
                let found = Files::of([&place]).found;
                let stamp = |name: &str| {
                    found.iter().find(|found| found.path.ends_with(name)).unwrap().stamp
                };
                (stamp(file), stamp(other))
            };
            let before = stamps();
            std::fs::write(dir.path().join(format!("p/chats/{id}/explore-1.jsonl")), text).unwrap();
            let after = stamps();
            assert_ne!(before.0.beside, after.0.beside, "{place:?}");
            assert_eq!(before.1, after.1, "{place:?}");
        }
    }

    #[test]
    fn files_of_sessions_that_were_moved_into_a_database_are_not_listed() {
        const DATABASE: &[u8] =
            include_bytes!("../../treering/src/dialect/opencode/testdata/opencode.db");
        let ids = ["ses_main1", "ses_child1", "ses_old1"];
        let files = ids.map(|id| format!("storage/session/p/{id}.json"));
        let dir = tree(&files.each_ref().map(String::as_str));
        let agent = Some(Dialect::OpenCode);
        let names = Dialect::OpenCode.places()[0].names;
        let places = [
            Place { agent, dir: dir.path().join("storage/session"), depth: 1, names },
            Place { agent, dir: dir.path().into(), depth: 0, names: SessionNames::ANY },
        ];
        let found = || {
            let found = Files::of(&places).found.into_iter();
            let name =
                |found: FoundFile| found.path.file_name().unwrap().to_str().unwrap().to_owned();
            let mut names: Vec<String> = found.map(name).collect();
            names.sort();
            names
        };
        assert_eq!(found(), ["ses_child1.json", "ses_main1.json", "ses_old1.json"]);
        std::fs::write(dir.path().join("opencode.db"), DATABASE).unwrap();
        let stored = ["ses_main1", "ses_part1", "ses_whole1"].map(|id| format!("opencode.db#{id}"));
        assert_eq!(found()[..3], stored);
        assert_eq!(found()[3..], ["ses_old1.json"], "the others are in the database");
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
    fn a_path_that_is_no_directory_is_reported() {
        let dir = tree(&["file"]);
        let files = Files::of([&Place::named(dir.path().join("file"))]);
        assert_eq!(files.unreadable.len(), 1);
    }

    #[test]
    #[cfg(unix)]
    fn links_are_followed_but_never_in_cycles() {
        use std::os::unix::fs::symlink;
        let dir = tree(&["a/x.jsonl", "b/y.jsonl"]);
        let at = |path: &str| dir.path().join(path);
        for name in ["loop", "again", "and-again"] {
            symlink(dir.path(), at("a").join(name)).unwrap();
        }
        symlink(at("b/y.jsonl"), at("a/z.jsonl")).unwrap();
        symlink(at("gone"), at("a/dangling.jsonl")).unwrap();
        let place = Place { agent: None, dir: at("a"), depth: 50, names: SessionNames::ANY };
        let files = Files::of([&place]);
        assert_eq!(files.found.len(), 2, "{files:?}");
        assert!(files.unreadable.is_empty());
    }
}
