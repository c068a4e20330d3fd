use crate::stats::{lines, paid};
use crate::support::{TestDir, entry, user};
use serde_json::{Value, json};

/// Returns the output without the column of ages, which depends on the day.
fn ageless(shown: &str) -> String {
    let ends =
        |heading: &str| shown[..shown.find(heading).unwrap()].chars().count() + heading.len();
    let (start, end) = (ends("ENTRIES"), ends("AGE"));
    let cut = |line: &str| {
        let line: Vec<char> = line.chars().collect();
        line[..start].iter().chain(&line[end..]).collect::<String>() + "\n"
    };
    shown.lines().map(cut).collect()
}

#[test]
fn for_people_the_newest_comes_first() {
    let mut lines = lines();
    lines.push(entry(
        "label",
        "l1",
        Some("c2"),
        6,
        json!({"targetId": "b2", "label": "first try"}),
    ));
    let shown = TestDir::with(&lines).run(&["branches", "s.jsonl"]).ok();
    insta::assert_snapshot!(ageless(&shown), @r"
      LEAF  ENTRIES   OWN           PATH           LAST MESSAGE
    • l1          3  1.1k    $1.25  1.1k    $1.25  answer c2
      b2          2  7.0k  $0.50+?  7.0k  $0.50+?  [first try] answer b2
    ");
}

#[test]
fn as_json_every_branch_is_an_object() {
    let branches = TestDir::with(&lines()).run(&["branches", "s.jsonl", "--json"]).json();
    let heads: Vec<Value> = branches
        .iter()
        .map(|branch| {
            json!([branch["leaf"], branch["active"], branch["since"], branch["ownEntries"]])
        })
        .collect();
    assert_eq!(heads, [json!(["c2", true, "a1", 2]), json!(["b2", false, "a1", 2])]);
    assert_eq!(branches[0]["text"], "answer c2");
    assert_eq!(branches[0]["own"]["cost"], 1.25);
    assert_eq!(
        (&branches[1]["own"]["unpriced"], &branches[1]["path"]["input"]),
        (&json!(1), &json!(5000))
    );
}

#[test]
fn wide_characters_keep_the_columns() {
    let mut lines = vec![user("根", None, 1, "x"), user("日本語日本語", Some("根"), 2, "wide")];
    lines.push(user("b", Some("根"), 3, "narrow"));
    let shown = TestDir::with(&lines).run(&["branches", "s.jsonl"]).ok();
    let column = |line: &str, text: &str| {
        let before = &line[..line.find(text).unwrap()];
        before.chars().map(|c| if c.is_ascii() || c == '•' { 1 } else { 2 }).sum::<usize>()
    };
    let rows: Vec<&str> = shown.lines().collect();
    let words = column(rows[0], "LAST MESSAGE");
    assert_eq!((column(rows[1], "narrow"), column(rows[2], "wide")), (words, words), "{shown}");
}

#[test]
fn what_says_nothing_is_listed_only_on_demand() {
    let mut lines = lines();
    lines.push(entry("label", "l1", Some("b1"), 6, json!({"targetId": "b2", "label": "x"})));
    lines.push(paid("c3", "c2", 7, 1, None));
    let test_dir = TestDir::with(&lines);
    assert_eq!(test_dir.run(&["branches", "s.jsonl"]).ok().lines().count(), 3);
    assert_eq!(test_dir.run(&["branches", "s.jsonl", "--all"]).ok().lines().count(), 4);
    let empty = TestDir::with(&[]).run(&["branches", "s.jsonl"]);
    assert_eq!((empty.code, empty.stdout.as_str()), (0, ""));
    assert_eq!(empty.stderr, "note: no branches yet\n");
}
