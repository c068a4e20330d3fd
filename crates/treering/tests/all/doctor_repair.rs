//! Tests that a repair fixes all that can be fixed, loses nothing, and changes nothing the second
//! time.

use crate::doctor::Scratch;
use crate::support::{HEADER, assistant, cases, file, join, user};
use proptest::prelude::*;
use std::path::Path;
use treering::doctor::{RepairOptions, RepairTo, examine, repair};
use treering::{EntryId, Error, Session};
use treering_testkit::generate::small;
use treering_testkit::mutate::mutate;
use treering_testkit::rng::Rng;

/// Returns the lines of a repaired file that are neither header nor the repair's own.
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
    let relinked = &repair.changes.relinked[0];
    assert_eq!(repair.changes.relinked.len(), 1);
    assert_eq!(relinked.entry, "d");
    assert_eq!((relinked.from.as_deref(), relinked.to.as_ref()), (Some("c"), Some(&"b".into())));
    assert_eq!((repair.before.path, repair.after.path), (2, 4));
    assert_eq!((repair.before.messages, repair.after.messages), (2, 4));
    assert_eq!((repair.before.reachable, repair.after.reachable), (2, 4));
    assert_eq!((repair.before.entries, repair.after.entries), (4, 4));
    assert_eq!((repair.contexts_gained, &*repair.changes.rejected), (1, &[4][..]));
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
    assert_eq!(repair.changes.relinked[0].to, Some("a".into()), "not to x, which stands before it");
    assert_eq!(bodies(&scratch.repaired())[2], user("c", Some("a")));
}

#[test]
fn cycles_are_broken_where_they_begin_in_the_file() {
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
        .changes
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
    // b and c come before their ancestor a.
    let lines =
        [user("r", None), user("c", Some("b")), user("b", Some("a")), user("a", Some("gone"))];
    let repair = Scratch::new(file(&lines)).repair();
    assert_eq!(
        (repair.changes.relinked.len(), repair.changes.relinked[0].to.as_ref()),
        (1, Some(&"r".into()))
    );
    let lines = [user("c", Some("b")), user("b", Some("a")), user("a", Some("gone"))];
    let scratch = Scratch::new(file(&lines));
    assert_eq!(scratch.repair().changes.relinked[0].to, None, "there is nothing else: a root");
    assert!(bodies(&scratch.repaired())[2].contains("\"parentId\":null"));
}

#[test]
fn of_lines_with_one_id_nothing_is_lost() {
    let other = user("b", Some("a")).replace("\"content\":\"b\"", "\"content\":\"first\"");
    let lines =
        [user("a", None), other, user("c", Some("b")), user("b", Some("a")), user("c", Some("b"))];
    let scratch = Scratch::new(file(&lines));
    let repair = scratch.repair();
    assert_eq!(
        (repair.changes.renamed.len(), repair.changes.copies),
        (1, 1),
        "c is a copy, b is not"
    );
    let session = Session::open(repair.output.unwrap()).unwrap();
    let fresh = session.entry(repair.changes.renamed[0].entry.as_str()).unwrap();
    assert_eq!((fresh.parent(), &repair.changes.renamed[0].from), (Some(&"a".into()), &"b".into()));
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
    assert_eq!((repair.changes.relinked.len(), repair.changes.renamed.len()), (0, 0));
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
    assert!(repair.changes.moved_header);
    assert_eq!((repair.changes.split, &*repair.changes.rejected), (1, &[5][..]));
    let expected = [stray, HEADER, &user("a", None), &user("b", Some("a")), &user("c", Some("b"))];
    assert_eq!(String::from_utf8(scratch.repaired()).unwrap(), expected.join("\n") + "\n");
}

