//! Messages for a provider: the exact texts, and calls paired with results.

use crate::support::{compaction, entry, file, open, user};
use serde_json::{Value, json};
use treering::provider::{ContextRepair, LlmContext, Pairing};

fn llm(lines: &[String], pairing: Pairing) -> LlmContext {
    open(file(lines)).context().unwrap().to_llm(pairing)
}

fn values(llm: &LlmContext) -> Vec<Value> {
    llm.messages.iter().map(|message| serde_json::from_slice(&message.json).unwrap()).collect()
}

fn message(id: &str, parent: Option<&str>, json: &Value) -> String {
    entry("message", id, parent, &format!(",\"message\":{json}"))
}

/// Returns the text of the only message that a single entry becomes.
fn text(json: Value) -> String {
    let all = values(&llm(&[message("a", None, &json)], Pairing::Raw));
    assert_eq!((all.len(), &all[0]["role"]), (1, &json!("user")));
    assert_eq!(all[0]["content"][0]["type"], "text");
    all[0]["content"][0]["text"].as_str().unwrap().to_owned()
}

#[test]
fn a_compaction_summary() {
    let lines = [user("a", None), compaction("c", Some("a"), "c")];
    let expected = "The conversation history before this point was compacted into the following summary:\n\n\
                    <summary>\nwhat was\n</summary>";
    assert_eq!(
        values(&llm(&lines, Pairing::Raw)),
        [
            json!({"role":"user","content":[{"type":"text","text":expected}],"timestamp":1_767_603_620_226_i64})
        ]
    );
}

