//! Streams of events: no event is lost or sent twice, on any node.

use crate::harness::{Node, TIMEOUT, limits, send};
use serde_json::Value;
use std::sync::Arc;
use treering::store::{MemoryStore, Store};
use treering::{CreateOptions, Dialect, Message, Session, SessionId};

/// A follower of events.
pub(crate) struct Follower {
    response: reqwest::Response,
    text: String,
    last: Option<String>,
}

#[derive(Debug, PartialEq)]
pub(crate) struct Event {
    id: Option<String>,
    name: String,
    pub(crate) data: Value,
}

impl Follower {
    pub(crate) async fn new(node: &Node, path: &str, last: Option<&str>) -> Follower {
        let mut request = node.request("GET", path);
        if let Some(last) = last {
            request = request.header("last-event-id", last);
        }
        let response = request.send().await.unwrap();
        assert_eq!(response.status().as_u16(), 200);
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        let last = last.map(str::to_owned);
        let mut follower = Follower { response, text: String::new(), last };
        // The first block states the position at which the stream begins.
        while follower.last.is_none() {
            follower.read().await;
            follower.take();
        }
        follower
    }

    async fn read(&mut self) -> bool {
        let chunk = tokio::time::timeout(TIMEOUT, self.response.chunk()).await.unwrap();
        match chunk {
            Ok(Some(chunk)) => self.text.push_str(std::str::from_utf8(&chunk).unwrap()),
            _ => return false,
        }
        true
    }

    /// Takes a block out of the text; an event if it is one.
    fn take(&mut self) -> Option<Event> {
        while let Some((block, rest)) = self.text.split_once("\n\n") {
            let (block, rest) = (block.to_owned(), rest.to_owned());
            self.text = rest;
            let field = |name: &str| {
                block.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
            };
            let id = field("id").map(str::to_owned);
            if id.is_some() {
                self.last.clone_from(&id);
            }
            if let (Some(name), Some(data)) = (field("event"), field("data")) {
                let data = serde_json::from_str(data).unwrap();
                return Some(Event { id, name: name.to_owned(), data });
            }
        }
        None
    }

    /// Waits for the next event; `None` if the stream ends.
    pub(crate) async fn next(&mut self) -> Option<Event> {
        loop {
            if let Some(event) = self.take() {
                return Some(event);
            }
            if !self.read().await {
                return None;
            }
        }
    }
}

#[tokio::test]
async fn a_follower_gets_what_is_appended() {
    let node = Node::start().await;
    let session = node.session("chat").await;
    let before = node.say(&session, "before").await;
    let mut follower = Follower::new(&node, &format!("{session}/events"), None).await;
    let id = node.say(&session, "hello").await;
    let event = follower.next().await.unwrap();
    assert_eq!((event.name.as_str(), &event.data["id"]), ("entry", &Value::from(id)));
    let length = node.get(&session).await.json()["length"].to_string();
    assert_eq!(event.id, Some(length.clone()));
    let leaf = serde_json::json!({"entry": before});
    node.call("PUT", &format!("{session}/leaf"), leaf).await;
    let event = follower.next().await.unwrap();
    assert_eq!(
        (event.name.as_str(), &event.data["targetId"]),
        ("leaf", &Value::from(before.as_str()))
    );

    let mut all = Follower::new(&node, &format!("{session}/events?after=0"), None).await;
    assert_eq!(all.next().await.unwrap().data["id"], Value::from(before));
    let mut rest = Follower::new(&node, &format!("{session}/events"), Some(&length)).await;
    assert_eq!(rest.next().await.unwrap(), event);

    send(node.request("DELETE", &session)).await;
    let removed = follower.next().await.unwrap();
    assert_eq!(
        (removed.name.as_str(), &removed.data["session"]),
        ("removed", &Value::from("chat"))
    );
    assert!(follower.next().await.is_none());
}

