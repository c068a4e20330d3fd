//! Sends requests to a server and reads its stream of events; shared by all HTTP summarizers.
//!
//! One request is a POST whose answer is a stream of server-sent events. This module handles
//! connections, timeouts, attempts and cancellation; a [`Reader`] interprets the events. If a
//! stream breaks, the request is repeated, and the receiver learns that the text so far must be
//! discarded.
//!
//! Proxies and certificates are found by the client's standard means: `HTTPS_PROXY`, `HTTP_PROXY`,
//! `ALL_PROXY` and `NO_PROXY`; the system's certificate store, or, if set, the file `SSL_CERT_FILE`
//! or the directory `SSL_CERT_DIR`. Redirects are not followed, so that a key is sent only to the
//! configured address.

use super::error::{ModelError, Waiting};
use super::retry::{Retry, is_transient, retry_after};
use super::secret::{Secret, excerpt};
use super::sse::{SseEvent, SseParser};
use super::wait::{limited, within};
use super::{OnDelta, RetryNotice, Sink};
use reqwest::header::{HeaderMap, HeaderName, HeaderValue, RETRY_AFTER};
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::error::Error as _;
use std::time::Duration;
use tokio_util::sync::CancellationToken;
use treering::internal::unicode_json;

/// The maximum size of an event; real ones have a few hundred bytes.
const EVENT_LIMIT: usize = 1 << 20;
/// The maximum number of bytes of a refusal that are read.
const REFUSAL_LIMIT: usize = 64 << 10;

/// The time limits of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Timeouts {
    /// The time limit for a connection.
    pub connect: Duration,
    /// The time limit for the first byte of an answer. It is long, because a local model reads the
    /// whole prompt first.
    pub first_byte: Duration,
    /// The time limit for each further byte.
    pub idle: Duration,
    /// The time limit for everything, including pauses and further attempts.
    pub total: Duration,
}

impl Timeouts {
    /// Returns the defaults.
    pub fn new() -> Self {
        Timeouts::default()
    }

    /// Sets the time limit for a connection.
    #[must_use]
    pub fn connect(self, connect: Duration) -> Self {
        Timeouts { connect, ..self }
    }

    /// Sets the time limit for the first byte of an answer.
    #[must_use]
    pub fn first_byte(self, first_byte: Duration) -> Self {
        Timeouts { first_byte, ..self }
    }

    /// Sets the time limit for each further byte.
    #[must_use]
    pub fn idle(self, idle: Duration) -> Self {
        Timeouts { idle, ..self }
    }

    /// Sets the time limit for everything, including pauses and further attempts.
    #[must_use]
    pub fn total(self, total: Duration) -> Self {
        Timeouts { total, ..self }
    }
}

impl Default for Timeouts {
    fn default() -> Self {
        Timeouts {
            connect: Duration::from_secs(15),
            first_byte: Duration::from_secs(300),
            idle: Duration::from_secs(90),
            total: Duration::from_secs(900),
        }
    }
}

/// The source of proxies.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Proxy {
    /// The proxy is taken from the environment.
    #[default]
    System,
    /// There is no proxy.
    Direct,
}

/// Options of the HTTP client.
///
/// ```
/// use std::time::Duration;
/// use treering_agent::{Anthropic, ChatModel, Http, HttpOptions, OpenAi, Proxy, Retry, Secret, Timeouts};
/// let options = HttpOptions::new()
///     .timeouts(Timeouts::new().connect(Duration::from_secs(5)))
///     .retry(Retry::new().retries(1))
///     .proxy(Proxy::Direct);
/// let http = Http::new(options)?;
/// let model = Anthropic::new(http.clone(), Secret::new("key"), "claude-sonnet-4-5");
/// assert_eq!(model.provider(), "anthropic");
/// let local = OpenAi::new(http, None, "qwen3");
/// assert_eq!(local.model(), "qwen3");
/// # Ok::<(), treering_agent::ModelError>(())
/// ```
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct HttpOptions {
    /// The timeouts.
    pub timeouts: Timeouts,
    /// The policy of retries.
    pub retry: Retry,
    /// The source of proxies.
    pub proxy: Proxy,
}

impl HttpOptions {
    /// Returns the defaults.
    pub fn new() -> Self {
        HttpOptions::default()
    }

