//! The project whose sessions a command selects.

use crate::commands::absolute;
use crate::error::Failure;
use std::path::Path;
use treering::store::ListQuery;
use treering_index::Project;

/// The project whose sessions a command selects.
#[derive(Debug)]
pub(crate) enum ProjectFilter {
    Project(Project),
    /// All projects whose directory has this name.
    Called(String),
}

impl ProjectFilter {
    /// Returns the project that a user typed: a directory, or its last name.
    pub(crate) fn named(dir: &Path) -> Result<Self, Failure> {
        // A directory that no longer exists may still have sessions.
        let is_name = dir.components().count() == 1 && !dir.is_dir();
        if is_name && let Some(name) = dir.to_str() {
            return Ok(ProjectFilter::Called(name.to_lowercase()));
        }
        let dir = dir.canonicalize().unwrap_or(absolute(dir)?);
        Ok(ProjectFilter::Project(Project::new(dir)))
    }

    /// Returns whether a session with this directory belongs to the project.
    pub(crate) fn has(&self, cwd: &str) -> bool {
        match self {
            ProjectFilter::Project(project) => project.has(cwd),
            ProjectFilter::Called(name) => {
                let last = Path::new(cwd).file_name().unwrap_or_default().to_string_lossy();
                last.to_lowercase() == *name
            }
        }
    }

    /// Returns the query for a store that excludes most sessions of other projects.
    pub(crate) fn query(&self) -> ListQuery {
        match self.root().and_then(Path::to_str) {
            Some(root) => ListQuery::new().project(root),
            None => ListQuery::new(),
        }
    }

    /// Returns the directory of the project, if it is known.
    pub(crate) fn root(&self) -> Option<&Path> {
        match self {
            ProjectFilter::Project(project) => Some(project.root()),
            ProjectFilter::Called(_) => None,
        }
    }
}
