//! What keys do in the tree selector. Any other character is typed into the search.

use super::Filter;
use crate::keys;

/// What a key may do in the tree selector.
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
            (Up, "up", "one up, from the first to the last", "Up"),
            (Down, "down", "one down, from the last to the first", "Down"),
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
            (
                Navigate,
                "go",
                "go here and talk on; your own message comes back to be edited",
                "Enter",
            ),
            (
                NavigateWithSummary,
                "summarise",
                "the same, with a summary of what is left behind",
                "Shift+Enter Alt+Enter",
            ),
            (MoveLeaf, "move", "make exactly this entry the leaf, and stay here", "Ctrl+G"),
            (Undo, "undo", "go back to where the leaf was before", "Alt+Z"),
            (EditLabel, "label", "edit the label; an empty one is cleared", "Shift+L"),
            (LabelTimes, "label-times", "show when labels were set", "Shift+T"),
            (Mark, "mark", "mark for a comparison, or no longer", "Space"),
            (Diff, "diff", "compare two marked entries, or a marked one with this", "Alt+D"),
            (Fork, "fork", "a new session from the path to here", "Alt+F"),
            (Clone, "clone", "a new session with the active branch", "Alt+C"),
            (
                CherryPick,
                "cherry-pick",
                "bring a copy of this entry, or of the marked ones, to the leaf",
                "Alt+P",
            ),
            (Merge, "merge", "bring a summary of this branch to the leaf", "Alt+M"),
            (Compact, "compact", "compact the active branch, after a look at what goes", "Alt+K"),
            (Export, "export", "write the branch to here as a page", "Alt+E"),
            (Copy, "copy", "copy the entry's text", "Ctrl+X"),
            (
                Choose(Filter::Default),
                "filter-default",
                "show the conversation; the key of a filter in force does the same",
                "Ctrl+D",
            ),
            (Choose(Filter::NoTools), "filter-no-tools", "without tool results", "Ctrl+T"),
            (Choose(Filter::UserOnly), "filter-user-only", "only what the user said", "Ctrl+U"),
            (Choose(Filter::LabeledOnly), "filter-labeled-only", "only what has a label", "Ctrl+L"),
            (Choose(Filter::All), "filter-all", "show everything", "Ctrl+A"),
            (NextFilter, "next-filter", "the next of these filters", "Ctrl+O"),
            (PreviousFilter, "previous-filter", "the one before", "Shift+Ctrl+O Alt+O"),
            (Preview, "preview", "preview: the entry, the context from here, none", "Tab"),
            (PreviewUp, "preview-up", "preview up", "Alt+Up"),
            (PreviewDown, "preview-down", "preview down", "Alt+Down"),
            (PanLeft, "pan-left", "look further left", "Shift+Left"),
            (PanRight, "pan-right", "look further right", "Shift+Right"),
            (Help, "help", "these keys", "?"),
            (Back, "back", "clear the search, then close", "Esc"),
            (Close, "close", "close", "Ctrl+C"),
        ]
    };
}