    /// Sets the timeouts.
    #[must_use]
    pub fn timeouts(self, timeouts: Timeouts) -> Self {
        HttpOptions { timeouts, ..self }
    }

    /// Sets the policy of retries.
    #[must_use]
    pub fn retry(self, retry: Retry) -> Self {
        HttpOptions { retry, ..self }
    }

    /// Sets the proxy.
    #[must_use]
    pub fn proxy(self, proxy: Proxy) -> Self {
        HttpOptions { proxy, ..self }
    }
}

/// An HTTP client. Clones share connections.
///
/// ```
/// use treering_agent::{Http, HttpOptions};
/// let http = Http::new(HttpOptions::new())?;
/// # let _ = http;
/// # Ok::<(), treering_agent::ModelError>(())
/// ```
#[derive(Debug, Clone)]
pub struct Http {
    client: reqwest::Client,
    options: HttpOptions,
}

/// A POST request.
pub(crate) struct Post<'a> {
    pub(crate) url: String,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Value,
    /// Members that are removed, one after the other, if the server refuses them.
    pub(crate) concessions: Vec<Concession>,
    /// The key, which is removed from errors that the server reports, but never from its answer.
    pub(crate) key: Option<&'a Secret>,
    /// Whether the request offers tools.
    pub(crate) has_tools: bool,
}

/// A part of a request that some servers refuse.
pub(crate) struct Concession {
    /// The words in a refusal that show that it is about this part.
    pub(crate) about: &'static [&'static str],
    /// The new values of the body's members; those that are null are removed.
    pub(crate) changes: Vec<(&'static str, Value)>,
}

impl Post<'_> {
    /// Removes the part that the error is about. Returns whether there was one.
    fn concede(&mut self, error: &ModelError) -> bool {
        let is_meant = |concession: &Concession| error.is_about(concession.about);
        let Some(place) = self.concessions.iter().position(is_meant) else { return false };
        let Some(body) = self.body.as_object_mut() else { return false };
        for (member, value) in self.concessions.remove(place).changes {
            body.insert(member.to_owned(), value);
        }
        body.retain(|_, value| !value.is_null());
        true
    }
}

/// Interprets the events of one answer. There is one reader for each attempt.
pub(crate) trait Reader: Default + Send {
    /// Handles an event, and passes text to the sink.
    fn event(&mut self, event: &SseEvent, sink: &mut Sink) -> Result<Flow, ModelError>;

    /// Passes on text that was held back, at the end of a complete answer.
    fn finish(&mut self, _sink: &mut Sink) -> Result<(), ModelError> {
        Ok(())
    }

    /// Returns whether an answer that ends here is complete.
    fn is_whole(&self) -> bool {
        false
    }
}

/// Whether an answer continues.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Flow {
    More,
    Done,
}

/// An attempt that failed.
struct AttemptError {
    /// The error, with the unchanged texts of the server; see [`ModelError::harmless`].
    error: ModelError,
    /// Whether another attempt may succeed.
    transient: bool,
    /// The pause that the server asked for.
    asked: Option<Duration>,
}

impl From<ModelError> for AttemptError {
    fn from(error: ModelError) -> Self {
        let transient = match &error {
            ModelError::Connection(_) => true,
            ModelError::Timeout { waiting, .. } => *waiting == Waiting::Connect,
            ModelError::Server { kind, .. } => is_transient_kind(kind),
            _ => false,
        };
        AttemptError { error, transient, asked: None }
    }
}

/// Returns whether an error inside a stream corresponds to a status 429 or 5xx.
fn is_transient_kind(kind: &str) -> bool {
    matches!(
        kind,
        "overloaded_error" | "api_error" | "rate_limit_error" | "server_error" | "timeout_error"
    ) || kind.parse().is_ok_and(is_transient)
}

impl Http {
    /// Creates a client with these options.
    pub fn new(options: HttpOptions) -> Result<Self, ModelError> {
        let builder = || {
            let builder = reqwest::Client::builder()
                .user_agent(concat!("treering/", env!("CARGO_PKG_VERSION")))
                .redirect(reqwest::redirect::Policy::none())
                .connect_timeout(options.timeouts.connect);
            if options.proxy == Proxy::Direct { builder.no_proxy() } else { builder }
        };
        // A machine without certificates can still use its own server over http.
        let client = builder()
            .build()
            .or_else(|_| builder().tls_built_in_root_certs(false).build())
            .map_err(|error| ModelError::Connection(explain(error)))?;
        Ok(Http { client, options })
    }

