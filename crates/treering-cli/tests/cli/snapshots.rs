//! Snapshots of the output of every command, on files beside this one: for people, for programs
//! (`--json`), when something is wrong, and about malicious sessions.
//!
//! A snapshot is what one saw on a terminal: command lines and what followed. New ids and times, which
//! differ from run to run, are written with the same number of `#`. To accept changes:
//! `INSTA_UPDATE=always cargo test -p treering-cli snapshots`, and look at the difference.
#![cfg(target_os = "linux")] // Where the trash is, and what the system calls its errors.

mod lines;

use crate::hostile::evil_session;
use crate::support::{TestDir, assistant, entry, header, message, user};
use lines::{COMMANDS, LOOKS, ON_A_SESSION, ON_AN_ENTRY, SENSELESS};
use serde_json::json;
use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::Path;
use std::time::{Duration, UNIX_EPOCH};

/// Wide, joined, combining and invisible characters, and words that are longer than a line.
fn wide_session() -> Vec<String> {
    let wide = "宽字符很宽".repeat(12);
    let joined = "e\u{301}a\u{308}\u{323} 👩\u{200d}👩\u{200d}👧 🇩🇪 \u{200b}hidden\u{2060} ﷽";
    let around = "\u{202e}backwards\u{202c} \u{2067}isolated\u{2069} \u{61c}marked";
    vec![
        user("a1", None, 1, &format!("{wide}\n{joined}")),
        assistant("a2", "a1", 2, json!([{"type": "text", "text": around}])),
        message(
            "a3",
            Some("a2"),
            3,
            json!({"role": "toolResult", "toolCallId": "t", "toolName": wide,
            "content": [{"type": "text", "text": joined}]}),
        ),
        assistant("a4", "a3", 4, json!([{"type": "text", "text": "z".repeat(300)}])),
        entry("label", "a5", Some("a4"), 5, json!({"targetId": "a2", "label": wide})),
        entry("session_info", "a6", Some("a5"), 6, json!({"name": format!("{around} {wide}")})),
        user("c1", Some("a1"), 7, joined),
        user("c2", Some("a6"), 8, around),
    ]
}

/// Returns a directory with all that the command lines speak of.
fn test_dir() -> TestDir {
    let test_dir = TestDir::with_story();
    let lines = |lines: &[String]| lines.join("\n") + "\n";
    let other = header().replace("demo-1", "demo-2");
    let answer = assistant("c2", "c1", 9, json!([{"type": "text", "text": "Nothing much."}]));
    test_dir.write(
        "other.jsonl",
        lines(&[other, user("c1", None, 8, "And there?"), answer]).as_bytes(),
    );
    let third = header().replace("demo-1", "demo-3");
    let orphan = user("d2", Some("gone"), 10, "Who am I?");
    let torn = "{\"type\":\"message\",\"id\":\"d3".to_owned();
    let bad = [third, user("d1", None, 9, "Is it all here?"), "{broken".to_owned(), orphan, torn];
    test_dir.write("bad.jsonl", lines(&bad).as_bytes());
    let old = r#"{"type":"session","id":"demo-4","timestamp":"2026-01-05T09:00:00.000Z","cwd":"/project"}
{"type":"message","timestamp":"2026-01-05T09:01:00.000Z","message":{"role":"user","content":"Old times."}}
"#;
    test_dir.write("old.jsonl", old.as_bytes());
    let fifth = header().replace("demo-1", "demo-5");
    let key = format!("My key is sk-ant-{}, keep it.", "api03-".to_owned() + &"aB3dE6".repeat(15));
    test_dir.write("secret.jsonl", lines(&[fifth, user("a1", None, 1, &key)]).as_bytes());
    test_dir.write("notes.jsonl", b"Buy milk.\n");
    test_dir.write("empty.jsonl", b"");
    std::fs::create_dir_all(test_dir.file("elsewhere")).unwrap();
    // Leftovers, deeper than any other command looks for sessions.
    let silent = header().replace("demo-1", "demo-6") + "\n";
    for (name, text) in
        [("a", &test_dir.read("s.jsonl")), ("b", &test_dir.read("s.jsonl")), ("c", &silent)]
    {
        test_dir.write(&format!("out/of/the/usual/way/{name}.jsonl"), text);
    }
    test_dir.write("out/of/the/usual/way/a.jsonl.123-0.tmp", "x");
    let way = test_dir.file("out/of/the/usual/way");
    settle(test_dir.path());
    settle(&way);
    test_dir
}

/// Makes the files in a directory ones that were written this morning, a minute after the other.
fn settle(dir: &Path) {
    let mut files: Vec<_> = dir.read_dir().unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.is_file());
    files.sort();
    for (minute, path) in files.iter().enumerate() {
        let time = UNIX_EPOCH + Duration::from_millis(1_767_605_400_000 + 60_000 * minute as u64);
        let file = std::fs::File::options().write(true).open(path).unwrap();
        file.set_modified(time).unwrap();
    }
}

