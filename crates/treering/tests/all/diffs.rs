//! Tests of comparing branches.

use crate::support::{assistant, calls, entry, file, join, label, open, result, user};
use treering::{Error, ForkOptions, Session};

fn story() -> Vec<String> {
    vec![
        user("a", None),
        calls("c", Some("a"), &["x"]),
        result("r", Some("c"), "x"),
        label("l", Some("r"), "a", "start"),
        calls("c2", Some("l"), &["y"]).replace("\"read\"", "\"edit\""),
        user("m", Some("a")),
        calls("copy", Some("m"), &["z"])
            .replace(r#","message""#, r#","copiedFrom":{"entry":"q"},"message""#),
        entry(
            "branch_summary",
            "s",
            Some("copy"),
            r#","fromId":"q","summary":"12345678","details":{"readFiles":["f"],"modifiedFiles":[]},"usage":{"cost":{"total":0.25}}"#,
        ),
    ]
}

#[test]
fn each_side_is_what_the_other_has_not() {
    let session = open(file(&story()));
    let diff = session.diff("c2", "s").unwrap();
    assert_eq!(diff.common_ancestor.as_ref().unwrap(), "a");
    assert_eq!(
        (join(&diff.a.entries), join(&diff.b.entries)),
        ("c r l c2".into(), "m copy s".into())
    );
    assert_eq!((diff.a.messages, diff.b.messages), (3, 3), "a label says nothing");
    assert_eq!(diff.a.file_ops.lists().read, ["x.txt"]);
    assert_eq!(diff.a.file_ops.lists().modified, ["y.txt"]);
    assert_eq!(diff.b.file_ops.lists().read, ["f", "z.txt"]);
    assert_eq!(diff.a.usage.cost.to_string(), "1");
    assert_eq!(diff.b.usage.cost.to_string(), "0.25", "a copy was paid for elsewhere");
    let sum = |ids: &[&str]| -> u64 {
        let all = session.context_at("s").unwrap().messages;
        let all = all.into_iter().chain(session.context_at("c2").unwrap().messages);
        all.filter(|m| ids.contains(&m.entry.as_str()))
            .map(|m| treering::compaction::estimate_tokens(&m.json))
            .sum()
    };
    assert_eq!(diff.a.tokens, sum(&["c", "r", "c2"]));
    assert_eq!(diff.b.tokens, sum(&["m", "copy", "s"]));
    assert!(diff.b.tokens > 2);
}

#[test]
fn a_branch_and_its_own_beginning() {
    let session = open(file(&story()));
    let diff = session.diff("r", "c2").unwrap();
    assert_eq!((diff.a.entries.len(), join(&diff.b.entries)), (0, "l c2".into()));
    assert_eq!(diff.common_ancestor.unwrap(), "r");
    assert!(matches!(session.diff("r", "nowhere"), Err(Error::UnknownEntry(_))));
    let two = open(file(&[user("a", None), user("b", None)]));
    let diff = two.diff("a", "b").unwrap();
    assert_eq!((diff.common_ancestor, join(&diff.b.entries)), (None, "b".into()));
}

#[test]
fn a_fork_is_compared_with_its_source() {
    let directory = tempfile::tempdir().unwrap();
    let at = directory.path().join("s.jsonl");
    std::fs::write(&at, file(&story())).unwrap();
    let session = Session::open(&at).unwrap();
    let fork = session.fork("r", ForkOptions::default()).unwrap();
    let appended = fork.append(treering::Message::user("on")).unwrap();
    let diff = session.diff_with("c2", &fork, appended.as_str()).unwrap();
    assert_eq!(diff.common_ancestor.unwrap(), "r");
    assert_eq!(join(diff.a.entries), "l c2");
    assert_eq!(diff.b.messages, 1);
    let stranger = open(file(&[assistant("a", None), user("b", Some("a"))]));
    let diff = session.diff_with("m", &stranger, "b").unwrap();
    assert_eq!(diff.common_ancestor, None, "the same id is not the same entry");
}
