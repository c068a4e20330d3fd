//! Synchronization of two stores.

use crate::responder::Responder;
use crate::unreliable::Unreliable;
use std::sync::Arc;
use treering::storage::End;
use treering::store::{MemoryStore, Store};
use treering::{Catalog, CreateOptions, Dialect, Message, OpenOptions, Session, SessionId};
use treering_client::sync::{ConflictReason, Direction, Follower, Syncer};
use treering_client::{HttpOptions, HttpStore};

type Stores = (Arc<dyn Store>, Arc<dyn Store>);

fn stores() -> Stores {
    (Arc::new(MemoryStore::new()), Arc::new(MemoryStore::new()))
}

fn syncer(stores: &Stores) -> Syncer {
    Syncer::new(Arc::clone(&stores.0), Arc::clone(&stores.1))
}

fn id(text: &str) -> SessionId {
    SessionId::new(text).unwrap()
}

fn bytes(store: &Arc<dyn Store>, name: &str) -> Vec<u8> {
    let journal = store.open(&id(name)).unwrap();
    let mut bytes = vec![0; journal.len().unwrap() as usize];
    let mut filled = 0;
    while filled < bytes.len() {
        filled += journal.read_at(filled as u64, &mut bytes[filled..]).unwrap();
    }
    bytes
}

fn append(store: &Arc<dyn Store>, name: &str, lines: &[u8]) {
    let journal = store.open(&id(name)).unwrap();
    journal.append(&End::from(journal.len().unwrap()), lines).unwrap();
}

fn create(store: &Arc<dyn Store>, name: &str, dialect: Dialect) -> Session {
    let options = CreateOptions::new().id(id(name)).dialect(dialect);
    let session = Session::create_in(store, "/project", options).unwrap();
    session.append(Message::user("a or b?")).unwrap();
    session
}

fn open(store: &Arc<dyn Store>, name: &str) -> Session {
    Session::open_in(store, &id(name), OpenOptions::new()).unwrap()
}

fn writable() -> impl Iterator<Item = Dialect> {
    Dialect::ALL.into_iter().filter(|dialect| dialect.is_writable())
}

/// A session of an agent whose files are never modified.
const CLAUDE: [&str; 3] = [
    r#"{"parentUuid":null,"isSidechain":false,"type":"user","cwd":"/p","sessionId":"c","version":"2.0.0","message":{"role":"user","content":"hello"},"uuid":"u1","timestamp":"2026-01-01T00:00:00.000Z"}"#,
    r#"{"parentUuid":"u1","isSidechain":false,"type":"user","cwd":"/p","sessionId":"c","version":"2.0.0","message":{"role":"user","content":"one"},"uuid":"u2","timestamp":"2026-01-01T00:00:01.000Z"}"#,
    r#"{"parentUuid":"u1","isSidechain":false,"type":"user","cwd":"/p","sessionId":"c","version":"2.0.0","message":{"role":"user","content":"two"},"uuid":"u3","timestamp":"2026-01-01T00:00:02.000Z"}"#,
];

#[test]
fn only_new_bytes_are_sent_and_they_are_the_same() {
    for dialect in writable() {
        let stores = stores();
        let syncer = syncer(&stores);
        let session = create(&stores.0, "s", dialect);
        let pushed = syncer.all(Direction::Push, |_| {}).unwrap();
        assert_eq!((pushed.created, pushed.sent), (1, bytes(&stores.0, "s").len() as u64));
        let before = pushed.sent;
        session.append(Message::assistant("acme", "m", "a")).unwrap();
        let pushed = syncer.all(Direction::Push, |_| {}).unwrap();
        assert_eq!((pushed.created, pushed.appended), (0, 1), "{dialect}");
        assert_eq!(pushed.sent, bytes(&stores.0, "s").len() as u64 - before);
        assert_eq!(bytes(&stores.0, "s"), bytes(&stores.1, "s"));
        // There is nothing to pull, and what the other side adds is pulled.
        assert_eq!(syncer.all(Direction::Pull, |_| {}).unwrap().unchanged, 1);
        open(&stores.1, "s").append(Message::user("thanks")).unwrap();
        assert_eq!(syncer.all(Direction::Push, |_| {}).unwrap().unchanged, 1);
        let pulled = syncer.all(Direction::Pull, |_| {}).unwrap();
        assert_eq!((pulled.appended, pulled.merged, pulled.sent), (1, 0, 0), "{dialect}");
        assert_eq!(bytes(&stores.0, "s"), bytes(&stores.1, "s"));
    }
}

