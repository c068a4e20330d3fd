//! Tests of the worked examples in the documents of the designs that treering is based on.

use crate::support::scripted::Scripted;
use crate::support::talk::{answer, json_of, lines, user};
use serde_json::json;
use std::path::PathBuf;
use std::sync::Arc;
use tempfile::TempDir;
use treering::session::Creation;
use treering::{CreateOptions, Dialect, EntryId, NewEntry, Position, Session};
use treering_agent::{AgentSession, NavigateOptions, Navigation};

fn file(content: &str) -> (TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("session.jsonl");
    std::fs::write(&path, content).unwrap();
    (dir, path)
}

fn ids<'a>(ids: impl IntoIterator<Item = &'a str>) -> Vec<EntryId> {
    ids.into_iter().map(EntryId::from).collect()
}

/// From the leaf to the root, as the documents write it.
fn walk(session: &Session, leaf: &str) -> Vec<EntryId> {
    session.tree().path(leaf).unwrap().into_iter().rev().collect()
}

fn texts_at(session: &Session, leaf: &str) -> Vec<String> {
    lines(&session.context_at(leaf).unwrap())
}

/// Returns a file in the design with `uuid`: `name<parent` for messages whose text is their name,
/// other lines as they are.
fn uuid_file(root: &str, entries: &[&str]) -> String {
    let header = json!({
        "type": "session", "version": 2, "uuid": root, "parentUuid": null, "id": "abc",
        "cwd": "/project",
    });
    let mut out = header.to_string() + "\n";
    for entry in entries {
        match entry.split_once('<') {
            Some((name, parent)) if !entry.starts_with('{') => {
                out += &json!({
                    "type": "message", "uuid": name, "parentUuid": parent,
                    "message": { "role": "user", "content": name },
                })
                .to_string();
            }
            _ => out += entry,
        }
        out.push('\n');
    }
    out
}

#[tokio::test]
async fn chimera_branching() {
    for dialect in [Dialect::Pi, Dialect::Chimera] {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("session.jsonl");
        let options = CreateOptions::new().dialect(dialect);
        let agent = AgentSession::new(Session::create_at(&path, "/p", options).unwrap());
        let id1 = agent.session().append(user("Hello")).unwrap();
        let id2 = agent.session().append(answer("Hi there")).unwrap();
        agent.navigate(id1.as_str(), NavigateOptions::exact()).await.unwrap();
        let id3 = agent.session().append(user("Actually, start over")).unwrap();
        for session in [agent.session(), Arc::new(Session::open(&path).unwrap())] {
            assert_eq!(
                session.tree().conversation().leaves(),
                [id2.clone(), id3.clone()],
                "{dialect:?}"
            );
            assert_eq!(session.tree().conversation().branch_points(), std::slice::from_ref(&id1));
            assert_eq!(
                texts_at(&session, id3.as_str()),
                ["user: Hello", "user: Actually, start over"]
            );
            assert_eq!(session.leaf(), Some(id3.clone()));
        }
    }
}

