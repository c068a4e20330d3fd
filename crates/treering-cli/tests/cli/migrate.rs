//! Tests of upgrading files of old versions.

use crate::support::TestDir;
use serde_json::json;

const V1: &str = concat!(
    r#"{"type":"session","id":"old","timestamp":"2025-01-01T00:00:00.000Z","cwd":"/p"}"#,
    "\n",
    r#"{"type":"message","timestamp":"2025-01-01T00:00:01.000Z","message":{"role":"user","content":"one"}}"#,
    "\n",
    r#"{"type":"compaction","timestamp":"2025-01-01T00:00:02.000Z","summary":"s","firstKeptEntryIndex":1,"tokensBefore":1}"#,
    "\n",
);

#[test]
fn an_old_file_is_upgraded_and_kept() {
    let test_dir = TestDir::empty();
    test_dir.write("s.jsonl", V1.as_bytes());
    let context = test_dir.run(&["context", "s.jsonl", "--json"]).ok();
    let planned = test_dir.run(&["migrate", "s.jsonl", "--dry-run"]).ok();
    insta::assert_snapshot!(planned, @"s.jsonl: no version → version 3: 2 entries rewritten (1 compaction) (dry run: nothing was written)");
    assert_eq!(test_dir.read("s.jsonl"), V1, "nothing was written");
    assert_eq!(std::fs::read_dir(test_dir.path()).unwrap().count(), 1);
    let done = test_dir.run(&["migrate", "s.jsonl", "--force"]).ok();
    let expected = planned.strip_suffix(" (dry run: nothing was written)\n").unwrap();
    assert!(done.starts_with(expected) && done.ends_with("s.jsonl.v1.bak\n"), "{done}");
    assert_eq!(test_dir.read("s.jsonl.v1.bak"), V1);
    assert!(test_dir.read("s.jsonl").starts_with(r#"{"type":"session","version":3,"#));
    assert_eq!(test_dir.run(&["context", "s.jsonl", "--json"]).ok(), context);
    assert_eq!(test_dir.run(&["migrate", "s.jsonl"]).ok(), "s.jsonl: current\n");
}

#[test]
fn several_files_for_programs() {
    let test_dir = TestDir::with_story();
    test_dir.write("old.jsonl", V1.as_bytes());
    let reports = test_dir.run(&["migrate", "--dry-run", "--json", "s.jsonl", "old.jsonl"]).json();
    let current = json!({"path": "s.jsonl", "from": null, "to": null, "entries": 0,
                         "compactions": 0, "backup": null});
    let old = json!({"path": "old.jsonl", "from": 0, "to": 3, "entries": 2, "compactions": 1,
                     "backup": null});
    assert_eq!(reports, [current, old]);
    test_dir.write("none.jsonl", b"hello\n");
    let ran = test_dir.run(&["migrate", "none.jsonl", "old.jsonl", "--force"]);
    assert_eq!((ran.code, ran.stdout.lines().count()), (1, 1), "the others are done all the same");
    assert!(ran.stderr.starts_with("error: none.jsonl: not a session"), "{}", ran.stderr);
    test_dir.run(&["migrate", "gone.jsonl"]).failed();
}

#[test]
fn a_file_that_was_just_written_to_is_not_replaced() {
    let test_dir = TestDir::empty();
    test_dir.write("s.jsonl", V1.as_bytes());
    for args in [
        &["migrate", "s.jsonl"][..],
        &["doctor", "s.jsonl", "--repair", "--in-place"],
        &["move", "s.jsonl", "/"],
    ] {
        let error = test_dir.run(args).failed();
        insta::allow_duplicates! {
            insta::assert_snapshot!(error, @r"
            error: s.jsonl: it was written to a moment ago
            hint: stop the program that writes to it and try again in 10 seconds, or pass `--force`
            ");
        }
        assert_eq!(test_dir.read("s.jsonl"), V1);
    }
    assert_eq!(std::fs::read_dir(test_dir.path()).unwrap().count(), 1);
}
