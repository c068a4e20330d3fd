//! The durability of appends. Syncs are counted at the seam; nothing here sleeps.

use crate::support::outline;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use treering::session::Durability;
use treering::{CreateOptions, EntryId, Error, Message, NewEntry, Position, Session};
use treering_testkit::faulty::{Faulty, Rates, SyncFault};

fn open(journal: &Arc<Faulty>, durability: Durability) -> Session {
    let options = CreateOptions::new().durability(durability);
    Session::in_journal(Arc::clone(journal) as _, "/project", options).unwrap()
}

fn begun(durability: Durability) -> (Arc<Faulty>, Session) {
    let journal = Faulty::in_memory();
    let session = open(&journal, durability);
    session.append(Message::user("begin")).unwrap();
    session.sync().unwrap();
    (journal, session)
}

/// Long enough to never come.
const NEVER: Duration = Duration::from_secs(3600);

#[test]
fn none_does_not_sync() {
    let (journal, session) = begun(Durability::None);
    let before = journal.counts().syncs;
    session.append(Message::user("quick")).unwrap();
    drop(session);
    assert_eq!(journal.counts().syncs, before);
}

#[test]
fn each_syncs_before_it_returns() {
    let (journal, session) = begun(Durability::Each);
    for number in 0..5 {
        session.append(Message::user(number.to_string())).unwrap();
        assert_eq!(journal.durable(), journal.contents().len() as u64, "append {number}");
    }
}

#[test]
fn appends_that_wait_at_the_same_time_share_a_sync() {
    const THREADS: u64 = 8;
    let (journal, session) = begun(Durability::Each);
    let before = journal.counts();
    // The first to sync is held until all have appended: the rest then need one sync between them.
    journal.hold_syncs_until(before.appends + THREADS);
    std::thread::scope(|scope| {
        for number in 0..THREADS {
            let session = &session;
            scope.spawn(move || session.append(Message::user(number.to_string())).unwrap());
        }
    });
    let after = journal.counts();
    assert_eq!(after.appends - before.appends, THREADS);
    let syncs = after.syncs - before.syncs;
    // A third one for a thread that had appended but not queued when the second one began.
    assert!((1..=3).contains(&syncs), "{syncs} syncs for {THREADS} appends");
    assert_eq!(journal.durable(), journal.contents().len() as u64);
    assert_eq!(open(&journal, Durability::None).tree().len(), THREADS as usize + 1);
}

#[test]
fn a_failed_sync_fails_every_waiting_append_and_leaves_nothing() {
    const THREADS: u64 = 6;
    let (journal, session) = begun(Durability::Each);
    let (bytes, shown, leaf) = (journal.contents(), outline(&session), session.leaf());
    let received = Arc::new(Mutex::new(Vec::new()));
    let sink = Arc::clone(&received);
    session.on_change(move |change| sink.lock().unwrap().extend(change.entries.clone()));
    journal.hold_syncs_until(journal.counts().appends + THREADS);
    journal.script_syncs([SyncFault::Fails]);
    let errors = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for number in 0..THREADS {
            let (session, errors) = (&session, &errors);
            scope.spawn(move || {
                let error = session.append(Message::user(number.to_string())).unwrap_err();
                errors.lock().unwrap().push(error);
            });
        }
    });
    let errors = errors.into_inner().unwrap();
    assert_eq!(errors.len() as u64, THREADS);
    for error in errors {
        assert!(matches!(error, Error::Storage(_)), "{error:?}: nothing was kept");
    }
    assert_eq!(journal.counts().failed_syncs, 1, "one sync for all of them");
    assert_eq!(journal.contents(), bytes, "nothing in the log");
    assert_eq!((outline(&session), session.leaf()), (shown, leaf), "nothing in memory");
    let again = session.append(Message::user("again")).unwrap();
    assert_eq!(open(&journal, Durability::None).tree().len(), 2);
    assert_eq!(*received.lock().unwrap(), [again], "only what is in the log");
}

#[test]
fn a_failed_sync_takes_back_only_what_is_our_own() {
    let (journal, session) = begun(Durability::Each);
    let other = open(&journal, Durability::None);
    let theirs = other.append(Message::user("theirs")).unwrap();
    journal.script_syncs([SyncFault::Fails]);
    let error = session.append(Message::user("ours")).unwrap_err();
    assert!(matches!(error, Error::Storage(_)), "{error:?}");
    let again = open(&journal, Durability::None);
    assert_eq!(again.tree().len(), 2);
    assert!(again.tree().contains(theirs.as_str()), "acknowledged to another writer");
    assert_eq!(outline(&session), outline(&again));
}

