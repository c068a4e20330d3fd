//! The configuration file: where it is, and what is in it.
//!
//! `TREERING_CONFIG` names it; else it is `treering/config.toml` in `XDG_CONFIG_HOME`, or in
//! `.config` of the home directory. A file that does not exist is an empty one.

use crate::error::Failure;
use serde::Deserialize;
use std::path::{Path, PathBuf};
use treering_agent::{CompactionConfig, ConfigError, SummarizerConfig};

/// What can be configured.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Config {
    pub(crate) summarizer: SummarizerConfig,
    pub(crate) compaction: CompactionConfig,
}

impl Config {
    pub(crate) fn load() -> Result<Self, Failure> {
        let Some(path) = path(|name| std::env::var_os(name).map(PathBuf::from)) else {
            return Ok(Config::default());
        };
        match std::fs::read_to_string(&path) {
            Ok(text) => ConfigError::parse(&text).map_err(|error| wrong(&path, &error)),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Config::default()),
            Err(error) => Err(Failure::message(format!("{}: {error}", path.display()))),
        }
    }
}

fn wrong(path: &Path, error: &ConfigError) -> Failure {
    let what = match error {
        ConfigError::Toml { line, message } => {
            format!("{}, line {line}: {message}", path.display())
        }
        other => format!("{}: {other}", path.display()),
    };
    Failure::with_hint(what, "correct the file, or name another one with TREERING_CONFIG")
}

fn path(variable: impl Fn(&str) -> Option<PathBuf>) -> Option<PathBuf> {
    let set = |name: &str| variable(name).filter(|value| !value.as_os_str().is_empty());
    if let Some(path) = set("TREERING_CONFIG") {
        return Some(path);
    }
    let base = set("XDG_CONFIG_HOME").or_else(|| Some(set("HOME")?.join(".config")))?;
    Some(base.join("treering").join("config.toml"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_is_found_by_the_environment() {
        let at = |variables: &[(&str, &str)]| {
            path(|name| variables.iter().find(|(key, _)| *key == name).map(|(_, v)| v.into()))
        };
        assert_eq!(at(&[]), None);
        assert_eq!(at(&[("HOME", "/h")]), Some("/h/.config/treering/config.toml".into()));
        let both = [("HOME", "/h"), ("XDG_CONFIG_HOME", "/x")];
        assert_eq!(at(&both), Some("/x/treering/config.toml".into()));
        let all = [("HOME", "/h"), ("XDG_CONFIG_HOME", ""), ("TREERING_CONFIG", "/c")];
        assert_eq!(at(&all), Some("/c".into()));
    }
}
