//! Finds the tool calls and results in a message, in every place where messages have them.

use super::{Block, MessageView, Role};
use crate::json;

/// Calls `each` for every tool call and result in a message: whether it is a call, and the id of
/// the call.
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
                    // The results of a provider's own tools are in the same message as the calls.
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
