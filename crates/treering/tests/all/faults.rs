//! Tests of the faults that break other readers and writers of session files. Faults that need real
//! processes are in `processes`, `deleted`, `full_disk` and `upgrades`; those about size in
//! `scale`.

use crate::support::{
    HEADER, Leaf, assert_agrees, assert_own_line, assistant, compaction, entry, file, join, label,
    open, outline, path, sources, user,
};
use std::io::Write;
use std::sync::Arc;
use treering::findings::Problem;
use treering::storage::MemoryJournal;
use treering::{CreateOptions, Error, Message, Position, Session};
use treering_testkit::faulty::{AppendFault, Faulty};

fn problems(session: &Session) -> Vec<(u64, Problem)> {
    let findings = session.findings().unwrap().into_iter();
    findings.map(|finding| (finding.line.unwrap(), finding.problem)).collect()
}

#[test]
fn kill_9_in_the_middle_of_an_append() {
    let before = file(&[user("a", None), assistant("b", Some("a"))]);
    let line = format!("{}\n", user("c", Some("b")));
    for cut in 0..line.len() {
        let bytes = format!("{before}{}", &line[..cut]);
        let journal = Arc::new(MemoryJournal::new(bytes.clone().into_bytes()));
        let open = || Session::in_journal(journal.clone(), "/p", CreateOptions::new()).unwrap();
        let session = open();
        assert!(session.tree().contains("b"), "cut at {cut}");
        // Only the newline of the line is missing: the entry is complete.
        assert_eq!(session.tree().contains("c"), cut == line.len() - 1, "cut at {cut}");
        let next = session.append(Message::assistant("acme", "m", "next")).unwrap();
        assert!(journal.contents().starts_with(bytes.as_bytes()), "cut at {cut}");
        let again = open();
        assert_eq!(again.entry(next.as_str()).unwrap().message().unwrap().text(), "next");
        assert_own_line(&journal.contents(), next.as_str());
        assert_eq!(again.leaf(), Some(next));
        assert_eq!(outline(&session), outline(&again), "cut at {cut}");
        assert_agrees(&again, &journal.contents(), Leaf::OfTheFile);
    }
}

#[test]
fn another_process_leaves_a_torn_tail_while_a_session_is_open() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("s.jsonl");
    let session = Session::create_at(&file, "/p", CreateOptions::new()).unwrap();
    let first = session.append(Message::user("first")).unwrap();
    let torn = "{\"type\":\"message\",\"id\":\"torn\",\"parentId\":null,\"timest";
    let mut other = std::fs::OpenOptions::new().append(true).open(&file).unwrap();
    other.write_all(torn.as_bytes()).unwrap();

    let second = session.append(Message::user("second")).unwrap();
    let text = std::fs::read_to_string(&file).unwrap();
    assert!(text.contains(&format!("{torn}\n{{\"type\"")), "fenced off: {text}");
    let again = Session::open(&file).unwrap();
    assert_eq!(path(&again, second.as_str()), join([&first, &second]));
    let damaged = Problem::DamagedEntry("torn".into());
    assert!(problems(&again).contains(&(3, damaged)), "{:?}", problems(&again));
    assert_eq!(outline(&session), outline(&again));
}

