//! Files of other versions, and files that are not sessions: read, kept, refused.

use crate::support::{HEADER, Leaf, assert_agrees, file, path, sources, try_open, user};
use std::path::{Path, PathBuf};
use treering::findings::Problem;
use treering::{Error, Message, Position, Session};

fn put(directory: &Path, text: impl AsRef<[u8]>) -> PathBuf {
    let file = directory.join("s.jsonl");
    std::fs::write(&file, text).unwrap();
    file
}

const V1: &str = r#"{"type":"session","id":"v1","timestamp":"2025-01-01T00:00:00.000Z","cwd":"/p","provider":"acme","thinkingLevel":"high"}
{"type":"message","timestamp":"2025-01-01T00:00:01.000Z","message":{"role":"user","content":"one"}}
{"type":"message","timestamp":"2025-01-01T00:00:02.000Z","message":{"role":"assistant","content":[],"provider":"acme","model":"oak"}}
{"type":"thinking_level_change","timestamp":"2025-01-01T00:00:03.000Z","thinkingLevel":"low"}
not json
{"type":"message","timestamp":"2025-01-01T00:00:04.000Z","message":{"role":"user","content":"two"}}
{"type":"compaction","timestamp":"2025-01-01T00:00:05.000Z","summary":"S","firstKeptEntryIndex":4,"tokensBefore":7}
{"type":"message","timestamp":"2025-01-01T00:00:06.000Z","message":{"role":"hookMessage","content":"hook"}}
"#;

/// Reads a file, upgrades it by appending, and compares.
fn upgraded(text: &str, version: u64) -> Session {
    let directory = tempfile::tempdir().unwrap();
    let file = put(directory.path(), text);
    let before = Session::open(&file).unwrap();
    assert_agrees(&before, text.as_bytes(), Leaf::OfTheFile);
    let ids: Vec<_> = before.tree().ids().collect();
    assert_eq!(
        ids,
        Session::open(&file).unwrap().tree().ids().collect::<Vec<_>>(),
        "ids are stable"
    );
    let contexts: Vec<_> = ids.iter().map(|id| before.context_at(id.as_str()).unwrap()).collect();
    assert_eq!(std::fs::read_to_string(&file).unwrap(), text, "reading changes nothing");

    let leaf = before.leaf();
    let new = before.append(Message::user("new")).unwrap();
    let now = std::fs::read(&file).unwrap();
    let backup = file.with_file_name(format!("s.jsonl.v{version}.bak"));
    assert_eq!(std::fs::read_to_string(backup).unwrap(), text, "the old file is kept");
    let after = Session::open(&file).unwrap();
    assert_agrees(&after, &now, Leaf::OfTheFile);
    assert_eq!(after.header().get("version"), Some(&b"3"[..]));
    assert_eq!(after.entry(new.as_str()).unwrap().parent(), leaf.as_ref());
    let all: Vec<_> = after.tree().ids().collect();
    assert_eq!(all[..ids.len()], ids, "the same ids");
    for (id, context) in ids.iter().zip(contexts) {
        assert_eq!(after.context_at(id.as_str()).unwrap(), context, "context at {id}");
        assert_eq!(before.context_at(id.as_str()).unwrap(), context);
    }
    // Nothing but entries and the header may change.
    for line in text.lines().filter(|line| !line.starts_with('{')) {
        assert!(String::from_utf8_lossy(&now).lines().any(|other| other == line), "{line}");
    }
    after
}

#[test]
fn version_1_becomes_a_chain() {
    let session = upgraded(V1, 1);
    let ids: Vec<_> = session.tree().ids().collect();
    assert_eq!(ids.len(), 7);
    assert_eq!(session.tree().path(ids[6].as_str()).unwrap(), ids, "one after the other");
    let context = session.context().unwrap();
    let expected = [&ids[4], &ids[3], &ids[5], &ids[6]];
    assert_eq!(sources(&context), crate::support::join(expected), "what index 4 named is kept");
    assert_eq!(context.thinking_level, "low", "settings of an old header are not context");
    assert_eq!(session.header().get("thinkingLevel"), Some(&b"\"high\""[..]), "but kept");
    let hook: serde_json::Value = serde_json::from_slice(&context.messages[2].json).unwrap();
    assert_eq!(hook["role"], "custom");
}

