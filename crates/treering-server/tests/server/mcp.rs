//! The Model Context Protocol at `/mcp`: the tools, behind the tokens, scopes, names and limits of all other calls.

use crate::harness::{ADMIN, Answer, Node, json as with_body, limits, send};
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;
use treering::store::MemoryStore;
use treering_index::{LocalStore, Places, SessionIndex};
use treering_server::Scope;

const READER: &str = "tr_reader";

fn request(method: &str, params: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": params})
}

async fn post(node: &Node, token: &str, body: Value) -> Answer {
    let request = node.client.post(node.url("/mcp"));
    let request = request.header("accept", "application/json, text/event-stream");
    send(with_body(request.header("authorization", format!("Bearer {token}")), body)).await
}

/// Calls a tool and returns its data.
async fn tool(node: &Node, token: &str, name: &str, arguments: Value) -> Result<Value, String> {
    let body = request("tools/call", json!({"name": name, "arguments": arguments}));
    let answer = post(node, token, body).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    let answer = answer.json();
    if let Some(error) = answer["error"]["message"].as_str() {
        return Err(error.to_owned());
    }
    let text = answer["result"]["content"][0]["text"].as_str().unwrap();
    match answer["result"]["isError"] == json!(true) {
        true => Err(text.to_owned()),
        false => Ok(serde_json::from_str(text.lines().nth(2).unwrap()).unwrap()),
    }
}

