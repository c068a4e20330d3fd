//! Turns a context into the messages that a provider accepts.
//!
//! [`Context::to_llm`] leaves user, assistant, tool result, system and developer messages; `pair`
//! and `clean` make them acceptable to providers; `request`, `system` and `names` read them as typed
//! values; `anthropic`, `openai_chat` and `openai_responses` build the requests of those APIs. Every
//! message that is changed or left out is reported as a [`ContextRepair`].

mod anthropic;
mod clean;
mod names;
mod openai_chat;
mod openai_responses;
mod pair;
mod request;
mod system;

pub use request::{CacheControl, ProviderRequest, RequestOptions, Tool};

use crate::context::{Context, ContextMessage};
use crate::entry::{MessageView, WrappedText, for_provider, is_excluded, is_image};
use crate::id::EntryId;
use crate::json;
use std::borrow::Cow;
use std::iter;

/// Whether a context is made acceptable to providers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Pairing {
    /// Messages are those of the context, unchanged.
    #[default]
    Raw,
    /// Every tool call is followed by its result and every result follows its call, no message and
    /// no text block is empty, every image has data, and every text is valid Unicode, as providers
    /// demand. The context itself is not changed; every change is reported.
    Strict,
}

/// A change that made a context acceptable to a provider. Each names the entry concerned.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the fields are named after what they hold")]
pub enum ContextRepair {
    /// A call had no result; an error result was added.
    ResultAdded { entry: EntryId, call: String },
    /// A result did not follow its call; it was moved there.
    ResultMoved { entry: EntryId, call: String },
    /// A result had no call, or was the second one for its call; it was dropped.
    ResultDropped { entry: EntryId, call: String },
    /// A message had no content, for example an answer that failed or was aborted; it was dropped.
    EmptyMessageDropped { entry: EntryId, role: String },
    /// Text blocks without text were dropped.
    EmptyTextDropped { entry: EntryId, blocks: usize },
    /// Half a surrogate pair, or bytes that are not UTF-8, became U+FFFD.
    TextReplaced { entry: EntryId },
    /// Providers do not know the message's role; it was dropped.
    RoleDropped { entry: EntryId, role: String },
    /// The provider does not accept a block of this type in such a message; it was dropped. The type
    /// is empty if the content is no block at all.
    BlockDropped { entry: EntryId, block: String },
    /// Thinking cannot be sent back without a signature of the requested model, or if the answer
    /// ended with it; it was dropped.
    ThinkingDropped { entry: EntryId },
    /// The provider does not accept the id of a tool call; the call and its result got another one.
    CallRenamed { entry: EntryId, from: String, to: String },
    /// The provider does not accept the name of a called tool; the call got another one.
    ToolRenamed { entry: EntryId, from: String, to: String },
    /// A system message of the context makes a tool available that the request does not define; the
    /// request does not have it.
    ToolDropped { entry: EntryId, tool: String },
    /// The arguments of a tool call are not a JSON object; they were put into one, as `value`.
    ArgumentsWrapped { entry: EntryId, call: String },
    /// The provider requires a user message first, and between an answer that was cut off and one
    /// with thinking; one was added.
    UserMessageAdded { entry: EntryId },
    /// The context ends with an answer that ends with white space, which the provider refuses; the
    /// white space was dropped.
    TrailingSpaceDropped { entry: EntryId },
}

impl ContextRepair {
    /// Returns the entry whose contribution was changed.
    pub fn entry(&self) -> &EntryId {
        match self {
            ContextRepair::ResultAdded { entry, .. }
            | ContextRepair::ResultMoved { entry, .. }
            | ContextRepair::ResultDropped { entry, .. }
            | ContextRepair::EmptyMessageDropped { entry, .. }
            | ContextRepair::EmptyTextDropped { entry, .. }
            | ContextRepair::TextReplaced { entry }
            | ContextRepair::RoleDropped { entry, .. }
            | ContextRepair::BlockDropped { entry, .. }
            | ContextRepair::ThinkingDropped { entry }
            | ContextRepair::CallRenamed { entry, .. }
            | ContextRepair::ToolRenamed { entry, .. }
            | ContextRepair::ToolDropped { entry, .. }
            | ContextRepair::ArgumentsWrapped { entry, .. }
            | ContextRepair::UserMessageAdded { entry }
            | ContextRepair::TrailingSpaceDropped { entry } => entry,
        }
    }
}

