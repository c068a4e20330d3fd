//! A client of OpenAI-compatible chat completions, with streaming: OpenAI itself, Ollama,
//! llama.cpp, vLLM and others.
//!
//! These servers have little in common, so little is required of them: usage may be missing,
//! `[DONE]` may be missing after a finish reason, and a key is sent only if there is one.

use super::Sink;
use super::calls::{Calls, add_members, check_empty};
use super::error::ModelError;
use super::http::{Concession, Flow, Http, Post, Reader, endpoint, key_header, parse};
use super::secret::Secret;
use super::sse::SseEvent;
use super::thoughts::Thoughts;
use crate::chat::{ChatAnswer, ChatFuture, ChatModel, ChatRequest, ChatTurn, ThinkingLevel};
use reqwest::header::{AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderValue};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use treering::usage::Usage;

/// A model behind an OpenAI-compatible server.
///
/// ```
/// use treering_agent::{ChatModel, Http, HttpOptions, OpenAi};
/// let mut model = OpenAi::new(Http::new(HttpOptions::new())?, None, "qwen3");
/// model.base_url = "http://localhost:11434/v1".into();
/// assert_eq!(model.model(), "qwen3");
/// # Ok::<(), treering_agent::ModelError>(())
/// ```
#[derive(Debug, Clone)]
pub struct OpenAi {
    http: Http,
    key: Option<Secret>,
    /// The model's id.
    pub model: String,
    /// The base URL of the API, with or without `/v1`; `https://api.openai.com/v1` by default.
    pub base_url: String,
    /// The model's context window in tokens.
    pub context_window: u64,
    /// The default maximum length of an answer, in tokens.
    pub max_output_tokens: u64,
}

impl OpenAi {
    /// The default base URL.
    pub const BASE_URL: &'static str = "https://api.openai.com/v1";

    /// Creates a client for `model`. Local servers usually need no key.
    pub fn new(http: Http, key: Option<Secret>, model: impl Into<String>) -> Self {
        OpenAi {
            http,
            key: key.filter(|key| !key.is_empty()),
            model: model.into(),
            base_url: Self::BASE_URL.into(),
            context_window: 128_000,
            max_output_tokens: 8192,
        }
    }

    fn post(&self, request: &ChatRequest) -> Result<Post<'_>, ModelError> {
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        if let Some(key) = &self.key {
            key_header(&mut headers, AUTHORIZATION, &format!("Bearer {}", key.expose()))?;
        }
        // OpenAI's newer models refuse the old name; most other servers know only the old one.
        let is_openai = self.base_url.contains("://api.openai.com");
        let limit = if is_openai { "max_completion_tokens" } else { "max_tokens" };
        let longest = json!(request.max_output_tokens.unwrap_or(self.max_output_tokens));
        let mut body = json!({
            "model": self.model,
            limit: longest,
            "stream": true,
            "stream_options": { "include_usage": true },
        });
        match &request.context {
            Some(context) => {
                let options = request.provider_options(self.provider(), &self.model);
                add_members(&mut body, &context.to_openai_chat(&options).json)?;
            }
            None => {
                let mut messages: Vec<Value> = request.turns.iter().map(message).collect();
                if !request.system.is_empty() {
                    messages.insert(0, json!({ "role": "system", "content": request.system }));
                }
                body["messages"] = json!(messages);
            }
        }
        let without = |member: &'static str| vec![(member, Value::Null)];
        let mut concessions =
            vec![Concession { about: &["stream_options"], changes: without("stream_options") }];
        if !is_openai {
            let changes = vec![("max_tokens", Value::Null), ("max_completion_tokens", longest)];
            concessions.push(Concession { about: &["max_completion_tokens"], changes });
        }
        if let Some(thinking) = request.thinking {
            body["reasoning_effort"] = json!(effort(thinking));
            let about = &["reasoning", "thinking"];
            concessions.push(Concession { about, changes: without("reasoning_effort") });
        }
        let url = endpoint(&self.base_url, "/v1/chat/completions");
        Ok(Post {
            url,
            headers,
            body,
            concessions,
            key: self.key.as_ref(),
            has_tools: !request.tools.is_empty(),
        })
    }
}

impl ChatModel for OpenAi {
    fn provider(&self) -> &str {
        "openai"
    }

    fn model(&self) -> &str {
        &self.model
    }

    fn api(&self) -> &str {
        "openai-completions"
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
            let (answer, text) = self.http.ask::<OpenAiReader>(post, on_delta, cancel).await?;
            let tool_calls = answer.calls.finish(&request)?;
            check_empty(&text, &tool_calls)?;
            let model = answer.model.unwrap_or_else(|| self.model.clone());
            Ok(ChatAnswer { text, tool_calls, usage: answer.usage, model })
        })
    }
}

/// Returns the reasoning effort. Few models know more than these.
fn effort(thinking: ThinkingLevel) -> &'static str {
    match thinking {
        ThinkingLevel::Minimal => "minimal",
        ThinkingLevel::Low => "low",
        ThinkingLevel::Medium => "medium",
        ThinkingLevel::High | ThinkingLevel::XHigh => "high",
    }
}

