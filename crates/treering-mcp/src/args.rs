//! The arguments of tools.

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// Parses the arguments of a tool.
pub(crate) fn parse<T: DeserializeOwned>(arguments: Value) -> Result<T, String> {
    serde_json::from_value(arguments).map_err(|error| format!("wrong arguments: {error}"))
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct ListSessions {
    pub text: Option<String>,
    pub agent: Option<String>,
    pub project: Option<String>,
    pub since: Option<String>,
    pub limit: Option<usize>,
    pub cursor: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Search {
    pub query: String,
    pub limit: Option<usize>,
    pub per_session: Option<usize>,
    pub cursor: Option<usize>,
    #[serde(default)]
    pub by_relevance: bool,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ReadSession {
    pub session: String,
    pub leaf: Option<String>,
    pub cursor: Option<String>,
    pub max_tokens: Option<u64>,
    #[serde(default)]
    pub newest_first: bool,
    #[serde(default)]
    pub thinking: bool,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ReadEntry {
    pub session: String,
    pub entry: String,
    #[serde(default)]
    pub offset: usize,
    pub max_tokens: Option<u64>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ReadContext {
    pub session: String,
    pub leaf: Option<String>,
    #[serde(default)]
    pub cursor: usize,
    pub max_tokens: Option<u64>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ReadTree {
    pub session: String,
    #[serde(default)]
    pub cursor: usize,
    pub limit: Option<usize>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Usage {
    pub by: Option<String>,
    pub since: Option<String>,
    pub agent: Option<String>,
    pub project: Option<String>,
    pub limit: Option<usize>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Label {
    pub session: String,
    pub entry: String,
    pub label: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct At {
    pub session: String,
    pub entry: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Fork {
    pub session: String,
    pub entry: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Note {
    pub session: String,
    pub text: String,
}
