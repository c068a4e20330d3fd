//! `cherry-pick`, `diff`, `edit-context`, and merges in `tree`.

use crate::support::{TestDir, assistant, entry, message, story, user};
use serde_json::{Value, json};

/// Returns the story, and beside it a branch `c1 c2 c3` with a call and its result; the leaf is
/// `b4`.
fn branches() -> Vec<String> {
    let mut lines = story();
    let call =
        json!([{"type": "toolCall", "id": "t2", "name": "edit", "arguments": {"path": "x.rs"}}]);
    let result = json!({"role": "toolResult", "toolCallId": "t2", "toolName": "edit",
                        "content": "done", "isError": false});
    lines.extend([
        user("c1", Some("a3"), 8, "Change it."),
        assistant("c2", "c1", 9, call),
        message("c3", Some("c2"), 10, result),
        entry("leaf", "c4", Some("b4"), 11, json!({"targetId": "b4"})),
    ]);
    lines
}

fn ids(value: &Value) -> Vec<&str> {
    value.as_array().unwrap().iter().map(|id| id.as_str().unwrap()).collect()
}

#[test]
fn a_pick_is_shown_and_then_done() {
    let test_dir = TestDir::with(&branches());
    let before = test_dir.read("s.jsonl");
    insta::assert_snapshot!(test_dir.run(&["cherry-pick", "s.jsonl", "c3", "--dry-run"]).ok(), @r"
    c2  2026-01-05 09:09:00Z  assistant   [edit: x.rs]
    c3  2026-01-05 09:10:00Z  toolResult  [edit: x.rs]
    2 entries would be copied (about 6 tokens), 1 of them to keep tool calls with their results
    ");
    assert_eq!(test_dir.read("s.jsonl"), before);

    let done = test_dir.run(&["cherry-pick", "s.jsonl", "c1..c3", "--json"]).json().remove(0);
    let copied = done["copied"].as_array().unwrap();
    assert_eq!(copied.len(), 3);
    assert_eq!((&copied[0]["from"], &done["tokens"]), (&json!("c1"), &json!(9)));
    let tree = test_dir.run(&["tree", "s.jsonl"]).ok();
    assert!(tree.contains("toolResult [edit: x.rs] ← leaf\n"), "{tree}");
    let after = test_dir.read("s.jsonl");
    assert!(after.starts_with(&before), "nothing before it has changed");
    assert!(after.contains(r#","copiedFrom":{"entry":"c1"}}"#), "{after}");

    let again = test_dir.run(&["cherry-pick", "s.jsonl", "c2", "--json"]).json().remove(0);
    assert_eq!((&again["copied"], again["skipped"][0]["from"].as_str()), (&json!([]), Some("c2")));
    let people = test_dir.run(&["cherry-pick", "s.jsonl", "c2"]).ok();
    assert!(people.contains("c2 is already on the path, as "), "{people}");
    let forced = test_dir.run(&["cherry-pick", "s.jsonl", "c2", "--force"]).ok();
    assert!(
        forced.contains(
            "2 entries copied (about 6 tokens), 1 of them to keep tool calls with their results\n"
        ),
        "{forced}"
    );
}

#[test]
fn a_pick_may_come_from_another_file() {
    let test_dir = TestDir::with(&branches());
    test_dir.run(&["append", "new.jsonl", "--user", "hello"]).ok();
    let done =
        test_dir.run(&["cherry-pick", "new.jsonl", "c2", "--from", "s.jsonl", "--json"]).json();
    assert_eq!(done[0]["copied"].as_array().unwrap().len(), 2);
    assert_eq!(done[0]["companions"], json!(["c3"]));
    assert!(
        test_dir.read("new.jsonl").contains(r#","copiedFrom":{"entry":"c2","session":"demo-1"}}"#)
    );
}

#[test]
fn entries_that_cannot_be_picked_are_named() {
    let test_dir = TestDir::with(&branches());
    for (selection, error) in [
        ("b3", "b3 cannot be picked"),
        ("zz", "no entry"),
        ("c1..b4", "c1 is not on the path to b4"),
    ] {
        let failed = test_dir.run(&["cherry-pick", "s.jsonl", selection]).failed();
        assert!(failed.contains(error) && failed.contains("\nhint: "), "{failed}");
    }
    let half = test_dir.run(&["cherry-pick", "s.jsonl", "c1.."]).misused();
    assert!(half.contains("a range needs both ends: FIRST..LAST"), "{half}");
    let claude = concat!(
        r#"{"type":"user","uuid":"11111111-1111-4111-8111-111111111111","parentUuid":null,"sessionId":"s","timestamp":"2026-01-05T09:00:00.000Z","cwd":"/p","version":"2.0","message":{"role":"user","content":"hi"}}"#,
        "\n"
    );
    test_dir.write("claude.jsonl", claude.as_bytes());
    for args in [
        &["cherry-pick", "claude.jsonl", "1111", "--dry-run"][..],
        &["edit-context", "claude.jsonl", "drop", "1111"],
    ] {
        let failed = test_dir.run(args).failed();
        assert!(failed.contains("treering does not write sessions of claude-code"), "{failed}");
    }
    assert_eq!(test_dir.read("claude.jsonl"), claude);
}

#[test]
fn two_branches_are_compared() {
    let test_dir = TestDir::with(&branches());
    insta::assert_snapshot!(test_dir.run(&["diff", "s.jsonl", "b1", "c3"]).ok(), @r"
    common ancestor
    a3  2026-01-05 09:03:00Z  toolResult  [bash]

    A b1: 1 entry, 1 message, about 2 tokens
    b1  2026-01-05 09:04:00Z  assistant   [first try] Nothing.

    B c3: 3 entries, 3 messages, about 9 tokens
    modified: x.rs
    c1  2026-01-05 09:08:00Z  user        Change it.
    c2  2026-01-05 09:09:00Z  assistant   [edit: x.rs]
    c3  2026-01-05 09:10:00Z  toolResult  [edit: x.rs]
    ");
    let diff = test_dir.run(&["diff", "s.jsonl", "c3", "--json"]).json().remove(0);
    assert_eq!((&diff["commonAncestor"], &diff["b"]["leaf"]), (&json!("a3"), &json!("b4")));
    assert_eq!(ids(&diff["b"]["entries"]), ["b2", "b3", "b4"]);
    assert_eq!(
        (&diff["a"]["modifiedFiles"], &diff["a"]["messages"]),
        (&json!(["x.rs"]), &json!(3))
    );
    let full = test_dir.run(&["diff", "s.jsonl", "b1", "c3", "--full"]).ok();
    assert!(full.contains("→ edit {\"path\":\"x.rs\"}"), "{full}");
    let full = test_dir.run(&["diff", "s.jsonl", "b1", "c3", "--full", "--json"]).json().remove(0);
    assert_eq!(full["b"]["entries"][0]["message"]["content"], "Change it.");

    let fork = test_dir.run(&["fork", "s.jsonl", "--at", "c1"]).ok();
    let diff = test_dir.run(&["diff", "s.jsonl", "c3", "--with", fork.trim_end(), "--json"]).json();
    assert_eq!(diff[0]["commonAncestor"], "c1");
}

#[test]
fn the_context_is_edited() {
    let test_dir = TestDir::with(&branches());
    let seen = |test_dir: &TestDir| {
        let context = test_dir.run(&["context", "s.jsonl", "--json"]).json().remove(0);
        context["messages"].as_array().unwrap().len()
    };
    let before = seen(&test_dir);
    insta::assert_snapshot!(test_dir.run(&["edit-context", "s.jsonl", "drop", "a2", "--dry-run"]).ok(), @r"
    a2 dropped
    a3 dropped (with its call)
    about 13 tokens instead of 26, 13 less; nothing written
    ");
    assert_eq!(seen(&test_dir), before);
    let done =
        test_dir.run(&["edit-context", "s.jsonl", "drop", "a2", "b2", "--json"]).json().remove(0);
    assert_eq!(
        (ids(&done["targets"]), ids(&done["companions"])),
        (vec!["a2", "a3", "b2"], vec!["a3"])
    );
    assert_eq!(done["edits"].as_array().unwrap().len(), 3);
    assert_eq!(seen(&test_dir), before - 3);
    test_dir.run(&["edit-context", "s.jsonl", "restore", "a2"]).ok();
    assert_eq!(seen(&test_dir), before - 1);

    let args = ["edit-context", "s.jsonl", "replace", "a3", "--text", "-"];
    test_dir.feed(&args, "short\u{1b}[2J".as_bytes()).ok();
    let context = test_dir.run(&["context", "s.jsonl"]).ok();
    assert!(context.contains("short") && !context.contains('\u{1b}'), "{context}");
    let failed = test_dir.run(&["edit-context", "s.jsonl", "drop", "a3"]).failed();
    assert!(failed.contains("replace the result's text"), "{failed}");
    let failed = test_dir.run(&["edit-context", "s.jsonl", "drop", "c1"]).failed();
    assert!(failed.contains("is not on the path to"), "{failed}");
    assert_eq!(test_dir.run(&["edit-context", "s.jsonl", "replace", "a3"]).code, 2);
    assert_eq!(test_dir.run(&["edit-context", "s.jsonl", "drop"]).code, 2);
}

#[test]
fn the_tree_shows_merges() {
    let mut lines = branches();
    let record = json!({"fromId": "c3", "summary": "Changed.", "details": {"merge": {"from": "c3", "base": "a3"}}});
    lines.push(entry("branch_summary", "d1", Some("b4"), 12, record));
    let full = json!({"customType": "treering.merge", "data": {"from": "\u{1b}[2J", "base": null}});
    lines.push(entry("custom", "d2", Some("d1"), 13, full));
    let test_dir = TestDir::with(&lines);
    insta::assert_snapshot!(test_dir.run(&["tree", "s.jsonl"]).ok(), @r"
    • a1 user       What is here?
    • a2 assistant  Let me see.
    • a3 toolResult [bash: ls -l]
    ├─   b1 assistant  [first try] Nothing.
    ├─   c1 user       Change it.
    │    c2 assistant  [edit: x.rs]
    │    c3 toolResult [edit: x.rs]
    • b2 branch_summary Said nothing.
    • b4 user       Look again.
    • d1 branch_summary Changed. ⇠ c3
    • d2 custom     treering.merge ⇠ \x1b[2J ← leaf
    ");
    let tree = test_dir.run(&["tree", "s.jsonl", "--json"]).json();
    let merged: Vec<&Value> =
        tree.iter().map(|item| &item["mergedFrom"]).filter(|m| !m.is_null()).collect();
    assert_eq!(merged, [&json!("c3"), &json!("\u{1b}[2J")]);
}
