use crate::support::{TestDir, assistant, entry, user};
use serde_json::json;

fn text(text: &str) -> serde_json::Value {
    json!([{"type": "text", "text": text}])
}

#[test]
fn what_a_branch_left_behind_is_abandoned() {
    let test_dir = TestDir::with(&[
        user("a1", None, "word one"),
        assistant("a2", "a1", text("word two")),
        user("a3", Some("a2"), "word three"),
        assistant("a4", "a3", text("further on")),
        entry("label", "l1", Some("a4"), json!({"targetId": "a3", "label": "word label"})),
        user("b1", Some("a1"), "word four"),
    ]);
    assert_eq!(
        test_dir.hits("word"),
        [
            "a1 active text: [word] one",
            "a2 abandoned(a4) text: [word] two",
            "a3 abandoned(a4) text: [word] three",
            "l1 abandoned(l1) label: [word] label",
            "b1 active text: [word] four",
        ]
    );
}

#[test]
fn the_leaf_that_the_file_names_decides() {
    let test_dir = TestDir::with(&[
        user("a1", None, "word"),
        assistant("a2", "a1", text("word")),
        entry("leaf", "f1", Some("a1"), json!({"targetId": "a1"})),
    ]);
    assert_eq!(test_dir.hits("word"), ["a1 active text: [word]", "a2 abandoned(a2) text: [word]"]);
    let nowhere = TestDir::with(&[
        user("a1", None, "word"),
        entry("leaf", "f1", None, json!({"targetId": null})),
    ]);
    assert_eq!(nowhere.hits("word"), ["a1 abandoned(a1) text: [word]"]);
}

#[test]
fn entries_that_a_compaction_replaces_are_compacted_away() {
    let test_dir = TestDir::with(&[
        user("a1", None, "word before"),
        assistant("a2", "a1", text("word before")),
        user("a3", Some("a2"), "word kept"),
        entry(
            "compaction",
            "c1",
            Some("a3"),
            json!({"summary": "word in sum", "firstKeptEntryId": "a3"}),
        ),
        user("a4", Some("c1"), "word after"),
        user("b1", Some("a1"), "word elsewhere"),
        entry("leaf", "f1", Some("a4"), json!({"targetId": "a4"})),
    ]);
    assert_eq!(
        test_dir.hits("word"),
        [
            "a1 compacted text: [word] before",
            "a2 compacted text: [word] before",
            "a3 active text: [word] kept",
            "c1 active summary: [word] in sum",
            "a4 active text: [word] after",
            "b1 abandoned(b1) text: [word] elsewhere",
        ]
    );
}

#[test]
fn what_a_context_edit_took_out_is_edited() {
    let test_dir = TestDir::with(&[
        user("a1", None, "word one"),
        user("a2", Some("a1"), "word two"),
        user("a3", Some("a2"), "word three"),
        entry("context_edit", "x1", Some("a3"), json!({"targetId": "a1", "replacement": null})),
        entry(
            "context_edit",
            "x2",
            Some("x1"),
            json!({"targetId": "a2", "replacement": {"content": "word instead"}}),
        ),
    ]);
    assert_eq!(
        test_dir.hits("word"),
        [
            "a1 edited text: [word] one",
            "a2 edited text: [word] two",
            "a3 active text: [word] three",
            "x2 active text: [word] instead",
        ]
    );
}