#[test]
fn version_1_with_an_explicit_number_and_odd_indices() {
    for (index, kept) in
        [("0", 1), ("1", 3), ("2", 2), ("3", 1), ("99", 1), ("-1", 1), ("\"x\"", 1)]
    {
        let text = format!(
            "{}\n{}\n{}\n{}\n",
            r#"{"type":"session","version":1,"id":"v1","timestamp":"2025-01-01T00:00:00.000Z","cwd":"/p"}"#,
            r#"{"type":"message","timestamp":"x","message":{"role":"user","content":"one"}}"#,
            r#"{"type":"message","timestamp":"x","message":{"role":"user","content":"two"}}"#,
            r#"{"type":"compaction","timestamp":"x","summary":"S","firstKeptEntryIndex":INDEX,"tokensBefore":7}"#
                .replace("INDEX", index),
        );
        let session = upgraded(&text, 1);
        let compaction = session.tree().ids().nth(2).unwrap();
        let context = session.context_at(compaction.as_str()).unwrap();
        assert_eq!(context.messages.len(), kept, "index {index}");
    }
}

#[test]
fn version_2_keeps_its_tree_and_renames_a_role() {
    let header = HEADER.replace("\"version\":3", "\"version\":2");
    let hook = user("b", Some("a")).replace("\"role\":\"user\"", "\"role\":\"hookMessage\"");
    let text = format!("{header}\n{}\n{hook}\n{}\n", user("a", None), user("c", Some("a")));
    let session = upgraded(&text, 2);
    assert_eq!(path(&session, "b"), "a b");
    let context = session.context_at("b").unwrap();
    assert!(context.messages[1].json.starts_with(b"{\"role\":\"custom\""));
}

#[test]
fn no_version_but_tree_shaped() {
    let header = HEADER.replace("\"version\":3,", "");
    let text = format!(
        "{header}\n{}\n{}\n{}\n",
        user("a", None),
        user("b", Some("a")),
        user("c", Some("a"))
    );
    let session = upgraded(&text, 1);
    assert_eq!(
        (path(&session, "b"), path(&session, "c")),
        ("a b".into(), "a c".into()),
        "tree kept"
    );
}

#[test]
fn an_upgrade_keeps_unknown_fields_and_torn_lines_apart() {
    let header = HEADER.replace("\"version\":3", "\"version\":2,\"color\":\"green\"");
    let text = format!("{header}\n\n{}\r\ngarbage\n{{\"type\":\"mess", user("a", None));
    let session = upgraded(&text, 2);
    assert_eq!(session.header().get("color"), Some(&b"\"green\""[..]));
    assert_eq!(session.tree().len(), 2);
    assert_eq!(session.findings().unwrap().len(), 1, "the garbage stays, the torn end does not");
}

#[test]
fn version_99() {
    let directory = tempfile::tempdir().unwrap();
    let text =
        file(&[user("a", None), user("b", Some("a"))]).replace("\"version\":3", "\"version\":99");
    let file = put(directory.path(), &text);
    let session = Session::open(&file).unwrap();
    assert_eq!(path(&session, "b"), "a b", "it can be read");
    let findings = session.findings().unwrap();
    assert_eq!(findings[0].problem, Problem::FutureVersion(99), "with a warning");
    for refused in [
        session.append(Message::user("no")).map(drop),
        session.branch("a").map(drop),
        session.label("a", Some("x")).map(drop),
        session.set_name("x").map(drop),
        session.branch(Position::Start).map(drop),
    ] {
        assert!(
            matches!(refused, Err(Error::ReadOnly { version: 99, supported: 3 })),
            "{refused:?}"
        );
    }
    session.branch_in_memory("a").unwrap();
    session.sync().unwrap();
    drop(session);
    assert_eq!(std::fs::read_to_string(&file).unwrap(), text, "untouched");
}

