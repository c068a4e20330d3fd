//! The ends of a turn: aborts, failures, retries, compactions, limits.

use crate::support::handlers::{names, seen};
use crate::support::model::{Reply, ScriptedModel};
use crate::support::scripted::{Play, Scripted};
use crate::support::server::{Server, Step};
use crate::support::talk::{Home, lines};
use crate::support::wire::{answer, begin, calls, delta, head, refusal, whole};
use crate::support::{BOTH, chat_model, still};
use crate::turn::{SCHEMA, assert_paired, echo, messages, prompt};
use serde_json::json;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Semaphore;
use treering::Session;
use treering::compaction::CompactionSettings;
use treering_agent::{
    AgentSession, AgentSettings, CancellationToken, CompactReason, Event, FnTool, ModelError,
    Operation, ToolOutput, TurnEnd, TurnSettings,
};

fn agent() -> AgentSession {
    AgentSession::new(Session::in_memory("/project")).with_tool(echo())
}

fn with_turn(agent: AgentSession, turn: TurnSettings) -> AgentSession {
    agent.with_settings(AgentSettings::new().turn(turn))
}

#[tokio::test]
async fn an_abort_while_tools_run_leaves_every_call_with_a_result() {
    let entered = Arc::new(Semaphore::new(0));
    let waits = {
        let entered = Arc::clone(&entered);
        FnTool::new("waits", "", SCHEMA, move |_, _| {
            entered.add_permits(1);
            std::future::pending::<Result<ToolOutput, treering_agent::ToolError>>()
        })
    };
    let (home, session) = Home::new();
    let agent = Arc::new(AgentSession::new(session).with_tool(echo()).with_tool(waits));
    let model = ScriptedModel::plays([
        Reply::Calls(vec![("a", "echo", "{}"), ("b", "waits", "{}"), ("c", "echo", "{}")]),
        Reply::Text("Never."),
    ]);
    let mut events = agent.subscribe();
    let aborts = Arc::clone(&agent);
    let abort = async move {
        entered.acquire().await.unwrap().forget();
        assert_eq!(aborts.abort(), Some(Operation::Turn));
    };
    let (turn, ()) = tokio::join!(prompt(&agent, &model), abort);
    assert_eq!((turn.end, turn.rounds), (TurnEnd::Aborted, 1));
    let messages = messages(&agent);
    let errors: Vec<bool> =
        messages[2..5].iter().map(|result| result["isError"] == json!(true)).collect();
    assert_eq!(errors, [false, true, true]);
    let last = messages.last().unwrap();
    assert_eq!((&last["role"], &last["stopReason"]), (&json!("assistant"), &json!("aborted")));
    assert_paired(&agent);
    assert_eq!(home.reopened().leaf().as_ref(), Some(&turn.answer));
    assert_eq!(agent.running(), None);
    let answers = seen(&mut events).into_iter().filter_map(|event| match event {
        Event::AnswerEnd(answer) => Some((answer.entry.clone(), answer.end.clone())),
        _ => None,
    });
    assert_eq!(answers.last(), Some((turn.answer, TurnEnd::Aborted)));
}

#[tokio::test(start_paused = true)]
async fn an_abort_while_a_call_arrives_records_no_half_call() {
    let _still = still();
    for api in BOTH {
        let half = begin(api) + &delta(api, "I will") + &calls(api, &[("c1", "echo", &["{\"n"])]);
        let script = vec![head(), Step::Chunk(half.into()), Step::Reached("half"), Step::Closed];
        let mut server = Server::start(vec![script]).await;
        let model = chat_model(api, &server.url());
        let agent = agent();
        let cancel = CancellationToken::new();
        let mut deltas = agent.subscribe_deltas();
        let abort = async {
            server.reached.recv().await.unwrap();
            deltas.recv().await.unwrap();
            cancel.cancel();
        };
        let (turn, ()) = tokio::join!(agent.prompt(&*model, "Begin.", None, &cancel), abort);
        assert_eq!(turn.unwrap().end, TurnEnd::Aborted);
        let messages = messages(&agent);
        assert_eq!(messages[1]["content"], json!([{ "type": "text", "text": "I will" }]));
        assert_eq!(messages[1]["stopReason"], "aborted");
    }
}

