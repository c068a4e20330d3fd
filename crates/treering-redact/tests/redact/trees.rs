//! Tests of whole sessions: the tree stays the same, and no secret is left.

use crate::{random, redactor, thorough, upper};
use proptest::prelude::*;
use serde_json::{Value, json};
use treering::storage::LineFilter;
use treering::{Kind, Message, Session};
use treering_testkit::generate;

/// Returns a secret and a text that contains it, both in the form that they have in a JSON string.
fn planted(seed: u64) -> (String, String) {
    let key = format!(
        "-----BEGIN EC PRIVATE KEY-----\\n{}\\n{}\\n-----END EC PRIVATE KEY-----",
        random(seed, 64),
        random(seed + 2_000_000, 40)
    );
    let (secret, text) = match seed % 8 {
        0 => (format!("ghp_{}", random(seed, 36)), "{}"),
        1 => (format!("sk-ant-api03-{}", random(seed, 60)), "key: {}!"),
        2 => (format!("AKIA{}", upper(seed, 16)), "({})"),
        3 => (random(seed, 20), "export DB_PASSWORD={} ;"),
        4 => (random(seed, 24), "{\\\"api_key\\\": \\\"{}\\\"}"),
        5 => (random(seed, 16), "postgres://u:{}@db/x"),
        6 => (key, "\\n{}\\n"),
        _ => (random(seed, 40), "Authorization: Bearer {}"),
    };
    (secret.clone(), text.replace("{}", &secret))
}

/// Returns the session with secrets at the beginning of its texts; the secrets.
fn plant(session: &[u8], seeds: &[u64]) -> (String, Vec<String>) {
    const PLACES: [&str; 2] = ["\"text\":\"", "\"content\":\""];
    let mut text = String::new();
    let mut secrets = Vec::new();
    let mut seeds = seeds.iter().cycle();
    for line in String::from_utf8_lossy(session).lines() {
        match PLACES.iter().find_map(|place| Some(line.find(place)? + place.len())) {
            Some(at) if line.contains("\"message\"") => {
                let (secret, planted) = planted(*seeds.next().unwrap());
                text.push_str(&format!("{}{planted} {}\n", &line[..at], &line[at..]));
                secrets.push(secret);
            }
            _ => text.push_str(&format!("{line}\n")),
        }
    }
    (text, secrets)
}

/// Returns the text between placeholders.
fn between(text: &str) -> Vec<&str> {
    let mut pieces = Vec::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("[REDACTED:") {
        pieces.push(before);
        rest = after.split_once(']').unwrap().1;
    }
    pieces.push(rest);
    pieces
}

/// All strings of a value, those in JSON texts as well.
fn strings(value: &Value, all: &mut String) {
    match value {
        Value::String(text) => {
            all.push_str(text);
            if let Ok(inner @ (Value::Object(_) | Value::Array(_))) = serde_json::from_str(text) {
                strings(&inner, all);
            }
        }
        Value::Array(values) => values.iter().for_each(|value| strings(value, all)),
        Value::Object(members) => members.values().for_each(|value| strings(value, all)),
        _ => {}
    }
}

fn shape(session: &Session) -> Vec<(String, Option<String>, Kind)> {
    let entries = session.entries().map(Result::unwrap);
    let parent = |entry: &treering::Entry| entry.parent().map(ToString::to_string);
    entries.map(|entry| (entry.id().to_string(), parent(&entry), entry.kind())).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn the_tree_stays_and_the_secrets_go(
        seed: u64, count in 1_usize..40, seeds in prop::collection::vec(1_u64..1_000_000, 1..12)
    ) {
        let dir = tempfile::tempdir().unwrap();
        let (path, copy) = (dir.path().join("s.jsonl"), dir.path().join("copy.jsonl"));
        let clean = redacted_lines(&generate::small(seed, count));
        let (text, secrets) = plant(&clean, &seeds);
        std::fs::write(&path, &text).unwrap();
        let redactor = redactor();
        let redacted = redactor.open(&path).unwrap();
        redacted.copy_to(&copy).unwrap();

        // Nothing of the secrets, however it is read.
        let after = std::fs::read_to_string(&copy).unwrap();
        let mut decoded = String::new();
        for line in after.lines() {
            if let Ok(value) = serde_json::from_str(line) {
                strings(&value, &mut decoded);
            }
        }
        for secret in &secrets {
            prop_assert!(!after.contains(secret), "{secret}");
            prop_assert!(!decoded.contains(&secret.replace("\\n", "\n")), "{secret}");
        }
        prop_assert_eq!(redactor.report().occurrences(), secrets.len());
        // Everything else is unchanged.
        let mut expected = text.clone();
        for secret in &secrets {
            expected = expected.replacen(secret, "[REDACTED:x]", 1);
        }
        prop_assert_eq!(between(&after), between(&expected));
        // The same tree.
        let (before, result) = (Session::open(&path).unwrap(), Session::open(&copy).unwrap());
        prop_assert_eq!(shape(&before), shape(&result));
        prop_assert_eq!(before.leaf(), result.leaf());
        let (before, result) = (before.context().unwrap(), result.context().unwrap());
        prop_assert_eq!(before.messages.len(), result.messages.len());
        for (before, after) in before.messages.iter().zip(&result.messages) {
            prop_assert_eq!(&before.entry, &after.entry);
        }
    }

    #[test]
    fn any_bytes_pass(bytes in prop::collection::vec(any::<u8>(), 0..200), words in "[\\\\\"{}:a-f@/ n=-]{0,80}") {
        thorough().line(&bytes);
        let line = format!("{{\"password\":\"{words}");
        thorough().line(line.as_bytes());
        let line = json!({ "secret": words, "text": format!("{words}a@example.com") }).to_string();
        let after = thorough().line(line.as_bytes()).into_owned();
        prop_assert!(serde_json::from_slice::<Value>(&after).is_ok());
    }
}

