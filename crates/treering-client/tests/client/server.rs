//! The client against the real server.

use std::sync::Arc;
use treering::store::{MemoryStore, Store};
use treering::{CreateOptions, Message, Session, SessionId};
use treering_client::sync::{Direction, Syncer};
use treering_client::{EventKind, HttpOptions, HttpStore};
use treering_server::{MemoryTokens, Server, SingleSpace, new_token};
use treering_testkit::story;

/// A server on a free port of the loopback interface. It stops when it is dropped.
pub(crate) struct Node {
    pub(crate) url: String,
    pub(crate) token: String,
    _runtime: tokio::runtime::Runtime,
}

impl Node {
    pub(crate) fn start(store: Arc<dyn Store>) -> Node {
        Node::with(store, "http", |server| server)
    }

    pub(crate) fn with(
        store: Arc<dyn Store>,
        scheme: &str,
        adjust: impl FnOnce(Server) -> Server,
    ) -> Node {
        let runtime = tokio::runtime::Builder::new_multi_thread();
        let runtime = { runtime }.worker_threads(2).enable_all().build().unwrap();
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0");
        let listener = runtime.block_on(listener).unwrap();
        let url = format!("{scheme}://{}", listener.local_addr().unwrap());
        let token = new_token().unwrap();
        let spaces = SingleSpace::new("main", store);
        let tokens = MemoryTokens::admin(&token, "main");
        let server = adjust(Server::new(Arc::new(spaces), Arc::new(tokens)));
        runtime.spawn(server.serve(listener, std::future::pending()));
        Node { url, token, _runtime: runtime }
    }

    fn client(&self) -> HttpStore {
        HttpStore::new(&self.url, HttpOptions::new().token(&self.token)).unwrap()
    }

    pub(crate) fn store(&self) -> Arc<dyn Store> {
        Arc::new(self.client())
    }
}

#[test]
fn the_story_of_stores_passes() {
    let node = Node::start(Arc::new(MemoryStore::new()));
    story::store(|| node.store());
}

#[test]
fn sessions_are_pushed_pulled_and_followed() {
    let remote: Arc<dyn Store> = Arc::new(MemoryStore::new());
    let node = Node::start(Arc::clone(&remote));
    let local: Arc<dyn Store> = Arc::new(MemoryStore::new());
    let id = SessionId::new("s").unwrap();
    let options = CreateOptions::new().id(id.clone());
    let session = Session::create_in(&local, "/project", options).unwrap();
    session.append(Message::user("one")).unwrap();
    let syncer = Syncer::new(Arc::clone(&local), node.store());
    assert_eq!(syncer.all(Direction::Both, |_| {}).unwrap().created, 1);

    let mut events = node.client().events(&id, Some("0"));
    let first = events.next().unwrap().unwrap();
    assert_eq!(first.kind, EventKind::Entry);
    assert!(first.data.contains("one"), "{}", first.data);
    session.append(Message::user("two")).unwrap();
    assert_eq!(syncer.all(Direction::Both, |_| {}).unwrap().appended, 1);
    let second = events.next().unwrap().unwrap();
    assert!(second.data.contains("two"), "{}", second.data);
    let length = local.open(&id).unwrap().len().unwrap();
    assert_eq!(remote.open(&id).unwrap().len().unwrap(), length);
    assert_eq!(events.last_id(), Some(&*length.to_string()));
    assert_eq!(syncer.all(Direction::Both, |_| {}).unwrap().unchanged, 1);
}

/// Waits until a condition holds. Nothing is expected to take that long.
fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    let until = std::time::Instant::now() + std::time::Duration::from_secs(60);
    while !holds() {
        assert!(std::time::Instant::now() < until, "{what}");
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
}

/// A session that nothing happens to is not asked about.
#[test]
fn news_come_by_events() {
    let remote: Arc<dyn Store> = Arc::new(MemoryStore::new());
    let node = Node::start(Arc::clone(&remote));
    let writer = Session::create_in(&remote, "/project", CreateOptions::new()).unwrap();
    writer.append(Message::user("one")).unwrap();
    let store = node.store();
    let reader = Session::open_in(&store, &writer.id(), Default::default()).unwrap();
    let mark = store.changes(None).unwrap().mark;
    assert!(reader.has_news() && store.has_news(), "nothing is known yet");
    eventually("the session is quiet", || reader.refresh().is_ok() && !reader.has_news());
    eventually("the store is quiet", || store.changes(None).is_ok() && !store.has_news());
    for text in ["two", "three"] {
        let id = writer.append(Message::user(text)).unwrap();
        eventually("the session has news", || reader.has_news());
        assert_eq!(reader.refresh().unwrap(), [id]);
        eventually("the store has news", || store.has_news());
        assert_eq!(store.changes(Some(&mark)).unwrap().sessions.len(), 1);
        eventually("all is quiet again", || {
            reader.refresh().unwrap();
            store.changes(Some(&mark)).unwrap();
            !reader.has_news() && !store.has_news()
        });
    }
    drop(node);
    eventually("a server that is gone has to be asked", || reader.has_news() && store.has_news());
}

/// A program that runs on tokio uses the store from its blocking threads.
#[test]
fn the_store_works_in_a_blocking_thread_of_a_runtime() {
    let node = Node::start(Arc::new(MemoryStore::new()));
    let store = node.store();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let listed = runtime.block_on(async move {
        let asked = tokio::task::spawn_blocking(move || store.list(&Default::default()));
        asked.await.unwrap().unwrap()
    });
    assert!(listed.sessions.is_empty());
}

#[test]
fn a_wrong_token_is_refused_without_being_shown() {
    let node = Node::start(Arc::new(MemoryStore::new()));
    let options = HttpOptions::new().token("tr_wrong-token-of-the-test");
    let error = HttpStore::new(&node.url, options).unwrap().changes(None).unwrap_err();
    let message = error.to_string();
    assert!(!error.is_retryable() && message.contains("token"), "{message}");
    assert!(!message.contains("wrong-token"), "{message}");
}
