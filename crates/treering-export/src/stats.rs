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

/// What one entry adds to them. Found without any other entry, so that many can be looked at together.
#[derive(Debug, Default)]
pub(crate) struct Numbers {
    what: What,
    calls: usize,
    usage: Option<Used>,
    pub time: Option<i64>,
    /// Who answered, as `provider/model`.
    pub model: Option<String>,
}

#[derive(Debug, Default, PartialEq, Eq)]
enum What {
    User,
    Answer,
    Compaction,
    #[default]
    Else,
}

/// What a model was paid for.
#[derive(Debug)]
struct Used {
    input: f64,
    output: f64,
    cached: f64,
    cost: f64,
}

impl Numbers {
    pub(crate) fn of(look: &Look<'_>) -> Self {
        let is_call = |block: &&Block<'_>| matches!(block, Block::ToolCall { .. });
        let (what, usage) = match &look.body {
            Body::Message(_) => match look.role() {
                Some(Role::User) => (What::User, None),
                Some(Role::Assistant) => (What::Answer, look.fields.usage),
                _ => (What::Else, None),
            },
            Body::Compaction { .. } => (What::Compaction, None),
            Body::Usage { usage } => (What::Else, *usage),
            _ => (What::Else, None),
        };
        Numbers {
            what,
            calls: look.blocks.iter().filter(is_call).count(),
            usage: usage.map(Used::of),
            time: look.entry.time(),
            model: look.fields.model(),
        }
    }
}

impl Used {
    fn of(usage: &[u8]) -> Self {
        let [input, output, read, write, cost] =
            MessageView::new(usage).get_all(["input", "output", "cacheRead", "cacheWrite", "cost"]);
        let cost = cost.unwrap_or_default();
        Used {
            input: number(input),
            output: number(output),
            cached: number(read) + number(write),
            cost: match MessageView::new(cost).get("total") {
                Some(total) => number(Some(total)),
                None => number(Some(cost)),
            },
        }
    }
}

impl Stats {
    pub(crate) fn add(&mut self, numbers: &Numbers) {
        self.calls += numbers.calls;
        if let Some(time) = numbers.time {
            self.first = Some(self.first.map_or(time, |first| first.min(time)));
            self.last = Some(self.last.map_or(time, |last| last.max(time)));
        }
        match numbers.what {
            What::User => self.user += 1,
            What::Answer => self.assistant += 1,
            What::Compaction => self.compactions += 1,
            What::Else => {}
        }
        if let Some(used) = &numbers.usage {
            self.input += used.input;
            self.output += used.output;
            self.cached += used.cached;
            self.cost += used.cost;
        }
        if let Some(model) = numbers.model.as_ref().filter(|_| numbers.what == What::Answer) {
            if let Some(answers) = self.models.get_mut(model) {
                *answers += 1;
            } else if self.models.len() < MAX_MODELS {
                self.models.insert(model.clone(), 1);
            }
        }
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
    let used = Used::of(usage);
    let numbers = [(used.input, "in"), (used.output, "out"), (used.cached, "cached")];
    let mut facts: Vec<String> = numbers
        .into_iter()
        .filter(|(number, _)| *number > 0.0)
        .map(|(number, what)| format!("{} {what}", short_number(number)))
        .collect();
    match used.cost {
        0.0 => {}
        ..0.01 => facts.push(format!("${:.4}", used.cost)),
        _ => facts.push(format!("${:.2}", used.cost)),
    }
    facts
}

/// A number that makes sense to add up; anything else is nothing. No sum of them is infinite.
fn number(literal: Option<&[u8]>) -> f64 {
    let text = literal.and_then(|raw| std::str::from_utf8(raw).ok()).unwrap_or_default();
    text.parse().ok().filter(|number: &f64| (0.0..1e15).contains(number)).unwrap_or(0.0)
}
