//! Tests that reading from the end gives the same result as reading everything.

use crate::support::{
    HEADER, Leaf, assert_agrees, assert_tail_agrees, assistant, cases, compaction, entry, label,
    leaf, user,
};
use proptest::prelude::*;
use std::fmt::Write;
use std::path::Path;
use treering::session::SessionTail;
use treering::{OpenOptions, Session};
use treering_testkit::generate::{Limit, Plan, session_bytes};
use treering_testkit::rng::Rng;

/// Returns a message of a few kilobytes.
fn long(id: &str, parent: Option<&str>) -> String {
    user(id, parent)
        .replace("\"content\":\"", &format!("\"content\":\"{} ", "lorem ipsum ".repeat(180)))
}

/// Returns a chain of long messages after `start`, of about `bytes` bytes: more than the first
/// window.
fn chain(out: &mut String, prefix: &str, start: Option<&str>, bytes: usize) -> String {
    let end = out.len() + bytes;
    let mut parent = start.map(str::to_owned);
    let mut number = 0;
    while out.len() < end {
        let id = format!("{prefix}{number}");
        writeln!(out, "{}", long(&id, parent.as_deref())).unwrap();
        parent = Some(id);
        number += 1;
    }
    parent.unwrap()
}

const MUCH: usize = 1_400_000;

/// The context from the end is that of the whole, and that is the model's.
fn check(bytes: &str) {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("s.jsonl");
    std::fs::write(&file, bytes).unwrap();
    assert_tail_agrees(&file);
    assert_agrees(&Session::open(&file).unwrap(), bytes.as_bytes(), Leaf::OfTheFile);
}

fn thinking(id: &str, parent: Option<&str>, level: &str) -> String {
    entry("thinking_level_change", id, parent, &format!(",\"thinkingLevel\":\"{level}\""))
}

#[test]
fn settings_at_the_very_start() {
    let mut text =
        format!("{HEADER}\n{}\n{}\n", thinking("t", None, "high"), assistant("m", Some("t")));
    let last = chain(&mut text, "a", Some("m"), MUCH);
    writeln!(text, "{}", compaction("c", Some(&last), &last)).unwrap();
    check(&text);
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("s.jsonl");
    std::fs::write(&file, &text).unwrap();
    let context = treering::active_context(&file).unwrap();
    assert_eq!(context.thinking_level, "high");
    assert_eq!(context.model.unwrap().model_id.as_deref(), Some("oak"));
    assert_eq!(context.messages.len(), 2);
}

#[test]
fn a_compaction_far_back() {
    let mut text = format!("{HEADER}\n");
    let last = chain(&mut text, "a", None, 200_000);
    writeln!(text, "{}", compaction("c", Some(&last), &last)).unwrap();
    chain(&mut text, "b", Some("c"), MUCH);
    check(&text);
}

#[test]
fn a_first_kept_entry_far_back() {
    for first_kept in ["a3", "a0", "nobody", "c", "elsewhere"] {
        let mut text = format!("{HEADER}\n{}\n", user("elsewhere", None));
        let last = chain(&mut text, "a", None, MUCH);
        writeln!(text, "{}", compaction("c", Some(&last), first_kept)).unwrap();
        writeln!(text, "{}", assistant("z", Some("c"))).unwrap();
        check(&text);
    }
}

#[test]
fn labels_and_leaf_entries_last() {
    let mut text = format!("{HEADER}\n{}\n", thinking("t", None, "low"));
    let last = chain(&mut text, "a", Some("t"), MUCH);
    writeln!(text, "{}", compaction("c", Some(&last), &last)).unwrap();
    for end in [
        label("l", Some("c"), "a0", "far back"),
        leaf("l", Some("c")),
        leaf("l", Some("a1")),
        leaf("l", None),
        leaf("l", Some("nobody")),
        format!("{}\n{}", leaf("k", None), leaf("l", Some("nobody"))),
        entry("leaf", "l", Some("a2"), ""),
    ] {
        check(&format!("{text}{end}\n"));
    }
}

