//! A store in memory.

use super::{ChangedSession, Changes, ListQuery, Mark, Page, Store};
use crate::catalog::{self, SessionInfo};
use crate::error::{Error, Result};
use crate::id::SessionId;
use crate::log::{Appended, Checkpoint, End, Journal, JournalError, MemoryJournal};
use std::collections::HashMap;
use std::io::{self, Read};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A [`Store`] in memory. Its sessions are lost when it is dropped.
///
/// ```
/// use treering::store::{MemoryStore, Store};
/// use treering::SessionId;
/// let store = MemoryStore::new();
/// let id = SessionId::new("first")?;
/// let header = br#"{"type":"session","version":3,"id":"first","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/"}"#;
/// let journal = store.create(&id, &mut [header.as_slice(), b"\n"].concat().as_slice())?;
/// assert_eq!(store.open(&id)?.len()?, journal.len()?);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct MemoryStore {
    /// The name of this store, which its marks contain.
    instance: String,
    sessions: Mutex<HashMap<SessionId, StoredSession>>,
    /// The number of changes so far.
    changes: Arc<Counter>,
}

/// Numbers the changes of a store.
#[derive(Debug, Default)]
struct Counter(Mutex<u64>);

impl Counter {
    /// Counts a change and stores its number, before another change is counted.
    fn count(&self, last: &AtomicU64) {
        let mut number = self.number();
        *number += 1;
        last.store(*number, Ordering::SeqCst);
    }

    fn number(&self) -> MutexGuard<'_, u64> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[derive(Debug)]
struct StoredSession {
    /// The log of the session; `None` if the session was removed.
    journal: Option<Arc<StoredJournal>>,
    /// The number of the change that removed the session.
    removed: AtomicU64,
}

impl Default for MemoryStore {
    fn default() -> Self {
        let (instance, sessions) = (SessionId::generate().to_string(), Mutex::default());
        MemoryStore { instance, sessions, changes: Arc::default() }
    }
}

impl MemoryStore {
    /// Returns an empty store.
    pub fn new() -> Self {
        MemoryStore::default()
    }

    fn sessions(&self) -> MutexGuard<'_, HashMap<SessionId, StoredSession>> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn journal(&self, id: &SessionId) -> Result<Arc<StoredJournal>> {
        let journal = self.sessions().get(id).and_then(|session| session.journal.clone());
        journal.ok_or_else(|| Error::UnknownSession(id.clone()))
    }
}

impl Store for MemoryStore {
    fn location(&self) -> String {
        "memory".to_owned()
    }

    fn create(&self, id: &SessionId, start: &mut dyn Read) -> Result<Arc<dyn Journal>> {
        let mut bytes = Vec::new();
        start.read_to_end(&mut bytes).map_err(Error::Storage)?;
        let mut sessions = self.sessions();
        if sessions.get(id).is_some_and(|session| session.journal.is_some()) {
            return Err(Error::SessionExists(id.clone()));
        }
        let journal = Arc::new(StoredJournal {
            memory: MemoryJournal::new(bytes),
            changes: Arc::clone(&self.changes),
            changed: AtomicU64::new(0),
            is_removed: Mutex::new(false),
        });
        self.changes.count(&journal.changed);
        let removed = AtomicU64::new(0);
        let session = StoredSession { journal: Some(Arc::clone(&journal)), removed };
        sessions.insert(id.clone(), session);
        Ok(journal)
    }

    fn open(&self, id: &SessionId) -> Result<Arc<dyn Journal>> {
        Ok(self.journal(id)?)
    }

    fn list(&self, query: &ListQuery) -> Result<Page> {
        let journals: Vec<(SessionId, Arc<StoredJournal>)> = self
            .sessions()
            .iter()
            .filter_map(|(id, session)| Some((id.clone(), session.journal.clone()?)))
            .collect();
        // Logs that are not sessions are not listed. The header of a copy has another id.
        let infos = journals.into_iter().filter_map(|(id, journal)| {
            catalog::info_of(journal).ok().map(|info| SessionInfo { id, ..info })
        });
        Ok(query.page_of(infos.collect()))
    }