#[test]
fn title_line_or_other_record_before_the_header() {
    let title = r#"{"type":"title","title":"My session"}"#;
    for first in [title, "", "garbage", "42", r#"{"summary":"x"}"#] {
        let directory = tempfile::tempdir().unwrap();
        let text = format!("{first}\n{}", file(&[user("a", None)]));
        let file = put(directory.path(), &text);
        let session = Session::open(&file).unwrap();
        assert_eq!((session.id().as_str(), session.tree().len()), ("s1", 1), "{first:?}");
        session.append(Message::user("more")).unwrap();
        let now = std::fs::read_to_string(&file).unwrap();
        assert!(now.starts_with(&text), "{first:?}: never overwritten");
        assert_agrees(&Session::open(&file).unwrap(), now.as_bytes(), Leaf::OfTheFile);
    }
}

#[test]
fn a_header_in_the_second_place() {
    let text = format!("{}\n{}", user("early", None), file(&[user("a", Some("early"))]));
    let session = try_open(&text).unwrap();
    assert_eq!(path(&session, "a"), "early a", "an entry before it is an entry");
    assert_agrees(&session, text.as_bytes(), Leaf::OfTheFile);
}

#[test]
fn two_headers() {
    let second = HEADER.replace("s1", "s2");
    let session = try_open(file(&[user("a", None), second, user("b", Some("a"))])).unwrap();
    assert_eq!((session.id().as_str(), session.tree().len()), ("s1", 2), "the first counts");
    assert_eq!(session.findings().unwrap()[0].problem, Problem::SecondHeader);
}

#[test]
fn not_a_session_at_all() {
    let directory = tempfile::tempdir().unwrap();
    let many = format!("{}\n", user("a", None)).repeat(100);
    let far = format!("{}{HEADER}\n", "\n".repeat(100));
    for bytes in [
        &b"Dear diary,\ntoday nothing happened.\n"[..],
        b"{\"some\":\"json\"}\n",
        b"{\"type\":\"session\",\"id\":7}\n",
        b"{\"type\":\"session\"}\n",
        b"\x7FELF\x02\x01\x01\0\0\0",
        b"\xFF\xFE",
        b"\n",
        b"{\"type\":\"session\",\"ver",
        many.as_bytes(),
        far.as_bytes(),
    ] {
        let file = put(directory.path(), bytes);
        let shown = bytes[..bytes.len().min(30)].escape_ascii();
        let refused = Session::open(&file);
        assert!(matches!(refused, Err(Error::NotASession { .. })), "{shown}: {refused:?}");
        assert!(treering::active_context(&file).is_err(), "{shown}");
        assert!(treering::catalog::info(&file).is_err(), "{shown}");
        assert_eq!(std::fs::read(&file).unwrap(), bytes, "{shown}: untouched");
    }
    let refused = Session::open(directory.path());
    assert!(matches!(refused, Err(Error::NotASession { .. } | Error::Io { .. })), "{refused:?}");
    let missing = Session::open(directory.path().join("missing.jsonl"));
    assert!(matches!(missing, Err(Error::Io { .. })), "{missing:?}");
    assert!(!directory.path().join("missing.jsonl").exists());
}

#[test]
fn an_empty_file_becomes_a_session_with_its_first_entry() {
    let directory = tempfile::tempdir().unwrap();
    let file = put(directory.path(), "");
    let session = Session::open(&file).unwrap();
    assert_eq!(session.context().unwrap().messages.len(), 0);
    assert_eq!(std::fs::read(&file).unwrap(), b"", "reading changes nothing");
    session.append(Message::user("hello")).unwrap();
    let again = Session::open(&file).unwrap();
    assert_eq!((again.id(), again.tree().len()), (session.id(), 1));
}
