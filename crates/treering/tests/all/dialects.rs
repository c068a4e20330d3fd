//! The differences between agents that keep a tree: how their sessions are detected, what their own
//! records mean, and the values that Python's and JavaScript's libraries trip over.

use crate::support::{HEADER, join, open, sources, try_open};
use serde_json::Value;
use tempfile::TempDir;
use treering::session::Creation;
use treering::{CreateOptions, Dialect, Error, Message, NewEntry, Position, Session};
use treering_testkit::model;

/// A title slot as omp writes it.
fn title_slot(title: &str) -> String {
    let start = format!(
        r#"{{"type":"title","v":1,"title":"{title}","updatedAt":"2026-01-05T09:00:00.000Z","pad":""#
    );
    format!("{start}{}\"}}", " ".repeat(255 - 2 - start.len()))
}

#[test]
fn a_session_is_known_by_its_first_records() {
    let slot = title_slot("a");
    let pi = HEADER;
    let seconds = r#"{"type":"session","version":3,"id":"s","timestamp":1767603600.5,"cwd":"/p"}"#;
    let operator = r#"{"id":"a","timestamp":1.5,"type":"message","message":{"role":"user","contents":[],"id":"m","timestamp":1.5}}"#;
    let tau = r#"{"id":"a","timestamp":1.5,"type":"message","message":{"contents":[],"id":"m","timestamp":1.5,"role":"user"}}"#;
    for (lines, expected) in [
        (vec![pi], Dialect::Pi),
        (vec![r#"{"type":"session","id":"s","cwd":"/"}"#], Dialect::Pi),
        (vec!["not json", pi], Dialect::Pi),
        (
            vec![r#"{"type":"session","version":2,"uuid":"u","parentUuid":null,"id":"s"}"#],
            Dialect::Uuid,
        ),
        (vec![&slot, pi], Dialect::Omp),
        (vec![r#"{"type":"session","version":3,"id":"s","cwd":"/","title":"t"}"#], Dialect::Omp),
        (vec![pi, r#"{"type":"reset_boundary","id":"a","parentId":null}"#], Dialect::Omp),
        (
            vec![pi, r#"{"type":"model_change","id":"a","parentId":null,"model":"p/m"}"#],
            Dialect::Omp,
        ),
        (
            vec![r#"{"type": "header", "id": "a", "parent_id": null, "version": 1}"#],
            Dialect::Chimera,
        ),
        (
            vec![
                r#"{"type": "message", "id": "a", "parent_id": null, "timestamp": 1.5, "message": {"role": "user", "content": "x"}}"#,
            ],
            Dialect::Chimera,
        ),
        (vec![seconds], Dialect::Operator),
        (vec![r#"{"type":"session_header","version":3,"id":"s","cwd":"/"}"#], Dialect::Operator),
        (vec![seconds, operator], Dialect::Operator),
        (vec![seconds, tau], Dialect::Tau),
        (
            vec![
                r#"{"type":"user","uuid":"u","parentUuid":null,"sessionId":"s","cwd":"/","message":{"role":"user","content":"x"}}"#,
            ],
            Dialect::ClaudeCode,
        ),
        (
            vec![
                r#"{"type":"summary","summary":"x","leafUuid":"u"}"#,
                r#"{"type":"user","uuid":"u","parentUuid":null,"sessionId":"s","cwd":"/","message":{"role":"user","content":"x"}}"#,
            ],
            Dialect::ClaudeCode,
        ),
        (
            vec![
                r#"{"timestamp":"2026-01-05T09:00:00.000Z","type":"session_meta","payload":{"id":"s","cwd":"/"}}"#,
            ],
            Dialect::Codex,
        ),
        (
            vec![r#"{"id":"s","timestamp":"2026-01-05T09:00:00.000Z","instructions":null}"#],
            Dialect::Codex,
        ),
    ] {
        let text = lines.join("\n") + "\n";
        let session = try_open(&text).unwrap_or_else(|error| panic!("{text}: {error}"));
        assert_eq!(session.dialect(), expected, "{text}");
    }
}

#[test]
fn after_a_header_like_pis_any_member_is_pis() {
    for more in [
        r#""payload":{"type":"message"}"#,
        r#""uuid":"u""#,
        r#""parent_id":"p""#,
        r#""sessionId":"s","leafUuid":"l""#,
        r#""record_type":"state""#,
        r#""target_id":"t","custom_type":"c""#,
    ] {
        let entry = format!(
            r#"{{"type":"custom","id":"a1","parentId":null,"timestamp":"2026-01-05T09:00:20.226Z",{more}}}"#
        );
        let session = open(format!("{HEADER}\n{entry}\n"));
        assert_eq!((session.dialect(), session.tree().len()), (Dialect::Pi, 1), "{entry}");
        assert_eq!(session.entry("a1").unwrap().raw(), entry.as_bytes());
    }
}

#[test]
fn what_is_no_session_stays_none() {
    for text in
        ["{}\n", "[]\n", "hello\n", "{\"name\":\"x\",\"version\":3}\n", "{\"type\":\"x\"}\n", "\n"]
    {
        let error = try_open(text).unwrap_err();
        assert!(matches!(error, Error::NotASession { .. }), "{text}: {error}");
    }
}

/// The example of the design that this dialect comes from, its dots filled in.
const DESIGN: &str = r#"{"type":"session","version":2,"uuid":"a1b2c3","parentUuid":null,"id":"s","cwd":"/p"}
{"type":"message","uuid":"d4e5f6","parentUuid":"a1b2c3","message":{"role":"user","content":"hello"}}
{"type":"message","uuid":"g7h8i9","parentUuid":"d4e5f6","message":{"role":"assistant","content":"hi"}}
{"type":"message","uuid":"j0k1l2","parentUuid":"g7h8i9","message":{"role":"user","content":"old"}}
{"type":"message","uuid":"m3n4o5","parentUuid":"j0k1l2","message":{"role":"assistant","content":"old"}}
{"type":"message","uuid":"p6q7r8","parentUuid":"g7h8i9","message":{"role":"user","content":"new"}}
{"type":"message","uuid":"s9t0u1","parentUuid":"p6q7r8","message":{"role":"assistant","content":"new"}}
"#;

#[test]
fn the_header_of_the_uuid_design_is_a_node() {
    let session = open(DESIGN);
    let tree = session.tree();
    assert_eq!(join(tree.path("s9t0u1").unwrap()), "a1b2c3 d4e5f6 g7h8i9 p6q7r8 s9t0u1");
    assert_eq!(session.leaf().unwrap().as_str(), "s9t0u1");
    assert_eq!((session.id().to_string(), session.cwd()), ("s".to_owned(), "/p".to_owned()));
    assert_eq!(join(tree.conversation().branch_points()), "g7h8i9");
    assert_eq!(sources(&session.context().unwrap()), "d4e5f6 g7h8i9 p6q7r8 s9t0u1");
    assert_eq!(sources(&session.context_at("m3n4o5").unwrap()), "d4e5f6 g7h8i9 j0k1l2 m3n4o5");
    assert!(session.findings().unwrap().is_empty());
}

#[test]
fn summaries_and_compactions_of_the_uuid_design_apply() {
    let popped = r#"{"type":"stack_summary","uuid":"x1y2z3","parentUuid":"g7h8i9","summary":"Work done after this point"}"#;
    let compacted = r#"{"type":"compaction","uuid":"c1","parentUuid":"x1y2z3","summary":"so far","firstKeptEntryUuid":"g7h8i9","tokensBefore":50000}"#;
    let session = open(format!("{DESIGN}{popped}\n{compacted}\n"));
    let context = session.context_at("x1y2z3").unwrap();
    assert_eq!(sources(&context), "d4e5f6 g7h8i9 x1y2z3");
    let summary = model::value(&context.messages[2].json).unwrap();
    assert_eq!(
        (&summary["role"], &summary["summary"]),
        (&"branchSummary".into(), &"Work done after this point".into())
    );
    let context = session.context().unwrap();
    assert_eq!(sources(&context), "c1 g7h8i9 x1y2z3");
    let summary = model::value(&context.messages[0].json).unwrap();
    assert_eq!((&summary["summary"], &summary["tokensBefore"]), (&"so far".into(), &50000.into()));
}

fn in_file(name: &str, text: &str) -> (TempDir, std::path::PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join(name);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(&path, text).unwrap();
    (dir, path)
}

#[test]
fn the_title_slot_names_an_omp_session_and_keeps_its_size() {
    let (_dir, path) = in_file("s.jsonl", &format!("{}\n{HEADER}\n", title_slot("First")));
    let session = Session::open(&path).unwrap();
    assert_eq!((session.dialect(), session.name().as_deref()), (Dialect::Omp, Some("First")));
    let rest = std::fs::read(&path).unwrap().split_off(256);
    let long = "größer ".repeat(60);
    for name in ["Second \"one\"", &long, ""] {
        session.append(Message::user("hello")).unwrap();
        session.set_name(name).unwrap();
        let bytes = std::fs::read(&path).unwrap();
        assert_eq!((bytes[255], bytes.iter().position(|&byte| byte == b'\n')), (b'\n', Some(255)));
        assert!(bytes[256..].starts_with(&rest), "what follows the slot stays where it is");
        let slot: Value = serde_json::from_slice(&bytes[..255]).unwrap();
        let title = slot["title"].as_str().unwrap();
        assert!(name.starts_with(title) && (title == name || name == long), "{title}");
        let read = Session::open(&path).unwrap().name();
        assert_eq!(read, (!title.is_empty()).then(|| title.to_owned()));
        assert_eq!(session.name(), read, "memory and file agree");
    }
}

#[test]
fn a_reset_hides_what_was_before_it() {
    let reset = r#"{"type":"reset_boundary","id":"b2","parentId":"a1","timestamp":"2026-01-05T09:00:20.226Z"}"#;
    let lines = [
        HEADER.to_owned(),
        crate::support::user("a1", None),
        reset.to_owned(),
        crate::support::user("c3", Some("b2")),
    ];
    let session = open(lines.join("\n") + "\n");
    assert_eq!(session.dialect(), Dialect::Omp);
    assert_eq!(sources(&session.context().unwrap()), "c3");
    assert_eq!(sources(&session.context_at("a1").unwrap()), "a1");
}

#[test]
fn blobs_are_read_where_they_are_and_reported_where_not() {
    let hash = "2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae";
    let message = format!(
        r#","message":{{"role":"user","content":[{{"type":"image","data":"blob:sha256:{hash}","mimeType":"image/png"}}]}}"#
    );
    let entry = crate::support::entry("message", "a1", None, &message);
    let text = format!("{}\n{HEADER}\n{entry}\n", title_slot(""));
    let (dir, path) = in_file("agent/sessions/-p/s.jsonl", &text);
    let data = || {
        let context = Session::open(&path).unwrap().context().unwrap();
        let value = model::value(&context.messages[0].json).unwrap();
        value["content"][0]["data"].as_str().unwrap().to_owned()
    };
    let found = |code: &str| {
        treering::doctor::examine(&path)
            .unwrap()
            .findings
            .iter()
            .any(|finding| finding.code() == code)
    };
    assert_eq!(data(), format!("blob:sha256:{hash}"), "what is not there stays a reference");
    assert!(found("missing-blob"));
    let blobs = dir.path().join("agent/blobs");
    std::fs::create_dir(&blobs).unwrap();
    std::fs::write(blobs.join(hash), "foo").unwrap();
    assert_eq!(data(), "Zm9v");
    assert!(!found("missing-blob") && !found("bad-blob"));
    let session = Session::open(&path).unwrap();
    let raw = |entry: treering::Entry| String::from_utf8(entry.raw().to_vec()).unwrap();
    assert!(raw(session.entry("a1").unwrap()).contains(hash), "an entry refers to the image");
    assert!(raw(session.reader().with_images().entry("a1").unwrap()).contains("Zm9v"));
    std::fs::write(blobs.join(hash), "root:x:0:0").unwrap();
    assert_eq!(data(), format!("blob:sha256:{hash}"), "other content is not shown to a model");
    assert!(found("bad-blob"));
    assert_eq!(std::fs::read_to_string(&path).unwrap(), text, "the file keeps its reference");
}

fn operator(lines: &[&str]) -> String {
    let header = r#"{"type":"session","version":3,"id":"s","timestamp":1767603600.5,"cwd":"/p"}"#;
    [&[header], lines].concat().join("\n") + "\n"
}

const ASKED: &str = r#"{"id":"a1","timestamp":1767603601.25,"type":"message","message":{"role":"user","contents":[{"type":"text","content":"hi"}],"id":"m","timestamp":1767603601.25}}"#;

#[test]
fn operators_leaf_entries_say_what_was_left() {
    let (_dir, path) = in_file("s.jsonl", &operator(&[ASKED]));
    let session = Session::open(&path).unwrap();
    let answer = session.append(Message::assistant("p", "m", "hello")).unwrap();
    session.branch("a1").unwrap();
    let other = session.append(Message::assistant("p", "m", "hullo")).unwrap();
    session.branch(Position::Start).unwrap();
    let text = std::fs::read_to_string(&path).unwrap();
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let moves: Vec<&Value> = lines.iter().filter(|line| line["type"] == "leaf").collect();
    assert_eq!(
        (&moves[0]["parent_id"], &moves[0]["target_id"]),
        (&answer.as_str().into(), &"a1".into())
    );
    assert_eq!(moves[1]["parent_id"], other.as_str());
    assert_eq!(moves[1].get("target_id"), None, "nulls are left out");
    assert_eq!(join(session.tree().path(other.as_str()).unwrap()), format!("a1 {other}"));
    let again = Session::open(&path).unwrap();
    assert_eq!(again.leaf(), None);
    assert_eq!(sources(&again.context_at(other.as_str()).unwrap()), format!("a1 {other}"));
    assert!(again.findings().unwrap().is_empty());
}

#[test]
fn operators_headers_and_times_come_in_several_shapes() {
    for kind in ["session", "session_header"] {
        for (time, expected) in [
            ("1767603600.5", Some("2026-01-05T09:00:00.500Z")),
            ("\"1767603600.5\"", Some("2026-01-05T09:00:00.500Z")),
            ("\"2026-01-05T09:00:00.500+00:00\"", Some("2026-01-05T09:00:00.500Z")),
            ("1767603600", Some("2026-01-05T09:00:00.000Z")),
            ("\"soon\"", None),
        ] {
            let header = format!(
                r#"{{"type":"{kind}","version":3,"id":"s","timestamp":1767603600.0,"cwd":"/p","parent_session":"q"}}"#
            );
            let text = format!("{header}\n{}\n", ASKED.replacen("1767603601.25", time, 1));
            let session = open(&text);
            assert_eq!(session.dialect(), Dialect::Operator, "{text}");
            assert_eq!(session.header().parent_session.as_deref(), Some("q"));
            let found = session.entry("a1").unwrap().time().map(treering::time::format);
            assert_eq!(found.as_deref(), expected, "{text}");
        }
    }
}

#[test]
fn new_sessions_of_every_dialect_are_what_they_say() {
    for dialect in Dialect::ALL {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("new.jsonl");
        let options = CreateOptions::new().dialect(dialect).creation(Creation::AtOnce);
        match Session::create_at(&path, "/p", options) {
            Err(Error::ReadOnlyDialect(refused)) => {
                assert!(refused == dialect && !dialect.is_writable() && !path.exists());
                continue;
            }
            session => {
                let session = session.unwrap();
                session.append(NewEntry::session_info("named")).unwrap();
                session.append(Message::user("hello")).unwrap();
                session.append(Message::assistant("p", "m", "hi")).unwrap();
            }
        }
        let session = Session::open(&path).unwrap();
        assert_eq!((session.dialect(), session.cwd().as_str()), (dialect, "/p"));
        assert_eq!(session.name().as_deref(), Some("named"), "{dialect}");
        assert_eq!(session.context().unwrap().messages.len(), 2, "{dialect}");
        let report = treering::doctor::examine(&path).unwrap();
        assert!(report.findings.is_empty(), "{dialect}: {:?}", report.findings);
    }
}

/// Tau's session with these entries after a message of its own.
fn tau(lines: &[&str]) -> Session {
    let header = r#"{"type":"session","version":3,"id":"s","timestamp":1767603600.5,"cwd":"/p"}"#;
    let message = |id: &str, parent: &str| {
        format!(
            r#"{{"id":"{id}","timestamp":1.5,"parent_id":{parent},"type":"message","message":{{"contents":[{{"type":"text","content":"{id}"}}],"id":"m{id}","timestamp":1.5,"role":"user"}}}}"#
        )
    };
    let mut text = format!("{header}\n{}\n", message("a", "null"));
    let mut last = "a".to_owned();
    for line in lines {
        let (id, more) = line.split_once(' ').unwrap_or((line, ""));
        text.push_str(&match more.split_once(' ') {
            Some(("keeps", first)) => format!(
                r#"{{"id":"{id}","timestamp":1.5,"parent_id":"{last}","type":"compaction","summary":"sum {id}","first_kept_entry_id":"{first}","tokens_before":1}}"#
            ),
            _ => message(id, &format!("\"{last}\"")),
        });
        text.push('\n');
        last = id.to_owned();
    }
    let session = open(text);
    assert_eq!(session.dialect(), Dialect::Tau);
    session
}

/// The contents of Tau's own context: texts of messages, summaries of compactions.
fn taus(session: &Session) -> String {
    let leaf = session.leaf();
    let context = session.agent_context_at(leaf.as_ref().map(|leaf| leaf.as_str())).unwrap();
    let summary = |message: &Vec<u8>| -> String {
        let value: Value = serde_json::from_slice(message).unwrap();
        let text = value["summary"].as_str().or(value["contents"][0]["content"].as_str());
        text.unwrap_or("?").to_owned()
    };
    context.unwrap().messages.iter().map(summary).collect::<Vec<_>>().join(", ")
}

#[test]
fn taus_context_is_empty_if_the_first_kept_entry_is_not_on_the_path() {
    assert_eq!(taus(&tau(&["b", "c keeps b", "d"])), "sum c, b, d");
    assert_eq!(taus(&tau(&["b", "c keeps nowhere", "d"])), "", "not even the summary");
    // An entry after the compaction is found, but the compaction is not among what follows it.
    assert_eq!(taus(&tau(&["b", "c keeps d", "d", "e"])), "d, e");
    assert_eq!(taus(&tau(&["b", "c keeps c", "d"])), "sum c, d");
}

#[test]
fn taus_context_has_the_summaries_of_all_compactions_that_are_kept() {
    let session = tau(&["b", "c keeps b", "d", "e keeps c", "f"]);
    assert_eq!(taus(&session), "sum e, sum c, d, f", "the latest first");
    let session = tau(&["b", "c keeps b", "d", "e keeps d", "f"]);
    assert_eq!(taus(&session), "sum e, d, f", "the older one is not kept");
    let session = tau(&["b", "c keeps b", "d", "e keeps b", "f"]);
    assert_eq!(taus(&session), "sum e, sum c, b, d, f");
}

#[test]
fn a_record_that_strayed_in_from_another_agent_does_not_decide() {
    let entry = |id: &str| {
        format!(
            r#"{{"type":"message","id":"{id}","parentId":null,"timestamp":"2026-01-05T09:00:00.000Z","message":{{"role":"user","content":"{id}"}}}}"#
        )
    };
    let strays = [
        r#"{"type":"user","uuid":"u","parentUuid":null,"sessionId":"s","cwd":"/","message":{"role":"user","content":"x"}}"#,
        r#"{"type":"note","uuid":"u","parentUuid":null}"#,
        r#"{"type": "message", "id": "f", "parent_id": null, "timestamp": 1.5, "message": {"role": "user", "content": "x"}}"#,
        r#"{"id":"f","timestamp":1.5,"parent_id":"a","type":"message","message":{"role":"user","contents":[],"id":"m","timestamp":1.5}}"#,
        r#"{"timestamp":"2026-01-05T09:00:00.000Z","type":"session_meta","payload":{"id":"s","cwd":"/"}}"#,
        r#"{"id":"f","timestamp":1.5,"type":"model_change","model_id":"m","provider_id":"p"}"#,
    ];
    let (a, b) = (entry("a"), entry("b"));
    for stray in strays {
        for lines in [
            [stray, HEADER, &a, &b],
            [HEADER, stray, &a, &b],
            [HEADER, &a, stray, &b],
            [HEADER, &a, &b, stray],
        ] {
            let session = open(lines.join("\n") + "\n");
            assert_eq!(session.dialect(), Dialect::Pi, "{lines:#?}");
            assert!(session.tree().contains("a") && session.tree().contains("b"), "{lines:#?}");
        }
    }
    let model = r#"{"type":"model_change","id":"m","parentId":"a","timestamp":"2026-01-05T09:00:00.000Z","provider":"acme","modelId":"oak"}"#;
    let omp = r#"{"type":"mode_change","id":"x","parentId":"m","timestamp":"2026-01-05T09:00:00.000Z","mode":"plan"}"#;
    let lines = [HEADER, &a, model, omp, &b].join("\n") + "\n";
    assert_eq!(open(lines).dialect(), Dialect::Pi, "pi's own entry speaks against omp");
    let lines = [HEADER, &a, omp, omp, &b].join("\n") + "\n";
    assert_eq!(open(lines).dialect(), Dialect::Omp);
}

#[test]
fn a_session_without_an_id_has_that_of_its_file() {
    let chimera = r#"{"type": "message", "id": "aaaaaaaaaaa1", "parent_id": null, "timestamp": 1.5, "message": {"role": "user", "content": "x"}}"#;
    let pi = r#"{"type":"session","version":3,"timestamp":"2026-01-05T09:00:00.000Z","cwd":"/p"}"#;
    for (text, dialect) in [(chimera, Dialect::Chimera), (pi, Dialect::Pi)] {
        let (_dir, path) = in_file("0a1b2c3d4e5f.jsonl", &format!("{text}\n"));
        let session = Session::open(&path).unwrap();
        assert_eq!((session.dialect(), session.id().as_str()), (dialect, "0a1b2c3d4e5f"));
        assert_eq!(treering::catalog::info(&path).unwrap().id, "0a1b2c3d4e5f");
        session.append(Message::user("more")).unwrap();
        assert_eq!(Session::open(&path).unwrap().id(), "0a1b2c3d4e5f");
        let found = treering::Catalog::new(path.parent().unwrap()).find_by_id("0a1b2c3d4e5f");
        assert_eq!(found.unwrap(), Some(path));
    }
}

#[test]
fn ids_of_any_reasonable_length_link_entries() {
    for length in [1, 36, 512, 513, 5_000, 30_000] {
        let (parent, child) = ("p".repeat(length), "c".repeat(length));
        let lines =
            [crate::support::user(&parent, None), crate::support::user(&child, Some(&parent))];
        let session = open(crate::support::file(&lines));
        assert_eq!(session.tree().path(&child).unwrap().len(), 2, "{length}");
        assert_eq!(session.context().unwrap().messages.len(), 2, "{length}");
        assert!(session.findings().unwrap().is_empty(), "{length}");
    }
}