#[test]
fn ids_of_long_ago_come_again() {
    let mut text = format!("{HEADER}\n");
    let last = chain(&mut text, "a", None, MUCH);
    for end in [
        user("a0", Some(&last)),             // closes a cycle
        user("a0", None),                    // a new root for everything
        user("a1", Some("a0")),              // where it was
        compaction("a2", Some(&last), "a5"), // a compaction in a message's place
        format!("{}\n{}", user("a3", None), user("z", Some("a3"))),
    ] {
        check(&format!("{text}{end}\n"));
    }
}

#[test]
fn children_before_parents_and_parents_that_are_not_there() {
    let mut text = format!("{HEADER}\n");
    let last = chain(&mut text, "a", None, MUCH);
    for end in [
        format!("{}\n{}", user("y", Some("z")), user("z", Some(&last))),
        format!("{}\n{}", user("y", Some("z")), user("z", Some("y"))),
        user("z", Some("nobody")),
        user("z", Some("z")),
        format!("{}\n{}", user("z", None), compaction("c", Some("z"), "z")),
    ] {
        check(&format!("{text}{end}\n"));
    }
}

#[test]
fn ends_that_are_not_entries() {
    let mut text = format!("{HEADER}\n");
    let last = chain(&mut text, "a", None, MUCH);
    let whole = user("z", Some(&last));
    writeln!(text, "{}", compaction("c", Some(&last), &last)).unwrap();
    for end in [
        "{\"type\":\"message\",\"id\":\"t\",\"parentId\":\"c\",\"times",
        "{\"type\":\"message\",\"id\":\"t\",\"parentId\":\"c\",\"times\n",
        "42\n",
        "\n\n \n\r\n",
        "{\"type\":\"session\",\"version\":3,\"id\":\"another\"}\n",
        "{\"type\":\"custom\",\"customType\":\"no id\"}\n",
        "{\"type\":\"custom\",\"id\":17,\"parentId\":\"c\"}\n",
        &whole,
        &format!("{}{whole}\n", &whole[..80]),
        &format!("{whole}\r\n"),
    ] {
        check(&format!("{text}{end}"));
    }
}

#[test]
fn lines_longer_than_the_first_window() {
    for size in [300_000, 1_200_000] {
        let mut text = format!("{HEADER}\n");
        let last = chain(&mut text, "a", None, MUCH);
        let huge = user("h", Some(&last))
            .replace("\"content\":\"", &format!("\"content\":\"{}", "x".repeat(size)));
        writeln!(text, "{huge}").unwrap();
        check(&text);
        writeln!(text, "{}", compaction("c", Some("h"), "h")).unwrap();
        check(&text);
        check(&format!("{text}{huge}{}\n", user("glued", Some("h"))));
        check(&format!("{text}{}{}\n", &huge[..size], user("glued", Some("h"))));
        check(&format!("{text}{}", &huge[..size]));
    }
}

#[test]
fn edits_of_what_is_far_back() {
    let mut text = format!("{HEADER}\n");
    let last = chain(&mut text, "a", None, MUCH);
    writeln!(text, "{}", compaction("c", Some(&last), &last)).unwrap();
    for (target, replacement) in
        [("a0", "null"), (&*last, "null"), ("c", "null"), (&last, "{\"content\":\"new\"}")]
    {
        let edit = format!(",\"targetId\":\"{target}\",\"replacement\":{replacement}");
        check(&format!("{text}{}\n", entry("context_edit", "e", Some("c"), &edit)));
    }
}

/// Returns a long session with a compaction near its end, opened by its end.
fn long_session(file: &Path) -> SessionTail {
    let mut text = format!("{HEADER}\n{}\n", thinking("t", None, "high"));
    let last = chain(&mut text, "a", Some("t"), MUCH);
    writeln!(text, "{}", assistant("m", Some(&last))).unwrap();
    writeln!(text, "{}", compaction("c", Some("m"), "m")).unwrap();
    std::fs::write(file, text).unwrap();
    SessionTail::open(file, OpenOptions::new()).unwrap().expect("the end says enough")
}