#[test]
fn sessions_of_other_agents_are_carried_and_conflicts_reported() {
    let stores = stores();
    let start = format!("{}\n", CLAUDE[0]);
    stores.0.create(&id("c"), &mut start.as_bytes()).unwrap();
    let syncer = syncer(&stores);
    assert_eq!(syncer.all(Direction::Both, |_| {}).unwrap().created, 1);
    append(&stores.0, "c", format!("{}\n", CLAUDE[1]).as_bytes());
    assert_eq!(syncer.all(Direction::Both, |_| {}).unwrap().appended, 1);
    assert_eq!(bytes(&stores.0, "c"), bytes(&stores.1, "c"));

    append(&stores.1, "c", format!("{}\n", CLAUDE[2]).as_bytes());
    append(&stores.0, "c", format!("{}\n", CLAUDE[2].replace("two", "three")).as_bytes());
    let before = (bytes(&stores.0, "c"), bytes(&stores.1, "c"));
    for direction in [Direction::Push, Direction::Pull, Direction::Both] {
        let report = syncer.all(direction, |_| {}).unwrap();
        assert_eq!(report.conflicts.len(), 1);
        assert_eq!((bytes(&stores.0, "c"), bytes(&stores.1, "c")), before);
    }
    // With other ids it is the format that does not allow it.
    let other: Stores = self::stores();
    other.0.create(&id("c"), &mut start.as_bytes()).unwrap();
    other.1.create(&id("c"), &mut start.as_bytes()).unwrap();
    append(&other.0, "c", format!("{}\n", CLAUDE[1]).as_bytes());
    append(&other.1, "c", format!("{}\n", CLAUDE[2]).as_bytes());
    let report = self::syncer(&other).all(Direction::Both, |_| {}).unwrap();
    assert_eq!(report.conflicts[0].reason, ConflictReason::Format(Dialect::ClaudeCode));
}

#[test]
fn histories_that_parted_become_branches_and_leaves_stay() {
    for dialect in writable() {
        let stores = stores();
        let question = create(&stores.0, "s", dialect).leaf();
        let syncer = syncer(&stores);
        syncer.all(Direction::Push, |_| {}).unwrap();
        let ours = open(&stores.0, "s").append(Message::assistant("acme", "m", "a")).unwrap();
        let theirs = open(&stores.1, "s").append(Message::assistant("acme", "m", "b")).unwrap();
        let report = syncer.all(Direction::Both, |_| {}).unwrap();
        assert_eq!((report.merged, report.conflicts.len()), (1, 0), "{dialect}");
        for (store, leaf) in [(&stores.0, &ours), (&stores.1, &theirs)] {
            let session = open(store, "s");
            assert_eq!(session.leaf().as_ref(), Some(leaf), "{dialect}");
            let tree = session.tree();
            assert_eq!(tree.common_ancestor(&ours, &theirs).unwrap(), question, "{dialect}");
        }
        // Nothing is left to do, with and without a record.
        let before = (bytes(&stores.0, "s"), bytes(&stores.1, "s"));
        for syncer in [&syncer, &self::syncer(&stores)] {
            let again = syncer.all(Direction::Both, |_| {}).unwrap();
            assert_eq!((again.unchanged, again.sent, again.received), (1, 0, 0), "{dialect}");
            assert_eq!((bytes(&stores.0, "s"), bytes(&stores.1, "s")), before, "{dialect}");
        }
        // What comes after on one side is followed by the other.
        let next = open(&stores.0, "s").append(Message::user("and then?")).unwrap();
        let report = syncer.all(Direction::Both, |_| {}).unwrap();
        assert_eq!((report.appended, report.merged), (1, 0), "{dialect}");
        assert_eq!(open(&stores.1, "s").leaf(), Some(next), "{dialect}");
    }
}

