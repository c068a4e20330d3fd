//! Values and shapes that Python's and JavaScript's JSON libraries trip over, in every dialect that can
//! hold them.

use crate::support::{HEADER, join, open, sources};
use treering::{Dialect, Session};

/// The dialects whose messages these tests can write. Those of the others have tests of their own.
const DIALECTS: [Dialect; 8] = [
    Dialect::Pi,
    Dialect::Uuid,
    Dialect::Omp,
    Dialect::Chimera,
    Dialect::Operator,
    Dialect::Tau,
    Dialect::ClaudeCode,
    Dialect::Codex,
];

/// Returns a user message of a dialect: `parent` is the member that names it, with a comma after
/// it, or nothing.
fn message(dialect: Dialect, id: &str, parent: &str, text: &str, more: &str) -> String {
    match dialect {
        Dialect::Uuid => format!(
            r#"{{"type":"message","uuid":"{id}",{parent}"timestamp":"2026-01-05T09:00:20.226Z","message":{{"role":"user","content":{text}}}{more}}}"#
        ),
        Dialect::Chimera => format!(
            r#"{{"type": "message", "id": "{id}", {parent}"timestamp": 1767603601.5, "message": {{"role": "user", "content": {text}}}{more}}}"#
        ),
        Dialect::Operator => format!(
            r#"{{"id":"{id}","timestamp":1767603601.5,{parent}"type":"message","message":{{"role":"user","contents":[{{"type":"text","content":{text}}}],"id":"m-{id}","timestamp":1767603601.5}}{more}}}"#
        ),
        Dialect::Tau => format!(
            r#"{{"id":"{id}","timestamp":1767603601.5,{parent}"type":"message","message":{{"contents":[{{"type":"text","content":{text}}}],"id":"m-{id}","timestamp":1767603601.5,"role":"user"}}{more}}}"#
        ),
        Dialect::ClaudeCode => format!(
            r#"{{{parent}"isSidechain":false,"cwd":"/p","sessionId":"s","type":"user","message":{{"role":"user","content":{text}}},"uuid":"{id}","timestamp":"2026-01-05T09:00:20.226Z"{more}}}"#
        ),
        Dialect::Codex => format!(
            r#"{{"timestamp":"2026-01-05T09:00:20.226Z","type":"response_item","payload":{{"type":"message","role":"user","content":[{{"type":"input_text","text":{text}}}]{more}}}}}"#
        ),
        _ => format!(
            r#"{{"type":"message","id":"{id}",{parent}"timestamp":"2026-01-05T09:00:20.226Z","message":{{"role":"user","content":{text}}}{more}}}"#
        ),
    }
}

fn start(dialect: Dialect) -> String {
    match dialect {
        Dialect::Uuid => r#"{"type":"session","version":2,"uuid":"head","parentUuid":null,"id":"s","cwd":"/p"}"#.into(),
        Dialect::Omp => HEADER.replace("\"cwd\"", "\"title\":\"t\",\"cwd\""),
        Dialect::Chimera => r#"{"type": "header", "id": "head", "parent_id": null, "timestamp": 1767603600.5, "version": 1, "cwd": "/p", "system_prompt": ""}"#.into(),
        Dialect::Operator | Dialect::Tau => r#"{"type":"session","version":3,"id":"s","timestamp":1767603600.5,"cwd":"/p"}"#.into(),
        Dialect::ClaudeCode => r#"{"type":"mode","mode":"normal","sessionId":"s"}"#.into(),
        Dialect::Codex => r#"{"timestamp":"2026-01-05T09:00:00.000Z","type":"session_meta","payload":{"id":"s","timestamp":"2026-01-05T09:00:00.000Z","cwd":"/p"}}"#.into(),
        _ => HEADER.into(),
    }
}

fn parent_key(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::Uuid | Dialect::ClaudeCode => "parentUuid",
        Dialect::Chimera | Dialect::Operator | Dialect::Tau => "parent_id",
        _ => "parentId",
    }
}

