//! Tests of the sessions of a machine: listing them, and addressing them in commands.

use crate::support::{Ran, TestDir, assistant, entry, header, user};
use serde_json::{Value, json};
use std::fs::File;
use std::time::{Duration, SystemTime};

/// A machine with sessions of three agents: three of the current directory, two of another one.
fn machine() -> TestDir {
    let test_dir = TestDir::empty();
    let here = test_dir.path().canonicalize().unwrap();
    let here = here.to_str().unwrap().to_owned();
    let pi = |id: &str, cwd: &str, lines: &[String]| {
        let header = header().replace("demo-1", id).replace("/project", cwd);
        format!("{header}\n{}\n", lines.join("\n"))
    };
    let answer =
        |id: &str, minute| assistant(id, "a1", minute, json!([{"type": "text", "text": "Yes."}]));
    let name = |name: &str| entry("session_info", "n1", Some("a2"), 3, json!({"name": name}));
    let dir = "home/.pi/agent/sessions/--x--";
    let named = [user("a1", None, 1, "hello"), answer("a2", 2), name("Tea time")];
    test_dir.write(&format!("{dir}/1.jsonl"), pi("1111aaaa-tea", &here, &named).as_bytes());
    let branched =
        [user("a1", None, 11, "日本語 and \u{1b}[31mred"), answer("a2", 12), answer("a3", 13)];
    test_dir.write(&format!("{dir}/2.jsonl"), pi("2222bbbb-wide", &here, &branched).as_bytes());
    let inside = format!("{here}/sub");
    test_dir.write(
        &format!("{dir}/3.jsonl"),
        pi("3333cccc-sub", &inside, &[user("a1", None, 21, "deeper")]).as_bytes(),
    );
    let other = [user("a1", None, 31, "Somewhere else"), answer("a2", 32), name("Tea elsewhere")];
    test_dir.write(
        &format!("{dir}/4.jsonl"),
        pi("1111dddd-else", "/elsewhere/proj", &other).as_bytes(),
    );
    let claude = r#"{"parentUuid":null,"isSidechain":false,"cwd":"/elsewhere/proj","sessionId":"5e55","type":"user","message":{"role":"user","content":"Look."},"uuid":"u1","timestamp":"2026-01-05T09:41:00.000Z"}"#;
    test_dir.write("home/.claude/projects/-p/5e55.jsonl", format!("{claude}\n").as_bytes());
    // A file that was just written would not be remembered.
    for name in ["home/.claude/projects/-p/5e55.jsonl".into(), format!("{dir}/1.jsonl")] {
        let file = File::options().append(true).open(test_dir.file(&name)).unwrap();
        file.set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000)).unwrap();
    }
    test_dir
}

