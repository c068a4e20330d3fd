//! Tool calls and results in messages, wherever a message keeps them.

use super::{Block, MessageView, Role};
use crate::json;

/// The tool calls and results of a message: whether each is a call, and the call's id.
pub(crate) fn tool_uses(message: &[u8], mut each: impl FnMut(bool, &str)) {
    let view = MessageView::new(message);
    match view.role() {
        Role::ToolResult => {
            if let Some(call) = view.field("toolCallId") {
                each(false, &call);
            }
        }
        Role::Assistant => {
            for block in view.blocks() {
                match block {
                    Block::ToolCall { id, .. } if !id.is_empty() => each(true, &id),
                    // The results of a provider's own tools stand in the message that called them.
                    Block::Other(raw) => {
                        if let Some(call) = json::get(raw, "tool_use_id").and_then(json::string) {
                            each(false, &call);
                        }
                    }
                    _ => {}
                }
            }
        }
        _ => {}
    }
}