#[test]
fn an_entry_without_an_id_gets_the_one_it_is_shown_under() {
    let nameless = r#"{"type":"custom","customType":"x","parentId":"a","timestamp":null}"#;
    let scratch = Scratch::new(file(&["7".into(), user("a", None), nameless.into()]));
    let shown = Session::open(scratch.path()).unwrap().leaf().unwrap();
    let repair = scratch.repair();
    assert_eq!(repair.changes.named, std::slice::from_ref(&shown));
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
    let options = RepairOptions::new().to(RepairTo::InPlace);
    let repair = treering::doctor::repair(scratch.path(), options.clone()).unwrap();
    assert_eq!(repair.output, Some(std::fs::canonicalize(scratch.path()).unwrap()));
    assert_eq!(std::fs::read_to_string(repair.backup.unwrap()).unwrap(), text);
    assert_eq!(std::fs::read(scratch.path()).unwrap(), file(&[user("a", None)]).into_bytes());
    let names = ["s.jsonl", "s.jsonl.bak", "s.jsonl.bak.2", "s.rejects.txt"];
    assert_eq!(scratch.files(), names);
    let again = treering::doctor::repair(scratch.path(), options).unwrap();
    assert_eq!((again.output, scratch.files().len()), (None, 4));
}

#[test]
fn nothing_is_overwritten() {
    let scratch = Scratch::new(file(&[user("a", None), "junk".into()]));
    scratch.repair();
    let refused = repair(scratch.path(), RepairOptions::default());
    assert!(matches!(refused, Err(Error::AlreadyExists(_))), "{refused:?}");
    let to = RepairTo::Path(scratch.path());
    let refused = repair(scratch.path(), RepairOptions::new().to(to));
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
    assert!(repair.changes.upgraded);
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
    let in_place = repair(scratch.path(), RepairOptions::new().to(RepairTo::InPlace));
    assert!(matches!(in_place, Err(Error::ReadOnlyDialect(_))), "{in_place:?}");
    assert_eq!(
        scratch.repair().changes.relinked[0].to,
        Some("a".into()),
        "not to the subagent's x"
    );
    let expected = [lines[0].clone(), lines[1].clone(), claude("b", "\"a\"", false)];
    assert_eq!(String::from_utf8(scratch.repaired()).unwrap(), expected.join("\n") + "\n");
}

#[test]
fn many_orphans_after_their_descendants_are_all_linked() {
    // Every orphan comes after all of its descendants, which excludes most candidates.
    let count = 20_000;
    let mut lines: Vec<String> =
        (0..count).rev().map(|n| user(&format!("d{n}"), Some(&format!("r{n}")))).collect();
    lines.extend((0..count).map(|n| user(&format!("r{n}"), Some("gone"))));
    let scratch = Scratch::new(file(&lines));
    let repair = scratch.repair();
    assert_eq!((repair.changes.relinked.len(), repair.after.reachable), (count, 2 * count));
}

/// Returns the ids of everything whole in a file, and what it says.
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
        let left = diagnosis.findings.iter().map(treering::findings::Finding::code);
        assert!(!left.clone().any(|code| code == "missing-parent"), "{:?}", join(left));
        return;
    };
    let again = treering::doctor::repair(output, RepairOptions::default()).unwrap();
    assert_eq!(again.output, None, "repaired once is repaired: {again:?}");
    let after = Session::open(output).unwrap();
    for (id, raw) in old {
        let entry = after.entry(id.as_str()).unwrap();
        let is_relinked = repair.changes.relinked.iter().any(|link| link.entry == id);
        let is_changed =
            is_relinked || repair.changes.named.contains(&id) || repair.changes.upgraded;
        assert!(is_changed || entry.raw() == raw, "{id} is as it was");
        let old_path = before.tree().path(id.as_str()).unwrap();
        let damaged = old_path.iter().filter(|id| before.entry(id.as_str()).unwrap().is_damaged());
        let (depth, lost) = (after.tree().depth(id.as_str()).unwrap() + 1, damaged.count());
        assert!(depth + lost >= old_path.len(), "{id} has at least what it had above it");
    }
    assert_eq!(before.leaf(), after.leaf(), "the leaf is where it was");
    let rejects = repair.rejects.map(|path| std::fs::read(path).unwrap()).unwrap_or_default();
    let rejects = String::from_utf8_lossy(&rejects);
    for line in &repair.changes.rejected {
        assert!(rejects.contains(&format!("line {line} of ")), "what goes is kept elsewhere");
    }
}