    /// Sends `post` and reads the answer. Returns the reader in its final state, and the whole
    /// text.
    pub(crate) async fn ask<R: Reader>(
        &self,
        mut post: Post<'_>,
        on_delta: Option<OnDelta>,
        cancel: &CancellationToken,
    ) -> Result<(R, String), ModelError> {
        let work = async {
            let mut sink = Sink::new(on_delta);
            sink.takes_calls = post.has_tools;
            let mut retry = 0;
            loop {
                let failure = match self.attempt(&post, &mut sink).await {
                    Ok(reader) => return Ok((reader, sink.finish())),
                    Err(failure) => failure,
                };
                if post.concede(&failure.error) {
                    continue;
                }
                let error = failure.error.harmless(post.key);
                if !failure.transient || retry >= self.options.retry.retries {
                    return Err(error);
                }
                sink.rewind();
                let pause = self.options.retry.pause(retry, failure.asked);
                if let Some(on_retry) = &self.options.retry.on_retry {
                    on_retry(&error, pause);
                }
                retry += 1;
                let attempts = self.options.retry.retries.saturating_add(1);
                let attempt = retry + 1;
                sink.retry(&RetryNotice { attempt, attempts, reason: error, wait: pause });
                tokio::time::sleep(pause).await;
            }
        };
        within(cancel, self.options.timeouts.total, work).await
    }

    async fn attempt<R: Reader>(
        &self,
        post: &Post<'_>,
        sink: &mut Sink,
    ) -> Result<R, AttemptError> {
        let timeouts = &self.options.timeouts;
        let request = self.client.post(&post.url).headers(post.headers.clone());
        let sent = request.body(post.body.to_string()).send();
        let mut response = limited(Waiting::FirstByte, timeouts.first_byte, sent)
            .await?
            .map_err(|error| self.lost(error))?;
        if !response.status().is_success() {
            return Err(self.refusal(response).await);
        }
        let (mut parser, mut reader) = (SseParser::new(EVENT_LIMIT), R::default());
        let mut events = Vec::new();
        let (mut waiting, mut limit) = (Waiting::FirstByte, timeouts.first_byte);
        loop {
            let chunk = limited(waiting, limit, response.chunk()).await?;
            let Some(chunk) = chunk.map_err(|error| self.lost(error))? else { break };
            (waiting, limit) = (Waiting::More, timeouts.idle);
            let fed = parser.feed(&chunk, &mut events);
            for event in events.drain(..) {
                if reader.event(&event, sink)? == Flow::Done {
                    reader.finish(sink)?;
                    return Ok(reader);
                }
            }
            if fed.is_err() {
                return Err(ModelError::Protocol("an event is too large".into()).into());
            }
        }
        if reader.is_whole() {
            reader.finish(sink)?;
            return Ok(reader);
        }
        Err(if is_event_stream(&response) {
            ModelError::Connection("the answer ended early".into()).into()
        } else {
            let hint = "it is not a stream of events; is the base URL right?";
            ModelError::Protocol(hint.into()).into()
        })
    }

    /// Converts an error of the HTTP client.
    fn lost(&self, error: reqwest::Error) -> ModelError {
        if error.is_builder() {
            return ModelError::Protocol(format!("the request cannot be sent: {}", explain(error)));
        }
        if error.is_connect() && error.is_timeout() {
            let limit = self.options.timeouts.connect;
            return ModelError::Timeout { waiting: Waiting::Connect, limit };
        }
        match error.url().filter(|_| error.is_connect()) {
            Some(url) => {
                let server = url.origin().ascii_serialization();
                ModelError::Connection(format!("cannot reach {server}: {}", root_cause(&error)))
            }
            None => ModelError::Connection(explain(error)),
        }
    }