async fn tools(node: &Node, token: &str) -> Vec<String> {
    let answer = post(node, token, request("tools/list", json!({}))).await.json();
    let tools = answer["result"]["tools"].as_array().unwrap().iter();
    tools.map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn sessions_are_listed_searched_and_read() {
    let node = Node::start().await;
    let session = node.session("kitchen").await;
    node.say(&session, "How long does the tea steep?").await;
    let entry = node.say(&session, "And the coffee?").await;
    let started =
        post(&node, ADMIN, request("initialize", json!({"protocolVersion": "2025-06-18"}))).await;
    assert_eq!(started.json()["result"]["protocolVersion"], "2025-06-18");
    let notification = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    let response = post(&node, ADMIN, notification).await;
    assert_eq!((response.status, response.body.len()), (202, 0));

    let listed = tool(&node, ADMIN, "list_sessions", json!({})).await.unwrap();
    assert_eq!(listed["sessions"][0]["id"], "kitchen");
    let found = tool(&node, ADMIN, "search", json!({"query": "coffee"})).await.unwrap();
    assert_eq!(found["sessions"][0]["hits"][0]["entry"], json!(entry));
    for name in ["kitchen", "kit", "@latest", "@all"] {
        let read = tool(&node, ADMIN, "read_session", json!({"session": name})).await.unwrap();
        assert_eq!(read["entries"].as_array().unwrap().len(), 2, "{name}");
    }
    let context = tool(&node, ADMIN, "read_context", json!({"session": "kitchen"})).await.unwrap();
    assert_eq!(context["messages_in_context"], 2);
    let tree = tool(&node, ADMIN, "read_tree", json!({"session": "kitchen"})).await.unwrap();
    assert_eq!(tree["total"], 2);
    let usage = tool(&node, ADMIN, "usage", json!({"by": "agent"})).await.unwrap();
    assert_eq!(usage["sessions_not_read"], 0);
    let error = tool(&node, ADMIN, "read_session", json!({"session": "/etc/passwd"})).await;
    assert!(error.unwrap_err().contains("no file or session"));
}

#[tokio::test]
async fn tools_that_write_need_the_scope() {
    let node = Node::start().await;
    node.grant(READER, "main", Scope::Read, None);
    let session = node.session("kitchen").await;
    let entry = node.say(&session, "tea?").await;
    node.say(&session, "coffee?").await;
    assert_eq!(tools(&node, READER).await.len(), 7);
    assert_eq!(tools(&node, ADMIN).await.len(), 11);
    let label = json!({"session": "kitchen", "entry": entry, "label": "start"});
    assert!(tool(&node, READER, "label", label.clone()).await.unwrap_err().contains("no tool"));
    tool(&node, ADMIN, "label", label).await.unwrap();
    let read = json!({"session": "kitchen", "entry": entry});
    assert_eq!(tool(&node, READER, "read_entry", read).await.unwrap()["label"], "start");
    tool(&node, ADMIN, "note", json!({"session": "kitchen", "text": "a remark"})).await.unwrap();
    let found = tool(&node, READER, "search", json!({"query": "remark"})).await.unwrap();
    assert_eq!(found["sessions"].as_array().unwrap().len(), 1);
    let at = json!({"session": "kitchen", "entry": entry});
    assert_eq!(tool(&node, ADMIN, "branch", at.clone()).await.unwrap()["leaf"], json!(entry));
    // The calls of the API see it at once.
    assert_eq!(node.get("/v1/sessions/kitchen").await.json()["leaf"], json!(entry));
    let fork = tool(&node, ADMIN, "fork", at).await.unwrap();
    let fork = tool(&node, READER, "read_session", json!({"session": fork["id"]})).await.unwrap();
    assert_eq!(fork["entries"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn tokens_spaces_names_and_pages_are_checked_before_the_message() {
    let node = Node::with(Arc::new(MemoryStore::new()), limits(), |server| {
        server.hosts(["127.0.0.1".to_owned()])
    })
    .await;
    let ping = request("ping", json!({}));
    assert_eq!(post(&node, "tr_other", ping.clone()).await.status, 401);
    node.grant("tr_elsewhere", "elsewhere", Scope::Admin, None);
    assert_eq!(post(&node, "tr_elsewhere", ping.clone()).await.status, 403);
    let foreign = node.request("POST", "/mcp").header("origin", "http://evil.example");
    assert_eq!(send(with_body(foreign, ping.clone())).await.status, 403);
    let renamed = node.request("POST", "/mcp").header("host", "evil.example");
    assert_eq!(send(with_body(renamed, ping.clone())).await.status, 421);
    assert_eq!(post(&node, ADMIN, ping).await.json()["result"], json!({}));
    let get = node.get("/mcp").await;
    assert_eq!((get.status, get.header("allow")), (405, "POST"));
    let text = node.request("POST", "/mcp").header("content-type", "text/plain").body("{}");
    assert_eq!(send(text).await.status, 415);
}

#[tokio::test]
async fn invalid_messages_are_refused() {
    let node = Node::start().await;
    let send_text = |text: &'static str| {
        send(node.request("POST", "/mcp").header("content-type", "application/json").body(text))
    };
    for (text, code) in [
        ("{", -32700),
        ("[]", -32600),
        ("{}", -32600),
        ("\"\"", -32600),
        ("{\"jsonrpc\":\"2.0\",\"id\":{}}", -32600),
    ] {
        let answer = send_text(text).await;
        assert_eq!((answer.status, &answer.json()["error"]["code"]), (400, &json!(code)), "{text}");
    }
    let unknown = post(&node, ADMIN, request("resources/list", json!({}))).await;
    assert_eq!((unknown.status, &unknown.json()["error"]["code"]), (200, &json!(-32601)));
    let unsupported = node.request("POST", "/mcp").header("mcp-protocol-version", "1999-01-01");
    assert_eq!(send(with_body(unsupported, request("ping", json!({})))).await.status, 400);
}

#[tokio::test]
async fn requests_that_name_their_version_repeat_it_in_headers() {
    let node = Node::start().await;
    let meta = |version: &str| {
        json!({"_meta": {
            "io.modelcontextprotocol/protocolVersion": version,
            "io.modelcontextprotocol/clientCapabilities": {},
        }})
    };
    let ask = |method: &'static str, version: &str, headers: &[(&'static str, &str)]| {
        let mut request_ = node.request("POST", "/mcp");
        for (name, value) in headers {
            request_ = request_.header(*name, *value);
        }
        send(with_body(request_, request(method, meta(version))))
    };
    let (version, name) = ("2026-07-28", "mcp-protocol-version");
    let all = [(name, version), ("mcp-method", "server/discover")];
    let found = ask("server/discover", version, &all).await;
    let result = &found.json()["result"];
    assert_eq!((found.status, &result["supportedVersions"][0]), (200, &json!(version)));
    assert_eq!(
        (&result["resultType"], &result["cacheScope"]),
        (&json!("complete"), &json!("private"))
    );
    for headers in
        [&all[..1], &all[1..], &[(name, "2025-11-25"), all[1]], &[all[0], ("mcp-method", "ping")]]
    {
        let refused = ask("server/discover", version, headers).await;
        assert_eq!((refused.status, &refused.json()["error"]["code"]), (400, &json!(-32020)));
    }
    let newer = "2099-01-01";
    let refused = ask("ping", newer, &[(name, newer), ("mcp-method", "ping")]).await;
    assert_eq!((refused.status, &refused.json()["error"]["code"]), (400, &json!(-32022)));
    let refused =
        ask("prompts/list", version, &[(name, version), ("mcp-method", "prompts/list")]).await;
    assert_eq!((refused.status, &refused.json()["error"]["code"]), (404, &json!(-32601)));
}

#[tokio::test]
async fn a_session_is_known_by_its_id_before_the_list_has_it() {
    let dir = tempfile::tempdir().unwrap();
    let places = Places::default().only([dir.path().to_owned()]);
    let store = LocalStore::new(SessionIndex::new(places).with_cache(None));
    let node = Node::on(Arc::new(store.with_interval(Duration::from_secs(3600)))).await;
    let session = node.session("kitchen").await;
    let entry = node.say(&session, "tea?").await;
    tool(&node, ADMIN, "list_sessions", json!({})).await.unwrap();
    let at = json!({"session": "kitchen", "entry": entry});
    let fork = tool(&node, ADMIN, "fork", at).await.unwrap();
    let note = json!({"session": fork["id"], "text": "a remark"});
    tool(&node, ADMIN, "note", note).await.unwrap();
    let read = tool(&node, ADMIN, "read_session", json!({"session": fork["id"]})).await.unwrap();
    assert_eq!(read["entries"][0]["text"], "tea?");
}

/// Calls a search with a progress token, and returns the answer.
async fn search_with_token(node: &Node, accept: &str, query: &str) -> Answer {
    let params = json!({
        "name": "search",
        "arguments": {"query": query},
        "_meta": {"progressToken": "t1"},
    });
    let builder = node.request("POST", "/mcp").header("accept", accept);
    send(with_body(builder, request("tools/call", params))).await
}

#[tokio::test]
async fn a_client_that_asks_for_progress_gets_it() {
    let node = Node::start().await;
    for name in ["kitchen", "garden", "cellar"] {
        let session = node.session(name).await;
        node.say(&session, "tea?").await;
    }
    let both = "application/json, text/event-stream";
    let answer = search_with_token(&node, both, "tea").await;
    assert_eq!((answer.status, answer.header("content-type")), (200, "text/event-stream"));
    let text = String::from_utf8(answer.body.to_vec()).unwrap();
    let event = |event: &str| -> Value {
        let data = event.strip_prefix("event: message\ndata: ").unwrap();
        serde_json::from_str(data).unwrap()
    };
    let events: Vec<Value> = text.split_terminator("\n\n").map(event).collect();
    let (last, notes) = events.split_last().unwrap();
    assert!(!notes.is_empty());
    for (at, note) in notes.iter().enumerate() {
        let expected = json!({"progressToken": "t1", "progress": at + 1, "total": 3});
        assert_eq!(
            (&note["method"], &note["params"]),
            (&json!("notifications/progress"), &expected)
        );
    }
    assert_eq!(last["id"], 7);
    assert!(last["result"]["content"][0]["text"].as_str().unwrap().contains("kitchen"));

    // No event was sent before the error, so its status is that of an ordinary answer.
    let wrong = search_with_token(&node, both, "nonsense:x").await;
    assert_eq!(wrong.header("content-type"), "application/json");
    for accept in ["application/json", "*/*", "text/event-streams"] {
        let plain = search_with_token(&node, accept, "tea").await;
        assert_eq!(plain.header("content-type"), "application/json", "{accept}");
        assert_eq!(plain.json()["id"], 7);
    }
}
