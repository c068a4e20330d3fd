use crate::support::{TestDir, entry, message, story, user};
use serde_json::json;

#[test]
fn for_people_runs_are_flat_and_branches_are_indented() {
    let test_dir = TestDir::with_story();
    insta::assert_snapshot!(test_dir.run(&["tree", "s.jsonl"]).ok(), @r"
    • a1 user       What is here?
    • a2 assistant  Let me see.
    • a3 toolResult [bash: ls -l]
    ├─   b1 assistant  [first try] Nothing.
    • b2 branch_summary Said nothing.
    • b4 user       Look again. ← leaf
    ");
    let all = test_dir.run(&["tree", "s.jsonl", "--all"]).ok();
    assert!(all.contains("• b3 label      [first try] on b1\n"), "{all}");
}

#[test]
fn moves_of_the_leaf_are_shown_by_their_effect() {
    let mut lines = story();
    lines.push(entry("leaf", "c1", Some("a2"), 8, json!({"targetId": "a2"})));
    let test_dir = TestDir::with(&lines);
    let tree = test_dir.run(&["tree", "s.jsonl"]).ok();
    assert!(!tree.contains("c1"), "{tree}");
    assert!(tree.contains("• a2 assistant  Let me see. ← leaf\n  a3"), "{tree}");

    lines.push(entry("leaf", "c2", None, 9, json!({"targetId": null})));
    let tree = TestDir::with(&lines).run(&["tree", "s.jsonl"]).ok();
    assert!(tree.starts_with("(before the first entry) ← leaf\n  a1"), "{tree}");
    assert!(!tree.contains('•'), "{tree}");
}

#[test]
fn a_leaf_that_is_not_shown_is_marked_at_the_entry_above() {
    let mut lines = story();
    lines.push(entry("label", "c1", Some("b4"), 8, json!({"targetId": "a1", "label": "start"})));
    let tree = TestDir::with(&lines).run(&["tree", "s.jsonl"]).ok();
    assert!(tree.starts_with("• a1 user       [start] What is here?\n"), "{tree}");
    assert!(tree.ends_with("• b4 user       Look again. ← leaf\n"), "{tree}");
}

#[test]
fn as_json_every_entry_is_an_object() {
    let mut lines = story();
    lines.push(entry("flux", "c1", Some("b3"), 8, json!({})));
    lines.push(message("c2", Some("c1"), 9, json!({"role": "oracle", "content": "soon"})));
    lines.push(entry("leaf", "c3", Some("b4"), 10, json!({"targetId": "b4"})));
    let shown = TestDir::with(&lines).run(&["tree", "s.jsonl", "--json"]).ok();
    let mut heads = String::new();
    for line in shown.lines() {
        let (head, record) = line.split_once(",\"sidechain\":false,\"record\":").unwrap();
        heads += &format!("{head}\n");
        // The file contains exactly this record.
        assert!(lines.iter().any(|line| *line == record.strip_suffix('}').unwrap()), "{record}");
    }
    insta::assert_snapshot!(heads, @r#"
    {"id":"a1","parentId":null,"depth":0,"type":"message","role":"user","label":null,"active":true,"leaf":false,"mergedFrom":null
    {"id":"a2","parentId":"a1","depth":1,"type":"message","role":"assistant","label":null,"active":true,"leaf":false,"mergedFrom":null
    {"id":"a3","parentId":"a2","depth":2,"type":"message","role":"toolResult","label":null,"active":true,"leaf":false,"mergedFrom":null
    {"id":"b1","parentId":"a3","depth":3,"type":"message","role":"assistant","label":"first try","active":false,"leaf":false,"mergedFrom":null
    {"id":"b2","parentId":"a3","depth":3,"type":"branch_summary","role":null,"label":null,"active":true,"leaf":false,"mergedFrom":null
    {"id":"b3","parentId":"b2","depth":4,"type":"label","role":null,"label":null,"active":true,"leaf":false,"mergedFrom":null
    {"id":"b4","parentId":"b3","depth":5,"type":"message","role":"user","label":null,"active":true,"leaf":true,"mergedFrom":null
    {"id":"c3","parentId":"b4","depth":6,"type":"leaf","role":null,"label":null,"active":false,"leaf":false,"mergedFrom":null
    {"id":"c1","parentId":"b3","depth":5,"type":"flux","role":null,"label":null,"active":false,"leaf":false,"mergedFrom":null
    {"id":"c2","parentId":"c1","depth":6,"type":"message","role":"oracle","label":null,"active":false,"leaf":false,"mergedFrom":null
    "#);
}

#[test]
fn json_strings_are_json_whatever_is_in_them() {
    let odd = "a\"b\\c\n\u{1}\u{7f}é";
    let label = json!({"targetId": odd, "label": odd});
    let test_dir =
        TestDir::with(&[user(odd, None, 1, "x"), entry("label", "b", Some(odd), 2, label)]);
    let tree = test_dir.run(&["tree", "s.jsonl", "--json"]).json();
    assert_eq!((&tree[0]["id"], &tree[0]["label"]), (&json!(odd), &json!(odd)));
    assert_eq!(tree[1]["parentId"], odd);
}

#[test]
fn quiet_prints_nothing() {
    assert_eq!(TestDir::with_story().run(&["tree", "s.jsonl", "--quiet"]).ok(), "");
}

#[test]
fn without_entries_there_is_still_a_leaf() {
    let test_dir = TestDir::with(&[]);
    assert_eq!(test_dir.run(&["tree", "s.jsonl"]).ok(), "(no entries yet) ← leaf\n");
    assert_eq!(test_dir.run(&["tree", "s.jsonl", "--json"]).ok(), "");
}

#[test]
fn a_long_chain_is_no_problem() {
    let mut lines = vec![user("n0", None, 0, "start")];
    for at in 1..20_000 {
        lines.push(user(&format!("n{at}"), Some(&format!("n{}", at - 1)), 1, "on"));
    }
    let test_dir = TestDir::with(&lines);
    let tree = test_dir.run(&["tree", "s.jsonl"]).ok();
    assert_eq!(tree.lines().count(), 20_000);
    assert!(tree.ends_with("• n19999 user       on ← leaf\n"), "{}", &tree[tree.len() - 200..]);
}
