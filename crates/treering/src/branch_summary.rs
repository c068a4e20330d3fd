//! Collects the material for the summary of an abandoned branch.
//!
//! When the leaf moves to another branch, a summary of the abandoned entries can be written there.
//! The newest entries matter most: they are collected backwards until the budget is spent. Tool
//! results are left out, because the calls show what was done; the lists of files come from all
//! entries.

use crate::compaction::{FileOps, SummarySource, conversation_text, estimate_tokens};
use crate::context::{ContextMessage, Edits};
use crate::entry::{Kind, NewEntry, Role};
use crate::error::Result;
use crate::id::EntryId;
use crate::position::Position;
use crate::session::Session;
use crate::snapshot::{Bodies, Snapshot};
use crate::tree::{Row, Tree};

/// The text that precedes a stored branch summary.
pub const BRANCH_SUMMARY_PREAMBLE: &str = "The user explored a different conversation branch before returning here.\nSummary of that exploration:\n\n";

/// The text that precedes a stored summary of a merged branch.
pub const MERGE_SUMMARY_PREAMBLE: &str =
    "Work done on another branch of this conversation was merged here.\nSummary of that work:\n\n";

/// The openings of the lines that agents put before a summary to address the model, not the user.
const OPENINGS: [&str; 2] = [
    "This session is being continued from a previous conversation",
    "Another language model started to solve this problem",
];

/// Returns a summary without the fixed sentences that agents put before it.
///
/// ```
/// use treering::branch_summary::{BRANCH_SUMMARY_PREAMBLE, summary_substance};
/// let stored = format!("{BRANCH_SUMMARY_PREAMBLE}The cache was tried.");
/// assert_eq!(summary_substance(&stored), "The cache was tried.");
/// ```
pub fn summary_substance(summary: &str) -> &str {
    let summary = summary.trim_start();
    let preambles = [BRANCH_SUMMARY_PREAMBLE, MERGE_SUMMARY_PREAMBLE];
    // The end of a preamble is white space, which a summary that was edited may have lost.
    if let Some(own) = preambles.iter().find_map(|fixed| summary.strip_prefix(fixed.trim_end())) {
        return own.trim_start();
    }
    if OPENINGS.iter().any(|opening| summary.starts_with(opening)) {
        return summary.split_once('\n').map_or(summary, |(_, own)| own.trim_start());
    }
    summary
}

/// Returns the line of a summary that a list shows: the first line that is neither part of a
/// preamble nor a heading, a tag or a caption.
///
/// ```
/// let summary = "## Goal\nFix the parser\n\n## Progress\n- [x] Tests";
/// assert_eq!(treering::branch_summary::summary_line(summary), "Fix the parser");
/// ```
pub fn summary_line(summary: &str) -> &str {
    let lines =
        || summary_substance(summary).lines().map(str::trim).filter(|line| !line.is_empty());
    let says = |line: &&str| {
        let is_rule = line.chars().all(|c| matches!(c, '-' | '*' | '_' | '='));
        !(line.starts_with(['#', '<']) || line.ends_with(':') || is_rule)
    };
    lines().find(says).or_else(|| lines().next()).unwrap_or_default()
}

/// The context window that is assumed for a model whose window is not known.
const USUAL_WINDOW: u64 = 128_000;

/// The number of entries that are read at a time while walking backwards: files are read forwards.
const STRIDE: usize = 256;

/// An abandoned branch, ready to be summarized.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct AbandonedBranch {
    /// The abandoned entries, oldest first.
    pub entries: Vec<EntryId>,
    /// The deepest entry that both branches have.
    pub common_ancestor: Option<EntryId>,
    /// The messages for the summarizer, oldest first: as many of the newest ones as fit the budget.
    pub messages: Vec<ContextMessage>,
    /// The estimated size of these messages.
    pub total_tokens: u64,
    /// The files that were read and changed.
    pub file_ops: FileOps,
}

