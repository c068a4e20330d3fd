//! Damaged files: found, named by line, survived by every command.

use crate::support::{Place, entry, header, story, user};
use serde_json::json;

#[test]
fn a_sound_file_has_nothing_odd() {
    assert_eq!(Place::with_story().run(&["check", "s.jsonl"]).ok(), "nothing odd in 7 entries\n");
}

/// A file with everything that goes wrong.
fn broken() -> Place {
    let mut lines = story();
    lines.insert(1, "garbage".into());
    lines.insert(2, "[1,2]".into());
    lines.insert(3, header());
    lines.push(user("b1", Some("a3"), 9, "again"));
    lines.push(user("c1", Some("c1"), 10, "own parent"));
    lines.push(user("c2", Some("gone"), 11, "orphan"));
    lines.push(format!(
        "{}{}",
        user("c3", Some("b4"), 12, "glued"),
        user("c4", Some("c3"), 13, "on")
    ));
    let damaged = user("c5", Some("c4"), 14, "damaged")[..120].to_owned();
    lines.push(
        damaged
            .replace("{\"type\":\"message\",\"id\":\"c5\"", "{\"id\":\"c5\",\"type\":\"message\""),
    );
    lines.push(user("c6", Some("c5"), 15, "end"));
    let place = Place::with(&lines);
    let torn = place.read("s.jsonl") + "{\"type\":\"message\",\"id\":\"c7\"";
    place.write("s.jsonl", torn.as_bytes());
    place
}

#[test]
fn what_is_odd_is_listed_by_line() {
    let ran = broken().run(&["check", "s.jsonl"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (1, ""));
    insta::assert_snapshot!(ran.stdout, @"
    line 3: damaged: not a JSON object
    line 4: damaged: not a JSON object
    line 5: a second session header: ignored
    line 8: id b1 occurs again later: the last one counts
    line 13: the parent of entry c1 is missing or closes a circle: shown as a root
    line 14: the parent of entry c2 is missing or closes a circle: shown as a root
    line 15: several entries on one line: all of them count
    line 16: entry c5 is damaged: it keeps its place but contributes nothing
    line 18: the last line was cut short: the next append will fence it off
    ");
}

#[test]
fn a_damaged_body_is_found_even_if_opening_did_not_look_at_it() {
    let mut lines = story();
    lines[0] = r#"{"type":"message","id":"a1","parentId":null,"timestamp":"2026-01-05T09:01:00.000Z","message":{"role":"user","content":"hm}}"#.into();
    let ran = Place::with(&lines).run(&["check", "s.jsonl"]);
    let found = "line 2: entry a1 is damaged: it keeps its place but contributes nothing\n";
    assert_eq!((ran.code, ran.stdout.as_str()), (1, found));
}

#[test]
fn other_commands_work_and_warn_briefly() {
    let place = broken();
    for args in [["tree", "s.jsonl"], ["log", "s.jsonl"]] {
        let ran = place.run(&args);
        assert_eq!(ran.code, 0);
        assert!(
            ran.stdout.contains("What is here?") || ran.stdout.contains("end"),
            "{}",
            ran.stdout
        );
        let warnings: Vec<&str> = ran.stderr.lines().collect();
        assert_eq!(warnings.len(), 6, "{}", ran.stderr);
        assert_eq!(warnings[0], "warning: line 3: damaged: not a JSON object");
        assert_eq!(warnings[5], "warning: … and 4 more: treering check s.jsonl");
    }
    // Programs get what they asked for.
    for args in [["tree", "s.jsonl", "--json"], ["context", "s.jsonl", "--json"]] {
        place.run(&args).json();
    }
    // Reading the end of a file does not show what is odd about its beginning.
    place.run(&["context", "s.jsonl"]).ok();
}

#[test]
fn what_is_no_session_is_refused_and_left_alone() {
    let place = Place::empty();
    place.write("s.jsonl", b"Dear diary\n");
    let commands: [&[&str]; 5] = [
        &["tree", "s.jsonl"],
        &["context", "s.jsonl"],
        &["append", "s.jsonl", "--user", "x"],
        &["goto", "s.jsonl", "none"],
        &["check", "s.jsonl"],
    ];
    for args in commands {
        let error = place.run(args).failed();
        assert!(error.starts_with("error: s.jsonl: not a session: "), "{error}");
        assert!(error.contains("\nhint: a session's first line is its header"), "{error}");
    }
    assert_eq!(place.read("s.jsonl"), "Dear diary\n");
}

#[test]
fn a_newer_version_is_read_and_not_written() {
    let place = Place::with_story();
    let newer = place.read("s.jsonl").replace("\"version\":3", "\"version\":99");
    place.write("s.jsonl", newer.as_bytes());
    let ran = place.run(&["tree", "s.jsonl"]);
    assert_eq!((ran.code, ran.stdout.lines().count()), (0, 6));
    assert!(ran.stderr.contains("version 99 is newer"), "{}", ran.stderr);
    let ran = place.run(&["append", "s.jsonl", "--user", "x"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (1, ""));
    let error = ran.stderr.lines().find(|line| line.starts_with("error: ")).unwrap();
    assert!(error.ends_with("it is read-only"), "{error}");
    assert_eq!(place.read("s.jsonl"), newer);
}

#[test]
fn circles_end() {
    let place = Place::with(&[
        user("a", Some("c"), 1, "one"),
        user("b", Some("a"), 2, "two"),
        user("c", Some("b"), 3, "three"),
        entry("leaf", "d", Some("c"), 4, json!({"targetId": "c"})),
    ]);
    let ran = place.run(&["log", "s.jsonl"]);
    assert_eq!((ran.code, ran.stdout.lines().count()), (0, 3));
    let ran = place.run(&["tree", "s.jsonl"]);
    assert_eq!(ran.stdout.lines().count(), 3, "{}", ran.stdout);
}

#[test]
fn a_missing_file_is_missing() {
    let error = Place::empty().run(&["tree", "s.jsonl"]).failed();
    assert!(error.starts_with("error: s.jsonl: open: "), "{error}");
    assert!(error.contains("\nhint: `treering ls DIR`"), "{error}");
    let error = Place::empty().run(&["tree", "."]).failed();
    assert!(error.contains("\nhint: `treering ls DIR` lists the sessions in it"), "{error}");
}