    /// Converts a status other than success to an error.
    async fn refusal(&self, mut response: reqwest::Response) -> AttemptError {
        let status = response.status().as_u16();
        let header = response.headers().get(RETRY_AFTER).and_then(|value| value.to_str().ok());
        let asked = header.and_then(|value| retry_after(value, jiff::Timestamp::now()));
        let mut body = Vec::new();
        let idle = self.options.timeouts.idle;
        // Only the status matters: if reading the body fails, the message is shorter.
        while body.len() < REFUSAL_LIMIT
            && let Ok(Ok(Some(chunk))) = limited(Waiting::More, idle, response.chunk()).await
        {
            let room = REFUSAL_LIMIT - body.len();
            body.extend_from_slice(&chunk[..chunk.len().min(room)]);
        }
        let body = String::from_utf8_lossy(&body);
        let error = ModelError::Http { status, message: message(&body) };
        AttemptError { error, transient: is_transient(status), asked }
    }
}

/// Parses the data of an event. Servers that cut a text anywhere send halves of surrogate pairs, which
/// are replaced.
pub(crate) fn parse<T: DeserializeOwned>(data: &str) -> Result<T, ModelError> {
    serde_json::from_str(data).or_else(|error| {
        let valid = unicode_json(data.as_bytes());
        serde_json::from_str(&valid).map_err(|_| ModelError::Protocol(format!("{error} in {data}")))
    })
}

fn is_event_stream(response: &reqwest::Response) -> bool {
    let header = response.headers().get(reqwest::header::CONTENT_TYPE);
    // A server that does not state the type is assumed to send events.
    header.is_none_or(|value| value.as_bytes().starts_with(b"text/event-stream"))
}

/// Returns the message of a refusal: the one in its JSON if there is one, else its text.
fn message(body: &str) -> String {
    let value = serde_json::from_str::<Value>(body).unwrap_or_default();
    let places = ["/error/message", "/message", "/error", "/detail"];
    match places.iter().find_map(|place| value.pointer(place)?.as_str()) {
        Some(text) => text.to_owned(),
        None if body.is_empty() => "no reason given".into(),
        None => body.to_owned(),
    }
}

/// Returns the text of the first cause of an error.
fn root_cause(error: &reqwest::Error) -> String {
    let mut cause: &dyn std::error::Error = error;
    while let Some(earlier) = cause.source() {
        cause = earlier;
    }
    excerpt(&cause.to_string())
}

/// Returns an error of the HTTP client with its causes, without the address, which may contain a
/// password.
fn explain(error: reqwest::Error) -> String {
    let error = error.without_url();
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    excerpt(&text)
}

/// Returns a header with a key, marked as sensitive, so that it is never printed.
pub(crate) fn key_header(
    headers: &mut HeaderMap,
    name: HeaderName,
    value: &str,
) -> Result<(), ModelError> {
    let mut value = HeaderValue::from_str(value)
        .map_err(|_| ModelError::Protocol("the key cannot be sent in a header".into()))?;
    value.set_sensitive(true);
    headers.insert(name, value);
    Ok(())
}

/// Returns `base` with `path` (`/v1/…`) appended, whether or not `base` already ends with a
/// version.
pub(crate) fn endpoint(base: &str, path: &str) -> String {
    let base = base.trim().trim_end_matches('/');
    let last = base.rsplit('/').next().unwrap_or_default();
    let is_version =
        last.strip_prefix('v').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
    let unversioned = path.strip_prefix("/v1").unwrap_or(path);
    if base.ends_with(unversioned) {
        base.to_owned()
    } else if is_version {
        format!("{base}{unversioned}")
    } else {
        format!("{base}{path}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_base_url_with_or_without_version() {
        let path = "/v1/chat/completions";
        for (base, url) in [
            ("http://localhost:11434", "http://localhost:11434/v1/chat/completions"),
            ("http://localhost:11434/v1/", "http://localhost:11434/v1/chat/completions"),
            ("https://x/api/v4", "https://x/api/v4/chat/completions"),
            ("https://x/openai", "https://x/openai/v1/chat/completions"),
            ("https://x/v1/chat/completions", "https://x/v1/chat/completions"),
            ("https://vllm.example", "https://vllm.example/v1/chat/completions"),
        ] {
            assert_eq!(endpoint(base, path), url);
        }
    }

    #[test]
    fn refusals_are_read_where_servers_put_them() {
        for (body, text) in [
            (r#"{"error":{"message":"no\u001b[0m"}}"#, "no\u{1b}[0m"),
            (r#"{"error":"model not found"}"#, "model not found"),
            ("<html>", "<html>"),
            ("", "no reason given"),
        ] {
            assert_eq!(message(body), text);
        }
    }
}
