//! `redact`, and `--redact` of `fork` and `convert`.

use crate::support::{TestDir, assistant, user};
use serde_json::json;
use treering::Session;

/// Put together here, so that no file holds what looks like a key.
fn key() -> String {
    format!("ghp_{}", "a1B2c3D4".repeat(5))
}

fn password() -> String {
    ["hV7", "qPz", "9wKx", "2mTs"].concat()
}

/// Returns a key said twice, a password given and repeated, and a branch with neither.
fn test_dir() -> TestDir {
    let (key, password) = (key(), password());
    let call = json!([{"type": "toolCall", "id": "t1", "name": "bash",
                       "arguments": {"command": format!("login --password {password}")}}]);
    TestDir::with(&[
        user("a1", None, 1, &format!("use {key} and {key}; I am at /home/bob/x")),
        assistant("a2", "a1", 2, call),
        user("a3", Some("a2"), 3, &format!("it said {password} is wrong")),
        user("b1", Some("a1"), 4, "nothing here"),
    ])
}

#[test]
fn a_copy_has_the_same_tree_and_no_secrets() {
    let test_dir = test_dir();
    let before = test_dir.read("s.jsonl");
    let report = test_dir.run(&["redact", "s.jsonl"]).ok();
    insta::assert_snapshot!(report, @r"
    s.redacted.jsonl
    github-token  1 distinct, 2 occurrences
      #1 a1 message.content ×2
    named-secret  1 distinct, 2 occurrences
      #1 a2 message.content[0].arguments.command
      #1 a3 message.content
    ");
    let expected = before
        .replace(&key(), "[REDACTED:github-token:1]")
        .replace(&password(), "[REDACTED:named-secret:1]");
    assert_eq!(test_dir.read("s.redacted.jsonl"), expected);
    assert_eq!(test_dir.read("s.jsonl"), before);
    let error = test_dir.run(&["redact", "s.jsonl"]).failed();
    assert!(error.contains("exists"), "{error}");
}

#[test]
fn a_check_writes_nothing_and_fails_if_there_is_something() {
    let test_dir = test_dir();
    let ran = test_dir.run(&["redact", "s.jsonl", "--check", "--json"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (1, ""));
    let report: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(report["occurrences"], 4);
    assert_eq!(report["output"], json!(null));
    assert_eq!(
        report["kinds"][0],
        json!({"kind": "github-token", "distinct": 1, "occurrences": 2})
    );
    assert_eq!(report["places"][1]["entry"], "a2");
    assert!(!ran.stdout.contains(&key()[..8]) && !ran.stdout.contains(&password()[..6]));
    assert_eq!(std::fs::read_dir(test_dir.path()).unwrap().count(), 1);
    test_dir.write(
        "clean.jsonl",
        format!("{}\n{}\n", crate::support::header(), user("a", None, 1, "hi")).as_bytes(),
    );
    assert_eq!(test_dir.run(&["redact", "--check", "clean.jsonl"]).ok(), "nothing was found\n");
}

#[test]
fn a_fork_without_secrets() {
    let test_dir = test_dir();
    let ran = test_dir.run(&[
        "fork",
        "s.jsonl",
        "--at",
        "b1",
        "--redact-home",
        "--redact-pattern",
        "no=noth[a-z]+",
    ]);
    assert_eq!(ran.stderr, "redacted: 2 github-token, 1 home, 1 no\n");
    let fork = std::fs::read_to_string(test_dir.path().join(ran.stdout.trim())).unwrap();
    assert!(
        !fork.contains(&key()) && !fork.contains("bob") && !fork.contains("parentSession"),
        "{fork}"
    );
    assert!(fork.contains("/home/user/x") && fork.contains("[REDACTED:no:1] here"), "{fork}");
    assert_eq!(
        Session::open(test_dir.path().join(ran.stdout.trim()))
            .unwrap()
            .context()
            .unwrap()
            .messages
            .len(),
        2
    );
}

#[test]
fn a_conversion_without_secrets() {
    for agent in ["chimera", "tau", "omp", "uuid", "operator", "claude-code", "pi"] {
        let test_dir = test_dir();
        let ran = test_dir.run(&[
            "convert",
            "s.jsonl",
            "--to",
            agent,
            "-o",
            "out.jsonl",
            "--redact",
            "--leaf",
            "a3",
        ]);
        assert_eq!(
            (ran.code, ran.stderr.as_str()),
            (0, "redacted: 2 github-token, 2 named-secret\n"),
            "{agent}"
        );
        let result = test_dir.read("out.jsonl");
        assert!(!result.contains(&key()) && !result.contains(&password()), "{agent}: {result}");
        let context = Session::open(test_dir.file("out.jsonl")).unwrap().context().unwrap();
        assert_eq!(context.messages.len(), 3, "{agent}");
    }
}

#[test]
fn a_bad_pattern_is_explained() {
    let test_dir = test_dir();
    let wrong = test_dir.run(&["redact", "s.jsonl", "--pattern", "x=("]);
    let hint = "hint: a pattern is NAME=REGEX, such as ticket=TICKET-[0-9]+\n";
    let expected = format!("error: the pattern \"x\" is invalid: unclosed group\n{hint}");
    assert_eq!((wrong.code, wrong.stderr), (2, expected));
    let wrong = test_dir.run(&["fork", "s.jsonl", "--redact-pattern", "x"]);
    let expected = format!("error: the pattern \"x\" has no name\n{hint}");
    assert_eq!((wrong.code, wrong.stderr), (2, expected));
}

/// The options have the same names in all commands.
#[test]
fn redact_takes_the_options_of_the_other_commands() {
    let test_dir = test_dir();
    let options = ["--redact-emails", "--redact-home", "--redact-pattern", "word=kettle"];
    let with = |options: &[&str]| {
        let ran = test_dir.run(&[&["redact", "s.jsonl", "--check"][..], options].concat());
        (ran.code, ran.stdout, ran.stderr)
    };
    assert_eq!(with(&options), with(&["--emails", "--home", "--pattern", "word=kettle"]));
    assert_eq!(with(&options).0, 1);
}
