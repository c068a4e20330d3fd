//! The verbs of a session that other files do not cover: options, listeners, retries, tree views.

use std::sync::{Arc, Mutex, mpsc};
use treering::entry::{SystemMessage, TokenUsage};
use treering::session::{Change, Creation, Durability, NewSession, Writer};
use treering::storage::MemoryJournal;
use treering::{
    Catalog, CreateOptions, Dialect, EntryId, Error, ForkOptions, Message, NewEntry, OpenOptions,
    Session, SessionId,
};

fn file(directory: &tempfile::TempDir) -> std::path::PathBuf {
    directory.path().join("s.jsonl")
}

fn failed(reason: &str) -> NewEntry {
    let json = format!(
        r#"{{"type":"message","message":{{"role":"assistant","content":[],"stopReason":"{reason}"}}}}"#
    );
    NewEntry::from_json(json.as_bytes()).unwrap()
}

#[test]
fn every_option_of_a_new_session_is_applied_or_refused() {
    let id = SessionId::new("own").unwrap();
    let new = NewSession::new().id(id).parent_session("/parent.jsonl").dialect(Dialect::Chimera);
    let session =
        Session::in_memory_with("/project", new.clone().system_prompt("Be brief.")).unwrap();
    assert_eq!(session.id(), "own");
    assert_eq!(session.dialect(), Dialect::Chimera);
    assert_eq!(session.header().parent_session.as_deref(), Some("/parent.jsonl"));
    assert_eq!(session.header().get("system_prompt"), Some(&br#""Be brief.""#[..]));
    let options = CreateOptions::new().dialect(Dialect::Chimera).system_prompt("Be brief.");
    assert_eq!(
        options.session,
        NewSession::new().dialect(Dialect::Chimera).system_prompt("Be brief.")
    );

    let refused = [
        NewSession::new().system_prompt("x"),
        NewSession::new().without_header(),
        new.without_header(),
    ];
    for new in refused {
        let error = Session::in_memory_with("/project", new).unwrap_err();
        assert!(matches!(error, Error::InvalidOption(_)), "{error}");
    }
}

#[test]
fn the_options_of_another_session_have_the_system_prompt_if_the_dialect_has_one() {
    let new = NewSession::new().dialect(Dialect::Chimera).system_prompt("Be brief.");
    let session = Session::in_memory_with("/project", new.clone()).unwrap();
    assert_eq!(session.create_options().session, new);
    // In other dialects, the member means something else.
    let directory = tempfile::tempdir().unwrap();
    let header = r#"{"type":"session","version":3,"id":"s","timestamp":"2026-01-05T09:00:00.000Z","cwd":"/p","system_prompt":"x"}"#;
    std::fs::write(file(&directory), format!("{header}\n")).unwrap();
    let options = Session::open(file(&directory)).unwrap().create_options();
    assert_eq!(options.session, NewSession::new().dialect(Dialect::Pi));
}

#[test]
fn a_setter_of_an_entry_replaces_the_value_that_it_set_before() {
    let session = Session::in_memory("/project");
    let usage = |input| TokenUsage::new(input, 1);
    let system = |text: &str| SystemMessage::new(text).with_timestamp(1);
    let twice = NewEntry::compaction("Summary.", None, 9)
        .with("usage", b"{}")
        .unwrap()
        .from_hook()
        .with_system_message(system("one"))
        .with_usage(usage(1))
        .with_usage(usage(2))
        .with_system_message(system("two"))
        .from_hook();
    let id = session.append(twice.with_id("c").with_timestamp(0)).unwrap();
    let raw = String::from_utf8(session.entry(&id).unwrap().raw().to_vec()).unwrap();
    let once = NewEntry::compaction("Summary.", None, 9)
        .with_usage(usage(2))
        .with_system_message(system("two"))
        .from_hook();
    let other = Session::in_memory("/project");
    other.append(once.with_id("c").with_timestamp(0)).unwrap();
    assert_eq!(raw, String::from_utf8(other.entry("c").unwrap().raw().to_vec()).unwrap());
    let keys = ["usage", "fromHook", "systemMessage", "firstKeptEntryId", "summary"];
    for key in keys {
        assert_eq!(raw.matches(&format!("\"{key}\":")).count(), 1, "{key} in {raw}");
    }
}

#[test]
fn a_context_edit_has_content_that_a_message_can_have() {
    for content in [&b"12"[..], b"null", b"{}", b"true", b"\"cut"] {
        let edit = NewEntry::context_edit("a", Some(content));
        assert!(matches!(edit, Err(Error::InvalidEntry(_))), "{edit:?}");
    }
    for content in [&b"\"text\""[..], b"[]"] {
        NewEntry::context_edit("a", Some(content)).unwrap();
    }
}

#[test]
fn only_utf8_is_written() {
    let session = Session::in_memory("/project");
    let message = b"{\"role\":\"user\",\"content\":\"\xff\"}";
    let entry = [b"{\"type\":\"message\",\"message\":", &message[..], b"}"].concat();
    let refused = [
        Message::from_json(message).map(drop),
        NewEntry::from_json(&entry).map(drop),
        NewEntry::custom("x", Some(b"\"\xff\"")).map(drop),
        Message::user("x").with("mood", b"\"\xff\"").map(drop),
        session.append_record(&entry).map(drop),
    ];
    for result in refused {
        assert!(matches!(result, Err(Error::InvalidEntry(_))), "{result:?}");
    }
}

#[test]
fn a_session_without_a_header() {
    let directory = tempfile::tempdir().unwrap();
    let options = CreateOptions::new().dialect(Dialect::Chimera).without_header();
    let session = Session::create_at(file(&directory), "/project", options).unwrap();
    session.append(Message::user("hello")).unwrap();
    let text = std::fs::read_to_string(file(&directory)).unwrap();
    assert!(text.starts_with(r#"{"type": "message""#), "{text}");
    let again = Session::open(file(&directory)).unwrap();
    assert_eq!(again.dialect(), Dialect::Chimera);
    assert_eq!(again.context().unwrap(), session.context().unwrap());
}

#[test]
fn opening_or_creating_fails_for_another_session() {
    let directory = tempfile::tempdir().unwrap();
    let options = || CreateOptions::new().id(SessionId::new("one").unwrap());
    let session = Session::open_or_create(file(&directory), "/project", options()).unwrap();
    session.append(Message::user("hello")).unwrap();
    let again = Session::open_or_create(file(&directory), "/project", options()).unwrap();
    assert_eq!(again.context().unwrap(), session.context().unwrap());
    for other in [
        CreateOptions::new().id(SessionId::new("two").unwrap()),
        CreateOptions::new().dialect(Dialect::Tau),
    ] {
        let error = Session::open_or_create(file(&directory), "/project", other).unwrap_err();
        assert!(matches!(error, Error::InvalidOption(_)), "{error}");
    }
    let catalog = Catalog::flat(directory.path());
    let elsewhere = ForkOptions::new().cwd("/other");
    let error = catalog.fork_from(file(&directory), "/project", elsewhere).unwrap_err();
    assert!(matches!(error, Error::InvalidOption(_)), "{error}");
}

/// The places where a session begins in something that exists and is empty.
fn begin_in_empty_places(
    directory: &tempfile::TempDir,
    new: &NewSession,
    creation: Creation,
) -> [Result<Session, Error>; 2] {
    let empty = file(directory);
    std::fs::write(&empty, "").unwrap();
    let options = CreateOptions::new().session(new.clone()).creation(creation);
    let journal = Arc::new(MemoryJournal::default());
    [
        Session::open_or_create(empty, "/project", options.clone()),
        Session::in_journal(journal, "/project", options),
    ]
}

#[test]
fn every_option_is_applied_or_refused_in_an_empty_file_and_in_an_empty_journal() {
    let directory = tempfile::tempdir().unwrap();
    for creation in [Creation::FirstMessage, Creation::AtOnce] {
        for dialect in [Dialect::Pi, Dialect::Omp, Dialect::Chimera] {
            let new = NewSession::new().id(SessionId::new("own").unwrap()).dialect(dialect);
            let new = new.parent_session("/parent.jsonl");
            for session in begin_in_empty_places(&directory, &new, creation) {
                let session = session.unwrap();
                session.append(Message::user("hello")).unwrap();
                assert_eq!((session.id().as_str(), session.dialect()), ("own", dialect));
                assert_eq!(session.cwd(), "/project");
                assert_eq!(session.header().parent_session.as_deref(), Some("/parent.jsonl"));
                let Some(path) = session.path() else { continue };
                let again = Session::open(path).unwrap();
                assert_eq!((again.id().as_str(), again.dialect()), ("own", dialect));
                assert_eq!(again.cwd(), "/project");
                assert_eq!(again.context().unwrap(), session.context().unwrap());
            }
        }
        let refused = [
            NewSession::new().system_prompt("x"),
            NewSession::new().without_header(),
            NewSession::new().dialect(Dialect::ClaudeCode),
        ];
        let begun = refused.iter().flat_map(|new| begin_in_empty_places(&directory, new, creation));
        for session in begun {
            let error = session.unwrap_err();
            assert!(
                matches!(error, Error::InvalidOption(_) | Error::ReadOnlyDialect(_)),
                "{error}"
            );
        }
        let new = NewSession::new().dialect(Dialect::Chimera).without_header();
        for session in begin_in_empty_places(&directory, &new, creation) {
            let session = session.unwrap();
            session.append(Message::user("hello")).unwrap();
            assert_eq!(session.dialect(), Dialect::Chimera);
            assert_eq!(session.context().unwrap().messages.len(), 1);
        }
    }
}

#[test]
fn the_file_of_a_fork_waits_for_the_message_of_its_rule() {
    let directory = tempfile::tempdir().unwrap();
    let session = Session::create_at(file(&directory), "/project", CreateOptions::new()).unwrap();
    let question = session.append(Message::user("Tea or coffee?")).unwrap();
    let answer = session.append(Message::assistant("acme", "m", "Tea.")).unwrap();
    let fork = |at: &EntryId| {
        let creation = Creation::FirstAssistantMessage;
        session.fork(at, ForkOptions::new().creation(creation)).unwrap()
    };
    assert!(fork(&answer).is_written());
    let waiting = fork(&question);
    assert!(!waiting.is_written());
    assert!(!waiting.path().unwrap().exists());
    waiting.append(Message::assistant("acme", "m", "Coffee.")).unwrap();
    assert!(waiting.is_written());
    assert_eq!(
        Session::open(waiting.path().unwrap()).unwrap().context().unwrap().messages.len(),
        2
    );
}

#[test]
fn listeners_hear_of_own_appends_and_of_others() {
    let directory = tempfile::tempdir().unwrap();
    let ours = Session::create_at(file(&directory), "/project", CreateOptions::new()).unwrap();
    let (sender, changes) = mpsc::channel();
    ours.on_change(move |change: &Change| drop(sender.send(change.clone())));
    let first = ours.append(Message::user("one")).unwrap();
    let theirs = Session::open_with(file(&directory), OpenOptions::new()).unwrap();
    let second = theirs.append(Message::user("two")).unwrap();
    let third = ours.append(Message::user("three")).unwrap();
    let received: Vec<_> =
        changes.try_iter().map(|change| (change.writer, change.entries)).collect();
    let expected =
        [(Writer::This, vec![first]), (Writer::Other, vec![second]), (Writer::This, vec![third])];
    assert_eq!(received, expected);
}

#[test]
fn every_append_of_many_threads_is_reported_once() {
    let session = Session::in_memory("/project");
    let received = Arc::new(Mutex::new(Vec::new()));
    let sink = Arc::clone(&received);
    session.on_change(move |change| sink.lock().unwrap().extend(change.entries.clone()));
    let mut written: Vec<EntryId> = std::thread::scope(|scope| {
        let append = || (0..50).map(|_| session.append(Message::user("x")).unwrap()).collect();
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(append)).collect();
        threads.into_iter().flat_map(|thread| -> Vec<EntryId> { thread.join().unwrap() }).collect()
    });
    // All threads are done, so that no change is still on its way.
    let mut received = received.lock().unwrap().clone();
    assert_eq!(received, session.tree().ids().collect::<Vec<_>>(), "in the order of the log");
    received.sort();
    written.sort();
    assert_eq!(received, written);
}

#[test]
fn changes_come_in_the_order_of_the_log_when_syncs_are_shared() {
    let directory = tempfile::tempdir().unwrap();
    let options = CreateOptions::new().durability(Durability::Each);
    let session = Session::create_at(file(&directory), "/project", options).unwrap();
    let received = Arc::new(Mutex::new(Vec::new()));
    let sink = Arc::clone(&received);
    session.on_change(move |change| sink.lock().unwrap().extend(change.entries.clone()));
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| (0..20).for_each(|_| drop(session.append(Message::user("x")).unwrap())));
        }
    });
    assert_eq!(*received.lock().unwrap(), session.tree().ids().collect::<Vec<_>>());
}

