//! The summary line of an entry, which a search looks at first.
//!
//! PreviewLines are read in the background, in the order of the file: a screen is there before they are. An
//! entry whose preview_line is not known yet is shown by its role alone.

use treering::{Entry, Kind, Role};
use treering_export::Calls;

use crate::text::safe_line;

/// One line of what an entry says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PreviewLine {
    /// Safe to show.
    pub text: Box<str>,
    /// An answer that ended normally and has no text.
    pub is_silent: bool,
    /// A tool that failed, or an answer that ended abnormally.
    pub is_failure: bool,
}

impl PreviewLine {
    /// Reads an entry. `calls` are those of the entries before it in the file: a result is shown as
    /// the call it answers.
    pub fn of(entry: &Entry, calls: &mut Calls) -> Self {
        let preview_line = treering_export::PreviewLine::read(entry, calls);
        PreviewLine {
            text: safe_line(&preview_line.text).into(),
            is_silent: preview_line.kind == 'A',
            is_failure: matches!(preview_line.kind, 'E' | 'T'),
        }
    }
}

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
