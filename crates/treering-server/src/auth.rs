//! Decides whether a request is accepted, before its body is read: checks the host name, the
//! origin, the token and its scope.

use crate::node::Node;
use crate::operation::Operation;
use crate::problem::{Code, Problem};
use crate::tokens::{Grant, TokenHash, random_text};
use axum::http::{HeaderMap, HeaderValue, header};
use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// The name of the cookie of a logged-in browser.
const COOKIE: &str = "treering_session";

/// The time for which a browser stays logged in.
const COOKIE_TIME: Duration = Duration::from_secs(12 * 60 * 60);

/// The time for which a login link is valid.
const CODE_TIME: Duration = Duration::from_secs(10 * 60);

/// The maximum number of codes and cookies that are kept; the oldest are removed.
const MAX_LOGINS: usize = 256;

/// The maximum number of grants that are kept.
const MAX_GRANTS: usize = 10_000;

/// Finds the grant of a request to an operation that needs one.
pub(crate) async fn grant(
    node: &Arc<Node>,
    operation: &Operation,
    headers: &HeaderMap,
    peer: Option<IpAddr>,
) -> Result<Option<Arc<Grant>>, Problem> {
    let Some(scope) = operation.scope else { return Ok(None) };
    let now = Instant::now();
    let refused = |reason: &'static str, detail: &str| {
        count_refusal(node, peer, now);
        let problem = Problem::new(Code::Unauthorized, detail).because(reason);
        problem.header(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"))
    };
    let (grant, key) = match credentials(headers) {
        Credentials::Bearer(token) => {
            let hash = TokenHash::of(token);
            (find(node, hash, peer, now).await?, hash)
        }
        Credentials::Cookie(value) => {
            let hash = TokenHash::of(value);
            match node.logins.grant_of(&hash, now) {
                Some(grant) => (Some(grant), hash),
                // A browser that logged in with a token has the token as its cookie.
                None => (find(node, hash, peer, now).await?, hash),
            }
        }
        Credentials::None => {
            return Err(refused("no_token", "send a token: Authorization: Bearer …"));
        }
        Credentials::Malformed => {
            return Err(refused(
                "malformed_token",
                "the Authorization header is not a bearer token",
            ));
        }
    };
    let Some(grant) = grant else {
        return Err(refused("unknown_token", "the token is unknown or was revoked"));
    };
    if grant.is_expired(unix_millis()) {
        return Err(refused("expired_token", "the token has expired"));
    }
    if grant.scope < scope {
        let detail = format!("the call needs the scope {scope}, the token has {}", grant.scope);
        return Err(Problem::new(Code::Forbidden, detail).because("scope"));
    }
    node.rate.take(key, now).map_err(|seconds| {
        let problem = Problem::new(Code::TooManyRequests, "the token is used too often");
        problem.because("rate").retry_after(seconds)
    })?;
    Ok(Some(grant))
}

/// Counts a refused token or code for the client's address. If the bucket gets empty, the next
/// attempt is refused.
fn count_refusal(node: &Node, peer: Option<IpAddr>, now: Instant) {
    if let Some(peer) = peer {
        let _ = node.refused_rate.take(peer, now);
    }
}

/// Refuses an address from which too many invalid tokens or codes came.
fn check_address(node: &Node, peer: Option<IpAddr>, now: Instant) -> Result<(), Problem> {
    let Some(peer) = peer else { return Ok(()) };
    node.refused_rate.check(peer, now).map_err(|seconds| {
        let problem = Problem::new(Code::TooManyRequests, "too many refused tokens");
        problem.because("refused_rate").retry_after(seconds)
    })
}

