//! The dialogs of the tree selector: prompts, overlays, and the running task.

use crate::input::TextInput;
use crate::page::Page;

/// A question with a line for the answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Prompt {
    /// The focus of the summary of the abandoned branch; the value is the entry to navigate to.
    Summarize(String),
    /// The focus of the summary of a merged branch; the value is the end of the branch.
    Merge(String),
    /// The focus of the summary of a compaction.
    Compact,
    /// The file for the branch to an entry.
    Export(String),
    /// Whether to continue from an entry in a copy, because the session is read-only.
    Copy(String),
}

impl Prompt {
    /// Returns the question.
    pub fn text(&self) -> &'static str {
        match self {
            Prompt::Summarize(_) => "Navigate with a summary; focus (optional):",
            Prompt::Merge(_) => "Merge as a summary; focus (optional):",
            Prompt::Compact => "Compact; focus (optional):",
            Prompt::Export(_) => "Export to (.html .md .jsonl .json):",
            Prompt::Copy(_) => "Read-only session: continue in a copy?",
        }
    }

    /// Returns the keys that answer the question.
    pub fn hint(&self) -> &'static str {
        match self {
            Prompt::Export(_) => "Enter export · Esc cancel",
            Prompt::Copy(_) => "Enter yes · Esc no",
            _ => "Enter continue · Esc cancel",
        }
    }
}

/// A page over the tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Overlay {
    /// The kind of the overlay.
    pub subject: OverlayKind,
    /// The title, safe to show.
    pub title: String,
    /// The page, wrapped to the width of the screen.
    pub page: Page,
}

/// The kind of an overlay.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OverlayKind {
    /// Two entries side by side.
    Diff(String, String),
    /// The plan of a compaction.
    Compaction,
}

/// A running task, for which the keys wait.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Task {
    /// The task in one word, such as "summarizing".
    pub what: &'static str,
    /// The number of characters of a summary that were received.
    pub characters: usize,
}

/// The mode, which decides what keys do.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum TreeMode {
    /// The user moves in the tree; characters go to the search.
    #[default]
    Browse,
    /// The user edits the label of an entry.
    Label {
        /// The entry.
        node: u32,
        /// The label so far.
        input: TextInput,
    },
    /// The user answers a question.
    Prompt(Prompt, TextInput),
    /// An overlay is shown from this line on.
    Overlay(Box<Overlay>, usize),
    /// A task is running that can be aborted.
    Busy(Task),
    /// The list of keys is shown from this line on.
    Help(usize),
}
