//! Tests of whole sessions: the header, the turns, the items that Codex sends.

use super::super::record::Record;
use super::*;
use crate::entry::{Kind, Role};

#[test]
fn only_a_rollback_takes_turns_back() {
    let rollback = |turns: Value| {
        rolls_back(&event(&json!({"type": "thread_rolled_back", "num_turns": turns})))
    };
    assert_eq!(rollback(json!(2)), Some(2));
    assert_eq!(rollback(json!(99_999_999_999_u64)), Some(u32::MAX));
    assert_eq!(rollback(json!(-1)), Some(0));
    assert_eq!(rollback(json!(null)), Some(0));
    for kind in ["turn_aborted", "undo_completed", "context_compacted"] {
        assert_eq!(rolls_back(&event(&json!({"type": kind, "num_turns": 2}))), None);
    }
    assert_eq!(rolls_back(&item(&json!({"type": "thread_rolled_back", "num_turns": 2}))), None);
    assert_eq!(rolls_back(b"{}"), None);
}

#[test]
fn turns_begin_with_messages_of_the_user() {
    let starts_a_turn = |role: &str, text: &str| {
        let content = json!([{"type": "input_text", "text": text}]);
        starts_turn(Record::read(&item(
            &json!({"type": "message", "role": role, "content": content}),
        )))
    };
    assert!(starts_a_turn("user", "hello"));
    assert!(starts_a_turn("user", "what does <environment_context> mean?"));
    assert!(!starts_a_turn("assistant", "hello"));
    assert!(!starts_a_turn("developer", "hello"));
    for text in [
        "<environment_context>\n  <cwd>/x</cwd>\n</environment_context>",
        " <USER_INSTRUCTIONS>\nx\n</user_instructions>\n",
        "# AGENTS.md instructions for /x\n\n<INSTRUCTIONS>\nx\n</INSTRUCTIONS>",
        "<turn_aborted>\nx\n</turn_aborted>",
        "<external_tool>x</external_tool>",
        "Warning: The maximum number of unified exec processes you can keep open is 60",
    ] {
        assert!(!starts_a_turn("user", text), "{text}");
    }
    let letter = r#"{"author":"/a","recipient":"/b","content":"x","trigger_turn":true}"#;
    assert!(starts_a_turn("assistant", letter));
    assert!(!starts_turn(Record::read(&event(
        &json!({"type": "user_message", "message": "hello"})
    ))));
}

#[test]
fn the_header_says_who_the_session_is() {
    let meta = json!({"id": "s", "timestamp": "2026-01-05T09:00:20.226Z", "cwd": "/p",
        "parent_thread_id": "above"});
    let record = envelope("session_meta", &meta);
    let header = Codex.header(&record).unwrap();
    assert_eq!((header.id.as_str(), &*header.cwd), ("s", "/p"));
    assert_eq!(header.timestamp, "2026-01-05T09:00:20.226Z");
    assert_eq!(header.parent_session.as_deref(), Some("above"));
    assert_eq!(header.raw(), record);
    assert!(crate::Dialect::Codex.check_writable(&header).is_err());
    assert_eq!(class(&record), Class::Header);
    let forked = json!({"id": "s", "forked_from_id": "base", "parent_thread_id": "above"});
    let header = Codex.header(&envelope("session_meta", &forked)).unwrap();
    assert_eq!(header.parent_session.as_deref(), Some("base"));
    let source = json!({"subagent": {"thread_spawn": {"parent_thread_id": "boss"}}});
    let spawned = json!({"session_id": "s2", "source": source});
    let header = Codex.header(&envelope("session_meta", &spawned)).unwrap();
    assert_eq!((header.id.as_str(), header.parent_session.as_deref()), ("s2", Some("boss")));
    assert_eq!(Codex.header(&envelope("session_meta", &json!({}))), None);
    assert_eq!(Codex.header(&item(&json!({"id": "s"}))), None);
}