#[test]
fn what_others_have_built_on_is_not_taken_back() {
    #[derive(Debug)]
    struct Meddler(Arc<Faulty>);
    impl treering::storage::Journal for Meddler {
        fn len(&self) -> std::io::Result<u64> {
            self.0.len()
        }
        fn read_at(&self, offset: u64, buffer: &mut [u8]) -> std::io::Result<usize> {
            self.0.read_at(offset, buffer)
        }
        fn append(
            &self,
            end: &treering::storage::End,
            lines: &[u8],
        ) -> Result<treering::storage::Appended, treering::storage::JournalError> {
            self.0.append(end, lines)
        }
        fn sync(&self) -> std::io::Result<()> {
            // While the disk is busy failing, another process appends.
            let other = open(&self.0, Durability::None);
            other.append(Message::user("built on it")).unwrap();
            Err(std::io::ErrorKind::StorageFull.into())
        }
        fn truncate_if(&self, expected: u64, length: u64) -> std::io::Result<bool> {
            self.0.truncate_if(expected, length)
        }
    }
    let (journal, session) = begun(Durability::None);
    drop(session);
    let options = CreateOptions::new().durability(Durability::Each);
    let meddler = Arc::new(Meddler(Arc::clone(&journal)));
    let session = Session::in_journal(meddler, "/project", options).unwrap();
    let received = Arc::new(Mutex::new(Vec::new()));
    let sink = Arc::clone(&received);
    session.on_change(move |change| sink.lock().unwrap().extend(change.entries.clone()));
    let error = session.append(Message::user("ours")).unwrap_err();
    assert!(matches!(error, Error::NotDurable(_)), "written, but not durable: {error:?}");
    assert_eq!(*received.lock().unwrap(), session.leaf().as_slice(), "listeners hear of it");
    let again = open(&journal, Durability::None);
    assert_eq!(again.tree().len(), 3, "ours stays, because theirs is its child");
    session.refresh().unwrap();
    assert_eq!(outline(&session), outline(&again));
}

#[test]
fn a_branch_that_could_not_be_made_durable_did_not_happen() {
    let (journal, session) = begun(Durability::Each);
    let first = session.leaf().unwrap();
    let second = session.append(Message::user("second")).unwrap();
    journal.script_syncs([SyncFault::Fails, SyncFault::Fails]);
    session.branch(first.as_str()).unwrap_err();
    assert_eq!(session.leaf().as_ref(), Some(&second));
    session.branch_in_memory(first.as_str()).unwrap();
    session.append(Message::user("lost")).unwrap_err();
    assert_eq!(session.leaf(), Some(first), "back to where it was, wherever that is");
}

#[test]
fn many_threads_and_syncs_that_fail_now_and_then() {
    const THREADS: usize = 6;
    const EACH: usize = 60;
    let (journal, session) = begun(Durability::Each);
    journal.draw(5, Rates { append: 0.0, sync: 0.3 });
    let (kept, lost) = (Mutex::new(Vec::new()), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let (session, kept, lost) = (&session, &kept, &lost);
            scope.spawn(move || {
                for number in 0..EACH {
                    let id = EntryId::from(format!("{thread}-{number}").as_str());
                    let entry = NewEntry::custom("x", None).unwrap().with_id(id.clone());
                    match session.append(entry.with_parent(Position::Start)) {
                        Ok(_) => kept.lock().unwrap().push(id),
                        Err(_) => lost.lock().unwrap().push(id),
                    }
                }
            });
        }
    });
    let (kept, lost) = (kept.into_inner().unwrap(), lost.into_inner().unwrap());
    assert_eq!(kept.len() + lost.len(), THREADS * EACH);
    assert!(!kept.is_empty() && !lost.is_empty(), "both happened");
    let again = open(&journal, Durability::None);
    for id in &kept {
        assert!(again.tree().contains(id.as_str()), "{id} was acknowledged");
    }
    for id in &lost {
        assert!(!again.tree().contains(id.as_str()), "{id} was refused");
    }
    assert_eq!(outline(&session), outline(&again));
}

#[test]
fn batched_syncs_at_sync_and_at_the_end() {
    let (journal, session) = begun(Durability::Batched(NEVER));
    let before = journal.counts().syncs;
    session.append(Message::user("one")).unwrap();
    session.append(Message::user("two")).unwrap();
    assert_eq!(journal.counts().syncs, before, "not yet");
    session.sync().unwrap();
    assert_eq!(journal.counts().syncs, before + 1);
    assert_eq!(journal.durable(), journal.contents().len() as u64);
    session.append(Message::user("three")).unwrap();
    assert!(journal.durable() < journal.contents().len() as u64);
    drop(session);
    assert_eq!(journal.durable(), journal.contents().len() as u64, "closed, and on disk");
}

#[test]
fn batched_without_an_append_does_not_sync() {
    let (journal, session) = begun(Durability::None);
    drop(session);
    let before = journal.counts().syncs;
    drop(open(&journal, Durability::Batched(NEVER)));
    assert_eq!(journal.counts().syncs, before);
}

#[test]
fn batched_tells_of_a_failure_in_the_background_once() {
    let (journal, session) = begun(Durability::Batched(Duration::ZERO));
    journal.draw(1, Rates { append: 0.0, sync: 1.0 });
    session.append(Message::user("written")).unwrap();
    // The sync fails on another thread, so the next append returns the error.
    let mut appended = 2;
    let error = loop {
        match session.append(Message::user("more")) {
            Ok(_) => appended += 1,
            Err(error) => break error,
        }
    };
    assert!(matches!(error, Error::EarlierSyncFailed(_)), "{error:?}");
    journal.heal();
    let again = open(&journal, Durability::None);
    assert_eq!(again.tree().len(), appended, "the append that received was not carried out");
    assert_eq!(outline(&session), outline(&again));
}

#[test]
fn each_in_a_file() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("s.jsonl");
    let options = CreateOptions::new().durability(Durability::Each);
    let session = Session::create_at(&file, "/project", options).unwrap();
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let session = &session;
            scope.spawn(move || {
                for number in 0..25 {
                    session.append(Message::user(format!("{thread}:{number}"))).unwrap();
                }
            });
        }
    });
    let again = Session::open(&file).unwrap();
    assert_eq!(again.tree().len(), 100);
    assert_eq!(outline(&session), outline(&again));
    assert_eq!(again.findings().unwrap(), []);
}
