//! Forks: the copy of a path and the copy of a whole session.

use crate::support::{
    HEADER, Leaf, assert_agrees, assistant, compaction, entry, file, join, label, leaf, path, user,
};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use treering::store::{ListQuery, MemoryStore, Store};
use treering::{
    Catalog, CreateOptions, Error, ForkOptions, Message, NewEntry, Position, Session, SessionId,
};

fn put(directory: &Path, lines: &[String]) -> (PathBuf, Session) {
    let source = directory.join("s.jsonl");
    std::fs::write(&source, file(lines)).unwrap();
    let session = Session::open(&source).unwrap();
    (source, session)
}

fn text_of(session: &Session) -> String {
    std::fs::read_to_string(session.path().unwrap()).unwrap()
}

#[test]
fn a_fork_is_the_path_with_its_labels() {
    let directory = tempfile::tempdir().unwrap();
    let timed = label("l1", Some("b"), "a", "start").replace("09:00:20.226", "11:11:11.111");
    let lines = [
        user("a", None),
        assistant("b", Some("a")),
        timed,
        label("l2", Some("l1"), "x", "elsewhere"),
        user("c", Some("l2")),
        user("x", Some("b")),
        label("l3", Some("x"), "c", "end"),
    ];
    let (source, session) = put(directory.path(), &lines);
    let before = std::fs::read(&source).unwrap();
    let fork = session.fork("c", ForkOptions::default()).unwrap();
    assert_eq!(std::fs::read(&source).unwrap(), before, "the source is not touched");
    assert_eq!(path(&fork, "c"), "a b c", "chained over the labels");
    assert_eq!(fork.header().parent_session.as_deref(), source.to_str());
    assert_ne!(fork.id(), session.id());
    assert_eq!(fork.cwd(), "/project");
    let tree = fork.tree();
    let labels: Vec<_> =
        tree.labels().into_iter().map(|(id, text, time)| (id.to_string(), text, time)).collect();
    let (at, end) = (Some(1_767_611_471_111), Some(1_767_603_620_226));
    assert_eq!(labels, [("a".into(), "start", at), ("c".into(), "end", end)], "with their times");
    assert_eq!(tree.len(), 5);
    let text = text_of(&fork);
    assert!(text.contains(&format!("{}\n", user("a", None))), "untouched lines are untouched");
    let fresh = fork.leaf().unwrap();
    assert_eq!(path(&fork, fresh.as_str()).split(' ').count(), 5, "labels are chained to the end");
    assert_agrees(&fork, text.as_bytes(), Leaf::OfTheFile);
}

#[test]
fn a_compaction_that_kept_from_a_label_keeps_from_what_follows_it() {
    let directory = tempfile::tempdir().unwrap();
    let lines = [
        user("a", None),
        label("l1", Some("a"), "a", "x"),
        label("l2", Some("l1"), "a", "y"),
        user("b", Some("l2")),
        compaction("c", Some("b"), "l1"),
        user("d", Some("c")),
    ];
    let (_, session) = put(directory.path(), &lines);
    let fork = session.fork("d", ForkOptions::default()).unwrap();
    assert_eq!(fork.entry("c").unwrap().text("firstKeptEntryId").unwrap(), "b");
    assert_eq!(fork.context().unwrap(), session.context_at("d").unwrap());
}

#[test]
fn a_damaged_entry_keeps_its_place_in_a_fork() {
    let directory = tempfile::tempdir().unwrap();
    // In the usual order of keys its body is only looked at when it is read; in another, at once.
    let usual = user("d", Some("l"));
    let other = usual.replace("\"id\":\"d\",\"parentId\":\"l\"", "\"parentId\":\"l\",\"id\":\"d\"");
    for whole in [usual, other] {
        let torn = whole[..whole.len() - 3].to_owned();
        let lines = [user("a", None), label("l", Some("a"), "a", "x"), torn, user("e", Some("d"))];
        let (_, session) = put(directory.path(), &lines);
        assert_eq!(path(&session, "e"), "a l d e");
        let fork = session.fork("e", ForkOptions::default()).unwrap();
        assert_eq!(path(&fork, "e"), "a d e");
        assert!(fork.entry("d").unwrap().is_damaged());
    }
}

#[test]
fn a_fork_without_conversation_waits_for_its_first_message() {
    let directory = tempfile::tempdir().unwrap();
    let session =
        Session::create_at(directory.path().join("s.jsonl"), "/p", CreateOptions::new()).unwrap();
    let model = session.append(NewEntry::model_change("acme", "oak")).unwrap();
    session.append(Message::user("hello")).unwrap();
    let fork = session.fork(model.as_str(), ForkOptions::default()).unwrap();
    assert!(!fork.is_written());
    let file = fork.path().unwrap();
    assert!(!file.exists());
    let hi = fork.append(Message::user("hi")).unwrap();
    let again = Session::open(&file).unwrap();
    assert_eq!(path(&again, hi.as_str()), join([&model, &hi]));
    assert_eq!(again.header().parent_session, session.path().unwrap().to_str().map(str::to_owned));
}

