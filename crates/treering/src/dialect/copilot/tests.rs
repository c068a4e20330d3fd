//! Tests of event logs of GitHub Copilot CLI.

use crate::Dialect;
use crate::dialect::battery::{self, context_texts, open};

const FIXTURE: &str = include_str!("fixture.jsonl");

fn id(number: u8) -> String {
    format!("c0{number:06x}-0000-4000-8000-000000000000")
}

#[test]
fn the_fixture_passes_the_battery() {
    battery::run(Dialect::Copilot, FIXTURE);
}

#[test]
fn a_session_says_who_it_is() {
    let session = open(FIXTURE).unwrap();
    assert_eq!(session.id().as_str(), "5e55c0de-0000-4000-8000-000000000001");
    assert_eq!(session.cwd(), "/srv/kiln");
    assert_eq!(session.title().unwrap(), "Why does the kiln overheat?");
}

#[test]
fn a_compaction_replaces_what_was_before_it() {
    let session = open(FIXTURE).unwrap();
    let expected =
        ["c The sensor is broken.", "u Fix the sensor.", "c A shell has ended.", "a It is fixed."];
    assert_eq!(context_texts(&session), expected);
    let own = session.agent_context_at(session.leaf().unwrap().as_str()).unwrap().unwrap();
    assert_eq!(own.messages.len(), 3, "the summary, what the user said, the answer");
}

#[test]
fn subagents_are_sidechains() {
    let session = open(FIXTURE).unwrap();
    let context = session.context_at(id(15).as_str()).unwrap();
    let roles: Vec<String> = context
        .messages
        .iter()
        .map(|message| {
            let value: serde_json::Value = serde_json::from_slice(&message.json).unwrap();
            format!("{} {}", value["role"].as_str().unwrap(), value["toolCallId"])
        })
        .collect();
    let expected = [
        "user null",
        "assistant null",
        "toolResult \"call_1\"",
        "toolResult \"call_2\"",
        "toolResult \"call_3\"",
        "assistant null",
    ];
    assert_eq!(roles, expected);
    let subagent = session.context_at(id(10).as_str()).unwrap();
    assert_eq!(subagent.messages.last().unwrap().entry.as_str(), id(10));
}

#[test]
fn calls_images_and_errors_are_carried() {
    let session = open(FIXTURE).unwrap();
    let message = |number: u8| -> serde_json::Value {
        let entry = session.entry(id(number).as_str()).unwrap();
        serde_json::from_slice(entry.message().unwrap().raw()).unwrap()
    };
    assert_eq!(message(1)["content"][1]["type"], "image");
    let answer = message(5);
    assert_eq!(answer["content"][0]["thinking"], "The sensor first.");
    assert_eq!(answer["content"][4]["arguments"]["input"], "*** Begin Patch");
    assert_eq!(
        (answer["stopReason"].as_str(), answer["model"].as_str()),
        (Some("toolUse"), Some("gpt-5.4"))
    );
    assert_eq!(
        (message(7)["isError"].as_bool(), message(7)["content"][0]["text"].as_str()),
        (Some(true), Some("exit 2"))
    );
    assert_eq!(message(12)["content"][1]["data"], "aGk=");
    assert!(session.entry(id(17).as_str()).unwrap().message().is_none(), "the user ran that tool");
}

#[test]
fn requests_are_counted_by_their_own_events() {
    let usage = open(FIXTURE).unwrap().stats().unwrap().usage;
    assert_eq!((usage.requests, usage.unpriced), (3, 3));
    assert_eq!((usage.input, usage.output, usage.cache_read), (2300, 100, 400));
}

#[test]
fn a_cleared_context_begins_anew() {
    let cleared = FIXTURE.replace("session.compaction_complete", "session.context_cleared");
    let session = open(cleared).unwrap();
    assert_eq!(context_texts(&session)[0], "u Fix the sensor.");
}
