//! Reads and writes the rows of the tables.

use crate::connection::Connection;
use crate::failure::Failure;
use crate::journal::MAX_ROW;
use crate::sql;
use std::io;
use std::ops::Range;
use std::time::Instant;
use treering::storage::Checkpoint;

/// The length, the generation and the checkpoint of a session.
#[derive(Debug, Clone)]
pub(crate) struct LogVersion {
    pub(crate) length: u64,
    pub(crate) generation: i64,
    pub(crate) checkpoint: Option<Checkpoint>,
}

/// Collects the bytes of rows.
pub(crate) struct ReadRows {
    start: Option<u64>,
    bytes: Vec<u8>,
    /// Rows that did not arrive in order.
    others: Vec<(u64, Vec<u8>)>,
}

impl ReadRows {
    pub(crate) fn new(size: usize) -> Self {
        ReadRows { start: None, bytes: Vec::with_capacity(size), others: Vec::new() }
    }

    fn end(&self) -> Option<u64> {
        self.start.map(|start| start + self.bytes.len() as u64)
    }

    pub(crate) fn add(&mut self, at: u64, bytes: &[u8]) {
        if self.end().is_some_and(|end| end != at) {
            self.others.push((at, bytes.to_vec()));
            return;
        }
        self.start.get_or_insert(at);
        self.bytes.extend_from_slice(bytes);
    }

    /// Returns the offset of the first byte, and the bytes; `offset` if there are none. Fails with
    /// the offset of a row that does not follow another.
    pub(crate) fn finish(mut self, offset: u64) -> Result<(u64, Vec<u8>), u64> {
        if !self.others.is_empty() {
            let mut rows = std::mem::take(&mut self.others);
            rows.extend(self.start.map(|start| (start, std::mem::take(&mut self.bytes))));
            rows.sort_by_key(|(at, _)| *at);
            self.start = None;
            for (at, bytes) in rows {
                self.add(at, &bytes);
            }
        }
        match self.others.first() {
            Some((at, _)) => Err(*at),
            None => Ok((self.start.unwrap_or(offset), self.bytes)),
        }
    }
}

/// Returns the bytes of a row that follow on those before `wanted`: none if the row begins after them or ends before.
pub(crate) fn piece(at: u64, bytes: &[u8], wanted: Range<u64>) -> &[u8] {
    let skip = wanted.start.checked_sub(at).and_then(|skip| usize::try_from(skip).ok());
    let piece = skip.and_then(|skip| bytes.get(skip..)).unwrap_or_default();
    let left = usize::try_from(wanted.end - wanted.start).unwrap_or(usize::MAX);
    &piece[..piece.len().min(left)]
}

/// Fails if the database committed, but not everywhere where it should have.
pub(crate) fn confirmed(connection: &Connection) -> Result<(), Failure> {
    if connection.has_warned() {
        let why = "committed on the primary only: the synchronous standby did not confirm";
        return Err(Failure::Lost(io::Error::new(io::ErrorKind::TimedOut, why)));
    }
    Ok(())
}

pub(crate) fn version_of(row: &tokio_postgres::Row) -> Option<LogVersion> {
    let length: i64 = row.try_get(0).ok()?;
    let generation = row.try_get(1).ok()?;
    let checkpoint: Option<&str> = row.try_get(2).ok()?;
    let checkpoint = checkpoint.and_then(|text| restored(generation, length, text));
    // A removed session has the length -1.
    Some(LogVersion { length: u64::try_from(length).ok()?, generation, checkpoint })
}

/// Returns a checkpoint in the form in which the database stores it.
pub(crate) fn stored(generation: i64, length: i64, checkpoint: &Checkpoint) -> String {
    format!("{generation}:{length}:{}", String::from_utf8_lossy(&checkpoint.to_json()))
}

/// Returns the stored checkpoint, if it was stored with the append that gave the log this
/// generation and length.
fn restored(generation: i64, length: i64, text: &str) -> Option<Checkpoint> {
    let json = text.strip_prefix(&format!("{generation}:{length}:"))?;
    Checkpoint::from_json(json.as_bytes())
}

/// Reads a session's row. Returns `None` if there is none, or if the session was removed.
pub(crate) fn read_version(
    connection: &mut Connection,
    space: &str,
    id: &str,
    deadline: Instant,
) -> Result<Option<LogVersion>, Failure> {
    let row = connection.query_opt(sql::SELECT_STATE, &[&space, &id], deadline)?;
    Ok(row.and_then(|row| version_of(&row)))
}

/// Inserts bytes at `at`, in rows of at most [`MAX_ROW`] bytes.
pub(crate) fn insert(
    connection: &mut Connection,
    space: &str,
    id: &str,
    mut at: i64,
    bytes: &[u8],
    deadline: Instant,
) -> Result<(), Failure> {
    for part in bytes.chunks(MAX_ROW) {
        connection.execute(sql::INSERT, &[&space, &id, &at, &part], deadline)?;
        at += part.len() as i64;
    }
    Ok(())
}

/// Runs `action` in a transaction, which is committed if the result is true, and rolled back
/// otherwise.
pub(crate) fn transaction(
    connection: &mut Connection,
    deadline: Instant,
    action: impl FnOnce(&mut Connection) -> Result<bool, Failure>,
) -> Result<bool, Failure> {
    connection.batch(deadline, "BEGIN")?;
    let result = action(connection);
    let end = if matches!(result, Ok(true)) { "COMMIT" } else { "ROLLBACK" };
    let ended = connection.batch(deadline, end);
    match (result, ended) {
        (Ok(true), Ok(())) => confirmed(connection).map(|()| true),
        (Ok(true), Err(failure)) => Err(failure),
        (result, Ok(())) => result,
        (result, Err(_)) => {
            // It is not known whether the connection is still in the transaction.
            connection.discard();
            result
        }
    }
}
