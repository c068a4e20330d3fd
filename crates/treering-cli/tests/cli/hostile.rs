//! Tests that hostile content is shown without any effect on the terminal.

use crate::support::{TestDir, assistant, entry, header, message};
use serde_json::{Value, json};

/// Clears the screen, sets the title, in one byte and in two, turns text around, hides.
const EVIL: &str = "x\u{1b}[2J\u{1b}]0;owned\u{7}\r\u{8}\u{7f}\u{9b}31m\u{85}\u{202e}\u{2066}\u{200b}\u{feff}\u{2028}\u{e0041}\0z";

/// Every place in which a session can hold text.
pub(crate) fn evil_session() -> Vec<String> {
    let blocks = json!([
        {"type": "text", "text": format!("{EVIL}\n{EVIL}")},
        {"type": "thinking", "thinking": EVIL},
        {"type": "image", "data": "AAAA", "mimeType": EVIL},
        {"type": "toolCall", "id": EVIL, "name": EVIL, "arguments": {"command": EVIL, EVIL: EVIL}},
        {"type": EVIL, EVIL: EVIL},
    ]);
    let result = json!({"role": "toolResult", "toolCallId": EVIL, "toolName": EVIL, "isError": true,
                        "content": [{"type": "text", "text": EVIL}]});
    let ended = json!({"role": "assistant", "provider": EVIL, "model": EVIL, "stopReason": "error",
                       "errorMessage": EVIL, "content": [], "usage": {"input": EVIL, "output": 7}});
    let bash = json!({"role": "bashExecution", "command": EVIL, "output": EVIL, "exitCode": EVIL});
    let target = json!({"targetId": EVIL, "label": EVIL});
    vec![
        message(EVIL, None, 1, json!({"role": "user", "content": EVIL})),
        assistant("a2", EVIL, 2, blocks),
        message("a3", Some("a2"), 3, result),
        message("a4", Some("a3"), 4, ended),
        message("a5", Some("a4"), 5, bash),
        message("a6", Some("a5"), 6, json!({"role": EVIL, "content": EVIL})),
        entry("label", "a7", Some("a6"), 7, target.clone()),
        entry("context_edit", "a8", Some("a7"), 8, target),
        entry(
            "compaction",
            "a9",
            Some("a8"),
            9,
            json!({"summary": EVIL, "firstKeptEntryId": EVIL}),
        ),
        entry("branch_summary", "b1", Some("a9"), 10, json!({"summary": EVIL, "fromId": EVIL})),
        entry("custom", "b2", Some("b1"), 11, json!({"customType": EVIL, "data": EVIL})),
        entry("custom_message", "b3", Some("b2"), 12, json!({"customType": EVIL, "content": EVIL})),
        entry("model_change", "b4", Some("b3"), 13, json!({"provider": EVIL, "modelId": EVIL})),
        entry("thinking_level_change", "b5", Some("b4"), 14, json!({"thinkingLevel": EVIL})),
        entry("session_info", "b6", Some("b5"), 15, json!({"name": EVIL})),
        entry("usage", "b7", Some("b6"), 16, json!({"kind": EVIL})),
        entry(EVIL, "b8", Some("b7"), 17, json!({EVIL: EVIL})),
        message("b9", Some("b8"), 18, json!({"role": "user", "content": EVIL})),
        message("c1", Some(EVIL), 19, json!({"role": "user", "content": "side"})),
        entry("leaf", "c2", Some("b9"), 20, json!({"targetId": "b9"})),
    ]
}

#[track_caller]
fn assert_harmless(what: &str, text: &str) {
    for (at, c) in text.char_indices() {
        let acts = (c.is_control() && c != '\n')
            || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
            || matches!(c, '\u{feff}' | '\u{e0000}'..='\u{e007f}');
        assert!(!acts, "{what}: {c:?} at {at} of {text:?}");
    }
}

#[test]
fn nothing_for_people_drives_the_terminal() {
    let test_dir = TestDir::with(&evil_session());
    let all = test_dir.run(&["tree", "s.jsonl", "--json"]).json();
    let ids: Vec<&str> = all.iter().map(|node| node["id"].as_str().unwrap()).collect();
    assert_eq!(ids.len(), evil_session().len());
    let mut runs: Vec<Vec<&str>> = vec![
        vec!["tree", "s.jsonl"],
        vec!["tree", "s.jsonl", "--all"],
        vec!["log", "s.jsonl"],
        vec!["context", "s.jsonl"],
        vec!["context", "s.jsonl", "--llm", "--strict"],
        vec!["name", "s.jsonl"],
        vec!["ls", "."],
        vec!["branches", "s.jsonl", "--all"],
        vec!["stats", "s.jsonl"],
        vec!["stats", "s.jsonl", "s.jsonl"],
        vec!["check", "s.jsonl"],
    ];
    for id in &ids {
        // An argument cannot hold a NUL; the beginning of the id is enough.
        let id = id.split('\0').next().unwrap();
        runs.extend([vec!["show", "s.jsonl", id], vec!["context", "s.jsonl", "--leaf", id]]);
    }
    for args in runs {
        let ran = test_dir.run(&args);
        assert_eq!(ran.code, 0, "{args:?}: {}", ran.stderr);
        assert_harmless(&format!("{args:?}"), &ran.stdout);
        assert_harmless(&format!("{args:?}"), &ran.stderr);
        assert!(!ran.stdout.is_empty());
    }
}

