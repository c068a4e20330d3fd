//! The state of a running server, shared by all of its connections.

use crate::auth::{Grants, Hosts, Logins};
use crate::chat::{Chat, Turns};
use crate::feed::Feeds;
use crate::limits::Limits;
use crate::metrics::Metrics;
use crate::open_sessions::OpenSessions;
use crate::page::{PageTrees, UsageCache};
use crate::problem::{Code, Problem};
use crate::rate::RateLimiter;
use crate::spaces::Spaces;
use crate::tokens::{TokenHash, Tokens};
use crate::work::Work;
use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use tokio::sync::watch;

/// Receives the lines of the log, without newlines.
pub(crate) type LogSink = Arc<dyn Fn(&str) + Send + Sync>;

/// The state of a running server.
pub(crate) struct Node {
    pub(crate) spaces: Arc<dyn Spaces>,
    pub(crate) tokens: Arc<dyn Tokens>,
    pub(crate) limits: Limits,
    pub(crate) metrics: Metrics,
    pub(crate) work: Work,
    pub(crate) sessions: OpenSessions,
    pub(crate) page_trees: PageTrees,
    pub(crate) known_usage: UsageCache,
    pub(crate) feeds: Feeds,
    /// The model for turns, if there is one.
    pub(crate) chat: Option<Chat>,
    pub(crate) turns: Turns,
    pub(crate) grants: Grants,
    pub(crate) logins: Arc<Logins>,
    pub(crate) hosts: Hosts,
    /// Whether clients connect over TLS.
    pub(crate) is_secure: bool,
    pub(crate) rate: RateLimiter<TokenHash>,
    pub(crate) refused_rate: RateLimiter<IpAddr>,
    pub(crate) log: Option<LogSink>,
    phase: watch::Sender<Phase>,
}

/// The phases of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Phase {
    /// The server responds to requests.
    Ready,
    /// The server responds to requests, but reports that it will stop soon.
    Draining,
    /// The server accepts no new connections, ends its streams, and finishes the requests in
    /// progress.
    Stopping,
}

impl fmt::Debug for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Node").field("spaces", &self.spaces).finish_non_exhaustive()
    }
}

/// The parts of a node that its owner configures.
pub(crate) struct NodeConfig {
    pub(crate) spaces: Arc<dyn Spaces>,
    pub(crate) tokens: Arc<dyn Tokens>,
    pub(crate) limits: Limits,
    pub(crate) logins: Arc<Logins>,
    pub(crate) hosts: Hosts,
    pub(crate) is_secure: bool,
    pub(crate) log: Option<LogSink>,
    pub(crate) chat: Option<Chat>,
}

impl Node {
    pub(crate) fn new(config: NodeConfig) -> Self {
        let NodeConfig { spaces, tokens, limits, logins, hosts, is_secure, log, chat } = config;
        Node {
            spaces,
            tokens,
            metrics: Metrics::default(),
            work: Work::new(limits.threads, limits.waiting, limits.request_time),
            sessions: OpenSessions::new(limits.session_memory),
            page_trees: PageTrees::default(),
            known_usage: UsageCache::default(),
            feeds: Feeds::default(),
            chat,
            turns: Turns::default(),
            grants: Grants::new(limits.token_memory),
            logins,
            hosts,
            is_secure,
            rate: RateLimiter::new(limits.rate, limits.burst),
            refused_rate: RateLimiter::new(
                limits.refused_rate,
                limits.refused_rate.saturating_mul(5),
            ),
            log,
            phase: watch::Sender::new(Phase::Ready),
            limits,
        }
    }

    pub(crate) fn phase(&self) -> Phase {
        *self.phase.borrow()
    }

    pub(crate) fn enter(&self, phase: Phase) {
        self.phase.send_replace(phase);
    }

    /// Waits until the server is in a phase, or a later one.
    pub(crate) fn reached(&self, phase: Phase) -> impl Future<Output = ()> + Send + 'static {
        let mut phases = self.phase.subscribe();
        async move {
            // The sender exists as long as the node, which outlives all waiting tasks.
            let _ = phases.wait_for(|now| *now >= phase).await;
        }
    }

    /// Registers a follower, if the limit is not reached.
    pub(crate) fn follower(self: &Arc<Self>) -> Result<Follower, Problem> {
        let before = self.metrics.followers.fetch_add(1, Ordering::Relaxed);
        let follower = Follower(Arc::clone(self));
        match usize::try_from(before).unwrap_or_default() < self.limits.followers {
            true => Ok(follower),
            false => {
                let problem = Problem::new(Code::Overloaded, "there are too many followers");
                Err(problem.because("followers").retry_after(5))
            }
        }
    }

    /// Writes a line to the log.
    pub(crate) fn log(&self, line: &str) {
        if let Some(log) = &self.log {
            log(line);
        }
    }
}

/// A follower, which counts until it is dropped.
#[derive(Debug)]
pub(crate) struct Follower(Arc<Node>);

impl Drop for Follower {
    fn drop(&mut self) {
        self.0.metrics.followers.fetch_sub(1, Ordering::Relaxed);
    }
}
