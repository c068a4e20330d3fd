//! What a session amounts to, in words: messages, calls, tokens, money.
//!
//! The numbers are those of [`treering::usage::Stats`], which counts each event once; nothing is added up here.

use crate::entry_parts::EntryParts;
use crate::text::{cost, tokens};
use treering::entry::MessageView;
use treering::usage::{Stats, Usage};

/// What the index keeps of one entry. Found without any other entry, so that many can be looked at
/// together.
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

/// Returns the numbers in a few words each, those that are there.
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

/// Returns the usage of one answer, in a few words each: `7.6k in`, `120 out`, `45.9k cached`,
/// `$0.02`.
pub fn usage_facts(usage: &[u8]) -> Vec<String> {
    let [input, output, read, write, cost] =
        MessageView::new(usage).get_all(["input", "output", "cacheRead", "cacheWrite", "cost"]);
    let cost = cost.unwrap_or_default();
    let cost = match MessageView::new(cost).get("total") {
        Some(total) => number(Some(total)),
        None => number(Some(cost)),
    };
    let cached = number(read) + number(write);
    let numbers = [(number(input), "in"), (number(output), "out"), (cached, "cached")];
    let mut facts: Vec<String> = numbers
        .into_iter()
        .filter(|(number, _)| *number > 0.0)
        .map(|(number, what)| format!("{} {what}", tokens(number as u64)))
        .collect();
    match cost {
        0.0 => {}
        ..0.01 => facts.push(format!("${cost:.4}")),
        _ => facts.push(format!("${cost:.2}")),
    }
    facts
}

/// A number that makes sense to add up; anything else is nothing. No sum of them is infinite.
fn number(literal: Option<&[u8]>) -> f64 {
    let text = literal.and_then(|raw| std::str::from_utf8(raw).ok()).unwrap_or_default();
    text.parse().ok().filter(|number: &f64| (0.0..1e15).contains(number)).unwrap_or(0.0)
}
