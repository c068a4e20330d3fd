//! The configuration file: its location and its content.
//!
//! `TREERING_CONFIG` names it; otherwise it is `treering/config.toml` in `XDG_CONFIG_HOME`, or in
//! `.config` of the home directory. A file that does not exist counts as empty.

use crate::directories;
use crate::error::Failure;
use crate::output;
use crate::text::safe_line;
use serde::de::Error;
use serde::{Deserialize, Deserializer};
use std::collections::{BTreeMap, HashMap};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock, PoisonError};
use treering::Dialect;
use treering_agent::{CompactionConfig, ConfigError, SummarizerConfig};
use treering_usage::ModelPrice;

/// The largest settings file that is read.
const MAX_SIZE: u64 = 1024 * 1024;

/// The configuration.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Config {
    pub(crate) ui: Ui,
    pub(crate) keys: Keys,
    pub(crate) places: PlacesConfig,
    pub(crate) summarizer: SummarizerConfig,
    pub(crate) compaction: CompactionConfig,
    pub(crate) store: StoreConfig,
    /// The commands with which agents resume a session.
    pub(crate) resume: ResumeCommands,
    pub(crate) share: ShareConfig,
    /// The user's prices, by model.
    pub(crate) prices: BTreeMap<String, ModelPrice>,
}

/// Commands of agents, which replace the known ones.
#[derive(Debug, Default, Deserialize)]
#[serde(transparent)]
pub(crate) struct ResumeCommands(
    #[serde(deserialize_with = "commands")] HashMap<Dialect, Vec<String>>,
);

impl ResumeCommands {
    /// Returns the configured command of an agent.
    pub(crate) fn get(&self, agent: Dialect) -> Option<&[String]> {
        self.0.get(&agent).map(Vec::as_slice)
    }
}

fn commands<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<HashMap<Dialect, Vec<String>>, D::Error> {
    let commands = BTreeMap::<String, Vec<String>>::deserialize(deserializer)?;
    let checked = commands.into_iter().map(|(agent, words)| {
        let agent = treering_search::agent(&agent).map_err(D::Error::custom)?;
        match words.first().is_some_and(|program| !program.is_empty()) {
            true => Ok((agent, words)),
            false => Err(D::Error::custom(format!("the command of {agent} is empty"))),
        }
    });
    checked.collect()
}

/// The configuration of `treering share`.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct ShareConfig {
    /// The command that receives the document; that of GitHub's gists if empty.
    pub(crate) command: Vec<String>,
}

/// The store in which commands look for sessions.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct StoreConfig {
    /// The address of the store.
    pub(crate) url: Option<String>,
    /// The space of a database.
    pub(crate) space: Option<String>,
    /// The file that holds the token for a server.
    pub(crate) token_file: Option<PathBuf>,
}

/// The appearance of the output.
#[derive(Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Ui {
    pub(crate) color: Color,
    pub(crate) time: TimeStyle,
    pub(crate) pager: Option<String>,
    pub(crate) theme: ThemeChoice,
    pub(crate) double_escape: DoubleEscapeChoice,
    pub(crate) keep_drafts: bool,
}

impl Default for Ui {
    fn default() -> Self {
        Ui {
            color: Color::default(),
            time: TimeStyle::default(),
            pager: None,
            theme: ThemeChoice::default(),
            double_escape: DoubleEscapeChoice::default(),
            keep_drafts: true,
        }
    }
}

/// The action when Esc is pressed twice in the chat.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum DoubleEscapeChoice {
    #[default]
    Tree,
    Fork,
    None,
}

impl DoubleEscapeChoice {
    fn name(self) -> &'static str {
        match self {
            DoubleEscapeChoice::Tree => "tree",
            DoubleEscapeChoice::Fork => "fork",
            DoubleEscapeChoice::None => "none",
        }
    }
}

/// The colors of the terminal interface.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum ThemeChoice {
    /// The theme that suits the terminal, as far as it is known.
    #[default]
    Auto,
    Dark,
    Light,
    Plain,
}

impl ThemeChoice {
    fn name(self) -> &'static str {
        match self {
            ThemeChoice::Auto => "auto",
            ThemeChoice::Dark => "dark",
            ThemeChoice::Light => "light",
            ThemeChoice::Plain => "plain",
        }
    }
}

