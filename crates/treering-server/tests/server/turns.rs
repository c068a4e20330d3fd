//! Turns with a model: streamed, recorded, one at a time, stopped.

use crate::harness::{ADMIN, Answer, Node, TIMEOUT, json as with_json, limits, send};
use serde_json::{Value, json};
use std::sync::Arc;
use tokio::sync::Semaphore;
use treering::store::MemoryStore;
use treering_agent::{
    AgentSession, CancellationToken, ChatAnswer, ChatFuture, ChatModel, ChatRequest, Delta,
    ModelError, Usage,
};
use treering_server::{Limits, Scope};

/// A model that reacts to the words of the message.
#[derive(Debug)]
struct Scripted {
    /// A permit for every request.
    arrived: Semaphore,
    /// A permit lets an answer to `wait` continue.
    go: Semaphore,
}

impl Scripted {
    fn new() -> Arc<Self> {
        Arc::new(Scripted { arrived: Semaphore::new(0), go: Semaphore::new(0) })
    }

    async fn wait_for_request(&self) {
        let permit = tokio::time::timeout(TIMEOUT, self.arrived.acquire()).await;
        permit.unwrap().unwrap().forget();
    }
}

impl ChatModel for Scripted {
    fn provider(&self) -> &str {
        "acme"
    }

    fn model(&self) -> &str {
        "m1"
    }

    fn context_window(&self) -> u64 {
        100_000
    }

    fn answer<'a>(&'a self, mut request: ChatRequest, _: &'a CancellationToken) -> ChatFuture<'a> {
        let text = request.turns.last().map(|turn| turn.text.clone()).unwrap_or_default();
        let mut on_delta = request.on_delta.take().unwrap();
        Box::pin(async move {
            on_delta(Delta::Thinking("Hm, <b>."));
            on_delta(Delta::Text("First "));
            self.arrived.add_permits(1);
            match text.as_str() {
                "wait" => self.go.acquire().await.unwrap().forget(),
                "hang" => std::future::pending().await,
                "fail" => {
                    let message = "out of credit".to_owned();
                    return Err(ModelError::Http { status: 402, message });
                }
                "panic" => panic!("the model panics"),
                _ => {}
            }
            on_delta(Delta::Text("second."));
            let usage = Usage::of_request().input(7).output(2);
            Ok(ChatAnswer::new("m1", "First second.").usage(usage))
        })
    }
}

async fn node_with(model: &Arc<Scripted>, limits: Limits) -> Node {
    let model = Arc::clone(model);
    let prepare = AgentSession::new;
    Node::with(Arc::new(MemoryStore::new()), limits, |server| server.chat(model, prepare)).await
}

/// The events of a turn, in order.
fn events(text: &str) -> Vec<(String, Value)> {
    let event = |block: &str| {
        let (name, data) = block.strip_prefix("event: ")?.split_once("\ndata: ")?;
        Some((name.to_owned(), serde_json::from_str(data).unwrap()))
    };
    text.split("\n\n").filter_map(event).collect()
}

fn names(events: &[(String, Value)]) -> Vec<&str> {
    events.iter().map(|(name, _)| name.as_str()).collect()
}

async fn ask(node: &Node, session: &str, text: &str) -> Vec<(String, Value)> {
    let answer = node.call("POST", &format!("{session}/turns"), json!({"text": text})).await;
    assert_eq!(answer.status, 200, "{}", String::from_utf8_lossy(&answer.body));
    assert_eq!(answer.header("content-type"), "text/event-stream");
    events(std::str::from_utf8(&answer.body).unwrap())
}

/// Returns the messages of a session, as role, text and reason for the end.
async fn recorded(node: &Node, session: &str) -> Vec<(String, String, String)> {
    let page = node.get(&format!("{session}/entries?limit=100")).await.json();
    let messages =
        page["entries"].as_array().unwrap().iter().filter(|entry| entry["type"] == "message");
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    messages
        .map(|entry| {
            let message = &entry["message"];
            let content = match &message["content"] {
                Value::Array(blocks) => {
                    blocks.iter().map(|block| text(&block["text"])).collect::<String>()
                }
                plain => text(plain),
            };
            (text(&message["role"]), content, text(&message["stopReason"]))
        })
        .collect()
}

