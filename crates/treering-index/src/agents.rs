//! The way to start an agent with a session, and the files in which an agent finds its sessions.

use crate::places::Places;
use sha2::{Digest, Sha256};
use std::fmt::Write;
use std::path::{Path, PathBuf};
use treering::{Catalog, Dialect};

/// Returns the words of the command with which an agent goes on with a session; `None` if no such command is
/// known. It is run in the session's project.
///
/// `{path}` stands for the session's file, `{name}` for its name without `.jsonl`, `{id}` for the session's id.
///
/// ```
/// use treering::Dialect;
/// let command = treering_index::resume_command(Dialect::Codex);
/// assert_eq!(command, Some(&["codex", "resume", "{id}"][..]));
/// ```
pub fn resume_command(agent: Dialect) -> Option<&'static [&'static str]> {
    Some(match agent {
        Dialect::Pi => &["pi", "--session", "{path}"],
        Dialect::Omp => &["omp", "--resume", "{path}"],
        // It goes on with the session of the directory that it is started in.
        Dialect::Chimera => &["chimera", "code"],
        Dialect::Tau => &["tau", "--resume", "{id}"],
        Dialect::ClaudeCode => &["claude", "--resume", "{name}"],
        Dialect::Codex => &["codex", "resume", "{id}"],
        _ => return None,
    })
}

/// The place in which an agent finds a session of a project.
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

impl Places {
    /// Returns where an agent finds a new session of the project `cwd`; `None` if that is not known, or if
    /// only directories that the user named are searched.
    pub fn destination(&self, agent: Dialect, cwd: &Path) -> Option<Destination> {
        let root = self.iter().find(|place| place.agent == Some(agent))?.dir.as_path();
        Some(match agent {
            Dialect::Pi => Destination::Directory(Catalog::new(root).dir_for(cwd)),
            Dialect::Omp => Destination::Directory(root.join(omp_bucket(
                cwd,
                self.home(),
                &std::env::temp_dir(),
            ))),
            Dialect::Operator | Dialect::Tau => Destination::Directory(root.to_owned()),
            Dialect::Chimera => {
                Destination::File(root.join(format!("{}.jsonl", workdir_hash(cwd))))
            }
            Dialect::ClaudeCode => Destination::NamedById(root.join(claude_slug(cwd))),
            _ => return None,
        })
    }
}

/// Returns the name of a project's directory in Claude Code's: everything but letters and digits is a dash.
fn claude_slug(cwd: &Path) -> String {
    let replaced = |character: char| match character.is_ascii_alphanumeric() {
        true => character,
        false => '-',
    };
    cwd.to_string_lossy().chars().map(replaced).collect()
}

/// Returns the name of a project's directory in omp's: `-project` below the home directory, `-tmp-project` below
/// the directory for temporary files, `--path--` elsewhere.
fn omp_bucket(cwd: &Path, home: Option<&Path>, temp: &Path) -> String {
    let joined = |path: &Path| path.to_string_lossy().replace(['/', '\\', ':'], "-");
    let below = |root: &Path| cwd.strip_prefix(root).ok().map(joined);
    if let Some(rest) = home.and_then(below) {
        return format!("-{rest}");
    }
    match below(temp) {
        Some(rest) if rest.is_empty() => "-tmp".to_owned(),
        Some(rest) => format!("-tmp-{rest}"),
        None => format!("--{}--", joined(cwd).trim_start_matches('-')),
    }
}

/// Returns the name of Chimera's session of a directory.
fn workdir_hash(cwd: &Path) -> String {
    let hash = Sha256::digest(cwd.to_string_lossy().as_bytes());
    let mut name = String::new();
    for byte in hash.iter().take(6) {
        // Writing to a text does not fail.
        let _ = write!(name, "{byte:02x}");
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agents_find_new_sessions_where_they_look_for_them() {
        let places = Places::from_env(|name| (name == "HOME").then(|| "/home/me".into()));
        let at = |agent, cwd: &str| places.destination(agent, Path::new(cwd));
        let claude = "/home/me/.claude/projects/-home-me-my-project";
        assert_eq!(
            at(Dialect::ClaudeCode, "/home/me/my_project"),
            Some(Destination::NamedById(claude.into()))
        );
        let chimera = "/home/me/.chimera/sessions/00d74baf14ea.jsonl";
        assert_eq!(at(Dialect::Chimera, "/p"), Some(Destination::File(chimera.into())));
        let pi = "/home/me/.pi/agent/sessions/--p--";
        assert_eq!(at(Dialect::Pi, "/p"), Some(Destination::Directory(pi.into())));
        assert_eq!(at(Dialect::Codex, "/p"), None);
        let only = places.only(["/named".into()]);
        assert_eq!(only.destination(Dialect::Pi, Path::new("/p")), None);
    }

    #[test]
    fn buckets_are_named_after_the_path_below_home() {
        let bucket =
            |cwd: &str| omp_bucket(Path::new(cwd), Some(Path::new("/h")), Path::new("/tmp"));
        assert_eq!(bucket("/h/a/b"), "-a-b");
        assert_eq!(bucket("/tmp"), "-tmp");
        assert_eq!(bucket("/tmp/x"), "-tmp-x");
        assert_eq!(bucket("/srv/x"), "--srv-x--");
    }
}
