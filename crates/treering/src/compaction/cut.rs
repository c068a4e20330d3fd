//! Where the summarised part ends and the kept part begins.

use super::plan::Plan;
use crate::entry::{Kind, Role};
use std::collections::HashSet;

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Cut {
    /// The first entry that is kept.
    pub(super) first_kept: usize,
    /// Where the turn begins that the cut goes through, if it does.
    pub(super) turn_start: Option<usize>,
}

/// A kept part may begin here. Not with a tool result: its call would be gone.
fn may_cut(role: Role) -> bool {
    role == Role::Assistant || starts_turn(role)
}

fn starts_turn(role: Role) -> bool {
    matches!(
        role,
        Role::User
            | Role::BashExecution
            | Role::Custom
            | Role::BranchSummary
            | Role::CompactionSummary
    )
}

/// Finds the cut among the entries from `start` on that keeps about `keep` tokens.
pub(super) fn find(plan: &Plan, start: usize, keep: u64) -> Cut {
    let end = plan.entries.len();
    let Some(first) = (start..end).find(|&at| plan.speaks(at, may_cut)) else {
        return Cut { first_kept: start, turn_start: None };
    };
    let full = where_full(plan, start, keep);
    let mut cut = match full {
        None => first,
        Some(full) => (full..end)
            .find(|&at| plan.speaks(at, may_cut))
            .or_else(|| (start..full).rev().find(|&at| plan.speaks(at, may_cut)))
            .unwrap_or(first),
    };
    if full.is_some() && is_given_up(plan, cut + 1) {
        cut += 1;
    }
    // What contributes nothing goes with what it stands before.
    while cut > start && contributes_nothing(plan, cut - 1) {
        cut -= 1;
    }
    let turn_start = match plan.speaks(cut, starts_turn) {
        true => None,
        false => (start..=cut).rev().find(|&at| plan.speaks(at, starts_turn)),
    };
    Cut { first_kept: cut, turn_start }
}

/// The newest entry from which on there are `keep` tokens or more.
fn where_full(plan: &Plan, start: usize, keep: u64) -> Option<usize> {
    let mut sum: u64 = 0;
    (start..plan.entries.len()).rev().find(|&at| {
        let tokens = plan.tokens(at);
        sum = sum.saturating_add(tokens);
        tokens > 0 && sum >= keep
    })
}

fn contributes_nothing(plan: &Plan, at: usize) -> bool {
    let is_empty = plan.entries.get(at).is_some_and(|entry| entry.messages.is_empty());
    is_empty && plan.kind(at) != Kind::Compaction
}

/// Whether all that follows is an attempt that context edits took out again: an answer that failed,
/// and nothing that anybody sees. The input before it may then be summarised, too.
fn is_given_up(plan: &Plan, start: usize) -> bool {
    let rest = plan.entries.get(start..).unwrap_or_default();
    let tree = plan.view.tree();
    let role = |row: u32| tree.node(row).role();
    let is_gone = (start..plan.entries.len()).all(|at| contributes_nothing(plan, at));
    if !is_gone
        || !rest.iter().any(|entry| entry.is_omitted && role(entry.row) == Some(Role::Assistant))
    {
        return false;
    }
    let omitted: HashSet<&str> =
        rest.iter().filter(|entry| entry.is_omitted).map(|entry| tree.id_text(entry.row)).collect();
    let later = plan.edits.iter().filter(|edit| edit.at >= start);
    later.filter(|edit| !edit.removes).all(|edit| omitted.contains(edit.target.as_str()))
}
