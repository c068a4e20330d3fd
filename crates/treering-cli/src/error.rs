//! Errors for users: what happened, what to do about it, and the exit code.

use crate::output;
use crate::text::{safe_line, shell_word};
use std::io;
use std::path::Path;
use treering::{Dialect, EntryId, Error, Session};
use treering_index::housekeeping::{Reason, Refusal};

/// The exit code for an invalid command line.
pub(crate) const USAGE: u8 = 2;
/// The exit code for all other failures.
pub(crate) const FAILED: u8 = 1;

/// The maximum length of an id that is compared with others, and the maximum number of similar ids
/// that are named.
const MAX_COMPARED: usize = 64;
const MAX_SUGGESTIONS: usize = 3;

/// The advice about a symbolic link to nothing.
const DANGLING: &str = "it is a symbolic link to a file that does not exist";

/// The reason why a command failed.
#[derive(Debug)]
pub(crate) enum Failure {
    /// An error of the library.
    Library(Error),
    /// An error of the library about a line of the input.
    Input { line: u64, error: Error },
    /// An error of this program: what happened, and what to do about it.
    Message { what: String, hint: Option<String> },
    /// An invalid command line: what is wrong, and what to do about it.
    Usage { what: String, hint: String },
    /// The output is closed.
    Stdout(io::Error),
    /// The output is closed, and the command may have changed files before.
    Report(io::Error),
    /// The failure was already reported on stdout.
    Reported,
    /// A signal ended the terminal interface. The value is its number, if the system has numbers.
    Signal(Option<i32>),
}

impl Failure {
    pub(crate) fn message(what: impl Into<String>) -> Self {
        Failure::Message { what: what.into(), hint: None }
    }

    pub(crate) fn with_hint(what: impl Into<String>, hint: impl Into<String>) -> Self {
        Failure::Message { what: what.into(), hint: Some(hint.into()) }
    }

    /// Returns the failure of a call of the operating system. `action` completes "cannot …".
    pub(crate) fn io(action: &str, path: &Path, error: &io::Error) -> Self {
        let what = format!("cannot {action} {}: {error}", path.display());
        Failure::Message { what, hint: system_hint(error) }
    }

    /// Returns the failure with the advice for `file`, for a command that is about several sessions.
    pub(crate) fn about(error: Error, file: &Path) -> Self {
        Failure::Message { what: error.to_string(), hint: hint(&error, Some(file)) }
    }

    /// Returns the exit code of the failure.
    pub(crate) fn exit_code(&self) -> u8 {
        match self {
            Failure::Usage { .. } => USAGE,
            Failure::Signal(Some(signal)) => {
                signal.checked_add(128).and_then(|code| u8::try_from(code).ok()).unwrap_or(FAILED)
            }
            _ => FAILED,
        }
    }

    /// Returns the failure with the number of the input line that it is about.
    pub(crate) fn on(self, line: u64) -> Self {
        match self {
            Failure::Library(error) => Failure::Input { line, error },
            other => other,
        }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Failure::Library(error)
    }
}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Self {
        match refusal.reason {
            Reason::Session(error) => Failure::Library(error),
            Reason::Io(ref error) => {
                let hint = match error.kind() {
                    io::ErrorKind::NotFound if refusal.path.is_symlink() => {
                        Some(DANGLING.to_owned())
                    }
                    io::ErrorKind::NotFound => {
                        Some("`treering ls DIR` lists the sessions in a directory".to_owned())
                    }
                    _ => system_hint(error),
                };
                Failure::Message { what: refusal.to_string(), hint }
            }
            ref reason => Failure::Message { what: refusal.to_string(), hint: reason.hint() },
        }
    }
}

/// Converts errors of writes to stdout; other I/O errors must name what they are about.
impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Failure::Stdout(error)
    }
}

/// Writes to stderr what happened and what to do. `file` is the session of the command.
pub(crate) fn report(failure: &Failure, file: Option<&Path>) {
    let (what, hint) = match failure {
        Failure::Reported => return,
        Failure::Library(error) => (error.to_string(), hint(error, file)),
        Failure::Input { line, error } => {
            (format!("input line {line}: {error}"), hint(error, file))
        }
        Failure::Message { what, hint } => (what.clone(), hint.clone()),
        Failure::Usage { what, hint } => (what.clone(), Some(hint.clone())),
        Failure::Stdout(error) => (format!("cannot write the output: {error}"), None),
        Failure::Signal(Some(signal)) => (format!("stopped by signal {signal}"), None),
        Failure::Signal(None) => ("stopped by a signal".to_owned(), None),
        Failure::Report(error) => (
            format!("cannot write the output: {error}"),
            Some(
                "files may have been changed already: check them before you run the command again"
                    .to_owned(),
            ),
        ),
    };
    output::write_notice("error", &safe_line(&what));
    if let Some(hint) = hint {
        output::write_notice("hint", &safe_line(&hint));
    }
}

