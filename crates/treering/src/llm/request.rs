//! The parts of a request that all providers share: options, messages as typed values, tool definitions.

use super::clean::{is_blank, media_type, standard_base64};
use super::system::DeclaredTools;
use super::{ContextRepair, LlmContext, Pairing};
use crate::context::{Context, Model};
use crate::entry::{MessageView, Role};
use crate::error::{Error, Result};
use crate::id::EntryId;
use crate::json;
use std::borrow::Cow;
use std::collections::HashSet;
use std::iter;

/// The part of a request to a provider that comes from a context.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ProviderRequest {
    /// A JSON object with the messages, the system prompt and the tools, as members of the
    /// provider's request. The caller adds the model and its settings.
    pub json: String,
    /// The changes that made the context acceptable to the provider.
    pub repairs: Vec<ContextRepair>,
}

/// The parts of a request that do not come from the context.
///
/// ```
/// use treering::provider::{CacheControl, RequestOptions, Tool};
/// let options = RequestOptions::new()
///     .with_system("You are terse.")
///     .with_tool(Tool::new("now", "Returns the time.", r#"{"type":"object","properties":{}}"#)?)
///     .with_cache(CacheControl::Ephemeral);
/// # let _ = options;
/// # Ok::<(), treering::Error>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct RequestOptions {
    pub(super) system: Option<String>,
    pub(super) tools: Vec<Tool>,
    pub(super) cache: CacheControl,
    pub(super) model: Option<Model>,
}

impl RequestOptions {
    /// Creates options without a system prompt, tools or cache breakpoints.
    pub fn new() -> Self {
        RequestOptions::default()
    }

    /// Sets the system prompt. System messages of the context follow it.
    #[must_use]
    pub fn with_system(mut self, system: impl Into<String>) -> Self {
        self.system = Some(system.into());
        self
    }

    /// Adds a tool that the model may call. A tool of the same name is replaced: providers refuse
    /// two.
    #[must_use]
    pub fn with_tool(mut self, tool: Tool) -> Self {
        match self.tools.iter_mut().find(|other| other.name == tool.name) {
            Some(other) => *other = tool,
            None => self.tools.push(tool),
        }
        self
    }

    /// Sets the cache breakpoints. Only Anthropic's API has them.
    #[must_use]
    pub fn with_cache(mut self, cache: CacheControl) -> Self {
        self.cache = cache;
        self
    }

    /// Sets the model that the request is for: thinking that another model signed is then left out,
    /// because providers refuse it. Without a model, all thinking is sent that the API may have
    /// signed.
    #[must_use]
    pub fn with_model(mut self, model: Model) -> Self {
        self.model = Some(model);
        self
    }
}

/// Cache breakpoints in a request.
///
/// ```
/// use treering::provider::{CacheControl, RequestOptions};
/// use treering::{Message, Session};
/// let session = Session::in_memory("/project");
/// session.append(Message::user("hello"))?;
/// let options = RequestOptions::new().with_cache(CacheControl::Ephemeral);
/// assert!(session.context()?.to_anthropic(&options).json.contains("cache_control"));
/// # Ok::<(), treering::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum CacheControl {
    /// Sets no breakpoints.
    #[default]
    None,
    /// Sets a breakpoint after the tools, after the system prompt and after the last user message.
    Ephemeral,
}

/// The definition of a tool.
///
/// ```
/// use treering::provider::{RequestOptions, Tool};
/// use treering::{Message, Session};
/// let session = Session::in_memory("/project");
/// session.append(Message::user("What time is it?"))?;
/// let now = Tool::new("now", "Returns the time.", r#"{"type":"object","properties":{}}"#)?;
/// let request = session.context()?.to_anthropic(&RequestOptions::new().with_tool(now));
/// assert!(request.json.contains("Returns the time."));
/// # Ok::<(), treering::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tool {
    pub(super) name: String,
    pub(super) description: String,
    pub(super) parameters: String,
}

impl Tool {
    /// Creates a definition. `parameters` is a JSON Schema of the arguments, as an object. Providers
    /// require its members `type` and `properties`: they are added if they are missing.
    ///
    /// # Errors
    ///
    /// Fails with [`Error::InvalidOption`] if the name is empty or `parameters` is not a JSON
    /// object: a request with such a tool would be refused, or would not be JSON.
    pub fn new(
        name: impl Into<String>,
        description: impl Into<String>,
        parameters: impl AsRef<[u8]>,
    ) -> Result<Self> {
        let (name, parameters) = (name.into(), parameters.as_ref().trim_ascii());
        if name.is_empty() {
            return Err(Error::InvalidOption("a tool needs a name".to_owned()));
        }
        let is_object = parameters.starts_with(b"{")
            && json::skip_value(parameters, 0) == Some(parameters.len());
        if !is_object {
            let why = format!("the parameters of the tool {name:?} are not a JSON object");
            return Err(Error::InvalidOption(why));
        }
        let parameters = complete_schema(json::to_unicode(parameters));
        Ok(Tool { name, description: description.into(), parameters })
    }
}

