//! Requests that are refused: each with the right answer, and each counted.

use crate::harness::{ADMIN, Node, limits, message, read_all, send};
use serde_json::json;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use treering::store::MemoryStore;
use treering_server::{Grant, Scope};

fn browser() -> Grant {
    let (name, space) = ("browser".to_owned(), "main".to_owned());
    Grant { name, space, scope: Scope::Write, expires: None }
}

#[tokio::test]
async fn requests_without_the_right_token_are_refused() {
    let node = Node::start().await;
    let session = node.session("chat").await;
    node.grant("reader", "main", Scope::Read, None);
    node.grant("writer", "main", Scope::Write, None);
    node.grant("stranger", "elsewhere", Scope::Admin, None);
    node.grant("old", "main", Scope::Admin, Some(1));
    node.grant("revoked", "main", Scope::Admin, None);
    assert!(node.tokens.revoke("revoked"));
    let entries = format!("{session}/entries");
    for (token, method, path, status, reason) in [
        (None, "GET", session.as_str(), 401, "no_token"),
        (Some("Bearer unknown"), "GET", &session, 401, "unknown_token"),
        (Some("Bearer "), "GET", &session, 401, "malformed_token"),
        (Some("Basic YTpi"), "GET", &session, 401, "malformed_token"),
        (Some("Bearer old"), "GET", &session, 401, "expired_token"),
        (Some("Bearer revoked"), "GET", &session, 401, "unknown_token"),
        (Some("Bearer stranger"), "GET", &session, 403, "unknown_space"),
        (Some("Bearer reader"), "POST", &entries, 403, "scope"),
        (Some("Bearer reader"), "DELETE", &session, 403, "scope"),
        (Some("Bearer writer"), "GET", "/metrics", 403, "scope"),
    ] {
        let before = node.refusals(reason).await;
        let method: reqwest::Method = method.parse().unwrap();
        let mut request = node.client.request(method, node.url(path));
        if let Some(token) = token {
            request = request.header("authorization", token);
        }
        let refused = send(request).await;
        assert_eq!(refused.status, status, "{token:?} {path}");
        assert_eq!(refused.code(), if status == 401 { "unauthorized" } else { "forbidden" });
        assert_eq!(node.refusals(reason).await, before + 1, "{token:?} {path}");
        if status == 401 {
            assert_eq!(refused.header("www-authenticate"), "Bearer");
        }
    }
    let allowed = node.client.get(node.url(&session)).header("authorization", "Bearer reader");
    assert_eq!(send(allowed).await.status, 200);
}

/// Sessions of a space are unknown in the others.
#[tokio::test]
async fn spaces_do_not_see_each_other() {
    use treering::store::Store;
    use treering_server::{MemoryTokens, Server, Spaces};
    #[derive(Debug)]
    struct Two([Arc<dyn Store>; 2]);
    impl Spaces for Two {
        fn store(&self, space: &str) -> treering::Result<Option<Arc<dyn Store>>> {
            let at = ["red", "blue"].iter().position(|name| *name == space);
            Ok(at.map(|at| Arc::clone(&self.0[at])))
        }
        fn check(&self) -> treering::Result<()> {
            Ok(())
        }
    }
    let tokens = Arc::new(MemoryTokens::default());
    for space in ["red", "blue"] {
        let (name, space) = (space.to_owned(), space.to_owned());
        tokens.insert(&name.clone(), Grant { name, space, scope: Scope::Admin, expires: None });
    }
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/v1/sessions", listener.local_addr().unwrap());
    let stores: [Arc<dyn Store>; 2] = [Arc::new(MemoryStore::new()), Arc::new(MemoryStore::new())];
    let server = Server::new(Arc::new(Two(stores)), tokens);
    tokio::spawn(server.serve(listener, std::future::pending()));
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    let create = client.post(&url).header("authorization", "Bearer red");
    let create = create.header("content-type", "application/json").body("{\"id\":\"one\"}");
    assert_eq!(send(create).await.status, 201);
    for (token, status) in [("red", 200), ("blue", 404)] {
        let get =
            client.get(format!("{url}/one")).header("authorization", format!("Bearer {token}"));
        assert_eq!(send(get).await.status, status);
        for path in ["/one/log", "/one/events", "/one/context"] {
            let get = client.get(format!("{url}{path}"));
            let response =
                get.header("authorization", format!("Bearer {token}")).send().await.unwrap();
            assert_eq!(response.status().as_u16(), status, "{token} {path}");
        }
    }
}

