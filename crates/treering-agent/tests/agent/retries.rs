//! Tests of retried requests: when, after which pause, and how often.

use crate::support::server::{Server, Step};
use crate::support::wire::{answer, begin, head, refusal, whole};
use crate::support::{Api, BOTH, Job, ask, still};
use std::time::Duration;
use tokio::net::TcpSocket;
use treering_agent::ModelError;

const BUSY: &str = r#"{"error":{"message":"busy"}}"#;

#[tokio::test(start_paused = true)]
async fn a_429_is_retried_after_the_time_that_the_server_names() {
    let still = still();
    for api in BOTH {
        let before = still.elapsed();
        let scripts = vec![refusal(429, "retry-after: 7\r\n", BUSY), answer(&whole(api, &["Yes"]))];
        let (server, mut job) = ask(api, scripts).await;
        let (error, pause) = job.retried().await;
        assert_eq!(error, ModelError::Http { status: 429, message: "busy".into() });
        assert_eq!(pause, Duration::from_secs(7));
        assert_eq!(job.deltas.recv().await.as_deref(), Some("Yes"));
        assert_eq!(job.end().await.unwrap().text, "Yes");
        assert_eq!(server.requests().len(), 2);
        assert!(still.elapsed() - before >= Duration::from_secs(7));
    }
}

#[tokio::test(start_paused = true)]
async fn a_pause_that_a_server_names_has_a_limit() {
    let _still = still();
    let scripts = vec![
        refusal(503, "retry-after: 86400\r\n", BUSY),
        refusal(503, "retry-after: Thu, 31 Dec 2099 23:59:59 GMT\r\n", BUSY),
        answer(&whole(Api::Anthropic, &["Yes"])),
    ];
    let (_server, mut job) = ask(Api::Anthropic, scripts).await;
    assert_eq!(job.retried().await.1, Duration::from_secs(60));
    assert_eq!(job.retried().await.1, Duration::from_secs(60));
    assert_eq!(job.end().await.unwrap().text, "Yes");
}

#[tokio::test(start_paused = true)]
async fn a_500_is_retried_with_growing_pauses_up_to_the_limit() {
    let _still = still();
    let scripts = vec![refusal(500, "", ""), refusal(529, "", BUSY), refusal(502, "", "<html>")];
    let (server, mut job) = ask(Api::OpenAi, scripts).await;
    let (first, second) = (job.retried().await.1, job.retried().await.1);
    assert!((500..=1000).contains(&first.as_millis()), "{first:?}");
    assert!((1000..=2000).contains(&second.as_millis()), "{second:?}");
    assert_eq!(job.fails().await, ModelError::Http { status: 502, message: "<html>".into() });
    assert_eq!(server.requests().len(), 3);
}

#[tokio::test(start_paused = true)]
async fn a_refused_connection_is_retried() {
    let _still = still();
    // The port belongs to the test from now on, but connections are refused until it listens.
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let address = socket.local_addr().unwrap();
    let mut job = Job::start(Api::OpenAi, &format!("http://{address}/v1"));
    let (error, pause) = job.pauses.recv().await.unwrap();
    let ModelError::Connection(text) = error else { panic!("{error}") };
    assert!(text.starts_with(&format!("cannot reach http://{address}: ")), "{text}");
    let _server =
        Server::on(socket.listen(8).unwrap(), vec![answer(&whole(Api::OpenAi, &["Yes"]))]);
    crate::support::pass(pause).await;
    assert_eq!(job.end().await.unwrap().text, "Yes");
}

#[tokio::test(start_paused = true)]
async fn a_request_is_repeated_if_the_connection_breaks_before_the_first_word() {
    let _still = still();
    for api in BOTH {
        let lost = [vec![], vec![head()], vec![head(), Step::Chunk(begin(api).into())]];
        for script in lost {
            let (server, mut job) = ask(api, vec![script, answer(&whole(api, &["Yes"]))]).await;
            assert!(matches!(job.retried().await.0, ModelError::Connection(_)));
            assert_eq!(job.deltas.recv().await.as_deref(), Some("Yes"));
            assert_eq!(job.seen(), "");
            assert_eq!(job.end().await.unwrap().text, "Yes");
            assert_eq!(server.requests().len(), 2);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn an_overload_reported_in_the_stream_is_retried() {
    let _still = still();
    let event =
        r#"data: {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#;
    let api = Api::Anthropic;
    let events = format!("{}{event}\n\n", begin(api));
    let (_server, mut job) = ask(api, vec![answer(&events), answer(&whole(api, &["Yes"]))]).await;
    assert!(matches!(job.retried().await.0, ModelError::Server { .. }));
    assert_eq!(job.end().await.unwrap().text, "Yes");
}
