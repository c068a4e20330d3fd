//! Tests of `push`, `pull` and `sync`.

use crate::support::{TestDir, header, user};
use std::path::PathBuf;

/// A directory with an empty store.
fn test_dir() -> TestDir {
    let test_dir = TestDir::with_story();
    std::fs::create_dir(test_dir.file("store")).unwrap();
    test_dir
}

/// Returns the files below a directory.
fn files(test_dir: &TestDir, dir: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut directories = vec![test_dir.file(dir)];
    while let Some(directory) = directories.pop() {
        for entry in std::fs::read_dir(directory).into_iter().flatten() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => directories.push(path),
                false => found.push(path),
            }
        }
    }
    found.retain(|path| path.extension().is_some_and(|extension| extension == "jsonl"));
    found.sort();
    found
}

/// Returns the session files of the user.
fn here(test_dir: &TestDir) -> Vec<PathBuf> {
    let mut found = files(test_dir, "home");
    found.retain(|path| !path.to_string_lossy().contains("cache"));
    found
}

#[test]
fn a_push_sends_what_is_new_and_a_second_one_nothing() {
    let test_dir = test_dir();
    let push = || test_dir.run(&["push", "s.jsonl", "--store", "store", "--json"]).json();
    let first = push();
    assert_eq!((&first[0]["created"], &first[0]["failed"]), (&1.into(), &serde_json::json!([])));
    let pushed = files(&test_dir, "store");
    assert_eq!(std::fs::read(&pushed[0]).unwrap(), test_dir.read("s.jsonl").as_bytes());
    assert_eq!(push()[0]["unchanged"], 1);
    test_dir.run(&["append", "s.jsonl", "--user", "more"]).ok();
    let again = push();
    assert_eq!(again[0]["appended"], 1);
    assert!(again[0]["sent"].as_u64().unwrap() < first[0]["sent"].as_u64().unwrap());
    assert_eq!(std::fs::read(&pushed[0]).unwrap(), test_dir.read("s.jsonl").as_bytes());
    let output = test_dir.run(&["push", "s.jsonl", "--store", "store"]).ok();
    assert_eq!(output, "1 session: 1 unchanged\n");
}

#[test]
fn sessions_are_pulled_to_this_machine_and_continued_on_both_sides() {
    let test_dir = test_dir();
    test_dir.run(&["push", "s.jsonl", "--store", "store"]).ok();
    let pulled = test_dir.run(&["pull", "demo-1", "--store", "store"]).ok();
    assert!(pulled.starts_with("1 session: 1 new; received "), "{pulled}");
    let here = here(&test_dir);
    assert_eq!(std::fs::read(&here[0]).unwrap(), test_dir.read("s.jsonl").as_bytes());

    // Both are continued: both get everything, and each stays at its leaf.
    let file = here[0].to_str().unwrap();
    let ours = test_dir.run(&["append", file, "--user", "here"]).ok();
    let theirs = test_dir.run(&["append", "demo-1", "--user", "there", "--store", "store"]).ok();
    let synced = test_dir.run(&["sync", "--store", "store", "--json"]).json();
    assert_eq!(
        (&synced[0]["merged"], &synced[0]["conflicts"]),
        (&1.into(), &serde_json::json!([]))
    );
    for (args, leaf, other) in [
        (vec!["log", file, "--json"], &ours, &theirs),
        (vec!["log", "demo-1", "--store", "store", "--json"], &theirs, &ours),
    ] {
        let path = test_dir.run(&args).ok();
        assert!(path.contains(leaf.trim_end()), "{path}");
        assert!(!path.contains(other.trim_end()), "{path}");
        let tree =
            test_dir.run(&["tree"].iter().chain(&args[1..]).copied().collect::<Vec<_>>()).ok();
        assert!(tree.contains(other.trim_end()), "{tree}");
    }
    let again = test_dir.run(&["sync", "--store", "store"]).ok();
    assert_eq!(again, "1 session: 1 unchanged\n");
}

#[test]
fn a_conflict_is_reported_and_nothing_is_changed() {
    let test_dir = test_dir();
    let line = |id: &str, parent: &str, text: &str| {
        format!(
            "{{\"parentUuid\":{parent},\"isSidechain\":false,\"type\":\"user\",\"cwd\":\"/p\",\"sessionId\":\"c\",\"version\":\"2.0.0\",\"message\":{{\"role\":\"user\",\"content\":\"{text}\"}},\"uuid\":\"{id}\",\"timestamp\":\"2026-01-01T00:00:00.000Z\"}}\n"
        )
    };
    let start = line("u1", "null", "hello");
    test_dir.write("c.jsonl", start.as_bytes());
    test_dir.run(&["push", "c.jsonl", "--store", "store"]).ok();
    let stored = files(&test_dir, "store").remove(0);
    let (ours, theirs) =
        (start.clone() + &line("u2", "\"u1\"", "one"), start + &line("u3", "\"u1\"", "two"));
    test_dir.write("c.jsonl", ours.as_bytes());
    std::fs::write(&stored, &theirs).unwrap();
    let ran = test_dir.run(&["push", "c.jsonl", "--store", "store"]);
    assert_eq!((ran.code, &*ran.stdout), (1, "1 session: 1 in conflict\n"));
    assert!(ran.stderr.contains("conflict: c: it has grown on both sides"), "{}", ran.stderr);
    assert_eq!(test_dir.read("c.jsonl"), ours);
    assert_eq!(std::fs::read_to_string(&stored).unwrap(), theirs);
}

#[test]
fn a_redacted_push_holds_no_secret() {
    let test_dir = TestDir::empty();
    std::fs::create_dir(test_dir.file("store")).unwrap();
    let key = format!("ghp_{}", "a1B2c3D4".repeat(5));
    let lines = [header(), user("a1", None, 1, &format!("the key is {key}"))].join("\n") + "\n";
    test_dir.write("s.jsonl", lines.as_bytes());
    test_dir.run(&["push", "s.jsonl", "--redact", "--store", "store"]).ok();
    let there = std::fs::read_to_string(files(&test_dir, "store").remove(0)).unwrap();
    assert!(there.contains("[REDACTED:github-token:1]") && !there.contains(&key), "{there}");
}

#[test]
fn a_watch_brings_changes_over_until_it_is_idle() {
    let test_dir = test_dir();
    test_dir.run(&["push", "s.jsonl", "--store", "store"]).ok();
    let args = [
        "sync",
        "--watch",
        "--interval",
        "0.1",
        "--until-idle",
        "0.5",
        "--store",
        "store",
        "--json",
    ];
    let watched = test_dir.run(&args).json();
    assert_eq!(watched[0]["created"], 1);
    assert_eq!(std::fs::read(&here(&test_dir)[0]).unwrap(), test_dir.read("s.jsonl").as_bytes());
}

#[test]
fn a_missing_store_and_a_bad_token_are_errors() {
    let test_dir = test_dir();
    let ran = test_dir.run(&["push", "s.jsonl"]);
    assert_eq!(ran.code, 2);
    assert!(ran.stderr.contains("no store is chosen"), "{}", ran.stderr);
    test_dir.write("token", b"tr_not really\n");
    let args = ["push", "s.jsonl", "--store", "http://127.0.0.1:1", "--token-file", "token"];
    let failed = test_dir.run(&args).failed();
    assert!(failed.contains("token") && !failed.contains("really"), "{failed}");
    let args = ["push", "s.jsonl", "--store", "http://tr_secret@127.0.0.1:1"];
    assert!(!test_dir.run(&args).failed().contains("tr_secret"));
}
