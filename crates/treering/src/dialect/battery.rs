//! Checks that every read-only dialect must pass, run on a fixture of each.

use super::split::{SegmentKind, split};
use super::{Class, Dialect, QuickRead};
use crate::convert::{ConvertOptions, convert_session};
use crate::entry::Role;
use crate::session::OpenOptions;
use crate::storage::MemoryJournal;
use crate::{Result, Session};
use std::sync::Arc;

/// Opens a session over bytes in memory.
pub(super) fn open(bytes: impl AsRef<[u8]>) -> Result<Session> {
    let journal = Arc::new(MemoryJournal::new(bytes.as_ref().to_vec()));
    Session::open_named_journal(journal, "fixture".into(), OpenOptions::default())
}

/// Returns the texts of the context at the leaf, each after the first letter of its role.
pub(super) fn context_texts(session: &Session) -> Vec<String> {
    let context = session.context().unwrap();
    let texts = context.messages.iter().map(|message| {
        let message = crate::entry::MessageView::new(&message.json);
        let role = crate::json::get(message.raw(), "role").and_then(crate::json::string);
        let role = role.unwrap_or_default();
        let summary = crate::json::get(message.raw(), "summary").and_then(crate::json::string);
        format!("{} {}", &role[..1], summary.map_or_else(|| message.text(), |text| text.into()))
    });
    texts.collect()
}

/// Runs all checks on a fixture.
pub(super) fn run(dialect: Dialect, fixture: &str) {
    let session = open(fixture).unwrap();
    assert_eq!(session.dialect(), dialect);
    let findings = session.all_findings().unwrap();
    assert!(findings.is_empty(), "{findings:?}");
    readers_agree(dialect, fixture);
    decoded_entries_are_of_their_class(dialect, fixture);
    contexts_are_valid(&session);
    conversions_are_verified(dialect, fixture);
    growing_files_read_as_whole_ones(fixture);
    damage_is_survived(dialect, fixture);
}

/// Checks that the quick reader gives the same result as the thorough one, for whole, torn and glued lines.
fn readers_agree(dialect: Dialect, fixture: &str) {
    let mut quick = 0;
    for line in fixture.lines().map(str::as_bytes) {
        let mut parts = Vec::new();
        split(line, dialect.codec(), |segment| parts.push(segment.what));
        match dialect.codec().quick_read(line) {
            QuickRead::Unclear => continue,
            QuickRead::Side => assert_eq!(parts, [SegmentKind::Side]),
            QuickRead::Entry(head, _) => assert_eq!(parts, [SegmentKind::Entry(head)]),
        }
        quick += 1;
        let torn = dialect.codec().quick_read(&line[..line.len() - 1]);
        assert!(matches!(torn, QuickRead::Unclear), "{torn:?}");
        let glued = [line, line].concat();
        let glued = dialect.codec().quick_read(&glued);
        assert!(matches!(glued, QuickRead::Unclear), "{glued:?}");
    }
    assert!(quick * 2 > fixture.lines().count(), "most lines need a thorough look");
}

fn decoded_entries_are_of_their_class(dialect: Dialect, fixture: &str) {
    for line in fixture.lines() {
        let record = line.as_bytes();
        let kind = crate::json::get(record, "type").and_then(crate::json::string);
        let class = dialect.codec().classify(&kind.unwrap_or_default(), record);
        if let Class::Entry(kind, role) = class {
            let decoded = dialect.codec().decode(record).entry;
            let fields: serde_json::Value =
                serde_json::from_slice(&decoded.fields_object()).unwrap();
            let decoded_role = fields["message"]["role"].as_str().map(Role::of);
            assert_eq!((decoded.kind(), decoded_role), (kind, role), "{line}");
        }
    }
}

fn contexts_are_valid(session: &Session) {
    let ids: Vec<_> = session.tree().ids().collect();
    for id in ids {
        let context = session.context_at(id.as_str()).unwrap();
        let own = session.agent_context_at(id.as_str()).unwrap();
        for json in [Some(context.to_json()), own.map(|own| own.to_json())].into_iter().flatten() {
            let valid: std::result::Result<serde_json::Value, _> = serde_json::from_slice(&json);
            assert!(valid.is_ok(), "{}", String::from_utf8_lossy(&json));
        }
    }
}

