//! Tests of files that commands write: they appear complete or not at all, replace no file of
//! another program, and are removed when the command is stopped.

use crate::support::{Ran, TestDir, assistant, header, user};
use serde_json::json;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};

/// A session of `messages` messages, all of which say `word`.
fn session(word: &str, messages: usize) -> String {
    let mut lines = vec![header()];
    let mut parent = None;
    for at in 0..messages {
        let id = format!("{word}{at}");
        let text = format!("{word} {at} {}", "tea ".repeat(50));
        lines.push(match at % 2 {
            0 => user(&id, parent.as_deref(), (at % 60) as u8, &text),
            _ => {
                let blocks = json!([{"type": "text", "text": text}]);
                assistant(&id, parent.as_deref().unwrap_or_default(), (at % 60) as u8, blocks)
            }
        });
        parent = Some(id);
    }
    lines.join("\n") + "\n"
}

/// Everything in the directory but `home`, sorted.
fn names(test_dir: &TestDir) -> Vec<String> {
    let entries = test_dir.path().read_dir().unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.retain(|name| name != "home");
    names.sort();
    names
}

fn start(test_dir: &TestDir, args: &[&str]) -> Child {
    let mut command = test_dir.command(args);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

fn text(output: &Output) -> (String, String) {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    (text(&output.stdout), text(&output.stderr))
}

/// Commands that make `out` of the sessions `a.jsonl` and `b.jsonl`.
const COMMANDS: [&[&str]; 5] = [
    &["export", "FILE", "-o", "out.jsonl"],
    &["export", "FILE", "-f", "html", "-o", "out.html"],
    &["convert", "FILE", "--to", "omp", "-o", "out.jsonl"],
    &["convert", "FILE", "--to", "claude-code", "-o", "out.jsonl"],
    &["redact", "FILE", "-o", "out.jsonl"],
];

fn with_file<'a>(command: &[&'a str], file: &'a str) -> Vec<&'a str> {
    command.iter().map(|word| if *word == "FILE" { file } else { word }).collect()
}

#[test]
fn of_two_commands_with_one_output_the_second_fails() {
    let test_dir = TestDir::empty();
    test_dir.write("a.jsonl", session("apple", 20).as_bytes());
    test_dir.write("b.jsonl", session("berry", 20).as_bytes());
    for round in 0..25 {
        let command = COMMANDS[round % COMMANDS.len()];
        let out = test_dir.file(command.last().unwrap());
        let children =
            ["a.jsonl", "b.jsonl"].map(|file| start(&test_dir, &with_file(command, file)));
        let [a, b] = children.map(|child| child.wait_with_output().unwrap());
        let won = [a.status.success(), b.status.success()];
        assert!(
            won == [true, false] || won == [false, true],
            "{command:?}: {:?} {:?}",
            text(&a),
            text(&b)
        );
        let content = std::fs::read_to_string(&out).unwrap();
        let is_of = |word: &str| content.contains(&format!("{word} 19 "));
        assert_eq!(
            [is_of("apple"), is_of("berry")],
            won,
            "{command:?}: the winner's, and only that"
        );
        let (_, error) = text(if won[0] { &b } else { &a });
        assert!(error.contains("already"), "{command:?}: {error}");
        std::fs::remove_file(out).unwrap();
        assert_eq!(names(&test_dir), ["a.jsonl", "b.jsonl"], "{command:?}");
    }
}

#[test]
fn replacing_at_the_same_time_leaves_one_whole_file() {
    let test_dir = TestDir::empty();
    test_dir.write("a.jsonl", session("apple", 20).as_bytes());
    test_dir.write("b.jsonl", session("berry", 20).as_bytes());
    let args = |file| ["export", file, "-f", "html", "-o", "out.html", "--force"];
    let whole = ["a.jsonl", "b.jsonl"].map(|file| {
        test_dir.run(&args(file)).ok();
        test_dir.read("out.html")
    });
    for _ in 0..10 {
        let children = ["a.jsonl", "b.jsonl", "a.jsonl"].map(|file| start(&test_dir, &args(file)));
        for child in children {
            let output = child.wait_with_output().unwrap();
            assert!(output.status.success(), "{:?}", text(&output));
        }
        assert!(whole.contains(&test_dir.read("out.html")), "neither the one nor the other");
        assert_eq!(names(&test_dir), ["a.jsonl", "b.jsonl", "out.html"]);
    }
}

#[test]
fn what_has_the_name_of_an_output_is_not_followed_or_overwritten() {
    let test_dir = TestDir::empty();
    test_dir.write("a.jsonl", session("apple", 4).as_bytes());
    for command in COMMANDS {
        let name = command.last().unwrap();
        let args = with_file(command, "a.jsonl");
        let refused = || {
            let Ran { code, stderr, .. } = test_dir.run(&args);
            assert_eq!(code, 1, "{command:?}");
            assert!(stderr.contains("already"), "{command:?}: {stderr}");
            std::fs::remove_file(test_dir.file(name)).unwrap();
        };
        test_dir.write("precious", b"precious");
        symlink("precious", test_dir.file(name)).unwrap();
        refused();
        symlink("nowhere", test_dir.file(name)).unwrap();
        refused();
        assert!(!test_dir.file("nowhere").exists(), "{command:?}");
        std::fs::hard_link(test_dir.file("precious"), test_dir.file(name)).unwrap();
        refused();
        // Names that earlier versions used while they wrote.
        let old = [".tmp", ".converting.tmp", ".redacting.tmp"].map(|end| format!("{name}{end}"));
        for old in &old {
            symlink("precious", test_dir.file(old)).unwrap();
        }
        assert_eq!(test_dir.run(&args).code, 0, "{command:?}");
        assert!(old.iter().all(|old| test_dir.file(old).is_symlink()), "{command:?}");
        old.iter().for_each(|old| std::fs::remove_file(test_dir.file(old)).unwrap());
        assert_eq!(test_dir.read("precious"), "precious", "{command:?}");
        std::fs::remove_file(test_dir.file(name)).unwrap();
    }
}

