//! A temporary directory for a test, which is removed when it is dropped.

use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// A scratch directory.
///
/// ```
/// use treering_testkit::test_dir::TestDir;
/// let test_dir = TestDir::new();
/// let file = test_dir.write("a/b.txt", "hello");
/// assert_eq!(file, test_dir.file("a/b.txt"));
/// assert_eq!(test_dir.read("a/b.txt"), "hello");
/// ```
#[derive(Debug)]
pub struct TestDir {
    dir: TempDir,
}

impl Default for TestDir {
    fn default() -> Self {
        TestDir::new()
    }
}

impl TestDir {
    /// Creates an empty directory.
    pub fn new() -> Self {
        TestDir { dir: tempfile::tempdir().unwrap() }
    }

    /// Returns the path of the directory.
    pub fn path(&self) -> &Path {
        self.dir.path()
    }

    /// Returns the path of a file in the directory, which need not exist.
    pub fn file(&self, name: &str) -> PathBuf {
        self.path().join(name)
    }

    /// Writes a file, and creates the directories above it.
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