#[test]
fn a_rollout_is_known_by_its_first_record() {
    let bare = br#"{"id":"s","timestamp":"2026-01-05T09:00:20.226Z","instructions":null}"#;
    assert!(looks_like(bare));
    assert!(looks_like(&envelope("session_meta", &json!({"id": "s"}))));
    assert!(looks_like(&event(&json!({"type": "task_started"}))));
    assert!(looks_like(br#"{"record_type":"state"}"#));
    for other in [
        r#"{"type":"session","version":3,"id":"s","timestamp":"t","cwd":"/"}"#,
        r#"{"type":"message","id":"a","parentId":null,"message":{"role":"user"}}"#,
        r#"{"type":"message","role":"user","content":"x"}"#,
        r#"{"id":"s","timestamp":"t","type":"header"}"#,
        r#"{"id":"s","timestamp":"t"}"#,
        r#"{"type":"user","uuid":"u","parentUuid":null}"#,
        "{}",
    ] {
        assert!(!looks_like(other.as_bytes()), "{other}");
    }
}

fn sent(records: Vec<Vec<u8>>) -> Vec<Value> {
    let context =
        Codex.agent_context(&mut crate::dialect::agent::RecordsInMemory(records)).unwrap().unwrap();
    assert!(context.settings.is_empty());
    context.messages.iter().map(|json| serde_json::from_slice(json).unwrap()).collect()
}

fn user(text: &str) -> Value {
    json!({"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]})
}

#[test]
fn codex_sends_its_items_as_they_are() {
    let call =
        json!({"type": "function_call", "name": "n", "arguments": "{}", "call_id": "c", "id": "i"});
    let system = json!({"type": "message", "role": "system", "content": []});
    let path = [&user("a"), &json!({"type": "ghost_snapshot"}), &system, &call].map(item);
    assert_eq!(sent(path.to_vec()), [user("a"), call]);
    let letter = json!({"author": "a", "recipient": "b", "content": "", "trigger_turn": true,
        "encrypted_content": "z"});
    let head = "Message Type: NEW_TASK\nTask name: b\nSender: a\nPayload:\n";
    assert_eq!(
        sent(vec![envelope("inter_agent_communication", &letter)]),
        [json!({"type": "agent_message", "author": "a", "recipient": "b", "content": [
            {"type": "input_text", "text": head},
            {"type": "encrypted_content", "encrypted_content": "z"}]})]
    );
}

#[test]
fn codex_continues_from_the_history_of_the_last_compaction() {
    let compacted = |text: &str| {
        envelope("compacted", &json!({"message": "m", "replacement_history": [user(text)]}))
    };
    let path = vec![item(&user("a")), compacted("b"), item(&user("c")), compacted("d")];
    assert_eq!(sent(path.clone()), [user("d")]);
    let path = [&path[..], &[item(&user("e"))]].concat();
    assert_eq!(sent(path), [user("d"), user("e")]);
}

#[test]
fn an_old_compaction_keeps_messages_of_the_user() {
    let old = |message: &str| envelope("compacted", &json!({"message": message}));
    let context = "<environment_context>x</environment_context>";
    let summary = format!(
        "{}…",
        "Another language model started to solve this problem and produced a summary of its thinking process. You"
    );
    let answer = json!({"type": "message", "role": "assistant", "content": []});
    let path = [&user(context), &user("a"), &answer, &user(&summary)].map(item).to_vec();
    let once = [&path[..], &[old("sum")]].concat();
    assert_eq!(sent(once.clone()), [user("a"), user("sum")]);
    let twice = [&once[..], &[item(&user("b")), old("")]].concat();
    assert_eq!(sent(twice), [user("a"), user("sum"), user("b"), user("(no summary available)")]);
    let sums: Vec<Value> = sent(vec![old("x"); 3]);
    assert_eq!(sums, [user("x"), user("x"), user("x")]);
    let long = "é".repeat(50_000);
    let path = vec![item(&user("lost")), item(&user(&long)), item(&user("abcd")), old("sum")];
    let messages = sent(path);
    assert_eq!(messages.len(), 3);
    let kept = messages[0]["content"][0]["text"].as_str().unwrap();
    // 100 000 bytes, of which 19 999 tokens are left: 79 996.
    assert!(kept.contains("é…5001 tokens truncated…é"), "{}", &kept[39_900..40_100]);
    assert_eq!(kept.len(), 79_996 + "…5001 tokens truncated…".len());
}

#[test]
fn no_record_is_too_odd() {
    let odd = [
        "{}",
        "[]",
        "null",
        "",
        "{",
        "\"x\"",
        "{\"type\":",
        "{\"payload\":{}}",
        r#"{"type":"response_item","payload":{}}"#,
        r#"{"type":"response_item","payload":[]}"#,
        r#"{"type":"response_item","payload":{"type":"message"}}"#,
        r#"{"type":"response_item","payload":{"type":"message","role":"user","content":7}}"#,
        r#"{"type":"response_item","payload":{"type":"message","role":"user","content":"text"}}"#,
        r#"{"type":"response_item","payload":{"type":"reasoning"}}"#,
        r#"{"type":"response_item","payload":{"type":"function_call"}}"#,
        r#"{"type":"response_item","payload":{"type":"function_call_output"}}"#,
        r#"{"type":"response_item","payload":{"type":"web_search_call"}}"#,
        r#"{"type":"response_item","payload":{"type":"agent_message"}}"#,
        r#"{"type":"compacted","payload":{"message":null,"replacement_history":{}}}"#,
        r#"{"type":"event_msg","payload":{"type":"token_count","info":{"last_token_usage":{"input_tokens":1e300,"output_tokens":-3}}}}"#,
    ];
    for record in odd {
        native(record.as_bytes());
        starts_turn(Record::read(record.as_bytes()));
        looks_like(record.as_bytes());
        sent(vec![record.as_bytes().to_vec()]);
    }
    let deep = format!(
        r#"{{"type":"message","role":"user","content":{}1{}}}"#,
        "[".repeat(90_000),
        "]".repeat(90_000)
    );
    Codex.decode(deep.as_bytes());
    assert_eq!(class(deep.as_bytes()), Class::Entry(Kind::Message, Some(Role::User)));
}