#[test]
fn disk_full_during_an_append_and_space_freed_later() {
    let faults = [AppendFault::Nothing, AppendFault::Short(1), AppendFault::Short(40)]
        .into_iter()
        .chain([AppendFault::Short(100), AppendFault::Short(usize::MAX)]);
    for fault in faults {
        let journal = Faulty::in_memory();
        let open = || Session::in_journal(journal.clone(), "/p", CreateOptions::new()).unwrap();
        let session = open();
        let kept = session.append(Message::user("kept")).unwrap();
        journal.script_appends(std::iter::repeat_n(fault, 3));
        for _ in 0..3 {
            let failed = session.append(Message::user("lost"));
            assert!(matches!(failed, Err(Error::Io { .. })), "{fault:?}: {failed:?}");
            assert_eq!(session.leaf().as_ref(), Some(&kept), "{fault:?}: the leaf stays");
            assert_eq!(session.context().unwrap().messages.len(), 1);
        }
        let next = session.append(Message::user("next")).unwrap();
        let again = open();
        assert_eq!(outline(&session), outline(&again), "{fault:?}: memory and file agree");
        assert_eq!(path(&again, next.as_str()), join([&kept, &next]), "{fault:?}");
        assert_eq!(again.context().unwrap().messages.len(), 2, "{fault:?}");
        assert_own_line(&journal.contents(), next.as_str());
        assert_agrees(&again, &journal.contents(), Leaf::OfTheFile);
    }
}

#[test]
fn a_write_that_fails_after_its_last_byte() {
    let journal = Faulty::in_memory();
    let session = Session::in_journal(journal.clone(), "/p", CreateOptions::new()).unwrap();
    let kept = session.append(Message::user("kept")).unwrap();
    journal.script_appends([AppendFault::Everything]);
    session.append(Message::user("told it failed")).unwrap_err();
    let next = session.append(Message::user("next")).unwrap();
    let again = Session::in_journal(journal.clone(), "/p", CreateOptions::new()).unwrap();
    assert_eq!(outline(&session), outline(&again), "memory and file agree");
    assert_eq!(path(&again, next.as_str()), join([&kept, &next]), "it went where the leaf was");
}

#[test]
fn cycle_self_parent_and_duplicate_id_forming_a_loop() {
    let cycle =
        [user("a", Some("c")), user("b", Some("a")), user("c", Some("b")), user("d", Some("c"))];
    let session = open(file(&cycle));
    assert_eq!(path(&session, "d"), "a b c d", "the first of the cycle is the root");
    assert_eq!(problems(&session), [(2, Problem::Cycle("a".into()))]);

    let selfish = open(file(&[user("a", Some("a")), user("b", Some("a"))]));
    assert_eq!(path(&selfish, "b"), "a b");
    assert_eq!(problems(&selfish), [(2, Problem::Cycle("a".into()))]);

    let looped = open(file(&[user("a", None), user("b", Some("a")), user("a", Some("b"))]));
    assert_eq!(path(&looped, "a"), "b a");
    assert_eq!(looped.tree().len(), 2);
    let odd = [(2, Problem::Duplicate("a".into())), (3, Problem::Cycle("b".into()))];
    assert_eq!(problems(&looped), odd);
    for session in [session, selfish, looped] {
        assert_eq!(session.tree().walk().count(), session.tree().len());
        let leaf = session.append(Message::user("still works")).unwrap();
        assert!(session.tree().depth(leaf.as_str()).unwrap() > 0);
        assert!(session.context().unwrap().messages.len() > 1);
    }
}

#[test]
fn duplicate_id() {
    let newer = user("b", Some("a")).replace("\"content\":\"b\"", "\"content\":\"newer\"");
    let lines = [user("a", None), user("b", Some("a")), assistant("c", Some("b")), newer];
    let session = open(file(&lines));
    assert_eq!(join(session.tree().walk().map(|item| item.id)), "a b c", "shown once");
    assert_eq!(
        session.entry("b").unwrap().message().unwrap().text(),
        "newer",
        "the last line wins"
    );
    assert_eq!(join(session.tree().children("b").unwrap()), "c");
    assert_eq!(problems(&session), [(3, Problem::Duplicate("b".into()))]);
    assert_eq!(session.tree().shadowed(), 1);
}

