//! The tests that every journal, every session and every store must pass, each written as one
//! story.
//!
//! A new kind of storage is accepted when they pass; see [`Journal`] and [`Store`] for the promises they
//! check.

use std::io::Read;
use std::sync::Arc;
use treering::session::Creation;
use treering::storage::{End, Journal, JournalError};
use treering::store::{ChangedSession, ListQuery, Mark, MemoryStore, Store};
use treering::{
    CreateOptions, Dialect, Error, ForkOptions, Message, NewEntry, OpenOptions, Position, Session,
    SessionId,
};

/// Checks the contract of a journal. `make` returns an empty journal each time.
pub fn journal(make: impl Fn() -> Arc<dyn Journal>) {
    appends_are_read_back(&*make());
    writers_must_know_the_length(&*make());
    the_end_can_be_taken_back(&*make());
    many_writers_lose_nothing(make());
}

fn contents(journal: &dyn Journal) -> Vec<u8> {
    let mut bytes = vec![0; journal.len().expect("len") as usize];
    let mut filled = 0;
    while filled < bytes.len() {
        match journal.read_at(filled as u64, &mut bytes[filled..]).expect("read_at") {
            0 => break,
            count => filled += count,
        }
    }
    bytes.truncate(filled);
    bytes
}

fn appends_are_read_back(journal: &dyn Journal) {
    assert!(journal.is_empty().expect("is_empty"));
    assert_eq!(journal.read_at(0, &mut [0; 8]).expect("read at the end"), 0);
    let first = journal.append(&End::from(0), b"one\n").expect("the first append");
    assert_eq!(first.start, 0);
    let second = journal.append(&End::from(4), b"two\nthree\n").expect("the second append");
    assert_eq!(second.start, 4);
    assert!(!journal.is_empty().expect("is_empty"));
    assert_eq!(contents(journal), b"one\ntwo\nthree\n");
    let mut part = [0; 3];
    assert_eq!(journal.read_at(8, &mut part).expect("read in the middle"), 3);
    assert_eq!(&part, b"thr");
    let mut beyond = [0; 8];
    assert_eq!(journal.read_at(12, &mut beyond).expect("read over the end"), 2);
    assert_eq!(journal.read_at(1000, &mut beyond).expect("read beyond the end"), 0);
    journal.sync().expect("sync");
    assert_eq!(contents(journal), b"one\ntwo\nthree\n", "a sync changes nothing");
}

fn writers_must_know_the_length(journal: &dyn Journal) {
    journal.append(&End::from(0), b"one\n").expect("append");
    for wrong in [0, 3, 5, 1000] {
        match journal.append(&End::from(wrong), b"two\n") {
            Err(JournalError::Moved(length)) => assert_eq!(length, 4),
            other => panic!("append at {wrong} of 4 bytes: {other:?}"),
        }
    }
    assert_eq!(contents(journal), b"one\n", "a refused append leaves nothing");
}

fn the_end_can_be_taken_back(journal: &dyn Journal) {
    journal.append(&End::from(0), b"one\n").expect("append");
    journal.append(&End::from(4), b"two\n").expect("append");
    assert!(
        !journal.truncate_if(4, 0).expect("truncate a journal that has grown"),
        "another append follows"
    );
    assert_eq!(contents(journal), b"one\ntwo\n");
    if !journal.truncate_if(8, 4).expect("take back") {
        // A storage whose appends are durable at once need not remove anything.
        return assert_eq!(contents(journal), b"one\ntwo\n", "a refusal changes nothing");
    }
    assert_eq!(contents(journal), b"one\n");
    journal.append(&End::from(4), b"new\n").expect("append after taking back");
    assert_eq!(contents(journal), b"one\nnew\n");
}