#[test]
fn a_session_opened_by_its_end_is_the_one_of_that_moment() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("s.jsonl");
    let tail = long_session(&file);
    let before = Session::open(&file).unwrap();
    Session::open(&file).unwrap().append(treering::Message::user("from elsewhere")).unwrap();
    let context = tail.context_entries("c").unwrap().unwrap();
    assert_eq!((context.entries.len(), context.thinking_level), (2, None));
    let whole = tail.whole().unwrap();
    assert_eq!(whole.tree().len(), before.tree().len());
    assert_eq!(whole.leaf(), before.leaf());
    assert_eq!(whole.context().unwrap(), before.context().unwrap());
    assert_eq!(whole.refresh().unwrap(), before.refresh().unwrap());
    assert_eq!(whole.leaf(), before.leaf());
}

#[test]
fn a_file_that_was_rewritten_since_is_read_as_it_is() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("s.jsonl");
    let tail = long_session(&file);
    std::fs::write(&file, format!("{HEADER}\n{}\n", user("only", None))).unwrap();
    let whole = tail.whole().unwrap();
    assert_eq!(whole.leaf().unwrap().as_str(), "only");
    std::fs::write(&file, HEADER.replace("s1", "s2") + "\n").unwrap();
    assert!(matches!(tail.whole(), Err(treering::Error::Replaced { .. })));
}

/// Ends drawn by lot, on generated sessions.
fn random_end(rng: &mut Rng, ids: &[String], leaf_id: &str) -> String {
    let mut out = String::new();
    let mut last = leaf_id.to_owned();
    for number in 0..rng.range(1, 6) {
        let id = format!("end{number}");
        let old = rng.pick(ids).clone();
        let line = match rng.below(12) {
            0 => label(&id, Some(&last), &old, "x"),
            1 => leaf(&id, Some(&old)),
            2 => leaf(&id, None),
            3 => compaction(&id, Some(&last), &old),
            4 => compaction(&id, Some(&old), leaf_id),
            5 => user(&old, Some(&last)),
            6 => user(&id, Some(&old)),
            7 => user(&id, Some(&format!("end{}", number + 1))),
            8 => thinking(&id, Some(&last), "deep"),
            9 => user(&id, Some(&last))[..60].to_owned(),
            10 => format!("{}{}", user(&id, Some(&last)), label("glued", Some(&id), &old, "y")),
            _ => assistant(&id, Some(&last)),
        };
        out.push_str(&line);
        out.push('\n');
        last = id;
    }
    if rng.chance(0.2) {
        out.truncate(out.len() - rng.index(40));
    }
    out
}

fn check_random(seed: u64, bytes: u64, compactions: bool, file: &Path) {
    let plan = Plan { compactions, ..Plan::bytes(seed, bytes) };
    let plan = Plan { limit: Limit::Bytes(bytes), ..plan };
    let (mut session, stats) = session_bytes(&plan);
    let mut rng = Rng::new(seed);
    session.extend_from_slice(random_end(&mut rng, &stats.sample, &stats.leaf).as_bytes());
    std::fs::write(file, &session).unwrap();
    assert_tail_agrees(file);
    let model = treering_testkit::model::Model::read(&session).unwrap();
    let opened = Session::open(file).unwrap();
    assert_eq!(opened.leaf().map(|id| id.to_string()), model.leaf());
    let expected = model.context(model.leaf().as_deref());
    let context = opened.context().unwrap();
    assert_eq!(context.thinking_level, expected.thinking_level);
    let entries: Vec<String> =
        context.messages.iter().map(|message| message.entry.to_string()).collect();
    let theirs: Vec<String> = expected.messages.into_iter().map(|message| message.entry).collect();
    assert_eq!(entries, theirs);
}

proptest! {
    #![proptest_config(cases(8))]

    #[test]
    fn random_ends_of_generated_sessions(seed: u64, bytes in 600_000_u64..2_500_000, compactions: bool) {
        let directory = tempfile::tempdir().unwrap();
        check_random(seed, bytes, compactions, &directory.path().join("s.jsonl"));
    }
}
