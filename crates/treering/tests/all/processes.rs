//! Tests with real processes: killed at random, writing at the same time, creating the same file.

use crate::children::{Role, start};
use crate::support::{HEADER, Leaf, assert_agrees, assert_own_line, join, outline};
use std::collections::HashMap;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use treering::{Message, Session};
use treering_testkit::rng::Rng;

/// The appends that were acknowledged so far, by all processes.
#[derive(Default)]
pub(crate) struct Ledger(Mutex<Vec<String>>);

impl Ledger {
    pub(crate) fn add(&self, ids: impl IntoIterator<Item = String>) {
        self.0.lock().unwrap().extend(ids);
    }

    pub(crate) fn all(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }
}

/// Reads a session over and over until `done`: it must always be readable, and nothing that was
/// acknowledged before the reading began may be missing.
pub(crate) fn keep_reading(file: &Path, ledger: &Ledger, done: &AtomicBool) -> usize {
    let living = Session::open(file).unwrap();
    let mut rounds = 0;
    while !done.load(Ordering::Relaxed) || rounds == 0 {
        let expected = ledger.all();
        let fresh = Session::open(file).unwrap();
        fresh.context().unwrap();
        treering::active_context(file).unwrap();
        living.refresh().unwrap();
        for id in &expected {
            assert!(fresh.tree().contains(id), "{id} is gone for a new reader");
            assert!(living.tree().contains(id), "{id} is gone for an old reader");
        }
        rounds += 1;
    }
    rounds
}

/// Runs `work` while a reader watches the file.
pub(crate) fn watched(file: &Path, ledger: &Ledger, work: impl FnOnce()) {
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let reader = scope.spawn(|| keep_reading(file, ledger, &done));
        // The reader must hear of the end even if the work fails.
        let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(work));
        done.store(true, Ordering::Relaxed);
        let rounds = reader.join().unwrap();
        if let Err(panic) = result {
            std::panic::resume_unwind(panic);
        }
        assert!(rounds > 0);
    });
}

fn new_file(directory: &Path, name: &str) -> std::path::PathBuf {
    let file = directory.join(name);
    std::fs::write(&file, format!("{HEADER}\n")).unwrap();
    file
}

#[test]
fn kill_9_at_random_points_of_an_append_loop() {
    const FILES: u64 = 3;
    const ROUNDS: u64 = 20;
    let directory = tempfile::tempdir().unwrap();
    let mut torn = 0;
    for number in 0..FILES {
        let file = new_file(directory.path(), &format!("{number}.jsonl"));
        let ledger = Ledger::default();
        let mut rng = Rng::new(number);
        watched(&file, &ledger, || {
            for round in 0..ROUNDS {
                let mut child = start(Role::Append, &file, number * ROUNDS + round, 100);
                child.go();
                for _ in 0..rng.below(4) {
                    ledger.add(child.line());
                }
                for _ in 0..rng.below(300_000) {
                    std::hint::spin_loop();
                }
                ledger.add(child.kill());

                let bytes = std::fs::read(&file).unwrap();
                torn += u64::from(bytes.last() != Some(&b'\n'));
                let session = Session::open(&file).unwrap();
                for id in ledger.all() {
                    assert!(session.tree().contains(&id), "{id} was acknowledged");
                }
                let next = session.append(Message::user("after the kill")).unwrap();
                let after = std::fs::read(&file).unwrap();
                assert!(after.starts_with(&bytes), "nothing is rewritten");
                assert_own_line(&after[bytes.len()..], next.as_str());
                let again = Session::open(&file).unwrap();
                let text = again.entry(next.as_str()).unwrap().message().unwrap().text();
                assert_eq!(text, "after the kill");
                ledger.add([next.to_string()]);
            }
        });
        let again = Session::open(&file).unwrap();
        for id in ledger.all() {
            assert!(!again.entry(&id).unwrap().is_damaged(), "{id} was acknowledged");
        }
        std::fs::remove_file(&file).unwrap();
    }
    eprintln!("{} kills, {torn} of them tore a line", FILES * ROUNDS);
}

