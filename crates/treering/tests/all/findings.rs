//! Tests that findings have their lines and never prevent a file from being read.

use crate::support::{compaction, entry, file, label, leaf, open, user};
use treering::EntryId;
use treering::findings::Problem;

fn found(text: &str) -> Vec<(u64, Problem)> {
    let findings = open(text).findings().unwrap();
    findings.into_iter().map(|finding| (finding.line.unwrap(), finding.problem)).collect()
}

fn id(text: &str) -> EntryId {
    EntryId::from(text)
}

#[test]
fn a_sound_file_has_no_findings() {
    let lines = [
        user("a", None),
        label("b", Some("a"), "a", "x"),
        compaction("c", Some("b"), "a"),
        leaf("d", Some("a")),
        leaf("e", None),
    ];
    assert_eq!(found(&file(&lines)), []);
}

#[test]
fn what_names_a_missing_entry_is_reported() {
    let lines = [
        user("a", None),
        label("b", Some("a"), "gone", "x"),
        compaction("c", Some("b"), "gone"),
        leaf("d", Some("gone")),
    ];
    let expected = [
        (3, Problem::MissingTarget(id("b"))),
        (4, Problem::MissingFirstKept(id("c"))),
        (5, Problem::LostParent(id("d"))),
        (5, Problem::MissingTarget(id("d"))),
    ];
    assert_eq!(found(&file(&lines)), expected);
}

#[test]
fn every_kind_of_damage_is_reported_with_its_line() {
    let torn = &user("t", Some("a"))[..70];
    let text = file(&[
        user("a", None),
        "42".into(),
        torn.into(),
        format!("{}{}", user("b", Some("a")), user("c", Some("b"))),
        user("a", None),
        entry("message", "", Some("a"), r#","message":{"role":"user"}"#),
        crate::support::HEADER.into(),
    ]) + &user("z", Some("c"))[..40];
    let found = found(&text);
    let lines: Vec<u64> = found.iter().map(|(line, _)| *line).collect();
    assert_eq!(lines, [2, 3, 4, 5, 7, 8, 9]);
    assert_eq!(found[0].1, Problem::Duplicate(id("a")));
    assert_eq!(found[1].1, Problem::Damaged);
    assert_eq!(found[2].1, Problem::DamagedEntry(id("t")));
    assert_eq!(found[3].1, Problem::Glued);
    assert!(matches!(found[4].1, Problem::NoId(_)));
    assert_eq!(found[5].1, Problem::SecondHeader);
    assert_eq!(found[6].1, Problem::TornTail);
}
