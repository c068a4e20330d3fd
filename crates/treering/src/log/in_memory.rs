//! Reads small files as a whole, for lists, which read thousands of files once each.
//!
//! There are three system calls for each file: open, length, read. The buffer is used again for the
//! next file. Of a compressed file only a prefix is decompressed, in memory: a list must not fill
//! the disk with the content of an archive.

use super::file::{FileJournal, OpenedFile};
use super::journal::{Appended, End, Journal, JournalError};
use super::scan::{PAGE, page_start};
use super::zstd;
use crate::error::{Error, Result};
use crate::fs::File;
use std::cell::Cell;
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex};

/// Larger files are read in pieces: the content should fit into the cache of a core.
const MAX_WHOLE: u64 = 1024 * 1024;

/// The maximum number of bytes that are decompressed from an archive. This covers most archived
/// sessions; with one thread for each core, every machine has that much memory.
pub(crate) const ARCHIVE_PREFIX: usize = 8 * 1024 * 1024;

/// A file that was opened for a list.
#[derive(Debug)]
pub(crate) struct Listed {
    pub(crate) journal: Arc<dyn Journal>,
    /// The size of the archive in bytes, if only a prefix of it was read.
    pub(crate) cut: Option<u64>,
}

/// The content of a file at the time it was opened.
#[derive(Debug)]
pub(crate) struct InMemoryFile {
    buffer: Vec<u8>,
    /// The offset in the buffer at which the content begins, aligned to a page: see
    /// [`scan`](super::scan).
    start: usize,
    len: usize,
}

