//! `resume` starts the agent of a session in its project, here a script that prints its arguments.

use crate::support::{Ran, TestDir};
use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;

/// A project with a session `s.jsonl`, and agents that print their arguments and directory.
fn test_dir() -> TestDir {
    let test_dir = TestDir::empty();
    for agent in ["pi", "claude", "mine"] {
        let name = format!("bin/{agent}");
        test_dir.write(&name, b"#!/bin/sh\necho \"$(basename \"$0\")\" \"$@\"\npwd\n");
        let file = test_dir.file(&name);
        std::fs::set_permissions(file, std::fs::Permissions::from_mode(0o755)).unwrap();
    }
    test_dir.run(&["append", "s.jsonl", "--user", "one", "--cwd", "."]).ok();
    test_dir.run(&["append", "s.jsonl", "--assistant", "two"]).ok();
    test_dir
}

fn run(test_dir: &TestDir, args: &[&str]) -> Ran {
    let mut command = test_dir.command(args);
    let path = format!("{}:/usr/bin:/bin", test_dir.file("bin").display());
    command.env("PATH", path).stdin(Stdio::null());
    let output = command.output().unwrap();
    Ran {
        code: output.status.code().unwrap(),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

/// Returns the path of the project without symbolic links, which is the one that a program gets from the system.
fn project(test_dir: &TestDir) -> String {
    test_dir.path().canonicalize().unwrap().display().to_string()
}

#[test]
fn the_agent_is_started_in_the_project_with_the_session() {
    let test_dir = test_dir();
    let file = test_dir.file("s.jsonl").display().to_string();
    let expected = format!("pi --session {file}\n{}\n", project(&test_dir));
    assert_eq!(run(&test_dir, &["resume", "s.jsonl"]).ok(), expected);
    let printed = run(&test_dir, &["resume", "s.jsonl", "--print"]).ok();
    assert_eq!(printed, format!("cd {} && pi --session {file}\n", test_dir.path().display()));
}

#[test]
fn the_configuration_changes_the_command() {
    let test_dir = test_dir();
    test_dir.write("c.toml", b"[resume]\npi = [\"mine\", \"{id}\", \"{name}\", \"-x\"]\n");
    let id = run(&test_dir, &["ls", "--dir", ".", "--json"]).json()[0]["id"]
        .as_str()
        .unwrap()
        .to_owned();
    let mut command = test_dir.command(&["resume", "s.jsonl", "--print"]);
    let output = command.env("TREERING_CONFIG", test_dir.file("c.toml")).output().unwrap();
    let printed = String::from_utf8(output.stdout).unwrap();
    assert!(printed.ends_with(&format!(" && mine {id} s -x\n")), "{printed}");
    test_dir.write("c.toml", b"[resume]\nrobot = [\"mine\"]\n");
    let mut command = test_dir.command(&["resume", "s.jsonl", "--print"]);
    let output = command.env("TREERING_CONFIG", test_dir.file("c.toml")).output().unwrap();
    let error = String::from_utf8(output.stderr).unwrap();
    assert!(error.contains("no agent is named \"robot\""), "{error}");
}

#[test]
fn at_another_entry_a_fork_is_resumed() {
    let test_dir = test_dir();
    let before = test_dir.read("s.jsonl");
    let ids = run(&test_dir, &["log", "s.jsonl", "--json"]).json();
    let id = |at: usize| ids[at]["id"].as_str().unwrap().to_owned();
    let (first, last) = if ids[0]["parentId"].is_null() { (id(0), id(1)) } else { (id(1), id(0)) };
    // The leaf needs no fork.
    let same = run(&test_dir, &["resume", "s.jsonl", "--at", &last, "--print"]).ok();
    assert!(same.ends_with("/s.jsonl\n"), "{same}");
    let forked = run(&test_dir, &["resume", "s.jsonl", "--at", &first, "--print"]).ok();
    let file = forked.trim_end().rsplit(' ').next().unwrap().to_owned();
    assert!(file != test_dir.file("s.jsonl").display().to_string(), "{forked}");
    assert!(std::path::Path::new(&file).is_absolute(), "{forked}");
    assert_eq!(run(&test_dir, &["log", &file, "--json"]).json().len(), 1);
    assert_eq!(test_dir.read("s.jsonl"), before);
}

#[test]
fn in_another_agent_the_session_is_converted_first() {
    let test_dir = test_dir();
    let started = run(&test_dir, &["resume", "s.jsonl", "--in", "claude-code"]);
    assert_eq!((started.code, &*started.stderr), (0, ""), "{started:?}");
    let id = started.stdout.lines().next().unwrap().strip_prefix("claude --resume ").unwrap();
    assert_eq!(started.stdout.lines().nth(1).unwrap(), project(&test_dir));
    let slug: String = test_dir
        .path()
        .display()
        .to_string()
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c } else { '-' })
        .collect();
    let copy = test_dir.file(&format!("home/.claude/projects/{slug}/{id}.jsonl"));
    let texts = |file: &str| {
        let context = run(&test_dir, &["context", file, "--json"]).ok();
        (context.matches("\"one\"").count(), context.matches("\"two\"").count())
    };
    assert_eq!(texts(&copy.display().to_string()), texts("s.jsonl"));
    // A second copy is another session.
    let again = run(&test_dir, &["resume", "s.jsonl", "--in", "claude-code", "--print"]).ok();
    assert!(!again.contains(id), "{again}");
    let error = run(&test_dir, &["resume", "s.jsonl", "--in", "codex"]).failed();
    assert!(error.contains("does not write sessions of codex"), "{error}");
}

#[test]
fn what_cannot_be_started_is_named() {
    let test_dir = test_dir();
    std::fs::remove_file(test_dir.file("bin/pi")).unwrap();
    let error = run(&test_dir, &["resume", "s.jsonl"]).failed();
    assert!(error.starts_with("error: cannot start pi: "), "{error}");
    assert!(error.contains("[resume] pi = "), "{error}");
    let text = test_dir.read("s.jsonl");
    let gone = test_dir.file("gone").display().to_string();
    let here = test_dir.path().display().to_string();
    test_dir.write(
        "t.jsonl",
        text.replace(&format!("\"cwd\":\"{here}\""), &format!("\"cwd\":\"{gone}\"")),
    );
    let error = run(&test_dir, &["resume", "t.jsonl"]).failed();
    assert!(error.contains("the project's directory does not exist"), "{error}");
}

#[test]
fn sessions_of_treering_itself_are_continued_in_the_chat() {
    let test_dir = test_dir();
    let root = test_dir.file("home/.local/share/treering/sessions/x");
    std::fs::create_dir_all(&root).unwrap();
    std::fs::copy(test_dir.file("s.jsonl"), root.join("own.jsonl")).unwrap();
    let own = root.join("own.jsonl").display().to_string();
    let printed = run(&test_dir, &["resume", &own, "--print"]).ok();
    assert!(printed.ends_with(&format!(" && treering chat {own}\n")), "{printed}");
}
