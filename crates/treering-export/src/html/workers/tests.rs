//! Tests that the page does not depend on how the work is divided, and that every failure ends the
//! export.

use super::*;
use crate::html::write_at;
use crate::{Error, Export};
use proptest::prelude::*;
use std::io::{self, Write};
use std::sync::atomic::{AtomicU64, Ordering};
use treering::storage::{Appended, End, Journal, JournalError, MemoryJournal};
use treering::{Message, NewEntry, Session};
use treering_testkit::generate::{self, Plan};
use treering_testkit::mutate::mutate;
use treering_testkit::rng::Rng;

/// One entry after the other, on the caller's thread.
const ALONE: WorkLimits = WorkLimits { threads: 1, entries: 1, bytes: 1, ahead: 1 };

fn page(limits: WorkLimits, session: &Session) -> String {
    let mut out = Vec::new();
    write_at(limits, &Export::default(), session, &|_| {}, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

fn opened(bytes: Vec<u8>) -> Option<Session> {
    Session::in_journal(Arc::new(MemoryJournal::new(bytes)), "/project", Default::default()).ok()
}

fn call(id: &str, command: &str) -> NewEntry {
    let block = format!(
        r#"{{"type":"toolCall","id":"{id}","name":"bash","arguments":{{"command":"{command}"}}}}"#
    );
    Message::from_json(format!(r#"{{"role":"assistant","content":[{block}]}}"#).as_bytes())
        .unwrap()
        .into_entry()
}

fn result(id: &str, text: &str) -> NewEntry {
    let message = format!(
        r#"{{"role":"toolResult","toolCallId":"{id}","toolName":"bash","content":[{{"type":"text","text":"{text}"}}]}}"#
    );
    Message::from_json(message.as_bytes()).unwrap().into_entry()
}

/// Calls and results far from each other, ids that are used again, results without a call.
fn far_apart() -> Session {
    let session = Session::in_memory("/project");
    let mut entries = Vec::new();
    for round in 0..3 {
        entries.extend((0..40).map(|n| call(&format!("call-{n}"), &format!("run {n} in {round}"))));
        entries.extend((0..45).map(|n| result(&format!("call-{n}"), &format!("done {n}"))));
    }
    session.append_all(&entries).unwrap();
    session
}

#[test]
fn a_result_is_named_after_its_call_whichever_batch_that_is_in() {
    let session = far_apart();
    let whole = page(ALONE, &session);
    for (threads, entries) in [(1, 7), (2, 1), (2, 16), (3, 1000), (8, 2)] {
        let limits = WorkLimits { threads, entries, bytes: 1 << 20, ahead: 4096 };
        assert!(page(limits, &session) == whole, "{limits:?}");
    }
    for round in 0..3 {
        let named = format!("<code>bash: run 39 in {round}</code>");
        assert_eq!(whole.matches(&named).count(), 1, "{named}");
    }
    assert_eq!(whole.matches("<code>bash</code>").count(), 3 * 5, "results of no call");
}

#[test]
fn a_huge_entry_is_like_any_other() {
    let session = Session::in_memory("/project");
    let large = "<b> \\\"x\\\" \\n".repeat(200_000);
    let entries = [call("a", "ls"), result("a", &large), result("a", "small"), result("a", &large)];
    session.append_all(&entries).unwrap();
    let limits = WorkLimits { threads: 2, ..WorkLimits::for_this_machine() };
    assert!(page(limits, &session) == page(ALONE, &session));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn the_page_does_not_depend_on_the_pace(
        seed: u64,
        damage in 0_usize..8,
        threads in 2_usize..5,
        entries in 1_usize..20,
        bytes in prop_oneof![Just(1_u64), Just(3000), Just(1 << 30)],
        ahead in prop_oneof![Just(1_u64), Just(10_000), Just(1 << 30)],
    ) {
        let mut file = match seed % 2 {
            0 => generate::small(seed, 60),
            _ => generate::session_bytes(&Plan::entries(seed, 80)).0,
        };
        let mut rng = Rng::new(seed);
        for _ in 0..damage {
            mutate(&mut file, &mut rng);
        }
        if let Some(session) = opened(file) {
            let limits = WorkLimits { threads, entries, bytes, ahead };
            prop_assert!(page(limits, &session) == page(ALONE, &session), "{:?}", limits);
        }
    }
}

/// A disk with a limited number of bytes.
struct Disk {
    written: Vec<u8>,
    room: usize,
}

impl Write for Disk {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = bytes.len().min(self.room - self.written.len());
        self.written.extend_from_slice(&bytes[..count]);
        match count {
            0 if !bytes.is_empty() => Err(io::ErrorKind::StorageFull.into()),
            _ => Ok(count),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_full_disk_ends_it_with_that_error() {
    let session = opened(generate::session_bytes(&Plan::bytes(5, 2_000_000)).0).unwrap();
    let whole = page(ALONE, &session);
    let limits = [ALONE, WorkLimits { threads: 3, entries: 8, bytes: 10_000, ahead: 200_000 }];
    for room in [0, 1, 100_000, whole.len() / 2, whole.len() - 1] {
        for limits in limits {
            let mut disk = Disk { written: Vec::new(), room };
            let error =
                write_at(limits, &Export::default(), &session, &|_| {}, &mut disk).unwrap_err();
            let Error::Write(error) = error else { panic!("{error:?}") };
            assert_eq!(error.kind(), io::ErrorKind::StorageFull);
            assert!(whole.as_bytes() == [&disk.written, &whole.as_bytes()[room..]].concat());
        }
    }
}

/// A journal that cannot be read from an offset on, once the offset is set.
#[derive(Debug)]
struct Unreadable {
    inner: MemoryJournal,
    from: AtomicU64,
}

impl Journal for Unreadable {
    fn len(&self) -> io::Result<u64> {
        self.inner.len()
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        if offset + buffer.len() as u64 > self.from.load(Ordering::Relaxed) {
            return Err(io::ErrorKind::TimedOut.into());
        }
        self.inner.read_at(offset, buffer)
    }

    fn append(&self, end: &End, lines: &[u8]) -> Result<Appended, JournalError> {
        self.inner.append(end, lines)
    }

    fn sync(&self) -> io::Result<()> {
        self.inner.sync()
    }

    fn truncate_if(&self, expected: u64, length: u64) -> io::Result<bool> {
        self.inner.truncate_if(expected, length)
    }
}

#[test]
fn an_entry_that_cannot_be_read_ends_it_with_that_error() {
    let bytes = generate::session_bytes(&Plan::bytes(6, 2_000_000)).0;
    let length = bytes.len() as u64;
    let inner = MemoryJournal::new(bytes);
    let journal = Arc::new(Unreadable { inner, from: AtomicU64::new(u64::MAX) });
    let session = Session::in_journal(journal.clone(), "/project", Default::default()).unwrap();
    let whole = page(ALONE, &session);
    for from in [0, length / 2, length - 1] {
        journal.from.store(from, Ordering::Relaxed);
        for limits in [ALONE, WorkLimits { threads: 3, entries: 8, bytes: 10_000, ahead: 200_000 }]
        {
            let mut out = Vec::new();
            let error =
                write_at(limits, &Export::default(), &session, &|_| {}, &mut out).unwrap_err();
            let Error::Session(treering::Error::Storage(error)) = error else {
                panic!("{error:?}")
            };
            assert_eq!(error.kind(), io::ErrorKind::TimedOut);
            assert!(whole.as_bytes().starts_with(&out));
        }
    }
}