#[tokio::test]
async fn browsers_log_in_once_with_a_link_and_only_their_own_pages_may_ask() {
    let mut path = String::new();
    let node = Node::with(Arc::new(MemoryStore::new()), limits(), |server| {
        let server = server.loopback(browser());
        path = server.login_path().unwrap();
        server
    });
    let node = node.await;
    let client = reqwest::Client::builder().no_proxy().redirect(reqwest::redirect::Policy::none());
    let client = client.build().unwrap();
    let entered = send(client.get(node.url(&path))).await;
    assert_eq!(entered.status, 303);
    let cookie = entered.header("set-cookie").to_owned();
    assert!(cookie.contains("HttpOnly") && cookie.contains("SameSite=Strict"), "{cookie}");
    let again = send(client.get(node.url(&path))).await;
    assert_eq!((again.status, again.code().as_str()), (403, "forbidden"));
    assert_eq!(node.refusals("login_code").await, 1);

    let cookie = cookie.split(';').next().unwrap().to_owned();
    let get = |cookie: &str| client.get(node.url("/v1/sessions")).header("cookie", cookie);
    assert_eq!(send(get(&cookie)).await.status, 200);
    let tampered = format!("{}x", cookie);
    assert_eq!(send(get(&tampered)).await.status, 401);
    assert_eq!(node.refusals("unknown_token").await, 1);
    let own = format!("http://{}", node.address);
    assert_eq!(send(get(&cookie).header("origin", &own)).await.status, 200);
    for (name, value) in [
        ("origin", "http://evil.example"),
        ("origin", "null"),
        ("origin", "http://127.0.0.1:1"),
        ("sec-fetch-site", "cross-site"),
        ("sec-fetch-site", "same-site"),
    ] {
        let before = node.refusals("foreign_origin").await;
        let refused = send(get(&cookie).header(name, value)).await;
        assert_eq!((refused.status, refused.code().as_str()), (403, "forbidden"), "{name} {value}");
        assert_eq!(node.refusals("foreign_origin").await, before + 1);
    }
    for host in ["evil.example", "127.0.0.1.evil.example", "localhost@evil.example", ""] {
        let before = node.refusals("host").await;
        let request = format!(
            "GET /v1/sessions HTTP/1.1\r\nhost: {host}\r\ncookie: {cookie}\r\nconnection: close\r\n\r\n"
        );
        let refused = node.raw(request.as_bytes()).await;
        assert!(refused.starts_with("HTTP/1.1 421 "), "{host}: {refused}");
        assert_eq!(node.refusals("host").await, before + 1);
    }
}