/// pi continues from the last record of the file, which may be one that was written to keep the leaf.
#[test]
fn a_kept_leaf_is_carried_when_an_entry_names_it() {
    let stores = stores();
    create(&stores.0, "s", Dialect::Pi);
    let syncer = syncer(&stores);
    syncer.all(Direction::Push, |_| {}).unwrap();
    open(&stores.0, "s").append(Message::assistant("acme", "m", "a")).unwrap();
    open(&stores.1, "s").append(Message::assistant("acme", "m", "b")).unwrap();
    syncer.all(Direction::Both, |_| {}).unwrap();
    let log = String::from_utf8(bytes(&stores.1, "s")).unwrap();
    let last = log.lines().last().unwrap();
    assert!(last.contains("keptLeaf"), "{last}");
    let kept = last.split("\"id\":\"").nth(1).unwrap().split('"').next().unwrap();
    let line = format!(
        "{{\"type\":\"message\",\"id\":\"0000aaaa\",\"parentId\":\"{kept}\",\"timestamp\":\"2026-01-01T00:00:09.000Z\",\"message\":{{\"role\":\"user\",\"content\":\"next\"}}}}\n"
    );
    append(&stores.1, "s", line.as_bytes());
    let report = syncer.all(Direction::Both, |_| {}).unwrap();
    assert_eq!(report.appended, 1);
    let ours = open(&stores.0, "s");
    assert!(ours.tree().contains(kept), "the parent came along");
    let (ours, theirs) = (
        ours.tree().path("0000aaaa").unwrap(),
        open(&stores.1, "s").tree().path("0000aaaa").unwrap(),
    );
    assert_eq!(ours, theirs);
    assert_eq!(syncer.all(Direction::Both, |_| {}).unwrap().unchanged, 1);
}

#[test]
fn entries_of_the_same_id_with_other_contents_are_a_conflict() {
    let stores = stores();
    create(&stores.0, "s", Dialect::Pi);
    syncer(&stores).all(Direction::Push, |_| {}).unwrap();
    for (store, text) in [(&stores.0, "one"), (&stores.1, "two")] {
        let line = format!(
            "{{\"type\":\"message\",\"id\":\"aaaaaaaa\",\"parentId\":null,\"timestamp\":\"2026-01-01T00:00:00.000Z\",\"message\":{{\"role\":\"user\",\"content\":\"{text}\"}}}}\n"
        );
        append(store, "s", line.as_bytes());
    }
    let before = (bytes(&stores.0, "s"), bytes(&stores.1, "s"));
    let report = syncer(&stores).all(Direction::Both, |_| {}).unwrap();
    let reason = ConflictReason::SameIds(vec!["aaaaaaaa".into()]);
    assert_eq!(report.conflicts[0].reason, reason);
    assert_eq!((bytes(&stores.0, "s"), bytes(&stores.1, "s")), before);
}

#[test]
fn titles_follow_the_side_that_changed() {
    let stores = stores();
    let session = create(&stores.0, "s", Dialect::Omp);
    let syncer = syncer(&stores);
    let name = |store| open(store, "s").name();
    syncer.all(Direction::Both, |_| {}).unwrap();
    session.set_name("ours").unwrap();
    assert_eq!(syncer.all(Direction::Pull, |_| {}).unwrap().retitled, 0);
    assert_eq!(syncer.all(Direction::Push, |_| {}).unwrap().retitled, 1);
    assert_eq!(name(&stores.1).as_deref(), Some("ours"));
    open(&stores.1, "s").set_name("theirs").unwrap();
    assert_eq!(syncer.all(Direction::Both, |_| {}).unwrap().retitled, 1);
    assert_eq!(name(&stores.0).as_deref(), Some("theirs"));
    assert_eq!(bytes(&stores.0, "s"), bytes(&stores.1, "s"));
    assert_eq!(syncer.all(Direction::Both, |_| {}).unwrap().unchanged, 1);

    // Both changed: the later time counts, on both sides.
    for (store, title, time) in
        [(&stores.0, "early", "2026-01-01"), (&stores.1, "late", "2026-01-02")]
    {
        let journal = store.open(&id("s")).unwrap();
        let mut before = vec![0; 256];
        journal.read_at(0, &mut before).unwrap();
        let start = format!(
            "{{\"type\":\"title\",\"v\":1,\"title\":\"{title}\",\"updatedAt\":\"{time}T00:00:00.000Z\",\"pad\":\""
        );
        let line = format!("{start}{}\"}}\n", " ".repeat(256 - start.len() - 3));
        assert!(journal.replace_start(&before, line.as_bytes()).unwrap());
    }
    syncer.all(Direction::Both, |_| {}).unwrap();
    assert_eq!(bytes(&stores.0, "s"), bytes(&stores.1, "s"));
    assert!(bytes(&stores.0, "s").starts_with(b"{\"type\":\"title\",\"v\":1,\"title\":\"late\""));
}

