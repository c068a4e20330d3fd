//! What the tree selector is told, and what it wants done.

use super::dialog::Overlay;
use super::outline::Outline;
use super::preview_line::PreviewLine;
use super::preview_pane::PreviewContent;
use crate::page::Page;
use crate::terminal_event::TerminalEvent;

/// Something that happened.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum TreeEvent {
    /// Something at the terminal.
    Terminal(TerminalEvent),
    /// The session has another tree or leaf.
    Tree(Outline),
    /// Entries of the tree of this generation were read.
    PreviewLines(u64, Vec<(u32, PreviewLine)>),
    /// These entries of the tree of this generation have all words of this search in their content.
    Found(u64, String, Vec<u32>),
    /// A preview that was asked for.
    Page(String, PreviewContent, Page),
    /// A overlay that was asked for.
    Overlay(Box<Overlay>),
    /// So many characters of a summary have come.
    Progress(usize),
    /// What was waited for is over, and this is to be said about it.
    Done(String),
    /// What was waited for is over: the leaf has moved, and this text belongs in the editor.
    Navigated(Option<String>),
    /// The session cannot be written to: going on from this entry needs a copy.
    ReadOnly(String),
    /// What was waited for is over: the session is another one now.
    Replaced(String),
    /// Something worth knowing, if nothing else is being said.
    Notice(String),
    /// The session's file is no longer the one that was read; why.
    FileLost(String),
    /// Something went wrong; if it was waited for it is over.
    Failed(String),
}

impl From<TerminalEvent> for TreeEvent {
    fn from(event: TerminalEvent) -> Self {
        TreeEvent::Terminal(event)
    }
}

/// Something to be done. Entries are named by their ids.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum TreeEffect {
    /// Close the selector.
    Close,
    /// End the program.
    Stop,
    /// Leave for the conversation, with this text in the editor.
    OpenChat(Option<String>),
    /// Show the session that took this one's place.
    ShowReplacement(String),
    /// Read the session's file again; why.
    Reopen(String),
    /// Move the leaf, as one does to talk on from an entry.
    Navigate(String),
    /// The same, with a summary of what is left behind, and what it should pay attention to.
    NavigateWithSummary(String, Option<String>),
    /// Move to an entry in a copy of the session.
    NavigateInCopy(String),
    /// Make exactly this entry the leaf.
    MoveLeaf(String),
    /// Move the leaf back to where it was.
    Undo,
    /// Make the path to an entry a session of its own.
    Fork(String),
    /// Make the active branch a session of its own.
    Clone,
    /// Copy entries to the leaf.
    CherryPick(Vec<String>),
    /// Bring a summary of the branch to an entry, and what it should pay attention to.
    Merge(String, Option<String>),
    /// Compare two entries, on so many columns.
    Diff(String, String, u16),
    /// Show what a compaction would do.
    PlanCompaction,
    /// Compact, paying attention to this.
    Compact(Option<String>),
    /// Write the branch to an entry to a file.
    Export(String, String),
    /// Stop what is going on.
    Cancel,
    /// Set or clear a label.
    Label(String, Option<String>),
    /// Put an entry's text on the clipboard.
    Copy(String),
    /// Look for words in the whole content of all entries; nothing more to look for if empty.
    Search(String),
    /// Read the preview_lines that are not known.
    Read,
    /// Make a page.
    Preview(String, PreviewContent),
}
