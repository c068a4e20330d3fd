//! Tests that `ls`, `stats`, `branches`, the library's lists and the exported page give the same
//! branches, compactions and usage for a session.

use crate::support::{TestDir, assistant, entry, header, message, user};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// The figures that one command prints.
#[derive(Debug, PartialEq)]
struct Facts {
    branches: u64,
    compactions: u64,
    tokens: u64,
    /// In millionths of a dollar: floats are not exact.
    cost: i64,
}

impl Facts {
    fn new(counts: [&Value; 2], tokens: u64, cost: &Value) -> Self {
        let [branches, compactions] = counts.map(|count| count.as_u64().unwrap());
        let cost = (cost.as_f64().unwrap_or_default() * 1e6).round() as i64;
        Facts { branches, compactions, tokens, cost }
    }

    fn by_list(listed: &Value) -> Self {
        let counts = [&listed["branchCount"], &listed["compactionCount"]];
        Facts::new(counts, listed["tokens"].as_u64().unwrap_or_default(), &listed["cost"])
    }

    fn by_library(info: &treering::catalog::SessionInfo) -> Self {
        let counts = [&json!(info.branch_count), &json!(info.compaction_count)];
        Facts::new(counts, info.tokens.unwrap_or_default(), &json!(info.cost))
    }

    /// Lists and pages show the cost that the file states. `stats` adds what it computed for
    /// requests without one, so
    /// there the stated cost is a part of it.
    fn by_stats(stats: &Value, listed: &Facts) -> Self {
        let (counts, usage) = ([&stats["branches"], &stats["compactions"]], &stats["usage"]);
        let facts = Facts::new(counts, usage["totalTokens"].as_u64().unwrap(), &usage["cost"]);
        if usage["costComputed"] == true {
            assert!(facts.cost >= listed.cost, "{facts:?}, {listed:?}");
            return Facts { cost: listed.cost, ..facts };
        }
        facts
    }

    fn by_page(index: &Value) -> Self {
        let tokens = ["input", "output", "cached"].map(|key| index[key].as_u64().unwrap());
        let counts = [&index["branches"], &index["compactions"]];
        Facts::new(counts, tokens.into_iter().sum(), &index["cost"])
    }
}

/// The data in an exported page.
fn index(page: &str) -> Value {
    let start = "<script type=\"application/json\" id=index>";
    let (_, rest) = page.split_once(start).expect("an index");
    serde_json::from_str(rest.split_once("</script>").unwrap().0).unwrap()
}

/// Compares the usage of all sessions below a directory with what `stats` counts in the same files.
fn compare_usage(test_dir: &TestDir, dir: &str, paths: &[&str]) {
    let stats: Value =
        serde_json::from_str(&test_dir.run(&[&["stats", "--json"], paths].concat()).stdout)
            .unwrap();
    for by in ["daily", "weekly", "monthly", "project", "agent", "model", "session", "blocks"] {
        let ran = test_dir.run(&["usage", by, "--json", "--no-cache", "--dir", dir]);
        let report: Value = serde_json::from_str(&ran.stdout).unwrap();
        assert_eq!(report["total"]["usage"], stats["usage"], "usage and stats: {dir}");
        for key in ["requests", "input", "output", "cacheRead", "cacheWrite", "totalTokens"] {
            let rows = report["rows"].as_array().unwrap();
            let sum: u64 = rows.iter().map(|row| row["usage"][key].as_u64().unwrap()).sum();
            assert_eq!(sum, stats["usage"][key].as_u64().unwrap(), "{by}, {key}: {dir}");
        }
        if by == "model" {
            for row in report["rows"].as_array().unwrap() {
                let model = row["name"].as_str().unwrap();
                assert_eq!(row["usage"], stats["byModel"][model], "{model}: {dir}");
            }
        }
    }
}