#[tokio::test]
async fn the_tree_of_entries_a_to_f() {
    let entry = |id: &str, parent: Option<&str>| {
        let message = json!({ "role": "user", "content": id });
        let time = "2026-01-01T00:00:00.000Z";
        json!({ "type": "message", "id": id, "parentId": parent, "timestamp": time, "message": message })
            .to_string()
            + "\n"
    };
    let header = "{\"type\":\"session\",\"version\":3,\"id\":\"s\",\"timestamp\":\"2026-01-01T00:00:00.000Z\",\"cwd\":\"/p\"}\n";
    let entries = [
        ("A", None),
        ("B", Some("A")),
        ("C", Some("B")),
        ("D", Some("A")),
        ("E", Some("D")),
        ("F", None),
    ];
    let content: String = entries.iter().map(|(id, parent)| entry(id, *parent)).collect();
    let (_dir, path) = file(&(header.to_owned() + &content));
    let agent = AgentSession::new(Session::open(&path).unwrap());
    agent.navigate("C", NavigateOptions::exact()).await.unwrap();
    let session = Session::open(&path).unwrap();
    let tree = session.tree();
    assert_eq!(session.leaf(), Some("C".into()));
    assert_eq!(tree.roots(), ids(["A", "F"]));
    assert_eq!(tree.children("A").unwrap(), ids(["B", "D"]));
    assert_eq!(tree.conversation().branch_points(), ids(["A"]));
    assert_eq!(tree.conversation().leaves(), ids(["C", "E", "F"]));
    assert_eq!(walk(&session, "C"), ids(["C", "B", "A"]));
    assert_eq!(walk(&session, "E"), ids(["E", "D", "A"]));
    assert_eq!(tree.common_ancestor("C", "E").unwrap(), Some("A".into()));
    assert_eq!(tree.common_ancestor("C", "F").unwrap(), None);

    // Branching from A: the next append is a child of A, not of C.
    agent.navigate("A", NavigateOptions::exact()).await.unwrap();
    let next = agent.session().append(user("next")).unwrap();
    assert_eq!(agent.session().entry(next.as_str()).unwrap().parent(), Some(&"A".into()));

    // A path with a compaction.
    let session = Session::in_memory("/p");
    for (id, entry) in [
        ("A", user("a")),
        ("B", answer("b")),
        ("C", user("c")),
        ("D", NewEntry::compaction("...", Some(&"C".into()), 9)),
        ("E", user("e")),
        ("F", answer("f")),
    ] {
        session.append(entry.with_id(id)).unwrap();
    }
    let expected = ["compactionSummary: ...", "user: c", "user: e", "assistant: f"];
    assert_eq!(lines(&session.context().unwrap()), expected);
}

const BRANCHING: &str = r#"{"type":"session","version":2,"uuid":"a1b2c3","parentUuid":null,"id":"...","cwd":"..."}
{"type":"message","uuid":"d4e5f6","parentUuid":"a1b2c3","message":{"role":"user","content":"hello"}}
{"type":"message","uuid":"g7h8i9","parentUuid":"d4e5f6","message":{"role":"assistant","content":"hi"}}
{"type":"message","uuid":"j0k1l2","parentUuid":"g7h8i9","message":{"role":"user","content":"A"}}
{"type":"message","uuid":"m3n4o5","parentUuid":"j0k1l2","message":{"role":"assistant","content":"asst A"}}
"#;

const BRANCHED: &str = r#"{"type":"message","uuid":"p6q7r8","parentUuid":"g7h8i9","message":{"role":"user","content":"B"}}
{"type":"message","uuid":"s9t0u1","parentUuid":"p6q7r8","message":{"role":"assistant","content":"asst B"}}
"#;

#[tokio::test]
async fn branching_from_g7h8i9() {
    let (_dir, path) = file(BRANCHING);
    let session = Session::open(&path).unwrap();
    assert_eq!((session.dialect(), session.leaf()), (Dialect::Uuid, Some("m3n4o5".into())));

    let (_dir, path) = file(&(BRANCHING.to_owned() + BRANCHED));
    let session = Session::open(&path).unwrap();
    assert_eq!(session.leaf(), Some("s9t0u1".into()));
    assert_eq!(walk(&session, "s9t0u1"), ids(["s9t0u1", "p6q7r8", "g7h8i9", "d4e5f6", "a1b2c3"]));
    let now = ["user: hello", "assistant: hi", "user: B", "assistant: asst B"];
    assert_eq!(lines(&session.context().unwrap()), now);
    assert_eq!(session.tree().conversation().branch_points(), ids(["g7h8i9"]));
    // The old path is still there.
    let old = ["user: hello", "assistant: hi", "user: A", "assistant: asst A"];
    assert_eq!(texts_at(&session, "m3n4o5"), old);
    // The same, done by an agent.
    let (_dir, path) = file(BRANCHING);
    let agent = AgentSession::new(Session::open(&path).unwrap());
    agent.navigate("g7h8i9", NavigateOptions::exact()).await.unwrap();
    agent.session().append(user("B").with_id("p6q7r8")).unwrap();
    agent.session().append(answer("asst B").with_id("s9t0u1")).unwrap();
    let bytes = std::fs::read_to_string(&path).unwrap();
    assert!(bytes.starts_with(BRANCHING));
    let session = Session::open(&path).unwrap();
    assert_eq!(
        (session.leaf(), lines(&session.context().unwrap())),
        (Some("s9t0u1".into()), now.map(str::to_owned).to_vec())
    );
}