#[test]
fn four_processes_append_to_one_file() {
    const WRITERS: u64 = 4;
    const ENTRIES: usize = 60;
    let directory = tempfile::tempdir().unwrap();
    let file = new_file(directory.path(), "s.jsonl");
    let ledger = Ledger::default();
    let results: Mutex<HashMap<u64, Vec<String>>> = Mutex::default();
    watched(&file, &ledger, || {
        let mut writers: Vec<_> = (0..WRITERS)
            .map(|writer| (writer, start(Role::Append, &file, writer, ENTRIES)))
            .collect();
        writers.iter_mut().for_each(|(_, child)| child.go());
        std::thread::scope(|scope| {
            for (writer, mut child) in writers {
                let (ledger, results) = (&ledger, &results);
                scope.spawn(move || {
                    while let Some(id) = child.line() {
                        ledger.add([id.clone()]);
                        results.lock().unwrap().entry(writer).or_default().push(id);
                    }
                    child.finish();
                });
            }
        });
    });
    let bytes = std::fs::read(&file).unwrap();
    let session = Session::open(&file).unwrap();
    assert_eq!(session.findings().unwrap(), [], "no line is damaged");
    assert_eq!(session.tree().len(), WRITERS as usize * ENTRIES, "each once, and nothing else");
    let lines = bytes.iter().filter(|&&byte| byte == b'\n').count();
    assert_eq!(lines, 1 + WRITERS as usize * ENTRIES);
    for (writer, ids) in results.into_inner().unwrap() {
        assert_eq!(ids.len(), ENTRIES);
        let chain = session.tree().path(&ids[ENTRIES - 1]).unwrap();
        assert_eq!(join(chain), join(&ids), "the entries of writer {writer} are its branch");
        for (number, id) in ids.iter().enumerate() {
            let text = session.entry(id).unwrap().message().unwrap().text();
            assert!(text.starts_with(&format!("{writer}:{number} ")));
        }
    }
    assert_agrees(&session, &bytes, Leaf::OfTheFile);
}

#[test]
fn two_processes_create_the_same_new_path() {
    let directory = tempfile::tempdir().unwrap();
    for round in 0..15 {
        let file = directory.path().join(format!("{round}.jsonl"));
        let mut children = [1, 2].map(|seed| start(Role::Create, &file, seed, 0));
        children.iter_mut().for_each(|child| child.go());
        let results: Vec<String> = children.into_iter().flat_map(|child| child.finish()).collect();
        let (refused, created): (Vec<_>, Vec<_>) =
            results.iter().partition(|result| *result == "exists");
        assert_eq!(
            (created.len(), refused.len()),
            (1, 1),
            "one creates, one is refused: {results:?}"
        );
        let session = Session::open(&file).unwrap();
        assert_eq!(session.tree().len(), 1);
        assert!(session.tree().contains(created[0]), "{results:?}");
        assert_eq!(session.findings().unwrap(), [], "one header");
    }
}

#[test]
fn processes_and_sessions_in_this_one_see_each_other() {
    let directory = tempfile::tempdir().unwrap();
    let file = new_file(directory.path(), "s.jsonl");
    let session = Session::open(&file).unwrap();
    let first = session.append(Message::user("ours")).unwrap();
    let mut child = start(Role::Append, &file, 1, 3);
    child.go();
    let theirs = child.finish();
    let second = session.append(Message::user("ours again")).unwrap();
    assert_eq!(session.tree().path(theirs[2].as_str()).unwrap().len(), 4, "they went on from ours");
    assert_eq!(session.tree().path(second.as_str()).unwrap(), [first, second], "and so did we");
    assert_eq!(outline(&session), outline(&Session::open(&file).unwrap()));
}
