//! Entries: the head of a record, its bytes, typed views of them, and builders of new entries.

pub(crate) mod head;
mod kind;
mod message;
mod new;
mod notice;
mod parts;
mod strings;
mod tools;
mod typed;
mod view;
mod wrap;

pub use kind::{Kind, Role};
pub use message::{
    AssistantMessage, BashExecutionMessage, CustomMessage, Message, StopReason, SystemMessage,
    TokenCost, TokenUsage, ToolResultMessage, UserMessage,
};
pub use new::NewEntry;
pub(crate) use new::{KEPT_LEAF, Parent, Record, check_utf8};
pub use strings::strings;
pub(crate) use tools::tool_uses;
pub use typed::{AssistantView, BashExecutionView, ToolResultView};
pub use view::{Block, Body, Entry, EntryParts, MessageView};
pub(crate) use view::{content_text, number};
pub(crate) use wrap::{WrappedText, for_provider, is_excluded, is_image};
