//! Commands that ask for a summary: goto --summarize, pop, compact, merge.

use crate::support::{Ran, TestDir};
use serde_json::Value;

/// Runs with a command as the summarizer, and no configuration of the person who runs the test.
fn run(test_dir: &TestDir, summarizer: &str, args: &[&str]) -> Ran {
    let mut command = test_dir.command(args);
    command.env("TREERING_CONFIG", test_dir.file("none.toml"));
    command.env("TREERING_SUMMARIZER", "command").env("TREERING_SUMMARIZER_COMMAND", summarizer);
    let output = command.output().unwrap();
    Ran {
        code: output.status.code().unwrap(),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

fn entry(test_dir: &TestDir, id: &str) -> Value {
    test_dir.run(&["show", "s.jsonl", id, "--json"]).json().remove(0)
}

const PREAMBLE: &str = "The user explored a different conversation branch before returning here.\nSummary of that exploration:\n\n";

#[test]
fn goto_can_take_a_summary_along() {
    let test_dir = TestDir::with_story();
    let ran =
        run(&test_dir, "echo Learned a lot", &["goto", "s.jsonl", "a2", "--summarize", "--json"]);
    let result = ran.json().remove(0);
    assert_eq!(result["oldLeaf"], "b4");
    assert_eq!(result["editorText"], Value::Null);
    let summary = entry(&test_dir, result["leaf"].as_str().unwrap());
    assert_eq!((&summary["type"], &summary["parentId"]), (&"branch_summary".into(), &"a2".into()));
    assert_eq!(summary["fromId"], "b4");
    assert_eq!(summary["summary"], format!("{PREAMBLE}Learned a lot"));
    assert_eq!(summary["details"], serde_json::json!({"readFiles": [], "modifiedFiles": []}));
}

#[test]
fn a_summarizer_that_fails_changes_nothing() {
    let test_dir = TestDir::with_story();
    let before = test_dir.read("s.jsonl");
    for summarizer in ["exit 3", "true", "no-such-program-anywhere"] {
        let error = run(&test_dir, summarizer, &["goto", "s.jsonl", "a2", "--summarize"]).failed();
        assert!(error.contains("hint: nothing was changed"), "{error}");
        run(&test_dir, summarizer, &["pop", "s.jsonl"]).failed();
        run(&test_dir, summarizer, &["compact", "s.jsonl", "--keep-recent", "1"]).failed();
        run(&test_dir, summarizer, &["merge", "s.jsonl", "b1"]).failed();
    }
    assert_eq!(test_dir.read("s.jsonl"), before);
}

#[test]
fn without_a_summarizer_the_choices_are_named() {
    let test_dir = TestDir::with_story();
    let before = test_dir.read("s.jsonl");
    let mut command = test_dir.command(&["pop", "s.jsonl"]);
    command.env("TREERING_CONFIG", test_dir.file("none.toml")).env_remove("TREERING_SUMMARIZER");
    let output = command.output().unwrap();
    let error = String::from_utf8(output.stderr).unwrap();
    for choice in ["anthropic", "openai", "command", "extractive"] {
        assert!(error.contains(choice), "{error}");
    }
    assert_eq!((output.status.code(), test_dir.read("s.jsonl")), (Some(1), before));
}

#[test]
fn pop_gives_the_message_back() {
    let test_dir = TestDir::with_story();
    test_dir.run(&["append", "s.jsonl", "--assistant", "I see nothing."]).ok();
    let result =
        run(&test_dir, "cat", &["pop", "s.jsonl", "--json", "--instructions", "the tests"]);
    let result = result.json().remove(0);
    assert_eq!(result["editorText"], "Look again.");
    let prompt = result["summary"].as_str().unwrap();
    assert!(prompt.contains("[Assistant]: I see nothing."), "{prompt}");
    assert!(prompt.contains("Additional focus: the tests"), "{prompt}");
    let summary = entry(&test_dir, result["leaf"].as_str().unwrap());
    assert_eq!(summary["parentId"], "b3");
}

#[test]
fn going_before_a_message_returns_its_text() {
    let test_dir = TestDir::with_story();
    test_dir.run(&["append", "s.jsonl", "--assistant", "I see nothing."]).ok();
    assert_eq!(test_dir.run(&["goto", "s.jsonl", "b4", "--edit"]).ok(), "b3\n\nLook again.\n");
    assert_eq!(
        test_dir.run(&["goto", "s.jsonl", "a1", "--edit", "--label", "anew"]).ok().lines().last(),
        Some("Be brief.")
    );
    let tree = test_dir.run(&["tree", "s.jsonl", "--json"]).json();
    assert_eq!(tree.iter().find(|node| node["id"] == "a1").unwrap()["label"], "anew");
}

#[test]
fn compact_writes_a_summary_and_says_what_it_saved() {
    let test_dir = TestDir::with_story();
    let args = ["compact", "s.jsonl", "--keep-recent", "1", "--json"];
    let result = run(&test_dir, "echo All of it", &args).json().remove(0);
    assert_eq!((&result["compacted"], &result["firstKeptEntryId"]), (&true.into(), &"b3".into()));
    let compaction = entry(&test_dir, result["id"].as_str().unwrap());
    assert_eq!(compaction["type"], "compaction");
    let summary = compaction["summary"].as_str().unwrap();
    assert!(summary.starts_with("All of it\n\n---\n\n**Turn Context (split turn):**"), "{summary}");
    let context = test_dir.run(&["context", "s.jsonl", "--json"]).json().remove(0);
    assert_eq!(context["messages"][0]["role"], "compactionSummary");
    assert_eq!(context["messages"].as_array().unwrap().len(), 2);
    let again = run(&test_dir, "echo All of it", &args).json().remove(0);
    assert_eq!(again["reason"], "already compacted");
}

#[test]
fn a_dry_run_needs_no_summarizer_and_writes_nothing() {
    let test_dir = TestDir::with_story();
    let before = test_dir.read("s.jsonl");
    let shown = test_dir.run(&["compact", "s.jsonl", "--dry-run", "--keep-recent", "1"]).ok();
    assert!(shown.contains("kept from b3"), "{shown}");
    assert!(shown.contains("tokens now: 23 of them are summarized, 3 are kept\n"), "{shown}");
    let shown = test_dir.run(&["merge", "s.jsonl", "b1", "--dry-run"]).ok();
    assert!(shown.contains("new on the other branch: 1 message"), "{shown}");
    assert_eq!(test_dir.read("s.jsonl"), before);
}

#[test]
fn merge_brings_the_other_branch_once() {
    let test_dir = TestDir::with_story();
    let result = run(&test_dir, "echo Nothing was found", &["merge", "s.jsonl", "b1", "--json"]);
    let result = result.json().remove(0);
    assert_eq!(result["entries"], serde_json::json!(["b1"]));
    let merged = entry(&test_dir, result["id"].as_str().unwrap());
    assert_eq!((&merged["parentId"], &merged["fromId"]), (&"b4".into(), &"b1".into()));
    assert_eq!(merged["details"]["merge"]["from"], "b1");
    assert!(merged["summary"].as_str().unwrap().ends_with("Nothing was found"));
    let again = run(&test_dir, "echo", &["merge", "s.jsonl", "b1"]);
    let note = "note: nothing to merge: this branch already has these entries\n";
    assert_eq!((again.code, &*again.stdout, &*again.stderr), (0, "", note));
}

#[test]
fn merge_can_copy_the_messages() {
    let test_dir = TestDir::with_story();
    let summarized = ["merge", "s.jsonl", "b1", "--full", "--instructions", "Be brief"];
    assert!(test_dir.run(&summarized).misused().contains("cannot be used with"));
    let result = test_dir.run(&["merge", "s.jsonl", "b1", "--full", "--json"]).json().remove(0);
    let copy = entry(&test_dir, result["copies"][0].as_str().unwrap());
    assert_eq!(copy["copiedFrom"]["entry"], "b1");
    assert_eq!(copy["message"]["content"][0]["text"], "Nothing.");
}

#[test]
fn the_configuration_file_chooses_and_is_checked() {
    let test_dir = TestDir::with_story();
    test_dir
        .write("c.toml", b"[summarizer]\nprovider = 'command'\ncommand = 'echo From the file'\n");
    let configured = |args: &[&str]| {
        let mut command = test_dir.command(args);
        command.env("TREERING_CONFIG", test_dir.file("c.toml")).env_remove("TREERING_SUMMARIZER");
        command.output().unwrap()
    };
    let output = configured(&["goto", "s.jsonl", "a2", "--summarize"]);
    assert!(String::from_utf8(output.stdout).unwrap().contains("From the file"));
    test_dir.write("c.toml", b"[summarizer]\nprovider = 'command'\nkey = 5\n");
    let output = configured(&["goto", "s.jsonl", "b4", "--summarize"]);
    let error = String::from_utf8(output.stderr).unwrap();
    let file = test_dir.file("c.toml").display().to_string();
    let lines: Vec<&str> = error.lines().collect();
    let [failure, hint] = lines[..] else { panic!("{error}") };
    assert!(failure.starts_with(&format!("error: {file}, line 3: ")), "{error}");
    assert!(hint.contains("TREERING_CONFIG"), "{error}");
}

#[test]
fn an_entry_that_does_not_exist_is_reported_before_a_summarizer_is_missing() {
    let test_dir = TestDir::with_story();
    for args in [&["merge", "s.jsonl", "zz"][..], &["pop", "s.jsonl", "zz"]] {
        let mut command = test_dir.command(args);
        command
            .env("TREERING_CONFIG", test_dir.file("none.toml"))
            .env_remove("TREERING_SUMMARIZER");
        let error = String::from_utf8(command.output().unwrap().stderr).unwrap();
        assert!(error.starts_with("error: no entry \"zz\"\n"), "{args:?}: {error}");
    }
}
