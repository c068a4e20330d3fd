//! Opens arbitrary bytes after the first line of each agent's session, walks the tree, and builds
//! contexts by treering's rules and by the agent's own, without a panic.
#![no_main]

use libfuzzer_sys::fuzz_target;
use std::sync::Arc;
use treering::{Position, Session};
use treering::provider::Pairing;
use treering::storage::MemoryJournal;

/// First lines that settle, or nearly settle, whose session it is.
const STARTS: [&str; 12] = [
    r#"{"type":"session","version":3,"id":"s","timestamp":"2026-01-05T09:00:00.000Z","cwd":"/"}"#,
    r#"{"type":"session","id":"s","timestamp":"2026-01-05T09:00:00.000Z","cwd":"/"}"#,
    r#"{"type":"session","version":2,"uuid":"u","parentUuid":null,"id":"s","cwd":"/"}"#,
    r#"{"type":"session","version":3,"id":"s","timestamp":"2026-01-05T09:00:00.000Z","cwd":"/","title":"t"}"#,
    r#"{"type":"title","v":1,"title":"t","updatedAt":"","pad":""}"#,
    r#"{"type": "header", "id": "h", "parent_id": null, "timestamp": 1.5, "version": 1, "cwd": "/"}"#,
    r#"{"type": "message", "id": "a", "parent_id": null, "timestamp": 1.5, "message": {"role": "user", "content": "x"}}"#,
    r#"{"type":"session","version":3,"id":"s","timestamp":1767603600.5,"cwd":"/"}"#,
    r#"{"id":"a","timestamp":1.5,"type":"message","message":{"contents":[],"id":"m","timestamp":1.5,"role":"user"}}"#,
    r#"{"type":"user","uuid":"u","parentUuid":null,"sessionId":"s","cwd":"/","message":{"role":"user","content":"x"}}"#,
    r#"{"timestamp":"2026-01-05T09:00:00.000Z","type":"session_meta","payload":{"id":"s","cwd":"/"}}"#,
    r#"{"id":"s","timestamp":"2026-01-05T09:00:00.000Z","instructions":null}"#,
];

fuzz_target!(|bytes: &[u8]| {
    let Some((choice, rest)) = bytes.split_first() else { return };
    let start = STARTS[usize::from(*choice) % STARTS.len()];
    let log = [start.as_bytes(), b"\n", rest].concat();
    let journal = Arc::new(MemoryJournal::new(log.clone()));
    let opened = Session::in_journal(journal.clone(), "/", Default::default());
    assert_eq!(journal.contents(), log, "opening changed the log");
    let Ok(session) = opened else { return };

    let tree = session.tree();
    assert_eq!(tree.walk().count(), tree.len(), "every entry is in the tree exactly once");
    let leaves = tree.leaves();
    for id in leaves.iter().cloned().take(16).chain(tree.ids().take(32)) {
        let context = session.context_at(id.as_str()).expect("a context for every entry");
        context.to_llm(Pairing::Strict);
        if let Some(context) =
            session.agent_context_at(id.as_str()).expect("the agent's, too")
        {
            context.to_json();
        }
    }
    session.context().expect("a context at the leaf").to_json();
    session.agent_context_at(Position::Start).expect("an agent's context before the first entry");
    for entry in session.entries() {
        let entry = entry.expect("every entry can be read");
        entry.body();
        entry.more_messages().for_each(|message| drop(message.text()));
    }
    session.findings().expect("findings never fail");
    session.all_findings().expect("nor does a closer look");
});
