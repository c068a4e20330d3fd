//! A store that stops working after a number of calls, as a process or a network does.

use std::io::{self, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use treering::storage::{Appended, End, Journal, JournalError};
use treering::store::{Changes, ListQuery, Mark, Page, Store};
use treering::{Error, Result, SessionId};

/// A store in front of another one.
#[derive(Debug)]
pub(crate) struct Unreliable {
    inner: Arc<dyn Store>,
    left: Arc<AtomicI64>,
}

impl Unreliable {
    /// Lets this many calls through. Of every second store, the last call is carried out and not answered.
    pub(crate) fn new(inner: Arc<dyn Store>, calls: i64) -> Self {
        Unreliable { inner, left: Arc::new(AtomicI64::new(calls)) }
    }
}

fn failure() -> io::Error {
    io::Error::new(io::ErrorKind::ConnectionReset, "the connection was cut")
}

/// Counts a call. With an odd number of calls, the last one is carried out before it fails.
fn call<T, E: From<io::Error>>(
    left: &AtomicI64,
    run: impl FnOnce() -> std::result::Result<T, E>,
) -> std::result::Result<T, E> {
    match left.fetch_sub(1, Ordering::SeqCst) {
        1.. => run(),
        0 => {
            run()?;
            Err(failure().into())
        }
        _ => Err(failure().into()),
    }
}

struct StoreError(Error);

impl From<io::Error> for StoreError {
    fn from(error: io::Error) -> Self {
        StoreError(Error::Storage(error))
    }
}

impl Unreliable {
    fn call<T>(&self, run: impl FnOnce() -> Result<T>) -> Result<T> {
        call(&self.left, || run().map_err(StoreError)).map_err(|error| error.0)
    }

    fn journal(&self, inner: Arc<dyn Journal>) -> Arc<dyn Journal> {
        Arc::new(UnreliableJournal { inner, left: Arc::clone(&self.left) })
    }
}

impl Store for Unreliable {
    fn location(&self) -> String {
        self.inner.location()
    }

    fn create(&self, id: &SessionId, start: &mut dyn Read) -> Result<Arc<dyn Journal>> {
        Ok(self.journal(self.call(|| self.inner.create(id, start))?))
    }

    fn open(&self, id: &SessionId) -> Result<Arc<dyn Journal>> {
        Ok(self.journal(self.call(|| self.inner.open(id))?))
    }

    fn list(&self, query: &ListQuery) -> Result<Page> {
        self.call(|| self.inner.list(query))
    }

    fn remove(&self, id: &SessionId) -> Result<()> {
        self.call(|| self.inner.remove(id))
    }

    fn changes(&self, mark: Option<&Mark>) -> Result<Changes> {
        self.call(|| self.inner.changes(mark))
    }
}

#[derive(Debug)]
struct UnreliableJournal {
    inner: Arc<dyn Journal>,
    left: Arc<AtomicI64>,
}

impl Journal for UnreliableJournal {
    fn len(&self) -> io::Result<u64> {
        call(&self.left, || self.inner.len())
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        call(&self.left, || self.inner.read_at(offset, buffer))
    }

    fn append(&self, end: &End, lines: &[u8]) -> std::result::Result<Appended, JournalError> {
        call(&self.left, || self.inner.append(end, lines))
    }

    fn sync(&self) -> io::Result<()> {
        call(&self.left, || self.inner.sync())
    }

    fn truncate_if(&self, expected: u64, length: u64) -> io::Result<bool> {
        call(&self.left, || self.inner.truncate_if(expected, length))
    }

    fn replace_start(
        &self,
        expected: &[u8],
        bytes: &[u8],
    ) -> std::result::Result<bool, JournalError> {
        call(&self.left, || self.inner.replace_start(expected, bytes))
    }
}
