//! Sample sessions of every agent: contexts over HTTP are those of the library.

use crate::harness::Node;
use std::sync::Arc;
use treering::storage::MemoryJournal;
use treering::{CreateOptions, Position, Session, SessionId};
use treering_testkit::corpus;

/// Returns a context as the library has it, as text: some samples are nested more deeply than parsers take.
fn expected(session: &Session, view: &str, position: Position) -> String {
    let agent = match view {
        "agent" => session.agent_context_at(position.clone()).unwrap(),
        _ => None,
    };
    let json = match agent {
        Some(context) => context.to_json(),
        None => session.context_at(position).unwrap().to_json(),
    };
    text(&json)
}

/// Returns JSON on one line.
fn text(json: &[u8]) -> String {
    String::from_utf8_lossy(json).replace(['\r', '\n'], " ")
}

#[tokio::test]
async fn contexts_of_the_corpus_are_those_of_files() {
    let node = Node::start().await;
    let (mut sessions, mut contexts) = (0, 0);
    for (number, path) in corpus::files().iter().enumerate() {
        let bytes = std::fs::read(path).unwrap();
        let id = SessionId::new(&format!("corpus-{number}")).unwrap();
        node.store.create(&id, &mut &*bytes).unwrap();
        let url = format!("/v1/sessions/{id}/context");
        if bytes.is_empty() {
            continue; // In an empty journal a new session would be created.
        }
        let memory = Arc::new(MemoryJournal::new(bytes));
        let Ok(session) = Session::in_journal(memory, "/", CreateOptions::new()) else {
            assert_eq!(node.get(&url).await.status, 422, "{}", path.display());
            continue;
        };
        sessions += 1;
        for view in ["treering", "agent"] {
            let answer = node.get(&format!("{url}?view={view}")).await;
            assert_eq!(answer.status, 200, "{}: {}", path.display(), text(&answer.body));
            assert_eq!(
                text(&answer.body),
                expected(&session, view, Position::Leaf),
                "{}",
                path.display()
            );
            for leaf in session.tree().leaves() {
                let request =
                    node.request("GET", &url).query(&[("view", view), ("leaf", leaf.as_str())]);
                let answer = crate::harness::send(request).await;
                let expected = expected(&session, view, Position::Entry(leaf.clone()));
                assert_eq!(text(&answer.body), expected, "{} at {leaf}", path.display());
                contexts += 1;
            }
        }
    }
    println!("{contexts} contexts of {sessions} sessions are the same over HTTP");
}
