//! Configures the summarizer and its key from a file and the environment.
//!
//! This is the only place in the crate that reads the environment, and it does so through a
//! function that tests replace. The environment takes precedence over the file, so that a single
//! run can differ. If nothing is configured, nothing is guessed: the error names the choices. In
//! particular, the offline summarizer is never a fallback, but has to be chosen.
//!
//! ```toml
//! provider = "openai"            # anthropic, openai, command, extractive
//! model = "qwen3:14b"
//! base_url = "http://localhost:11434"
//! key_env = "MY_KEY"             # or: key = "…"; neither is needed for a server of one's own
//! context_window = 32768
//! max_output_tokens = 4096
//! idle_timeout = 120             # seconds; also connect_timeout, first_byte_timeout, total_timeout
//! ```
//!
//! | variable | stands for |
//! |---|---|
//! | `TREERING_SUMMARIZER` | `provider` |
//! | `TREERING_MODEL` | `model` |
//! | `TREERING_SUMMARIZER_COMMAND` | `command`, as a line for the shell |
//! | `ANTHROPIC_API_KEY`, `ANTHROPIC_BASE_URL` | `key` and `base_url`, for `anthropic` |
//! | `OPENAI_API_KEY`, `OPENAI_BASE_URL` | `key` and `base_url`, for `openai` |
//!
//! If the file has the key or the address itself, the provider's own variables do not replace it.

use super::error::ModelError;
use super::{
    Anthropic, Command, Extractive, Http, HttpOptions, OpenAi, Program, Secret, Summarizer,
};
use crate::chat::ChatModel;
use serde::Deserialize;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// The kind of summarizer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Provider {
    /// The Anthropic Messages API.
    Anthropic,
    /// An OpenAI-compatible server.
    OpenAi,
    /// An external command.
    Command,
    /// Quotations, without a model.
    Extractive,
}

impl Provider {
    /// Returns whether the provider is a model that can answer in a conversation.
    pub fn is_model(self) -> bool {
        matches!(self, Provider::Anthropic | Provider::OpenAi)
    }

    /// Returns the provider with this name.
    pub fn parse(name: &str) -> Option<Self> {
        Some(match name.trim() {
            "anthropic" => Provider::Anthropic,
            "openai" => Provider::OpenAi,
            "command" => Provider::Command,
            "extractive" => Provider::Extractive,
            _ => return None,
        })
    }
}

/// A command line for the shell, or a program and its arguments.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
enum CommandLine {
    Shell(String),
    Direct(Vec<String>),
}

/// The configuration of the summarizer; see the module for the file and the variables.
///
/// ```
/// use treering_agent::{SummarizerConfig, Summarizer};
/// let config = SummarizerConfig::from_toml("provider = \"extractive\"").unwrap();
/// assert_eq!(config.build().unwrap().name(), "extractive");
/// ```
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[non_exhaustive]
pub struct SummarizerConfig {
    /// The summarizer.
    pub provider: Option<Provider>,
    /// The model's id.
    pub model: Option<String>,
    /// The base URL of the API.
    pub base_url: Option<String>,
    /// The key itself.
    pub key: Option<Secret>,
    /// The environment variable that holds the key.
    pub key_env: Option<String>,
    command: Option<CommandLine>,
    /// The model's context window in tokens.
    pub context_window: Option<u64>,
    /// The maximum length of a summary in tokens.
    pub max_output_tokens: Option<u64>,
    connect_timeout: Option<f64>,
    first_byte_timeout: Option<f64>,
    idle_timeout: Option<f64>,
    total_timeout: Option<f64>,
    retries: Option<u32>,
}

/// An error in a configuration. It names the line but never quotes it, because a line may contain a
/// key.
///
/// ```
/// use treering_agent::SummarizerConfig;
/// let error = SummarizerConfig::from_toml("provider = 7").unwrap_err();
/// assert!(!error.to_string().is_empty());
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// The file cannot be read.
    #[error("the summarizer configuration cannot be read: {0}")]
    Read(#[from] std::io::Error),
    /// The file is not valid TOML, or has unexpected members.
    #[error("the summarizer configuration is wrong in line {line}: {message}")]
    Toml {
        /// The number of the line, counted from 1.
        line: usize,
        /// The problem.
        message: String,
    },
    /// A value is missing or invalid.
    #[error("the summarizer configuration is wrong: {0}")]
    Value(String),
    /// No model is configured that can answer in a conversation.
    #[error(
        "no model is configured; set ANTHROPIC_API_KEY, or OPENAI_API_KEY (or OPENAI_BASE_URL of a \
         compatible server) and TREERING_MODEL, or `provider` and `model` in the configuration file"
    )]
    NoModel,
    /// Nothing is configured, or the summarizer cannot be set up.
    #[error(transparent)]
    Summarizer(#[from] ModelError),
}

