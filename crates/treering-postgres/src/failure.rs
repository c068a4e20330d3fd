//! Failures of a call, by what is known about its effect.

use std::io;
use tokio_postgres::error::{DbError, Severity, SqlState};

/// The error of a call.
#[derive(Debug)]
pub(crate) enum Failure {
    /// There was no response: the database may have carried out the call, or may still do so.
    Lost(io::Error),
    /// The call had no effect; the same call may succeed later.
    Refused(io::Error),
    /// The call had no effect, and the same call will fail again.
    Permanent(io::Error),
}

impl Failure {
    pub(crate) fn into_io(self) -> io::Error {
        match self {
            Failure::Lost(error) | Failure::Refused(error) | Failure::Permanent(error) => error,
        }
    }

    /// Returns the same failure for another caller.
    pub(crate) fn copy(&self) -> Self {
        let copy = |error: &io::Error| io::Error::new(error.kind(), error.to_string());
        match self {
            Failure::Lost(error) => Failure::Lost(copy(error)),
            Failure::Refused(error) => Failure::Refused(copy(error)),
            Failure::Permanent(error) => Failure::Permanent(copy(error)),
        }
    }

    /// Returns the failure with another message, which `message` makes from the old one.
    pub(crate) fn map(self, message: impl FnOnce(&io::Error) -> String) -> Self {
        let change = |error: io::Error| io::Error::new(error.kind(), message(&error));
        match self {
            Failure::Lost(error) => Failure::Lost(change(error)),
            Failure::Refused(error) => Failure::Refused(change(error)),
            Failure::Permanent(error) => Failure::Permanent(change(error)),
        }
    }
}

/// Returns whether a role, a password or a database is wrong, so that a retry cannot succeed.
fn is_permanent_refusal(code: &SqlState) -> bool {
    code.code().starts_with("28") || *code == SqlState::INVALID_CATALOG_NAME
}

/// Classifies an error of the client library. `is_connecting` is true before the first call.
pub(crate) fn classify(error: &tokio_postgres::Error, is_connecting: bool) -> Failure {
    if let Some(error) = error.as_db_error() {
        return classify_answer(error, is_connecting);
    }
    let cause = crate::address::cause(error);
    let source = std::error::Error::source(error).and_then(|e| e.downcast_ref::<io::Error>());
    let kind = source.map_or(io::ErrorKind::ConnectionReset, io::Error::kind);
    let kind = match kind {
        io::ErrorKind::Other | io::ErrorKind::UnexpectedEof => io::ErrorKind::ConnectionReset,
        kind => kind,
    };
    match (is_connecting, kind) {
        // The certificate is not accepted, or the server has no TLS.
        (true, io::ErrorKind::InvalidData) => Failure::Permanent(io::Error::new(kind, cause)),
        (true, _) if cause.contains("TLS") => {
            Failure::Permanent(io::Error::new(io::ErrorKind::PermissionDenied, cause))
        }
        (true, _) => Failure::Refused(io::Error::new(kind, cause)),
        (false, _) => Failure::Lost(io::Error::new(kind, cause)),
    }
}

fn classify_answer(error: &DbError, is_connecting: bool) -> Failure {
    let code = error.code();
    let text = format!("{} (SQLSTATE {})", error.message(), code.code());
    let is_fatal = !matches!(error.parsed_severity(), Some(Severity::Error) | None);
    if is_permanent_refusal(code) {
        return Failure::Permanent(io::Error::new(io::ErrorKind::PermissionDenied, text));
    }
    let class = code.code().get(..2).unwrap_or_default();
    let kind = match class {
        // The database has no free connections, disk space or memory.
        "53" => Some(io::ErrorKind::ResourceBusy),
        _ if *code == SqlState::QUERY_CANCELED => Some(io::ErrorKind::TimedOut),
        _ if *code == SqlState::READ_ONLY_SQL_TRANSACTION => Some(io::ErrorKind::NotConnected),
        // The database is shutting down or starting, the connection failed, or the operating system
        // reported an error.
        "57" | "08" | "58" => Some(io::ErrorKind::ConnectionAborted),
        // Transactions or locks were in conflict.
        "40" | "55" => Some(io::ErrorKind::ResourceBusy),
        _ => None,
    };
    match kind {
        Some(kind) if is_fatal && !is_connecting => Failure::Lost(io::Error::new(kind, text)),
        Some(kind) => Failure::Refused(io::Error::new(kind, text)),
        None if is_fatal && !is_connecting => {
            Failure::Lost(io::Error::new(io::ErrorKind::ConnectionAborted, text))
        }
        None => {
            let kind = match class {
                "42" if *code == SqlState::INSUFFICIENT_PRIVILEGE => {
                    io::ErrorKind::PermissionDenied
                }
                "42" => io::ErrorKind::NotFound,
                _ => io::ErrorKind::Other,
            };
            Failure::Permanent(io::Error::new(kind, text))
        }
    }
}