#[test]
fn what_is_hidden_becomes_visible() {
    let test_dir = TestDir::with(&evil_session());
    let shown = test_dir.run(&["show", "s.jsonl", "b9"]).ok();
    let expected = r"x\x1b[2J\x1b]0;owned\x07\r\x08\x7f\u{9b}31m\u{85}\u{202e}\u{2066}\u{200b}\u{feff}\u{2028}\u{e0041}\x00z";
    assert!(shown.ends_with(&format!("\n\n{expected}\n")), "{shown}");
}

#[test]
fn ids_that_are_printed_are_harmless_too() {
    let test_dir = TestDir::with(&evil_session());
    let id = EVIL.split('\0').next().unwrap();
    assert_harmless("goto", &test_dir.run(&["goto", "s.jsonl", id]).ok());
    assert_harmless("error", &test_dir.run(&["goto", "s.jsonl", "\u{1b}[2J"]).failed());
    let entry = json!({"type": "custom", "customType": "x", "id": "\u{1b}[2J"}).to_string();
    assert_harmless("append", &test_dir.run(&["append", "s.jsonl", "--entry", &entry]).ok());
}

#[test]
fn damage_and_names_of_files_are_harmless_in_warnings() {
    let evil: String = EVIL.chars().filter(|c| *c != '\0').collect();
    let test_dir = TestDir::empty();
    let name = format!("{evil}.jsonl");
    let lines = [header(), message(EVIL, Some("gone"), 1, json!({"role": "user", "content": "x"}))];
    test_dir.write(&name, lines.join("\n").as_bytes());
    test_dir.write(&format!("{evil}-2.jsonl"), b"\x1b[2J");
    for args in [vec!["ls", "."], vec!["tree", &name], vec!["check", &name], vec!["tree", &evil]] {
        let ran = test_dir.run(&args);
        assert_harmless(&format!("{args:?}"), &ran.stdout);
        assert_harmless(&format!("{args:?}"), &ran.stderr);
        assert!(!ran.stderr.is_empty() || args[0] == "check", "{args:?}");
    }
}

/// Names of files come from anywhere: a session of that name is handed to every command that writes or
/// names one, and into and out of a directory of that name.
#[test]
fn no_command_prints_a_name_as_it_is() {
    let evil: String = EVIL.chars().filter(|c| *c != '\0').collect();
    let test_dir = TestDir::empty();
    let (dir, name) = (format!("d{evil}"), format!("s{evil}.jsonl"));
    let file = format!("{dir}/{name}");
    std::fs::create_dir(test_dir.file(&dir)).unwrap();
    let lines = [header(), message("a1", None, 1, json!({"role": "user", "content": "kettle"}))];
    let write = || {
        test_dir.write(&file, (lines.join("\n") + "\n").as_bytes());
        let long_ago = std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_700_000_000);
        std::fs::File::options()
            .append(true)
            .open(test_dir.file(&file))
            .and_then(|file| file.set_modified(long_ago))
            .unwrap();
    };
    let (out, packed, missing) = (format!("o{evil}"), format!("{file}.zst"), format!("gone{evil}"));
    let runs: Vec<Vec<&str>> = vec![
        vec!["export", &file, "-o", &out],
        vec!["export", &file, "-o", &out],
        vec!["export", &file, "-o", &dir, "--force"],
        vec!["convert", &file, "--to", "omp"],
        vec!["convert", &file, "--to", "omp"],
        vec!["redact", &file],
        vec!["redact", &file],
        vec!["doctor", &file, "--repair"],
        vec!["doctor", &dir],
        vec!["ls", &dir],
        vec!["ls", &missing],
        vec!["search", "kettle", &dir],
        vec!["search", "kettle", &missing],
        vec!["stats", &file],
        vec!["migrate", &file],
        vec!["name", &file],
        vec!["label", &file, "a1", &evil],
        vec!["append", &missing, "--entry", "{}"],
        vec!["append", &file, "--stdin", "--cwd", &missing],
        vec!["append", &dir, "--user", "x"],
        vec!["fork", &missing],
        vec!["fork", &file, "--dir", &file],
        vec!["move", &file, &missing],
        vec!["move", &file, &dir, "--missing"],
        vec!["cherry-pick", &file, "a1", "--from", &missing],
        vec!["edit-context", &file, "drop", &evil],
        vec!["archive", &missing],
        vec!["archive", &file],
        vec!["archive", &packed],
        vec!["unarchive", &packed],
        vec!["unarchive", &file],
        vec!["man", &out],
        vec!["tail", &missing],
        vec!["rm", &dir],
        vec!["rm", &file],
        vec!["rm", &file, "--force"],
        vec!["gc", &dir],
        vec![&evil],
        vec!["log", &file, &evil],
        vec!["convert", &file, "--to", &evil],
        vec!["help", &evil],
    ];
    for args in runs {
        if !test_dir.file(&file).exists() && args.get(1) != Some(&&*packed) {
            write();
        }
        let ran = test_dir.run(&args);
        assert_harmless(&format!("{args:?}"), &ran.stdout);
        assert_harmless(&format!("{args:?}"), &ran.stderr);
        // A session without a name has nothing to print but a note.
        let is_silent = ["append", "name"].contains(&args[0]);
        assert!(ran.code != 0 || !ran.stdout.is_empty() || is_silent, "{args:?}");
    }
}

