//! Errors of requests to models, by cause, so that a caller can decide and a user can act.

use super::secret::{Secret, excerpt};
use std::fmt;
use std::time::Duration;

/// The error of a request to a model. Texts of servers in it are cut, and have no control
/// characters and no keys.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ModelError {
    /// The caller canceled.
    #[error("canceled")]
    Canceled,
    /// There was no response in time.
    #[error("the model timed out after {} s, {waiting}", limit.as_secs_f64())]
    Timeout {
        /// The step that took too long.
        waiting: Waiting,
        /// The time limit.
        limit: Duration,
    },
    /// The server refused the request.
    #[error("the server answered {status}: {message}")]
    Http {
        /// The HTTP status.
        status: u16,
        /// The message of the server.
        message: String,
    },
    /// The server could not be reached, or the connection was lost.
    #[error("connection to the model failed: {0}")]
    Connection(String),
    /// The server reported an error in the middle of its answer.
    #[error("the server stopped with {kind}: {message}")]
    Server {
        /// The kind of error, as the server names it.
        kind: String,
        /// The message of the server.
        message: String,
    },
    /// The answer violates the protocol.
    #[error("the model's answer cannot be understood: {0}")]
    Protocol(String),
    /// The summary was cut because it became too long.
    #[error("the answer is incomplete: it reached the output limit")]
    Length,
    /// There is no text in the answer.
    #[error("the model's answer is empty")]
    Empty,
    /// The model called a tool although none were offered.
    #[error("the model called a tool instead of answering")]
    ToolCall,
    /// The model, or a filter in front of it, declined.
    #[error("the model declined to answer ({0})")]
    Refused(String),
    /// The external command could not be run, or failed.
    #[error("the summarizer command {0}")]
    Command(String),
    /// No summarizer is configured.
    #[error(
        "no summarizer is configured: set TREERING_SUMMARIZER, or `provider` in the configuration \
         file, to anthropic, openai, command or extractive"
    )]
    NotConfigured,
}

impl ModelError {
    /// Makes texts of servers safe to show: removes the key, then cuts them to a readable length
    /// and removes control characters. In this order no half of a key can remain.
    pub(crate) fn harmless(mut self, key: Option<&Secret>) -> Self {
        let texts = match &mut self {
            ModelError::Http { message, .. } => [Some(message), None],
            ModelError::Server { kind, message } => [Some(kind), Some(message)],
            ModelError::Connection(text)
            | ModelError::Protocol(text)
            | ModelError::Refused(text) => [Some(text), None],
            _ => [None, None],
        };
        for text in texts.into_iter().flatten() {
            *text = match key {
                Some(key) => excerpt(&key.redact(text)),
                None => excerpt(text),
            };
        }
        self
    }

    /// Returns whether the server refused a part of the request that one of these words names.
    pub(crate) fn is_about(&self, words: &[&str]) -> bool {
        match self {
            ModelError::Http { status: 400 | 422, message } => {
                words.iter().any(|word| message.contains(word))
            }
            _ => false,
        }
    }
}

/// The step that a [`ModelError::Timeout`] waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Waiting {
    /// The connection to the server.
    Connect,
    /// The first byte of the answer.
    FirstByte,
    /// More bytes of the answer.
    More,
    /// The end of the request, including attempts and pauses.
    Total,
}

impl fmt::Display for Waiting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Waiting::Connect => "connecting",
            Waiting::FirstByte => "waiting for the answer to begin",
            Waiting::More => "waiting for more of the answer",
            Waiting::Total => "all attempts together",
        })
    }
}
