//! A log in a file without a name, which is removed when it is closed.

use super::journal::{Appended, End, Journal, JournalError};
use crate::fs::{self, File};
use std::io::{self, BufWriter, Read, Seek, SeekFrom, Write};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A [`Journal`] in a file without a name. The file is removed with the journal.
#[derive(Debug)]
pub(crate) struct Scratch {
    file: File,
    len: Mutex<u64>,
    is_read_only: bool,
}

impl Scratch {
    /// Creates a writer to a file without a name, which `of` turns into a journal.
    pub(crate) fn writer() -> io::Result<BufWriter<File>> {
        Ok(BufWriter::with_capacity(1 << 20, fs::nameless()?))
    }

    /// Returns the journal that was written.
    pub(crate) fn of(writer: BufWriter<File>) -> io::Result<Self> {
        let file = writer.into_inner().map_err(io::IntoInnerError::into_error)?;
        let len = Mutex::new(file.size()?);
        Ok(Scratch { file, len, is_read_only: false })
    }

    /// Refuses appends from now on.
    pub(crate) fn read_only(self) -> Self {
        Scratch { is_read_only: true, ..self }
    }

    /// Returns a reader of the whole content.
    pub(crate) fn reader(&self) -> impl Read + '_ {
        ScratchReader { scratch: self, at: 0 }
    }

    fn len(&self) -> MutexGuard<'_, u64> {
        self.len.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        if self.is_read_only {
            return Err(io::ErrorKind::PermissionDenied.into());
        }
        let mut file = &self.file;
        file.seek(SeekFrom::Start(offset))?;
        file.write_all(bytes)
    }
}

/// Reads a journal from its start to its end.
struct ScratchReader<'a> {
    scratch: &'a Scratch,
    at: u64,
}

impl Read for ScratchReader<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let got = self.scratch.read_at(self.at, buffer)?;
        self.at += got as u64;
        Ok(got)
    }
}

impl Journal for Scratch {
    fn len(&self) -> io::Result<u64> {
        Ok(*self.len())
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let rest = self.len().saturating_sub(offset);
        let count = usize::try_from(rest).map_or(buffer.len(), |rest| rest.min(buffer.len()));
        self.file.read_at(offset, &mut buffer[..count])
    }

    fn append(&self, end: &End, lines: &[u8]) -> Result<Appended, JournalError> {
        let mut len = self.len();
        let read_at = |offset, buffer: &mut [u8]| self.file.read_at(offset, buffer);
        if *len != end.length() || !end.is_in(read_at)? {
            return Err(JournalError::Moved(*len));
        }
        self.write_at(*len, lines)?;
        let start = *len;
        *len += lines.len() as u64;
        Ok(Appended { start })
    }

    fn sync(&self) -> io::Result<()> {
        Ok(())
    }

    fn truncate_if(&self, expected: u64, length: u64) -> io::Result<bool> {
        let mut len = self.len();
        let untouched = *len == expected && !self.is_read_only;
        if untouched {
            *len = length.min(expected);
        }
        Ok(untouched)
    }

    fn replace_start(&self, expected: &[u8], bytes: &[u8]) -> Result<bool, JournalError> {
        let len = self.len();
        let mut found = vec![0; bytes.len()];
        let got = self.file.read_at(0, &mut found)?;
        if got < found.len() || *len < found.len() as u64 || found != expected {
            return Ok(false);
        }
        self.write_at(0, bytes)?;
        Ok(true)
    }
}