/// Returns the commands, and the lines in which they are tried.
fn commands_tried() -> impl Iterator<Item = (&'static str, Vec<&'static str>)> {
    COMMANDS.trim().split("\n\n").map(|group| {
        let (name, lines) = group.split_once('\n').unwrap();
        (name.trim_matches(['[', ']']), lines.lines().collect())
    })
}

/// Lines about something, as lines about something else.
fn about(lines: &str, what: &str, other: &str) -> Vec<String> {
    lines.trim().lines().map(|line| line.replace(what, other)).collect()
}

/// Returns the words of a command line; those in single quotes are one.
fn words(line: &str) -> Vec<String> {
    let (mut words, mut word, mut quoted) = (Vec::new(), None::<String>, false);
    for c in line.chars() {
        match c {
            '\'' => {
                quoted = !quoted;
                word.get_or_insert_default();
            }
            ' ' if !quoted => words.extend(word.take()),
            c => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    words
}

/// Returns the terminal output of these command lines.
fn typed(test_dir: &TestDir, lines: impl IntoIterator<Item: AsRef<str>>) -> String {
    let mut seen = String::new();
    for line in lines {
        let line = line.as_ref();
        let words = words(line);
        let mut command = test_dir.command(&words.iter().map(String::as_str).collect::<Vec<_>>());
        command.env("TREERING_NOW", "2026-01-05T12:00:00Z").stdin(std::process::Stdio::null());
        let output = command.output().unwrap();
        writeln!(seen, "$ treering {line}").unwrap();
        seen += &abridged(str::from_utf8(&output.stdout).unwrap());
        for line in str::from_utf8(&output.stderr).unwrap().lines() {
            writeln!(seen, "! {line}").unwrap();
        }
        match output.status.code() {
            Some(0) => seen.push('\n'),
            code => writeln!(seen, "exit {}\n", code.unwrap()).unwrap(),
        }
    }
    steady(test_dir, &seen)
}

/// Very long outputs are cut.
fn abridged(text: &str) -> String {
    const MANY: usize = 90;
    match text.lines().count() {
        ..=MANY => text.to_owned(),
        _ => text.lines().take(MANY).map(|line| format!("{line}\n")).collect::<String>() + "…\n",
    }
}

/// Without what differs from run to run.
fn steady(test_dir: &TestDir, text: &str) -> String {
    let real = test_dir.path().canonicalize().unwrap();
    let text = text.replace(env!("CARGO_BIN_EXE_treering"), "treering");
    let text = text.replace(real.to_str().unwrap(), "DIR");
    let text = timeless(&text.replace(test_dir.path().to_str().unwrap(), "DIR"));
    let (mut out, mut rest) = (String::new(), text.as_str());
    while let Some(first) = rest.chars().next() {
        let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '-');
        let (word, after) = rest.split_at(end.unwrap_or(rest.len()).max(first.len_utf8()));
        match is_new(word) {
            true => out.push_str(&hidden(word)),
            false => out.push_str(word),
        }
        rest = after;
    }
    out
}

/// Returns whether a word is a new id, or a time in milliseconds.
fn is_new(word: &str) -> bool {
    let is_hex = |text: &str| text.bytes().all(|byte| byte.is_ascii_hexdigit());
    let lengths: Vec<usize> = word.split('-').map(str::len).collect();
    let is_id = matches!(lengths[..], [8] | [8, 4, 4, 4, 12]) && word.split('-').all(is_hex);
    let is_time = word.len() == 13 && word.bytes().all(|byte| byte.is_ascii_digit());
    is_id || is_time && word > "1769900000000"
}

/// Text without times of this run.
fn timeless(text: &str) -> String {
    let (mut out, mut rest) = (String::new(), text);
    while let Some(at) = rest.find("-") {
        let (start, time) =
            (at.saturating_sub(4), |c: char| c.is_ascii_digit() || "-:.TZ ".contains(c));
        let date = rest.get(start..start + 10).unwrap_or_default();
        let shape: String =
            date.chars().map(|c| if c.is_ascii_digit() { '9' } else { c }).collect();
        let end = match shape == "9999-99-99" && date > "2026-01-31" {
            true => (start..rest.len().min(start + 24))
                .find(|at| {
                    rest.get(*at..).and_then(|rest| rest.chars().next()).is_some_and(|c| !time(c))
                })
                .unwrap_or(rest.len().min(start + 24)),
            false => at + 1,
        };
        let (before, after) = rest.split_at(end);
        match end > at + 1 {
            true => out.extend([&before[..start], &hidden(&before[start..])]),
            false => out.push_str(before),
        }
        rest = after;
    }
    out + rest
}

/// The same number of `#`.
fn hidden(text: &str) -> String {
    text.chars().map(|c| if c.is_ascii_hexdigit() { '#' } else { c }).collect()
}

fn check(name: &str, seen: &str) {
    let mut settings = insta::Settings::clone_current();
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| insta::assert_snapshot!(name, seen));
}

#[test]
fn what_every_command_prints() {
    for (name, lines) in commands_tried() {
        check(name, &typed(&test_dir(), lines));
    }
}

