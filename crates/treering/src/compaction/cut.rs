//! The position where the summarized part ends and the kept part begins.

use super::outline::Outline;
use crate::entry::Role;
use crate::error::Result;
use crate::id::EntryId;
use std::collections::HashSet;

#[derive(Debug, PartialEq, Eq)]
pub(super) struct CutPoint {
    /// The index of the first entry that is kept.
    pub(super) first_kept: usize,
    /// The index of the entry that begins the turn, if the cut splits a turn.
    pub(super) turn_start: Option<usize>,
}

/// Returns whether the kept part may begin with a message of this role. It may not begin with a
/// tool result, because the call would be summarized.
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
pub(super) fn find(outline: &mut Outline, start: usize, keep: u64) -> Result<CutPoint> {
    let end = outline.len();
    let full = where_full(outline, start, keep)?;
    let found = match full {
        None => outline.find(start..end, may_cut)?,
        Some(full) => match outline.find(full..end, may_cut)? {
            None => outline.find((start..full).rev(), may_cut)?,
            found => found,
        },
    };
    let Some(mut cut) = found else { return Ok(CutPoint { first_kept: start, turn_start: None }) };
    if full.is_some() && is_given_up(outline, cut + 1)? {
        cut += 1;
    }
    // Entries that contribute nothing stay with the entry after them.
    while cut > start && outline.contributes_nothing(cut - 1)? {
        cut -= 1;
    }
    let turn_start = match outline.speaks(cut, starts_turn)? {
        true => None,
        false => outline.find((start..=cut).rev(), starts_turn)?,
    };
    Ok(CutPoint { first_kept: cut, turn_start })
}

/// Returns the newest entry from which on there are `keep` tokens or more.
fn where_full(outline: &mut Outline, start: usize, keep: u64) -> Result<Option<usize>> {
    let mut sum: u64 = 0;
    for at in (start..outline.len()).rev() {
        let tokens = outline.tokens(at)?;
        sum = sum.saturating_add(tokens);
        if tokens > 0 && sum >= keep {
            return Ok(Some(at));
        }
    }
    Ok(None)
}

/// Returns whether everything from `start` on is an attempt that context edits removed again: a
/// failed answer, and nothing that the model sees. The input before it may then be summarized as
/// well.
fn is_given_up(outline: &mut Outline, start: usize) -> Result<bool> {
    let mut omitted: HashSet<EntryId> = HashSet::new();
    let mut has_answer = false;
    for at in start..outline.len() {
        if !outline.contributes_nothing(at)? {
            return Ok(false);
        }
        if outline.part(at)?.is_omitted
            && let Some(row) = outline.row(at)
        {
            has_answer |= outline.known_role(at) == Some(Role::Assistant);
            omitted.insert(outline.view().tree().id(row));
        }
    }
    let mut later = outline.edits().iter().filter(|edit| edit.at >= start && !edit.removes);
    Ok(has_answer && later.all(|edit| omitted.contains(edit.target.as_str())))
}