thread_local! {
    /// The buffer of the previous file.
    static SPARE: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

/// The largest buffer that was used lately: one for all threads, because a server has many of them.
static LARGE: Mutex<Vec<u8>> = Mutex::new(Vec::new());

impl InMemoryFile {
    /// Opens the file at `path` to be read once: in memory if it is small.
    pub(crate) fn open(path: &Path) -> Result<Listed> {
        let opened = OpenedFile::at(path)?;
        // The first page of a large file shows whether it is compressed.
        let first = if opened.len <= MAX_WHOLE { opened.len as usize } else { PAGE };
        let held = InMemoryFile::read(&opened.file, first).map_err(Error::io(path, "read"))?;
        if zstd::is_packed(held.bytes()) {
            return InMemoryFile::unpack(&opened, path);
        }
        let journal: Arc<dyn Journal> = match opened.len <= MAX_WHOLE {
            true => Arc::new(held),
            false => Arc::new(FileJournal::of(opened, path)?),
        };
        Ok(Listed { journal, cut: None })
    }

    /// Decompresses the beginning of an archive, up to the last complete line.
    fn unpack(opened: &OpenedFile, path: &Path) -> Result<Listed> {
        let prefix = zstd::prefix(&opened.file, ARCHIVE_PREFIX);
        let zstd::Prefix { bytes: buffer, is_whole } = prefix.map_err(Error::io(path, "read"))?;
        let (mut len, mut cut) = (buffer.len(), None);
        if !is_whole {
            let Some(end) = memchr::memrchr(b'\n', &buffer) else {
                let reason = "the archive begins with a line of more than 8 MiB".to_owned();
                return Err(Error::NotASession { path: path.to_owned(), reason });
            };
            (len, cut) = (end + 1, Some(opened.len));
        }
        Ok(Listed { journal: Arc::new(InMemoryFile { buffer, start: 0, len }), cut })
    }

    fn read(file: &File, len: usize) -> io::Result<Self> {
        // A used buffer has room for all later files, and clearing memory takes time.
        let mut buffer = SPARE.take();
        buffer.resize(MAX_WHOLE as usize + PAGE, 0);
        let mut held = InMemoryFile { start: page_start(&buffer), buffer, len: 0 };
        while held.len < len {
            let at = held.start + held.len..held.start + len;
            match file.read_at(held.len as u64, &mut held.buffer[at])? {
                0 => break,
                count => held.len += count,
            }
        }
        Ok(held)
    }

    /// Returns an empty buffer with room for `room` bytes: a used one if there is one.
    pub(crate) fn spare(room: usize) -> Vec<u8> {
        let mut buffer =
            LARGE.try_lock().map_or_else(|_| Vec::new(), |mut large| std::mem::take(&mut *large));
        buffer.clear();
        buffer.reserve_exact(room);
        buffer
    }

    /// Returns a journal that holds `buffer`.
    pub(crate) fn of(buffer: Vec<u8>) -> Self {
        InMemoryFile { len: buffer.len(), buffer, start: 0 }
    }

    fn bytes(&self) -> &[u8] {
        &self.buffer[self.start..self.start + self.len]
    }
}

impl Drop for InMemoryFile {
    fn drop(&mut self) {
        let buffer = std::mem::take(&mut self.buffer);
        if buffer.capacity() <= 2 * MAX_WHOLE as usize {
            SPARE.set(buffer);
        } else if let Ok(mut large) = LARGE.try_lock()
            && large.capacity() < buffer.capacity()
        {
            *large = buffer;
        }
    }
}

impl Journal for InMemoryFile {
    fn len(&self) -> io::Result<u64> {
        Ok(self.len as u64)
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let start = usize::try_from(offset).map_or(self.len, |offset| offset.min(self.len));
        let rest = &self.bytes()[start..];
        let count = buffer.len().min(rest.len());
        buffer[..count].copy_from_slice(&rest[..count]);
        Ok(count)
    }

    fn as_slice(&self) -> Option<&[u8]> {
        Some(self.bytes())
    }

    fn append(&self, _: &End, _: &[u8]) -> Result<Appended, JournalError> {
        Err(io::Error::from(io::ErrorKind::ReadOnlyFilesystem).into())
    }

    fn sync(&self) -> io::Result<()> {
        Ok(())
    }

    fn truncate_if(&self, _: u64, _: u64) -> io::Result<bool> {
        Ok(false)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn open(bytes: &[u8]) -> (tempfile::NamedTempFile, Arc<dyn Journal>) {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), bytes).unwrap();
        let listed = InMemoryFile::open(file.path()).unwrap();
        assert_eq!(listed.cut, None);
        (file, listed.journal)
    }

    fn content(journal: &dyn Journal) -> Vec<u8> {
        let mut bytes = vec![0; journal.len().unwrap() as usize + 10];
        let got = super::super::scan::read_full(journal, 0, &mut bytes).unwrap();
        bytes.truncate(got);
        bytes
    }

    #[test]
    fn holds_what_is_small_and_nothing_of_the_file_before() {
        for bytes in [&b"a longer one\n"[..], b"short\n", b"", b"again\n"] {
            let (_file, journal) = open(bytes);
            assert_eq!(journal.as_slice(), Some(bytes));
            assert_eq!(content(&*journal), bytes);
            assert_eq!(journal.read_at(u64::MAX, &mut [0]).unwrap(), 0);
        }
    }

    #[test]
    fn what_is_large_is_left_in_its_file() {
        let bytes = vec![b'x'; MAX_WHOLE as usize];
        assert!(open(&bytes).1.as_slice().is_some());
        let bytes = vec![b'x'; MAX_WHOLE as usize + 1];
        let (_file, journal) = open(&bytes);
        assert!(journal.as_slice().is_none());
        assert_eq!(content(&*journal), bytes);
    }

    #[test]
    fn what_is_packed_is_unpacked() {
        // A frame with one raw block of three bytes and no checksum.
        let packed = [0x28, 0xB5, 0x2F, 0xFD, 0x20, 3, 0x19, 0, 0, b'a', b'b', b'\n'];
        let (_file, journal) = open(&packed);
        assert_eq!(content(&*journal), b"ab\n");
    }

    #[test]
    fn of_a_large_archive_the_first_whole_lines_are_read() {
        use ruzstd::encoding::{CompressionLevel, compress_to_vec};
        let line = format!("{}\n", "x".repeat(999));
        let plain = line.repeat(ARCHIVE_PREFIX / 1000 + 1000);
        let packed = compress_to_vec(plain.as_bytes(), CompressionLevel::Fastest);
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), &packed).unwrap();
        let listed = InMemoryFile::open(file.path()).unwrap();
        assert_eq!(listed.cut, Some(packed.len() as u64));
        let bytes = listed.journal.as_slice().unwrap();
        assert!(bytes.len() <= ARCHIVE_PREFIX + (256 << 10) && bytes.len() > ARCHIVE_PREFIX - 1000);
        assert!(plain.as_bytes().starts_with(bytes) && bytes.ends_with(b"x\n"));

        let plain = "x".repeat(ARCHIVE_PREFIX + (1 << 20));
        let packed = compress_to_vec(plain.as_bytes(), CompressionLevel::Fastest);
        std::fs::write(file.path(), &packed).unwrap();
        assert!(matches!(InMemoryFile::open(file.path()), Err(Error::NotASession { .. })));
    }

    #[test]
    fn nothing_can_be_written_to_it() {
        let (file, journal) = open(b"line\n");
        assert!(journal.append(&End::from(5), b"more\n").is_err());
        assert!(!journal.truncate_if(5, 0).unwrap());
        assert_eq!(std::fs::read(file.path()).unwrap(), b"line\n");
    }

    #[test]
    fn what_is_no_file_is_no_session() {
        let dir = tempfile::tempdir().unwrap();
        assert!(InMemoryFile::open(dir.path()).is_err());
        assert!(matches!(InMemoryFile::open(&dir.path().join("gone")), Err(Error::Io { .. })));
    }
}
