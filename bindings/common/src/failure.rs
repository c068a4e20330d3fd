//! Errors as other languages see them: a category, a stable code, a message and fields.

use crate::data::{Data, record};
use crate::stores::OpenStoreError;
use std::io;
use treering::Error;
use treering::dialect::UnknownDialect;

/// The kinds of errors that programs treat differently. Bindings make one class of each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Category {
    /// The file, session or entry does not exist.
    NotFound,
    /// The state is not the one that the call requires: another program, or an earlier call, has changed it.
    Conflict,
    /// An argument that no session would accept.
    Invalid,
    /// The session can be read, but not written.
    ReadOnly,
    /// The content of a session, or a result, is invalid.
    Format,
    /// The disk, the network, the server or the database failed.
    Storage,
}

/// An error on its way to another language.
#[derive(Debug)]
#[non_exhaustive]
pub struct Failure {
    /// The kind of the error.
    pub category: Category,
    /// The stable name of the error, in snake case; messages may change, codes do not.
    pub code: &'static str,
    /// The message.
    pub message: String,
    /// The facts that the message names, by the names of their fields.
    pub fields: Vec<(&'static str, Data)>,
    /// Whether the same call may succeed later.
    pub is_retryable: bool,
    /// The number of the error in the operating system.
    pub os_error: Option<i32>,
}

impl Failure {
    /// Creates an error that retrying does not help.
    pub fn new(category: Category, code: &'static str, message: impl Into<String>) -> Self {
        let message = message.into();
        Failure { category, code, message, fields: Vec::new(), is_retryable: false, os_error: None }
    }

    /// Creates the error for an argument that is not valid.
    pub fn invalid(code: &'static str, message: impl Into<String>) -> Self {
        Failure::new(Category::Invalid, code, message)
    }

    /// Adds the fields of a record.
    #[must_use]
    pub fn with(mut self, fields: Data) -> Self {
        if let Data::Record(fields) = fields {
            self.fields.extend(fields);
        }
        self
    }

    pub(crate) fn storage(code: &'static str, message: String, error: &io::Error) -> Self {
        let category = match error.kind() {
            io::ErrorKind::NotFound => Category::NotFound,
            _ => Category::Storage,
        };
        Failure { os_error: error.raw_os_error(), ..Failure::new(category, code, message) }
    }
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Failure {}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        use Category::{Conflict, Format, Invalid, NotFound, ReadOnly};
        let message = error.to_string();
        let new = |category, code| Failure::new(category, code, message.clone());
        let failure = match &error {
            Error::Io { path, action, source } => Failure::storage("io", message.clone(), source)
                .with(record! { path: path.display().to_string(), action: *action }),
            Error::Storage(source) => Failure::storage("storage", message.clone(), source),
            Error::NotDurable(source) => Failure::storage("not_durable", message.clone(), source),
            Error::EarlierSyncFailed(source) => {
                Failure::storage("earlier_sync_failed", message.clone(), source)
            }
            Error::UnknownSession(id) => {
                new(NotFound, "unknown_session").with(record! { session: id.as_str() })
            }
            Error::SessionExists(id) => {
                new(Conflict, "session_exists").with(record! { session: id.as_str() })
            }
            Error::NotASession { path, reason } => new(Format, "not_a_session")
                .with(record! { path: path.display().to_string(), reason: reason }),
            Error::ReadOnly { version, supported } => {
                new(ReadOnly, "read_only").with(record! { version: version, supported: supported })
            }
            Error::ReadOnlyDialect(dialect) => {
                new(ReadOnly, "read_only_dialect").with(record! { dialect: dialect.name() })
            }
            Error::CannotUpgrade(version) => {
                new(ReadOnly, "cannot_upgrade").with(record! { version: version })
            }
            Error::NoForkDirectory { from, to } => new(Invalid, "no_fork_directory")
                .with(record! { source: from.name(), target: to.name() }),
            Error::Unfaithful(reason) => new(Format, "unfaithful").with(record! { reason: reason }),
            Error::UnknownEntry(entry) => {
                new(NotFound, "unknown_entry").with(record! { entry: entry })
            }
            Error::AmbiguousEntry { prefix, candidates } => new(NotFound, "ambiguous_entry")
                .with(record! { prefix: prefix, candidates: candidates }),
            Error::DuplicateEntry(entry) => {
                new(Conflict, "duplicate_entry").with(record! { entry: entry })
            }
            Error::NotOnPath { entry, leaf } => new(Invalid, "not_on_path")
                .with(record! { entry: entry.as_str(), leaf: leaf.as_ref().map(|id| id.as_str()) }),
            Error::NotEditable { entry, reason } => new(Invalid, "not_editable")
                .with(record! { entry: entry.as_str(), reason: *reason }),
            Error::NotPickable { entry, reason } => new(Invalid, "not_pickable")
                .with(record! { entry: entry.as_str(), reason: *reason }),
            Error::InvalidSessionId(id) => {
                new(Invalid, "invalid_session_id").with(record! { session: id })
            }
            Error::InvalidOption(reason) => {
                new(Invalid, "invalid_option").with(record! { reason: reason })
            }
            Error::InvalidEntry(reason) => {
                new(Invalid, "invalid_entry").with(record! { reason: reason })
            }
            Error::LeafMoved { expected, actual } => new(Conflict, "leaf_moved").with(record! {
                expected: expected.as_ref().map(|id| id.as_str()),
                actual: actual.as_ref().map(|id| id.as_str()),
            }),
            Error::Deleted(path) => {
                new(NotFound, "deleted").with(record! { path: path.display().to_string() })
            }
            Error::OutdatedPlan(path) => {
                new(Conflict, "outdated_plan").with(record! { path: path.display().to_string() })
            }
            Error::Replaced { path, expected, found } => new(Conflict, "replaced").with(record! {
                path: path.display().to_string(),
                expected: expected.as_str(),
                found: found.as_str(),
            }),
            Error::NotNameable(path) => {
                new(ReadOnly, "not_nameable").with(record! { path: path.display().to_string() })
            }
            Error::AlreadyExists(path) => {
                new(Conflict, "already_exists").with(record! { path: path.display().to_string() })
            }
            Error::NotRepaired { path, reason } => new(Format, "not_repaired")
                .with(record! { path: path.display().to_string(), reason: reason }),
            Error::Locked(seconds) => new(Conflict, "locked").with(record! { seconds: seconds }),
            // Variants of later releases of the library.
            _ => new(Category::Storage, "other"),
        };
        Failure { is_retryable: error.is_retryable(), ..failure }
    }
}

