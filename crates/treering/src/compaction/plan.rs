//! Decides which part of a context a compaction summarizes and which it keeps, and reads only the
//! messages that this decision needs.

use super::outline::Outline;
use super::{CompactionSettings, cut};
use crate::context::Projection;
use crate::entry::{Kind, Role};
use crate::error::Result;
use crate::id::EntryId;
use crate::tree::Row;
use std::ops::Range;

/// The result of planning a compaction.
#[derive(Debug)]
pub enum Preparation {
    /// The context can be compacted as planned.
    Ready(Box<CompactionPlan>),
    /// There is nothing to do, because the leaf is a compaction.
    AlreadyCompacted,
    /// There is nothing to summarize.
    TooSmall,
}

/// A planned compaction: what it summarizes and what it keeps. The messages to summarize are read
/// only by `CompactionPlan::read`.
///
/// ```
/// use treering::{Message, Session};
/// use treering::compaction::CompactionSettings;
/// let session = Session::in_memory("/project");
/// session.append(Message::user("Name a color."))?;
/// session.append(Message::user("Another one."))?;
/// let settings = CompactionSettings::new().keep_recent_tokens(1);
/// if let Some(plan) = session.plan_compaction(&settings)?.ready() {
///     assert_eq!(plan.tokens_kept, 3);
///     assert_eq!(plan.read()?.messages_to_summarize.len(), 1);
/// }
/// # Ok::<(), treering::Error>(())
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub struct CompactionPlan {
    /// The leaf, below which the compaction is appended.
    pub leaf: EntryId,
    /// The first entry that stays in the context unchanged.
    pub first_kept: EntryId,
    /// Whether the cut splits a turn.
    pub is_split_turn: bool,
    /// The estimated size of the kept part.
    pub tokens_kept: u64,
    /// The settings that the plan was made with.
    pub settings: CompactionSettings,
    pub(super) outline: Outline,
    /// The row of the compaction before this one.
    pub(super) previous: Option<Row>,
    /// The indices of the entries to summarize, without the beginning of a split turn, which the
    /// next field has.
    pub(super) history: Range<usize>,
    pub(super) prefix: Range<usize>,
}

impl Preparation {
    /// Returns the plan, if there is one.
    pub fn ready(self) -> Option<CompactionPlan> {
        match self {
            Preparation::Ready(plan) => Some(*plan),
            _ => None,
        }
    }
}

pub(super) fn plan(
    leaf: EntryId,
    projection: Projection,
    settings: &CompactionSettings,
) -> Result<Preparation> {
    let tree = projection.view().tree();
    if tree.row(leaf.as_str()).is_some_and(|row| tree.node(row).kind() == Kind::Compaction) {
        return Ok(Preparation::AlreadyCompacted);
    }
    let settings = settings.of_model(projection.model.as_ref());
    let mut outline = Outline::new(projection)?;
    let is_compacted = outline.kind(0) == Kind::Compaction && !outline.part(0)?.messages.is_empty();
    let previous = outline.row(0).filter(|_| is_compacted);
    let start = usize::from(is_compacted);

    let cut = cut::find(&mut outline, start, settings.keep_recent_tokens)?;
    let Some(first_kept) = outline.row(cut.first_kept) else { return Ok(Preparation::TooSmall) };
    // System messages describe the state of the prompt, which the compaction keeps.
    if outline.find(start..cut.first_kept, |role| role != Role::System)?.is_none() {
        return Ok(Preparation::TooSmall);
    }
    let mut tokens_kept: u64 = 0;
    for at in cut.first_kept..outline.len() {
        tokens_kept = tokens_kept.saturating_add(outline.tokens(at)?);
    }
    let turn = cut.turn_start.unwrap_or(cut.first_kept);
    Ok(Preparation::Ready(Box::new(CompactionPlan {
        leaf,
        first_kept: outline.view().tree().id(first_kept),
        is_split_turn: cut.turn_start.is_some(),
        tokens_kept,
        settings,
        outline,
        previous,
        history: start..turn,
        prefix: turn..cut.first_kept,
    })))
}
