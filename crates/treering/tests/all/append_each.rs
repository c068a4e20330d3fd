//! Appends of several writers in one write: each has its own outcome.

use std::sync::Arc;
use treering::session::{Append, Durability};
use treering::storage::{Journal, MemoryJournal};
use treering::{CreateOptions, EntryId, Error, Message, NewEntry, Position, Session};
use treering_testkit::faulty::{AppendFault, Faulty, SyncFault};

fn message(text: &str) -> NewEntry {
    Message::user(text).into()
}

fn with_id(text: &str, id: &str) -> NewEntry {
    message(text).with_id(EntryId::from(id))
}

fn texts(session: &Session) -> Vec<u8> {
    session.context().unwrap().to_json()
}

fn log(journal: &dyn Journal) -> String {
    let mut bytes = vec![0; journal.len().unwrap() as usize];
    let got = journal.read_at(0, &mut bytes).unwrap();
    assert_eq!(got, bytes.len());
    String::from_utf8(bytes).unwrap()
}

#[test]
fn refused_appends_do_not_concern_their_neighbors() {
    let journal = Faulty::in_memory();
    let session = Session::in_journal(journal.clone(), "/project", CreateOptions::new()).unwrap();
    let first = session.append(with_id("first", "first")).unwrap();
    let before = journal.counts().appends;
    let groups = [
        vec![with_id("a", "a"), message("b")],
        vec![message("lost"), with_id("taken", "first")],
        vec![message("expects a leaf that has moved")],
        vec![with_id("lost, too", "gone"), message("under nothing").with_parent("nothing")],
        vec![message("under a neighbor").with_parent("a")],
        vec![with_id("the id of a neighbor", "a")],
        vec![with_id("the id of a refused neighbor", "gone")],
        vec![message("under a refused neighbor").with_parent("lost")],
        vec![message("last")],
    ];
    let expected = Position::from(&first);
    let appends: Vec<Append<'_>> = groups
        .iter()
        .enumerate()
        .map(|(at, entries)| match at {
            2 => Append::new(entries).expecting(&expected),
            _ => Append::new(entries),
        })
        .collect();
    let done = session.append_each(&appends).unwrap();
    assert_eq!(journal.counts().appends, before + 1, "one write");
    assert!(matches!(&done[1], Err(Error::DuplicateEntry(id)) if id == "first"));
    assert!(matches!(&done[2], Err(Error::LeafMoved { expected, actual })
        if expected.as_ref() == Some(&first) && *actual == done[0].as_ref().unwrap().leaf));
    assert!(matches!(&done[3], Err(Error::UnknownEntry(id)) if id == "nothing"));
    assert!(matches!(&done[5], Err(Error::DuplicateEntry(id)) if id == "a"));
    assert!(matches!(&done[7], Err(Error::UnknownEntry(id)) if id == "lost"));
    let accepted: Vec<usize> = (0..9).filter(|&at| done[at].is_ok()).collect();
    assert_eq!(accepted, [0, 4, 6, 8]);

    // Each append returns the end of the log after it.
    let log = log(&*journal);
    for at in accepted {
        let done = done[at].as_ref().unwrap();
        let last = log[..done.length as usize].lines().last().unwrap();
        assert!(last.contains(&format!("\"id\":\"{}\"", done.ids.last().unwrap())), "{last}");
        assert_eq!(done.leaf.as_ref(), done.ids.last());
    }
    assert_eq!(log.lines().count(), 1 + 1 + 5);
    assert!(!log.contains("lost") && !log.contains("taken"));
    assert_eq!(session.leaf(), done[8].as_ref().unwrap().leaf);

    // Memory and log say the same.
    let again = Session::in_journal(journal, "/project", CreateOptions::new()).unwrap();
    assert_eq!(texts(&again), texts(&session));
    let ids = |session: &Session| session.tree().ids().collect::<Vec<_>>();
    assert_eq!(ids(&again), ids(&session));
    assert_eq!(again.leaf(), session.leaf());
}

#[test]
fn an_expected_leaf_may_be_that_of_a_neighbor() {
    let session = Session::in_memory("/project");
    let entries = [[with_id("one", "one")], [with_id("two", "two")], [message("three")]];
    let (one, start) = (Position::Entry("one".into()), Position::Start);
    let appends = [
        Append::new(&entries[0]).expecting(&start),
        Append::new(&entries[1]).expecting(&one),
        Append::new(&entries[2]).expecting(&one),
    ];
    let done = session.append_each(&appends).unwrap();
    assert!(done[0].is_ok() && done[1].is_ok());
    assert!(
        matches!(&done[2], Err(Error::LeafMoved { actual: Some(two), .. }) if two.as_str() == "two")
    );
}

