//! When something was last said in a session, as pi tells it.
//!
//! pi takes the time that stands in the message; the library takes that of the entry, which is when it was written.

use serde_json::Value;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// The numbers of bytes at the end of a file in which the last message is looked for, one after the other.
const TAILS: [u64; 2] = [8 << 10, 256 << 10];

/// Returns for each file the time of its last message of a user or an assistant, in Unix milliseconds; `None` if there
/// is none near the end of the file, or none with a time of its own.
pub(super) fn last_spoken(paths: &[PathBuf]) -> Vec<Option<i64>> {
    let times = Mutex::new(vec![None; paths.len()]);
    let next = AtomicUsize::new(0);
    let threads =
        std::thread::available_parallelism().map_or(1, usize::from).min(paths.len().max(1));
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                let mut buffer = Vec::new();
                while let Some((index, path)) = take(paths, &next) {
                    let Some(time) = of_file(path, &mut buffer) else { continue };
                    times.lock().unwrap_or_else(PoisonError::into_inner)[index] = Some(time);
                }
            });
        }
    });
    times.into_inner().unwrap_or_else(PoisonError::into_inner)
}

fn take<'a>(paths: &'a [PathBuf], next: &AtomicUsize) -> Option<(usize, &'a Path)> {
    let index = next.fetch_add(1, Ordering::Relaxed);
    Some((index, paths.get(index)?.as_path()))
}

fn of_file(path: &Path, buffer: &mut Vec<u8>) -> Option<i64> {
    let mut file = File::open(path).ok()?;
    let size = file.metadata().ok()?.len();
    for tail in TAILS {
        let start = size.saturating_sub(tail);
        file.seek(SeekFrom::Start(start)).ok()?;
        buffer.clear();
        (&mut file).take(tail).read_to_end(buffer).ok()?;
        // A line that begins before the tail is no JSON here, and is found in the next one.
        if let Some(time) = buffer.rsplit(|&byte| byte == b'\n').find_map(spoken) {
            return time;
        }
        if start == 0 {
            break;
        }
    }
    None
}

/// Returns the time of a message; `None` if the line is no message of a user or an assistant.
fn spoken(line: &[u8]) -> Option<Option<i64>> {
    let entry: Value = serde_json::from_slice(line).ok()?;
    let message = entry.get("message").filter(|_| entry["type"] == "message")?;
    let is_said = matches!(message.get("role").and_then(Value::as_str), Some("user" | "assistant"));
    is_said.then(|| message.get("timestamp").and_then(Value::as_i64))
}
