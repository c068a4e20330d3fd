//! What a session amounts to: messages, calls, tokens, money, models, time.

use crate::look::Look;
use std::collections::BTreeMap;
use treering::{Block, Body, MessageView, Role};

/// Numbers about the entries seen so far.
#[derive(Debug, Default)]
pub(crate) struct Stats {
    pub user: usize,
    pub assistant: usize,
    pub calls: usize,
    pub input: f64,
    pub output: f64,
    pub cached: f64,
    pub cost: f64,
    pub compactions: usize,
    /// `provider/model`, and how many answers are theirs.
    pub models: BTreeMap<String, usize>,
    pub first: Option<i64>,
    pub last: Option<i64>,
}

/// More models than anybody uses are a made-up file.
const MAX_MODELS: usize = 64;

impl Stats {
    pub(crate) fn add(&mut self, look: &Look<'_>) {
        let is_call = |block: &&Block<'_>| matches!(block, Block::ToolCall { .. });
        self.calls += look.blocks.iter().filter(is_call).count();
        if let Some(time) = look.entry.time() {
            self.first = Some(self.first.map_or(time, |first| first.min(time)));
            self.last = Some(self.last.map_or(time, |last| last.max(time)));
        }
        match &look.body {
            Body::Message(_) => self.add_message(look),
            Body::Compaction { .. } => self.compactions += 1,
            Body::Usage { usage: Some(usage) } => self.add_usage(usage),
            _ => {}
        }
    }

    fn add_message(&mut self, look: &Look<'_>) {
        match look.role() {
            Some(Role::User) => self.user += 1,
            Some(Role::Assistant) => {
                self.assistant += 1;
                if let Some(usage) = look.fields.usage {
                    self.add_usage(usage);
                }
                if let Some(model) = look.fields.model()
                    && (self.models.len() < MAX_MODELS || self.models.contains_key(&model))
                {
                    *self.models.entry(model).or_default() += 1;
                }
            }
            _ => {}
        }
    }

    fn add_usage(&mut self, usage: &[u8]) {
        let usage = MessageView::new(usage);
        let [input, output, read, write, cost] =
            usage.get_all(["input", "output", "cacheRead", "cacheWrite", "cost"]);
        self.input += number(input);
        self.output += number(output);
        self.cached += number(read) + number(write);
        let cost = cost.unwrap_or_default();
        self.cost += match MessageView::new(cost).get("total") {
            Some(total) => number(Some(total)),
            None => number(Some(cost)),
        };
    }

    /// The numbers in a few words each, those that are there.
    pub(crate) fn facts(&self) -> Vec<String> {
        use crate::text::short_number;
        let mut facts = Vec::new();
        let messages = self.user + self.assistant;
        facts.push(format!("{messages} message{}", if messages == 1 { "" } else { "s" }));
        if self.calls > 0 {
            facts.push(format!(
                "{} tool call{}",
                self.calls,
                if self.calls == 1 { "" } else { "s" }
            ));
        }
        let tokens = self.input + self.output + self.cached;
        if tokens > 0.0 {
            facts.push(format!("{} tokens", short_number(tokens)));
        }
        if self.cost > 0.0 {
            facts.push(format!("${:.2}", self.cost));
        }
        facts
    }
}

/// What one answer used, in a few words each: `7.6k in`, `120 out`, `45.9k cached`, `$0.02`.
pub fn usage_facts(usage: &[u8]) -> Vec<String> {
    use crate::text::short_number;
    let mut stats = Stats::default();
    stats.add_usage(usage);
    let numbers = [(stats.input, "in"), (stats.output, "out"), (stats.cached, "cached")];
    let mut facts: Vec<String> = numbers
        .into_iter()
        .filter(|(number, _)| *number > 0.0)
        .map(|(number, what)| format!("{} {what}", short_number(number)))
        .collect();
    match stats.cost {
        0.0 => {}
        ..0.01 => facts.push(format!("${:.4}", stats.cost)),
        _ => facts.push(format!("${:.2}", stats.cost)),
    }
    facts
}

/// A number that makes sense to add up; anything else is nothing. No sum of them is infinite.
fn number(literal: Option<&[u8]>) -> f64 {
    let text = literal.and_then(|raw| std::str::from_utf8(raw).ok()).unwrap_or_default();
    text.parse().ok().filter(|number: &f64| (0.0..1e15).contains(number)).unwrap_or(0.0)
}
