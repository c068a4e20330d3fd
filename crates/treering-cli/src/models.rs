//! The models that the configuration, the environment and the command line choose.

use crate::config::Config;
use crate::sessions;
use std::path::Path;
use std::sync::Arc;
use treering::Session;
use treering_agent::{
    AgentSession, ChatModel, ConfigError, Provider, Summarizer, SummarizerConfig,
};

/// The configured models.
#[derive(Debug, Clone)]
pub(crate) struct Models {
    file: SummarizerConfig,
    provider: Option<Provider>,
    model: Option<String>,
}

impl Models {
    /// Creates the models from the configuration and the options that override it.
    pub(crate) fn new(config: &Config, provider: Option<Provider>, model: Option<String>) -> Self {
        Models { file: config.summarizer.clone(), provider, model }
    }

    fn config(&self) -> Result<SummarizerConfig, ConfigError> {
        let mut config = self.file.clone().for_chat(self.provider)?;
        config.model = self.model.clone().or(config.model);
        Ok(config)
    }

    /// Returns the model for a conversation.
    pub(crate) fn chosen(&self) -> Result<Arc<dyn ChatModel>, ConfigError> {
        self.config()?.build_chat()
    }

    /// Returns the configured summarizer, or else the model for a conversation.
    fn summarizer(&self) -> Result<Arc<dyn Summarizer>, ConfigError> {
        let configured = self.file.clone().with_environment(self.provider)?;
        match configured.provider {
            Some(provider) if !provider.is_model() => configured.build(),
            _ => self.config()?.build(),
        }
    }

    /// Returns the model with a name, which may have the name of another provider before it.
    pub(crate) fn named(&self, name: &str) -> Result<Arc<dyn ChatModel>, ConfigError> {
        let parts = name.split_once('/');
        let provider = parts.and_then(|(provider, _)| Provider::parse(provider));
        let model = parts.filter(|_| provider.is_some()).map_or(name, |(_, model)| model);
        let provider = provider.or(self.provider);
        Models { file: self.file.clone(), provider, model: Some(model.to_owned()) }.chosen()
    }

    /// Returns a session with a summarizer, if there is one.
    pub(crate) fn agent(&self, session: Session, config: &Config) -> AgentSession {
        let mut settings = config.compaction.settings();
        settings.sessions_root = sessions::places().own().map(Path::to_owned);
        let agent = AgentSession::new(session).with_settings(settings);
        match self.summarizer() {
            Ok(summarizer) => agent.with_summarizer(summarizer),
            // The error is reported when a summary is requested.
            Err(_) => agent,
        }
    }
}
