//! Logs that are read while they arrive, because their checkpoint states that everything counts: the contexts are those of
//! an open session, also where the checkpoint is wrong.

use std::io;
use std::ops::Range;
use std::sync::Arc;
use treering::storage::{Appended, Checkpoint, End, Journal, JournalError, MemoryJournal};
use treering::{Context, CreateOptions, Message, NewEntry, Session};
use treering_testkit::corpus;
use treering_testkit::generate::small;
use treering_testkit::mutate::mutate;
use treering_testkit::rng::Rng;

/// A journal that hands out pieces of a fixed size, and reports for every log that all of it counts.
#[derive(Debug)]
struct Arriving {
    bytes: Vec<u8>,
    piece: usize,
    /// The number of bytes that arrive before the connection breaks.
    breaks_after: usize,
}

impl Journal for Arriving {
    fn len(&self) -> io::Result<u64> {
        Ok(self.bytes.len() as u64)
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let rest = self.bytes.get(offset as usize..).unwrap_or_default();
        let count = rest.len().min(buffer.len());
        buffer[..count].copy_from_slice(&rest[..count]);
        Ok(count)
    }

    fn stream(&self, range: Range<u64>, each: &mut dyn FnMut(&[u8])) -> io::Result<()> {
        let bytes = &self.bytes[range.start as usize..range.end as usize];
        for piece in bytes[..bytes.len().min(self.breaks_after)].chunks(self.piece) {
            each(piece);
        }
        match bytes.len() > self.breaks_after {
            true => Err(io::ErrorKind::ConnectionReset.into()),
            false => Ok(()),
        }
    }

    fn append(&self, _: &End, _: &[u8]) -> Result<Appended, JournalError> {
        Err(io::Error::from(io::ErrorKind::Unsupported).into())
    }

    fn keeps_checkpoints(&self) -> bool {
        true
    }

    fn checkpoint(&self, length: u64) -> Option<Checkpoint> {
        Some(Checkpoint::new(length, "none", None).whole(true))
    }

    fn sync(&self) -> io::Result<()> {
        Ok(())
    }

    fn truncate_if(&self, _: u64, _: u64) -> io::Result<bool> {
        Ok(false)
    }
}

/// Returns the context that an open session has, or the message of its error.
fn of_session(bytes: &[u8]) -> Result<Context, String> {
    let journal = Arc::new(MemoryJournal::new(bytes.to_vec()));
    let session = Session::in_journal(journal, "", CreateOptions::new());
    session.and_then(|session| session.context()).map_err(|error| error.to_string())
}

fn check(bytes: &[u8], piece: usize, breaks_after: usize, what: &str) {
    let journal = Arriving { bytes: bytes.to_vec(), piece, breaks_after };
    let found = treering::active_context_of(Arc::new(journal)).map_err(|error| error.to_string());
    assert_eq!(found, of_session(bytes), "{what}, pieces of {piece} bytes");
}

#[test]
fn the_corpus_reads_as_a_session() {
    for path in corpus::files() {
        let bytes = std::fs::read(&path).unwrap();
        for piece in [7, 8_000, usize::MAX] {
            check(&bytes, piece, usize::MAX, &path.display().to_string());
        }
    }
}

#[test]
fn generated_and_damaged_logs_read_as_sessions() {
    let mut rng = Rng::new(8);
    for seed in 0..20 {
        let mut bytes = small(seed, 60);
        for round in 0..4 {
            let piece = 1 + rng.index(3_000);
            check(&bytes, piece, usize::MAX, &format!("seed {seed}, round {round}"));
            let breaks_after = rng.index(bytes.len() + 1);
            check(&bytes, piece, breaks_after, &format!("seed {seed}, broken in round {round}"));
            mutate(&mut bytes, &mut rng);
        }
    }
}

#[test]
fn a_writer_knows_whether_everything_counts() {
    let journal = Arc::new(MemoryJournal::default());
    let session = Session::in_journal(journal.clone(), "/", CreateOptions::new()).unwrap();
    let is_whole = || {
        let checkpoint = journal.checkpoint(journal.len().unwrap());
        checkpoint.map(|checkpoint| checkpoint.is_whole())
    };
    let first = session.append(Message::user("one")).unwrap();
    assert_eq!(is_whole(), None, "it continues no entry");
    let second = session.append(Message::user("two")).unwrap();
    assert_eq!(is_whole(), Some(true));
    session.append(NewEntry::compaction("so far", Some(&second), 9)).unwrap();
    assert_eq!(is_whole(), Some(false), "the append itself compacts");
    session.append(Message::user("three")).unwrap();
    assert_eq!(is_whole(), Some(false));
    session.branch(first).unwrap();
    session.append(Message::user("another way")).unwrap();
    assert_eq!(is_whole(), Some(true), "of this branch");
}