/// Key bindings for the terminal interface: the names of actions, and their keys.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Keys {
    pub(crate) picker: BTreeMap<String, KeyNames>,
    pub(crate) tree: BTreeMap<String, KeyNames>,
    pub(crate) chat: BTreeMap<String, KeyNames>,
}

/// One key, or several.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
pub(crate) enum KeyNames {
    One(String),
    Many(Vec<String>),
}

impl KeyNames {
    pub(crate) fn names(&self) -> Vec<String> {
        match self {
            KeyNames::One(key) => vec![key.clone()],
            KeyNames::Many(keys) => keys.clone(),
        }
    }
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Color {
    #[default]
    Auto,
    Never,
}

impl Color {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Color::Auto => "auto",
            Color::Never => "never",
        }
    }
}

/// The format of times in lists.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub(crate) enum TimeStyle {
    /// The age: 3 d
    #[default]
    Relative,
    /// Date and time, in UTC
    Iso,
}

impl TimeStyle {
    pub(crate) fn name(self) -> &'static str {
        match self {
            TimeStyle::Relative => "relative",
            TimeStyle::Iso => "iso",
        }
    }
}

/// The directories that are searched for sessions.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct PlacesConfig {
    /// The directories to search instead of those of the agents.
    pub(crate) only: Vec<PathBuf>,
    /// Additional directories to search.
    pub(crate) also: Vec<PathBuf>,
}

/// A configuration file with all settings, explained, and set to their defaults.
pub(crate) const DEFAULTS: &str = include_str!("help/config.toml");

/// The warning about an invalid file, until it is written.
static WARNING: Mutex<Option<String>> = Mutex::new(None);

/// Returns the path of the file, whether or not it exists.
pub(crate) fn file() -> Option<PathBuf> {
    path(|name| std::env::var_os(name).map(PathBuf::from))
}

impl Config {
    /// Returns the configuration for callers that must not fail because of it: an invalid file is
    /// ignored, and reported by [`warn`](Self::warn).
    pub(crate) fn current() -> &'static Config {
        static CURRENT: OnceLock<Config> = OnceLock::new();
        CURRENT.get_or_init(|| {
            Config::read_file().unwrap_or_else(|failure| {
                if let Failure::Message { what, .. } = failure {
                    *WARNING.lock().unwrap_or_else(PoisonError::into_inner) = Some(what);
                }
                Config::default()
            })
        })
    }

    /// Reports once that an invalid file was ignored. It is not reported when the file is read,
    /// because a command that needs the file fails with the same message.
    pub(crate) fn warn() {
        if let Some(what) = Config::take_warning() {
            output::write_notice("warning", &safe_line(&what));
        }
    }

    fn take_warning() -> Option<String> {
        WARNING.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Returns the current settings, one on each line, without secrets.
    pub(crate) fn describe(&self) -> Vec<String> {
        let list = |dirs: &[PathBuf]| {
            let dirs: Vec<String> = dirs.iter().map(|dir| format!("{dir:?}")).collect();
            format!("[{}]", dirs.join(", "))
        };
        let ui = &self.ui;
        let mut lines = vec![
            format!("ui.color = {:?}", ui.color.name()),
            format!("ui.time = {:?}", ui.time.name()),
            format!("ui.pager = {:?}", ui.pager.as_deref().unwrap_or("less -FRX")),
            format!("ui.theme = {:?}", ui.theme.name()),
            format!("ui.double_escape = {:?}", ui.double_escape.name()),
            format!("ui.keep_drafts = {}", ui.keep_drafts),
            format!("places.only = {}", list(&self.places.only)),
            format!("places.also = {}", list(&self.places.also)),
        ];
        let provider =
            self.summarizer.provider.map(|provider| format!("{provider:?}").to_lowercase());
        let model = self.summarizer.model.clone();
        for (key, value) in [("provider", provider), ("model", model)] {
            lines.extend(value.map(|value| format!("summarizer.{key} = {value:?}")));
        }
        let compaction = self.compaction.settings().compaction;
        lines.push(format!("compaction.enabled = {}", compaction.enabled));
        lines.push(format!("compaction.reserve_tokens = {}", compaction.reserve_tokens));
        lines.push(format!("compaction.keep_recent_tokens = {}", compaction.keep_recent_tokens));
        for (model, ModelPrice { input, output, .. }) in &self.prices {
            lines.push(format!("prices.{model:?} = {{ input = {input}, output = {output}, … }}"));
        }
        lines
    }

    /// Returns the configuration for commands that need what the file says.
    pub(crate) fn load() -> Result<Self, Failure> {
        Config::read_file().inspect_err(|_| drop(Config::take_warning()))
    }

    fn read_file() -> Result<Self, Failure> {
        let Some(path) = file() else { return Ok(Config::default()) };
        match read(&path) {
            Ok(text) => ConfigError::parse(&text).map_err(|error| wrong(&path, &error)),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Config::default()),
            Err(error) => Err(Failure::io("read", &path, &error)),
        }
    }
}

