//! Test support: a running server, and a client for it.

use serde_json::Value;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;
use treering::store::{MemoryStore, Store};
use treering_server::{Grant, Limits, MemoryTokens, Scope, Server, SingleSpace};

/// An upper bound for everything that a test waits for. Nothing is expected to take that long.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(60);

pub(crate) const ADMIN: &str = "tr_admin-token-of-the-tests";

/// A server that runs until it is dropped or stopped.
pub(crate) struct Node {
    pub(crate) address: SocketAddr,
    pub(crate) store: Arc<dyn Store>,
    pub(crate) tokens: Arc<MemoryTokens>,
    pub(crate) client: reqwest::Client,
    stop: Option<oneshot::Sender<()>>,
    task: tokio::task::JoinHandle<std::io::Result<()>>,
}

/// An answer that was read.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: reqwest::header::HeaderMap,
    pub(crate) body: Vec<u8>,
}

impl Answer {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| {
            panic!("{error}: {} {}", self.status, String::from_utf8_lossy(&self.body))
        })
    }

    pub(crate) fn code(&self) -> String {
        assert_eq!(self.header("content-type"), "application/problem+json");
        self.json()["code"].as_str().unwrap().to_owned()
    }

    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }
}

pub(crate) fn limits() -> Limits {
    let mut limits = Limits::default();
    limits.token_memory = Duration::ZERO;
    limits.refused_rate = 0;
    limits
}

impl Node {
    pub(crate) async fn start() -> Node {
        Node::on(Arc::new(MemoryStore::new())).await
    }

    pub(crate) async fn on(store: Arc<dyn Store>) -> Node {
        Node::with(store, limits(), |server| server).await
    }

    pub(crate) async fn with(
        store: Arc<dyn Store>,
        limits: Limits,
        adjust: impl FnOnce(Server) -> Server,
    ) -> Node {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let tokens = Arc::new(MemoryTokens::admin(ADMIN, "main"));
        let spaces = Arc::new(SingleSpace::new("main", Arc::clone(&store)));
        let server = adjust(Server::new(spaces, tokens.clone()).limits(limits));
        let (stop, stopped) = oneshot::channel::<()>();
        let shutdown = async move {
            let _ = stopped.await;
        };
        let task = tokio::spawn(server.serve(listener, shutdown));
        let client = reqwest::Client::builder().no_proxy().build().unwrap();
        Node { address, store, tokens, client, stop: Some(stop), task }
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// Begins a request with the admin token.
    pub(crate) fn request(&self, method: &str, path: &str) -> reqwest::RequestBuilder {
        let method = reqwest::Method::from_bytes(method.as_bytes()).unwrap();
        let request = self.client.request(method, self.url(path));
        request.header("authorization", format!("Bearer {ADMIN}"))
    }

    pub(crate) async fn get(&self, path: &str) -> Answer {
        send(self.request("GET", path)).await
    }

    pub(crate) async fn call(&self, method: &str, path: &str, body: Value) -> Answer {
        send(json(self.request(method, path), body)).await
    }

    /// Creates a session and returns the path of its calls.
    pub(crate) async fn session(&self, id: &str) -> String {
        let created = self.call("POST", "/v1/sessions", serde_json::json!({"id": id})).await;
        assert_eq!(created.status, 201, "{created:?}");
        format!("/v1/sessions/{id}")
    }

    /// Appends a user message and returns its id.
    pub(crate) async fn say(&self, session: &str, text: &str) -> String {
        let path = format!("{session}/entries");
        let appended = self.call("POST", &path, message(text)).await;
        assert_eq!(appended.status, 200, "{appended:?}");
        appended.json()["ids"][0].as_str().unwrap().to_owned()
    }

    /// Returns how many requests were refused for a reason.
    pub(crate) async fn refusals(&self, reason: &str) -> u64 {
        let text = self.get("/metrics").await;
        let text = String::from_utf8(text.body).unwrap();
        let name = format!("treering_refusals_total{{reason=\"{reason}\"}} ");
        let line = text.lines().find_map(|line| line.strip_prefix(&name));
        line.map_or(0, |count| count.parse().unwrap())
    }

    pub(crate) fn grant(&self, token: &str, space: &str, scope: Scope, expires: Option<i64>) {
        let (name, space) = (token.to_owned(), space.to_owned());
        self.tokens.insert(token, Grant { name, space, scope, expires });
    }

    /// Sends bytes over a connection of its own and returns everything that comes back.
    pub(crate) async fn raw(&self, request: &[u8]) -> String {
        let mut stream = TcpStream::connect(self.address).await.unwrap();
        stream.write_all(request).await.unwrap();
        read_all(&mut stream).await
    }

    /// Tells the server to end, without waiting for it.
    pub(crate) fn begin_stop(&mut self) {
        if let Some(stop) = self.stop.take() {
            let _ = stop.send(());
        }
    }

    /// Waits until the server has ended.
    pub(crate) async fn stopped(mut self) {
        self.begin_stop();
        let task = &mut self.task;
        tokio::time::timeout(TIMEOUT, task).await.unwrap().unwrap().unwrap();
    }

    /// Ends the server as a kill would: nothing is finished.
    pub(crate) async fn kill(self) {
        self.task.abort();
        let _ = self.task.await;
    }
}

/// Stops the clock of the runtime, which only `tokio::time::advance` moves from then on.
///
/// A stopped clock would move by itself while all tasks wait, which they also do for the network. It does not while work
/// blocks a thread, so one is blocked until the result is dropped, or for a minute, after which the test fails.
pub(crate) fn stop_clock() -> std::sync::mpsc::Sender<()> {
    let (held, holder) = std::sync::mpsc::channel();
    tokio::task::spawn_blocking(move || holder.recv_timeout(TIMEOUT).is_ok());
    tokio::time::pause();
    held
}

/// Reads until the other end closes the connection.
pub(crate) async fn read_all(stream: &mut TcpStream) -> String {
    let mut bytes = Vec::new();
    // A reset after an answer is an end, too.
    let _ = tokio::time::timeout(TIMEOUT, stream.read_to_end(&mut bytes)).await.unwrap();
    String::from_utf8_lossy(&bytes).into_owned()
}

pub(crate) fn json(request: reqwest::RequestBuilder, body: Value) -> reqwest::RequestBuilder {
    request.header("content-type", "application/json").body(body.to_string())
}

pub(crate) async fn send(request: reqwest::RequestBuilder) -> Answer {
    let response = request.timeout(TIMEOUT).send().await.unwrap();
    let (status, headers) = (response.status().as_u16(), response.headers().clone());
    Answer { status, headers, body: response.bytes().await.unwrap().to_vec() }
}

/// A batch of one user message.
pub(crate) fn message(text: &str) -> Value {
    serde_json::json!([{"type": "message", "message": {"role": "user", "content": text}}])
}