#[test]
fn damaged_line_in_the_middle() {
    let whole = assistant("b", Some("a"));
    let lines = [user("a", None), whole[..whole.len() - 9].to_owned(), user("c", Some("b"))];
    let session = open(file(&lines));
    assert_eq!(path(&session, "c"), "a b c", "it keeps its place");
    assert_eq!(sources(&session.context().unwrap()), "a c", "and says nothing");
    assert!(session.entry("b").unwrap().is_damaged());
    let beheaded = [user("a", None), whole[30..].to_owned(), user("c", Some("b"))];
    let session = open(file(&beheaded));
    assert_eq!(path(&session, "c"), "c");
    assert_eq!(
        problems(&session),
        [(3, Problem::Damaged), (4, Problem::LostParent("c".into()))],
        "both are reported"
    );
}

#[test]
fn non_utf_8_bytes() {
    let mut bytes = file(&[user("a", None)]).into_bytes();
    let odd = assistant("b", Some("a")).replace("\"text\":\"b\"", "\"text\":\"@\"");
    bytes.extend(odd.bytes().map(|byte| if byte == b'@' { 0xFF } else { byte }).chain([b'\n']));
    let journal = Arc::new(MemoryJournal::new(bytes.clone()));
    let session = Session::in_journal(journal.clone(), "/p", CreateOptions::new()).unwrap();
    assert_eq!(session.entry("b").unwrap().message().unwrap().text(), "\u{FFFD}");
    let context = session.context().unwrap();
    assert!(context.messages[1].json.contains(&0xFF), "the bytes are handed on");
    session.append(Message::user("more")).unwrap();
    assert!(journal.contents().starts_with(&bytes), "and stay in the file");
}

#[test]
fn bom_crlf_blank_lines_u_2028_and_nul_in_strings() {
    let odd =
        user("b", Some("a")).replace("\"content\":\"b\"", "\"content\":\"x\u{2028}y\\u0000z\"");
    let text = format!("\u{FEFF}{HEADER}\r\n\r\n{}\r\n   \n\n{odd}\r\n", user("a", None));
    let session = open(&text);
    assert_eq!(path(&session, "b"), "a b");
    assert_eq!(session.entry("b").unwrap().message().unwrap().text(), "x\u{2028}y\0z");
    assert!(!session.entry("b").unwrap().raw().contains(&b'\r'));
    assert_eq!(problems(&session), [], "none of it is worth a word");
    assert_agrees(&session, text.as_bytes(), Leaf::OfTheFile);
}

#[test]
fn scalar_or_array_lines() {
    let lines = ["42", "null", "[1]", "\"text\"", "true"].map(str::to_owned);
    let all = [vec![user("a", None)], lines.to_vec(), vec![user("b", Some("a"))]].concat();
    let session = open(file(&all));
    assert_eq!(join(session.tree().ids()), "a b");
    let damaged: Vec<_> = (3..8).map(|line| (line, Problem::Damaged)).collect();
    assert_eq!(problems(&session), damaged);
}

#[test]
fn control_characters_where_json_has_none() {
    // The same line in the usual order of keys and with a space in it: read by different readers.
    let line = user("a", None);
    for (from, to) in [
        ("\"message\",", "\"mess\0ge\","),
        ("\"id\":\"a\"", "\"id\":\"a\r\""),
        ("T09:00:20", "T09:00\t20"),
        ("\"role\":\"user\"", "\"role\":\"us\u{1}er\""),
        ("\"content\":\"a\"", "\"content\":\"\u{1f}\""),
    ] {
        let odd = line.replace(from, to);
        let spaced = odd.replace(",\"id\"", ", \"id\"");
        assert_ne!(odd, line);
        for odd in [odd, spaced] {
            let text = file(&[odd]);
            assert_agrees(&open(&text), text.as_bytes(), Leaf::OfTheFile);
        }
    }
}