#[test]
fn stack_pop_of_linear_files_is_a_branch() {
    let message = |text: &str| {
        let message = json!({ "role": "user", "content": text });
        json!({ "type": "message", "timestamp": "2025-01-01T00:00:00.000Z", "message": message })
    };
    let pop = |index: i64, summary: &str| {
        json!({ "type": "stack_pop", "timestamp": "2025-01-01T00:00:00.000Z",
            "backToIndex": index, "summary": summary, "prePopSummary": "before" })
    };
    let header = json!({ "type": "session", "id": "v1", "cwd": "/p",
        "timestamp": "2025-01-01T00:00:00.000Z" });
    // Back to "a", back to the first pop, before everything, and to an entry that does not exist.
    let lines_of = [
        header,
        message("a"),
        message("b"),
        message("c"),
        pop(1, "b and c"),
        message("d"),
        message("e"),
        pop(4, "d and e"),
        message("f"),
        pop(0, "all"),
        message("g"),
        pop(99, "nothing"),
        message("h"),
    ];
    let content: String = lines_of.iter().map(|line| format!("{line}\n")).collect();
    let (_dir, path) = file(&content);
    let session = Session::open(&path).unwrap();
    let all: Vec<EntryId> = session.tree().ids().collect();
    let at = |number: usize| texts_at(&session, all[number].as_str());
    assert_eq!(at(2), ["user: a", "user: b", "user: c"]);
    let popped = ["user: a", "branchSummary: b and c", "user: d", "user: e"];
    assert_eq!(at(5), popped);
    assert_eq!(at(7), [&popped[..2], &["branchSummary: d and e", "user: f"]].concat());
    let rest = ["branchSummary: all", "user: g", "branchSummary: nothing", "user: h"];
    assert_eq!(lines(&session.context().unwrap()), rest);

    // An upgrade keeps all of it, in the words of the current version.
    session.append(user("i")).unwrap();
    let again = Session::open(&path).unwrap();
    assert_eq!(texts_at(&again, all[5].as_str()), popped);
    assert_eq!(lines(&again.context().unwrap())[..4], rest);
    let summary = json_of(&again.entry(all[3].as_str()).unwrap());
    assert_eq!(summary["type"], "branch_summary");
    assert_eq!(
        (&summary["parentId"], &summary["fromId"]),
        (&json!(all[0].as_str()), &json!(all[2].as_str()))
    );
    assert_eq!(
        (&summary["backToIndex"], &summary["prePopSummary"]),
        (&json!(null), &json!("before"))
    );
}

