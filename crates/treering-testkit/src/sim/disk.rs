//! A disk in memory: files with any number of names, and their state after a power failure.

use crate::rng::Rng;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// The number of a file.
pub type Inode = usize;

/// A file.
#[derive(Debug, Clone)]
pub struct Content {
    /// The bytes that processes read.
    pub data: Vec<u8>,
    /// The bytes that are on disk.
    durable: Vec<u8>,
    /// The permission bits.
    pub mode: u32,
    /// The user and the group.
    pub owner: (u32, u32),
    /// The time of the last write.
    pub modified: SystemTime,
    /// The time of the last change of any kind.
    pub changed: SystemTime,
    /// The handle that holds the lock.
    pub(super) lock: Option<u64>,
}

/// A change of names that may not be on disk yet: each name, and the file it has now.
#[derive(Debug, Clone)]
struct Change(Vec<(PathBuf, Option<Named>)>);

/// The target of a directory entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Named {
    /// A file.
    File(Inode),
    /// A directory.
    Directory,
}

/// The disk. Names are kept in the order in which they came, so that a run does not depend on how random
/// names are spelled.
#[derive(Debug, Default)]
pub struct Disk {
    files: Vec<Content>,
    names: Vec<(PathBuf, Named)>,
    durable_names: Vec<(PathBuf, Named)>,
    /// Changes of names that are not known to be on disk, oldest first.
    pending: Vec<Change>,
}

impl Disk {
    /// Adds a file that is on disk, with its name and its directories.
    pub fn put(&mut self, path: &Path, data: &[u8], modified: SystemTime) -> Inode {
        for directory in path.ancestors().skip(1) {
            if self.get(directory).is_none() {
                self.names.push((directory.to_owned(), Named::Directory));
            }
        }
        let inode = self.create(data, modified);
        self.files[inode].durable = data.to_vec();
        self.names.push((path.to_owned(), Named::File(inode)));
        self.durable_names.clone_from(&self.names);
        self.pending.clear();
        inode
    }

    /// Adds a file without a name.
    pub(super) fn create(&mut self, data: &[u8], modified: SystemTime) -> Inode {
        let (data, durable) = (data.to_vec(), Vec::new());
        let (mode, owner) = (0o600, (1000, 1000));
        let changed = modified;
        self.files.push(Content { data, durable, mode, owner, modified, changed, lock: None });
        self.files.len() - 1
    }

    pub(super) fn len(&self) -> usize {
        self.files.len()
    }

    /// Returns what has a name.
    pub fn get(&self, path: &Path) -> Option<Named> {
        self.names.iter().find(|(name, _)| name == path).map(|(_, named)| *named)
    }

    /// Returns the file that has a name.
    pub fn file(&self, path: &Path) -> Option<Inode> {
        match self.get(path) {
            Some(Named::File(inode)) => Some(inode),
            _ => None,
        }
    }

    /// Returns a file.
    pub fn content(&self, inode: Inode) -> &Content {
        &self.files[inode]
    }

    pub(super) fn content_mut(&mut self, inode: Inode) -> &mut Content {
        &mut self.files[inode]
    }

    /// Returns the names of all files, in the order in which they came.
    pub fn file_names(&self) -> impl Iterator<Item = (&Path, Inode)> {
        self.names.iter().filter_map(|(name, named)| match named {
            Named::File(inode) => Some((name.as_path(), *inode)),
            Named::Directory => None,
        })
    }

    /// Returns the number of names that a file has.
    pub fn links(&self, inode: Inode) -> usize {
        self.file_names().filter(|(_, other)| *other == inode).count()
    }

    /// Gives names to files, or takes them away, in one step.
    pub(super) fn rename(&mut self, changes: Vec<(PathBuf, Option<Named>)>) {
        apply(&mut self.names, &changes);
        self.pending.push(Change(changes));
    }

    pub(super) fn sync(&mut self, inode: Inode) {
        let file = &mut self.files[inode];
        file.durable.clone_from(&file.data);
    }

    /// Brings the names in a directory to disk, and with them all changes of names before.
    pub(super) fn sync_dir(&mut self, directory: &Path) {
        let touches = |change: &Change| {
            change.0.iter().any(|(name, _)| name.parent().is_some_and(|parent| parent == directory))
        };
        let upto = self.pending.iter().rposition(touches).map_or(0, |last| last + 1);
        for change in self.pending.drain(..upto) {
            apply(&mut self.durable_names, &change.0);
        }
    }

    /// Simulates a power failure: names and bytes that were not synced may be lost, the later ones first.
    pub(super) fn power_failure(&mut self, rng: &mut Rng) {
        let kept = rng.index(self.pending.len() + 1);
        for change in self.pending.drain(..).take(kept) {
            apply(&mut self.durable_names, &change.0);
        }
        self.names.clone_from(&self.durable_names);
        for file in &mut self.files {
            file.lock = None;
            if file.data.starts_with(&file.durable) {
                let kept = rng.range(file.durable.len() as u64, file.data.len() as u64 + 1);
                file.data.truncate(kept as usize);
            } else if rng.chance(0.5) {
                file.data.clone_from(&file.durable);
            }
            file.durable.clone_from(&file.data);
        }
    }
}

fn apply(names: &mut Vec<(PathBuf, Named)>, changes: &[(PathBuf, Option<Named>)]) {
    for (path, named) in changes {
        let at = names.iter().position(|(name, _)| name == path);
        match (at, named) {
            (Some(at), Some(named)) => names[at].1 = *named,
            (Some(at), None) => drop(names.remove(at)),
            (None, Some(named)) => names.push((path.clone(), *named)),
            (None, None) => {}
        }
    }
}