/// A line that holds several entries, as damage may leave it: its entries are numbered, and a
/// follower that
/// was cut off between them gets the rest.
#[tokio::test]
async fn entries_on_one_line_have_separate_events() {
    let node = Node::start().await;
    let session = node.session("chat").await;
    let length = node.get(&session).await.json()["length"].as_u64().unwrap();
    let entry = |id: &str| {
        format!(
            "{{\"type\":\"custom\",\"id\":\"{id}\",\"parentId\":null,\"timestamp\":\"2026-01-01T00:00:00.000Z\",\"customType\":\"x\"}}"
        )
    };
    let lines =
        [entry("a"), entry("b"), entry("c"), "\n".to_owned(), entry("d"), "\n".to_owned()].concat();
    let end = length + lines.find('\n').unwrap() as u64 + 1;
    let request = node.request("POST", &format!("{session}/log?at={length}"));
    let appended = request.header("content-type", "application/x-ndjson").body(lines.clone());
    assert_eq!(send(appended).await.status, 200);
    let path = format!("{session}/events");
    let last = (end + (lines.len() as u64 - (end - length))).to_string();
    let all = [
        ("a", format!("{end}.1")),
        ("b", format!("{end}.2")),
        ("c", format!("{end}.3")),
        ("d", last),
    ];
    for from in 0..all.len() {
        let after = from.checked_sub(1).map_or("0", |before| all[before].1.as_str());
        let mut follower = Follower::new(&node, &path, Some(after)).await;
        for (entry, id) in &all[from..] {
            let event = follower.next().await.unwrap();
            assert_eq!((event.data["id"].as_str(), event.id.as_ref()), (Some(*entry), Some(id)));
        }
    }
}

/// Entries of another agent are sent in treering's format.
#[tokio::test]
async fn sessions_of_other_agents_are_followed() {
    let node = Node::start().await;
    let line = |uuid: &str, parent: &str, text: &str| {
        format!(
            "{{\"parentUuid\":{parent},\"isSidechain\":false,\"userType\":\"external\",\"cwd\":\"/p\",\"sessionId\":\"cc\",\"version\":\"2.0.0\",\"type\":\"user\",\"message\":{{\"role\":\"user\",\"content\":\"{text}\"}},\"uuid\":\"{uuid}\",\"timestamp\":\"2026-01-01T00:00:00.000Z\"}}\n"
        )
    };
    let (one, two) =
        ("11111111-1111-4111-8111-111111111111", "22222222-2222-4222-8222-222222222222");
    let first = line(one, "null", "hello");
    let post = |path: String, body: String| {
        let request = node.request("POST", &path).header("content-type", "application/x-ndjson");
        send(request.body(body))
    };
    let created = post("/v1/sessions?id=cc".to_owned(), first.clone()).await;
    assert_eq!((created.status, &created.json()["agent"]), (201, &Value::from("claude-code")));
    let mut follower = Follower::new(&node, "/v1/sessions/cc/events?after=0", None).await;
    let event = follower.next().await.unwrap();
    assert_eq!(event.data["message"]["content"][0]["text"], "hello");
    let second = line(two, &format!("\"{one}\""), "more");
    post(format!("/v1/sessions/cc/log?at={}", first.len()), second).await;
    let event = follower.next().await.unwrap();
    assert_eq!(
        (&event.data["id"], &event.data["parentId"]),
        (&Value::from(two), &Value::from(one))
    );
    let refused = node.call("POST", "/v1/sessions/cc/entries", crate::harness::message("no")).await;
    assert_eq!((refused.status, refused.code().as_str()), (422, "not_writable"));
}

#[tokio::test]
async fn positions_that_the_log_does_not_have_are_refused() {
    let node = Node::start().await;
    let session = node.session("chat").await;
    let path = format!("{session}/events");
    let beyond = send(node.request("GET", &path).header("last-event-id", "999999")).await;
    assert_eq!((beyond.status, beyond.code().as_str()), (409, "moved"));
    for id in ["x", "1.", "-1", "1.2.3", ""] {
        let refused = send(node.request("GET", &path).header("last-event-id", id)).await;
        assert_eq!(refused.code(), "invalid_request", "{id:?}");
    }
    assert_eq!(
        send(node.request("GET", "/v1/sessions/none/events")).await.code(),
        "unknown_session"
    );
}

#[tokio::test]
async fn all_sessions_are_followed() {
    let node = Node::start().await;
    let mut follower = Follower::new(&node, "/v1/events", None).await;
    let session = node.session("chat").await;
    let created = follower.next().await.unwrap();
    assert_eq!(
        (created.name.as_str(), &created.data["session"]),
        ("changed", &Value::from("chat"))
    );
    let last = follower.last.clone().unwrap();
    drop(follower);
    node.say(&session, "hello").await;
    let length = node.get(&session).await.json()["length"].clone();
    let mut follower = Follower::new(&node, "/v1/events", Some(&last)).await;
    let mut event = follower.next().await.unwrap();
    while event.data["length"] != length {
        event = follower.next().await.unwrap();
    }
    send(node.request("DELETE", &session)).await;
    while event.name != "removed" {
        event = follower.next().await.unwrap();
    }
    assert_eq!(event.data["session"], "chat");
}

