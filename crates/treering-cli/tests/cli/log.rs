use crate::support::{TestDir, entry, story, user};
use serde_json::json;

#[test]
fn for_people_every_entry_is_a_line() {
    let test_dir = TestDir::with_story();
    insta::assert_snapshot!(test_dir.run(&["log", "s.jsonl"]).ok(), @r"
    a1  2026-01-05 09:01:00Z  user        What is here?
    a2  2026-01-05 09:02:00Z  assistant   Let me see.
    a3  2026-01-05 09:03:00Z  toolResult  [bash: ls -l]
    b2  2026-01-05 09:05:00Z  branch_summary  Said nothing.
    b3  2026-01-05 09:06:00Z  label       [first try] on b1
    b4  2026-01-05 09:07:00Z  user        Look again.
    ");
    let other = test_dir.run(&["log", "s.jsonl", "--leaf", "b1"]).ok();
    assert!(
        other.ends_with("b1  2026-01-05 09:04:00Z  assistant   [first try] Nothing.\n"),
        "{other}"
    );
}

#[test]
fn as_json_every_line_is_the_one_in_the_file() {
    let mut lines = story();
    // Spaces, an exponent, and keys in an order that no library would choose.
    lines[0] = r#"{ "id" : "a1","zzz":1e400, "type":"message","parentId":null,"timestamp":"2026-01-05T09:01:00.000Z","message":{"content":"\u0041","role":"user"}}"#.into();
    let test_dir = TestDir::with(&lines);
    let path: String = [0, 1, 2, 4, 5, 6].iter().map(|at| format!("{}\n", lines[*at])).collect();
    assert_eq!(test_dir.run(&["log", "s.jsonl", "--json"]).ok(), path);
    let first = format!("{}\n", lines[0]);
    assert_eq!(test_dir.run(&["log", "s.jsonl", "--json", "--leaf", "a1"]).ok(), first);
    assert_eq!(test_dir.run(&["log", "s.jsonl", "--json", "--leaf", "none"]).ok(), "");
    assert_eq!(test_dir.run(&["log", "s.jsonl", "--leaf", "none"]).ok(), "");
}

#[test]
fn long_lines_are_cut_at_the_width() {
    let test_dir = TestDir::with(&[user("a1", None, 1, &"日本語".repeat(1000))]);
    let line = test_dir.run(&["log", "s.jsonl"]).ok();
    assert!(line.ends_with("…\n"), "{line}");
    let wide = line.chars().filter(|c| "日本語".contains(*c)).count();
    assert_eq!(line.trim_end().chars().count() + wide, 99, "{line}");
}

#[test]
fn every_type_has_its_words() {
    let test_dir = TestDir::with(&[
        entry("model_change", "a1", None, 1, json!({"provider": "p", "modelId": "m"})),
        entry("thinking_level_change", "a2", Some("a1"), 2, json!({"thinkingLevel": "high"})),
        entry("session_info", "a3", Some("a2"), 3, json!({"name": "Tea"})),
        entry("custom", "a4", Some("a3"), 4, json!({"customType": "todo"})),
        entry("context_edit", "a5", Some("a4"), 5, json!({"targetId": "a1", "replacement": null})),
        entry("label", "a6", Some("a5"), 6, json!({"targetId": "a1"})),
        entry("usage", "a7", Some("a6"), 7, json!({"kind": "title"})),
        entry("compaction", "a8", Some("a7"), 8, json!({"summary": "\n\nSo far"})),
        entry("custom_message", "a9", Some("a8"), 9, json!({"customType": "n", "content": "x"})),
        entry("flux", "b1", Some("a9"), 10, json!({"capacitor": 1})),
        entry("leaf", "b2", Some("b1"), 11, json!({"targetId": "b1"})),
        entry("custom", "b3", Some("b2"), 12, json!({"customType": "end"})),
    ]);
    insta::assert_snapshot!(test_dir.run(&["log", "s.jsonl"]).ok(), @r"
    a1  2026-01-05 09:01:00Z  model_change  p/m
    a2  2026-01-05 09:02:00Z  thinking_level_change  high
    a3  2026-01-05 09:03:00Z  session_info  Tea
    a4  2026-01-05 09:04:00Z  custom      todo
    a5  2026-01-05 09:05:00Z  context_edit  removes a1
    a6  2026-01-05 09:06:00Z  label       cleared on a1
    a7  2026-01-05 09:07:00Z  usage       title
    a8  2026-01-05 09:08:00Z  compaction  So far
    a9  2026-01-05 09:09:00Z  custom_message  n: x
    b1  2026-01-05 09:10:00Z  flux        flux
    b2  2026-01-05 09:11:00Z  leaf        at b1
    b3  2026-01-05 09:12:00Z  custom      end
    ");
}
