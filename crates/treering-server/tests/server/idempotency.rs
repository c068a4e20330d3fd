//! Appends that are repeated happen once: on one node, on two, and after a restart.

use crate::harness::{Answer, Node, json, message, send};
use serde_json::{Value, json};
use std::io::{self, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use treering::storage::{Appended, End, Journal, JournalError};
use treering::store::{Changes, ListQuery, Mark, MemoryStore, Page, Store};
use treering::{Result, SessionId};

async fn append(node: &Node, key: &str, body: Value) -> Answer {
    let request = node.request("POST", "/v1/sessions/chat/entries").header("idempotency-key", key);
    send(json(request, body)).await
}

async fn count(node: &Node) -> u64 {
    node.get("/v1/sessions/chat").await.json()["entryCount"].as_u64().unwrap()
}

#[tokio::test]
async fn a_repeated_append_gets_the_same_answer() {
    let node = Node::start().await;
    node.session("chat").await;
    let first = append(&node, "a", message("one")).await.json();
    let again = append(&node, "a", message("one")).await.json();
    assert_eq!(first, again);
    assert_eq!(first["ids"][0].as_str().unwrap().len(), 16);
    node.say("/v1/sessions/chat", "two").await;
    let late = append(&node, "a", message("one")).await.json();
    assert_eq!(first["ids"], late["ids"]);
    assert_eq!(count(&node).await, 2);
    let other = append(&node, "a", message("other")).await;
    assert_eq!((other.status, other.code().as_str()), (422, "idempotency_key_reused"));
    let longer = json!([message("one")[0], message("two")[0]]);
    assert_eq!(append(&node, "a", longer).await.code(), "idempotency_key_reused");
    assert_ne!(append(&node, "b", message("one")).await.json()["ids"], first["ids"]);
    assert_eq!(count(&node).await, 3);
    let two = json!([message("one")[0], message("two")[0]]);
    assert_eq!(append(&node, "c", two.clone()).await.status, 200);
    assert_eq!(append(&node, "c", message("one")).await.code(), "idempotency_key_reused");
    assert_eq!(append(&node, "c", two).await.status, 200);
    assert_eq!(count(&node).await, 5);
}

/// A string of JavaScript may have half of a surrogate pair, and values may be nested deeply.
#[tokio::test]
async fn entries_that_only_the_library_can_read_are_appended_once() {
    let node = Node::start().await;
    node.session("chat").await;
    let deep = format!("{}{}", "[".repeat(1000), "]".repeat(1000));
    for (key, value) in [("half", r#""cut \ud83d""#), ("deep", &deep)] {
        let body = format!("[{{\"type\":\"custom\",\"customType\":\"x\",\"data\":{value}}}]");
        let append = |body: String| {
            let request = node.request("POST", "/v1/sessions/chat/entries");
            let request = request.header("idempotency-key", key);
            send(request.header("content-type", "application/json").body(body))
        };
        let first = append(body.clone()).await;
        assert_eq!(first.status, 200, "{first:?}");
        assert_eq!(append(body.clone()).await.json()["ids"], first.json()["ids"]);
        let other = append(body.replace("\"x\"", "\"y\"")).await;
        assert_eq!((other.status, other.code().as_str()), (422, "idempotency_key_reused"));
    }
    assert_eq!(count(&node).await, 2);
}

/// The client may choose ids itself, with the same effect.
#[tokio::test]
async fn entries_with_ids_are_appended_once() {
    let node = Node::start().await;
    let session = node.session("chat").await;
    let entry = json!([{"type": "custom", "id": "mine", "customType": "x", "data": {"a": 1}}]);
    let path = format!("{session}/entries");
    let first = node.call("POST", &path, entry.clone()).await.json();
    assert_eq!(node.call("POST", &path, entry).await.json(), first);
    let other = json!([{"type": "custom", "id": "mine", "customType": "x", "data": {"a": 2}}]);
    let refused = node.call("POST", &path, other).await;
    assert_eq!((refused.status, refused.code().as_str()), (409, "duplicate_entry"));
}

#[tokio::test]
async fn a_repeated_append_with_a_condition_is_no_conflict() {
    let node = Node::start().await;
    let session = node.session("chat").await;
    let leaf = node.say(&session, "one").await;
    let request = || {
        let request = node.request("POST", &format!("{session}/entries"));
        let request =
            request.header("idempotency-key", "k").header("if-match", format!("\"{leaf}\""));
        send(json(request, message("two")))
    };
    let first = request().await;
    assert_eq!(first.status, 200);
    assert_eq!(request().await.json(), first.json());
}

#[tokio::test]
async fn repeated_appends_at_the_same_time_happen_once() {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
    let nodes = [Node::on(Arc::clone(&store)).await, Node::on(Arc::clone(&store)).await];
    nodes[0].session("chat").await;
    let calls = (0..16).map(|at| append(&nodes[at % 2], "same", message("once")));
    let answers = futures_util::future::join_all(calls).await;
    for answer in &answers {
        assert_eq!(answer.json()["ids"], answers[0].json()["ids"]);
    }
    assert_eq!(count(&nodes[1]).await, 1);
}

#[tokio::test]
async fn a_repeated_append_is_known_after_a_restart() {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
    let node = Node::on(Arc::clone(&store)).await;
    node.session("chat").await;
    let first = append(&node, "a", message("one")).await.json();
    node.kill().await;
    let node = Node::on(store).await;
    assert_eq!(append(&node, "a", message("one")).await.json(), first);
    assert_eq!(count(&node).await, 1);
}

#[tokio::test]
async fn sessions_are_created_and_forked_once() {
    let node = Node::start().await;
    let create = |key: &str| {
        let request = node.request("POST", "/v1/sessions").header("idempotency-key", key);
        send(json(request, json!({"cwd": "/project"})))
    };
    let (first, again) = (create("a").await, create("a").await);
    assert_eq!((first.status, again.status), (201, 200));
    assert_eq!(first.json()["id"], again.json()["id"]);
    assert_ne!(create("b").await.json()["id"], first.json()["id"]);
    let session = format!("/v1/sessions/{}", first.json()["id"].as_str().unwrap());
    node.say(&session, "hello").await;
    let fork = || {
        let request = node.request("POST", &format!("{session}/fork"));
        send(json(request.header("idempotency-key", "f"), json!({})))
    };
    let (first, again) = (fork().await, fork().await);
    assert_eq!((first.status, again.status), (201, 200));
    assert_eq!(first.json()["id"], again.json()["id"]);
}

/// A key that is reused with another body does not return the earlier result.
#[tokio::test]
async fn a_key_is_for_one_session_and_one_fork() {
    let node = Node::start().await;
    let post = |path: &str, body: Value| {
        send(json(node.request("POST", path).header("idempotency-key", "k"), body))
    };
    let create = |body: Value| post("/v1/sessions", body);
    let id = create(json!({"cwd": "/a", "name": "one"})).await.json()["id"].clone();
    let again = create(json!({"cwd": "/a", "name": "one"})).await;
    assert_eq!((again.status, &again.json()["id"]), (200, &id));
    for other in [json!({"cwd": "/b", "name": "one"}), json!({"cwd": "/a", "name": "two"})] {
        let refused = create(other).await;
        assert_eq!((refused.status, refused.code().as_str()), (422, "idempotency_key_reused"));
    }
    assert_eq!(create(json!({"id": "own", "cwd": "/a"})).await.status, 201);
    assert_eq!(create(json!({"id": "own", "cwd": "/a"})).await.status, 200);
    let refused = create(json!({"id": "own", "cwd": "/b"})).await;
    assert_eq!((refused.status, refused.code().as_str()), (409, "session_exists"));

    // The same key makes a fork of each session, and not the session that was created with it.
    let session = format!("/v1/sessions/{}", id.as_str().unwrap());
    let (first, last) = (node.say(&session, "one").await, node.say(&session, "two").await);
    let fork = post(&format!("{session}/fork"), json!({"at": last})).await;
    assert_eq!(fork.status, 201, "{fork:?}");
    assert_ne!(fork.json()["id"], id);
    let again = post(&format!("{session}/fork"), json!({"at": last})).await;
    assert_eq!((again.status, &again.json()["id"]), (200, &fork.json()["id"]));
    let refused = post(&format!("{session}/fork"), json!({"at": first})).await;
    assert_eq!((refused.status, refused.code().as_str()), (422, "idempotency_key_reused"));
    node.say("/v1/sessions/own", "hello").await;
    let other = post("/v1/sessions/own/fork", json!({})).await;
    assert_eq!(other.status, 201);
    assert_ne!(other.json()["id"], fork.json()["id"]);
}

/// Appends through two nodes: all of them are in the log, each once, on one path.
#[tokio::test]
async fn two_nodes_append_to_one_session() {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
    let nodes = [Node::on(Arc::clone(&store)).await, Node::on(Arc::clone(&store)).await];
    let session = nodes[0].session("chat").await;
    let calls = (0..40).map(|at| {
        let (node, session) = (&nodes[at % 2], &session);
        async move { node.say(session, &format!("message {at}")).await }
    });
    let mut ids = futures_util::future::join_all(calls).await;
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), 40);
    for node in &nodes {
        assert_eq!(node.get(&session).await.json()["entryCount"], 40);
        let context = node.get(&format!("{session}/context")).await.json();
        assert_eq!(context["messages"].as_array().unwrap().len(), 40);
    }
}

