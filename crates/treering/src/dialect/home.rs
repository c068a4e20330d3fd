//! The directories of an agent's sessions, and the command that resumes one: data and pure
//! functions.
//!
//! This library reads no environment, so a directory only names the variable that moves it, and the
//! caller supplies the variable's value.

use super::Dialect;
use std::path::{Path, PathBuf};

/// A directory in which an agent stores sessions.
///
/// ```
/// use treering::Dialect;
/// use treering::dialect::BaseDir;
/// let place = &Dialect::ClaudeCode.places()[0];
/// assert_eq!(place.base, BaseDir::VariableOrHome("CLAUDE_CONFIG_DIR", "", ".claude"));
/// assert_eq!((place.below, place.depth), ("projects", 1));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct AgentPlace {
    /// The agent's own directory.
    pub base: BaseDir,
    /// The path of the sessions below the base directory.
    pub below: &'static str,
    /// The number of levels of directories below that path that may hold sessions.
    pub depth: usize,
    /// Whether every directory in `profiles` of the base directory is another base directory.
    pub has_profiles: bool,
    /// The names of session files there.
    pub names: SessionNames,
}

/// The names of session files in a directory.
///
/// ```
/// use treering::dialect::SessionNames;
/// assert!(SessionNames::ANY.has(b"chat.jsonl") && SessionNames::ANY.has(b"chat.jsonl.zst"));
/// assert!(!SessionNames::ANY.has(b"chat.json"));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct SessionNames {
    /// The beginning of every name.
    pub start: &'static str,
    /// The endings that names may have, optionally followed by `.zst`.
    pub ends: &'static [&'static str],
    /// The endings of names that are excluded, because such files are not sessions.
    pub except: &'static [&'static str],
}

impl SessionNames {
    /// Accepts every name that ends with `.jsonl`.
    pub const ANY: SessionNames = SessionNames { start: "", ends: &[".jsonl"], except: &[] };

    /// Returns whether a file of this name is a session, compressed or not.
    pub fn has(&self, name: &[u8]) -> bool {
        let name = name.strip_suffix(b".zst").unwrap_or(name);
        let ends = |ends: &[&str]| ends.iter().any(|end| name.ends_with(end.as_bytes()));
        name.starts_with(self.start.as_bytes()) && ends(self.ends) && !ends(self.except)
    }
}

/// The directory of an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum BaseDir {
    /// This path below the home directory.
    Home(&'static str),
    /// The second path below the directory that the variable names; no directory if it is not set.
    Variable(&'static str, &'static str),
    /// The second path below the directory that the variable names; the third path below the home
    /// directory if it is not set.
    VariableOrHome(&'static str, &'static str, &'static str),
    /// The path below the home directory that the variable names; the second path below it if it is
    /// not set.
    VariableInHome(&'static str, &'static str),
}

impl AgentPlace {
    /// Creates a place in which every `.jsonl` file is a session.
    pub(crate) const fn new(base: BaseDir, below: &'static str, depth: usize) -> Self {
        AgentPlace { base, below, depth, has_profiles: false, names: SessionNames::ANY }
    }

    /// Makes every directory in `profiles` of the base directory another base directory.
    pub(crate) const fn with_profiles(self) -> Self {
        AgentPlace { has_profiles: true, ..self }
    }

    /// Limits the place to files with such names.
    pub(crate) const fn named(self, names: SessionNames) -> Self {
        AgentPlace { names, ..self }
    }
}

/// The path at which an agent finds a session of a project.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Destination {
    /// Any file in this directory.
    Directory(PathBuf),
    /// The file in this directory that is named after the session's id.
    NamedById(PathBuf),
    /// This file: there is one session for each project.
    File(PathBuf),
}