/// Returns the grant of a token, from memory or from the storage of tokens.
async fn find(
    node: &Arc<Node>,
    hash: TokenHash,
    peer: Option<IpAddr>,
    now: Instant,
) -> Result<Option<Arc<Grant>>, Problem> {
    if let Some(grant) = node.grants.get(&hash, now) {
        return Ok(Some(grant));
    }
    check_address(node, peer, now)?;
    let tokens = Arc::clone(&node.tokens);
    let found = node.work.run(move || tokens.find(&hash)).await??;
    let Some(grant) = found.map(Arc::new) else { return Ok(None) };
    node.grants.insert(hash, Arc::clone(&grant), now);
    Ok(Some(grant))
}

enum Credentials<'a> {
    Bearer(&'a str),
    Cookie(&'a str),
    Malformed,
    None,
}

fn credentials(headers: &HeaderMap) -> Credentials<'_> {
    if let Some(value) = headers.get(header::AUTHORIZATION) {
        let token = value.to_str().ok().and_then(|value| {
            let (scheme, token) = value.split_once(' ')?;
            let token = token.trim();
            (scheme.eq_ignore_ascii_case("bearer") && !token.is_empty()).then_some(token)
        });
        return token.map_or(Credentials::Malformed, Credentials::Bearer);
    }
    let cookies = headers.get_all(header::COOKIE).iter();
    let cookies = cookies.filter_map(|value| value.to_str().ok());
    let mut pairs =
        cookies.flat_map(|value| value.split(';')).filter_map(|pair| pair.split_once('='));
    let cookie = pairs.find(|(name, _)| name.trim() == COOKIE);
    cookie.map_or(Credentials::None, |(_, value)| Credentials::Cookie(value.trim()))
}

/// The host names that a server accepts.
#[derive(Debug, Clone, Default)]
pub(crate) enum Hosts {
    /// All host names are accepted.
    #[default]
    Any,
    /// These host names are accepted, without ports.
    Only(Vec<String>),
}

impl Hosts {
    /// Returns the names of the loopback interface.
    pub(crate) fn loopback() -> Self {
        Hosts::Only(["localhost", "127.0.0.1", "[::1]"].map(str::to_owned).to_vec())
    }

    /// Refuses requests with another host name, which come from a page whose name was rebound to
    /// this address. Also refuses requests from pages of another origin.
    pub(crate) fn check(&self, headers: &HeaderMap, uri_host: Option<&str>) -> Result<(), Problem> {
        let host = match uri_host {
            Some(host) => Some(host),
            None => headers.get(header::HOST).and_then(|value| value.to_str().ok()),
        };
        let is_only_one = headers.get_all(header::HOST).iter().count() <= 1;
        // Probes of old load balancers have no host name. The token alone decides what such a
        // request may do.
        if host.is_none() && matches!(self, Hosts::Any) && !headers.contains_key(header::ORIGIN) {
            return Ok(());
        }
        let Some(host) = host.filter(|_| is_only_one) else {
            let problem = Problem::new(Code::MisdirectedRequest, "there is no valid Host header");
            return Err(problem.because("host"));
        };
        if let Hosts::Only(names) = self
            && !names.iter().any(|name| name.eq_ignore_ascii_case(without_port(host)))
        {
            let detail = "the server does not accept the name in the Host header";
            return Err(Problem::new(Code::MisdirectedRequest, detail).because("host"));
        }
        let is_foreign = match headers.get(header::ORIGIN) {
            Some(origin) => !origin.to_str().is_ok_and(|origin| is_origin_of(origin, host)),
            None => headers
                .get("sec-fetch-site")
                .is_some_and(|site| !matches!(site.as_bytes(), b"same-origin" | b"none")),
        };
        match is_foreign {
            true => {
                let problem = Problem::new(Code::Forbidden, "a page of another origin asked");
                Err(problem.because("foreign_origin"))
            }
            false => Ok(()),
        }
    }
}

fn without_port(host: &str) -> &str {
    match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    }
}

fn is_origin_of(origin: &str, host: &str) -> bool {
    let name = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"));
    name.is_some_and(|name| name.eq_ignore_ascii_case(host))
}

/// A cache of the grants of tokens.
#[derive(Debug)]
pub(crate) struct Grants {
    time: Duration,
    known: Mutex<HashMap<TokenHash, (Arc<Grant>, Instant)>>,
}

