//! Tests of damaged files: `doctor` names the damage by line, and every other command works.

use crate::support::{TestDir, entry, header, story, user};
use serde_json::{Value, json};

#[test]
fn a_sound_file_has_nothing_odd() {
    let test_dir = TestDir::with_story();
    for command in ["doctor", "check"] {
        assert_eq!(test_dir.run(&[command, "s.jsonl"]).ok(), "no findings in 7 entries\n");
    }
    let repaired = test_dir.run(&["doctor", "s.jsonl", "--repair"]).ok();
    assert_eq!(repaired, "s.jsonl: nothing to repair\n");
    assert_eq!(std::fs::read_dir(test_dir.path()).unwrap().count(), 1, "nothing was written");
}

/// A file with everything that goes wrong.
fn broken() -> TestDir {
    let mut lines = story();
    lines.insert(1, "garbage".into());
    lines.insert(2, "[1,2]".into());
    lines.insert(3, header());
    lines.push(user("b1", Some("a3"), 9, "again"));
    lines.push(user("c1", Some("c1"), 10, "own parent"));
    lines.push(user("c2", Some("gone"), 11, "orphan"));
    lines.push(format!(
        "{}{}",
        user("c3", Some("b4"), 12, "glued"),
        user("c4", Some("c3"), 13, "on")
    ));
    let damaged = user("c5", Some("c4"), 14, "damaged")[..120].to_owned();
    lines.push(
        damaged
            .replace("{\"type\":\"message\",\"id\":\"c5\"", "{\"id\":\"c5\",\"type\":\"message\""),
    );
    lines.push(user("c6", Some("c5"), 15, "end"));
    let test_dir = TestDir::with(&lines);
    let torn = test_dir.read("s.jsonl") + "{\"type\":\"message\",\"id\":\"c7\"";
    test_dir.write("s.jsonl", torn.as_bytes());
    test_dir
}