#[test]
fn a_removed_listener_hears_nothing_more() {
    let session = Arc::new(Session::in_memory("/project"));
    let (own, count) = (Arc::downgrade(&session), Arc::new(Mutex::new((None, 0))));
    let inner = Arc::clone(&count);
    let once = session.on_change(move |_| {
        let mut state = inner.lock().unwrap();
        state.1 += 1;
        let Some((session, id)) = own.upgrade().zip(state.0) else { return };
        assert!(session.remove_listener(id), "a listener may remove itself");
    });
    count.lock().unwrap().0 = Some(once);
    session.append(Message::user("one")).unwrap();
    session.append(Message::user("two")).unwrap();
    assert_eq!(count.lock().unwrap().1, 1);
    assert!(!session.remove_listener(once));
}

#[test]
fn a_listener_may_use_the_session_and_may_panic() {
    let session = Arc::new(Session::in_memory("/project"));
    let received = Arc::new(Mutex::new(Vec::new()));
    session.on_change(|_| panic!("a listener that fails"));
    let (sink, own) = (Arc::clone(&received), Arc::downgrade(&session));
    session.on_change(move |change| {
        let Some(session) = own.upgrade() else { return };
        sink.lock().unwrap().extend(change.entries.clone());
        if session.tree().len() < 100 {
            session.append(Message::user("an answer")).unwrap();
        }
    });
    session.append(Message::user("hello")).unwrap();
    assert_eq!(session.tree().len(), 100);
    let ids: Vec<EntryId> = session.tree().ids().collect();
    assert_eq!(*received.lock().unwrap(), ids, "in order, each once");
}

