//! Tests of plans of compactions and branch summaries, one for each rule. `compaction_rules` tests
//! all rules together.

use crate::counted::CountedJournal;
use crate::support::{assistant, compaction, entry, file, join, open, user};
use serde_json::{Value, json};
use std::sync::Arc;
use treering::branch_summary::{BRANCH_SUMMARY_PREAMBLE, branch_budget};
use treering::compaction::{CompactionSettings, ModelSettings, Preparation, Prepared};
use treering::context::{ContextMessage, Model};
use treering::storage::Journal;
use treering::{CreateOptions, Session};

fn message(id: &str, parent: Option<&str>, message: Value) -> String {
    entry("message", id, parent, &format!(r#","message":{message}"#))
}

/// A text of this number of tokens.
pub(crate) fn tokens(number: usize) -> String {
    "abcd".repeat(number)
}

pub(crate) fn says(role: &str, size: usize) -> Value {
    json!({"role": role, "content": [{"type": "text", "text": tokens(size)}]})
}

pub(crate) fn keeping(keep: u64) -> CompactionSettings {
    CompactionSettings::new().keep_recent_tokens(keep)
}

/// A chain of entries named 0, 1, 2 …: each is given as its type and fields.
pub(crate) fn chain(entries: &[(&str, Value)]) -> Session {
    let mut lines = Vec::new();
    for (at, (kind, fields)) in entries.iter().enumerate() {
        let parent = at.checked_sub(1).map(|parent| parent.to_string());
        let fields = fields.to_string();
        let fields = fields.strip_prefix('{').unwrap().strip_suffix('}').unwrap();
        let comma = if fields.is_empty() { "" } else { "," };
        lines.push(entry(kind, &at.to_string(), parent.as_deref(), &format!("{comma}{fields}")));
    }
    open(file(&lines))
}

fn conversation(roles: &[(&str, usize)]) -> Session {
    let entries: Vec<(&str, Value)> = roles
        .iter()
        .map(|(role, size)| ("message", json!({"message": says(role, *size)})))
        .collect();
    chain(&entries)
}

pub(crate) fn ids(messages: &[ContextMessage]) -> String {
    join(messages.iter().map(|message| &message.entry))
}

fn prepared(session: &Session, keep: u64) -> Prepared {
    match session.plan_compaction(&keeping(keep)).unwrap() {
        Preparation::Ready(plan) => {
            let prepared = plan.read().unwrap();
            let context = session.context_tokens().unwrap();
            assert_eq!(prepared.tokens_before, context.tokens);
            prepared
        }
        why_not => panic!("{why_not:?}"),
    }
}

fn is_too_small(session: &Session, keep: u64) -> bool {
    matches!(session.plan_compaction(&keeping(keep)).unwrap(), Preparation::TooSmall)
}

/// Returns the first kept entry, the summarized entries, and the beginning of a split turn.
fn cut(session: &Session, keep: u64) -> (String, String, String) {
    let plan = prepared(session, keep);
    assert_eq!(plan.is_split_turn, !plan.turn_prefix.is_empty());
    (plan.first_kept.to_string(), ids(&plan.messages_to_summarize), ids(&plan.turn_prefix))
}

fn expect(found: (String, String, String), first: &str, history: &str, prefix: &str) {
    assert_eq!(found, (first.to_owned(), history.to_owned(), prefix.to_owned()));
}

#[test]
fn the_trigger_is_the_window_without_the_reserve() {
    let settings = CompactionSettings::default();
    assert!((settings.reserve_tokens, settings.keep_recent_tokens) == (16_384, 20_000));
    assert!(!settings.should_compact(100_000 - 16_384, 100_000));
    assert!(settings.should_compact(100_000 - 16_384 + 1, 100_000));
    assert!(settings.should_compact(1, 1000), "a window smaller than the reserve");
    let off = settings.enabled(false);
    assert!(!off.should_compact(u64::MAX, 1));
}

#[test]
fn a_model_may_have_its_own_settings() {
    let own = ModelSettings::new().keep_recent_tokens(1);
    let settings = CompactionSettings::new().model("acme/oak", own);
    let model = |id: &str| Model::new("acme", id);
    assert_eq!(settings.of_model(Some(&model("oak"))).keep_recent_tokens, 1);
    assert_eq!(settings.of_model(Some(&model("oak"))).reserve_tokens, 16_384);
    assert_eq!(settings.of_model(Some(&model("elm"))).keep_recent_tokens, 20_000);
    assert_eq!(settings.of_model(None).keep_recent_tokens, 20_000);
    // The model in effect decides.
    let lines = [user("a", None), user("b", Some("a")), assistant("c", Some("b"))];
    let plan = open(file(&lines)).plan_compaction(&settings).unwrap().ready().unwrap();
    assert_eq!(plan.first_kept, "c");
}

#[test]
fn the_cut_is_where_enough_is_kept() {
    let session = conversation(&[("user", 10), ("assistant", 10), ("user", 10), ("assistant", 10)]);
    expect(cut(&session, 20), "2", "0 1", "");
    expect(cut(&session, 11), "2", "0 1", "");
    // The turn is split: its beginning is summarized apart.
    expect(cut(&session, 10), "3", "0 1", "2");
    expect(cut(&session, 0), "3", "0 1", "2");
    expect(cut(&session, 21), "1", "", "0");
    // Never enough: everything is kept, so there is nothing to summarize.
    assert!(is_too_small(&session, 41));
    assert!(is_too_small(&session, 40));
}

#[test]
fn a_kept_part_never_begins_with_a_tool_result() {
    let roles = [("user", 1), ("assistant", 1), ("toolResult", 50), ("assistant", 1), ("user", 1)];
    expect(cut(&conversation(&roles), 30), "3", "", "0 1 2");
    // No valid entry at or after that point: the last valid one.
    expect(cut(&conversation(&roles[..3]), 30), "1", "", "0");
}

#[test]
fn every_kind_of_input_starts_a_turn() {
    let message_of = |role| ("message", json!({"message": says(role, 10)}));
    let kinds = [
        message_of("user"),
        message_of("custom"),
        (
            "message",
            json!({"message": {"role": "bashExecution", "command": tokens(10), "output": ""}}),
        ),
        ("custom_message", json!({"customType": "x", "content": tokens(10), "display": true})),
        ("branch_summary", json!({"fromId": "x", "summary": tokens(10)})),
    ];
    for kind in kinds {
        let session = chain(&[message_of("user"), kind, message_of("assistant")]);
        expect(cut(&session, 20), "1", "0", "");
        expect(cut(&session, 10), "2", "0", "1");
    }
}

#[test]
fn what_contributes_nothing_goes_with_what_follows() {
    let message_of = |role| ("message", json!({"message": says(role, 10)}));
    let nothing = ("custom", json!({"customType": "note"}));
    let empty = ("branch_summary", json!({"fromId": "x", "summary": ""}));
    let session = chain(&[message_of("user"), nothing, empty, message_of("user")]);
    // The entry that the cut was moved to starts no turn, whatever follows: as in pi.
    expect(cut(&session, 10), "1", "", "0");
    let nothing = ("custom", json!({"customType": "note"}));
    let session = chain(&[message_of("assistant"), nothing, message_of("user")]);
    expect(cut(&session, 10), "1", "0", "");
}

#[test]
fn why_there_is_nothing_to_compact() {
    assert!(is_too_small(&Session::in_memory("/project"), 0));
    assert!(is_too_small(&conversation(&[("user", 10)]), 0));
    let done = open(file(&[user("a", None), compaction("c", Some("a"), "a")]));
    let done = done.plan_compaction(&keeping(0)).unwrap();
    assert!(matches!(done, Preparation::AlreadyCompacted));
    let system = json!({"role": "system", "content": "rules", "timestamp": 1});
    let lines = [message("s", None, system), user("a", Some("s"))];
    assert!(is_too_small(&open(file(&lines)), 0), "system messages are not summarized");
}

/// Seed 001: m1 … m10, a compaction that keeps from m6. What it kept is summarized again.
#[test]
fn what_a_compaction_kept_is_summarized_again() {
    let mut lines = vec![user("m1", None)];
    for at in 2..=10 {
        lines.push(user(&format!("m{at}"), Some(&format!("m{}", at - 1))));
    }
    let details = r#","summary":"what was","tokensBefore":1,"firstKeptEntryId":"m6","details":{"readFiles":["r"],"modifiedFiles":["m"]}"#;
    lines.push(entry("compaction", "c1", Some("m10"), details));
    lines.push(user("m11", Some("c1")));
    lines.push(user("m12", Some("m11")));
    let session = open(file(&lines));
    let plan = prepared(&session, 2);
    assert_eq!(plan.first_kept, "m11");
    assert_eq!(ids(&plan.messages_to_summarize), "m6 m7 m8 m9 m10");
    assert_eq!(plan.previous_summary.as_deref(), Some("what was"));
    let lists = plan.file_ops.lists();
    assert_eq!((lists.read, lists.modified), (vec!["r".to_owned()], vec!["m".to_owned()]));
    assert!(plan.history_request(None).unwrap().contains("<previous-summary>\nwhat was\n"));
}

/// Seed 004: A B C, D compacts and keeps C, E F.
#[test]
fn worked_example_of_a_compacted_path() {
    let lines = [
        user("A", None),
        assistant("B", Some("A")),
        user("C", Some("B")),
        compaction("D", Some("C"), "C"),
        user("E", Some("D")),
        assistant("F", Some("E")),
    ];
    let session = open(file(&lines));
    assert_eq!(join(session.context().unwrap().messages.iter().map(|m| &m.entry)), "D C E F");
    let plan = prepared(&session, 1);
    assert_eq!((plan.first_kept.as_str(), ids(&plan.messages_to_summarize)), ("F", "C".into()));
    assert_eq!(ids(&plan.turn_prefix), "E");
}

#[test]
fn usage_counts_until_the_context_changes() {
    let answer = json!({"role": "assistant", "content": [{"type": "text", "text": tokens(3)}], "usage": {"totalTokens": 1000}});
    let mut lines = vec![user("u000", None), message("a", Some("u000"), answer)];
    let size = |lines: &[String]| {
        let found = open(file(lines)).context_tokens().unwrap();
        assert_eq!(found.tokens, found.usage_tokens + found.trailing_tokens);
        (found.usage_tokens, found.trailing_tokens)
    };
    assert_eq!(size(&lines), (1000, 0));
    lines.push(user("u001", Some("a")));
    assert_eq!(size(&lines), (1000, 1));
    let mut edited = lines.clone();
    let edit = r#","targetId":"u000","replacement":{"content":"longer than before"}"#;
    edited.push(entry("context_edit", "e", Some("u001"), edit));
    assert_eq!(size(&edited), (0, 5 + 3 + 1));
    lines.push(compaction("c", Some("u001"), "a"));
    assert_eq!(size(&lines), (0, 2 + 3 + 1), "the answer is kept, its usage is not trusted");
    let again = json!({"role": "assistant", "content": [], "usage": {"input": 1, "output": 2, "cacheRead": 3, "cacheWrite": 4}});
    lines.push(message("b", Some("c"), again));
    assert_eq!(size(&lines), (10, 0));
}

#[test]
fn an_attempt_that_was_taken_out_does_not_keep_its_input() {
    let session = chain(&[
        ("message", json!({"message": says("user", 10)})),
        ("message", json!({"message": says("assistant", 10)})),
        ("message", json!({"message": says("user", 10)})),
        ("message", json!({"message": says("assistant", 10)})),
        ("context_edit", json!({"targetId": "3", "replacement": null})),
    ]);
    expect(cut(&session, 5), "3", "0 1", "2");
    // More than enough room: nothing is forced.
    assert!(is_too_small(&session, 100));
}

#[test]
fn a_summary_is_composed_of_its_parts() {
    let session = conversation(&[("user", 10), ("assistant", 10), ("user", 10), ("assistant", 10)]);
    let mut plan = prepared(&session, 10);
    assert!(plan.prefix_request(Some("names")).unwrap().ends_with("Additional focus: names"));
    let split = "\n\n---\n\n**Turn Context (split turn):**\n\n";
    assert_eq!(plan.compose(Some("H"), Some("P")), format!("H{split}P"));
    assert_eq!(plan.compose(None, Some("P")), format!("No prior history.{split}P"));
    plan.previous_summary = Some("before".into());
    assert_eq!(plan.compose(None, Some("P")), format!("before{split}P"));
    plan.file_ops.read.insert("a".into());
    assert_eq!(plan.compose(Some("H"), None), "H\n\n<read-files>\na\n</read-files>");
}

#[test]
fn the_prompt_is_carried_along() {
    let system = |text: &str| json!({"role": "system", "content": text, "timestamp": 7});
    let lines = [
        message("s", None, system("one")),
        user("a", Some("s")),
        message("t", Some("a"), system("two")),
        user("b", Some("t")),
    ];
    let session = open(file(&lines));
    let plan = prepared(&session, 1);
    let carried: Value = serde_json::from_slice(plan.system_message.as_deref().unwrap()).unwrap();
    assert_eq!(carried, system("one\n\ntwo"));
    assert_eq!(session.system_message_at("b").unwrap(), plan.system_message);
    assert_eq!(ids(&plan.messages_to_summarize), "a");
    assert_eq!(plan.tokens_before, 2 + 1 + 1, "the system messages count as one");
}

#[test]
fn a_branch_is_collected_from_its_end_within_the_budget() {
    let read = json!({"role": "assistant", "content": [{"type": "toolCall", "name": "read", "arguments": {"path": "f"}}]});
    let lines = [
        user("top", None),
        message("a", Some("top"), says("user", 10)),
        message("b", Some("a"), read),
        message("r", Some("b"), says("toolResult", 500)),
        entry(
            "branch_summary",
            "s",
            Some("r"),
            &format!(
                r#","fromId":"x","summary":"{}","details":{{"modifiedFiles":["g"]}}"#,
                tokens(10)
            ),
        ),
        message("c", Some("s"), says("user", 10)),
        user("other", Some("top")),
    ];
    let session = open(file(&lines));
    let collected = |budget| session.abandoned_branch(Some("c"), Some("other"), budget).unwrap();
    let all = collected(0);
    assert_eq!(join(&all.entries), "a b r s c");
    assert_eq!(all.common_ancestor.as_ref().unwrap(), "top");
    assert_eq!(ids(&all.messages), "a b s c");
    assert_eq!(all.file_ops.lists().to_json(), br#"{"readFiles":["f"],"modifiedFiles":["g"]}"#);
    assert_eq!(ids(&collected(20).messages), "s c");
    // Too much, but a summary, and less than nine tenths are spent.
    assert_eq!(ids(&collected(12).messages), "s c");
    assert_eq!(ids(&collected(11).messages), "c", "10 of 11 is more than nine tenths");
    assert_eq!(ids(&collected(5).messages), "c", "the last one, however long it is");
    assert!(session.abandoned_branch(Some("top"), Some("c"), 0).unwrap().is_empty());
    assert!(
        all.compose("S").starts_with(&format!("{BRANCH_SUMMARY_PREAMBLE}S\n\n<read-files>\nf\n"))
    );
    assert_eq!((branch_budget(None, 16_384), branch_budget(Some(10), 20)), (111_616, 0));
}

/// Planning must not cost what the context is large: it is what an agent does after every turn.
#[test]
fn planning_reads_what_is_kept_and_not_the_rest() {
    let mut lines = vec![message("0", None, says("user", 60))];
    for at in 1..20_000_usize {
        let content = match at % 3 {
            0 => says("user", 60),
            1 => {
                json!({"role": "assistant", "content": [{"type": "text", "text": tokens(60)}], "usage": {"totalTokens": 1000}})
            }
            _ => says("toolResult", 60),
        };
        lines.push(message(&at.to_string(), Some(&(at - 1).to_string()), content));
    }
    let bytes = file(&lines).into_bytes();
    let journal = Arc::new(CountedJournal::new(bytes));
    let shared = Arc::clone(&journal) as Arc<dyn Journal>;
    let session = Session::in_journal(shared, "/", CreateOptions::new()).unwrap();
    let read = || journal.take_bytes_read();
    let all = journal.len().unwrap();
    assert!(read() >= all && all > 6_000_000);
    let plan = session.plan_compaction(&keeping(6000)).unwrap().ready().unwrap();
    assert_eq!(plan.first_kept, "19900");
    assert!(read() < 600_000, "the end, the beginning, and the model");
    session.context_tokens().unwrap();
    assert!(read() < 600_000);
    let prepared = plan.read().unwrap();
    assert_eq!(prepared.messages_to_summarize.len() + prepared.turn_prefix.len(), 19_900);
    assert!(read() < all + 1_000_000);
}
