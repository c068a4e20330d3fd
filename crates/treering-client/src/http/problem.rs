//! The errors of a call.

use serde::Deserialize;
use std::io;
use std::time::Duration;
use treering::storage::JournalError;
use treering::{Error, SessionId};

/// The reason why a call failed.
#[derive(Debug)]
pub(crate) enum Problem {
    /// There is no such session. The id is known if the request named one.
    UnknownSession(Option<SessionId>),
    SessionExists,
    /// The log does not have the expected length. The value is its length.
    Moved(u64),
    /// The request is larger than the server accepts.
    TooLarge(String),
    /// The call failed temporarily, and may succeed later or at another node. It is unknown whether
    /// the server carried it out.
    Passing {
        error: io::Error,
        retry_after: Option<Duration>,
    },
    /// The call failed permanently.
    Lasting(io::Error),
}

impl Problem {
    pub(crate) fn into_io(self) -> io::Error {
        match self {
            Problem::UnknownSession(_) => {
                io::Error::new(io::ErrorKind::NotFound, "the server has no such session")
            }
            Problem::SessionExists => {
                io::Error::new(io::ErrorKind::AlreadyExists, "the server has a session of this id")
            }
            Problem::Moved(length) => {
                io::Error::other(format!("the log is {length} bytes long on the server"))
            }
            Problem::TooLarge(what) => io::Error::other(what),
            Problem::Passing { error, .. } | Problem::Lasting(error) => error,
        }
    }

    /// Returns whether nothing listens at the address, or its name is unknown.
    pub(crate) fn is_unreachable(&self) -> bool {
        use io::ErrorKind::{ConnectionRefused, HostUnreachable};
        matches!(self, Problem::Passing { error, .. }
            if matches!(error.kind(), ConnectionRefused | HostUnreachable))
    }

    pub(crate) fn into_error(self) -> Error {
        match self {
            Problem::UnknownSession(Some(id)) => Error::UnknownSession(id),
            other => Error::Storage(other.into_io()),
        }
    }

    pub(crate) fn into_journal(self) -> JournalError {
        match self {
            Problem::UnknownSession(_) => JournalError::Gone,
            Problem::Moved(length) => JournalError::Moved(length),
            other => JournalError::Io(other.into_io()),
        }
    }
}

/// The relevant fields of the body of an error.
#[derive(Debug, Default, Deserialize)]
struct Body {
    #[serde(default)]
    code: String,
    #[serde(default)]
    title: String,
    #[serde(default)]
    detail: String,
    length: Option<u64>,
}

/// The maximum length of a server's message that is shown.
const MESSAGE: usize = 500;

/// Returns the problem for a response that is not a success. `node` is the address that responded.
pub(crate) fn of_answer(
    (node, has_token): (&str, bool),
    status: u16,
    body: &[u8],
    retry_after: Option<Duration>,
) -> Problem {
    let parsed: Option<Body> = serde_json::from_slice(body).ok();
    let is_problem = parsed.as_ref().is_some_and(|body| !body.code.is_empty());
    let body = parsed.unwrap_or_default();
    let reason = match (&*body.detail, &*body.title) {
        ("", "") => format!("status {status}"),
        ("", title) => title.to_owned(),
        (detail, _) => detail.to_owned(),
    };
    let reason: String = reason.chars().filter(|c| !c.is_control()).take(MESSAGE).collect();
    let of_kind = |kind, text: String| Problem::Lasting(io::Error::new(kind, text));
    match (status, &*body.code) {
        (_, "unknown_session") => Problem::UnknownSession(None),
        (_, "session_exists") => Problem::SessionExists,
        (_, "moved") if body.length.is_some() => Problem::Moved(body.length.unwrap_or_default()),
        (404, "not_found") => of_kind(
            io::ErrorKind::InvalidInput,
            format!("{node} is not the address of a store: the server has nothing at this path"),
        ),
        (401, _) if !has_token => of_kind(
            io::ErrorKind::PermissionDenied,
            format!("{node} needs a token; give one (TREERING_TOKEN)"),
        ),
        (401, _) => of_kind(
            io::ErrorKind::PermissionDenied,
            format!("{node} refuses the token: {reason}; give a valid one (TREERING_TOKEN)"),
        ),
        (403, _) => of_kind(
            io::ErrorKind::PermissionDenied,
            format!("{node}: the token does not allow this: {reason}"),
        ),
        (413, _) => Problem::TooLarge(format!("{node}: {reason}")),
        (408 | 425 | 429 | 502 | 503 | 504, _) => {
            let text = format!("{node} is not available: {reason}");
            Problem::Passing {
                error: io::Error::new(io::ErrorKind::ResourceBusy, text),
                retry_after,
            }
        }
        (300..=399, _) => of_kind(
            io::ErrorKind::InvalidInput,
            format!("{node} redirects to another address; give that one (status {status})"),
        ),
        (404 | 405, _) if !is_problem => of_kind(
            io::ErrorKind::InvalidInput,
            format!("{node} answers, but is not a treering server (status {status})"),
        ),
        _ => of_kind(io::ErrorKind::Other, format!("{node}: {reason}")),
    }
}

/// Returns the problem for a request without a response, or with an incomplete one.
pub(crate) fn of_transport(node: &str, error: ureq::Error) -> Problem {
    use io::ErrorKind as Kind;
    let kind = match &error {
        ureq::Error::Timeout(_) => Kind::TimedOut,
        ureq::Error::HostNotFound => Kind::HostUnreachable,
        ureq::Error::Io(error) => match error.kind() {
            // The response is incomplete, or the kind is of no use for a caller.
            Kind::UnexpectedEof | Kind::Other => Kind::ConnectionAborted,
            Kind::InvalidData => Kind::InvalidData,
            kind => kind,
        },
        ureq::Error::ConnectionFailed | ureq::Error::BodyStalled => Kind::ConnectionAborted,
        ureq::Error::Protocol(_) => Kind::ConnectionAborted,
        _ => Kind::Other,
    };
    let what = match &error {
        ureq::Error::Io(error) => error.to_string(),
        other => other.to_string(),
    };
    let error = io::Error::new(kind, format!("cannot reach {node}: {what}"));
    match treering::Error::Storage(io::Error::from(kind)).is_retryable() {
        true => Problem::Passing { error, retry_after: None },
        // For example, a certificate is not trusted.
        false => Problem::Lasting(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_says_what_is_missing() {
        let text = |has_token, status, code: &str| {
            let body = format!("{{\"code\":\"{code}\",\"detail\":\"send it: Bearer …\"}}");
            of_answer(("https://host/x", has_token), status, body.as_bytes(), None)
                .into_io()
                .to_string()
        };
        let missing = "https://host/x needs a token; give one (TREERING_TOKEN)";
        assert_eq!(text(false, 401, "unauthorized"), missing);
        assert!(text(true, 401, "unauthorized").starts_with("https://host/x refuses the token"));
        let wrong =
            "https://host/x is not the address of a store: the server has nothing at this path";
        assert_eq!(text(true, 404, "not_found"), wrong);
    }
}
