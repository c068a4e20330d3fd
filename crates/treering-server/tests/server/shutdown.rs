//! Tests of the end of a server: it stops being ready, then finishes its requests.

use crate::harness::{ADMIN, Node, limits, read_all, send, stop_clock};
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use treering::store::MemoryStore;

#[tokio::test]
async fn a_server_that_ends_finishes_its_requests_and_its_streams() {
    let mut slow = limits();
    slow.drain = Duration::from_secs(1);
    let mut node = Node::with(Arc::new(MemoryStore::new()), slow.clone(), |server| server).await;
    let session = node.session("chat").await;
    let mut stream = node.request("GET", &format!("{session}/events")).send().await.unwrap();
    assert!(stream.chunk().await.unwrap().is_some());

    // A request whose body has not arrived yet.
    let body = "[{\"type\":\"custom\",\"customType\":\"late\"}]";
    let mut begun = TcpStream::connect(node.address).await.unwrap();
    let head = format!(
        "POST {session}/entries HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {ADMIN}\r\ncontent-type: application/json\r\nexpect: 100-continue\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    begun.write_all(head.as_bytes()).await.unwrap();
    let mut answer = [0; 25];
    begun.read_exact(&mut answer).await.unwrap();
    assert!(answer.starts_with(b"HTTP/1.1 100 Continue"));

    let stopped = stop_clock();
    node.begin_stop();
    let (client, ready) = (node.client.clone(), node.url("/readyz"));
    // It still answers, but is not ready.
    while send(client.get(&ready)).await.status != 503 {}
    // The stream ends with the server.
    tokio::time::advance(slow.drain + Duration::from_millis(1)).await;
    drop(stopped);
    tokio::time::resume();
    while stream.chunk().await.unwrap().is_some() {}
    begun.write_all(body.as_bytes()).await.unwrap();
    let finished = read_all(&mut begun).await;
    assert!(finished.contains("200 OK"), "{finished}");
    let address = node.address;
    let store = Arc::clone(&node.store);
    node.stopped().await;
    assert!(TcpStream::connect(address).await.is_err());
    let id = treering::SessionId::new("chat").unwrap();
    let opened = treering::Session::open_in(&store, &id, treering::OpenOptions::new()).unwrap();
    assert_eq!(opened.tree().len(), 1);
}

#[tokio::test]
async fn requests_that_do_not_finish_in_time_are_given_up() {
    let mut short = limits();
    short.grace = Duration::from_millis(100);
    let node = Node::with(Arc::new(MemoryStore::new()), short, |server| server).await;
    let mut begun = TcpStream::connect(node.address).await.unwrap();
    let head = format!(
        "POST /v1/sessions HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {ADMIN}\r\ncontent-type: application/json\r\nexpect: 100-continue\r\ncontent-length: 10\r\n\r\n"
    );
    begun.write_all(head.as_bytes()).await.unwrap();
    let mut answer = [0; 25];
    begun.read_exact(&mut answer).await.unwrap();
    node.stopped().await;
    assert!(!read_all(&mut begun).await.contains("200 OK"));
}
