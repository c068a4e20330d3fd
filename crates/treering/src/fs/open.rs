//! Opens regular files, and nothing else, without ever waiting.
//!
//! Opening a named pipe waits for its other end, opening a device can have side effects, and
//! neither can be a session. Every file whose name comes from a user or from a directory is opened
//! here. The type is checked twice: before the file is opened, so that no device is touched, and on
//! the open file, because the name may refer to another file by then.

use super::{Access, File};
use std::fmt;
use std::fs::{FileType, OpenOptions};
use std::io::{self, Read};
use std::path::Path;

/// Opens a regular file for reading; a symbolic link is refused like a pipe or a device.
pub(crate) fn open_unlinked(path: &Path) -> io::Result<File> {
    open_regular(path, OpenOptions::new().read(true), Links::Refused).map(File::from)
}

/// Reads a regular file of at most `limit` bytes.
///
/// # Errors
///
/// Fails like `open`, and with [`io::ErrorKind::FileTooLarge`] for a larger file.
pub fn read(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    read_limited(&super::open(path, Access::Read)?, limit)
}

/// Reads a regular file of at most `limit` bytes that must be UTF-8.
///
/// # Errors
///
/// Fails like [`read`], and with [`io::ErrorKind::InvalidData`] if the content is not UTF-8.
pub fn read_text(path: &Path, limit: u64) -> io::Result<String> {
    let bytes = read(path, limit)?;
    String::from_utf8(bytes).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
}

/// Reads an open file from its cursor, at most `limit` bytes.
pub(crate) fn read_limited(file: &File, limit: u64) -> io::Result<Vec<u8>> {
    let too_large = || {
        let message = format!("the file is larger than {limit} bytes");
        io::Error::new(io::ErrorKind::FileTooLarge, message)
    };
    let length = file.size()?;
    if length > limit {
        return Err(too_large());
    }
    let mut bytes = Vec::with_capacity(usize::try_from(length).unwrap_or(0));
    // The file may grow while it is read.
    file.take(limit.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > limit {
        return Err(too_large());
    }
    Ok(bytes)
}

/// Returns whether opening failed because the path names something other than a regular file.
///
/// ```
/// use treering::internal::fs::{Access, is_not_regular, open};
/// let error = open(std::env::temp_dir().as_ref(), Access::Read).unwrap_err();
/// assert!(is_not_regular(&error));
/// assert_eq!(error.to_string(), "it is a directory, not a regular file");
/// ```
pub fn is_not_regular(error: &io::Error) -> bool {
    error.get_ref().is_some_and(|inner| inner.is::<NotRegular>())
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Links {
    Followed,
    Refused,
}

pub(super) fn open_regular(
    path: &Path,
    options: &mut OpenOptions,
    links: Links,
) -> io::Result<std::fs::File> {
    let metadata = match links {
        Links::Followed => std::fs::metadata(path)?,
        Links::Refused => std::fs::symlink_metadata(path)?,
    };
    require_regular(metadata.file_type())?;
    set_flags(options, links);
    let file = options.open(path)?;
    require_regular(file.metadata()?.file_type())?;
    Ok(file)
}

#[cfg(unix)]
fn set_flags(options: &mut OpenOptions, links: Links) {
    use std::os::unix::fs::OpenOptionsExt;
    let no_follow = if links == Links::Refused { libc::O_NOFOLLOW } else { 0 };
    // Both flags have no effect on a regular file.
    options.custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY | no_follow);
}

#[cfg(not(unix))]
fn set_flags(_: &mut OpenOptions, _: Links) {}

fn require_regular(file_type: FileType) -> io::Result<()> {
    if file_type.is_file() {
        return Ok(());
    }
    let kind = match file_type.is_dir() {
        true => io::ErrorKind::IsADirectory,
        false => io::ErrorKind::InvalidInput,
    };
    Err(io::Error::new(kind, NotRegular(type_name(file_type))))
}

#[cfg(unix)]
fn type_name(file_type: FileType) -> &'static str {
    use std::os::unix::fs::FileTypeExt;
    match file_type {
        _ if file_type.is_dir() => "a directory",
        _ if file_type.is_symlink() => "a symbolic link",
        _ if file_type.is_fifo() => "a named pipe",
        _ if file_type.is_socket() => "a socket",
        _ if file_type.is_char_device() || file_type.is_block_device() => "a device",
        _ => "something else",
    }
}

#[cfg(not(unix))]
fn type_name(file_type: FileType) -> &'static str {
    match file_type {
        _ if file_type.is_dir() => "a directory",
        _ if file_type.is_symlink() => "a symbolic link",
        _ => "something else",
    }
}

/// The type of a file that is not a regular file.
#[derive(Debug)]
struct NotRegular(&'static str);

impl fmt::Display for NotRegular {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "it is {}, not a regular file", self.0)
    }
}

impl std::error::Error for NotRegular {}

#[cfg(unix)]
#[cfg(test)]
mod tests {
    use super::*;
    use crate::fs;

    fn fifo(path: &Path) {
        let made = std::process::Command::new("mkfifo").arg(path).status();
        assert!(made.unwrap().success());
    }

    /// A test that fails here would hang: a named pipe without a writer.
    #[test]
    fn pipes_devices_sockets_and_directories_are_refused_at_once() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        fifo(&at("fifo"));
        std::os::unix::fs::symlink("fifo", at("link")).unwrap();
        let _socket = std::os::unix::net::UnixListener::bind(at("socket")).unwrap();
        for (path, name) in [
            (at("fifo"), "a named pipe"),
            (at("link"), "a named pipe"),
            (at("socket"), "a socket"),
            ("/dev/null".into(), "a device"),
            (at(""), "a directory"),
        ] {
            for access in [Access::Read, Access::Append, Access::Write] {
                let error = fs::open(&path, access).unwrap_err();
                assert!(is_not_regular(&error), "{error}");
                assert_eq!(error.to_string(), format!("it is {name}, not a regular file"));
            }
        }
        assert!(!is_not_regular(&fs::open(&at("gone"), Access::Read).unwrap_err()));
    }

    #[test]
    fn links_are_followed_unless_they_are_refused() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        std::fs::write(at("file"), "content").unwrap();
        std::os::unix::fs::symlink("file", at("link")).unwrap();
        assert!(fs::open(&at("link"), Access::Read).is_ok());
        assert!(open_unlinked(&at("file")).is_ok());
        assert!(is_not_regular(&open_unlinked(&at("link")).unwrap_err()));
    }

    #[test]
    fn no_more_than_the_limit_is_read() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        std::fs::write(&path, "12345").unwrap();
        assert_eq!(read(&path, 5).unwrap(), b"12345");
        assert_eq!(read(&path, 4).unwrap_err().kind(), io::ErrorKind::FileTooLarge);
        // The file has content although its length is 0.
        let endless = Path::new("/proc/self/status");
        if endless.exists() {
            assert_eq!(read(endless, 4).unwrap_err().kind(), io::ErrorKind::FileTooLarge);
        }
    }
}
