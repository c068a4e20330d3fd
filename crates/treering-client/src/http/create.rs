//! Creates sessions on a server.
//!
//! A log of up to 8 MiB is created by one request, completely or not at all. A larger one is
//! created with its first lines, and the rest is appended; if that fails, the session is removed
//! again.

use super::journal::HttpJournal;
use super::nodes::{Method, Nodes, Request};
use super::problem::Problem;
use super::wire;
use std::io::{self, Read, Seek, SeekFrom, Write};
use treering::internal::fs;
use treering::storage::{End, Journal, JournalError};
use treering::{Error, Result, SessionId};

/// The maximum size of one request. A longer line is sent as a whole.
const PART: usize = 8 * 1024 * 1024;

pub(super) fn create(
    nodes: &Nodes,
    id: &SessionId,
    start: &mut dyn Read,
    journal: &HttpJournal,
) -> Result<()> {
    let mut first = Vec::new();
    start.take(PART as u64 + 1).read_to_end(&mut first).map_err(Error::Storage)?;
    if first.len() <= PART {
        return create_with(nodes, id, &first, journal);
    }
    // Everything is read before anything is sent, so that a start that cannot be read creates
    // nothing.
    let mut rest = spooled(start).map_err(Error::Storage)?;
    let mut parts = Parts { pending: first, rest: &mut rest };
    let first = parts.next().map_err(Error::Storage)?;
    create_with(nodes, id, &first, journal)?;
    let mut length = first.len() as u64;
    let appended = loop {
        match parts.next() {
            Err(error) => break Err(Error::Storage(error)),
            Ok(part) if part.is_empty() => break Ok(()),
            Ok(part) => match journal.append(&End::from(length), &part) {
                Ok(_) => length += part.len() as u64,
                Err(error) => break Err(Error::Storage(failed(error))),
            },
        }
    };
    if appended.is_err() {
        // If this fails as well, a part of the session stays, which a push completes.
        let _ = nodes.call(&Request::new(Method::Delete, wire::session_path(id)));
    }
    appended
}

fn failed(error: JournalError) -> io::Error {
    match error {
        JournalError::Io(error) => error,
        other => io::Error::other(other),
    }
}

fn create_with(nodes: &Nodes, id: &SessionId, start: &[u8], journal: &HttpJournal) -> Result<()> {
    let mut request = Request::new(Method::Post, wire::create_path(id));
    request.headers.push(("content-type", "application/x-ndjson".to_owned()));
    let request = Request { body: start, ..request };
    let mut attempts = nodes.attempts(start.len());
    loop {
        match attempts.send(&request) {
            Ok(_) => return Ok(()),
            Err(Problem::SessionExists) if attempts.is_uncertain() => {
                // An earlier attempt may have created it.
                return match journal.holds(0, start) {
                    Ok((true, _)) => Ok(()),
                    Ok((false, _)) => Err(Error::SessionExists(id.clone())),
                    Err(problem) => Err(problem.into_error()),
                };
            }
            Err(Problem::SessionExists) => return Err(Error::SessionExists(id.clone())),
            Err(problem) => attempts.wait(problem).map_err(Problem::into_error)?,
        }
    }
}

/// Copies the rest of a reader to a file without a name.
fn spooled(reader: &mut dyn Read) -> io::Result<fs::File> {
    let mut file = io::BufWriter::new(fs::nameless()?);
    io::copy(reader, &mut file)?;
    file.flush()?;
    let mut file = file.into_inner().map_err(io::IntoInnerError::into_error)?;
    file.seek(SeekFrom::Start(0))?;
    Ok(file)
}

/// Splits a log into parts of whole lines.
struct Parts<'a> {
    pending: Vec<u8>,
    rest: &'a mut dyn Read,
}

impl Parts<'_> {
    /// Returns the next part, which is empty at the end.
    fn next(&mut self) -> io::Result<Vec<u8>> {
        loop {
            let within = self.pending.len().min(PART);
            let newline = memchr::memrchr(b'\n', &self.pending[..within])
                .or_else(|| memchr::memchr(b'\n', &self.pending[within..]).map(|at| within + at));
            if self.pending.len() >= PART
                && let Some(newline) = newline
            {
                let rest = self.pending.split_off(newline + 1);
                return Ok(std::mem::replace(&mut self.pending, rest));
            }
            let got = (&mut *self.rest).take(PART as u64).read_to_end(&mut self.pending)?;
            if got == 0 {
                return Ok(std::mem::take(&mut self.pending));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_whole_lines_and_all_of_them() {
        let mut log = Vec::new();
        for length in [10, PART * 2, 100, PART / 2, PART / 2, PART / 3, 5] {
            log.extend(std::iter::repeat_n(b'x', length));
            log.push(b'\n');
        }
        let (first, mut rest) = (log[..PART + 1].to_vec(), &log[PART + 1..]);
        let mut parts = Parts { pending: first, rest: &mut rest };
        let mut all = Vec::new();
        loop {
            let part = parts.next().unwrap();
            if part.is_empty() {
                break;
            }
            assert_eq!(part.last(), Some(&b'\n'));
            let is_one_line = memchr::memchr(b'\n', &part) == Some(part.len() - 1);
            assert!(part.len() <= PART || is_one_line, "{}", part.len());
            all.extend(part);
        }
        assert!(all == log);
    }
}
