//! Tests of tokens and costs: every record format, every request counted once, and totals against a
//! naive count.

use crate::support::{HEADER, cases, entry, file, leaf, open, user};
use proptest::prelude::*;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use treering::usage::{Branch, Ledger, Purpose, Usage};
use treering::{ForkOptions, Session};

/// Tokens as input/output/read/written, then the cost, `?` if it is unknown.
fn shown(usage: &Usage) -> String {
    let Usage { requests, input, output, cache_read, cache_write, cost, unpriced, .. } = usage;
    let cost = if unpriced == requests && *requests > 0 { "?".into() } else { cost.to_string() };
    format!("{requests}: {input}/{output}/{cache_read}/{cache_write} {cost}")
}

fn answer(id: &str, parent: Option<&str>, message: Value) -> String {
    let mut whole = json!({"role": "assistant", "content": [], "provider": "acme", "model": "oak"});
    whole.as_object_mut().unwrap().extend(message.as_object().unwrap().clone());
    entry("message", id, parent, &format!(r#","message":{whole}"#))
}

fn used(input: u64, cost: f64) -> Value {
    json!({"usage": {"input": input, "output": 1, "cacheRead": 0, "cacheWrite": 0,
                     "totalTokens": input + 1, "cost": {"total": cost}}})
}

#[test]
fn every_dialect_says_what_was_used_in_its_own_way() {
    let pi = |more: &str| format!("{HEADER}\n{}\n", entry("message", "a", None, more));
    let omp_header =
        r#"{"type":"title","v":1,"title":"t","updatedAt":"2026-01-05T09:00:00.000Z","pad":""}"#;
    let operator = r#"{"type":"session","version":3,"id":"0198c0de-0000-7000-8000-000000000000","timestamp":1769504400.0,"cwd":"/p"}"#;
    let claude = |more: &str, usage: &str| {
        format!(
            r#"{{"parentUuid":null,"isSidechain":false,"cwd":"/p","sessionId":"s","type":"assistant","uuid":"a","timestamp":"2026-01-05T09:00:20.226Z"{more},"message":{{"id":"m1","role":"assistant","model":"m","content":[],"usage":{usage}}}}}"#
        )
    };
    let claude_usage = r#"{"input_tokens":1,"output_tokens":2,"cache_read_input_tokens":3,"cache_creation_input_tokens":4}"#;
    let codex = |info: &str| {
        format!(
            "{}\n{}\n",
            r#"{"timestamp":"2026-01-05T09:00:00.000Z","type":"session_meta","payload":{"id":"s","timestamp":"2026-01-05T09:00:00.000Z","cwd":"/p"}}"#,
            format_args!(
                r#"{{"timestamp":"2026-01-05T09:00:01.000Z","type":"event_msg","payload":{{"type":"token_count","info":{info}}}}}"#
            )
        )
    };
    let operator_message = |usage: &str| {
        format!(
            "{operator}\n{}\n",
            format_args!(
                r#"{{"id":"a1b2c3d4","timestamp":1769504401.0,"type":"message","message":{{"role":"assistant","contents":[],"id":"x","timestamp":1769504401.0,"usage":{usage}}}}}"#
            )
        )
    };
    let cases = [
        (
            "pi",
            pi(
                r#","message":{"role":"assistant","usage":{"input":1,"output":2,"cacheRead":3,"cacheWrite":4,"totalTokens":10,"cost":{"total":0.5}}}"#,
            ),
            "1: 1/2/3/4 0.5",
        ),
        ("a user", pi(r#","message":{"role":"user","usage":{"input":1}}"#), "0: 0/0/0/0 0"),
        (
            "a summary",
            format!(
                "{HEADER}\n{}\n",
                entry(
                    "compaction",
                    "a",
                    None,
                    r#","summary":"s","usage":{"output":7,"cost":{"total":0.25}}"#
                )
            ),
            "1: 0/7/0/0 0.25",
        ),
        (
            "a branch summary",
            format!(
                "{HEADER}\n{}\n",
                entry("branch_summary", "a", None, r#","summary":"s","usage":{"output":7}"#)
            ),
            "1: 0/7/0/0 ?",
        ),
        (
            "a title",
            format!(
                "{HEADER}\n{}\n",
                entry(
                    "usage",
                    "a",
                    None,
                    r#","kind":"title","provider":"p","model":"m","usage":{"output":7,"cost":0.125}"#
                )
            ),
            "1: 0/7/0/0 0.125",
        ),
        (
            "omp",
            format!(
                "{omp_header}\n{HEADER}\n{}\n",
                entry(
                    "model_usage",
                    "a",
                    None,
                    r#","purpose":"title","provider":"p","model":"m","usage":{"output":7,"cost":{"total":1}}"#
                )
            ),
            "1: 0/7/0/0 1",
        ),
        (
            "operator",
            operator_message(
                r#"{"input_tokens":1,"output_tokens":2,"cache_read_tokens":3,"cache_write_tokens":4,"cost":{"input":0.5,"total":0.75}}"#,
            ),
            "1: 1/2/3/4 0.75",
        ),
        (
            "operator, no cost",
            operator_message(
                r#"{"input_tokens":1,"output_tokens":2,"cache_read_tokens":3,"cache_write_tokens":4}"#,
            ),
            "1: 1/2/3/4 ?",
        ),
        (
            "tau",
            operator_message(
                r#"{"input_tokens":5,"output_tokens":2,"cache_read_tokens":3,"cache_write_tokens":4,"cache_write_1h_tokens":0,"input_tokens_include_cache_read":true,"cost":{"total":0.75}}"#,
            ),
            "1: 2/2/3/4 0.75",
        ),
        ("claude", claude("", claude_usage) + "\n", "1: 1/2/3/4 ?"),
        (
            "claude, long ago",
            claude(r#","costUSD":0.375"#, claude_usage) + "\n",
            "1: 1/2/3/4 0.375",
        ),
        (
            "codex",
            codex(
                r#"{"total_token_usage":{"input_tokens":10},"last_token_usage":{"input_tokens":10,"cached_input_tokens":6,"cache_write_input_tokens":1,"output_tokens":2}}"#,
            ),
            "1: 3/2/6/1 ?",
        ),
        ("codex, nothing yet", codex("null"), "0: 0/0/0/0 0"),
        (
            "absurd",
            pi(
                r#","message":{"role":"assistant","usage":{"input":1e400,"output":-5,"cacheRead":"9","cacheWrite":1e18}}"#,
            ),
            "0: 0/0/0/0 0",
        ),
        ("not an object", pi(r#","message":{"role":"assistant","usage":[1,2]}"#), "0: 0/0/0/0 0"),
        (
            "copied",
            pi(r#","copiedFrom":{"entry":"z"},"message":{"role":"assistant","usage":{"input":1}}"#),
            "0: 0/0/0/0 0",
        ),
    ];
    for (name, text, expected) in cases {
        let session = open(&text);
        assert_eq!(shown(&session.stats().unwrap().usage), expected, "{name}: {text}");
        let leaf = session.tree().ids().next();
        let Some(leaf) = leaf else { continue };
        let own = session.entry_usage(leaf.as_str()).unwrap().unwrap_or_default();
        assert_eq!(shown(&own), expected, "{name}: its entry");
        let path = session.branch_usage(leaf.as_str()).unwrap();
        assert_eq!(shown(&path), expected, "{name}: its path");
    }
}

#[test]
fn a_session_is_counted_by_purpose_model_role_and_place() {
    let call = json!([{"type": "toolCall", "id": "1", "name": "bash", "arguments": {}},
                      {"type": "text", "text": "toolCall"},
                      {"type": "toolCall", "id": "2", "name": "read", "arguments": {}}]);
    let mut calls = used(10, 0.5);
    calls["content"] = call;
    let mut other = used(20, 0.25);
    other["model"] = json!("elm");
    let session = open(file(&[
        user("a", None),
        answer("b", Some("a"), calls),
        answer("c", Some("b"), other),
        leaf("d", Some("b")),
        entry(
            "branch_summary",
            "e",
            Some("b"),
            r#","summary":"s","fromId":"c","usage":{"input":5}"#,
        ),
        user("f", Some("e")),
        answer("g", Some("f"), json!({})),
    ]));
    let stats = session.stats().unwrap();
    assert_eq!(shown(&stats.usage), "3: 35/2/0/0 0.75");
    assert_eq!(stats.usage.unpriced, 1);
    let of = |sums: Vec<String>| sums.join("; ");
    let purposes =
        stats.by_purpose.iter().map(|(what, sum)| format!("{} {}", what.name(), shown(sum)));
    assert_eq!(of(purposes.collect()), "answers 2: 30/2/0/0 0.75; branch summaries 1: 5/0/0/0 ?");
    let models = stats.by_model.iter().map(|(what, sum)| format!("{what} {}", shown(sum)));
    // The summary was written by the model in effect at its position.
    assert_eq!(of(models.collect()), "acme/elm 1: 20/1/0/0 0.25; acme/oak 2: 15/1/0/0 0.5");
    assert_eq!(shown(&stats.active), "2: 15/1/0/0 0.5");
    assert_eq!(shown(&stats.abandoned), "1: 20/1/0/0 0.25");
    assert_eq!(stats.messages, BTreeMap::from([("assistant", 3), ("user", 2)]));
    let tools = BTreeMap::from([("bash".to_owned(), 1), ("read".to_owned(), 1)]);
    assert_eq!((stats.tools, stats.entries, stats.branches), (tools, 7, 2));
    assert_eq!((stats.first, stats.last), (Some(1_767_603_620_226), Some(1_767_603_620_226)));
}

fn claude(uuid: &str, parent: Option<&str>, id: &str, output: u64) -> String {
    let message = json!({"id": id, "role": "assistant", "model": "m",
        "content": [{"type": "text", "text": uuid}],
        "usage": {"input_tokens": 3, "output_tokens": output}});
    json!({"parentUuid": parent, "isSidechain": false, "cwd": "/p", "sessionId": "s",
           "type": "assistant", "uuid": uuid, "requestId": "r", "message": message,
           "timestamp": "2026-01-05T09:00:20.226Z"})
    .to_string()
        + "\n"
}

#[test]
fn the_records_of_one_answer_are_counted_once() {
    let whole = claude("a1", None, "m1", 1) + &claude("a2", Some("a1"), "m1", 9);
    let session = open(whole.clone() + &claude("b1", Some("a2"), "m2", 5));
    assert_eq!(shown(&session.stats().unwrap().usage), "2: 6/14/0/0 ?");
    assert_eq!(session.stats().unwrap().messages["assistant"], 2);
    assert_eq!(shown(&session.branch_usage("a1").unwrap()), "1: 3/1/0/0 ?");
    assert_eq!(shown(&session.branch_usage("a2").unwrap()), "1: 3/9/0/0 ?");
    let branch = &session.branches().unwrap()[0];
    assert_eq!(shown(&branch.usage), "2: 6/14/0/0 ?");

    // A fork in the middle of an answer knows less of it: whichever comes first, the whole counts.
    let part = open(claude("a1", None, "m1", 1));
    for sessions in [[&session, &part], [&part, &session]] {
        let mut ledger = Ledger::default();
        for session in sessions {
            ledger.add(session).unwrap();
        }
        assert_eq!(shown(&ledger.stats().usage), "2: 6/14/0/0 ?");
        assert_eq!(ledger.shared().requests, 1);
        assert_eq!(ledger.sessions(), 2);
    }
}

fn rollout(id: &str, parent: Option<&str>, counts: &[(u64, u64, u64)]) -> Session {
    let time = |second: u64| format!("2026-01-05T09:00:{second:02}.000Z");
    let meta = json!({"id": id, "forked_from_id": parent, "timestamp": time(0), "cwd": "/p"});
    let mut text =
        json!({"timestamp": time(0), "type": "session_meta", "payload": meta}).to_string();
    for (second, total, last) in counts {
        let info = json!({"total_token_usage": {"input_tokens": total, "total_tokens": total},
                          "last_token_usage": {"input_tokens": last}});
        let event = json!({"type": "token_count", "info": info});
        let line = json!({"timestamp": time(*second), "type": "event_msg", "payload": event});
        text += &format!("\n{line}");
    }
    open(text + "\n")
}

#[test]
fn a_running_total_that_stays_counts_nothing() {
    let counts = [(1, 10, 10), (2, 10, 10), (3, 30, 20), (4, 30, 20), (5, 50, 20)];
    let session = rollout("p", None, &counts);
    assert_eq!(shown(&session.stats().unwrap().usage), "3: 50/0/0/0 ?");
    assert_eq!(session.stats().unwrap().by_purpose[&Purpose::Answer].requests, 3);
    assert_eq!(session.branches().unwrap()[0].usage.input, 50);

    // A fork repeats its parent's counts at new times; a stranger may have the same by chance.
    let fork = rollout("f", Some("p"), &[(21, 10, 10), (22, 30, 20), (23, 70, 40)]);
    let stranger = rollout("x", None, &[(1, 10, 10)]);
    let mut ledger = Ledger::default();
    for session in [&session, &fork, &stranger] {
        ledger.add(session).unwrap();
    }
    assert_eq!(shown(&ledger.stats().usage), "5: 100/0/0/0 ?");
    assert_eq!(ledger.shared().input, 30);
}

#[test]
fn forks_count_once_and_say_how_much_they_share() {
    let original = open(file(&[
        user("a", None),
        answer("b", Some("a"), used(10, 0.5)),
        answer("c", Some("b"), used(20, 0.25)),
    ]));
    let fork = original.fork("b", ForkOptions::default()).unwrap();
    fork.append(treering::NewEntry::from_json(
        json!({"type": "message", "message": {"role": "assistant", "content": [], "usage": {"input": 7}}})
            .to_string()
            .as_bytes(),
    )
    .unwrap())
    .unwrap();
    let mut ledger = Ledger::default();
    assert_eq!(ledger.add(&original).unwrap().shared, Usage::default());
    let added = ledger.add(&fork).unwrap();
    assert_eq!(
        (shown(&added.usage), shown(&added.shared)),
        ("2: 17/1/0/0 0.5".into(), "1: 10/1/0/0 0.5".into())
    );
    let stats = ledger.stats();
    assert_eq!(shown(&stats.usage), "3: 37/2/0/0 0.75");
    assert_eq!((stats.messages["assistant"], stats.messages["user"], stats.entries), (3, 1, 4));
}

#[test]
fn what_a_provider_named_is_known_by_that_name() {
    let named = |response: &str, input: u64| {
        let mut message = used(input, 0.5);
        message["responseId"] = json!(response);
        message
    };
    let session = open(file(&[
        answer("a", None, named("r1", 10)),
        answer("b", Some("a"), named("r1", 10)), // the same, copied under a new id
        answer("c", Some("b"), named("r1", 11)), // a provider that names all responses alike
        answer("d", Some("c"), named("", 10)),
        answer("e", Some("d"), named("", 10)), // nothing in common but the numbers
    ]));
    assert_eq!(shown(&session.stats().unwrap().usage), "4: 41/4/0/0 2");
    assert_eq!(shown(&session.branch_usage("b").unwrap()), "1: 10/1/0/0 0.5");
}

#[test]
fn branches_know_their_own_part_and_their_whole_path() {
    let session = open(file(&[
        user("a", None),
        answer("b", Some("a"), used(1, 1.0)),
        answer("c", Some("b"), used(2, 2.0)),
        answer("d", Some("c"), used(4, 4.0)),
        answer("e", Some("b"), used(8, 8.0)),
        entry("label", "l", Some("b"), r#","targetId":"e","label":"x""#),
        user("r", None),
        leaf("z", Some("c")),
    ]));
    let branches = session.branches().unwrap();
    let line = |branch: &Branch| {
        let since = branch.since.as_ref().map_or("-", |since| since.as_str());
        let flags = [(branch.is_active, "active"), (branch.has_messages, "said")];
        let flags: Vec<&str> = flags.iter().filter(|(is, _)| *is).map(|(_, name)| *name).collect();
        format!(
            "{} since {since}: {} of {}, {} of {} {}",
            branch.leaf,
            branch.own_entries,
            branch.entries,
            branch.own.input,
            branch.usage.input,
            flags.join(" ")
        )
    };
    let mut lines: Vec<String> = branches.iter().map(line).collect();
    lines.sort();
    assert_eq!(
        lines,
        [
            "c since b: 1 of 3, 2 of 3 active said",
            "d since b: 2 of 4, 6 of 7 said",
            "e since b: 1 of 3, 8 of 9 said",
            "l since b: 1 of 3, 0 of 1 ",
            "r since -: 1 of 1, 0 of 0 said",
        ]
    );
    // The label is not a branch. The active path is one, although `d` continues it.
    assert_eq!(branches.iter().filter(|branch| branch.is_counted()).count(), 4);
    assert_eq!(session.stats().unwrap().branches, 4);
    assert!(Session::in_memory("/p").branches().unwrap().is_empty());
}

/// An entry of a random session: its parent among those before it, and what it used, in thousandths
/// of a dollar.
#[derive(Debug, Clone)]
struct Random {
    parent: prop::sample::Index,
    kind: u8,
    response: Option<u8>,
    tokens: [u64; 4],
    cost: Option<u32>,
    copied: bool,
}

fn random() -> impl Strategy<Value = Random> {
    let tokens = prop::array::uniform4(prop_oneof![Just(0), 0_u64..50]);
    let parts = (any::<prop::sample::Index>(), 0_u8..7, prop::option::of(0_u8..3), tokens);
    (parts, prop::option::of(0_u32..5), prop::bool::weighted(0.1)).prop_map(
        |((parent, kind, response, tokens), cost, copied)| Random {
            parent,
            kind,
            response,
            tokens,
            cost,
            copied,
        },
    )
}

fn line(at: usize, parents: &mut Vec<Option<usize>>, random: &Random) -> Value {
    // Mostly continuing from the last entry, sometimes from any, or from none.
    let parent = match random.parent.index(6) {
        0 => Some(random.parent.index(at.max(1))).filter(|_| at > 0),
        1 if random.kind == 0 => None,
        _ => at.checked_sub(1),
    };
    parents.push(parent);
    let [input, output, read, write] = random.tokens;
    let mut usage =
        json!({"input": input, "output": output, "cacheRead": read, "cacheWrite": write});
    if let Some(cost) = random.cost {
        usage["cost"] = json!({"total": f64::from(cost) / 1000.0});
    }
    let mut entry = json!({"id": at.to_string(), "parentId": parent.map(|parent| parent.to_string()),
                           "timestamp": format!("2026-01-05T09:00:00.{at:03}Z")});
    let fields = match random.kind {
        0 | 1 => {
            json!({"type": "message", "message": {"role": "user", "content": "x", "usage": usage}})
        }
        2 => json!({"type": "compaction", "summary": "s", "firstKeptEntryId": "", "usage": usage}),
        3 => json!({"type": "custom", "customType": "x", "usage": usage}),
        4 => json!({"type": "usage", "kind": "title", "usage": usage}),
        _ => {
            let mut message = json!({"role": "assistant", "content": [], "usage": usage});
            if let Some(response) = random.response {
                message["responseId"] = json!(format!("r{response}"));
            }
            json!({"type": "message", "message": message})
        }
    };
    entry.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    if random.copied {
        entry["copiedFrom"] = json!({"entry": "0"});
    }
    entry
}

/// Returns the events of some entries, by name: counts, and cost in thousandths.
fn naive<'a>(entries: impl Iterator<Item = &'a Value>) -> (u64, [u64; 4], u64, u64) {
    let mut events: BTreeMap<String, ([u64; 4], Option<u64>)> = BTreeMap::new();
    for entry in entries {
        let message = &entry["message"];
        let usage = match (entry["type"].as_str().unwrap(), message["role"].as_str()) {
            ("message", Some("assistant")) => &message["usage"],
            ("compaction" | "usage", _) => &entry["usage"],
            _ => continue,
        };
        let tokens =
            ["input", "output", "cacheRead", "cacheWrite"].map(|key| usage[key].as_u64().unwrap());
        let cost = usage["cost"]["total"].as_f64().map(|cost| (cost * 1000.0).round() as u64);
        if entry.get("copiedFrom").is_some() || (tokens == [0; 4] && cost.unwrap_or(0) == 0) {
            continue;
        }
        let name = match message.get("responseId") {
            Some(response) => format!("{response} {tokens:?}"),
            None => entry["id"].to_string(),
        };
        let event = events.entry(name).or_insert((tokens, cost));
        event.1 = event.1.max(cost);
    }
    let mut sum = (0, [0; 4], 0, 0);
    for (tokens, cost) in events.into_values() {
        sum.0 += 1;
        sum.1.iter_mut().zip(tokens).for_each(|(sum, tokens)| *sum += tokens);
        sum.2 += cost.unwrap_or(0);
        sum.3 += u64::from(cost.is_none());
    }
    sum
}

fn sums(usage: &Usage) -> (u64, [u64; 4], u64, u64) {
    let Usage { requests, input, output, cache_read, cache_write, cost, unpriced, .. } = *usage;
    let cost = (cost.dollars() * 1000.0).round() as u64;
    (requests, [input, output, cache_read, cache_write], cost, unpriced)
}

proptest! {
    #![proptest_config(cases(48))]

    #[test]
    fn sums_are_those_of_a_naive_count(all in prop::collection::vec(random(), 0..60), cut in any::<prop::sample::Index>()) {
        let mut parents = Vec::new();
        let entries: Vec<Value> =
            all.iter().enumerate().map(|(at, random)| line(at, &mut parents, random)).collect();
        let lines: Vec<String> = entries.iter().map(Value::to_string).collect();
        let session = open(file(&lines));
        let stats = session.stats().unwrap();
        prop_assert_eq!(sums(&stats.usage), naive(entries.iter()));
        prop_assert_eq!(stats.active + stats.abandoned, stats.usage);
        prop_assert_eq!(stats.by_model.values().copied().sum::<Usage>(), stats.usage);
        prop_assert_eq!(stats.by_purpose.values().copied().sum::<Usage>(), stats.usage);

        let path = |at: usize| std::iter::successors(Some(at), |&at| parents[at]).map(|at| &entries[at]);
        for at in 0..entries.len() {
            let usage = session.branch_usage(&at.to_string()).unwrap();
            prop_assert_eq!(sums(&usage), naive(path(at)));
        }
        let branches = session.branches().unwrap();
        let ends = (0..entries.len()).filter(|at| !parents.contains(&Some(*at))).count();
        prop_assert_eq!(branches.len(), ends);
        for branch in &branches {
            let at: usize = branch.leaf.as_str().parse().unwrap();
            prop_assert_eq!(sums(&branch.usage), naive(path(at)));
            prop_assert_eq!(branch.entries as usize, path(at).count());
            let before = match &branch.since {
                Some(since) => naive(path(since.as_str().parse().unwrap())),
                None => Default::default(),
            };
            prop_assert_eq!(sums(&branch.own).0, sums(&branch.usage).0 - before.0);
            prop_assert_eq!(sums(&branch.own).1[0], sums(&branch.usage).1[0] - before.1[0]);
        }

        // A copy of the beginning adds nothing, in whichever order.
        let part = open(file(&lines[..cut.index(lines.len() + 1)]));
        for sessions in [[&session, &part], [&part, &session]] {
            let mut ledger = Ledger::default();
            for session in sessions {
                ledger.add(session).unwrap();
            }
            prop_assert_eq!(ledger.stats().usage, stats.usage);
            prop_assert_eq!(ledger.stats().messages, stats.messages.clone());
            prop_assert_eq!(ledger.shared(), part.stats().unwrap().usage);
        }
    }
}
