//! Tests of `tail` and `watch`: lines are printed as they are written, and every way to end them
//! works.

use crate::support::{Lines, TestDir, assistant, entry, header, user};
use serde_json::{Value, json};
use std::io::Write;
use std::process::{Child, Stdio};

/// The program, running.
struct Running {
    child: Child,
    out: Lines,
    err: Lines,
}

fn start(test_dir: &TestDir, args: &[&str]) -> Running {
    let mut command = test_dir.command(args);
    command.env("TREERING_NOW", "2026-01-05T12:00:00Z");
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let out = Lines::of(child.stdout.take().unwrap());
    let err = Lines::of(child.stderr.take().unwrap());
    Running { child, out, err }
}

impl Running {
    /// Ends the program as a person would.
    #[cfg(unix)]
    #[track_caller]
    fn interrupt(mut self) {
        let id = self.child.id().to_string();
        let kill = std::process::Command::new("kill").args(["-INT", &id]).status().unwrap();
        assert!(kill.success());
        assert_eq!(self.child.wait().unwrap().code(), Some(0));
        assert_eq!((self.out.next(), self.err.next()), (String::new(), String::new()));
    }

    #[cfg(not(unix))]
    fn interrupt(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

fn append(test_dir: &TestDir, name: &str, lines: &[String]) {
    let mut file = std::fs::File::options().append(true).open(test_dir.file(name)).unwrap();
    file.write_all(format!("{}\n", lines.join("\n")).as_bytes()).unwrap();
}

#[test]
fn the_last_entries_are_shown() {
    let test_dir = TestDir::with_story();
    let out = test_dir.run(&["tail", "s.jsonl", "-n", "4", "--until-idle", "0"]).ok();
    insta::assert_snapshot!(out, @r"
    b1  2026-01-05 09:04:00Z  assistant   [first try] Nothing.
    ↳ after a3
    b2  2026-01-05 09:05:00Z  branch_summary  Said nothing.
    b3  2026-01-05 09:06:00Z  label       [first try] on b1
    b4  2026-01-05 09:07:00Z  user        Look again.
    ");
    let all = test_dir.run(&["tail", "s.jsonl", "--json", "--until-idle", "0"]).ok();
    assert_eq!(format!("{}\n{all}", header()), test_dir.read("s.jsonl"));
    assert_eq!(test_dir.run(&["tail", "s.jsonl", "-n", "0", "--until-idle", "0"]).ok(), "");
}

#[test]
fn new_entries_of_all_branches_come_as_they_are_written() {
    let test_dir = TestDir::with_story();
    let tail = start(&test_dir, &["tail", "s.jsonl", "-n", "1"]);
    assert_eq!(tail.out.next(), "b4  2026-01-05 09:07:00Z  user        Look again.");
    append(&test_dir, "s.jsonl", &[assistant("c1", "b4", 8, json!("Seen \u{1b}[31m."))]);
    assert_eq!(tail.out.next(), "c1  2026-01-05 09:08:00Z  assistant   Seen \\x1b[31m.");
    append(&test_dir, "s.jsonl", &[user("c2", Some("a2"), 9, "Or so"), user("c3", None, 9, "New")]);
    assert_eq!(tail.out.next(), "↳ after a2");
    assert_eq!(tail.out.next(), "c2  2026-01-05 09:09:00Z  user        Or so");
    assert_eq!(tail.out.next(), "↳ from the start");
    assert_eq!(tail.out.next(), "c3  2026-01-05 09:09:00Z  user        New");
    tail.interrupt();
}

#[test]
fn for_programs_every_entry_is_a_line() {
    let test_dir = TestDir::with_story();
    let tail = start(&test_dir, &["tail", "s.jsonl", "-n", "1", "--json"]);
    assert!(tail.out.next().contains("\"b4\""));
    let new = user("c1", Some("a1"), 8, "hi");
    append(&test_dir, "s.jsonl", std::slice::from_ref(&new));
    assert_eq!(tail.out.next(), new);
    tail.interrupt();
}

#[test]
fn half_a_line_is_waited_for() {
    let test_dir = TestDir::with_story();
    let tail = start(&test_dir, &["tail", "s.jsonl", "-n", "1"]);
    tail.out.next();
    let line = user("c1", Some("b4"), 8, "in two parts");
    let (first, second) = line.split_at(40);
    let mut file = std::fs::File::options().append(true).open(test_dir.file("s.jsonl")).unwrap();
    file.write_all(first.as_bytes()).unwrap();
    file.write_all(format!("{second}\n").as_bytes()).unwrap();
    assert!(tail.out.next().ends_with("in two parts"));
    tail.interrupt();
}

#[test]
fn a_file_in_its_place_is_read_from_then_on() {
    let test_dir = TestDir::with_story();
    let tail = start(&test_dir, &["tail", "s.jsonl", "-n", "1"]);
    tail.out.next();
    let more = format!("{}{}\n", test_dir.read("s.jsonl"), user("c1", Some("b4"), 8, "after"));
    test_dir.write("new", more.as_bytes());
    std::fs::rename(test_dir.file("new"), test_dir.file("s.jsonl")).unwrap();
    assert_eq!(tail.err.next(), "note: s.jsonl is another file now; reading it again");
    assert!(tail.out.next().ends_with("user        after"));
    append(&test_dir, "s.jsonl", &[user("c2", Some("c1"), 9, "and on")]);
    assert!(tail.out.next().ends_with("user        and on"));
    tail.interrupt();
}

#[test]
fn a_file_that_is_cut_off_or_deleted_is_reported() {
    let test_dir = TestDir::with_story();
    let tail = start(&test_dir, &["tail", "s.jsonl", "-n", "1"]);
    tail.out.next();
    let old = test_dir.read("s.jsonl").len();
    let short = format!("{}\n{}\n", header(), user("x1", None, 8, "anew"));
    test_dir.write("s.jsonl", short.as_bytes());
    let note = tail.err.next();
    // Writing takes two steps: it is empty in between.
    assert!(note.starts_with(&format!("note: s.jsonl was cut off, from {old} to ")), "{note}");
    loop {
        if tail.out.next().ends_with("user        anew") {
            break;
        }
    }
    std::fs::remove_file(test_dir.file("s.jsonl")).unwrap();
    loop {
        let note = tail.err.next();
        if note.ends_with("s.jsonl: the session's file was deleted; waiting for it to come back") {
            break;
        }
        assert!(note.starts_with("note: "), "{note}");
    }
    test_dir.write("new", format!("{short}{}\n", user("x2", Some("x1"), 9, "back")).as_bytes());
    std::fs::rename(test_dir.file("new"), test_dir.file("s.jsonl")).unwrap();
    assert!(tail.out.next().ends_with("user        back"));
    let mut child = tail.child;
    child.kill().unwrap();
    child.wait().unwrap();
}

#[cfg(unix)]
#[test]
fn a_reader_that_went_away_is_noticed_without_anything_to_write() {
    let test_dir = TestDir::with_story();
    for args in [&["tail", "s.jsonl", "-n", "1"][..], &["watch", "--all"]] {
        let mut command = test_dir.command(args);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        drop(child.stdout.take());
        assert_eq!(child.wait().unwrap().code(), Some(0), "{args:?}");
    }
}

/// A session of this directory, or of another.
fn session(test_dir: &TestDir, name: &str, cwd: Option<&str>, lines: &[String]) {
    let here = test_dir.path().canonicalize().unwrap();
    let cwd = cwd.unwrap_or(here.to_str().unwrap());
    let header = header().replace("demo-1", name).replace("/project", cwd);
    let text = format!("{header}\n{}\n", lines.join("\n"));
    // Complete or not there, as agents do it.
    test_dir.write("new", text.as_bytes());
    let dir = test_dir.file("home/.pi/agent/sessions/--x--");
    std::fs::create_dir_all(&dir).unwrap();
    std::fs::rename(test_dir.file("new"), dir.join(format!("{name}.jsonl"))).unwrap();
}

#[test]
fn sessions_of_the_project_are_watched() {
    let test_dir = TestDir::empty();
    session(&test_dir, "11112222-old", None, &[user("a1", None, 1, "hello")]);
    session(&test_dir, "33334444-else", Some("/elsewhere"), &[user("a1", None, 1, "far away")]);
    let watch = start(&test_dir, &["watch"]);
    let note = watch.err.next();
    assert!(note.starts_with("note: watching 1 session of /"), "{note}");
    let file = |name: &str| format!("home/.pi/agent/sessions/--x--/{name}.jsonl");
    append(&test_dir, &file("33334444-else"), &[user("a2", Some("a1"), 2, "not to be told")]);
    let more = [user("a2", Some("a1"), 2, "more"), user("a3", Some("a2"), 3, "and more")];
    append(&test_dir, &file("11112222-old"), &more);
    let next = || watch.out.next();
    assert_eq!(next(), "2026-01-05 12:00:00Z  +2 lines    pi           11112222  hello");
    session(&test_dir, "55556666-new", None, &[user("a1", None, 1, "a new \u{1b}one")]);
    assert_eq!(next(), "2026-01-05 12:00:00Z  new         pi           55556666  a new \\x1bone");
    session(&test_dir, "55556666-new", None, &[user("a1", None, 1, "another one")]);
    assert_eq!(next(), "2026-01-05 12:00:00Z  replaced    pi           55556666  another one");
    std::fs::remove_file(test_dir.file(&file("55556666-new"))).unwrap();
    assert_eq!(next(), "2026-01-05 12:00:00Z  gone        pi           55556666  another one");
    watch.interrupt();
}

#[test]
fn for_programs_every_event_is_an_object() {
    let test_dir = TestDir::empty();
    let watch = start(&test_dir, &["watch", "--dir", "home", "--json"]);
    assert_eq!(watch.err.next(), "note: home does not exist yet");
    assert_eq!(watch.err.next(), "note: watching 0 sessions; Ctrl-C ends");
    let name = entry("session_info", "n1", Some("a1"), 3, json!({"name": "Tea"}));
    session(&test_dir, "s1", Some("/elsewhere"), &[user("a1", None, 1, "hello"), name]);
    let event: Value = serde_json::from_str(&watch.out.next()).unwrap();
    let path = "home/.pi/agent/sessions/--x--/s1.jsonl";
    let size = test_dir.read(path).len();
    let expected = json!({"time": "2026-01-05T12:00:00.000Z", "event": "new", "path": path, "agent": "pi",
        "id": "s1", "cwd": "/elsewhere", "title": "Tea", "size": size, "lines": null});
    assert_eq!(event, expected);
    append(&test_dir, path, &[user("a2", Some("a1"), 2, "x")]);
    let event: Value = serde_json::from_str(&watch.out.next()).unwrap();
    assert_eq!((&event["event"], &event["lines"]), (&json!("grown"), &json!(1)));
    watch.interrupt();
}

#[test]
fn what_cannot_be_followed_is_an_error() {
    let test_dir = TestDir::empty();
    let error = test_dir.run(&["tail", "nothing.jsonl"]).failed();
    assert!(error.starts_with("error: cannot open nothing.jsonl: "), "{error}");
    assert_eq!(test_dir.run(&["tail", "x", "--until-idle", "soon"]).code, 2);
    let ran = test_dir.run(&["watch", "--until-idle", "0"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, ""));
}

#[test]
fn sessions_of_a_store_are_watched() {
    let test_dir = TestDir::empty();
    std::fs::create_dir(test_dir.file("store")).unwrap();
    let watch = start(&test_dir, &["watch", "--all", "--json", "--store", "store"]);
    assert_eq!(watch.err.next(), "note: watching 0 sessions; Ctrl-C ends");
    let next = || -> Value { serde_json::from_str(&watch.out.next()).unwrap() };
    let append = |text: &str| {
        test_dir.run(&["append", "nightly", "--user", text, "--store", "store"]).ok();
        let listed = test_dir.run(&["ls", "--all", "--json", "--store", "store"]).json();
        listed[0]["size"].clone()
    };
    let size = append("one");
    let mut change = next();
    assert_eq!((&change["event"], &change["id"]), (&json!("new"), &json!("nightly")));
    // The header may have been seen before the entry.
    while change["size"] != size {
        change = next();
    }
    assert_eq!(change["title"], "one");
    let size = append("two");
    let change = next();
    assert_eq!((&change["event"], &change["lines"]), (&json!("grown"), &json!(1)));
    assert_eq!(change["size"], size);
    watch.interrupt();
}
