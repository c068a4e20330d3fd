//! The store in PostgreSQL, on servers that the tests start. Where PostgreSQL is not installed they say so and
//! do nothing.

#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "helpers of tests; what is skipped or measured is printed"
)]

mod failover;
mod faults;
mod journal;
mod list;
mod reading;
mod schema;
mod spaces;
mod stories;
mod streaming;
mod tls;
mod writers;

use std::sync::{Arc, OnceLock};
use treering::SessionId;
use treering::storage::Journal;
use treering::store::Store;
use treering_postgres::{PostgresOptions, PostgresStore};
use treering_testkit::postgres::Server;

/// Returns the server that tests share, with an initialized database `shared`.
fn server() -> Option<&'static Server> {
    static SERVER: OnceLock<Option<Server>> = OnceLock::new();
    let server = SERVER.get_or_init(|| {
        let server = Server::start()?;
        server.create_database("shared");
        PostgresStore::init(&server.url("shared"), &PostgresOptions::new()).expect("init");
        Some(server)
    });
    server.as_ref()
}

/// Returns the store of a space of the shared database, as a program of its own would have it.
fn store(space: &str) -> Option<PostgresStore> {
    let options = PostgresOptions::new().space(space).connections(4);
    Some(connect(&server()?.url("shared"), &options))
}

fn connect(url: &str, options: &PostgresOptions) -> PostgresStore {
    PostgresStore::connect(url, options).expect("connect")
}

fn id(text: &str) -> SessionId {
    SessionId::new(text).expect("an id")
}

/// Creates a session with this log.
fn create(store: &PostgresStore, name: &str, log: &[u8]) -> Arc<dyn Journal> {
    store.create(&id(name), &mut &*log).expect("create")
}

/// Returns everything in a journal.
fn contents(journal: &dyn Journal) -> Vec<u8> {
    let mut bytes = vec![0; journal.len().expect("len") as usize];
    let mut filled = 0;
    while filled < bytes.len() {
        match journal.read_at(filled as u64, &mut bytes[filled..]).expect("read_at") {
            0 => break,
            count => filled += count,
        }
    }
    bytes.truncate(filled);
    bytes
}

/// A file of tests that is not declared here would never run.
#[test]
fn every_file_is_part_of_this_binary() {
    let here = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/postgres");
    let main = std::fs::read_to_string(here.join("main.rs")).expect("this file");
    for file in std::fs::read_dir(here).expect("a directory") {
        let name = file.expect("an entry").file_name().into_string().expect("a name");
        let Some(module) = name.strip_suffix(".rs") else { continue };
        assert!(module == "main" || main.contains(&format!("mod {module};")), "{name}");
    }
}
