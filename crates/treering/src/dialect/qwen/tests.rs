//! Tests of chats of Qwen Code.

use crate::dialect::battery::{self, context_texts, open};
use crate::{Dialect, Session};

const FIXTURE: &str = include_str!("fixture.jsonl");

fn id(number: u8) -> String {
    format!("5f0c{number:04x}-0000-4000-8000-{number:012x}")
}

#[test]
fn the_fixture_passes_the_battery() {
    battery::run(Dialect::Qwen, FIXTURE);
}

#[test]
fn a_session_says_who_it_is() {
    let session = open(FIXTURE).unwrap();
    assert_eq!(session.id().as_str(), "b6f1d0aa-0000-4000-8000-00000000000a");
    assert_eq!(
        (session.cwd().as_str(), session.name().as_deref()),
        ("/srv/kiln", Some("Kiln sensor"))
    );
    let unnamed = FIXTURE.lines().take(12).collect::<Vec<_>>().join("\n");
    let unnamed = open(unnamed + "\n").unwrap();
    assert_eq!(unnamed.title().unwrap(), "Why does the kiln overheat?");
}

#[test]
fn a_compression_replaces_what_was_before_it() {
    let session = open(FIXTURE).unwrap();
    let expected = [
        "c <state_snapshot>The sensor is broken.</state_snapshot>",
        "a Got it.",
        "u Fix the sensor.",
        "a ",
        "t done",
        "a It is fixed.",
    ];
    assert_eq!(context_texts(&session), expected);
    let own = session.agent_context_at(session.leaf().unwrap().as_str()).unwrap().unwrap();
    assert_eq!(own.messages.len(), 6, "the contents of the compression, and one answer");
}

#[test]
fn a_rewind_is_a_branch() {
    let session = open(FIXTURE).unwrap();
    let said_at = |number| {
        let context = session.context_at(id(number).as_str()).unwrap();
        let last = context.messages.last().unwrap();
        crate::entry::MessageView::new(&last.json).text()
    };
    assert_eq!(said_at(0x0b), "The relay is fine.");
    assert!(said_at(0x0d).starts_with("Fix the sensor."));
    let path = session.tree().path(id(0x0d)).unwrap();
    assert!(!path.iter().any(|entry| entry.as_str() == id(0x0b)));
}

#[test]
fn results_answer_their_calls() {
    let session = open(FIXTURE).unwrap();
    let context = session.context_at(id(5).as_str()).unwrap();
    let results: Vec<(String, bool)> = context.messages[2..]
        .iter()
        .map(|message| {
            let value: serde_json::Value = serde_json::from_slice(&message.json).unwrap();
            (value["toolCallId"].as_str().unwrap().to_owned(), value["isError"] == true)
        })
        .collect();
    assert_eq!(results, [("call_1".to_owned(), false), ("call_2".to_owned(), true)]);
}

#[test]
fn a_message_within_a_turn_joins_the_results_before_it() {
    let session = open(FIXTURE).unwrap();
    let own = session.agent_context_at(id(7).as_str()).unwrap().unwrap();
    let last: serde_json::Value = serde_json::from_slice(own.messages.last().unwrap()).unwrap();
    assert_eq!(last["parts"][0]["functionResponse"]["id"], "call_2");
    assert_eq!(last["parts"][1]["text"], "The relay is new.");
}

#[test]
fn tokens_are_counted_once_and_cost_nothing_known() {
    let session = open(FIXTURE).unwrap();
    let usage = session.stats().unwrap().usage;
    assert_eq!((usage.requests, usage.unpriced), (3, 3));
    assert_eq!((usage.input, usage.output, usage.cache_read), (2700, 110, 400));
}

#[test]
fn programs_messages_are_no_titles() {
    let line = FIXTURE.lines().nth(1).unwrap();
    for subtype in ["notification", "cron", "goal_runtime"] {
        let aside =
            line.replace("\"provenance\"", &format!("\"subtype\":\"{subtype}\",\"provenance\""));
        let next = FIXTURE.lines().nth(9).unwrap();
        let session = open(format!("{aside}\n{next}\n")).unwrap();
        assert_eq!(title(&session), "Try the relay.", "{subtype}");
    }
}

fn title(session: &Session) -> String {
    session.title().unwrap()
}

#[test]
fn subagents_are_read_with_the_session_as_sidechains() {
    let dir = tempfile::tempdir().unwrap();
    let session_id = "b6f1d0aa-0000-4000-8000-00000000000a";
    let path = dir.path().join(format!("chats/{session_id}.jsonl"));
    let beside = dir.path().join(format!("subagents/{session_id}"));
    std::fs::create_dir_all(dir.path().join("chats")).unwrap();
    std::fs::create_dir_all(&beside).unwrap();
    std::fs::write(&path, FIXTURE).unwrap();
    let alone = Session::open(&path).unwrap();
    let record = |uuid: &str, parent: &str, kind: &str, role: &str, text: &str| {
        format!(
            r#"{{"uuid":"{uuid}","parentUuid":{parent},"sessionId":"{session_id}","timestamp":"2026-03-02T09:00:00.000Z","type":"{kind}","cwd":"/srv/kiln","agentId":"explore-1","isSidechain":true,"message":{{"role":"{role}","parts":[{{"text":"{text}"}}]}}}}"#
        ) + "\n"
    };
    let lines = record("s1", "null", "user", "user", "Look at the fan.")
        + &record("s2", "\"s1\"", "assistant", "model", "The fan is fine.");
    std::fs::write(beside.join("agent-explore-1.jsonl"), lines).unwrap();
    assert_eq!(Dialect::Qwen.subagent_files(&path).len(), 1);
    let joined = Session::open(&path).unwrap();
    assert_eq!(joined.leaf(), alone.leaf());
    assert_eq!((context_texts(&joined), joined.name()), (context_texts(&alone), alone.name()));
    assert_eq!(joined.tree().len(), alone.tree().len() + 2);
    let fan = joined.context_at("s2").unwrap();
    assert_eq!(fan.messages.len(), 2, "the subagent has a conversation of its own");
}
