//! Runs the stories that every storage must pass.

use crate::{create, id, store};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use treering::store::Store;
use treering::{CreateOptions, OpenOptions, Session};
use treering_testkit::story;

#[test]
fn the_story_of_journals() {
    let Some(store) = store("story-journal") else { return };
    let count = AtomicUsize::new(0);
    story::journal(|| {
        let number = count.fetch_add(1, Ordering::Relaxed);
        create(&store, &format!("journal-{number}"), b"")
    });
    assert!(count.load(Ordering::Relaxed) > 3);
}

#[test]
fn the_story_of_sessions() {
    let Some(store) = store("story-session") else { return };
    let store: Arc<dyn Store> = Arc::new(store);
    let options = CreateOptions::new().id(id("story"));
    let options = options.creation(treering::session::Creation::AtOnce);
    Session::create_in(&store, "/project", options).expect("create");
    story::session(|| Session::open_in(&store, &id("story"), OpenOptions::new()).expect("open"));
}

#[test]
fn the_story_of_stores() {
    if store("story-store").is_none() {
        return;
    }
    story::store(|| Arc::new(store("story-store").expect("a server")));
}
