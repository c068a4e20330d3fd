//! Tests of broken streams, refusals, and servers that stop responding.

use crate::support::server::Step;
use crate::support::wire::{answer, begin, delta, head, refusal, whole};
use crate::support::{Api, BOTH, Job, KEY, RESTART, ask, pass, still, timeouts};
use treering_agent::{ModelError, Waiting};

#[tokio::test(start_paused = true)]
async fn a_request_is_repeated_if_the_connection_breaks_in_the_middle() {
    let _still = still();
    for api in BOTH {
        // Cut off in the body, and ended in due form but too early.
        for end in [vec![], vec![Step::End]] {
            let events = begin(api) + &delta(api, "Half of");
            let script = [vec![head(), Step::Chunk(events.into())], end].concat();
            let (server, mut job) = ask(api, vec![script, answer(&whole(api, &["Whole"]))]).await;
            assert_eq!(job.deltas.recv().await.as_deref(), Some("Half of"));
            assert_eq!(job.deltas.recv().await.as_deref(), Some(RESTART));
            assert!(matches!(job.retried().await.0, ModelError::Connection(_)));
            assert_eq!(job.deltas.recv().await.as_deref(), Some("Whole"));
            assert_eq!(job.end().await.unwrap().text, "Whole");
            assert_eq!(server.requests().len(), 2);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn malformed_events_are_errors() {
    let _still = still();
    for api in BOTH {
        for event in ["data: {\"type\":\n\n", "data: []\n\n", "data: \x1b[31mhello\n\n"] {
            let (server, job) = ask(api, vec![answer(&(begin(api) + event))]).await;
            let ModelError::Protocol(text) = job.fails().await else { panic!("{event}") };
            assert!(!text.contains('\x1b'), "{text}");
            assert_eq!(server.requests().len(), 1);
        }
        let endless = format!("data: {}", "x".repeat(2 << 20));
        let (_server, job) = ask(api, vec![answer(&endless)]).await;
        assert_eq!(job.fails().await, ModelError::Protocol("an event is too large".into()));
    }
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_is_no_stream_is_an_error() {
    let _still = still();
    let (_server, job) = ask(Api::OpenAi, vec![refusal(200, "", "<html>Welcome</html>")]).await;
    let error = job.fails().await;
    assert!(error.to_string().contains("base URL"), "{error}");
}

#[tokio::test(start_paused = true)]
async fn an_error_in_the_stream_is_the_servers() {
    let _still = still();
    let anthropic =
        r#"data: {"type":"error","error":{"type":"invalid_request_error","message":"No."}}"#;
    let openai = r#"data: {"error":{"type":"invalid_request_error","message":"No."}}"#;
    for (api, event) in [(Api::Anthropic, anthropic), (Api::OpenAi, openai)] {
        let events = format!("{}{event}\n\n", begin(api));
        let (server, job) = ask(api, vec![answer(&events)]).await;
        let kind = "invalid_request_error".into();
        assert_eq!(job.fails().await, ModelError::Server { kind, message: "No.".into() });
        assert_eq!(server.requests().len(), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn a_refusal_is_reported_without_the_key_it_quotes() {
    let _still = still();
    for api in BOTH {
        // Also where cutting a long message would leave half of it.
        for filler in ["", &"x".repeat(490)] {
            let body = format!(r#"{{"error":{{"message":"{filler}bad key: {KEY}\u001b[2J"}}}}"#);
            let (server, job) = ask(api, vec![refusal(401, "", &body)]).await;
            let error = job.fails().await;
            let ModelError::Http { status: 401, message } = &error else { panic!("{error}") };
            assert!(!message.contains("sk-very") && !message.contains('\x1b'), "{message}");
            assert_eq!(server.requests().len(), 1);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn redirects_do_not_carry_the_key_away() {
    let _still = still();
    let (server, job) =
        ask(Api::Anthropic, vec![refusal(307, "location: http://127.0.0.1:1/\r\n", "")]).await;
    assert!(matches!(job.fails().await, ModelError::Http { status: 307, .. }));
    assert_eq!(server.requests().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_slow_trickle_is_fine_until_it_stops() {
    let still = still();
    let api = Api::Anthropic;
    let mut script = vec![head(), Step::Chunk(begin(api).into())];
    for _ in 0..4 {
        script.extend([Step::Wait, Step::Chunk(delta(api, "x").into())]);
    }
    script.push(Step::Closed);
    let (mut server, mut job) = ask(api, vec![script]).await;
    for _ in 0..4 {
        server.go();
        assert_eq!(job.deltas.recv().await.as_deref(), Some("x"));
        pass(timeouts().idle / 2).await;
    }
    assert!(still.elapsed() > timeouts().idle, "the limit is for each piece, not for all");
    pass(timeouts().idle / 2).await;
    let timeout = ModelError::Timeout { waiting: Waiting::More, limit: timeouts().idle };
    assert_eq!(job.fails().await, timeout);
    assert_eq!(server.reached.recv().await, Some("closed"));
    assert_eq!(server.requests().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_silent_server_times_out() {
    let _still = still();
    let (mut server, job) =
        ask(Api::OpenAi, vec![vec![Step::Reached("asked"), Step::Closed]]).await;
    assert_eq!(server.reached.recv().await, Some("asked"));
    pass(timeouts().first_byte).await;
    let waiting = Waiting::FirstByte;
    let timeout = ModelError::Timeout { waiting, limit: timeouts().first_byte };
    assert_eq!(job.fails().await, timeout);
}

#[tokio::test(start_paused = true)]
async fn a_stream_of_nothing_but_comments_ends_some_time() {
    let _still = still();
    let api = Api::OpenAi;
    let mut script = vec![head(), Step::Chunk(delta(api, "x").into())];
    script.extend((0..400).flat_map(|_| [Step::Wait, Step::Chunk(b": ping\n\n".to_vec())]));
    let (server, mut job) = ask(api, vec![script]).await;
    job.deltas.recv().await;
    let ended = async {
        loop {
            // The client needs a few turns to read a comment, which makes no event.
            server.go();
            for _ in 0..50 {
                tokio::task::yield_now().await;
            }
            pass(timeouts().idle / 4).await;
        }
    };
    let limit = timeouts().total;
    tokio::select! {
        error = job.fails() => {
            assert_eq!(error, ModelError::Timeout { waiting: Waiting::Total, limit });
        }
        () = ended => {}
    }
}

#[tokio::test(start_paused = true)]
async fn an_invalid_address_is_not_retried() {
    let _still = still();
    let mut job = Job::start(Api::OpenAi, "not an address");
    assert!(job.deltas.recv().await.is_none());
    assert!(job.pauses.try_recv().is_err());
    assert!(matches!(job.fails().await, ModelError::Protocol(_)));
}
