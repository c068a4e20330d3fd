//! The totals of a session as text: messages, tool calls, tokens, cost.
//!
//! The numbers are those of [`treering::usage::Stats`], which counts each event once; nothing is
//! added up here.

use treering::usage::{Stats, Usage};
use treering_display::entry_parts::EntryParts;
use treering_display::number::{cost, tokens};

/// The facts about one entry for the index of a page. They do not depend on other entries, so that
/// many entries can be read concurrently.
#[derive(Debug, Default)]
pub(crate) struct EntryFacts {
    pub time: Option<i64>,
    /// The model that answered, as `provider/model`.
    pub model: Option<String>,
}

impl EntryFacts {
    pub(crate) fn of(parts: &EntryParts<'_>) -> Self {
        EntryFacts { time: parts.entry.time(), model: parts.fields.model() }
    }
}

/// Returns the totals that are not zero, as short texts.
pub(crate) fn facts(stats: &Stats) -> Vec<String> {
    let count = |number: u64, one: &str| match number {
        1 => format!("1 {one}"),
        _ => format!("{number} {one}s"),
    };
    let role = |name: &str| stats.messages.get(name).copied().unwrap_or_default();
    let mut facts = vec![count(role("user") + role("assistant"), "message")];
    let calls: u64 = stats.tools.values().sum();
    facts.extend((calls > 0).then(|| count(calls, "tool call")));
    let Usage { requests, unpriced, .. } = stats.usage;
    if stats.usage.total() > 0 {
        facts.push(format!("{} tokens", tokens(stats.usage.total())));
    }
    if requests > unpriced && stats.usage.cost.dollars() > 0.0 {
        facts.push(cost(&stats.usage));
    }
    facts
}
