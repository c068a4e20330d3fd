//! A log read through a filter: every line passes it before anything else sees it.
//!
//! What passed goes to a file without a name, so that the result can be read back and forth like any
//! other log, needs no memory, and is gone with the process. Lines stay lines: numbers, order and the
//! newline at the end are those of the source, and omp's title slot keeps its length.

use super::journal::{Appended, Journal, JournalError};
use super::scan::{self, Bytes};
use crate::dialect::Dialect;
use crate::dialect::omp::title;
use crate::entry::head::ParentKey;
use crate::fs::{self, File};
use crate::json;
use std::borrow::Cow;
use std::fmt;
use std::io::{self, BufWriter, Write};

/// Something that changes lines on their way out of a log, such as a redaction.
///
/// ```
/// use std::borrow::Cow;
/// use treering::{Creation, LineFilter, Message, Session, SessionOptions};
///
/// #[derive(Debug)]
/// struct Louder;
///
/// impl LineFilter for Louder {
///     fn line<'a>(&self, line: &'a [u8]) -> Cow<'a, [u8]> {
///         String::from_utf8_lossy(line).replace("hello", "HELLO").into_bytes().into()
///     }
/// }
/// # let dir = tempfile::tempdir()?;
/// # let path = dir.path().join("a.jsonl");
/// # let options = SessionOptions { creation: Creation::AtOnce, ..SessionOptions::default() };
/// let session = Session::create_at(&path, "/project", options)?;
/// let id = session.append(Message::user("hello"))?;
///
/// let louder = Session::open_through(&path, &Louder)?;
/// assert_eq!(louder.entry(id.as_str())?.message().unwrap().text(), "HELLO");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait LineFilter: Send + Sync + fmt::Debug {
    /// Sees every line before the first one is filtered.
    fn look(&self, line: &[u8]) {
        let _ = line;
    }

    /// The line as it shall be read, both without a newline.
    fn line<'a>(&self, line: &'a [u8]) -> Cow<'a, [u8]>;
}

/// What a log is after a filter. Only read.
#[derive(Debug)]
pub(crate) struct Filtered {
    file: File,
    len: u64,
}

impl Filtered {
    pub(crate) fn new(source: &dyn Journal, filter: &dyn LineFilter) -> io::Result<Self> {
        // What is written meanwhile is not part of it.
        let length = source.len()?;
        each_line(source, length, |line, _| {
            filter.look(line);
            Ok(())
        })?;
        let mut out = BufWriter::with_capacity(1 << 20, fs::nameless()?);
        let mut len = 0;
        each_line(source, length, |line, is_terminated| {
            let filtered = settled(line, filter.line(line));
            out.write_all(&filtered)?;
            len += filtered.len() as u64 + u64::from(is_terminated);
            if is_terminated { out.write_all(b"\n") } else { Ok(()) }
        })?;
        let file = out.into_inner().map_err(io::IntoInnerError::into_error)?;
        Ok(Filtered { file, len })
    }
}

/// Calls `each` for every line up to `length`, and says whether a newline ends it.
fn each_line(
    source: &dyn Journal,
    length: u64,
    mut each: impl FnMut(&[u8], bool) -> io::Result<()>,
) -> io::Result<()> {
    let key = ParentKey::of(Dialect::Pi.codec());
    scan::lines(source, 0, length, &key, |line| match line.bytes {
        Bytes::Whole(bytes) => each(bytes, line.terminated),
        Bytes::Long { .. } => {
            let mut bytes = vec![0; usize::try_from(line.len).map_err(io::Error::other)?];
            let got = scan::read_full(source, line.offset, &mut bytes)?;
            bytes.truncate(got);
            each(&bytes, line.terminated)
        }
    })
}

/// A filtered line that is still one line, and as long as before if it has to be.
fn settled<'a>(before: &[u8], after: Cow<'a, [u8]>) -> Cow<'a, [u8]> {
    let Cow::Owned(mut line) = after else { return after };
    if title::parse(before).is_some()
        && line.len() != before.len()
        && let Some(title) = title::parse(&line)
    {
        let time = json::get(&line, "updatedAt").and_then(json::string).unwrap_or_default();
        let mut slot = title::slot(&title.title, title.source.as_deref(), &time);
        slot.pop();
        return Cow::Owned(slot);
    }
    if memchr::memchr(b'\n', &line).is_some() {
        line.retain(|byte| *byte != b'\n');
    }
    Cow::Owned(line)
}

impl Journal for Filtered {
    fn len(&self) -> io::Result<u64> {
        Ok(self.len)
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        self.file.read_at(offset, buffer)
    }

    fn append(&self, _: u64, _: &[u8]) -> Result<Appended, JournalError> {
        Err(io::Error::from(io::ErrorKind::PermissionDenied).into())
    }

    fn sync(&self) -> io::Result<()> {
        Ok(())
    }

    fn take_back(&self, _: u64, _: u64) -> io::Result<bool> {
        Ok(false)
    }
}
