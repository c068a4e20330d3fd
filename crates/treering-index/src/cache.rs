//! The cache of the facts about session files, which can be rebuilt at any time and is never
//! trusted.
//!
//! It is one file for all sessions, read and written as a whole, with the facts for lists and the
//! usage events of each session. An entry is valid only while its file has the same size, time and
//! identity, and the cache only if its checksum is right and this version wrote it. Otherwise the
//! cache is ignored: it is never a reason to fail. Writers replace the file; of two writers at the
//! same time the later wins, and the other's work is done again later.
//!
//! ```text
//! "treering index FORMAT VERSION\n"
//! seed, 16 bytes                                        of the names of events
//! (path, size, modified, device, inode, beside, body, events)*
//!                                                       strings, bodies and events with their length, u32, before them
//! checksum, u64                                         of everything before it; all numbers little-endian
//! ```

use crate::files::Stamp;
use crate::record::{ValueReader, path_bytes, path_from, put_bytes, put_u64};
use std::collections::HashMap;
use std::io::{self, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};
use treering::internal::fs::{self, NewFile};
use treering::usage::{EventSeed, SessionEvents};

pub(crate) use crate::record::CachedFile;

/// The version of the format. It must be raised whenever the meaning of a body changes.
const FORMAT: u32 = 6;

/// The maximum size of a cache file.
const MAX_FILE: u64 = 1 << 30;

/// The maximum size of a session in the cache. Larger ones are read again every time: such long
/// names and directories are not worth caching.
const MAX_BODY: usize = 16 * 1024;

/// The maximum size of the events of a session in the cache, about a hundred thousand requests.
/// Larger ones are read again every time.
const MAX_EVENTS: usize = 4 * 1024 * 1024;

/// The encoding of events that are not known.
const NO_EVENTS: &[u8] = &[0];

#[derive(Debug)]
struct CacheEntry {
    stamp: Stamp,
    body: Range<usize>,
    events: Range<usize>,
    /// Whether the file is known to exist.
    present: bool,
}

/// The cached facts, and whether they have changed.
#[derive(Debug)]
pub(crate) struct Cache {
    bytes: Vec<u8>,
    entries: HashMap<PathBuf, CacheEntry>,
    seed: EventSeed,
    changed: bool,
}

impl Default for Cache {
    fn default() -> Self {
        let (bytes, entries) = (Vec::new(), HashMap::new());
        Cache { bytes, entries, seed: EventSeed::random(), changed: false }
    }
}

impl Cache {
    /// Reads a cache file; empty if it is missing or invalid.
    pub(crate) fn load(file: &Path) -> Self {
        let bytes = fs::read(file, MAX_FILE).unwrap_or_default();
        Cache::parse(bytes).unwrap_or_default()
    }

    fn parse(bytes: Vec<u8>) -> Option<Self> {
        let (content, sum) = bytes.split_last_chunk::<8>()?;
        if u64::from_le_bytes(*sum) != checksum(content) {
            return None;
        }
        let heading = heading();
        let content_start = content.strip_prefix(heading.as_bytes())?;
        let (seed, rest) = content_start.split_first_chunk::<16>()?;
        let (seed, mut reader) = (EventSeed::from_bytes(*seed), ValueReader::new(rest));
        let mut entries = HashMap::new();
        while !reader.is_empty() {
            let path = path_from(reader.bytes()?)?;
            let stamp = Stamp {
                size: reader.u64()?,
                modified: reader.u64()?.cast_signed(),
                device: reader.u64()?,
                inode: reader.u64()?,
                beside: reader.u64()?,
            };
            let mut range = || {
                let length = reader.bytes()?.len();
                let end = content.len() - reader.left();
                Some(end - length..end)
            };
            let (body, events) = (range()?, range()?);
            entries.insert(path, CacheEntry { stamp, body, events, present: false });
        }
        Some(Cache { bytes, entries, seed, changed: false })
    }

