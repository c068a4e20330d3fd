//! The log of one session, stored as rows.

use crate::appends::Append;
use crate::cache::Cache;
use crate::connection::Connection;
use crate::failure::Failure;
use crate::pool::Pauses;
use crate::rows::{self, LogVersion, ReadRows, confirmed, insert, read_version, transaction};
use crate::sql;
use crate::store::Shared;
use std::io;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio_postgres::types::ToSql;
use treering::SessionId;
use treering::storage::{Appended, Checkpoint, End, Journal, JournalError};

/// The maximum size of a row. The statement that shortens a log contains the same number.
pub(crate) const MAX_ROW: usize = 1024 * 1024;

/// The number of bytes that are read at the start of a log: the header, and the records that the
/// dialect is detected from.
const FIRST_BYTES: usize = 64 * 1024;

/// The number of bytes of one read elsewhere: the first, and the largest when a log is read to its
/// end.
const FIRST_READ: usize = 512 * 1024;
const LAST_READ: usize = 4 * 1024 * 1024;

/// The number of bytes of the start of the last line that are kept: as many as an [`End`] compares.
const SAMPLE: usize = 256;

/// A [`Journal`] in PostgreSQL.
pub(crate) struct PostgresJournal {
    shared: Arc<Shared>,
    space: Arc<str>,
    id: SessionId,
    /// The number that identifies this journal in the cache.
    number: u64,
    known: Mutex<RowState>,
}

/// The state of the session when its row was last read.
struct RowState {
    generation: i64,
    /// The length when it was last requested. Readers request the length before they read new
    /// bytes, and often read until they get none, which takes no round trip.
    length: Option<u64>,
    /// The offset up to which the log is known to be as durable as a successful append.
    confirmed: u64,
    /// The end of the bytes that were read last, and their number.
    read_end: u64,
    read_size: usize,
    /// The range that the reader announced.
    announced: Range<u64>,
    /// The offset and the start of the last line that this journal wrote.
    own: Option<(u64, Vec<u8>)>,
    /// The checkpoint of the log at the length that was last requested.
    checkpoint: Option<Checkpoint>,
}

impl std::fmt::Debug for PostgresJournal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PostgresJournal")
            .field("space", &self.space)
            .field("id", &self.id)
            .finish_non_exhaustive()
    }
}

impl Drop for PostgresJournal {
    fn drop(&mut self) {
        self.shared.cache.forget(self.number);
    }
}

fn removed_error() -> io::Error {
    io::Error::new(io::ErrorKind::NotFound, "the session was removed")
}

/// Returns the length of a log as a signed number for the database.
pub(crate) fn signed(length: u64) -> io::Result<i64> {
    i64::try_from(length).map_err(|_| io::Error::from(io::ErrorKind::FileTooLarge))
}

impl PostgresJournal {
    pub(crate) fn new(
        shared: &Arc<Shared>,
        space: &Arc<str>,
        id: &SessionId,
        generation: i64,
    ) -> Self {
        let known = RowState {
            generation,
            length: None,
            confirmed: 0,
            read_end: 0,
            read_size: 0,
            announced: 0..0,
            own: None,
            checkpoint: None,
        };
        PostgresJournal {
            shared: Arc::clone(shared),
            space: Arc::clone(space),
            id: id.clone(),
            number: shared.cache.register(),
            known: Mutex::new(known),
        }
    }

