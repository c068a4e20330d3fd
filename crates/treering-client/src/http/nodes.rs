//! The nodes of a server. Requests are sent to the node that answered last.

use super::options::{HttpOptions, InvalidAddress, Token};
use super::problem::{self, Problem};
use std::io::{self, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use ureq::http;
use ureq::tls::{Certificate, RootCerts, TlsConfig};

/// The time limit for the response of one node, so that a node that hangs does not use up the
/// deadline.
const PER_NODE: Duration = Duration::from_secs(10);

/// The time limit for connecting to a node.
const CONNECT: Duration = Duration::from_secs(5);

/// The expected speed of a slow connection in bytes per second: larger bodies get more time.
const MIN_BYTES_PER_SECOND: u64 = 256 * 1024;

/// The first pause between two attempts, and the longest.
const PAUSES: (Duration, Duration) = (Duration::from_millis(50), Duration::from_secs(2));

/// The maximum size of a response.
const MAX_ANSWER: u64 = 64 * 1024 * 1024;

/// The nodes of a server.
#[derive(Debug)]
pub(crate) struct Nodes {
    agent: ureq::Agent,
    urls: Vec<String>,
    location: String,
    /// The index of the current node.
    current: AtomicUsize,
    token: Option<Token>,
    deadline: Duration,
    /// Whether a node was reached at one of the addresses.
    has_answered: AtomicBool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Method {
    Get,
    Head,
    Post,
    Delete,
}

/// A request to any node.
#[derive(Debug)]
pub(crate) struct Request<'a> {
    pub method: Method,
    /// The path and the query, from `/v1` on.
    pub path: String,
    pub headers: Vec<(&'static str, String)>,
    pub body: &'a [u8],
}

impl Request<'_> {
    pub(crate) fn new(method: Method, path: String) -> Request<'static> {
        Request { method, path, headers: Vec::new(), body: &[] }
    }
}

/// A successful response.
#[derive(Debug)]
pub(crate) struct Response {
    pub status: u16,
    /// The length of the log, if the response states it.
    pub length: Option<u64>,
    pub body: Vec<u8>,
}

impl Nodes {
    pub(crate) fn new(urls: &str, options: HttpOptions) -> Result<Self, InvalidAddress> {
        let urls: Vec<String> = urls.split(',').map(base).collect::<Result<_, _>>()?;
        let HttpOptions { token, deadline, has_env_proxy, extra_roots } = options;
        if token.as_ref().is_some_and(|token| !token.is_sendable()) {
            return Err(InvalidAddress::Token);
        }
        let mut config = ureq::Agent::config_builder()
            .http_status_as_error(false)
            // A token must not be sent to another host.
            .max_redirects(0)
            .max_redirects_will_error(false)
            .timeout_connect(Some(CONNECT))
            .user_agent(concat!("treering/", env!("CARGO_PKG_VERSION")))
            .proxy(if has_env_proxy { ureq::Proxy::try_from_env() } else { None })
            .max_idle_connections_per_host(8);
        if urls.iter().any(|url| url.starts_with("https://")) {
            config = config.tls_config(tls(extra_roots)?);
        }
        let location = urls.join(",");
        let (agent, current) = (config.build().new_agent(), AtomicUsize::new(0));
        let has_answered = AtomicBool::new(false);
        Ok(Nodes { agent, urls, location, current, token, deadline, has_answered })
    }

    /// Returns the addresses for messages.
    pub(crate) fn location(&self) -> &str {
        &self.location
    }

    /// Returns the problem for a response that cannot be read.
    pub(crate) fn unreadable(&self, error: &serde_json::Error) -> Problem {
        let what = format!("{} sent an answer that cannot be read: {error}", self.location);
        Problem::Lasting(io::Error::new(io::ErrorKind::InvalidData, what))
    }

    /// Sends a request that is safe to repeat, until there is a response or the deadline is over.
    pub(crate) fn call(&self, request: &Request<'_>) -> Result<Response, Problem> {
        let mut attempts = self.attempts(request.body.len());
        loop {
            match attempts.send(request) {
                Ok(answer) => return Ok(answer),
                Err(problem) => attempts.wait(problem)?,
            }
        }
    }