fn many_writers_lose_nothing(journal: Arc<dyn Journal>) {
    const WRITERS: usize = 4;
    const LINES: usize = 25;
    std::thread::scope(|scope| {
        for writer in 0..WRITERS {
            let journal = &journal;
            scope.spawn(move || {
                for number in 0..LINES {
                    let line = format!("{writer}:{number}\n");
                    let mut length = journal.len().expect("len");
                    while let Err(error) = journal.append(&End::from(length), line.as_bytes()) {
                        match error {
                            JournalError::Moved(now) => length = now,
                            other => panic!("append: {other}"),
                        }
                    }
                }
            });
        }
    });
    let text = String::from_utf8(contents(&*journal)).expect("whole lines");
    for writer in 0..WRITERS {
        let mine = format!("{writer}:");
        let numbers = text.lines().filter_map(|line| line.strip_prefix(&mine));
        let numbers: Vec<usize> = numbers.map(|number| number.parse().expect("a number")).collect();
        assert_eq!(numbers, (0..LINES).collect::<Vec<_>>(), "the lines of writer {writer}");
    }
}

/// Checks the contract of a session on any storage. `open` opens another session on the same
/// storage, which is empty at first.
pub fn session(open: impl Fn() -> Session) {
    let session = open();
    let question = session.append(Message::user("a or b?")).expect("append");
    let first = session.append(Message::assistant("acme", "m", "a")).expect("append");
    session.label(first.as_str(), Some("first try")).expect("label");
    session.branch(question.as_str()).expect("branch");
    assert_eq!(session.leaf().as_ref(), Some(&question));
    let batch = [Message::assistant("acme", "m", "b"), Message::user("thanks")].map(Into::into);
    let batch = session.append_all(&batch).expect("append several");
    session.set_name("a story").expect("name");
    session.branch(batch[1].as_str()).expect("branch");
    session.sync().expect("sync");

    let again = open();
    same(&session, &again);
    assert_eq!(again.context().expect("context").messages.len(), 3);
    assert_eq!(again.tree().label(first.as_str()), Some("first try"));
    assert_eq!(again.name().as_deref(), Some("a story"));

    // Two sessions on one log: both entries are kept, as branches.
    let theirs = again.append(Message::assistant("acme", "m", "theirs")).expect("append");
    let ours = session.append(Message::assistant("acme", "m", "ours")).expect("append");
    let tree = session.tree();
    let parent = batch[1].as_str();
    assert_eq!(
        tree.common_ancestor(theirs.as_str(), ours.as_str()).expect("both"),
        Some(parent.into())
    );
    assert_eq!(again.refresh().expect("refresh"), std::slice::from_ref(&ours));
    assert_eq!(again.leaf(), Some(theirs));
    assert_eq!(again.follow().expect("follow"), Some(ours));
    same(&session, &again);

    session.branch(Position::Start).expect("reset");
    let custom = NewEntry::custom("notes", Some(b"{\"n\":1}")).expect("custom");
    let root = session.append(custom).expect("append");
    assert_eq!(session.tree().path(root.as_str()).expect("path"), [root]);
    same(&session, &open());
}

/// Asserts that two sessions have the same content.
fn same(a: &Session, b: &Session) {
    assert_eq!(a.id(), b.id());
    assert_eq!(a.leaf(), b.leaf());
    let outline = |session: &Session| -> Vec<String> {
        session.tree().walk().map(|item| format!("{item:?}")).collect()
    };
    assert_eq!(outline(a), outline(b));
    assert_eq!(a.context().expect("context"), b.context().expect("context"));
    let raw = |session: &Session| -> Vec<Vec<u8>> {
        session.entries().map(|entry| entry.expect("entry").raw().to_vec()).collect()
    };
    assert_eq!(raw(a), raw(b));
}

/// Checks the contract of a store. `open` opens the same store again, as another program would; it is
/// empty at first.
pub fn store(open: impl Fn() -> Arc<dyn Store>) {
    sessions_are_created_once(&open);
    sessions_are_listed_in_pages(&open);
    changes_are_reported(&open);
    logs_keep_the_ids_that_they_were_created_with(&open);
    sessions_appear_with_their_first_message(&open);
    forks_go_to_any_store(&open);
    removed_sessions_are_gone(&open);
    two_programs_share_a_session(&open);
}

fn id(text: &str) -> SessionId {
    SessionId::new(text).expect("an id")
}

