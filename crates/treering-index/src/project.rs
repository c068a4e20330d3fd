//! Decides which sessions belong to a project.
//!
//! Only the directory in a session's header counts: directories of sessions are named after
//! projects in ways that cannot be reversed. A project is a directory with everything below it. A
//! user in a subdirectory means the whole project, so the project is the repository around the
//! current directory.

use std::path::{Path, PathBuf};

/// A directory whose sessions belong together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Project {
    root: PathBuf,
}

impl Project {
    /// Creates the project of a directory and everything below it.
    ///
    /// ```
    /// use treering_index::Project;
    /// let project = Project::new("/home/me/tea");
    /// assert!(project.has("/home/me/tea/pot") && !project.has("/home/me/teapot"));
    /// ```
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Project { root: root.into() }
    }

    /// Returns the project of the directory `cwd`: the repository around it, or else `cwd` itself.
    /// A repository of a whole home directory is not a project.
    pub fn around(cwd: &Path, home: Option<&Path>) -> Self {
        let dirs = cwd.ancestors().take_while(|dir| Some(*dir) != home);
        let repository = dirs.into_iter().find(|dir| dir.join(".git").exists());
        Project::new(repository.unwrap_or(cwd))
    }

    /// Returns the directory of the project.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Returns whether a session with this directory belongs to the project.
    pub fn has(&self, cwd: impl AsRef<Path>) -> bool {
        cwd.as_ref().starts_with(&self.root)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_the_repository_around_but_never_the_home_directory() {
        let home = tempfile::tempdir().unwrap();
        let home = home.path();
        for dir in [".git", "p/.git", "p/a/b", "q/c"] {
            std::fs::create_dir_all(home.join(dir)).unwrap();
        }
        let root = |dir: &str| Project::around(&home.join(dir), Some(home)).root;
        assert_eq!(root("p/a/b"), home.join("p"));
        assert_eq!(root("p"), home.join("p"));
        assert_eq!(root("q/c"), home.join("q/c"));
        assert_eq!(Project::around(home, Some(home)).root, home);
        assert_eq!(Project::around(&home.join("q"), None).root, home);
    }

    #[test]
    fn a_session_without_a_directory_belongs_nowhere() {
        assert!(!Project::new("/p").has(""));
        assert!(Project::new("/p").has("/p/"));
    }
}