    /// Returns the cached facts about a file, if it is unchanged.
    pub(crate) fn get(&mut self, path: &Path, stamp: Stamp) -> Option<CachedFile> {
        let entry = self.entries.get_mut(path)?;
        entry.present = true;
        if entry.stamp != stamp {
            return None;
        }
        CachedFile::read(self.bytes.get(entry.body.clone())?, path)
    }

    /// Returns the seed of the names of events.
    pub(crate) fn seed(&self) -> EventSeed {
        self.seed
    }

    /// Returns the cached usage events of a file that is [known](Self::get) to be unchanged.
    pub(crate) fn events(&self, path: &Path) -> Option<SessionEvents> {
        let entry = self.entries.get(path)?;
        let (1, events) = self.bytes.get(entry.events.clone())?.split_first()? else { return None };
        SessionEvents::read(events)
    }

    /// Stores the facts about a file. Its events may be unknown.
    pub(crate) fn put(
        &mut self,
        path: &Path,
        stamp: Stamp,
        known: &CachedFile,
        events: Option<&SessionEvents>,
    ) {
        let start = self.bytes.len();
        known.write(&mut self.bytes);
        if self.bytes.len() - start > MAX_BODY || path_bytes(path).is_none() {
            self.bytes.truncate(start);
            return;
        }
        let end = self.bytes.len();
        if let Some(events) = events {
            self.bytes.push(1);
            events.write(&mut self.bytes);
        }
        if events.is_none() || self.bytes.len() - end > MAX_EVENTS {
            self.bytes.truncate(end);
            self.bytes.extend_from_slice(NO_EVENTS);
        }
        let (body, events) = (start..end, end..self.bytes.len());
        self.entries.insert(path.to_owned(), CacheEntry { stamp, body, events, present: true });
        self.changed = true;
    }

    /// Writes the cache if it has changed, without entries for files that are gone. If this fails,
    /// there is no cache, and the next run is slower.
    pub(crate) fn save(mut self, file: &Path) {
        if !self.changed {
            return;
        }
        // For files in other directories than those just searched, the file system is asked.
        self.entries.retain(|path, entry| entry.present || path.symlink_metadata().is_ok());
        let _ = replace(file, &self.to_bytes());
    }

    fn to_bytes(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(self.bytes.len() + 1024);
        out.extend_from_slice(heading().as_bytes());
        out.extend_from_slice(&self.seed.to_bytes());
        for (path, entry) in &self.entries {
            let Some(body) = self.bytes.get(entry.body.clone()) else { continue };
            let Some(events) = self.bytes.get(entry.events.clone()) else { continue };
            let Some(path) = path_bytes(path) else { continue };
            put_bytes(&mut out, path);
            let Stamp { size, modified, device, inode, beside } = entry.stamp;
            for number in [size, modified.cast_unsigned(), device, inode, beside] {
                put_u64(&mut out, number);
            }
            put_bytes(&mut out, body);
            put_bytes(&mut out, events);
        }
        let sum = checksum(&out);
        put_u64(&mut out, sum);
        out
    }
}

fn heading() -> String {
    format!("treering index {FORMAT} {}\n", env!("CARGO_PKG_VERSION"))
}

/// Returns a checksum that detects accidental damage. It does not protect against malice: a user
/// who can write here can do worse.
pub(crate) fn checksum(bytes: &[u8]) -> u64 {
    const PRIME: u64 = 0x9E37_79B9_7F4A_7C15;
    let mut sum = bytes.len() as u64;
    for chunk in bytes.chunks(8) {
        let mut word = [0; 8];
        word.iter_mut().zip(chunk).for_each(|(to, from)| *to = *from);
        sum = (sum ^ u64::from_le_bytes(word)).wrapping_mul(PRIME).rotate_left(29);
    }
    sum
}

