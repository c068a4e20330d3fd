//! Tests of chats of Gemini CLI.

use crate::dialect::battery::{self, context_texts, open};
use crate::{Dialect, Session};

const FIXTURE: &str = include_str!("fixture.jsonl");

fn texts_at(session: &Session, id: &str) -> Vec<String> {
    let context = session.context_at(id).unwrap();
    let text = |json: &[u8]| crate::entry::MessageView::new(json).text();
    context.messages.iter().map(|message| text(&message.json)).collect()
}

#[test]
fn the_fixture_passes_the_battery() {
    battery::run(Dialect::Gemini, FIXTURE);
}

#[test]
fn a_session_says_who_it_is() {
    let home = tempfile::tempdir().unwrap();
    let chats = home.path().join("kiln/chats");
    std::fs::create_dir_all(&chats).unwrap();
    let path = chats.join("session-1.jsonl");
    std::fs::write(&path, FIXTURE).unwrap();
    assert_eq!(Session::open(&path).unwrap().cwd(), "", "nothing names the project");
    std::fs::write(home.path().join("kiln/.project_root"), "/srv/kiln\n").unwrap();
    let session = Session::open(&path).unwrap();
    assert_eq!(
        (session.cwd().as_str(), session.name().as_deref()),
        ("/srv/kiln", Some("Kiln sensor"))
    );
    assert_eq!(session.id().as_str(), "9e311000-0000-4000-8000-000000000001");
    assert_eq!(crate::catalog::info(&path).unwrap().cwd, "/srv/kiln");
    let unnamed = open(FIXTURE.replace("Kiln sensor", "")).unwrap();
    assert_eq!(unnamed.title().unwrap(), "Why does the kiln overheat?", "not the surroundings");
}

#[test]
fn a_message_that_is_written_again_keeps_its_place() {
    let session = open(FIXTURE).unwrap();
    let expected = [
        "<session_context>\nThis is the Gemini CLI.\n</session_context>",
        "Why does the kiln overheat?",
        "I look.",
        "exit 2",
        "return 7;",
        "The sensor always reads 7.",
    ];
    assert_eq!(texts_at(&session, "g04"), expected);
    let answer = session.entry("g02").unwrap();
    let answer: serde_json::Value =
        serde_json::from_slice(answer.message().unwrap().raw()).unwrap();
    assert_eq!(answer["content"][0]["thinking"], "**Sensor** It may be broken.");
    assert_eq!(answer["content"][2]["arguments"]["command"], "make test");
}

#[test]
fn a_rewind_is_a_branch() {
    let session = open(FIXTURE).unwrap();
    assert_eq!(texts_at(&session, "g06").last().unwrap(), "The relay is fine.");
    assert_eq!(texts_at(&session, "g08").len(), 7, "without what was taken back");
    let lines: Vec<&str> = FIXTURE.lines().take(11).collect();
    let session = open(lines.join("\n") + "\n").unwrap();
    assert_eq!(session.leaf().unwrap().as_str(), "g04", "nothing was said since");
    let lost = FIXTURE.replace("\"$rewindTo\":\"g05\"", "\"$rewindTo\":\"none\"");
    let session = open(lost).unwrap();
    assert_eq!(texts_at(&session, "g08").len(), 1, "as Gemini CLI has it");
}

#[test]
fn a_new_history_replaces_the_one_before() {
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
}

#[test]
fn results_answer_their_calls_once() {
    let session = open(FIXTURE).unwrap();
    let context = session.context_at("g04").unwrap();
    let results: Vec<(String, bool)> = context
        .messages
        .iter()
        .map(|message| serde_json::from_slice::<serde_json::Value>(&message.json).unwrap())
        .filter(|message| message["role"] == "toolResult")
        .map(|message| {
            (message["toolCallId"].as_str().unwrap().to_owned(), message["isError"] == true)
        })
        .collect();
    assert_eq!(results, [("call_1".to_owned(), true), ("call_2".to_owned(), false)]);
}