/// Compares the reports about every session below a directory, and returns them.
fn compare(test_dir: &TestDir, dir: &Path) -> Vec<(PathBuf, Facts)> {
    let dir = dir.to_str().unwrap();
    let ran = test_dir.run(&["ls", "--json", dir]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let mut all = Vec::new();
    for line in ran.stdout.lines() {
        let listed: Value = serde_json::from_str(line).unwrap();
        let path = listed["path"].as_str().unwrap();
        let facts = Facts::by_list(&listed);
        let stats: Value =
            serde_json::from_str(&test_dir.run(&["stats", "--json", path]).stdout).unwrap();
        assert_eq!(facts, Facts::by_stats(&stats, &facts), "ls and stats: {path}");
        let branches = test_dir.run(&["branches", "--json", path]).stdout.lines().count() as u64;
        assert_eq!(facts.branches, branches, "ls and branches: {path}");
        test_dir.run(&["export", path, "-o", "page.html", "--force"]);
        let page = Facts::by_page(&index(&test_dir.read("page.html")));
        assert_eq!(facts, page, "ls and the page: {path}");
        std::fs::remove_file(test_dir.file("page.html")).unwrap();
        let info = treering::catalog::info(Path::new(path)).unwrap();
        assert_eq!(facts, Facts::by_library(&info), "ls and the library: {path}");
        let open = treering::Session::open(path).unwrap().info().unwrap();
        let counts = (open.branch_count as u64, open.compaction_count as u64);
        assert_eq!(counts, (facts.branches, facts.compactions), "the open session: {path}");
        all.push((path.into(), facts));
    }
    let paths: Vec<&str> =
        all.iter().map(|(path, _): &(PathBuf, Facts)| path.to_str().unwrap()).collect();
    if paths.len() > 1 {
        compare_usage(test_dir, dir, &paths);
    }
    all
}

fn used(input: u64) -> Value {
    json!({"input": input, "output": 1, "cost": {"total": 0.5}})
}

fn answer(id: &str, parent: &str, minute: u8, more: Value) -> String {
    let mut answer =
        json!({"role": "assistant", "content": "yes", "provider": "acme", "model": "m"});
    answer.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    message(id, Some(parent), minute, answer)
}

/// A session with everything that was ever counted differently.
fn awkward() -> Vec<String> {
    let copy = answer("a5", "a4", 5, json!({"usage": used(7)}));
    let copied = copy.strip_suffix('}').unwrap().to_owned()
        + r#","copiedFrom":{"entryId":"a2","sessionId":"demo-1"}}"#;
    let kept =
        json!({"summary": "s", "firstKeptEntryId": "a3", "tokensBefore": 9, "usage": used(20)});
    vec![
        user("a1", None, 1, "Well?"),
        answer("a2", "a1", 2, json!({"usage": used(10), "responseId": "r1"})),
        user("a3", Some("a2"), 3, "And?"),
        // The same response again, and a copy.
        answer("a4", "a3", 4, json!({"usage": used(10), "responseId": "r1"})),
        copied,
        entry("compaction", "c1", Some("a5"), 6, kept),
        entry("usage", "u1", Some("c1"), 7, json!({"usage": used(30)})),
        user("b1", Some("a2"), 8, "Otherwise?"),
        entry(
            "branch_summary",
            "b2",
            Some("b1"),
            9,
            json!({"fromId": "a5", "summary": "s", "usage": used(40)}),
        ),
        // Ends of branches that have no message.
        entry("label", "l1", Some("a1"), 10, json!({"targetId": "b1", "label": "x"})),
        entry("custom", "x1", Some("a3"), 11, json!({"customType": "note", "data": 1})),
        // Back to the middle of a branch.
        entry("leaf", "f1", Some("b2"), 12, json!({"targetId": "a4"})),
    ]
}

fn claude(uuid: &str, parent: Option<&str>, role: &str, is_sidechain: bool, tokens: u64) -> String {
    json!({"type": role, "uuid": uuid, "parentUuid": parent, "isSidechain": is_sidechain,
           "sessionId": "s", "cwd": "/p", "version": "2.0.0", "timestamp": "2026-01-05T09:00:00.000Z",
           "requestId": format!("req-{uuid}"),
           "message": {"id": format!("msg-{uuid}"), "role": role, "content": "x", "model": "m",
                       "usage": {"input_tokens": tokens, "output_tokens": 1}}})
    .to_string()
}

#[test]
fn everything_that_counts_counts_alike() {
    let test_dir = TestDir::with(&awkward());
    test_dir.write("deep/er/plain.jsonl", format!("{}\n", header()).as_bytes());
    let linear = [header(), user("a1", None, 1, "a"), assistant("a2", "a1", 2, json!("b"))];
    test_dir.write("linear.jsonl", (linear.join("\n") + "\n").as_bytes());
    let main =
        [claude("u1", None, "user", false, 0), claude("u2", Some("u1"), "assistant", false, 5)];
    let agent =
        [claude("v1", None, "user", true, 0), claude("v2", Some("v1"), "assistant", true, 70)];
    test_dir.write("c/s.jsonl", (main.join("\n") + "\n").as_bytes());
    test_dir.write("c/s/subagents/agent-1.jsonl", (agent.join("\n") + "\n").as_bytes());
    let all = compare(&test_dir, test_dir.path());
    let facts_of = |name: &str| {
        let found = all
            .iter()
            .find(|(path, _)| path.strip_prefix(test_dir.path()).unwrap() == Path::new(name));
        &found.unwrap_or_else(|| panic!("{name} in {all:?}")).1
    };
    assert_eq!(all.len(), 4);
    let awkward = Facts { branches: 3, compactions: 1, tokens: 104, cost: 2_000_000 };
    assert_eq!(facts_of("s.jsonl"), &awkward);
    assert_eq!(
        facts_of("deep/er/plain.jsonl"),
        &Facts { branches: 0, compactions: 0, tokens: 0, cost: 0 }
    );
    assert_eq!(facts_of("linear.jsonl").branches, 1);
    assert_eq!(facts_of("c/s.jsonl"), &Facts { branches: 1, compactions: 0, tokens: 77, cost: 0 });
}

#[test]
fn what_is_listed_of_fixtures_and_of_a_corpus_agrees() {
    let test_dir = TestDir::empty();
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let fixtures = compare(&test_dir, &here.join("../treering-export/tests/export/fixtures"));
    assert_eq!(fixtures.len(), 2);
    // Every agent that has its own fixture.
    let (agents, mut count) = (TestDir::empty(), 0);
    for agent in std::fs::read_dir(here.join("../treering/src/dialect")).unwrap() {
        let agent = agent.unwrap();
        if let Ok(fixture) = std::fs::read(agent.path().join("fixture.jsonl")) {
            agents.write(&format!("{}.jsonl", agent.file_name().to_str().unwrap()), &fixture);
            count += 1;
        }
    }
    assert_eq!(compare(&agents, agents.path()).len(), count);
    let corpus = std::env::var_os("TREERING_CORPUS")
        .map_or_else(|| here.join("../../../shared/corpus"), PathBuf::from);
    if !corpus.is_dir() {
        eprintln!("SKIPPED: no corpus at {} (TREERING_CORPUS names one)", corpus.display());
        return;
    }
    assert!(!compare(&test_dir, &corpus).is_empty(), "no sessions in {}", corpus.display());
}
