//! Appends that wait for each other are written together, and each keeps its own outcome.

use crate::harness::{Answer, Node, TIMEOUT, json, message, send};
use serde_json::{Value, json};
use std::io::{self, Read};
use std::sync::{Arc, Condvar, Mutex};
use tokio::task::JoinHandle;
use treering::storage::{Appended, End, Journal, JournalError};
use treering::store::{Changes, ListQuery, Mark, MemoryStore, Page, Store};
use treering::{Result, SessionId};

/// The appends that reach the storage: they wait while the gate is closed.
#[derive(Debug, Default)]
struct Gate {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    is_closed: bool,
    /// Appends that came to the gate, and lines of those that went through.
    arrived: usize,
    writes: Vec<usize>,
    /// Whether appends succeed, but their writers are not told.
    loses_answers: bool,
}

impl Gate {
    fn change(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.state.lock().unwrap());
        self.changed.notify_all();
    }

    fn wait(&self, is_done: impl Fn(&State) -> bool) {
        let state = self.state.lock().unwrap();
        let (state, waited) =
            self.changed.wait_timeout_while(state, TIMEOUT, |state| !is_done(state)).unwrap();
        drop(state);
        assert!(!waited.timed_out());
    }

    fn writes(&self) -> Vec<usize> {
        self.state.lock().unwrap().writes.clone()
    }
}

/// A store in memory behind a gate.
#[derive(Debug)]
struct GatedStore {
    inner: MemoryStore,
    gate: Arc<Gate>,
}

#[derive(Debug)]
struct GatedJournal {
    inner: Arc<dyn Journal>,
    gate: Arc<Gate>,
}

impl GatedStore {
    fn gated(&self, inner: Arc<dyn Journal>) -> Arc<dyn Journal> {
        Arc::new(GatedJournal { inner, gate: Arc::clone(&self.gate) })
    }
}

impl Store for GatedStore {
    fn location(&self) -> String {
        self.inner.location()
    }

    fn create(&self, id: &SessionId, start: &mut dyn Read) -> Result<Arc<dyn Journal>> {
        self.inner.create(id, start).map(|journal| self.gated(journal))
    }

