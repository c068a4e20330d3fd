//! Tests of several sessions on one file in one process: which entries each sees, and when.

use crate::support::{join, outline, path, user};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use treering::session::Writer;
use treering::session::{Creation, LeafMoves};
use treering::{CreateOptions, EntryId, Error, Message, NewEntry, Position, Session};

/// A file with one entry, and two sessions on it.
fn two(directory: &Path) -> (PathBuf, Session, Session, EntryId) {
    let file = directory.join("s.jsonl");
    let options = CreateOptions::new().creation(Creation::AtOnce);
    let ours = Session::create_at(&file, "/p", options).unwrap();
    let first = ours.append(Message::user("first")).unwrap();
    let theirs = Session::open(&file).unwrap();
    (file, ours, theirs, first)
}

#[test]
fn two_writers_on_one_leaf_are_two_branches() {
    let directory = tempfile::tempdir().unwrap();
    let (file, ours, theirs, first) = two(directory.path());
    let a = ours.append(Message::user("a")).unwrap();
    let b = theirs.append(Message::user("b")).unwrap();
    let a2 = ours.append(Message::user("a2")).unwrap();
    let again = Session::open(&file).unwrap();
    assert_eq!(path(&again, a2.as_str()), join([&first, &a, &a2]));
    assert_eq!(path(&again, b.as_str()), join([&first, &b]));
    assert_eq!(join(again.tree().conversation().branch_points()), first.to_string());
    assert_eq!(again.leaf(), Some(a2), "the last one written");
    assert_eq!(theirs.leaf(), Some(b), "others do not move a session's leaf");
    theirs.refresh().unwrap();
    assert_eq!(outline(&ours), outline(&theirs));
}

