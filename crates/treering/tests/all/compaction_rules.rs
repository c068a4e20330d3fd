//! Tests of planned compactions against a naive implementation of the rules over JSON values.

use crate::compaction::{chain, ids, keeping, says, tokens};
use crate::support::join;
use proptest::prelude::*;
use serde_json::{Value, json};
use std::collections::HashMap;
use treering::compaction::Preparation;

/// An entry to append: its type and its fields. Its id is its index.
type Appended = (&'static str, Value);

/// A selected entry.
struct Item {
    id: usize,
    kind: &'static str,
    /// The message that the model sees.
    message: Option<Value>,
    /// Whether an edit removed it.
    omitted: Option<Value>,
}

impl Item {
    fn role(&self) -> &str {
        self.message.as_ref().map_or("", |message| message["role"].as_str().unwrap())
    }

    fn size(&self) -> u64 {
        self.message.as_ref().map_or(0, size)
    }

    fn starts_turn(&self) -> bool {
        let roles = ["user", "bashExecution", "custom", "branchSummary"];
        roles.contains(&self.role())
    }

    fn may_be_cut_before(&self) -> bool {
        self.starts_turn() || self.role() == "assistant"
    }

    fn is_nothing(&self) -> bool {
        self.message.is_none() && self.kind != "compaction"
    }

    /// The provider's count.
    fn usage(&self) -> Option<u64> {
        let message = self.message.as_ref().filter(|_| self.role() == "assistant")?;
        let total = message["usage"]["totalTokens"].as_u64().filter(|total| *total > 0);
        total.filter(|_| message["stopReason"] != "aborted")
    }
}

fn size(message: &Value) -> u64 {
    let text = |value: &Value| value.as_str().map_or(0, |text| text.encode_utf16().count());
    let blocks = message["content"].as_array().cloned().unwrap_or_default();
    let units: usize = match message["role"].as_str().unwrap() {
        "branchSummary" | "compactionSummary" => text(&message["summary"]),
        _ if message["content"].is_string() => text(&message["content"]),
        _ => blocks.iter().map(|block| text(&block["text"])).sum(),
    };
    units.div_ceil(4) as u64
}

/// The context at the last of the entries.
struct Naive {
    items: Vec<Item>,
    /// The number of entries that are a compaction and what it keeps.
    old: usize,
    /// The positions of edits, the entries that they name, and whether they remove them.
    edits: Vec<(usize, String, bool)>,
}

impl Naive {
    fn of(entries: &[Appended]) -> Self {
        let last = entries.iter().rposition(|(kind, _)| *kind == "compaction");
        let kept =
            last.map_or(0, |last| text(&entries[last].1["firstKeptEntryId"]).parse().unwrap());
        let is_prompt = |at: usize| entries[at].1["message"]["role"] == "system";
        let is_old = |at: usize| last.is_some_and(|last| at < last);
        let rest = (kept..entries.len()).filter(|&at| Some(at) != last);
        let rest = rest.filter(|&at| !(is_old(at) && is_prompt(at)));
        let places: Vec<usize> = last.into_iter().chain(rest).collect();
        let old = places.iter().filter(|&&at| is_old(at) || Some(at) == last).count();

        let mut edits = Vec::new();
        let mut latest_edits: HashMap<String, &Value> = HashMap::new();
        for (place, &at) in places.iter().enumerate() {
            if let ("context_edit", fields) = &entries[at] {
                let target = text(&fields["targetId"]);
                edits.push((place, target.clone(), fields["replacement"].is_null()));
                latest_edits.insert(target, &fields["replacement"]);
            }
        }
        let item = |&at: &usize| {
            let (kind, fields) = &entries[at];
            let built = message_of(kind, fields, Some(at) == last);
            let edit = latest_edits.get(&at.to_string()).copied();
            let (message, omitted) = match (built, edit) {
                (built, Some(Value::Null)) => (None, built.filter(|_| *kind != "compaction")),
                (Some(built), Some(edit)) => (Some(edited(built, &edit["content"])), None),
                (built, _) => (built, None),
            };
            Item { id: at, kind, message, omitted }
        };
        Naive { items: places.iter().map(item).collect(), old, edits }
    }

    /// Returns whether it begins with a compaction that the model sees.
    fn is_compacted(&self) -> bool {
        self.items[0].kind == "compaction" && self.items[0].message.is_some()
    }

    /// Returns the first that is kept, and where its turn starts if that is split.
    fn cut(&self, keep: u64) -> (usize, Option<usize>) {
        let (items, start) = (&self.items, usize::from(self.is_compacted()));
        let valid: Vec<usize> =
            (start..items.len()).filter(|&at| items[at].may_be_cut_before()).collect();
        let (Some(&first), Some(&latest)) = (valid.first(), valid.last()) else {
            return (start, None);
        };
        let (mut cut, mut sum) = (first, 0);
        for at in (start..items.len()).rev() {
            sum += items[at].size();
            if items[at].size() > 0 && sum >= keep {
                cut = valid.iter().copied().find(|&valid| valid >= at).unwrap_or(latest);
                cut += usize::from(self.is_given_up(cut + 1));
                break;
            }
        }
        while cut > start && items[cut - 1].is_nothing() {
            cut -= 1;
        }
        match items[cut].starts_turn() {
            true => (cut, None),
            false => (cut, (start..=cut).rev().find(|&at| items[at].starts_turn())),
        }
    }

    fn is_given_up(&self, start: usize) -> bool {
        let rest = &self.items[start..];
        let is_answer =
            |item: &Item| item.omitted.as_ref().is_some_and(|m| m["role"] == "assistant");
        let is_gone = |target: &str| {
            rest.iter().any(|item| item.omitted.is_some() && item.id.to_string() == target)
        };
        let mut replacing = self.edits.iter().filter(|(at, _, removes)| *at >= start && !removes);
        rest.iter().all(Item::is_nothing)
            && rest.iter().any(is_answer)
            && replacing.all(|(_, target, _)| is_gone(target))
    }

    /// Returns all system messages as one text.
    fn prompt(&self) -> Option<String> {
        let prompts = self.items.iter().filter(|item| item.role() == "system");
        let prompts = prompts.map(|item| text(&item.message.as_ref().unwrap()["content"]));
        let texts: Vec<String> = prompts.collect();
        let all: Vec<&str> =
            texts.iter().map(String::as_str).filter(|text| !text.is_empty()).collect();
        (!texts.is_empty()).then(|| all.join("\n\n"))
    }

    /// The counted and the estimated tokens.
    fn tokens(&self) -> (u64, u64) {
        let sizes = |items: &[Item]| items.iter().map(Item::size).sum::<u64>();
        let edited = self.edits.last().map_or(0, |(at, ..)| at + 1);
        let trusted = edited.max(self.old)..self.items.len();
        if let Some(at) = trusted.rev().find(|&at| self.items[at].usage().is_some()) {
            return (self.items[at].usage().unwrap(), sizes(&self.items[at + 1..]));
        }
        let others = self.items.iter().filter(|item| item.role() != "system").map(Item::size);
        let prompt = self.prompt().map_or(0, |text| text.len().div_ceil(4) as u64);
        (0, others.sum::<u64>() + prompt)
    }

    fn ids(&self, places: std::ops::Range<usize>) -> String {
        let items = self.items[places].iter();
        let spoken = items.filter(|item| item.message.is_some() && item.role() != "system");
        join(spoken.map(|item| item.id))
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap().to_owned()
}

/// Returns the message of an entry before edits.
fn message_of(kind: &str, fields: &Value, is_summary: bool) -> Option<Value> {
    let summary = &fields["summary"];
    match kind {
        "message" => Some(fields["message"].clone()),
        "custom_message" => Some(json!({"role": "custom", "content": fields["content"]})),
        "branch_summary" if summary != "" => {
            Some(json!({"role": "branchSummary", "summary": summary}))
        }
        "compaction" if is_summary => {
            Some(json!({"role": "compactionSummary", "summary": summary}))
        }
        _ => None,
    }
}

fn edited(mut message: Value, content: &Value) -> Value {
    match message["role"].as_str().unwrap() {
        "user" | "custom" => message["content"] = content.clone(),
        "assistant" | "toolResult" => {
            message["content"] = json!([{"type": "text", "text": content}]);
        }
        _ => {}
    }
    message
}

/// An entry to append: its kind, a size, and how far back it points.
fn script() -> impl Strategy<Value = Vec<(u8, usize, usize)>> {
    prop::collection::vec((0_u8..19, 0_usize..12, 0_usize..9), 1..40)
}

fn entries(script: Vec<(u8, usize, usize)>) -> Vec<Appended> {
    let mut entries: Vec<Appended> = Vec::new();
    for (what, size, back) in script {
        let message_of = |role| ("message", json!({"message": says(role, size)}));
        let before = |back: usize| entries.len().saturating_sub(back).to_string();
        let entry = match what {
            0 | 1 => message_of("user"),
            2 | 3 => message_of("assistant"),
            4 | 5 => message_of("toolResult"),
            6 => (
                "custom_message",
                json!({"customType": "x", "content": tokens(size), "display": true}),
            ),
            7 => ("branch_summary", json!({"fromId": "x", "summary": tokens(size)})),
            8 => ("custom", json!({"customType": "x"})),
            9 => (
                "compaction",
                json!({"summary": tokens(size), "tokensBefore": 1, "firstKeptEntryId": before(back)}),
            ),
            10 | 11 => (
                "message",
                json!({"message": {"role": "system", "content": tokens(size), "timestamp": 1}}),
            ),
            12 | 13 => {
                let mut message = says("assistant", size);
                message["usage"] = json!({"totalTokens": back * 50});
                message["stopReason"] = json!(if size == 3 { "aborted" } else { "stop" });
                ("message", json!({"message": message}))
            }
            14 | 15 => ("context_edit", json!({"targetId": before(back + 1), "replacement": null})),
            16 => (
                "context_edit",
                json!({"targetId": before(back), "replacement": {"content": tokens(size)}}),
            ),
            // An attempt that is taken out again.
            _ => {
                let attempt = before(0);
                entries.push(message_of("assistant"));
                ("context_edit", json!({"targetId": attempt, "replacement": null}))
            }
        };
        entries.push(entry);
    }
    entries
}

proptest! {
    #![proptest_config(crate::support::cases(128))]
    #[test]
    fn planning_follows_the_rules(script in script(), keep in 0_u64..80) {
        let entries = entries(script);
        let (session, naive) = (chain(&entries), Naive::of(&entries));
        let (counted, estimated) = naive.tokens();
        let size = session.context_tokens().unwrap();
        prop_assert_eq!((size.usage_tokens, size.trailing_tokens), (counted, estimated));
        let found = session.plan_compaction(&keeping(keep)).unwrap();
        if entries.last().unwrap().0 == "compaction" {
            prop_assert!(matches!(found, Preparation::AlreadyCompacted));
            return Ok(());
        }
        let start = usize::from(naive.is_compacted());
        let (cut, turn) = naive.cut(keep);
        let middle = turn.unwrap_or(cut);
        let (history, prefix) = (naive.ids(start..middle), naive.ids(middle..cut));
        let plan = found.ready();
        prop_assert_eq!(plan.is_none(), history.is_empty() && prefix.is_empty());
        let Some(plan) = plan else { return Ok(()) };
        let kept: u64 = naive.items[cut..].iter().map(Item::size).sum();
        prop_assert_eq!(plan.first_kept.as_str(), naive.items[cut].id.to_string());
        prop_assert_eq!(plan.is_split_turn, turn.is_some());
        prop_assert_eq!(plan.tokens_kept, kept);
        let plan = plan.read().unwrap();
        prop_assert_eq!(ids(&plan.messages_to_summarize), history);
        prop_assert_eq!(ids(&plan.turn_prefix), prefix);
        prop_assert_eq!(plan.tokens_before, counted + estimated);
        let summary = naive.items[0].message.as_ref().filter(|_| start == 1);
        prop_assert_eq!(plan.previous_summary, summary.map(|message| text(&message["summary"])));
        let messages = plan.messages_to_summarize.iter().chain(&plan.turn_prefix);
        for (message, item) in messages.zip(naive.items[start..cut].iter().filter(|item| {
            item.message.is_some() && item.role() != "system"
        })) {
            let message: Value = serde_json::from_slice(&message.json).unwrap();
            let expected = item.message.as_ref().unwrap();
            for key in ["role", "content", "summary", "usage"] {
                prop_assert_eq!(&message[key], &expected[key]);
            }
        }
        let prompt = plan.system_message.map(|json| serde_json::from_slice::<Value>(&json).unwrap());
        prop_assert_eq!(prompt.map(|prompt| text(&prompt["content"])), naive.prompt());
    }
}
