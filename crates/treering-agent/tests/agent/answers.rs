//! Tests of complete answers, and of answers that contain no summary.

use crate::support::server::{Server, Step};
use crate::support::wire::{answer, begin, delta, finish, head, normal, refusal, whole};
use crate::support::{Api, BOTH, KEY, ask, still};
use serde_json::Value;
use treering_agent::{ModelError, Usage};

#[tokio::test(start_paused = true)]
async fn a_summary_in_pieces_of_one_byte() {
    let _still = still();
    for api in BOTH {
        let events = whole(api, &["## Göal\n", "🦀 \"x\"", "\n"]);
        let script = vec![head(), Step::Trickle(events.into()), Step::End];
        let (server, mut job) = ask(api, vec![script]).await;
        let seen = async {
            let mut seen = Vec::new();
            while let Some(delta) = job.deltas.recv().await {
                seen.push(delta);
            }
            seen
        }
        .await;
        let summary = job.end().await.unwrap();
        assert_eq!(seen, ["## Göal\n", "🦀 \"x\"", "\n"]);
        assert_eq!(summary.text, "## Göal\n🦀 \"x\"");
        assert_eq!(summary.model.as_deref(), Some("real-model"));
        let cache_write = if api == Api::Anthropic { 20 } else { 0 };
        let usage =
            Usage::of_request().input(100).output(40).cache_read(30).cache_write(cache_write);
        assert_eq!(summary.usage, Some(usage));
        check_request(api, &server);
    }
}

fn check_request(api: Api, server: &Server) {
    let requests = server.requests();
    let (head, body) = requests[0].split_once("\r\n\r\n").unwrap();
    let body: Value = serde_json::from_str(body).unwrap();
    assert_eq!((&body["stream"], &body["model"]), (&true.into(), &"asked-model".into()));
    match api {
        Api::Anthropic => {
            assert!(head.starts_with("POST /v1/messages HTTP/1.1\r\n"), "{head}");
            assert!(head.contains(&format!("x-api-key: {KEY}")));
            assert!(head.contains("anthropic-version: "));
            assert_eq!(body["system"], "Summarize.");
            assert_eq!(body["messages"][0]["content"], "[User]: hello");
        }
        Api::OpenAi => {
            assert!(head.starts_with("POST /v1/chat/completions HTTP/1.1\r\n"), "{head}");
            assert!(head.contains(&format!("authorization: Bearer {KEY}")));
            assert_eq!(body["messages"][0]["content"], "Summarize.");
            assert_eq!(body["messages"][1]["content"], "[User]: hello");
            assert_eq!(body["stream_options"]["include_usage"], true);
        }
    }
}

async fn fails(api: Api, events: &str) -> ModelError {
    let (server, job) = ask(api, vec![answer(events)]).await;
    let error = job.fails().await;
    assert_eq!(server.requests().len(), 1, "{error} is not asked again");
    error
}

#[tokio::test(start_paused = true)]
async fn what_is_not_a_whole_summary_is_an_error() {
    let _still = still();
    for (api, reason, expected) in [
        (Api::Anthropic, "max_tokens", ModelError::Length),
        (Api::OpenAi, "length", ModelError::Length),
        (Api::Anthropic, "tool_use", ModelError::ToolCall),
        (Api::OpenAi, "tool_calls", ModelError::ToolCall),
        (Api::Anthropic, "refusal", ModelError::Refused("refusal".into())),
        (Api::OpenAi, "content_filter", ModelError::Refused("content_filter".into())),
    ] {
        let events = begin(api) + &delta(api, "Some text") + &finish(api, reason);
        assert_eq!(fails(api, &events).await, expected, "{api:?} {reason}");
    }
    for api in BOTH {
        let events = begin(api) + &delta(api, " \n") + &finish(api, normal(api));
        assert_eq!(fails(api, &events).await, ModelError::Empty);
    }
}

