//! Tests the record of a turn whose answer was not completed, and of servers with habits of their
//! own.

use crate::support::scripted::Scripted;
use crate::support::server::{Server, Step};
use crate::support::wire::{
    answer, begin, calls, delta, finish, head, normal, refusal, wants_tools, whole,
};
use crate::support::{Api, BOTH, chat_model, still};
use crate::turn::{assert_paired, echo, messages};
use serde_json::json;
use treering::Session;
use treering::compaction::CompactionSettings;
use treering_agent::{
    AgentSession, AgentSettings, CancellationToken, ModelError, TurnEnd, TurnReport,
};

async fn turn(agent: &AgentSession, api: Api, server: &Server) -> TurnReport {
    let model = chat_model(api, &server.url());
    agent.prompt(&*model, "Begin.", None, &CancellationToken::new()).await.unwrap()
}

fn agent() -> AgentSession {
    AgentSession::new(Session::in_memory("/project")).with_tool(echo())
}

#[tokio::test(start_paused = true)]
async fn the_usage_of_an_answer_that_was_cut_for_length_is_recorded() {
    let _still = still();
    for (api, reason) in [(Api::Anthropic, "max_tokens"), (Api::OpenAi, "length")] {
        let cut = begin(api) + &delta(api, "And so") + &finish(api, reason);
        let server = Server::start(vec![answer(&cut)]).await;
        let agent = agent();
        let turn = turn(&agent, api, &server).await;
        assert_eq!((&*turn.text, turn.end), ("And so", TurnEnd::Length));
        assert_eq!(turn.usage.map(|usage| usage.output), Some(40), "{api:?}");
        let usage = messages(&agent).pop().unwrap()["usage"].take();
        assert_eq!((&usage["input"], &usage["output"]), (&json!(100), &json!(40)), "{api:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_usage_of_an_answer_that_was_aborted_or_failed_is_recorded() {
    let _still = still();
    let api = Api::Anthropic;
    let began = begin(api) + &delta(api, "And so");
    let fails = "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"oops\",\"message\":\"no\"}}\n\n";
    let aborted = vec![head(), Step::Chunk(began.clone().into()), Step::Closed];
    let server = Server::start(vec![answer(&(began + fails)), aborted]).await;
    let agent = agent();
    let failed = turn(&agent, api, &server).await;
    assert!(matches!(failed.end, TurnEnd::Failed(ModelError::Server { .. })));
    let mut deltas = agent.subscribe_deltas();
    let aborts = async {
        deltas.recv().await.unwrap();
        agent.abort();
    };
    let (aborted, ()) = tokio::join!(turn(&agent, api, &server), aborts);
    assert_eq!((&*aborted.text, aborted.end), ("And so", TurnEnd::Aborted));
    for answer in messages(&agent).iter().filter(|message| message["role"] == "assistant") {
        assert_eq!(answer["usage"]["input"], 100);
        assert_eq!(answer["usage"]["cacheRead"], 30);
    }
}

#[tokio::test(start_paused = true)]
async fn calls_with_the_same_index_are_separated_by_their_ids() {
    let _still = still();
    let api = Api::OpenAi;
    let one_by_one = [("c1", "{\"n\":1}"), ("c2", "{\"n\":2}")]
        .map(|(id, arguments)| calls(api, &[(id, "echo", &[arguments][..])]));
    let asks = begin(api) + &one_by_one.concat() + &finish(api, wants_tools(api));
    let server = Server::start(vec![answer(&asks), answer(&whole(api, &["Done."]))]).await;
    let agent = agent();
    assert_eq!(turn(&agent, api, &server).await.end, TurnEnd::Complete);
    let messages = messages(&agent);
    let texts: Vec<_> = messages[2..4].iter().map(|result| &result["content"][0]["text"]).collect();
    assert_eq!(texts, ["{\"n\":1}", "{\"n\":2}"]);
    assert_paired(&agent);
}

#[tokio::test(start_paused = true)]
async fn halves_of_surrogate_pairs_do_not_lose_an_answer() {
    let _still = still();
    for api in BOTH {
        let half = |events: String| events.replace("HALF", "\\ud83d");
        let asks = half(begin(api) + &delta(api, "Look HALF!"))
            + &calls(api, &[("c1", "echo", &["{\"n\":\"\\ud83d\"}"])])
            + &finish(api, wants_tools(api));
        let done = half(whole(api, &["Done HALF."]));
        let server = Server::start(vec![answer(&asks), answer(&done)]).await;
        let agent = agent();
        let turn = turn(&agent, api, &server).await;
        assert_eq!((&*turn.text, turn.end), ("Done \u{fffd}.", TurnEnd::Complete), "{api:?}");
        let messages = messages(&agent);
        assert_eq!(messages[1]["content"][0]["text"], "Look \u{fffd}!");
        assert_eq!(messages[2]["content"][0]["text"], "{\"n\":\"\\ufffd\"}");
        assert_eq!(messages[2]["isError"], false);
    }
}

#[tokio::test(start_paused = true)]
async fn a_context_that_is_too_long_is_noticed_however_the_server_says_it() {
    let _still = still();
    let api = Api::OpenAi;
    let event = |text: &str| {
        answer(&format!("data: {{\"error\":{{\"type\":\"invalid\",\"message\":\"{text}\"}}}}\n\n"))
    };
    let message = |text: &str| format!("{{\"error\":{{\"message\":\"{text}\"}}}}");
    for (refused, compacts) in [
        (event("This model's maximum context length is 8192 tokens."), true),
        (event("Rate limit exceeded."), false),
        (refusal(413, "", "<html>Payload Too Large</html>"), true),
        (refusal(400, "", &message("This model's maximum prompt length is 131072.")), true),
        (refusal(400, "", &message("Please reduce the length of the messages.")), true),
        (refusal(400, "", &message("The tools are invalid.")), false),
    ] {
        let after = answer(&whole(api, &["Done."]));
        let old = answer(&(begin(api) + &delta(api, "Old.") + &finish(api, normal(api))));
        let server = Server::start(vec![old, refused, after]).await;
        let compaction = CompactionSettings::new().keep_recent_tokens(1);
        let agent = agent()
            .with_settings(AgentSettings::new().compaction(compaction))
            .with_summarizer(Scripted::plays([]));
        turn(&agent, api, &server).await;
        let end = turn(&agent, api, &server).await.end;
        assert_eq!(end == TurnEnd::Complete, compacts, "{end:?}");
    }
}
