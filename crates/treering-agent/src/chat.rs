//! Models that answer in a conversation; the same clients also summarize.
//!
//! A request has tools or not. With tools it contains the context itself, with calls, results and
//! thinking as blocks, in the format of the provider. Without tools a provider would refuse such
//! blocks, so the calls and results of the session are rendered as text. Consecutive turns of the
//! same role are joined, and the first turn is one of the user, because some servers require it.

use crate::summarizer::{ModelError, OnDelta, Summarizer, Summary, SummaryFuture, SummaryRequest};
use crate::tool::ToolCall;
use std::fmt;
use std::pin::Pin;
use tokio_util::sync::CancellationToken;
use treering::context::Model;
use treering::entry::{Block, MessageView};
use treering::provider::{Pairing, RequestOptions, Tool};
use treering::usage::Usage;
use treering::{Context, Role};

/// The user's turn before an answer with which the conversation begins.
const OPENING: &str = "(The conversation begins with an answer.)";

/// The speaker of a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChatSide {
    /// The user, and the tools that answer for the user.
    User,
    /// The model.
    Assistant,
}

impl ChatSide {
    /// Returns the role, as both protocols name it.
    pub(crate) fn role(self) -> &'static str {
        match self {
            ChatSide::User => "user",
            ChatSide::Assistant => "assistant",
        }
    }
}

/// One turn of a conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ChatTurn {
    /// The speaker of the turn.
    pub side: ChatSide,
    /// The text.
    pub text: String,
    /// The images of the turn, as media type and Base64 data.
    pub images: Vec<(String, String)>,
}

impl ChatTurn {
    /// Creates a turn without images.
    pub fn new(side: ChatSide, text: impl Into<String>) -> Self {
        ChatTurn { side, text: text.into(), images: Vec::new() }
    }

    /// Adds an image, as media type and Base64 data.
    #[must_use]
    pub fn with_image(mut self, mime_type: impl Into<String>, data: impl Into<String>) -> Self {
        self.images.push((mime_type.into(), data.into()));
        self
    }
}

/// The amount of thinking before an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ThinkingLevel {
    /// The model thinks very little.
    Minimal,
    /// The model thinks a little.
    Low,
    /// The model thinks for some time.
    Medium,
    /// The model thinks long.
    High,
    /// The model thinks as long as it can.
    XHigh,
}

impl ThinkingLevel {
    /// The names of the levels in sessions, from none to the highest.
    pub const LEVELS: [&'static str; 6] = ["off", "minimal", "low", "medium", "high", "xhigh"];

    /// Returns the level with this name in sessions; `None` for `off` and for unknown names.
    ///
    /// ```
    /// use treering_agent::ThinkingLevel;
    /// assert_eq!(ThinkingLevel::of("high"), Some(ThinkingLevel::High));
    /// assert_eq!(ThinkingLevel::of("off"), None);
    /// assert!(ThinkingLevel::LEVELS[1..].iter().all(|level| ThinkingLevel::of(level).is_some()));
    /// ```
    pub fn of(level: &str) -> Option<Self> {
        Some(match level {
            "minimal" => ThinkingLevel::Minimal,
            "low" => ThinkingLevel::Low,
            "medium" => ThinkingLevel::Medium,
            "high" => ThinkingLevel::High,
            "xhigh" => ThinkingLevel::XHigh,
            _ => return None,
        })
    }
}

/// A conversation for a model to answer.
#[derive(Default)]
#[non_exhaustive]
pub struct ChatRequest {
    /// The system prompt.
    pub system: String,
    /// The turns so far, oldest first, with tool calls and their results as text. Empty if there are
    /// [`tools`](ChatRequest::tools).
    pub turns: Vec<ChatTurn>,
    /// The conversation so far, if there are tools. [`Context::to_anthropic`] and
    /// [`Context::to_openai_chat`] build the provider's request from it.
    pub context: Option<Context>,
    /// The tools that the model may call.
    pub tools: Vec<Tool>,
    /// The maximum length of the answer in tokens; `None` for the default of the model's
    /// configuration.
    pub max_output_tokens: Option<u64>,
    /// The thinking level. Models without levels ignore it.
    pub thinking: Option<ThinkingLevel>,
    /// A function that receives the text as it arrives, including the text of an answer that fails
    /// later.
    pub on_delta: Option<OnDelta>,
}

impl ChatRequest {
    /// Returns the defaults.
    pub fn new() -> Self {
        ChatRequest::default()
    }

