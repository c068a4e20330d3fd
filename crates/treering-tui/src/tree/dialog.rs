//! What stands between a key and what it does: a question, a overlay to read first, work that goes on.

use crate::input::TextInput;
use crate::page::Page;

/// Something a person is asked, with a line to answer in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Prompt {
    /// What the summary of what is left behind should pay attention to; the entry to go to.
    Summarize(String),
    /// What the summary of a branch should pay attention to; the end of the branch.
    Merge(String),
    /// What the summary of a compaction should pay attention to.
    Compact,
    /// The file for the branch to an entry.
    Export(String),
    /// Whether to go on from an entry in a copy: the session itself cannot be written to.
    Copy(String),
}

impl Prompt {
    /// The question, in a few words.
    pub fn text(&self) -> &'static str {
        match self {
            Prompt::Summarize(_) => "Summarise and go; what matters?",
            Prompt::Merge(_) => "Merge as a summary; what matters?",
            Prompt::Compact => "Compact; what matters?",
            Prompt::Export(_) => "Export to (.html .md .jsonl .json):",
            Prompt::Copy(_) => "Read-only session: go on in a copy?",
        }
    }

    /// What to do now, in a few words.
    pub fn hint(&self) -> &'static str {
        match self {
            Prompt::Export(_) => "Enter write · Esc leave it",
            Prompt::Copy(_) => "Enter yes · Esc no",
            _ => "Enter go on, with or without an answer · Esc leave it",
        }
    }
}

/// A page over the tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Overlay {
    /// What it is.
    pub subject: OverlayKind,
    /// Its heading; safe to show.
    pub title: String,
    /// What there is to read, made for the width of the screen.
    pub page: Page,
}

/// What a overlay is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OverlayKind {
    /// Two entries side by side.
    Diff(String, String),
    /// What a compaction would do.
    Compaction,
}

/// What is being done, for which the keys wait.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Task {
    /// What, in one word: "summarising".
    pub what: &'static str,
    /// How many characters of a summary have come.
    pub characters: usize,
}

/// What the keys are for at the moment.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum TreeMode {
    /// Moving in the tree; characters go to the search.
    #[default]
    Browse,
    /// Editing the label of an entry.
    Label {
        /// The entry.
        node: u32,
        /// The label so far.
        input: TextInput,
    },
    /// Answering a question.
    Prompt(Prompt, TextInput),
    /// Reading a overlay, from this line on.
    Overlay(Box<Overlay>, usize),
    /// Waiting for something that can be stopped.
    Busy(Task),
    /// Reading the list of keys, from this line on.
    Help(usize),
}
