//! What is wrong with a file is found, with its line; a repair sets right what it can, loses nothing,
//! and changes nothing the second time.

use crate::support::{HEADER, assistant, cases, compaction, entry, file, join, label, leaf, user};
use proptest::prelude::*;
use std::path::{Path, PathBuf};
use treering::{
    Diagnosis, EntryId, Error, Repair, RepairOptions, RepairTo, Session, Severity, examine, repair,
};
use treering_testkit::generate::small;
use treering_testkit::mutate::mutate;
use treering_testkit::rng::Rng;

/// A session file in a directory of its own.
struct Scratch {
    dir: tempfile::TempDir,
}

impl Scratch {
    fn new(bytes: impl AsRef<[u8]>) -> Self {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("s.jsonl"), bytes).unwrap();
        Scratch { dir }
    }

    fn path(&self) -> PathBuf {
        self.dir.path().join("s.jsonl")
    }

    fn examine(&self) -> Diagnosis {
        let before = std::fs::read(self.path()).unwrap();
        let diagnosis = examine(self.path()).unwrap();
        assert_eq!(std::fs::read(self.path()).unwrap(), before, "examining changes nothing");
        diagnosis
    }

    fn repair(&self) -> Repair {
        repair(self.path(), RepairOptions::default()).unwrap()
    }

    /// The repaired copy.
    fn repaired(&self) -> Vec<u8> {
        std::fs::read(self.dir.path().join("s.repaired.jsonl")).unwrap()
    }

    fn files(&self) -> Vec<String> {
        let files = std::fs::read_dir(self.dir.path()).unwrap();
        let mut names: Vec<String> =
            files.map(|file| file.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

/// `line code` for everything found.
fn codes(diagnosis: &Diagnosis) -> Vec<String> {
    let code = |finding: &treering::Finding| match finding.line {
        Some(line) => format!("{line} {}", finding.code()),
        None => finding.code().to_owned(),
    };
    diagnosis.findings.iter().map(code).collect()
}

fn found(bytes: impl AsRef<[u8]>) -> Vec<String> {
    codes(&Scratch::new(bytes).examine())
}

fn tool_call(id: &str, parent: &str, call: &str) -> String {
    let block = format!(r#"{{"type":"toolCall","id":"{call}","name":"bash","arguments":{{}}}}"#);
    let message = format!(r#","message":{{"role":"assistant","content":[{block}]}}"#);
    entry("message", id, Some(parent), &message)
}

fn tool_result(id: &str, parent: &str, call: &str) -> String {
    let message = r#","message":{"role":"toolResult","toolCallId":"CALL","content":[]}"#;
    entry("message", id, Some(parent), &message.replace("CALL", call))
}

#[test]
fn a_sound_file_has_no_findings_and_is_not_repaired() {
    let scratch = Scratch::new(file(&[
        user("a", None),
        tool_call("b", "a", "t1"),
        tool_result("c", "b", "t1"),
        label("d", Some("c"), "a", "x"),
        compaction("e", Some("d"), "b"),
        leaf("f", Some("c")),
        user("g", None),
    ]));
    let diagnosis = scratch.examine();
    assert_eq!((codes(&diagnosis), diagnosis.entries), (Vec::new(), 7));
    assert!(diagnosis.is_healthy() && diagnosis.worst().is_none());
    let repair = scratch.repair();
    assert_eq!((&repair.output, repair.before), (&None, repair.after));
    assert_eq!(scratch.files(), ["s.jsonl"]);
}

#[test]
fn damage_to_lines_is_found_by_line() {
    let torn = user("t", Some("a"))[..70].to_owned();
    let lines = [
        user("a", None),
        "42".into(),
        torn,
        format!("{}{}", user("b", Some("a")), user("c", Some("b"))),
        HEADER.into(),
        user("d", Some("c")) + "\0\0",
    ];
    let text = file(&lines) + &user("z", Some("d"))[..40];
    assert_eq!(
        found(&text),
        [
            "3 damaged-line",
            "4 damaged-entry",
            "5 glued-lines",
            "6 second-header",
            "7 glued-lines",
            "7 damaged-line",
            "8 torn-last-line",
        ]
    );
}

#[test]
fn a_body_that_nobody_read_is_found_damaged() {
    let broken = user("b", Some("a")).replace("\"content\":\"b\"", "\"content\":\"b");
    assert_eq!(found(file(&[user("a", None), broken])), ["3 damaged-entry"]);
}

#[test]
fn a_missing_parent_is_told_from_a_circle() {
    let lines = [
        user("a", None),
        user("b", Some("gone")),
        user("c", Some("c")),
        user("d", Some("f")),
        user("e", Some("d")),
        user("f", Some("e")),
        user("g", Some("a")),
    ];
    let expected = ["3 missing-parent", "4 cycle", "5 cycle", "unreachable-history"];
    let diagnosis = Scratch::new(file(&lines)).examine();
    assert_eq!(codes(&diagnosis), expected);
    let cut_off = diagnosis.findings.last().unwrap().to_string();
    assert_eq!(cut_off, "5 of 7 entries (71 %) are cut off from the active leaf");
}

#[test]
fn ordinary_branches_and_roots_are_not_cut_off() {
    let lines = [user("a", None), user("b", Some("a")), user("c", Some("a")), user("d", None)];
    assert_eq!(found(file(&lines)), [""; 0]);
}

#[test]
fn what_points_nowhere_is_found() {
    let edit = entry("context_edit", "e", Some("d"), r#","targetId":"gone","replacement":null"#);
    let without = entry("compaction", "f", Some("e"), r#","summary":"s","tokensBefore":1"#);
    let lines = [
        user("a", None),
        label("b", Some("a"), "gone", "x"),
        compaction("c", Some("b"), "gone"),
        entry("leaf", "d", Some("c"), r#","targetId":"gone""#),
        edit,
        without,
    ];
    assert_eq!(
        found(file(&lines)),
        [
            "3 missing-target",
            "4 missing-first-kept",
            "5 missing-target",
            "6 missing-target",
            "7 missing-first-kept"
        ]
    );
}

#[test]
fn tool_calls_and_results_that_lost_each_other() {
    let lines = [
        user("a", None),
        tool_call("b", "a", "t1"), // Answered on another branch only.
        tool_result("c", "b", "t1"),
        tool_call("d", "c", "t2"),   // Never answered, and left.
        tool_result("e", "b", "t9"), // Nobody asked.
        user("f", Some("e")),
        tool_call("g", "f", "t3"), // Perhaps still at work.
    ];
    let diagnosis = Scratch::new(file(&lines)).examine();
    let found: Vec<_> = diagnosis
        .findings
        .iter()
        .map(|finding| (finding.line.unwrap(), finding.code(), finding.severity()))
        .collect();
    assert_eq!(
        found,
        [
            (3, "orphan-tool-call", Severity::Warning),
            (5, "orphan-tool-call", Severity::Note),
            (6, "orphan-tool-result", Severity::Warning),
            (8, "orphan-tool-call", Severity::Note),
        ]
    );
    let said = diagnosis.findings[0].to_string();
    assert_eq!(said, "line 3: entry b calls a tool (t1) and there is no result");
    // A result must stand below its call, not above it.
    let lines = [
        user("a", None),
        tool_result("b", "a", "t"),
        tool_call("c", "b", "t"),
        user("d", Some("c")),
    ];
    assert_eq!(self::found(file(&lines)), ["3 orphan-tool-result", "4 orphan-tool-call"]);
}

#[test]
fn headers_and_versions() {
    let misplaced = format!("{}\n{HEADER}\n{}\n", user("a", None), user("b", Some("a")));
    assert_eq!(found(misplaced), ["2 header-not-first"]);
    let future = HEADER.replace("\"version\":3", "\"version\":99");
    assert_eq!(found(format!("{future}\n{}\n", user("a", None))), ["1 future-version"]);
    let old = HEADER.replace("\"version\":3", "\"version\":2");
    assert_eq!(found(format!("{old}\n{}\n", user("a", None))), ["1 old-version"]);
    let none = HEADER.replace("\"version\":3,", "");
    assert_eq!(found(format!("{none}\n{}\n", user("a", None))), ["1 no-version"]);
    assert_eq!(found(""), ["1 empty-file"]);
    for nothing in ["\n\n", "{\"a\":1}\n", "hello\n"] {
        let refused = examine(Scratch::new(nothing).path());
        assert!(matches!(refused, Err(Error::NotASession { .. })), "{refused:?}");
    }
}

#[test]
fn what_is_odd_inside_an_entry() {
    let timeless = user("d", Some("c")).replace("2026-01-05T09:00:20.226Z", "tomorrow");
    let lines = [
        user("a", None),
        entry("message", "b", Some("a"), r#","message":null"#),
        entry("message", "c", Some("b"), r#","message":{"role":"user"}"#),
        timeless,
        entry("novelty", "e", Some("d"), ""),
        entry("novelty", "f", Some("e"), ""),
        entry("message", "g", Some("f"), r#","message":{"role":"hermit","content":"x"}"#),
        entry("message", "", Some("g"), r#","message":{"role":"user","content":"x"}"#),
    ];
    let diagnosis = Scratch::new(file(&lines)).examine();
    assert_eq!(
        codes(&diagnosis),
        [
            "3 no-message",
            "4 no-content",
            "5 invalid-timestamp",
            "6 unknown-type",
            "8 unknown-type",
            "9 no-id",
        ]
    );
    let said = diagnosis.findings[3].to_string();
    assert_eq!(said, "line 6: 2 records of unknown type \"novelty\": kept as they are");
}

#[test]
fn what_is_merely_unusual_is_a_note_at_most() {
    let text = format!("\u{FEFF}{HEADER}\r\n\r\n{}\r\n", user("a", None));
    let mut bytes = text.into_bytes();
    bytes.extend(user("b", Some("a")).replace("\"content\":\"b\"", "\"content\":\"@\"").bytes());
    let at = bytes.iter().position(|&byte| byte == b'@').unwrap();
    bytes[at] = 0xFF;
    let scratch = Scratch::new(&bytes);
    let diagnosis = scratch.examine();
    assert_eq!(codes(&diagnosis), ["1 byte-order-mark", "1 crlf", "4 not-utf8"]);
    assert!(diagnosis.is_healthy());
    assert_eq!(scratch.repair().output, None);
}

#[test]
fn large_entries_are_named_largest_first_in_the_file() {
    let big = |id: &str, size: usize| {
        entry(
            "message",
            id,
            None,
            &format!(r#","message":{{"role":"user","content":"{}"}}"#, "x".repeat(size)),
        )
    };
    let lines = [big("a", 100), big("b", (1 << 20) + 5), big("c", 1 << 19)];
    assert_eq!(found(file(&lines)), ["3 large-entry"]);
}

/// The lines of a repaired file that are neither header nor the repair's own.
fn bodies(bytes: &[u8]) -> Vec<String> {
    let text = String::from_utf8(bytes.to_vec()).unwrap();
    let own = |line: &&str| !line.contains("treering.repair") && !line.contains("\"leaf\"");
    text.lines().skip(1).filter(own).map(str::to_owned).collect()
}

#[test]
fn an_orphan_is_linked_to_the_entry_before_it() {
    let lines = [
        user("a", None),
        assistant("b", Some("a")),
        "{\"type\":\"message\",\"id\":\"c\",\"par".into(),
        user("d", Some("c")),
        assistant("e", Some("d")),
    ];
    let scratch = Scratch::new(file(&lines));
    let repair = scratch.repair();
    let relinked = &repair.relinked[0];
    assert_eq!(repair.relinked.len(), 1);
    assert_eq!(relinked.entry, "d");
    assert_eq!((relinked.from.as_deref(), relinked.to.as_ref()), (Some("c"), Some(&"b".into())));
    assert_eq!((repair.before.path, repair.after.path), (2, 4));
    assert_eq!((repair.before.messages, repair.after.messages), (2, 4));
    assert_eq!((repair.before.reachable, repair.after.reachable), (2, 4));
    assert_eq!((repair.before.entries, repair.after.entries), (4, 4));
    assert_eq!((repair.contexts_gained, &*repair.rejected), (1, &[4][..]));
    let expected = [lines[0].clone(), lines[1].clone(), user("d", Some("b")), lines[4].clone()];
    assert_eq!(bodies(&scratch.repaired()), expected, "the rest is as it was");
    assert_eq!(scratch.files(), ["s.jsonl", "s.repaired.jsonl", "s.repaired.rejects.txt"]);
    let rejects = std::fs::read_to_string(repair.rejects.unwrap()).unwrap();
    assert!(rejects.starts_with("line 4 of "), "{rejects}");
    assert!(rejects.ends_with(":\n{\"type\":\"message\",\"id\":\"c\",\"par\n"), "{rejects}");

    let session = Session::open(repair.output.unwrap()).unwrap();
    assert_eq!(session.leaf(), Some("e".into()), "the leaf is where it was");
    let note =
        session.entries().map(Result::unwrap).find(|entry| entry.kind() == treering::Kind::Custom);
    let note = note.unwrap();
    assert_eq!(note.parent(), Some(&"e".into()));
    let data = String::from_utf8(note.get("data").unwrap().to_vec()).unwrap();
    assert_eq!(data, r#"{"relinked":[{"id":"d","from":"c","to":"b"}],"renamed":[],"rejected":1}"#);
}

#[test]
fn children_of_a_damaged_entry_hang_on_its_parent() {
    let torn = user("b", Some("a"))[..70].to_owned();
    let lines = [user("a", None), user("x", None), torn, user("c", Some("b"))];
    let scratch = Scratch::new(file(&lines));
    let repair = scratch.repair();
    assert_eq!(repair.relinked[0].to, Some("a".into()), "not to x, which stands before it");
    assert_eq!(bodies(&scratch.repaired())[2], user("c", Some("a")));
}

#[test]
fn circles_are_broken_where_they_begin_in_the_file() {
    let lines = [
        user("r", None),
        user("a", Some("c")),
        user("b", Some("a")),
        user("c", Some("b")),
        user("d", Some("d")),
    ];
    let scratch = Scratch::new(file(&lines));
    let repair = scratch.repair();
    let links: Vec<String> = repair
        .relinked
        .iter()
        .map(|link| format!("{} {} {}", link.entry, link.from.as_deref().unwrap(), join(&link.to)))
        .collect();
    assert_eq!(links, ["a c r", "d d c"]);
    let session = Session::open(repair.output.unwrap()).unwrap();
    assert_eq!(join(session.tree().path("d").unwrap()), "r a b c d");
}

#[test]
fn an_orphan_is_never_linked_to_what_is_below_it() {
    // b and c stand before their ancestor a.
    let lines =
        [user("r", None), user("c", Some("b")), user("b", Some("a")), user("a", Some("gone"))];
    let repair = Scratch::new(file(&lines)).repair();
    assert_eq!((repair.relinked.len(), repair.relinked[0].to.as_ref()), (1, Some(&"r".into())));
    let lines = [user("c", Some("b")), user("b", Some("a")), user("a", Some("gone"))];
    let scratch = Scratch::new(file(&lines));
    assert_eq!(scratch.repair().relinked[0].to, None, "there is nothing else: a root");
    assert!(bodies(&scratch.repaired())[2].contains("\"parentId\":null"));
}

#[test]
fn of_lines_with_one_id_nothing_is_lost() {
    let other = user("b", Some("a")).replace("\"content\":\"b\"", "\"content\":\"first\"");
    let lines =
        [user("a", None), other, user("c", Some("b")), user("b", Some("a")), user("c", Some("b"))];
    let scratch = Scratch::new(file(&lines));
    let repair = scratch.repair();
    assert_eq!((repair.renamed.len(), repair.copies), (1, 1), "c is a copy, b is not");
    let session = Session::open(repair.output.unwrap()).unwrap();
    let fresh = session.entry(repair.renamed[0].entry.as_str()).unwrap();
    assert_eq!((fresh.parent(), &repair.renamed[0].from), (Some(&"a".into()), &"b".into()));
    assert_eq!(fresh.message().unwrap().text(), "first");
    assert_eq!(join(session.tree().path("c").unwrap()), "a b c");
    assert_eq!(bodies(&scratch.repaired()).len(), 4);
}

#[test]
fn a_damaged_line_does_not_take_an_id_from_a_whole_one() {
    let torn = user("b", Some("a"))[..70].to_owned();
    let lines = [user("a", None), user("b", Some("a")), torn, user("c", Some("b"))];
    let scratch = Scratch::new(file(&lines));
    let repair = scratch.repair();
    assert_eq!((repair.relinked.len(), repair.renamed.len()), (0, 0));
    let expected = [lines[0].clone(), lines[1].clone(), lines[3].clone()];
    assert_eq!(bodies(&scratch.repaired()), expected);
}

#[test]
fn glued_lines_come_apart_and_headers_come_first() {
    let stray = r#"{"a":"stray"}"#;
    let text = format!(
        "{}{}\n{stray}\n{HEADER}\n{}\n{HEADER}\n",
        user("a", None),
        user("b", Some("a")),
        user("c", Some("b"))
    );
    let scratch = Scratch::new(text);
    let repair = scratch.repair();
    assert!(repair.moved_header);
    assert_eq!((repair.split, &*repair.rejected), (1, &[5][..]));
    let expected = [stray, HEADER, &user("a", None), &user("b", Some("a")), &user("c", Some("b"))];
    assert_eq!(String::from_utf8(scratch.repaired()).unwrap(), expected.join("\n") + "\n");
}

#[test]
fn an_entry_without_an_id_gets_the_one_it_is_shown_under() {
    let nameless = r#"{"type":"custom","customType":"x","parentId":"a","timestamp":null}"#;
    let scratch = Scratch::new(file(&["7".into(), user("a", None), nameless.into()]));
    let shown = Session::open(scratch.path()).unwrap().leaf().unwrap();
    let repair = scratch.repair();
    assert_eq!(repair.named, std::slice::from_ref(&shown));
    let expected = nameless.replace(r#""custom","#, &format!(r#""custom","id":"{shown}","#));
    assert_eq!(bodies(&scratch.repaired())[1], expected);
}

#[test]
fn the_leaf_stays_when_the_last_entry_goes() {
    let torn = user("c", Some("a"))[..70].to_owned();
    let scratch = Scratch::new(file(&[user("a", None), user("b", Some("a")), torn]));
    let before = Session::open(scratch.path()).unwrap().leaf();
    let after = Session::open(scratch.repair().output.unwrap()).unwrap().leaf();
    assert_eq!((before, after), (Some("a".into()), Some("a".into())));
}

#[test]
fn in_place_the_old_file_is_kept_and_older_backups_too() {
    let text = file(&[user("a", None), "junk".into()]);
    let scratch = Scratch::new(&text);
    std::fs::write(scratch.dir.path().join("s.jsonl.bak"), "older").unwrap();
    let options = RepairOptions { to: RepairTo::InPlace };
    let repair = treering::repair(scratch.path(), options.clone()).unwrap();
    assert_eq!(repair.output, Some(std::fs::canonicalize(scratch.path()).unwrap()));
    assert_eq!(std::fs::read_to_string(repair.backup.unwrap()).unwrap(), text);
    assert_eq!(std::fs::read(scratch.path()).unwrap(), file(&[user("a", None)]).into_bytes());
    let names = ["s.jsonl", "s.jsonl.bak", "s.jsonl.bak.2", "s.rejects.txt"];
    assert_eq!(scratch.files(), names);
    let again = treering::repair(scratch.path(), options).unwrap();
    assert_eq!((again.output, scratch.files().len()), (None, 4));
}

#[test]
fn nothing_is_overwritten() {
    let scratch = Scratch::new(file(&[user("a", None), "junk".into()]));
    scratch.repair();
    let refused = repair(scratch.path(), RepairOptions::default());
    assert!(matches!(refused, Err(Error::AlreadyExists(_))), "{refused:?}");
    let to = RepairTo::Path(scratch.path());
    let refused = repair(scratch.path(), RepairOptions { to });
    assert!(matches!(refused, Err(Error::AlreadyExists(_))), "{refused:?}");
    assert_eq!(scratch.files().len(), 3);
}

#[test]
fn an_old_version_is_upgraded_on_the_way() {
    let lines = [
        r#"{"type":"session","id":"old","timestamp":"2025-01-01T00:00:00.000Z","cwd":"/p"}"#,
        r#"{"type":"message","timestamp":"2025-01-01T00:00:00.000Z","message":{"role":"user","content":"1"}}"#,
        "garbage",
        r#"{"type":"message","timestamp":"2025-01-01T00:00:00.000Z","message":{"role":"user","content":"2"}}"#,
    ];
    let scratch = Scratch::new(lines.join("\n") + "\n");
    let before = Session::open(scratch.path()).unwrap();
    let repair = scratch.repair();
    assert!(repair.upgraded);
    let after = Session::open(repair.output.unwrap()).unwrap();
    assert_eq!(after.header().get("version"), Some(&b"3"[..]));
    assert_eq!(after.context().unwrap(), before.context().unwrap(), "by the same ids");
}

#[test]
fn a_future_version_and_other_agents_files_are_not_touched() {
    let future = HEADER.replace("\"version\":3", "\"version\":99");
    let scratch = Scratch::new(format!("{future}\n{}\njunk\n", user("a", None)));
    let refused = repair(scratch.path(), RepairOptions::default());
    assert!(matches!(refused, Err(Error::ReadOnly { .. })), "{refused:?}");
    assert_eq!(scratch.files(), ["s.jsonl"]);

    let claude = |uuid: &str, parent: &str, side: bool| {
        format!(
            r#"{{"parentUuid":{parent},"isSidechain":{side},"type":"user","message":{{"role":"user","content":"{uuid}"}},"uuid":"{uuid}","timestamp":"2026-01-05T09:00:00.000Z","cwd":"/p","sessionId":"s"}}"#
        )
    };
    let lines =
        [claude("a", "null", false), claude("x", "null", true), claude("b", "\"gone\"", false)];
    let scratch = Scratch::new(lines.join("\n") + "\n");
    let in_place = repair(scratch.path(), RepairOptions { to: RepairTo::InPlace });
    assert!(matches!(in_place, Err(Error::ReadOnlyDialect(_))), "{in_place:?}");
    assert_eq!(scratch.repair().relinked[0].to, Some("a".into()), "not to the subagent's x");
    let expected = [lines[0].clone(), lines[1].clone(), claude("b", "\"a\"", false)];
    assert_eq!(String::from_utf8(scratch.repaired()).unwrap(), expected.join("\n") + "\n");
}

#[test]
fn many_orphans_and_late_parents_take_linear_time() {
    // Every orphan stands after all of its descendants, in each other's way.
    let count = 20_000;
    let mut lines: Vec<String> =
        (0..count).rev().map(|n| user(&format!("d{n}"), Some(&format!("r{n}")))).collect();
    lines.extend((0..count).map(|n| user(&format!("r{n}"), Some("gone"))));
    let scratch = Scratch::new(file(&lines));
    let start = std::time::Instant::now();
    let repair = scratch.repair();
    assert_eq!((repair.relinked.len(), repair.after.reachable), (count, 2 * count));
    assert!(start.elapsed().as_secs() < 20, "{:?}", start.elapsed());
}

/// The ids of everything whole in a file, and what it says.
fn contents(path: &Path) -> Vec<(EntryId, Vec<u8>)> {
    let session = Session::open(path).unwrap();
    let whole = session.entries().map(Result::unwrap).filter(|entry| !entry.is_damaged());
    whole.map(|entry| (entry.id().clone(), entry.raw().to_vec())).collect()
}

fn check(scratch: &Scratch) {
    let Ok(before) = Session::open(scratch.path()) else {
        assert!(examine(scratch.path()).is_err());
        return;
    };
    let old = contents(&scratch.path());
    let diagnosis = scratch.examine();
    let repair = match repair(scratch.path(), RepairOptions::default()) {
        Err(Error::ReadOnly { .. }) => return,
        done => done.unwrap(),
    };
    let Some(output) = &repair.output else {
        let left = diagnosis.findings.iter().map(treering::Finding::code);
        assert!(!left.clone().any(|code| code == "missing-parent"), "{:?}", join(left));
        return;
    };
    let again = treering::repair(output, RepairOptions::default()).unwrap();
    assert_eq!(again.output, None, "repaired once is repaired: {again:?}");
    let after = Session::open(output).unwrap();
    for (id, raw) in old {
        let entry = after.entry(id.as_str()).unwrap();
        let is_relinked = repair.relinked.iter().any(|link| link.entry == id);
        let is_changed = is_relinked || repair.named.contains(&id) || repair.upgraded;
        assert!(is_changed || entry.raw() == raw, "{id} is as it was");
        let old_path = before.tree().path(id.as_str()).unwrap();
        let damaged = old_path.iter().filter(|id| before.entry(id.as_str()).unwrap().is_damaged());
        let (depth, lost) = (after.tree().depth(id.as_str()).unwrap() + 1, damaged.count());
        assert!(depth + lost >= old_path.len(), "{id} has at least what it had above it");
    }
    assert_eq!(before.leaf(), after.leaf(), "the leaf is where it was");
    let rejects = repair.rejects.map(|path| std::fs::read(path).unwrap()).unwrap_or_default();
    let rejects = String::from_utf8_lossy(&rejects);
    for line in &repair.rejected {
        assert!(rejects.contains(&format!("line {line} of ")), "what goes is kept elsewhere");
    }
}

proptest! {
    #![proptest_config(cases(600))]

    #[test]
    fn random_damage_is_repaired_once_and_for_all(seed: u64, entries in 0_usize..40, changes in 0_u64..6) {
        let mut rng = Rng::new(seed);
        let mut bytes = small(seed, entries);
        let done: Vec<&str> = (0..changes).map(|_| mutate(&mut bytes, &mut rng)).collect();
        let scratch = Scratch::new(&bytes);
        let outcome = std::panic::catch_unwind(|| check(&scratch));
        if outcome.is_err() {
            eprintln!("seed {seed}, {entries} entries: {done:?}\n{}", String::from_utf8_lossy(&bytes));
        }
        prop_assert!(outcome.is_ok(), "see above");
    }
}

/// What is wrong with each file of the corpus of faults: its codes, once each, by line.
const FAULTS: [(&str, &str); 47] = [
    ("bad-timestamps", "invalid-timestamp"),
    ("blank-lines", ""),
    ("bom", "byte-order-mark"),
    ("child-before-parent", ""),
    ("crlf", "crlf"),
    ("cycle", "cycle"),
    // Its tool call has no result.
    ("deep-nesting-500", "orphan-tool-call"),
    ("duplicate-id", "duplicate-id"),
    ("duplicate-id-loop", "duplicate-id cycle unreachable-history"),
    ("duplicate-keys", ""),
    ("empty", "empty-file"),
    ("empty-id", "no-id"),
    ("escaped-controls", ""),
    ("garbage-line", "damaged-line"),
    ("glued-lines", "glued-lines"),
    ("glued-to-fragment", "glued-lines damaged-line missing-parent unreachable-history"),
    ("header-only", ""),
    ("header-second", "header-not-first"),
    ("header-torn", "not a session"),
    ("huge-numbers", ""),
    ("integer-ids", ""),
    ("keys-in-unusual-order", ""),
    ("label-missing-target", "missing-target"),
    ("lone-surrogate", ""),
    ("message-null", "no-message no-content"),
    ("missing-first-kept", "missing-first-kept"),
    ("missing-parent-first", "missing-parent"),
    ("no-final-newline", ""),
    ("no-first-kept", "missing-first-kept"),
    ("no-version-tree", "no-version"),
    ("not-a-session", "not a session"),
    ("not-utf8", "not-utf8"),
    ("null-line", "damaged-line"),
    ("one-megabyte-line", "large-entry"),
    ("only-newlines", "not a session"),
    ("parent-absent-and-null", ""),
    ("parent-empty-string", ""),
    ("scalar-lines", "damaged-line"),
    ("self-parent", "cycle unreachable-history"),
    ("spaces-in-json", ""),
    ("title-slot", ""),
    ("torn-in-the-middle", "damaged-entry"),
    ("torn-last-line", "torn-last-line"),
    ("two-headers", "second-header"),
    ("u2028", ""),
    ("unknown-things", "unknown-type"),
    ("version-99", "future-version"),
];

/// The codes that a repair has no rule for.
const KEPT: [&str; 12] = [
    "invalid-timestamp",
    "byte-order-mark",
    "crlf",
    "orphan-tool-call",
    "missing-target",
    "no-message",
    "no-content",
    "missing-first-kept",
    "not-utf8",
    "large-entry",
    "unknown-type",
    "empty-file",
];

fn once_each(findings: &[treering::Finding]) -> Vec<&'static str> {
    let mut codes: Vec<&'static str> = Vec::new();
    for finding in findings {
        if !codes.contains(&finding.code()) {
            codes.push(finding.code());
        }
    }
    codes
}

#[test]
fn every_file_of_the_corpus_of_faults() {
    let default = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/corpus");
    let corpus = std::env::var("TREERING_CORPUS").unwrap_or_else(|_| default.to_owned());
    let faults = Path::new(&corpus).join("faults");
    let Ok(files) = std::fs::read_dir(&faults) else {
        eprintln!("SKIPPED: no corpus of faults at {}", faults.display());
        return;
    };
    let is_session =
        |path: &PathBuf| path.extension().is_some_and(|extension| extension == "jsonl");
    let mut seen = 0;
    for path in files.map(|file| file.unwrap().path()).filter(is_session) {
        seen += 1;
        let name = path.file_stem().unwrap().to_str().unwrap();
        let known = FAULTS.iter().find(|(fault, _)| *fault == name);
        let expected = known.unwrap_or_else(|| panic!("{name} is not in the table")).1;
        let scratch = Scratch::new(std::fs::read(&path).unwrap());
        if expected == "not a session" {
            let refused = examine(scratch.path());
            assert!(matches!(refused, Err(Error::NotASession { .. })), "{name}: {refused:?}");
            continue;
        }
        let diagnosis = scratch.examine();
        assert_eq!(once_each(&diagnosis.findings).join(" "), expected, "{name}");
        let is_kept = |code: &&str| KEPT.contains(code);
        let done = match repair(scratch.path(), RepairOptions::default()) {
            Err(Error::ReadOnly { .. }) => panic!("{name} needs no repair"),
            done => done.unwrap(),
        };
        let unrepaired = expected.split(' ').all(|code| {
            code.is_empty() || is_kept(&code) || ["no-version", "future-version"].contains(&code)
        });
        assert_eq!(done.output.is_none(), unrepaired, "{name}");
        let Some(output) = done.output else { continue };
        let left = once_each(&examine(output).unwrap().findings);
        assert!(left.iter().all(is_kept), "{name}: {left:?}");
    }
    assert_eq!(seen, FAULTS.len());
}
