use crate::support::TestDir;

#[test]
fn the_demo_shows_a_tree_a_context_and_what_to_do_next() {
    let test_dir = TestDir::empty();
    let out = test_dir.run(&["demo", "--dir", "d"]).ok();
    insta::assert_snapshot!(untimed(&test_dir, &out), @r#"
    A conversation about a bug. One fix was tried, then abandoned for a better one.

    $ treering tree d/retry.jsonl
    • 3f9a1c07 user       Uploads fail whenever the server is busy. Why?
    • 81d2e4b6 assistant  Let me look at the code that sends.
    • c40b7f19 toolResult [read: src/upload.rs]
    • 5e6d03a8 assistant  [cause] It tries three times within a millisecond, then gives up.
    • 9a7c5510 compaction Uploads fail while the server is busy. They are sent by src/upload.rs.
    • 0d34be92 user       Fix it, and prove it with ./load-test.
    ├─   b7e1960f assistant  It now waits one second between attempts.
    │    27c8d5e3 toolResult [bash: ./load-test]
    │    d6405b1e assistant  [too simple] 38 of 200 still fail: all clients come back at the same time.
    • e2905b4a branch_summary A pause of one second was too simple: 38 of 200 still failed.
    • 46bc70d8 assistant  Each pause is now twice the last, plus jitter.
    • 1f87e2a5 toolResult [bash: ./load-test]
    • 7b19d4f3 assistant  [works] All 200 uploads succeed. The longest took four attempts.
    • 68a5f1bc user       Good. One line for the changelog, please.
    • 9d02c6e7 assistant  Uploads to a busy server are retried with growing pauses. ← leaf

    Nothing was deleted: • marks the path the model sees. On it, a compaction stands for the beginning
    and a branch summary for the abandoned fix:

    $ treering context d/retry.jsonl
    ── compactionSummary  9a7c5510  TIME
    Uploads fail while the server is busy. They are sent by src/upload.rs.

    ── assistant  5e6d03a8  TIME
    It tries three times within a millisecond, then gives up.

    ── user  0d34be92  TIME
    Fix it, and prove it with ./load-test.

    ── branchSummary  e2905b4a  TIME
    A pause of one second was too simple: 38 of 200 still failed.

    ── assistant  46bc70d8  TIME
    Each pause is now twice the last, plus jitter.
    → bash {"command":"./load-test"}

    ── toolResult bash  1f87e2a5  TIME
    200 of 200 uploads succeeded

    ── assistant  7b19d4f3  TIME
    All 200 uploads succeed. The longest took four attempts.

    ── user  68a5f1bc  TIME
    Good. One line for the changelog, please.

    ── assistant  9d02c6e7  TIME
    Uploads to a busy server are retried with growing pauses.

    9 messages, model acme/model-1, thinking off

    Go back to the first fix (an id's beginning is enough) and continue it:
      treering goto d/retry.jsonl d6
      treering append d/retry.jsonl --user "Could we keep it simple after all?"
      treering tree d/retry.jsonl

    Look at one entry, or mark it:
      treering show d/retry.jsonl 5e6d03a8
      treering label d/retry.jsonl 5e6d03a8 "root cause"

    Copy one branch into a new session:
      treering fork d/retry.jsonl --at 7b19d4f3

    Get what a provider would get:
      treering context d/retry.jsonl --llm --strict --json
    "#);
}

/// Returns the output with the program's path and all times replaced.
fn untimed(test_dir: &TestDir, out: &str) -> String {
    let out = out.replace(env!("CARGO_BIN_EXE_treering"), "treering");
    let out = out.replace(&test_dir.path().display().to_string(), "DIR");
    let lines = out.lines().map(|line| match line.strip_prefix("── ") {
        Some(head) => format!("── {} TIME", head.rsplitn(3, ' ').last().unwrap()),
        None => line.to_owned(),
    });
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn commands_that_the_demo_suggests_work() {
    let test_dir = TestDir::empty();
    let out = test_dir.run(&["demo", "--dir", "d"]).ok();
    let commands: Vec<&str> = out.lines().filter_map(|line| line.strip_prefix("  /")).collect();
    assert_eq!(commands.len(), 7, "{out}");
    for command in commands {
        let mut shell = std::process::Command::new("sh");
        let ran = shell
            .arg("-c")
            .arg(format!("/{command}"))
            .current_dir(test_dir.path())
            .output()
            .unwrap();
        assert!(ran.status.success(), "{command}: {}", String::from_utf8_lossy(&ran.stderr));
        assert!(!ran.stdout.is_empty() && ran.stderr.is_empty(), "{command}");
    }
    let tree = test_dir.run(&["tree", "d/retry.jsonl"]).ok();
    assert!(tree.contains("Could we keep it simple after all?"), "{tree}");
    assert!(tree.contains("[root cause]"), "{tree}");
}

#[test]
fn the_demo_is_a_sound_session_that_ends_now() {
    let test_dir = TestDir::empty();
    test_dir.run(&["demo", "--dir", "d"]).ok();
    test_dir.run(&["check", "d/retry.jsonl"]).ok();
    assert!(test_dir.run(&["ls", "d"]).ok().lines().nth(1).unwrap().starts_with("now "));
    for leaf in ["5e6d03a8", "d6405b1e", "9d02c6e7"] {
        let strict = ["context", "d/retry.jsonl", "--leaf", leaf, "--llm", "--strict", "--json"];
        assert_eq!(test_dir.run(&strict).stderr, "", "{leaf} needs no repairs");
    }
    let log = test_dir.run(&["log", "d/retry.jsonl", "--json"]).json();
    let minutes: Vec<&str> = log.iter().map(|e| &e["timestamp"].as_str().unwrap()[..16]).collect();
    assert!(minutes.is_sorted_by(|a, b| a < b), "{minutes:?}");
    test_dir.run(&["demo", "--dir", "d"]).failed();
}

#[test]
fn without_a_place_the_demo_finds_one() {
    let test_dir = TestDir::empty();
    for name in ["treering-demo", "treering-demo-2"] {
        let ran = test_dir.command(&["demo"]).env("TMPDIR", test_dir.path()).output().unwrap();
        assert!(ran.status.success());
        assert!(test_dir.file(name).join("retry.jsonl").exists(), "{name}");
    }
}
