use crate::support::{TestDir, header, user};
use serde_json::json;

#[test]
fn for_people_hits_are_grouped_by_session_and_marked_with_their_state() {
    let test_dir = TestDir::with_story();
    let out = test_dir.run(&["search", "-d", ".", "nothing"]).ok();
    let lines: Vec<&str> = out.lines().collect();
    assert!(lines[0].starts_with("pi  What is here?  "), "{out}");
    assert!(lines[0].ends_with("  s.jsonl  demo-1"), "{out}");
    assert_eq!(
        lines[1..],
        [
            "  ● active    a3  toolResult      total 0 nothing",
            "  ○ abandoned b1  assistant       Nothing.",
            "  ● active    b2  branch_summary  Said nothing.",
        ]
    );
}

#[test]
fn as_json_every_session_is_an_object() {
    let test_dir = TestDir::with_story();
    let found = test_dir.run(&["search", "-d", ".", "--json", "nothing", "role:assistant"]).json();
    assert_eq!(
        found,
        [json!({
            "path": "./s.jsonl", "agent": "pi", "id": "demo-1", "cwd": "/project", "name": null,
            "firstMessage": "What is here?\nBe brief.", "modified": "2026-01-05T09:07:00.000Z",
            "hitCount": 1,
            "hits": [{"id": "b1", "role": "assistant", "part": "text", "state": "abandoned", "leaf": "b1",
                      "time": "2026-01-05T09:04:00.000Z", "snippet": "Nothing.", "matches": [[0, 7]]}],
        })]
    );
    let wide = TestDir::with(&[user("a", None, 1, "日本 needle é needle")]);
    let found = wide.run(&["search", "-d", ".", "needle", "--json"]).json();
    assert_eq!(found[0]["hits"][0]["matches"], json!([[3, 9], [12, 18]]));
}

#[test]
fn directories_files_and_names_only() {
    let test_dir = TestDir::with_story();
    let other = format!("{}\n{}\n", header(), user("a1", None, 1, "nothing, too"));
    test_dir.write("deep/er/still/t.jsonl", other.as_bytes());
    let files = |args: &[&str]| {
        let mut files: Vec<String> = test_dir.run(args).ok().lines().map(str::to_owned).collect();
        files.sort();
        files
    };
    assert_eq!(
        files(&["search", "-d", ".", "-l", "nothing"]),
        ["./deep/er/still/t.jsonl", "./s.jsonl"]
    );
    assert_eq!(files(&["search", "-l", "nothing", "--dir", "deep"]), ["deep/er/still/t.jsonl"]);
    assert_eq!(files(&["search", "-l", "nothing", "-d", "s.jsonl", "-d", "deep"]).len(), 2);
    let error = test_dir.run(&["search", "x", "-d", "nowhere"]).failed();
    assert!(error.starts_with("error: cannot read nowhere: "), "{error}");
}

#[test]
fn a_search_without_any_session_says_where_it_looks() {
    let test_dir = TestDir::empty();
    insta::assert_snapshot!(test_dir.run(&["search", "x"]).failed(), @r"
    note: there are no sessions to search
    hint: `treering ls --all` shows where treering looks; `--dir DIR` searches elsewhere
    ");
}

#[test]
fn subagents_are_found_in_their_session() {
    let record = |uuid: &str, side: bool, text: &str| {
        json!({"parentUuid": null, "isSidechain": side, "cwd": "/p", "sessionId": "c", "type": "user", "uuid": uuid,
               "message": {"role": "user", "content": text}, "timestamp": "2026-01-05T09:01:00.000Z"})
        .to_string()
            + "\n"
    };
    let test_dir = TestDir::empty();
    test_dir.write("c.jsonl", record("u1", false, "Look.").as_bytes());
    test_dir.write("c/subagents/agent-1.jsonl", record("x1", true, "A needle.").as_bytes());
    let found = test_dir.run(&["search", "-d", ".", "needle", "--json"]).json();
    assert_eq!(found.len(), 1);
    assert_eq!(found[0]["path"], "./c.jsonl");
    assert_eq!(found[0]["hits"][0]["state"], "sidechain");
}

#[test]
fn exit_codes_tell_nothing_found_from_a_bad_query() {
    let test_dir = TestDir::with_story();
    assert_eq!(test_dir.run(&["search", "-d", ".", "absent"]).failed(), "");
    assert_eq!(test_dir.run(&["search", "-d", ".", "--json", "absent"]).failed(), "");
    let bad = test_dir.run(&["search", "-d", ".", "re:(x"]);
    assert_eq!((bad.code, bad.stdout.as_str()), (2, ""));
    assert_eq!(
        bad.stderr,
        "error: invalid pattern: unclosed group (at character 4)\nhint: `treering search --help` describes the query language\n"
    );
    assert_eq!(test_dir.run(&["search"]).code, 2);
}

#[test]
fn case_matters_with_the_option_and_limits_hold() {
    let test_dir = TestDir::with_story();
    assert_eq!(
        test_dir.run(&["search", "-d", ".", "-c", "Nothing", "--json"]).json()[0]["hitCount"],
        1
    );
    let one = test_dir.run(&["search", "-d", ".", "nothing", "--per-session", "1"]).ok();
    assert!(one.ends_with("  … and 2 more hits\n"), "{one}");
    let limited = test_dir.run(&["search", "-d", ".", "nothing", "--limit", "2", "--json"]).json();
    assert_eq!(limited[0]["hits"].as_array().unwrap().len(), 2);
}

#[test]
fn hostile_sessions_stay_inert_and_unreadable_ones_are_named() {
    let test_dir =
        TestDir::with(&[user("a\u{1b}[2J", None, 1, "needle \u{1b}]0;x\u{7} \u{202e} end")]);
    test_dir.write("none.jsonl", b"needle in no session\n");
    let ran = test_dir.run(&["search", "-d", ".", "needle"]);
    assert_eq!(ran.code, 0);
    let line = ran.stdout.lines().nth(1).unwrap();
    assert!(line.ends_with("needle \\x1b]0;x\\x07 \\u{202e} end"), "{line}");
    assert!(line.contains("a\\x1b[2J"), "{line}");
    assert!(!ran.stdout.contains('\u{1b}'));
    assert!(ran.stderr.starts_with("warning: ./none.jsonl: not a session"), "{}", ran.stderr);
}