/// Converts the fixture to every other dialect. A conversion compares the contexts by itself.
fn conversions_are_verified(dialect: Dialect, fixture: &str) {
    let dir = tempfile::tempdir().unwrap();
    // A session without an id has the name of its file.
    let path = dir.path().join("source.jsonl");
    std::fs::write(&path, fixture).unwrap();
    let source = Session::open(&path).unwrap();
    let targets = Dialect::ALL.into_iter().filter(|target| target.is_conversion_target());
    for target in targets.filter(|target| *target != dialect) {
        let path = dir.path().join(format!("{target}.jsonl"));
        let report = convert_session(&source, &path, target, &ConvertOptions::new()).unwrap();
        assert!(report.verified > 0, "{target}");
        let back = Session::open(&path).unwrap();
        assert_eq!(back.cwd(), source.cwd(), "{target}");
        let findings = back.all_findings().unwrap();
        assert!(findings.is_empty(), "{target}: {findings:?}");
    }
}

/// Checks that a file that grows while it is open reads as if it had been opened later.
fn growing_files_read_as_whole_ones(fixture: &str) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("growing.jsonl");
    let lines: Vec<&str> = fixture.lines().collect();
    for cut in 1..lines.len() {
        let (before, after) = lines.split_at(cut);
        std::fs::write(&path, before.join("\n") + "\n").unwrap();
        let Ok(session) = Session::open(&path) else { continue };
        std::fs::write(&path, [before, after].concat().join("\n") + "\n").unwrap();
        session.refresh().unwrap();
        let whole = Session::open(&path).unwrap();
        let leaf = whole.leaf().unwrap();
        assert_eq!(session.tree().file_leaf().as_ref(), Some(&leaf), "cut at {cut}");
        let context = |session: &Session| session.context_at(leaf.as_str()).unwrap().to_json();
        assert_eq!(context(&session), context(&whole), "cut at {cut}");
        assert_eq!(session.name(), whole.name(), "cut at {cut}");
    }
}

/// Tears, damages and mixes up lines: nothing fails but the lines themselves.
fn damage_is_survived(dialect: Dialect, fixture: &str) {
    let look = |bytes: &[u8]| {
        if let Ok(session) = open(bytes) {
            session.context().unwrap();
            session.all_findings().unwrap();
            let leaf = session.leaf();
            leaf.map(|leaf| session.agent_context_at(leaf.as_str()).unwrap());
        }
    };
    let bytes = fixture.as_bytes();
    let step = (bytes.len() / 100).max(1);
    for at in (0..bytes.len()).step_by(step) {
        look(&bytes[..at]);
        let mut damaged = bytes.to_vec();
        damaged[at] = b"\"{}[]:,0\n\\"[at % 9];
        look(&damaged);
    }
    // A line that is lost, doubled or torn in the middle of the file does not change the dialect.
    let lines: Vec<&str> = fixture.lines().collect();
    for at in 1..lines.len() {
        let mut torn = lines.clone();
        torn[at] = &lines[at][..lines[at].len() / 2];
        let mut doubled = lines.clone();
        doubled.insert(at, lines[at]);
        let mut lost = lines.clone();
        lost.remove(at);
        for lines in [torn, doubled, lost] {
            let session = open(lines.join("\n") + "\n").unwrap();
            assert_eq!(session.dialect(), dialect, "line {at}");
            session.context().unwrap();
        }
    }
    // Members that are not what they should be.
    for value in ["null", "7", "\"x\"", "[]", "{}", "[[]]", "true"] {
        for line in &lines {
            let Ok(serde_json::Value::Object(members)) = serde_json::from_str(line) else {
                continue;
            };
            let mut text = fixture.to_owned();
            for key in members.keys() {
                let mut changed = members.clone();
                changed.insert(key.clone(), serde_json::from_str(value).unwrap());
                text.push_str(&serde_json::Value::Object(changed).to_string());
                text.push('\n');
            }
            look(text.as_bytes());
        }
    }
}