/// A node that has a session open notices that another one removed it, or put another in its place.
#[tokio::test]
async fn a_session_that_another_node_removed_is_unknown() {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
    let nodes = [Node::on(Arc::clone(&store)).await, Node::on(Arc::clone(&store)).await];
    let session = nodes[0].session("chat").await;
    nodes[0].say(&session, "one").await;
    assert_eq!(send(nodes[1].request("DELETE", &session)).await.status, 204);
    let refused = nodes[0].call("POST", &format!("{session}/entries"), message("two")).await;
    assert_eq!((refused.status, refused.code().as_str()), (404, "unknown_session"));
    nodes[1].session("chat").await;
    nodes[0].say(&session, "other").await;
    assert_eq!(nodes[1].get(&session).await.json()["entryCount"], 1);
}

/// A store whose standby is missing: appends are in the log, and are not durable.
#[derive(Debug)]
struct WithoutStandby {
    inner: MemoryStore,
    is_missing: Arc<AtomicBool>,
}

#[derive(Debug)]
struct WithoutStandbyJournal {
    inner: Arc<dyn Journal>,
    is_missing: Arc<AtomicBool>,
}

impl WithoutStandby {
    fn journal(&self, inner: Arc<dyn Journal>) -> Arc<dyn Journal> {
        Arc::new(WithoutStandbyJournal { inner, is_missing: Arc::clone(&self.is_missing) })
    }
}

