//! The files in which agents store what their subagents did. They are beside the file of the session
//! that started the subagents, and are read as part of it.

use super::Dialect;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

/// The way in which an agent stores the files of subagents.
#[derive(Debug)]
pub(crate) struct SubagentFormat {
    /// The name of the directories that contain nothing but files of subagents.
    pub directory: Option<&'static str>,
    /// Returns the files of the subagents of a session file.
    pub files: fn(&Path) -> Vec<PathBuf>,
    /// Returns whether a session file may have such files, given the directories beside it. This
    /// does not open the session file.
    pub may_have: fn(&Path, &DirectoryNames) -> bool,
}

/// The names of the directories in a directory of sessions.
#[derive(Debug, Clone, Default)]
pub struct DirectoryNames(Vec<OsString>);

impl DirectoryNames {
    pub(super) fn has(&self, name: &OsStr) -> bool {
        let name = name.as_encoded_bytes();
        self.0.binary_search_by(|other| other.as_encoded_bytes().cmp(name)).is_ok()
    }

    /// Returns whether a name begins with these bytes.
    pub(super) fn has_start(&self, start: &[u8]) -> bool {
        let at = self.0.partition_point(|name| name.as_encoded_bytes() < start);
        self.0.get(at).is_some_and(|name| name.as_encoded_bytes().starts_with(start))
    }
}

impl FromIterator<OsString> for DirectoryNames {
    fn from_iter<I: IntoIterator<Item = OsString>>(names: I) -> Self {
        let mut names: Vec<OsString> = names.into_iter().collect();
        names.sort_by(|a, b| a.as_encoded_bytes().cmp(b.as_encoded_bytes()));
        DirectoryNames(names)
    }
}

fn formats() -> impl Iterator<Item = &'static SubagentFormat> {
    Dialect::ALL.into_iter().filter_map(|dialect| dialect.facts().subagents)
}

/// Returns whether directories of this name contain nothing but files of subagents.
pub fn is_subagent_directory(name: &OsStr) -> bool {
    formats().any(|format| format.directory.is_some_and(|directory| directory == name))
}

/// Returns the files that any agent would read as those of the subagents of a session file. The
/// session's own agent need not be known.
pub fn subagent_files(session: &Path) -> Vec<PathBuf> {
    formats().flat_map(|format| (format.files)(session)).collect()
}

/// Returns the same as [`subagent_files`], but opens the session file only if the directories beside
/// it show that it may have such files.
pub fn subagent_files_among(session: &Path, directories: &DirectoryNames) -> Vec<PathBuf> {
    formats()
        .filter(|format| (format.may_have)(session, directories))
        .flat_map(|format| (format.files)(session))
        .collect()
}
