//! Tests of `goto`, `label`, `name` and `fork`, each in its own process, so that their effect must
//! be in the file.

use crate::support::{Place, entry, user};
use serde_json::{Value, json};

fn leaf(place: &Place) -> Option<Value> {
    let tree = place.run(&["tree", "s.jsonl", "--json"]).json();
    tree.iter().find(|node| node["leaf"] == true).map(|node| node["id"].clone())
}

#[test]
fn goto_is_remembered() {
    let place = Place::with_story();
    assert_eq!(place.run(&["goto", "s.jsonl", "b1"]).ok(), "b1\n");
    assert_eq!(leaf(&place), Some("b1".into()));
    let id = place.run(&["append", "s.jsonl", "--user", "on"]).ok();
    let shown = place.run(&["show", "s.jsonl", id.trim_end(), "--json"]).json();
    assert_eq!(shown[0]["parentId"], "b1");
}

#[test]
fn goto_edit_of_an_answer_says_that_there_is_no_text() {
    let place = Place::with_story();
    let ran = place.run(&["goto", "s.jsonl", "a2", "--edit"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "a2\n"));
    assert_eq!(ran.stderr, "note: a2 is not a user message: no text to edit\n");
}

#[test]
fn goto_where_the_leaf_is_writes_nothing() {
    let place = Place::with_story();
    let before = place.read("s.jsonl");
    assert_eq!(place.run(&["goto", "s.jsonl", "b4"]).ok(), "b4\n");
    assert_eq!(place.read("s.jsonl"), before);
}

#[test]
fn goto_none_is_before_the_first_entry() {
    let place = Place::with_story();
    assert_eq!(place.run(&["goto", "s.jsonl", "none"]).ok(), "none\n");
    assert_eq!(leaf(&place), None);
    let id = place.run(&["append", "s.jsonl", "--user", "anew"]).ok();
    let shown = place.run(&["show", "s.jsonl", id.trim_end(), "--json"]).json();
    assert_eq!(shown[0]["parentId"], Value::Null);
}

#[test]
fn goto_nowhere_changes_nothing() {
    let place = Place::with_story();
    let before = place.read("s.jsonl");
    let error = place.run(&["goto", "s.jsonl", "zz"]).failed();
    assert_eq!(error, "error: no entry \"zz\"\nhint: `treering tree s.jsonl` lists the ids\n");
    let error = place.run(&["goto", "s.jsonl", "b"]).failed();
    assert!(error.starts_with("error: \"b\" is ambiguous: b1, b2, b3, b4\n"), "{error}");
    assert_eq!(place.read("s.jsonl"), before);
}

#[test]
fn labels_are_set_and_cleared() {
    let place = Place::with_story();
    let label = || {
        let tree = place.run(&["tree", "s.jsonl", "--json"]).json();
        tree.iter().find(|node| node["id"] == "a2").unwrap()["label"].clone()
    };
    let id = place.run(&["label", "s.jsonl", "a2", "-see here-"]).ok();
    assert_eq!(label(), "-see here-");
    assert_eq!(leaf(&place), Some(id.trim_end().into()));
    assert_eq!(place.run(&["label", "s.jsonl", "a2"]).ok(), "-see here-\n");
    assert_eq!(label(), "-see here-", "without a text nothing is changed");
    for args in [
        &["label", "s.jsonl", "a2", ""][..],
        &["label", "s.jsonl", "a2", "x", "--clear"],
        &["label", "s.jsonl", "a2", "--json"],
        &["name", "s.jsonl", "--clear"],
    ] {
        assert_eq!(place.run(args).code, 2, "{args:?}");
    }
    place.run(&["label", "s.jsonl", "a2", "--clear"]).ok();
    assert_eq!(label(), Value::Null);
    let ran = place.run(&["label", "s.jsonl", "a2"]);
    let note = "note: entry a2 has no label\nhint: `treering label s.jsonl a2 TEXT` labels it\n";
    assert_eq!((ran.code, &*ran.stdout, &*ran.stderr), (0, "", note));
    place.run(&["label", "s.jsonl", "zz", "x"]).failed();
}

#[test]
fn names_are_shown_set_and_cleared() {
    let place = Place::with_story();
    let unnamed = || {
        let ran = place.run(&["name", "s.jsonl"]);
        let note = "note: the session has no name\nhint: `treering name s.jsonl TEXT` names it\n";
        assert_eq!((ran.code, &*ran.stdout, &*ran.stderr), (0, "", note));
    };
    unnamed();
    place.run(&["name", "s.jsonl", "Tea\nparty"]).ok();
    assert_eq!(place.run(&["name", "s.jsonl"]).ok(), "Tea party\n");
    place.run(&["name", "s.jsonl", ""]).ok();
    unnamed();
}

#[test]
fn a_fork_is_the_path_and_nothing_else() {
    let place = Place::with_story();
    let before = place.read("s.jsonl");
    let path =
        place.run(&["fork", "s.jsonl", "--at", "b1", "--dir", "forks", "--cwd", "/else"]).ok();
    let path = path.trim_end();
    assert!(path.starts_with("forks/") && path.ends_with(".jsonl"), "{path}");
    let ids: Vec<Value> =
        place.run(&["log", path, "--json"]).json().iter().map(|e| e["id"].clone()).collect();
    assert_eq!(ids[..4], ["a1", "a2", "a3", "b1"].map(Value::from));
    let header: Value = serde_json::from_str(place.read(path).lines().next().unwrap()).unwrap();
    assert_eq!(header["cwd"], "/else");
    let source = place.path().canonicalize().unwrap().join("s.jsonl");
    assert_eq!(header["parentSession"], json!(source));
    let tree = place.run(&["tree", path]).ok();
    assert!(tree.contains("[first try]"), "{tree}");
    assert_eq!(place.read("s.jsonl"), before);
}

#[test]
fn a_fork_is_at_the_leaf_and_beside_its_source_by_default() {
    let place = Place::with_story();
    let path = place.run(&["fork", "s.jsonl"]).ok();
    assert!(place.file(path.trim_end()).parent() == Some(place.path()), "{path}");
    let log = place.run(&["log", path.trim_end()]).ok();
    assert!(log.ends_with("user        Look again.\n"), "{log}");
}

#[test]
fn there_must_be_something_to_fork() {
    let place = Place::with(&[
        entry("custom", "a1", None, 1, json!({"customType": "x"})),
        user("a2", Some("a1"), 2, "hi"),
    ]);
    let path = place.run(&["fork", "s.jsonl", "--at", "a1"]).ok();
    assert_eq!(place.read(path.trim_end()).lines().count(), 2, "written before the first message");
    place.run(&["goto", "s.jsonl", "none"]).ok();
    let error = place.run(&["fork", "s.jsonl"]).failed();
    assert!(error.starts_with("error: the leaf is before the first entry\nhint: "), "{error}");
    let files = std::fs::read_dir(place.path()).unwrap().count();
    assert_eq!(files, 2);
}