#[test]
fn a_writer_can_require_an_error_on_a_conflict() {
    let directory = tempfile::tempdir().unwrap();
    let (file, ours, theirs, first) = two(directory.path());
    let expected = Some(first.as_str());
    let a = ours.append_expecting(expected, &[Message::user("a").into_entry()]).unwrap().remove(0);
    let before = std::fs::read(&file).unwrap();
    let conflict = theirs.append_expecting(expected, &[Message::user("b").into_entry()]);
    match conflict {
        Err(Error::LeafMoved { expected, actual }) => {
            assert_eq!((expected, actual), (Some(first.clone()), Some(a.clone())));
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(std::fs::read(&file).unwrap(), before, "nothing was written");
    assert_eq!(theirs.leaf(), Some(first), "and the leaf stays");
    let b = theirs.append_expecting(&a, &[Message::user("b").into_entry()]).unwrap().remove(0);
    assert_eq!(theirs.entry(b.as_str()).unwrap().parent(), Some(&a), "it goes where it was told");
    let wrong = ours.append_expecting(Position::Start, &[Message::user("c").into_entry()]);
    assert!(matches!(wrong, Err(Error::LeafMoved { .. })), "{wrong:?}");
}

#[test]
fn an_entry_for_a_branch_moves_only_the_given_leaves() {
    for (file_moves, own_moves) in [(true, true), (true, false), (false, true), (false, false)] {
        let directory = tempfile::tempdir().unwrap();
        let (file, ours, theirs, first) = two(directory.path());
        let elsewhere = theirs.append(Message::user("elsewhere")).unwrap();
        let entries = [
            Message::user("a").into_entry().with_parent(Some(first.clone())),
            Message::user("b").into_entry(),
        ];
        let moves = |expected: &EntryId| {
            let own = if own_moves { &first } else { &elsewhere };
            let moves = LeafMoves::none(expected).moving_session_leaf_at(own);
            if file_moves { moves.moving_file_leaf() } else { moves }
        };
        let conflict = ours.append_to_branch(&entries, &moves(&first));
        assert!(matches!(conflict, Err(Error::LeafMoved { .. })), "{conflict:?}");
        let ids = ours.append_to_branch(&entries, &moves(&elsewhere)).unwrap();
        let [a, b] = &ids[..] else { panic!("{ids:?}") };
        let again = Session::open(&file).unwrap();
        assert_eq!(path(&again, b.as_str()), join([&first, a, b]));
        assert_eq!(again.leaf().as_ref(), Some(if file_moves { b } else { &elsewhere }));
        assert_eq!(ours.leaf().as_ref(), Some(if own_moves { b } else { &first }));
        assert_eq!(outline(&ours), outline(&again));
    }
}

#[test]
fn expecting_nothing_in_a_session_without_entries() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("s.jsonl");
    let session = Session::create_at(&file, "/p", CreateOptions::new()).unwrap();
    session.append_expecting(Position::Start, &[Message::user("a").into_entry()]).unwrap();
    session.branch(Position::Start).unwrap();
    let root = session
        .append_expecting(Position::Start, &[Message::user("b").into_entry()])
        .unwrap()
        .remove(0);
    assert_eq!(path(&session, root.as_str()), root.to_string(), "a new root");
    assert_eq!(Session::open(&file).unwrap().leaf(), Some(root));
}

#[test]
fn refresh_brings_what_others_wrote_and_tells_listeners() {
    let directory = tempfile::tempdir().unwrap();
    let (_, ours, theirs, first) = two(directory.path());
    let reported: Arc<Mutex<Vec<EntryId>>> = Arc::default();
    let listener = Arc::clone(&reported);
    ours.on_change(move |change| {
        if change.writer == Writer::Other {
            listener.lock().unwrap().extend(change.entries.clone());
        }
    });

    assert!(ours.refresh().unwrap().is_empty());
    ours.append(Message::user("our own")).unwrap();
    assert!(reported.lock().unwrap().is_empty(), "one's own entries are not the work of others");

    let a = theirs.append(Message::user("a")).unwrap();
    let b = theirs.append(Message::user("b")).unwrap();
    assert!(!ours.tree().contains(a.as_str()));
    let before = ours.tree();
    assert_eq!(ours.refresh().unwrap(), [a.clone(), b.clone()]);
    assert!(!before.contains(a.as_str()), "a tree is a snapshot");
    assert!(ours.tree().contains(b.as_str()));
    assert_eq!(*reported.lock().unwrap(), [a, b.clone()]);
    assert_ne!(ours.leaf(), Some(b.clone()), "the leaf stays");

    let c = theirs.append(Message::user("c")).unwrap();
    ours.append(Message::user("ours")).unwrap();
    assert_eq!(reported.lock().unwrap().last(), Some(&c), "also on the way to an append");
    let d = theirs.append(Message::user("d")).unwrap();
    ours.refresh().unwrap();
    assert_eq!(ours.follow().unwrap(), Some(d.clone()), "to where the file is");
    let e = ours.append(Message::user("e")).unwrap();
    assert_eq!(ours.entry(e.as_str()).unwrap().parent(), Some(&d));
    theirs.branch(first.as_str()).unwrap();
    ours.refresh().unwrap();
    assert_eq!(ours.follow().unwrap(), Some(first));
}

#[test]
fn listeners_get_the_entries_of_others_even_if_the_append_fails() {
    let directory = tempfile::tempdir().unwrap();
    let (_, ours, theirs, first) = two(directory.path());
    let received: Arc<Mutex<Vec<EntryId>>> = Arc::default();
    let listener = Arc::clone(&received);
    ours.on_change(move |change| listener.lock().unwrap().extend(change.entries.clone()));
    let other = theirs.append(Message::user("theirs")).unwrap();
    // The append is refused only after the entries of the others were read.
    let taken = Message::user("ours").into_entry().with_id(&other);
    assert!(matches!(ours.append(taken), Err(Error::DuplicateEntry(_))));
    assert!(ours.tree().contains(&other));
    assert_eq!(*received.lock().unwrap(), [other]);
    assert_eq!(ours.leaf(), Some(first));
}

#[test]
fn moving_the_leaf_to_where_it_was_overrules_a_move_of_others() {
    let directory = tempfile::tempdir().unwrap();
    let (file, ours, theirs, first) = two(directory.path());
    let other = theirs.append(Message::user("theirs")).unwrap();
    assert_eq!(ours.branch(&first).unwrap(), Some(first.clone()));
    let again = Session::open(&file).unwrap();
    assert!(again.tree().contains(&other));
    assert_eq!(again.leaf(), Some(first.clone()), "the move survives a restart");
    let length = ours.log_length();
    ours.branch(&first).unwrap();
    assert_eq!(ours.log_length(), length, "nothing to record");
}

#[test]
fn listeners_may_use_the_session() {
    let directory = tempfile::tempdir().unwrap();
    let (_, ours, theirs, _) = two(directory.path());
    let ours = Arc::new(ours);
    let (inner, seen) = (Arc::clone(&ours), Arc::new(Mutex::new(0)));
    let count = Arc::clone(&seen);
    ours.on_change(move |_| *count.lock().unwrap() = inner.tree().len());
    theirs.append(Message::user("a")).unwrap();
    ours.refresh().unwrap();
    assert_eq!(*seen.lock().unwrap(), 2);
}

#[test]
fn a_writer_that_takes_no_lock() {
    let directory = tempfile::tempdir().unwrap();
    let (file, ours, _, first) = two(directory.path());
    for number in 0..50 {
        let id = format!("foreign{number}");
        let mut raw = std::fs::OpenOptions::new().append(true).open(&file).unwrap();
        raw.write_all(format!("{}\n", user(&id, Some(first.as_str()))).as_bytes()).unwrap();
        ours.append(Message::user("ours")).unwrap();
    }
    let again = Session::open(&file).unwrap();
    assert_eq!(again.tree().len(), 101);
    assert_eq!(again.findings().unwrap(), []);
    assert_eq!(outline(&ours), outline(&again));
}

#[test]
fn threads_share_a_session() {
    let directory = tempfile::tempdir().unwrap();
    let (file, ours, theirs, _) = two(directory.path());
    std::thread::scope(|scope| {
        for session in [&ours, &theirs] {
            for thread in 0..3 {
                scope.spawn(move || {
                    for number in 0..40 {
                        let batch =
                            [Message::user(format!("{thread} {number}")), Message::user("and")]
                                .map(Into::into);
                        let ids = session.append_all(&batch).unwrap();
                        let second = session.entry(ids[1].as_str()).unwrap();
                        assert_eq!(second.parent(), Some(&ids[0]), "a batch stays together");
                    }
                });
            }
            scope.spawn(move || {
                for _ in 0..40 {
                    session.refresh().unwrap();
                    session.context().unwrap();
                }
            });
        }
    });
    let again = Session::open(&file).unwrap();
    assert_eq!(again.tree().len(), 1 + 6 * 80);
    assert_eq!(again.findings().unwrap(), []);
    for session in [ours, theirs] {
        session.refresh().unwrap();
        assert_eq!(outline(&session), outline(&again));
    }
}

#[test]
fn duplicates_and_cycles_brought_by_others() {
    let directory = tempfile::tempdir().unwrap();
    let (file, ours, _, first) = two(directory.path());
    let add = |line: String| {
        let mut raw = std::fs::OpenOptions::new().append(true).open(&file).unwrap();
        raw.write_all(format!("{line}\n").as_bytes()).unwrap();
    };
    add(user("child", Some("parent")));
    ours.refresh().unwrap();
    assert_eq!(path(&ours, "child"), "child", "its parent is not there yet");
    add(user("parent", Some(first.as_str())));
    ours.refresh().unwrap();
    assert_eq!(path(&ours, "child"), format!("{first} parent child"), "now it is");
    add(user(first.as_str(), Some("child")));
    ours.append(NewEntry::model_change("acme", "oak")).unwrap();
    assert_eq!(outline(&ours), outline(&Session::open(&file).unwrap()));
    assert_eq!(ours.tree().shadowed(), 1);
}
