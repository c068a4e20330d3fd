//! Tests that an id names exactly one entry, and that the beginning of an id is refused.

use treering::session::Resolved;
use treering::{EntryId, Error, ForkOptions, Message, NewEntry, Position, Session};

/// A session with one entry, and the beginning of that entry's id.
fn session_and_prefix() -> (Session, String) {
    let session = Session::in_memory("/project");
    let id = session.append(Message::user("hello")).unwrap();
    let prefix = id.as_str()[..3].to_owned();
    (session, prefix)
}

fn assert_unknown<T>(result: Result<T, Error>, prefix: &str) {
    match result {
        Err(Error::UnknownEntry(id)) => assert_eq!(id, prefix),
        Err(error) => panic!("another error: {error}"),
        Ok(_) => panic!("the beginning of an id was accepted"),
    }
}

#[test]
fn writes_refuse_the_beginning_of_an_id() {
    let (session, prefix) = session_and_prefix();
    let before = session.tree().len();
    assert_unknown(session.label(&prefix, Some("start")), &prefix);
    assert_unknown(session.branch(prefix.as_str()), &prefix);
    assert_unknown(session.fork(prefix.as_str(), ForkOptions::default()), &prefix);
    let target = EntryId::from(&prefix);
    assert_unknown(session.append(NewEntry::label(&target, None)), &prefix);
    assert_unknown(session.append(NewEntry::leaf(Some(&target))), &prefix);
    assert_unknown(session.append(NewEntry::context_edit(&target, None).unwrap()), &prefix);
    let below = Message::user("hi").into_entry().with_parent(Some(target));
    assert_unknown(session.append(below), &prefix);
    assert_eq!(session.tree().len(), before);
}

#[test]
fn ids_are_taken_by_value_and_by_reference() {
    let session = Session::in_memory("/project");
    let id = session.new_id();
    session.append(Message::user("one").into_entry().with_id(&id)).unwrap();
    session.append(NewEntry::label(&id, Some("first"))).unwrap();
    session.append(NewEntry::context_edit(&id, None).unwrap()).unwrap();
    let two = Message::user("two").into_entry().with_id("two").with_parent(&id);
    session.append(two).unwrap();
    let again = Message::user("again").into_entry().with_parent(Position::Leaf);
    let again = session.append(again).unwrap();
    let root = Message::user("root").into_entry().with_parent(Position::Start);
    let root = session.append(root).unwrap();
    let tree = session.tree();
    assert_eq!(tree.label(&id), Some("first"));
    assert_eq!(tree.parent("two").unwrap(), Some(id.clone()));
    assert_eq!(tree.parent(again).unwrap(), Some("two".into()));
    assert_eq!(tree.parent(root).unwrap(), None);
    session.append(NewEntry::label(id, None)).unwrap();
}

#[test]
fn reads_refuse_the_beginning_of_an_id() {
    let (session, prefix) = session_and_prefix();
    assert_unknown(session.entry(&prefix), &prefix);
    assert_unknown(session.reader().entry(&prefix), &prefix);
    assert_unknown(session.tree().kind(&prefix), &prefix);
    assert_unknown(session.tree().children(&prefix), &prefix);
    assert_unknown(session.diff(prefix.as_str(), prefix.as_str()), &prefix);
    assert_unknown(session.branch_usage(prefix.as_str()), &prefix);
    assert_eq!(session.tree().label(&prefix), None);
}

#[test]
fn a_text_is_resolved_to_one_entry_to_several_or_to_none() {
    let session = Session::in_memory("/project");
    let ids = ["abc", "abcd1", "abcd2", "x"].map(EntryId::from);
    for id in &ids {
        session.append(Message::user("hello").into_entry().with_id(id.clone())).unwrap();
    }
    let [abc, first, second, x] = ids;
    assert_eq!(session.resolve("abc"), Resolved::Found(abc), "a whole id comes first");
    assert_eq!(session.resolve("x"), Resolved::Found(x));
    assert_eq!(session.resolve("abcd1"), Resolved::Found(first.clone()));
    assert_eq!(session.resolve("abcd"), Resolved::Ambiguous(vec![first, second]));
    for unknown in ["", "abcde", "y"] {
        assert_eq!(session.resolve(unknown), Resolved::Unknown, "{unknown:?}");
    }
    let error = session.resolve("abcd").found("abcd").unwrap_err();
    assert!(matches!(error, Error::AmbiguousEntry { .. }), "{error}");
}

#[test]
fn a_position_means_the_same_for_every_verb() {
    let session = Session::in_memory("/project");
    let first = session.append(Message::user("one")).unwrap();
    let second = session.append(Message::user("two")).unwrap();
    session.branch(&first).unwrap();
    let expected = [
        (Position::Leaf, Some(&first), 1),
        (Position::from(&second), Some(&second), 2),
        (Position::Start, None, 0),
    ];
    for (position, entry, messages) in expected {
        let context = session.context_at(&position).unwrap();
        assert_eq!(context.messages.len(), messages, "{position:?}");
        let path = session.path_to(&position).unwrap();
        let end = path.last().transpose().unwrap().map(|entry| entry.id().clone());
        assert_eq!(end.as_ref(), entry, "{position:?}");
        let fork = session.fork(&position, ForkOptions::default()).unwrap();
        assert_eq!(fork.context().unwrap(), context, "{position:?}");
        assert_eq!(session.branch_stats(&position).unwrap().entries, messages as u64);
        assert_eq!(session.diff(&position, &position).unwrap().common_ancestor.as_ref(), entry);
        session.branch_in_memory(&position).unwrap();
        assert_eq!(session.leaf().as_ref(), entry, "{position:?}");
        session.branch_in_memory(&first).unwrap();
    }
    assert_eq!(session.context_at(Position::Leaf).unwrap(), session.context().unwrap());
}
