//! Merging branches: the entries that are new, the records that are written, and the result of a
//! second merge.

use crate::support::{
    assistant, calls, entry, file, join, leaf, open, path, result, sources, user, written,
};
use treering::merge::{MERGE_SUMMARY_PREAMBLE, Merge, MergePlan, MergeSummary, Selection};
use treering::{Error, Kind, Message, Position, Session};

/// `m1 m2` and `s1 s2 s3` below `a`; the leaf is `m2`.
fn story() -> Vec<String> {
    vec![
        user("a", None),
        user("s1", Some("a")),
        calls("s2", Some("s1"), &["x"]),
        result("s3", Some("s2"), "x"),
        user("m1", Some("a")),
        assistant("m2", Some("m1")),
    ]
}

fn ready(session: &Session, other: &str) -> MergePlan {
    match session.plan_merge(other, 0).unwrap() {
        Merge::Ready(plan) => *plan,
        Merge::NothingNew => panic!("nothing to merge"),
    }
}

fn new(session: &Session, other: &str) -> String {
    match session.plan_merge(other, 0).unwrap() {
        Merge::Ready(plan) => join(&plan.entries),
        Merge::NothingNew => String::new(),
    }
}

/// Moves the leaf to an entry, appends a message, and returns the id of the message.
fn say(session: &Session, at: &str, text: &str) -> String {
    session.branch(at).unwrap();
    session.append(Message::user(text)).unwrap().to_string()
}

fn summarize(session: &Session, other: &str) -> String {
    let plan = ready(session, other);
    let text = plan.compose("it went well");
    let summary = MergeSummary::new(&text);
    session.apply_merge_summary(&plan, summary).unwrap().to_string()
}

#[test]
fn a_plan_has_what_the_other_branch_did() {
    let session = open(file(&story()));
    let plan = ready(&session, "s3");
    assert_eq!(join(&plan.entries), "s1 s2 s3");
    assert_eq!(plan.common_ancestor.as_ref().unwrap(), "a");
    assert_eq!((plan.base.as_ref().unwrap(), &plan.from), (&"a".into(), &"s3".into()));
    assert_eq!(plan.into.as_ref().unwrap(), "m2");
    assert_eq!(join(plan.messages.iter().map(|m| &m.entry)), "s1 s2", "as for a branch summary");
    assert_eq!(plan.file_ops.lists().read, ["x.txt"]);
    assert!(plan.conversation().starts_with("[User]: s1"), "{}", plan.conversation());
    let text = plan.compose("S");
    assert_eq!(text, format!("{MERGE_SUMMARY_PREAMBLE}S\n\n<read-files>\nx.txt\n</read-files>"));
    assert!(!plan.is_continuation());
    assert_eq!(session.tree().len(), 6, "nothing was written");
}

#[test]
fn there_may_be_nothing_to_merge() {
    let session = open(file(&story()));
    for other in ["m2", "m1", "a"] {
        assert!(matches!(session.plan_merge(other, 0).unwrap(), Merge::NothingNew), "{other}");
    }
    // There are no messages there.
    session.branch("a").unwrap();
    let model = treering::NewEntry::model_change("acme", "m");
    let model = session.append(model).unwrap();
    session.branch("m2").unwrap();
    assert_eq!(new(&session, model.as_str()), "");
    assert!(matches!(session.plan_merge("nowhere", 0), Err(Error::UnknownEntry(_))));
    // An entry that continues this one, and one that has nothing in common with it.
    session.branch("s1").unwrap();
    assert!(ready(&session, "s3").is_continuation());
    session.branch(Position::Start).unwrap();
    let plan = ready(&session, "s3");
    assert_eq!((join(&plan.entries), plan.base), ("a s1 s2 s3".into(), None));
}

