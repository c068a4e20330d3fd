//! What a compaction would do: the decision, with everything a summarizer needs.

use super::files::FileOps;
use super::plan::Plan;
use super::{CompactionSettings, cut, estimate, system};
use crate::context::{ContextMessage, Projection};
use crate::entry::{Kind, NewEntry, Role};
use crate::error::Result;
use crate::id::EntryId;
use crate::json;
use crate::snapshot::Bodies;
use crate::time;
use std::ops::Range;

/// Whether a context can be compacted.
#[derive(Debug, Clone, PartialEq)]
pub enum Preparation {
    /// Yes, like this.
    Ready(Box<Prepared>),
    /// No: the leaf is a compaction.
    AlreadyCompacted,
    /// No: there is nothing to summarise.
    TooSmall,
}

/// A compaction that needs only its summary.
#[derive(Debug, Clone, PartialEq)]
pub struct Prepared {
    /// The entry the compaction goes under.
    pub leaf: EntryId,
    /// The first entry that stays in the context as it is.
    pub first_kept: EntryId,
    /// What the summary will stand for, without the beginning of a split turn.
    pub messages_to_summarize: Vec<ContextMessage>,
    /// The beginning of a turn whose rest is kept: summarised apart.
    pub turn_prefix: Vec<ContextMessage>,
    /// Whether the cut goes through a turn.
    pub is_split_turn: bool,
    /// The size of the context.
    pub tokens_before: u64,
    /// The estimated size of what is kept as it is.
    pub tokens_kept: u64,
    /// The summary of the compaction before this one.
    pub previous_summary: Option<String>,
    /// The files that were read and changed, those of the previous summary included.
    pub file_ops: FileOps,
    /// The system messages of the context as one, for the compaction to carry. Its timestamp should
    /// be the compaction's.
    pub system_message: Option<Vec<u8>>,
    /// What was asked for.
    pub settings: CompactionSettings,
}

impl Preparation {
    /// The prepared compaction, if there is one.
    pub fn ready(self) -> Option<Prepared> {
        match self {
            Preparation::Ready(prepared) => Some(*prepared),
            _ => None,
        }
    }
}

pub(super) fn prepare(
    leaf: EntryId,
    projection: Projection,
    settings: &CompactionSettings,
) -> Result<Preparation> {
    let tree = projection.view().tree();
    if tree.row(leaf.as_str()).is_some_and(|row| tree.node(row).kind() == Kind::Compaction) {
        return Ok(Preparation::AlreadyCompacted);
    }
    let model = projection.model.clone();
    let mut plan = Plan::read(projection)?;
    let settings = settings.of_model(model.as_ref());
    let previous = plan.entries.first().filter(|entry| !entry.messages.is_empty());
    let previous = previous.map(|entry| entry.row).filter(|_| plan.kind(0) == Kind::Compaction);
    let start = usize::from(previous.is_some());

    let cut = cut::find(&plan, start, settings.keep_recent_tokens);
    let Some(first_kept) = plan.entries.get(cut.first_kept).map(|entry| entry.row) else {
        return Ok(Preparation::TooSmall);
    };
    let history = start..cut.turn_start.unwrap_or(cut.first_kept);
    let prefix = cut.turn_start.unwrap_or(cut.first_kept)..cut.first_kept;
    if !has_messages(&plan, &history) && !has_messages(&plan, &prefix) {
        return Ok(Preparation::TooSmall);
    }

    let mut file_ops = FileOps::default();
    let mut previous_summary = None;
    if let Some(row) = previous
        && let Some(body) = Bodies::default().whole(&plan.view, row)?
    {
        file_ops.carry_on(&body);
        let summary = json::get(&body, "summary").and_then(json::string);
        previous_summary = summary.map(|summary| summary.into_owned());
    }
    take_files(&plan, start..cut.first_kept, &mut file_ops);
    let kept = (cut.first_kept..plan.entries.len()).map(|at| plan.tokens(at));
    Ok(Preparation::Ready(Box::new(Prepared {
        leaf,
        first_kept: plan.view.tree().id(first_kept),
        is_split_turn: cut.turn_start.is_some(),
        tokens_before: estimate::context_tokens(&plan).tokens,
        tokens_kept: kept.fold(0, u64::saturating_add),
        previous_summary,
        file_ops,
        system_message: system::current(plan.system_messages()),
        settings,
        turn_prefix: taken(&mut plan, prefix),
        messages_to_summarize: taken(&mut plan, history),
    })))
}

/// Whether anything but a compaction and system messages speaks there. System messages are the state
/// of the prompt: the compaction carries them.
fn has_messages(plan: &Plan, range: &Range<usize>) -> bool {
    range.clone().any(|at| plan.speaks(at, |role| role != Role::System))
}

/// Takes the messages of these entries out of the plan.
fn taken(plan: &mut Plan, range: Range<usize>) -> Vec<ContextMessage> {
    let mut out = Vec::with_capacity(range.len());
    for at in range {
        if plan.kind(at) == Kind::Compaction {
            continue;
        }
        let Some(entry) = plan.entries.get(at) else { break };
        let speaks = |place| plan.role(entry, place) != Role::System;
        let wanted: Vec<bool> = (0..entry.messages.len()).map(speaks).collect();
        if let Some(entry) = plan.entries.get_mut(at) {
            let messages = std::mem::take(&mut entry.messages).into_iter().zip(wanted);
            out.extend(messages.filter_map(|(message, wanted)| wanted.then_some(message)));
        }
    }
    out
}

fn take_files(plan: &Plan, range: Range<usize>, files: &mut FileOps) {
    for entry in plan.entries.get(range).unwrap_or_default() {
        for (place, message) in entry.messages.iter().enumerate() {
            match plan.role(entry, place) {
                Role::Assistant => files.take_answer(&message.json),
                Role::ToolResult => files.take_result(&message.json),
                _ => {}
            }
        }
    }
}

impl Prepared {
    /// The compaction, with its summary: files as `details`, and the system messages as one. `hook`
    /// are the details of a summary that an extension supplied (`Some(None)`: without any).
    pub fn entry(&self, summary: &str, hook: Option<Option<&[u8]>>) -> Result<NewEntry> {
        let now = time::now();
        let entry =
            NewEntry::compaction(summary, Some(&self.first_kept), self.tokens_before).at(now);
        let mut entry = match hook {
            None => entry.with("details", &self.file_ops.lists().to_json())?,
            Some(None) => entry.with("fromHook", b"true")?,
            Some(Some(details)) => entry.with("details", details)?.with("fromHook", b"true")?,
        };
        if let Some(message) = &self.system_message {
            let message = json::without(message, &["timestamp"]);
            let message = json::with_member(&message, "timestamp", now.to_string().as_bytes());
            entry = entry.with("systemMessage", &message)?;
        }
        Ok(entry)
    }

    /// How many tokens the compaction frees, if the summary takes none: its own size comes off.
    pub fn saving(&self) -> u64 {
        let system = self.system_message.as_deref().map_or(0, estimate::estimate_tokens);
        self.tokens_before.saturating_sub(self.tokens_kept).saturating_sub(system)
    }
}
