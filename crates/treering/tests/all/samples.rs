//! One small session of every dialect, with a branch and a compaction where the dialect has them, and the
//! files of the corpus.

use std::path::{Path, PathBuf};
use treering::session::Creation;
use treering::{CreateOptions, Dialect, Message, NewEntry, Session};

/// Writes the samples below `dir`. Those of writable dialects are written by treering itself.
pub(crate) fn write_all(dir: &Path) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = Dialect::ALL
        .into_iter()
        .filter(|dialect| dialect.is_writable())
        .map(|dialect| written(dir, dialect))
        .collect();
    for (name, text) in [
        ("chimera-headerless", HEADERLESS_CHIMERA),
        ("chimera-bom", &format!("\u{feff}{HEADERLESS_CHIMERA}")),
        ("pi-v1", PI_V1),
        ("pi-v2", PI_V2),
        ("omp-header-title", OMP_HEADER_TITLE),
        ("claude-code", CLAUDE_CODE),
        ("claude-code-compacted", CLAUDE_CODE_COMPACTED),
        ("codex", CODEX),
    ] {
        let path = dir.join(format!("{name}.jsonl"));
        std::fs::write(&path, text).unwrap();
        files.push(path);
    }
    files
}

/// A session with two branches and a compaction, left at the end of the first branch.
fn written(dir: &Path, dialect: Dialect) -> PathBuf {
    let path = dir.join(format!("{dialect}.jsonl"));
    let options = CreateOptions::new().creation(Creation::AtOnce).dialect(dialect);
    let session = Session::create_at(&path, "/project", options).unwrap();
    session.append(NewEntry::model_change("acme", "oak")).unwrap();
    let first = session
        .append(Message::user("one").into_entry().with_timestamp(1_767_603_600_000))
        .unwrap();
    let answer = session.append(Message::assistant("acme", "oak", "two")).unwrap();
    session.append(Message::user("three")).unwrap();
    session.append(NewEntry::compaction("what was said", Some(&answer), 100)).unwrap();
    let end = session.append(Message::assistant("acme", "oak", "four")).unwrap();
    session.branch(first.as_str()).unwrap();
    session.append(Message::assistant("acme", "ash", "five")).unwrap();
    session.branch(end.as_str()).unwrap();
    session.label(end.as_str(), Some("here")).unwrap();
    session.sync().unwrap();
    path
}

const HEADERLESS_CHIMERA: &str = r#"{"type": "message", "id": "aaaaaaaaaaa1", "parent_id": null, "timestamp": 1767603600.5, "message": {"role": "user", "content": "one"}}
{"type": "message", "id": "aaaaaaaaaaa2", "parent_id": "aaaaaaaaaaa1", "timestamp": 1767603601.5, "message": {"role": "assistant", "content": "two"}}
{"type": "message", "id": "aaaaaaaaaaa3", "parent_id": "aaaaaaaaaaa1", "timestamp": 1767603602.5, "message": {"role": "assistant", "content": "three"}}
"#;

const PI_V1: &str = r#"{"type":"session","id":"s1","timestamp":"2026-01-05T09:00:00.000Z","cwd":"/project","provider":"acme","modelId":"oak","thinkingLevel":"high"}
{"type":"message","timestamp":"2026-01-05T09:00:01.000Z","message":{"role":"user","content":"one"}}
{"type":"message","timestamp":"2026-01-05T09:00:02.000Z","message":{"role":"assistant","content":[{"type":"text","text":"two"}],"provider":"acme","model":"oak"}}
{"type":"compaction","timestamp":"2026-01-05T09:00:03.000Z","summary":"so far","firstKeptEntryIndex":2,"tokensBefore":7}
{"type":"message","timestamp":"2026-01-05T09:00:04.000Z","message":{"role":"user","content":"three"}}
"#;

const PI_V2: &str = r#"{"type":"session","version":2,"id":"s2","timestamp":"2026-01-05T09:00:00.000Z","cwd":"/project"}
{"type":"message","id":"a","parentId":null,"timestamp":"2026-01-05T09:00:01.000Z","message":{"role":"user","content":"one"}}
{"type":"message","id":"b","parentId":"a","timestamp":"2026-01-05T09:00:02.000Z","message":{"role":"hookMessage","customType":"x","content":"two","display":true}}
"#;

