//! Opens arbitrary bytes, walks the tree and builds contexts, without a panic. If the session can
//! be opened, an append to it can be read again.
#![no_main]

use libfuzzer_sys::fuzz_target;
use std::sync::Arc;
use treering::{Message, Session};
use treering::provider::Pairing;
use treering::storage::{Journal, MemoryJournal};

fuzz_target!(|bytes: &[u8]| {
    // Half of the inputs get a header for free: without one, everything is refused.
    let (headed, bytes) = match bytes.split_first() {
        Some((first, rest)) if first % 2 == 0 => (true, rest),
        _ => (false, bytes),
    };
    let mut log = Vec::new();
    if headed {
        log.extend_from_slice(b"{\"type\":\"session\",\"version\":3,\"id\":\"s\"}\n");
    }
    log.extend_from_slice(bytes);
    let journal = Arc::new(MemoryJournal::new(log.clone()));
    let opened = Session::in_journal(journal.clone(), "/", Default::default());
    assert_eq!(journal.contents(), log, "opening changed the log");
    let Ok(session) = opened else { return };

    let tree = session.tree();
    assert_eq!(tree.walk().count(), tree.len(), "every entry is in the tree exactly once");
    for id in tree.ids().take(64) {
        let context = session.context_at(id.as_str()).expect("a context for every entry");
        context.to_llm(Pairing::Strict);
    }
    for entry in session.entries() {
        entry.expect("every entry can be read").body();
    }
    session.findings().expect("findings never fail");

    session.context().expect("a context at the leaf");
    let Ok(id) = session.append(Message::user("next")) else {
        return; // A version from the future, or one that only a file can be upgraded from.
    };
    let journal: Arc<dyn Journal> = journal;
    let again = Session::in_journal(journal, "/", Default::default()).expect("still a session");
    assert_eq!(again.leaf().as_ref(), Some(&id), "the append is the leaf");
    let context = again.context().expect("a context");
    let last = context.messages.last().expect("the append is there");
    assert_eq!(last.entry, id, "the append is the last message");
    assert_eq!(again.tree().ids().count(), session.tree().ids().count(), "memory and log agree");
});