/// Returns the schema with the members that providers require of the schema of an object.
fn complete_schema(schema: Cow<'_, str>) -> String {
    let mut schema = schema.into_owned();
    for (key, value) in [("type", "\"object\""), ("properties", "{}")] {
        if matches!(json::get(schema.as_bytes(), key), None | Some(b"null")) {
            let complete = json::with_member(schema.as_bytes(), key, value.as_bytes());
            schema = String::from_utf8_lossy(&complete).into_owned();
        }
    }
    schema
}

/// A message of a strictly paired context.
pub(super) struct Turn<'a> {
    pub(super) entry: &'a EntryId,
    pub(super) speaker: Speaker<'a>,
    pub(super) parts: Vec<ContentPart<'a>>,
    /// Whether this is an answer that failed or was aborted.
    pub(super) is_cut_off: bool,
}

pub(super) enum Speaker<'a> {
    System,
    User,
    Assistant,
    Tool { call: Cow<'a, str>, is_error: bool },
}

/// A block of a message's content.
pub(super) enum ContentPart<'a> {
    Text {
        text: Cow<'a, str>,
        signature: Option<Cow<'a, str>>,
    },
    Image {
        data: Cow<'a, str>,
        mime_type: Cow<'a, str>,
    },
    Thinking {
        text: Cow<'a, str>,
        signature: Option<Cow<'a, str>>,
        is_redacted: bool,
    },
    Call {
        id: Cow<'a, str>,
        name: Cow<'a, str>,
        arguments: String,
        /// The namespace that OpenAI's Responses API has the tool in.
        namespace: Option<Cow<'a, str>>,
    },
}

impl ContentPart<'_> {
    pub(super) fn text(&self) -> Option<&str> {
        match self {
            ContentPart::Text { text, .. } => Some(text),
            _ => None,
        }
    }
}

/// The messages of a context as typed values, and the changes made so far.
pub(super) struct Turns<'a> {
    pub(super) turns: Vec<Turn<'a>>,
    pub(super) repairs: Vec<ContextRepair>,
}

impl<'a> Turns<'a> {
    /// Reads the messages. Thinking is kept if the requested model wrote it, by an API that
    /// `can_replay` accepts.
    pub(super) fn read(
        llm: &'a LlmContext,
        options: &RequestOptions,
        can_replay: impl Fn(&str) -> bool,
    ) -> Self {
        let mut turns = Turns { turns: Vec::new(), repairs: llm.repairs.clone() };
        let changed: HashSet<&EntryId> = llm.repairs.iter().filter_map(text_replaced).collect();
        for message in &llm.messages {
            let view = MessageView::new(&message.json);
            let speaker = match view.role() {
                Role::System => Speaker::System,
                Role::Assistant => Speaker::Assistant,
                Role::ToolResult => Speaker::Tool {
                    call: view.field("toolCallId").unwrap_or_default(),
                    is_error: view.get("isError") == Some(b"true"),
                },
                _ if view.role_name() == "developer" => Speaker::System,
                _ => Speaker::User,
            };
            let replays = matches!(speaker, Speaker::Assistant)
                && is_by(view, options.model.as_ref())
                && view.field("api").is_none_or(|api| can_replay(&api));
            let mut parts = turns.parts(view, &message.entry, replays);
            if changed.contains(&message.entry) {
                turns.drop_changed_thinking(&mut parts, &message.entry);
            }
            if !parts.is_empty() || matches!(speaker, Speaker::Tool { .. }) {
                let is_cut_off = matches!(speaker, Speaker::Assistant)
                    && matches!(view.field("stopReason").as_deref(), Some("error" | "aborted"));
                turns.turns.push(Turn { entry: &message.entry, speaker, parts, is_cut_off });
            } else {
                let role = view.role_name().into_owned();
                let entry = message.entry.clone();
                turns.repairs.push(ContextRepair::EmptyMessageDropped { entry, role });
            }
        }
        turns
    }

