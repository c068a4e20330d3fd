use crate::support::{TestDir, entry, header, story, user};
use serde_json::{Value, json};

/// Four sessions: two here, one of them named and forked, and two below; and a file that is none.
fn sessions() -> TestDir {
    let test_dir = TestDir::with_story();
    let forked = header().replace("\"cwd\"", "\"parentSession\":\"/elsewhere/x.jsonl\",\"cwd\"");
    let named = entry("session_info", "n1", Some("a1"), 11, json!({"name": "Tea"}));
    let named = format!("{forked}\n{}\n{named}\n", user("a1", None, 10, "hello"));
    test_dir.write("named.jsonl", named.as_bytes());
    let below = format!("{}\n{}\n", header(), user("a1", None, 0, "first\nsecond"));
    test_dir.write("sub/below.jsonl", below.as_bytes());
    test_dir.write("sub/sub/deep.jsonl", below.as_bytes());
    test_dir.write("notes.txt", b"not by name");
    test_dir.write("broken.jsonl", b"not a session\n");
    test_dir
}

#[test]
fn for_people_the_newest_comes_first() {
    let ran = sessions().run(&["ls", "."]);
    assert_eq!(ran.code, 0);
    let rows: Vec<&str> = ran.stdout.lines().collect();
    assert_eq!(rows.len(), 5, "{}", ran.stdout);
    let row = |at: usize| rows[at].split_whitespace().skip(2).collect::<Vec<_>>().join(" ");
    assert!(rows[0].contains("AGE  MESSAGES"), "{}", rows[0]);
    assert!(row(1).ends_with("B pi Tea named.jsonl"), "{}", rows[1]);
    assert!(row(2).ends_with("KB pi What is here? s.jsonl"), "{}", rows[2]);
    assert!(row(3).ends_with("B pi first sub/sub/deep.jsonl"), "{}", rows[3]);
    assert!(row(4).ends_with("B pi first sub/below.jsonl"), "{}", rows[4]);
    let column = |at: usize, text: &str| rows[at].find(text).unwrap();
    assert_eq!(column(1, "named.jsonl"), column(0, "FILE"));
    assert_eq!(column(3, "first"), column(0, "NAME"));
    assert!(ran.stderr.starts_with("warning: ./broken.jsonl: not a session: "), "{}", ran.stderr);
    assert_eq!(ran.stderr.lines().count(), 1);
}

#[test]
fn as_json_every_session_is_an_object() {
    let test_dir = sessions();
    let ran = test_dir.run(&["ls", ".", "--json"]);
    let sessions: Vec<Value> =
        ran.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let size = test_dir.read("named.jsonl").len();
    assert_eq!(
        sessions[0],
        json!({"path": "./named.jsonl", "agent": "pi", "id": "demo-1", "cwd": "/project", "name": "Tea",
               "created": "2026-01-05T09:00:00.000Z", "modified": "2026-01-05T09:10:00.000Z",
               "messageCount": 1, "entryCount": 2, "firstMessage": "hello",
               "parentSession": "/elsewhere/x.jsonl", "size": size, "branchCount": 1, "compactionCount": 0,
               "findingCount": 0, "tokens": null, "cost": null})
    );
    assert_eq!((&sessions[1]["name"], &sessions[1]["parentSession"]), (&Value::Null, &Value::Null));
    assert_eq!(sessions[2]["firstMessage"], "first\nsecond");
    assert_eq!(sessions.len(), 4);
    assert!(ran.stderr.contains("broken.jsonl"), "{}", ran.stderr);
}

#[test]
fn long_names_keep_their_ends_and_lines_fit() {
    let test_dir = TestDir::empty();
    let name = format!("{}-the-end.jsonl", "x".repeat(150));
    let text = "many words ".repeat(50);
    test_dir.write(&name, format!("{}\n{}\n", header(), user("a", None, 1, &text)).as_bytes());
    let row = |columns: Option<&str>| {
        let mut command = test_dir.command(&["ls", "."]);
        command.envs(columns.map(|columns| ("COLUMNS", columns)));
        let out = String::from_utf8(command.output().unwrap().stdout).unwrap();
        out.lines().nth(1).unwrap().to_owned()
    };
    for columns in [80, 100, 130] {
        let row = row(Some(&columns.to_string()));
        assert!(row.ends_with("-the-end.jsonl"), "{row}");
        assert!(row.chars().count() <= columns, "{row}");
        assert!(row.contains("many words many words"), "the title can be read: {row}");
    }
    for columns in [None, Some("nonsense"), Some("0")] {
        let row = row(columns);
        assert!(row.ends_with(&format!("  {name}")), "in a pipe nothing is cut");
        assert!(row.contains(text.trim_end()), "{row}");
    }
    let all =
        test_dir.command(&["ls", "--all"]).env("TREERING_SESSIONS", test_dir.file(".")).output();
    let all = String::from_utf8(all.unwrap().stdout).unwrap();
    assert!(all.contains(" demo-1 ") && all.contains(text.trim_end()), "{all}");
}

#[test]
fn what_people_call_agents_and_times_is_the_same_as_in_a_search() {
    let test_dir = sessions();
    for args in [["--agent", "claude"], ["--agent", "PI"], ["--since", "3mo"], ["--since", "90min"]]
    {
        assert_eq!(test_dir.run(&["ls", ".", args[0], args[1]]).code, 0, "{args:?}");
        let query = format!("{}:{} hello", &args[0][2..], args[1]);
        assert!(test_dir.run(&["search", &query, "-d", "."]).code < 2, "{query}");
    }
    for (option, value, message) in [
        ("--agent", "robot", "no agent is named \"robot\"; there are pi, uuid, omp"),
        ("--since", "soon", "\"soon\" is not a time: write 2026-01-31"),
    ] {
        let ran = test_dir.run(&["ls", ".", option, value]);
        assert!(ran.code == 2 && ran.stderr.contains(message), "{}", ran.stderr);
    }
}

#[test]
fn an_empty_list_prints_a_note() {
    let test_dir = TestDir::empty();
    let ran = test_dir.run(&["ls", "."]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, ""));
    assert_eq!(ran.stderr, "note: no sessions in .\n");
    assert_eq!(test_dir.run(&["ls", ".", "--json"]).ok(), "");
    for command in [
        &["ls", "nowhere"][..],
        &["ls", "-d", "nowhere"],
        &["usage", "-d", "nowhere"],
        &["gc", "-d", "nowhere"],
    ] {
        let error = test_dir.run(command).failed();
        assert!(error.starts_with("error: cannot read nowhere: "), "{error}");
    }
}

#[test]
fn many_files_that_are_no_sessions_are_counted() {
    let test_dir = TestDir::with(&story());
    for number in 0..8 {
        test_dir.write(&format!("x{number}.jsonl"), b"{}\n");
    }
    let ran = test_dir.run(&["ls", "."]);
    assert_eq!(ran.stderr.lines().count(), 6, "{}", ran.stderr);
    assert!(ran.stderr.ends_with("warning: … and 3 more files that are not sessions\n"));
}

#[test]
fn commands_that_look_in_directories_take_them_with_d() {
    let test_dir = TestDir::with_story();
    for command in [&["ls"][..], &["usage"], &["gc"], &["search", "nothing"]] {
        let with = |option: &str| {
            let args = [command, &[option, ".", "--json"]].concat();
            test_dir.run(&args).ok()
        };
        assert_eq!(with("-d"), with("--dir"), "{command:?}");
    }
}