fn header(id: &str, cwd: &str) -> Vec<u8> {
    let time = "2026-01-01T00:00:00.000Z";
    format!(
        "{{\"type\":\"session\",\"version\":3,\"id\":\"{id}\",\"timestamp\":\"{time}\",\"cwd\":\"{cwd}\"}}\n"
    )
    .into_bytes()
}

fn sessions_are_created_once(open: &impl Fn() -> Arc<dyn Store>) {
    let (ours, theirs) = (open(), open());
    let (once, start) = (id("once"), header("once", "/project"));
    let unknown = ours.open(&once).expect_err("there is no session yet");
    assert!(matches!(unknown, Error::UnknownSession(_)), "{unknown}");
    let journal = ours.create(&once, &mut start.as_slice()).expect("create");
    assert_eq!(contents(&*journal), start);
    let exists = theirs.create(&once, &mut start.as_slice()).expect_err("it exists");
    assert!(matches!(exists, Error::SessionExists(_)), "{exists}");
    assert_eq!(contents(&*theirs.open(&once).expect("open")), start);

    // A session whose source cannot be read to its end is not created.
    let broken = id("broken");
    let mut reader = start.as_slice().chain(BrokenReader);
    ours.create(&broken, &mut reader).expect_err("the start cannot be read");
    assert!(matches!(theirs.open(&broken), Err(Error::UnknownSession(_))));

    // A first write of some megabytes arrives unchanged.
    let large = id("large");
    let mut start = header("large", "/project");
    for number in 0..20_000 {
        let line = "x".repeat(100 + number % 100);
        start.extend_from_slice(format!("{{\"line\":{number},\"text\":\"{line}\"}}\n").as_bytes());
    }
    ours.create(&large, &mut start.as_slice()).expect("create");
    assert!(contents(&*theirs.open(&large).expect("open")) == start, "the same bytes");
    for id in [once, large] {
        ours.remove(&id).expect("remove");
    }
}

struct BrokenReader;

impl Read for BrokenReader {
    fn read(&mut self, _: &mut [u8]) -> std::io::Result<usize> {
        Err(std::io::Error::other("the cable was pulled"))
    }
}

fn sessions_are_listed_in_pages(open: &impl Fn() -> Arc<dyn Store>) {
    let store = open();
    let mut expected = Vec::new();
    for number in 0..7_i64 {
        let options = CreateOptions::new().id(id(&format!("page-{number}")));
        let cwd = if number % 2 == 0 { "/even" } else { "/odd" };
        let session = Session::create_in(&store, cwd, options).expect("create");
        let entry = Message::user(&*format!("question {number}")).into_entry();
        session.append(entry.with_timestamp(1_800_000_000_000 + number)).expect("append");
        expected.insert(0, format!("page-{number}"));
    }
    let mut query = ListQuery::new().limit(3);
    let mut listed = Vec::new();
    for size in [3, 3, 1] {
        let page = store.list(&query).expect("list");
        assert_eq!(page.sessions.len(), size);
        assert_eq!(page.next.is_some(), size == 3 && listed.len() < 4);
        for session in &page.sessions {
            assert_eq!(session.first_message, session.id.to_string().replace("page-", "question "));
            assert_eq!((session.message_count, session.entry_count), (1, 1));
        }
        listed.extend(page.sessions.iter().map(|session| session.id.to_string()));
        if listed.len() == 3 {
            // A newer session that is created meanwhile moves no other session to another page.
            let options = CreateOptions::new().id(id("newer"));
            let newer = Session::create_in(&store, "/even", options).expect("create");
            newer
                .append(Message::user("later").into_entry().with_timestamp(1_900_000_000_000))
                .expect("append");
        }
        if let Some(next) = page.next {
            query = query.after(next);
        }
    }
    assert_eq!(listed, expected);
    let count = |query: ListQuery| store.list(&query).expect("list").sessions.len();
    assert_eq!(count(ListQuery::new().cwd("/even")), 5);
    assert_eq!(count(ListQuery::new().cwd("/even").until(1_850_000_000_000)), 4);
    assert_eq!(count(ListQuery::new().since(1_800_000_000_005)), 3);
    assert_eq!(count(ListQuery::new().agent(Dialect::Pi)), 8);
    assert_eq!(count(ListQuery::new().agent(Dialect::Codex)), 0);
    for name in expected.iter().map(String::as_str).chain(["newer"]) {
        store.remove(&id(name)).expect("remove");
    }
    assert_eq!(count(ListQuery::new()), 0);
}

