//! Refusals and failures, as `application/problem+json` with stable codes.

use axum::body::Body;
use axum::http::{HeaderName, HeaderValue, Response, StatusCode, header};
use serde_json::{Value, json};
use std::io;
use treering::Error;
use treering::storage::JournalError;

macro_rules! codes {
    ($($(#[doc = $doc:literal])* $name:ident = $status:literal $text:literal $title:literal,)*) => {
        /// The stable codes of problems.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub(crate) enum Code { $($(#[doc = $doc])* $name,)* }

        impl Code {
            pub(crate) const ALL: &[Code] = &[$(Code::$name,)*];

            /// The code as clients see it.
            pub(crate) fn name(self) -> &'static str {
                match self { $(Code::$name => $text,)* }
            }

            pub(crate) fn status(self) -> StatusCode {
                let status = match self { $(Code::$name => $status,)* };
                StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
            }

            pub(crate) fn title(self) -> &'static str {
                match self { $(Code::$name => $title,)* }
            }

            /// Returns the meaning of the code, for the documentation.
            pub(crate) fn about(self) -> &'static str {
                match self { $(Code::$name => concat!($($doc),*).trim_ascii(),)* }
            }
        }
    };
}

codes! {
    /// A parameter, a header or the body is not what the call takes.
    InvalidRequest = 400 "invalid_request" "The request is invalid",
    /// There is no token, or it is unknown, expired or revoked.
    Unauthorized = 401 "unauthorized" "A valid token is needed",
    /// The token's scope does not allow the call, or a web page of another origin made it.
    Forbidden = 403 "forbidden" "The call is not allowed",
    /// There is nothing at this path.
    NotFound = 404 "not_found" "There is no such call",
    /// The space has no session of this id.
    UnknownSession = 404 "unknown_session" "There is no such session",
    /// The session has no entry of this id.
    UnknownEntry = 404 "unknown_entry" "There is no such entry",
    /// The path exists, but not with this method.
    MethodNotAllowed = 405 "method_not_allowed" "The method is not allowed here",
    /// The call answers in no media type that the client accepts.
    NotAcceptable = 406 "not_acceptable" "No acceptable media type",
    /// The client did not send its request in time.
    RequestTimeout = 408 "request_timeout" "The request took too long to arrive",
    /// The log does not end as the client expects. `length` is its length.
    Moved = 409 "moved" "The end of the log differs",
    /// The space has a session of this id already.
    SessionExists = 409 "session_exists" "The session already exists",
    /// The session cannot be removed, because another program is writing to it, or did a moment ago.
    SessionInUse = 409 "session_in_use" "The session is in use",
    /// The session has another entry of this id already.
    DuplicateEntry = 409 "duplicate_entry" "The entry already exists",
    /// The model is answering in this session already.
    TurnRunning = 409 "turn_running" "The model is answering already",
    /// The leaf of the session is not the entry that `If-Match` names. `leaf` is the leaf.
    LeafMoved = 412 "leaf_moved" "The leaf has moved",
    /// The body is larger than the server accepts. `limit` is the number of bytes.
    BodyTooLarge = 413 "body_too_large" "The body is too large",
    /// The body is of a media type that the call does not take.
    UnsupportedMediaType = 415 "unsupported_media_type" "The media type is not supported",
    /// The range begins at or after the end of the log.
    RangeNotSatisfiable = 416 "range_not_satisfiable" "The range cannot be satisfied",
    /// The server does not accept the name in the `Host` header.
    MisdirectedRequest = 421 "misdirected_request" "The server does not accept this host name",
    /// An entry that cannot be written, or one that names an entry which does not exist.
    InvalidEntry = 422 "invalid_entry" "The entry cannot be written",
    /// The session is of an agent, or of a version, that is read-only; fork it.
    NotWritable = 422 "not_writable" "The session is read-only",
    /// The log that was sent is not the beginning of a session.
    NotASession = 422 "not_a_session" "The log is not a session",
    /// The same `Idempotency-Key` came with other entries before.
    IdempotencyKeyReused = 422 "idempotency_key_reused" "The key was used for something else",
    /// The operation does not apply to these entries or options.
    NotApplicable = 422 "not_applicable" "The operation does not apply",
    /// The server was started without a model to talk to.
    NoModel = 422 "no_model" "No model is configured",
    /// The client has sent too many requests. Wait for `Retry-After` seconds.
    TooManyRequests = 429 "too_many_requests" "Too many requests",
    /// The server failed unexpectedly; its log has the details.
    Internal = 500 "internal" "The server failed",
    /// The store cannot be reached, or did not answer in time. Retry after `Retry-After` seconds.
    StoreUnavailable = 503 "store_unavailable" "The store is unavailable",
    /// Too many requests wait for the server. Retry after `Retry-After` seconds.
    Overloaded = 503 "overloaded" "The server is overloaded",
    /// The server is about to end. Another node, or this one after its restart, will answer.
    ShuttingDown = 503 "shutting_down" "The server is shutting down",
}

/// A refusal or a failure, as it is reported to the client.
#[derive(Debug, Clone)]
pub(crate) struct Problem {
    pub(crate) code: Code,
    pub(crate) detail: String,
    /// The reason for the metrics, if it is more specific than the code.
    pub(crate) reason: &'static str,
    /// Additional members of the body.
    members: Vec<(&'static str, Value)>,
    headers: Vec<(HeaderName, HeaderValue)>,
}

impl Problem {
    pub(crate) fn new(code: Code, detail: impl Into<String>) -> Self {
        let (detail, reason) = (detail.into(), code.name());
        Problem { code, detail, reason, members: Vec::new(), headers: Vec::new() }
    }