#[tokio::test]
async fn multiple_pops() {
    let entries = [
        "a<root",
        "b<a",
        "c<b",
        "d<c",
        "e<d",
        "f<e",
        "g<f",
        "h<g",
        r#"{"type":"stack_summary","uuid":"i","parentUuid":"c","summary":"Work done after this point"}"#,
        "j<i",
        "k<j",
        "l<k",
        r#"{"type":"stack_summary","uuid":"m","parentUuid":"k","summary":"More work"}"#,
        "n<m",
    ];
    let (_dir, path) = file(&uuid_file("root", &entries));
    let session = Session::open(&path).unwrap();
    let way = ["n", "m", "k", "j", "i", "c", "b", "a", "root"];
    assert_eq!(walk(&session, "n"), ids(way));
    let expected = [
        "user: a",
        "user: b",
        "user: c",
        "branchSummary: Work done after this point",
        "user: j",
        "user: k",
        "branchSummary: More work",
        "user: n",
    ];
    assert_eq!(lines(&session.context().unwrap()), expected);

    // The same, done by an agent that pops twice.
    let agent = AgentSession::new(Session::in_memory("/p")).with_summarizer(Scripted::plays([]));
    let say = |names: &str| {
        for name in names.chars() {
            let entry = answer(&name.to_string()).with_id(EntryId::from(&*name.to_string()));
            agent.session().append(entry).unwrap();
        }
    };
    say("abcdefgh");
    let pop = async |to: &'static str| {
        let Ok(Navigation::Moved(moved)) = agent.pop(to, NavigateOptions::default()).await else {
            panic!()
        };
        moved.summary.unwrap().id().clone()
    };
    let i = pop("c").await;
    say("jkl");
    let m = pop("k").await;
    say("n");
    let expected = ids(["n", m.as_str(), "k", "j", i.as_str(), "c", "b", "a"]);
    assert_eq!(walk(&agent.session(), "n"), expected);
    assert_eq!(walk(&agent.session(), "l"), ids(["l", "k", "j", i.as_str(), "c", "b", "a"]));
    assert_eq!(walk(&agent.session(), "h").len(), 8);
}

#[test]
fn compaction_is_a_marker_in_the_chain() {
    let entries = [
        "m1<root",
        "m2<m1",
        "m3<m2",
        "m4<m3",
        "m5<m4",
        "m6<m5",
        "m7<m6",
        "m8<m7",
        "m9<m8",
        "m10<m9",
        r#"{"type":"compaction","uuid":"c1","parentUuid":"m10","summary":"...","firstKeptEntryUuid":"m6","tokensBefore":50000}"#,
    ];
    let (_dir, path) = file(&uuid_file("root", &entries));
    let session = Session::open(&path).unwrap();
    let expected =
        ["compactionSummary: ...", "user: m6", "user: m7", "user: m8", "user: m9", "user: m10"];
    assert_eq!(lines(&session.context().unwrap()), expected);
    assert_eq!(session.leaf(), Some("c1".into()));
    assert_eq!(session.tree().conversation().leaves(), ids(["c1"]));
}

#[test]
fn every_branch_has_its_own_compactions() {
    let entries = [
        "m1<root",
        "m2<m1",
        "m3<m2",
        "m4<m3",
        "m5<m4",
        r#"{"type":"compaction","uuid":"compaction1","parentUuid":"m5","summary":"one","firstKeptEntryUuid":"m4","tokensBefore":1}"#,
        "m6<compaction1",
        "m7<m6",
        "m8<m7",
        r#"{"type":"stack_summary","uuid":"stack","parentUuid":"m3","summary":"stacked"}"#,
        "m9<stack",
        "m10<m9",
        r#"{"type":"compaction","uuid":"compaction2","parentUuid":"m10","summary":"two","firstKeptEntryUuid":"m10","tokensBefore":1}"#,
        "m11<compaction2",
    ];
    let (_dir, path) = file(&uuid_file("root", &entries));
    let session = Session::open(&path).unwrap();
    let current = ["compactionSummary: two", "user: m10", "user: m11"];
    assert_eq!(lines(&session.context().unwrap()), current);
    let other =
        ["compactionSummary: one", "user: m4", "user: m5", "user: m6", "user: m7", "user: m8"];
    assert_eq!(texts_at(&session, "m8"), other);
    let before = ["user: m1", "user: m2", "user: m3", "branchSummary: stacked", "user: m9"];
    assert_eq!(texts_at(&session, "m9"), before);
}