    fn open(&self, id: &SessionId) -> Result<Arc<dyn Journal>> {
        self.inner.open(id).map(|journal| self.gated(journal))
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

impl Journal for GatedJournal {
    fn len(&self) -> io::Result<u64> {
        self.inner.len()
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        self.inner.read_at(offset, buffer)
    }

    fn append(&self, end: &End, lines: &[u8]) -> std::result::Result<Appended, JournalError> {
        self.gate.change(|state| state.arrived += 1);
        self.gate.wait(|state| !state.is_closed);
        let appended = self.inner.append(end, lines)?;
        let count = lines.iter().filter(|&&byte| byte == b'\n').count();
        self.gate.change(|state| state.writes.push(count));
        match self.gate.state.lock().unwrap().loses_answers {
            true => Err(JournalError::Io(io::ErrorKind::TimedOut.into())),
            false => Ok(appended),
        }
    }

    fn sync(&self) -> io::Result<()> {
        self.inner.sync()
    }

    fn truncate_if(&self, expected: u64, length: u64) -> io::Result<bool> {
        self.inner.truncate_if(expected, length)
    }
}

/// A node whose first append waits at the closed gate.
struct Setting {
    node: Node,
    store: Arc<dyn Store>,
    gate: Arc<Gate>,
    first: JoinHandle<Answer>,
}

impl Setting {
    async fn start() -> Setting {
        let gate = Arc::new(Gate::default());
        let inner = MemoryStore::new();
        let store: Arc<dyn Store> = Arc::new(GatedStore { inner, gate: Arc::clone(&gate) });
        let node = Node::on(Arc::clone(&store)).await;
        node.session("chat").await;
        gate.change(|state| *state = State { is_closed: true, ..State::default() });
        let first = append(&node, "first", None, message("first"));
        let arrived = Arc::clone(&gate);
        let wait = move || arrived.wait(|state| state.arrived == 1);
        tokio::task::spawn_blocking(wait).await.unwrap();
        Setting { node, store, gate, first }
    }

    /// Waits until this many appends are in the queue behind the first one.
    async fn queued(&self, count: u64) {
        let waited = async {
            while self.metric("treering_queued_appends").await != count {
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(TIMEOUT, waited).await.unwrap();
    }

    async fn metric(&self, name: &str) -> u64 {
        let text = String::from_utf8(self.node.get("/metrics").await.body).unwrap();
        let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        line.unwrap().parse().unwrap()
    }

    fn open(&self) {
        self.gate.change(|state| state.is_closed = false);
    }
}

fn append(node: &Node, key: &str, leaf: Option<&str>, body: Value) -> JoinHandle<Answer> {
    let mut request = node.request("POST", "/v1/sessions/chat/entries");
    request = request.header("idempotency-key", key);
    if let Some(leaf) = leaf {
        request = request.header("if-match", format!("\"{leaf}\""));
    }
    tokio::spawn(send(json(request, body)))
}

/// Returns the texts of a session, in the order of its log.
async fn texts(node: &Node) -> Vec<String> {
    let page = node.get("/v1/sessions/chat/entries?limit=1000").await.json();
    let entries = page["entries"].as_array().unwrap().iter();
    entries.map(|entry| entry["message"]["content"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn appends_that_wait_are_one_write_in_their_order() {
    let setting = Setting::start().await;
    let mut calls = Vec::new();
    for at in 0..16 {
        calls.push(append(&setting.node, &at.to_string(), None, message(&format!("text {at}"))));
        setting.queued(at + 1).await;
    }
    setting.open();
    let first = setting.first.await.unwrap().json();
    let mut length = first["length"].as_u64().unwrap();
    for call in calls {
        let answer = call.await.unwrap();
        assert_eq!(answer.status, 200, "{answer:?}");
        let answer = answer.json();
        assert_eq!(answer["leaf"], answer["ids"][0]);
        assert!(answer["length"].as_u64().unwrap() > length, "in the order in which they came");
        length = answer["length"].as_u64().unwrap();
    }
    assert_eq!(setting.gate.writes(), [1, 16]);
    let mut expected = vec!["first".to_owned()];
    expected.extend((0..16).map(|at| format!("text {at}")));
    assert_eq!(texts(&setting.node).await, expected);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refused_append_does_not_fail_its_neighbors() {
    let setting = Setting::start().await;
    let node = &setting.node;
    let orphan = json!([{"type": "message", "parentId": "nothing", "message": {"role": "user", "content": "lost"}}]);
    let calls = [
        append(node, "a", None, message("a")),
        append(node, "b", None, orphan),
        append(node, "c", Some("elsewhere"), message("lost")),
        append(node, "a", None, message("a")),
        append(node, "a", None, message("another one")),
        append(node, "d", None, message("d")),
    ];
    setting.queued(6).await;
    setting.open();
    let mut answers = Vec::new();
    for call in calls {
        answers.push(call.await.unwrap());
    }
    assert_eq!(setting.first.await.unwrap().status, 200);
    // Three calls have the same key: two with the same entries, and one that is refused, in any order.
    let same: Vec<&Answer> = [0, 3, 4].map(|at| &answers[at]).into_iter().collect();
    let codes: Vec<u16> = same.iter().map(|answer| answer.status).collect();
    let is_refused = |answer: &&&Answer| answer.status == 422;
    assert!(codes.iter().filter(|&&code| code == 422).count() >= 1, "{codes:?}");
    for refused in same.iter().filter(is_refused) {
        assert_eq!(refused.code(), "idempotency_key_reused");
    }
    assert_eq!((answers[1].status, answers[1].code().as_str()), (422, "invalid_entry"));
    assert_eq!((answers[2].status, answers[2].code().as_str()), (412, "leaf_moved"));
    assert_eq!(answers[5].status, 200);
    let texts = texts(node).await;
    assert_eq!(texts.len(), 3, "{texts:?}");
    assert!(!texts.contains(&"lost".to_owned()));
    assert_eq!(setting.gate.writes(), [1, 2]);
}

/// The storage fails after the write: every caller gets an error that asks for a retry, and a retry appends nothing.
#[tokio::test(flavor = "multi_thread")]
async fn a_lost_answer_concerns_all_and_doubles_none() {
    let setting = Setting::start().await;
    let keys = ["a", "b", "c"];
    let calls = keys.map(|key| append(&setting.node, key, None, message(key)));
    setting.queued(3).await;
    setting.gate.change(|state| (state.loses_answers, state.is_closed) = (true, false));
    for call in calls {
        let answer = call.await.unwrap();
        assert_eq!((answer.status, answer.code().as_str()), (503, "store_unavailable"));
    }
    assert_eq!(setting.first.await.unwrap().status, 503);
    setting.gate.change(|state| state.loses_answers = false);
    for key in keys {
        assert_eq!(append(&setting.node, key, None, message(key)).await.unwrap().status, 200);
    }
    assert_eq!(append(&setting.node, "first", None, message("first")).await.unwrap().status, 200);
    let mut texts = texts(&setting.node).await;
    texts.sort();
    assert_eq!(texts, ["a", "b", "c", "first"]);
    assert_eq!(setting.gate.writes(), [1, 3]);
}

/// A node dies while appends wait: none of them is acknowledged, and a retry at another node appends each once.
#[tokio::test(flavor = "multi_thread")]
async fn a_node_that_dies_with_waiting_appends_loses_and_doubles_nothing() {
    let setting = Setting::start().await;
    let keys: Vec<String> = (0..8).map(|at| format!("key {at}")).collect();
    let request = |node: &Node, key: &str| {
        let request = node.request("POST", "/v1/sessions/chat/entries");
        json(request.header("idempotency-key", key), message(key))
    };
    let calls: Vec<_> =
        keys.iter().map(|key| tokio::spawn(request(&setting.node, key).send())).collect();
    setting.queued(8).await;
    let Setting { node, store, gate, first } = setting;
    node.kill().await;
    // What the killed node had begun may still happen.
    gate.change(|state| state.is_closed = false);
    first.abort();
    drop(calls);
    let other = Node::on(store).await;
    for key in &keys {
        assert_eq!(send(request(&other, key)).await.status, 200);
    }
    assert_eq!(append(&other, "first", None, message("first")).await.unwrap().status, 200);
    let mut texts = texts(&other).await;
    texts.sort();
    let mut expected = keys;
    expected.push("first".into());
    expected.sort();
    assert_eq!(texts, expected);
}

/// A caller that leaves while its append waits takes it along.
#[tokio::test(flavor = "multi_thread")]
async fn an_append_whose_caller_left_is_not_written() {
    let setting = Setting::start().await;
    let gone = append(&setting.node, "gone", None, message("gone"));
    setting.queued(1).await;
    gone.abort();
    setting.queued(0).await;
    setting.open();
    assert_eq!(setting.first.await.unwrap().status, 200);
    assert_eq!(texts(&setting.node).await, ["first"]);
}
