//! Limits of a server: sizes, times, rates and memory.

use std::time::Duration;

/// Limits of a server. The defaults suit a node with a few gigabytes of memory.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Limits {
    /// The largest body of a request, in bytes.
    pub body: u64,
    /// The largest header section of a request, in bytes.
    pub headers: usize,
    /// The time within which the header section of a request must arrive. An idle connection is
    /// closed after this time.
    pub header_time: Duration,
    /// The time within which every further 64 KiB of a body must arrive, and within which a client
    /// must read a part of a response.
    pub progress_time: Duration,
    /// The time limit of a request, including its body. It does not apply to streams.
    pub request_time: Duration,
    /// The maximum number of open connections; further ones are closed at once.
    pub connections: usize,
    /// The maximum number of followers of events, each of which has a connection.
    pub followers: usize,
    /// The maximum number of concurrent turns with a model, each of which has a connection and a
    /// thread.
    pub turns: usize,
    /// The largest message to a model, in bytes.
    pub question: usize,
    /// The number of threads that work on sessions and stores.
    pub threads: usize,
    /// The maximum number of requests that wait for one of the threads; further ones are refused.
    pub waiting: usize,
    /// The average number of requests of one token per second; `0` for no limit.
    pub rate: u32,
    /// The maximum number of requests of one token at once.
    pub burst: u32,
    /// The average number of refused requests without a valid token per second from one address.
    pub refused_rate: u32,
    /// The memory for the indexes of open sessions, in bytes.
    pub session_memory: u64,
    /// The memory for the latest events of all followed sessions, in bytes.
    pub event_memory: u64,
    /// The interval at which the store is polled for changes while there are followers.
    pub poll: Duration,
    /// The interval of comment lines in streams of events.
    pub heartbeat: Duration,
    /// The time for which the grant of a token is cached. A token that is revoked on another node
    /// is accepted until then.
    pub token_memory: Duration,
    /// The time between the end of readiness and the refusal of new connections.
    pub drain: Duration,
    /// The time that running requests have to finish at shutdown.
    pub grace: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            body: 64 << 20,
            headers: 32 << 10,
            header_time: Duration::from_secs(15),
            progress_time: Duration::from_secs(30),
            request_time: Duration::from_secs(120),
            connections: 8192,
            followers: 4096,
            turns: 16,
            question: 1 << 20,
            threads: 64,
            waiting: 4096,
            rate: 0,
            burst: 1000,
            refused_rate: 20,
            session_memory: 256 << 20,
            event_memory: 32 << 20,
            poll: Duration::from_millis(50),
            heartbeat: Duration::from_secs(15),
            token_memory: Duration::from_secs(5),
            drain: Duration::ZERO,
            grace: Duration::from_secs(20),
        }
    }
}
