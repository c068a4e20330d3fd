//! Tests that a reader which closes a pipe early causes no error.

use crate::support::{Lines, TestDir, user};
use std::io::{Read, Write};
use std::process::Stdio;

/// Returns a session whose output fills every pipe.
fn long() -> TestDir {
    let mut lines = vec![user("n0", None, 0, "start")];
    for at in 1..5000 {
        lines.push(user(&format!("n{at}"), Some(&format!("n{}", at - 1)), 1, &"word ".repeat(30)));
    }
    TestDir::with(&lines)
}

#[test]
fn a_closed_pipe_ends_the_program_quietly() {
    let test_dir = long();
    let commands: [&[&str]; 6] = [
        &["tree", "s.jsonl"],
        &["tree", "s.jsonl", "--json"],
        &["log", "s.jsonl"],
        &["log", "s.jsonl", "--json"],
        &["context", "s.jsonl"],
        &["context", "s.jsonl", "--json"],
    ];
    for args in commands {
        let mut command = test_dir.command(args);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut first = [0; 10];
        child.stdout.take().unwrap().read_exact(&mut first).unwrap();
        let output = child.wait_with_output().unwrap();
        let error = String::from_utf8(output.stderr).unwrap();
        assert_eq!((output.status.code(), error.as_str()), (Some(0), ""), "{args:?}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn output_that_cannot_be_written_is_an_error() {
    let test_dir = long();
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    for args in [&["tree", "s.jsonl"][..], &["--help"], &["--version"], &[]] {
        let full = full.try_clone().unwrap();
        let output = test_dir.command(args).stdin(Stdio::null()).stdout(full).output().unwrap();
        let error = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{args:?}");
        assert!(error.starts_with("error: cannot write the output: "), "{args:?}: {error}");
    }
}

#[test]
fn entries_are_appended_even_if_the_reader_of_their_ids_is_gone() {
    let test_dir = TestDir::empty();
    let mut command = test_dir.command(&["append", "s.jsonl", "--stdin"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let line = b"{\"type\":\"custom\",\"customType\":\"x\"}\n";
    input.write_all(line).unwrap();
    let lines = Lines::of(child.stdout.take().unwrap());
    lines.next();
    lines.close();
    for _ in 0..5 {
        input.write_all(line).unwrap();
    }
    drop(input);
    assert_eq!(child.wait().unwrap().code(), Some(0));
    assert_eq!(test_dir.read("s.jsonl").lines().count(), 7);
}