fn message(turn: &ChatTurn) -> Value {
    let role = turn.side.role();
    if turn.images.is_empty() {
        return json!({ "role": role, "content": turn.text });
    }
    let mut parts = vec![json!({ "type": "text", "text": turn.text })];
    parts.extend(turn.images.iter().map(|(kind, data)| {
        json!({ "type": "image_url", "image_url": { "url": format!("data:{kind};base64,{data}") } })
    }));
    json!({ "role": role, "content": parts })
}

/// The answer so far.
#[derive(Default)]
struct OpenAiReader {
    model: Option<String>,
    usage: Option<Usage>,
    finished: bool,
    /// Whether the answer was cut for length. The usage follows, so the answer is read to its end.
    is_cut: bool,
    thinking: Thoughts,
    calls: Calls,
}

#[derive(Deserialize)]
struct Chunk {
    model: Option<String>,
    choices: Option<Vec<Choice>>,
    usage: Option<Tokens>,
    error: Option<Value>,
}

#[derive(Deserialize)]
struct Choice {
    delta: Option<ChoiceDelta>,
    finish_reason: Option<String>,
}

#[derive(Deserialize)]
struct ChoiceDelta {
    content: Option<String>,
    tool_calls: Option<Vec<CallDelta>>,
    /// The other members, among them thinking, whose name depends on the server.
    #[serde(flatten)]
    other: serde_json::Map<String, Value>,
}

/// A piece of a tool call.
#[derive(Deserialize)]
struct CallDelta {
    index: Option<usize>,
    id: Option<String>,
    function: Option<FunctionDelta>,
}

#[derive(Deserialize)]
struct FunctionDelta {
    name: Option<String>,
    arguments: Option<String>,
}

#[derive(Deserialize)]
struct Tokens {
    prompt_tokens: Option<u64>,
    completion_tokens: Option<u64>,
    prompt_tokens_details: Option<Details>,
}

#[derive(Deserialize)]
struct Details {
    cached_tokens: Option<u64>,
}

impl From<Tokens> for Usage {
    fn from(tokens: Tokens) -> Self {
        let cached = tokens.prompt_tokens_details.and_then(|details| details.cached_tokens);
        let cache_read = cached.unwrap_or_default();
        Usage::of_request()
            // The prompt tokens include those from the cache.
            .input(tokens.prompt_tokens.unwrap_or_default().saturating_sub(cache_read))
            .output(tokens.completion_tokens.unwrap_or_default())
            .cache_read(cache_read)
    }
}

impl Reader for OpenAiReader {
    fn event(&mut self, event: &SseEvent, sink: &mut Sink) -> Result<Flow, ModelError> {
        if event.data.trim() == "[DONE]" {
            return Ok(Flow::Done);
        }
        let chunk: Chunk = parse(&event.data)?;
        if let Some(error) = chunk.error {
            return Err(stream_error(&error));
        }
        if chunk.model.as_deref().is_some_and(|model| !model.is_empty()) {
            self.model = chunk.model;
        }
        // Some servers send counts with every chunk: the last one counts.
        if let Some(usage) = chunk.usage.map(Usage::from) {
            sink.usage(&usage);
            self.usage = Some(usage);
        }
        let Some(choice) = chunk.choices.unwrap_or_default().into_iter().next() else {
            return Ok(Flow::More);
        };
        if let Some(delta) = choice.delta {
            self.thinking.field(&delta.other, sink)?;
            self.thinking.content(delta.content.as_deref().unwrap_or_default(), sink)?;
            for call in delta.tool_calls.unwrap_or_default() {
                let function = call.function.as_ref();
                let name = function.and_then(|function| function.name.as_deref());
                let arguments = function.and_then(|function| function.arguments.as_deref());
                // A server that omits the index sends every call in one piece.
                let index = call.index.unwrap_or(self.calls.len());
                self.calls.push(index, call.id.as_deref(), name, arguments, sink)?;
            }
        }
        self.stop(choice.finish_reason.as_deref())?;
        Ok(Flow::More)
    }

    fn finish(&mut self, sink: &mut Sink) -> Result<(), ModelError> {
        self.thinking.finish(sink)?;
        if self.is_cut { Err(ModelError::Length) } else { Ok(()) }
    }

    fn is_whole(&self) -> bool {
        self.finished
    }
}

impl OpenAiReader {
    fn stop(&mut self, reason: Option<&str>) -> Result<(), ModelError> {
        match reason {
            None | Some("") => return Ok(()),
            Some("length") => (self.is_cut, self.finished) = (true, true),
            Some("tool_calls" | "function_call") => {
                self.calls.is_wanted = true;
                self.finished = true;
            }
            Some("content_filter") => {
                return Err(ModelError::Refused("content_filter".into()));
            }
            // Servers have different words for a normal end ("stop", "eos", "end_turn" …).
            Some(_) => self.finished = true,
        }
        Ok(())
    }
}

/// Converts an error in the stream, which is an object or just a text.
fn stream_error(error: &Value) -> ModelError {
    let part = |key: &str| match &error[key] {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    };
    let kind = part("type").or_else(|| part("code")).unwrap_or_else(|| "an error".into());
    let message = part("message").or_else(|| error.as_str().map(str::to_owned));
    ModelError::Server { kind, message: message.unwrap_or_else(|| error.to_string()) }
}
