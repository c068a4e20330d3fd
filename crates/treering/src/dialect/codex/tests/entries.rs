//! Tests of every kind of record as an entry.

use super::super::record::Record;
use super::*;
use crate::entry::Kind;

#[test]
fn messages_keep_their_roles() {
    let message_of = |role: &str, block: Value| {
        message(&item(&json!({"type": "message", "role": role, "content": [block]})))
    };
    assert_eq!(
        message_of("user", json!({"type": "input_text", "text": "hi"})),
        json!({"role": "user", "content": [{"type": "text", "text": "hi"}]})
    );
    assert_eq!(
        message_of("assistant", json!({"type": "output_text", "text": "ho"})),
        json!({"role": "assistant", "content": [{"type": "text", "text": "ho"}], "stopReason": "stop"})
    );
    for role in ["developer", "system"] {
        assert_eq!(
            message_of(role, json!({"type": "input_text", "text": "obey"})),
            json!({"role": "system", "content": "obey"})
        );
    }
    assert_eq!(message_of("critic", json!({"type": "x"}))["role"], "critic");
}

#[test]
fn instructions_in_parts_are_one_text_unless_they_are_more_than_text() {
    let part = json!({"type": "input_text", "text": "a"});
    let image = json!({"type": "input_image", "image_url": "data:image/png;base64,QUJD"});
    let content = |parts: Value| {
        message(&item(&json!({"type": "message", "role": "developer", "content": parts})))["content"]
            .clone()
    };
    assert_eq!(content(json!([part, part])), json!("a\n\na"));
    assert_eq!(content(json!([part, image])).as_array().unwrap().len(), 2);
}

#[test]
fn images_are_taken_out_of_their_urls() {
    let block = |url: Value| {
        let block = json!({"type": "input_image", "image_url": url, "detail": "auto"});
        let content = json!({"type": "message", "role": "user", "content": [block]});
        message(&item(&content))["content"][0].clone()
    };
    let image = json!({"type": "image", "data": "QUJD", "mimeType": "image/webp"});
    assert_eq!(block(json!("data:image/webp;base64,QUJD")), image);
    assert_eq!(block(json!("data:image/webp;charset=x;base64,QUJD")), image);
    // An image that is not in the record cannot be shown, but its block is kept.
    for url in [json!("https://example.invalid/a.png"), json!("data:text/plain,x"), json!(null)] {
        assert_eq!(block(url.clone())["image_url"], url);
    }
}

#[test]
fn texts_are_copied_byte_for_byte() {
    let record = br#"{"type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"\ud800 \u00e9 \/"}]}}"#;
    let Decoded { entry, .. } = Codex.decode(record);
    let expected =
        br#","message":{"role":"user","content":[{"type":"text","text":"\ud800 \u00e9 \/"}]}"#;
    assert_eq!(entry.fields, expected);
}

#[test]
fn reasoning_is_thinking() {
    let summary =
        json!([{"type": "summary_text", "text": "one"}, {"type": "summary_text", "text": "two"}]);
    let thought = json!({"type": "reasoning", "summary": summary, "encrypted_content": "xyz"});
    assert_eq!(
        message(&item(&thought))["content"],
        json!([{"type": "thinking", "thinking": "one\n\ntwo", "thinkingSignature": "xyz"}])
    );
    let content = json!([{"type": "reasoning_text", "text": "raw"}]);
    let thought =
        json!({"type": "reasoning", "summary": [], "content": content, "encrypted_content": null});
    assert_eq!(
        message(&item(&thought))["content"],
        json!([{"type": "thinking", "thinking": "raw"}])
    );
}

#[test]
fn calls_always_have_an_object_of_arguments() {
    let call = |payload: Value| {
        let message = message(&item(&payload));
        assert_eq!(message["stopReason"], "toolUse");
        message["content"][0].clone()
    };
    let function = |arguments: Value| {
        let payload =
            json!({"type": "function_call", "name": "sh", "arguments": arguments, "call_id": "c"});
        call(payload)["arguments"].clone()
    };
    assert_eq!(function(json!("{\"cmd\":\n [\"ls\"]}")), json!({"cmd": ["ls"]}));
    assert_eq!(function(json!("{\"cmd\"")), json!({"input": "{\"cmd\""}));
    assert_eq!(function(json!("[1]")), json!({"input": "[1]"}));
    assert_eq!(function(json!("")), json!({}));
    assert_eq!(function(json!(null)), json!({}));
    assert_eq!(
        call(json!({"type": "custom_tool_call", "name": "patch", "input": "{}", "call_id": "c"})),
        json!({"type": "toolCall", "id": "c", "name": "patch", "arguments": {"input": "{}"}})
    );
    let action = json!({"type": "exec", "command": ["ls"]});
    assert_eq!(
        call(json!({"type": "local_shell_call", "id": "i", "call_id": null, "action": action})),
        json!({"type": "toolCall", "id": "i", "name": "local_shell", "arguments": action})
    );
    let search = json!({"query": "q"});
    assert_eq!(
        call(json!({"type": "tool_search_call", "call_id": "s", "arguments": search})),
        json!({"type": "toolCall", "id": "s", "name": "tool_search", "arguments": search})
    );
}

