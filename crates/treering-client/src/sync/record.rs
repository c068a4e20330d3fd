//! Records what was synchronized, so that the next synchronization is cheap.
//!
//! The record is a log: it has one line for each synchronization of a session, and the last line of
//! a session counts. It can be deleted at any time, which costs time but changes no result.

use super::point::SyncPoint;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::collections::HashMap;
use std::fs::{self, OpenOptions};
use std::io::{self, BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use treering::SessionId;
use treering::internal::hex;

/// The version of the format of a line. Lines of other versions are ignored.
const VERSION: u32 = 1;

/// The maximum size of a record that is read.
const MAX_SIZE: u64 = 256 * 1024 * 1024;

/// The state of a session after its last synchronization. The source of the point is the local
/// store.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct RecordedState {
    v: u32,
    id: String,
    /// The lengths of the local and the remote log.
    pub lengths: (u64, u64),
    /// The size of the session in the list of the local store.
    pub listed: Option<u64>,
    /// Whether there was nothing to push, and nothing to pull, at these lengths.
    pub is_settled: (bool, bool),
    pub point: Option<SyncPoint>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub filtered: Option<Filtered>,
}

/// The additional state of a session that was pushed through a filter.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Filtered {
    /// The number of lines before the point.
    pub lines: u64,
    /// A hash of the filtered lines before the point.
    pub hash: String,
}

impl RecordedState {
    pub(super) fn new(id: &SessionId) -> Self {
        RecordedState {
            v: VERSION,
            id: id.as_str().to_owned(),
            lengths: (0, 0),
            listed: None,
            is_settled: (false, false),
            point: None,
            title: None,
            filtered: None,
        }
    }
}

/// The record of the synchronization of two stores.
#[derive(Debug, Default)]
pub(super) struct SyncRecord {
    /// The path of the file; `None` for a record in memory.
    path: Option<PathBuf>,
    sessions: Mutex<HashMap<SessionId, RecordedState>>,
}

impl SyncRecord {
    /// Reads the record of two stores in a directory. A record that cannot be read counts as empty.
    pub(super) fn open(directory: &Path, local: &str, remote: &str) -> SyncRecord {
        let key = Sha256::digest(format!("{local}\n{remote}"));
        let path = directory.join(format!("{}.jsonl", hex(&key[..12])));
        let (sessions, lines) = read(&path).unwrap_or_default();
        let record = SyncRecord { path: Some(path), sessions: Mutex::new(sessions) };
        // If the file cannot be shortened, it only costs a little time.
        let _ = record.shrink(lines);
        record
    }

    fn sessions(&self) -> MutexGuard<'_, HashMap<SessionId, RecordedState>> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn get(&self, id: &SessionId) -> Option<RecordedState> {
        self.sessions().get(id).cloned()
    }

    /// Records the state of a session, if it has changed. If it cannot be written, it is kept in
    /// memory.
    pub(super) fn set(&self, id: &SessionId, recorded: RecordedState) {
        if self.sessions().get(id) != Some(&recorded) {
            let _ = self.write(&recorded);
            self.sessions().insert(id.clone(), recorded);
        }
    }

    fn write(&self, recorded: &RecordedState) -> io::Result<()> {
        let Some(path) = &self.path else { return Ok(()) };
        let mut line = serde_json::to_vec(recorded)?;
        line.push(b'\n');
        let mut options = OpenOptions::new();
        options.create(true).append(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let file = options.open(path).or_else(|error| match error.kind() {
            io::ErrorKind::NotFound => {
                path.parent().map_or(Ok(()), fs::create_dir_all).and_then(|()| options.open(path))
            }
            _ => Err(error),
        });
        // The line is written at once, so that lines of two programs do not mix.
        file?.write_all(&line)
    }

    /// Rewrites the file if most of its lines are out of date.
    fn shrink(&self, lines: usize) -> io::Result<()> {
        let sessions = self.sessions();
        let Some(path) = self.path.as_ref().filter(|_| lines > 1000 + 4 * sessions.len()) else {
            return Ok(());
        };
        let mut new = treering::internal::fs::NewFile::beside(path)?;
        for recorded in sessions.values() {
            let mut line = serde_json::to_vec(recorded)?;
            line.push(b'\n');
            new.write_all(&line)?;
        }
        new.publish_replacing_unsynced().map(|_| ())
    }
}

/// Reads the last line of each session. Lines that cannot be read are ignored.
fn read(path: &Path) -> io::Result<(HashMap<SessionId, RecordedState>, usize)> {
    let mut sessions = HashMap::new();
    let file = match fs::File::open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok((sessions, 0)),
        file => file?,
    };
    let mut count = 0;
    for line in BufReader::new(io::Read::take(file, MAX_SIZE)).split(b'\n') {
        count += 1;
        let Ok(recorded) = serde_json::from_slice::<RecordedState>(&line?) else { continue };
        if recorded.v == VERSION
            && let Ok(id) = SessionId::new(&recorded.id)
        {
            sessions.insert(id, recorded);
        }
    }
    Ok((sessions, count))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_line_of_a_session_counts_and_damage_does_not_matter() {
        let dir = tempfile::tempdir().unwrap();
        let open = || SyncRecord::open(&dir.path().join("sync"), "here", "there");
        let id = SessionId::new("a").unwrap();
        let record = open();
        assert_eq!(record.get(&id), None);
        for length in 1..3 {
            let recorded = RecordedState { lengths: (length, length), ..RecordedState::new(&id) };
            record.set(&id, recorded);
        }
        let path = record.path.clone().unwrap();
        let mut file = OpenOptions::new().append(true).open(&path).unwrap();
        file.write_all(b"{\"v\":1,\"id\":\"a\",\"len").unwrap();
        assert_eq!(open().get(&id).unwrap().lengths, (2, 2));
        assert_eq!(open().get(&SessionId::new("b").unwrap()), None);
        let other = SyncRecord::open(&dir.path().join("sync"), "here", "elsewhere");
        assert_eq!(other.get(&id), None);
        fs::remove_file(&path).unwrap();
        assert_eq!(open().get(&id), None);
    }

    #[test]
    fn a_record_shrinks() {
        let dir = tempfile::tempdir().unwrap();
        let id = SessionId::new("a").unwrap();
        let record = SyncRecord::open(dir.path(), "here", "there");
        for length in 0..2000 {
            record.set(&id, RecordedState { lengths: (length, 1), ..RecordedState::new(&id) });
        }
        let again = SyncRecord::open(dir.path(), "here", "there");
        assert_eq!(again.get(&id).unwrap().lengths, (1999, 1));
        let text = fs::read_to_string(record.path.unwrap()).unwrap();
        assert_eq!(text.lines().count(), 1);
    }
}
