//! Whether a session is left alone: what moves or removes a file must not pull it from under a writer.
//!
//! treering's own writers lock the file. Agents do not; what was written to a moment ago is taken to be
//! in use.

use crate::clock;
use crate::error::Failure;
use std::fs::{File, Metadata, TryLockError};
use std::path::Path;
use std::time::SystemTime;

/// How long after a write a session may still be in use, in milliseconds.
const MOMENT: i64 = 10_000;

/// What to do about a session that was written to a moment ago.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Recent {
    Refused,
    Accepted,
}

/// The file, locked against other writers until it is closed.
pub(crate) fn hold(path: &Path, recent: Recent) -> Result<File, Failure> {
    let cannot = |error: std::io::Error| Failure::message(format!("{}: {error}", path.display()));
    if let Ok(real) = path.read_link() {
        let what = format!("{}: it is a link", path.display());
        return Err(Failure::with_hint(what, format!("name the file itself: {}", real.display())));
    }
    let file = File::open(path).map_err(cannot)?;
    let metadata = file.metadata().map_err(cannot)?;
    if !metadata.is_file() {
        return Err(Failure::message(format!("{}: it is no file", path.display())));
    }
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            let what = format!("{}: another process is writing to it", path.display());
            return Err(Failure::with_hint(what, "try again when it is done"));
        }
        Err(TryLockError::Error(error)) => return Err(cannot(error)),
    }
    if recent == Recent::Refused && (-MOMENT..MOMENT).contains(&idle(&metadata)) {
        let what = format!("{}: it was written to a moment ago", path.display());
        return Err(Failure::with_hint(what, "end what writes to it, and try again in 10 seconds"));
    }
    Ok(file)
}

/// For how long nothing was written to a file, in milliseconds.
pub(crate) fn idle(metadata: &Metadata) -> i64 {
    let since = |time: SystemTime| time.duration_since(SystemTime::UNIX_EPOCH).ok();
    let modified = metadata.modified().ok().and_then(since);
    let modified = modified.map_or(0, |time| i64::try_from(time.as_millis()).unwrap_or(i64::MAX));
    clock::now().saturating_sub(modified)
}
