//! Finds the directories in which agents look for new sessions.

use crate::places::Places;
use std::path::Path;
use treering::dialect::{Destination, ProjectPaths};
use treering::{Catalog, Dialect};

impl Places {
    /// Returns the path at which an agent finds a new session of the project `cwd`; `None` if it is
    /// not known, or if only directories that the user named are searched.
    pub fn destination(&self, agent: Dialect, cwd: &Path) -> Option<Destination> {
        let root = self.iter().find(|place| place.agent == Some(agent))?.dir.as_path();
        if agent == Dialect::default() {
            return Some(Destination::Directory(Catalog::new(root).dir_for(cwd)));
        }
        let temp = std::env::temp_dir();
        agent.destination(&ProjectPaths { root, cwd, home: self.home(), temp: &temp })
    }
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
}
