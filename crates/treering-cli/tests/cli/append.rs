use crate::support::{TestDir, user};
use serde_json::{Value, json};

fn entries(test_dir: &TestDir) -> Vec<Value> {
    let file = test_dir.read("s.jsonl");
    file.lines().skip(1).map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn a_new_file_belongs_to_the_current_directory() {
    let test_dir = TestDir::empty();
    let id = test_dir.run(&["append", "s.jsonl", "--user", "hello"]).ok();
    let file = test_dir.read("s.jsonl");
    let header: Value = serde_json::from_str(file.lines().next().unwrap()).unwrap();
    let here = test_dir.path().canonicalize().unwrap();
    assert_eq!((&header["type"], &header["cwd"]), (&json!("session"), &json!(here)));
    let entries = entries(&test_dir);
    assert_eq!(entries.len(), 1);
    assert_eq!((&entries[0]["id"], &entries[0]["parentId"]), (&json!(id.trim_end()), &json!(null)));
    assert_eq!(entries[0]["message"]["content"][0]["text"], "hello");
}

#[test]
fn a_new_file_may_belong_elsewhere() {
    let test_dir = TestDir::empty();
    test_dir.run(&["append", "deep/er/s.jsonl", "--user", "x", "--cwd", "/somewhere"]).ok();
    assert!(test_dir.read("deep/er/s.jsonl").contains(r#""cwd":"/somewhere""#));
}

#[test]
fn an_assistant_speaks_for_the_model_of_the_session() {
    let test_dir = TestDir::empty();
    let say = |text: &str, more: &[&str]| {
        test_dir.run(&[&["append", "s.jsonl", "--assistant", text], more].concat()).ok()
    };
    say("one", &[]);
    say("two", &["--model", "acme/large/2"]);
    say("three", &[]);
    let from = |at: usize| {
        let message = &entries(&test_dir)[at]["message"];
        format!("{} {}", message["provider"], message["model"])
    };
    assert_eq!(from(0), r#""none" "none""#);
    assert_eq!(from(1), r#""acme" "large/2""#);
    assert_eq!(from(2), r#""acme" "large/2""#);
}

#[test]
fn text_may_look_like_an_option() {
    let test_dir = TestDir::empty();
    test_dir.run(&["append", "s.jsonl", "--user", "--help"]).ok();
    test_dir.run(&["append", "s.jsonl", "--assistant", "-1"]).ok();
    assert_eq!(entries(&test_dir)[0]["message"]["content"][0]["text"], "--help");
}

#[test]
fn any_entry_keeps_its_fields() {
    let test_dir = TestDir::empty();
    let entry = r#"{"type":"flux","id":"f1","timestamp":"2026-01-05T09:00:00.000Z","n":1e400,"a":{"b":[]}}"#;
    assert_eq!(test_dir.run(&["append", "s.jsonl", "--entry", entry]).ok(), "f1\n");
    assert!(test_dir.read("s.jsonl").ends_with(
        r#","n":1e400,"a":{"b":[]}}
"#
    ));
}

#[test]
fn from_another_entry() {
    let test_dir = TestDir::with_story();
    let id = test_dir.run(&["append", "s.jsonl", "--user", "x", "--parent", "a2"]).ok();
    let last = entries(&test_dir).pop().unwrap();
    assert_eq!((&last["id"], &last["parentId"]), (&json!(id.trim_end()), &json!("a2")));
    test_dir.run(&["append", "s.jsonl", "--user", "y", "--parent", "none"]).ok();
    assert_eq!(entries(&test_dir).pop().unwrap()["parentId"], json!(null));
}

#[test]
fn an_expected_leaf_must_be_the_leaf() {
    let test_dir = TestDir::with_story();
    let before = test_dir.read("s.jsonl");
    let error = test_dir.run(&["append", "s.jsonl", "--user", "x", "--expect-leaf", "b1"]).failed();
    assert!(
        error.starts_with("error: the leaf has moved: expected b1, found b4\nhint: "),
        "{error}"
    );
    assert_eq!(test_dir.read("s.jsonl"), before);

    let id = test_dir.run(&["append", "s.jsonl", "--user", "x", "--expect-leaf", "b4"]).ok();
    assert_eq!(entries(&test_dir).pop().unwrap()["parentId"], "b4");
    let error =
        test_dir.run(&["append", "s.jsonl", "--user", "y", "--expect-leaf", "none"]).failed();
    assert!(error.contains(&format!("expected the start, found {id}")), "{error}");
}

#[test]
fn a_new_session_may_be_expected_to_be_one() {
    let test_dir = TestDir::empty();
    test_dir.run(&["append", "s.jsonl", "--user", "x", "--expect-leaf", "none"]).ok();
    assert_eq!(entries(&test_dir).len(), 1);
}

#[test]
fn what_cannot_be_appended_leaves_no_file_behind() {
    let test_dir = TestDir::empty();
    let args: [&[&str]; 4] = [
        &["--entry", "{\"type\":"],
        &["--entry", "[]"],
        &["--user", "x", "--parent", "a1"],
        &["--user", "x", "--expect-leaf", "a1"],
    ];
    for more in args {
        let error = test_dir.run(&[&["append", "s.jsonl"], more].concat()).failed();
        assert!(error.starts_with("error: ") && error.contains("\nhint: "), "{error}");
        assert!(!test_dir.file("s.jsonl").exists(), "{more:?}");
    }
}

#[test]
fn an_existing_session_has_its_own_dialect() {
    let test_dir = TestDir::empty();
    let append =
        |dialect| test_dir.run(&["append", "s.jsonl", "--user", "x", "--dialect", dialect]);
    append("omp").ok();
    append("omp").ok();
    insta::assert_snapshot!(append("chimera").failed(), @r"
    error: s.jsonl is a session of omp, not of chimera
    hint: `--dialect` is for new sessions: leave it out, or name another file
    ");
}

#[test]
fn an_existing_session_has_its_own_project() {
    let test_dir = TestDir::empty();
    let append = |cwd| test_dir.run(&["append", "s.jsonl", "--user", "x", "--cwd", cwd]);
    append("/one").ok();
    append("/one").ok();
    insta::assert_snapshot!(append("/two").failed(), @r"
    error: s.jsonl belongs to the project /one, not to /two
    hint: `--cwd` is for new sessions: leave it out, or name another file
    ");
}

#[test]
fn an_archive_is_not_created_by_its_name() {
    let test_dir = TestDir::empty();
    let error = test_dir.run(&["append", "s.jsonl.zst", "--user", "x"]).failed();
    assert!(error.contains("an archived session is read-only"), "{error}");
    assert!(!test_dir.file("s.jsonl.zst").exists());
}

#[test]
fn every_promise_can_be_kept() {
    for durability in ["none", "batched", "each"] {
        let test_dir = TestDir::empty();
        test_dir.run(&["append", "s.jsonl", "--user", "x", "--durability", durability]).ok();
        assert_eq!(entries(&test_dir).len(), 1, "{durability}");
    }
}

#[test]
fn four_processes_may_begin_the_same_session() {
    for _ in 0..10 {
        let test_dir = TestDir::empty();
        let start = |name: &str| {
            let mut command = test_dir.command(&["append", "s.jsonl", "--user", name]);
            command.stdout(std::process::Stdio::piped()).spawn().unwrap()
        };
        let children: Vec<_> = ["a", "b", "c", "d"].map(start).into();
        let ids: Vec<String> = children
            .into_iter()
            .map(|child| {
                let output = child.wait_with_output().unwrap();
                assert!(output.status.success());
                String::from_utf8(output.stdout).unwrap().trim_end().to_owned()
            })
            .collect();
        let file = test_dir.read("s.jsonl");
        assert_eq!(file.matches(r#""type":"session""#).count(), 1, "{file}");
        assert_eq!(entries(&test_dir).len(), 4, "{file}");
        assert!(ids.iter().all(|id| file.contains(&format!(r#""id":"{id}""#))), "{ids:?} {file}");
    }
}

#[test]
fn damage_is_reported_and_fenced_off() {
    let test_dir = TestDir::with(&[user("a1", None, 1, "one")]);
    let torn = format!("{}{{\"type\":\"mess", test_dir.read("s.jsonl"));
    test_dir.write("s.jsonl", torn.as_bytes());
    let ran = test_dir.run(&["append", "s.jsonl", "--user", "two"]);
    assert_eq!(ran.code, 0);
    assert!(
        ran.stderr.starts_with("warning: line 3: the last line is incomplete"),
        "{}",
        ran.stderr
    );
    let lines = test_dir.read("s.jsonl");
    let last: Value = serde_json::from_str(lines.lines().last().unwrap()).unwrap();
    assert_eq!((&last["id"], &last["parentId"]), (&json!(ran.stdout.trim_end()), &json!("a1")));
}
