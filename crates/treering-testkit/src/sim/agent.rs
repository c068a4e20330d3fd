//! Programs that write to session files without taking a lock.

use super::disk::{Disk, Inode, Named};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// The way in which an agent writes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Habit {
    /// Opens the file, appends a line and closes it, as pi does. Creates a file that is not there.
    OpensEachTime,
    /// Keeps the file open.
    KeepsOpen,
    /// Puts another file in its place, once.
    Replaces(Vec<u8>),
}

/// An agent, and what it has written.
#[derive(Debug, Clone)]
pub struct Agent {
    /// The way in which it writes.
    pub habit: Habit,
    path: PathBuf,
    /// Lines still to be written, the last one first.
    lines: Vec<Vec<u8>>,
    open: Option<Inode>,
    /// The lines that it has written, as far as it knows.
    pub written: Vec<Vec<u8>>,
    /// The file that it put in the place of the session's.
    pub placed: Option<Inode>,
}

impl Agent {
    /// Creates an agent that has something to write to the file at `path`.
    pub fn new(habit: Habit, path: &Path, mut lines: Vec<Vec<u8>>) -> Self {
        lines.reverse();
        let (open, written, placed) = (None, Vec::new(), None);
        Agent { habit, path: path.to_owned(), lines, open, written, placed }
    }

    /// Returns whether it is in the middle of a write.
    pub(super) fn is_busy(&self) -> bool {
        self.habit == Habit::OpensEachTime && self.open.is_some()
    }

    pub(super) fn stop(&mut self) {
        self.lines.clear();
        self.open = None;
    }

    /// Performs the next action; `None` if none is left.
    pub(super) fn act(&mut self, disk: &mut Disk, now: SystemTime) -> Option<&'static str> {
        if let Habit::Replaces(content) = &self.habit {
            self.lines.pop()?;
            let inode = disk.create(content, now);
            disk.rename(vec![(self.path.clone(), Some(Named::File(inode)))]);
            self.placed = Some(inode);
            return Some("replaces the file");
        }
        if self.lines.is_empty() && self.open.is_none_or(|_| self.habit == Habit::KeepsOpen) {
            return None;
        }
        let Some(inode) = self.open else {
            self.open = disk.file(&self.path).or_else(|| {
                let inode = disk.create(b"", now);
                disk.rename(vec![(self.path.clone(), Some(Named::File(inode)))]);
                Some(inode)
            });
            return Some("opens the file");
        };
        let line = self.lines.pop()?;
        let file = disk.content_mut(inode);
        file.data.extend_from_slice(&line);
        (file.modified, file.changed) = (now, now);
        self.written.push(line);
        if self.habit == Habit::OpensEachTime {
            self.open = None;
        }
        Some("appends a line")
    }
}
