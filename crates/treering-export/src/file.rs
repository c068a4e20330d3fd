//! Documents as files.

use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter};
use std::path::Path;

/// The name of a document that is made of a session's file: without what says that it is a session.
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

/// Writes a file that appears complete or not at all, and says how long it is. Sessions are private, and
/// so is what is made of them until somebody shares it.
pub fn write_file<E: From<io::Error>>(
    path: &Path,
    write: impl FnOnce(&mut BufWriter<File>) -> Result<(), E>,
) -> Result<u64, E> {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".tmp");
    let temporary = path.with_file_name(name);
    let written = (|| {
        let mut file = BufWriter::with_capacity(1 << 16, private(&temporary)?);
        write(&mut file)?;
        let file = file.into_inner().map_err(io::IntoInnerError::into_error)?;
        let bytes = file.metadata()?.len();
        std::fs::rename(&temporary, path)?;
        Ok(bytes)
    })();
    if written.is_err() {
        let _ = std::fs::remove_file(&temporary);
    }
    written
}

fn private(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}
