//! Sample sessions of every agent, read through a server.

use crate::server::Node;
use std::sync::Arc;
use treering::storage::{Journal, MemoryJournal};
use treering::store::{MemoryStore, Store};
use treering::{CreateOptions, Session, SessionId};
use treering_testkit::corpus;

/// Returns everything that a session shows, or its error.
fn shown(journal: Arc<dyn Journal>) -> String {
    let session = Session::in_journal(journal, "/", CreateOptions::new());
    let shown = session.and_then(|session| {
        let mut text = format!("{} {:?} {:?}\n", session.dialect(), session.leaf(), session.name());
        for item in session.tree().walk() {
            text.push_str(&format!("{item:?}\n"));
        }
        text.push_str(&format!("{:?}\n", session.context()?));
        for leaf in session.tree().leaves() {
            text.push_str(&format!("{:?}\n", session.context_at(&leaf)?));
        }
        Ok(text)
    });
    shown.unwrap_or_else(|error| format!("error: {error}"))
}

#[test]
fn the_corpus_reads_as_from_files() {
    let inner: Arc<dyn Store> = Arc::new(MemoryStore::new());
    let node = Node::start(Arc::clone(&inner));
    let remote = node.store();
    let mut compared = 0;
    for (number, path) in corpus::files().iter().enumerate() {
        let bytes = std::fs::read(path).unwrap();
        let id = SessionId::new(&format!("corpus-{number}")).unwrap();
        // Not over HTTP, where a log consists of whole lines.
        inner.create(&id, &mut &*bytes).unwrap();
        // The same bytes in memory: a file also has neighbors, such as those of its subagents.
        let expected = shown(Arc::new(MemoryJournal::new(bytes)));
        assert_eq!(shown(remote.open(&id).unwrap()), expected, "{}", path.display());
        compared += 1;
    }
    println!("{compared} sessions of the corpus read over HTTP as from files");
}
