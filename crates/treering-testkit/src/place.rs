//! A directory that is gone when the test is over.

use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// A scratch directory.
///
/// ```
/// use treering_testkit::place::Place;
/// let place = Place::new();
/// let file = place.write("a/b.txt", "hello");
/// assert_eq!(file, place.file("a/b.txt"));
/// assert_eq!(place.read("a/b.txt"), "hello");
/// ```
#[derive(Debug)]
pub struct Place {
    dir: TempDir,
}

impl Default for Place {
    fn default() -> Self {
        Place::new()
    }
}

impl Place {
    /// Returns an empty one.
    pub fn new() -> Self {
        Place { dir: tempfile::tempdir().unwrap() }
    }

    /// Returns where it is.
    pub fn path(&self) -> &Path {
        self.dir.path()
    }

    /// Returns where a file in it is, or would be.
    pub fn file(&self, name: &str) -> PathBuf {
        self.path().join(name)
    }

    /// Writes a file, and makes the directories above it.
    pub fn write(&self, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.file(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, bytes).unwrap();
        path
    }

    /// Returns the text of a file.
    pub fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.file(name)).unwrap()
    }
}
