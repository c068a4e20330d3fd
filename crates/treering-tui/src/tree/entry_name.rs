//! The name of an entry's type on the screen.

use treering::{Kind, Role};

/// Returns one word for the type of an entry.
pub(crate) fn name(kind: Kind, role: Option<Role>) -> &'static str {
    match (kind, role) {
        (Kind::Message, Some(Role::ToolResult)) => "tool",
        (Kind::Message, Some(Role::BashExecution)) => "bash",
        (Kind::Message, Some(Role::BranchSummary)) | (Kind::BranchSummary, _) => "branch summary",
        (Kind::Message, Some(Role::CompactionSummary)) | (Kind::Compaction, _) => "compaction",
        (Kind::Message, role) => role.and_then(Role::name).unwrap_or("message"),
        (Kind::CustomMessage, _) => "custom",
        (Kind::Custom, _) => "data",
        (Kind::ContextEdit, _) => "context edit",
        (Kind::ModelChange, _) => "model",
        (Kind::ThinkingLevelChange, _) => "thinking",
        (Kind::SessionInfo, _) => "name",
        (Kind::Reset, _) => "reset",
        (kind, _) => kind.name().unwrap_or("entry"),
    }
}
