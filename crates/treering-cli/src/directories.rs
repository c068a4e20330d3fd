//! The directories of treering's own files, below those that the user's environment names.

use std::path::{Path, PathBuf};

/// Returns the directory for state that is kept between two runs.
pub(crate) fn state() -> Option<PathBuf> {
    below("XDG_STATE_HOME", ".local/state", |name| std::env::var_os(name).map(PathBuf::from))
}

/// Returns the directory for the configuration, given the variables of the environment.
pub(crate) fn config(variable: impl Fn(&str) -> Option<PathBuf>) -> Option<PathBuf> {
    below("XDG_CONFIG_HOME", ".config", variable)
}

/// Returns treering's directory in the one that a variable names, or else in this one of the home
/// directory. According to the convention, a relative path is ignored.
fn below(
    name: &str,
    otherwise: &str,
    variable: impl Fn(&str) -> Option<PathBuf>,
) -> Option<PathBuf> {
    let named = variable(name).filter(|dir| dir.is_absolute());
    let home = || variable("HOME").filter(|home| home != Path::new(""));
    Some(named.or_else(|| Some(home()?.join(otherwise)))?.join("treering"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_relative_directory_is_ignored() {
        let at = |variables: &[(&str, &str)]| {
            below("XDG_STATE_HOME", ".local/state", |name| {
                variables.iter().find(|(key, _)| *key == name).map(|(_, value)| value.into())
            })
        };
        let home = Some(PathBuf::from("/h/.local/state/treering"));
        assert_eq!(at(&[("HOME", "/h"), ("XDG_STATE_HOME", "/x")]), Some("/x/treering".into()));
        assert_eq!(at(&[("HOME", "/h"), ("XDG_STATE_HOME", "x")]), home);
        assert_eq!(at(&[("HOME", "/h"), ("XDG_STATE_HOME", "")]), home);
        assert_eq!(at(&[("HOME", "")]), None);
    }
}