    fn parts(
        &mut self,
        view: MessageView<'a>,
        entry: &EntryId,
        replays: bool,
    ) -> Vec<ContentPart<'a>> {
        let content = view.get("content").unwrap_or_default();
        let mut parts = Vec::new();
        let mut blank = 0;
        if let Some(text) = json::string(content) {
            match is_blank(&text) {
                true => blank += usize::from(!text.is_empty()),
                false => parts.push(ContentPart::Text { text, signature: None }),
            }
        }
        for block in json::elements(content) {
            match self.part(block, entry) {
                Some(ContentPart::Thinking { .. }) if !replays => {
                    self.repairs.push(ContextRepair::ThinkingDropped { entry: entry.clone() });
                }
                Some(ContentPart::Text { text, .. }) if is_blank(&text) => blank += 1,
                // Only the model that wrote a text knows the id in its signature.
                Some(ContentPart::Text { text, .. }) if !replays => {
                    parts.push(ContentPart::Text { text, signature: None });
                }
                Some(ContentPart::Call { id, name, arguments, .. }) if !replays => {
                    parts.push(ContentPart::Call { id, name, arguments, namespace: None });
                }
                part => parts.extend(part),
            }
        }
        if blank > 0 {
            let entry = entry.clone();
            self.repairs.push(ContextRepair::EmptyTextDropped { entry, blocks: blank });
        }
        if !matches!(content, b"" | b"null" | [b'"' | b'[', ..]) {
            let (entry, block) = (entry.clone(), String::new());
            self.repairs.push(ContextRepair::BlockDropped { entry, block });
        }
        parts
    }

    fn part(&mut self, block: &'a [u8], entry: &EntryId) -> Option<ContentPart<'a>> {
        let kind = json::get(block, "type").and_then(json::string).unwrap_or_default();
        let field = |key: &str| json::get(block, key).and_then(json::string);
        let required = |key: &str| field(key).unwrap_or_default();
        Some(match &*kind {
            "text" => {
                ContentPart::Text { text: required("text"), signature: field("textSignature") }
            }
            "image" => {
                let data = required("data");
                let data = match standard_base64(&data) {
                    Some(Cow::Owned(standard)) => Cow::Owned(standard),
                    _ => data,
                };
                let mime_type = media_type(&data, required("mimeType"));
                ContentPart::Image { data, mime_type }
            }
            "thinking" => ContentPart::Thinking {
                text: required("thinking"),
                signature: field("thinkingSignature").filter(|signature| !signature.is_empty()),
                is_redacted: json::get(block, "redacted") == Some(b"true"),
            },
            // The form in which omp stores it.
            "redactedThinking" => ContentPart::Thinking {
                text: Cow::Borrowed(""),
                signature: field("data").filter(|data| !data.is_empty()),
                is_redacted: true,
            },
            "toolCall" => {
                let id = required("id");
                let arguments = self.arguments(json::get(block, "arguments"), entry, &id);
                let namespace = field("namespace").filter(|namespace| !namespace.is_empty());
                ContentPart::Call { id, name: required("name"), arguments, namespace }
            }
            _ => {
                let block = kind.into_owned();
                self.repairs.push(ContextRepair::BlockDropped { entry: entry.clone(), block });
                return None;
            }
        })
    }

    /// Removes and reports the thinking of a changed message that has replaced characters itself:
    /// its signature no longer matches.
    fn drop_changed_thinking(&mut self, parts: &mut Vec<ContentPart<'a>>, entry: &EntryId) {
        let repairs = &mut self.repairs;
        parts.retain(|part| {
            let ContentPart::Thinking { text, signature, .. } = part else { return true };
            let is_changed = iter::once(text).chain(signature).any(|it| it.contains('\u{FFFD}'));
            if is_changed {
                repairs.push(ContextRepair::ThinkingDropped { entry: entry.clone() });
            }
            !is_changed
        });
    }

    /// Returns the arguments as a JSON object, which all providers require.
    fn arguments(&mut self, raw: Option<&[u8]>, entry: &EntryId, call: &str) -> String {
        match raw {
            None | Some(b"null") => "{}".to_owned(),
            Some(raw) if raw.starts_with(b"{") => json::to_unicode(raw).into_owned(),
            Some(raw) => {
                let (entry, call) = (entry.clone(), call.to_owned());
                self.repairs.push(ContextRepair::ArgumentsWrapped { entry, call });
                format!("{{\"value\":{}}}", json::to_unicode(raw))
            }
        }
    }

    /// Removes and reports the thinking that no other part of the answer follows: providers refuse
    /// it. An answer may continue in the next message, unless it was cut off.
    pub(super) fn drop_trailing_thinking(&mut self) {
        let mut is_continued = false;
        for turn in self.turns.iter_mut().rev() {
            let is_answer = matches!(turn.speaker, Speaker::Assistant);
            if is_answer && (turn.is_cut_off || !is_continued) {
                while let Some(ContentPart::Thinking { .. }) = turn.parts.last() {
                    turn.parts.pop();
                    let entry = turn.entry.clone();
                    self.repairs.push(ContextRepair::ThinkingDropped { entry });
                }
            }
            // A message that is now empty is removed below: it continues nothing.
            is_continued = match turn.parts.is_empty() {
                true => is_continued && is_answer,
                false => is_answer,
            };
        }
        self.retain(|_, _| Ok(()));
    }

    /// Removes and reports the parts that `keeps` refuses, and drops turns that become empty.
    pub(super) fn retain(
        &mut self,
        mut keeps: impl FnMut(&Speaker<'_>, &mut ContentPart<'a>) -> Result<(), Refused>,
    ) {
        let repairs = &mut self.repairs;
        self.turns.retain_mut(|turn| {
            let Turn { entry, speaker, parts, .. } = turn;
            parts.retain_mut(|part| match keeps(speaker, part) {
                Ok(()) => true,
                Err(Refused::Thinking) => {
                    repairs.push(ContextRepair::ThinkingDropped { entry: entry.clone() });
                    false
                }
                Err(Refused::Block(block)) => {
                    let (entry, block) = (entry.clone(), block.to_owned());
                    repairs.push(ContextRepair::BlockDropped { entry, block });
                    false
                }
            });
            let is_left = !parts.is_empty() || matches!(speaker, Speaker::Tool { .. });
            if !is_left {
                let role = speaker.role().to_owned();
                let entry = entry.clone();
                repairs.push(ContextRepair::EmptyMessageDropped { entry, role });
            }
            is_left
        });
    }
}