/// Returns ids of the session that the user may have meant: they differ by one typing error.
fn near(id: &str, file: &Path) -> Vec<String> {
    let wanted: Vec<char> = id.chars().take(MAX_COMPARED + 1).collect();
    if !(4..=MAX_COMPARED).contains(&wanted.len()) {
        return Vec::new();
    }
    let Ok(session) = Session::open(file) else { return Vec::new() };
    let tree = session.tree();
    let is_near = |known: &EntryId| {
        let known: Vec<char> = known.as_str().chars().take(wanted.len()).collect();
        treering_index::distance(&wanted, &known) <= 1 + usize::from(is_swapped(&wanted, &known))
    };
    tree.ids().filter(is_near).take(MAX_SUGGESTIONS).map(|id| id.to_string()).collect()
}

/// Returns whether two adjacent characters are swapped.
fn is_swapped(a: &[char], b: &[char]) -> bool {
    let differing: Vec<usize> = (0..a.len()).filter(|&at| a.get(at) != b.get(at)).take(3).collect();
    match differing.as_slice() {
        [first, second] => {
            first + 1 == *second
                && a.get(*first) == b.get(*second)
                && a.get(*second) == b.get(*first)
        }
        _ => false,
    }
}

fn hint(error: &Error, path: Option<&Path>) -> Option<String> {
    let file = path.map_or("SESSION".to_owned(), shell_word);
    Some(match error {
        Error::UnknownEntry(id) => match path.map(|path| near(id, path)) {
            Some(near) if !near.is_empty() => format!("did you mean {}?", near.join(" or ")),
            _ => format!("`treering tree {file}` lists the ids"),
        },
        Error::AmbiguousEntry { .. } => "give more characters of the id you mean".to_owned(),
        // A pipe or a device has no first line.
        Error::NotASession { reason, .. } if reason.ends_with("not a regular file") => return None,
        Error::NotASession { .. } => {
            "a session's first line is its header: {\"type\":\"session\",\"id\":…}; the file was left as it is"
                .to_owned()
        }
        Error::ReadOnly { .. } => {
            format!("look at it with `treering tree {file}`; a newer treering can write to it")
        }
        Error::ReadOnlyDialect(dialect) => read_only_hint(*dialect, path),
        Error::NoForkDirectory { .. } => "name a directory with `--dir DIR`".to_owned(),
        Error::DuplicateEntry(_) => "leave \"id\" out and the entry gets a new one".to_owned(),
        Error::InvalidEntry(_) => {
            "an entry is a JSON object on one line, such as {\"type\":\"custom\",\"customType\":\"note\"}"
                .to_owned()
        }
        Error::LeafMoved { actual, .. } => {
            let leaf = actual.as_ref().map_or("none", |id| id.as_str());
            format!("another program appended first; `treering log {file}` shows the new entries, `--expect-leaf {leaf}` appends after them")
        }
        Error::Deleted(_) => "nothing was written; restore the file, or use `append --recreate`".to_owned(),
        Error::Replaced { .. } => {
            "nothing was written; open the session that is there, or restore the file".to_owned()
        }
        Error::NotNameable(_) => {
            format!("nothing was written; `treering fork {file}` makes a copy that can be named")
        }
        Error::NotOnPath { .. } => {
            format!("`treering tree {file}` shows the branches; `treering goto {file} ID` changes to another")
        }
        Error::NotPickable { .. } => {
            "pick a message or a branch summary, or a range with one in it: FIRST..LAST".to_owned()
        }
        Error::UnknownSession(_) => "`treering ls --all` lists the sessions of the store".to_owned(),
        Error::AlreadyExists(_) => "choose another path; the existing file was not changed".to_owned(),
        Error::Locked(_) => "a suspended process may hold the lock: resume it or end it".to_owned(),
        Error::NotDurable(_) => {
            format!("do not append it again: it is in the file; see `treering log {file}`")
        }
        Error::Io { path, source, .. }
            if source.kind() == io::ErrorKind::PermissionDenied
                && path.extension().is_some_and(|extension| extension == "zst") =>
        {
            format!("an archived session is read-only: `treering unarchive {file}` decompresses it")
        }
        Error::Io { path, source, .. } if source.kind() == io::ErrorKind::FileTooLarge => {
            too_large_hint(path)
        }
        Error::Io { path, source, .. }
            if source.kind() == io::ErrorKind::NotFound && path.is_symlink() =>
        {
            DANGLING.to_owned()
        }
        // The store itself names what is missing.
        Error::Storage(source) if source.kind() == io::ErrorKind::NotFound => return None,
        Error::Storage(source) if source.kind() == io::ErrorKind::PermissionDenied => {
            return store_hint(&source.to_string());
        }
        Error::Storage(source) if is_unreachable(source.kind()) => {
            "check the address of the store, and that its server or database is running".to_owned()
        }
        Error::Io { source, .. } | Error::Storage(source) => return io_hint(source),
        _ => return None,
    })
}