#[tokio::test]
async fn a_failed_answer_is_rewound_and_requested_again() {
    let (home, session) = Home::new();
    let turn = TurnSettings::new().retries(2).retry_pause(Duration::ZERO);
    let agent = with_turn(AgentSession::new(session).with_tool(echo()), turn);
    let mut events = agent.subscribe();
    let lost = || Reply::Fail(ModelError::Connection("reset".into()));
    let model = ScriptedModel::plays([
        Reply::Calls(vec![("a", "echo", "{}")]),
        lost(),
        Reply::Fail(ModelError::Empty),
        Reply::Text("At last."),
    ]);
    let turn = prompt(&agent, &model).await;
    assert_eq!((&*turn.text, turn.end, turn.rounds), ("At last.", TurnEnd::Complete, 2));
    // The failed answers are in the file, and not in the context.
    let reopened = home.reopened();
    assert_eq!(reopened.leaf(), Some(turn.answer));
    let context = lines(&reopened.context().unwrap());
    assert_eq!(context, ["user: Begin.", "assistant: ", "toolResult: {}", "assistant: At last."]);
    assert_eq!(model.requests()[3], context[..3]);
    let rounds: Vec<(u32, u32)> = seen(&mut events)
        .into_iter()
        .filter_map(|event| match event {
            Event::AnswerRewound(rewound) => {
                let failed = reopened.entry(rewound.failed.as_str()).unwrap();
                let failed = failed.message().unwrap().as_assistant().unwrap().error_message();
                assert!(failed.is_some());
                Some((rewound.attempt, rewound.attempts))
            }
            _ => None,
        })
        .collect();
    assert_eq!(rounds, [(2, 3), (3, 3)]);
}

/// The clients of this crate fail with an empty answer; other models may return one.
#[tokio::test]
async fn an_empty_answer_is_a_failure() {
    for empty in ["", " \n"] {
        let turn = TurnSettings::new().retries(1).retry_pause(Duration::ZERO);
        let agent = with_turn(agent(), turn);
        let model = ScriptedModel::plays([empty, "Done.", empty, empty].map(Reply::Text));
        assert_eq!(prompt(&agent, &model).await.end, TurnEnd::Complete);
        assert_eq!(lines(&agent.context().unwrap()), ["user: Begin.", "assistant: Done."]);
        let failed = prompt(&agent, &model).await;
        assert_eq!(failed.end, TurnEnd::Failed(ModelError::Empty));
        assert_eq!(messages(&agent).last().unwrap()["stopReason"], "error");
    }
}

#[tokio::test]
async fn failures_that_do_not_pass_are_not_retried() {
    let turn = TurnSettings::new().retries(5).retry_pause(Duration::ZERO);
    for (error, requests) in [
        (ModelError::Refused("no".into()), 1),
        (ModelError::Http { status: 401, message: "key".into() }, 1),
        (ModelError::Connection("gone".into()), 6),
    ] {
        let agent = with_turn(agent(), turn.clone());
        let fails = || Reply::Fail(error.clone());
        let model = ScriptedModel::plays(std::iter::repeat_with(fails).take(requests));
        let turn = prompt(&agent, &model).await;
        assert_eq!(turn.end, TurnEnd::Failed(error.clone()));
        assert_eq!(model.requests().len(), requests);
        assert_eq!(messages(&agent)[1]["errorMessage"], error.to_string());
    }
}

#[tokio::test(start_paused = true)]
async fn a_context_that_the_provider_refuses_is_compacted_inside_the_turn() {
    let _still = still();
    for api in BOTH {
        let refused = r#"{"error":{"message":"maximum context length exceeded"}}"#;
        let server = Server::start(vec![
            answer(&whole(api, &["Old answer."])),
            refusal(400, "", refused),
            answer(&whole(api, &["Now it fits."])),
        ])
        .await;
        let compaction = CompactionSettings::new().keep_recent_tokens(1);
        let agent = agent()
            .with_settings(AgentSettings::new().compaction(compaction))
            .with_summarizer(Scripted::plays([Play::Say("What was said.")]));
        let model = chat_model(api, &server.url());
        let cancel = CancellationToken::new();
        agent.prompt(&*model, "First.", None, &cancel).await.unwrap();
        let mut events = agent.subscribe();
        let turn = agent.prompt(&*model, "Second.", None, &cancel).await.unwrap();
        assert_eq!((&*turn.text, turn.end), ("Now it fits.", TurnEnd::Complete));
        let reasons: Vec<CompactReason> = seen(&mut events)
            .iter()
            .filter_map(|event| match event {
                Event::SessionCompact(compacted) => Some(compacted.reason),
                _ => None,
            })
            .collect();
        assert_eq!(reasons, [CompactReason::Overflow]);
        let context = lines(&agent.context().unwrap());
        assert!(context[0].starts_with("compactionSummary: What was said."), "{context:?}");
        assert_eq!(context[1..], ["user: Second.", "assistant: Now it fits."]);
    }
}