/// The types of images that all providers accept.
const IMAGE_TYPES: [&str; 4] = ["image/jpeg", "image/png", "image/gif", "image/webp"];

/// The reason why a part cannot be sent.
pub(super) enum Refused {
    Thinking,
    Block(&'static str),
}

/// Refuses the parts that no provider accepts in a message of this role.
pub(super) fn refuse_misplaced(
    speaker: &Speaker<'_>,
    part: &ContentPart<'_>,
) -> Result<(), Refused> {
    match (speaker, part) {
        (Speaker::Assistant | Speaker::System, ContentPart::Image { .. }) => {
            Err(Refused::Block("image"))
        }
        (_, ContentPart::Image { mime_type, .. }) if !IMAGE_TYPES.contains(&&**mime_type) => {
            Err(Refused::Block("image"))
        }
        (Speaker::Assistant, _) => Ok(()),
        (_, ContentPart::Call { .. }) => Err(Refused::Block("toolCall")),
        _ => Ok(()),
    }
}

impl Speaker<'_> {
    fn role(&self) -> &'static str {
        match self {
            Speaker::System => "system",
            Speaker::User => "user",
            Speaker::Assistant => "assistant",
            Speaker::Tool { .. } => "toolResult",
        }
    }
}

impl Turn<'_> {
    pub(super) fn has_thinking(&self) -> bool {
        self.parts.iter().any(|part| matches!(part, ContentPart::Thinking { .. }))
    }

    /// Returns the texts of the message, joined.
    pub(super) fn text(&self) -> String {
        let texts: Vec<&str> = self.parts.iter().filter_map(ContentPart::text).collect();
        texts.join("\n")
    }
}

fn text_replaced(repair: &ContextRepair) -> Option<&EntryId> {
    match repair {
        ContextRepair::TextReplaced { entry } => Some(entry),
        _ => None,
    }
}

/// Returns whether a signature is encrypted reasoning of OpenAI's Responses API without the item
/// around it, as Codex sessions are read.
pub(super) fn is_encrypted_reasoning(signature: &str) -> bool {
    signature.starts_with("gAAAA")
}

/// Returns whether the message was written by the model that the request is for.
fn is_by(view: MessageView<'_>, model: Option<&Model>) -> bool {
    let Some(model) = model else { return true };
    let is_same = |key: &str, expected: &Option<String>| {
        expected.as_deref().is_none_or(|expected| view.field(key).as_deref() == Some(expected))
    };
    is_same("provider", &model.provider) && is_same("model", &model.model_id)
}

/// Appends `"key":"text"` to a JSON object under construction.
pub(super) fn member(out: &mut String, key: &str, text: &str) {
    if !out.ends_with('{') {
        out.push(',');
    }
    push_quoted(out, key);
    out.push(':');
    push_quoted(out, text);
}

/// Appends a string literal.
pub(super) fn push_quoted(out: &mut String, text: &str) {
    out.push_str(&String::from_utf8_lossy(&json::quoted(text)));
}

/// Returns `text` as a string literal.
pub(super) fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    push_quoted(&mut out, text);
    out
}

impl Context {
    /// Returns the strictly paired context that a request is made of, and names the tools of the
    /// context that the request does not have.
    pub(super) fn strict(&self, options: &RequestOptions) -> LlmContext {
        let mut tools = DeclaredTools::default();
        self.messages.iter().for_each(|message| tools.update(message));
        let mut llm = self.to_llm(Pairing::Strict);
        llm.repairs.extend(tools.missing(&options.tools));
        llm
    }
}
