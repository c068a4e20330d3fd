//! A cache of log bytes that were recently read or written.
//!
//! Reading a log through [`read_at`](treering::storage::Journal::read_at) requests the same bytes
//! repeatedly: the header, the end of the last line, the bodies of entries whose heads were just
//! read. Windows of contiguous bytes serve most of these reads without the database.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The maximum size of a window at the end of a log that grows with it.
const MAX_TAIL: usize = 256 * 1024;

/// The windows of all journals of a store, within a memory budget.
#[derive(Debug)]
pub(crate) struct Cache {
    budget: usize,
    inner: Mutex<CachedWindows>,
}

#[derive(Debug, Default)]
struct CachedWindows {
    windows: HashMap<u64, Vec<Window>>,
    total: usize,
    clock: u64,
    next_journal: u64,
}

#[derive(Debug)]
struct Window {
    at: u64,
    bytes: Arc<Vec<u8>>,
    used: u64,
}

impl Window {
    fn end(&self) -> u64 {
        self.at + self.bytes.len() as u64
    }
}

impl Cache {
    pub(crate) fn new(budget: usize) -> Self {
        Cache { budget, inner: Mutex::default() }
    }

    fn inner(&self) -> MutexGuard<'_, CachedWindows> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns a number that identifies a journal in the other calls.
    pub(crate) fn register(&self) -> u64 {
        let mut inner = self.inner();
        inner.next_journal += 1;
        inner.next_journal
    }

    /// Copies the cached bytes at `offset` into the buffer; returns 0 if there are none.
    pub(crate) fn read(&self, journal: u64, offset: u64, buffer: &mut [u8]) -> usize {
        let found = {
            let mut inner = self.inner();
            inner.clock += 1;
            let clock = inner.clock;
            let windows = inner.windows.get_mut(&journal);
            let window = windows.and_then(|windows| {
                windows.iter_mut().find(|window| window.at <= offset && offset < window.end())
            });
            window.map(|window| {
                window.used = clock;
                (window.at, Arc::clone(&window.bytes))
            })
        };
        let Some((at, bytes)) = found else { return 0 };
        let known = bytes.get((offset - at) as usize..).unwrap_or_default();
        let count = known.len().min(buffer.len());
        buffer[..count].copy_from_slice(&known[..count]);
        count
    }

    /// Returns the offset of the first cached bytes after `offset`.
    pub(crate) fn next_known(&self, journal: u64, offset: u64) -> Option<u64> {
        let inner = self.inner();
        let windows = inner.windows.get(&journal).into_iter().flatten();
        windows.map(|window| window.at).filter(|at| *at > offset).min()
    }

    /// Adds bytes that were read at `at`.
    pub(crate) fn insert(&self, journal: u64, at: u64, bytes: Vec<u8>) {
        if bytes.is_empty() || bytes.len() > self.budget {
            return;
        }
        let mut inner = self.inner();
        inner.clock += 1;
        let window = Window { at, used: inner.clock, bytes: Arc::new(bytes) };
        inner.total += window.bytes.len();
        let (start, end) = (at, window.end());
        let windows = inner.windows.entry(journal).or_default();
        let mut freed = 0;
        windows.retain(|old| {
            let is_covered = start <= old.at && old.end() <= end;
            freed += if is_covered { old.bytes.len() } else { 0 };
            !is_covered
        });
        windows.push(window);
        inner.total -= freed;
        if inner.total > self.budget {
            inner.evict(self.budget / 4 * 3);
        }
    }