#[test]
fn a_branch_summary() {
    let lines = [entry("branch_summary", "b", None, r#","fromId":"x","summary":"what was tried""#)];
    let expected = "The following is a summary of a branch that this conversation came back from:\n\n\
                    <summary>\nwhat was tried</summary>";
    assert_eq!(values(&llm(&lines, Pairing::Raw))[0]["content"][0]["text"], expected);
}

#[test]
fn shell_commands() {
    let bash = |more: Value| {
        let mut message = json!({"role":"bashExecution","command":"ls -l","output":"a\nb","exitCode":0,
                                 "cancelled":false,"truncated":false});
        message.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        text(message)
    };
    assert_eq!(bash(json!({})), "Ran `ls -l`\n```\na\nb\n```");
    assert_eq!(bash(json!({"output":""})), "Ran `ls -l`\n(no output)");
    assert_eq!(
        bash(json!({"exitCode":2})),
        "Ran `ls -l`\n```\na\nb\n```\n\nCommand exited with code 2"
    );
    assert_eq!(bash(json!({"exitCode":null})), "Ran `ls -l`\n```\na\nb\n```");
    assert_eq!(
        bash(json!({"cancelled":true,"exitCode":130})),
        "Ran `ls -l`\n```\na\nb\n```\n\n(command cancelled)"
    );
    let cut = json!({"truncated":true,"fullOutputPath":"/logs/full"});
    assert_eq!(
        bash(cut),
        "Ran `ls -l`\n```\na\nb\n```\n\n[Output truncated. Full output: /logs/full]"
    );
    assert_eq!(bash(json!({"truncated":true})), "Ran `ls -l`\n```\na\nb\n```");
    assert_eq!(bash(json!({"fullOutputPath":"/logs/full"})), "Ran `ls -l`\n```\na\nb\n```");
    let all = json!({"output":"","exitCode":1,"truncated":true,"fullOutputPath":"/f"});
    assert_eq!(
        bash(all),
        "Ran `ls -l`\n(no output)\n\nCommand exited with code 1\n\n[Output truncated. Full output: /f]"
    );
    let private =
        json!({"role":"bashExecution","command":"x","output":"y","excludeFromContext":true});
    assert!(llm(&[message("a", None, &private)], Pairing::Raw).messages.is_empty());
}

#[test]
fn extensions_speak_as_the_user() {
    let custom = |content: &str| {
        entry(
            "custom_message",
            "a",
            None,
            &format!(r#","customType":"m","content":{content},"display":false"#),
        )
    };
    let as_text = values(&llm(&[custom("\"note\"")], Pairing::Raw));
    assert_eq!(as_text[0]["content"], json!([{"type":"text","text":"note"}]));
    assert_eq!(as_text[0]["role"], "user");
    let blocks = r#"[{"type":"image","data":"AA==","mimeType":"image/png"}]"#;
    let as_blocks = values(&llm(&[custom(blocks)], Pairing::Raw));
    assert_eq!(as_blocks[0]["content"], serde_json::from_str::<Value>(blocks).unwrap());
}

#[test]
fn plain_messages_pass_unchanged_and_unknown_roles_do_not() {
    let lines = [
        user("a", None),
        message("b", Some("a"), &json!({"role":"assistant","content":[],"usage":{"x":1}})),
        message("c", Some("b"), &json!({"role":"hermit","content":"?"})),
        message("d", Some("c"), &json!({"role":"system","content":"rules"})),
    ];
    let session = open(file(&lines));
    let context = session.context().unwrap();
    let llm = context.to_llm(Pairing::Raw);
    assert_eq!(llm.messages[..2], context.messages[..2]);
    assert_eq!(crate::support::join(llm.messages.iter().map(|m| &m.entry)), "a b d");
}

fn call(id: &str, parent: Option<&str>, calls: &[&str]) -> String {
    let blocks: Vec<Value> = calls
        .iter()
        .map(|call| json!({"type":"toolCall","id":call,"name":"bash","arguments":{}}))
        .collect();
    message(id, parent, &json!({"role":"assistant","content":blocks,"timestamp":5}))
}

fn result(id: &str, parent: Option<&str>, call: &str) -> String {
    let content = json!([{"type":"text","text":format!("result of {call}")}]);
    message(
        id,
        parent,
        &json!({"role":"toolResult","toolCallId":call,"toolName":"bash","content":content}),
    )
}

/// Roles and call ids, and what was repaired.
fn paired(lines: &[String]) -> (String, Vec<ContextRepair>) {
    let llm = llm(lines, Pairing::Strict);
    let shape = values(&llm).into_iter().map(|message| match message["role"].as_str().unwrap() {
        "toolResult" => format!("result:{}", message["toolCallId"].as_str().unwrap()),
        role => role.to_owned(),
    });
    (crate::support::join(shape), llm.repairs)
}

#[test]
fn pairs_that_are_fine_stay_as_they_are() {
    let lines = [
        user("u", None),
        call("a", Some("u"), &["1", "2"]),
        result("r2", Some("a"), "2"),
        result("r1", Some("r2"), "1"),
    ];
    let (shape, repairs) = paired(&lines);
    assert_eq!((shape.as_str(), repairs), ("user assistant result:1 result:2", vec![]));
}

#[test]
fn tool_calls_without_results() {
    let lines = [call("a", None, &["1", "2"]), result("r", Some("a"), "1"), user("u", Some("r"))];
    let (shape, repairs) = paired(&lines);
    assert_eq!(shape, "assistant result:1 result:2 user");
    assert_eq!(repairs, [ContextRepair::ResultAdded { entry: "a".into(), call: "2".into() }]);
    let llm = llm(&lines, Pairing::Strict);
    assert_eq!(
        values(&llm)[2],
        json!({"role":"toolResult","toolCallId":"2","toolName":"bash","isError":true,"timestamp":5,
               "content":[{"type":"text","text":"No result provided"}]})
    );
}

#[test]
fn results_without_calls() {
    let lines = [user("u", None), result("r", Some("u"), "1"), user("v", Some("r"))];
    let (shape, repairs) = paired(&lines);
    assert_eq!(shape, "user user");
    assert_eq!(repairs, [ContextRepair::ResultDropped { entry: "r".into(), call: "1".into() }]);
    // A result before its call is no result of it.
    let early = [result("r", None, "1"), call("a", Some("r"), &["1"])];
    let (shape, repairs) = paired(&early);
    assert_eq!((shape.as_str(), repairs.len()), ("assistant result:1", 2));
}

#[test]
fn results_that_come_late_or_twice() {
    let lines = [
        call("a", None, &["1"]),
        user("u", Some("a")),
        result("r", Some("u"), "1"),
        result("s", Some("r"), "1"),
    ];
    let (shape, repairs) = paired(&lines);
    assert_eq!(shape, "assistant result:1 user");
    assert_eq!(
        repairs,
        [
            ContextRepair::ResultMoved { entry: "r".into(), call: "1".into() },
            ContextRepair::ResultDropped { entry: "s".into(), call: "1".into() },
        ]
    );
}

#[test]
fn the_same_call_id_in_two_turns() {
    let lines = [
        call("a", None, &["1"]),
        result("r", Some("a"), "1"),
        call("b", Some("r"), &["1"]),
        result("s", Some("b"), "1"),
    ];
    let (shape, repairs) = paired(&lines);
    assert_eq!((shape.as_str(), repairs), ("assistant result:1 assistant result:1", vec![]));
}

#[test]
fn navigation_into_the_middle_of_a_turn_can_be_repaired() {
    let lines = [user("u", None), call("a", Some("u"), &["1"]), result("r", Some("a"), "1")];
    let session = open(file(&lines));
    session.branch("a").unwrap();
    let context = session.context().unwrap();
    let raw = context.to_llm(Pairing::Raw);
    assert_eq!((raw.messages.len(), raw.repairs.len()), (2, 0), "the raw context stays exact");
    let strict = context.to_llm(Pairing::Strict);
    assert_eq!((strict.messages.len(), strict.repairs.len()), (3, 1));
}
