//! Logs as rows: large appends, ends that were taken back, starts that were replaced.

use crate::{contents, create, id, server, store};
use std::sync::Arc;
use treering::storage::{End, JournalError};
use treering::store::Store;
use treering::{CreateOptions, Message, OpenOptions, Session};

/// Returns the sizes of the rows of a session.
fn row_sizes(space: &str, session: &str) -> Vec<usize> {
    let sql = format!(
        "SELECT octet_length(bytes) FROM treering.lines WHERE space = '{space}' AND session = '{session}' ORDER BY at"
    );
    let sizes = server().expect("a server").sql("shared", &sql);
    sizes.lines().map(|size| size.parse().expect("a number")).collect()
}

#[test]
fn large_appends_are_split_and_read_back() {
    let Some(store) = store("large") else { return };
    let journal = create(&store, "large", b"start\n");
    let lines: Vec<u8> = (0..3_600_000_u32)
        .map(|n| if n % 997 == 996 { b'\n' } else { b'a' + (n % 23) as u8 })
        .collect();
    let appended = journal.append(&End::from(6), &lines).expect("append");
    assert_eq!(appended.start, 6);
    assert_eq!(row_sizes("large", "large"), [6, 1_048_576, 1_048_576, 1_048_576, 454_272]);
    let mut expected = b"start\n".to_vec();
    expected.extend_from_slice(&lines);
    assert!(contents(&*journal) == expected, "the writer reads it");
    let other = crate::store("large").expect("a server");
    let other = other.open(&id("large")).expect("open");
    assert!(contents(&*other) == expected, "another program reads it");
    let mut middle = [0; 10];
    assert_eq!(other.read_at(2_000_000, &mut middle).expect("read"), 10);
    assert_eq!(middle, expected[2_000_000..2_000_010]);
    assert!(matches!(other.append(&End::from(6), &lines), Err(JournalError::Moved(3_600_006))));
    // A cut in the middle of a row.
    assert!(journal.truncate_if(3_600_006, 2_000_000).expect("truncate"));
    assert!(contents(&*journal) == expected[..2_000_000]);
    assert!(other.append(&End::from(2_000_000), b"on\n").is_ok());
    assert_eq!(contents(&*journal).len(), 2_000_003);
}

#[test]
fn an_end_that_was_taken_back_and_made_again_is_noticed() {
    let Some(ours) = store("again") else { return };
    let header = r#"{"type":"session","version":3,"id":"again","timestamp":"2026-01-05T09:00:00.000Z","cwd":"/"}"#;
    let line = |id: &str| {
        format!(
            "{{\"type\":\"message\",\"id\":\"{id}\",\"parentId\":null,\"timestamp\":\"2026-01-05T09:00:01.000Z\",\"message\":{{\"role\":\"user\",\"content\":\"x\"}}}}\n"
        )
    };
    let (old, new) = (line("aaaaaaaa"), line("bbbbbbbb"));
    create(&ours, "again", format!("{header}\n{old}").as_bytes());
    let ours: Arc<dyn Store> = Arc::new(ours);
    let session = Session::open_in(&ours, &id("again"), OpenOptions::new()).expect("open");
    assert!(session.tree().contains("aaaaaaaa"));

    let other = store("again").expect("a server").open(&id("again")).expect("open");
    let length = other.len().expect("len");
    let shorter = length - old.len() as u64;
    assert!(other.truncate_if(length, shorter).expect("truncate"));
    other.append(&End::from(shorter), new.as_bytes()).expect("append");
    assert_eq!(other.len().expect("len"), length, "as long as before");

    session.append(Message::user("and now?")).expect("append");
    assert!(session.tree().contains("bbbbbbbb"), "the writer has seen what it appends to");
    assert!(!session.tree().contains("aaaaaaaa"));
}

#[test]
fn a_removed_session_is_an_error_at_once() {
    let Some(store) = store("gone") else { return };
    let postgres = store.clone();
    let store: Arc<dyn Store> = Arc::new(store);
    let session = Session::create_in(&store, "/", CreateOptions::new()).expect("create");
    session.append(Message::user("hello")).expect("append");
    store.remove(&session.id()).expect("remove");
    let before = postgres.statistics().round_trips;
    let error = session.append(Message::user("anyone?")).expect_err("it is gone");
    assert!(matches!(error, treering::Error::Deleted(_)), "{error}");
    assert!(postgres.statistics().round_trips - before < 10, "one attempt");
}

#[test]
fn a_replaced_start_is_seen_and_does_not_stop_writers() {
    let Some(store) = store("start") else { return };
    let ours = create(&store, "start", b"title-1\nmore\n");
    let theirs = crate::store("start").expect("a server").open(&id("start")).expect("open");
    let mut seen = [0; 7];
    assert_eq!(theirs.read_at(0, &mut seen).expect("read"), 7);
    assert!(ours.replace_start(b"title-1\n", b"title-2\n").expect("replace"));
    assert!(!ours.replace_start(b"title-1\n", b"title-3\n").expect("not expected"));
    assert!(!ours.replace_start(b"title-2\n", b"longer-2\n").expect("not as long"));
    theirs.append(&End::from(13), b"end\n").expect("append");
    assert_eq!(contents(&*theirs), b"title-2\nmore\nend\n");
    store.remove(&id("start")).expect("remove");
    assert!(matches!(theirs.replace_start(b"title-2\n", b"title-4\n"), Err(JournalError::Gone)));
    assert!(matches!(theirs.append(&End::from(17), b"x\n"), Err(JournalError::Gone)));
    assert_eq!(theirs.len().expect_err("it is gone").kind(), std::io::ErrorKind::NotFound);
}