#[test]
fn a_summary_records_the_merge() {
    let session = open(file(&story()));
    let plan = ready(&session, "s3");
    let summary =
        MergeSummary::new("S").usage(br#"{"input":1}"#).details(br#"{"mine":1.50}"#).from_hook();
    let id = session.apply_merge_summary(&plan, summary).unwrap();
    let entry = session.entry(id.as_str()).unwrap();
    assert_eq!((entry.kind(), entry.parent().unwrap().as_str()), (Kind::BranchSummary, "m2"));
    assert_eq!(entry.text("fromId").unwrap(), "s3");
    let details = br#"{"mine":1.50,"merge":{"from":"s3","base":"a"}}"#;
    assert_eq!(entry.get("details").unwrap(), details);
    assert_eq!(entry.get("usage").unwrap(), br#"{"input":1}"#);
    assert_eq!(entry.get("fromHook").unwrap(), b"true");
    assert_eq!(entry.merged_from().unwrap(), "s3");
    assert_eq!(sources(&session.context().unwrap()), format!("a m1 m2 {id}"));
    assert_eq!(session.leaf(), Some(id));

    let plain = open(file(&story()));
    let id = summarize(&plain, "s3");
    let entry = plain.entry(&id).unwrap();
    let details = br#"{"readFiles":["x.txt"],"modifiedFiles":[],"merge":{"from":"s3","base":"a"}}"#;
    assert_eq!(entry.get("details").unwrap(), details);
    let odd = MergeSummary::new("").details(b"[]");
    assert!(matches!(plain.apply_merge_summary(&plan, odd), Err(Error::InvalidEntry(_))));
}

#[test]
fn a_full_merge_is_copies_and_a_record() {
    let session = open(file(&story()));
    let merged = session.apply_merge(&ready(&session, "s3")).unwrap();
    assert_eq!(merged.copies.len(), 3);
    assert_eq!(
        path(&session, merged.record.as_str()),
        format!("a m1 m2 {} {}", join(&merged.copies), merged.record)
    );
    let record = session.entry(merged.record.as_str()).unwrap();
    assert_eq!(record.text("customType").unwrap(), "treering.merge");
    assert_eq!(record.get("data").unwrap(), br#"{"from":"s3","base":"a"}"#);
    assert_eq!(record.merged_from().unwrap(), "s3");
    assert_eq!(sources(&session.context().unwrap()), format!("a m1 m2 {}", join(&merged.copies)));
    let again = open(written(&session));
    assert_eq!(again.leaf(), Some(merged.record));
    assert_eq!(again.context().unwrap(), session.context().unwrap());
}

/// By summary and by copies alike.
fn both_ways(test: impl Fn(&Session, &dyn Fn(&str))) {
    let session = open(file(&story()));
    test(&session, &|other| drop(summarize(&session, other)));
    let session = open(file(&story()));
    test(&session, &|other| drop(session.apply_merge(&ready(&session, other)).unwrap()));
}

#[test]
fn a_second_merge_brings_only_what_is_new() {
    both_ways(|session, merge| {
        merge("s3");
        let here = session.leaf().unwrap();
        assert_eq!(new(session, "s3"), "");
        assert_eq!(new(session, "s1"), "", "nor any part of it");
        let s4 = say(session, "s3", "s4");
        let beside = say(session, "s1", "beside");
        session.branch(here.as_str()).unwrap();
        let plan = ready(session, &s4);
        assert_eq!((join(&plan.entries), plan.base.unwrap().as_str()), (s4.clone(), "s3"));
        assert_eq!(plan.common_ancestor.unwrap(), "a");
        assert_eq!(new(session, &beside), beside);
        merge(&s4);
        assert_eq!(new(session, &s4), "");
        // On another branch nothing was merged.
        session.branch("m2").unwrap();
        assert_eq!(new(session, &s4), format!("s1 s2 s3 {s4}"));
    });
}

#[test]
fn merges_in_both_directions_bring_nothing_back() {
    both_ways(|session, merge| {
        merge("s3");
        let m3 = say(session, session.leaf().unwrap().as_str(), "m3");
        session.branch("s3").unwrap();
        assert_eq!(shown(session, &new(session, &m3)), format!("m1 m2 {m3}"));
        merge(&m3);
        let s4 = say(session, session.leaf().unwrap().as_str(), "s4");
        session.branch(&m3).unwrap();
        assert_eq!(shown(session, &new(session, &s4)), s4);
        merge(&s4);
        let here = session.leaf().unwrap();
        assert_eq!(new(session, &s4), "");
        session.branch(&s4).unwrap();
        assert_eq!(shown(session, &new(session, here.as_str())), "");
    });
}

/// Those that are part of a conversation.
fn shown(session: &Session, ids: &str) -> String {
    let is_message = |id: &&str| session.tree().kind(id).unwrap() != Kind::Custom;
    join(ids.split_whitespace().filter(is_message))
}

#[test]
fn what_came_by_way_of_a_third_branch_is_known() {
    both_ways(|session, merge| {
        let t1 = say(session, "a", "t1");
        session.branch("s3").unwrap();
        merge(&t1);
        let side = session.leaf().unwrap();
        session.branch("m2").unwrap();
        merge(side.as_str());
        assert_eq!(new(session, &t1), "");
    });
}

#[test]
fn what_was_picked_is_not_merged_again() {
    let session = open(file(&story()));
    session.cherry_pick(&Selection::entry("s2")).unwrap();
    let plan = ready(&session, "s3");
    assert_eq!((join(&plan.entries), plan.base.unwrap().as_str()), ("s1".into(), "a"));
}

#[test]
fn a_branch_that_parted_in_a_turn_brings_the_whole_turn() {
    let lines = [
        user("a", None),
        calls("c", Some("a"), &["x", "y"]),
        result("rx", Some("c"), "x"),
        user("m", Some("rx")),
        result("ry", Some("rx"), "y"),
        assistant("d", Some("ry")),
        leaf("end", Some("m")),
    ];
    let session = open(file(&lines));
    let plan = ready(&session, "d");
    assert_eq!((join(&plan.entries), plan.base.as_ref().unwrap().as_str()), ("ry d".into(), "rx"));
    assert_eq!(join(session.plan_merge_copies(&plan).unwrap().entries), "c rx ry d");
    session.apply_merge(&plan).unwrap();
    assert_eq!(new(&session, "d"), "");
}

#[test]
fn a_merge_that_was_cut_short_is_completed_by_the_next() {
    let whole = open(file(&story()));
    let merged = whole.apply_merge(&ready(&whole, "s3")).unwrap();
    let bytes = written(&whole);
    let ends: Vec<usize> = memchr_lines(&bytes);
    // Header, six entries, three copies, the record.
    for lines in 7..=10 {
        let session = open(&bytes[..ends[lines - 1]]);
        let done = lines - 7;
        match session.plan_merge("s3", 0).unwrap() {
            Merge::Ready(plan) => {
                assert_eq!(join(&plan.entries), ["s1 s2 s3", "s2 s3", "s3"][done]);
                let rest = session.apply_merge(&plan).unwrap();
                assert_eq!(rest.copies.len(), 3 - done);
            }
            Merge::NothingNew => assert_eq!(done, 3),
        }
        assert_eq!(session.context().unwrap().messages.len(), 6, "as if nothing had happened");
    }
    assert_eq!(merged.copies.len(), 3);
}

fn memchr_lines(bytes: &[u8]) -> Vec<usize> {
    (0..bytes.len()).filter(|&at| bytes[at] == b'\n').map(|at| at + 1).collect()
}

#[test]
fn records_that_point_anywhere_do_no_harm() {
    let record = |id: &str, parent: &str, from: &str| {
        let more =
            format!(r#","customType":"treering.merge","data":{{"from":{from},"base":null}}"#);
        entry("custom", id, Some(parent), &more)
    };
    for from in [r#""m2""#, r#""q""#, r#""nowhere""#, "7", "null", r#""s3""#] {
        let mut lines = story();
        lines.push(record("q", "m2", from));
        lines.push(record("p", "s3", r#""q""#));
        lines.push(leaf("end", Some("q")));
        let session = open(file(&lines));
        let expected = if from == r#""s3""# { "" } else { "s1 s2 s3" };
        assert_eq!(new(&session, "p"), expected, "{from}");
    }
}
