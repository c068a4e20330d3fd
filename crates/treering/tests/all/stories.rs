//! Runs every journal through the stories that every journal must pass.

use std::path::PathBuf;
use std::sync::Arc;
use treering::session::{Creation, Durability};
use treering::storage::{Journal, MemoryJournal};
use treering::store::{MemoryStore, Store};
use treering::{Catalog, CreateOptions, Session};
use treering_testkit::faulty::Faulty;
use treering_testkit::story;

#[test]
fn a_journal_in_memory() {
    story::journal(|| Arc::new(MemoryJournal::default()));
}

#[test]
fn a_faulty_journal_that_does_not_fail() {
    story::journal(|| Faulty::in_memory());
}

#[test]
fn a_faulty_journal_in_front_of_another() {
    story::journal(|| Faulty::over(Faulty::in_memory()));
}

fn on(journal: Arc<dyn Journal>, durability: Durability) {
    story::session(|| {
        let options = CreateOptions::new().durability(durability);
        Session::in_journal(Arc::clone(&journal), "/project", options).unwrap()
    });
}

#[test]
fn sessions_on_journals() {
    for durability in [Durability::None, Durability::BATCHED, Durability::Each] {
        on(Arc::new(MemoryJournal::default()), durability);
        on(Faulty::in_memory(), durability);
    }
}

fn open_or_create(file: &PathBuf, options: CreateOptions) -> Session {
    Session::open_or_create(file, "/project", options).unwrap()
}

#[test]
fn sessions_in_files() {
    for durability in [Durability::None, Durability::BATCHED, Durability::Each] {
        for creation in [Creation::FirstMessage, Creation::AtOnce] {
            let directory = tempfile::tempdir().unwrap();
            let file = directory.path().join("deep/er/s.jsonl");
            let options = CreateOptions::new().durability(durability).creation(creation);
            story::session(|| open_or_create(&file, options.clone()));
        }
    }
}

#[test]
fn a_session_in_a_file_that_was_empty() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("s.jsonl");
    std::fs::write(&file, "").unwrap();
    story::session(|| open_or_create(&file, CreateOptions::new()));
}

#[test]
fn a_store_in_memory_passes_the_story() {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
    story::store(|| Arc::clone(&store));
}

#[test]
fn a_directory_passes_the_story_of_stores() {
    let root = tempfile::tempdir().unwrap();
    story::store(|| Arc::new(Catalog::new(root.path())));
    let flat = tempfile::tempdir().unwrap();
    story::store(|| Arc::new(Catalog::flat(flat.path())));
}
