//! A server with a certificate of a private authority.

use crate::server::Node;
use std::sync::Arc;
use std::time::Duration;
use treering::store::{ListQuery, MemoryStore, Store};
use treering::{CreateOptions, Message, Session};
use treering_client::{HttpOptions, HttpStore};
use treering_testkit::certificates::Certificates;

#[test]
fn a_private_authority_is_trusted_if_it_is_named() {
    let certificates = Certificates::generate();
    let (chain, key) = (&certificates.certificate_pem, &certificates.key_pem);
    let node = Node::with(Arc::new(MemoryStore::new()), "https", |server| {
        server.tls(chain.as_bytes(), key.as_bytes()).unwrap()
    });
    let store = |options: HttpOptions| {
        let options = options.token(&node.token).deadline(Duration::from_secs(60));
        HttpStore::new(&node.url, options).unwrap()
    };
    let trusting = || HttpOptions::new().trust(certificates.authority.clone());
    let shared: Arc<dyn Store> = Arc::new(store(trusting()));
    let session = Session::create_in(&shared, "/project", CreateOptions::new()).unwrap();
    session.append(Message::user("hello")).unwrap();
    assert_eq!(shared.list(&ListQuery::new()).unwrap().sessions.len(), 1);

    let foreign = HttpOptions::new().trust(Certificates::generate().authority);
    for options in [HttpOptions::new(), foreign] {
        let refused = store(options).list(&ListQuery::new()).unwrap_err();
        assert!(!refused.is_retryable(), "{refused}");
        assert!(refused.to_string().to_lowercase().contains("certificate"), "{refused}");
    }
}
