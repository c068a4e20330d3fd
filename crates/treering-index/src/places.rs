//! The directories in which agents store their sessions.
//!
//! Every agent has a directory below the home directory, and most have a variable that moves it.
//! Both are read as the agent itself reads them. All profiles are searched, not only the active
//! one, because the sessions of the others are on this machine as well. Users with sessions in
//! other directories name these, and then only those are searched. A directory that does not exist
//! is ignored.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use treering::Dialect;
use treering::dialect::{BaseDir, SessionNames};

/// The variable that names the directories to search instead of the agents' own, separated as in
/// `PATH`.
pub(crate) const SESSIONS: &str = "TREERING_SESSIONS";

/// The depth to which directories named by the user are searched: deeper than usual, but bounded.
const ANY_DEPTH: usize = 16;

/// A directory that contains sessions, directly or in directories below it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The agent that the directory belongs to, if any.
    pub agent: Option<Dialect>,
    /// The path of the directory.
    pub dir: PathBuf,
    /// The number of levels of directories below it that may contain sessions.
    pub depth: usize,
    /// The names of session files in the directory.
    pub names: SessionNames,
}

impl Place {
    /// Creates the place for a directory that the user named.
    pub fn named(dir: impl Into<PathBuf>) -> Self {
        Place { agent: None, dir: dir.into(), depth: ANY_DEPTH, names: SessionNames::ANY }
    }

    /// Returns whether sessions may be anywhere below the directory, so that directories that are
    /// not searched must be reported.
    pub(crate) fn is_open_ended(&self) -> bool {
        self.depth >= ANY_DEPTH
    }
}

/// All directories to search, and the location of the cache.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Places {
    places: Vec<Place>,
    own: Option<PathBuf>,
    home: Option<PathBuf>,
    cache: Option<PathBuf>,
}

impl Places {
    /// Returns the places on this machine. `var` returns the value of an environment variable; only
    /// this function reads the environment.
    ///
    /// ```
    /// use treering_index::Places;
    /// let places = Places::from_env(|name| (name == "CODEX_HOME").then(|| "/data/codex".into()));
    /// assert!(places.iter().any(|place| place.dir.ends_with("codex/archived_sessions")));
    /// ```
    pub fn from_env(var: impl Fn(&str) -> Option<OsString>) -> Self {
        let env = Env { var: &var };
        let home = env.home();
        let cache = env.cache_dir().map(|dir| dir.join("treering").join("index"));
        let mut places = Places { places: Vec::new(), own: None, home, cache };
        match env.set(SESSIONS) {
            Some(list) => {
                places.places.extend(std::env::split_paths(&list).map(Place::named));
                places.own = places.places.first().map(|place| place.dir.clone());
            }
            None => {
                places.own = env.data_dir().map(|dir| dir.join("treering").join("sessions"));
                places.add_agents(&env);
                // There is a directory for each project, as in pi.
                let own = places.own.clone();
                let own =
                    own.map(|dir| Place { agent: None, dir, depth: 1, names: SessionNames::ANY });
                own.into_iter().for_each(|place| places.add(place));
            }
        }
        places
    }

    /// Replaces the places by these directories.
    #[must_use]
    pub fn only(self, dirs: impl IntoIterator<Item = PathBuf>) -> Self {
        let places = Places { places: Vec::new(), ..self }.and(dirs);
        let own = places.places.first().map(|place| place.dir.clone());
        Places { own, ..places }
    }

    /// Adds these directories.
    #[must_use]
    pub fn and(mut self, dirs: impl IntoIterator<Item = PathBuf>) -> Self {
        dirs.into_iter().for_each(|dir| self.add(Place::named(dir)));
        self
    }

    /// Returns all places, whether or not they exist.
    pub fn iter(&self) -> impl Iterator<Item = &Place> {
        self.places.iter()
    }

    /// Returns the directory for new sessions: treering's own, or else the first that the user
    /// named.
    pub fn own(&self) -> Option<&Path> {
        self.own.as_deref()
    }

    /// Returns the home directory.
    pub fn home(&self) -> Option<&Path> {
        self.home.as_deref()
    }

    /// Returns the path of the cache, in the user's cache directory.
    pub fn cache_file(&self) -> Option<&Path> {
        self.cache.as_deref()
    }

    /// Adds a directory, unless another place has the same one.
    fn add(&mut self, place: Place) {
        if !self.places.iter().any(|known| known.dir == place.dir) {
            self.places.push(place);
        }
    }

    fn add_agents(&mut self, env: &Env<'_>) {
        for agent in Dialect::ALL {
            for place in agent.places() {
                let Some(base) = env.base(place.base) else { continue };
                let profiles = if place.has_profiles { profiles(&base) } else { Vec::new() };
                for base in [base].into_iter().chain(profiles) {
                    let dir = if place.below.is_empty() { base } else { base.join(place.below) };
                    let (depth, names) = (place.depth, place.names);
                    self.add(Place { agent: Some(agent), dir, depth, names });
                }
            }
        }
    }
}

