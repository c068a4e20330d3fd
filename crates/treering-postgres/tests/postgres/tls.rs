//! Encrypted connections.

use crate::{connect, create};
use std::io::Write;
use std::path::Path;
use std::time::Duration;
use treering::store::Store;
use treering_postgres::{PostgresOptions, PostgresStore};
use treering_testkit::certificates::Certificates;
use treering_testkit::postgres::Server;

/// Returns the path of a file as a parameter of an address has it.
fn encoded(path: &Path) -> String {
    path.display().to_string().replace('/', "%2F")
}

fn roots(pem: &str) -> tempfile::NamedTempFile {
    let mut file = tempfile::NamedTempFile::new().expect("a file");
    file.write_all(pem.as_bytes()).expect("write");
    file
}

#[test]
fn connections_are_encrypted_and_the_server_is_verified() {
    let Some(server) = Server::start() else { return };
    server.create_database("tls");
    let options = PostgresOptions::new().timeout(Duration::from_secs(60));
    PostgresStore::init(&server.url("tls"), &options).expect("init");
    let certificates = Certificates::generate();
    let own = roots(&certificates.authority_pem);
    let url = |mode: &str| format!("{}?sslmode={mode}", server.url("tls"));
    let verified = format!("{}&sslrootcert={}", url("verify-full"), encoded(own.path()));

    // Before the server offers TLS.
    let refused = PostgresStore::connect(&verified, &options).expect_err("no TLS");
    assert!(!refused.is_retryable(), "{refused}");
    connect(&url("prefer"), &options);

    server.enable_tls(&certificates);
    let is_encrypted = |url: &str| {
        let store = connect(url, &options);
        store.changes(None).expect("changes");
        let sql = "SELECT bool_and(ssl) FROM pg_stat_ssl JOIN pg_stat_activity USING (pid)
            WHERE usename = 'treering'";
        let encrypted = server.sql("tls", sql);
        drop(store);
        let count = "SELECT count(*) FROM pg_stat_activity WHERE usename = 'treering'";
        while server.sql("tls", count) != "0" {}
        encrypted == "t"
    };
    assert!(is_encrypted(&verified));
    assert!(is_encrypted(&url("prefer")), "TLS is used where it is offered");
    assert!(!is_encrypted(&url("disable")));

    let store = connect(&verified, &options);
    let log = vec![b'x'; 3_000_000];
    let journal = create(&store, "large", &log);
    assert_eq!(crate::contents(&*journal), log);

    // Signed by an authority that is not trusted: the given one, or none of the system's.
    let foreign = roots(&Certificates::generate().authority_pem);
    let foreign = format!("{}&sslrootcert={}", url("verify-full"), encoded(foreign.path()));
    for url in [foreign, url("verify-full"), url("require")] {
        let refused = PostgresStore::connect(&url, &options).expect_err("an unknown authority");
        assert!(!refused.is_retryable(), "{refused}");
        assert!(refused.to_string().to_lowercase().contains("certificate"), "{refused}");
    }
}