fn changes_are_reported(open: &impl Fn() -> Arc<dyn Store>) {
    let (store, watcher) = (open(), open());
    let changes_since = |mark: &Mark| {
        let changes = watcher.changes(Some(mark)).expect("changes");
        let of_ours = |change: &&ChangedSession| change.id == "watched";
        (changes.sessions.iter().find(of_ours).map(|change| change.length), changes.mark)
    };
    let first = watcher.changes(None).expect("changes");
    assert!(first.sessions.is_empty());
    let options = CreateOptions::new().id(id("watched"));
    let session = Session::create_in(&store, "/project", options).expect("create");
    let mut mark = first.mark;
    for number in 0..3 {
        session.append(Message::user(&*format!("{number}"))).expect("append");
        let length = store.open(&id("watched")).expect("open").len().expect("len");
        let (change, next) = changes_since(&mark);
        assert_eq!(change, Some(Some(length)), "change {number}");
        mark = next;
    }
    store.remove(&id("watched")).expect("remove");
    assert!(matches!(changes_since(&mark).0, None | Some(None)), "a removed session has no length");
}

/// A log may have the id of another session in its header, as copies have, or none, as those of Chimera
/// may. A program that synchronizes stores knows it by the id that it was created with.
fn logs_keep_the_ids_that_they_were_created_with(open: &impl Fn() -> Arc<dyn Store>) {
    let (store, other) = (open(), open());
    let mark = other.changes(None).expect("changes").mark;
    let mut copy = header("source", "/project");
    copy.extend_from_slice(
        b"{\"type\":\"message\",\"id\":\"a\",\"parentId\":null,\"timestamp\":\"2026-01-01T00:00:01.000Z\",\"message\":{\"role\":\"user\",\"content\":\"hello\",\"timestamp\":1767225601000}}\n",
    );
    let ids = ["copy", "second-copy", "source"].map(id);
    for (count, id) in ids.iter().enumerate() {
        assert!(matches!(other.open(id), Err(Error::UnknownSession(_))), "{id}");
        store.create(id, &mut copy.as_slice()).expect("create");
        let again = store.create(id, &mut copy.as_slice()).expect_err("it exists");
        assert!(matches!(again, Error::SessionExists(_)), "{again}");
        assert_eq!(contents(&*other.open(id).expect("open")), copy);
        let listed = other.list(&ListQuery::new()).expect("list").sessions;
        assert!(listed.iter().any(|session| session.id == *id), "{id}");
        assert_eq!(listed.len(), count + 1);
        let changed = other.changes(Some(&mark)).expect("changes").sessions;
        assert!(changed.iter().any(|change| change.id == *id), "{id}");
    }
    for id in ids {
        store.remove(&id).expect("remove");
        assert!(matches!(other.open(&id), Err(Error::UnknownSession(_))), "{id}");
    }
}

fn sessions_appear_with_their_first_message(open: &impl Fn() -> Arc<dyn Store>) {
    let (store, other) = (open(), open());
    let pending = id("pending");
    let options = CreateOptions::new().id(pending.clone());
    let session = Session::create_in(&store, "/project", options.clone()).expect("create");
    session.append(NewEntry::model_change("acme", "m")).expect("append");
    assert!(matches!(other.open(&pending), Err(Error::UnknownSession(_))));
    session.append(Message::user("hello")).expect("append");
    let again = Session::open_in(&other, &pending, OpenOptions::new()).expect("open");
    assert_eq!(again.tree().len(), 2);
    session.append(Message::assistant("acme", "m", "hi")).expect("append");
    again.refresh().expect("refresh");
    again.follow().expect("follow");
    same(&session, &again);

    // Another session with this id is refused.
    let second = Session::create_in(&other, "/project", options.creation(Creation::AtOnce));
    let error = second.expect_err("it exists");
    assert!(matches!(error, Error::SessionExists(_)), "{error}");
    store.remove(&pending).expect("remove");
}