/// Reads a settings file. `/dev/null` is empty: it is the usual way to run without settings.
fn read(path: &Path) -> io::Result<String> {
    if path == Path::new("/dev/null") {
        return Ok(String::new());
    }
    treering::internal::fs::read_text(path, MAX_SIZE)
}

fn wrong(path: &Path, error: &ConfigError) -> Failure {
    let what = match error {
        ConfigError::Toml { line, message } => {
            format!("{}, line {line}: {}", path.display(), in_plain_words(message))
        }
        other => format!("{}: {other}", path.display()),
    };
    Failure::with_hint(what, "correct the file, or name another file with TREERING_CONFIG")
}

/// Returns a message of the parser without the names of Rust's types.
fn in_plain_words(message: &str) -> String {
    [
        ("unknown field", "unknown setting"),
        ("unknown variant", "unknown value"),
        ("invalid type: ", ""),
        ("invalid value: ", ""),
        ("expected u64", "expected a whole number that is not negative"),
        ("expected f64", "expected a number"),
        ("wanted string or table", "expected a string"),
    ]
    .into_iter()
    .fold(message.to_owned(), |text, (from, to)| text.replace(from, to))
}

fn path(variable: impl Fn(&str) -> Option<PathBuf>) -> Option<PathBuf> {
    if let Some(path) = variable("TREERING_CONFIG").filter(|path| path != Path::new("")) {
        return Some(path);
    }
    Some(directories::config(variable)?.join("config.toml"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_documented_defaults_are_the_defaults() {
        let documented: Config = ConfigError::parse(DEFAULTS).unwrap();
        assert_eq!(documented.describe(), Config::default().describe());
        // And every example in it is right, once it counts.
        let lines = DEFAULTS.lines().map(|line| match line.strip_prefix("# ") {
            Some(setting) if setting.contains(" = ") || setting.starts_with('[') => setting,
            _ => line,
        });
        let text: String = lines.map(|line| format!("{line}\n")).collect();
        let all: Config = ConfigError::parse(&text).unwrap();
        assert_eq!(all.summarizer.model.as_deref(), Some("qwen3:14b"));
        assert_eq!(all.places.also.len(), 1);
        assert_eq!(all.prices["my-model"].cache_read, Some(0.3));
    }

    #[test]
    fn the_file_is_found_by_the_environment() {
        let at = |variables: &[(&str, &str)]| {
            path(|name| variables.iter().find(|(key, _)| *key == name).map(|(_, v)| v.into()))
        };
        assert_eq!(at(&[]), None);
        assert_eq!(at(&[("HOME", "/h")]), Some("/h/.config/treering/config.toml".into()));
        let both = [("HOME", "/h"), ("XDG_CONFIG_HOME", "/x")];
        assert_eq!(at(&both), Some("/x/treering/config.toml".into()));
        let relative = [("HOME", "/h"), ("XDG_CONFIG_HOME", "x")];
        assert_eq!(at(&relative), at(&[("HOME", "/h")]));
        let all = [("HOME", "/h"), ("XDG_CONFIG_HOME", ""), ("TREERING_CONFIG", "/c")];
        assert_eq!(at(&all), Some("/c".into()));
    }
}
