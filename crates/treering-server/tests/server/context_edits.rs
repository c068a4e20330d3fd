//! Edits of the context: what they save, what they refuse, and that they can be undone.

use crate::harness::{Node, json as with_json, message, send};
use serde_json::{Value, json};
use treering_server::Scope;

/// Creates a session with a question, a tool call, its result, and an answer. Returns its entries.
async fn conversation(node: &Node) -> Vec<String> {
    let session = node.session("chat").await;
    let assistant = |content: Value| json!({"type": "message", "message": {"role": "assistant", "provider": "acme", "model": "m1", "stopReason": "stop", "content": content}});
    let entries = json!([
        message("A long paste. ".repeat(100).as_str())[0],
        assistant(json!([{"type": "toolCall", "id": "c1", "name": "read", "arguments": {}}])),
        {"type": "message", "message": {"role": "toolResult", "toolCallId": "c1", "toolName": "read", "content": [{"type": "text", "text": "the result"}]}},
        assistant(json!([{"type": "text", "text": "Done."}])),
    ]);
    let appended = node.call("POST", &format!("{session}/entries"), entries).await;
    assert_eq!(appended.status, 200, "{appended:?}");
    serde_json::from_value(appended.json()["ids"].clone()).unwrap()
}

async fn edit(node: &Node, body: Value) -> crate::harness::Answer {
    node.call("POST", "/v1/sessions/chat/context", body).await
}

/// Returns the messages that the model sees, as text.
async fn context(node: &Node) -> Vec<String> {
    let context = node.get("/v1/sessions/chat/context").await.json();
    context["messages"].as_array().unwrap().iter().map(Value::to_string).collect()
}

#[tokio::test]
async fn entries_leave_the_context_and_come_back() {
    let node = Node::start().await;
    let ids = conversation(&node).await;
    let before = node.get("/v1/sessions/chat").await.json();

    let plan = edit(&node, json!({"edit": "drop", "entries": [ids[1]], "dryRun": true})).await;
    assert_eq!(plan.status, 200, "{plan:?}");
    let plan = plan.json();
    assert_eq!(plan["targets"], json!([ids[1], ids[2]]));
    assert_eq!(plan["companions"], json!([ids[2]]));
    assert_eq!(plan["edits"], json!([]));
    assert!(plan["tokensAfter"].as_u64() < plan["tokensBefore"].as_u64());
    assert_eq!(node.get("/v1/sessions/chat").await.json(), before, "a dry run writes nothing");

    let done = edit(&node, json!({"edit": "drop", "entries": [ids[1]]})).await.json();
    assert_eq!(done["edits"].as_array().unwrap().len(), 2);
    assert_eq!(context(&node).await.len(), 2);
    let restored = edit(&node, json!({"edit": "restore", "entries": [ids[1]]})).await.json();
    assert_eq!(restored["companions"], json!([ids[2]]));
    assert_eq!(context(&node).await.len(), 4);

    let shorter = json!({"edit": "replace", "entries": [ids[0]], "text": "A short note."});
    let replaced = edit(&node, shorter).await.json();
    assert!(replaced["tokensAfter"].as_u64() < replaced["tokensBefore"].as_u64());
    let seen = context(&node).await;
    assert!(seen[0].contains("A short note.") && !seen[0].contains("A long paste"), "{seen:?}");
    // The leaf before the edit has the context that it had.
    let leaf = before["leaf"].as_str().unwrap();
    let earlier = node.get(&format!("/v1/sessions/chat/context?leaf={leaf}")).await.json();
    assert!(earlier["messages"][0].to_string().contains("A long paste"));
}

#[tokio::test]
async fn edits_that_a_model_would_refuse_are_refused() {
    let node = Node::start().await;
    let ids = conversation(&node).await;
    let path = "/v1/sessions/chat/context";
    for (body, status, code) in [
        (json!({"edit": "drop", "entries": [ids[2]]}), 422, "not_applicable"),
        (json!({"edit": "restore", "entries": [ids[0]]}), 422, "not_applicable"),
        (json!({"edit": "drop", "entries": [ids[0]], "text": "x"}), 422, "not_applicable"),
        (json!({"edit": "replace", "entries": [ids[0]]}), 422, "not_applicable"),
        (
            json!({"edit": "replace", "entries": [ids[0], ids[1]], "text": "x"}),
            422,
            "not_applicable",
        ),
        (json!({"edit": "drop", "entries": ["none"]}), 404, "unknown_entry"),
        (json!({"edit": "drop", "entries": []}), 400, "invalid_request"),
        (json!({"edit": "erase", "entries": [ids[0]]}), 400, "invalid_request"),
        (json!({"entries": [ids[0]]}), 400, "invalid_request"),
    ] {
        let refused = edit(&node, body.clone()).await;
        assert_eq!((refused.status, refused.code().as_str()), (status, code), "{body}");
    }
    assert_eq!(context(&node).await.len(), 4);

    let body = json!({"edit": "drop", "entries": [ids[0]]});
    let elsewhere = node.request("POST", path).header("if-match", format!("\"{}\"", ids[0]));
    let refused = send(with_json(elsewhere, body.clone())).await;
    assert_eq!((refused.status, refused.code().as_str()), (412, "leaf_moved"));
    node.grant("reader", "main", Scope::Read, None);
    let reader = node.client.post(node.url(path)).header("authorization", "Bearer reader");
    let refused = send(with_json(reader, body)).await;
    assert_eq!((refused.status, refused.code().as_str()), (403, "forbidden"));
    assert_eq!(context(&node).await.len(), 4);
}