#[test]
fn numbers_in_arguments_are_not_rewritten() {
    let record = br#"{"type":"function_call","name":"n","arguments":"{\"n\":[1e400,-0.0,12345678901234567890]}","call_id":"c"}"#;
    let Decoded { entry, .. } = Codex.decode(record);
    let needle: &[u8] = br#""arguments":{"n":[1e400,-0.0,12345678901234567890]}"#;
    assert!(memchr::memmem::find(&entry.fields, needle).is_some());
}

#[test]
fn what_the_provider_answered_itself_has_its_result() {
    let search = json!({"type": "web_search_call", "id": "ws", "status": "failed",
        "action": {"type": "search", "query": "q"}});
    let image = json!({"type": "image_generation_call", "id": "ig", "status": "completed",
        "revised_prompt": "a cat", "result": "QUJD"});
    let results = |payload: &Value| {
        let Decoded { more, .. } = Codex.decode(&item(payload));
        let mut values: Vec<Value> =
            more.iter().map(|json| serde_json::from_slice(json).unwrap()).collect();
        assert_eq!(values.len(), 1);
        values.remove(0)
    };
    assert_eq!(message(&item(&search))["content"][0]["arguments"]["query"], "q");
    let result = results(&search);
    assert_eq!((&result["toolCallId"], &result["isError"]), (&json!("ws"), &json!(true)));
    assert_eq!(message(&item(&image))["content"][0]["arguments"], json!({"prompt": "a cat"}));
    let picture = json!([{"type": "image", "data": "QUJD", "mimeType": "image/png"}]);
    let result = results(&image);
    assert_eq!((&result["content"], &result["isError"]), (&picture, &json!(false)));
}

#[test]
fn outputs_of_every_shape_are_results() {
    let output = |output: Value| {
        let payload = json!({"type": "function_call_output", "call_id": "c", "output": output});
        let mut result = message(&item(&payload));
        assert_eq!((&result["role"], &result["toolCallId"]), (&json!("toolResult"), &json!("c")));
        (result["content"].take(), result["isError"] == true)
    };
    let text = |text: &str| json!([{"type": "text", "text": text}]);
    let command = |code: i32| json!({"output": "x", "metadata": {"exit_code": code}}).to_string();
    assert_eq!(output(json!("clean")), (text("clean"), false));
    assert_eq!(output(json!(command(0))), (text("x"), false));
    assert_eq!(output(json!(command(2))), (text("x"), true));
    assert_eq!(output(json!("{\"output\":\"x\"}")), (text("{\"output\":\"x\"}"), false));
    assert_eq!(output(json!({"type": "input_text", "text": "t"})), (text("t"), false));
    assert_eq!(output(json!({"content": "t", "success": false})), (text("t"), true));
    assert_eq!(output(json!([{"type": "input_text", "text": "t"}])), (text("t"), false));
    assert_eq!(output(json!(null)), (json!([]), false));
    for (printed, failed) in [
        ("Exit code: 1\nWall time: 1 seconds\nOutput:\n", true),
        ("Exit code: 0\nWall time: 1 seconds\nOutput:\nExit code: 1", false),
        ("Chunk ID: a\nWall time: 1 seconds\nProcess exited with code 7\nOutput:\n", true),
        ("Chunk ID: a\nOutput:\nProcess exited with code 1", false),
        ("the log says\nExit code: 1", false),
    ] {
        assert_eq!(output(json!(printed)), (text(printed), failed), "{printed}");
    }
    let found = json!({"type": "tool_search_output", "call_id": "c", "tools": [{"name": "t"}]});
    assert_eq!(message(&item(&found))["content"], text("[{\"name\":\"t\"}]"));
}

