//! `treering usage`: events of forks and copies count once, computed costs are marked, unknown ones named.

use crate::support::TestDir;
use serde_json::{Value, json};

/// A record of an answer of Claude Code.
fn claude(session: &str, number: u32, time: &str, model: &str, output: u64) -> String {
    json!({"type": "assistant", "uuid": format!("{session}-{number}-{output}"), "parentUuid": null,
           "isSidechain": false, "sessionId": session, "cwd": "/home/me/web", "version": "2.0.0",
           "timestamp": time, "requestId": format!("req-{number}"),
           "message": {"id": format!("msg-{number}"), "role": "assistant", "model": model,
                       "content": [{"type": "text", "text": "x"}],
                       "usage": {"input_tokens": 1000, "output_tokens": output,
                                 "cache_creation_input_tokens": 2000, "cache_read_input_tokens": 10_000,
                                 "cache_creation": {"ephemeral_1h_input_tokens": 500}}}})
    .to_string()
}

const SONNET: &str = "claude-sonnet-4-5-20250929";

/// Two sessions of Claude Code, the second of which begins with the answer of the first.
fn test_dir() -> TestDir {
    let test_dir = TestDir::empty();
    let lines = |lines: &[String]| lines.join("\n") + "\n";
    let first = [
        claude("a", 1, "2026-01-05T22:59:00.000Z", SONNET, 1),
        claude("a", 1, "2026-01-05T22:59:01.000Z", SONNET, 100),
    ];
    let second = [
        claude("b", 1, "2026-01-05T22:59:01.000Z", SONNET, 100),
        claude("b", 2, "2026-01-06T09:00:00.000Z", "claude-unheard-of", 7),
        claude("b", 3, "2026-01-06T09:30:00.000Z", SONNET, 100),
    ];
    test_dir.write("c/a.jsonl", lines(&first).as_bytes());
    test_dir.write("c/b.jsonl", lines(&second).as_bytes());
    test_dir
}

fn usage(test_dir: &TestDir, words: &[&str]) -> Value {
    let words = [&["usage", "--json", "--dir", "c", "--timezone", "UTC"], words].concat();
    test_dir.run(&words).json().remove(0)
}

#[test]
fn an_answer_counts_once_and_its_cost_is_computed() {
    let test_dir = test_dir();
    let report = usage(&test_dir, &["daily"]);
    let day = |at: usize, key: &str| report["rows"][at]["usage"][key].clone();
    assert_eq!(report["rows"][0]["name"], "2026-01-05");
    assert_eq!((day(0, "requests"), day(0, "output")), (json!(1), json!(100)));
    assert_eq!((day(0, "cost"), day(0, "costComputed")), (json!(0.016125), json!(true)));
    assert_eq!((day(1, "requests"), day(1, "unpriced")), (json!(2), json!(1)));
    assert_eq!(report["total"]["sessions"], 2);
    assert_eq!(report["total"]["usage"]["cost"], json!(0.03225));
    assert_eq!(report["unknownPrices"][0]["model"], "anthropic/claude-unheard-of");
    let sessions = usage(&test_dir, &["session"]);
    let requests = |id: &str| {
        let rows = sessions["rows"].as_array().unwrap();
        rows.iter().find(|row| row["name"] == id).unwrap()["usage"]["requests"].clone()
    };
    assert_eq!((requests("a"), requests("b")), (json!(1), json!(2)), "the oldest session has it");
}