#[tokio::test]
async fn tricks_with_paths_find_nothing() {
    let node = Node::start().await;
    node.session("chat").await;
    let long = "x".repeat(200);
    for id in [
        "..",
        "%2e%2e",
        "..%2f..%2fetc%2fpasswd",
        "chat%2f..",
        "chat%00",
        "%ff",
        ".chat",
        "a%20b",
        &long,
        "chat%0d%0aset-cookie:%20a=b",
    ] {
        let before = node.refusals("invalid_request").await;
        let request = format!(
            "GET /v1/sessions/{id} HTTP/1.1\r\nhost: {}\r\nauthorization: Bearer {ADMIN}\r\nconnection: close\r\n\r\n",
            node.address
        );
        let refused = node.raw(request.as_bytes()).await;
        assert!(refused.starts_with("HTTP/1.1 400 "), "{id}: {refused}");
        let head = refused.split("\r\n\r\n").next().unwrap();
        assert!(!head.contains("set-cookie"), "{id}: {head}");
        assert_eq!(node.refusals("invalid_request").await, before + 1, "{id}");
    }
    for path in [
        "/v1/sessions/chat/../../etc",
        "/v1//sessions",
        "/v1/sessions/chat/",
        "/v1/sessions/a/b/c/d",
    ] {
        let request = format!(
            "GET {path} HTTP/1.1\r\nhost: {}\r\nauthorization: Bearer {ADMIN}\r\nconnection: close\r\n\r\n",
            node.address
        );
        let before = node.refusals("not_found").await;
        let refused = node.raw(request.as_bytes()).await;
        assert!(refused.starts_with("HTTP/1.1 404 "), "{path}: {refused}");
        assert_eq!(node.refusals("not_found").await, before + 1, "{path}");
    }
    for (query, what) in [
        ("limit=0", "limit"),
        ("limit=a", "limit"),
        ("nonsense=1", "nonsense"),
        ("limit=1&limit=2", "limit"),
        ("cursor=x", "cursor"),
        ("agent=vim", "agent"),
    ] {
        let before = node.refusals("invalid_request").await;
        let refused = node.get(&format!("/v1/sessions?{query}")).await;
        assert_eq!(node.refusals("invalid_request").await, before + 1, "{query}");
        assert_eq!((refused.status, refused.code().as_str()), (400, "invalid_request"), "{query}");
        assert!(refused.json()["detail"].as_str().unwrap().contains(what), "{query}");
    }
}

