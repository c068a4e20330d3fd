use crate::support::{TestDir, assistant, entry, message, user};
use serde_json::json;

#[test]
fn for_people_every_message_is_a_block() {
    let test_dir = TestDir::with_story();
    insta::assert_snapshot!(test_dir.run(&["context", "s.jsonl"]).ok(), @r#"
    ── user  a1  2026-01-05 09:01:00Z
    What is here?
    Be brief.

    ── assistant  a2  2026-01-05 09:02:00Z
    Let me see.
    → bash {"command":"ls -l"}

    ── toolResult bash  a3  2026-01-05 09:03:00Z
    total 0
    nothing

    ── branchSummary  b2  2026-01-05 09:05:00Z
    Said nothing.

    ── user  b4  2026-01-05 09:07:00Z
    Look again.

    5 messages, model acme/m1, thinking off
    "#);
}

#[test]
fn as_json_it_is_one_object() {
    let test_dir = TestDir::with_story();
    let context = &test_dir.run(&["context", "s.jsonl", "--json"]).json()[0];
    let roles: Vec<&str> = context["messages"]
        .as_array()
        .unwrap()
        .iter()
        .map(|m| m["role"].as_str().unwrap())
        .collect();
    assert_eq!(roles, ["user", "assistant", "toolResult", "branchSummary", "user"]);
    assert_eq!(context["thinkingLevel"], "off");
    assert_eq!(context["model"], json!({"provider": "acme", "modelId": "m1"}));
}

#[test]
fn messages_keep_their_bytes_but_for_those_that_are_not_utf8() {
    let test_dir = TestDir::with(&[]);
    let odd = b"{\"type\":\"message\",\"id\":\"a1\",\"parentId\":null,\"timestamp\":\"2026-01-05T09:00:00.000Z\",\
                \"message\":{\"role\":\"user\",  \"content\":\"\xff\\ud800\",\"n\":1e400}}\n";
    let bytes = [test_dir.read("s.jsonl").as_bytes(), odd].concat();
    test_dir.write("s.jsonl", &bytes);
    let output = test_dir.command(&["context", "s.jsonl", "--json"]).output().unwrap();
    let expected =
        b"{\"messages\":[{\"role\":\"user\",  \"content\":\"\\ufffd\\ud800\",\"n\":1e400}],\
                     \"thinkingLevel\":\"off\",\"model\":null}\n";
    assert_eq!(output.stdout, expected);
}

#[test]
fn from_another_leaf() {
    let test_dir = TestDir::with_story();
    let count = |leaf: &str| {
        let context = &test_dir.run(&["context", "s.jsonl", "--json", "--leaf", leaf]).json()[0];
        context["messages"].as_array().unwrap().len()
    };
    assert_eq!((count("b1"), count("a1"), count("none")), (4, 1, 0));
    let nothing = test_dir.run(&["context", "s.jsonl", "--leaf", "none"]).ok();
    assert_eq!(nothing, "0 messages, no model, thinking off\n");
}

#[test]
fn for_a_provider_summaries_are_user_text() {
    let test_dir = TestDir::with_story();
    let context = &test_dir.run(&["context", "s.jsonl", "--llm", "--json"]).json()[0];
    let summary = &context["messages"][3];
    assert_eq!(summary["role"], "user");
    let text = summary["content"][0]["text"].as_str().unwrap();
    assert!(text.contains("Said nothing."), "{text}");
    assert_eq!(context["model"]["modelId"], "m1");
}

#[test]
fn strict_pairing_repairs_and_reports_it() {
    let test_dir = TestDir::with_story();
    let args = ["context", "s.jsonl", "--leaf", "a2", "--llm", "--json"];
    let raw = test_dir.run(&args).ok();
    assert!(!raw.contains("toolResult"), "{raw}");

    let strict = test_dir.run(&[&args[..], &["--strict"]].concat());
    assert_eq!(strict.code, 0);
    assert!(
        strict.stdout.contains(r#""role":"toolResult","toolCallId":"t1""#),
        "{}",
        strict.stdout
    );
    let warning = "warning: entry a2: tool call t1 has no result: an error result was added\n";
    assert_eq!(strict.stderr, warning);
}

#[test]
fn every_kind_of_content_has_its_words() {
    let bash =
        json!({"role": "bashExecution", "command": "make", "output": "oh no\n", "exitCode": 2});
    let stopped = json!({"role": "assistant", "provider": "p", "model": "m", "stopReason": "error",
                         "errorMessage": "overloaded", "content": [
                             {"type": "thinking", "thinking": "Hm.\nWell."},
                             {"type": "image", "data": "AAAABBBB", "mimeType": "image/png"},
                             {"type": "hologram", "x": 1}]});
    let failed = json!({"role": "toolResult", "toolCallId": "t", "toolName": "edit", "isError": true,
                        "content": [{"type": "text", "text": "no such file"}]});
    let custom = json!({"customType": "note", "content": "remember", "display": true});
    let test_dir = TestDir::with(&[
        message("a1", None, 1, bash),
        message("a2", Some("a1"), 2, stopped),
        message("a3", Some("a2"), 3, failed),
        entry("custom_message", "a4", Some("a3"), 4, custom),
    ]);
    insta::assert_snapshot!(test_dir.run(&["context", "s.jsonl"]).ok(), @r#"
    ── bashExecution  a1  2026-01-05 09:01:00Z
    $ make
    oh no
    (exit code 2)

    ── assistant  a2  2026-01-05 09:02:00Z
    (thinking) Hm.
    [image image/png, 6 B]
    {"type":"hologram","x":1}
    (error: overloaded)

    ── toolResult edit  a3  2026-01-05 09:03:00Z
    (failed)
    no such file

    ── custom note  a4  2026-01-05 09:04:00Z
    remember

    4 messages, model p/m, thinking off
    "#);
}

#[test]
fn compactions_stand_for_what_they_replace() {
    let compaction = json!({"summary": "Talked.", "firstKeptEntryId": "a2", "tokensBefore": 9});
    let test_dir = TestDir::with(&[
        user("a1", None, 1, "one"),
        assistant("a2", "a1", 2, json!([{"type": "text", "text": "two"}])),
        entry("compaction", "c1", Some("a2"), 3, compaction),
    ]);
    insta::assert_snapshot!(test_dir.run(&["context", "s.jsonl"]).ok(), @"
    ── compactionSummary  c1  2026-01-05 09:03:00Z
    Talked.

    ── assistant  a2  2026-01-05 09:02:00Z
    two

    2 messages, model acme/m1, thinking off
    ");
}
