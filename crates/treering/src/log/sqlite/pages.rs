//! The pages of a database, from its file or from the write-ahead log if that has a newer version.

use super::wal::Wal;
use super::{MAGIC, damaged, u16_at, u32_at};
use crate::fs::{self, Access, File};
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::io;
use std::path::Path;
use std::rc::Rc;
use std::time::{Duration, SystemTime};

/// The maximum number of bytes of pages in the cache.
const CACHE: usize = 4 * 1024 * 1024;

/// The clocks of file systems are coarse: a file that was modified this recently may have been
/// modified again without a visible difference.
const TICK: Duration = Duration::from_millis(50);

/// The maximum number of overflow pages that are read, for every page of the database. In a valid
/// database each of them belongs to one row, and a row is read at most a few times.
const OVERFLOW_READS: u64 = 8;

/// The pages of a consistent state of a database.
#[derive(Debug, Clone)]
pub(super) struct Pages(Rc<OpenFiles>);

#[derive(Debug)]
struct OpenFiles {
    file: File,
    wal: Option<Wal>,
    state: FileState,
    /// The first bytes of the file. They change with every transaction that is written to the file
    /// itself.
    start: [u8; 100],
    page_size: usize,
    /// The number of usable bytes of a page.
    usable: usize,
    count: u32,
    /// The number of pages that the file and the log can hold. A log may claim more.
    readable: u32,
    cache: RefCell<HashMap<u32, Rc<[u8]>>>,
    overflow_reads: Cell<u64>,
}

/// The metadata of the database's file.
#[derive(Debug, PartialEq, Eq)]
struct FileState {
    id: fs::FileId,
    len: u64,
    modified: SystemTime,
}

impl FileState {
    fn of(metadata: &fs::Metadata) -> Self {
        FileState { id: metadata.id, len: metadata.len, modified: metadata.modified }
    }
}