/// Generated text can look like anything: what the rules find in it is taken out first.
fn redacted_lines(session: &[u8]) -> Vec<u8> {
    let redactor = redactor();
    let text = String::from_utf8_lossy(session).into_owned();
    let clean: Vec<_> =
        text.lines().filter(|line| redactor.line(line.as_bytes()) == line.as_bytes()).collect();
    (clean.join("\n") + "\n").into_bytes()
}

#[test]
fn what_context_gives_away_is_found_without_it() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("s.jsonl");
    let session = Session::create_at(&path, "/project", Default::default()).unwrap();
    let password = random(77, 20);
    let early = session.append(Message::user(format!("what is {password}?"))).unwrap();
    session.append(Message::user(format!("DB_PASSWORD={password}"))).unwrap();
    session.set_name(&format!("about {password}")).unwrap();
    let redacted = redactor().open(&path).unwrap();
    let text = redacted.entry(early.as_str()).unwrap().message().unwrap().text();
    assert_eq!(text, "what is [REDACTED:named-secret:1]?");
    assert_eq!(redacted.name().unwrap(), "about [REDACTED:named-secret:1]");
    assert!(redacted.append(Message::user("no")).is_err(), "a redacted session is only read");
}

#[test]
fn a_title_slot_keeps_its_length() {
    let dir = tempfile::tempdir().unwrap();
    let (path, copy) = (dir.path().join("s.jsonl"), dir.path().join("copy.jsonl"));
    let options = treering::CreateOptions::new().dialect(treering::Dialect::Omp);
    let session = Session::create_at(&path, "/project", options).unwrap();
    session.append(Message::user("hello")).unwrap();
    session.set_name(&format!("AKIA{}", upper(3, 16))).unwrap();
    redactor().open(&path).unwrap().copy_to(&copy).unwrap();
    let slot =
        |path: &std::path::Path| std::fs::read(path).unwrap().iter().position(|b| *b == b'\n');
    assert_eq!(slot(&path), slot(&copy));
    assert_eq!(Session::open(&copy).unwrap().name().unwrap(), "[REDACTED:aws-key:1]");
}

#[test]
fn a_pattern_that_would_change_the_tree_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("s.jsonl");
    std::fs::write(&path, "{\"type\":\"session\",\"version\":3,\"id\":\"s\",\"timestamp\":\"2026-01-05T09:00:00.000Z\",\"cwd\":\"/p\"}\n{\"type\":\"message\",\"id\":\"a\",\"parentId\":null,\"timestamp\":\"2026-01-05T09:00:00.000Z\",\"message\":{\"role\":\"user\",\"content\":\"x\"}} oops\n").unwrap();
    let patterns = vec![("all".to_owned(), ".+".to_owned())];
    let mut options = treering_redact::Options::new();
    options.patterns = patterns;
    let redactor = treering_redact::Redactor::new(&options).unwrap();
    let refused = redactor.open(&path).unwrap_err();
    assert!(matches!(refused, treering::Error::Unfaithful(_)), "{refused}");
}

/// A session whose ids, tool names and model are tokens keeps its tree.
#[test]
fn secret_ids_keep_their_references() {
    let dir = tempfile::tempdir().unwrap();
    let (path, copy) = (dir.path().join("s.jsonl"), dir.path().join("copy.jsonl"));
    let (a, b) = (format!("ghp_{}", random(1, 36)), format!("ghp_{}", random(2, 36)));
    let time = "2026-01-05T09:00:00.000Z";
    let lines = [
        json!({"type": "session", "version": 3, "id": "s", "timestamp": time, "cwd": "/p"}),
        json!({"type": "message", "id": a, "parentId": null, "timestamp": time,
               "message": {"role": "user", "content": "x"}}),
        json!({"type": "message", "id": b, "parentId": a, "timestamp": time, "message": {
               "role": "assistant", "model": a, "content": [{"type": "toolCall", "id": b, "name": a,
               "arguments": {}}]}}),
        json!({"type": "message", "id": "c", "parentId": b, "timestamp": time, "message": {
               "role": "toolResult", "toolCallId": b, "toolName": a, "content": "ok"}}),
        json!({"type": "label", "id": "d", "parentId": "c", "targetId": a, "label": "here", "timestamp": time}),
    ];
    let text = lines.map(|line| line.to_string() + "\n").concat();
    std::fs::write(&path, &text).unwrap();
    let redactor = redactor();
    redactor.open(&path).unwrap().copy_to(&copy).unwrap();
    let after = std::fs::read_to_string(&copy).unwrap();
    let expected =
        text.replace(&a, "[REDACTED:github-token:1]").replace(&b, "[REDACTED:github-token:2]");
    assert_eq!(after, expected);
    let session = Session::open(&copy).unwrap();
    assert_eq!(session.context().unwrap().messages.len(), 3);
    assert!(!format!("{:?}", redactor.report()).contains(&a[4..]));
}