impl From<OpenStoreError> for Failure {
    fn from(error: OpenStoreError) -> Self {
        let message = error.to_string();
        match error {
            OpenStoreError::Scheme(scheme) => {
                Failure::invalid("invalid_address", message).with(record! { scheme: scheme })
            }
            OpenStoreError::Address(_) => Failure::invalid("invalid_address", message),
            OpenStoreError::NoDirectory(path) => {
                Failure::new(Category::NotFound, "no_directory", message)
                    .with(record! { path: path })
            }
            OpenStoreError::Store(error) => error.into(),
        }
    }
}

impl From<treering_export::Error> for Failure {
    fn from(error: treering_export::Error) -> Self {
        match error {
            treering_export::Error::Session(error) => error.into(),
            treering_export::Error::Write(source) => source.into(),
            other => Failure::new(Category::Storage, "other", other.to_string()),
        }
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        let message = error.to_string();
        match error.kind() {
            io::ErrorKind::AlreadyExists => {
                Failure::new(Category::Conflict, "already_exists", message)
            }
            _ => Failure::storage("io", message, &error),
        }
    }
}

impl From<treering_search::QueryError> for Failure {
    fn from(error: treering_search::QueryError) -> Self {
        Failure::invalid("invalid_query", error.to_string()).with(record! { position: error.at })
    }
}

impl From<treering_redact::PatternError> for Failure {
    fn from(error: treering_redact::PatternError) -> Self {
        Failure::invalid("invalid_pattern", error.to_string())
    }
}

impl From<UnknownDialect> for Failure {
    fn from(error: UnknownDialect) -> Self {
        Failure::invalid("unknown_dialect", error.to_string())
    }
}

impl From<treering::InvalidSessionId> for Failure {
    fn from(error: treering::InvalidSessionId) -> Self {
        Error::from(error).into()
    }
}

impl From<treering_usage::UnknownZone> for Failure {
    fn from(error: treering_usage::UnknownZone) -> Self {
        Failure::invalid("unknown_zone", error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_keeps_its_message_and_gets_a_code_and_fields() {
        let error = Error::AmbiguousEntry { prefix: "1f".into(), candidates: vec!["1fa".into()] };
        let message = error.to_string();
        let failure = Failure::from(error);
        assert_eq!(failure.message, message);
        assert_eq!(failure.code, "ambiguous_entry");
        assert_eq!(failure.category, Category::NotFound);
        assert_eq!(failure.fields[0], ("prefix", Data::Text("1f".into())));
        assert!(!failure.is_retryable);
    }

    #[test]
    fn a_missing_file_is_not_found_and_keeps_the_number_of_the_system() {
        let failure = Failure::from(Error::Storage(io::Error::from_raw_os_error(2)));
        assert_eq!((failure.category, failure.os_error), (Category::NotFound, Some(2)));
        assert!(Failure::from(Error::Locked(3)).is_retryable);
    }
}
