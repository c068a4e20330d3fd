//! The events and the effects of the tree selector.

use super::dialog::Overlay;
use super::preview_pane::PreviewContent;
use crate::page::Page;
use crate::terminal_event::TerminalEvent;
use treering_display::preview_line::PreviewLine;
use treering_display::tree::Outline;

/// An event of the tree selector.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum TreeEvent {
    /// A terminal event.
    Terminal(TerminalEvent),
    /// The tree or the leaf has changed.
    Tree(Outline),
    /// Preview lines of the tree of this generation were read.
    PreviewLines(u64, Vec<(u32, PreviewLine)>),
    /// These entries of the tree of this generation contain all words of this search; each with the line that
    /// matches.
    Found(u64, String, Vec<(u32, String)>),
    /// A requested preview.
    Page(String, PreviewContent, Page),
    /// A requested overlay.
    Overlay(Box<Overlay>),
    /// The number of characters of a summary that were received.
    Progress(usize),
    /// The task has finished; the text is a notice.
    Done(String),
    /// The task has finished: the leaf has moved, and the text belongs into the editor.
    Navigated(Option<String>),
    /// The session is read-only: continuing from this entry needs a copy.
    ReadOnly(String),
    /// The task has finished: the session was replaced.
    Replaced(String),
    /// A notice that is shown if there is no other.
    Notice(String),
    /// The session's file is no longer the one that was read; the text is the reason.
    FileLost(String),
    /// A failure; a running task has finished.
    Failed(String),
}

impl From<TerminalEvent> for TreeEvent {
    fn from(event: TerminalEvent) -> Self {
        TreeEvent::Terminal(event)
    }
}

/// An effect that the runtime carries out. Entries are named by their ids.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum TreeEffect {
    /// Close the selector.
    Close,
    /// End the program.
    Stop,
    /// Open the chat with this text in the editor.
    OpenChat(Option<String>),
    /// Show the session that replaced this one; the text is a notice.
    ShowReplacement(String),
    /// Read the session's file again; the text is the reason.
    Reopen(String),
    /// Navigate to an entry and continue the conversation there.
    Navigate(String),
    /// Navigate with a summary of the abandoned branch; the second value is its focus.
    NavigateWithSummary(String, Option<String>),
    /// Navigate to an entry in a copy of the session.
    NavigateInCopy(String),
    /// Make this entry the leaf and stay in the tree.
    MoveLeaf(String),
    /// Move the leaf back to its earlier position.
    Undo,
    /// Fork the path to an entry into a new session.
    Fork(String),
    /// Resume the session in its agent, from an entry or, with `None`, from its leaf.
    Resume(Option<String>),
    /// Clone the active branch into a new session.
    Clone,
    /// Cherry-pick entries to the leaf.
    CherryPick(Vec<String>),
    /// Merge a summary of the branch to an entry; the second value is its focus.
    Merge(String, Option<String>),
    /// Compare two entries on a screen of this many columns.
    Diff(String, String, u16),
    /// Show the plan of a compaction.
    PlanCompaction,
    /// Compact with a focus.
    Compact(Option<String>),
    /// Export the branch to an entry to a file.
    Export(String, String),
    /// Abort the running task.
    Cancel,
    /// Set or clear a label.
    Label(String, Option<String>),
    /// Put an entry's text on the clipboard.
    Copy(String),
    /// Search the contents of all entries for words; an empty text ends the search.
    Search(String),
    /// Read the missing preview lines.
    Read,
    /// Make the page of the preview.
    Preview(String, PreviewContent),
}
