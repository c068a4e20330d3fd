//! Tests of cherry-picks: the entries that are copied, their companions, and the entries that are
//! left out.

use super::support::selection;
use crate::support::{
    assistant, calls, compaction, entry, file, join, label, leaf, open, result, sources, user,
};
use tempfile::TempDir;
use treering::merge::{PickPlan, Repeated, Selection};
use treering::provider::Pairing;
use treering::{CreateOptions, Dialect, Error, ForkOptions, Message, Session};

/// `a` is the root; `m` on one branch of it, everything else on the other.
fn story() -> Vec<String> {
    vec![
        user("a", None),
        user("b", Some("a")),
        calls("c", Some("b"), &["x", "y"]),
        result("rx", Some("c"), "x"),
        label("l", Some("rx"), "a", "start"),
        result("ry", Some("l"), "y"),
        assistant("d", Some("ry")),
        compaction("k", Some("d"), "d"),
        entry("branch_summary", "s", Some("k"), r#","fromId":"q","summary":"what q did""#),
        entry(
            "custom_message",
            "cm",
            Some("s"),
            r#","customType":"t","content":"hi","display":true"#,
        ),
        calls("e", Some("cm"), &["z"]),
        user("m", Some("a")),
        leaf("end", Some("m")),
    ]
}

fn planned(session: &Session, selection: &str) -> PickPlan {
    let selection = self::selection(selection);
    session.plan_pick(session, &selection, Repeated::Skipped).unwrap()
}

fn picked(session: &Session, selection: &str) -> String {
    join(planned(session, selection).entries)
}

#[test]
fn calls_and_results_come_together() {
    let session = open(file(&story()));
    for (selection, expected, companions) in [
        ("b", "b", ""),
        ("c", "c rx ry", "rx ry"),
        ("rx", "c rx ry", "c ry"),
        ("ry", "c rx ry", "c rx"),
        ("b..rx", "b c rx ry", "ry"),
        ("b..c", "b c rx ry", "rx ry"),
        ("ry..d", "c rx ry d", "c rx"),
        ("b..e", "b c rx ry d s cm e", ""),
        ("s", "s", ""),
        ("cm", "cm", ""),
    ] {
        let plan = planned(&session, selection);
        assert_eq!(join(&plan.entries), expected, "{selection}");
        assert_eq!(join(&plan.companions), companions, "with {selection}");
    }
    let plan = planned(&session, "b..e");
    assert_eq!(join(&plan.left_out), "l k", "a label and a compaction");
    assert_eq!(plan.unanswered, [("e".into(), "z".to_owned())]);
    assert!(plan.tokens > 0);
}

#[test]
fn a_copy_has_the_bytes_of_its_original() {
    let odd = r#","message":{"role":"user","content":"\ud800 \u0041","n":1e400,"z":{},"a":0.10}"#;
    let lines = [user("a", None), entry("message", "b", Some("a"), odd), user("m", Some("a"))];
    let session = open(file(&lines));
    let copies = session.cherry_pick(&Selection::entry("b")).unwrap();
    assert_eq!(
        join(session.tree().path(copies[0].as_str()).unwrap()),
        format!("a m {}", copies[0])
    );
    let copy = session.entry(copies[0].as_str()).unwrap();
    let text = String::from_utf8_lossy(copy.raw()).into_owned();
    assert!(text.ends_with(&format!(r#"{odd},"copiedFrom":{{"entry":"b"}}}}"#)), "{text}");
    assert_eq!(session.leaf(), Some(copies[0].clone()));

    // A copy of a copy names the original.
    session.branch("a").unwrap();
    let again = session.cherry_pick(&Selection::entry(copies[0].as_str())).unwrap();
    let again = session.entry(again[0].as_str()).unwrap();
    assert_eq!(again.copied_from().unwrap().entry, "b");
    assert!(String::from_utf8_lossy(again.raw()).ends_with(r#","copiedFrom":{"entry":"b"}}"#));
}

#[test]
fn existing_entries_are_copied_again_only_with_the_option() {
    let session = open(file(&story()));
    session.cherry_pick(&selection("b..d")).unwrap();
    let plan = planned(&session, "a..s");
    assert_eq!(join(&plan.entries), "s");
    let skipped: Vec<String> = plan.skipped.iter().map(|(from, _)| from.to_string()).collect();
    assert_eq!(skipped, ["a", "b", "c", "rx", "ry", "d"]);
    assert_eq!(plan.skipped[0].1, "a", "an entry of the path itself");
    assert_ne!(plan.skipped[1].1, "b", "a copy");
    assert!(planned(&session, "b").is_empty());
    assert_eq!(session.apply_pick(&planned(&session, "b")).unwrap().len(), 0);

    let all = session.plan_pick(&session, &selection("b..d"), Repeated::Copied).unwrap();
    assert_eq!(join(all.entries), "b c rx ry d");
}

#[test]
fn results_complete_the_call_that_the_path_ends_with() {
    let mut lines = story();
    lines.push(leaf("end2", Some("rx")));
    assert_eq!(picked(&open(file(&lines)), "ry"), "ry", "the other result is missing here");
    // Said meanwhile: the result would stand alone.
    lines.push(user("n", Some("rx")));
    assert_eq!(picked(&open(file(&lines)), "ry"), "c rx ry");
    // There is another result for the same call.
    lines.push(result("ry2", Some("rx"), "y"));
    assert_eq!(picked(&open(file(&lines)), "ry"), "c rx ry");
    // A copy is as good as the call itself.
    let torn = [
        user("a", None),
        calls("c", Some("a"), &["x", "y"]),
        result("rx", Some("c"), "x"),
        result("ry", Some("rx"), "y"),
        calls("c2", Some("a"), &["x", "y"])
            .replace(r#","timestamp""#, r#","copiedFrom":{"entry":"c"},"timestamp""#),
    ];
    assert_eq!(picked(&open(file(&torn)), "c"), "rx ry");
}

#[test]
fn of_several_branches_the_one_with_most_results_counts_and_then_the_newest() {
    let mut lines = vec![
        user("a", None),
        calls("c", Some("a"), &["x", "y"]),
        result("x1", Some("c"), "x"),
        result("y1", Some("x1"), "y"),
        result("x2", Some("c"), "x"),
        user("m", Some("a")),
    ];
    assert_eq!(picked(&open(file(&lines)), "c"), "c x1 y1");
    assert_eq!(picked(&open(file(&lines)), "x2"), "c x2", "the branch that was asked for");
    lines.insert(5, result("y2", Some("x2"), "y"));
    assert_eq!(picked(&open(file(&lines)), "c"), "c x2 y2");
    // Not the result of a later call of the same name.
    let reused = [
        user("a", None),
        calls("c", Some("a"), &["x"]),
        calls("d", Some("c"), &["x"]),
        result("rd", Some("d"), "x"),
        user("m", Some("a")),
    ];
    let session = open(file(&reused));
    assert_eq!(picked(&session, "c"), "c");
    assert_eq!(picked(&session, "rd"), "d rd");
    assert_eq!(planned(&session, "c").unanswered.len(), 1);
}

#[test]
fn repeated_calls_keep_their_own_results() {
    let lines = [
        user("a", None),
        calls("c", Some("a"), &["x"]),
        result("r", Some("c"), "x"),
        user("m", Some("c")),
    ];
    let session = open(file(&lines));
    let copies = session.cherry_pick(&Selection::entry("r")).unwrap();
    assert_eq!(copies.len(), 2, "the call is there, but something was said since");
    let llm = session.context().unwrap().to_llm(Pairing::Strict);
    assert_eq!(join(llm.messages.iter().map(|m| &m.entry)), format!("a c c m {}", join(&copies)));
    assert_eq!(llm.repairs.len(), 1, "only the first call has no result: {:?}", llm.repairs);
}

#[test]
fn edits_come_along_with_what_they_edit() {
    let mut lines = story();
    let edit = |id: &str, parent: &str, target: &str, replacement: &str| {
        let more = format!(r#","targetId":"{target}","replacement":{replacement}"#);
        entry("context_edit", id, Some(parent), &more)
    };
    lines.extend([
        edit("e1", "d", "b", "null"),
        edit("e2", "e1", "rx", r#"{"content":"short"}"#),
        edit("e3", "e2", "a", "null"),
        leaf("end2", Some("m")),
    ]);
    let session = open(file(&lines));
    let copies = session.cherry_pick(&selection("b..e3")).unwrap();
    assert_eq!(copies.len(), 5);
    let context = session.context().unwrap();
    assert_eq!(sources(&context), format!("a m {}", join(&copies[1..])), "b is not there, a is");
    let short = String::from_utf8_lossy(&context.messages[3].json).into_owned();
    assert!(short.contains(r#""text":"short""#), "{short}");
    assert_eq!(join(planned(&open(file(&lines)), "b..e3").left_out), "l e3");
    // An entry that is copied alone comes without its edits.
    session.branch("m").unwrap();
    session.cherry_pick(&Selection::entry("b")).unwrap();
    assert_eq!(session.context().unwrap().messages.len(), 3);
}

#[test]
fn what_cannot_be_picked() {
    let session = open(file(&story()));
    let fails = |selection: &str| {
        session.plan_pick(&session, &self::selection(selection), Repeated::Skipped).unwrap_err()
    };
    assert!(matches!(fails("nowhere"), Error::UnknownEntry(_)));
    assert!(matches!(fails("m..d"), Error::NotOnPath { .. }));
    assert!(matches!(fails("d..b"), Error::NotOnPath { .. }), "upside down");
    for none in ["l", "k"] {
        assert!(matches!(fails(none), Error::NotPickable { .. }), "{none}");
    }
    let future = file(&story()).replace("\"version\":3", "\"version\":9");
    let future = open(future);
    let error = future.cherry_pick(&Selection::entry("b")).unwrap_err();
    assert!(matches!(error, Error::ReadOnly { .. }), "{error}");
}

#[test]
fn a_damaged_entry_is_left_out() {
    let mut lines = story();
    lines[1] = lines[1].replace(r#""content":"b"}}"#, r#""content":"b"#);
    let session = open(file(&lines));
    let plan = planned(&session, "b..c");
    assert_eq!((join(plan.entries), join(plan.left_out)), ("c rx ry".into(), "b".into()));
}

#[test]
fn from_another_session_the_original_is_named_with_it() {
    let source = open(file(&story()));
    let target = Session::in_memory("/elsewhere");
    target.append(Message::from_json(br#"{"role":"user","content":"hello"}"#).unwrap()).unwrap();
    let copies = target.cherry_pick_from(&source, &Selection::entry("c")).unwrap();
    assert_eq!(copies.len(), 3);
    let origin = target.entry(copies[0].as_str()).unwrap().copied_from().unwrap();
    assert_eq!((origin.entry.as_str(), origin.session.as_deref()), ("c", Some("s1")));
    assert_eq!(target.cherry_pick_from(&source, &Selection::entry("rx")).unwrap().len(), 0);

    // Back again: it is known where it comes from.
    let plan = source.plan_pick(&target, &Selection::entry(copies[0].as_str()), Repeated::Skipped);
    assert_eq!(join(plan.unwrap().entries), join(&copies), "not on this path");
    source.branch("d").unwrap();
    let plan = source.plan_pick(&target, &Selection::entry(copies[0].as_str()), Repeated::Skipped);
    let plan = plan.unwrap();
    assert!(plan.is_empty());
    assert_eq!(join(plan.skipped.iter().map(|(_, here)| here)), "c rx ry");
}

#[test]
fn a_fork_shares_the_entries_of_its_source() {
    let directory = TempDir::new().unwrap();
    let at = directory.path().join("s.jsonl");
    std::fs::write(&at, file(&story())).unwrap();
    let session = Session::open(&at).unwrap();
    let fork = session.fork("b", ForkOptions::default()).unwrap();
    let plan = fork.plan_pick(&session, &selection("a..d"), Repeated::Skipped).unwrap();
    assert_eq!(join(plan.entries), "c rx ry d");
    // The same id in a session that has nothing to do with it means nothing.
    let stranger = file(&[user("b", None).replace("09:00:20", "10:00:20")]);
    let stranger = open(stranger.replace("\"s1\"", "\"s2\""));
    let plan = stranger.plan_pick(&session, &Selection::entry("b"), Repeated::Skipped).unwrap();
    assert_eq!(join(plan.entries), "b");
}

#[test]
fn every_dialect_that_is_written_keeps_where_copies_come_from() {
    let source = open(file(&story()));
    let directory = TempDir::new().unwrap();
    for dialect in Dialect::ALL.into_iter().filter(|dialect| dialect.is_writable()) {
        let at = directory.path().join(format!("{dialect}.jsonl"));
        let options = CreateOptions::new().dialect(dialect);
        let session = Session::create_at(&at, "/project", options).unwrap();
        session.append(treering::Message::user("one")).unwrap();
        session.append(treering::Message::assistant("acme", "m", "two")).unwrap();
        let start = session.leaf().unwrap();
        let own = session.append(treering::Message::user("three")).unwrap();
        session.branch(start.as_str()).unwrap();
        let mut copies = session.cherry_pick(&Selection::entry(own.as_str())).unwrap();
        copies.extend(session.cherry_pick_from(&source, &selection("b..cm")).unwrap());
        assert_eq!(copies.len(), 8, "{dialect}");
        let origins = |session: &Session| -> Vec<_> {
            copies.iter().map(|id| session.entry(id.as_str()).unwrap().copied_from()).collect()
        };
        let before = origins(&session);
        assert_eq!(before[0].as_ref().unwrap().entry, own.as_str(), "{dialect}");
        assert_eq!(before[1].as_ref().unwrap().session.as_deref(), Some("s1"), "{dialect}");
        let context = session.context().unwrap();
        drop(session);
        let session = Session::open(&at).unwrap();
        assert_eq!(session.dialect(), dialect);
        assert_eq!(origins(&session), before, "{dialect}");
        assert_eq!(session.context().unwrap(), context, "{dialect}");
        assert_eq!(
            session.cherry_pick(&Selection::entry(own.as_str())).unwrap().len(),
            0,
            "{dialect}"
        );
        for (copy, original) in copies[1..].iter().zip(["b", "c", "rx", "ry", "d", "s", "cm"]) {
            let (copy, original) = (session.entry(copy.as_str()), source.entry(original));
            let (copy, original) = (copy.unwrap(), original.unwrap());
            if let (Some(copy), Some(original)) = (copy.message(), original.message()) {
                let value = |raw: &[u8]| treering_testkit::model::value(raw).unwrap();
                assert_eq!(value(copy.raw()), value(original.raw()), "{dialect}");
            }
        }
    }
}