/// Returns the directories of an agent's profiles, in order.
fn profiles(root: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(root.join("profiles"));
    let mut dirs: Vec<PathBuf> =
        entries.into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    dirs.sort();
    dirs
}

/// Reads environment variables through a function.
struct Env<'a> {
    var: &'a dyn Fn(&str) -> Option<OsString>,
}

impl Env<'_> {
    /// Returns the value of a variable; an empty value counts as unset.
    fn set(&self, name: &str) -> Option<OsString> {
        (self.var)(name).filter(|value| !value.is_empty())
    }

    fn home(&self) -> Option<PathBuf> {
        let name = if cfg!(windows) { "USERPROFILE" } else { "HOME" };
        self.set(name).map(PathBuf::from)
    }

    fn below_home(&self, path: &str) -> Option<PathBuf> {
        self.home().map(|home| home.join(path))
    }

    /// Returns the directory of an agent.
    fn base(&self, base: BaseDir) -> Option<PathBuf> {
        let below = |dir: PathBuf, path: &str| match path {
            "" => dir,
            path => dir.join(path),
        };
        match base {
            BaseDir::Home(path) => self.below_home(path),
            BaseDir::Variable(name, path) => self.dir(name).map(|dir| below(dir, path)),
            BaseDir::VariableOrHome(name, path, home) => match self.dir(name) {
                Some(dir) => Some(below(dir, path)),
                None => self.below_home(home),
            },
            BaseDir::VariableInHome(name, path) => match self.set(name) {
                Some(name) => self.home().map(|home| home.join(name)),
                None => self.below_home(path),
            },
            _ => None,
        }
    }

    /// Returns the directory that a variable names. Agents replace a leading `~` by the home
    /// directory.
    fn dir(&self, name: &str) -> Option<PathBuf> {
        let dir = PathBuf::from(self.set(name)?);
        match dir.strip_prefix("~") {
            Ok(rest) => self.home().map(|home| home.join(rest)),
            Err(_) => Some(dir),
        }
    }

    fn data_dir(&self) -> Option<PathBuf> {
        let xdg = self.set("XDG_DATA_HOME").map(PathBuf::from).filter(|dir| dir.is_absolute());
        xdg.or_else(|| match () {
            () if cfg!(target_os = "macos") => self.below_home("Library/Application Support"),
            () if cfg!(windows) => self.set("LOCALAPPDATA").map(PathBuf::from),
            () => self.below_home(".local/share"),
        })
    }

    fn cache_dir(&self) -> Option<PathBuf> {
        // According to the convention, a relative path is ignored.
        let xdg = self.set("XDG_CACHE_HOME").map(PathBuf::from).filter(|dir| dir.is_absolute());
        xdg.or_else(|| match () {
            () if cfg!(target_os = "macos") => self.below_home("Library/Caches"),
            () if cfg!(windows) => self.set("LOCALAPPDATA").map(PathBuf::from),
            () => self.below_home(".cache"),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(vars: &[(&str, &str)]) -> Places {
        let vars: Vec<(String, OsString)> =
            vars.iter().map(|(name, value)| (name.to_string(), value.into())).collect();
        Places::from_env(|name| {
            vars.iter().find(|(key, _)| key == name).map(|(_, value)| value.clone())
        })
    }

    fn dirs(places: &Places, agent: Dialect) -> Vec<String> {
        let of_agent = places.iter().filter(|place| place.agent == Some(agent));
        of_agent.map(|place| place.dir.to_string_lossy().into_owned()).collect()
    }

    #[test]
    #[cfg(unix)]
    fn agents_keep_them_below_the_home_directory() {
        let found = places(&[("HOME", "/h")]);
        let table: [(Dialect, &[&str]); 12] = [
            (Dialect::Pi, &["/h/.pi/agent/sessions"]),
            (Dialect::Omp, &["/h/.omp/agent/sessions"]),
            (Dialect::Chimera, &["/h/.chimera/sessions"]),
            (Dialect::Operator, &["/h/.operator/sessions"]),
            (Dialect::Tau, &["/h/.tau/sessions"]),
            (Dialect::ClaudeCode, &["/h/.claude/projects"]),
            (Dialect::Codex, &["/h/.codex/sessions", "/h/.codex/archived_sessions"]),
            (Dialect::Qwen, &["/h/.qwen/projects"]),
            (Dialect::Gemini, &["/h/.gemini/tmp"]),
            (Dialect::Copilot, &["/h/.copilot/session-state"]),
            (
                Dialect::Goose,
                &[
                    "/h/.local/share/goose/sessions",
                    "/h/Library/Application Support/Block/goose/sessions",
                ],
            ),
            (
                Dialect::OpenCode,
                &["/h/.local/share/opencode/storage/session", "/h/.local/share/opencode"],
            ),
        ];
        for (agent, expected) in table {
            assert_eq!(dirs(&found, agent), expected, "{agent}");
        }
        assert_eq!(found.home(), Some(Path::new("/h")));
    }

    #[test]
    #[cfg(all(unix, not(target_os = "macos")))]
    fn new_sessions_are_created_in_a_place_that_is_searched() {
        let own = |vars: &[(&str, &str)]| {
            let places = places(vars);
            let own = places.own().map(Path::to_owned);
            assert!(own.iter().all(|own| places.iter().any(|place| place.dir == *own)));
            own
        };
        assert_eq!(own(&[]), None);
        assert_eq!(own(&[("HOME", "/h")]), Some("/h/.local/share/treering/sessions".into()));
        let data = [("HOME", "/h"), ("XDG_DATA_HOME", "/d")];
        assert_eq!(own(&data), Some("/d/treering/sessions".into()));
        assert_eq!(own(&[("HOME", "/h"), (SESSIONS, "/a:/b")]), Some("/a".into()));
        let only = places(&data).only(["/o".into()]);
        assert_eq!(only.own(), Some(Path::new("/o")));
    }

    #[test]
    #[cfg(unix)]
    fn variables_of_the_agents_move_them() {
        let found = places(&[
            ("HOME", "/h"),
            ("PI_CODING_AGENT_DIR", "~/pi"),
            ("PI_CODING_AGENT_SESSION_DIR", "/s"),
            ("PI_CONFIG_DIR", ".ohmy"),
            ("XDG_DATA_HOME", "/data"),
            ("CHIMERA_HOME", "/c"),
            ("CLAUDE_CONFIG_DIR", "/claude"),
            ("CODEX_HOME", ""),
            ("QWEN_HOME", "/q"),
            ("QWEN_RUNTIME_DIR", "/r"),
            ("GEMINI_CLI_HOME", "/g"),
            ("COPILOT_HOME", "/cp"),
            ("GOOSE_PATH_ROOT", "/go"),
        ]);
        assert_eq!(dirs(&found, Dialect::Pi), ["/h/pi/sessions", "/s"]);
        assert_eq!(dirs(&found, Dialect::Omp), ["/h/.ohmy/agent/sessions", "/data/omp/sessions"]);
        assert_eq!(dirs(&found, Dialect::Chimera), ["/c/sessions"]);
        assert_eq!(dirs(&found, Dialect::ClaudeCode), ["/claude/projects"]);
        assert_eq!(dirs(&found, Dialect::Codex).len(), 2, "an empty variable is not set");
        assert!(dirs(&found, Dialect::Codex)[0].starts_with("/h/.codex"));
        assert_eq!(dirs(&found, Dialect::Qwen), ["/q/projects", "/r/projects"]);
        assert_eq!(dirs(&found, Dialect::Gemini), ["/g/.gemini/tmp"]);
        assert_eq!(dirs(&found, Dialect::Copilot), ["/cp/session-state"]);
        assert_eq!(
            dirs(&found, Dialect::Goose)[..2],
            ["/go/data/sessions", "/data/goose/sessions"]
        );
        assert_eq!(
            dirs(&found, Dialect::OpenCode),
            ["/data/opencode/storage/session", "/data/opencode"]
        );
    }

    #[test]
    fn every_profile_has_its_own() {
        let home = tempfile::tempdir().unwrap();
        for dir in [".operator/profiles/other", ".omp/profiles/b", ".omp/profiles/a"] {
            std::fs::create_dir_all(home.path().join(dir)).unwrap();
        }
        let name = if cfg!(windows) { "USERPROFILE" } else { "HOME" };
        let found = places(&[(name, home.path().to_str().unwrap())]);
        let below = |agent| -> Vec<PathBuf> {
            let dirs = dirs(&found, agent).into_iter().map(PathBuf::from);
            dirs.map(|dir| dir.strip_prefix(home.path()).unwrap().to_owned()).collect()
        };
        let operator = [".operator/sessions", ".operator/profiles/other/sessions"];
        assert_eq!(below(Dialect::Operator), operator.map(PathBuf::from));
        let omp = [
            ".omp/agent/sessions",
            ".omp/profiles/a/agent/sessions",
            ".omp/profiles/b/agent/sessions",
        ];
        assert_eq!(below(Dialect::Omp), omp.map(PathBuf::from));
    }

    #[test]
    #[cfg(unix)]
    fn given_places_replace_the_known_ones() {
        let found = places(&[("HOME", "/h"), (SESSIONS, "/a:/b")]);
        assert_eq!(
            found.iter().map(|place| &*place.dir).collect::<Vec<_>>(),
            ["/a", "/b"].map(Path::new)
        );
        let found = found.only(["/x".into(), "/x".into()]).and(["/y".into()]);
        assert_eq!(
            found.iter().map(|place| &*place.dir).collect::<Vec<_>>(),
            ["/x", "/y"].map(Path::new)
        );
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn the_cache_is_where_caches_are() {
        let file = |vars: &[_]| places(vars).cache_file().map(Path::to_owned);
        assert_eq!(file(&[("HOME", "/h")]), Some("/h/.cache/treering/index".into()));
        let vars = [("HOME", "/h"), ("XDG_CACHE_HOME", "/c")];
        assert_eq!(file(&vars), Some("/c/treering/index".into()));
        let vars = [("HOME", "/h"), ("XDG_CACHE_HOME", "relative")];
        assert_eq!(file(&vars), Some("/h/.cache/treering/index".into()));
        assert_eq!(file(&[]), None);
    }
}