#[test]
fn failed_answers_are_left_before_a_retry() {
    let session = Session::in_memory("/project");
    let question = session.append(Message::user("Tea or coffee?")).unwrap();
    let first = session.append(failed("error")).unwrap();
    let second = session.append(failed("aborted")).unwrap();
    session.label(&second, Some("bad")).unwrap();
    assert_eq!(session.rewind_failed().unwrap(), [first, second]);
    assert_eq!(session.leaf(), Some(question.clone()));
    assert_eq!(session.context().unwrap().messages.len(), 1);
    let entries = session.tree().len();
    assert!(session.rewind_failed().unwrap().is_empty());
    assert_eq!(session.tree().len(), entries, "nothing is written without need");
    let answer = session.append(failed("stop")).unwrap();
    assert!(session.rewind_failed().unwrap().is_empty());
    assert_eq!(session.leaf(), Some(answer));
}

#[test]
fn a_conversation_passes_over_bookkeeping() {
    let session = Session::in_memory("/project");
    let root = session.append(Message::user("root")).unwrap();
    session.label(&root, Some("start")).unwrap();
    let left = session.append(Message::user("left")).unwrap();
    session.branch(&root).unwrap();
    let right = session.append(Message::user("right")).unwrap();
    session.label(&right, Some("end")).unwrap();
    let tree = session.tree();
    let conversation = tree.conversation();
    assert_eq!(conversation.roots(), std::slice::from_ref(&root));
    assert_eq!(conversation.children(&root).unwrap(), [left.clone(), right.clone()]);
    assert_eq!(conversation.parent(&left).unwrap(), Some(root.clone()));
    assert_eq!(conversation.leaves(), [left.clone(), right.clone()]);
    assert_eq!(conversation.branch_points(), std::slice::from_ref(&root));
    let walk: Vec<_> = conversation.walk().map(|item| (item.id, item.parent, item.depth)).collect();
    let root = root.as_str();
    let below = Some(root);
    let expected = [(root, None, 0), (left.as_str(), below, 1), (right.as_str(), below, 1)];
    assert_eq!(walk, expected);
    let nested = conversation.nested();
    assert_eq!(nested.len(), 1);
    assert_eq!(nested[0].children.len(), 2);
    assert_eq!(tree.nested()[0].children.len(), 3, "the label, the leaf entry, right");
}

#[test]
fn a_deep_tree_is_nested_and_dropped_without_recursion() {
    const DEPTH: usize = 200_000;
    let session = Session::in_memory("/project");
    let entries: Vec<NewEntry> = (0..DEPTH).map(|_| Message::user("x").into_entry()).collect();
    session.append_all(&entries).unwrap();
    let tree = session.tree();
    let mut nested = tree.nested();
    let mut depth = 0;
    let mut level = nested.iter();
    while let Some(node) = level.next() {
        depth += 1;
        level = node.children.iter();
    }
    assert_eq!(depth, DEPTH);
    nested.clear();
}
