//! Tests of `goto`, `label`, `name` and `fork`, each in its own process, so that their effect must
//! be in the file.

use crate::support::{TestDir, entry, user};
use serde_json::{Value, json};

fn leaf(test_dir: &TestDir) -> Option<Value> {
    let tree = test_dir.run(&["tree", "s.jsonl", "--json"]).json();
    tree.iter().find(|node| node["leaf"] == true).map(|node| node["id"].clone())
}

#[test]
fn goto_is_remembered() {
    let test_dir = TestDir::with_story();
    assert_eq!(test_dir.run(&["goto", "s.jsonl", "b1"]).ok(), "b1\n");
    assert_eq!(leaf(&test_dir), Some("b1".into()));
    let id = test_dir.run(&["append", "s.jsonl", "--user", "on"]).ok();
    let shown = test_dir.run(&["show", "s.jsonl", id.trim_end(), "--json"]).json();
    assert_eq!(shown[0]["parentId"], "b1");
}

#[test]
fn goto_edit_of_an_answer_says_that_there_is_no_text() {
    let test_dir = TestDir::with_story();
    let ran = test_dir.run(&["goto", "s.jsonl", "a2", "--edit"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "a2\n"));
    assert_eq!(ran.stderr, "note: a2 is not a user message: no text to edit\n");
}

#[test]
fn goto_where_the_leaf_is_writes_nothing() {
    let test_dir = TestDir::with_story();
    let before = test_dir.read("s.jsonl");
    assert_eq!(test_dir.run(&["goto", "s.jsonl", "b4"]).ok(), "b4\n");
    assert_eq!(test_dir.read("s.jsonl"), before);
}

#[test]
fn goto_none_is_before_the_first_entry() {
    let test_dir = TestDir::with_story();
    assert_eq!(test_dir.run(&["goto", "s.jsonl", "none"]).ok(), "none\n");
    assert_eq!(leaf(&test_dir), None);
    let id = test_dir.run(&["append", "s.jsonl", "--user", "anew"]).ok();
    let shown = test_dir.run(&["show", "s.jsonl", id.trim_end(), "--json"]).json();
    assert_eq!(shown[0]["parentId"], Value::Null);
}

#[test]
fn goto_nowhere_changes_nothing() {
    let test_dir = TestDir::with_story();
    let before = test_dir.read("s.jsonl");
    let error = test_dir.run(&["goto", "s.jsonl", "zz"]).failed();
    assert_eq!(error, "error: no entry \"zz\"\nhint: `treering tree s.jsonl` lists the ids\n");
    let error = test_dir.run(&["goto", "s.jsonl", "b"]).failed();
    assert!(error.starts_with("error: \"b\" is ambiguous: b1, b2, b3, b4\n"), "{error}");
    assert_eq!(test_dir.read("s.jsonl"), before);
}

#[test]
fn labels_are_set_and_cleared() {
    let test_dir = TestDir::with_story();
    let label = || {
        let tree = test_dir.run(&["tree", "s.jsonl", "--json"]).json();
        tree.iter().find(|node| node["id"] == "a2").unwrap()["label"].clone()
    };
    let id = test_dir.run(&["label", "s.jsonl", "a2", "-see here-"]).ok();
    assert_eq!(label(), "-see here-");
    assert_eq!(leaf(&test_dir), Some(id.trim_end().into()));
    assert_eq!(test_dir.run(&["label", "s.jsonl", "a2"]).ok(), "-see here-\n");
    assert_eq!(label(), "-see here-", "without a text nothing is changed");
    for args in [
        &["label", "s.jsonl", "a2", ""][..],
        &["label", "s.jsonl", "a2", "x", "--clear"],
        &["label", "s.jsonl", "a2", "--json"],
        &["name", "s.jsonl", "--clear"],
    ] {
        assert_eq!(test_dir.run(args).code, 2, "{args:?}");
    }
    test_dir.run(&["label", "s.jsonl", "a2", "--clear"]).ok();
    assert_eq!(label(), Value::Null);
    let ran = test_dir.run(&["label", "s.jsonl", "a2"]);
    let note = "note: entry a2 has no label\nhint: `treering label s.jsonl a2 TEXT` labels it\n";
    assert_eq!((ran.code, &*ran.stdout, &*ran.stderr), (0, "", note));
    test_dir.run(&["label", "s.jsonl", "zz", "x"]).failed();
}

#[test]
fn names_are_shown_set_and_cleared() {
    let test_dir = TestDir::with_story();
    let unnamed = || {
        let ran = test_dir.run(&["name", "s.jsonl"]);
        let note = "note: the session has no name\nhint: `treering name s.jsonl TEXT` names it\n";
        assert_eq!((ran.code, &*ran.stdout, &*ran.stderr), (0, "", note));
    };
    unnamed();
    test_dir.run(&["name", "s.jsonl", "Tea\nparty"]).ok();
    assert_eq!(test_dir.run(&["name", "s.jsonl"]).ok(), "Tea party\n");
    test_dir.run(&["name", "s.jsonl", ""]).ok();
    unnamed();
}

#[test]
fn a_fork_is_the_path_and_nothing_else() {
    let test_dir = TestDir::with_story();
    let before = test_dir.read("s.jsonl");
    let path =
        test_dir.run(&["fork", "s.jsonl", "--at", "b1", "--dir", "forks", "--cwd", "/else"]).ok();
    let path = path.trim_end();
    assert!(path.starts_with("forks/") && path.ends_with(".jsonl"), "{path}");
    let ids: Vec<Value> =
        test_dir.run(&["log", path, "--json"]).json().iter().map(|e| e["id"].clone()).collect();
    assert_eq!(ids[..4], ["a1", "a2", "a3", "b1"].map(Value::from));
    let header: Value = serde_json::from_str(test_dir.read(path).lines().next().unwrap()).unwrap();
    assert_eq!(header["cwd"], "/else");
    let source = test_dir.path().canonicalize().unwrap().join("s.jsonl");
    assert_eq!(header["parentSession"], json!(source));
    let tree = test_dir.run(&["tree", path]).ok();
    assert!(tree.contains("[first try]"), "{tree}");
    assert_eq!(test_dir.read("s.jsonl"), before);
}

#[test]
fn a_fork_is_at_the_leaf_and_beside_its_source_by_default() {
    let test_dir = TestDir::with_story();
    let path = test_dir.run(&["fork", "s.jsonl"]).ok();
    assert!(test_dir.file(path.trim_end()).parent() == Some(test_dir.path()), "{path}");
    let log = test_dir.run(&["log", path.trim_end()]).ok();
    assert!(log.ends_with("user        Look again.\n"), "{log}");
}

#[test]
fn there_must_be_something_to_fork() {
    let test_dir = TestDir::with(&[
        entry("custom", "a1", None, 1, json!({"customType": "x"})),
        user("a2", Some("a1"), 2, "hi"),
    ]);
    let path = test_dir.run(&["fork", "s.jsonl", "--at", "a1"]).ok();
    assert_eq!(
        test_dir.read(path.trim_end()).lines().count(),
        2,
        "written before the first message"
    );
    test_dir.run(&["goto", "s.jsonl", "none"]).ok();
    let error = test_dir.run(&["fork", "s.jsonl"]).failed();
    assert!(error.starts_with("error: the leaf is before the first entry\nhint: "), "{error}");
    let files = std::fs::read_dir(test_dir.path()).unwrap().count();
    assert_eq!(files, 2);
}