/// Returns how many tokens of a branch fit into a request: the model's context window without the
/// tokens that are reserved for its answer. 0 means that there is no limit.
///
/// ```
/// assert_eq!(treering::branch_summary::branch_budget(None, 16_384), 111_616);
/// ```
pub fn branch_budget(context_window: Option<u64>, reserve_tokens: u64) -> u64 {
    context_window
        .filter(|window| *window > 0)
        .unwrap_or(USUAL_WINDOW)
        .saturating_sub(reserve_tokens)
}

impl AbandonedBranch {
    /// Returns the branch between two rows, without its messages, and its rows.
    fn between(tree: &Tree, from: Option<Row>, to: Option<Row>) -> (Self, Vec<Row>) {
        let rows = tree.abandoned(from, to);
        let common_ancestor = match (from, to) {
            (Some(from), Some(to)) => tree.common_ancestor_row(from, to),
            _ => None,
        };
        let branch = AbandonedBranch {
            entries: rows.iter().map(|&row| tree.id(row)).collect(),
            common_ancestor: common_ancestor.map(|row| tree.id(row)),
            ..AbandonedBranch::default()
        };
        (branch, rows)
    }

    /// Returns whether there is nothing to summarize. No summary is written in that case.
    pub fn is_empty(&self) -> bool {
        self.messages.is_empty()
    }

    /// Returns the messages as text for a summarizer.
    pub fn conversation(&self) -> String {
        conversation_text(&self.messages)
    }

    /// Returns the summary as an entry, to be appended at the position that the leaf moves to.
    /// `from` is the abandoned leaf. The answer of a summarizer is composed with the lists of
    /// files; the text of an extension is stored unchanged.
    pub fn entry(
        &self,
        from: Option<&EntryId>,
        answer: &str,
        source: SummarySource<'_>,
    ) -> Result<NewEntry> {
        match source {
            SummarySource::Summarizer => {
                let entry = NewEntry::branch_summary(from, &self.compose(answer));
                entry.with("details", &self.file_ops.lists().to_json())
            }
            SummarySource::Extension { .. } => source.mark(NewEntry::branch_summary(from, answer)),
        }
    }

    /// Returns the summary to store, made of a summarizer's answer.
    pub fn compose(&self, answer: &str) -> String {
        format!("{BRANCH_SUMMARY_PREAMBLE}{answer}{}", self.file_ops.lists().to_text())
    }
}

/// Abandoned branches.
impl Session {
    /// Returns the entries that are abandoned when the leaf moves from one position to another, with
    /// as many of their newest messages as fit into `budget` tokens (see [`branch_budget`]).
    ///
    /// ```
    /// use treering::{Message, Session};
    /// use treering::branch_summary::branch_budget;
    /// let session = Session::in_memory("/project");
    /// let start = session.append(Message::user("Name a color."))?;
    /// let red = session.append(Message::assistant("acme", "m", "Red."))?;
    /// let branch = session.abandoned_branch(&red, &start, branch_budget(None, 16_384))?;
    /// assert_eq!(branch.conversation(), "[Assistant]: Red.");
    /// # Ok::<(), treering::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Fails with [`Error::UnknownEntry`](crate::Error::UnknownEntry) if the session does not have the
    /// entry, and if the file cannot be read.
    pub fn abandoned_branch(
        &self,
        from: impl Into<Position>,
        to: impl Into<Position>,
        budget: u64,
    ) -> Result<AbandonedBranch> {
        let (view, [from, to]) = self.view_at_both(&from.into(), &to.into())?;
        let (mut branch, rows) = AbandonedBranch::between(view.tree(), from, to);
        (branch.messages, branch.total_tokens) =
            collect(&view, &rows, budget, &mut branch.file_ops)?;
        Ok(branch)
    }