    /// Begins a call with a body of this many bytes.
    pub(crate) fn attempts(&self, bytes: usize) -> Attempts<'_> {
        let extra = Duration::from_secs(bytes as u64 / MIN_BYTES_PER_SECOND);
        let until = Instant::now() + self.deadline + extra;
        let (pause, failed_nodes) = (PAUSES.0, 0);
        Attempts { nodes: self, until, extra, pause, failed_nodes, is_uncertain: false }
    }

    /// Opens a stream of events at the current node.
    pub(crate) fn stream(
        &self,
        request: &Request<'_>,
        timeout_per_read: Duration,
    ) -> Result<ureq::BodyReader<'static>, Problem> {
        let number = self.current.load(Ordering::Relaxed);
        let node = self.node(number);
        let configured = self.configured(request, node, ())?;
        let configured = self
            .agent
            .configure_request(configured)
            .timeout_recv_response(Some(PER_NODE))
            .timeout_per_read(Some(timeout_per_read))
            .build();
        let answered =
            self.agent.run(configured).map_err(|error| problem::of_transport(node, error));
        let opened = answered.and_then(|answer| match answer.status().as_u16() {
            200 => Ok(answer.into_body().into_with_config().limit(u64::MAX).reader()),
            _ => Err(self.refused(node, answer)),
        });
        self.note(&opened);
        opened.inspect_err(|problem| self.leave_if_passing(number, problem))
    }

    /// Sends a request once, to the current node.
    fn send(&self, request: &Request<'_>, timeout: Duration) -> Result<Response, Problem> {
        let number = self.current.load(Ordering::Relaxed);
        let node = self.node(number);
        let answered = self.send_to(node, request, timeout);
        self.note(&answered);
        answered.inspect_err(|problem| self.leave_if_passing(number, problem))
    }

    fn send_to(
        &self,
        node: &str,
        request: &Request<'_>,
        timeout: Duration,
    ) -> Result<Response, Problem> {
        let failed = |error| problem::of_transport(node, error);
        let answered = match request.method {
            Method::Post => {
                let request = self.configured(request, node, request.body)?;
                let configured = self.agent.configure_request(request);
                self.agent.run(configured.timeout_global(Some(timeout)).build())
            }
            Method::Get | Method::Head | Method::Delete => {
                let request = self.configured(request, node, ())?;
                let configured = self.agent.configure_request(request);
                self.agent.run(configured.timeout_global(Some(timeout)).build())
            }
        };
        let mut answer = answered.map_err(failed)?;
        let status = answer.status().as_u16();
        // A range after the end of a log is not a failure.
        if !matches!(status, 200..=299 | 416) {
            return Err(self.refused(node, answer));
        }
        let length = answer.headers().get("x-treering-length");
        let length = length.and_then(|value| value.to_str().ok()?.parse().ok());
        let body =
            answer.body_mut().with_config().limit(MAX_ANSWER).read_to_vec().map_err(failed)?;
        Ok(Response { status, length, body })
    }

    fn configured<B>(
        &self,
        request: &Request<'_>,
        node: &str,
        body: B,
    ) -> Result<http::Request<B>, Problem> {
        let method = match request.method {
            Method::Get => http::Method::GET,
            Method::Head => http::Method::HEAD,
            Method::Post => http::Method::POST,
            Method::Delete => http::Method::DELETE,
        };
        let mut builder =
            http::Request::builder().method(method).uri(format!("{node}{}", request.path));
        for (name, value) in &request.headers {
            builder = builder.header(*name, value);
        }
        if let Some(token) = &self.token {
            let value = http::HeaderValue::from_str(&token.authorization());
            if let Ok(mut value) = value {
                value.set_sensitive(true);
                builder = builder.header(http::header::AUTHORIZATION, value);
            }
        }
        builder.body(body).map_err(|error| {
            let what = format!("the request to {node} cannot be made: {error}");
            Problem::Lasting(io::Error::new(io::ErrorKind::InvalidInput, what))
        })
    }

    /// Returns the problem for a response that is not a success.
    fn refused(&self, node: &str, mut answer: http::Response<ureq::Body>) -> Problem {
        let after = answer.headers().get(http::header::RETRY_AFTER);
        let after = after.and_then(|value| value.to_str().ok()?.trim().parse().ok());
        let mut body = Vec::new();
        // An incomplete body does not state the problem.
        if let Err(error) = answer.body_mut().as_reader().take(64 * 1024).read_to_end(&mut body) {
            return problem::of_transport(node, error.into());
        }
        let (status, after) = (answer.status().as_u16(), after.map(Duration::from_secs));
        problem::of_answer((node, self.token.is_some()), status, &body, after)
    }

    /// Notes that a node was reached, unless the problem says that there is none at the address.
    fn note<T>(&self, result: &Result<T, Problem>) {
        if !matches!(result, Err(problem) if problem.is_unreachable()) {
            self.has_answered.store(true, Ordering::Relaxed);
        }
    }

    fn node(&self, number: usize) -> &str {
        self.urls.get(number % self.urls.len().max(1)).map_or("", String::as_str)
    }

    /// Switches to the next node after one that did not answer.
    fn leave_if_passing(&self, number: usize, problem: &Problem) {
        if matches!(problem, Problem::Passing { .. }) {
            // Another thread may already have switched.
            let next = number.wrapping_add(1);
            let (old, order) = (number, Ordering::Relaxed);
            let _ = self.current.compare_exchange(old, next, order, order);
        }
    }
}