    fn known(&self) -> MutexGuard<'_, RowState> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn cache(&self) -> &Cache {
        &self.shared.cache
    }

    /// Calls `action` until it succeeds or the deadline passes.
    fn repeat<T>(
        &self,
        deadline: Instant,
        action: impl FnMut(&mut Connection) -> Result<T, Failure>,
    ) -> io::Result<T> {
        self.shared.pool.repeat(&self.space, deadline, action)
    }

    /// Reads the session's row, and removes bytes of another generation from the cache. Returns
    /// `None` if the session was removed.
    fn read_version(&self, deadline: Instant) -> io::Result<Option<LogVersion>> {
        let seen = self.repeat(deadline, |connection| {
            read_version(connection, &self.space, self.id.as_str(), deadline)
        })?;
        self.remember(seen.as_ref());
        Ok(seen)
    }

    fn remember(&self, seen: Option<&LogVersion>) {
        let mut known = self.known();
        known.length = seen.map(|seen| seen.length);
        known.checkpoint = seen.and_then(|seen| seen.checkpoint.clone());
        if let Some(seen) = seen
            && seen.generation != known.generation
        {
            known.generation = seen.generation;
            known.confirmed = 0;
            known.own = None;
            self.cache().forget(self.number);
        }
    }

    /// Reads rows with the bytes from `offset` on, at least `size` bytes if there are as many.
    /// Returns the offset of the first byte.
    fn fetch(&self, offset: u64, size: usize, deadline: Instant) -> io::Result<(u64, Vec<u8>)> {
        let (from, to) = (signed(offset)?, signed(offset.saturating_add(size as u64))?);
        self.repeat(deadline, |connection| {
            let id = self.id.as_str();
            let mut rows = ReadRows::new(size);
            let parameters: [&(dyn ToSql + Sync); 4] = [&&*self.space, &id, &from, &to];
            connection.query_each(sql::READ, &parameters, deadline, |row| {
                rows.add(row.try_get::<_, i64>(0)?.unsigned_abs(), row.try_get(1)?);
                Ok(())
            })?;
            Ok(rows)
        })?
        .finish(offset)
        .map_err(|at| {
            let why = format!("the log of session {} has a gap before byte {at}", self.id);
            io::Error::new(io::ErrorKind::InvalidData, why)
        })
    }

    fn read(&self, offset: u64, buffer: &mut [u8], deadline: Instant) -> io::Result<usize> {
        if buffer.is_empty() {
            return Ok(0);
        }
        let (generation, size) = {
            let mut known = self.known();
            // Every append requests the start of its own last line.
            if let Some((at, start)) = &known.own
                && *at == offset
                && buffer.len() <= start.len()
            {
                buffer.copy_from_slice(&start[..buffer.len()]);
                return Ok(buffer.len());
            }
            let count = self.cache().read(self.number, offset, buffer);
            if count > 0 || known.length.is_some_and(|length| offset >= length) {
                return Ok(count);
            }
            let size = match offset {
                0 => FIRST_BYTES,
                _ if known.announced.contains(&offset) => {
                    usize::try_from(known.announced.end - offset).unwrap_or(LAST_READ)
                }
                _ if offset == known.read_end => known.read_size * 2,
                _ => FIRST_READ,
            };
            known.read_size = size.clamp(FIRST_BYTES, LAST_READ);
            // Cached bytes are not requested again.
            let unknown = self.cache().next_known(self.number, offset);
            let unknown = unknown.and_then(|next| usize::try_from(next - offset).ok());
            let size = known.read_size.max(buffer.len().min(LAST_READ));
            (known.generation, size.min(unknown.unwrap_or(LAST_READ)))
        };
        let (at, bytes) = self.fetch(offset, size, deadline)?;
        let found = usize::try_from(offset - at).ok().and_then(|skip| bytes.get(skip..));
        let found = found.unwrap_or_default();
        let count = found.len().min(buffer.len());
        buffer[..count].copy_from_slice(&found[..count]);
        let mut known = self.known();
        if known.generation == generation {
            known.read_end = at + bytes.len() as u64;
            self.cache().insert(self.number, at, bytes);
        }
        Ok(count)
    }

    /// Asks the database whether exactly these bytes are at `offset`.
    pub(crate) fn stands(&self, offset: u64, bytes: &[u8], deadline: Instant) -> io::Result<bool> {
        let mut rest = bytes;
        while !rest.is_empty() {
            let from = offset + (bytes.len() - rest.len()) as u64;
            let (at, found) = self.fetch(from, rest.len().min(LAST_READ), deadline)?;
            let found = usize::try_from(from - at).ok().and_then(|skip| found.get(skip..));
            let found = found.unwrap_or_default();
            let count = found.len().min(rest.len());
            if count == 0 || found[..count] != rest[..count] {
                return Ok(false);
            }
            rest = &rest[count..];
        }
        Ok(true)
    }

    /// Sends the append once. Returns false if the session does not have this length and generation.
    fn send(
        &self,
        generation: i64,
        length: i64,
        lines: &[u8],
        checkpoint: Option<&Checkpoint>,
        deadline: Instant,
    ) -> Result<bool, Failure> {
        let new_length = length.saturating_add(lines.len() as i64);
        if lines.len() <= MAX_ROW {
            let checkpoint =
                checkpoint.map(|checkpoint| rows::stored(generation, new_length, checkpoint));
            let append = Append {
                space: self.space.to_string(),
                id: self.id.to_string(),
                generation,
                length,
                new_length,
                lines: lines.to_vec(),
                checkpoint,
                deadline,
            };
            return self.shared.appends.send(&self.shared.pool, append);
        }
        self.shared.pool.once(&self.space, deadline, |connection| {
            let id = self.id.as_str();
            transaction(connection, deadline, |connection| {
                let end: [&(dyn ToSql + Sync); 5] =
                    [&&*self.space, &id, &length, &generation, &new_length];
                if connection.execute(sql::MOVE, &end, deadline)? == 0 {
                    return Ok(false);
                }
                insert(connection, &self.space, id, length, lines, deadline)?;
                Ok(true)
            })
        })
    }

    /// Reads the session's row in a way that proves everything read to be as durable as an append.
    pub(crate) fn confirm(&self, deadline: Instant) -> io::Result<Option<LogVersion>> {
        let seen = self.repeat(deadline, |connection| {
            let id = self.id.as_str();
            let row = connection.query_opt(sql::CONFIRM, &[&&*self.space, &id], deadline)?;
            confirmed(connection)?;
            Ok(row.and_then(|row| rows::version_of(&row)))
        })?;
        self.remember(seen.as_ref());
        let mut known = self.known();
        known.confirmed = known.confirmed.max(seen.as_ref().map_or(0, |seen| seen.length));
        drop(known);
        Ok(seen)
    }

    fn appended(&self, start: u64, lines: &[u8]) -> Appended {
        let last = lines.strip_suffix(b"\n").unwrap_or(lines);
        let last = last.iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
        let sample = lines[last..].iter().take(SAMPLE).copied().collect();
        let end = start + lines.len() as u64;
        let mut known = self.known();
        known.length = known.length.max(Some(end));
        known.checkpoint = None;
        // A standby that has an append has everything before it.
        known.confirmed = known.confirmed.max(end);
        known.own = Some((start + last as u64, sample));
        self.cache().append(self.number, start, lines);
        Appended { start }
    }
}

