//! Tests of many concurrent writers, with a record of every acknowledged line.

use crate::{contents, create, id, store};
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use treering::storage::{End, Journal, JournalError};
use treering::store::Store;
use treering::{Message, OpenOptions, Session};

/// The lines that were acknowledged to writers, and those whose append failed.
#[derive(Debug, Default)]
pub(crate) struct Account {
    pub(crate) acknowledged: Vec<String>,
    pub(crate) failed: Vec<String>,
    /// The longest time without an acknowledgment.
    pub(crate) gap: std::time::Duration,
}

/// Appends lines with names of their own until `stop`, or until there are `most` of them. A line that fails is
/// not tried again.
pub(crate) fn write(
    journal: &dyn Journal,
    writer: usize,
    most: usize,
    stop: &AtomicBool,
) -> Account {
    let mut account = Account::default();
    let mut last = std::time::Instant::now();
    let mut length = None;
    for number in 0..most {
        if stop.load(Ordering::Relaxed) {
            break;
        }
        let line = format!("{{\"writer\":{writer},\"line\":{number}}}\n");
        let result = loop {
            let known = match length.map_or_else(|| journal.len(), Ok) {
                Ok(known) => known,
                Err(error) => break Err(JournalError::Io(error)),
            };
            match journal.append(&End::from(known), line.as_bytes()) {
                Err(JournalError::Moved(now)) => length = Some(now),
                Ok(appended) => {
                    length = Some(appended.start + line.len() as u64);
                    break Ok(());
                }
                Err(error) => break Err(error),
            }
        };
        match result {
            Ok(()) => {
                account.gap = account.gap.max(last.elapsed());
                last = std::time::Instant::now();
                account.acknowledged.push(line);
            }
            Err(JournalError::Io(error)) => {
                assert!(treering::Error::Storage(error).is_retryable(), "a typed error");
                account.failed.push(line);
                length = None;
            }
            Err(error) => panic!("append: {error}"),
        }
    }
    account
}

/// Every acknowledged line is in the log once, every other one at most once, and nothing else is.
pub(crate) fn assert_exactly_once(log: &[u8], accounts: &[Account]) {
    let text = String::from_utf8(log.to_vec()).expect("text");
    let mut counts: HashMap<String, usize> = HashMap::new();
    for line in text.split_inclusive('\n').skip(1) {
        *counts.entry(line.to_owned()).or_default() += 1;
    }
    for account in accounts {
        for line in &account.acknowledged {
            assert_eq!(counts.remove(line), Some(1), "acknowledged: {line}");
        }
        for line in &account.failed {
            assert!(counts.remove(line).is_none_or(|count| count == 1), "doubled: {line}");
        }
    }
    assert!(counts.is_empty(), "lines of no writer: {counts:?}");
}

#[test]
fn writers_of_several_programs_lose_nothing() {
    let Some(first) = store("writers") else { return };
    create(&first, "shared", b"{}\n");
    let programs: Vec<_> = (0..4).map(|_| store("writers").expect("a server")).collect();
    let stop = AtomicBool::new(false);
    let accounts: Vec<Account> = std::thread::scope(|scope| {
        let write = |writer: usize| {
            let journal = programs[writer % 4].open(&id("shared")).expect("open");
            write(&*journal, writer, 30, &stop)
        };
        let threads: Vec<_> = (0..8).map(|writer| scope.spawn(move || write(writer))).collect();
        threads.into_iter().map(|thread| thread.join().expect("join")).collect()
    });
    assert!(accounts.iter().all(|account| account.acknowledged.len() == 30));
    assert_exactly_once(&contents(&*first.open(&id("shared")).expect("open")), &accounts);
}

#[test]
fn sessions_of_several_programs_become_branches() {
    let Some(first) = store("branches") else { return };
    let header = r#"{"type":"session","version":3,"id":"branches","timestamp":"2026-01-05T09:00:00.000Z","cwd":"/"}"#;
    create(&first, "branches", format!("{header}\n").as_bytes());
    let written: Vec<Vec<String>> = std::thread::scope(|scope| {
        let write = |writer: usize| {
            let store: Arc<dyn Store> = Arc::new(store("branches").expect("a server"));
            let session = Session::open_in(&store, &id("branches"), OpenOptions::new());
            let session = session.expect("open");
            let append = |number: usize| {
                let message = Message::user(&*format!("{writer}:{number}"));
                session.append(message).expect("append").to_string()
            };
            (0..12).map(append).collect::<Vec<String>>()
        };
        let threads: Vec<_> = (0..4).map(|writer| scope.spawn(move || write(writer))).collect();
        threads.into_iter().map(|thread| thread.join().expect("join")).collect()
    });
    let store: Arc<dyn Store> = Arc::new(first);
    let session = Session::open_in(&store, &id("branches"), OpenOptions::new()).expect("open");
    assert_eq!(session.tree().len(), 48);
    for ids in &written {
        let path: Vec<String> = {
            let path = session.tree().path(ids.last().expect("an id")).expect("a path");
            path.iter().map(ToString::to_string).collect()
        };
        // A late writer continues where another one stopped.
        assert!(path.ends_with(ids), "each writer has a branch of its own: {path:?}");
    }
}