#[test]
fn messages_of_every_command_about_files_that_are_not_sessions() {
    for (name, file) in [
        ("missing", "gone.jsonl"),
        ("directory", "elsewhere"),
        ("no-session", "notes.jsonl"),
        ("empty", "empty.jsonl"),
        ("below-a-file", "s.jsonl/x.jsonl"),
    ] {
        // Each on its own: some of them move files.
        let lines = about(ON_A_SESSION, "FILE", file);
        let seen: String = lines.iter().map(|line| typed(&test_dir(), [line])).collect();
        check(&format!("error-{name}"), &seen);
    }
}

/// Even by those who may read everything.
#[test]
fn messages_of_every_command_about_unreadable_files() {
    let test_dir = test_dir();
    std::os::unix::fs::symlink("loop.jsonl", test_dir.file("loop.jsonl")).unwrap();
    check("error-unreadable", &typed(&test_dir, about(ON_A_SESSION, "FILE", "loop.jsonl")));
}

#[test]
fn messages_of_every_command_about_unknown_and_ambiguous_entries() {
    for (name, id) in [("unknown", "zz"), ("ambiguous", "b")] {
        let seen = typed(&test_dir(), about(ON_AN_ENTRY, "ID", id));
        check(&format!("error-{name}-entry"), &seen);
    }
}

#[test]
fn messages_about_wrong_command_lines() {
    check("error-usage", &typed(&test_dir(), SENSELESS.trim().lines()));
}

#[test]
fn messages_about_a_wrong_configuration() {
    let mut seen = String::new();
    for config in ["[ui\n", "[ui]\ntime = \"late\"\n", "[nonsense]\nx = 1\n", "\u{1b}[2J = 1\n"] {
        let test_dir = test_dir();
        test_dir.write("home/.config/treering/config.toml", config.as_bytes());
        writeln!(seen, "# {}", config.escape_debug()).unwrap();
        let lines = ["config", "ls .", "compact s.jsonl --keep-recent 1", "config init"];
        seen += &typed(&test_dir, lines);
    }
    check("error-config", &seen);
}

#[test]
fn how_malicious_content_is_shown() {
    for (name, session) in [("evil", evil_session()), ("wide", wide_session())] {
        let test_dir = TestDir::with(&session);
        check(&format!("hostile-{name}"), &typed(&test_dir, about(LOOKS, "FILE", "s.jsonl")));
    }
}

/// Returns the commands that the program itself lists.
fn commands() -> BTreeSet<String> {
    let help = TestDir::empty().run(&["--help"]).ok();
    let list = help.split("Commands:\n").nth(1).and_then(|rest| rest.split("\n\n").next());
    let names = list.unwrap().lines().filter_map(|line| line.split_whitespace().next());
    names.map(str::to_owned).collect()
}

#[test]
fn no_command_is_without_a_snapshot() {
    let shown: BTreeSet<String> = commands_tried().map(|(name, _)| name.to_owned()).collect();
    assert_eq!(shown, commands());
    for (name, lines) in commands_tried() {
        let is_of_it = |line: &&str| words(line)[0] == name;
        let of_it = || lines.iter().copied().filter(is_of_it);
        assert!(of_it().next().is_some(), "{name} is not tried");
        let help = TestDir::empty().run(&[name, "--help"]).ok();
        let usage = help.split("Usage:").nth(1).unwrap();
        let has_json = usage.lines().any(|line| line.trim_start().starts_with("--json"));
        assert_eq!(has_json, of_it().any(|line| line.contains("--json")), "{name} --json");
        let takes_a_session = usage.lines().next().unwrap().contains("<SESSION>");
        let is_tried = ON_A_SESSION.trim().lines().any(|line| is_of_it(&line));
        // A file that is not there yet is what it begins.
        assert!(is_tried || !takes_a_session || name == "append", "{name} without a session");
    }
}

#[test]
fn what_differs_from_run_to_run_is_hidden_and_nothing_else() {
    let test_dir = TestDir::empty();
    for same in [
        "a1 2026-01-05T09:01:00.000Z assistant 1767603660000 12:00 -1 --json",
        "a date such as 2026-01-31, or 宽字符-很宽 und 2026-13",
        "- 宽2026-01-05\n-",
    ] {
        assert_eq!(steady(&test_dir, same), same);
    }
    for (text, expected) in [
        ("0a1b2c3d: x", "########: x"),
        ("x 2026-11-16T07:28:39.123Z,", "x ####-##-##T##:##:##.###Z,"),
        ("宽2026-11-16 07:28:39Z  user 7", "宽####-##-## ##:##:##Z  user 7"),
        (
            "2026-11-16T07-28-39-123Z_019a2b3c-4d5e-7f60-8a9b-0c1d2e3f4a5b.jsonl",
            "####-##-##T##-##-##-###Z_########-####-####-####-############.jsonl",
        ),
        ("\"timestamp\":1794814119123}", "\"timestamp\":#############}"),
    ] {
        assert_eq!(steady(&test_dir, text), expected);
    }
}