/// Runs the program at noon.
fn run(test_dir: &TestDir, args: &[&str]) -> Ran {
    let output =
        test_dir.command(args).env("TREERING_NOW", "2026-01-05T12:00:00Z").output().unwrap();
    Ran {
        code: output.status.code().unwrap(),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

fn ids(test_dir: &TestDir, args: &[&str]) -> Vec<String> {
    let args: Vec<&str> = ["ls", "--json"].iter().chain(args).copied().collect();
    let sessions = run(test_dir, &args).json();
    sessions.iter().map(|session| session["id"].as_str().unwrap()[..4].to_owned()).collect()
}

#[test]
fn this_projects_sessions_are_listed() {
    let test_dir = machine();
    let ran = test_dir
        .command(&["ls"])
        .envs([("TREERING_NOW", "2026-01-05T12:00:00Z"), ("COLUMNS", "100")])
        .output()
        .unwrap();
    let mut out = String::from_utf8(ran.stdout).unwrap();
    // Sizes depend on how long the name of the scratch directory is.
    for name in ["1", "2", "3"] {
        let size = test_dir.read(&format!("home/.pi/agent/sessions/--x--/{name}.jsonl")).len();
        out = out.replace(&format!("{size} B"), "### B");
    }
    insta::assert_snapshot!(out, @r"
    AGE  MESSAGES  BRANCHES   SIZE  AGENT  ID        NAME OR FIRST MESSAGE   PROJECT
    2 h         1            ### B  pi     3333cccc  deeper                  sub
    2 h         3         2  ### B  pi     2222bbbb  日本語 and \x1b[31mred
    2 h         2            ### B  pi     1111aaaa  Tea time
    ");
}

#[test]
fn all_projects_sessions_are_listed() {
    let out = run(&machine(), &["ls", "--all"]).ok();
    let rows: Vec<&str> = out.lines().collect();
    assert_eq!(rows.len(), 6, "{out}");
    assert!(rows[1].contains("claude-code  5e55") && rows[1].ends_with("/elsewhere/proj"), "{out}");
    assert!(rows[2].contains("Tea elsewhere"), "{out}");
}

#[test]
fn filters_and_orders() {
    let test_dir = machine();
    let table: [(&[&str], &[&str]); 14] = [
        (&[], &["3333", "2222", "1111"]),
        (&["--all"], &["5e55", "1111", "3333", "2222", "1111"]),
        (&["--all", "--agent", "claude-code"], &["5e55"]),
        (&["--project", "/elsewhere"], &["5e55", "1111"]),
        (&["--project", "Proj"], &["5e55", "1111"]),
        (&["--project", "."], &["3333", "2222", "1111"]),
        (&["--all", "--since", "150m"], &["5e55", "1111"]),
        (&["--all", "--since", "2026-01-05T09:40:00Z"], &["5e55"]),
        (&["--all", "--named"], &["1111", "1111"]),
        (&["--all", "--branches"], &["2222"]),
        (&["--all", "--findings"], &[]),
        (&["--sort", "messages"], &["2222", "1111", "3333"]),
        (&["--all", "--sort", "name", "--limit", "1"], &["1111"]),
        (&["--dir", "home/.claude", "--all"], &["5e55"]),
    ];
    for (args, expected) in table {
        assert_eq!(ids(&test_dir, args), expected, "{args:?}");
    }
    let by_name = run(&test_dir, &["ls", "--all", "--json", "--sort", "name"]).json();
    assert_eq!(
        (&by_name[0]["name"], &by_name[1]["name"]),
        (&json!("Tea elsewhere"), &json!("Tea time"))
    );
    let wrong: [&[&str]; 3] =
        [&["ls", "--since", "soon"], &["ls", "--agent", "nobody"], &["ls", ".", "--dir", "x"]];
    for args in wrong {
        assert_eq!(run(&test_dir, args).code, 2, "{args:?}");
    }
}

#[test]
fn as_json_there_is_everything() {
    let test_dir = machine();
    let session: Value = run(&test_dir, &["ls", "--json", "--named"]).json().remove(0);
    let size = test_dir.read("home/.pi/agent/sessions/--x--/1.jsonl").len();
    let here = test_dir.path().canonicalize().unwrap();
    assert_eq!(
        session,
        json!({"path": test_dir.file("home/.pi/agent/sessions/--x--/1.jsonl"), "agent": "pi",
               "id": "1111aaaa-tea", "cwd": here, "name": "Tea time",
               "created": "2026-01-05T09:00:00.000Z", "modified": "2026-01-05T09:02:00.000Z",
               "messageCount": 2, "entryCount": 3, "branchCount": 1, "compactionCount": 0, "findingCount": 0,
               "tokens": null, "cost": null, "firstMessage": "hello", "parentSession": null,
               "size": size})
    );
}

#[test]
fn with_and_without_a_cache_it_says_the_same() {
    let test_dir = machine();
    let cache = test_dir.file("home/.cache/treering/index");
    let plain = run(&test_dir, &["ls", "--all", "--json", "--no-cache"]).ok();
    assert!(!cache.exists());
    for _ in 0..3 {
        assert_eq!(run(&test_dir, &["ls", "--all", "--json"]).ok(), plain);
    }
    assert!(cache.exists() || cfg!(not(target_os = "linux")));
    test_dir.write("home/.cache/treering/index", b"rubbish");
    assert_eq!(run(&test_dir, &["ls", "--all", "--json"]).ok(), plain);
}

#[test]
fn nothing_found_says_where_it_looked() {
    let test_dir = TestDir::empty();
    let ran = run(&test_dir, &["ls"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, ""));
    for text in
        ["no sessions on this machine", "these do not exist: ", ".codex/sessions", "--dir DIR"]
    {
        assert!(ran.stderr.contains(text), "{text}: {}", ran.stderr);
    }
    let ran = run(&machine(), &["ls", "--project", "/nobody"]);
    assert!(
        ran.stderr.contains("no sessions found in /nobody; 5 sessions are on this machine"),
        "{}",
        ran.stderr
    );
    assert!(ran.stderr.contains("`treering ls --all`"), "{}", ran.stderr);
    let test_dir = machine();
    test_dir.write("home/.pi/agent/sessions/none.jsonl", b"nothing\n");
    let ran = run(&test_dir, &["ls"]);
    assert!(ran.stderr.starts_with("note: 1 file is not a session, such as /"), "{}", ran.stderr);
}

#[test]
fn every_command_takes_what_names_a_session() {
    let test_dir = machine();
    let names = ["@latest", "3333", "3333cccc-sub"];
    for name in names {
        let out = run(&test_dir, &["tree", name]).ok();
        assert!(out.contains("deeper"), "{name}: {out}");
    }
    assert!(run(&test_dir, &["context", "@2"]).ok().contains("日本語"));
    assert!(run(&test_dir, &["log", "tea t"]).ok().contains("hello"));
    assert!(run(&test_dir, &["log", "TEA ELSE"]).ok().contains("Somewhere else"));
    assert!(run(&test_dir, &["tree", "@all"]).ok().contains("Look."));
    assert!(run(&test_dir, &["tree", "@all/2"]).ok().contains("Somewhere else"));
    // The project's own comes before others that fit.
    assert!(run(&test_dir, &["tree", "1111"]).ok().contains("hello"));
    run(&test_dir, &["append", "3333", "--user", "more"]).ok();
    assert!(test_dir.read("home/.pi/agent/sessions/--x--/3.jsonl").contains("more"));
    assert!(run(&test_dir, &["doctor", "@2", "@3"]).code == 0);
}

#[test]
fn a_file_is_always_a_file() {
    let test_dir = machine();
    let story = format!("{}\n{}\n", header(), user("a1", None, 1, "I am a file."));
    for name in ["3333", "@latest", "Tea time"] {
        test_dir.write(name, story.as_bytes());
        assert!(run(&test_dir, &["tree", name]).ok().contains("I am a file."), "{name}");
    }
    // An argument that looks like a path is one, and a new session may have any name.
    assert!(
        run(&test_dir, &["tree", "1111aaaa-tea.jsonl"]).failed().contains("1111aaaa-tea.jsonl")
    );
    assert!(!test_dir.file("home/.cache").exists(), "nothing had to be looked up");
    let ran = run(&test_dir, &["append", "brand-new", "--user", "x"]);
    let note = "note: no session is named brand-new: it was created as a file\n";
    assert_eq!((ran.code, &*ran.stderr), (0, note));
    assert!(test_dir.file("brand-new").exists());
}

#[test]
fn an_address_of_no_session_or_of_several_is_an_error() {
    let test_dir = machine();
    let unknown = run(&test_dir, &["tree", "tea tine"]).failed();
    assert_eq!(
        unknown,
        "error: no file or session is named \"tea tine\"\nhint: did you mean Tea time?\n"
    );
    let far = run(&test_dir, &["tree", "@9"]).failed();
    assert!(far.starts_with("error: there is no \"@9\": this project has 3 sessions\n"), "{far}");
    let dir = "home/.pi/agent/sessions/--x--";
    test_dir
        .write(&format!("{dir}/copy.jsonl"), test_dir.read(&format!("{dir}/1.jsonl")).as_bytes());
    let several = run(&test_dir, &["tree", "1111"]).failed();
    let lines: Vec<&str> = several.lines().collect();
    assert_eq!(lines[0], "error: \"1111\" matches 2 sessions");
    assert!(lines[1].starts_with("session: 1111aaaa-tea  2 h  Tea time  /"), "{several}");
    assert_eq!(lines.len(), 4, "{several}");
    let evil = run(&test_dir, &["tree", "\u{1b}[31m"]).failed();
    assert!(!evil.contains('\u{1b}'), "{evil}");
}

#[test]
fn a_second_session_is_named_like_the_first() {
    let test_dir = TestDir::with_story();
    let fork = test_dir.run(&["fork", "s.jsonl", "--at", "a3"]).ok();
    let shown = test_dir.run(&["diff", "s.jsonl", "b4", "--with", "unknown", "--json"]).failed();
    assert!(shown.starts_with("error: no file or session is named \"unknown\""), "{shown}");
    let diff = test_dir.run(&["diff", "s.jsonl", "b4", "--with", fork.trim_end(), "--json"]).json();
    assert_eq!(diff[0]["commonAncestor"], "a3");
    let shown = test_dir.run(&["cherry-pick", "s.jsonl", "a1", "--from", "unknown"]).failed();
    assert!(shown.starts_with("error: no file or session is named \"unknown\""), "{shown}");
}
