//! Tests of the sessions of this machine as a store.

use std::sync::Arc;
use std::time::Duration;
use treering::session::Creation;
use treering::store::{ListQuery, Store};
use treering::{CreateOptions, Message, OpenOptions, Session, SessionId};
use treering_index::{LocalStore, Places, SessionIndex};
use treering_testkit::story;

fn places(dir: &std::path::Path) -> Places {
    Places::default().only([dir.to_owned()])
}

#[test]
fn the_sessions_of_a_machine_pass_the_story_of_stores() {
    let dir = tempfile::tempdir().unwrap();
    let index = || SessionIndex::new(places(dir.path()));
    story::store(|| Arc::new(LocalStore::new(index()).removing_recent()));
}

/// Another program writes a file that the store has opened, and creates one that it has not seen.
#[test]
fn what_agents_write_is_noticed() {
    let dir = tempfile::tempdir().unwrap();
    let index = SessionIndex::new(places(dir.path()));
    // Files that were opened here are polled every time, whatever the interval is.
    let store = LocalStore::new(index).with_interval(Duration::from_secs(3600));
    let create = |name: &str| {
        let options = CreateOptions::new().id(SessionId::new(name).unwrap());
        let options = options.creation(Creation::AtOnce);
        let path = dir.path().join(format!("{name}.jsonl"));
        Session::create_at(path, "/project", options).unwrap()
    };
    let agent = create("opened");
    let (opened, unseen) = (SessionId::new("opened").unwrap(), SessionId::new("unseen").unwrap());
    store.open(&opened).unwrap();
    let mark = store.changes(None).unwrap().mark;
    agent.append(Message::user("hello")).unwrap();
    let changes = store.changes(Some(&mark)).unwrap();
    assert_eq!(changes.sessions.len(), 1);
    assert_eq!(changes.sessions[0].id, opened);
    assert_eq!(changes.sessions[0].length, Some(store.open(&opened).unwrap().len().unwrap()));
    assert!(store.changes(Some(&changes.mark)).unwrap().sessions.is_empty());

    create("unseen").append(Message::user("one more")).unwrap();
    assert!(store.open(&unseen).is_ok(), "an id that is asked for is looked for");
    assert_eq!(store.list(&ListQuery::new()).unwrap().sessions.len(), 2);
}

/// An agent that writes a session takes no lock, so it may still be writing. The store's own
/// sessions have no other writer.
#[test]
fn a_session_that_was_written_a_moment_ago_is_removed_if_the_store_created_it() {
    let dir = tempfile::tempdir().unwrap();
    let store: Arc<dyn Store> = Arc::new(LocalStore::new(SessionIndex::new(places(dir.path()))));
    let id = |name: &str| SessionId::new(name).unwrap();
    let options = CreateOptions::new().id(id("agents"));
    let agents = Session::create_at(dir.path().join("a.jsonl"), "/project", options).unwrap();
    agents.append(Message::user("hello")).unwrap();
    let refused = store.remove(&id("agents")).unwrap_err();
    assert!(refused.to_string().contains("a moment ago"), "{refused}");

    let options = CreateOptions::new().id(id("own"));
    let own = Session::create_in(&store, "/project", options).unwrap();
    own.append(Message::user("hello")).unwrap();
    store.remove(&id("own")).unwrap();
    let log = std::fs::read(dir.path().join("a.jsonl")).unwrap();
    store.create(&id("copied"), &mut &*log).unwrap();
    store.remove(&id("copied")).unwrap();
    assert_eq!(store.list(&ListQuery::new()).unwrap().sessions.len(), 1);
}

/// The numbers of changes begin again with every program.
#[test]
fn a_mark_of_an_earlier_program_misses_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let store = || LocalStore::new(SessionIndex::new(places(dir.path())));
    let options = CreateOptions::new().id(SessionId::new("chat").unwrap());
    let path = dir.path().join("chat.jsonl");
    let agent = Session::create_at(path, "/project", options).unwrap();
    let before = store();
    for text in ["one", "two", "three"] {
        agent.append(Message::user(text)).unwrap();
        before.changes(None).unwrap();
    }
    let mark = before.changes(None).unwrap().mark;
    agent.append(Message::user("four")).unwrap();
    let after = store();
    let changes = after.changes(Some(&mark)).unwrap();
    assert_eq!(changes.sessions.len(), 1, "{mark}");
    assert!(after.changes(Some(&changes.mark)).unwrap().sessions.is_empty());
}

/// A copy that was pulled from another machine keeps its id: with another one, it would be pushed
/// again as a new session.
#[test]
fn a_copy_from_another_store_keeps_its_id() {
    let dir = tempfile::tempdir().unwrap();
    let store = LocalStore::new(SessionIndex::new(places(dir.path())));
    let log = b"{\"type\":\"session\",\"version\":3,\"id\":\"twice\",\"timestamp\":\"2026-01-01T00:00:00.000Z\",\"cwd\":\"/\"}\n";
    for id in ["twice", "twice.08e1e883", "twice.e70b2ba9"] {
        let id = SessionId::new(id).unwrap();
        store.create(&id, &mut &log[..]).unwrap();
        assert!(store.open(&id).is_ok(), "{id}");
    }
    let sessions = store.list(&ListQuery::new()).unwrap().sessions;
    let mut ids: Vec<String> = sessions.iter().map(|session| session.id.to_string()).collect();
    ids.sort();
    assert_eq!(ids, ["twice", "twice.08e1e883", "twice.e70b2ba9"]);
}

/// The same session id in two files, as after copying a directory of sessions.
#[test]
fn of_two_files_with_one_id_the_later_one_has_it_and_both_are_listed() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name);
    let options = CreateOptions::new().id(SessionId::new("twice").unwrap());
    let old = Session::create_at(at("a.jsonl"), "/project", options).unwrap();
    old.append(Message::user("old").into_entry().with_timestamp(1_800_000_000_000)).unwrap();
    std::fs::copy(at("a.jsonl"), at("b.jsonl")).unwrap();
    let new = Session::open(at("b.jsonl")).unwrap();
    new.append(Message::user("new").into_entry().with_timestamp(1_800_000_000_001)).unwrap();
    let store: Arc<dyn Store> = Arc::new(LocalStore::new(SessionIndex::new(places(dir.path()))));
    let listed = store.list(&ListQuery::new()).unwrap().sessions;
    let ids: Vec<&str> = listed.iter().map(|session| session.id.as_str()).collect();
    assert_eq!((listed.len(), ids[0]), (2, "twice"), "{ids:?}");
    for session in &listed {
        let id = SessionId::new(session.id.as_str()).unwrap();
        assert_eq!(store.file(&id).unwrap().as_ref(), Some(&session.path));
        assert_eq!(store.open(&id).unwrap().len().unwrap(), session.size);
    }
    // Another program names them alike.
    let other = LocalStore::new(SessionIndex::new(places(dir.path())));
    let again = other.list(&ListQuery::new()).unwrap().sessions;
    assert_eq!(ids, again.iter().map(|session| session.id.as_str()).collect::<Vec<_>>());
    let id = SessionId::new("twice").unwrap();
    let opened = Session::open_in(&store, &id, OpenOptions::new()).unwrap();
    assert_eq!(opened.path(), Some(at("b.jsonl")));
}