const OMP_HEADER_TITLE: &str = r#"{"type":"session","version":3,"id":"s3","timestamp":"2026-01-05T09:00:00.000Z","cwd":"/project","title":"named"}
{"type":"message","id":"a","parentId":null,"timestamp":"2026-01-05T09:00:01.000Z","message":{"role":"user","content":"one"}}
{"type":"message","id":"b","parentId":"a","timestamp":"2026-01-05T09:00:02.000Z","message":{"role":"user","content":"two"}}
{"type":"reset_boundary","id":"c","parentId":"b","timestamp":"2026-01-05T09:00:03.000Z"}
{"type":"message","id":"d","parentId":"c","timestamp":"2026-01-05T09:00:04.000Z","message":{"role":"user","content":"three"}}
"#;

const CLAUDE_CODE: &str = r#"{"type":"user","uuid":"u1","parentUuid":null,"sessionId":"s","cwd":"/project","timestamp":"2026-01-05T09:00:01.000Z","message":{"role":"user","content":"one"}}
{"type":"assistant","uuid":"u2","parentUuid":"u1","sessionId":"s","cwd":"/project","timestamp":"2026-01-05T09:00:02.000Z","message":{"id":"m1","role":"assistant","model":"oak","content":[{"type":"text","text":"two"}]}}
{"type":"assistant","uuid":"u3","parentUuid":"u2","sessionId":"s","cwd":"/project","timestamp":"2026-01-05T09:00:03.000Z","message":{"id":"m1","role":"assistant","model":"oak","content":[{"type":"tool_use","id":"t1","name":"ls","input":{}}]}}
{"type":"user","uuid":"u4","parentUuid":"u3","sessionId":"s","cwd":"/project","timestamp":"2026-01-05T09:00:04.000Z","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"a"}]}}
"#;

const CLAUDE_CODE_COMPACTED: &str = r#"{"type":"user","uuid":"u1","parentUuid":null,"sessionId":"s","cwd":"/project","timestamp":"2026-01-05T09:00:01.000Z","message":{"role":"user","content":"one"}}
{"type":"assistant","uuid":"u2","parentUuid":"u1","sessionId":"s","cwd":"/project","timestamp":"2026-01-05T09:00:02.000Z","message":{"id":"m1","role":"assistant","model":"oak","content":[{"type":"text","text":"two"}]}}
{"type":"system","subtype":"compact_boundary","uuid":"u3","parentUuid":null,"logicalParentUuid":"u2","sessionId":"s","cwd":"/project","timestamp":"2026-01-05T09:00:03.000Z","content":"Conversation compacted"}
{"type":"user","uuid":"u4","parentUuid":"u3","sessionId":"s","cwd":"/project","timestamp":"2026-01-05T09:00:04.000Z","isCompactSummary":true,"message":{"role":"user","content":"what was said"}}
{"type":"assistant","uuid":"u5","parentUuid":"u4","sessionId":"s","cwd":"/project","timestamp":"2026-01-05T09:00:05.000Z","message":{"id":"m2","role":"assistant","model":"oak","content":[{"type":"text","text":"three"}]}}
"#;

const CODEX: &str = r#"{"timestamp":"2026-01-05T09:00:00.000Z","type":"session_meta","payload":{"id":"s","cwd":"/project","timestamp":"2026-01-05T09:00:00.000Z"}}
{"timestamp":"2026-01-05T09:00:01.000Z","type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"one"}]}}
{"timestamp":"2026-01-05T09:00:02.000Z","type":"response_item","payload":{"type":"message","role":"assistant","content":[{"type":"output_text","text":"two"}]}}
{"timestamp":"2026-01-05T09:00:03.000Z","type":"compacted","payload":{"message":"so far"}}
{"timestamp":"2026-01-05T09:00:04.000Z","type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"three"}]}}
"#;