/// A resumed chat is written again, without the members other than the contents.
#[test]
fn a_history_that_is_written_again_answers_each_call_once() {
    let again = r#"{"$set":{"messages":[{"id":"g00","timestamp":"2026-03-02T08:00:20.000Z","type":"user","content":[{"text":"<session_context>x</session_context>"}]},{"id":"g01","timestamp":"2026-03-02T08:00:20.000Z","type":"user","content":[{"text":"Why?"}]},{"id":"g02","timestamp":"2026-03-02T08:00:20.000Z","type":"gemini","content":[{"text":"I look."},{"functionCall":{"id":"call_1","name":"run","args":{}}}]},{"id":"g02_response","timestamp":"2026-03-02T08:00:20.000Z","type":"user","content":[{"functionResponse":{"id":"call_1","name":"run","response":{"output":"seven"}}}]},{"id":"g03","timestamp":"2026-03-02T08:00:20.000Z","type":"user","content":[{"functionResponse":{"id":"call_1","name":"run","response":{"output":"seven"}}}]}]}}"#;
    let session = open(format!("{FIXTURE}{again}\n")).unwrap();
    let expected = ["c <session_context>x</session_context>", "u Why?", "a I look.", "t seven"];
    assert_eq!(context_texts(&session), expected);
}

#[test]
fn tokens_are_counted_once() {
    let usage = open(FIXTURE).unwrap().stats().unwrap().usage;
    assert_eq!((usage.requests, usage.unpriced), (3, 3));
    assert_eq!((usage.input, usage.output, usage.cache_read), (2700, 110, 400));
}

/// Gemini CLI writes such a file each time it continues a session in another minute.
#[test]
fn a_file_without_messages_is_in_no_list() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("session-2026-03-02T08-00-9e311000.jsonl");
    for (count, is_listed) in [(1, false), (2, false), (3, true)] {
        let text: Vec<&str> = FIXTURE.lines().take(count).collect();
        std::fs::write(&path, text.join("\n") + "\n").unwrap();
        assert_eq!(crate::catalog::info(&path).is_ok(), is_listed, "{count} lines");
        let session = crate::Session::open(&path).unwrap();
        assert_eq!(session.context().unwrap().messages.len(), count - 1, "it opens all the same");
    }
}

#[test]
fn subagents_are_read_with_the_session_as_sidechains() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("chats/session-2026-03-02T08-00-9e311000.jsonl");
    let beside = dir.path().join("chats/9e311000-0000-4000-8000-000000000001");
    std::fs::create_dir_all(&beside).unwrap();
    std::fs::write(&path, FIXTURE).unwrap();
    let alone = Session::open(&path).unwrap();
    let file = beside.join("explore-1.jsonl");
    std::fs::write(
        &file,
        concat!(
            r#"{"sessionId":"explore-1","projectHash":"5f","startTime":"2026-03-02T09:00:00.000Z","lastUpdated":"2026-03-02T09:00:00.000Z","kind":"subagent","directories":["/srv/kiln"]}"#,
            "\n",
            r#"{"id":"s1","timestamp":"2026-03-02T09:00:01.000Z","type":"user","content":[{"text":"Look at the fan."}]}"#,
            "\n",
            r#"{"id":"s2","timestamp":"2026-03-02T09:00:02.000Z","type":"gemini","content":"I lo","model":"gemini-3-pro"}"#,
            "\n",
            r#"{"id":"s2","timestamp":"2026-03-02T09:00:02.000Z","type":"gemini","content":"The fan is fine.","tokens":{"input":10,"output":5,"cached":0,"thoughts":0,"tool":0,"total":15},"model":"gemini-3-pro"}"#,
            "\n",
            r#"{"$set":{"summary":"Not the session's name"}}"#,
            "\n",
        ),
    )
    .unwrap();
    assert_eq!(Dialect::Gemini.subagent_files(&path), std::slice::from_ref(&file));
    let joined = Session::open(&path).unwrap();
    assert_eq!((joined.leaf(), joined.id()), (alone.leaf(), alone.id()));
    assert_eq!((context_texts(&joined), joined.name()), (context_texts(&alone), alone.name()));
    assert_eq!(joined.tree().len(), alone.tree().len() + 2);
    assert_eq!(texts_at(&joined, "s2"), ["Look at the fan.", "The fan is fine."]);
    assert_eq!(joined.stats().unwrap().sidechains.output, 5);
    assert_eq!(crate::catalog::info(&path).unwrap().title(), "Kiln sensor");

    let subagent = Session::open(&file).unwrap();
    assert_eq!(subagent.id().as_str(), "explore-1");
    assert_eq!(context_texts(&subagent), ["u Look at the fan.", "a The fan is fine."]);
}
