//! Tests of `treering export`: the paths and the contents of documents.

use crate::support::TestDir;
use serde_json::Value;

#[test]
fn html_is_a_file_named_after_the_session() {
    let test_dir = TestDir::with_story();
    let output = test_dir.run(&["export", "s.jsonl"]).ok();
    assert!(output.starts_with("s.html ("), "{output}");
    assert!(test_dir.read("s.html").starts_with("<!doctype html>"));
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = std::fs::metadata(test_dir.file("s.html")).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "as private as the session");
    }
}

#[test]
fn nothing_is_replaced_without_force() {
    let test_dir = TestDir::with_story();
    test_dir.write("s.html", b"mine");
    let complaint = test_dir.run(&["export", "s.jsonl"]).failed();
    assert!(complaint.contains("already exists") && complaint.contains("--force"), "{complaint}");
    assert_eq!(test_dir.read("s.html"), "mine");
    test_dir.run(&["export", "s.jsonl", "--force"]).ok();
    assert_ne!(test_dir.read("s.html"), "mine");
}

#[test]
fn text_goes_to_a_pipe() {
    let test_dir = TestDir::with_story();
    let markdown = test_dir.run(&["export", "s.jsonl", "--format", "md"]).ok();
    assert!(markdown.starts_with("# What is here?\n\n*"), "{markdown}");
    assert!(markdown.ends_with("\n## User\n\nLook again.\n"), "{markdown}");
    assert!(!markdown.contains("Nothing."), "only the branch of the leaf");
    let all = test_dir.run(&["export", "s.jsonl", "--format", "md", "--all"]).ok();
    assert!(all.contains("Nothing.") && all.contains("first try"), "{all}");
    let page = test_dir.run(&["export", "s.jsonl", "-o", "-"]).ok();
    assert!(page.starts_with("<!doctype html>"));
}

#[test]
fn the_name_of_the_output_tells_the_format() {
    let test_dir = TestDir::with_story();
    test_dir.run(&["export", "s.jsonl", "-o", "x.json"]).ok();
    let document: Value = serde_json::from_str(&test_dir.read("x.json")).unwrap();
    assert_eq!(document["leaf"], "b4");
    assert_eq!(document["entries"].as_array().unwrap().len(), 7);
    test_dir.run(&["export", "s.jsonl", "-o", "x.md", "--branch", "a1"]).ok();
    assert!(test_dir.read("x.md").ends_with("## User\n\nWhat is here?\nBe brief.\n"));
}

#[test]
fn a_branch_and_a_subtree_are_sessions() {
    let test_dir = TestDir::with_story();
    test_dir.run(&["export", "s.jsonl", "-o", "b1.jsonl", "--branch", "b1"]).ok();
    let context = |file: &str, more: &[&str]| {
        let args = [&["context", file, "--json"], more].concat();
        test_dir.run(&args).ok()
    };
    assert_eq!(context("b1.jsonl", &[]), context("s.jsonl", &["--leaf", "b1"]));
    test_dir.run(&["export", "s.jsonl", "-o", "b2.jsonl", "--subtree", "b2"]).ok();
    let tree = test_dir.run(&["tree", "b2.jsonl", "--json"]).json();
    let ids: Vec<&str> = tree.iter().map(|node| node["id"].as_str().unwrap()).collect();
    assert_eq!(ids, ["b2", "b4"], "a label on another branch stays there");
    test_dir.run(&["doctor", "b2.jsonl"]).ok();
}

#[test]
fn wrong_options_are_refused_with_a_message() {
    let test_dir = TestDir::with_story();
    assert!(
        test_dir
            .run(&["export", "s.jsonl", "--branch", "nobody", "-o", "x.md"])
            .failed()
            .contains("nobody")
    );
    assert!(!test_dir.file("x.md").exists() && !test_dir.file("x.md.tmp").exists());
    assert_eq!(test_dir.run(&["export", "s.jsonl", "--all", "--branch", "a1"]).code, 2);
    assert!(
        test_dir
            .run(&["export", "s.jsonl", "-o", "no/such/dir.html"])
            .failed()
            .contains("dir.html")
    );
}

#[test]
fn secrets_are_removed_with_the_option() {
    let test_dir = TestDir::with_story();
    let token = format!("ghp_{}", "a1B2c3D4e5".repeat(4).get(..36).unwrap());
    test_dir.run(&["append", "s.jsonl", "--user", &format!("the token is {token}")]).ok();
    for format in ["html", "md", "json", "jsonl"] {
        let plain = test_dir.run(&["export", "s.jsonl", "--format", format, "-o", "-"]).ok();
        assert!(plain.contains(&token), "{format}");
        let args = ["export", "s.jsonl", "--format", format, "-o", "-", "--redact"];
        let redacted = test_dir.run(&args);
        assert_eq!(redacted.code, 0, "{}", redacted.stderr);
        assert!(!redacted.stdout.contains(&token), "{format}");
        assert!(redacted.stdout.contains("REDACTED"), "{format}");
        assert!(redacted.stderr.starts_with("redacted: 1 "), "{}", redacted.stderr);
    }
}