/// The window of the model is smaller than what the settings keep.
#[tokio::test]
async fn a_context_that_is_refused_is_compacted_to_less_than_the_settings_keep() {
    let too_long = || ModelError::Http { status: 400, message: "prompt is too long".into() };
    let agent = agent().with_summarizer(Scripted::plays([Play::Say("A greeting.")]));
    assert_eq!(agent.settings().compaction.keep_recent_tokens, 20_000);
    let old: &str = Box::leak("old ".repeat(4_000).into_boxed_str());
    let model =
        ScriptedModel::plays([Reply::Text(old), Reply::Fail(too_long()), Reply::Text("Done.")]);
    prompt(&agent, &model).await;
    assert_eq!(prompt(&agent, &model).await.end, TurnEnd::Complete);
    let context = lines(&agent.context().unwrap());
    let expected = ["compactionSummary: A greeting.", "user: Begin.", "assistant: Done."];
    assert_eq!(context, expected);
}

#[tokio::test]
async fn a_context_that_stays_too_large_fails_after_one_compaction() {
    let error = ModelError::Http { status: 400, message: "prompt is too long".into() };
    let compaction = CompactionSettings::new().keep_recent_tokens(1);
    let agent = agent()
        .with_settings(AgentSettings::new().compaction(compaction))
        .with_summarizer(Scripted::plays([]));
    let model = ScriptedModel::plays([
        Reply::Text("Old."),
        Reply::Fail(error.clone()),
        Reply::Fail(error.clone()),
    ]);
    prompt(&agent, &model).await;
    let turn = prompt(&agent, &model).await;
    assert_eq!(turn.end, TurnEnd::Failed(error));
    assert_eq!(model.requests().len(), 3);
}

#[tokio::test]
async fn a_full_context_is_compacted_between_rounds() {
    let compaction = CompactionSettings::new().reserve_tokens(1000).keep_recent_tokens(1);
    let agent = agent()
        .with_settings(AgentSettings::new().compaction(compaction))
        .with_summarizer(Scripted::plays([Play::Say("So far.")]));
    let mut events = agent.subscribe();
    let model = ScriptedModel::plays([
        Reply::CallsAt(9500, vec![("a", "echo", "{}")]),
        Reply::Text("Done."),
    ]);
    let turn = prompt(&agent, &model).await;
    assert_eq!((turn.end, turn.rounds), (TurnEnd::Complete, 2));
    let event_names = names(&mut events);
    let at = |name: &str| event_names.iter().position(|event_name| *event_name == name).unwrap();
    assert!(at("tool_execution_end") < at("session_compact"), "{event_names:?}");
    assert!(at("session_compact") < at("turn_end"), "{event_names:?}");
    assert!(model.requests()[1][0].starts_with("compactionSummary: "), "{:?}", model.requests());
    assert_paired(&agent);
}

#[tokio::test]
async fn a_model_that_never_stops_calling_tools_is_stopped() {
    let agent = with_turn(agent(), TurnSettings::new().max_rounds(3));
    let asks = || Reply::Calls(vec![("a", "echo", "{}")]);
    let model = ScriptedModel::plays([asks(), asks(), asks()]);
    let turn = prompt(&agent, &model).await;
    assert_eq!((turn.end, turn.rounds), (TurnEnd::RoundLimit, 3));
    assert_paired(&agent);
    assert_eq!(messages(&agent).len(), 1 + 3 * 2);
}

#[tokio::test]
async fn a_model_that_panics_ends_its_turn_and_nothing_else() {
    let (home, session) = Home::new();
    let agent = Arc::new(AgentSession::new(session).with_tool(echo()));
    let model = Arc::new(ScriptedModel::plays([Reply::Panic, Reply::Text("Here again.")]));
    let (talks, panics) = (Arc::clone(&agent), Arc::clone(&model));
    let turn = tokio::spawn(async move { prompt(&talks, &panics).await });
    assert!(turn.await.unwrap_err().is_panic());
    assert_eq!(agent.running(), None);
    // The question stays, and the conversation can continue.
    assert_eq!(lines(&home.reopened().context().unwrap()), ["user: Begin."]);
    assert_eq!(prompt(&agent, &model).await.text, "Here again.");
}

#[tokio::test]
async fn an_abort_before_the_first_answer_is_recorded() {
    let agent = Arc::new(agent());
    let model = ScriptedModel::plays([Reply::Hang]);
    let aborts = async {
        model.arrived.acquire().await.unwrap().forget();
        agent.abort();
    };
    let (turn, ()) = tokio::join!(prompt(&agent, &model), aborts);
    assert_eq!(turn.end, TurnEnd::Aborted);
    assert_eq!(messages(&agent)[1]["stopReason"], "aborted");
}
