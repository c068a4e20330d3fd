//! Sample sessions of every agent, read through a server.

use crate::server::Node;
use std::sync::Arc;
use treering::SessionId;
use treering::storage::MemoryJournal;
use treering::store::{MemoryStore, Store};
use treering_testkit::corpus;

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
        let expected = corpus::shown(Arc::new(MemoryJournal::new(bytes)));
        assert_eq!(corpus::shown(remote.open(&id).unwrap()), expected, "{}", path.display());
        compared += 1;
    }
    println!("{compared} sessions of the corpus read over HTTP as from files");
}
