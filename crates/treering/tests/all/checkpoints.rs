//! Tests that a reader of a log's end gets from the checkpoint the same result as from reading
//! everything.

use crate::counted::CountedJournal;
use crate::support::{HEADER, assistant, cases, compaction, leaf, user};
use proptest::prelude::*;
use std::fmt::Write;
use std::sync::Arc;
use treering::storage::{End, Journal, MemoryJournal};
use treering::{Context, CreateOptions, Message, NewEntry, Position, Session};
use treering_testkit::rng::Rng;

/// Returns a log whose thinking level is set by the first entry. The last entry is `a<count>`.
fn long_log(count: usize) -> String {
    let level =
        crate::support::entry("thinking_level_change", "t", None, ",\"thinkingLevel\":\"high\"");
    let mut log = format!("{HEADER}\n{level}\n");
    let mut parent = "t".to_owned();
    for number in 0..=count {
        let id = format!("a{number}");
        let line = match number % 2 {
            0 => user(&id, Some(&parent)),
            _ => assistant(&id, Some(&parent)),
        };
        let text = format!("\"content\":\"{} ", "lorem ipsum ".repeat(180));
        writeln!(log, "{}", line.replacen("\"content\":\"", &text, 1)).unwrap();
        parent = id;
    }
    log
}

/// Messages whose lines are longer than the part of the log that is read first.
const MANY: usize = 1_200;

fn counted(log: String) -> Arc<CountedJournal> {
    Arc::new(CountedJournal::new(log.into_bytes()))
}

fn session(journal: &Arc<CountedJournal>) -> Session {
    Session::in_journal(Arc::clone(journal) as _, "", CreateOptions::new()).unwrap()
}

/// Returns the context that reading everything gives.
fn whole(journal: &CountedJournal) -> Context {
    let copy = Arc::new(MemoryJournal::new(journal.contents()));
    Session::in_journal(copy, "", CreateOptions::new()).unwrap().context().unwrap()
}

/// Compares the context read from the end with that of the whole. Returns whether only a part was
/// read.
fn check(journal: &Arc<CountedJournal>) -> bool {
    let expected = whole(journal);
    journal.take_bytes_read();
    assert_eq!(treering::active_context_of(Arc::clone(journal) as _).unwrap(), expected);
    journal.take_bytes_read() < journal.len().unwrap()
}

#[test]
fn a_level_set_at_the_start_is_known_at_the_end() {
    let log = long_log(MANY);
    let journal = counted(log);
    let writer = session(&journal);
    let kept = format!("a{}", MANY - 20);
    writer.append(NewEntry::compaction("so far", Some(&kept.as_str().into()), 9)).unwrap();
    assert_eq!(writer.context().unwrap().thinking_level, "high");
    assert!(check(&journal), "the end is enough");
    // It holds with every further append, and for several entries at once.
    writer.append(Message::user("more")).unwrap();
    writer.append_all(&[Message::user("and").into(), Message::user("more").into()]).unwrap();
    assert!(check(&journal));
    // A level that is set later is that of the end.
    writer.append(NewEntry::thinking_level_change("low")).unwrap();
    assert!(check(&journal));
    assert_eq!(whole(&journal).thinking_level, "low");
}

#[test]
fn an_append_of_another_writer_makes_the_checkpoint_void() {
    let log = long_log(MANY);
    let journal = counted(log);
    let writer = session(&journal);
    let kept = format!("a{}", MANY - 20);
    let last = writer.append(NewEntry::compaction("so far", Some(&kept.as_str().into()), 9));
    assert!(check(&journal));
    // The entry that set the level gets another parent and becomes a message; the path to the leaf
    // loses the level.
    let mut lines = format!("{}\n", user("t", None));
    writeln!(lines, "{}", user("z", Some(last.unwrap().as_str()))).unwrap();
    journal.append(&End::from(journal.len().unwrap()), lines.as_bytes()).unwrap();
    assert!(!check(&journal), "everything is read");
    assert_eq!(whole(&journal).thinking_level, "off");
    // The next append of a writer that has read everything helps again.
    writer.append(Message::user("more")).unwrap();
    check(&journal);
}

#[test]
fn an_entry_that_others_wait_for_gives_them_another_path() {
    // The first entry names a parent that is not there.
    let log = long_log(MANY).replacen(
        "\"id\":\"a0\",\"parentId\":\"t\"",
        "\"id\":\"a0\",\"parentId\":\"ghost\"",
        1,
    );
    let journal = counted(log);
    let writer = session(&journal);
    let kept = format!("a{}", MANY - 20);
    writer.append(NewEntry::compaction("so far", Some(&kept.as_str().into()), 9)).unwrap();
    check(&journal);
    assert_eq!(whole(&journal).thinking_level, "off");
    let ghost = NewEntry::thinking_level_change("deep").with_id("ghost");
    writer.append(ghost.with_parent(Position::Start)).unwrap();
    check(&journal);
    writer.branch(Position::Entry(format!("a{MANY}").as_str().into())).unwrap();
    writer.append(Message::user("more")).unwrap();
    check(&journal);
    assert_eq!(whole(&journal).thinking_level, "deep");
}

/// Does one thing drawn by lot.
fn step(rng: &mut Rng, number: usize, journal: &Arc<CountedJournal>, writer: &Session) {
    let old = format!("a{}", rng.index(MANY));
    let raw = |lines: String| {
        journal.append(&End::from(journal.len().unwrap()), lines.as_bytes()).unwrap();
    };
    let id = format!("x{number}");
    match rng.below(10) {
        0 => raw(format!("{}\n", user(&old, Some("t")))),
        1 => raw(format!("{}\n", leaf(&id, Some(&old)))),
        2 => raw(format!("{}\n", compaction(&id, Some(&old), &old))),
        3 => {
            let _ = writer.branch(Position::Entry(old.as_str().into()));
        }
        4 => drop(writer.append(NewEntry::thinking_level_change("deep"))),
        5 => drop(writer.append(NewEntry::compaction("s", None, 1))),
        6 => {
            let length = journal.len().unwrap();
            writer.append(Message::user("taken back")).unwrap();
            journal.truncate_if(journal.len().unwrap(), length).unwrap();
            writer.refresh().unwrap();
        }
        _ => drop(writer.append(Message::assistant("acme", "oak", "said"))),
    }
}

proptest! {
    #![proptest_config(cases(6))]

    #[test]
    fn whatever_is_written_by_whom(seed: u64) {
        let log = long_log(MANY);
        let journal = counted(log);
        let writer = session(&journal);
        let mut rng = Rng::new(seed);
        for number in 0..12 {
            step(&mut rng, number, &journal, &writer);
            check(&journal);
        }
    }
}