#[test]
fn label_or_compaction_naming_a_missing_entry() {
    let lines = [
        user("a", None),
        label("l", Some("a"), "nobody", "lost"),
        compaction("c", Some("l"), "nobody"),
        user("d", Some("c")),
    ];
    let session = open(file(&lines));
    assert_eq!(session.tree().labels(), [], "a label on nothing is not shown");
    assert_eq!(session.tree().label("nobody"), None);
    assert_eq!(
        sources(&session.context().unwrap()),
        "c d",
        "nothing before the compaction is kept"
    );
    let refused = session.label("nobody", Some("x"));
    assert!(matches!(refused, Err(Error::UnknownEntry(_))), "{refused:?}");
}

#[test]
fn invalid_or_equal_timestamps() {
    let timed = |id: &str, time: &str| {
        entry("message", id, Some("r"), r#","message":{"role":"user","content":"x"}"#)
            .replace("\"2026-01-05T09:00:20.226Z\"", time)
    };
    let lines = [
        user("r", None),
        timed("late", "\"2026-01-05T12:00:00.000Z\""),
        timed("bad", "\"soon\""),
        timed("same1", "\"2026-01-05T10:00:00.000Z\""),
        timed("none", "null"),
        timed("same2", "\"2026-01-05T10:00:00.000Z\""),
        timed("impossible", "\"2026-02-30T10:00:00.000Z\""),
        timed("early", "\"2026-01-05T09:30:00.000Z\""),
    ];
    let session = open(file(&lines));
    let order = "early same1 none same2 impossible late bad";
    assert_eq!(join(session.tree().children("r").unwrap()), order);
}

#[test]
fn branch_and_reset_leaf_then_restart() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("s.jsonl");
    let session = Session::create_at(&file, "/p", CreateOptions::new()).unwrap();
    let a = session.append(Message::user("a")).unwrap();
    let b = session.append(Message::assistant("acme", "m", "b")).unwrap();
    session.branch(a.as_str()).unwrap();
    assert_eq!(Session::open(&file).unwrap().leaf().as_ref(), Some(&a));
    session.branch(Position::Start).unwrap();
    let again = Session::open(&file).unwrap();
    assert_eq!(again.leaf(), None);
    let root = again.append(Message::user("another start")).unwrap();
    assert_eq!(path(&again, root.as_str()), root.to_string());
    // A reader that knows nothing of leaf entries takes the last entry for the leaf: same path.
    again.branch(b.as_str()).unwrap();
    let last = again.tree().ids().next_back().unwrap();
    assert_eq!(again.entry(last.as_str()).unwrap().parent(), Some(&b));
    // In memory only: a restart sees nothing of it.
    again.branch_in_memory(a.as_str()).unwrap();
    assert_eq!(again.leaf().as_ref(), Some(&a));
    assert_eq!(Session::open(&file).unwrap().leaf(), Some(b));
}

#[test]
fn moving_to_where_one_is_writes_nothing() {
    let journal = Faulty::in_memory();
    let session = Session::in_journal(journal.clone(), "/p", CreateOptions::new()).unwrap();
    let a = session.append(Message::user("a")).unwrap();
    let before = journal.contents();
    session.branch(a.as_str()).unwrap();
    assert_eq!(journal.contents(), before);
}

#[test]
fn unknown_entries_are_refused() {
    let session = open(file(&[user("abc1", None), user("abc2", Some("abc1"))]));
    let before = outline(&session);
    for result in [
        session.branch("nobody").map(drop),
        session.branch("abc").map(drop),
        session.branch_with_summary("nobody", "s", Ok).map(drop),
        session.label("", Some("x")).map(drop),
        session.fork("nobody", Default::default()).map(drop),
        session.branch_in_memory("nobody"),
        session.append(Message::user("x").into_entry().with_parent("nobody")).map(drop),
    ] {
        assert!(matches!(result, Err(Error::UnknownEntry(_))), "{result:?}");
    }
    let taken = session.append(Message::user("x").into_entry().with_id("abc1"));
    assert!(matches!(taken, Err(Error::DuplicateEntry(_))), "{taken:?}");
    assert_eq!(outline(&session), before, "nothing was changed");
}
