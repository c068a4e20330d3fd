//! Tests of Markdown for issues.

use crate::support::{branch, fixture, markdown, of};
use serde_json::json;
use treering::session::Part;
use treering::{Message, Session};

#[test]
fn the_rich_session() {
    let session = fixture("rich.jsonl");
    insta::assert_snapshot!(markdown(&branch("a6"), &session));
}

#[test]
fn thinking_is_left_out_unless_it_is_wanted() {
    let session = fixture("rich.jsonl");
    assert!(!markdown(&branch("a1"), &session).contains("nested scan"));
    let export = branch("a1").thinking(true);
    assert!(markdown(&export, &session).contains("nested scan"));
}

#[test]
fn branches_come_one_after_the_other() {
    let session = fixture("rich.jsonl");
    let text = markdown(&of(Part::All), &session);
    assert_eq!(text.matches("\n*A branch from `").count(), 3, "{text}");
    assert!(text.contains("*A branch from `a3`:*"));
}

#[test]
fn long_results_are_cut_unless_all_is_wanted() {
    let session = Session::in_memory("/project");
    session.append(Message::user("go")).unwrap();
    let lines: String = (0..500).map(|n| format!("line {n}\n")).collect();
    let result =
        json!({"role": "toolResult", "toolCallId": "t1", "toolName": "bash", "content": lines});
    session.append(Message::from_json(result.to_string().as_bytes()).unwrap()).unwrap();
    let id = session.leaf().unwrap().to_string();
    let short = markdown(&branch(&id), &session);
    assert!(short.contains("line 39\n") && !short.contains("line 40\n"), "{short}");
    assert!(short.contains("*… 460 more lines, "), "{short}");
    let full = markdown(&branch(&id).full(true), &session);
    assert!(full.contains("line 499\n") && !full.contains("left out"));
}