#[test]
fn an_export_that_replaces_replaces_the_name_and_keeps_nothing_of_the_old_file() {
    let test_dir = TestDir::empty();
    test_dir.write("a.jsonl", session("apple", 4).as_bytes());
    test_dir.write("precious", b"precious");
    let export = || test_dir.run(&["export", "a.jsonl", "-o", "out.md", "--force"]);
    symlink("precious", test_dir.file("out.md")).unwrap();
    export().ok();
    assert!(!test_dir.file("out.md").is_symlink());
    assert_eq!(test_dir.read("precious"), "precious");
    std::fs::remove_file(test_dir.file("out.md")).unwrap();
    std::fs::hard_link(test_dir.file("precious"), test_dir.file("out.md")).unwrap();
    std::fs::set_permissions(test_dir.file("precious"), PermissionsExt::from_mode(0o666)).unwrap();
    export().ok();
    assert_eq!(test_dir.read("precious"), "precious");
    let about = test_dir.file("out.md").metadata().unwrap();
    assert_eq!((about.mode() & 0o777, about.nlink()), (0o600, 1));
    let refused = test_dir.run(&["export", "a.jsonl", "-o", "/dev/null", "--force"]).failed();
    assert!(refused.contains("not a regular file"), "{refused}");
    std::fs::create_dir(test_dir.file("dir.md")).unwrap();
    test_dir.run(&["export", "a.jsonl", "-o", "dir.md", "--force"]).failed();
}

fn signal(child: &Child, name: &str) {
    let pid = child.id().to_string();
    assert!(Command::new("kill").args(["-s", name, &pid]).status().unwrap().success());
}

/// The unfinished file of a command, once there is one; `None` if the command ends without.
fn unfinished(test_dir: &TestDir, child: &mut Child) -> Option<PathBuf> {
    loop {
        let found = names(test_dir).into_iter().find(|name| name.ends_with(".tmp"));
        if let Some(name) = found {
            return Some(test_dir.file(&name));
        }
        if child.try_wait().unwrap().is_some() {
            return None;
        }
        std::thread::yield_now();
    }
}

/// Stops a command in the middle of writing, and lets a signal end it there. Returns whether that worked.
fn is_interrupted(test_dir: &TestDir, args: &[&str], name: &str, number: i32) -> bool {
    // A command that has published its file before the signal arrives proves nothing: it is tried again.
    for _ in 0..20 {
        let before = names(test_dir);
        let mut child = start(test_dir, args);
        if let Some(temporary) = unfinished(test_dir, &mut child) {
            signal(&child, "STOP");
            let is_unfinished = temporary.exists();
            signal(&child, name);
            signal(&child, "CONT");
            let output = child.wait_with_output().unwrap();
            if is_unfinished && !output.status.success() {
                assert_eq!(output.status.signal(), Some(number), "{args:?}: {:?}", text(&output));
                let after = names(test_dir);
                let is_left = after.iter().any(|name| name.ends_with(".tmp"));
                assert!(!is_left, "{args:?}: {after:?}");
                if after == before {
                    return true;
                }
            }
        }
        for new in names(test_dir).iter().filter(|name| !before.contains(name)) {
            std::fs::remove_file(test_dir.file(new)).unwrap();
        }
    }
    false
}

/// Returns whether this process ignores a signal. Its children inherit that, as under `nohup` and in background jobs
/// of a script, and a program that is started so leaves the signal ignored.
fn is_ignored(number: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
    mask >> (number - 1) & 1 == 1
}

#[test]
fn a_command_that_is_stopped_leaves_no_unfinished_file() {
    let test_dir = TestDir::empty();
    test_dir.write("a.jsonl", session("apple", 20_000).as_bytes());
    for (name, number) in [("INT", 2), ("TERM", 15), ("HUP", 1)] {
        if is_ignored(number) {
            eprintln!("SIG{name} is ignored in this environment: not tried");
            continue;
        }
        let args = ["export", "a.jsonl", "-o", "out.html"];
        assert!(is_interrupted(&test_dir, &args, name, number), "{name}: it was always faster");
    }
    for args in [
        &["convert", "a.jsonl", "--to", "omp", "-o", "out.jsonl"][..],
        &["redact", "a.jsonl", "-o", "out.jsonl"],
        &["fork", "a.jsonl", "--dir", "."],
    ] {
        assert!(is_interrupted(&test_dir, args, "TERM", 15), "{args:?} was always faster");
    }
}
