use crate::support::{Lines, TestDir};
use serde_json::Value;
use std::io::{Read, Write};
use std::process::Stdio;

const APPEND: [&str; 3] = ["append", "s.jsonl", "--stdin"];

fn note(text: &str) -> String {
    format!("{{\"type\":\"custom\",\"customType\":\"{text}\"}}\n")
}

#[test]
fn every_line_is_an_entry_and_continues_the_one_before() {
    let test_dir = TestDir::empty();
    let input = [note("one"), "\n  \n".into(), note("two"), note("three").replace('\n', "\r\n")];
    let out = test_dir.feed(&APPEND, input.concat().as_bytes()).ok();
    let ids: Vec<&str> = out.lines().collect();
    let file = test_dir.read("s.jsonl");
    let entries: Vec<Value> =
        file.lines().skip(1).map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(entries.len(), 3);
    for (at, entry) in entries.iter().enumerate() {
        assert_eq!(entry["id"], ids[at]);
        assert_eq!(
            entry["parentId"],
            at.checked_sub(1).map_or(Value::Null, |above| ids[above].into())
        );
    }
}

#[test]
fn an_id_is_printed_once_its_entry_is_in_the_file() {
    let test_dir = TestDir::empty();
    let mut command = test_dir.command(&[&APPEND[..], &["--durability", "each"]].concat());
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let ids = Lines::of(child.stdout.take().unwrap());
    for text in ["one", "two", "three"] {
        // The program has all it needs, and its input stays open: it must answer now.
        input.write_all(note(text).as_bytes()).unwrap();
        let id = ids.next();
        let file = test_dir.read("s.jsonl");
        assert!(file.lines().last().unwrap().contains(&id), "{id} {file}");
        assert!(file.ends_with(&format!("\"{text}\"}}\n")), "{file}");
    }
    drop(input);
    assert!(child.wait().unwrap().success());
}

#[test]
fn a_bad_line_ends_it_and_what_came_before_stays() {
    let test_dir = TestDir::empty();
    let input = note("one") + "\n" + &note("two") + "{\"type\":\"custom\"\n" + &note("never");
    let ran = test_dir.feed(&APPEND, input.as_bytes());
    assert_eq!((ran.code, ran.stdout.lines().count()), (1, 2));
    assert!(ran.stderr.starts_with("error: input line 4: invalid entry: "), "{}", ran.stderr);
    assert_eq!(test_dir.read("s.jsonl").lines().count(), 3);
    assert!(!test_dir.read("s.jsonl").contains("never"));
}

#[test]
fn an_entry_that_the_session_refuses_is_a_bad_line() {
    let test_dir = TestDir::with_story();
    let input = note("one") + r#"{"type":"custom","customType":"x","id":"a1"}"#;
    let ran = test_dir.feed(&APPEND, input.as_bytes());
    assert_eq!((ran.code, ran.stdout.lines().count()), (1, 1));
    assert!(
        ran.stderr.starts_with("error: input line 2: entry \"a1\" already exists"),
        "{}",
        ran.stderr
    );
}

#[test]
fn nothing_in_is_nothing_done() {
    let test_dir = TestDir::empty();
    assert_eq!(test_dir.feed(&APPEND, b"\n\n").ok(), "");
    assert!(!test_dir.file("s.jsonl").exists());
    test_dir.feed(&APPEND, b"nonsense\n").failed();
    assert!(!test_dir.file("s.jsonl").exists());
}

#[test]
fn the_last_line_needs_no_newline() {
    let test_dir = TestDir::empty();
    let out = test_dir.feed(&APPEND, note("one").trim_end().as_bytes()).ok();
    assert_eq!(out.lines().count(), 1);
}

