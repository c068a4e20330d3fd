//! Routes a request to its operation, with the checks before it and the headers of every response.

use crate::api::OPERATIONS;
use crate::auth;
use crate::call::Call;
use crate::gzip;
use crate::mcp;
use crate::node::{Node, Phase};
use crate::operation::{Answered, Operation};
use crate::page::{self, PAGES};
use crate::problem::{Code, Problem};
use axum::Router;
use axum::body::Body;
use axum::extract::{FromRequestParts, RawPathParams, Request};
use axum::http::request::Parts;
use axum::http::{HeaderValue, Method, Response, header};
use axum::routing::{MethodFilter, MethodRouter};
use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Instant;

/// The address of the client, as an extension of its requests.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Peer(pub(crate) IpAddr);

/// Returns the operations of the API, of the web page, and of the Model Context Protocol.
fn operations() -> impl Iterator<Item = &'static Operation> {
    OPERATIONS.iter().chain(PAGES.iter()).chain(std::iter::once(&*mcp::OPERATION))
}

/// Returns the router of all operations.
pub(crate) fn router(node: &Arc<Node>) -> Router {
    let mut paths: Vec<(&'static str, MethodRouter)> = Vec::new();
    let mut at: HashMap<&'static str, usize> = HashMap::new();
    for operation in operations() {
        let index = *at.entry(operation.path).or_insert_with(|| {
            paths.push((operation.path, MethodRouter::new()));
            paths.len() - 1
        });
        let node = Arc::clone(node);
        let handler = move |request: Request| answer(Arc::clone(&node), Some(operation), request);
        let filter = MethodFilter::try_from(operation.method.clone()).unwrap_or(MethodFilter::GET);
        let routes = std::mem::take(&mut paths[index].1);
        paths[index].1 = routes.on(filter, handler);
    }
    let mut router = Router::new();
    for (path, routes) in paths {
        let (node, methods) = (Arc::clone(node), allowed(path));
        let refuse = move |mut request: Request| {
            request.extensions_mut().insert(Allowed(methods.clone()));
            answer(Arc::clone(&node), None, request)
        };
        router = router.route(path, routes.fallback(refuse));
    }
    let node = Arc::clone(node);
    router.fallback(move |request: Request| answer(Arc::clone(&node), None, request))
}

/// The allowed methods of a path, as an extension of requests with another method.
#[derive(Debug, Clone)]
struct Allowed(HeaderValue);

fn allowed(path: &str) -> HeaderValue {
    let of_path = operations().filter(|operation| operation.path == path);
    let mut methods: Vec<&str> = of_path.map(|operation| operation.method.as_str()).collect();
    if methods.contains(&"GET") {
        methods.push("HEAD");
    }
    HeaderValue::try_from(methods.join(", ")).unwrap_or(HeaderValue::from_static("GET"))
}

async fn answer(
    node: Arc<Node>,
    operation: Option<&'static Operation>,
    request: Request,
) -> Response<Body> {
    let start = Instant::now();
    let accepts_gzip = gzip::is_accepted(request.headers());
    let (parts, body) = request.into_parts();
    let method = parts.method.clone();
    let path = parts.uri.path().to_owned();
    let reader = page::Reader::of(operation, &parts);
    let mut token = None;
    let result = respond(&node, operation, parts, body, &mut token).await;
    let name = operation.map_or("none", |operation| operation.id);
    let (mut response, reason) = match result {
        Ok(response) => (response, None),
        Err(problem) => {
            node.metrics.refused(problem.reason);
            let reason = problem.reason;
            if problem.code == Code::Internal {
                let detail = serde_json::Value::from(problem.detail.as_str());
                node.log(&format!(
                    "{{\"level\":\"error\",\"operation\":\"{name}\",\"detail\":{detail}}}"
                ));
            }
            let response = match &reader {
                Some(reader) => page::refusal(reader, problem),
                None => problem.into_response(),
            };
            (response, Some(reason))
        }
    };
    let headers = response.headers_mut();
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("private, no-cache"));
    headers.entry(header::REFERRER_POLICY).or_insert(HeaderValue::from_static("no-referrer"));
    let policy = HeaderValue::from_static("default-src 'none'; frame-ancestors 'none'");
    headers.entry(header::CONTENT_SECURITY_POLICY).or_insert(policy);
    if node.phase() >= Phase::Stopping {
        headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
    }
    let (status, time) = (response.status().as_u16(), start.elapsed());
    node.metrics.answered(name, status, time);
    if node.log.is_some() {
        let line = RequestLine {
            level: "info",
            time: treering::time::format(auth::unix_millis()),
            method: method.as_str(),
            path: &path,
            operation: name,
            status,
            ms: (time.as_secs_f64() * 1e6).round() / 1e3,
            token: token.as_deref(),
            refused: reason,
        };
        if let Ok(line) = serde_json::to_string(&line) {
            node.log(&line);
        }
    }
    gzip::compress(accepts_gzip && method != Method::HEAD, response)
}

/// The line of a request in the log. It has no query and no headers, which may contain secrets.
#[derive(serde::Serialize)]
struct RequestLine<'a> {
    level: &'static str,
    time: String,
    method: &'a str,
    path: &'a str,
    operation: &'static str,
    status: u16,
    ms: f64,
    /// The name of the token, not the token itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    token: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    refused: Option<&'static str>,
}

async fn respond(
    node: &Arc<Node>,
    operation: Option<&'static Operation>,
    mut parts: Parts,
    body: Body,
    token: &mut Option<String>,
) -> Answered {
    let uri_host = parts.uri.authority().map(|authority| authority.as_str().to_owned());
    node.hosts.check(&parts.headers, uri_host.as_deref())?;
    let Some(operation) = operation else {
        return Err(match parts.extensions.get::<Allowed>() {
            Some(Allowed(methods)) => {
                let detail = format!("{} is not a method of this path", parts.method);
                let problem = Problem::new(Code::MethodNotAllowed, detail);
                problem.header(header::ALLOW, methods.clone())
            }
            None => Problem::new(Code::NotFound, "GET /openapi.json lists all calls"),
        });
    };
    let peer = parts.extensions.get::<Peer>().map(|peer| peer.0);
    let grant = auth::grant(node, operation, &parts.headers, peer).await?;
    if let Some(grant) = &grant {
        *token = Some(grant.name.clone());
    }
    let path = RawPathParams::from_request_parts(&mut parts, &()).await;
    let path = path.map_err(|_| Problem::invalid("the path is not valid"))?;
    let path: Vec<(String, String)> =
        path.iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
    let store = match &grant {
        Some(grant) => {
            let store = node.spaces.store(&grant.space)?;
            let missing = || Problem::new(Code::Forbidden, "the token's space does not exist");
            Some(store.ok_or_else(|| missing().because("unknown_space"))?)
        }
        None => None,
    };
    let query = parts.uri.query().unwrap_or_default().to_owned();
    let call = Call::new(Arc::clone(node), operation, &path, &query, parts.headers, body)?;
    let answered = (operation.run)(call.granted(peer, grant, store));
    match tokio::time::timeout(node.limits.request_time, answered).await {
        Ok(answered) => answered,
        Err(_) => {
            let problem = Problem::new(Code::Overloaded, "the request took too long");
            Err(problem.because("request_timeout").retry_after(1))
        }
    }
}
