//! A client of Anthropic's Messages API, with streaming.

use super::Sink;
use super::calls::{Calls, add_members, check_empty};
use super::error::ModelError;
use super::http::{Concession, Flow, Http, Post, Reader, endpoint, key_header, parse};
use super::secret::Secret;
use super::sse::SseEvent;
use crate::chat::{ChatAnswer, ChatFuture, ChatModel, ChatRequest, ChatTurn, ThinkingLevel};
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use treering::provider::CacheControl;
use treering::usage::Usage;

/// A model behind Anthropic's Messages API.
///
/// ```
/// use treering_agent::{Anthropic, ChatModel, Http, HttpOptions, Secret};
/// let http = Http::new(HttpOptions::new())?;
/// let mut model = Anthropic::new(http, Secret::new("key"), Anthropic::MODEL);
/// model.max_output_tokens = 4_000;
/// assert_eq!(model.model(), Anthropic::MODEL);
/// # Ok::<(), treering_agent::ModelError>(())
/// ```
#[derive(Debug, Clone)]
pub struct Anthropic {
    http: Http,
    key: Secret,
    /// The model's id.
    pub model: String,
    /// The base URL of the API; `https://api.anthropic.com` by default.
    pub base_url: String,
    /// The model's context window in tokens.
    pub context_window: u64,
    /// The default maximum length of an answer, in tokens.
    pub max_output_tokens: u64,
}

impl Anthropic {
    /// The default base URL.
    pub const BASE_URL: &'static str = "https://api.anthropic.com";

    /// The default model.
    pub const MODEL: &'static str = "claude-sonnet-4-5";

    /// Creates a client for `model` with an API key.
    pub fn new(http: Http, key: Secret, model: impl Into<String>) -> Self {
        Anthropic {
            http,
            key,
            model: model.into(),
            base_url: Self::BASE_URL.into(),
            context_window: 200_000,
            max_output_tokens: 8192,
        }
    }

    fn post(&self, request: &ChatRequest) -> Result<Post<'_>, ModelError> {
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        let version = HeaderName::from_static("anthropic-version");
        headers.insert(version, HeaderValue::from_static("2023-06-01"));
        key_header(&mut headers, HeaderName::from_static("x-api-key"), self.key.expose())?;
        let longest = request.max_output_tokens.unwrap_or(self.max_output_tokens);
        let mut body = json!({
            "model": self.model,
            "max_tokens": longest,
            "stream": true,
        });
        match &request.context {
            Some(context) => {
                let options = request
                    .provider_options(self.provider(), &self.model)
                    .with_cache(CacheControl::Ephemeral);
                add_members(&mut body, &context.to_anthropic(&options).json)?;
            }
            None => {
                body["messages"] = request.turns.iter().map(message).collect();
                // The API refuses an empty system prompt.
                if !request.system.is_empty() {
                    body["system"] = json!(request.system);
                }
            }
        }
        let mut concessions = Vec::new();
        if let Some(thinking) = request.thinking {
            let budget = budget(thinking);
            // Thinking counts as output.
            body["max_tokens"] = json!(longest.saturating_add(budget));
            body["thinking"] = json!({ "type": "enabled", "budget_tokens": budget });
            let changes = vec![("thinking", Value::Null), ("max_tokens", json!(longest))];
            concessions.push(Concession { about: &["thinking", "max_tokens"], changes });
        }
        let url = endpoint(&self.base_url, "/v1/messages");
        Ok(Post {
            url,
            headers,
            body,
            concessions,
            key: Some(&self.key),
            has_tools: !request.tools.is_empty(),
        })
    }
}

impl ChatModel for Anthropic {
    fn provider(&self) -> &str {
        "anthropic"
    }

    fn model(&self) -> &str {
        &self.model
    }

    fn api(&self) -> &str {
        "anthropic-messages"
    }

    fn context_window(&self) -> u64 {
        self.context_window
    }

    fn answer<'a>(
        &'a self,
        mut request: ChatRequest,
        cancel: &'a CancellationToken,
    ) -> ChatFuture<'a> {
        Box::pin(async move {
            let (post, on_delta) = (self.post(&request)?, request.on_delta.take());
            let (answer, text) = self.http.ask::<AnthropicReader>(post, on_delta, cancel).await?;
            let tool_calls = answer.calls.finish(&request)?;
            check_empty(&text, &tool_calls)?;
            let model = answer.model.unwrap_or_else(|| self.model.clone());
            Ok(ChatAnswer { text, tool_calls, usage: answer.usage, model })
        })
    }
}

/// Returns the number of thinking tokens. The API accepts no less than the smallest of these.
fn budget(thinking: ThinkingLevel) -> u64 {
    match thinking {
        ThinkingLevel::Minimal => 1024,
        ThinkingLevel::Low => 2048,
        ThinkingLevel::Medium => 8192,
        ThinkingLevel::High => 16_384,
        ThinkingLevel::XHigh => 32_768,
    }
}

fn message(turn: &ChatTurn) -> Value {
    let role = turn.side.role();
    if turn.images.is_empty() {
        return json!({ "role": role, "content": turn.text });
    }
    let mut blocks: Vec<Value> = turn
        .images
        .iter()
        .map(|(kind, data)| {
            let source = json!({ "type": "base64", "media_type": kind, "data": data });
            json!({ "type": "image", "source": source })
        })
        .collect();
    if !turn.text.trim().is_empty() {
        blocks.push(json!({ "type": "text", "text": turn.text }));
    }
    json!({ "role": role, "content": blocks })
}