#[test]
fn the_parent_is_for_the_first_entry_and_entries_may_bring_their_own() {
    let test_dir = TestDir::with_story();
    let input =
        note("one") + &note("two") + r#"{"type":"custom","customType":"x","parentId":"a1"}"#;
    let out = test_dir.feed(&[&APPEND[..], &["--parent", "a2"]].concat(), input.as_bytes()).ok();
    let ids: Vec<&str> = out.lines().collect();
    let tree = test_dir.run(&["tree", "s.jsonl", "--json"]).json();
    let parent = |id: &str| tree.iter().find(|node| node["id"] == id).unwrap()["parentId"].clone();
    assert_eq!(
        [parent(ids[0]), parent(ids[1]), parent(ids[2])],
        ["a2", ids[0], "a1"].map(Value::from)
    );
}

#[test]
fn an_expected_leaf_is_expected_all_along() {
    let test_dir = TestDir::with_story();
    let mut command = test_dir.command(&[&APPEND[..], &["--expect-leaf", "b4"]].concat());
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let ids = Lines::of(child.stdout.take().unwrap());
    for text in ["one", "two"] {
        input.write_all(note(text).as_bytes()).unwrap();
        ids.next();
    }
    let other = test_dir.run(&["append", "s.jsonl", "--user", "me first"]).ok();
    input.write_all(note("three").as_bytes()).unwrap();
    drop(input);
    assert_eq!(child.wait().unwrap().code(), Some(1));
    let mut error = String::new();
    child.stderr.take().unwrap().read_to_string(&mut error).unwrap();
    assert!(error.starts_with("error: input line 3: the leaf has moved"), "{error}");
    assert!(error.contains(other.trim_end()), "{error}");
    assert!(!test_dir.read("s.jsonl").contains("three"));
}

#[test]
fn entries_are_written_as_they_are_typed() {
    let test_dir = TestDir::empty();
    let input =
        b"{\"type\":\"custom\",\"customType\":\"\\ud800\",\"data\":{\"b\":1,\"a\":1e400}}\n";
    let out = test_dir.feed(&APPEND, input).ok();
    assert_eq!(out.lines().count(), 1);
    let file = std::fs::read(test_dir.file("s.jsonl")).unwrap();
    assert!(file.ends_with(b"\"customType\":\"\\ud800\",\"data\":{\"b\":1,\"a\":1e400}}\n"));
    let error = test_dir.feed(&APPEND, b"{\"type\":\"custom\",\"customType\":\"\xff\"}\n").failed();
    assert!(error.contains("input line 1: invalid entry: the entry is not JSON"), "{error}");
    assert_eq!(std::fs::read(test_dir.file("s.jsonl")).unwrap(), file, "nothing was written");
}

/// Appends one entry, deletes the file, appends another; how that ended.
fn with_the_file_deleted(test_dir: &TestDir, flags: &[&str]) -> (bool, String) {
    let mut command = test_dir.command(&[&APPEND[..], flags].concat());
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let ids = Lines::of(child.stdout.take().unwrap());
    input.write_all(note("one").as_bytes()).unwrap();
    ids.next();
    std::fs::remove_file(test_dir.file("s.jsonl")).unwrap();
    input.write_all(note("two").as_bytes()).unwrap();
    drop(input);
    let mut output = String::new();
    child.stderr.take().unwrap().read_to_string(&mut output).unwrap();
    (child.wait().unwrap().success(), output)
}

#[test]
fn a_deleted_file_is_an_error_and_is_not_made_again() {
    let test_dir = TestDir::empty();
    let (done, output) = with_the_file_deleted(&test_dir, &[]);
    assert!(
        !done && output.contains("the session's file was deleted\nhint: nothing was written"),
        "{output}"
    );
    assert!(!test_dir.file("s.jsonl").exists());
}

#[test]
fn a_deleted_file_is_written_again_with_the_option() {
    let test_dir = TestDir::empty();
    let (done, output) = with_the_file_deleted(&test_dir, &["--recreate"]);
    assert!(done, "{output}");
    let file = test_dir.read("s.jsonl");
    assert_eq!(file.lines().count(), 3, "header, one, two: {file}");
    assert!(file.contains("\"one\"") && file.contains("\"two\""), "{file}");
}