#[test]
fn json_is_utf8_and_says_what_was_not() {
    let test_dir = TestDir::with(&[]);
    let lines = b"{\"type\":\"message\",\"id\":\"a1\",\"parentId\":null,\"timestamp\":\"2026-01-05T09:00:00.000Z\",\"message\":{\"role\":\"user\",\"content\":\"a\xff\xfeb\"}}\n";
    test_dir.write("s.jsonl", [test_dir.read("s.jsonl").as_bytes(), lines].concat());
    for args in [
        &["log", "s.jsonl", "--json"][..],
        &["show", "s.jsonl", "a1", "--json"],
        &["context", "s.jsonl", "--json"],
        &["tree", "s.jsonl", "--json"],
    ] {
        let ran = test_dir.run(args);
        assert_eq!(ran.code, 0, "{args:?}: {}", ran.stderr);
        for line in ran.stdout.lines() {
            serde_json::from_str::<Value>(line).expect(line);
        }
        if args[0] != "tree" {
            assert!(ran.stdout.contains("a\\ufffd\\ufffdb"), "{args:?}: {}", ran.stdout);
            let warning = "warning: 2 byte sequences are not UTF-8: written as \\ufffd\n";
            assert!(
                ran.stderr.contains(warning) || args[0] == "export",
                "{args:?}: {}",
                ran.stderr
            );
        }
    }
}

/// File systems that store names as Unicode refuse such a name; there is nothing to check then.
#[cfg(unix)]
#[test]
fn json_warns_of_file_names_that_are_not_utf8() {
    use std::os::unix::ffi::OsStrExt;
    let test_dir = TestDir::with(&evil_session());
    let name = std::ffi::OsStr::from_bytes(b"bad\xff.jsonl");
    if std::fs::copy(test_dir.file("s.jsonl"), test_dir.file(".").join(name)).is_err() {
        return;
    }
    for args in [
        &["ls", ".", "--json"][..],
        &["doctor", ".", "--json"],
        &["search", "e", "-d", ".", "--json"],
    ] {
        let ran = test_dir.run(args);
        assert!(ran.stdout.contains("bad\u{fffd}.jsonl"), "{args:?}: {}", ran.stdout);
        let warning = "warning: 1 byte sequence is not UTF-8: written as \\ufffd\n";
        assert!(ran.stderr.contains(warning), "{args:?}: {}", ran.stderr);
    }
}

#[test]
fn bytes_that_are_no_text_are_shown_as_numbers() {
    let test_dir = TestDir::with(&[]);
    let damaged = b"{\"type\":\"custom\",\"id\":\"a1\",\"parentId\":null,\"x\":\"\xff\x1b\n";
    let bytes = [test_dir.read("s.jsonl").as_bytes(), damaged].concat();
    test_dir.write("s.jsonl", &bytes);
    let ran = test_dir.run(&["show", "s.jsonl", "a1"]);
    assert!(ran.stdout.ends_with("\"x\":\"\\xff\\x1b\n"), "{}", ran.stdout);
}

#[test]
fn programs_get_the_truth() {
    let test_dir = TestDir::with(&evil_session());
    let log: Vec<Value> = test_dir.run(&["log", "s.jsonl", "--json"]).json();
    assert_eq!(log[0]["message"]["content"], EVIL);
    let listed = &test_dir.run(&["ls", ".", "--json"]).json()[0];
    assert_eq!(listed["firstMessage"], EVIL);
}
