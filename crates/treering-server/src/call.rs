//! A call of the API: its parameters, its body, and the node.

use crate::node::Node;
use crate::operation::{Operation, Param, ParamLocation, tag};
use crate::problem::{Code, Problem};
use crate::tokens::Grant;
use axum::body::Body;
use axum::http::{HeaderMap, HeaderValue, Response, StatusCode, header};
use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};
use treering::SessionId;
use treering::store::Store;

pub(crate) const JSON: &str = "application/json";
pub(crate) const NDJSON: &str = "application/x-ndjson";
pub(crate) const OCTETS: &str = "application/octet-stream";

/// A call whose token and parameters were checked.
pub(crate) struct Call {
    pub(crate) node: Arc<Node>,
    pub(crate) operation: &'static Operation,
    /// The address of the client.
    pub(crate) peer: Option<IpAddr>,
    /// The grant of the token; `None` for calls that need no token.
    pub(crate) grant: Option<Arc<Grant>>,
    /// The store of the grant's space.
    store: Option<Arc<dyn Store>>,
    values: HashMap<&'static str, String>,
    pub(crate) headers: HeaderMap,
    /// The body is in a mutex only because calls are shared between threads, and bodies cannot be.
    body: Mutex<Body>,
}

impl Call {
    /// Checks the parameters of a call.
    pub(crate) fn new(
        node: Arc<Node>,
        operation: &'static Operation,
        path: &[(String, String)],
        query: &str,
        headers: HeaderMap,
        body: Body,
    ) -> Result<Self, Problem> {
        let mut values: HashMap<&'static str, String> = HashMap::new();
        let known = |name: &str, place: ParamLocation| {
            let mut params = operation.params.iter();
            params.find(|param| param.name == name && param.place == place)
        };
        for (name, value) in path {
            if let Some(param) = known(name, ParamLocation::Path) {
                param.check(value)?;
                values.insert(param.name, value.clone());
            }
        }
        for (name, value) in form_urlencoded::parse(query.as_bytes()) {
            let Some(param) = known(&name, ParamLocation::Query) else {
                return Err(Problem::invalid(format!("there is no parameter {name:?}")));
            };
            param.check(&value)?;
            if values.insert(param.name, value.into_owned()).is_some() {
                return Err(Problem::invalid(format!("{} is given twice", param.name)));
            }
        }
        for param in operation.params.iter().filter(|param| param.place == ParamLocation::Header) {
            if let Some(value) = header_text(&headers, param)? {
                param.check(value)?;
                values.insert(param.name, value.to_owned());
            }
        }
        let missing = operation
            .params
            .iter()
            .find(|param| param.is_required && !values.contains_key(param.name));
        if let Some(param) = missing {
            return Err(Problem::invalid(format!("{} is missing", param.name)));
        }
        let body = Mutex::new(body);
        Ok(Call { node, operation, peer: None, grant: None, store: None, values, headers, body })
    }

    /// Adds the address of the client, and the grant of the token.
    pub(crate) fn granted(
        self,
        peer: Option<IpAddr>,
        grant: Option<Arc<Grant>>,
        store: Option<Arc<dyn Store>>,
    ) -> Self {
        Call { peer, grant, store, ..self }
    }

    /// Returns the store of the token's space.
    pub(crate) fn store(&self) -> Result<Arc<dyn Store>, Problem> {
        self.store.clone().ok_or_else(|| Problem::new(Code::Internal, "the call has no space"))
    }

    /// Returns the name of the token's space.
    pub(crate) fn space(&self) -> &str {
        self.grant.as_ref().map_or("", |grant| &grant.space)
    }

    /// Returns the session that the path names.
    pub(crate) fn session_id(&self) -> Result<SessionId, Problem> {
        session_id(self.text("id").unwrap_or_default())
    }