fn forks_go_to_any_store(open: &impl Fn() -> Arc<dyn Store>) {
    let (store, memory) = (open(), Arc::new(MemoryStore::new()) as Arc<dyn Store>);
    let options = CreateOptions::new().id(id("origin"));
    let origin = Session::create_in(&store, "/project", options).expect("create");
    let question = origin.append(Message::user("a or b?")).expect("append");
    let first = origin.append(Message::assistant("acme", "m", "a")).expect("append");
    origin.label(&first, Some("first")).expect("label");
    origin.branch(&question).expect("branch");
    origin.append(Message::assistant("acme", "m", "b")).expect("append");
    for dialect in [Dialect::Pi, Dialect::Omp, Dialect::Chimera] {
        for target in [&memory, &store] {
            let options = ForkOptions::new().dialect(dialect);
            let fork = origin.fork_into(target, &first, options).expect("fork");
            assert_eq!(fork.dialect(), dialect);
            let again = Session::open_in(target, &fork.id(), OpenOptions::new()).expect("open");
            assert_eq!(again.context().expect("context").messages.len(), 2);
            assert_eq!(again.tree().label(first.as_str()), Some("first"), "{dialect}");
            again.append(Message::user("and then?")).expect("append");
            again.set_name("a fork").expect("name");
            let reread = Session::open_in(target, &fork.id(), OpenOptions::new()).expect("open");
            assert_eq!(reread.name().as_deref(), Some("a fork"), "{dialect}");
            // The same for the earlier leaf.
            let options = ForkOptions::new().dialect(Dialect::Pi);
            let back = reread.fork_into(&store, Position::Leaf, options).expect("fork back");
            assert_eq!(back.context().expect("context").messages.len(), 3);
            store.remove(&back.id()).expect("remove");
            target.remove(&fork.id()).expect("remove");
        }
    }
    store.remove(&id("origin")).expect("remove");
}

fn removed_sessions_are_gone(open: &impl Fn() -> Arc<dyn Store>) {
    let (store, other) = (open(), open());
    let removed = id("removed");
    let start = header("removed", "/project");
    let journal = other.create(&removed, &mut start.as_slice()).expect("create");
    let open = Session::open_in(&other, &removed, OpenOptions::new()).expect("open");
    store.remove(&removed).expect("remove");
    let error = open.append(Message::user("too late")).expect_err("the session is gone");
    assert!(matches!(error, Error::Deleted(_)), "{error}");
    let unknown = store.remove(&removed).expect_err("it is gone");
    assert!(matches!(unknown, Error::UnknownSession(_)), "{unknown}");
    let late = journal.append(&End::from(start.len() as u64), b"{}\n");
    assert!(late.is_err(), "an append to a removed session fails");
    assert!(matches!(other.open(&removed), Err(Error::UnknownSession(_))));
    // Its id is free again, and the new session has nothing of the old one.
    let journal = other.create(&removed, &mut start.as_slice()).expect("create");
    assert_eq!(contents(&*journal), start);
    other.remove(&removed).expect("remove");
}

fn two_programs_share_a_session(open: &impl Fn() -> Arc<dyn Store>) {
    let shared = id("shared");
    let start = header("shared", "/project");
    open().create(&shared, &mut start.as_slice()).expect("create");
    session(|| Session::open_in(&open(), &shared, OpenOptions::new()).expect("open"));
    let journal = open().open(&shared).expect("open");
    let length = journal.len().expect("len");
    // The start of a log is replaced only if it is the expected one.
    let renamed = String::from_utf8(header("shared", "/PROJECT")).expect("text").into_bytes();
    assert!(!journal.replace_start(&renamed, &start).expect("other bytes"));
    assert!(journal.replace_start(&start, &renamed).expect("replace"));
    let there = contents(&*open().open(&shared).expect("open"));
    assert_eq!((there.len() as u64, &there[..start.len()]), (length, &*renamed));
    open().remove(&shared).expect("remove");
}
