//! A turn with tools: what is sent, what runs, what is recorded.

use crate::support::handlers::names;
use crate::support::model::{Reply, ScriptedModel};
use crate::support::server::Server;
use crate::support::talk::{Home, json_of, lines};
use crate::support::wire::{answer, begin, calls, delta, finish, thinking, wants_tools, whole};
use crate::support::{Api, BOTH, chat_model, still};
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::sync::Barrier;
use treering::Session;
use treering::provider::Pairing;
use treering_agent::{
    AgentError, AgentSession, CancellationToken, FnTool, StreamDelta, ToolOutput, TurnEnd,
    TurnReport,
};

pub(crate) const SCHEMA: &str = r#"{"type":"object","properties":{"n":{"type":"integer"}}}"#;

/// A tool that repeats its arguments.
pub(crate) fn echo() -> FnTool {
    FnTool::new("echo", "Repeats its arguments.", SCHEMA, |call, _cancel| async move {
        Ok(ToolOutput::text(call.arguments).with_details(r#"{"seen":true}"#))
    })
}

pub(crate) async fn prompt(agent: &AgentSession, model: &ScriptedModel) -> TurnReport {
    agent.prompt(model, "Begin.", None, &CancellationToken::new()).await.unwrap()
}

/// Returns the messages of the active path.
pub(crate) fn messages(agent: &AgentSession) -> Vec<Value> {
    let path = agent.session().path_to(treering::Position::Leaf).unwrap().map(Result::unwrap);
    path.map(|entry| json_of(&entry))
        .filter_map(|mut json| Some(json.get_mut("message")?.take()))
        .collect()
}

/// Asserts that every call on the path has its result.
pub(crate) fn assert_paired(agent: &AgentSession) {
    let repairs = agent.context().unwrap().to_llm(Pairing::Strict).repairs;
    let is_about_pairs =
        |repair: &&treering::provider::ContextRepair| repair.to_string().contains("tool call");
    assert_eq!(repairs.iter().filter(is_about_pairs).collect::<Vec<_>>().len(), 0, "{repairs:?}");
}

#[tokio::test(start_paused = true)]
async fn both_protocols_call_tools_and_get_their_results() {
    let _still = still();
    for api in BOTH {
        let asks = begin(api)
            + &delta(api, "Let me see.")
            + &calls(api, &[("c1", "echo", &["{\"n\"", ":1}"]), ("c2", "echo", &[])])
            + &finish(api, wants_tools(api));
        let server = Server::start(vec![answer(&asks), answer(&whole(api, &["Done."]))]).await;
        let (home, session) = Home::new();
        let agent = AgentSession::new(session).with_tool(echo());
        let mut events = agent.subscribe();
        let mut deltas = agent.subscribe_deltas();
        let model = chat_model(api, &server.url());
        let turn = agent.prompt(&*model, "Begin.", None, &CancellationToken::new()).await.unwrap();
        assert_eq!((&*turn.text, &turn.end, turn.rounds), ("Done.", &TurnEnd::Complete, 2));
        // Two requests, added up.
        assert_eq!(turn.usage.unwrap().requests, 2);

        let messages = messages(&agent);
        assert_eq!(messages.len(), 5);
        let call = &messages[1];
        assert_eq!(call["stopReason"], "toolUse");
        assert_eq!(call["content"][0]["text"], "Let me see.");
        assert_eq!(
            call["content"][1],
            json!({ "type": "toolCall", "id": "c1", "name": "echo", "arguments": { "n": 1 } })
        );
        assert_eq!(call["content"][2]["arguments"], json!({}));
        let result = &messages[2];
        assert_eq!(
            (&result["toolCallId"], &result["toolName"], &result["isError"]),
            (&json!("c1"), &json!("echo"), &json!(false))
        );
        assert_eq!(result["content"], json!([{ "type": "text", "text": "{\"n\":1}" }]));
        assert_eq!(result["details"], json!({ "seen": true }));
        assert_eq!(messages[3]["content"][0]["text"], "{}");
        assert_eq!(home.reopened().leaf(), Some(turn.answer));

        let requests: Vec<Value> = server
            .requests()
            .iter()
            .map(|request| serde_json::from_str(request.split_once("\r\n\r\n").unwrap().1).unwrap())
            .collect();
        let sent = requests[1]["messages"].as_array().unwrap();
        match api {
            Api::Anthropic => {
                assert_eq!(requests[0]["tools"][0]["input_schema"]["type"], "object");
                assert_eq!(sent[1]["content"][1]["type"], "tool_use");
                let results = sent[2]["content"].as_array().unwrap();
                assert_eq!(results.len(), 2);
                assert_eq!(results[0]["tool_use_id"], "c1");
            }
            Api::OpenAi => {
                assert_eq!(requests[0]["tools"][0]["function"]["name"], "echo");
                assert_eq!(sent[1]["tool_calls"][0]["function"]["arguments"], "{\"n\":1}");
                assert_eq!(
                    (&sent[2]["role"], &sent[2]["tool_call_id"]),
                    (&json!("tool"), &json!("c1"))
                );
                assert_eq!(sent[3]["tool_call_id"], "c2");
            }
        }
        assert_eq!(
            names(&mut events),
            [
                "turn_start",
                "message_end",
                "tool_execution_start",
                "tool_execution_end",
                "tool_execution_start",
                "tool_execution_end",
                "message_end",
                "turn_end",
            ]
        );
        assert_eq!(deltas.try_recv().unwrap(), StreamDelta::AnswerText("Let me see.".into()));
        assert_eq!(deltas.try_recv().unwrap(), StreamDelta::AnswerText("Done.".into()));
    }
}

#[tokio::test(start_paused = true)]
async fn thinking_is_recorded_and_sent_back_with_its_signature() {
    let _still = still();
    let api = Api::Anthropic;
    let redacted = "event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\
                    \"content_block\":{\"type\":\"redacted_thinking\",\"data\":\"c2VjcmV0\"}}\n\n";
    let asks = thinking(api, "", &["I should ", "look."])
        + redacted
        + &calls(api, &[("c1", "echo", &["{}"])])
        + &finish(api, wants_tools(api));
    let server = Server::start(vec![answer(&asks), answer(&whole(api, &["Done."]))]).await;
    let agent = AgentSession::new(Session::in_memory("/project")).with_tool(echo());
    let model = chat_model(api, &server.url());
    agent.prompt(&*model, "Begin.", None, &CancellationToken::new()).await.unwrap();
    let content = &messages(&agent)[1]["content"];
    assert_eq!(
        content[0],
        json!({ "type": "thinking", "thinking": "I should look.", "thinkingSignature": "c2lnbmVk" })
    );
    assert_eq!(
        (&content[1]["redacted"], &content[1]["thinkingSignature"]),
        (&json!(true), &json!("c2VjcmV0"))
    );
    assert_eq!(content[2]["type"], "toolCall");
    let request = server.requests().pop().unwrap();
    let body: Value = serde_json::from_str(request.split_once("\r\n\r\n").unwrap().1).unwrap();
    let sent = &body["messages"][1]["content"];
    assert_eq!(
        sent[0],
        json!({ "type": "thinking", "thinking": "I should look.", "signature": "c2lnbmVk" })
    );
    assert_eq!(sent[1], json!({ "type": "redacted_thinking", "data": "c2VjcmV0" }));
}

#[tokio::test(start_paused = true)]
async fn thinking_without_text_is_sent_back_by_its_signature() {
    let _still = still();
    let api = Api::Anthropic;
    let asks = thinking(api, "", &[])
        + &calls(api, &[("c1", "echo", &["{}"])])
        + &finish(api, wants_tools(api));
    let server = Server::start(vec![answer(&asks), answer(&whole(api, &["Done."]))]).await;
    let agent = AgentSession::new(Session::in_memory("/project")).with_tool(echo());
    let model = chat_model(api, &server.url());
    agent.prompt(&*model, "Begin.", None, &CancellationToken::new()).await.unwrap();
    assert_eq!(
        messages(&agent)[1]["content"][0],
        json!({ "type": "thinking", "thinking": "", "thinkingSignature": "c2lnbmVk" })
    );
    let request = server.requests().pop().unwrap();
    let body: Value = serde_json::from_str(request.split_once("\r\n\r\n").unwrap().1).unwrap();
    assert_eq!(
        body["messages"][1]["content"][0],
        json!({ "type": "thinking", "thinking": "", "signature": "c2lnbmVk" })
    );
}

#[tokio::test]
async fn every_call_gets_a_result_whatever_the_tool_does() {
    let fails = FnTool::new("fails", "", SCHEMA, |_, _| async { Err("out of paper".into()) });
    let panics = FnTool::new("panics", "", SCHEMA, |_, _| async { panic!("oh") });
    let agent = AgentSession::new(Session::in_memory("/project"))
        .with_tool(echo())
        .with_tool(fails)
        .with_tool(panics);
    let model = ScriptedModel::plays([
        Reply::Calls(vec![
            ("a", "fails", "{}"),
            ("b", "panics", "{}"),
            ("c", "nowhere", "{}"),
            ("d", "echo", "[1]"),
            ("d", "echo", "{}"),
            ("", "echo", "{\"n\":2}"),
        ]),
        Reply::Text("I see."),
    ]);
    let turn = prompt(&agent, &model).await;
    assert_eq!(turn.end, TurnEnd::Complete);
    let messages = messages(&agent);
    let results: Vec<(&str, bool)> = messages[2..8]
        .iter()
        .map(|result| {
            (result["content"][0]["text"].as_str().unwrap(), result["isError"] == json!(true))
        })
        .collect();
    assert_eq!(
        results,
        [
            ("out of paper", true),
            ("The tool failed: it panicked.", true),
            ("There is no tool named \"nowhere\".", true),
            ("The arguments are not a JSON object: [1]", true),
            ("{}", false),
            ("{\"n\":2}", false),
        ]
    );
    // Calls without an id of their own got one.
    let ids: std::collections::HashSet<&str> =
        messages[2..8].iter().map(|result| result["toolCallId"].as_str().unwrap()).collect();
    assert_eq!(ids.len(), 6);
    assert!(!ids.contains(""));
    assert_paired(&agent);
}

#[tokio::test]
async fn a_tool_that_no_provider_accepts_fails_the_turn_before_anything_is_written() {
    for (name, parameters) in [("odd", "an object"), ("odd", ""), ("odd", "[]"), ("", "{}")] {
        let odd = FnTool::new(name, "", parameters, |_, _| async { Ok(ToolOutput::text("")) });
        let agent = AgentSession::new(Session::in_memory("/project")).with_tool(odd);
        let model = ScriptedModel::plays([Reply::Text("Never."), Reply::Text("Now.")]);
        let refused = agent.prompt(&model, "Begin.", None, &CancellationToken::new()).await;
        let error = refused.unwrap_err();
        assert!(matches!(error, AgentError::Session(treering::Error::InvalidOption(_))), "{error}");
        assert!(agent.session().tree().is_empty());
        assert_eq!(agent.running(), None);
        // Without the tool, the turn runs.
        assert!(agent.remove_tool(name));
        assert_eq!(prompt(&agent, &model).await.end, TurnEnd::Complete);
    }
}

#[tokio::test]
async fn parallel_tools_run_at_the_same_time_and_others_one_by_one() {
    let barrier = Arc::new(Barrier::new(2));
    let meets = {
        let barrier = Arc::clone(&barrier);
        FnTool::new("meets", "", SCHEMA, move |call, _| {
            let barrier = Arc::clone(&barrier);
            async move {
                barrier.wait().await;
                Ok(ToolOutput::text(call.id))
            }
        })
        .parallel()
    };
    let (inside, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let alone = {
        let (inside, most) = (Arc::clone(&inside), Arc::clone(&most));
        FnTool::new("alone", "", SCHEMA, move |call, _| {
            let (inside, most) = (Arc::clone(&inside), Arc::clone(&most));
            async move {
                most.fetch_max(inside.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                for _ in 0..10 {
                    tokio::task::yield_now().await;
                }
                inside.fetch_sub(1, Ordering::SeqCst);
                Ok(ToolOutput::text(call.id))
            }
        })
    };
    let agent = AgentSession::new(Session::in_memory("/project")).with_tool(meets).with_tool(alone);
    let model = ScriptedModel::plays([
        Reply::Calls(vec![
            ("a", "alone", "{}"),
            ("b", "meets", "{}"),
            ("c", "meets", "{}"),
            ("d", "alone", "{}"),
            ("e", "alone", "{}"),
        ]),
        Reply::Text("Done."),
    ]);
    prompt(&agent, &model).await;
    assert_eq!(most.load(Ordering::SeqCst), 1);
    let lines = lines(&agent.context().unwrap());
    assert_eq!(lines[2..7], ["a", "b", "c", "d", "e"].map(|id| format!("toolResult: {id}")));
}

#[tokio::test]
async fn tools_and_settings_stay_when_the_session_changes() {
    let (_home, session) = Home::new();
    let agent = AgentSession::new(session).with_tool(echo());
    let mut settings = (*agent.settings()).clone();
    settings.turn.max_rounds = 7;
    agent.set_settings(settings);
    let model = ScriptedModel::plays([Reply::Text("One."), Reply::Text("Two.")]);
    let turn = prompt(&agent, &model).await;
    let cancel = CancellationToken::new();
    agent.fork(turn.answer.as_str(), treering_agent::ForkPosition::At, &cancel).await.unwrap();
    agent.new_session(&cancel).await.unwrap();
    let names: Vec<String> = agent.tools().iter().map(|tool| tool.name().to_owned()).collect();
    assert_eq!((names, agent.settings().turn.max_rounds), (vec!["echo".to_owned()], 7));
    assert_eq!(prompt(&agent, &model).await.text, "Two.");
    assert!(agent.remove_tool("echo") && !agent.remove_tool("echo"));
}