#[test]
fn a_push_that_was_killed_is_continued() {
    let (local, memory) = stores();
    let mut start = format!("{}\n", CLAUDE[0]).into_bytes();
    while start.len() < 20 << 20 {
        let line =
            CLAUDE[1].replace("one", &"x".repeat(200_000)).replace("u2", &start.len().to_string());
        start.extend_from_slice(line.as_bytes());
        start.push(b'\n');
    }
    local.create(&id("c"), &mut start.as_slice()).unwrap();
    let remote = Arc::new(Unreliable::new(Arc::clone(&memory), 6));
    let killed = Syncer::new(Arc::clone(&local), remote).all(Direction::Push, |_| {});
    assert!(killed.is_err() || !killed.unwrap().failed.is_empty());
    let there = bytes(&memory, "c");
    assert!(!there.is_empty() && start.starts_with(&there) && there.len() < start.len());
    let stores = (local, memory);
    let report = syncer(&stores).all(Direction::Push, |_| {}).unwrap();
    assert_eq!(report.sent, (start.len() - there.len()) as u64);
    assert!(bytes(&stores.1, "c") == start);
}

#[test]
fn an_unfinished_line_waits_and_is_fenced() {
    let stores = stores();
    create(&stores.0, "s", Dialect::Pi);
    let syncer = syncer(&stores);
    syncer.all(Direction::Push, |_| {}).unwrap();
    let whole = bytes(&stores.0, "s");
    append(&stores.0, "s", b"{\"type\":\"custom\"");
    assert_eq!(syncer.all(Direction::Push, |_| {}).unwrap().sent, 0);
    assert_eq!(bytes(&stores.1, "s"), whole);
    // Pulled entries do not become part of it.
    open(&stores.1, "s").append(Message::user("more")).unwrap();
    syncer.all(Direction::Pull, |_| {}).unwrap();
    assert_eq!(open(&stores.0, "s").context().unwrap().messages.len(), 2);
}

#[test]
fn a_second_push_asks_little_and_a_removed_session_stays_removed() {
    let (local, memory) = stores();
    for number in 0..20 {
        create(&local, &format!("s{number}"), Dialect::Pi);
    }
    let server = Responder::start(Arc::clone(&memory));
    let state = tempfile::tempdir().unwrap();
    let syncer = || {
        let remote = HttpStore::new(&server.url(), HttpOptions::new()).unwrap();
        let syncer = Syncer::new(Arc::clone(&local), Arc::new(remote));
        syncer.with_record(state.path())
    };
    assert_eq!(syncer().all(Direction::Push, |_| {}).unwrap().created, 20);
    let asked = server.requests().len();
    let again = syncer().all(Direction::Push, |_| {}).unwrap();
    assert_eq!((again.unchanged, again.sent), (20, 0));
    assert_eq!(server.requests()[asked..], ["GET /v1/sessions"]);

    memory.remove(&id("s3")).unwrap();
    let report = syncer().all(Direction::Push, |_| {}).unwrap();
    assert_eq!((report.unchanged, report.removed), (19, vec![id("s3")]));
    let named = syncer().sessions(&[id("s3")], Direction::Push, |_| {}).unwrap();
    assert_eq!(named.created, 1);
    // Without the record everything is compared, and nothing is sent.
    for file in std::fs::read_dir(state.path()).unwrap() {
        std::fs::remove_file(file.unwrap().path()).unwrap();
    }
    let report = syncer().all(Direction::Push, |_| {}).unwrap();
    assert_eq!((report.unchanged, report.sent), (20, 0));
}

#[test]
fn files_are_pulled_as_files_and_changes_followed() {
    let dir = tempfile::tempdir().unwrap();
    let (_, remote) = stores();
    let local: Arc<dyn Store> = Arc::new(Catalog::new(dir.path()));
    let stores = (local, remote);
    let syncer = syncer(&stores);
    let mut follower = Follower::default();
    syncer.follow(&mut follower, Direction::Both, |_| {}).unwrap();
    let session = create(&stores.1, "s", Dialect::Pi);
    let report = syncer.follow(&mut follower, Direction::Both, |_| {}).unwrap();
    assert_eq!(report.created, 1);
    let path = stores.0.file(&id("s")).unwrap().unwrap();
    assert_eq!(std::fs::read(path).unwrap(), bytes(&stores.1, "s"));
    session.append(Message::user("more")).unwrap();
    let report = syncer.follow(&mut follower, Direction::Both, |_| {}).unwrap();
    assert_eq!((report.appended, report.received > 0), (1, true));
    open(&stores.0, "s").append(Message::user("and more")).unwrap();
    let report = syncer.follow(&mut follower, Direction::Both, |_| {}).unwrap();
    assert_eq!((report.appended, report.sent > 0), (1, true));
    let report = syncer.follow(&mut follower, Direction::Both, |_| {}).unwrap();
    assert_eq!((report.appended, report.sent, report.received), (0, 0, 0));
    assert_eq!(bytes(&stores.0, "s"), bytes(&stores.1, "s"));
}

