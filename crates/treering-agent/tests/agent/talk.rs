//! Turns with a model: what is written when the answer succeeds, fails or is aborted.

use crate::support::scripted::{Play, Scripted};
use crate::support::server::{Server, Step};
use crate::support::talk::{
    Home, answer as assistant, answer_of_size, append, json_of, lines, user,
};
use crate::support::wire::{answer, begin, delta, head, refusal, whole};
use crate::support::{Api, BOTH, chat_model, still};
use serde_json::Value;
use std::sync::{Arc, Mutex};
use treering::Session;
use treering::compaction::CompactionSettings;
use treering_agent::{
    AgentError, AgentSession, AgentSettings, CancellationToken, Delta, ModelError, OnDelta,
    Operation, TurnEnd, TurnReport,
};

fn agent() -> AgentSession {
    AgentSession::new(Session::in_memory("/project"))
}

fn entry(agent: &AgentSession, turn: &TurnReport) -> Value {
    json_of(&agent.session().entry(turn.answer.as_str()).unwrap())["message"].clone()
}

fn never() -> CancellationToken {
    CancellationToken::new()
}

#[tokio::test(start_paused = true)]
async fn question_and_answer_are_written_with_all_that_is_known() {
    let _still = still();
    for api in BOTH {
        let server = Server::start(vec![
            answer(&whole(api, &["A ", "color."])),
            answer(&whole(api, &["Red."])),
        ])
        .await;
        let model = chat_model(api, &server.url());
        let agent = agent();
        let seen = Arc::new(Mutex::new(Vec::new()));
        let sees = Arc::clone(&seen);
        let on_delta: OnDelta = Box::new(move |delta| {
            if let Delta::Text(text) = delta {
                sees.lock().unwrap().push(text.to_owned());
            }
        });
        let turn = agent.prompt(&*model, "What is red?", Some(on_delta), &never()).await.unwrap();
        assert_eq!((&*turn.text, &turn.end), ("A color.", &TurnEnd::Complete));
        assert_eq!(*seen.lock().unwrap(), ["A ", "color."]);
        let written = entry(&agent, &turn);
        let (name, protocol) = match api {
            Api::Anthropic => ("anthropic", "anthropic-messages"),
            Api::OpenAi => ("openai", "openai-completions"),
        };
        assert_eq!(written["provider"], name);
        assert_eq!((&written["api"], &written["model"]), (&protocol.into(), &"asked-model".into()));
        assert_eq!(
            (&written["stopReason"], &written["errorMessage"]),
            (&"stop".into(), &Value::Null)
        );
        assert_eq!(written["content"][0]["text"], "A color.");
        assert!(written["usage"]["totalTokens"].as_u64().unwrap() > 0);
        // An unknown cost is not zero, but other readers expect a number there.
        assert_eq!(written["usage"]["cost"]["total"], 0);
        assert_eq!(written["usage"]["cost"]["unknown"], true);
        assert_eq!(agent.session().entry_usage(turn.answer.as_str()).unwrap().unwrap().unpriced, 1);

        agent.prompt(&*model, "Name one.", None, &never()).await.unwrap();
        let texts = lines(&agent.context().unwrap());
        let all =
            ["user: What is red?", "assistant: A color.", "user: Name one.", "assistant: Red."];
        assert_eq!(texts, all);
        // The model is named once, before the first question.
        assert_eq!(agent.session().tree().len(), 5);
        assert!(server.requests()[1].contains("A color."));
    }
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_is_stopped_is_kept_as_far_as_it_came() {
    let _still = still();
    let (home, session) = Home::new();
    let began = begin(Api::OpenAi) + &delta(Api::OpenAi, "Once upon");
    let script = vec![head(), Step::Chunk(began.into()), Step::Closed];
    let mut server = Server::start(vec![script, answer(&whole(Api::OpenAi, &["Fine."]))]).await;
    let model = chat_model(Api::OpenAi, &server.url());
    let agent = AgentSession::new(session);
    let cancel = never();
    let stop = cancel.clone();
    let on_delta: OnDelta = Box::new(move |_| stop.cancel());
    let turn = agent.prompt(&*model, "A story!", Some(on_delta), &cancel).await.unwrap();
    assert_eq!((&*turn.text, &turn.end), ("Once upon", &TurnEnd::Aborted));
    assert_eq!(server.reached.recv().await, Some("closed"));
    assert_eq!(agent.running(), None);
    // Also after a restart, and the conversation continues from there.
    let agent = AgentSession::new(home.reopened());
    assert_eq!(entry(&agent, &turn)["stopReason"], "aborted");
    agent.prompt(&*model, "How are you?", None, &never()).await.unwrap();
    let context = agent.context().unwrap();
    assert_eq!(
        lines(&context)[1..],
        ["assistant: Once upon", "user: How are you?", "assistant: Fine."]
    );
}

#[tokio::test(start_paused = true)]
async fn abort_stops_the_turn_that_runs() {
    let _still = still();
    let mut server = Server::start(vec![vec![head(), Step::Reached("asked"), Step::Closed]]).await;
    let model = chat_model(Api::Anthropic, &server.url());
    let agent = Arc::new(agent());
    let talks = Arc::clone(&agent);
    let turn = tokio::spawn(async move { talks.prompt(&*model, "Hello", None, &never()).await });
    assert_eq!(server.reached.recv().await, Some("asked"));
    let other = chat_model(Api::Anthropic, "http://127.0.0.1:9");
    let refused = agent.prompt(&*other, "Me too", None, &never()).await.unwrap_err();
    assert!(matches!(refused, AgentError::Busy { running: Operation::Turn, .. }));
    assert_eq!(agent.abort(), Some(Operation::Turn));
    let turn = turn.await.unwrap().unwrap();
    assert_eq!((&*turn.text, turn.end), ("", TurnEnd::Aborted));
    assert_eq!(lines(&agent.context().unwrap()), ["user: Hello", "assistant: "]);
}

#[tokio::test(start_paused = true)]
async fn a_failure_is_written_beside_what_had_come() {
    let _still = still();
    let began = begin(Api::Anthropic) + &delta(Api::Anthropic, "Well,");
    let trouble = "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"invalid_request_error\",\"message\":\"oops\"}}\n\n";
    let scripts =
        vec![refusal(400, "", r#"{"error":{"message":"no"}}"#), answer(&(began + trouble))];
    let server = Server::start(scripts).await;
    let model = chat_model(Api::Anthropic, &server.url());
    let agent = agent();
    let turn = agent.prompt(&*model, "Hello", None, &never()).await.unwrap();
    assert!(matches!(turn.end, TurnEnd::Failed(ModelError::Http { status: 400, .. })));
    let written = entry(&agent, &turn);
    assert_eq!(
        (&written["stopReason"], &written["content"]),
        (&"error".into(), &serde_json::json!([]))
    );
    assert!(written["errorMessage"].as_str().unwrap().contains("400"));
    let turn = agent.prompt(&*model, "Again", None, &never()).await.unwrap();
    assert_eq!(turn.text, "Well,");
    assert!(entry(&agent, &turn)["errorMessage"].as_str().unwrap().contains("oops"));
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_is_too_long_is_kept() {
    let _still = still();
    let events = begin(Api::OpenAi)
        + &delta(Api::OpenAi, "And so on")
        + &crate::support::wire::finish(Api::OpenAi, "length");
    let server = Server::start(vec![answer(&events)]).await;
    let agent = agent();
    let model = chat_model(Api::OpenAi, &server.url());
    let turn = agent.prompt(&*model, "Go on", None, &never()).await.unwrap();
    assert_eq!((&*turn.text, &turn.end), ("And so on", &TurnEnd::Length));
    assert_eq!(entry(&agent, &turn)["stopReason"], "length");
}

#[tokio::test(start_paused = true)]
async fn the_session_is_compacted_before_it_is_too_large_for_this_model() {
    let _still = still();
    let server = Server::start(vec![answer(&whole(Api::OpenAi, &["Yes."]))]).await;
    let model = chat_model(Api::OpenAi, &server.url());
    let compaction = CompactionSettings::new().keep_recent_tokens(1);
    let settings = AgentSettings::new().compaction(compaction);
    let agent =
        agent().with_settings(settings).with_summarizer(Scripted::plays([Play::Say("Old.")]));
    // Small for the model that said this, but not for the one that is asked now.
    for text in ["one", "two"] {
        append(&agent, user(text));
        append(&agent, assistant(&"word ".repeat(100)));
    }
    append(&agent, answer_of_size("m1", 150_000));
    agent.prompt(&*model, "Still there?", None, &never()).await.unwrap();
    let texts = lines(&agent.context().unwrap());
    assert!(texts[0].starts_with("compactionSummary: Old."), "{texts:?}");
    assert_eq!(texts[texts.len() - 2..], ["user: Still there?", "assistant: Yes."]);
}

#[tokio::test(start_paused = true)]
async fn without_a_summarizer_a_full_window_does_not_end_the_conversation() {
    let _still = still();
    let server = Server::start(vec![answer(&whole(Api::OpenAi, &["Yes."]))]).await;
    let model = chat_model(Api::OpenAi, &server.url());
    let agent = agent();
    append(&agent, user("one"));
    append(&agent, answer_of_size("m1", 150_000));
    assert_eq!(agent.prompt(&*model, "Still there?", None, &never()).await.unwrap().text, "Yes.");
}

#[tokio::test]
async fn a_turn_without_a_question_is_refused() {
    let agent = agent();
    let model = chat_model(Api::OpenAi, "http://127.0.0.1:9");
    let refused = agent.prompt(&*model, " \n", None, &never()).await.unwrap_err();
    assert!(matches!(refused, AgentError::NothingSaid));
    assert!(agent.session().tree().is_empty());
}