#[test]
fn without_an_accepted_append_nothing_is_written() {
    let journal = Faulty::in_memory();
    let session = Session::in_journal(journal.clone(), "/project", CreateOptions::new()).unwrap();
    session.append(with_id("first", "first")).unwrap();
    let (before, appends) = (log(&*journal), journal.counts().appends);
    let refused = [with_id("again", "first")];
    let done = session.append_each(&[Append::new(&refused), Append::new(&[])]).unwrap();
    assert!(matches!(done[0], Err(Error::DuplicateEntry(_))));
    let nothing = done[1].as_ref().unwrap();
    assert_eq!((nothing.ids.len(), nothing.length), (0, before.len() as u64));
    assert_eq!(nothing.leaf, session.leaf());
    assert!(session.append_each(&[]).unwrap().is_empty());
    assert_eq!((log(&*journal), journal.counts().appends), (before, appends));
}

/// The session is behind the log: a refusal takes into account what another writer appended.
#[test]
fn refusals_are_those_of_the_log_as_it_is() {
    let journal = Arc::new(MemoryJournal::default());
    let open = || Session::in_journal(journal.clone(), "/project", CreateOptions::new()).unwrap();
    let one = open();
    one.append(with_id("first", "first")).unwrap();
    let other = open();
    one.append(with_id("second", "second")).unwrap();
    let child = [message("child").with_parent("second")];
    let done = other.append_each(&[Append::new(&child)]).unwrap();
    assert!(done[0].is_ok(), "{done:?}");

    one.refresh().unwrap();
    let leaf = one.append_following(&[with_id("third", "third")]).unwrap().pop().unwrap();
    let (expected, entries) = (Position::from(&leaf), [message("fourth")]);
    let done = other.append_each(&[Append::new(&entries).expecting(&expected)]).unwrap();
    assert!(done[0].is_ok(), "{done:?}");
    let under = [message("fifth").with_parent("third")];
    open().append_following(&under).unwrap();
}

#[test]
fn a_failed_write_leaves_nothing_of_any_append() {
    let journal = Faulty::in_memory();
    let session = Session::in_journal(journal.clone(), "/project", CreateOptions::new()).unwrap();
    session.append(message("first")).unwrap();
    let (leaf, count) = (session.leaf(), session.tree().len());
    let entries = [[with_id("a", "a")], [with_id("b", "b")]];
    let appends = [Append::new(&entries[0]), Append::new(&entries[1])];
    journal.script_appends([AppendFault::Nothing]);
    assert!(session.append_each(&appends).is_err());
    assert_eq!((session.leaf(), session.tree().len()), (leaf, count));
    let done = session.append_each(&appends).unwrap();
    assert!(done.iter().all(Result::is_ok));
    assert_eq!(session.tree().len(), count + 2);
}

#[test]
fn one_sync_makes_all_of_them_durable() {
    let journal = Faulty::in_memory();
    let options = CreateOptions::new().durability(Durability::Each);
    let session = Session::in_journal(journal.clone(), "/project", options).unwrap();
    session.append(message("first")).unwrap();
    let (count, before) = (session.tree().len(), journal.counts().syncs);
    let entries = [[with_id("a", "a")], [with_id("b", "b")]];
    let appends = [Append::new(&entries[0]), Append::new(&entries[1])];
    journal.script_syncs([SyncFault::Fails]);
    assert!(session.append_each(&appends).is_err());
    assert_eq!(session.tree().len(), count, "what may not be on disk is taken back");
    assert!(session.append_each(&appends).unwrap().iter().all(Result::is_ok));
    assert_eq!(journal.counts().syncs, before + 1);
}

#[test]
fn a_name_that_cannot_be_given_concerns_only_its_own_append() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("titled.jsonl");
    // A session of omp whose title is in a line too short to be rewritten in place.
    let text = r#"{"type":"title","v":1,"title":"old","updatedAt":"2026-01-05T09:00:00.000Z","pad":""}
{"type":"session","version":3,"id":"s","timestamp":"2026-01-05T09:00:00.000Z","cwd":"/p"}
{"type":"service_tier_change","id":"o","parentId":null,"timestamp":"2026-01-05T09:00:01.000Z","serviceTier":null}
"#;
    std::fs::write(&path, text).unwrap();
    let session = Session::open(&path).unwrap();
    let entries = [[message("a")], [NewEntry::session_info("new")], [message("b")]];
    let appends = entries.each_ref().map(|entries| Append::new(entries));
    let done = session.append_each(&appends).unwrap();
    assert!(matches!(&done[1], Err(Error::NotNameable(_))), "{done:?}");
    assert!(done[0].is_ok() && done[2].is_ok());
    assert_eq!(session.tree().len(), 3);
}