/// Returns the deadline for writing `bytes` bytes. A large write gets more time.
pub(crate) fn extended(deadline: Instant, bytes: usize) -> Instant {
    deadline + Duration::from_millis(bytes as u64 / 10_000)
}

impl Journal for PostgresJournal {
    fn len(&self) -> io::Result<u64> {
        let seen = self.read_version(self.shared.pool.deadline())?;
        seen.map(|seen| seen.length).ok_or_else(removed_error)
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        self.read(offset, buffer, self.shared.pool.deadline())
    }

    fn will_read(&self, range: Range<u64>) {
        self.known().announced = range;
    }

    /// Hands out the rows of one statement as they come, if they are of the generation that was seen last.
    fn stream(&self, range: Range<u64>, each: &mut dyn FnMut(&[u8])) -> io::Result<()> {
        let (from, to) = (signed(range.start)?, signed(range.end)?);
        let deadline = self.shared.pool.deadline();
        let generation = self.known().generation;
        let (mut at, mut is_current) = (range.start, false);
        let streamed = self.shared.pool.once(&self.space, deadline, |connection| {
            let id = self.id.as_str();
            let parameters: [&(dyn ToSql + Sync); 4] = [&&*self.space, &id, &from, &to];
            connection.query_each(sql::STREAM, &parameters, deadline, |row| {
                let number = row.try_get::<_, i64>(0)?;
                let Some(bytes) = row.try_get::<_, Option<&[u8]>>(1)? else {
                    is_current = number == generation;
                    return Ok(());
                };
                let piece = rows::piece(number.unsigned_abs(), bytes, at..range.end);
                if is_current && !piece.is_empty() {
                    each(piece);
                    at += piece.len() as u64;
                }
                Ok(())
            })
        });
        streamed.map_err(Failure::into_io)?;
        // The log was shortened or replaced, or rows did not come in their order.
        if at < range.end {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(())
    }

    fn append(&self, end: &End, lines: &[u8]) -> Result<Appended, JournalError> {
        self.append_with(end, lines, None)
    }

    fn keeps_checkpoints(&self) -> bool {
        true
    }

    fn checkpoint(&self, length: u64) -> Option<Checkpoint> {
        let known = self.known();
        known.checkpoint.clone().filter(|_| known.length == Some(length))
    }

    fn append_with(
        &self,
        end: &End,
        lines: &[u8],
        checkpoint: Option<&Checkpoint>,
    ) -> Result<Appended, JournalError> {
        let deadline = extended(self.shared.pool.deadline(), lines.len());
        let start = end.length();
        let length = signed(start)?;
        if lines.is_empty() {
            let seen = self.read_version(deadline)?.ok_or(JournalError::Gone)?;
            let is_expected = seen.length == start;
            return is_expected
                .then_some(Appended { start })
                .ok_or(JournalError::Moved(seen.length));
        }
        let mut pauses = Pauses::new(deadline);
        // Whether an attempt ended without a response, and may have been carried out.
        let mut is_uncertain = false;
        loop {
            let generation = self.known().generation;
            if !end.is_in(|offset, buffer| self.read(offset, buffer, deadline))? {
                let seen = self.read_version(deadline)?.ok_or(JournalError::Gone)?;
                if seen.generation == generation {
                    return Err(JournalError::Moved(seen.length));
                }
                pauses.pause(io::ErrorKind::ResourceBusy.into())?;
                continue;
            }
            match self.send(generation, length, lines, checkpoint, deadline) {
                Ok(true) => return Ok(self.appended(start, lines)),
                Ok(false) => {
                    let seen = match is_uncertain {
                        true => self.confirm(deadline)?,
                        false => self.read_version(deadline)?,
                    };
                    let seen = seen.ok_or(JournalError::Gone)?;
                    if is_uncertain && self.stands(start, lines, deadline)? {
                        return Ok(self.appended(start, lines));
                    }
                    if seen.length != start {
                        return Err(JournalError::Moved(seen.length));
                    }
                    // The end was removed and written again, or the start was replaced: the
                    // writer's expectation is compared with the log of the new generation.
                    pauses.pause(io::ErrorKind::ResourceBusy.into())?;
                }
                Err(Failure::Permanent(error)) => return Err(error.into()),
                Err(Failure::Refused(error)) => pauses.pause(error)?,
                Err(Failure::Lost(error)) => {
                    is_uncertain = true;
                    pauses.pause(error)?;
                }
            }
        }
    }

    /// Confirms the part of the log that was read and not appended here: it may include an append
    /// whose standby did not answer, and which would be lost with the primary. An append of this
    /// journal returns when it is committed, and needs no confirmation.
    fn sync(&self) -> io::Result<()> {
        let is_confirmed = {
            let known = self.known();
            known.length.is_none_or(|length| length <= known.confirmed)
        };
        if is_confirmed {
            return Ok(());
        }
        self.confirm(self.shared.pool.deadline())?.map(drop).ok_or_else(removed_error)
    }

    fn truncate_if(&self, expected: u64, length: u64) -> io::Result<bool> {
        if length >= expected {
            return Ok(self.len()? == expected);
        }
        let deadline = self.shared.pool.deadline();
        let (from, to) = (signed(expected)?, signed(length)?);
        let before = self.known().generation;
        let mut is_uncertain = false;
        let generation = self.repeat(deadline, |connection| {
            let id = self.id.as_str();
            let cut: [&(dyn ToSql + Sync); 4] = [&&*self.space, &id, &from, &to];
            let result = connection.query_opt(sql::TRUNCATE, &cut, deadline);
            let result = result.and_then(|row| confirmed(connection).map(|()| row));
            is_uncertain |= matches!(result, Err(Failure::Lost(_)));
            Ok(result?.and_then(|row| row.try_get::<_, i64>(0).ok()))
        })?;
        let seen = match (generation, is_uncertain) {
            (Some(generation), _) => Some(LogVersion { length, generation, checkpoint: None }),
            // An earlier attempt may have succeeded.
            (None, true) => {
                let seen = self.confirm(deadline)?;
                seen.filter(|seen| seen.length == length && seen.generation > before)
            }
            (None, false) => None,
        };
        if seen.is_some() {
            self.remember(seen.as_ref());
        }
        Ok(seen.is_some())
    }

    fn replace_start(&self, expected: &[u8], bytes: &[u8]) -> Result<bool, JournalError> {
        if expected.len() != bytes.len() {
            return Ok(false);
        }
        let deadline = self.shared.pool.deadline();
        let mut is_uncertain = false;
        let generation = self.repeat(deadline, |connection| {
            let id = self.id.as_str();
            let start: [&(dyn ToSql + Sync); 4] = [&&*self.space, &id, &expected, &bytes];
            let result = connection.query_opt(sql::REPLACE_START, &start, deadline);
            let result = result.and_then(|row| confirmed(connection).map(|()| row));
            is_uncertain |= matches!(result, Err(Failure::Lost(_)));
            Ok(result?.and_then(|row| row.try_get::<_, i64>(0).ok()))
        })?;
        let Some(generation) = generation else {
            let seen =
                if is_uncertain { self.confirm(deadline)? } else { self.read_version(deadline)? };
            seen.ok_or(JournalError::Gone)?;
            return Ok(is_uncertain && self.stands(0, bytes, deadline)?);
        };
        let mut known = self.known();
        known.generation = generation;
        known.own = None;
        self.cache().forget(self.number);
        Ok(true)
    }
}
