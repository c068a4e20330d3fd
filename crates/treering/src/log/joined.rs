//! Reads several files as one log: a session, and the files of its subagents.
//!
//! The log is a snapshot: each file has the length that it had when the files were joined, so that
//! the spans of the tree's rows stay valid. To see later writes, the files are joined again.

use super::file::FileJournal;
use super::journal::{Appended, End, Journal, JournalError};
use crate::error::Result;
use std::io;
use std::path::{Path, PathBuf};

#[derive(Debug)]
pub(crate) struct Joined {
    parts: Vec<JoinedFile>,
}

#[derive(Debug)]
struct JoinedFile {
    file: FileJournal,
    /// The position of the file in the whole log.
    start: u64,
    len: u64,
    /// Whether the file does not end with a newline, so that one is added.
    is_open: bool,
}

impl Joined {
    /// Joins the session at `path` with the files of its subagents.
    pub(crate) fn open(path: &Path, subagents: &[PathBuf]) -> Result<Self> {
        let mut joined = Joined { parts: Vec::new() };
        joined.add(FileJournal::open(path)?)?;
        for file in subagents {
            // A subagent's file that cannot be read does not hide the session.
            if let Ok(file) = FileJournal::open(file) {
                joined.add(file)?;
            }
        }
        Ok(joined)
    }

    fn add(&mut self, file: FileJournal) -> Result<()> {
        let start = self.parts.last().map_or(0, JoinedFile::end);
        let len = file.len().map_err(crate::Error::Storage)?;
        let mut last = [0];
        let is_closed = len == 0 || {
            let got = file.read_at(len - 1, &mut last).map_err(crate::Error::Storage)?;
            got == 1 && last == *b"\n"
        };
        self.parts.push(JoinedFile { file, start, len, is_open: !is_closed });
        Ok(())
    }

    /// Returns whether a file has changed since the files were joined.
    pub(crate) fn is_stale(&self) -> bool {
        self.parts.iter().any(|part| part.file.len().map_or(true, |len| len != part.len))
    }
}

impl JoinedFile {
    fn end(&self) -> u64 {
        self.start + self.len + u64::from(self.is_open)
    }
}

impl Journal for Joined {
    fn len(&self) -> io::Result<u64> {
        Ok(self.parts.last().map_or(0, JoinedFile::end))
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let at = self.parts.partition_point(|part| part.end() <= offset);
        let Some(part) = self.parts.get(at).filter(|_| !buffer.is_empty()) else { return Ok(0) };
        let inside = offset - part.start;
        if inside == part.len {
            buffer[0] = b'\n';
            return Ok(1);
        }
        let room = usize::try_from(part.len - inside).unwrap_or(usize::MAX).min(buffer.len());
        part.file.read_at(inside, &mut buffer[..room])
    }

    fn append(&self, _: &End, _: &[u8]) -> Result<Appended, JournalError> {
        Err(io::Error::from(io::ErrorKind::PermissionDenied).into())
    }

    fn sync(&self) -> io::Result<()> {
        Ok(())
    }

    fn truncate_if(&self, _: u64, _: u64) -> io::Result<bool> {
        Ok(false)
    }
}