fn message(role: &str, text: &str, end: &str) -> (String, String, String) {
    (role.to_owned(), text.to_owned(), end.to_owned())
}

/// Waits until a turn of the session can begin, which needs the one before to be over.
async fn ask_when_free(node: &Node, session: &str, text: &str) -> Answer {
    let deadline = tokio::time::Instant::now() + TIMEOUT;
    loop {
        let answer = node.call("POST", &format!("{session}/turns"), json!({"text": text})).await;
        if answer.status != 409 || tokio::time::Instant::now() > deadline {
            return answer;
        }
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn an_answer_is_streamed_and_recorded() {
    let node = node_with(&Scripted::new(), limits()).await;
    let session = node.session("chat").await;
    let found = ask(&node, &session, "Hello").await;
    assert_eq!(names(&found), ["question", "thinking", "text", "text", "answer", "end"]);
    let text: String = found
        .iter()
        .filter(|(name, _)| name == "text")
        .map(|(_, data)| data["text"].as_str().unwrap())
        .collect();
    assert_eq!(text, "First second.");
    let (_, end) = &found[5];
    assert_eq!((&end["end"], &end["usage"]["output"]), (&json!("complete"), &json!(2)));
    let detail = node.get(&session).await.json();
    assert_eq!((&detail["leaf"], &found[4].1["entry"]), (&end["answer"], &end["answer"]));
    let expected = [message("user", "Hello", ""), message("assistant", "First second.", "stop")];
    assert_eq!(recorded(&node, &session).await, expected);
    // The next message continues the answer.
    ask(&node, &session, "More").await;
    assert_eq!(recorded(&node, &session).await.len(), 4);
}

#[tokio::test]
async fn a_failure_of_the_model_is_reported_and_recorded() {
    let node = node_with(&Scripted::new(), limits()).await;
    let session = node.session("chat").await;
    let found = ask(&node, &session, "fail").await;
    let (name, end) = found.last().unwrap();
    assert_eq!((name.as_str(), &end["end"]), ("end", &json!("failed")));
    assert!(end["detail"].as_str().unwrap().contains("out of credit"), "{end}");
    let expected = [message("user", "fail", ""), message("assistant", "First ", "error")];
    assert_eq!(recorded(&node, &session).await, expected);
    // A model that panics ends its turn, and nothing else.
    let found = ask(&node, &session, "panic").await;
    assert!(!names(&found).contains(&"end"), "{found:?}");
    assert_eq!(names(&ask(&node, &session, "Hello").await).last(), Some(&"end"));
}

#[tokio::test]
async fn one_turn_at_a_time_runs_in_a_session_and_can_be_stopped() {
    let model = Scripted::new();
    let node = node_with(&model, limits()).await;
    let (session, other) = (node.session("chat").await, node.session("other").await);
    let running = tokio::spawn({
        let request = node.request("POST", &format!("{session}/turns"));
        send(with_json(request, json!({"text": "hang"})))
    });
    model.wait_for_request().await;
    let refused = node.call("POST", &format!("{session}/turns"), json!({"text": "Hello"})).await;
    assert_eq!((refused.status, refused.code().as_str()), (409, "turn_running"));
    // Other sessions, and other calls of this one, continue.
    ask(&node, &other, "Hello").await;
    assert_eq!(recorded(&node, &session).await, [message("user", "hang", "")]);
    let stop = format!("{session}/turns/stop");
    assert_eq!(send(node.request("POST", &stop)).await.json(), json!({"stopped": true}));
    let answer = running.await.unwrap();
    let found = events(std::str::from_utf8(&answer.body).unwrap());
    let (_, end) = found.last().unwrap();
    assert_eq!(end["end"], "aborted", "{found:?}");
    let expected = [message("user", "hang", ""), message("assistant", "First ", "aborted")];
    assert_eq!(recorded(&node, &session).await, expected);
    assert_eq!(send(node.request("POST", &stop)).await.json(), json!({"stopped": false}));
    let unknown = send(node.request("POST", "/v1/sessions/none/turns/stop")).await;
    assert_eq!(unknown.code(), "unknown_session");
}

/// Nodes do not know of each other's turns. Every answer belongs to its question, and none is lost.
#[tokio::test]
async fn turns_of_two_nodes_at_once_become_branches() {
    let (model, store) = (Scripted::new(), Arc::new(MemoryStore::new()));
    let start = || {
        let model = Arc::clone(&model);
        let prepare = AgentSession::new;
        Node::with(store.clone(), limits(), move |server| server.chat(model, prepare))
    };
    let (first, second) = (start().await, start().await);
    let session = first.session("chat").await;
    let running = tokio::spawn({
        let request = first.request("POST", &format!("{session}/turns"));
        send(with_json(request, json!({"text": "wait"})))
    });
    model.wait_for_request().await;
    let found = ask(&second, &session, "Hello").await;
    assert_eq!(found.last().unwrap().1["end"], "complete", "{found:?}");
    model.go.add_permits(1);
    let answer = running.await.unwrap();
    let found = events(std::str::from_utf8(&answer.body).unwrap());
    assert_eq!(found.last().unwrap().1["end"], "complete", "{found:?}");
    let expected = [
        message("user", "wait", ""),
        message("user", "Hello", ""),
        message("assistant", "First second.", "stop"),
        message("assistant", "First second.", "stop"),
    ];
    assert_eq!(recorded(&second, &session).await, expected);
    let page = second.get(&format!("{session}/entries?limit=100")).await.json();
    let entries = page["entries"].as_array().unwrap();
    let messages: Vec<&Value> = entries.iter().filter(|e| e["type"] == "message").collect();
    assert_eq!(messages[1]["parentId"], messages[0]["id"]);
    assert_eq!(messages[2]["parentId"], messages[1]["id"]);
    assert_eq!(messages[3]["parentId"], messages[0]["id"]);
}

#[tokio::test]
async fn a_client_that_goes_away_stops_its_turn() {
    let model = Scripted::new();
    let node = node_with(&model, limits()).await;
    let session = node.session("chat").await;
    let request = node.request("POST", &format!("{session}/turns"));
    let mut answer = with_json(request, json!({"text": "hang"})).send().await.unwrap();
    assert!(answer.chunk().await.unwrap().is_some());
    model.wait_for_request().await;
    drop(answer);
    let next = ask_when_free(&node, &session, "Hello").await;
    assert_eq!(next.status, 200);
    let found = recorded(&node, &session).await;
    assert_eq!(found[1], message("assistant", "First ", "aborted"));
    assert_eq!(found.len(), 4);
}

#[tokio::test]
async fn a_server_that_ends_stops_its_turns_and_records_them() {
    let model = Scripted::new();
    let node = node_with(&model, limits()).await;
    let session = node.session("chat").await;
    let running = tokio::spawn({
        let request = node.request("POST", &format!("{session}/turns"));
        send(with_json(request, json!({"text": "hang"})))
    });
    model.wait_for_request().await;
    let store = Arc::clone(&node.store);
    node.stopped().await;
    let answer = running.await.unwrap();
    let found = events(std::str::from_utf8(&answer.body).unwrap());
    assert_eq!(found.last().unwrap().1["end"], "aborted", "{found:?}");
    let id = treering::SessionId::new("chat").unwrap();
    let opened = treering::Session::open_in(&store, &id, treering::OpenOptions::new()).unwrap();
    let leaf = opened.leaf().unwrap();
    let leaf = opened.entry(leaf.as_str()).unwrap();
    assert!(String::from_utf8_lossy(leaf.raw()).contains("aborted"));
}

#[tokio::test]
async fn turns_are_bounded() {
    let model = Scripted::new();
    let mut few = limits();
    (few.turns, few.question) = (1, 10);
    let node = node_with(&model, few).await;
    let (session, other) = (node.session("chat").await, node.session("other").await);
    let long =
        node.call("POST", &format!("{session}/turns"), json!({"text": "more than ten"})).await;
    assert_eq!((long.status, long.code().as_str()), (413, "body_too_large"));
    assert_eq!(long.json()["limit"], json!(10));
    let running = tokio::spawn({
        let request = node.request("POST", &format!("{session}/turns"));
        send(with_json(request, json!({"text": "wait"})))
    });
    model.wait_for_request().await;
    let refused = node.call("POST", &format!("{other}/turns"), json!({"text": "Hello"})).await;
    assert_eq!((refused.status, refused.code().as_str()), (503, "overloaded"));
    model.go.add_permits(1);
    let answer = running.await.unwrap();
    assert!(String::from_utf8_lossy(&answer.body).contains("\"end\":\"complete\""));
    ask(&node, &other, "Hello").await;
}

#[tokio::test]
async fn only_those_who_may_write_talk_to_the_model() {
    let model = Scripted::new();
    let node = node_with(&model, limits()).await;
    let session = node.session("chat").await;
    node.grant("reader", "main", Scope::Read, None);
    let body = json!({"text": "Hello"});
    for path in [format!("{session}/turns"), format!("{session}/turns/stop")] {
        let post = || with_json(node.client.post(node.url(&path)), body.clone());
        assert_eq!(send(post()).await.status, 401, "{path}");
        let reader = post().header("authorization", "Bearer reader");
        assert_eq!(send(reader).await.status, 403, "{path}");
        let cookie = format!("treering_session={ADMIN}");
        let foreign = post().header("cookie", &cookie).header("origin", "http://evil.example");
        assert_eq!(send(foreign).await.status, 403, "{path}");
        let foreign = post().header("cookie", &cookie).header("sec-fetch-site", "cross-site");
        assert_eq!(send(foreign).await.status, 403, "{path}");
    }
    for (path, body, status) in [
        (format!("{session}/turns"), json!({"text": " \n"}), 400),
        (format!("{session}/turns"), json!({}), 400),
        ("/v1/sessions/none/turns".to_owned(), json!({"text": "Hello"}), 404),
    ] {
        assert_eq!(node.call("POST", &path, body).await.status, status, "{path}");
    }
    assert_eq!(recorded(&node, &session).await, []);
    assert_eq!(model.arrived.available_permits(), 0, "no request was sent");

    let without = Node::start().await;
    let session = without.session("chat").await;
    let refused = without.call("POST", &format!("{session}/turns"), body).await;
    assert_eq!((refused.status, refused.code().as_str()), (422, "no_model"));
}

#[tokio::test]
async fn the_page_has_a_field_for_those_who_may_talk() {
    let node = node_with(&Scripted::new(), limits()).await;
    node.session("chat").await;
    node.grant("reader", "main", Scope::Read, None);
    let page = |node: &Node, token: &str| {
        let request = node.client.get(node.url("/s/chat"));
        send(request.header("cookie", format!("treering_session={token}")))
    };
    let text = |answer: Answer| String::from_utf8(answer.body).unwrap();
    let shown = text(page(&node, ADMIN).await);
    assert!(shown.contains("id=composer") && shown.contains("Message to m1"));
    let shown = text(page(&node, "reader").await);
    assert!(!shown.contains("id=composer") && shown.contains("needs one with the scope to write"));
    let without = Node::start().await;
    without.session("chat").await;
    let shown = text(page(&without, ADMIN).await);
    assert!(!shown.contains("id=composer") && shown.contains("ANTHROPIC_API_KEY"));
}