const FULL: &str = r#"{"type":"session","version":2,"uuid":"ses1","parentUuid":null,"id":"abc","cwd":"/project"}
{"type":"message","uuid":"m1","parentUuid":"ses1","message":{"role":"user","content":"Build a CLI"}}
{"type":"message","uuid":"m2","parentUuid":"m1","message":{"role":"assistant","content":"I'll create..."}}
{"type":"message","uuid":"m3","parentUuid":"m2","message":{"role":"user","content":"Add --verbose flag"}}
{"type":"message","uuid":"m4","parentUuid":"m3","message":{"role":"assistant","content":"Here's the flag..."}}
{"type":"message","uuid":"m5","parentUuid":"m4","message":{"role":"user","content":"Actually use Python"}}
{"type":"message","uuid":"m6","parentUuid":"m5","message":{"role":"assistant","content":"Converting to Python..."}}
{"type":"branch_summary","uuid":"bs1","parentUuid":"m2","summary":"Attempted Node.js CLI with --verbose flag"}
{"type":"message","uuid":"m7","parentUuid":"bs1","message":{"role":"user","content":"Use Rust instead"}}
{"type":"message","uuid":"m8","parentUuid":"m7","message":{"role":"assistant","content":"Creating Rust CLI..."}}
"#;

#[tokio::test]
async fn a_full_session_with_branching() {
    let (_dir, path) = file(FULL);
    let session = Session::open(&path).unwrap();
    assert_eq!(
        (session.cwd(), session.id().to_string(), session.dialect()),
        ("/project".into(), "abc".into(), Dialect::Uuid)
    );
    assert_eq!(walk(&session, "m8"), ids(["m8", "m7", "bs1", "m2", "m1", "ses1"]));
    let result = [
        "user: Build a CLI",
        "assistant: I'll create...",
        "branchSummary: Attempted Node.js CLI with --verbose flag",
        "user: Use Rust instead",
        "assistant: Creating Rust CLI...",
    ];
    assert_eq!(lines(&session.context().unwrap()), result);
    assert_eq!(texts_at(&session, "m6").len(), 6, "m3 to m6 are preserved");

    // An agent continues that file: back before the third message, with a summary, and returns.
    let agent = AgentSession::new(session).with_summarizer(Scripted::plays([]));
    let Ok(Navigation::Moved(moved)) = agent.pop_previous(NavigateOptions::default()).await else {
        panic!()
    };
    assert_eq!(moved.editor_text.as_deref(), Some("Use Rust instead"));
    assert_eq!(moved.summary.unwrap().parent(), Some(&"bs1".into()));
    agent.navigate("m6", NavigateOptions::exact()).await.unwrap();
    assert!(std::fs::read_to_string(&path).unwrap().starts_with(FULL));
    let session = Session::open(&path).unwrap();
    assert_eq!((session.leaf(), session.dialect()), (Some("m6".into()), Dialect::Uuid));
    assert_eq!(texts_at(&session, "m8"), result);
}

#[tokio::test]
async fn leaf_movement_rules() {
    let session = Session::in_memory("/p");
    let agent = AgentSession::new(session).with_summarizer(Scripted::plays([]));
    let session = agent.session();
    // Appending makes a child of the leaf; before the first entry it makes a root.
    let a = session.append(user("a")).unwrap();
    let b = session.append(answer("b")).unwrap();
    assert_eq!(session.entry(b.as_str()).unwrap().parent(), Some(&a));
    session.branch(Position::Start).unwrap();
    let c = session.append(user("c")).unwrap();
    assert_eq!(session.entry(c.as_str()).unwrap().parent(), None);
    assert!(session.tree().roots().contains(&a) && session.tree().roots().contains(&c));
    assert!(session.branch("nowhere").is_err());
    // A summary goes where the leaf goes, also before the first entry.
    let summary = session.branch_with_summary(Position::Start, "s", Ok).unwrap();
    let raw = json_of(&session.entry(summary.as_str()).unwrap());
    assert_eq!((&raw["parentId"], &raw["fromId"]), (&json!(null), &json!(*c.as_str())));
    session.branch(Position::Start).unwrap();
    let summary = session.branch_with_summary(b.as_str(), "s", Ok).unwrap();
    let raw = json_of(&session.entry(summary.as_str()).unwrap());
    assert_eq!((&raw["parentId"], &raw["fromId"]), (&json!(*b.as_str()), &json!("root")));
    // A label hangs on the leaf's chain and shows on its target.
    let label = agent.label(a.as_str(), Some("start")).unwrap();
    assert_eq!(session.entry(label.as_str()).unwrap().parent(), Some(&summary));
    assert_eq!(session.tree().label(a.as_str()), Some("start"));
    assert_eq!(lines(&agent.context().unwrap()), ["user: a", "assistant: b", "branchSummary: s"]);
}