impl Grants {
    pub(crate) fn new(time: Duration) -> Self {
        Grants { time, known: Mutex::default() }
    }

    fn known(&self) -> MutexGuard<'_, HashMap<TokenHash, (Arc<Grant>, Instant)>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn get(&self, hash: &TokenHash, now: Instant) -> Option<Arc<Grant>> {
        let known = self.known();
        let (grant, since) = known.get(hash)?;
        (now.saturating_duration_since(*since) < self.time).then(|| Arc::clone(grant))
    }

    fn insert(&self, hash: TokenHash, grant: Arc<Grant>, now: Instant) {
        let mut known = self.known();
        if known.len() >= MAX_GRANTS {
            known.retain(|_, (_, since)| now.saturating_duration_since(*since) < self.time);
            if known.len() >= MAX_GRANTS {
                known.clear();
            }
        }
        known.insert(hash, (grant, now));
    }
}

/// Logins of browsers with a link: unused codes, and cookies.
#[derive(Debug)]
pub(crate) struct Logins {
    /// The permissions of a browser; `None` if browsers cannot log in.
    grant: Option<Arc<Grant>>,
    codes: Mutex<Vec<(TokenHash, Instant)>>,
    cookies: Mutex<Vec<(TokenHash, Instant)>>,
}

impl Logins {
    pub(crate) fn new(grant: Option<Grant>) -> Self {
        let (codes, cookies) = (Mutex::default(), Mutex::default());
        Logins { grant: grant.map(Arc::new), codes, cookies }
    }

    /// Returns a new code, which can be used once.
    pub(crate) fn new_code(&self) -> std::io::Result<String> {
        let code = random_text()?;
        remember(&self.codes, TokenHash::of(&code));
        Ok(code)
    }

    /// Uses a code and returns the header that sets a cookie; `None` if the code is not valid.
    pub(crate) fn log_in(
        &self,
        code: &str,
        is_secure: bool,
    ) -> std::io::Result<Option<HeaderValue>> {
        let is_valid = self.grant.is_some() && take(&self.codes, &TokenHash::of(code));
        if !is_valid {
            return Ok(None);
        }
        let value = random_text()?;
        remember(&self.cookies, TokenHash::of(&value));
        Ok(cookie(&value, COOKIE_TIME, is_secure))
    }

    fn grant_of(&self, cookie: &TokenHash, now: Instant) -> Option<Arc<Grant>> {
        let cookies = self.cookies.lock().unwrap_or_else(PoisonError::into_inner);
        let (_, since) = cookies.iter().find(|(hash, _)| hash == cookie)?;
        let is_valid = now.saturating_duration_since(*since) < COOKIE_TIME;
        self.grant.clone().filter(|_| is_valid)
    }
}

/// Returns the header that sets the cookie of a browser; an empty value with a time of zero removes
/// it.
fn cookie(value: &str, time: Duration, is_secure: bool) -> Option<HeaderValue> {
    let secure = if is_secure { "; Secure" } else { "" };
    let seconds = time.as_secs();
    let cookie =
        format!("{COOKIE}={value}; HttpOnly; SameSite=Strict; Path=/; Max-Age={seconds}{secure}");
    HeaderValue::try_from(cookie).ok()
}

/// Checks a token that was typed into the page. Returns the header that sets it as the browser's
/// cookie: every node accepts it, and it is refused as soon as the token is revoked.
pub(crate) async fn log_in_with_token(
    node: &Arc<Node>,
    token: &str,
    peer: Option<IpAddr>,
) -> Result<Option<HeaderValue>, Problem> {
    let now = Instant::now();
    check_address(node, peer, now)?;
    let is_plain = token.bytes().all(|byte| byte.is_ascii_graphic() && !b"\",;\\".contains(&byte));
    let found = match token.is_empty() || !is_plain {
        true => None,
        false => find(node, TokenHash::of(token), peer, now).await?,
    };
    let is_valid = found.is_some_and(|grant| !grant.is_expired(unix_millis()));
    if !is_valid {
        count_refusal(node, peer, now);
    }
    Ok(cookie(token, COOKIE_TIME, node.is_secure).filter(|_| is_valid))
}