impl std::fmt::Display for ContextRepair {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "entry {}: ", self.entry())?;
        match self {
            ContextRepair::ResultAdded { call, .. } => {
                write!(f, "tool call {call} has no result: an error result was added")
            }
            ContextRepair::ResultMoved { call, .. } => {
                write!(f, "the result of tool call {call} was moved to its call")
            }
            ContextRepair::ResultDropped { call, .. } => {
                write!(f, "a result without its tool call {call} was left out")
            }
            ContextRepair::EmptyMessageDropped { role, .. } => {
                write!(f, "the {role} message has no content and was left out")
            }
            ContextRepair::EmptyTextDropped { blocks, .. } => {
                write!(f, "empty text blocks were left out ({blocks})")
            }
            ContextRepair::TextReplaced { .. } => {
                write!(f, "characters that are not valid Unicode became U+FFFD")
            }
            ContextRepair::RoleDropped { role, .. } => {
                write!(f, "providers do not know the role {role}: the message was left out")
            }
            ContextRepair::BlockDropped { block, .. } if block.is_empty() => {
                write!(f, "content that is no block of a known type was left out")
            }
            ContextRepair::BlockDropped { block, .. } => {
                write!(
                    f,
                    "the provider does not accept a block of type {block} here: it was left out"
                )
            }
            ContextRepair::ThinkingDropped { .. } => {
                write!(f, "thinking that the model cannot be given back was left out")
            }
            ContextRepair::CallRenamed { from, to, .. } => {
                write!(f, "tool call {from} is called {to} in the request")
            }
            ContextRepair::ToolRenamed { from, to, .. } => {
                write!(f, "the tool {from:?} is called {to} in the request")
            }
            ContextRepair::ToolDropped { tool, .. } => {
                write!(f, "the context has the tool {tool:?}, the request does not define it")
            }
            ContextRepair::ArgumentsWrapped { call, .. } => {
                write!(
                    f,
                    "the arguments of tool call {call} are not an object: they are sent as `value`"
                )
            }
            ContextRepair::UserMessageAdded { .. } => {
                write!(f, "the provider requires a user message before this answer: one was added")
            }
            ContextRepair::TrailingSpaceDropped { .. } => {
                write!(f, "white space at the end of the last answer was left out")
            }
        }
    }
}

/// The messages for a provider.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct LlmContext {
    /// The messages, each with the entry it came from.
    pub messages: Vec<ContextMessage>,
    /// The changes that [`Pairing::Strict`] made, and the messages that no provider knows.
    pub repairs: Vec<ContextRepair>,
}

impl Context {
    /// Returns the context as user, assistant, tool result, system and developer messages.
    ///
    /// ```
    /// use treering::{Message, Session};
    /// use treering::provider::Pairing;
    /// let session = Session::in_memory("/project");
    /// session.append(Message::from_json(
    ///     br#"{"role":"bashExecution","command":"true","output":"","exitCode":0}"#,
    /// )?)?;
    /// let llm = session.context()?.to_llm(Pairing::Strict);
    /// assert!(llm.messages[0].json.starts_with(br#"{"role":"user""#));
    /// # Ok::<(), treering::Error>(())
    /// ```
    pub fn to_llm(&self, pairing: Pairing) -> LlmContext {
        let mut llm = LlmContext::default();
        for message in self.messages.iter().flat_map(split_images) {
            match message.to_llm() {
                Some(message) => llm.messages.push(message),
                None if is_excluded(MessageView::new(&message.json)) => {}
                None => {
                    let role = MessageView::new(&message.json).role_name().into_owned();
                    llm.repairs
                        .push(ContextRepair::RoleDropped { entry: message.entry.clone(), role });
                }
            }
        }
        match pairing {
            Pairing::Raw => llm,
            Pairing::Strict => pair::pair(clean::clean(llm)),
        }
    }
}

impl ContextMessage {
    /// Returns the message as a provider knows it, or `None` if the user excluded it from the
    /// context or its role is unknown.
    pub fn to_llm(&self) -> Option<ContextMessage> {
        let json = for_provider(&self.json)?.into_owned();
        Some(ContextMessage { entry: self.entry.clone(), json })
    }
}

/// Splits a message of omp that has both texts and images into two: the texts are sent as a developer
/// message, which cannot hold images.
fn split_images(message: &ContextMessage) -> Vec<Cow<'_, ContextMessage>> {
    let view = MessageView::new(&message.json);
    let elements = |key: &str| view.get(key).map(json::elements).unwrap_or_default();
    let part = |key: &str, elements: &[&[u8]]| {
        let array = [b"[", &*elements.join(&b","[..]), b"]"].concat();
        let json = json::with_member(&message.json, key, &array);
        Cow::Owned(ContextMessage { entry: message.entry.clone(), json })
    };
    match &*view.role_name() {
        "fileMention" => {
            let is_image = |file: &&[u8]| json::get(file, "image").is_some_and(is_object);
            let (images, texts): (Vec<_>, Vec<_>) =
                elements("files").into_iter().partition(is_image);
            if !images.is_empty() && !texts.is_empty() {
                return vec![part("files", &texts), part("files", &images)];
            }
        }
        "hookMessage" => {
            let (images, others): (Vec<&[u8]>, Vec<&[u8]>) =
                elements("content").into_iter().partition(|block| is_image(block));
            let (blank, texts): (Vec<&[u8]>, Vec<&[u8]>) =
                others.into_iter().partition(|block| clean::is_empty_text(block));
            if !images.is_empty() {
                let name = view.get("customType").and_then(json::inside).unwrap_or_default();
                let label = WrappedText::new("Images attached to ").raw(name).text(".");
                let label = label.text_block();
                let blocks: Vec<&[u8]> = iter::once(&*label).chain(images).chain(blank).collect();
                let rest = (!texts.is_empty()).then(|| part("content", &texts));
                return rest.into_iter().chain([part("content", &blocks)]).collect();
            }
        }
        _ => {}
    }
    vec![Cow::Borrowed(message)]
}

fn is_object(value: &[u8]) -> bool {
    value.starts_with(b"{")
}
