//! Polls session files and reports changes as events.
//!
//! A poll reads sizes and times from the file system, which is cheap, works on every file system
//! and needs no permission; none of this is true for notifications of the system. The memory is one
//! stamp for each file.

use crate::files::{Files, FoundFile, Stamp};
use crate::places::Places;
use std::collections::HashMap;
use std::path::PathBuf;

/// A change of a file between two polls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileChange {
    /// The file is new.
    New,
    /// The file became longer.
    Grown {
        /// The size before, in bytes.
        from: u64,
        /// The size after, in bytes.
        to: u64,
    },
    /// The file became shorter.
    Shrunk {
        /// The size before, in bytes.
        from: u64,
        /// The size after, in bytes.
        to: u64,
    },
    /// The file was replaced by another one.
    Replaced,
    /// The file was removed.
    Gone,
}

/// A change of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Event {
    /// The path of the file.
    pub path: PathBuf,
    /// The change.
    pub change: FileChange,
}

impl Stamp {
    /// Returns the change of a file from the stamp `before` to this one; `None` if no change is
    /// visible.
    pub fn since(&self, before: &Stamp) -> Option<FileChange> {
        let (from, to) = (before.size, self.size);
        if (self.device, self.inode) != (before.device, before.inode) {
            return Some(FileChange::Replaced);
        }
        match to.cmp(&from) {
            std::cmp::Ordering::Less => Some(FileChange::Shrunk { from, to }),
            std::cmp::Ordering::Equal => None,
            std::cmp::Ordering::Greater => Some(FileChange::Grown { from, to }),
        }
    }
}

/// A watcher of session files, which polls them.
///
/// ```
/// # let dir = tempfile::tempdir()?;
/// use treering_index::{FileChange, Places, Watch};
/// let mut watch = Watch::new(Places::default().only([dir.path().to_owned()]));
/// std::fs::write(dir.path().join("new.jsonl"), "{}\n")?;
/// let events = watch.poll();
/// assert_eq!(events[0].change, FileChange::New);
/// assert!(watch.poll().is_empty());
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
pub struct Watch {
    places: Places,
    known: HashMap<PathBuf, Stamp>,
}

impl Watch {
    /// Begins to watch. Existing files are not reported.
    pub fn new(places: Places) -> Self {
        let known = stamped_files(&places).map(|file| (file.path, file.stamp)).collect();
        Watch { places, known }
    }

    /// Returns the changes since the last poll, in the order of paths.
    pub fn poll(&mut self) -> Vec<Event> {
        let mut events = Vec::new();
        let mut known = HashMap::with_capacity(self.known.len());
        for FoundFile { path, stamp } in stamped_files(&self.places) {
            let change = match self.known.remove(&path) {
                Some(before) => stamp.since(&before),
                None => Some(FileChange::New),
            };
            events.extend(change.map(|change| Event { path: path.clone(), change }));
            known.insert(path, stamp);
        }
        let gone = std::mem::replace(&mut self.known, known);
        events.extend(gone.into_keys().map(|path| Event { path, change: FileChange::Gone }));
        events.sort_by(|a, b| a.path.cmp(&b.path));
        events
    }
}

fn stamped_files(places: &Places) -> impl Iterator<Item = FoundFile> {
    Files::of(places.iter()).found.into_iter()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn every_kind_of_change_is_reported_once() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        for name in ["grows.jsonl", "shrinks.jsonl", "replaced.jsonl", "gone.jsonl", "same.jsonl"] {
            fs::write(at(name), "four").unwrap();
        }
        let mut watch = Watch::new(Places::default().only([dir.path().to_owned()]));
        assert_eq!(watch.poll(), []);
        fs::write(at("grows.jsonl"), "longer").unwrap();
        fs::write(at("shrinks.jsonl"), "x").unwrap();
        fs::write(at("other"), "longer").unwrap();
        fs::rename(at("other"), at("replaced.jsonl")).unwrap();
        fs::remove_file(at("gone.jsonl")).unwrap();
        fs::write(at("appears.jsonl"), "").unwrap();
        let events = watch.poll();
        let expected = [
            ("appears.jsonl", FileChange::New),
            ("gone.jsonl", FileChange::Gone),
            ("grows.jsonl", FileChange::Grown { from: 4, to: 6 }),
            ("replaced.jsonl", FileChange::Replaced),
            ("shrinks.jsonl", FileChange::Shrunk { from: 4, to: 1 }),
        ];
        let expected = expected.map(|(name, change)| Event { path: at(name), change });
        assert_eq!(events, expected);
        assert_eq!(watch.poll(), []);
    }
}