#[tokio::test(start_paused = true)]
async fn a_tool_call_is_noticed_when_it_begins() {
    let _still = still();
    let anthropic = r#"data: {"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"t","name":"bash","input":{}}}"#;
    let openai = r#"data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0}]}}]}"#;
    for (api, event) in [(Api::Anthropic, anthropic), (Api::OpenAi, openai)] {
        assert_eq!(fails(api, &format!("{event}\n\n")).await, ModelError::ToolCall);
    }
}

#[tokio::test(start_paused = true)]
async fn servers_that_say_less_are_understood() {
    let _still = still();
    // No usage, no [DONE], no model; thoughts, unknown fields and events on the way.
    let openai = "data: {\"choices\":[{\"delta\":{\"reasoning_content\":\"hm\"}}],\"x\":1}\n\n\
                  data: {\"choices\":[{\"delta\":{\"content\":\"Yes\"},\"finish_reason\":\"stop\"}]}\n\n";
    let anthropic = "data: {\"type\":\"new_event\",\"y\":[]}\n\n\
        data: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"thinking\",\"thinking\":\"hm\"}}\n\n\
        data: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"thinking_delta\",\"thinking\":\"hm\"}}\n\n\
        data: {\"type\":\"content_block_delta\",\"index\":1,\"delta\":{\"type\":\"text_delta\",\"text\":\"Yes\"}}\n\n\
        data: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"}}\n\n";
    for (api, events) in [(Api::OpenAi, openai), (Api::Anthropic, anthropic)] {
        let (_server, job) = ask(api, vec![answer(events)]).await;
        let summary = job.end().await.unwrap();
        assert_eq!((summary.text.as_str(), summary.usage), ("Yes", None));
        assert_eq!(summary.model.as_deref(), Some("asked-model"));
    }
}

#[tokio::test(start_paused = true)]
async fn what_a_model_thinks_aloud_is_left_out() {
    let _still = still();
    let pieces = ["<think>\nHm. A summary?", " Yes.</think>\n\n", "## Goal"];
    let (_server, job) = ask(Api::OpenAi, vec![answer(&whole(Api::OpenAi, &pieces))]).await;
    assert_eq!(job.end().await.unwrap().text, "## Goal");
    for only in ["<think>endless", "<think>all</think> "] {
        let (_server, job) = ask(Api::OpenAi, vec![answer(&whole(Api::OpenAi, &[only]))]).await;
        assert_eq!(job.fails().await, ModelError::Empty);
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_that_wants_the_new_name_of_the_limit_gets_it() {
    let _still = still();
    let no = r#"{"error":{"message":"Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead."}}"#;
    let scripts = vec![refusal(400, "", no), answer(&whole(Api::OpenAi, &["Whole"]))];
    let (server, job) = ask(Api::OpenAi, scripts).await;
    assert_eq!(job.end().await.unwrap().text, "Whole");
    let requests = server.requests();
    assert!(requests[0].contains("\"max_tokens\":8192"), "{}", requests[0]);
    assert!(!requests[1].contains("\"max_tokens\""), "{}", requests[1]);
    assert!(requests[1].contains("\"max_completion_tokens\":8192"), "{}", requests[1]);
}

#[tokio::test(start_paused = true)]
async fn a_server_that_refuses_stream_options_gets_a_request_without_them() {
    let _still = still();
    let no = r#"{"error":{"message":"Unknown parameter: 'stream_options'."}}"#;
    let scripts = vec![refusal(400, "", no), answer(&whole(Api::OpenAi, &["Whole"]))];
    let (server, job) = ask(Api::OpenAi, scripts).await;
    assert_eq!(job.end().await.unwrap().text, "Whole");
    let requests = server.requests();
    assert_eq!(requests.len(), 2);
    assert!(requests[0].contains("stream_options") && !requests[1].contains("stream_options"));
    // Once is enough.
    let scripts = vec![refusal(400, "", no), refusal(400, "", no)];
    let (_server, job) = ask(Api::OpenAi, scripts).await;
    assert!(matches!(job.fails().await, ModelError::Http { status: 400, .. }));
}
