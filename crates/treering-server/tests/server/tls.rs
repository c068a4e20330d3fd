//! Tests of the server's own TLS.

use crate::harness::{ADMIN, Node, TIMEOUT, limits};
use std::sync::Arc;
use treering::store::MemoryStore;
use treering_testkit::certificates::Certificates;

async fn node(certificates: &Certificates) -> Node {
    let (chain, key) = (certificates.certificate_pem.clone(), certificates.key_pem.clone());
    let store = Arc::new(MemoryStore::new());
    let tls = |server: treering_server::Server| server.tls(chain.as_bytes(), key.as_bytes());
    Node::with(store, limits(), |server| tls(server).unwrap()).await
}

fn client(authority: Option<&Certificates>) -> reqwest::Client {
    let mut builder = reqwest::Client::builder().no_proxy().timeout(TIMEOUT);
    if let Some(certificates) = authority {
        let root = reqwest::Certificate::from_der(&certificates.authority).unwrap();
        builder = builder.add_root_certificate(root);
    }
    builder.build().unwrap()
}

#[tokio::test]
async fn calls_are_answered_over_tls() {
    let certificates = Certificates::generate();
    let node = node(&certificates).await;
    let url = format!("https://{}/v1/sessions", node.address);
    let client = client(Some(&certificates));
    let request = client.post(&url).header("authorization", format!("Bearer {ADMIN}"));
    let request = request.header("content-type", "application/json").body("{\"id\":\"chat\"}");
    assert_eq!(request.send().await.unwrap().status().as_u16(), 201);
    let refused = client.get(&url).send().await.unwrap();
    assert_eq!(refused.status().as_u16(), 401, "a token is needed, too");
    node.stopped().await;
}

#[tokio::test]
async fn strangers_and_plain_requests_are_refused() {
    let certificates = Certificates::generate();
    let node = node(&certificates).await;
    let url = format!("https://{}/healthz", node.address);
    for stranger in [client(None), client(Some(&Certificates::generate()))] {
        let refused = stranger.get(&url).send().await.unwrap_err();
        assert!(refused.is_connect(), "{refused:?}");
    }
    let plain = node.raw(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n").await;
    assert!(!plain.contains("HTTP/1.1"), "{plain}");
    let answer = client(Some(&certificates)).get(&url).send().await.unwrap();
    assert_eq!(answer.status().as_u16(), 200, "others go on");
}

#[test]
fn a_key_of_another_certificate_is_refused() {
    let (one, other) = (Certificates::generate(), Certificates::generate());
    let spaces = treering_server::SingleSpace::new("main", Arc::new(MemoryStore::new()));
    let tokens = treering_server::MemoryTokens::admin(ADMIN, "main");
    let server = treering_server::Server::new(Arc::new(spaces), Arc::new(tokens));
    let refused = server.tls(one.certificate_pem.as_bytes(), other.key_pem.as_bytes());
    assert_eq!(refused.unwrap_err().kind(), std::io::ErrorKind::InvalidData);
}
