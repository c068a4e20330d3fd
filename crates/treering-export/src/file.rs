//! Writes documents to files.

use std::io::{self, BufWriter};
use std::path::Path;
use treering::internal::fs::{self, FileKind, NewFile};

/// Returns the file name for the document of a session file, without the extensions of session
/// files.
///
/// ```
/// use treering_export::document_name;
/// assert_eq!(document_name("/s/talk.jsonl.zst".as_ref(), "html"), "talk.html");
/// ```
pub fn document_name(session: &Path, extension: &str) -> String {
    let name = session.file_name().unwrap_or_default().to_string_lossy();
    let stem = name.strip_suffix(".zst").unwrap_or(&name);
    format!("{}.{extension}", stem.strip_suffix(".jsonl").unwrap_or(stem))
}

/// The treatment of a file that already has the name of the document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Existing {
    /// The file is kept and the document is not written.
    Kept,
    /// The document replaces the file.
    Replaced,
}

/// Writes a document that appears complete or not at all, and returns its length. Only its owner
/// can read it, like the session file.
///
/// A symbolic link at `path` is not followed: it counts as an existing file.
///
/// # Errors
///
/// Fails with [`io::ErrorKind::AlreadyExists`] if a file has the name and must be kept, even if it
/// was created while the document was written.
pub fn write_file<E: From<io::Error>>(
    path: &Path,
    existing: Existing,
    write: impl FnOnce(&mut BufWriter<NewFile>) -> Result<(), E>,
) -> Result<u64, E> {
    match fs::symlink_metadata(path) {
        // A document cannot replace a directory.
        Ok(found) if found.kind == FileKind::Directory => {
            Err(io::Error::from(io::ErrorKind::IsADirectory))?;
        }
        Ok(_) if existing == Existing::Kept => {
            Err(io::Error::from(io::ErrorKind::AlreadyExists))?;
        }
        Ok(found) if found.kind == FileKind::Other && !path.is_symlink() => {
            let message = "it is not a regular file and was not replaced; `-o -` writes to stdout";
            Err(io::Error::new(io::ErrorKind::InvalidInput, message))?;
        }
        _ => {}
    }
    // A missing directory is an error; it is not created.
    let directory = path.parent().filter(|directory| !directory.as_os_str().is_empty());
    directory.map(fs::metadata).transpose()?;
    let mut file = BufWriter::with_capacity(1 << 16, NewFile::beside(path)?);
    write(&mut file)?;
    let file = file.into_inner().map_err(io::IntoInnerError::into_error)?;
    let file = match existing {
        Existing::Kept => file.publish()?,
        Existing::Replaced => file.publish_replacing()?,
    };
    Ok(file.size()?)
}