impl ConfigError {
    /// Parses a configuration that contains this one, or parts of it.
    pub fn parse<T: serde::de::DeserializeOwned>(text: &str) -> Result<T, ConfigError> {
        toml::from_str(text).map_err(|error| {
            let at = error.span().map_or(0, |span| span.start);
            let line = 1 + text.bytes().take(at).filter(|byte| *byte == b'\n').count();
            ConfigError::Toml { line, message: error.message().to_owned() }
        })
    }
}

/// The largest configuration file that is read.
const MAX_SIZE: u64 = 1024 * 1024;

impl SummarizerConfig {
    /// Reads the text of a configuration file.
    pub fn from_toml(text: &str) -> Result<Self, ConfigError> {
        ConfigError::parse(text)
    }

    /// Reads a configuration file, if it exists, and the environment.
    pub fn load(file: Option<&Path>) -> Result<Self, ConfigError> {
        let config = match file.map(|file| treering::internal::fs::read_text(file, MAX_SIZE)) {
            Some(Ok(text)) => Self::from_toml(&text)?,
            Some(Err(error)) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(error.into());
            }
            _ => Self::default(),
        };
        config.with_environment(None)
    }

    /// Returns the configuration with the values of the environment. `chosen` takes precedence over
    /// both.
    pub fn with_environment(mut self, chosen: Option<Provider>) -> Result<Self, ConfigError> {
        if let Some(chosen) = chosen {
            self.choose(chosen);
        }
        self.with_variables(&|name| {
            let decided = chosen.is_some() && name == "TREERING_SUMMARIZER";
            std::env::var(name).ok().filter(|_| !decided)
        })
    }

    /// Returns the configuration of the model for a conversation, with the values of the
    /// environment. `chosen` takes precedence over both.
    ///
    /// For a conversation, a key is enough to choose a model: without a provider, or with one that
    /// is not a model, `ANTHROPIC_API_KEY` chooses `anthropic`, and otherwise `OPENAI_API_KEY` or
    /// `OPENAI_BASE_URL` chooses `openai`.
    pub fn for_chat(mut self, chosen: Option<Provider>) -> Result<Self, ConfigError> {
        if let Some(chosen) = chosen {
            self.choose(chosen);
        }
        self.with_chat_variables(chosen.is_some(), &|name| std::env::var(name).ok())
    }

    fn with_chat_variables(
        mut self,
        is_chosen: bool,
        variable: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Self, ConfigError> {
        let is_set = |name: &str| variable(name).is_some_and(|value| !value.trim().is_empty());
        let named = variable("TREERING_SUMMARIZER").as_deref().and_then(Provider::parse);
        let provider = if is_chosen { self.provider } else { named.or(self.provider) };
        let is_open = !is_chosen && !provider.is_some_and(Provider::is_model);
        let guess = match () {
            () if !is_open => None,
            () if is_set("ANTHROPIC_API_KEY") => Some(Provider::Anthropic),
            () if is_set("OPENAI_API_KEY") || is_set("OPENAI_BASE_URL") => Some(Provider::OpenAi),
            () => None,
        };
        if let Some(guess) = guess {
            self.choose(guess);
        }
        let is_decided = is_chosen || guess.is_some();
        self.with_variables(&|name| {
            variable(name).filter(|_| !(is_decided && name == "TREERING_SUMMARIZER"))
        })
    }

    /// Sets the provider. Key and address in the file belong to the provider of the file, so they
    /// are removed for another one.
    fn choose(&mut self, provider: Provider) {
        if self.provider.is_some_and(|configured| configured != provider) {
            (self.key, self.key_env, self.base_url, self.model) = (None, None, None, None);
            (self.context_window, self.max_output_tokens) = (None, None);
        }
        self.provider = Some(provider);
    }

    /// Returns the configuration with the values that `variable` returns.
    fn with_variables(
        mut self,
        variable: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Self, ConfigError> {
        let variable = |name: &str| variable(name).filter(|value| !value.trim().is_empty());
        if let Some(name) = variable("TREERING_SUMMARIZER") {
            let provider = Provider::parse(&name).ok_or_else(|| {
                let choices = "anthropic, openai, command or extractive";
                ConfigError::Value(format!("TREERING_SUMMARIZER must be {choices}"))
            })?;
            self.choose(provider);
        }
        self.model = variable("TREERING_MODEL").or(self.model);
        self.command =
            variable("TREERING_SUMMARIZER_COMMAND").map(CommandLine::Shell).or(self.command);
        if let (None, Some(name)) = (&self.key, &self.key_env) {
            let key = variable(name).ok_or_else(|| {
                ConfigError::Value("the variable named by key_env is not set".into())
            })?;
            self.key = Some(Secret::new(key));
        }
        let (key, base_url) = match self.provider {
            Some(Provider::Anthropic) => ("ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL"),
            Some(Provider::OpenAi) => ("OPENAI_API_KEY", "OPENAI_BASE_URL"),
            _ => return Ok(self),
        };
        // A key for the provider's own address is not sent to an address from the file.
        if self.key.is_none() && self.base_url.is_none() {
            self.key = variable(key).map(Secret::new);
        }
        self.base_url = self.base_url.or_else(|| variable(base_url));
        Ok(self)
    }

    /// Builds the summarizer. Without a provider, fails with [`ModelError::NotConfigured`], which
    /// names the choices.
    pub fn build(&self) -> Result<Arc<dyn Summarizer>, ConfigError> {
        let provider = self.provider.ok_or(ModelError::NotConfigured)?;
        Ok(match provider {
            Provider::Anthropic => Arc::new(self.anthropic()?),
            Provider::OpenAi => Arc::new(self.openai()?),
            Provider::Command => {
                let mut built = Command::new(self.program()?);
                built.context_window = self.context_window;
                built.timeout = seconds(self.total_timeout, built.timeout)?;
                Arc::new(built)
            }
            Provider::Extractive => Arc::new(Extractive::default()),
        })
    }

    /// Builds the model for a conversation. Only the two providers that are models have one.
    pub fn build_chat(&self) -> Result<Arc<dyn ChatModel>, ConfigError> {
        match self.provider.ok_or(ConfigError::NoModel)? {
            Provider::Anthropic => Ok(Arc::new(self.anthropic()?)),
            Provider::OpenAi => Ok(Arc::new(self.openai()?)),
            Provider::Command | Provider::Extractive => Err(ConfigError::Value(
                "this provider cannot chat: choose anthropic or openai".into(),
            )),
        }
    }

    fn anthropic(&self) -> Result<Anthropic, ConfigError> {
        let key = self.key.clone().filter(|key| !key.is_empty());
        let key = key.ok_or_else(|| missing("anthropic", "a key (ANTHROPIC_API_KEY)"))?;
        let model = self.model.as_deref().unwrap_or(Anthropic::MODEL);
        let mut built = Anthropic::new(self.http()?, key, model);
        self.fill(&mut built.base_url, &mut built.context_window, &mut built.max_output_tokens)?;
        Ok(built)
    }

    fn openai(&self) -> Result<OpenAi, ConfigError> {
        if self.key.is_none() && self.base_url.is_none() {
            let what = "a key (OPENAI_API_KEY) or the address of a server (OPENAI_BASE_URL)";
            return Err(missing("openai", what));
        }
        let model = self.model.as_deref();
        let model = model.ok_or_else(|| missing("openai", "a model (TREERING_MODEL)"))?;
        let mut built = OpenAi::new(self.http()?, self.key.clone(), model);
        self.fill(&mut built.base_url, &mut built.context_window, &mut built.max_output_tokens)?;
        Ok(built)
    }

    fn fill(
        &self,
        base_url: &mut String,
        window: &mut u64,
        output: &mut u64,
    ) -> Result<(), ConfigError> {
        if let Some(configured) = &self.base_url {
            let url = reqwest::Url::parse(configured).ok();
            if !url.is_some_and(|url| matches!(url.scheme(), "http" | "https")) {
                return Err(ConfigError::Value(
                    "the base URL must be an address such as http://localhost:11434".into(),
                ));
            }
            base_url.clone_from(configured);
        }
        *window = self.context_window.unwrap_or(*window);
        *output = self.max_output_tokens.unwrap_or(*output);
        Ok(())
    }

    fn program(&self) -> Result<Program, ConfigError> {
        match &self.command {
            Some(CommandLine::Shell(line)) => Ok(Program::Shell(line.clone())),
            Some(CommandLine::Direct(words)) if !words.is_empty() => {
                let mut words = words.iter().map(Into::into);
                Ok(Program::Direct(words.next().unwrap_or_default(), words.collect()))
            }
            _ => Err(missing("command", "a program to run (TREERING_SUMMARIZER_COMMAND)")),
        }
    }

    fn http(&self) -> Result<Http, ConfigError> {
        let mut options = HttpOptions::default();
        let timeouts = &mut options.timeouts;
        for (limit, configured) in [
            (&mut timeouts.connect, self.connect_timeout),
            (&mut timeouts.first_byte, self.first_byte_timeout),
            (&mut timeouts.idle, self.idle_timeout),
            (&mut timeouts.total, self.total_timeout),
        ] {
            *limit = seconds(configured, *limit)?;
        }
        options.retry.retries = self.retries.unwrap_or(options.retry.retries);
        Ok(Http::new(options)?)
    }
}

fn missing(provider: &str, what: &str) -> ConfigError {
    ConfigError::Value(format!("{provider} needs {what}"))
}

fn seconds(configured: Option<f64>, default: Duration) -> Result<Duration, ConfigError> {
    let Some(seconds) = configured else { return Ok(default) };
    Duration::try_from_secs_f64(seconds)
        .ok()
        .filter(|limit| !limit.is_zero())
        .ok_or_else(|| ConfigError::Value("a timeout must be a positive number of seconds".into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(file: &str, variables: &[(&str, &str)]) -> Result<SummarizerConfig, ConfigError> {
        SummarizerConfig::from_toml(file)?.with_variables(&|name| {
            variables.iter().find(|(key, _)| *key == name).map(|(_, value)| value.to_string())
        })
    }

    #[test]
    fn nothing_configured_names_the_choices() {
        // A key that happens to be there is no choice.
        let error = with("", &[("OPENAI_API_KEY", "sk-1")]).unwrap().build().unwrap_err();
        assert!(matches!(error, ConfigError::Summarizer(ModelError::NotConfigured)));
        for choice in ["anthropic", "openai", "command", "extractive", "TREERING_SUMMARIZER"] {
            assert!(error.to_string().contains(choice), "{choice}");
        }
    }

    #[test]
    fn each_provider_says_what_it_needs() {
        for (file, needs) in [
            ("provider = 'anthropic'\nmodel = 'm'", "ANTHROPIC_API_KEY"),
            ("provider = 'openai'\nkey = 'k'", "TREERING_MODEL"),
            ("provider = 'openai'\nmodel = 'm'", "OPENAI_BASE_URL"),
            ("provider = 'command'", "TREERING_SUMMARIZER_COMMAND"),
            ("provider = 'command'\ncommand = []", "TREERING_SUMMARIZER_COMMAND"),
            ("provider = 'openai'\nmodel = 'm'\nkey = 'k'\nidle_timeout = -1", "positive"),
            ("provider = 'openai'\nmodel = 'm'\nbase_url = 'localhost:11434'", "http://"),
        ] {
            let error = with(file, &[]).unwrap().build().unwrap_err().to_string();
            assert!(error.contains(needs), "{file}: {error}");
        }
    }

    #[test]
    fn to_talk_to_a_model_a_key_is_enough() {
        let chat = |file: &str, chosen: Option<Provider>, variables: &[(&str, &str)]| {
            let mut config = SummarizerConfig::from_toml(file).unwrap();
            chosen.into_iter().for_each(|chosen| config.choose(chosen));
            let variable = |name: &str| {
                variables.iter().find(|(key, _)| *key == name).map(|(_, value)| value.to_string())
            };
            let built = config.with_chat_variables(chosen.is_some(), &variable)?.build_chat()?;
            Ok::<_, ConfigError>(format!("{}/{}", built.provider(), built.model()))
        };
        let anthropic = ("ANTHROPIC_API_KEY", "sk-1");
        let openai = ("OPENAI_API_KEY", "sk-2");
        let server = ("OPENAI_BASE_URL", "http://mine");
        let model = ("TREERING_MODEL", "m");
        let usual = format!("anthropic/{}", Anthropic::MODEL);
        assert_eq!(chat("", None, &[anthropic]).unwrap(), usual);
        assert_eq!(chat("", None, &[openai, anthropic]).unwrap(), usual);
        assert_eq!(chat("", None, &[anthropic, model]).unwrap(), "anthropic/m");
        assert_eq!(chat("", None, &[openai, model]).unwrap(), "openai/m");
        assert_eq!(chat("", None, &[server, model]).unwrap(), "openai/m");
        assert_eq!(chat("provider = 'extractive'", None, &[anthropic]).unwrap(), usual);
        let configured = "provider = 'openai'\nmodel = 'own'\nbase_url = 'http://mine'";
        assert_eq!(chat(configured, None, &[anthropic]).unwrap(), "openai/own");
        let named = ("TREERING_SUMMARIZER", "openai");
        assert_eq!(chat("", None, &[named, anthropic, openai, model]).unwrap(), "openai/m");
        let chosen = Some(Provider::OpenAi);
        assert_eq!(chat("", chosen, &[anthropic, openai, model]).unwrap(), "openai/m");
        for (variables, says) in [
            (&[][..], "ANTHROPIC_API_KEY"),
            (&[("ANTHROPIC_API_KEY", " ")][..], "no model is configured"),
            (&[openai][..], "TREERING_MODEL"),
        ] {
            let error = chat("", None, variables).unwrap_err().to_string();
            assert!(error.contains(says) && !error.contains("summarizer is"), "{error}");
        }
    }

    #[test]
    fn the_environment_wins_but_keys_stay_with_their_address() {
        let file = "provider = 'openai'\nmodel = 'a'\nbase_url = 'http://mine'";
        let variables =
            [("TREERING_MODEL", "b"), ("OPENAI_API_KEY", "sk-1"), ("OPENAI_BASE_URL", "x")];
        let config = with(file, &variables).unwrap();
        assert_eq!(config.model.as_deref(), Some("b"));
        assert_eq!((config.key, config.base_url.as_deref()), (None, Some("http://mine")));

        let other = [("TREERING_SUMMARIZER", "anthropic"), ("ANTHROPIC_API_KEY", "sk-2")];
        let config = with(&format!("{file}\nkey = 'sk-1'"), &other).unwrap();
        assert_eq!(config.provider, Some(Provider::Anthropic));
        assert_eq!((config.key, config.base_url), (Some(Secret::new("sk-2")), None));

        let named = with("provider = 'openai'\nkey_env = 'MINE'", &[("MINE", "sk-3")]).unwrap();
        assert_eq!(named.key, Some(Secret::new("sk-3")));
        assert!(with("provider = 'openai'\nkey_env = 'MINE'", &[]).is_err());
        assert!(with("", &[("TREERING_SUMMARIZER", "gpt")]).is_err());
    }

    #[test]
    fn all_four_can_be_built() {
        for (file, name, window) in [
            ("provider = 'anthropic'\nmodel = 'm'\nkey = 'k'", "anthropic", Some(200_000)),
            (
                "provider = 'openai'\nmodel = 'm'\nbase_url = 'http://x'\ncontext_window = 9",
                "openai",
                Some(9),
            ),
            ("provider = 'command'\ncommand = ['cat', '-']", "command", None),
            ("provider = 'command'\ncommand = 'cat -'", "command", None),
            ("provider = 'extractive'", "extractive", None),
        ] {
            let built = with(file, &[]).unwrap().build().unwrap();
            assert_eq!((built.name(), built.context_window()), (name, window));
        }
    }

    #[test]
    fn a_key_is_shown_nowhere() {
        let config = with("provider = 'openai'\nmodel = 'm'\nkey = 'sk-1'", &[]).unwrap();
        assert!(!format!("{config:?}{:?}", config.build().unwrap()).contains("sk-1"));
        for wrong in ["x = 1\nkey = 'sk-1'", "key = ['sk-1']", "key = sk-1", "key = 'sk-1", "sk-1"]
        {
            let error = SummarizerConfig::from_toml(wrong).unwrap_err();
            assert!(!format!("{error} {error:?}").contains("sk-1"), "{error:?}");
        }
    }
}