/// Eight writers write through two nodes. A follower changes the node after every few events, and
/// is
/// told every entry once, in the order of the log.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_lost_or_repeated_when_a_follower_changes_nodes() {
    const WRITERS: usize = 8;
    const EACH: usize = 25;
    // A small ring, so that followers read from the log, too.
    let mut small = limits();
    small.event_memory = 2000;
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
    let nodes = Arc::new([
        Node::with(Arc::clone(&store), small.clone(), |server| server).await,
        Node::with(Arc::clone(&store), small, |server| server).await,
    ]);
    let session = nodes[0].session("chat").await;
    let writers: Vec<_> = (0..WRITERS)
        .map(|writer| {
            let (nodes, session) = (Arc::clone(&nodes), session.clone());
            tokio::spawn(async move {
                for at in 0..EACH {
                    nodes[(writer + at) % 2].say(&session, &format!("{writer}/{at}")).await;
                }
            })
        })
        .collect();
    let path = format!("{session}/events");
    let mut seen: Vec<(u64, String)> = Vec::new();
    let mut last = Some("0".to_owned());
    let mut turn = 0;
    while seen.len() < WRITERS * EACH {
        let mut follower = Follower::new(&nodes[turn % 2], &path, last.as_deref()).await;
        for _ in 0..7 {
            if seen.len() == WRITERS * EACH {
                break;
            }
            let event = follower.next().await.unwrap();
            let offset = event.id.unwrap().parse().unwrap();
            seen.push((offset, event.data["id"].as_str().unwrap().to_owned()));
        }
        last = follower.last.clone();
        turn += 1;
    }
    for writer in writers {
        writer.await.unwrap();
    }
    assert!(seen.is_sorted_by(|a, b| a.0 < b.0), "in the order of the log, each once");
    let entries = nodes[0].get(&format!("{session}/entries?limit=1000")).await.json();
    let logged: Vec<&str> = entries["entries"]
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| entry["id"].as_str().unwrap())
        .collect();
    let seen: Vec<&str> = seen.iter().map(|(_, id)| id.as_str()).collect();
    assert_eq!(seen, logged);
}

/// A log is read once for all of its followers.
#[tokio::test]
async fn many_followers_share_what_is_read() {
    let node = Node::start().await;
    let session = node.session("chat").await;
    let path = format!("{session}/events");
    let mut followers = Vec::new();
    for _ in 0..50 {
        followers.push(Follower::new(&node, &path, None).await);
    }
    let mut ids = Vec::new();
    for at in 0..10 {
        ids.push(node.say(&session, &at.to_string()).await);
    }
    for follower in &mut followers {
        for id in &ids {
            assert_eq!(follower.next().await.unwrap().data["id"], Value::from(id.as_str()));
        }
    }
    let metrics = String::from_utf8(node.get("/metrics").await.body).unwrap();
    let value = |name: &str| -> u64 {
        let line = metrics.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        line.unwrap().parse().unwrap()
    };
    assert_eq!(value("treering_followers"), 50);
    assert_eq!(value("treering_followed_sessions"), 1);
    assert_eq!(value("treering_events_sent_total"), 500);
    assert!(value("treering_feed_reads_total") <= 10, "{metrics}");
}

/// The title of an omp session is in a line that is overwritten in place: the log does not
/// grow.
#[tokio::test]
async fn a_title_that_changes_in_place_is_an_event() {
    let node = Node::start().await;
    let id = SessionId::new("omp").unwrap();
    let options = CreateOptions::new().id(id.clone()).dialect(Dialect::Omp);
    let session = Session::create_in(&node.store, "/project", options).unwrap();
    session.append(Message::user("hello")).unwrap();
    session.set_name("before").unwrap();
    let mut follower = Follower::new(&node, "/v1/sessions/omp/events", None).await;
    let journal = node.store.open(&id).unwrap();
    let mut line = vec![0; 256];
    assert_eq!(journal.read_at(0, &mut line).unwrap(), 256);
    let text = String::from_utf8(line.clone()).unwrap();
    assert!(text.contains("before"), "{text}");
    for title in ["after.", "later."] {
        let now = text.replace("before", title);
        assert!(journal.replace_start(&line, now.as_bytes()).unwrap());
        line = now.into_bytes();
        let event = follower.next().await.unwrap();
        assert_eq!((event.name.as_str(), event.id), ("title", None));
        assert_eq!(event.data["session"], "omp");
        assert_eq!(node.get("/v1/sessions/omp").await.json()["name"], title);
    }
    // Entries follow as always.
    let appended = node.say("/v1/sessions/omp", "more").await;
    let event = follower.next().await.unwrap();
    assert_eq!((event.name.as_str(), &event.data["id"]), ("entry", &Value::from(appended)));
}
