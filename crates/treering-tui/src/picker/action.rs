//! The actions of keys in the session picker. Every other character is typed into the query.

use crate::keys;

/// An action of a key in the session picker.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the table says what each does")]
pub enum PickerAction {
    Up,
    Down,
    PageUp,
    PageDown,
    First,
    Last,
    Open,
    Copy,
    Resume,
    New,
    Sort,
    Named,
    Scope,
    PreviousQuery,
    NextQuery,
    Rename,
    Delete,
    Archive,
    Export,
    CopyPath,
    Preview,
    PreviewUp,
    PreviewDown,
    Help,
    Back,
    Close,
}

impl keys::Action for PickerAction {
    const ALL: &'static [(Self, &'static str, &'static str, &'static str)] = {
        use PickerAction::*;
        &[
            (Up, "up", "to the previous session (wraps around)", "Up"),
            (Down, "down", "to the next session (wraps around)", "Down"),
            (PageUp, "page-up", "a page up", "PgUp"),
            (PageDown, "page-down", "a page down", "PgDn"),
            (First, "first", "to the first session", "Home"),
            (Last, "last", "to the last session", "End"),
            (Open, "open", "open the session", "Enter"),
            (Copy, "copy", "continue the session in a copy", "Alt+C"),
            (Resume, "resume", "resume the session in its agent", "Alt+R"),
            (New, "new", "start a new session", "Alt+N"),
            (Sort, "sort", "sort: threaded, recent, relevance", "Ctrl+S"),
            (Named, "named", "show named sessions only, or all", "Ctrl+N"),
            (Scope, "scope", "show the sessions of this project, or all", "Ctrl+A"),
            (PreviousQuery, "previous-query", "an earlier query", "Ctrl+Up Ctrl+P"),
            (NextQuery, "next-query", "a later query", "Ctrl+Down"),
            (Rename, "rename", "rename the session; an empty name clears it", "Ctrl+R"),
            (Delete, "delete", "move the session to the trash (asks first)", "Ctrl+D Delete"),
            (Archive, "archive", "archive or unarchive the session", "Ctrl+B"),
            (Export, "export", "export the session as HTML", "Ctrl+E"),
            (CopyPath, "copy-path", "copy the path of the session's file", "Ctrl+X"),
            (Preview, "preview", "show or hide the preview", "Tab"),
            (PreviewUp, "preview-up", "preview up", "Alt+Up"),
            (PreviewDown, "preview-down", "preview down", "Alt+Down"),
            (Help, "help", "show the keys", "?"),
            (Back, "back", "clear the query, then close", "Esc"),
            (Close, "close", "close", "Ctrl+C"),
        ]
    };
}
