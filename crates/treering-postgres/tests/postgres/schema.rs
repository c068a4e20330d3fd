//! The schema: created once, refused when it is not the right one, checked.

use crate::{connect, create, id, server, store};
use std::sync::Arc;
use std::time::Duration;
use treering::store::Store;
use treering::{Message, OpenOptions, Session};
use treering_postgres::{Level, PostgresOptions, PostgresStore};

#[test]
fn many_programs_initialize_a_database_at_once() {
    let Some(server) = server() else { return };
    server.create_database("fresh");
    let (url, options) = (server.url("fresh"), PostgresOptions::new());
    let error = PostgresStore::connect(&url, &options).expect_err("there is no schema");
    assert!(error.to_string().contains("treering store init"), "{error}");
    assert!(!error.is_retryable());
    let before: Vec<i32> = std::thread::scope(|scope| {
        let start = || PostgresStore::init(&url, &options).expect("init").before;
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(start)).collect();
        threads.into_iter().map(|thread| thread.join().expect("join")).collect()
    });
    assert_eq!(before.iter().filter(|&&before| before == 0).count(), 1, "{before:?}");
    connect(&url, &options);

    server.sql("fresh", "INSERT INTO treering.versions (version) VALUES (99)");
    for error in [
        PostgresStore::connect(&url, &options).expect_err("a newer schema"),
        PostgresStore::init(&url, &options).expect_err("a newer schema"),
    ] {
        assert!(error.to_string().contains("newer"), "{error}");
        assert!(!error.is_retryable());
    }
}

#[test]
fn a_database_of_the_first_version_is_migrated_with_its_sessions() {
    let Some(server) = server() else { return };
    server.create_database("older");
    let (url, options) = (server.url("older"), PostgresOptions::new());
    PostgresStore::init(&url, &options).expect("init");
    let log = b"{\"type\":\"session\",\"version\":3,\"id\":\"old\",\"timestamp\":\"2026-01-05T09:00:00.000Z\",\"cwd\":\"/\"}\n";
    create(&connect(&url, &options), "old", log);
    server.sql(
        "older",
        "ALTER TABLE treering.sessions DROP COLUMN checkpoint; DELETE FROM treering.versions WHERE version > 1",
    );
    let error = PostgresStore::connect(&url, &options).expect_err("an older schema");
    assert!(error.to_string().contains("treering store migrate"), "{error}");
    let migration = PostgresStore::init(&url, &options).expect("migrate");
    assert_eq!((migration.before, migration.after), (1, 2));
    let store: Arc<dyn Store> = Arc::new(connect(&url, &options));
    let session = Session::open_in(&store, &id("old"), OpenOptions::new()).expect("open");
    session.append(Message::user("hello")).expect("append");
    session.append(Message::user("again")).expect("append");
}

#[test]
fn a_database_that_cannot_be_reached_is_an_error_at_once() {
    let Some(server) = server() else { return };
    let options = PostgresOptions::new().timeout(Duration::from_secs(5));
    let nowhere = "postgres://treering@127.0.0.1:1/shared";
    let error = PostgresStore::connect(nowhere, &options).expect_err("nothing listens");
    assert!(error.is_retryable(), "{error}");
    assert!(error.to_string().contains("127.0.0.1:1"), "{error}");
    let error = PostgresStore::connect(&server.url("missing"), &options).expect_err("no database");
    assert!(!error.is_retryable(), "{error}");
    // The server has no TLS: a connection in the clear is refused.
    let encrypted = format!("{}?sslmode=require", server.url("shared"));
    let error = PostgresStore::connect(&encrypted, &options).expect_err("no TLS");
    assert!(!error.is_retryable(), "{error}");
    assert!(error.to_string().contains("TLS"), "{error}");
    // Over a socket in the file system, as well.
    let directory = server.socket_directory().display().to_string().replace('/', "%2F");
    connect(&format!("postgres://treering@{directory}:{}/shared", server.port()), &options);
}

#[test]
fn weak_settings_are_reported() {
    let Some(store) = store("check") else { return };
    let level = |store: &PostgresStore, name: &str| {
        let checks = store.check().expect("check");
        let check = checks.into_iter().find(|check| check.name == name);
        check.map(|check| check.level)
    };
    for name in ["schema", "server", "durability", "role", "partitions", "policies", "spaces"] {
        assert_eq!(level(&store, name), Some(Level::Good), "{name}");
    }
    assert_eq!(level(&store, "replication"), Some(Level::Warning), "there is no standby");
    let server = server().expect("a server");
    let url = server.url("shared").replace("treering@", "postgres@");
    let superuser = connect(&url, &PostgresOptions::new());
    assert_eq!(level(&superuser, "role"), Some(Level::Warning));
    assert_eq!(level(&superuser, "spaces"), Some(Level::Warning));
}
