//! `resume` starts the agent of a session in its project, here a script that prints its arguments.

use crate::support::{Place, Ran};
use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;

/// A project with a session `s.jsonl`, and agents that print their arguments and directory.
fn place() -> Place {
    let place = Place::empty();
    for agent in ["pi", "claude", "mine"] {
        let name = format!("bin/{agent}");
        place.write(&name, b"#!/bin/sh\necho \"$(basename \"$0\")\" \"$@\"\npwd\n");
        let file = place.file(&name);
        std::fs::set_permissions(file, std::fs::Permissions::from_mode(0o755)).unwrap();
    }
    place.run(&["append", "s.jsonl", "--user", "one", "--cwd", "."]).ok();
    place.run(&["append", "s.jsonl", "--assistant", "two"]).ok();
    place
}

fn run(place: &Place, args: &[&str]) -> Ran {
    let mut command = place.command(args);
    let path = format!("{}:/usr/bin:/bin", place.file("bin").display());
    command.env("PATH", path).stdin(Stdio::null());
    let output = command.output().unwrap();
    Ran {
        code: output.status.code().unwrap(),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

/// Returns the path of the project without symbolic links, which is the one that a program gets from the system.
fn project(place: &Place) -> String {
    place.path().canonicalize().unwrap().display().to_string()
}

#[test]
fn the_agent_is_started_in_the_project_with_the_session() {
    let place = place();
    let file = place.file("s.jsonl").display().to_string();
    let expected = format!("pi --session {file}\n{}\n", project(&place));
    assert_eq!(run(&place, &["resume", "s.jsonl"]).ok(), expected);
    let printed = run(&place, &["resume", "s.jsonl", "--print"]).ok();
    assert_eq!(printed, format!("cd {} && pi --session {file}\n", place.path().display()));
}

#[test]
fn the_configuration_changes_the_command() {
    let place = place();
    place.write("c.toml", b"[resume]\npi = [\"mine\", \"{id}\", \"{name}\", \"-x\"]\n");
    let id =
        run(&place, &["ls", "--dir", ".", "--json"]).json()[0]["id"].as_str().unwrap().to_owned();
    let mut command = place.command(&["resume", "s.jsonl", "--print"]);
    let output = command.env("TREERING_CONFIG", place.file("c.toml")).output().unwrap();
    let printed = String::from_utf8(output.stdout).unwrap();
    assert!(printed.ends_with(&format!(" && mine {id} s -x\n")), "{printed}");
    place.write("c.toml", b"[resume]\nrobot = [\"mine\"]\n");
    let mut command = place.command(&["resume", "s.jsonl", "--print"]);
    let output = command.env("TREERING_CONFIG", place.file("c.toml")).output().unwrap();
    let error = String::from_utf8(output.stderr).unwrap();
    assert!(error.contains("no agent is named \"robot\""), "{error}");
}

#[test]
fn at_another_entry_a_fork_is_resumed() {
    let place = place();
    let before = place.read("s.jsonl");
    let ids = run(&place, &["log", "s.jsonl", "--json"]).json();
    let id = |at: usize| ids[at]["id"].as_str().unwrap().to_owned();
    let (first, last) = if ids[0]["parentId"].is_null() { (id(0), id(1)) } else { (id(1), id(0)) };
    // The leaf needs no fork.
    let same = run(&place, &["resume", "s.jsonl", "--at", &last, "--print"]).ok();
    assert!(same.ends_with("/s.jsonl\n"), "{same}");
    let forked = run(&place, &["resume", "s.jsonl", "--at", &first, "--print"]).ok();
    let file = forked.trim_end().rsplit(' ').next().unwrap().to_owned();
    assert!(file != place.file("s.jsonl").display().to_string(), "{forked}");
    assert!(std::path::Path::new(&file).is_absolute(), "{forked}");
    assert_eq!(run(&place, &["log", &file, "--json"]).json().len(), 1);
    assert_eq!(place.read("s.jsonl"), before);
}

#[test]
fn in_another_agent_the_session_is_converted_first() {
    let place = place();
    let started = run(&place, &["resume", "s.jsonl", "--in", "claude-code"]);
    assert_eq!((started.code, &*started.stderr), (0, ""), "{started:?}");
    let id = started.stdout.lines().next().unwrap().strip_prefix("claude --resume ").unwrap();
    assert_eq!(started.stdout.lines().nth(1).unwrap(), project(&place));
    let slug: String = place
        .path()
        .display()
        .to_string()
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c } else { '-' })
        .collect();
    let copy = place.file(&format!("home/.claude/projects/{slug}/{id}.jsonl"));
    let texts = |file: &str| {
        let context = run(&place, &["context", file, "--json"]).ok();
        (context.matches("\"one\"").count(), context.matches("\"two\"").count())
    };
    assert_eq!(texts(&copy.display().to_string()), texts("s.jsonl"));
    // A second copy is another session.
    let again = run(&place, &["resume", "s.jsonl", "--in", "claude-code", "--print"]).ok();
    assert!(!again.contains(id), "{again}");
    let error = run(&place, &["resume", "s.jsonl", "--in", "codex"]).failed();
    assert!(error.contains("does not write sessions of codex"), "{error}");
}

#[test]
fn what_cannot_be_started_is_named() {
    let place = place();
    std::fs::remove_file(place.file("bin/pi")).unwrap();
    let error = run(&place, &["resume", "s.jsonl"]).failed();
    assert!(error.starts_with("error: cannot start pi: "), "{error}");
    assert!(error.contains("[resume] pi = "), "{error}");
    let text = place.read("s.jsonl");
    let gone = place.file("gone").display().to_string();
    let here = place.path().display().to_string();
    place.write(
        "t.jsonl",
        text.replace(&format!("\"cwd\":\"{here}\""), &format!("\"cwd\":\"{gone}\"")),
    );
    let error = run(&place, &["resume", "t.jsonl"]).failed();
    assert!(error.contains("the project's directory does not exist"), "{error}");
}

#[test]
fn sessions_of_treering_itself_are_continued_in_the_chat() {
    let place = place();
    let root = place.file("home/.local/share/treering/sessions/x");
    std::fs::create_dir_all(&root).unwrap();
    std::fs::copy(place.file("s.jsonl"), root.join("own.jsonl")).unwrap();
    let own = root.join("own.jsonl").display().to_string();
    let printed = run(&place, &["resume", &own, "--print"]).ok();
    assert!(printed.ends_with(&format!(" && treering chat {own}\n")), "{printed}");
}
