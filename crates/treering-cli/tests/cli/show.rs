use crate::support::{TestDir, entry, story, user};
use serde_json::json;

#[test]
fn for_people_it_has_a_head_and_a_body() {
    let test_dir = TestDir::with_story();
    insta::assert_snapshot!(test_dir.run(&["show", "s.jsonl", "a2"]).ok(), @r#"
    id        a2
    parent    a1
    children  a3
    type      message
    time      2026-01-05T09:02:00.000Z
    role      assistant
    stop      stop
    model     acme/m1

    Let me see.
    → bash {"command":"ls -l"}
    "#);
    insta::assert_snapshot!(test_dir.run(&["show", "s.jsonl", "b2"]).ok(), @"
    id        b2
    parent    a3
    children  b3
    type      branch_summary
    time      2026-01-05T09:05:00.000Z

    left at b1

    Said nothing.
    ");
}

#[test]
fn what_has_no_words_of_its_own_is_shown_as_json() {
    let flux = json!({"flow": {"rate": 1.21, "unit": "GW"}, "list": []});
    let test_dir = TestDir::with(&[
        entry("flux", "a1", None, 1, flux),
        entry("label", "a2", Some("a1"), 2, json!({"targetId": "a1", "label": "odd"})),
    ]);
    insta::assert_snapshot!(test_dir.run(&["show", "s.jsonl", "a1"]).ok(), @r#"
    id        a1
    parent    none
    children  a2
    type      flux
    time      2026-01-05T09:01:00.000Z
    label     odd

    {
      "type": "flux",
      "id": "a1",
      "parentId": null,
      "timestamp": "2026-01-05T09:01:00.000Z",
      "flow": {
        "rate": 1.21,
        "unit": "GW"
      },
      "list": []
    }
    "#);
}

#[test]
fn as_json_it_is_the_line() {
    let test_dir = TestDir::with_story();
    assert_eq!(test_dir.run(&["show", "s.jsonl", "a3", "--json"]).ok(), story()[2].clone() + "\n");
}

#[test]
fn the_beginning_of_an_id_is_enough_if_it_is_the_only_one() {
    let test_dir = TestDir::with(&[
        user("1f3a9c0e", None, 1, "one"),
        user("1f77b2d4", Some("1f3a9c0e"), 2, "two"),
    ]);
    assert!(test_dir.run(&["show", "s.jsonl", "1f3"]).ok().ends_with("\n\none\n"));
    assert_eq!(
        test_dir.run(&["show", "s.jsonl", "1f"]).failed(),
        "error: \"1f\" is ambiguous: 1f3a9c0e, 1f77b2d4\n\
         hint: give more characters of the id you mean\n"
    );
    assert_eq!(
        test_dir.run(&["show", "s.jsonl", "2"]).failed(),
        "error: no entry \"2\"\nhint: `treering tree s.jsonl` lists the ids\n"
    );
}

#[test]
fn a_damaged_entry_is_shown_as_it_is() {
    let mut lines = story();
    lines[2].truncate(150);
    let test_dir = TestDir::with(&lines);
    let ran = test_dir.run(&["show", "s.jsonl", "a3"]);
    assert_eq!(ran.code, 0);
    assert!(
        ran.stdout.contains(
            "damaged; these are the bytes in the file\n{\"type\":\"message\",\"id\":\"a3\""
        ),
        "{}",
        ran.stdout
    );
    // Opening did not need to look at it, so there is nothing to warn of.
    assert_eq!(ran.stderr, "");
}