    pub(crate) fn invalid(detail: impl Into<String>) -> Self {
        Problem::new(Code::InvalidRequest, detail)
    }

    /// Sets the reason for the metrics.
    pub(crate) fn because(mut self, reason: &'static str) -> Self {
        self.reason = reason;
        self
    }

    /// Adds a member.
    pub(crate) fn with(mut self, name: &'static str, value: impl Into<Value>) -> Self {
        self.members.push((name, value.into()));
        self
    }

    pub(crate) fn header(mut self, name: HeaderName, value: impl Into<HeaderValue>) -> Self {
        self.headers.push((name, value.into()));
        self
    }

    /// Returns whether the open session is no longer in the store.
    pub(crate) fn is_gone(&self) -> bool {
        self.code == Code::UnknownSession || self.reason == "replaced"
    }

    /// Closes the connection, because the rest of the request is not read.
    pub(crate) fn close(self) -> Self {
        self.header(header::CONNECTION, HeaderValue::from_static("close"))
    }

    pub(crate) fn retry_after(self, seconds: u64) -> Self {
        self.header(header::RETRY_AFTER, seconds)
    }

    pub(crate) fn into_response(self) -> Response<Body> {
        let status = self.code.status();
        let mut body = json!({
            "type": format!("urn:treering:problem:{}", self.code.name()),
            "title": self.code.title(),
            "status": status.as_u16(),
            "code": self.code.name(),
            "detail": self.detail,
        });
        if let Value::Object(object) = &mut body {
            object.extend(self.members.into_iter().map(|(name, value)| (name.to_owned(), value)));
        }
        let mut response = Response::new(Body::from(body.to_string()));
        *response.status_mut() = status;
        response.headers_mut().extend(self.headers);
        let kind = HeaderValue::from_static("application/problem+json");
        response.headers_mut().insert(header::CONTENT_TYPE, kind);
        response
    }
}

impl From<Error> for Problem {
    fn from(error: Error) -> Self {
        if error.is_retryable() {
            return unavailable(&error);
        }
        let detail = error.to_string();
        match error {
            Error::UnknownSession(_) | Error::Deleted(_) => {
                Problem::new(Code::UnknownSession, detail)
            }
            Error::Io { source, .. } | Error::Storage(source)
                if source.kind() == io::ErrorKind::NotFound =>
            {
                Problem::new(Code::UnknownSession, "the session is no longer in the store")
            }
            // The directory of the project cannot be part of the name of a file.
            Error::Io { source, .. }
                if matches!(
                    source.kind(),
                    io::ErrorKind::InvalidInput | io::ErrorKind::InvalidFilename
                ) =>
            {
                let detail = format!("the store cannot name a file after this: {source}");
                Problem::new(Code::NotApplicable, detail)
            }
            Error::SessionExists(_) | Error::AlreadyExists(_) => {
                Problem::new(Code::SessionExists, detail)
            }
            Error::UnknownEntry(_) | Error::AmbiguousEntry { .. } => {
                Problem::new(Code::UnknownEntry, detail)
            }
            Error::DuplicateEntry(_) => Problem::new(Code::DuplicateEntry, detail),
            Error::LeafMoved { actual, .. } => {
                let leaf = actual.map(|leaf| leaf.to_string());
                Problem::new(Code::LeafMoved, detail).with("leaf", leaf)
            }
            Error::ReadOnly { .. }
            | Error::ReadOnlyDialect(_)
            | Error::CannotUpgrade(_)
            | Error::NotNameable(_) => Problem::new(Code::NotWritable, detail),
            Error::InvalidEntry(_) => Problem::new(Code::InvalidEntry, detail),
            Error::NotASession { .. } => Problem::new(Code::NotASession, detail),
            Error::InvalidSessionId(_) | Error::InvalidOption(_) => Problem::invalid(detail),
            Error::NotOnPath { .. }
            | Error::NotEditable { .. }
            | Error::NotPickable { .. }
            | Error::NoForkDirectory { .. }
            | Error::Unfaithful(_) => Problem::new(Code::NotApplicable, detail),
            Error::Replaced { .. } => {
                Problem::new(Code::UnknownSession, detail).because("replaced")
            }
            _ => Problem::new(Code::Internal, detail),
        }
    }
}

impl From<JournalError> for Problem {
    fn from(error: JournalError) -> Self {
        match error {
            JournalError::Moved(length) => {
                let detail = format!("the log is {length} bytes long");
                Problem::new(Code::Moved, detail).with("length", length)
            }
            JournalError::Gone => {
                Problem::new(Code::UnknownSession, "the session is no longer in the store")
            }
            JournalError::Locked => Problem::from(Error::Locked(0)),
            JournalError::Io(error) => Problem::from(Error::Storage(error)),
            _ => Problem::new(Code::Internal, error.to_string()),
        }
    }
}

impl From<io::Error> for Problem {
    fn from(error: io::Error) -> Self {
        Problem::from(Error::Storage(error))
    }
}

fn unavailable(error: &Error) -> Problem {
    Problem::new(Code::StoreUnavailable, error.to_string()).retry_after(1)
}
