use crate::support::{TestDir, entry, header, message, user};
use serde_json::{Value, json};

/// Returns an answer with a cost; `None` for an unknown one.
pub(crate) fn paid(id: &str, parent: &str, minute: u8, input: u64, cost: Option<f64>) -> String {
    let mut usage = json!({"input": input, "output": 10, "cacheRead": 1000, "cacheWrite": 0});
    if let Some(cost) = cost {
        usage["cost"] = json!({"total": cost});
    }
    let content = json!([{"type": "text", "text": format!("answer {id}")},
                         {"type": "toolCall", "id": "t", "name": "bash", "arguments": {}}]);
    let answer = json!({"role": "assistant", "content": content, "provider": "acme", "model": "m1",
                        "usage": usage, "stopReason": "stop"});
    message(id, Some(parent), minute, answer)
}

/// Two branches below `a1`; the newer one ends at the leaf.
pub(crate) fn lines() -> Vec<String> {
    let usage = json!({"input": 5, "output": 5, "cost": {"total": 0.25}});
    vec![
        user("a1", None, 1, "Go."),
        paid("b1", "a1", 2, 2000, Some(0.5)),
        paid("b2", "b1", 3, 3000, None),
        entry(
            "branch_summary",
            "c1",
            Some("a1"),
            4,
            json!({"fromId": "b2", "summary": "Went.", "usage": usage}),
        ),
        paid("c2", "c1", 5, 100, Some(1.0)),
    ]
}

#[test]
fn for_people_there_are_facts_and_tables() {
    let shown = TestDir::with(&lines()).run(&["stats", "s.jsonl"]).ok();
    insta::assert_snapshot!(shown, @"
    session   demo-1  (pi)
    entries   5 entries, 2 branches
    time      2026-01-05 09:01:00Z to 2026-01-05 09:05:00Z
    messages  assistant 3, user 1
    tools     bash 3
    context   1.1k tokens

    FOR               REQUESTS  INPUT  OUTPUT  CACHE READ  CACHE WRITE  TOTAL     COST
    answers                  3   5.1k      30        3.0k            0   8.1k  $1.50+?
    branch summaries         1      5       5           0            0     10    $0.25
    all                      4   5.1k      35        3.0k            0   8.1k  $1.75+?

    WHERE             REQUESTS  INPUT  OUTPUT  CACHE READ  CACHE WRITE  TOTAL     COST
    active path              2    105      15        1.0k            0   1.1k    $1.25
    abandoned                2   5.0k      20        2.0k            0   7.0k  $0.50+?

    MODEL             REQUESTS  INPUT  OUTPUT  CACHE READ  CACHE WRITE  TOTAL     COST
    acme/m1                  3   5.1k      30        3.0k            0   8.1k  $1.50+?
    (unknown)                1      5       5           0            0     10    $0.25

    cost unknown for 1 of 4 requests
    ");
}

#[test]
fn as_json_it_is_one_object() {
    let test_dir = TestDir::with(&lines());
    let stats = &test_dir.run(&["stats", "s.jsonl", "--json"]).json()[0];
    let usage = json!({"requests": 4, "input": 5105, "output": 35, "cacheRead": 3000, "cacheWrite": 0,
                       "totalTokens": 8140, "cost": 1.75, "costComputed": false, "unpriced": 1});
    assert_eq!(stats["usage"], usage);
    assert_eq!((&stats["entries"], &stats["branches"]), (&json!(5), &json!(2)));
    assert_eq!(stats["messages"], json!({"assistant": 3, "user": 1}));
    assert_eq!(stats["tools"], json!({"bash": 3}));
    assert_eq!(stats["abandoned"]["totalTokens"], 7020);
    assert_eq!(stats["active"]["cost"], 1.25);
    assert_eq!(stats["byPurpose"]["branchSummaries"]["input"], 5);
    assert_eq!(stats["byModel"]["acme/m1"]["requests"], 3);
    assert_eq!(stats["last"], "2026-01-05T09:05:00.000Z");
    assert_eq!(stats["sessions"][0]["id"], "demo-1");
    assert_eq!(stats["shared"]["requests"], 0);

    let branch = &test_dir.run(&["stats", "s.jsonl", "--json", "--branch", "b2"]).json()[0];
    assert_eq!((&branch["usage"]["input"], &branch["entries"]), (&json!(5000), &json!(3)));
    let b2 = &test_dir.run(&["stats", "s.jsonl", "--json", "--branch", "b2"]).json()[0]["usage"];
    assert_eq!((&b2["cost"], &b2["unpriced"]), (&json!(0.5), &json!(1)));
}

#[test]
fn what_several_files_share_is_counted_once() {
    let test_dir = TestDir::with(&lines());
    let mut fork = lines()[..2].to_vec();
    fork.push(paid("z9", "b1", 9, 7, Some(0.125)));
    let fork = format!("{}\n{}\n", header().replace("demo-1", "demo-2"), fork.join("\n"));
    test_dir.write("f.jsonl", fork.as_bytes());
    let stats = &test_dir.run(&["stats", "s.jsonl", "f.jsonl", "--json"]).json()[0];
    assert_eq!((&stats["usage"]["requests"], &stats["usage"]["cost"]), (&json!(5), &json!(1.875)));
    assert_eq!((&stats["shared"]["requests"], &stats["shared"]["cost"]), (&json!(1), &json!(0.5)));
    assert_eq!(stats["messages"], json!({"assistant": 4, "user": 1}));
    assert_eq!(stats["sessions"][1]["shared"]["input"], 2000);
    let shown = test_dir.run(&["stats", "s.jsonl", "f.jsonl"]).ok();
    assert!(shown.starts_with("sessions  2\n"), "{shown}");
    assert!(shown.contains("\nin several, counted once "), "{shown}");
}

#[test]
fn a_file_that_cannot_be_read_is_named_and_the_rest_counted() {
    let test_dir = TestDir::with(&lines());
    test_dir.write("broken.jsonl", b"not a session\n");
    let ran = test_dir.run(&["stats", "s.jsonl", "broken.jsonl", "--json"]);
    assert_eq!(ran.code, 1);
    let stats: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(stats["usage"]["requests"], 4);
    assert!(ran.stderr.starts_with("warning: not counted: broken.jsonl: "), "{}", ran.stderr);
    test_dir.run(&["stats", "broken.jsonl"]).failed();
    test_dir.write("s2.jsonl", test_dir.read("s.jsonl").as_bytes());
    let error = test_dir.run(&["stats", "s.jsonl", "s2.jsonl", "--branch", "b1"]).misused();
    assert!(error.starts_with("error: --branch applies to a single session\nhint: "), "{error}");
}

#[test]
fn a_session_without_usage_has_a_note() {
    let shown = TestDir::with_story().run(&["stats", "s.jsonl"]).ok();
    assert!(shown.ends_with("no usage is recorded\n"), "{shown}");
}
