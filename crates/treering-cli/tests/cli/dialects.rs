//! Tests of commands on sessions of other agents.

use crate::support::TestDir;
use serde_json::Value;

/// A session of Claude Code's: a question, a call whose subagent speaks for itself, its result.
const CLAUDE: &str = r#"{"parentUuid":null,"isSidechain":false,"cwd":"/p","sessionId":"s","type":"user","message":{"role":"user","content":"Look."},"uuid":"u1","timestamp":"2026-01-05T09:01:00.000Z"}
{"parentUuid":"u1","isSidechain":false,"cwd":"/p","sessionId":"s","type":"assistant","message":{"id":"m1","role":"assistant","model":"oak","content":[{"type":"tool_use","id":"t1","name":"Task","input":{"n":1e400}}]},"uuid":"a1","timestamp":"2026-01-05T09:02:00.000Z"}
{"parentUuid":null,"isSidechain":true,"cwd":"/p","sessionId":"s","type":"user","message":{"role":"user","content":"Look for me."},"uuid":"x1","timestamp":"2026-01-05T09:03:00.000Z"}
{"parentUuid":"a1","isSidechain":false,"cwd":"/p","sessionId":"s","type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"Nothing."}]},"uuid":"u2","timestamp":"2026-01-05T09:04:00.000Z"}
"#;

fn claude() -> TestDir {
    let test_dir = TestDir::empty();
    test_dir.write("c.jsonl", CLAUDE.as_bytes());
    test_dir
}

#[test]
fn a_dry_run_says_what_a_conversion_would_do() {
    let test_dir = claude();
    let files = || std::fs::read_dir(test_dir.path()).unwrap().count();
    let before = files();
    let dry = ["convert", "c.jsonl", "--to", "chimera", "--dry-run"];
    insta::assert_snapshot!(test_dir.run(&dry).ok(), @r"
    claude-code → chimera: c.chimera.jsonl
           1  adapted   message (assistant)   the agent sees its text; the rest is kept where only treering reads it
           1  carried   message (toolResult)
           2  carried   message (user)
    dry run: nothing was written
    ");
    let plan =
        &test_dir.run(&["convert", "c.jsonl", "--to", "chimera", "--dry-run", "--json"]).json()[0];
    assert_eq!(files(), before, "a dry run writes nothing");
    let done = &test_dir.run(&["convert", "c.jsonl", "--to", "chimera", "--json"]).json()[0];
    assert_eq!((&plan["items"], &plan["dryRun"]), (&done["items"], &true.into()));
    let refused = test_dir.run(&["convert", "c.jsonl", "--to", "codex", "--dry-run"]).failed();
    assert!(refused.contains("codex"), "{refused}");
}

#[test]
fn a_conversion_reports_every_entry() {
    let test_dir = claude();
    insta::assert_snapshot!(test_dir.run(&["convert", "c.jsonl", "--to", "chimera"]).ok(), @r"
    claude-code → chimera: c.chimera.jsonl
           1  adapted   message (assistant)   the agent sees its text; the rest is kept where only treering reads it
           1  carried   message (toolResult)
           2  carried   message (user)
    verified by reading the result back: 2 contexts compared, no difference
    ");
    assert!(test_dir.read("c.chimera.jsonl").starts_with("{\"type\": \"header\", "));
    let report =
        test_dir.run(&["convert", "c.jsonl", "--to", "pi", "-o", "p.jsonl", "--json"]).ok();
    insta::assert_snapshot!(report, @r#"{"from":"claude-code","to":"pi","output":"p.jsonl","carried":4,"adapted":0,"leftOut":0,"contexts":2,"verifiedContexts":2,"items":[{"kind":"message (assistant)","outcome":"carried","count":1},{"kind":"message (toolResult)","outcome":"carried","count":1},{"kind":"message (user)","outcome":"carried","count":2}]}"#);
    let only =
        test_dir.run(&["convert", "c.jsonl", "--to", "omp", "--leaf", "a1", "--json"]).json();
    assert_eq!((&only[0]["carried"], &only[0]["output"]), (&2.into(), &"c.omp.jsonl".into()));
    assert_eq!(test_dir.read("c.jsonl"), CLAUDE);
}

#[test]
fn the_agents_view_is_in_its_own_shape() {
    let test_dir = claude();
    let view = test_dir.run(&["context", "c.jsonl", "--view", "agent", "--json"]).ok();
    insta::assert_snapshot!(view, @r#"{"messages":[{"role":"user","content":"Look."},{"role":"assistant","content":[{"type":"tool_use","id":"t1","name":"Task","input":{"n":1e400}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"Nothing."}]}]}"#);
    insta::assert_snapshot!(test_dir.run(&["context", "c.jsonl", "--view", "agent", "--leaf", "u1"]).ok(), @r#"
    {
      "role": "user",
      "content": "Look."
    }
    1 message
    "#);
    let story = TestDir::with_story();
    let own = story.run(&["context", "s.jsonl", "--json"]).ok();
    assert_eq!(story.run(&["context", "s.jsonl", "--json", "--view", "agent"]).ok(), own);
}

#[test]
fn subagents_are_shown_with_the_option() {
    let test_dir = claude();
    insta::assert_snapshot!(test_dir.run(&["tree", "c.jsonl"]).ok(), @r#"
    • u1 user       Look.
    • a1 assistant  [Task: {"n":1e400}]
    • u2 toolResult [Task: {"n":1e400}] ← leaf
    "#);
    insta::assert_snapshot!(test_dir.run(&["tree", "c.jsonl", "--sidechains"]).ok(), @r#"
    ┌─   x1 user       Look for me.
    • u1 user       Look.
    • a1 assistant  [Task: {"n":1e400}]
    • u2 toolResult [Task: {"n":1e400}] ← leaf
    "#);
    let ran = test_dir.run(&["tree", "c.jsonl", "--json"]).ok();
    let x1 = ran.lines().find(|line| line.starts_with(r#"{"id":"x1""#)).unwrap();
    assert!(x1.contains(r#""sidechain":true"#), "{x1}");
}

#[test]
fn every_entry_comes_with_the_record_in_the_file() {
    let test_dir = claude();
    let (log, tree) = (["log", "c.jsonl", "--json"], ["tree", "c.jsonl", "--json"]);
    let lines: Vec<&str> = CLAUDE.lines().collect();
    for (command, records) in [(log, [0, 1, 3].as_slice()), (tree, &[0, 1, 3, 2])] {
        let out = test_dir.run(&command).ok();
        assert_eq!(out.lines().count(), records.len(), "{out}");
        for (line, &at) in out.lines().zip(records) {
            assert!(line.ends_with(&format!(",\"record\":{}}}", lines[at])), "{line}");
        }
    }
    let first = test_dir.run(&["log", "c.jsonl", "--json", "--leaf", "u1"]).json();
    assert_eq!((&first[0]["id"], &first[0]["parentId"]), (&"u1".into(), &Value::Null));
    assert_eq!(first[0]["message"]["content"][0]["text"], "Look.");
}

#[test]
fn a_list_names_the_agents() {
    let test_dir = claude();
    test_dir.run(&["convert", "c.jsonl", "--to", "operator", "-o", "o.jsonl"]).ok();
    let list = test_dir.run(&["ls", "."]).ok();
    let agent = list.lines().next().unwrap().find("AGENT").unwrap();
    let column = |file: &str| {
        let row = list.lines().find(|row| row.ends_with(file)).unwrap();
        row[agent..].split_whitespace().next().unwrap().to_owned()
    };
    assert_eq!((&*column("c.jsonl"), &*column("o.jsonl")), ("claude-code", "operator"), "{list}");
    for session in test_dir.run(&["ls", ".", "--json"]).json() {
        let expected = if session["path"] == "./c.jsonl" { "claude-code" } else { "operator" };
        assert_eq!(session["agent"], expected);
    }
}

#[test]
fn a_new_session_has_the_dialect_of_the_option() {
    for dialect in ["pi", "uuid", "omp", "chimera", "operator", "tau"] {
        let test_dir = TestDir::empty();
        let new =
            |text: &str| test_dir.run(&["append", "n.jsonl", "--dialect", dialect, "--user", text]);
        new("hello").ok();
        new("again").ok();
        let list = test_dir.run(&["ls", ".", "--json"]).json();
        assert_eq!((&list[0]["agent"], &list[0]["messageCount"]), (&dialect.into(), &2.into()));
    }
}

#[test]
fn impossible_actions_are_refused_with_a_message() {
    let test_dir = claude();
    let refused = "error: treering does not write sessions of";
    let copy = "hint: `treering fork c.jsonl` makes a copy that can be continued";
    let error = test_dir.run(&["append", "c.jsonl", "--user", "x"]).failed();
    assert_eq!(error, format!("{refused} claude-code\n{copy}\n"));
    let agents = "hint: treering writes sessions of pi, uuid, omp, chimera, operator, tau";
    let error = test_dir.run(&["convert", "c.jsonl", "--to", "codex"]).failed();
    assert_eq!(error, format!("{refused} codex\n{agents}\n"));
    let error = test_dir.run(&["append", "n.jsonl", "--dialect", "codex", "--user", "x"]).failed();
    assert_eq!(error, format!("{refused} codex\n{agents}\n"));
    let ran = test_dir.run(&["convert", "c.jsonl", "--to", "unknown"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (2, ""));
    assert!(
        ran.stderr.contains("there are pi, uuid, omp, chimera, operator, tau"),
        "{}",
        ran.stderr
    );
    test_dir.write("taken.jsonl", b"mine");
    let error = test_dir.run(&["convert", "c.jsonl", "--to", "pi", "-o", "taken.jsonl"]).failed();
    assert!(error.starts_with("error: taken.jsonl: the file already exists\n"), "{error}");
    assert_eq!(test_dir.read("taken.jsonl"), "mine");
    assert_eq!(test_dir.read("c.jsonl"), CLAUDE);
    assert_eq!(std::fs::read_dir(test_dir.path()).unwrap().count(), 2, "nothing is left behind");
}

#[test]
fn forks_of_files_that_are_never_written_go_to_treerings_own_directory() {
    let test_dir = claude();
    let before = std::fs::read_dir(test_dir.path()).unwrap().count();
    let data = if cfg!(windows) { "LOCALAPPDATA" } else { "XDG_DATA_HOME" };
    let run = |args: &[&str]| {
        let output = test_dir.command(args).env(data, test_dir.file("data")).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        std::path::PathBuf::from(String::from_utf8(output.stdout).unwrap().trim_end())
    };
    let own = test_dir.file("data").join("treering").join("sessions").join("--p--");
    for args in [&["fork", "c.jsonl"][..], &["fork", "c.jsonl", "--redact"]] {
        assert_eq!(run(args).parent(), Some(&*own), "{args:?}");
    }
    assert_eq!(
        std::fs::read_dir(test_dir.path()).unwrap().count(),
        before + 1,
        "no file beside it"
    );
    let file = run(&["fork", "c.jsonl", "--to", "omp", "--dir", "omp"]);
    assert!(file.starts_with("omp"), "{}", file.display());
    let shown = |file: &std::path::Path| {
        let context = test_dir.run(&["context", "--json", file.to_str().unwrap()]).ok();
        context.matches(r#""role":"#).count()
    };
    assert_eq!(shown(&file), shown(std::path::Path::new("c.jsonl")));
    let refused = test_dir.run(&["fork", "c.jsonl", "--to", "codex"]).failed();
    assert!(refused.contains("does not write sessions of codex"), "{refused}");
}