    /// Returns the same as `abandoned_branch` without the messages and
    /// files, and reads no entry for it.
    ///
    /// # Errors
    ///
    /// Fails with [`Error::UnknownEntry`](crate::Error::UnknownEntry) if the session does not have the
    /// entry, and if the file cannot be read.
    pub fn abandoned_entries(
        &self,
        from: impl Into<Position>,
        to: impl Into<Position>,
    ) -> Result<AbandonedBranch> {
        let (view, [from, to]) = self.view_at_both(&from.into(), &to.into())?;
        Ok(AbandonedBranch::between(view.tree(), from, to).0)
    }
}

/// Returns the newest messages of some entries that fit into `budget`, oldest first, and their
/// size.
pub(crate) fn collect(
    view: &Snapshot,
    rows: &[Row],
    budget: u64,
    files: &mut FileOps,
) -> Result<(Vec<ContextMessage>, u64)> {
    let tree = view.tree();
    let mut bodies = Bodies::default();
    for &row in rows.iter().filter(|row| tree.node(**row).kind() == Kind::BranchSummary) {
        if let Some(body) = bodies.whole(view, row)? {
            files.carry_on(&body);
        }
    }
    let edits = Edits::of_rows(view, &mut bodies, rows)?;
    let (mut newest_first, mut total) = (Vec::new(), 0_u64);
    for some in rows.rchunks(STRIDE) {
        let mut read = Vec::with_capacity(some.len());
        for &row in some {
            let kind = tree.node(row).kind();
            let mut messages = match tree.node(row).role() {
                Some(Role::ToolResult) => Vec::new(),
                _ => edits.project(view, &mut bodies, row)?,
            };
            // The prompt that a compaction repeats is not part of the conversation; its summary is.
            if kind == Kind::Compaction && messages.len() > 1 {
                messages.remove(0);
            }
            read.extend(messages.into_iter().map(|message| (kind, tree.node(row).role(), message)));
        }
        for (kind, role, message) in read.into_iter().rev() {
            if role == Some(Role::Assistant) {
                files.take_answer(&message.json);
            }
            let tokens = estimate_tokens(&message.json);
            if budget > 0 && total.saturating_add(tokens) > budget {
                let is_summary = matches!(kind, Kind::Compaction | Kind::BranchSummary);
                let is_small = u128::from(total) * 10 < u128::from(budget) * 9;
                // A last message that is too long by itself is better than no summary at all.
                if is_summary && is_small || newest_first.is_empty() {
                    newest_first.push(message);
                    total = total.saturating_add(tokens);
                }
                newest_first.reverse();
                return Ok((newest_first, total));
            }
            total = total.saturating_add(tokens);
            newest_first.push(message);
        }
    }
    newest_first.reverse();
    Ok((newest_first, total))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_of_a_summary_is_its_own() {
        let claude = "This session is being continued from a previous conversation that ran out \
                      of context. The conversation is summarized below:\nAnalysis:\nIt broke.";
        let codex = "Another language model started to solve this problem and produced a summary \
                     of its thinking process. Use it:\nThe test fails.";
        for (summary, line) in [
            (format!("{BRANCH_SUMMARY_PREAMBLE}## Goal\n\nTry it\n"), "Try it"),
            (format!("{MERGE_SUMMARY_PREAMBLE}- done"), "- done"),
            (BRANCH_SUMMARY_PREAMBLE.trim_end().to_owned() + " Short.", "Short."),
            (claude.to_owned(), "It broke."),
            (codex.to_owned(), "The test fails."),
            ("## Goal".to_owned(), "## Goal"),
            ("---\n<read-files>\na.rs\n</read-files>".to_owned(), "a.rs"),
            ("Nothing but: this".to_owned(), "Nothing but: this"),
            (BRANCH_SUMMARY_PREAMBLE.to_owned(), ""),
            (String::new(), ""),
        ] {
            assert_eq!(summary_line(&summary), line, "{summary:?}");
        }
    }
}
