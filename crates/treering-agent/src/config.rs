//! [`AgentSettings`] from a configuration file.
//!
//! ```toml
//! [compaction]
//! enabled = true
//! reserve_tokens = 16384         # how much of the window must stay free
//! keep_recent_tokens = 20000     # about how much stays as it is
//! context_window = 200000
//!
//! [compaction.models."anthropic/claude-opus-4-5"]
//! context_window = 1000000
//! keep_recent_tokens = 60000
//! ```

use crate::session::AgentSettings;
use serde::Deserialize;
use std::collections::BTreeMap;
use treering::compaction::ModelSettings;

/// The settings of compactions in a configuration file; see the module for an example.
///
/// ```
/// let config: treering_agent::CompactionConfig =
///     treering_agent::ConfigError::parse("reserve_tokens = 8192").unwrap();
/// assert_eq!(config.settings().compaction.reserve_tokens, 8192);
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[non_exhaustive]
pub struct CompactionConfig {
    /// Whether a session is compacted automatically when its context gets too large.
    pub enabled: Option<bool>,
    /// The part of the model's window that must stay free, in tokens.
    pub reserve_tokens: Option<u64>,
    /// The approximate size of the newest part of the context that stays unchanged, in tokens.
    pub keep_recent_tokens: Option<u64>,
    /// The context window of the model, in tokens.
    pub context_window: Option<u64>,
    /// Settings for single models, by `provider/model`.
    pub models: BTreeMap<String, ModelConfig>,
}

/// The settings of one model.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[non_exhaustive]
pub struct ModelConfig {
    /// The part of the model's window that must stay free, in tokens.
    pub reserve_tokens: Option<u64>,
    /// The approximate size of the newest part of the context that stays unchanged, in tokens.
    pub keep_recent_tokens: Option<u64>,
    /// The context window of the model, in tokens.
    pub context_window: Option<u64>,
}

impl CompactionConfig {
    /// Returns the settings, with defaults for everything that the file does not set.
    pub fn settings(&self) -> AgentSettings {
        let mut settings = AgentSettings::default();
        let compaction = &mut settings.compaction;
        compaction.enabled = self.enabled.unwrap_or(compaction.enabled);
        compaction.reserve_tokens = self.reserve_tokens.unwrap_or(compaction.reserve_tokens);
        compaction.keep_recent_tokens =
            self.keep_recent_tokens.unwrap_or(compaction.keep_recent_tokens);
        for (name, model) in &self.models {
            let ModelConfig { reserve_tokens, keep_recent_tokens, context_window } = *model;
            let mut own = ModelSettings::new();
            (own.reserve_tokens, own.keep_recent_tokens) = (reserve_tokens, keep_recent_tokens);
            compaction.overrides.insert(name.clone(), own);
            if let Some(window) = context_window {
                settings.context_windows.insert(name.clone(), window);
            }
        }
        settings.context_window = self.context_window.unwrap_or(settings.context_window);
        settings
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ConfigError;
    use treering::context::Model;

    #[test]
    fn a_file_gives_settings() {
        let file = "reserve_tokens = 1\ncontext_window = 2\n[models.'a/b']\ncontext_window = 3\nkeep_recent_tokens = 4";
        let config: CompactionConfig = ConfigError::parse(file).unwrap();
        let settings = config.settings();
        assert!(settings.compaction.enabled);
        assert_eq!((settings.compaction.reserve_tokens, settings.context_window), (1, 2));
        let model = Model::new("a", "b");
        assert_eq!((settings.window_of(Some(&model)), settings.window_of(None)), (3, 2));
        let own = settings.compaction.of_model(Some(&model));
        assert_eq!((own.reserve_tokens, own.keep_recent_tokens), (1, 4));
        assert!(ConfigError::parse::<CompactionConfig>("windw = 3").is_err());
    }
}