/// The paths that decide where an agent finds a session of a project.
#[derive(Debug, Clone, Copy)]
pub struct ProjectPaths<'a> {
    /// The first of the agent's directories.
    pub root: &'a Path,
    /// The project directory.
    pub cwd: &'a Path,
    /// The home directory.
    pub home: Option<&'a Path>,
    /// The directory for temporary files.
    pub temp: &'a Path,
}

impl Dialect {
    /// Returns the directories in which the agent stores sessions.
    pub fn places(self) -> &'static [AgentPlace] {
        self.facts().places
    }

    /// Returns the words of the command with which the agent resumes a session; `None` if no such
    /// command is known. The command is run in the session's project.
    ///
    /// `{path}` stands for the session's file, `{name}` for its name without `.jsonl`, `{id}` for the
    /// session's id.
    ///
    /// ```
    /// use treering::Dialect;
    /// assert_eq!(Dialect::Codex.resume_command(), Some(&["codex", "resume", "{id}"][..]));
    /// ```
    pub fn resume_command(self) -> Option<&'static [&'static str]> {
        self.facts().resume
    }

    /// Returns the path at which the agent finds a new session of a project; `None` if it is not
    /// known.
    ///
    /// ```
    /// use std::path::Path;
    /// use treering::Dialect;
    /// use treering::dialect::{Destination, ProjectPaths};
    /// let (root, cwd, temp) = (Path::new("/sessions"), Path::new("/my/project"), Path::new("/tmp"));
    /// let paths = ProjectPaths { root, cwd, home: None, temp };
    /// let expected = Destination::NamedById("/sessions/-my-project".into());
    /// assert_eq!(Dialect::ClaudeCode.destination(&paths), Some(expected));
    /// ```
    pub fn destination(self, paths: &ProjectPaths<'_>) -> Option<Destination> {
        self.facts().destination.map(|destination| destination(paths))
    }

    /// Returns whether the agent finds only one session of each project, so that a copy beside a session
    /// is of no use to it.
    ///
    /// ```
    /// use treering::Dialect;
    /// assert!(Dialect::Chimera.has_one_session_per_project());
    /// assert!(!Dialect::Pi.has_one_session_per_project());
    /// ```
    pub fn has_one_session_per_project(self) -> bool {
        self.facts().has_one_session_per_project
    }

    /// Returns other names of the agent.
    pub fn aliases(self) -> &'static [&'static str] {
        self.facts().aliases
    }

    /// Returns whether sessions can be converted to this dialect.
    pub fn is_conversion_target(self) -> bool {
        self.is_writable() || self.facts().export.is_some()
    }

    /// Returns the files of the subagents of a session file, which are read as part of the session.
    ///
    /// ```
    /// # use std::path::Path;
    /// assert!(treering::Dialect::Pi.subagent_files(Path::new("chat.jsonl")).is_empty());
    /// ```
    pub fn subagent_files(self, path: &Path) -> Vec<PathBuf> {
        self.facts().subagents_of(path)
    }

    /// Returns whether the agent reads compressed session files.
    pub fn reads_archives(self) -> bool {
        self.facts().reads_archives
    }

    /// Returns whether entries that are neither messages nor settings are notes of the agent about
    /// hooks and tools, which are not part of the conversation.
    pub fn has_notes(self) -> bool {
        self.facts().has_notes
    }
}

/// Returns the files in a directory whose names end with `.jsonl`, in order.
pub(super) fn jsonl_files(directory: &Path) -> Vec<PathBuf> {
    let files = std::fs::read_dir(directory).into_iter().flatten().flatten();
    let mut files: Vec<_> = files
        .map(|file| file.path())
        .filter(|file| file.extension().is_some_and(|extension| extension == "jsonl"))
        .collect();
    files.sort();
    files
}

/// Returns a path as the name of a directory, in which all characters except letters and digits are
/// dashes.
pub(super) fn dashed(path: &Path) -> String {
    let replaced = |character: char| match character.is_ascii_alphanumeric() {
        true => character,
        false => '-',
    };
    path.to_string_lossy().chars().map(replaced).collect()
}