/// The answer so far.
#[derive(Default)]
struct AnthropicReader {
    model: Option<String>,
    usage: Option<Usage>,
    stopped: bool,
    /// The signature of the current thinking block, as far as it has arrived.
    signature: Option<String>,
    calls: Calls,
}

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum AnthropicEvent {
    MessageStart {
        message: StartedMessage,
    },
    ContentBlockStart {
        #[serde(default)]
        index: usize,
        content_block: StartedBlock,
    },
    ContentBlockDelta {
        #[serde(default)]
        index: usize,
        delta: BlockDelta,
    },
    ContentBlockStop,
    MessageDelta {
        delta: StopDelta,
        usage: Option<Tokens>,
    },
    MessageStop,
    Error {
        error: StreamError,
    },
    /// Pings, and events of later versions.
    #[serde(other)]
    Other,
}

#[derive(Deserialize)]
struct StartedMessage {
    model: Option<String>,
    usage: Option<Tokens>,
}

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum StartedBlock {
    Text {
        #[serde(default)]
        text: String,
    },
    Thinking {
        #[serde(default)]
        thinking: String,
    },
    RedactedThinking {
        #[serde(default)]
        data: String,
    },
    ToolUse {
        #[serde(default)]
        id: String,
        #[serde(default)]
        name: String,
    },
    #[serde(other)]
    Other,
}

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum BlockDelta {
    #[serde(rename = "text_delta")]
    Text { text: String },
    #[serde(rename = "thinking_delta")]
    Thinking { thinking: String },
    #[serde(rename = "signature_delta")]
    Signature { signature: String },
    #[serde(rename = "input_json_delta")]
    Input { partial_json: String },
    #[serde(other)]
    Other,
}

#[derive(Deserialize)]
struct StopDelta {
    stop_reason: Option<String>,
}

#[derive(Deserialize)]
struct StreamError {
    #[serde(rename = "type", default)]
    kind: String,
    #[serde(default)]
    message: String,
}

/// Token counts. They are cumulative: a later one replaces an earlier one.
#[derive(Deserialize)]
struct Tokens {
    input_tokens: Option<u64>,
    output_tokens: Option<u64>,
    cache_read_input_tokens: Option<u64>,
    cache_creation_input_tokens: Option<u64>,
}

impl AnthropicReader {
    fn count(&mut self, tokens: Option<Tokens>, sink: &mut Sink) {
        let Some(tokens) = tokens else { return };
        let usage = self.usage.get_or_insert(Usage::of_request());
        for (count, reported) in [
            (&mut usage.input, tokens.input_tokens),
            (&mut usage.output, tokens.output_tokens),
            (&mut usage.cache_read, tokens.cache_read_input_tokens),
            (&mut usage.cache_write, tokens.cache_creation_input_tokens),
        ] {
            *count = reported.unwrap_or(*count);
        }
        sink.usage(usage);
    }

    fn stop(&mut self, reason: Option<&str>) -> Result<(), ModelError> {
        match reason {
            None => return Ok(()),
            Some("end_turn" | "stop_sequence") => {}
            Some("max_tokens" | "model_context_window_exceeded") => {
                return Err(ModelError::Length);
            }
            Some("tool_use") => self.calls.is_wanted = true,
            Some(other) => return Err(ModelError::Refused(other.to_owned())),
        }
        self.stopped = true;
        Ok(())
    }
}

impl Reader for AnthropicReader {
    fn event(&mut self, event: &SseEvent, sink: &mut Sink) -> Result<Flow, ModelError> {
        match parse(&event.data)? {
            AnthropicEvent::MessageStart { message } => {
                self.model = message.model;
                self.count(message.usage, sink);
            }
            AnthropicEvent::ContentBlockStart {
                content_block: StartedBlock::Text { text },
                ..
            }
            | AnthropicEvent::ContentBlockDelta { delta: BlockDelta::Text { text }, .. } => {
                sink.push(&text)?
            }
            AnthropicEvent::ContentBlockStart {
                content_block: StartedBlock::Thinking { thinking },
                ..
            } => {
                self.signature = Some(String::new());
                sink.think(&thinking)?;
            }
            AnthropicEvent::ContentBlockStart {
                content_block: StartedBlock::RedactedThinking { data },
                ..
            } => sink.redacted(&data)?,
            AnthropicEvent::ContentBlockDelta {
                delta: BlockDelta::Thinking { thinking }, ..
            } => {
                sink.think(&thinking)?;
            }
            AnthropicEvent::ContentBlockDelta {
                delta: BlockDelta::Signature { signature },
                ..
            } => {
                self.signature.get_or_insert_default().push_str(&signature);
            }
            AnthropicEvent::ContentBlockStop => {
                if let Some(signature) = self.signature.take() {
                    sink.end_thinking(Some(&*signature).filter(|text| !text.is_empty()));
                }
            }
            AnthropicEvent::ContentBlockStart {
                index,
                content_block: StartedBlock::ToolUse { id, name },
            } => {
                self.calls.push(index, Some(&id), Some(&name), None, sink)?;
            }
            AnthropicEvent::ContentBlockDelta {
                index,
                delta: BlockDelta::Input { partial_json },
            } => {
                self.calls.push(index, None, None, Some(&partial_json), sink)?;
            }
            AnthropicEvent::MessageDelta { delta, usage } => {
                self.count(usage, sink);
                self.stop(delta.stop_reason.as_deref())?;
            }
            AnthropicEvent::MessageStop => return Ok(Flow::Done),
            AnthropicEvent::Error { error: StreamError { kind, message } } => {
                return Err(ModelError::Server { kind, message });
            }
            AnthropicEvent::ContentBlockStart { .. }
            | AnthropicEvent::ContentBlockDelta { .. }
            | AnthropicEvent::Other => {}
        }
        Ok(Flow::More)
    }

    /// Returns whether the answer is complete: it has a stop reason.
    fn is_whole(&self) -> bool {
        self.stopped
    }
}
