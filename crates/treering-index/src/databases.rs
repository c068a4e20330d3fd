//! Finds the sessions in databases, like session files.

use crate::files::{FoundFile, Stamp, unix_nanos};
use std::collections::HashMap;
use std::fs::Metadata;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{LazyLock, Mutex, PoisonError};
use std::time::SystemTime;
use treering::dialect::{StoredSession, stored_sessions};

/// The age in nanoseconds below which a file may be modified again without a change of its time.
const TICK: i64 = 50_000_000;

/// The sessions of databases, for programs that search repeatedly, with the stamps of the databases
/// and of their write-ahead logs.
static KNOWN: LazyLock<Mutex<HashMap<PathBuf, ReadDatabase>>> = LazyLock::new(Mutex::default);

type ReadDatabase = ([Option<Stamp>; 2], Vec<FoundFile>);

impl Stamp {
    /// Returns the stamp of a session in a database.
    fn stored(database: &Stamp, session: &StoredSession) -> Self {
        Stamp {
            size: session.messages,
            modified: session.modified.saturating_mul(1_000_000),
            beside: session.fingerprint,
            ..*database
        }
    }

    /// Returns the stamp of a session file, or of the database that a session is in; `None` if it
    /// does not exist.
    pub fn at(path: &Path) -> Option<Self> {
        if let Ok(metadata) = std::fs::metadata(path) {
            return Some(Stamp::of(&metadata));
        }
        let (database, _) = path.to_str()?.rsplit_once('#')?;
        let [database, log] = stamps(Path::new(database));
        let (database, log) = (database?, log.unwrap_or(Stamp { size: 0, ..database? }));
        let size = database.size.wrapping_add(log.size);
        let modified = database.modified.max(log.modified);
        Some(Stamp { size, modified, beside: log.size, ..database })
    }
}

/// Returns the stamps of a database and of its write-ahead log.
fn stamps(database: &Path) -> [Option<Stamp>; 2] {
    let mut log = database.as_os_str().to_owned();
    log.push("-wal");
    [database, Path::new(&log)]
        .map(|path| std::fs::metadata(path).ok().map(|about| Stamp::of(&about)))
}

/// Returns the sessions in a database; none if it is not a database of an agent.
pub(crate) fn sessions(database: &Path, metadata: &Metadata) -> io::Result<Vec<FoundFile>> {
    let stamps = stamps(database);
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((before, found)) = known.get(database)
        && *before == stamps
    {
        return Ok(found.clone());
    }
    let own = Stamp::of(metadata);
    let sessions = stored_sessions(database).map_err(io::Error::other)?.unwrap_or_default();
    let found: Vec<FoundFile> = sessions
        .into_iter()
        .map(|session| FoundFile { stamp: Stamp::stored(&own, &session), path: session.path })
        .collect();
    let settled = unix_nanos(SystemTime::now()) - TICK;
    match stamps.iter().flatten().all(|stamp| stamp.modified < settled) {
        true => drop(known.insert(database.to_owned(), (stamps, found.clone()))),
        false => drop(known.remove(database)),
    }
    Ok(found)
}
