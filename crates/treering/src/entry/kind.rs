//! The types of entries and the roles of messages.

/// The type of an entry. `Other` is any type that treering does not know; such an entry is kept
/// byte for byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[repr(u8)]
#[allow(missing_docs, reason = "each is the type of the same name in docs/format.md")]
pub enum Kind {
    Message,
    Compaction,
    BranchSummary,
    CustomMessage,
    ContextEdit,
    Custom,
    Label,
    Leaf,
    ModelChange,
    ThinkingLevelChange,
    SessionInfo,
    Usage,
    /// An entry that removes everything before it from the context. Only formats of other agents
    /// have it.
    Reset,
    Other,
}

impl Kind {
    /// Returns the kind that a `type` names.
    pub fn of(name: &str) -> Kind {
        match name {
            "message" => Kind::Message,
            "compaction" => Kind::Compaction,
            "branch_summary" => Kind::BranchSummary,
            "custom_message" => Kind::CustomMessage,
            "context_edit" => Kind::ContextEdit,
            "custom" => Kind::Custom,
            "label" => Kind::Label,
            "leaf" => Kind::Leaf,
            "model_change" => Kind::ModelChange,
            "thinking_level_change" => Kind::ThinkingLevelChange,
            "session_info" => Kind::SessionInfo,
            "usage" => Kind::Usage,
            _ => Kind::Other,
        }
    }

    /// Returns the `type` in files; `None` for [`Kind::Reset`] and [`Kind::Other`], whose type is
    /// only in the entry itself.
    pub fn name(self) -> Option<&'static str> {
        Some(match self {
            Kind::Message => "message",
            Kind::Compaction => "compaction",
            Kind::BranchSummary => "branch_summary",
            Kind::CustomMessage => "custom_message",
            Kind::ContextEdit => "context_edit",
            Kind::Custom => "custom",
            Kind::Label => "label",
            Kind::Leaf => "leaf",
            Kind::ModelChange => "model_change",
            Kind::ThinkingLevelChange => "thinking_level_change",
            Kind::SessionInfo => "session_info",
            Kind::Usage => "usage",
            Kind::Reset | Kind::Other => return None,
        })
    }
}

/// The role of a message. `Other` is any role that treering does not know.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[repr(u8)]
#[allow(missing_docs, reason = "each is the role of the same name in docs/format.md")]
pub enum Role {
    User,
    Assistant,
    ToolResult,
    System,
    BashExecution,
    Custom,
    BranchSummary,
    CompactionSummary,
    Other,
}

impl Role {
    /// Returns the role that a `role` names.
    pub fn of(name: &str) -> Role {
        match name {
            "user" => Role::User,
            "assistant" => Role::Assistant,
            "toolResult" => Role::ToolResult,
            "system" => Role::System,
            "bashExecution" => Role::BashExecution,
            "custom" => Role::Custom,
            "branchSummary" => Role::BranchSummary,
            "compactionSummary" => Role::CompactionSummary,
            _ => Role::Other,
        }
    }

    /// Returns the `role` in files; `None` for [`Role::Other`].
    pub fn name(self) -> Option<&'static str> {
        Some(match self {
            Role::User => "user",
            Role::Assistant => "assistant",
            Role::ToolResult => "toolResult",
            Role::System => "system",
            Role::BashExecution => "bashExecution",
            Role::Custom => "custom",
            Role::BranchSummary => "branchSummary",
            Role::CompactionSummary => "compactionSummary",
            Role::Other => return None,
        })
    }
}