/// Returns a message with a parent.
fn under(dialect: Dialect, id: &str, parent: Option<&str>, text: &str, more: &str) -> String {
    let key = parent_key(dialect);
    let member = match (parent, dialect) {
        (_, Dialect::Codex) => String::new(),
        (Some(parent), _) => format!("\"{key}\":\"{parent}\","),
        (None, _) => format!("\"{key}\":null,"),
    };
    message(dialect, id, &member, text, more)
}

fn session(dialect: Dialect, lines: &[String]) -> Session {
    let text = [&[start(dialect)], lines].concat().join("\n") + "\n";
    let session = open(&text);
    assert_eq!(session.dialect(), dialect, "{text}");
    session
}

/// Returns the last message of the context at the leaf, as JSON text.
fn last(session: &Session) -> String {
    let context = session.context().unwrap();
    String::from_utf8(context.messages.last().unwrap().json.clone()).unwrap()
}

#[test]
fn numbers_that_no_library_can_hold_stay_as_they_are() {
    for dialect in DIALECTS {
        for number in ["1e400", "12345678901234567890", "-0.0", "1.10", "1E+2"] {
            let more = format!(r#","extra":{{"n":[{number}]}}"#);
            let line = under(dialect, "a1", None, "\"hi\"", &more);
            let session = session(dialect, std::slice::from_ref(&line));
            let id = session.leaf().unwrap();
            let entry = session.entry(id.as_str()).unwrap();
            assert_eq!(entry.record(), line.as_bytes(), "{dialect}");
            assert!(
                session.all_findings().unwrap().is_empty(),
                "{dialect}: {:?}",
                session.all_findings()
            );
            assert_eq!(session.context().unwrap().messages.len(), 1, "{dialect}");
            // Claude Code's and Codex's records become messages, whose members are all known.
            if dialect.is_writable() {
                let raw = String::from_utf8(entry.raw().to_vec()).unwrap();
                assert!(raw.contains(number), "{dialect}: {raw}");
            }
        }
    }
}

#[test]
fn half_a_surrogate_pair_is_kept_as_it_was_written() {
    for dialect in DIALECTS {
        for text in [r#""\ud800 alone""#, r#""alone \udc00""#, r#""\ud83d\u0041""#] {
            let session = session(dialect, &[under(dialect, "a1", None, text, "")]);
            let json = last(&session);
            assert!(json.contains(text.trim_matches('"')), "{dialect}: {json}");
            assert!(session.all_findings().unwrap().is_empty(), "{dialect}");
        }
    }
}

#[test]
fn escaped_text_is_the_text() {
    for dialect in DIALECTS {
        let text = r#""\u0041\u00fc \ud83d\ude00\n\/""#;
        let session = session(dialect, &[under(dialect, "a1", None, text, "")]);
        let json = last(&session);
        let message = treering::entry::MessageView::new(json.as_bytes());
        assert_eq!(message.text(), "Aü 😀\n/", "{dialect}");
    }
}

/// Python writes and reads them; JSON has no such values.
#[test]
fn numbers_that_are_not_finite_are_null_where_the_writer_is_python() {
    for dialect in [Dialect::Chimera, Dialect::Operator, Dialect::Tau] {
        for value in ["NaN", "Infinity", "-Infinity"] {
            let more = format!(r#","extra":[{value}, "{value}"]"#);
            let lines = [
                under(dialect, "a1", None, "\"first\"", ""),
                under(dialect, "b2", Some("a1"), "\"second\"", &more),
                under(dialect, "c3", Some("b2"), "\"third\"", ""),
            ];
            let session = session(dialect, &lines);
            let codes: Vec<&str> =
                session.all_findings().unwrap().iter().map(|finding| finding.code()).collect();
            assert!(!codes.iter().any(|code| code.starts_with("damaged")), "{dialect}: {codes:?}");
            let context = session.context().unwrap();
            let texts = context
                .messages
                .iter()
                .map(|message| treering::entry::MessageView::new(&message.json).text());
            assert_eq!(join(texts), "first second third", "{dialect} {value}");
            let entry = session.entry("b2").unwrap();
            let agents = session.agent_context_at("c3").unwrap().unwrap();
            for json in [context.to_json(), entry.raw().to_vec(), agents.to_json()] {
                let valid: Result<serde_json::Value, _> = serde_json::from_slice(&json);
                assert!(valid.is_ok(), "{dialect}: {}", String::from_utf8_lossy(&json));
            }
            assert!(!entry.is_damaged());
        }
    }
}

#[test]
fn a_line_with_nan_is_damaged_where_the_writer_is_not_python() {
    let pythons = [Dialect::Chimera, Dialect::Operator, Dialect::Tau];
    for dialect in DIALECTS.into_iter().filter(|dialect| !pythons.contains(dialect)) {
        for value in ["NaN", "Infinity", "-Infinity"] {
            let lines = [
                under(dialect, "a1", None, "\"first\"", ""),
                under(dialect, "b2", Some("a1"), "\"second\"", &format!(r#","extra":{value}"#)),
                under(dialect, "c3", Some("b2"), "\"third\"", ""),
            ];
            let session = session(dialect, &lines);
            let codes: Vec<&str> =
                session.all_findings().unwrap().iter().map(|finding| finding.code()).collect();
            assert!(codes.iter().any(|code| code.starts_with("damaged")), "{dialect}: {codes:?}");
            let context = session.context().unwrap();
            let texts = context
                .messages
                .iter()
                .map(|message| treering::entry::MessageView::new(&message.json).text());
            assert_eq!(join(texts), "first third", "{dialect} {value}");
        }
    }
}

#[test]
fn members_come_in_any_order() {
    for dialect in DIALECTS {
        let line = under(dialect, "a1", None, "\"hi\"", ",\"x\":1");
        let usual = session(dialect, std::slice::from_ref(&line));
        let value: serde_json::Value = serde_json::from_str(&line).unwrap();
        let mut members: Vec<String> = value
            .as_object()
            .unwrap()
            .iter()
            .map(|(key, value)| format!(" {} : {value} ", serde_json::Value::from(key.as_str())))
            .collect();
        for _ in 0..members.len() {
            members.rotate_left(1);
            let turned = format!("{{{}}}", members.join(","));
            let lines = match dialect {
                // The order of a message's members is all that tells the two apart.
                Dialect::Operator | Dialect::Tau => vec![line.replace("a1", "00"), turned],
                _ => vec![turned],
            };
            let session = session(dialect, &lines);
            assert!(last(&session).contains("\"hi\""), "{dialect}: {lines:?}");
            let leaf = session.leaf().unwrap();
            if dialect != Dialect::Codex {
                assert_eq!(Some(&leaf), usual.leaf().as_ref(), "{dialect}: {lines:?}");
            }
            let time =
                |session: &Session| session.entry(leaf.as_str()).map(|entry| entry.time()).ok();
            assert_eq!(
                time(&session).flatten(),
                usual.entry(usual.leaf().unwrap().as_str()).unwrap().time()
            );
        }
    }
}

#[test]
fn a_parent_that_is_absent_null_or_empty_is_none() {
    for dialect in DIALECTS.into_iter().filter(|dialect| *dialect != Dialect::Codex) {
        let key = parent_key(dialect);
        for parent in [String::new(), format!("\"{key}\":null,"), format!("\"{key}\":\"\",")] {
            let first = under(dialect, "a1", None, "\"before\"", "");
            let lines = [first, message(dialect, "b2", &parent, "\"root\"", "")];
            let session = session(dialect, &lines);
            assert_eq!(session.tree().path("b2").unwrap().len(), 1, "{dialect} {parent:?}");
            assert_eq!(sources(&session.context_at("b2").unwrap()), "b2", "{dialect}");
            assert!(session.findings().unwrap().is_empty(), "{dialect}: {:?}", session.findings());
        }
    }
}
