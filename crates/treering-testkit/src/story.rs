//! One story for every journal, and one for every session.
//!
//! A new kind of storage is accepted when both pass; see
//! [`Journal`] for the promises they check.

use std::sync::Arc;
use treering::storage::{End, Journal, JournalError};
use treering::{Message, NewEntry, Position, Session};

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
    assert!(journal.truncate_if(8, 4).expect("take back"));
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

/// Both sessions show the same.
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
