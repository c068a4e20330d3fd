//! One record of a session: its head, its bytes, typed views of them, and new ones to be written.

pub(crate) mod head;
mod kind;
mod new;
mod parts;
mod strings;
mod tools;
mod view;

pub use kind::{Kind, Role};
pub(crate) use new::Parent;
pub use new::{Message, NewEntry};
pub use strings::strings;
pub(crate) use tools::tool_uses;
pub use view::{Block, Body, Entry, MessageView};
pub(crate) use view::{content_text, number};
