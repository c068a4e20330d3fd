//! Tests of copies without secrets: the secrets are listed first, and no copy contains one.

use crate::harness::{Answer, Node};
use serde_json::{Value, json};
use treering_server::Scope;

/// A text with a secret of a known shape.
fn secret(letter: &str) -> String {
    format!("ghp_{}", format!("{letter}1B2c3D4").repeat(5))
}

/// Creates a session with a secret on each of two branches. Returns its entries.
async fn session(node: &Node) -> Vec<String> {
    let session = node.session("chat").await;
    let mut ids = vec![node.say(&session, &format!("the key is {}", secret("a"))).await];
    ids.push(node.say(&session, &format!("again {}, and {0}", secret("a"))).await);
    let other = json!([{"type": "message", "parentId": ids[0], "message": {"role": "user", "content": secret("b")}}]);
    let appended = node.call("POST", &format!("{session}/entries"), other).await;
    ids.push(appended.json()["ids"][0].as_str().unwrap().to_owned());
    ids
}

fn has_secret(answer: &Answer) -> bool {
    let text = String::from_utf8_lossy(&answer.body);
    text.contains(&secret("a")) || text.contains(&secret("b"))
}

#[tokio::test]
async fn secrets_are_counted_and_never_shown() {
    let node = Node::start().await;
    let ids = session(&node).await;
    let answer = node.get("/v1/sessions/chat/secrets").await;
    assert!(!has_secret(&answer));
    let found = answer.json();
    assert_eq!(found["occurrences"], json!(4));
    let kind = json!([{"kind": "github-token", "distinct": 2, "occurrences": 4}]);
    assert_eq!(found["kinds"], kind);
    let entries: Vec<&Value> =
        found["places"].as_array().unwrap().iter().map(|place| &place["entry"]).collect();
    assert_eq!(
        entries,
        ids.iter().map(|id| json!(id)).collect::<Vec<_>>().iter().collect::<Vec<_>>()
    );
    // A fork has the secrets of its path.
    let found = node.get(&format!("/v1/sessions/chat/secrets?at={}", ids[1])).await.json();
    assert_eq!(found["kinds"], json!([{"kind": "github-token", "distinct": 1, "occurrences": 3}]));
    assert_eq!(node.get("/v1/sessions/chat/secrets?at=none").await.code(), "unknown_entry");
    assert_eq!(node.get("/v1/sessions/none/secrets").await.code(), "unknown_session");
}

#[tokio::test]
async fn redacted_copies_have_no_secrets_in_any_format() {
    let node = Node::start().await;
    let ids = session(&node).await;
    let mut paths: Vec<String> = ["html", "markdown", "json", "jsonl"]
        .map(|format| format!("/v1/sessions/chat/export?format={format}"))
        .into();
    paths.extend(
        ["pi", "uuid", "omp", "chimera", "operator", "tau"]
            .map(|dialect| format!("/s/chat/download?entry={}&dialect={dialect}", ids[1])),
    );
    for path in paths {
        let plain = node.get(&path).await;
        assert_eq!(plain.status, 200, "{path}");
        assert!(has_secret(&plain), "{path}");
        let redacted = node.get(&format!("{path}&redact=true")).await;
        assert_eq!(redacted.status, 200, "{path}");
        assert!(!has_secret(&redacted), "{path}");
        let text = String::from_utf8_lossy(&redacted.body);
        assert!(text.contains("REDACTED:github-token:1"), "{path}");
    }
}

#[tokio::test]
async fn a_redacted_fork_is_a_session_without_secrets() {
    let node = Node::start().await;
    let ids = session(&node).await;
    let fork = json!({"at": ids[1], "id": "clean", "redact": true});
    let made = node.call("POST", "/v1/sessions/chat/fork", fork).await;
    assert_eq!(made.status, 201, "{made:?}");
    let log = node.get("/v1/sessions/clean/log").await;
    assert!(!has_secret(&log), "{}", String::from_utf8_lossy(&log.body));
    assert_eq!(node.get("/v1/sessions/clean/secrets").await.json()["occurrences"], json!(0));
    // It is a session like any other, and the original stays as it is.
    node.say("/v1/sessions/clean", "More").await;
    assert!(has_secret(&node.get("/v1/sessions/chat/log").await));
    node.grant("reader", "main", Scope::Read, None);
    let body = json!({"redact": true}).to_string();
    let reader = node.client.post(node.url("/v1/sessions/chat/fork")).body(body);
    let reader = reader.header("authorization", "Bearer reader");
    let refused = crate::harness::send(reader.header("content-type", "application/json")).await;
    assert_eq!(refused.status, 403);
}