#[test]
fn entries_with_missing_parents_are_roots() {
    let header = "{\"type\":\"session\",\"version\":3,\"id\":\"s\",\"timestamp\":\"2026-01-01T00:00:00.000Z\",\"cwd\":\"/p\"}\n";
    let entry = |id: &str, parent: &str, second: u8| {
        format!(
            "{{\"type\":\"message\",\"id\":\"{id}\",\"parentId\":\"{parent}\",\"timestamp\":\"2026-01-01T00:00:0{second}.000Z\",\"message\":{{\"role\":\"user\",\"content\":\"{id}\"}}}}\n"
        )
    };
    let content = [header, &entry("a", "gone", 0), &entry("late", "a", 9), &entry("early", "a", 1)];
    let (_dir, path) = file(&content.concat());
    let tree = Session::open(&path).unwrap().tree();
    assert_eq!(tree.roots(), ids(["a"]));
    assert_eq!(tree.children("a").unwrap(), ids(["early", "late"]), "oldest to newest");
}

const OPERATOR: &str = r#"{"type":"session_header","id":"0192e4a0-0000-7000-8000-000000000001","timestamp":1736942400.0,"cwd":"/my/project"}
{"type":"message","id":"a1","parent_id":null,"timestamp":1736942401.0,"message":{"role":"user","content":[{"type":"text","text":"one"}]}}
{"type":"message","id":"a2","parent_id":"a1","timestamp":1736942402.0,"message":{"role":"assistant","content":[{"type":"text","text":"two"}]}}
{"type":"compaction","id":"a3","parent_id":"a2","summary":"...","first_kept_entry_id":"a2"}
{"type":"message","id":"a4","parent_id":"a3","timestamp":1736942404.0,"message":{"role":"user","content":[{"type":"text","text":"four"}]}}
{"type":"leaf","id":"a5","parent_id":"a4","timestamp":1736942405.0,"target_id":"a2"}
"#;

#[tokio::test]
async fn operators_leaf_entry() {
    let (_dir, path) = file(OPERATOR);
    let session = Session::open(&path).unwrap();
    assert_eq!((session.dialect(), session.cwd()), (Dialect::Operator, "/my/project".into()));
    assert_eq!(session.leaf(), Some("a2".into()), "the entry it points to, not itself");
    assert_eq!(lines(&session.context().unwrap()), ["user: one", "assistant: two"]);
    assert_eq!(
        texts_at(&session, "a4"),
        ["compactionSummary: ...", "assistant: two", "user: four"]
    );

    // Moving writes such an entry: it hangs on the leaf that was left, and survives a restart.
    let agent = AgentSession::new(session);
    agent.navigate("a4", NavigateOptions::exact()).await.unwrap();
    let content = std::fs::read_to_string(&path).unwrap();
    let added = content.strip_prefix(OPERATOR).unwrap();
    let added: serde_json::Value = serde_json::from_str(added).unwrap();
    assert_eq!(
        (&added["type"], &added["parent_id"], &added["target_id"]),
        (&json!("leaf"), &json!("a2"), &json!("a4"))
    );
    assert_eq!(Session::open(&path).unwrap().leaf(), Some("a4".into()));
    let next = agent.session().append(answer("five")).unwrap();
    assert_eq!(agent.session().entry(next.as_str()).unwrap().parent(), Some(&"a4".into()));
}

#[test]
fn nothing_is_written_before_the_first_answer() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("s.jsonl");
    let options =
        CreateOptions::new().dialect(Dialect::Operator).creation(Creation::FirstAssistantMessage);
    let session = Session::create_at(&path, "/p", options).unwrap();
    session.append(user("one")).unwrap();
    assert!(!path.exists());
    session.append(answer("two")).unwrap();
    assert_eq!(Session::open(&path).unwrap().context().unwrap().messages.len(), 2);
}