/// Uses the code of a link. Returns the header that sets a cookie; `None` if the code is not valid.
pub(crate) fn log_in_with_code(
    node: &Node,
    code: &str,
    peer: Option<IpAddr>,
) -> Result<Option<HeaderValue>, Problem> {
    let now = Instant::now();
    check_address(node, peer, now)?;
    let cookie = node.logins.log_in(code, node.is_secure)?;
    if cookie.is_none() {
        count_refusal(node, peer, now);
    }
    Ok(cookie)
}

/// Returns the header that removes the cookie of a browser.
pub(crate) fn log_out(node: &Node) -> Option<HeaderValue> {
    cookie("", Duration::ZERO, node.is_secure)
}

fn remember(list: &Mutex<Vec<(TokenHash, Instant)>>, hash: TokenHash) {
    let mut list = list.lock().unwrap_or_else(PoisonError::into_inner);
    if list.len() >= MAX_LOGINS {
        list.remove(0);
    }
    list.push((hash, Instant::now()));
}

/// Removes a code. Returns whether it existed and is not too old.
fn take(list: &Mutex<Vec<(TokenHash, Instant)>>, hash: &TokenHash) -> bool {
    let mut list = list.lock().unwrap_or_else(PoisonError::into_inner);
    let Some(at) = list.iter().position(|(known, _)| known == hash) else { return false };
    let (_, since) = list.remove(at);
    since.elapsed() < CODE_TIME
}

pub(crate) fn unix_millis() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            headers.append(*name, HeaderValue::from_static(value));
        }
        headers
    }

    #[test]
    fn only_names_of_the_server_and_pages_of_its_own_are_accepted() {
        let hosts = Hosts::loopback();
        for (pairs, is_accepted) in [
            (vec![("host", "localhost:8080")], true),
            (vec![("host", "[::1]:8080")], true),
            (vec![("host", "127.0.0.1")], true),
            (vec![("host", "evil.example:8080")], false),
            (vec![("host", "localhost.evil.example")], false),
            (vec![("host", "localhost"), ("host", "evil.example")], false),
            (vec![], false),
            (vec![("host", "localhost:80"), ("origin", "http://localhost:80")], true),
            (vec![("host", "localhost:80"), ("origin", "http://localhost:81")], false),
            (vec![("host", "localhost:80"), ("origin", "null")], false),
            (vec![("host", "localhost"), ("sec-fetch-site", "cross-site")], false),
            (vec![("host", "localhost"), ("sec-fetch-site", "none")], true),
        ] {
            let found = hosts.check(&headers(&pairs), None);
            assert_eq!(found.is_ok(), is_accepted, "{pairs:?}");
        }
        assert!(Hosts::Any.check(&headers(&[("host", "treering.example")]), None).is_ok());
    }

    #[test]
    fn a_code_can_be_used_once() {
        let grant = Grant {
            name: "browser".into(),
            space: "main".into(),
            scope: treering::store::Scope::Write,
            expires: None,
        };
        let logins = Logins::new(Some(grant));
        let code = logins.new_code().unwrap();
        let cookie = logins.log_in(&code, false).unwrap().unwrap();
        let text = cookie.to_str().unwrap().to_owned();
        assert!(text.contains("HttpOnly") && text.contains("SameSite=Strict"));
        assert!(logins.log_in(&code, false).unwrap().is_none());
        let value = text.split(['=', ';']).nth(1).unwrap();
        assert!(logins.grant_of(&TokenHash::of(value), Instant::now()).is_some());
        assert!(logins.grant_of(&TokenHash::of("tampered"), Instant::now()).is_none());
    }
}