#[tokio::test]
async fn bodies_that_are_too_large_or_never_end_are_refused() {
    let mut small = limits();
    small.body = 10_000;
    let node = Node::with(Arc::new(MemoryStore::new()), small, |server| server).await;
    let session = node.session("chat").await;
    let large =
        node.call("POST", &format!("{session}/entries"), message(&"x".repeat(20_000))).await;
    assert_eq!((large.status, large.code().as_str()), (413, "body_too_large"));
    assert_eq!(large.json()["limit"], 10_000);

    // A body in chunks does not declare its size.
    let mut stream = TcpStream::connect(node.address).await.unwrap();
    let head = format!(
        "POST {session}/entries HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {ADMIN}\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    let chunk = format!("400\r\n{}\r\n", " ".repeat(1024));
    for _ in 0..100 {
        // The server closes the connection in the middle of it.
        if stream.write_all(chunk.as_bytes()).await.is_err() {
            break;
        }
    }
    read_all(&mut stream).await;
    assert_eq!(node.refusals("body_too_large").await, 2);
    assert_eq!(node.get(&session).await.json()["entryCount"], 0);

    // Without a token the body is not read at all.
    let head = format!(
        "POST {session}/entries HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 1000000000\r\n\r\n"
    );
    let refused = node.raw(head.as_bytes()).await;
    assert!(refused.starts_with("HTTP/1.1 401 "), "{refused}");
    assert_eq!(node.refusals("no_token").await, 1);
}

#[tokio::test]
async fn clients_that_send_slowly_are_cut_off() {
    let mut short = limits();
    short.header_time = Duration::from_millis(1500);
    short.progress_time = Duration::from_millis(1500);
    let node = Node::with(Arc::new(MemoryStore::new()), short, |server| server).await;
    let session = node.session("chat").await;
    let unfinished = node.raw(b"GET /healthz HTTP/1.1\r\nhost: x\r\nx-slow: ").await;
    assert!(!unfinished.contains("200 OK"), "{unfinished}");
    assert_eq!(node.refusals("header_timeout").await, 1);
    let head = format!(
        "POST {session}/entries HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {ADMIN}\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n["
    );
    let refused = node.raw(head.as_bytes()).await;
    assert!(refused.starts_with("HTTP/1.1 408 "), "{refused}");
    assert_eq!(node.refusals("body_timeout").await, 1);
}

#[tokio::test]
async fn malformed_and_oversized_headers_are_refused() {
    let node = Node::start().await;
    let injected = node.raw(b"GET /healthz HTTP/1.1\r\nhost: x\r\nx-a: b\x00c\r\n\r\n").await;
    assert!(injected.starts_with("HTTP/1.1 400 "), "{injected}");
    assert_eq!(node.refusals("malformed").await, 1);
    let large = format!("GET /healthz HTTP/1.1\r\nhost: x\r\nx-a: {}\r\n\r\n", "a".repeat(100_000));
    let refused = node.raw(large.as_bytes()).await;
    assert!(refused.starts_with("HTTP/1.1 431 "), "{refused}");
    assert_eq!(node.refusals("headers_too_large").await, 1);
    for header in ["idempotency-key: \u{e9}\u{0}", "if-match: unquoted", "if-match: \"a\"b\""] {
        let request = format!(
            "POST /v1/sessions/chat/entries HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {ADMIN}\r\n{header}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
        );
        let before = node.refusals("malformed").await + node.refusals("invalid_request").await;
        let refused = node.raw(request.as_bytes()).await;
        assert!(refused.starts_with("HTTP/1.1 400 "), "{header}: {refused}");
        let after = node.refusals("malformed").await + node.refusals("invalid_request").await;
        assert_eq!(after, before + 1, "{header}");
    }
}

#[tokio::test]
async fn clients_that_ask_too_often_wait() {
    let mut few = limits();
    (few.rate, few.burst, few.refused_rate) = (1, 3, 1);
    let node = Node::with(Arc::new(MemoryStore::new()), few, |server| server).await;
    node.grant("busy", "main", Scope::Read, None);
    let ask = |token: &str| {
        let request = node.client.get(node.url("/v1/sessions"));
        send(request.header("authorization", format!("Bearer {token}")))
    };
    let mut refused = None;
    for _ in 0..10 {
        let answer = ask("busy").await;
        if answer.status != 200 {
            refused = Some(answer);
            break;
        }
    }
    let refused = refused.unwrap();
    assert_eq!((refused.status, refused.code().as_str()), (429, "too_many_requests"));
    assert!(!refused.header("retry-after").is_empty());
    let mut statuses = Vec::new();
    for _ in 0..20 {
        statuses.push(ask("wrong").await.status);
    }
    assert!(statuses.contains(&401) && statuses.contains(&429), "{statuses:?}");
}

#[tokio::test]
async fn logs_hold_no_secrets() {
    let lines = Arc::new(std::sync::Mutex::new(String::new()));
    let sink = Arc::clone(&lines);
    let node = Node::with(Arc::new(MemoryStore::new()), limits(), |server| {
        server.log(move |line| {
            let mut lines = sink.lock().unwrap();
            lines.push_str(line);
            lines.push('\n');
        })
    });
    let node = node.await;
    let session = node.session("chat").await;
    node.get("/v1/search?q=hunter2").await;
    node.call("POST", &format!("{session}/entries"), json!([{"type": "x", "secret": "hunter2"}]))
        .await;
    let unknown =
        node.client.get(node.url("/v1/sessions")).header("authorization", "Bearer hunter2");
    send(unknown).await;
    let lines = lines.lock().unwrap().clone();
    assert_eq!(lines.lines().count(), 4, "{lines}");
    assert!(!lines.contains("hunter2") && !lines.contains(ADMIN), "{lines}");
    for line in lines.lines() {
        let line: serde_json::Value = serde_json::from_str(line).unwrap();
        assert!(line["status"].is_u64() && line["operation"].is_string(), "{line}");
    }
}
