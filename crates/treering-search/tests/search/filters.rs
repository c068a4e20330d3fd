use crate::support::{TestDir, assistant, call, entry, message, session, sessions, user};
use serde_json::json;

fn test_dir() -> TestDir {
    TestDir::with(&[
        user("a1", None, "list the parser"),
        assistant(
            "a2",
            "a1",
            json!([{"type": "text", "text": "parser"}, call("t1", "Bash", json!({"command": "ls parser"})),
                   call("t2", "read", json!({"path": "src/parser.rs"}))]),
        ),
        message(
            "a3",
            Some("a2"),
            json!({"role": "toolResult", "toolCallId": "t1", "content": [{"type": "text", "text": "parser.rs"}]}),
        ),
        message(
            "a4",
            Some("a3"),
            json!({"role": "toolResult", "toolCallId": "t2", "toolName": "read", "content": [{"type": "text", "text": "fn parser"}]}),
        ),
        message(
            "a5",
            Some("a4"),
            json!({"role": "bashExecution", "command": "cat parser", "output": "x", "exitCode": 0}),
        ),
        entry(
            "compaction",
            "c1",
            Some("a5"),
            json!({"summary": "parser sum", "firstKeptEntryId": "a5", "details": {"readFiles": ["doc/notes.md"], "modifiedFiles": []}}),
        ),
        entry("label", "l1", Some("c1"), json!({"targetId": "a3", "label": "Parser try"})),
        entry("session_info", "n1", Some("l1"), json!({"name": "The parser"})),
    ])
}

#[test]
fn roles_choose_entries() {
    let test_dir = test_dir();
    assert_eq!(test_dir.ids("parser"), "a1 a2 a3 a4 a5 c1 l1 n1");
    assert_eq!(test_dir.ids("parser role:user"), "a1");
    assert_eq!(test_dir.ids("parser role:user role:tool"), "a1 a3 a4");
    assert_eq!(test_dir.ids("parser role:bash"), "a5");
    assert_eq!(test_dir.ids("parser role:summary"), "c1");
    assert_eq!(test_dir.ids("parser role:label role:name"), "l1 n1");
    assert_eq!(test_dir.ids("role:assistant"), "a2");
    assert_eq!(test_dir.ids("parser role:system"), "");
}

#[test]
fn tools_choose_calls_and_their_results() {
    let test_dir = test_dir();
    assert_eq!(test_dir.ids("tool:bash"), "a2 a3 a5");
    assert_eq!(test_dir.ids("tool:read parser"), "a2 a4");
    assert_eq!(test_dir.ids("tool:read ls"), "", "said by another call of the same entry");
    assert_eq!(test_dir.ids("tool:r*"), "a2 a4");
    assert_eq!(test_dir.ids("tool:bash role:tool"), "a3");
}

#[test]
fn labels_and_files_choose_sessions_and_are_hits_without_a_text() {
    let test_dir = test_dir();
    assert_eq!(test_dir.ids("label:\"parser try\""), "a3");
    assert_eq!(test_dir.ids("label:parser cat"), "a5");
    assert_eq!(test_dir.ids("label:elsewhere cat"), "");
    assert_eq!(test_dir.ids("file:parser.rs"), "a2");
    assert_eq!(test_dir.ids("file:/home/me/web/src/parser.rs file:notes.md"), "a2 c1");
    assert_eq!(test_dir.ids("file:parser.rs file:other.rs"), "");
    assert_eq!(test_dir.ids("file:parser.rs cat"), "a5");
    assert_eq!(test_dir.ids("file:elsewhere.rs cat"), "");
}

#[test]
fn agent_project_and_time_choose_sessions() {
    let test_dir = test_dir();
    assert_eq!(test_dir.ids("agent:pi cat"), "a5");
    assert_eq!(test_dir.ids("agent:codex cat"), "");
    assert_eq!(test_dir.ids("project:Me/web cat"), "a5");
    assert_eq!(test_dir.ids("project:elsewhere cat"), "");
    assert_eq!(test_dir.ids("since:2026-01-05 cat"), "a5");
    assert_eq!(test_dir.ids("since:2026-01-06 cat"), "");
    let alone = sessions([test_dir.file("s.jsonl")], "agent:pi project:web");
    assert_eq!((alone.len(), alone[0].total, alone[0].hits.len()), (1, 0, 0));
}

#[test]
fn a_name_outside_of_the_entries_is_found() {
    let slot = r#"{"type":"title","v":1,"title":"The needle","updatedAt":"2026-01-05T09:00:00.000Z","pad":""}"#;
    let pad = " ".repeat(255 - slot.len());
    let slot = slot.replace("\"pad\":\"", &format!("\"pad\":\"{pad}"));
    let test_dir = TestDir::empty();
    let path = test_dir.write("s.jsonl", format!("{slot}\n{}", session(&[user("a1", None, "x")])));
    assert_eq!(test_dir.hits("needle"), [" active name: The [needle]"]);
    assert_eq!(sessions([path], "needle")[0].info.name.as_deref(), Some("The needle"));
    assert_eq!(test_dir.ids("needle role:user"), "");
}
