//! Tests that exported session files have the content of their source.

use crate::support::{branch, fixture, of, subtree};
use proptest::prelude::*;
use treering::session::Part;
use treering::{Context, EntryId, Kind, Position, Session};
use treering_export::Export;
use treering_testkit::generate::small;

fn reopened(export: &Export, session: &Session) -> (tempfile::TempDir, Session) {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("export.jsonl");
    export.jsonl(session, &mut std::fs::File::create(&file).unwrap()).unwrap();
    let session = Session::open(&file).unwrap();
    (dir, session)
}

/// Returns the messages' JSON, without the entries that contributed them.
fn messages(context: &Context) -> Vec<String> {
    context
        .messages
        .iter()
        .map(|message| String::from_utf8_lossy(&message.json).into_owned())
        .collect()
}

#[test]
fn a_branch_gives_the_same_context() {
    let session = fixture("rich.jsonl");
    for id in session.tree().ids() {
        let (_dir, copy) = reopened(&branch(id.as_str()), &session);
        assert_eq!(copy.context().unwrap(), session.context_at(id.as_str()).unwrap(), "{id}");
        assert_eq!(copy.findings().unwrap().len(), 0);
    }
    let (_dir, copy) = reopened(&branch("a10"), &session);
    assert_eq!(copy.tree().label("a6"), Some("fast import"));
    assert_eq!(copy.name(), session.name());
}

#[test]
fn the_whole_tree_is_a_copy() {
    let session = fixture("rich.jsonl");
    let (_dir, copy) = reopened(&of(Part::All), &session);
    assert_ne!(copy.id(), session.id());
    assert_eq!(copy.leaf(), session.leaf());
    assert!(copy.tree().walk().eq(session.tree().walk()));
}

#[test]
fn a_subtree_is_a_complete_session() {
    let session = fixture("rich.jsonl");
    let (_dir, copy) = reopened(&subtree("s1"), &session);
    assert_eq!(copy.tree().roots(), [EntryId::from("s1")]);
    assert_eq!(copy.tree().label("a6"), Some("fast import"));
    assert_eq!(copy.tree().label("u2"), None);
    assert!(copy.findings().unwrap().is_empty());
    assert!(copy.all_findings().unwrap().is_empty(), "{:?}", copy.all_findings());
    // The leaf is inside the part and is kept; the compaction keeps its entries as far as they are
    // inside.
    assert_eq!(copy.context().unwrap(), session.context().unwrap());
    let (_dir, other) = reopened(&subtree("u3"), &session);
    assert_eq!(other.path_to(Position::Leaf).unwrap().count(), 4);
    // A compaction that keeps entries from above the top of the part keeps those from the top on.
    let (_dir, late) = reopened(&subtree("a4"), &session);
    let ids = |context: &Context| {
        context.messages.iter().map(|message| message.entry.clone()).collect::<Vec<_>>()
    };
    let here =
        ids(&session.context().unwrap()).into_iter().filter(|id| late.tree().contains(id.as_str()));
    assert_eq!(ids(&late.context().unwrap()), here.collect::<Vec<_>>());
}

/// Labels are set, changed and cleared by entries that are not below their target.
#[test]
fn what_others_say_about_a_subtree_comes_along() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("s.jsonl");
    std::fs::copy(fixture("rich.jsonl").path().unwrap(), &file).unwrap();
    let session = Session::open(&file).unwrap();
    session.label("b1", Some("join")).unwrap();
    let (_dir, copy) = reopened(&subtree("u3"), &session);
    assert_eq!(copy.tree().label("b1"), Some("join"));
    assert_eq!(messages(&copy.context().unwrap()).len(), 4);
    session.branch("b3").unwrap();
    session.label("b1", Some("inside")).unwrap();
    session.branch("a10").unwrap();
    session.label("b1", None).unwrap();
    let (_dir, copy) = reopened(&subtree("u3"), &session);
    assert_eq!(copy.tree().label("b1"), None);
    assert!(copy.all_findings().unwrap().is_empty(), "{:?}", copy.all_findings());
}

#[test]
fn another_agents_session_becomes_one_of_ours() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("chimera.jsonl");
    let source = fixture("rich.jsonl").path().unwrap();
    treering::convert::convert(source, &file, treering::Dialect::Chimera, &Default::default())
        .unwrap();
    let session = Session::open(&file).unwrap();
    let (_dir, copy) = reopened(&branch("a6"), &session);
    assert_eq!(copy.dialect(), treering::Dialect::Pi);
    assert_eq!(messages(&copy.context().unwrap()), messages(&session.context_at("a6").unwrap()));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// In any small session every branch has the same content, and every subtree is complete.
    #[test]
    fn an_export_says_what_the_source_says(seed in any::<u64>()) {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("s.jsonl");
        std::fs::write(&file, small(seed, 24)).unwrap();
        let Ok(session) = Session::open(&file) else { return Ok(()) };
        prop_assume!(session.dialect() == treering::Dialect::Pi);
        for id in session.tree().ids().take(12) {
            let (_dir, copy) = reopened(&branch(id.as_str()), &session);
            let (here, there) = (copy.context().unwrap(), session.context_at(id.as_str()).unwrap());
            prop_assert_eq!(messages(&here), messages(&there), "{}", id);
            let (_dir, below) = reopened(&subtree(id.as_str()), &session);
            let is_below = |other: &EntryId| session.tree().is_ancestor(id.as_str(), other.as_str()).unwrap();
            for other in session.tree().ids().filter(is_below) {
                let kind = session.tree().kind(other.as_str()).unwrap();
                let kept = below.tree().contains(other.as_str());
                prop_assert!(kept || matches!(kind, Kind::Label | Kind::Leaf), "{} below {}", other, id);
                let label = |session: &Session| session.tree().label(other.as_str()).map(str::to_owned);
                prop_assert!(!kept || label(&below) == label(&session), "{} below {}", other, id);
            }
        }
    }
}
