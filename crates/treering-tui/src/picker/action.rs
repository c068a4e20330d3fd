//! What keys do in the session picker. Any other character is typed into the query.

use crate::keys;

/// What a key may do in the session picker.
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
    New,
    Sort,
    Named,
    Scope,
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
            (Up, "up", "one up, from the first to the last", "Up"),
            (Down, "down", "one down, from the last to the first", "Down"),
            (PageUp, "page-up", "a page up", "PgUp"),
            (PageDown, "page-down", "a page down", "PgDn"),
            (First, "first", "to the first session", "Home"),
            (Last, "last", "to the last session", "End"),
            (Open, "open", "open the session", "Enter"),
            (Copy, "copy", "go on with the session in a copy", "Alt+C"),
            (New, "new", "begin a new session", "Alt+N"),
            (Sort, "sort", "sort: threaded, recent, relevance", "Ctrl+S"),
            (Named, "named", "only sessions with a name, or all", "Ctrl+N"),
            (Scope, "scope", "the sessions of this project, or of all", "Ctrl+A"),
            (Rename, "rename", "give the session a name; an empty one is cleared", "Ctrl+R"),
            (Delete, "delete", "move the session to the trash, after a question", "Ctrl+D Delete"),
            (Archive, "archive", "compress the session, or bring it back", "Ctrl+B"),
            (Export, "export", "write the session as a page to read and share", "Ctrl+E"),
            (CopyPath, "copy-path", "copy the path of the session's file", "Ctrl+X"),
            (Preview, "preview", "preview of the session, or none", "Tab"),
            (PreviewUp, "preview-up", "preview up", "Alt+Up"),
            (PreviewDown, "preview-down", "preview down", "Alt+Down"),
            (Help, "help", "these keys", "?"),
            (Back, "back", "clear the query, then close", "Esc"),
            (Close, "close", "close", "Ctrl+C"),
        ]
    };
}
