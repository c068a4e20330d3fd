//! The actions of keys in the tree selector. Every other character is typed into the search.

use super::Filter;
use crate::keys;

/// An action of a key in the tree selector.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the table says what each does")]
pub enum TreeAction {
    Up,
    Down,
    PageUp,
    PageDown,
    PreviousTurn,
    NextTurn,
    First,
    Last,
    FoldOrUp,
    UnfoldOrDown,
    Navigate,
    NavigateWithSummary,
    MoveLeaf,
    Undo,
    Mark,
    Diff,
    Fork,
    Resume,
    Clone,
    CherryPick,
    Merge,
    Compact,
    Export,
    EditLabel,
    LabelTimes,
    Copy,
    Choose(Filter),
    NextFilter,
    PreviousFilter,
    Preview,
    PreviewUp,
    PreviewDown,
    PanLeft,
    PanRight,
    Help,
    Back,
    Close,
}

impl keys::Action for TreeAction {
    const ALL: &'static [(Self, &'static str, &'static str, &'static str)] = {
        use TreeAction::*;
        &[
            (Up, "up", "to the previous entry (wraps around)", "Up"),
            (Down, "down", "to the next entry (wraps around)", "Down"),
            (PageUp, "page-up", "a page up", "PgUp Left"),
            (PageDown, "page-down", "a page down", "PgDn Right"),
            (
                PreviousTurn,
                "previous-turn",
                "to the user's message before this",
                "Shift+Up Ctrl+Up",
            ),
            (NextTurn, "next-turn", "to the user's next message", "Shift+Down Ctrl+Down"),
            (First, "first", "to the first entry", "Home"),
            (Last, "last", "to the last entry", "End"),
            (
                FoldOrUp,
                "fold",
                "fold a branch, or go to where this one begins",
                "Ctrl+Left Alt+Left",
            ),
            (
                UnfoldOrDown,
                "unfold",
                "unfold, or go to where it branches next",
                "Ctrl+Right Alt+Right",
            ),
            (Navigate, "go", "continue from here; a user message goes into the editor", "Enter"),
            (
                NavigateWithSummary,
                "summarize",
                "navigate here and summarize the abandoned branch",
                "Shift+Enter Alt+Enter",
            ),
            (MoveLeaf, "move", "move the leaf to this entry and stay in the tree", "Ctrl+G"),
            (Undo, "undo", "undo the last move of the leaf", "Alt+Z"),
            (EditLabel, "label", "edit the label; an empty one is cleared", "Shift+L"),
            (LabelTimes, "label-times", "show when labels were set", "Shift+T"),
            (Mark, "mark", "mark or unmark an entry", "Space"),
            (Diff, "diff", "compare two marked entries, or a marked one with this", "Alt+D"),
            (Fork, "fork", "fork the path to here into a new session", "Alt+F"),
            (Resume, "resume", "resume from here in the session's agent", "Alt+R"),
            (Clone, "clone", "clone the active branch into a new session", "Alt+C"),
            (
                CherryPick,
                "cherry-pick",
                "cherry-pick this entry, or the marked ones, to the leaf",
                "Alt+P",
            ),
            (Merge, "merge", "merge a summary of this branch into the active one", "Alt+M"),
            (Compact, "compact", "compact the active branch, after a preview", "Alt+K"),
            (Export, "export", "export the branch to here", "Alt+E"),
            (Copy, "copy", "copy the entry's text", "Ctrl+X"),
            (
                Choose(Filter::Default),
                "filter-default",
                "filter: conversation; the key of the active filter also goes back to it",
                "Ctrl+D",
            ),
            (Choose(Filter::NoTools), "filter-no-tools", "filter: no tool results", "Ctrl+T"),
            (Choose(Filter::UserOnly), "filter-user-only", "filter: user messages", "Ctrl+U"),
            (
                Choose(Filter::LabeledOnly),
                "filter-labeled-only",
                "filter: labeled entries",
                "Ctrl+L",
            ),
            (Choose(Filter::All), "filter-all", "filter: all entries", "Ctrl+A"),
            (NextFilter, "next-filter", "next filter", "Ctrl+O"),
            (PreviousFilter, "previous-filter", "previous filter", "Shift+Ctrl+O Alt+O"),
            (Preview, "preview", "preview: the entry, the context from here, none", "Tab"),
            (PreviewUp, "preview-up", "preview up", "Alt+Up"),
            (PreviewDown, "preview-down", "preview down", "Alt+Down"),
            (PanLeft, "pan-left", "scroll left", "Shift+Left"),
            (PanRight, "pan-right", "scroll right", "Shift+Right"),
            (Help, "help", "show the keys", "?"),
            (Back, "back", "clear the search, then close", "Esc"),
            (Close, "close", "close", "Ctrl+C"),
        ]
    };
}