#[test]
fn letters_between_agents_are_messages_to_the_model() {
    let content = json!([{"type": "input_text", "text": "do it"}]);
    let sent = json!({"type": "agent_message", "author": "/lead", "recipient": "/lead/a",
        "content": content});
    let stored = json!({"author": "/lead", "recipient": "/lead/a", "content": "do it",
        "trigger_turn": true});
    for record in [item(&sent), envelope("inter_agent_communication", &stored)] {
        let entry = native(&record);
        assert_eq!(entry["type"], "custom_message");
        assert_eq!(entry["customType"], "agent_message");
        assert_eq!(entry["content"], json!([{"type": "text", "text": "do it"}]));
        assert_eq!(entry["details"], json!({"author": "/lead", "recipient": "/lead/a"}));
        assert!(starts_turn(Record::read(&record)));
    }
    let sealed = json!({"author": "a", "recipient": "b", "content": "", "trigger_turn": false,
        "encrypted_content": "zzz"});
    let entry = native(&envelope("inter_agent_communication", &sealed));
    assert_eq!(entry["content"][0]["encrypted_content"], "zzz");
}

#[test]
fn items_that_are_not_for_the_model_are_kept_whole() {
    for kind in ["ghost_snapshot", "compaction", "label", "session", "tomorrow", "token_count"] {
        let payload = json!({"type": kind, "id": "x", "n": 1});
        let record = item(&payload);
        assert_eq!(class(&record), Class::Entry(Kind::Custom, None));
        let name = format!("codex.{kind}");
        assert_eq!(native(&record), json!({"type": "custom", "customType": name, "data": payload}));
    }
}

#[test]
fn a_turn_that_names_its_model_changes_it() {
    let record = envelope("turn_context", &json!({"cwd": "/", "model": "gpt-5"}));
    assert_eq!(
        native(&record),
        json!({"type": "model_change", "provider": "openai", "modelId": "gpt-5"})
    );
    for payload in [json!({"cwd": "/"}), json!({"model": null}), json!({"model": ""})] {
        assert_eq!(class(&envelope("turn_context", &payload)), Class::Side);
    }
}

#[test]
fn a_compaction_keeps_nothing_but_its_summary() {
    let message_item = |role: &str, text: &str| json!({"type": "message", "role": role, "content": [{"type": "input_text", "text": text}]});
    let history =
        json!([message_item("user", "a"), {"type": "compaction"}, message_item("assistant", "b")]);
    let compacted = |message: &str| {
        native(&envelope("compacted", &json!({"message": message, "replacement_history": history})))
    };
    assert_eq!(
        compacted("short"),
        json!({"type": "compaction", "summary": "short", "firstKeptEntryId": "", "tokensBefore": 0,
            "details": {"replacement_history": history}})
    );
    assert_eq!(compacted("")["summary"], "user: a\n\nassistant: b");
    let bare = native(&envelope("compacted", &json!({"message": "old"})));
    assert_eq!((&bare["summary"], bare.get("details")), (&json!("old"), None));
}

#[test]
fn tokens_are_counted_once_and_without_what_the_cache_gave() {
    let last = json!({"input_tokens": 100, "cached_input_tokens": 60, "output_tokens": 7,
        "reasoning_output_tokens": 3, "total_tokens": 107});
    let info = json!({"last_token_usage": last, "total_token_usage": {"total_tokens": 500}});
    let record = event(&json!({"type": "token_count", "info": info}));
    let entry = native(&record);
    assert_eq!(entry["type"], "usage");
    assert_eq!(entry["usage"]["input"], 40);
    assert_eq!(entry["usage"]["cacheRead"], 60);
    assert_eq!(entry["usage"]["output"], 7);
    assert_eq!(entry["usage"]["totalTokens"], 107);
    assert_eq!(entry["details"], info);
    let nothing = event(&json!({"type": "token_count", "info": null}));
    assert_eq!(class(&nothing), Class::Side);
}

#[test]
fn repeated_messages_count_once() {
    for kind in ["user_message", "agent_message", "agent_reasoning", "turn_aborted", "new_one"] {
        assert_eq!(class(&event(&json!({"type": kind, "message": "hi"}))), Class::Side);
    }
    for kind in ["world_state", "inter_agent_communication_metadata", "tomorrow"] {
        assert_eq!(class(&envelope(kind, &json!({"model": "m"}))), Class::Side);
    }
    for bare in [
        r#"{"record_type":"state","id":"s","timestamp":"t"}"#,
        r#"{"type":"tomorrow"}"#,
        "{}",
        r#"{"type":1}"#,
    ] {
        assert_eq!(class(bare.as_bytes()), Class::Side, "{bare}");
    }
}