#[test]
fn a_store_that_refuses_ends_the_run() {
    let (local, memory) = stores();
    for number in 0..5 {
        create(&local, &format!("s{number}"), Dialect::Pi);
    }
    let remote = Arc::new(Unreliable::new(memory, 1));
    let report = Syncer::new(local, remote).all(Direction::Push, |_| {}).unwrap();
    assert_eq!((report.failed.len(), report.left, report.is_complete()), (1, 4, false));
}

mod redaction {
    use super::*;
    use treering_redact::{Options, Redactor};

    fn redacting(stores: &Stores, state: &std::path::Path) -> Syncer {
        let syncer = syncer(stores).with_filter(|session| {
            Redactor::new(&Options::default())
                .map_err(|e| treering::Error::InvalidOption(e.to_string()))?
                .session(session)
        });
        syncer.with_record(state)
    }

    #[test]
    fn a_redacted_copy_has_the_same_tree_and_grows_by_what_is_new() {
        for dialect in writable() {
            let stores = stores();
            let state = tempfile::tempdir().unwrap();
            let session = create(&stores.0, "s", dialect);
            let key = format!("ghp_{}", "a1B2c3D4".repeat(5));
            session.append(Message::user(&*format!("the key is {key}"))).unwrap();
            let report = redacting(&stores, state.path()).all(Direction::Push, |_| {}).unwrap();
            assert_eq!(report.created, 1);
            let first = bytes(&stores.1, "s");
            assert!(!String::from_utf8_lossy(&first).contains(&key), "{dialect}");
            session.append(Message::user(&*format!("again {key}"))).unwrap();
            for with_record in [true, false] {
                if !with_record {
                    std::fs::read_dir(state.path())
                        .unwrap()
                        .for_each(|file| std::fs::remove_file(file.unwrap().path()).unwrap());
                }
                let report = redacting(&stores, state.path()).all(Direction::Push, |_| {}).unwrap();
                let there = bytes(&stores.1, "s");
                assert_eq!(
                    report.sent,
                    if with_record { (there.len() - first.len()) as u64 } else { 0 }
                );
                assert!(
                    there.starts_with(&first) && !String::from_utf8_lossy(&there).contains(&key)
                );
                assert!(report.older.is_empty());
            }
            let (ours, theirs) = (open(&stores.0, "s"), open(&stores.1, "s"));
            assert_eq!(
                ours.tree().ids().collect::<Vec<_>>(),
                theirs.tree().ids().collect::<Vec<_>>()
            );
            assert_eq!(ours.leaf(), theirs.leaf(), "{dialect}");
        }
    }

    /// A secret that only a later line reveals is in lines that were sent before.
    #[test]
    fn lines_that_would_be_redacted_now_are_reported() {
        for claude in [false, true] {
            let stores = stores();
            let state = tempfile::tempdir().unwrap();
            let secret = "Xk29fLqPz81vbTnR4w";
            let name = if claude { "c" } else { "s" };
            if claude {
                let start = format!(
                    "{}\n{}\n",
                    CLAUDE[0],
                    CLAUDE[1].replace("one", &format!("use {secret} here"))
                );
                stores.0.create(&id("c"), &mut start.as_bytes()).unwrap();
            } else {
                create(&stores.0, "s", Dialect::Pi)
                    .append(Message::user(&*format!("use {secret} here")))
                    .unwrap();
            }
            let report = redacting(&stores, state.path()).all(Direction::Push, |_| {}).unwrap();
            assert_eq!(report.created, 1);
            let before = bytes(&stores.1, name);
            assert!(String::from_utf8_lossy(&before).contains(secret));
            let command = format!("export DB_PASSWORD={secret}");
            if claude {
                append(
                    &stores.0,
                    "c",
                    format!("{}\n", CLAUDE[2].replace("two", &command)).as_bytes(),
                );
            } else {
                open(&stores.0, "s").append(Message::user(&*command)).unwrap();
            }
            let report = redacting(&stores, state.path()).all(Direction::Push, |_| {}).unwrap();
            assert_eq!(
                (report.appended, report.older, report.conflicts.len()),
                (1, vec![id(name)], 0)
            );
            let after = bytes(&stores.1, name);
            assert!(after.starts_with(&before) && after.len() > before.len());
            assert!(!String::from_utf8_lossy(&after[before.len()..]).contains(secret));
        }
    }
}