proptest! {
    #![proptest_config(cases(80))]

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

/// A title slot as omp writes it.
fn title_slot(title: &str) -> String {
    let start = format!(
        r#"{{"type":"title","v":1,"title":"{title}","updatedAt":"2026-01-05T09:00:00.000Z","pad":""#
    );
    format!("{start}{}\"}}\n", " ".repeat(255 - 2 - start.len()))
}

#[test]
fn a_second_title_slot_and_a_header_without_an_id_are_found_and_repaired() {
    let without_id = HEADER.replace(r#""id":"s1","#, "");
    let body = format!("{}\n", user("a", None));
    for (text, code, id) in [
        (
            format!("{}{}{HEADER}\n{body}", title_slot("one"), title_slot("two")),
            "second-title",
            "s1",
        ),
        (format!("{without_id}\n{body}"), "no-session-id", "s"),
    ] {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("s.jsonl");
        std::fs::write(&path, &text).unwrap();
        let codes = |path: &Path| -> Vec<&'static str> {
            examine(path).unwrap().findings.iter().map(|one| one.code()).collect()
        };
        assert_eq!(codes(&path), [code]);
        let fixed = dir.path().join("fixed.jsonl");
        let options = RepairOptions::new().to(RepairTo::Path(fixed.clone()));
        repair(&path, options).unwrap();
        assert!(codes(&fixed).is_empty(), "{:?}", codes(&fixed));
        let session = Session::open(&fixed).unwrap();
        assert_eq!((session.id().as_str(), session.tree().contains("a")), (id, true));
    }
}

#[test]
fn a_planned_repair_says_what_it_does_and_does_it() {
    let lines = [user("a", None), user("b", Some("gone")), "garbage".to_owned()];
    let scratch = Scratch::new(file(&lines));
    let plan = treering::doctor::plan_repair(scratch.path()).unwrap();
    assert!(!plan.is_empty());
    assert_eq!((plan.changes().relinked.len(), &*plan.changes().rejected), (1, &[4][..]));
    let findings = plan.findings().unwrap();
    let removed = findings.iter().filter(|finding| plan.repairs(finding)).count();
    assert!(removed >= 2, "{findings:?}");
    assert_eq!(scratch.files().len(), 1, "a plan writes nothing");
    let output = plan.output(&RepairOptions::new()).unwrap();
    let repair = plan.apply(RepairOptions::new()).unwrap();
    assert_eq!((&repair.changes, repair.before), (plan.changes(), plan.before()));
    assert_eq!(repair.output, Some(output));
    let healthy = treering::doctor::plan_repair(repair.output.unwrap()).unwrap();
    assert!(healthy.is_empty());
}

#[test]
fn an_outdated_plan_changes_nothing() {
    let lines = [user("a", None), user("b", Some("gone"))];
    let scratch = Scratch::new(file(&lines));
    let plan = treering::doctor::plan_repair(scratch.path()).unwrap();
    Session::open(scratch.path()).unwrap().append(treering::Message::user("more")).unwrap();
    let before = std::fs::read(scratch.path()).unwrap();
    for to in [RepairTo::Beside, RepairTo::InPlace] {
        let refused = plan.apply(RepairOptions::new().to(to));
        assert!(matches!(refused, Err(Error::OutdatedPlan(_))), "{refused:?}");
    }
    assert_eq!(std::fs::read(scratch.path()).unwrap(), before);
    assert_eq!(scratch.files().len(), 1);
}
