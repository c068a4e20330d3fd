//! Tests of sessions of Goose.

use crate::dialect::battery::{self, context_texts, open};
use crate::{Dialect, Session};

const FIXTURE: &str = include_str!("fixture.jsonl");

#[test]
fn the_fixture_passes_the_battery() {
    battery::run(Dialect::Goose, FIXTURE);
}

#[test]
fn a_session_is_called_what_its_first_line_says() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("20260302_080000.jsonl");
    std::fs::write(&path, FIXTURE).unwrap();
    let session = Session::open(&path).unwrap();
    assert_eq!(session.id().as_str(), "20260302_080000", "the name of its file");
    assert_eq!(
        (session.cwd().as_str(), session.name().as_deref()),
        ("/srv/kiln", Some("Kiln sensor"))
    );
    let unnamed = open(FIXTURE.replace("Kiln sensor", "")).unwrap();
    assert_eq!(unnamed.title().unwrap(), "Why does the kiln overheat?");
}

#[test]
fn what_the_model_does_not_see_is_not_in_the_context() {
    let session = open(FIXTURE).unwrap();
    let expected = [
        "u Why does the kiln overheat?",
        "a I look.",
        "t exit 2",
        "t return 7;",
        "a The sensor always reads 7.",
        "u Fix the sensor.",
        "a ",
        "t no",
        "a It is fixed.",
    ];
    assert_eq!(context_texts(&session), expected);
    let own = session.agent_context_at(session.leaf().unwrap().as_str()).unwrap().unwrap();
    assert_eq!(own.messages.len(), 8);
}

#[test]
fn results_answer_their_calls() {
    let context = open(FIXTURE).unwrap().context().unwrap();
    let results: Vec<(String, bool)> = context
        .messages
        .iter()
        .map(|message| serde_json::from_slice::<serde_json::Value>(&message.json).unwrap())
        .filter(|message| message["role"] == "toolResult")
        .map(|message| {
            (message["toolCallId"].as_str().unwrap().to_owned(), message["isError"] == true)
        })
        .collect();
    let expected = [("call_1", true), ("call_2", false), ("call_3", true)];
    assert_eq!(results, expected.map(|(call, failed)| (call.to_owned(), failed)));
}

#[test]
fn times_are_seconds() {
    let session = open(FIXTURE).unwrap();
    let leaf = session.leaf().unwrap();
    assert_eq!(session.entry(leaf.as_str()).unwrap().time(), Some(1_772_438_409_000));
}

#[test]
fn a_session_without_its_first_line_is_still_one() {
    let (_, rest) = FIXTURE.split_once('\n').unwrap();
    let session = open(rest).unwrap();
    assert_eq!((session.dialect(), context_texts(&session).len()), (Dialect::Goose, 9));
}

/// Made by `testdata/make.py`: the fixture, a session of one message, and one that is never shown.
const DATABASE: &[u8] = include_bytes!("testdata/sessions.db");

#[test]
fn sessions_in_the_database_read_as_those_in_files() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("sessions.db");
    std::fs::write(&path, DATABASE).unwrap();
    let sessions = crate::dialect::stored_sessions(&path).unwrap().unwrap();
    let counts: Vec<u64> = sessions.iter().map(|session| session.messages).collect();
    assert_eq!(counts, [FIXTURE.lines().count() as u64 - 1, 1], "hidden ones are not listed");
    assert_eq!(sessions[0].modified, 1_772_439_000_000);
    let session = Session::open(&sessions[0].path).unwrap();
    assert_eq!((session.dialect(), session.id().as_str()), (Dialect::Goose, "20260302_1"));
    assert_eq!(session.name().as_deref(), Some("Kiln sensor"));
    assert_eq!(context_texts(&session), context_texts(&open(FIXTURE).unwrap()));
    assert!(session.all_findings().unwrap().is_empty());
    let info = crate::catalog::info(&sessions[0].path).unwrap();
    assert_eq!((info.tokens, info.cost), (Some(5100), None));
    let other = crate::catalog::info(&sessions[1].path).unwrap();
    assert_eq!((other.title(), &*other.cwd), ("Is there tea?", "/srv/kiln"));
    let lines = crate::internal::journal_of(&session);
    let mut bytes = vec![0; lines.len().unwrap() as usize];
    crate::log::scan::read_full(&*lines, 0, &mut bytes).unwrap();
    battery::run(Dialect::Goose, std::str::from_utf8(&bytes).unwrap());
}