    /// Sets the system prompt.
    #[must_use]
    pub fn system(self, system: impl Into<String>) -> Self {
        ChatRequest { system: system.into(), ..self }
    }

    /// Adds a turn.
    #[must_use]
    pub fn with_turn(mut self, turn: ChatTurn) -> Self {
        self.turns.push(turn);
        self
    }

    /// Sets the maximum length of the answer in tokens.
    #[must_use]
    pub fn max_output_tokens(self, max_output_tokens: u64) -> Self {
        ChatRequest { max_output_tokens: Some(max_output_tokens), ..self }
    }

    /// Sets the thinking level.
    #[must_use]
    pub fn thinking(self, thinking: ThinkingLevel) -> Self {
        ChatRequest { thinking: Some(thinking), ..self }
    }

    /// Sets the function that receives the text as it arrives.
    #[must_use]
    pub fn on_delta(self, on_delta: OnDelta) -> Self {
        ChatRequest { on_delta: Some(on_delta), ..self }
    }
}

impl fmt::Debug for ChatRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Conversations are long and private, so only their size is printed.
        f.debug_struct("ChatRequest").field("turns", &self.turns.len()).finish_non_exhaustive()
    }
}

/// A complete answer.
///
/// ```
/// use treering_agent::{ChatAnswer, ToolCall};
/// let call = ToolCall::new("call-1", "read", r#"{"path":"src/main.rs"}"#);
/// let answer = ChatAnswer::new("model-1", "Let me look.").with_tool_call(call);
/// assert_eq!(answer.tool_calls[0].name, "read");
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ChatAnswer {
    /// The text. It may be empty if there are tool calls.
    pub text: String,
    /// The tool calls, in order.
    pub tool_calls: Vec<ToolCall>,
    /// The usage, if the server reported it.
    pub usage: Option<Usage>,
    /// The model that wrote the answer, as the server names it.
    pub model: String,
}

impl ChatAnswer {
    /// Creates an answer without tool calls.
    pub fn new(model: impl Into<String>, text: impl Into<String>) -> Self {
        ChatAnswer { model: model.into(), text: text.into(), ..ChatAnswer::default() }
    }

    /// Adds a tool call.
    #[must_use]
    pub fn with_tool_call(mut self, call: ToolCall) -> Self {
        self.tool_calls.push(call);
        self
    }

    /// Sets the usage that the server reported.
    #[must_use]
    pub fn usage(self, usage: Usage) -> Self {
        ChatAnswer { usage: Some(usage), ..self }
    }
}

/// The future of an answer.
pub type ChatFuture<'a> = Pin<Box<dyn Future<Output = Result<ChatAnswer, ModelError>> + Send + 'a>>;

/// A model that answers in a conversation.
pub trait ChatModel: Send + Sync + fmt::Debug {
    /// Returns the provider that serves the model.
    fn provider(&self) -> &str;

    /// Returns the model's id.
    fn model(&self) -> &str;

    /// Returns the protocol, as sessions name it: `anthropic-messages`, `openai-completions`, …
    fn api(&self) -> &str {
        self.provider()
    }

    /// Returns the size of the context window in tokens.
    fn context_window(&self) -> u64;

    /// Answers the request, or calls tools of the request. An answer that was cut for length is an
    /// error, [`ModelError::Length`], and so is one without content, [`ModelError::Empty`].
    fn answer<'a>(&'a self, request: ChatRequest, cancel: &'a CancellationToken) -> ChatFuture<'a>;
}

/// Every `ChatModel` is also a `Summarizer`.
impl<M: ChatModel> Summarizer for M {
    fn name(&self) -> &str {
        self.provider()
    }

    fn context_window(&self) -> Option<u64> {
        Some(ChatModel::context_window(self))
    }