    /// Adds bytes that were appended at `at`, to the window that ends there.
    pub(crate) fn append(&self, journal: u64, at: u64, bytes: &[u8]) {
        let mut inner = self.inner();
        inner.clock += 1;
        let clock = inner.clock;
        let windows = inner.windows.get_mut(&journal);
        let tail = windows.and_then(|windows| windows.iter_mut().find(|old| old.end() == at));
        if let Some(tail) = tail
            && bytes.len() <= MAX_TAIL
            && let Some(kept) = Arc::get_mut(&mut tail.bytes)
        {
            let before = kept.len();
            kept.extend_from_slice(bytes);
            if kept.len() > MAX_TAIL {
                let cut = kept.len() - MAX_TAIL / 2;
                kept.drain(..cut);
                tail.at += cut as u64;
            }
            tail.used = clock;
            let after = tail.bytes.len();
            inner.total = inner.total + after - before;
            return;
        }
        drop(inner);
        let start = bytes.len().saturating_sub(MAX_TAIL);
        self.insert(journal, at + start as u64, bytes[start..].to_vec());
    }

    /// Removes everything about a journal.
    pub(crate) fn forget(&self, journal: u64) {
        let mut inner = self.inner();
        let windows = inner.windows.remove(&journal).unwrap_or_default();
        inner.total -= windows.iter().map(|window| window.bytes.len()).sum::<usize>();
    }
}

impl CachedWindows {
    /// Removes the windows that were not used for the longest time.
    fn evict(&mut self, target: usize) {
        let windows = self.windows.values().flatten();
        let mut ages: Vec<(u64, usize)> =
            windows.map(|window| (window.used, window.bytes.len())).collect();
        ages.sort_unstable();
        let mut left = self.total;
        let mut oldest = 0;
        for (used, size) in ages {
            if left <= target {
                break;
            }
            left -= size;
            oldest = used;
        }
        for windows in self.windows.values_mut() {
            windows.retain(|window| window.used > oldest);
        }
        self.windows.retain(|_, windows| !windows.is_empty());
        self.total = left;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(cache: &Cache, journal: u64, offset: u64, want: usize) -> Vec<u8> {
        let mut buffer = vec![0; want];
        let got = cache.read(journal, offset, &mut buffer);
        buffer.truncate(got);
        buffer
    }

    #[test]
    fn windows_are_read_at_their_places() {
        let cache = Cache::new(1000);
        let (one, two) = (cache.register(), cache.register());
        cache.insert(one, 10, b"abcdef".to_vec());
        assert_eq!(read(&cache, one, 12, 3), b"cde");
        assert_eq!(read(&cache, one, 15, 3), b"f");
        assert_eq!(read(&cache, one, 16, 3), b"");
        assert_eq!(read(&cache, one, 9, 3), b"");
        assert_eq!(read(&cache, two, 12, 3), b"");
        cache.append(one, 16, b"ghi");
        assert_eq!(read(&cache, one, 14, 9), b"efghi");
        cache.forget(one);
        assert_eq!(read(&cache, one, 12, 3), b"");
        assert_eq!(cache.inner().total, 0);
    }

    #[test]
    fn the_budget_holds_and_the_oldest_windows_go_first() {
        let cache = Cache::new(1000);
        let journal = cache.register();
        for number in 0..20_u64 {
            cache.insert(journal, number * 100, vec![number as u8; 100]);
            assert_eq!(read(&cache, journal, 0, 1), [0], "the first one is always in use");
            assert!(cache.inner().total <= 1000);
        }
        assert_eq!(read(&cache, journal, 1900, 2), [19, 19]);
        assert_eq!(read(&cache, journal, 100, 1), b"");
    }

    #[test]
    fn the_end_of_a_growing_log_stays_small() {
        let cache = Cache::new(10 * MAX_TAIL);
        let journal = cache.register();
        let line = vec![b'x'; 1000];
        for number in 0..2000_u64 {
            cache.append(journal, number * 1000, &line);
        }
        assert_eq!(read(&cache, journal, 1_999_000, 1000), line);
        assert!(cache.inner().total <= MAX_TAIL);
        cache.append(journal, 2_000_000, &vec![b'y'; 2 * MAX_TAIL]);
        assert_eq!(read(&cache, journal, 2_000_000 + 2 * MAX_TAIL as u64 - 1, 9), b"y");
    }
}
