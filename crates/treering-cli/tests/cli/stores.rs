//! Every command prints the same for a session of a store as for the file.

use crate::support::Place;

/// A place whose session is also in the store `store`, under its id.
fn place() -> (Place, String) {
    let place = Place::with_story();
    std::fs::create_dir(place.path().join("store")).unwrap();
    std::fs::copy(place.path().join("s.jsonl"), place.path().join("store/copy.jsonl")).unwrap();
    let listed = place.run(&["ls", "--store", "store", "--all", "--json"]).json();
    assert_eq!(listed.len(), 1);
    let id = listed[0]["id"].as_str().unwrap().to_owned();
    (place, id)
}

fn on_store<'a>(id: &'a str, args: &[&'a str]) -> Vec<&'a str> {
    let args = args.iter().map(|arg| if *arg == "s.jsonl" { id } else { arg });
    args.chain(["--store", "store"]).collect()
}

#[test]
fn reading_commands_say_the_same_as_of_the_file() {
    let (place, id) = place();
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
        let expected = place.run(args);
        let found = place.run(&on_store(&id, args));
        assert_eq!(found.code, expected.code, "{args:?}: {}", found.stderr);
        assert_eq!(found.stdout, expected.stdout.replace("s.jsonl", &id), "{args:?}");
    }
}

#[test]
fn a_session_of_a_store_is_found_by_the_beginning_of_its_id_and_by_its_age() {
    let (place, id) = place();
    let expected = place.run(&["log", "s.jsonl"]).ok();
    for named in [&id[..6.min(id.len())], "@all"] {
        assert_eq!(place.run(&["log", named, "--store", "store"]).ok(), expected, "{named}");
    }
    let unknown = place.run(&["log", "unknown", "--store", "store"]).failed();
    assert!(unknown.contains("unknown"), "{unknown}");
}

#[test]
fn commands_on_files_say_how_to_get_one() {
    let place = Place::empty();
    let address = "https://host.example/s/nightly-build";
    for command in [&["doctor", address] as &[&str], &["archive", address], &["migrate", address]] {
        let failed = place.run(command).failed();
        assert!(failed.contains("works on files"), "{failed}");
        assert!(failed.contains(&format!("treering pull {address}")), "{failed}");
    }
}

#[test]
fn writing_commands_write_to_the_store() {
    let (place, id) = place();
    let run = |args: &[&str]| place.run(&on_store(&id, args)).ok();
    let before = place.read("s.jsonl");
    let entry = run(&["append", "s.jsonl", "--user", "into the store"]);
    run(&["label", "s.jsonl", entry.trim_end(), "here"]);
    run(&["name", "s.jsonl", "stored"]);
    assert_eq!(run(&["goto", "s.jsonl", "b1"]), "b1\n");
    assert_eq!(place.read("s.jsonl"), before, "the file is another session");
    let listed = place.run(&["ls", "--store", "store", "--all", "--json"]).json();
    assert_eq!(listed[0]["name"], "stored");
    assert!(run(&["tree", "s.jsonl"]).contains("[here]"));

    // A fork goes to a file, or to the store.
    let file = run(&["fork", "s.jsonl", "--dir", "forks"]);
    assert_eq!(place.run(&["log", file.trim_end()]).code, 0);
    let fork = run(&["fork", "s.jsonl", "--in-store"]);
    assert_eq!(place.run(&["log", fork.trim_end(), "--store", "store"]).code, 0);
    run(&["rm", "s.jsonl", "--yes"]);
    let listed = place.run(&["ls", "--store", "store", "--all", "--json"]).json();
    assert_eq!(listed.len(), 1);
    assert_eq!(listed[0]["id"], fork.trim_end());
}

#[test]
fn append_creates_a_session_in_the_store() {
    let (place, _) = place();
    let id = place.run(&["append", "nightly", "--user", "hello", "--store", "store"]).ok();
    let log = place.run(&["show", "nightly", id.trim_end(), "--store", "store", "--json"]).json();
    assert_eq!(log[0]["parentId"], serde_json::Value::Null);
    assert!(!place.path().join("nightly").exists());
}

#[test]
fn search_looks_into_the_store() {
    let (place, id) = place();
    place.run(&["append", &id, "--user", "a needle", "--store", "store"]).ok();
    let found = place.run(&["search", "needle", "--store", "store", "--json"]);
    assert_eq!(found.code, 0, "{}", found.stderr);
    assert!(found.stdout.contains("a needle"), "{}", found.stdout);
}

#[test]
fn commands_that_need_a_file_refuse_a_session_of_a_store() {
    let (place, id) = place();
    for args in
        [&["migrate", "s.jsonl"] as &[&str], &["archive", "s.jsonl"], &["doctor", "s.jsonl"]]
    {
        let failed = place.run(&on_store(&id, args)).failed();
        assert!(failed.contains("works on files"), "{args:?}: {failed}");
    }
}

#[test]
fn a_store_that_is_none_is_refused() {
    let place = Place::with_story();
    let cases = [
        (["ls", "--store", "nowhere"], "there is no directory"),
        (["ls", "--store", "ftp://host"], "ftp://"),
        (["log", "ftp://host/s/1", "--no-pager"], "https://"),
    ];
    for (args, expected) in cases {
        let failed = place.run(&args).failed();
        assert!(failed.contains(expected), "{args:?}: {failed}");
    }
}