impl Pages {
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        let file = fs::open(path, Access::Read)?;
        let state = FileState::of(&file.metadata()?);
        let mut start = [0; 100];
        if read_full(&file, 0, &mut start)? < start.len() || !start.starts_with(MAGIC) {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "it is not an SQLite database"));
        }
        let page_size = match u16_at(&start, 16)? {
            1 => 65536,
            size if size.is_power_of_two() && size >= 512 => usize::from(size),
            _ => return Err(damaged("its page size is invalid")),
        };
        let wal = Wal::open(&fs::beside(path, "-wal"), page_size)?;
        if wal.is_none() && is_half_written(path)? {
            return Err(io::Error::new(
                io::ErrorKind::ResourceBusy,
                "a program is writing to the database, or crashed while it did",
            ));
        }
        let in_file = u32::try_from(state.len / page_size as u64).unwrap_or(u32::MAX);
        let count = wal.as_ref().map_or(in_file, Wal::page_count);
        let in_log = wal.as_ref().map_or(0, Wal::frame_count);
        let pages = OpenFiles {
            usable: page_size.saturating_sub(usize::from(start[20])),
            cache: RefCell::default(),
            overflow_reads: Cell::new(0),
            file,
            wal,
            state,
            start,
            page_size,
            count,
            readable: count.min(in_file.saturating_add(in_log)),
        };
        let pages = Pages(Rc::new(pages));
        let first = pages.page(1)?;
        if pages.usable() < 480 {
            return Err(damaged("its pages have no usable space"));
        }
        match u32_at(&first, 56)? {
            0 | 1 => Ok(pages),
            _ => Err(io::Error::new(io::ErrorKind::Unsupported, "its text is not UTF-8")),
        }
    }

    /// Returns whether everything that was read belongs to the same state.
    ///
    /// Without a log, every transaction changes the first page. With a log, its frames stay until
    /// the log is restarted; pages of the file change only when pages of the log are moved to it.
    /// That changes the file's time, and makes no difference if the log has not grown.
    pub(super) fn is_unchanged(&self, path: &Path) -> io::Result<bool> {
        let state = FileState::of(&fs::metadata(path)?);
        if state.id != self.0.state.id {
            return Ok(false);
        }
        let now = Wal::open(&fs::beside(path, "-wal"), self.0.page_size)?;
        let (same_log, same_end) = match (&self.0.wal, &now) {
            (None, None) => (true, true),
            (Some(before), Some(now)) => (before.is_same_log(now), before.has_same_end(now)),
            _ => (false, false),
        };
        let same_file = state == self.0.state;
        let is_old = || fs::now().duration_since(state.modified).is_ok_and(|age| age > TICK);
        Ok(match (&self.0.wal, same_log) {
            (_, false) => false,
            (None, true) => {
                let mut start = [0; 100];
                let got = read_full(&self.0.file, 0, &mut start)?;
                got == start.len() && start == self.0.start && !is_half_written(path)?
            }
            (Some(_), true) => same_end || same_file && is_old(),
        })
    }

    /// Returns the number of usable bytes of a page.
    pub(super) fn usable(&self) -> usize {
        self.0.usable
    }

    /// Returns the number of pages that can exist: nothing in a valid database needs more.
    pub(super) fn readable(&self) -> u32 {
        self.0.readable
    }

    /// Returns a page. The number of the first page is 1.
    pub(super) fn page(&self, number: u32) -> io::Result<Rc<[u8]>> {
        let inner = &self.0;
        if number == 0 || number > inner.count {
            return Err(damaged("a page is missing"));
        }
        if let Some(page) = inner.cache.borrow().get(&number) {
            return Ok(Rc::clone(page));
        }
        let mut page = vec![0; inner.page_size];
        let offset = inner.wal.as_ref().and_then(|wal| wal.page(number));
        let got = match (offset, &inner.wal) {
            (Some(offset), Some(wal)) => read_full(wal.file(), offset, &mut page)?,
            _ => {
                let offset = u64::from(number - 1) * inner.page_size as u64;
                read_full(&inner.file, offset, &mut page)?
            }
        };
        if got < page.len() {
            return Err(damaged("a page is cut off"));
        }
        let page: Rc<[u8]> = page.into();
        let mut cache = inner.cache.borrow_mut();
        if cache.len() >= CACHE / inner.page_size {
            cache.clear();
        }
        cache.insert(number, Rc::clone(&page));
        Ok(page)
    }

    /// Appends the content of a chain of overflow pages until there are `len` bytes.
    pub(super) fn overflow(&self, first: u32, out: &mut Vec<u8>, len: usize) -> io::Result<()> {
        let mut next = first;
        while out.len() < len {
            let reads = self.0.overflow_reads.get() + 1;
            self.0.overflow_reads.set(reads);
            if reads > OVERFLOW_READS * u64::from(self.readable()) {
                return Err(damaged("rows share overflow pages"));
            }
            let page = self.page(next)?;
            let content = page.get(4..self.usable()).unwrap_or_default();
            let count = content.len().min(len - out.len());
            out.extend_from_slice(&content[..count]);
            next = u32_at(&page, 0)?;
        }
        Ok(())
    }
}

/// Returns whether a transaction is in progress in a database without a write-ahead log, or was
/// never finished: a journal with the old pages exists beside the database then.
fn is_half_written(path: &Path) -> io::Result<bool> {
    let journal = match fs::open(&fs::beside(path, "-journal"), Access::Read) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        journal => journal?,
    };
    let mut start = [0; 8];
    // A journal that is kept for the next transaction begins with zeros.
    Ok(read_full(&journal, 0, &mut start)? == start.len() && start != [0; 8])
}

/// Reads until the buffer is full or the file ends.
pub(super) fn read_full(file: &File, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while let Some(rest) = buffer.get_mut(filled..).filter(|rest| !rest.is_empty()) {
        match file.read_at(offset + filled as u64, rest)? {
            0 => break,
            count => filled += count,
        }
    }
    Ok(filled)
}