#[test]
fn what_is_odd_is_listed_worst_first() {
    let ran = broken().run(&["doctor", "s.jsonl"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (1, ""));
    insta::assert_snapshot!(ran.stdout, @"
    9 errors, 1 warning in 13 entries (pi, 2.7 KB)

    errors
      line 3   damaged-line         damaged: not a JSON object (×2: lines 3–4)
      line 8   duplicate-id         id b1 occurs again later: the last one counts
      line 13  cycle                the parents of entry c1 form a cycle: shown as a root
      line 14  missing-parent       the parent of entry c2 is missing: shown as a root
      line 15  glued-lines          several entries on one line: all of them count
      line 16  damaged-entry        entry c5 is damaged: it keeps its place but contributes nothing
      line 18  torn-last-line       the last line is incomplete: the next append starts a new line
      file     unreachable-history  2 of 13 entries (15 %) are cut off from the active leaf
      → damaged-line: repair moves the fragment to a separate file and links around it
      → duplicate-id: repair keeps both, the earlier one under a new id
      → cycle: repair links the entry to the one before it in the file
      → glued-lines: repair writes every entry on a separate line
      → torn-last-line: appending is safe; repair removes the fragment

    warnings
      line 5   second-header        a second session header: ignored
      → second-header: repair moves it to a separate file

    `treering doctor --repair s.jsonl` writes a repaired copy
    ");
}

#[test]
fn for_programs_a_finding_is_an_object() {
    let ran = broken().run(&["doctor", "s.jsonl", "--json"]);
    assert_eq!((ran.code, ran.stdout.lines().count()), (1, 1));
    let report: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(report["path"], "s.jsonl");
    assert_eq!((&report["dialect"], &report["entries"]), (&json!("pi"), &json!(13)));
    assert_eq!((&report["errors"], &report["warnings"]), (&json!(9), &json!(1)));
    let first = json!({"line": 3, "severity": "error", "code": "damaged-line", "entry": null,
                       "message": "damaged: not a JSON object",
                       "advice": "repair moves the fragment to a separate file and links around it"});
    assert_eq!(report["findings"][0], first);
    assert_eq!(report["findings"][3]["entry"], "b1");
}

#[test]
fn a_repair_says_what_it_changed() {
    let test_dir = broken();
    let before = test_dir.read("s.jsonl");
    let ran = test_dir.run(&["doctor", "s.jsonl", "--repair"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{}", ran.stdout);
    insta::assert_snapshot!(ran.stdout, @"
    s.jsonl: repaired as s.repaired.jsonl

      entries                        12 → 13
      reachable from the leaf        10 → 13
      on the path to the leaf         9 → 9
      messages in the context         8 → 8
      contexts gained                 3

      split 1 line
      moved 5 pieces to s.repaired.rejects.txt: line 3, 4, 5, 16, 18
      linked c1 to b1 instead of c1
      linked c2 to c1 instead of gone
      linked c6 to c4 instead of c5
      gave the earlier b1 the id 1f393d64
    ");
    assert_eq!(test_dir.read("s.jsonl"), before, "the file itself is left alone");
    let again = test_dir.run(&["doctor", "s.repaired.jsonl", "--repair"]).ok();
    assert_eq!(again, "s.repaired.jsonl: nothing to repair\n");
    test_dir.run(&["doctor", "s.repaired.jsonl"]).ok();
    let refused = test_dir.run(&["doctor", "s.jsonl", "--repair"]).failed();
    assert!(refused.starts_with("error: s.repaired.jsonl: the file already exists"), "{refused}");
}

#[test]
fn a_dry_run_says_what_a_repair_would_change() {
    let test_dir = broken();
    let files = || std::fs::read_dir(test_dir.path()).unwrap().count();
    let before = files();
    let ran = test_dir.run(&["doctor", "s.jsonl", "--repair", "--dry-run"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{}", ran.stdout);
    insta::assert_snapshot!(ran.stdout, @"
    s.jsonl: would be repaired as s.repaired.jsonl

      10 findings would be removed, 0 would remain

      would split 1 line
      would move 5 pieces to a separate file: line 3, 4, 5, 16, 18
      would link c1 to b1 instead of c1
      would link c2 to c1 instead of gone
      would link c6 to c4 instead of c5
      would give the earlier b1 the id 1f393d64
    dry run: nothing was written
    ");
    let plan = &test_dir.run(&["doctor", "s.jsonl", "--repair", "--dry-run", "--json"]).json()[0];
    assert_eq!((&plan["dryRun"], &plan["output"]), (&json!(true), &json!("s.repaired.jsonl")));
    assert_eq!(files(), before, "a dry run writes nothing");
    let done = &test_dir.run(&["doctor", "s.jsonl", "--repair", "--json"]).json()[0];
    for key in ["before", "relinked", "renamed", "named", "copies", "split", "rejected", "upgraded"]
    {
        assert_eq!(plan[key], done[key], "{key}");
    }
    let nothing = test_dir.run(&["doctor", "s.repaired.jsonl", "--repair", "--dry-run"]).ok();
    assert_eq!(nothing, "s.repaired.jsonl: nothing to repair\n");
}

#[test]
fn a_repair_for_programs_and_elsewhere() {
    let test_dir = broken();
    let report =
        &test_dir.run(&["doctor", "s.jsonl", "--repair", "-o", "new.jsonl", "--json"]).json()[0];
    assert_eq!((&report["output"], &report["backup"]), (&json!("new.jsonl"), &Value::Null));
    assert_eq!(report["rejects"], "new.rejects.txt");
    let links = json!([{"id": "c1", "from": "c1", "to": "b1"}, {"id": "c2", "from": "gone", "to": "c1"},
                       {"id": "c6", "from": "c5", "to": "c4"}]);
    assert_eq!(report["relinked"], links);
    assert_eq!((&report["split"], &report["rejected"]), (&json!(1), &json!([3, 4, 5, 16, 18])));
    assert_eq!(report["after"]["entries"], 13);
    assert!(test_dir.read("new.jsonl").contains("treering.repair"));
}

#[test]
fn in_place_the_old_file_is_kept() {
    let test_dir = broken();
    let before = test_dir.read("s.jsonl");
    let out = test_dir.run(&["doctor", "s.jsonl", "--repair", "--in-place", "--force"]).ok();
    assert!(out.lines().next().unwrap().ends_with("s.jsonl.bak"), "{out}");
    assert_eq!(test_dir.read("s.jsonl.bak"), before);
    test_dir.run(&["tree", "s.jsonl"]).ok();
}

#[test]
fn of_directories_every_file_has_a_line() {
    let test_dir = broken();
    test_dir.write("sub/fine.jsonl", format!("{}\n", header()).as_bytes());
    test_dir.write("sub/none.jsonl", b"hello\n");
    let ran = test_dir.run(&["doctor", "."]);
    assert_eq!(ran.code, 1);
    insta::assert_snapshot!(ran.stdout, @"
    ./s.jsonl: 9 errors, 1 warning: damaged-line ×2, duplicate-id, cycle, missing-parent, glued-lines, damaged-entry, torn-last-line, unreachable-history, second-header
    ./sub/fine.jsonl: no findings
    2 sessions: 1 with errors or warnings (9 errors, 1 warning); 1 file could not be read as a session
    ");
    assert_eq!(ran.stderr, "error: ./sub/none.jsonl: not a session: it has no session header\n");
    let ran = test_dir.run(&["doctor", ".", "--json"]);
    let errors = ran.stdout.lines().filter(|line| line.contains("\"error\":")).count();
    assert_eq!((ran.stdout.lines().count(), errors), (3, 1), "{}", ran.stdout);
    let refused = test_dir.run(&["doctor", ".", "--repair", "-o", "x"]).misused();
    assert!(refused.starts_with("error: `--output` names one file"), "{refused}");
}

#[test]
fn similar_findings_are_shown_as_one() {
    let mut lines = story();
    lines.extend((0..30).map(|_| "garbage".to_owned()));
    lines.extend((0..9).map(|n| user(&format!("c{n}"), Some(&format!("gone{n}")), 9, "lost")));
    let test_dir = TestDir::with(&lines);
    let out = test_dir.run(&["doctor", "s.jsonl"]).stdout;
    let rows = |code: &str| {
        let is_row = |line: &&str| line.starts_with("  line") && line.contains(code);
        out.lines().filter(is_row).map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(rows("damaged-line").len(), 1, "{out}");
    assert!(rows("damaged-line")[0].ends_with("not a JSON object (×30: lines 9–38)"), "{out}");
    assert_eq!(rows("missing-parent").len(), 6, "{out}");
    let rest = "… and 4 more: lines 44–47; --verbose lists them";
    assert!(rows("missing-parent")[5].ends_with(rest), "{out}");
    let verbose = test_dir.run(&["doctor", "s.jsonl", "--verbose"]).stdout;
    assert_eq!(verbose.lines().filter(|line| line.starts_with("  line")).count(), 39, "{verbose}");
    let report = test_dir.run(&["doctor", "s.jsonl", "--json"]).stdout;
    let report: Value = serde_json::from_str(&report).unwrap();
    assert!(report["findings"].as_array().unwrap().len() >= 39, "{report}");
}

#[test]
fn a_directory_is_looked_through_to_the_bottom_and_one_without_sessions_is_a_failure() {
    let test_dir = TestDir::empty();
    let deep = "pi/agent/sessions/--project--/s.jsonl";
    test_dir.write(deep, format!("{}\n", header()).as_bytes());
    test_dir.write("empty/notes.txt", b"none");
    let out = test_dir.run(&["doctor", "pi"]).ok();
    assert_eq!(
        out,
        format!("{deep}: no findings\n1 session: none with errors or warnings (no findings)\n")
    );
    let failed = test_dir.run(&["doctor", "empty"]).failed();
    assert_eq!(failed, "error: no sessions in empty or below it\n");
    let ran = test_dir.run(&["doctor", "pi", "empty"]);
    assert_eq!((ran.code, ran.stdout.lines().count()), (1, 2), "{}", ran.stdout);
}

#[test]
#[cfg(unix)]
fn directories_that_hold_themselves_have_an_end() {
    let test_dir = TestDir::with_story();
    std::fs::create_dir_all(test_dir.file("a/b")).unwrap();
    std::os::unix::fs::symlink(test_dir.path(), test_dir.file("a/b/again")).unwrap();
    let out = test_dir.run(&["doctor", "."]).ok();
    assert_eq!(out.lines().count(), 2, "{out}");
    assert_eq!(test_dir.run(&["ls", "."]).ok().lines().count(), 2);
}

#[test]
fn notes_alone_are_no_failure() {
    let test_dir = TestDir::with(&[entry("novelty\u{1b}[31m", "a", None, 1, json!({}))]);
    let out = test_dir.run(&["doctor", "s.jsonl"]).ok();
    assert!(out.contains("unknown-type") && !out.contains('\u{1b}'), "{out}");
}

#[test]
fn a_damaged_body_is_found_even_if_opening_did_not_look_at_it() {
    let mut lines = story();
    lines[0] = r#"{"type":"message","id":"a1","parentId":null,"timestamp":"2026-01-05T09:01:00.000Z","message":{"role":"user","content":"hm}}"#.into();
    let ran = TestDir::with(&lines).run(&["doctor", "s.jsonl"]);
    let found = "  line 2  damaged-entry  entry a1 is damaged: it keeps its place but contributes nothing\n";
    assert!(ran.code == 1 && ran.stdout.contains(found), "{}", ran.stdout);
}

#[test]
fn other_commands_work_and_warn_briefly() {
    let test_dir = broken();
    for args in [["tree", "s.jsonl"], ["log", "s.jsonl"]] {
        let ran = test_dir.run(&args);
        assert_eq!(ran.code, 0);
        assert!(
            ran.stdout.contains("What is here?") || ran.stdout.contains("end"),
            "{}",
            ran.stdout
        );
        let warnings: Vec<&str> = ran.stderr.lines().collect();
        assert_eq!(warnings.len(), 6, "{}", ran.stderr);
        assert_eq!(warnings[0], "warning: line 3: damaged: not a JSON object");
        assert_eq!(warnings[5], "warning: … and 4 more: treering doctor s.jsonl");
    }
    // Programs get what they asked for.
    for args in [["tree", "s.jsonl", "--json"], ["context", "s.jsonl", "--json"]] {
        test_dir.run(&args).json();
    }
    // Reading the end of a file does not show what is odd about its beginning.
    test_dir.run(&["context", "s.jsonl"]).ok();
}

#[test]
fn what_is_no_session_is_refused_and_left_alone() {
    let test_dir = TestDir::empty();
    test_dir.write("s.jsonl", b"Dear diary\n");
    let commands: [&[&str]; 5] = [
        &["tree", "s.jsonl"],
        &["context", "s.jsonl"],
        &["append", "s.jsonl", "--user", "x"],
        &["goto", "s.jsonl", "none"],
        &["doctor", "s.jsonl"],
    ];
    for args in commands {
        let error = test_dir.run(args).failed();
        assert!(error.starts_with("error: s.jsonl: not a session: "), "{error}");
        assert!(error.contains("\nhint: a session's first line is its header"), "{error}");
    }
    assert_eq!(test_dir.read("s.jsonl"), "Dear diary\n");
}

#[test]
fn a_newer_version_is_read_and_not_written() {
    let test_dir = TestDir::with_story();
    let newer = test_dir.read("s.jsonl").replace("\"version\":3", "\"version\":99");
    test_dir.write("s.jsonl", newer.as_bytes());
    let ran = test_dir.run(&["tree", "s.jsonl"]);
    assert_eq!((ran.code, ran.stdout.lines().count()), (0, 6));
    assert!(ran.stderr.contains("version 99 is newer"), "{}", ran.stderr);
    let ran = test_dir.run(&["append", "s.jsonl", "--user", "x"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (1, ""));
    let error = ran.stderr.lines().find(|line| line.starts_with("error: ")).unwrap();
    assert!(error.ends_with("it is read-only"), "{error}");
    assert_eq!(test_dir.read("s.jsonl"), newer);
}

#[test]
fn log_and_tree_of_a_cycle_of_parents_end() {
    let test_dir = TestDir::with(&[
        user("a", Some("c"), 1, "one"),
        user("b", Some("a"), 2, "two"),
        user("c", Some("b"), 3, "three"),
        entry("leaf", "d", Some("c"), 4, json!({"targetId": "c"})),
    ]);
    let ran = test_dir.run(&["log", "s.jsonl"]);
    assert_eq!((ran.code, ran.stdout.lines().count()), (0, 3));
    let ran = test_dir.run(&["tree", "s.jsonl"]);
    assert_eq!(ran.stdout.lines().count(), 3, "{}", ran.stdout);
}

#[test]
fn a_missing_file_is_missing() {
    let error = TestDir::empty().run(&["tree", "s.jsonl"]).failed();
    assert!(error.starts_with("error: cannot open s.jsonl: "), "{error}");
    assert!(error.contains("\nhint: `treering ls DIR`"), "{error}");
    let error = TestDir::empty().run(&["tree", "."]).failed();
    assert!(error.contains("\nhint: `treering ls DIR` lists the sessions in it"), "{error}");
}