/// The attempts of one call.
#[derive(Debug)]
pub(crate) struct Attempts<'a> {
    nodes: &'a Nodes,
    until: Instant,
    extra: Duration,
    pause: Duration,
    failed_nodes: usize,
    is_uncertain: bool,
}

impl Attempts<'_> {
    /// Sends a request once.
    pub(crate) fn send(&self, request: &Request<'_>) -> Result<Response, Problem> {
        let left = self.until.saturating_duration_since(Instant::now());
        let timeout = left.min(PER_NODE + self.extra).max(Duration::from_millis(1));
        self.nodes.send(request, timeout)
    }

    /// Returns whether an attempt may have been carried out although it was not answered.
    pub(crate) fn is_uncertain(&self) -> bool {
        self.is_uncertain
    }

    /// Waits before the next attempt.
    ///
    /// # Errors
    ///
    /// Fails with the problem if it is permanent, if the deadline is over, or if no node has ever
    /// been reached: the address may be wrong.
    pub(crate) fn wait(&mut self, problem: Problem) -> Result<(), Problem> {
        let is_unreachable = problem.is_unreachable();
        let Problem::Passing { error, retry_after } = problem else { return Err(problem) };
        self.is_uncertain = true;
        self.failed_nodes += 1;
        let now = Instant::now();
        // The other nodes are asked without a pause.
        let pause = match self.failed_nodes % self.nodes.urls.len().max(1) {
            0 => {
                let pause = retry_after.unwrap_or_default().max(self.pause);
                self.pause = (self.pause * 2).min(PAUSES.1);
                pause
            }
            _ => Duration::ZERO,
        };
        let has_tried_all = self.failed_nodes >= self.nodes.urls.len();
        let is_wrong = is_unreachable && !self.nodes.has_answered.load(Ordering::Relaxed);
        if now + pause >= self.until || is_wrong && has_tried_all {
            return Err(Problem::Passing { error, retry_after });
        }
        std::thread::sleep(pause);
        Ok(())
    }
}

/// Returns a base address without the slash at its end.
fn base(url: &str) -> Result<String, InvalidAddress> {
    let url = url.trim();
    let shown = || url.chars().filter(|c| !c.is_control()).take(200).collect();
    let rest = ["http://", "https://"].into_iter().find_map(|scheme| url.strip_prefix(scheme));
    let Some(rest) = rest else {
        // A text that is not an address may still contain a password.
        return Err(if url.contains('@') {
            InvalidAddress::Credentials
        } else {
            InvalidAddress::Address(shown())
        });
    };
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    if authority.contains('@') {
        return Err(InvalidAddress::Credentials);
    }
    let is_uri = url.parse::<http::Uri>().is_ok_and(|uri| uri.host().is_some());
    if authority.is_empty() || rest.contains(['?', '#']) || !is_uri {
        return Err(InvalidAddress::Address(shown()));
    }
    Ok(url.trim_end_matches('/').to_owned())
}

/// Returns a TLS configuration that trusts the certificates of the system.
fn tls(extra_roots: Vec<Vec<u8>>) -> Result<TlsConfig, InvalidAddress> {
    let loaded = rustls_native_certs::load_native_certs();
    let system = loaded.certs.iter().map(|der| Certificate::from_der(der).to_owned());
    let extra = extra_roots.iter().map(|der| Certificate::from_der(der).to_owned());
    let roots: Vec<Certificate<'static>> = system.chain(extra).collect();
    if roots.is_empty() {
        let why = loaded
            .errors
            .first()
            .map_or("there are no certificates".to_owned(), ToString::to_string);
        return Err(InvalidAddress::Tls(why));
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    Ok(TlsConfig::builder()
        .root_certs(RootCerts::Specific(Arc::new(roots)))
        .unversioned_rustls_crypto_provider(provider)
        .build())
}
