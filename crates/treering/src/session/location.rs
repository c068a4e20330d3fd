//! The names of session files and of the directories of projects.

use crate::fs;
use std::path::{Path, PathBuf};

/// Returns the directory below `root` that holds the sessions of a project.
pub(crate) fn project_directory(root: &Path, cwd: &Path) -> PathBuf {
    let cwd = fs::absolute(cwd);
    let cwd = cwd.to_string_lossy();
    let inner = cwd.strip_prefix(['/', '\\']).unwrap_or(&cwd).replace(['/', '\\', ':'], "-");
    root.join(format!("--{inner}--"))
}

/// Returns the file name of a session that was created at `timestamp`.
pub(crate) fn file_name(timestamp: &str, id: &str) -> String {
    format!("{}_{id}.jsonl", timestamp.replace([':', '.'], "-"))
}