impl Store for WithoutStandby {
    fn location(&self) -> String {
        self.inner.location()
    }

    fn create(&self, id: &SessionId, start: &mut dyn Read) -> Result<Arc<dyn Journal>> {
        Ok(self.journal(self.inner.create(id, start)?))
    }

    fn open(&self, id: &SessionId) -> Result<Arc<dyn Journal>> {
        Ok(self.journal(self.inner.open(id)?))
    }

    fn list(&self, query: &ListQuery) -> Result<Page> {
        self.inner.list(query)
    }

    fn remove(&self, id: &SessionId) -> Result<()> {
        self.inner.remove(id)
    }

    fn changes(&self, mark: Option<&Mark>) -> Result<Changes> {
        self.inner.changes(mark)
    }
}

impl Journal for WithoutStandbyJournal {
    fn len(&self) -> io::Result<u64> {
        self.inner.len()
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        self.inner.read_at(offset, buffer)
    }

    fn append(&self, end: &End, lines: &[u8]) -> std::result::Result<Appended, JournalError> {
        let appended = self.inner.append(end, lines)?;
        self.sync()?;
        Ok(appended)
    }

    fn sync(&self) -> io::Result<()> {
        match self.is_missing.load(Ordering::SeqCst) {
            true => Err(io::ErrorKind::TimedOut.into()),
            false => Ok(()),
        }
    }

    fn truncate_if(&self, _: u64, _: u64) -> io::Result<bool> {
        Ok(false)
    }
}

/// An append that is in the log and would be lost with the primary is not acknowledged, however
/// often it is
/// repeated, by whatever call.
#[tokio::test]
async fn a_repeated_append_is_not_acknowledged_before_it_is_durable() {
    let is_missing = Arc::new(AtomicBool::new(false));
    let (inner, missing) = (MemoryStore::new(), Arc::clone(&is_missing));
    let node = Node::on(Arc::new(WithoutStandby { inner, is_missing: missing })).await;
    let session = node.session("chat").await;
    let length = node.get(&session).await.json()["length"].as_u64().unwrap();
    is_missing.store(true, Ordering::SeqCst);
    for _ in 0..3 {
        let refused = append(&node, "a", message("one")).await;
        assert_eq!((refused.status, refused.code().as_str()), (503, "store_unavailable"));
    }
    assert_eq!(count(&node).await, 1);
    // A client of the log is not told that it has moved: it would find its own lines there.
    let lines = || {
        let request = node.request("POST", &format!("{session}/log?at={length}"));
        send(request.header("content-type", "application/x-ndjson").body("{}\n"))
    };
    assert_eq!(lines().await.status, 503);
    let again = || {
        let body = json!({"cwd": "/"});
        send(json(node.request("POST", "/v1/sessions").header("idempotency-key", "s"), body))
    };
    assert_eq!(again().await.status, 201, "a session in memory is created at once");
    assert_eq!(again().await.status, 503);
    is_missing.store(false, Ordering::SeqCst);
    assert_eq!(append(&node, "a", message("one")).await.status, 200);
    assert_eq!((lines().await.status, again().await.status), (409, 200));
    assert_eq!(count(&node).await, 1);
}