#[test]
fn days_begin_in_the_given_zone_and_ranges_include_their_last_day() {
    let test_dir = test_dir();
    let days = |words: &[&str]| {
        let report = usage(&test_dir, words);
        let rows = report["rows"].as_array().unwrap().clone();
        rows.iter().map(|row| row["name"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(days(&[]), ["2026-01-05", "2026-01-06"]);
    let report = test_dir.run(&["usage", "--json", "--dir", "c", "--timezone", "+02:00"]).json();
    assert_eq!(report[0]["rows"].as_array().unwrap().len(), 1);
    assert_eq!(days(&["--until", "2026-01-05"]), ["2026-01-05"]);
    assert_eq!(days(&["--since", "2026-01-06"]), ["2026-01-06"]);
    assert_eq!(days(&["--since", "2026-01-06T09:10:00Z", "--model", "unheard"]), [""; 0]);
    assert_eq!(days(&["--agent", "codex"]), [""; 0]);
    assert_eq!(days(&["--project", "web", "--agent", "claude"]).len(), 2);
    let relative = |word: &str| {
        let mut command = test_dir.command(&["usage", "--csv", "--dir", "c", "--timezone", "UTC"]);
        command.args(["--since", word, "--until", word]);
        command.env("TREERING_NOW", "2026-01-06T12:00:00Z");
        String::from_utf8(command.output().unwrap().stdout).unwrap()
    };
    assert!(relative("yesterday").lines().nth(1).unwrap().starts_with("2026-01-05,1,1,1000,100,"));
    assert!(relative("today").lines().nth(1).unwrap().starts_with("2026-01-06,1,2,2000,107,"));
}

#[test]
fn prices_can_be_configured() {
    let test_dir = test_dir();
    test_dir.write("config.toml", b"[prices.\"claude-unheard-of\"]\ninput = 1.0\noutput = 2.0\n");
    let run = |words: &[&str]| {
        let mut command = test_dir.command(words);
        command.env("TREERING_CONFIG", test_dir.file("config.toml"));
        let output = command.output().unwrap();
        (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap())
    };
    let (stdout, _) = run(&["usage", "model", "--csv", "--dir", "c"]);
    assert!(
        stdout.contains(
            "anthropic/claude-unheard-of,1,1,1000,7,10000,2000,13007,0.013014,0.013014,0"
        ),
        "{stdout}"
    );
    let (stdout, _) = run(&["stats", "--json", "c/b.jsonl"]);
    let stats: Value = serde_json::from_str(&stdout).unwrap();
    assert_eq!(stats["usage"]["unpriced"], 0);
    test_dir.write("config.toml", b"[prices.\"claude-unheard-of\"]\ninput = -1.0\noutput = 2.0\n");
    let (_, stderr) = run(&["usage", "--dir", "c"]);
    assert!(stderr.contains("a price of \"claude-unheard-of\" is negative"), "{stderr}");
}

#[test]
fn a_store_is_counted_like_a_directory() {
    let test_dir = TestDir::empty();
    let header = crate::support::header();
    let answer = crate::support::message(
        "a1",
        None,
        1,
        json!({"role": "assistant", "content": [], "provider": "acme", "model": "m",
               "usage": {"input": 5, "output": 6, "cost": {"total": 0.5}}}),
    );
    test_dir.write("store/s.jsonl", format!("{header}\n{answer}\n").as_bytes());
    let report = test_dir.run(&["--store", "store", "usage", "agent", "--json"]).json().remove(0);
    assert_eq!(report["rows"][0]["name"], "pi");
    assert_eq!(report["total"]["usage"]["totalTokens"], 11);
    assert_eq!(report["total"]["usage"]["costComputed"], false);
}

#[test]
fn the_cache_changes_no_number() {
    let test_dir = test_dir();
    let home = test_dir.file("home/.cache/treering");
    let first = usage(&test_dir, &["model"]);
    // Files that were just written are not remembered, so they are made older.
    for name in ["c/a.jsonl", "c/b.jsonl"] {
        let file = std::fs::File::options().write(true).open(test_dir.file(name)).unwrap();
        let time = std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_767_000_000);
        file.set_modified(time).unwrap();
    }
    let (second, third) = (usage(&test_dir, &["model"]), usage(&test_dir, &["model"]));
    assert!(!cfg!(target_os = "linux") || home.is_dir(), "there is a cache");
    assert_eq!((&first, &first), (&second, &third));
    // A session that grew is read again.
    let more =
        test_dir.read("c/a.jsonl") + &claude("a", 9, "2026-01-07T09:00:00.000Z", SONNET, 1) + "\n";
    test_dir.write("c/a.jsonl", more.as_bytes());
    assert_eq!(usage(&test_dir, &["model"])["total"]["usage"]["requests"], 4);
}
