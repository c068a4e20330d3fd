//! Lists: the facts are those of every other store, also after sessions have grown.

use crate::{create, id, store};
use std::sync::Arc;
use treering::store::{ListQuery, MemoryStore, Store};
use treering::{Dialect, ForkOptions, Message, OpenOptions, Position, Session};
use treering_testkit::generate::{Plan, session_bytes, small};

/// Both stores list the same.
fn assert_same_lists(ours: &dyn Store, memory: &dyn Store) {
    let query = ListQuery::new().limit(1000);
    let (ours, theirs) = (ours.list(&query).expect("list"), memory.list(&query).expect("list"));
    assert_eq!(ours.sessions, theirs.sessions);
    assert!(!ours.sessions.is_empty());
}

#[test]
fn facts_are_those_of_other_stores() {
    let Some(ours) = store("facts") else { return };
    let memory = Arc::new(MemoryStore::new());
    let mut names = Vec::new();
    for seed in 0..6 {
        let log = match seed {
            0..4 => small(seed, 40),
            4 => session_bytes(&Plan::entries(7, 300)).0,
            _ => session_bytes(&Plan::bytes(8, 2_000_000)).0,
        };
        let journal = Arc::new(treering::storage::MemoryJournal::new(log.clone()));
        let name = treering::catalog::info_of(journal).expect("a session").id.to_string();
        if memory.create(&id(&name), &mut &*log).is_ok() {
            create(&ours, &name, &log);
            names.push(name);
        }
    }
    create(&ours, "nothing", b"");
    create(&ours, "no-session", b"hello\n");
    assert_same_lists(&ours, &*memory);

    // Grown by another program, in several dialects.
    let (grown, memory): (Arc<dyn Store>, Arc<dyn Store>) =
        (Arc::new(store("facts").expect("a server")), memory);
    for (number, name) in names.iter().enumerate() {
        let entry = Message::user(&*format!("more {number}")).into_entry();
        let entry = entry.with_timestamp(1_900_000_000_000 + number as i64);
        for store in [&grown, &memory] {
            let session = Session::open_in(store, &id(name), OpenOptions::new()).expect("open");
            let mut entry = entry.clone();
            entry = entry.with_id(format!("9999000{number}"));
            session.append(entry).expect("append");
            session.set_name(&format!("session {number}")).expect("name");
        }
    }
    let listed = ours.list(&ListQuery::new()).expect("list").sessions;
    let in_memory = memory.list(&ListQuery::new()).expect("list").sessions;
    let shown = |sessions: &[treering::catalog::SessionInfo]| -> Vec<String> {
        let show = |info: &treering::catalog::SessionInfo| {
            format!("{} {:?} {} {}", info.id, info.name, info.modified, info.entry_count)
        };
        sessions.iter().map(show).collect()
    };
    assert_eq!(shown(&listed), shown(&in_memory));
    let source = Session::open_in(&grown, &id(&names[0]), OpenOptions::new()).expect("open");
    for dialect in [Dialect::Omp, Dialect::Codex] {
        let options = ForkOptions::new().dialect(dialect);
        let Ok(fork) = source.fork_into(&grown, Position::Leaf, options) else { continue };
        let found = ours.list(&ListQuery::new().agent(dialect)).expect("list").sessions;
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].id, fork.id());
        assert!(found[0].message_count > 0);
    }
}

#[test]
fn changes_are_reported_once_and_of_this_space() {
    let Some(ours) = store("changes") else { return };
    let elsewhere = store("changes-elsewhere").expect("a server");
    let mark = ours.changes(None).expect("changes").mark;
    create(&ours, "one", b"{}\n");
    create(&elsewhere, "two", b"{}\n");
    let changes = ours.changes(Some(&mark)).expect("changes");
    let ids: Vec<&str> = changes.sessions.iter().map(|change| change.id.as_str()).collect();
    assert_eq!(ids, ["one"]);
    assert_eq!(changes.sessions[0].length, Some(3));
    // Of a database that was restored from a backup: everything may have changed.
    let future = treering::store::Mark::new("900000000000000000");
    let changes = ours.changes(Some(&future)).expect("changes");
    assert_eq!(changes.sessions.len(), 1);
    let server = crate::server().expect("a server");
    server.sql(
        "shared",
        "UPDATE treering.sessions SET changed = 900000000000000000 WHERE space = 'changes'",
    );
    let mark = ours.changes(None).expect("changes").mark;
    ours.remove(&id("one")).expect("remove");
    let changes = ours.changes(Some(&mark)).expect("changes");
    assert_eq!(changes.sessions.len(), 1);
    assert_eq!(changes.sessions[0].length, None);
    for foreign in ["yesterday", "0", "another-1:5"] {
        let changes = ours.changes(Some(&treering::store::Mark::new(foreign))).expect("changes");
        assert_eq!(changes.sessions.len(), 1, "not a mark of this store: {foreign}");
    }
}

#[test]
fn a_project_is_a_directory_with_everything_below_it() {
    let Some(ours) = store("projects") else { return };
    let memory = MemoryStore::new();
    for (number, cwd) in
        ["/p", "/p/", "/p/a", "/p/a/b", "/pa", "/p0", "/q", "", "C:\\\\p\\\\a", "C:\\\\p0"]
            .iter()
            .enumerate()
    {
        let log = format!(
            "{{\"type\":\"session\",\"version\":3,\"id\":\"p{number}\",\"timestamp\":\"2026-01-05T09:00:0{number}.000Z\",\"cwd\":\"{cwd}\"}}\n"
        );
        create(&ours, &format!("p{number}"), log.as_bytes());
        memory.create(&id(&format!("p{number}")), &mut log.as_bytes()).expect("create");
    }
    for (project, count) in
        [("/p", 4), ("/p/", 4), ("/p/a", 2), ("/", 7), ("C:\\p", 1), ("nothing", 0), ("", 10)]
    {
        let query = ListQuery::new().project(project);
        let listed = ours.list(&query).expect("list").sessions;
        assert_eq!(listed.len(), count, "{project}");
        assert_eq!(listed, memory.list(&query).expect("list").sessions, "{project}");
        let one = query.cwd("/p/a");
        let listed = ours.list(&one).expect("list").sessions;
        assert_eq!(listed, memory.list(&one).expect("list").sessions, "{project}");
    }
}

/// The database stores no NUL, neither in facts nor as a parameter.
#[test]
fn a_directory_with_a_nul_is_found() {
    let Some(ours) = store("nul") else { return };
    let log = b"{\"type\":\"session\",\"version\":3,\"id\":\"one\",\"timestamp\":\"2026-01-05T09:00:00.000Z\",\"cwd\":\"/a\\u0000b\"}\n";
    create(&ours, "one", log);
    let count = |query: ListQuery| ours.list(&query).expect("list").sessions.len();
    assert_eq!(count(ListQuery::new().cwd("/a\0b")), 1);
    assert_eq!(count(ListQuery::new().project("/a\0b")), 1);
    assert_eq!(count(ListQuery::new().cwd("\0")), 0);
}