/// Returns the advice for an agent whose sessions treering does not write: the agent of the session
/// `path`, or that of a session that was to be created.
fn read_only_hint(dialect: Dialect, path: Option<&Path>) -> String {
    let is_of_agent =
        |path: &&Path| Session::open(path).is_ok_and(|session| session.dialect() == dialect);
    match path.filter(is_of_agent) {
        Some(path) => {
            format!("`treering fork {}` makes a copy that can be continued", shell_word(path))
        }
        None => {
            let names: Vec<&str> = Dialect::ALL
                .into_iter()
                .filter(|dialect| dialect.is_writable())
                .map(Dialect::name)
                .collect();
            format!("treering writes sessions of {}", names.join(", "))
        }
    }
}

/// Returns the advice for an archive that exceeds the limits on decompression.
pub(crate) fn too_large_hint(archive: &Path) -> String {
    let file = shell_word(archive);
    format!("if you trust the file, `treering unarchive --max-size 20G {file}` decompresses it")
}

/// Returns the advice for a store that refuses access, by its message.
fn store_hint(message: &str) -> Option<String> {
    let hint = match message {
        // The message names the database that is missing.
        message if message.contains("3D000") => "create the database with `createdb`",
        message if message.contains("42501") => {
            "grant the role access to the schema treering, or connect as its owner"
        }
        message if message.contains("postgres://") => {
            "check the role and its password: postgres://USER:PASSWORD@HOST/DATABASE"
        }
        // The client of a server says what to do.
        message if message.contains("token") => return None,
        _ => "check the permissions of the file",
    };
    Some(hint.to_owned())
}

fn io_hint(error: &io::Error) -> Option<String> {
    Some(match error.kind() {
        io::ErrorKind::NotFound => {
            "`treering ls DIR` lists the sessions in a directory; `treering append` or `treering chat --new` creates a new one"
                .to_owned()
        }
        io::ErrorKind::IsADirectory => "`treering ls DIR` lists the sessions in it".to_owned(),
        _ => return system_hint(error),
    })
}

/// Returns whether no connection was made.
fn is_unreachable(kind: io::ErrorKind) -> bool {
    use io::ErrorKind as Kind;
    matches!(kind, Kind::ConnectionRefused | Kind::HostUnreachable | Kind::NetworkUnreachable)
}

/// Returns the advice for an error that does not depend on the kind of the file.
fn system_hint(error: &io::Error) -> Option<String> {
    let hint = match error.kind() {
        io::ErrorKind::PermissionDenied => "check the permissions of the file and of its directory",
        io::ErrorKind::StorageFull => "free disk space and try again; nothing was written",
        _ => return None,
    };
    Some(hint.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_store_that_cannot_be_reached_has_an_address_to_check() {
        let refused = io::Error::new(io::ErrorKind::ConnectionRefused, "cannot reach https://host");
        let advice = hint(&Error::Storage(refused), None).unwrap_or_default();
        assert!(advice.contains("check the address of the store"), "{advice}");
    }

    #[test]
    fn a_store_that_refuses_access_is_not_a_file() {
        let hint_for = |message: &str| {
            let refused = io::Error::new(io::ErrorKind::PermissionDenied, message.to_owned());
            hint(&Error::Storage(refused), None)
        };
        for (message, advice) in [
            (
                "postgres://me@db/x: database \"x\" does not exist (SQLSTATE 3D000)",
                Some("createdb"),
            ),
            (
                "postgres://me@db/x: permission denied for schema treering (SQLSTATE 42501)",
                Some("grant"),
            ),
            ("postgres://me@db/x: role \"me\" does not exist (SQLSTATE 28000)", Some("the role")),
            ("https://host: the token does not allow this: …", None),
            ("/srv/sessions: Permission denied", Some("permissions of the file")),
        ] {
            let found = hint_for(message);
            assert_eq!(found.is_some(), advice.is_some(), "{message}");
            assert!(found.unwrap_or_default().contains(advice.unwrap_or_default()), "{message}");
        }
    }
}