#[test]
fn a_fork_of_a_session_in_memory_stays_there() {
    let session = Session::in_memory("/p");
    let a = session.append(Message::user("a")).unwrap();
    session.append(Message::user("b")).unwrap();
    let fork = session.fork(a.as_str(), ForkOptions::default()).unwrap();
    assert_eq!((fork.path(), fork.header().parent_session), (None, None));
    fork.append(Message::user("c")).unwrap();
    assert_eq!((fork.tree().len(), session.tree().len()), (2, 2));
}

#[test]
fn forks_of_the_callers_choice() {
    let directory = tempfile::tempdir().unwrap();
    let (_, session) = put(directory.path(), &[user("a", None)]);
    let options = ForkOptions::new()
        .dir(directory.path().join("elsewhere"))
        .cwd("/other")
        .id(SessionId::new("mine").unwrap());
    let fork = session.fork("a", options.clone()).unwrap();
    assert_eq!((fork.id().as_str(), fork.cwd().as_str()), ("mine", "/other"));
    assert_eq!(fork.path().unwrap().parent().unwrap(), directory.path().join("elsewhere"));
    let left: Vec<_> = std::fs::read_dir(directory.path().join("elsewhere")).unwrap().collect();
    assert_eq!(left.len(), 1, "no temporary file stays");
}

#[test]
fn a_fork_at_a_leaf_entry_is_a_fork_at_its_target() {
    let directory = tempfile::tempdir().unwrap();
    let lines = [user("a", None), user("b", Some("a")), leaf("back", Some("a"))];
    let (_, session) = put(directory.path(), &lines);
    let fork = session.fork("back", ForkOptions::default()).unwrap();
    assert_eq!(fork.leaf().unwrap(), "a");
    assert_eq!(fork.context().unwrap(), session.context().unwrap());
}

#[test]
fn a_fork_at_a_leaf_entry_with_another_parent_is_a_fork_at_its_target_too() {
    for (target, expected) in [(r#""a""#, Some("a")), (r#""b""#, Some("b")), ("null", None)] {
        let directory = tempfile::tempdir().unwrap();
        let odd = entry("leaf", "odd", Some("c"), &format!(r#","targetId":{target}"#));
        let lines = [user("a", None), user("b", Some("a")), user("c", Some("a")), odd];
        let (_, session) = put(directory.path(), &lines);
        let fork = session.fork("odd", ForkOptions::default()).unwrap();
        assert_eq!(fork.leaf().as_ref().map(|leaf| leaf.as_str()), expected);
        let messages = session.context_at(Position::from(expected)).unwrap().messages;
        assert_eq!(fork.context().unwrap().messages, messages);
    }
    // A target that does not exist moves no leaf.
    let directory = tempfile::tempdir().unwrap();
    let odd = entry("leaf", "odd", Some("a"), r#","targetId":"gone""#);
    let (_, session) = put(directory.path(), &[user("a", None), odd]);
    let fork = session.fork("odd", ForkOptions::default()).unwrap();
    assert_eq!(fork.context().unwrap().messages.len(), 1);
}

#[test]
fn everything_for_another_project() {
    let directory = tempfile::tempdir().unwrap();
    let lines = [
        user("a", None),
        user("b", Some("a")),
        user("c", Some("a")),
        "damaged".into(),
        leaf("l", Some("b")),
    ];
    let (source, session) = put(directory.path(), &lines);
    let catalog = Catalog::new(directory.path().join("root"));
    let copy = catalog.fork_from(&source, "/other", ForkOptions::default()).unwrap();
    assert_eq!(copy.cwd(), "/other");
    assert_eq!(copy.header().parent_session.as_deref(), source.to_str());
    assert_ne!(copy.id(), session.id());
    let without_header = |text: &str| text.split_once('\n').unwrap().1.to_owned();
    let original = std::fs::read_to_string(&source).unwrap();
    assert_eq!(without_header(&text_of(&copy)), without_header(&original), "all of it");
    assert_eq!(copy.leaf(), session.leaf());
    assert_eq!(copy.path().unwrap().parent(), Some(&*catalog.dir_for("/other")));

    std::fs::write(&source, "").unwrap();
    let empty = catalog.fork_from(&source, "/other", ForkOptions::default());
    assert!(matches!(empty, Err(Error::NotASession { .. })), "{empty:?}");
    std::fs::write(&source, format!("{}\n", HEADER.replace(":3,", ":1,"))).unwrap();
    let old = catalog.fork_from(&source, "/other", ForkOptions::default()).unwrap();
    assert_eq!(old.header().version, 3, "an old version is upgraded on the way");
}

#[test]
fn a_fork_in_a_store_has_no_directory() {
    let session = Session::in_memory("/project");
    session.append(Message::user("hello")).unwrap();
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
    for options in [ForkOptions::new().dir("/sessions"), ForkOptions::new().root("/sessions")] {
        let refused = session.fork_into(&store, Position::Leaf, options);
        assert!(matches!(refused, Err(Error::InvalidOption(_))), "{refused:?}");
    }
    assert!(store.list(&ListQuery::new()).unwrap().sessions.is_empty());
}
