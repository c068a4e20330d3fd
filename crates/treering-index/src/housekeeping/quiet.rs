//! Decides whether a session is idle: a file must not be moved or removed while a program writes to
//! it.
//!
//! treering's own writers lock the file. Agents do not, so a file that was modified a moment ago
//! counts as being in use.

use super::{Reason, Refusal};
use std::fs::TryLockError;
use std::path::Path;
use std::time::SystemTime;
use treering::internal::fs::{self, Access, File};

/// The time after a write during which a session may still be in use, in milliseconds.
const QUIET_TIME: i64 = 10_000;

/// The treatment of a session that was modified a moment ago.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Recent {
    /// The action is refused.
    Refused,
    /// The action is allowed.
    Accepted,
}

/// Returns the file, locked against other writers until it is closed. `now` is in Unix
/// milliseconds.
pub fn hold(path: &Path, recent: Recent, now: i64) -> Result<File, Refusal> {
    let cannot = |error: std::io::Error| Reason::Io(error).of(path);
    check_is_file(path)?;
    if let Ok(target) = path.read_link() {
        // A link that leads nowhere has no file to name.
        fs::canonicalize(path).map_err(cannot)?;
        let real = path.parent().map_or(target.clone(), |dir| dir.join(target));
        return Err(Reason::Link(real).of(path));
    }
    let file = fs::open(path, Access::Read).map_err(cannot)?;
    let metadata = file.metadata().map_err(cannot)?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => return Err(Reason::Locked.of(path)),
        Err(TryLockError::Error(error)) => return Err(cannot(error)),
    }
    if recent == Recent::Refused
        && (-QUIET_TIME..QUIET_TIME).contains(&idle(metadata.modified, now))
    {
        return Err(Reason::Recent.of(path));
    }
    Ok(file)
}

/// Refuses a session that was modified a moment before `now`, in Unix milliseconds: an agent that
/// takes no lock may be about to write to it again.
pub fn check_idle(path: &Path, now: i64) -> Result<(), Refusal> {
    check_is_file(path)?;
    let metadata = fs::metadata(path).map_err(|error| Reason::Io(error).of(path))?;
    match (-QUIET_TIME..QUIET_TIME).contains(&idle(metadata.modified, now)) {
        true => Err(Reason::Recent.of(path)),
        false => Ok(()),
    }
}

/// Refuses a session in a database.
fn check_is_file(path: &Path) -> Result<(), Refusal> {
    match treering::dialect::is_stored(path) {
        true => Err(Reason::Stored.of(path)),
        false => Ok(()),
    }
}

/// Returns the time since a file was last modified at `modified`, in milliseconds.
pub fn idle(modified: SystemTime, now: i64) -> i64 {
    let modified = modified.duration_since(SystemTime::UNIX_EPOCH);
    let modified = modified.map_or(0, |time| i64::try_from(time.as_millis()).unwrap_or(i64::MAX));
    now.saturating_sub(modified)
}