/// Replaces the cache file. Only its owner can read it, because it quotes conversations. It is not
/// synced: after a power failure it may be damaged, which its checksum detects.
fn replace(file: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut new = NewFile::beside(file)?;
    new.write_all(bytes)?;
    new.publish_replacing_unsynced().map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn stamp(size: u64) -> Stamp {
        Stamp { size, modified: -5, device: 1, inode: 2, beside: 3 }
    }

    fn none(reason: &str) -> CachedFile {
        CachedFile::NoSession(reason.to_owned())
    }

    fn filled() -> Cache {
        let mut cache = Cache::default();
        cache.put(Path::new("/a"), stamp(1), &none("first"), None);
        cache.put(Path::new("/b"), stamp(2), &none("second"), None);
        cache
    }

    #[test]
    fn an_entry_counts_while_its_file_is_the_same() {
        let mut cache = Cache::parse(filled().to_bytes()).unwrap();
        assert_eq!(cache.get(Path::new("/a"), stamp(1)), Some(none("first")));
        assert_eq!(cache.get(Path::new("/b"), stamp(2)), Some(none("second")));
        assert_eq!(cache.get(Path::new("/c"), stamp(1)), None);
        let changes: [fn(&mut Stamp); 5] = [
            |s| s.size += 1,
            |s| s.modified += 1,
            |s| s.inode += 1,
            |s| s.device += 1,
            |s| s.beside += 1,
        ];
        for change in changes {
            let mut other = stamp(1);
            change(&mut other);
            assert_eq!(cache.get(Path::new("/a"), other), None, "{other:?}");
        }
    }

    #[test]
    fn what_was_put_last_counts() {
        let mut cache = Cache::parse(filled().to_bytes()).unwrap();
        cache.put(Path::new("/a"), stamp(3), &none("third"), None);
        let mut cache = Cache::parse(cache.to_bytes()).unwrap();
        assert_eq!(cache.get(Path::new("/a"), stamp(3)), Some(none("third")));
        assert_eq!(cache.get(Path::new("/b"), stamp(2)), Some(none("second")));
    }

    #[test]
    fn events_are_kept_under_the_same_seed() {
        let mut cache = filled();
        let events = SessionEvents::default();
        cache.put(Path::new("/a"), stamp(1), &none("first"), Some(&events));
        let again = Cache::parse(cache.to_bytes()).unwrap();
        assert_eq!((again.seed(), again.events(Path::new("/a"))), (cache.seed(), Some(events)));
        assert_eq!(again.events(Path::new("/b")), None);
        assert_ne!(Cache::default().seed(), cache.seed());
    }

    #[test]
    fn what_is_too_long_is_not_kept() {
        let mut cache = Cache::default();
        cache.put(Path::new("/a"), stamp(1), &none(&"x".repeat(MAX_BODY)), None);
        assert!(cache.entries.is_empty() && cache.bytes.is_empty() && !cache.changed);
    }

    #[test]
    fn another_version_is_no_cache() {
        let mut bytes = filled().to_bytes();
        bytes.truncate(bytes.len() - 8);
        let at = "treering index ".len();
        bytes[at] = b'9';
        let sum = checksum(&bytes);
        put_u64(&mut bytes, sum);
        assert!(Cache::parse(bytes).is_none());
    }

    #[test]
    fn any_flipped_bit_and_any_cut_is_noticed() {
        let bytes = filled().to_bytes();
        for at in 0..bytes.len() {
            let mut bad = bytes.clone();
            bad[at] ^= 1 << (at % 8);
            assert!(Cache::parse(bad).is_none(), "{at}");
            assert!(Cache::parse(bytes[..at].to_vec()).is_none(), "{at}");
        }
    }

    proptest! {
        /// Also where the checksum holds.
        #[test]
        fn no_bytes_are_a_reason_to_fail(tail in prop::collection::vec(any::<u8>(), 0..200)) {
            let mut bytes = heading().into_bytes();
            bytes.extend([0; 16]);
            bytes.extend(&tail);
            let sum = checksum(&bytes);
            put_u64(&mut bytes, sum);
            if let Some(mut cache) = Cache::parse(bytes) {
                let paths: Vec<_> = cache.entries.iter().map(|(path, e)| (path.clone(), e.stamp)).collect();
                for (path, stamp) in paths {
                    let _ = (cache.get(&path, stamp), cache.events(&path));
                }
            }
        }
    }
}