    fn remove(&self, id: &SessionId) -> Result<()> {
        let mut sessions = self.sessions();
        let session = sessions.get_mut(id);
        let removed = session.and_then(|session| Some((session.journal.take()?, session)));
        let (journal, session) = removed.ok_or_else(|| Error::UnknownSession(id.clone()))?;
        *journal.is_removed.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.changes.count(&session.removed);
        Ok(())
    }

    fn changes(&self, mark: Option<&Mark>) -> Result<Changes> {
        let sessions = self.sessions();
        let now = *self.changes.number();
        let mut changed = Vec::new();
        let since = mark.map_or(u64::MAX, |mark| mark.number_in(&self.instance).unwrap_or(0));
        for (id, session) in &*sessions {
            let (number, length) = match &session.journal {
                Some(journal) => {
                    let number = journal.changed.load(Ordering::SeqCst);
                    (number, Some(journal.len().map_err(Error::Storage)?))
                }
                None => (session.removed.load(Ordering::SeqCst), None),
            };
            if number > since {
                changed.push(ChangedSession { id: id.clone(), length });
            }
        }
        Ok(Changes { sessions: changed, mark: Mark::numbered(&self.instance, now) })
    }
}

/// The log of a session in a store in memory.
#[derive(Debug)]
struct StoredJournal {
    memory: MemoryJournal,
    changes: Arc<Counter>,
    /// The number of the last change of this log.
    changed: AtomicU64,
    is_removed: Mutex<bool>,
}

impl StoredJournal {
    /// Runs `change` unless the session was removed.
    fn change<T>(
        &self,
        change: impl FnOnce(&MemoryJournal) -> Result<T, JournalError>,
    ) -> Result<T, JournalError> {
        let is_removed = self.is_removed.lock().unwrap_or_else(PoisonError::into_inner);
        if *is_removed {
            return Err(JournalError::Gone);
        }
        let changed = change(&self.memory)?;
        self.changes.count(&self.changed);
        Ok(changed)
    }
}

impl Journal for StoredJournal {
    fn len(&self) -> io::Result<u64> {
        self.memory.len()
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        self.memory.read_at(offset, buffer)
    }

    fn append(&self, end: &End, lines: &[u8]) -> Result<Appended, JournalError> {
        self.change(|memory| memory.append(end, lines))
    }

    fn keeps_checkpoints(&self) -> bool {
        true
    }

    fn append_with(
        &self,
        end: &End,
        lines: &[u8],
        checkpoint: Option<&Checkpoint>,
    ) -> Result<Appended, JournalError> {
        self.change(|memory| memory.append_with(end, lines, checkpoint))
    }

    fn checkpoint(&self, length: u64) -> Option<Checkpoint> {
        self.memory.checkpoint(length)
    }

    fn sync(&self) -> io::Result<()> {
        Ok(())
    }

    fn truncate_if(&self, expected: u64, length: u64) -> io::Result<bool> {
        let truncated = self.change(|memory| Ok(memory.truncate_if(expected, length)?));
        truncated.map_err(|_| io::ErrorKind::NotFound.into())
    }

    fn replace_start(&self, expected: &[u8], bytes: &[u8]) -> Result<bool, JournalError> {
        self.change(|memory| memory.replace_start(expected, bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mark_of_another_store_names_everything() {
        let id = |text: &str| SessionId::new(text).unwrap();
        let (one, other) = (MemoryStore::new(), MemoryStore::new());
        for name in ["a", "b", "c"] {
            one.create(&id(name), &mut b"{}\n".as_slice()).unwrap();
        }
        other.create(&id("a"), &mut b"{}\n".as_slice()).unwrap();
        let mark = one.changes(None).unwrap().mark;
        let changes = other.changes(Some(&mark)).unwrap();
        assert_eq!(changes.sessions.len(), 1);
        assert!(other.changes(Some(&changes.mark)).unwrap().sessions.is_empty());
        for foreign in ["", "0", "7"] {
            assert_eq!(one.changes(Some(&Mark::new(foreign))).unwrap().sessions.len(), 3);
        }
    }
}