    /// Returns the value of a parameter.
    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        self.values.get(name).map(String::as_str)
    }

    /// Returns the value of a parameter that is a number.
    pub(crate) fn integer(&self, name: &str) -> Option<i64> {
        self.text(name)?.parse().ok()
    }

    /// Returns the value of a parameter that is a count or a size.
    pub(crate) fn count(&self, name: &str) -> Option<u64> {
        self.text(name)?.parse().ok()
    }

    /// Returns whether a parameter is `true`.
    pub(crate) fn flag(&self, name: &str) -> bool {
        self.text(name) == Some("true")
    }

    /// Returns the entity tag in `If-Match`; `None` if there is no condition.
    pub(crate) fn if_match(&self) -> Option<&str> {
        tag(self.text("If-Match")?)
    }

    /// Returns whether the client already has this version.
    pub(crate) fn has_tag(&self, wanted: &str) -> bool {
        let values = self.headers.get_all(header::IF_NONE_MATCH).iter();
        values.filter_map(|value| value.to_str().ok()).flat_map(|value| value.split(',')).any(
            |value| {
                let value = value.trim();
                let value = value.strip_prefix("W/").unwrap_or(value);
                value == "*" || tag(value) == Some(wanted)
            },
        )
    }

    /// Returns the media type of the body, without its parameters.
    pub(crate) fn media(&self) -> Option<String> {
        let value = self.headers.get(header::CONTENT_TYPE)?.to_str().ok()?;
        Some(value.split(';').next()?.trim().to_ascii_lowercase())
    }

    /// Returns whether the client prefers a media type to JSON.
    pub(crate) fn prefers(&self, media: &str) -> bool {
        let values = self.headers.get_all(header::ACCEPT).iter();
        values
            .filter_map(|value| value.to_str().ok())
            .flat_map(|value| value.split(','))
            .any(|value| value.split(';').next().is_some_and(|value| value.trim() == media))
    }

    /// Reads the body, which must have one of the operation's media types.
    pub(crate) async fn bytes(&mut self) -> Result<Bytes, Problem> {
        let media = self.media();
        let is_known = |media: &str| self.operation.bodies.iter().any(|body| body.media == media);
        if !media.as_deref().is_some_and(is_known) {
            let known: Vec<&str> = self.operation.bodies.iter().map(|body| body.media).collect();
            let detail = format!("the body must be {}", known.join(" or "));
            return Err(Problem::new(Code::UnsupportedMediaType, detail));
        }
        let limits = &self.node.limits;
        let too_large = || {
            let detail = format!("a body has at most {} bytes", limits.body);
            Problem::new(Code::BodyTooLarge, detail).with("limit", limits.body)
        };
        let body = self.body.get_mut().unwrap_or_else(PoisonError::into_inner);
        let announced = http_body::Body::size_hint(body).lower();
        if announced > limits.body {
            return Err(too_large());
        }
        let mut bytes = BytesMut::with_capacity(announced.min(1 << 20) as usize);
        let mut due = bytes.len() + PROGRESS;
        let mut deadline = tokio::time::Instant::now() + limits.progress_time;
        loop {
            let frame = match tokio::time::timeout_at(deadline, body.frame()).await {
                Ok(None) => return Ok(bytes.freeze()),
                Ok(Some(Ok(frame))) => frame,
                Ok(Some(Err(_))) => {
                    return Err(Problem::invalid("the body ended early").because("broken_body"));
                }
                Err(_) => {
                    let detail = "the body did not arrive in time";
                    let problem = Problem::new(Code::RequestTimeout, detail);
                    return Err(problem.because("body_timeout").close());
                }
            };
            let Ok(data) = frame.into_data() else { continue };
            if (bytes.len() + data.len()) as u64 > limits.body {
                return Err(too_large().close());
            }
            bytes.extend_from_slice(&data);
            if bytes.len() >= due {
                due = bytes.len() + PROGRESS;
                deadline = tokio::time::Instant::now() + limits.progress_time;
            }
        }
    }

    /// Reads the body as JSON.
    pub(crate) async fn json<T: DeserializeOwned>(&mut self) -> Result<T, Problem> {
        let bytes = self.bytes().await?;
        serde_json::from_slice(&bytes)
            .map_err(|error| Problem::invalid(format!("the body: {error}")))
    }
}

/// The number of bytes of a body that must arrive within the time for progress.
const PROGRESS: usize = 64 * 1024;

fn header_text<'a>(headers: &'a HeaderMap, param: &Param) -> Result<Option<&'a str>, Problem> {
    let mut values = headers.get_all(param.name).iter();
    let Some(value) = values.next() else { return Ok(None) };
    if values.next().is_some() {
        return Err(Problem::invalid(format!("{} is given twice", param.name)));
    }
    let text = std::str::from_utf8(value.as_bytes());
    text.map(Some).map_err(|_| Problem::invalid(format!("{} is not UTF-8", param.name)))
}

/// Parses the id of a session.
pub(crate) fn session_id(text: &str) -> Result<SessionId, Problem> {
    SessionId::new(text).map_err(|error| Problem::invalid(error.to_string()))
}

/// Returns a response with a JSON body.
pub(crate) fn json_answer(
    status: StatusCode,
    value: &impl Serialize,
) -> Result<Response<Body>, Problem> {
    let bytes = serde_json::to_vec(value);
    let bytes = bytes.map_err(|error| Problem::new(Code::Internal, error.to_string()))?;
    Ok(answer(status, JSON, bytes.into()))
}

/// Returns a response with a body.
pub(crate) fn answer(status: StatusCode, media: &'static str, body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(media));
    response
}

/// Returns a response without a body.
pub(crate) fn empty_answer(status: StatusCode) -> Response<Body> {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = status;
    response
}

/// Adds the length of the log as an entity tag.
pub(crate) fn tagged(mut response: Response<Body>, length: u64) -> Response<Body> {
    if let Ok(value) = HeaderValue::try_from(format!("\"{length}\"")) {
        response.headers_mut().insert(header::ETAG, value);
    }
    response
}
