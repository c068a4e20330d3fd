//! Every command prints the same for a session of a store as for the file.

use crate::support::TestDir;

/// A directory whose session is also in the store `store`, under its id.
fn test_dir() -> (TestDir, String) {
    let test_dir = TestDir::with_story();
    std::fs::create_dir(test_dir.path().join("store")).unwrap();
    std::fs::copy(test_dir.path().join("s.jsonl"), test_dir.path().join("store/copy.jsonl"))
        .unwrap();
    let listed = test_dir.run(&["ls", "--store", "store", "--all", "--json"]).json();
    assert_eq!(listed.len(), 1);
    let id = listed[0]["id"].as_str().unwrap().to_owned();
    (test_dir, id)
}

fn on_store<'a>(id: &'a str, args: &[&'a str]) -> Vec<&'a str> {
    let args = args.iter().map(|arg| if *arg == "s.jsonl" { id } else { arg });
    args.chain(["--store", "store"]).collect()
}

#[test]
fn reading_commands_say_the_same_as_of_the_file() {
    let (test_dir, id) = test_dir();
    for args in [
        &["context", "s.jsonl"] as &[&str],
        &["context", "s.jsonl", "--leaf", "b1", "--json"],
        &["context", "s.jsonl", "--view", "agent"],
        &["log", "s.jsonl"],
        &["tree", "s.jsonl"],
        &["tree", "s.jsonl", "--json"],
        &["branches", "s.jsonl"],
        &["show", "s.jsonl", "b1"],
        &["stats", "s.jsonl"],
        &["tail", "s.jsonl", "--until-idle", "0"],
        &["diff", "s.jsonl", "b1", "b4"],
        &["compact", "s.jsonl", "--dry-run", "--summarizer", "extractive"],
        &["export", "s.jsonl", "--format", "md", "-o", "-"],
        &["export", "s.jsonl", "--format", "md", "--all", "--redact", "-o", "-"],
        &["redact", "s.jsonl", "--check"],
    ] {
        let expected = test_dir.run(args);
        let found = test_dir.run(&on_store(&id, args));
        assert_eq!(found.code, expected.code, "{args:?}: {}", found.stderr);
        assert_eq!(found.stdout, expected.stdout.replace("s.jsonl", &id), "{args:?}");
    }
}

#[test]
fn a_session_of_a_store_is_found_by_the_beginning_of_its_id_and_by_its_age() {
    let (test_dir, id) = test_dir();
    let expected = test_dir.run(&["log", "s.jsonl"]).ok();
    for named in [&id[..6.min(id.len())], "@all"] {
        assert_eq!(test_dir.run(&["log", named, "--store", "store"]).ok(), expected, "{named}");
    }
    let unknown = test_dir.run(&["log", "unknown", "--store", "store"]).failed();
    assert!(unknown.contains("unknown"), "{unknown}");
}

#[test]
fn commands_on_files_say_how_to_get_one() {
    let test_dir = TestDir::empty();
    let address = "https://host.example/s/nightly-build";
    for command in [&["doctor", address] as &[&str], &["archive", address], &["migrate", address]] {
        let failed = test_dir.run(command).failed();
        assert!(failed.contains("works on files"), "{failed}");
        assert!(failed.contains(&format!("treering pull {address}")), "{failed}");
    }
}

#[test]
fn writing_commands_write_to_the_store() {
    let (test_dir, id) = test_dir();
    let run = |args: &[&str]| test_dir.run(&on_store(&id, args)).ok();
    let before = test_dir.read("s.jsonl");
    let entry = run(&["append", "s.jsonl", "--user", "into the store"]);
    run(&["label", "s.jsonl", entry.trim_end(), "here"]);
    run(&["name", "s.jsonl", "stored"]);
    assert_eq!(run(&["goto", "s.jsonl", "b1"]), "b1\n");
    assert_eq!(test_dir.read("s.jsonl"), before, "the file is another session");
    let listed = test_dir.run(&["ls", "--store", "store", "--all", "--json"]).json();
    assert_eq!(listed[0]["name"], "stored");
    assert!(run(&["tree", "s.jsonl"]).contains("[here]"));

    // A fork goes to a file, or to the store.
    let file = run(&["fork", "s.jsonl", "--dir", "forks"]);
    assert_eq!(test_dir.run(&["log", file.trim_end()]).code, 0);
    let fork = run(&["fork", "s.jsonl", "--in-store"]);
    assert_eq!(test_dir.run(&["log", fork.trim_end(), "--store", "store"]).code, 0);
    run(&["rm", "s.jsonl", "--yes"]);
    let listed = test_dir.run(&["ls", "--store", "store", "--all", "--json"]).json();
    assert_eq!(listed.len(), 1);
    assert_eq!(listed[0]["id"], fork.trim_end());
}

#[test]
fn append_creates_a_session_in_the_store() {
    let (test_dir, _) = test_dir();
    let id = test_dir.run(&["append", "nightly", "--user", "hello", "--store", "store"]).ok();
    let log =
        test_dir.run(&["show", "nightly", id.trim_end(), "--store", "store", "--json"]).json();
    assert_eq!(log[0]["parentId"], serde_json::Value::Null);
    assert!(!test_dir.path().join("nightly").exists());
}

#[test]
fn search_looks_into_the_store() {
    let (test_dir, id) = test_dir();
    test_dir.run(&["append", &id, "--user", "a needle", "--store", "store"]).ok();
    let found = test_dir.run(&["search", "needle", "--store", "store", "--json"]);
    assert_eq!(found.code, 0, "{}", found.stderr);
    assert!(found.stdout.contains("a needle"), "{}", found.stdout);
}

#[test]
fn commands_that_need_a_file_refuse_a_session_of_a_store() {
    let (test_dir, id) = test_dir();
    for args in
        [&["migrate", "s.jsonl"] as &[&str], &["archive", "s.jsonl"], &["doctor", "s.jsonl"]]
    {
        let failed = test_dir.run(&on_store(&id, args)).failed();
        assert!(failed.contains("works on files"), "{args:?}: {failed}");
    }
}

#[test]
fn a_store_that_is_none_is_refused() {
    let test_dir = TestDir::with_story();
    let cases = [
        (["ls", "--store", "nowhere"], "there is no directory"),
        (["ls", "--store", "ftp://host"], "ftp://"),
        (["log", "ftp://host/s/1", "--no-pager"], "https://"),
    ];
    for (args, expected) in cases {
        let failed = test_dir.run(&args).failed();
        assert!(failed.contains(expected), "{args:?}: {failed}");
    }
}