    fn summarize<'a>(
        &'a self,
        request: SummaryRequest,
        cancel: &'a CancellationToken,
    ) -> SummaryFuture<'a> {
        Box::pin(async move {
            let SummaryRequest { system, user, max_output_tokens, on_delta, .. } = request;
            let turns = vec![ChatTurn { side: ChatSide::User, text: user, images: Vec::new() }];
            // A summary needs no thinking.
            let request =
                ChatRequest { system, turns, max_output_tokens, on_delta, ..Default::default() };
            let ChatAnswer { text, usage, model, .. } = self.answer(request, cancel).await?;
            let provider = self.provider().to_owned();
            Ok(Summary { text, usage, model: Some(model), provider })
        })
    }
}

impl ChatRequest {
    /// Returns a request with the conversation in a session's context, without tools.
    ///
    /// ```
    /// use treering::{Message, Session};
    /// let session = Session::in_memory("/project");
    /// session.append(Message::user("Name a color."))?;
    /// let request = treering_agent::ChatRequest::of(&session.context()?);
    /// assert_eq!(request.turns[0].text, "Name a color.");
    /// # Ok::<(), treering::Error>(())
    /// ```
    pub fn of(context: &Context) -> Self {
        let thinking = ThinkingLevel::of(&context.thinking_level);
        let mut request = ChatRequest { thinking, ..ChatRequest::default() };
        for message in context.to_llm(Pairing::Strict).messages {
            let message = MessageView::new(&message.json);
            match message.role() {
                Role::System => {
                    let text = message.text();
                    let space = if request.system.is_empty() { "" } else { "\n\n" };
                    request.system += &format!("{space}{text}");
                }
                Role::Assistant => {
                    request.push(ChatSide::Assistant, assistant_text(message), vec![])
                }
                Role::ToolResult => {
                    let tool = message.field("toolName").unwrap_or_default();
                    let text = format!("[Result of {tool}]\n{}", message.text());
                    request.push(ChatSide::User, text, images(message));
                }
                _ => request.push(ChatSide::User, message.text(), images(message)),
            }
        }
        request
    }

    /// Returns a request that offers tools. It contains the context unchanged, so that calls,
    /// results and thinking reach the provider as blocks.
    pub fn with_tools(context: Context, tools: Vec<Tool>) -> Self {
        let thinking = ThinkingLevel::of(&context.thinking_level);
        ChatRequest { thinking, context: Some(context), tools, ..ChatRequest::default() }
    }

    /// Returns the options of the provider's request for the model `provider/model`.
    pub(crate) fn provider_options(&self, provider: &str, model: &str) -> RequestOptions {
        let model = Model::new(provider, model);
        let options = RequestOptions::new().with_system(&*self.system).with_model(model);
        self.tools.iter().cloned().fold(options, RequestOptions::with_tool)
    }

    fn push(&mut self, side: ChatSide, text: String, images: Vec<(String, String)>) {
        if text.trim().is_empty() && images.is_empty() {
            return;
        }
        if self.turns.is_empty() && side == ChatSide::Assistant {
            self.turns.push(ChatTurn::new(ChatSide::User, OPENING));
        }
        match self.turns.last_mut() {
            Some(last) if last.side == side => {
                last.text += &format!("\n\n{text}");
                last.images.extend(images);
            }
            _ => self.turns.push(ChatTurn { side, text, images }),
        }
    }
}

fn assistant_text(message: MessageView<'_>) -> String {
    let mut parts = Vec::new();
    for block in message.blocks() {
        match block {
            Block::Text { text, .. } => parts.push(text.into_owned()),
            Block::ToolCall { name, arguments, .. } => {
                let arguments = String::from_utf8_lossy(arguments.unwrap_or_default());
                parts.push(format!("[Called {name} with {arguments}]"));
            }
            _ => {}
        }
    }
    parts.join("\n\n")
}

fn images(message: MessageView<'_>) -> Vec<(String, String)> {
    let image = |block: &Block<'_>| match block {
        Block::Image { mime_type, data } => Some((mime_type.to_string(), data.to_string())),
        _ => None,
    };
    message.blocks().iter().filter_map(image).collect()
}
