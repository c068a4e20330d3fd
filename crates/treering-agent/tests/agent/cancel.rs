//! Cancellation: it works at any point, without a delay, and closes the connection. The clock is paused.

use crate::support::server::{Server, Step};
use crate::support::wire::{begin, delta, head, refusal};
use crate::support::{BOTH, Job, ask, still};
use std::time::Duration;
use treering_agent::{CancellationToken, ModelError};

#[tokio::test(start_paused = true)]
async fn a_request_is_canceled_before_connecting() {
    let still = still();
    for api in BOTH {
        let server = Server::start(vec![vec![]]).await;
        let cancel = CancellationToken::new();
        cancel.cancel();
        let job = Job::with(api, &server.url(), cancel);
        assert_eq!(job.fails().await, ModelError::Canceled);
        assert_eq!(server.requests().len(), 0);
    }
    assert_eq!(still.elapsed(), Duration::ZERO);
}

#[tokio::test(start_paused = true)]
async fn a_request_is_canceled_while_it_waits_for_the_answer() {
    let still = still();
    for api in BOTH {
        for before in
            [vec![], vec![Step::Send(b"HTTP/1.1 200 OK\r\ncontent-".to_vec())], vec![head()]]
        {
            let script = [before, vec![Step::Reached("asked"), Step::Closed]].concat();
            let (mut server, job) = ask(api, vec![script]).await;
            assert_eq!(server.reached.recv().await, Some("asked"));
            job.cancel.cancel();
            assert_eq!(job.fails().await, ModelError::Canceled);
            assert_eq!(server.reached.recv().await, Some("closed"));
        }
    }
    assert_eq!(still.elapsed(), Duration::ZERO);
}

#[tokio::test(start_paused = true)]
async fn a_request_is_canceled_in_the_middle_of_the_answer() {
    let still = still();
    for api in BOTH {
        let events = begin(api) + &delta(api, "Half");
        let more = Step::Chunk(delta(api, " more").into());
        let script = vec![head(), Step::Chunk(events.into()), Step::Wait, more, Step::Closed];
        let (mut server, mut job) = ask(api, vec![script]).await;
        assert_eq!(job.deltas.recv().await.as_deref(), Some("Half"));
        job.cancel.cancel();
        server.go();
        assert_eq!(job.deltas.recv().await, None, "nothing is delivered after the cancellation");
        assert_eq!(job.fails().await, ModelError::Canceled);
        assert_eq!(server.reached.recv().await, Some("closed"));
    }
    assert_eq!(still.elapsed(), Duration::ZERO);
}

#[tokio::test(start_paused = true)]
async fn a_request_is_canceled_in_the_pause_before_another_attempt() {
    let still = still();
    for api in BOTH {
        let (server, mut job) = ask(api, vec![refusal(429, "retry-after: 50\r\n", "")]).await;
        assert!(job.pauses.recv().await.is_some());
        job.cancel.cancel();
        assert_eq!(job.fails().await, ModelError::Canceled);
        assert_eq!(server.requests().len(), 1);
    }
    assert_eq!(still.elapsed(), Duration::ZERO);
}
